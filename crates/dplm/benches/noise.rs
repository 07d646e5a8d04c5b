//! Microseconds a draw of the exactly rounded Gaussian, with the generator of private releases.
//!
//! `cargo bench -p dplm --bench noise`

use std::hint::black_box;
use std::time::Instant;

use dplm::privacy::noise::{SystemRng, rounded_gaussian};

const DRAWS: u32 = 1_000_000;
const ROUNDS: usize = 5;

fn main() {
    let mut rng = SystemRng::new().expect("a benchmark needs the operating system's randomness");
    println!("{:>6}  {:>18}", "sigma", "microseconds a draw");
    for bits in [10, 60, 73, 100] {
        // The fastest round: the others were disturbed.
        let best = (0..ROUNDS).map(|_| round(1 << bits, &mut rng)).fold(f64::INFINITY, f64::min);
        println!("{:>6}  {best:>18.3}", format!("2^{bits}"));
    }
}

fn round(sigma: u128, rng: &mut SystemRng) -> f64 {
    let start = Instant::now();
    for _ in 0..DRAWS {
        black_box(rounded_gaussian(black_box(sigma), rng));
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(DRAWS)
}
