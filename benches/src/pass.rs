//! One pass over rows in memory, against a plain streaming read of the same bytes.

use std::{cell::RefCell, hint::black_box, sync::Mutex};

use dplm::{
    lattice::{Clip, ClippedOuter, Kernel, Lattice, Link, Theta},
    privacy::Neighbours,
    rows::{ClippedRows, Encoded, Persons, Rows, Together},
};
use rayon::prelude::*;
use serde_json::json;

use crate::{
    clock::{Seconds, Timed, interleaved},
    data::{binary, isotropic},
    peer::Peer,
    record::{Measure, Record, Target, Unit},
    threads,
};

/// Which relation an answer is claimed for takes no time.
const NEIGHBOURS: Neighbours = Neighbours::ReplaceOne;

/// A full pass for a gradient.
fn gradients(rows: &mut Encoded, clip: Clip, (theta, lattice): (&Theta, &Lattice)) {
    let mut rows = rows.clipped(clip, None).expect("rows in memory");
    _ = black_box(rows.negative_gradient_sum(theta, lattice, NEIGHBOURS));
}

/// Measures passes at several widths, and the other questions in passes.
pub fn measure(record: &mut Record) {
    // Far more cells than any cache holds.
    let (cells, rounds) = if record.quick { (20_000_000, 9) } else { (60_000_000, 15) };
    for features in [10, 50, 100, 500, 1000, 2000] {
        let rows = &mut isotropic(cells / features, features);
        shares_of_read(record, rows, rounds);
        if features <= 500 {
            questions(record, rows, rounds.div_ceil(3));
        }
    }
}

/// A step of a logit against a plain read of the rows, one thread: linear functions of standard
/// deviation 1, hardly any row weighted.
pub fn logistic(record: &mut Record) {
    let (cells, rounds) = if record.quick { (20_000_000, 9) } else { (60_000_000, 15) };
    for features in [10, 50, 100] {
        let mut rows = binary(cells / features, features);
        let gamma = 1.5 * (features as f64).sqrt();
        let lattice =
            &Lattice::plan(rows.count(), features, gamma, 1.0).expect("the benchmark's plan").of_link(Link::Logistic);
        let theta = &lattice.theta(&vec![(features as f64).sqrt().recip(); features]);
        rows.clipped(lattice.clip(gamma), None).expect("rows in memory");
        let (pool, rows) = (&threads(1), &RefCell::new(rows));
        let [read, pass] = interleaved(
            rounds,
            [
                Box::new(|| {
                    let rows: &Encoded = &rows.borrow();
                    pool.install(|| Seconds::of(|| _ = black_box(read_all(rows))))
                }) as Timed<'_>,
                Box::new(|| {
                    let rows: &mut Encoded = &mut rows.borrow_mut();
                    pool.install(|| Seconds::of(|| gradients(rows, lattice.clip(gamma), (theta, lattice))))
                }),
            ],
        );
        let (at, share) = ([("p", features as f64)], read.processor / pass.processor);
        let what = "step of a logit, share of a plain read";
        record.add(Measure::new("Pass", what, &at, share, Unit::Ratio).with(Some(Target::AtLeast(0.5))));
    }
}

/// Measures exact second moments against numpy's product of the same size in `f64`, which rounds,
/// on as many threads.
pub fn moments(record: &mut Record) {
    let cells = if record.quick { 10_000_000 } else { 30_000_000 };
    for features in [50, 100, 500, 1000] {
        let rows = &isotropic(cells / features, features);
        for used in [1, record.machine.threads] {
            moments_on(record, rows, used);
        }
    }
}

/// A pass over persons with one to nine rows against one over the same rows, each standing for
/// itself; one thread.
pub fn persons(record: &mut Record) {
    let (features, count, rounds) = if record.quick { (50, 400_000, 9) } else { (50, 1_000_000, 15) };
    let mut of_rows = isotropic(count, features);
    let whose: Vec<u32> = (0..).flat_map(|person: u32| (0..1 + person % 9).map(move |_| person)).take(count).collect();
    let mut persons = Persons::new();
    persons.push(&whose).expect("few enough");
    let of_persons = isotropic(count, features).by_person(&persons, 9, Together::default());
    let mut of_persons = of_persons.expect("rows in memory");
    let gamma = 5.0 * (features as f64).sqrt();
    let lattice = &Lattice::plan(count as u64, features, gamma, 1.0).expect("the benchmark's plan");
    let theta = &lattice.theta(&vec![0.1; features]);
    let pool = &threads(1);
    let [rows, persons] = interleaved(
        rounds,
        [&mut of_rows, &mut of_persons].map(|rows| {
            let clip = lattice.clip(gamma);
            Box::new(move || pool.install(|| Seconds::of(|| gradients(rows, clip, (theta, lattice))))) as Timed<'_>
        }),
    );
    let (share, at) = (rows.processor / persons.processor, [("p", features as f64)]);
    let target = Some(Target::AtLeast(0.4));
    let what = "person-level pass, share of the speed of a row-level one";
    record.add(Measure::new("Pass", what, &at, share, Unit::Ratio).with(target));
}

