//! Rows that count how often they are gone through.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use dplm::{
    Error,
    lattice::{Clip, Ladder, Lattice, Moments, Outer, Theta, Whitening},
    rows::{Forecast, Rows},
};

/// Rows, and how many questions went through all of them; rows re-encoded from these count with them.
pub(super) struct Counted {
    rows: Box<dyn Rows>,
    passes: Arc<AtomicU32>,
}

impl Counted {
    pub(super) fn new(rows: impl Rows + 'static) -> Counted {
        Counted { rows: Box::new(rows), passes: Arc::default() }
    }

    pub(super) fn passes(&self) -> u32 {
        self.passes.load(Ordering::Relaxed)
    }

    fn once_more(&self) -> &dyn Rows {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.rows.as_ref()
    }
}

impl Rows for Counted {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn features(&self) -> usize {
        self.rows.features()
    }

    fn set_clip(&mut self, clip: Clip) -> Result<(), Error> {
        self.once_more();
        self.rows.set_clip(clip)
    }

    fn expect(&mut self, forecast: Forecast) {
        self.rows.expect(forecast);
    }

    fn clipped_pull(&self, theta: &Theta, lattice: &Lattice) -> Result<Vec<i128>, Error> {
        self.once_more().clipped_pull(theta, lattice)
    }

    fn clipped_square(&self, theta: &Theta, lattice: &Lattice, shift: u32) -> Result<i128, Error> {
        self.once_more().clipped_square(theta, lattice, shift)
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<u64, Error> {
        self.once_more().clipped_count(theta, lattice)
    }

    fn outer(&self, outer: &Outer<'_>) -> Result<Moments, Error> {
        self.once_more().outer(outer)
    }

    fn moments(&self) -> Result<Moments, Error> {
        self.once_more().moments()
    }

    fn counts(&self, ladder: &Ladder<'_>) -> Result<Vec<u64>, Error> {
        self.once_more().counts(ladder)
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let rows = self.once_more().whitened(whitening)?;
        Ok(Box::new(Counted { rows, passes: self.passes.clone() }))
    }
}
