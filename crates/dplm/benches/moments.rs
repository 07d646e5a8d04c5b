//! Exact second moments, clip bounds and outer products, in full passes.
//!
//! `cargo bench -p dplm --bench moments`

#[path = "common/mod.rs"]
mod common;

use std::cell::RefCell;

use common::{Timed, interleaved, isotropic};
use dplm::{
    lattice::{Lattice, Outer},
    rows::Rows,
};

const CELLS: usize = 30_000_000;
const ROUNDS: usize = 5;

fn main() {
    println!("processor time of one thread; passes: how many full passes take as long");
    println!(
        "{:>5} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9}",
        "p", "GFLOP/s", "moments", "bounds", "outer", "square", "count"
    );
    for features in [10, 50, 100, 500] {
        let mut rows = isotropic(CELLS / features, features);
        let gamma = 2.0 * (features as f64).sqrt();
        let lattice = Lattice::plan(rows.count(), features, gamma, 1.0).expect("the benchmark's plan");
        let clip = lattice.clip(gamma);
        rows.set_clip(clip).expect("rows in memory");
        let theta = lattice.theta(&vec![0.1; features]);
        let rows = RefCell::new(rows);
        let unclipped = Outer::Unclipped { theta: &theta, theta_unit: lattice.theta_unit(), radius: 1 << 17 };
        let work: &mut [Timed] = &mut [
            &mut || drop(rows.borrow_mut().clipped_pull(&theta, &lattice)),
            &mut || drop(rows.borrow().moments()),
            &mut || drop(rows.borrow_mut().set_clip(clip)),
            &mut || drop(rows.borrow().outer(&unclipped)),
            &mut || drop(rows.borrow().clipped_square(&theta, &lattice, 40)),
            &mut || drop(rows.borrow().clipped_count(&theta, &lattice)),
        ];
        let seconds = interleaved(ROUNDS, work);
        let flop = (CELLS * features) as f64;
        print!("{features:>5} {:>9.1}", flop / seconds[1] / 1e9);
        println!("{}", seconds[1..].iter().map(|time| format!(" {:>9.1}", time / seconds[0])).collect::<String>());
    }
}
