//! A fit of 200 steps on rows in memory, against 200 full passes.
//!
//! `cargo bench -p dplm --bench fit`; `-- ROWS` for another number of rows than a million.

#[path = "common/mod.rs"]
mod common;

use common::{isotropic, median, once};
use dplm::{
    descend::{Descent, Trajectory},
    lattice::Lattice,
    privacy::{Budget, Neighbours, Rho, noise::FixedSeed},
    rows::{Forecast, MemoryRows, Rows},
};

const STEPS: u32 = 200;
const RHO: f64 = 0.015;
const PASSES: usize = 15;

fn main() {
    let count = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    println!("{count} rows, {STEPS} steps; seconds of the processor, all threads together; wall: of the clock");
    println!(
        "{:>4} {:>10} {:>10} {:>10} {:>10} {:>8} {:>9}",
        "p", "gamma", "full pass", "fit", "fit wall", "ratio", "visited"
    );
    for features in [10, 50, 100] {
        let mut rows = isotropic(count, features);
        for multiple in [5.0, 2.0, 1.0] {
            let gamma = multiple * (features as f64).sqrt();
            let plan = Descent::plan(rows.count(), features, gamma, STEPS, 0.25, Neighbours::ReplaceOne, RHO)
                .expect("the benchmark's plan");
            let pass = full_pass(&mut rows, plan.lattice(), gamma);
            let before = rows.visited().into_inner();
            let (_, fit, wall) = once(|| descend(&plan, &mut rows));
            let visited = (rows.visited().into_inner() - before) as f64 / rows.count() as f64;
            let ratio = f64::from(STEPS) * pass / fit;
            println!(
                "{features:>4} {:>10} {pass:>10.4} {fit:>10.3} {wall:>10.3} {ratio:>8.1} {visited:>9.1}",
                format!("{multiple} sqrt p")
            );
        }
    }
}

/// The median seconds of a full pass; no steps are forecast, so nothing is screened.
fn full_pass(rows: &mut MemoryRows, lattice: &Lattice, gamma: f64) -> f64 {
    rows.set_clip(lattice.clip(gamma)).expect("rows in memory");
    rows.expect(Forecast { steps: 0, step_size: 0.25, noise_sd: 1.0 });
    let theta = lattice.theta(&vec![0.1; rows.features()]);
    median((0..PASSES).map(|_| once(|| rows.clipped_pull(&theta, lattice).expect("rows in memory")).1).collect())
}

fn descend(plan: &Descent, rows: &mut MemoryRows) -> Trajectory {
    let spend = Budget::new(Rho::checked_from_f64(RHO).expect("a budget")).spend_rest("gradients").expect("the budget");
    let start = vec![0.0; rows.features()];
    plan.run(rows, &start, spend, &mut FixedSeed::new(1), &mut |_, _| Ok(())).expect("rows in memory")
}
