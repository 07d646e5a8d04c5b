//! Rows on a GPU: a step against a plain read of the same bytes and against PyTorch, and whole fits
//! against the processor.

use std::{cell::RefCell, hint::black_box};

use dplm::{
    Progress,
    descend::Descent,
    lattice::{ClippedOuter, Lattice},
    privacy::{Budget, Neighbours, Rho},
    rows::{ClippedRows, Encoded, MemoryBuilder, Rows},
};
use dplm_gpu::Gpu;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use serde_json::json;

use crate::{
    clock::{Seconds, Timed, interleaved},
    data::isotropic,
    peer::Peer,
    record::{Measure, Record, Target, Unit},
};

/// Which relation an answer is claimed for takes no time.
const NEIGHBOURS: Neighbours = Neighbours::ReplaceOne;
const STEPS: u32 = 200;

/// Measures steps at several widths, other questions, and fits of more and more rows.
pub fn measure(record: &mut Record) {
    let card = match Gpu::open() {
        Ok(card) => card,
        Err(error) => return println!("\nGPU\n  not measured: {error}"),
    };
    println!("\n{}", card.name());
    // Far more than the card's cache holds, and enough that starting a step takes little of it.
    let bytes = if record.quick { 2_000_000_000 } else { 8_000_000_000 };
    // PyTorch is not always there, and takes long to start.
    let mut peer = (!record.quick).then(|| Peer::start(1));
    for features in [3, 5, 7, 10, 14, 20, 30, 50, 75, 100, 150, 200, 300, 500, 700, 800, 1000] {
        let rows = isotropic(bytes / 4 / (features + 2), features);
        widths(record, (&card, &mut on(&card, rows)), peer.as_mut());
    }
    drop(peer);
    let most = if record.quick { 1_000_000 } else { 100_000_000 };
    for count in [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000].into_iter().filter(|count| *count <= most) {
        fits(record, &card, count, 10);
    }
    for count in [10_000, 100_000, 1_000_000, 10_000_000, 50_000_000].into_iter().filter(|count| *count <= most) {
        fits(record, &card, count, 100);
    }
}

fn on(card: &Gpu, rows: Encoded) -> Encoded {
    rows.moved_to(card).expect("rows that fit")
}

fn widths(record: &mut Record, (card, rows): (&Gpu, &mut Encoded), mut peer: Option<&mut Peer>) {
    let (features, rounds) = (rows.features(), 15);
    let gamma = 5.0 * (features as f64).sqrt();
    let at = [("p", features as f64)];
    // Fine parameters make gradients so large that weights are split.
    for (regime, noise) in [("one product", 1.0), ("halves", 1e-9)] {
        let lattice = Lattice::plan(rows.count(), features, gamma, noise).expect("the benchmark's plan");
        let clip = lattice.clip(gamma);
        rows.clipped(clip, None).expect("rows on the card");
        let theta = lattice.theta(&vec![0.1; features]);
        let (rows_here, asked) = (rows.count(), RefCell::new(&mut *rows));
        // As many bytes as the rows take, their bounds left out.
        let cells = MemoryBuilder::bytes_for(rows_here, features) as usize / (features + 2) * (features + 1);
        let bytes = card.read_all(cells).expect("room on the card") as f64;
        let [read, step] = interleaved(
            rounds,
            [
                Box::new(|| Seconds::of(|| drop(black_box(card.read_all(cells))))),
                Box::new(|| {
                    Seconds::of(|| {
                        let mut rows = asked.borrow_mut();
                        let mut rows = rows.clipped(clip, None).expect("rows on the card");
                        _ = black_box(rows.negative_gradient_sum(&theta, &lattice, NEIGHBOURS));
                    })
                }),
            ],
        );
        // A step reads the bounds too.
        let all = bytes * (features + 2) as f64 / (features + 1) as f64;
        let share = (all / step.wall) / (bytes / read.wall);
        let least = (10..=500).contains(&features).then_some(Target::AtLeast(0.95));
        let what = format!("step, {regime}, share of a plain read");
        record.add(Measure::new("GPU", &what, &at, share, Unit::Ratio).with(least));
        if noise == 1.0 {
            record.add(Measure::new("GPU", "plain read, bytes in a second", &at, bytes / read.wall, Unit::Bytes));
            if let Some(peer) = &mut peer {
                torch(record, peer, (rows.count(), features), step);
            }
        }
    }
    questions(record, rows);
}

