//! Whole fits by every method on neighbouring tables: no question is moved further than it claims,
//! and nothing but releases is asked.

use dplm::{
    Error,
    method::{IntervalMethod, Purpose, Request, Tuning},
    privacy::Neighbours,
};

use crate::common::{Data, design, fit_rows, request, twin::Twin};

/// What stands in the place of a row: at the bounds, in corners where columns agree, beyond all
/// bounds, missing.
const OTHERS: [([f64; 2], f64); 6] = [
    ([2.0, 2.0], 4.0),
    ([-2.0, 2.0], 4.0),
    ([1e300, -1e300], -1e300),
    ([f64::NAN, 0.0], f64::INFINITY),
    ([0.0, 0.0], 0.0),
    ([100.0, 100.0], -100.0),
];
const MISSING: ([f64; 2], f64) = ([f64::NAN, f64::NAN], f64::NAN);

/// Every method, also the library's own; with intervals where it makes any.
fn requests(neighbours: Neighbours) -> impl Iterator<Item = (&'static str, Request)> {
    dplm_methods::all().map(move |entry| {
        let has_intervals = entry.intervals.contains(&IntervalMethod::Newton);
        let purpose = if has_intervals { Purpose::Inference } else { Purpose::Prediction };
        (entry.name, Request { neighbours, purpose, ..request(2.0) })
    })
}

/// How many columns a method is tried on.
fn features(name: &str) -> usize {
    if name == "theil-sen" { 1 } else { 2 }
}

/// How many rows: a test of depth needs more than all others do.
fn rows(name: &str) -> usize {
    if name == "tukey-tested" { 800 } else { 400 }
}

#[test]
fn no_neighbour_moves_a_question_further_than_it_claims() {
    for (neighbours, others) in [(Neighbours::ReplaceOne, &OTHERS[..]), (Neighbours::ZeroOut, &[MISSING])] {
        for (name, request) in requests(neighbours) {
            // The row that is replaced is itself as far out as it can be.
            let features = features(name);
            let data = Data::normal(rows(name), features, 5).replaced(7, &[2.0, -2.0][..features], -4.0);
            for known in ["", "[-4..4]"] {
                let formula = data.formula(known);
                let design = design(&formula, data.features());
                let mut most = 0f64;
                for ((x, y), seed) in others.iter().zip(0..) {
                    let other = data.replaced(7, &x[..features], *y);
                    let [one, other] = [&data, &other].map(|data| Box::new(data.rows(&design)));
                    let (mut twin, moved) = Twin::new(one, other);
                    let asked = (request.clone(), Tuning::default());
                    fit_rows(name, asked, &formula, &mut twin, seed).expect("a fit");
                    assert!(moved.questions() > 0, "{name}");
                    most = most.max(moved.most());
                }
                // The claim of projected descent is for the worst parameters too.
                let least = if name == "projected" { 0.02 } else { 0.1 };
                assert!(most > least, "{name}, {neighbours:?}, {known}: only {most} of a claim");
            }
        }
    }
}

/// Recorded before drawn: the releases of a fit add up to its budget, whatever the budget is.
#[test]
fn releases_add_up_to_the_budget() {
    for (name, asked) in requests(Neighbours::ReplaceOne) {
        let data = Data::normal(rows(name), features(name), 5);
        let formula = data.formula("[-4..4]");
        let mut rows = data.rows(&design(&formula, data.features()));
        let outcome = fit_rows(name, (asked.clone(), Tuning::default()), &formula, &mut rows, 3).expect("a fit");
        let units: u64 = outcome.releases.iter().map(|release| release.rho.units()).sum();
        assert_eq!(units, asked.rho.units(), "{name}");
        assert_eq!(outcome.summary.name, name);
    }
}

/// What a plan needs is said before anything is spent.
#[test]
fn fewer_rows_than_coefficients_are_refused() {
    for (name, asked) in requests(Neighbours::ReplaceOne) {
        let data = Data::normal(features(name), features(name), 5);
        let formula = data.formula("[-4..4]");
        let mut rows = data.rows(&design(&formula, data.features()));
        let refusal = fit_rows(name, (asked, Tuning::default()), &formula, &mut rows, 3).err().expect("refused");
        assert!(matches!(refusal, Error::Config(_)), "{name}: {refusal}");
    }
}
