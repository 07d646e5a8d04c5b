//! A descent on rows in memory: against numpy doing the same steps, against full passes, against
//! scikit-learn, and how it grows.

use std::{cell::RefCell, hint::black_box};

use dplm::{
    Progress,
    descend::Descent,
    privacy::{Budget, Neighbours, Rho, noise::FixedSeed},
    rows::{Encoded, ExpectedSteps, Rows},
};
use serde_json::json;

use crate::{
    clock::{Seconds, interleaved},
    data::isotropic,
    peer::Peer,
    record::{Measure, Record, Target, Unit},
    threads,
};

const STEPS: u32 = 200;
const RHO: f64 = 0.015;
const STEP_SIZE: f64 = 0.25;

/// Clips in multiples of `sqrt p`, and how many times numpy a fit should be.
const CLIPS: [(f64, f64); 3] = [(5.0, 60.0), (2.0, 20.0), (1.0, 10.0)];

/// Measures fits of 200 steps against numpy doing the same, against full passes and against one fit
/// of scikit-learn.
pub fn against_peers(record: &mut Record) {
    let (rows, widths): (usize, &[usize]) =
        if record.quick { (200_000, &[10, 50]) } else { (1_000_000, &[10, 50, 100]) };
    for &features in widths {
        against_peers_at(record, rows, features);
    }
}

fn against_peers_at(record: &mut Record, count: usize, features: usize) {
    let mut rows = isotropic(count, features);
    for used in [1, record.machine.threads] {
        let pool = threads(used);
        let peer = RefCell::new(Peer::start(used));
        peer.borrow_mut().time(&json!({"do": "data", "rows": count, "features": features}));
        let ask = |request: serde_json::Value| peer.borrow_mut().time(&request);
        let [sklearn] = interleaved(3, [Box::new(|| ask(json!({"do": "sklearn"})))]);
        for (multiple, least) in CLIPS {
            let case = Case { features, steps: STEPS, multiple };
            let plan = case.plan(&rows);
            let setup = ask(json!({"do": "clip", "gamma": case.gamma()}));
            let shared = RefCell::new(&mut rows);
            let ours = |run: fn(Case, &Descent, &mut Encoded) -> Seconds| {
                let rows: &mut Encoded = &mut shared.borrow_mut();
                pool.install(|| run(case, &plan, rows))
            };
            let rounds = if record.quick { 3 } else { 5 };
            let step = || ask(json!({"do": "step"}));
            let [step, pass, fit] =
                interleaved(rounds, [Box::new(step), Box::new(|| ours(Case::pass)), Box::new(|| ours(Case::fit))]);
            let numpy = step.times(f64::from(STEPS)).plus(setup);
            let target = (!record.quick).then_some(Target::AtLeast(least));
            // One thread: processor time, which other load hardly touches. All threads: what a user
            // waits.
            let pick = |time: Seconds| if used == 1 { time.processor } else { time.wall };
            let at = [("n", count as f64), ("p", features as f64), ("clip", multiple), ("threads", used as f64)];
            let mut add = |what: &str, value: f64, unit: Unit, target: Option<Target>| {
                record.add(Measure::new("Fit of 200 steps", what, &at, value, unit).with(target));
            };
            add("seconds", pick(fit), Unit::Seconds, None);
            add("times numpy's", pick(numpy) / pick(fit), Unit::Ratio, target);
            add("times full passes", f64::from(STEPS) * pick(pass) / pick(fit), Unit::Ratio, None);
            add("of one scikit-learn fit", pick(fit) / pick(sklearn), Unit::Ratio, None);
        }
    }
}

/// Measures how the time of a fit grows with rows, features and steps.
pub fn growth(record: &mut Record) {
    let largest = if record.quick { 1_000_000 } else { 10_000_000 };
    let base = 10_000;
    for count in [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000] {
        if count <= largest {
            grown(record, "rows", count, Case { features: 10, steps: STEPS, multiple: 5.0 });
        }
    }
    for features in [5, 10, 20, 50, 100, 200, 500] {
        grown(
            record,
            "features",
            if record.quick { base } else { 200_000 },
            Case { features, steps: STEPS, multiple: 5.0 },
        );
    }
    for steps in [10, 30, 100, 300, 1000, 2000] {
        grown(
            record,
            "steps",
            if record.quick { 100_000 } else { 1_000_000 },
            Case { features: 10, steps, multiple: 5.0 },
        );
    }
}

