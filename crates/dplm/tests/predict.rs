//! Results of a fit at other levels and for other rows.

use std::ops::ControlFlow;

use dplm::{
    Bounded, Coverage, Dataset, Fit, NoiseSource, OverPoint, Progress, Reading,
    formula::Formula,
    method::{IntervalMethod, Method, Purpose, Request, auto, dpgd},
    privacy::Rho,
    table::{DataError, ReadOptions, Source},
};
use dplm_report::over_svg;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

const FORMULA: &str = "y[0..100] ~ x[0..10] + g{a,b}";

fn source(rows: usize) -> Source {
    let mut text = "y,x,g\n".to_owned();
    for i in 0..rows {
        let (x, b) = ((i * 37 % 101) as f64 / 10.1, i % 3 == 0);
        let y = 20.0 + 4.0 * x + if b { 10.0 } else { 0.0 } + ((i * 7919) % 13) as f64 - 6.0;
        text += &format!("{y},{x},{}\n", if b { "b" } else { "a" });
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("rows")
}

fn request() -> Request {
    Request::new(Rho::checked_from_f64(0.5).expect("a budget"))
}

fn fit(method: &dyn Method) -> Fit {
    let formula = Formula::parse(FORMULA).expect("a formula");
    let mut data = Dataset::read(&source(4000), &formula, &Reading::default()).expect("data");
    data.fit(method, NoiseSource::Seed(3), Progress::NONE).expect("a fit")
}

/// One fit for each interval method.
fn fits() -> Vec<Fit> {
    let paper = |interval| dpgd::Config::new(Request { interval, ..request() });
    let mut fits = vec![fit(&auto::Config::new(request()))];
    for interval in
        [IntervalMethod::Newton, IntervalMethod::Batched, IntervalMethod::Checkpoints, IntervalMethod::Independent]
    {
        fits.push(fit(&paper(interval)));
    }
    fits
}

#[test]
fn at_its_own_level_a_fit_gives_its_own_intervals() {
    for fit in fits() {
        let own: Vec<_> = fit.coefficients.iter().map(|one| one.precision.map(|p| (p.low, p.high))).collect();
        assert_eq!(fit.intervals(fit.level).expect("intervals"), own);
        let wider = fit.intervals(0.999).expect("intervals");
        for (own, wider) in own.iter().zip(wider).filter_map(|(own, wider)| own.zip(wider)) {
            assert!(wider.0 < own.0 && own.1 < wider.1);
        }
        assert!(fit.intervals(1.0).is_err());
    }
}

#[test]
fn a_prediction_is_the_coefficients_times_the_row() {
    let rows = "g,x\nb,2.5\na,99\nb,NA\na,0\n,1\nother,1\n";
    let rows = Source::from_csv_stream(&mut rows.as_bytes(), "rows").expect("rows");
    for fit in fits() {
        let b: Vec<f64> = fit.coefficients.iter().map(|one| one.estimate.expect("identified")).collect();
        let found = fit.predict(&rows, &ReadOptions::default()).expect("predictions");
        let expected = [b[0] + 2.5 * b[1] + b[2], b[0] + 10.0 * b[1], f64::NAN, b[0], f64::NAN, f64::NAN];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9 || found.is_nan() && expected.is_nan());
        }
        let with = fit.predict_intervals(&rows, &ReadOptions::default(), 0.95).expect("intervals");
        for (one, estimate) in with.iter().zip(found) {
            assert!(one.estimate == estimate || estimate.is_nan() && one.interval.is_none());
            assert!(one.interval.is_none_or(|(low, high)| low < estimate && estimate < high));
        }
        // The row at which every column is 0 has the interval of the intercept.
        let precision = fit.coefficients[0].precision.expect("the intercept is identified");
        let (low, high) = with[3].interval.expect("and so is its row");
        assert!((low - precision.low).abs() < 1e-9 && (high - precision.high).abs() < 1e-9);
    }
}

#[test]
fn without_releases_for_them_there_are_no_intervals() {
    let prediction = fit(&auto::Config::new(Request { purpose: Purpose::Prediction, ..request() }));
    assert!(prediction.intervals(0.95).is_err());
    assert!(prediction.predict_intervals(&source(3), &ReadOptions::default(), 0.95).is_err());
    assert_eq!(prediction.predict(&source(3), &ReadOptions::default()).expect("predictions").len(), 3);
}

#[test]
fn reading_stops_when_asked() {
    let asked = std::sync::atomic::AtomicU32::new(0);
    let stop = |_, _| match asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let table = ReadOptions { progress: Progress::new(&stop), block_rows: 100, ..ReadOptions::default() };
    let formula = Formula::parse(FORMULA).expect("a formula");
    let refused = Dataset::read(&source(4000), &formula, &Reading { table, ..Reading::default() });
    assert!(matches!(refused.err(), Some(dplm::Error::Data(DataError::Interrupted))));
}

