//! A progress bar for what takes longer than a second, on a terminal only.

use std::{
    ops::ControlFlow,
    sync::OnceLock,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::printer::Printer;

/// What is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// How far something has come. The bar is cleared when this is dropped.
pub struct Bar {
    what: &'static str,
    wanted: bool,
    started: Instant,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    /// Starts the clock.
    pub fn new(printer: &Printer, what: &'static str) -> Bar {
        Bar { what, wanted: printer.shows_progress(), started: Instant::now(), bar: OnceLock::new() }
    }

    /// So much is done, of so much in all; a bar never interrupts the work.
    pub fn update(&self, done: u64, total: u64) -> ControlFlow<()> {
        if self.wanted && self.started.elapsed() > PATIENCE {
            let bar = self.bar.get_or_init(|| bar(self.what));
            bar.set_length(total);
            bar.set_position(done);
        }
        ControlFlow::Continue(())
    }
}

impl Bar {
    /// Takes the bar off the terminal.
    pub fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

fn bar(what: &'static str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg:<12} [{bar:40}] {percent:>3} %  {eta} left").expect("a sound template");
    ProgressBar::new(0).with_message(what).with_style(style.progress_chars("=> "))
}
