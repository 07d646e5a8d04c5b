//! Preconditioning: least squares at a large budget, and correlated columns that cost no more than
//! others.

use crate::common::{Data, SLOPES, distance, estimates, fit, prediction};

/// Columns that are nearly the same: `x_j + 10 x_0`.
fn correlated(seed: u64) -> Data {
    let mut data = Data::normal(20_000, 3, seed);
    for (row, y) in data.x.iter_mut().zip(&mut data.y) {
        let common = row[0];
        (0..3).for_each(|j| row[j] = (row[j] + 10.0 * common) / 10.0);
        *y += row.iter().zip(SLOPES).map(|(x, slope)| x * slope).sum::<f64>();
    }
    data
}

#[test]
fn a_large_budget_gives_least_squares() {
    let data = Data::normal(3000, 3, 1);
    let found = estimates(&fit("preconditioned-adassp", prediction(900.0), &data, 2));
    assert!(distance(&found, &data.least_squares()) < 0.02, "{found:?} {:?}", data.least_squares());
}

/// The mean squared error of predictions against least squares in the clear: without
/// preconditioning a ridge hides the short directions.
#[test]
fn correlated_columns_are_told_apart() {
    let excess = |name: &str| {
        let of_seed = |seed: u64| {
            let data = correlated(40 + seed);
            let (found, clear) = (estimates(&fit(name, prediction(0.5), &data, seed)), data.least_squares());
            let off = |row: &Vec<f64>| row.iter().zip(&found).zip(&clear).map(|((x, a), b)| x * (a - b)).sum::<f64>();
            data.x.iter().map(|row| off(row).powi(2)).sum::<f64>() / data.x.len() as f64
        };
        (0..10).map(of_seed).sum::<f64>()
    };
    let (turned, plain) = (excess("preconditioned-adassp"), excess("adassp"));
    assert!(turned < 0.5 * plain, "{turned} {plain}");
}