/// Measures fits of 200 steps of few rows for their width, against full passes and against numpy,
/// one thread.
pub fn wide(record: &mut Record) {
    let count = if record.quick { 50_000 } else { 200_000 };
    for features in [100, 150, 200, 300] {
        let rows = isotropic(count, features);
        let case = Case { features, steps: STEPS, multiple: 5.0 };
        let (plan, pool, peer) = (case.plan(&rows), threads(1), RefCell::new(Peer::start(1)));
        peer.borrow_mut().time(&json!({"do": "data", "rows": count, "features": features}));
        let setup = peer.borrow_mut().time(&json!({"do": "clip", "gamma": case.gamma()}));
        let rows = RefCell::new(rows);
        let ours = |run: fn(Case, &Descent, &mut Encoded) -> Seconds| {
            let rows: &mut Encoded = &mut rows.borrow_mut();
            pool.install(|| run(case, &plan, rows))
        };
        let step = || peer.borrow_mut().time(&json!({"do": "step"}));
        let [step, pass, fit] =
            interleaved(3, [Box::new(step), Box::new(|| ours(Case::pass)), Box::new(|| ours(Case::fit))]);
        let at = [("n", count as f64), ("p", features as f64)];
        let numpy = step.times(f64::from(STEPS)).plus(setup).processor;
        let mut add = |what: &str, value: f64, unit: Unit| {
            record.add(Measure::new("Few rows for their width", what, &at, value, unit));
        };
        add("seconds of the processor", fit.processor, Unit::Seconds);
        add("in full passes", fit.processor / pass.processor, Unit::Ratio);
        add("times as fast as numpy", numpy / fit.processor, Unit::Ratio);
    }
}

/// One fit on all threads, several times.
fn grown(record: &mut Record, with: &str, count: usize, case: Case) {
    let rows = &mut isotropic(count, case.features);
    let plan = case.plan(rows);
    let [fit] = interleaved(if record.quick { 3 } else { 5 }, [Box::new(|| case.fit(&plan, rows))]);
    let at = [("n", count as f64), ("p", case.features as f64), ("steps", f64::from(case.steps))];
    record.add(Measure::new("Growth", &format!("growing with {with}"), &at, fit.wall, Unit::Seconds));
}

/// A fit to time.
#[derive(Clone, Copy)]
struct Case {
    features: usize,
    steps: u32,
    /// The clip in multiples of `sqrt p`.
    multiple: f64,
}

impl Case {
    fn gamma(self) -> f64 {
        self.multiple * (self.features as f64).sqrt()
    }

    fn plan(self, rows: &Encoded) -> Descent {
        Descent::plan(rows.count(), self.features, self.gamma(), self.steps, STEP_SIZE, Neighbours::ReplaceOne, RHO)
            .expect("the benchmark's plan")
    }

    /// Another clip, so that nothing is left of the last fit.
    fn forget(self, plan: &Descent, rows: &mut Encoded) {
        rows.clipped(plan.lattice().clip(1.01 * self.gamma()), None).expect("rows in memory");
    }

    /// A full pass; no steps are forecast, so nothing is screened.
    fn pass(self, plan: &Descent, rows: &mut Encoded) -> Seconds {
        self.forget(plan, rows);
        let forecast = ExpectedSteps { steps: 0, step_size: STEP_SIZE, noise_sd: 1.0 };
        let mut rows = rows.clipped(plan.clip(), Some(forecast)).expect("rows in memory");
        let theta = plan.lattice().theta(&vec![0.1; self.features]);
        Seconds::of(|| _ = black_box(rows.negative_gradient_sum(&theta, plan.lattice(), Neighbours::ReplaceOne)))
    }

    /// The whole descent, from rows of which nothing is known.
    fn fit(self, plan: &Descent, rows: &mut Encoded) -> Seconds {
        self.forget(plan, rows);
        let mut budget = Budget::new(Rho::checked_from_f64(RHO).expect("a budget"));
        let spend = budget.spend_rest("gradients").expect("the whole budget");
        let start = vec![0.0; self.features];
        Seconds::of(|| {
            let run = plan.run(rows, &start, spend, &mut FixedSeed::new(1), Progress::NONE);
            _ = black_box(run.expect("rows in memory"));
        })
    }
}