fn shares_of_read(record: &mut Record, rows: &mut Encoded, rounds: usize) {
    let features = rows.features();
    let gamma = 5.0 * (features as f64).sqrt();
    let lattice = Lattice::plan(rows.count(), features, gamma, 1.0).expect("the benchmark's plan");
    let clip = lattice.clip(gamma);
    rows.clipped(clip, None).expect("rows in memory");
    let theta = lattice.theta(&vec![0.1; features]);
    for count in [1, 2] {
        let pool = threads(count);
        for kernel in Kernel::available() {
            rows.set_kernel(kernel);
            let rows = &Mutex::new(&mut *rows);
            let ours = || rows.lock().expect("no panic");
            let read: Timed<'_> = Box::new(|| pool.install(|| Seconds::of(|| _ = black_box(read_all(&ours())))));
            let sum = || gradients(&mut ours(), clip, (&theta, &lattice));
            let pass: Timed<'_> = Box::new(|| pool.install(|| Seconds::of(sum)));
            let [read, pass] = interleaved(rounds, [read, pass]);
            let at = [("p", features as f64), ("threads", count as f64)];
            let what = format!("{} pass, share of a plain read", kernel.name());
            let least = if features >= 50 { 0.8 } else { 0.65 };
            let target = (kernel == Kernel::best()).then_some(Target::AtLeast(least));
            let share = read.processor / pass.processor;
            record.add(Measure::new("Pass", &what, &at, share, Unit::Ratio).with(target));
        }
    }
    rows.set_kernel(Kernel::best());
}

/// What other questions cost, in full passes, one thread.
fn questions(record: &mut Record, rows: &mut Encoded, rounds: usize) {
    let features = rows.features();
    let gamma = 2.0 * (features as f64).sqrt();
    let lattice = Lattice::plan(rows.count(), features, gamma, 1.0).expect("the benchmark's plan");
    let clips = [lattice.clip(2.1 * gamma), lattice.clip(gamma)];
    let theta = &lattice.theta(&vec![0.1; features]);
    fn under(rows: &mut Encoded, clip: Clip) -> Box<dyn ClippedRows + '_> {
        rows.clipped(clip, None).expect("rows in memory")
    }
    let unclipped = ClippedOuter::Unclipped { theta, theta_unit: lattice.theta_unit(), radius: 1 << 17 };
    let pool = &threads(1);
    let rows = &RefCell::new(rows);
    let asked = |question: &(dyn Fn(&mut Encoded) + Sync)| {
        let rows: &mut Encoded = &mut rows.borrow_mut();
        pool.install(|| Seconds::of(|| question(rows)))
    };
    let [pass, moments, bounds, outer, square, count] = interleaved(
        rounds,
        [
            Box::new(|| asked(&|rows| gradients(rows, clips[1], (theta, &lattice)))),
            Box::new(|| asked(&|rows| drop(rows.moments()))),
            // Two clips in turn: the bounds of one that is set already are not computed again.
            Box::new(|| asked(&|rows| clips.iter().for_each(|clip| drop(rows.clipped(*clip, None))))),
            Box::new(|| asked(&|rows| drop(under(rows, clips[1]).outer_sum(&unclipped, NEIGHBOURS)))),
            Box::new(|| asked(&|rows| drop(under(rows, clips[1]).square_sum(theta, &lattice, NEIGHBOURS)))),
            Box::new(|| asked(&|rows| drop(under(rows, clips[1]).clipped_count(theta, &lattice)))),
        ],
    );
    let bounds = bounds.times(0.5);
    let named =
        [("moments", moments), ("bounds", bounds), ("outer products", outer), ("squares", square), ("count", count)];
    for (what, time) in named {
        let (what, at) = (format!("{what}, in passes"), [("p", features as f64)]);
        record.add(Measure::new("Pass", &what, &at, time.processor / pass.processor, Unit::Ratio));
    }
}

fn moments_on(record: &mut Record, rows: &Encoded, used: usize) {
    let (features, pool) = (rows.features(), &threads(used));
    let peer = RefCell::new(Peer::start(used));
    peer.borrow_mut().time(&json!({"do": "data", "rows": rows.count(), "features": features}));
    let [ours, theirs] = interleaved(
        if record.quick { 3 } else { 7 },
        [
            Box::new(|| pool.install(|| Seconds::of(|| drop(black_box(rows.moments()))))),
            Box::new(|| peer.borrow_mut().time(&json!({"do": "gram"}))),
        ],
    );
    // One thread: processor time, which other load hardly touches. All threads: what a user waits.
    let pick = |time: Seconds| if used == 1 { time.processor } else { time.wall };
    let at = [("n", rows.count() as f64), ("p", features as f64), ("threads", used as f64)];
    let target = [100, 500].contains(&features).then_some(Target::AtLeast(0.7));
    record.add(Measure::new("Moments", "seconds", &at, pick(ours), Unit::Seconds));
    let rate = pick(theirs) / pick(ours);
    record.add(Measure::new("Moments", "rate against numpy's X'X", &at, rate, Unit::Ratio).with(target));
}

/// Reads every byte once and does next to nothing with it.
fn read_all(rows: &Encoded) -> u32 {
    let read = |cells: &&[f32]| {
        let mut sums = [0u32; 64];
        for cells in cells.as_chunks::<64>().0 {
            sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum ^= cell.to_bits());
        }
        sums.into_iter().fold(0, |a, b| a ^ b)
    };
    rows.buffers().into_inner().par_iter().map(read).reduce(|| 0, |a, b| a ^ b)
}
