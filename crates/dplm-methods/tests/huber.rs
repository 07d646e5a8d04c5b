//! Huber's loss with Mallows weights: agreement with an independent minimiser, coverage, and
//! outliers that matter little.

use dplm::method::{Request, Target, Tuning};

use crate::common::{Data, SLOPES, design, distance, estimates, fit, fit_rows, prediction, request};

const TURN: f64 = 1.345;

/// The minimiser of the weighted Huber loss by iteratively reweighted steps, in floats and in the
/// clear.
fn minimiser(data: &Data) -> Vec<f64> {
    let p = data.features();
    let mut theta = vec![0.0; p];
    for _ in 0..400 {
        let mut gradient = vec![0.0; p];
        for (x, y) in data.x.iter().zip(&data.y) {
            let norm_sq: f64 = x.iter().map(|x| x * x).sum();
            let weight = (p as f64 / norm_sq).min(1.0);
            let residual = y - x.iter().zip(&theta).map(|(x, theta)| x * theta).sum::<f64>();
            let pull = weight * residual.clamp(-TURN, TURN);
            gradient.iter_mut().zip(x).for_each(|(sum, x)| *sum += pull * x / data.y.len() as f64);
        }
        theta.iter_mut().zip(gradient).for_each(|(theta, g)| *theta += 0.5 * g);
    }
    theta
}

#[test]
fn a_large_budget_gives_the_minimiser() {
    let data = Data::normal(2000, 3, 4);
    let formula = data.formula("");
    let tuning = Tuning { steps: Some(60), ..Tuning::default() };
    let mut rows = data.rows(&design(&formula, 3));
    let outcome = fit_rows("huber", (prediction(900.0), tuning), &formula, &mut rows, 2).expect("a fit");
    // Mean of iterates 15 to 60: what is left of the start is below 1e-3.
    assert!(distance(&estimates(&outcome), &minimiser(&data)) < 5e-3);
}

/// 900 intervals at 95 %: by chance below 0.92 less often than once in ten thousand. The upper
/// limit leaves room for intervals that are a little long.
#[test]
fn intervals_cover_the_population() {
    assert_covered(0.5, "");
    assert_covered(2.0, "[-4..4]");
}

/// Of columns that are standard, or known to lie within bounds and much narrower than those.
fn assert_covered(rho: f64, known: &str) {
    let mut held = 0usize;
    for seed in 0..300 {
        let data = Data::normal(2000, 3, 3000 + seed);
        let formula = data.formula(known);
        let asked = (Request { target: Some(Target::Population), ..request(rho) }, Tuning::default());
        let outcome = fit_rows("huber", asked, &formula, &mut data.rows(&design(&formula, 3)), seed).expect("a fit");
        held += outcome
            .coefficients
            .iter()
            .zip(SLOPES)
            .filter(|(one, slope)| {
                one.precision.is_some_and(|precision| precision.low <= *slope && *slope <= precision.high)
            })
            .count();
    }
    let found = held as f64 / 900.0;
    assert!((0.92..0.985).contains(&found), "{found}");
}

/// One row in twenty has a response of 50: least squares is far off, and this is not.
#[test]
fn outliers_matter_little() {
    let mut data = Data::normal(4000, 3, 9);
    (0..4000).step_by(20).for_each(|row| {
        data.y[row] = 50.0;
        data.x[row] = vec![2.0; 3];
    });
    let outcome = fit("huber", prediction(5.0), &data, 1);
    let (robust, plain) = (distance(&estimates(&outcome), &SLOPES), distance(&data.least_squares(), &SLOPES));
    assert!(robust < 0.6 && plain > 2.0, "{robust} {plain}");
}