/// The same step in PyTorch, on as many rows; it rounds.
fn torch(record: &mut Record, peer: &mut Peer, (count, features): (u64, usize), step: Seconds) {
    for kind in ["float32", "float64"] {
        peer.time(&json!({"do": "torch", "rows": count, "features": features, "kind": kind}));
        let times: [Timed<'_>; 1] = [Box::new(|| peer.time(&json!({"do": "torch step"})))];
        let [theirs] = interleaved(9, times);
        let (what, at) = (format!("step, against PyTorch in {kind}"), [("p", features as f64)]);
        let target = (kind == "float32").then_some(Target::AtLeast(2.2));
        record.add(Measure::new("GPU", &what, &at, theirs.wall / step.wall, Unit::Ratio).with(target));
    }
}

/// What other questions take.
fn questions(record: &mut Record, rows: &mut Encoded) {
    let features = rows.features();
    if ![10, 50, 100, 500].contains(&features) {
        return;
    }
    let gamma = 5.0 * (features as f64).sqrt();
    let lattice = Lattice::plan(rows.count(), features, gamma, 1.0).expect("the benchmark's plan");
    let clip = lattice.clip(gamma);
    let theta = &lattice.theta(&vec![0.1; features]);
    let unclipped = ClippedOuter::Unclipped { theta, theta_unit: lattice.theta_unit(), radius: 1 << 17 };
    let rows = &RefCell::new(rows);
    let asked = |question: &dyn Fn(&dyn ClippedRows)| {
        Seconds::of(|| {
            let mut rows = rows.borrow_mut();
            question(rows.clipped(clip, None).expect("rows on the card").as_ref());
        })
    };
    let [squares, count, moments, outer] = interleaved(
        5,
        [
            Box::new(|| asked(&|rows| drop(rows.square_sum(theta, &lattice, NEIGHBOURS)))),
            Box::new(|| asked(&|rows| drop(rows.clipped_count(theta, &lattice)))),
            Box::new(|| Seconds::of(|| drop(rows.borrow().moments()))),
            Box::new(|| asked(&|rows| drop(rows.outer_sum(&unclipped, NEIGHBOURS)))),
        ],
    );
    let named =
        [("squares", squares), ("count of clipped", count), ("second moments", moments), ("outer products", outer)];
    for (what, time) in named {
        let (what, at) = (format!("{what}, as many rows"), [("p", features as f64)]);
        record.add(Measure::new("GPU", &what, &at, time.wall, Unit::Seconds));
    }
}

/// A descent of 200 steps, bounds included, on the card and on all threads.
fn fits(record: &mut Record, card: &Gpu, count: usize, features: usize) {
    let at = [("n", count as f64), ("p", features as f64)];
    let mut here = isotropic(count, features);
    let seconds = |rows: &mut dyn Rows| Seconds::of(|| descend(rows)).wall;
    let processor = seconds(&mut here);
    let mut there = None;
    let upload = Seconds::of(|| there = Some(on(card, here))).wall;
    let mut there = there.expect("rows on the card");
    let first = seconds(&mut there);
    let again = seconds(&mut there).min(first);
    let target = (count == 50_000_000).then_some(Target::AtMost(1.5));
    record.add(Measure::new("GPU fits", "200 steps, all threads of the processor", &at, processor, Unit::Seconds));
    record.add(Measure::new("GPU fits", "bringing rows to the card", &at, upload, Unit::Seconds));
    record.add(Measure::new("GPU fits", "200 steps, on the card", &at, again, Unit::Seconds).with(target));
}

fn descend(rows: &mut dyn Rows) {
    let features = rows.features();
    let gamma = 5.0 * (features as f64).sqrt();
    let plan = Descent::plan(rows.count(), features, gamma, STEPS, 0.25, NEIGHBOURS, 0.015).expect("a plan");
    let rho = Rho::checked_from_f64(0.015).expect("a budget");
    let spend = Budget::new(rho).spend_rest("gradients").expect("a budget");
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    drop(black_box(plan.run(rows, &vec![0.0; features], spend, &mut rng, Progress::NONE)));
}