#[test]
fn an_effect_is_the_coefficient_over_the_range() {
    for fit in fits() {
        let effects = fit.effects(0.95).expect("effects");
        let words: Vec<_> =
            effects.iter().map(|one| (one.column.as_str(), one.from.as_str(), one.to.as_str())).collect();
        assert_eq!(words, [("x", "0", "10"), ("g", "a", "b")]);
        for ((effect, one), width) in effects.iter().zip(&fit.coefficients[1..]).zip([10.0, 1.0]) {
            let precision = one.precision.expect("identified");
            assert!((effect.estimate - width * one.estimate.expect("identified")).abs() < 1e-9);
            assert!((effect.interval.0 - width * precision.low).abs() < 1e-8);
            assert!((effect.interval.1 - width * precision.high).abs() < 1e-8);
        }
    }
}

#[test]
fn over_a_column_the_others_are_held_or_averaged() {
    for fit in fits() {
        let b: Vec<f64> = fit.coefficients.iter().map(|one| one.estimate.expect("identified")).collect();
        let band = fit.over("x", &[], 0.95, Coverage::Pointwise).expect("a band");
        let last = band.points.last().expect("points");
        assert_eq!(
            (last.value.to_string(), band.held.as_slice()),
            ("10".to_owned(), &["the mean over the levels of g".to_owned()][..])
        );
        assert!((last.prediction.estimate - (b[0] + 10.0 * b[1] + 0.5 * b[2])).abs() < 1e-9);
        let means = fit.over("g", &[("x".to_owned(), "99".to_owned())], 0.95, Coverage::Pointwise).expect("means");
        let found: Vec<f64> = means.points.iter().map(|point| point.prediction.estimate).collect();
        assert!((found[0] - (b[0] + 10.0 * b[1])).abs() < 1e-9, "moved to the bound, as a cell is");
        assert!((found[1] - found[0] - b[2]).abs() < 1e-9);
        assert!(means.points.iter().all(|point| point.prediction.interval.is_some_and(|(low, high)| low < high)));
    }
}

/// The factor by which an interval may be longer than the textbook's. The paper's method, given
/// bounds, overestimates the errors, so that it knows their variance badly and says so.
fn slack(fit: &Fit) -> f64 {
    if fit.method.name == "dpgd" && fit.interval == IntervalMethod::Newton { 0.4 } else { 0.01 }
}

/// A line has two dimensions: 95 % of chi-square with two degrees of freedom lie below 2.448
/// squared, where each point alone has 1.960; with ten batches it is Hotelling's distribution,
/// 3.167 against 2.262.
#[test]
fn a_simultaneous_band_is_wider_by_the_ratio_of_the_textbook() {
    let band = |fit: &Fit, coverage| -> Vec<f64> {
        let width = |point: &OverPoint| point.prediction.interval.map(|(low, high)| high - low).expect("identified");
        fit.over("x", &[], 0.95, coverage).expect("a band").points.iter().map(width).collect()
    };
    for fit in fits() {
        let ratio = if fit.interval == IntervalMethod::Newton { 2.4477 / 1.96 } else { 3.1674 / 2.2622 };
        let (each, all) = (band(&fit, Coverage::Pointwise), band(&fit, Coverage::Simultaneous));
        for (each, all) in each.iter().zip(all) {
            assert!((-0.01..slack(&fit)).contains(&(all / each / ratio - 1.0)), "{all} over {each} is not {ratio}");
        }
        let picture = |coverage| over_svg(&fit.over("x", &[], 0.95, coverage).expect("a band"));
        assert!(picture(Coverage::Simultaneous).contains("95 % intervals, for all points at once"));
        assert!(picture(Coverage::Pointwise).contains("95 % intervals, each for its own point"));
    }
}

