//! Times that can be compared.

use std::time::{Duration, Instant};

/// How long something took, in seconds.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Seconds {
    /// Of the processor, all threads together: other load on the machine hardly counts.
    pub processor: f64,
    /// Of the clock.
    pub wall: f64,
}

impl Seconds {
    /// Times one run.
    pub fn of(work: impl FnOnce()) -> Seconds {
        let (processor, wall) = (processor_time(), Instant::now());
        work();
        Seconds { processor: (processor_time() - processor).as_secs_f64(), wall: wall.elapsed().as_secs_f64() }
    }

    /// This many times the duration.
    pub fn times(self, count: f64) -> Seconds {
        Seconds { processor: self.processor * count, wall: self.wall * count }
    }

    /// One after the other.
    pub fn plus(self, other: Seconds) -> Seconds {
        Seconds { processor: self.processor + other.processor, wall: self.wall + other.wall }
    }
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Something to time; it does the timing itself, as it may happen in another process.
pub type Timed<'a> = Box<dyn FnMut() -> Seconds + 'a>;

/// The medians of some rounds. All are run in turn, so that other load on the machine meets all
/// alike.
pub fn interleaved<const N: usize>(rounds: usize, mut work: [Timed<'_>; N]) -> [Seconds; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (run, times) in work.iter_mut().zip(&mut times) {
            times.push(run());
        }
    }
    times.map(|times| Seconds {
        processor: median(times.iter().map(|time| time.processor)),
        wall: median(times.iter().map(|time| time.wall)),
    })
}

/// The middle value, the upper one of two.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
