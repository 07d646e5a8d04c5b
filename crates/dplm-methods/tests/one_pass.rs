//! One pass over batches: its budget is that of one batch.

use dplm::{privacy::Mechanism, rows::Rows};

use crate::common::{Data, SLOPES, design, distance, estimates, fit, prediction};

/// At this budget there are 32 steps of one half, each of 625 rows, whose sampling error is about
/// `sqrt(3 / 625)`; the mean of the last 16 has a quarter of that and a little more, as they
/// remember each other.
#[test]
fn a_large_budget_comes_near_the_truth() {
    let data = Data::normal(20_000, 3, 1);
    let outcome = fit("one-pass", prediction(100.0), &data, 2);
    assert!(distance(&estimates(&outcome), &SLOPES) < 0.1, "{:?}", estimates(&outcome));
}

/// Each batch has the whole budget: noise is that of one release on its rows,
/// `2 clip / (n / steps) / sqrt(2 rho 0.9)`.
#[test]
fn batches_do_not_share_the_budget() {
    let (rows, rho) = (8000, 0.5f64);
    let outcome = fit("one-pass", prediction(rho), &Data::normal(rows, 3, 1), 2);
    let steps = f64::from(outcome.summary.steps);
    assert!(steps >= 8.0);
    let expected = 2.0 * outcome.summary.clip / (rows as f64 / steps).ceil() / (2.0 * rho * 0.9).sqrt();
    assert!((outcome.summary.noise_sd / expected - 1.0).abs() < 0.01, "{} {expected}", outcome.summary.noise_sd);
    let kinds: Vec<Mechanism> = outcome.releases.iter().map(|release| release.mechanism).collect();
    assert_eq!(kinds, [Mechanism::Exponential, Mechanism::Gaussian]);
}

/// Parallel composition: a row that is replaced, or zeroed out, changes one batch, the one of its
/// place, and the answers of all others are the same.
#[test]
fn a_row_is_in_one_batch_whatever_it_holds() {
    let data = Data::normal(400, 2, 5);
    let formula = data.formula("[-4..4]");
    let design = design(&formula, 2);
    let moments = |data: &Data| -> Vec<Vec<i128>> {
        let batches = data.rows(&design).custom().and_then(|rows| rows.batches(8)).expect("rows in memory");
        let upper = |rows: &dyn Rows| -> Vec<i128> {
            let sums = rows.moments().expect("rows in memory").into_inner();
            (0..3).flat_map(|i| (0..=i).map(|j| sums.entry(j, i)).collect::<Vec<i128>>()).collect()
        };
        batches.iter().map(|rows| upper(rows.as_ref())).collect()
    };
    let before = moments(&data);
    for (x, y) in [([4.0, -4.0], 4.0), ([f64::NAN, 0.0], 0.0)] {
        let after = moments(&data.replaced(43, &x, y));
        let changed: Vec<usize> = (0..8).filter(|&batch| before[batch] != after[batch]).collect();
        assert_eq!(changed, [43 % 8]);
    }
}