/// The variance of a mean is that of the weighted coefficients, covariances included, and its
/// interval follows the level; the interval of a person is that of the mean if errors hardly vary.
#[test]
fn a_prediction_is_as_sure_as_the_coefficients_are_together() {
    let rows = || Source::from_csv_stream(&mut "x,g\n2.5,b\n".as_bytes(), "rows").expect("rows");
    for mut fit in fits() {
        let (row, covariance) = ([1.0, 2.5, 1.0], fit.covariance().expect("released").values);
        let term = |j: usize, k: usize| row[j] * row[k] * covariance[j][k];
        let variance: f64 = (0..3).flat_map(|j| (0..3).map(move |k| (j, k))).map(|(j, k)| term(j, k)).sum();
        let diagonal: f64 = (0..3).map(|j| term(j, j)).sum();
        assert!((variance / diagonal - 1.0).abs() > 0.05, "covariances count here");
        fit.residual_sd = Some(Bounded { estimate: 1e-6, low: 0.9e-6, high: 1.1e-6 });
        for (level, normal, student) in [(0.95, 1.960, 2.262), (0.5, 0.674, 0.703)] {
            let found = fit.predict_intervals(&rows(), &ReadOptions::default(), level).expect("intervals")[0];
            let error = found.std_error.expect("identified");
            assert!((error / variance.sqrt() - 1.0).abs() < 1e-6, "{error}, not {}", variance.sqrt());
            let half = |(low, high): (f64, f64)| (high - low) / 2.0 / error;
            let expected = if fit.interval == IntervalMethod::Newton { normal } else { student };
            let beyond = half(found.interval.expect("identified")) / expected - 1.0;
            assert!((-0.01..slack(&fit)).contains(&beyond), "{level}: {beyond}");
            assert!((half(found.person.expect("released")) / normal - 1.0).abs() < 0.01, "{level}");
        }
    }
}

/// An offset, which has coefficient 1, counts wherever the model is followed.
#[test]
fn an_offset_moves_bands_and_effects() {
    let formula = Formula::parse("y[0..100] ~ x[0..10] + g{a,b} + offset(3*x)").expect("a formula");
    let mut data = Dataset::read(&source(4000), &formula, &Reading::default()).expect("data");
    let fit = data.fit(&auto::Config::new(request()), NoiseSource::Seed(5), Progress::NONE).expect("a fit");
    let b: Vec<f64> = fit.coefficients.iter().map(|one| one.estimate.expect("identified")).collect();
    assert!((b[1] - 1.0).abs() < 0.5, "four less three: {b:?}");
    let band = fit.over("x", &[("g".to_owned(), "b".to_owned())], 0.95, Coverage::Pointwise).expect("a band");
    let last = band.points.last().expect("points").prediction;
    assert!((last.estimate - (b[0] + 10.0 * (b[1] + 3.0) + b[2])).abs() < 1e-9);
    assert!(last.interval.is_some_and(|(low, high)| low < last.estimate && last.estimate < high));
    let effect = fit.effects(0.95).expect("effects").remove(0);
    assert!((effect.estimate - 10.0 * (b[1] + 3.0)).abs() < 1e-9, "{effect:?}");
    let precision = fit.coefficients[1].precision.expect("identified");
    assert!((effect.interval.0 - 10.0 * (precision.low + 3.0)).abs() < 1e-8, "{effect:?}");
}

/// If 20 % of the residual standard deviation is uncertain, a Gaussian quantile would cover 92.6 %
/// instead of 95 %. 3,000 fits of 10 persons; the lower bound is 4.9 standard errors of 0.0022, one
/// false alarm in a million.
#[test]
fn a_person_is_covered_although_the_spread_is_not_sure() {
    let (truth, spread_sd) = (3.0, 0.6);
    let mut fit = fit(&auto::Config::new(request()));
    let rows = Source::from_csv_stream(&mut "x,g\n5,a\n".as_bytes(), "rows").expect("rows");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut shares = Vec::new();
    for _ in 0..3000 {
        let estimate: f64 = truth + spread_sd * normal();
        let (low, high) = (estimate - 1.959_964 * spread_sd, estimate + 1.959_964 * spread_sd);
        fit.residual_sd = Some(Bounded { estimate, low, high });
        let found = fit.predict_intervals(&rows, &ReadOptions::default(), 0.95).expect("intervals")[0];
        let (low, high) = found.person.expect("released");
        let mut response = || found.estimate + truth * normal() + found.std_error.expect("identified") * normal();
        shares.push((0..10).filter(|_| (low..=high).contains(&response())).count() as f64 / 10.0);
    }
    let share = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(share > 0.95 - 0.0108 && share < 0.975, "{share}");
}

/// A value beyond the bounds is predicted where rows beyond them are counted, and that is said.
#[test]
fn a_value_beyond_the_bounds_is_said_not_to_be_used() {
    let fit = fit(&auto::Config::new(request()));
    let at = |value: &str| {
        let at = [("x".to_owned(), value.to_owned())];
        fit.over("g", &at, 0.95, Coverage::Pointwise).expect("predictions")
    };
    let (bound, beyond) = (at("10"), at("1000"));
    assert_eq!(bound.held, ["x = 10"]);
    assert_eq!(beyond.held, ["x = 10, its bound, as 1000 is beyond it"]);
    assert_eq!(beyond.points, bound.points);
}
