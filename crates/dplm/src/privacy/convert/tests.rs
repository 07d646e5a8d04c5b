//! Published figures, 80-digit reference values, order, and conservative round trips.

use super::*;

const ALL: [Conversion; 3] = [Conversion::Simple, Conversion::Cks, Conversion::Exact];

fn assert_near(actual: Result<f64, ConvertError>, expected: f64, tolerance: f64) {
    let actual = actual.expect("valid arguments");
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
}

#[test]
fn figures_of_the_table() {
    let table = [
        (0.005, [0.5307, 0.4299, 0.3969]),
        (0.015, [0.9255, 0.7717, 0.7147]),
        (0.05, [1.7123, 1.4716, 1.3676]),
        (0.1, [2.4508, 2.1419, 1.9945]),
        (0.5, [5.7565, 5.2215, 4.8866]),
    ];
    for (rho, row) in table {
        for (conversion, expected) in ALL.into_iter().zip(row) {
            assert_near(epsilon(conversion, rho, 1e-6), expected, 5.1e-5);
        }
    }
    for (conversion, expected) in ALL.into_iter().zip([0.01747, 0.02436, 0.02801]) {
        assert_near(rho(conversion, 1.0, 1e-6), expected, 5.1e-6);
    }
}

/// One line of the reference: what is asked, its two arguments, and the three conversions' values.
struct Reference {
    what: &'static str,
    first: f64,
    second: f64,
    values: [f64; 3],
}

fn references() -> Vec<Reference> {
    let line = |line: &'static str| {
        let mut fields = line.split(' ');
        let what = fields.next().expect("what is asked");
        let mut number =
            || fields.next().and_then(|field| field.parse().ok()).expect("six fields, five of them numbers");
        Reference { what, first: number(), second: number(), values: [number(), number(), number()] }
    };
    include_str!("../../../tests/reference/convert.txt").lines().map(line).collect()
}

#[test]
fn reference_values_are_met_from_the_safe_side() {
    let references = references();
    assert!(references.len() > 400);
    for Reference { what, first, second, values } in references {
        for (conversion, expected) in ALL.into_iter().zip(values) {
            let (actual, sign) = match what {
                "epsilon" => (epsilon(conversion, first, second), 1.0),
                "rho" => (rho(conversion, first, second), -1.0),
                "delta" => (delta(conversion, first, second), 1.0),
                other => panic!("the reference asks for an unknown {other}"),
            };
            let actual = actual.expect("valid arguments");
            let slack = sign * (actual - expected);
            let case = format!("{what} by {conversion:?} of {first:e}, {second:e}: {actual:e} for {expected:e}");
            assert!(slack >= 0.0, "not conservative: {case}");
            assert!(slack <= 1e-11 * expected + 1e-300, "not tight: {case}");
        }
    }
}

/// Numbers spread evenly in logarithm, from a Weyl sequence.
fn spread(count: u32, low: f64, high: f64, offset: f64) -> impl Iterator<Item = f64> {
    let step = 0.618_033_988_749_894_9;
    (0..count).map(move |i| low * (high / low).powf((f64::from(i) * step + offset).fract()))
}

#[test]
fn converting_there_and_back_is_conservative() {
    let deltas = spread(600, 1e-300, 0.9, 0.1).chain(spread(600, 1e-12, 0.9, 0.3));
    for (promised, delta) in spread(1200, 1e-9, 1e4, 0.7).zip(deltas) {
        for conversion in ALL {
            let rho = rho(conversion, promised, delta).expect("valid arguments");
            let kept = epsilon(conversion, rho, delta).expect("valid arguments");
            assert!(kept <= promised, "{conversion:?}: {promised:e} became {kept:e} at delta {delta:e}");
            // Where delta alone nearly pays for rho, epsilon hangs on the last digits of delta.
            assert!(kept >= promised * (1.0 - 1e-8) - 1e-11, "{conversion:?}: {promised:e} fell to {kept:e}");
        }
    }
}

#[test]
fn tighter_conversions_give_smaller_epsilon_and_larger_rho() {
    for (value, delta) in spread(500, 1e-6, 1e3, 0.2).zip(spread(500, 1e-100, 0.5, 0.5)) {
        let epsilons = ALL.map(|conversion| epsilon(conversion, value, delta).expect("valid arguments"));
        assert!(epsilons[2] <= epsilons[1] && epsilons[1] <= epsilons[0], "rho {value:e}: {epsilons:?}");
        let rhos = ALL.map(|conversion| rho(conversion, value, delta).expect("valid arguments"));
        assert!(rhos[2] >= rhos[1] && rhos[1] >= rhos[0], "epsilon {value:e}: {rhos:?}");
        let deltas = ALL.map(|conversion| super::delta(conversion, value, 2.0 * value).expect("valid arguments"));
        assert!(deltas[2] <= deltas[1] && deltas[1] <= deltas[0], "rho {value:e}: {deltas:?}");
    }
}

/// Whether each value is at most the next.
fn rises(values: impl Iterator<Item = f64>) -> bool {
    values.collect::<Vec<_>>().is_sorted()
}

#[test]
fn every_conversion_is_monotone() {
    let grid: Vec<f64> = (0..=320).map(|i| 10_f64.powf(-12.0 + f64::from(i) / 20.0)).collect();
    for conversion in ALL {
        for fixed in [1e-300, 1e-30, 1e-6, 0.1, 0.7] {
            assert!(rises(grid.iter().map(|&rho| epsilon(conversion, rho, fixed).expect("valid arguments"))));
            assert!(rises(grid.iter().map(|&promised| rho(conversion, promised, fixed).expect("valid arguments"))));
        }
        for fixed in [1e-12, 1e-3, 0.5, 40.0, 1e4] {
            let deltas = || grid.iter().filter(|&&delta| delta < 1.0);
            assert!(rises(deltas().rev().map(|&delta| epsilon(conversion, fixed, delta).expect("valid arguments"))));
            assert!(rises(deltas().map(|&delta| rho(conversion, fixed, delta).expect("valid arguments"))));
            let at = |&promised: &f64| super::delta(conversion, fixed, promised).expect("valid arguments");
            assert!(rises(grid.iter().rev().map(at)), "{conversion:?}: delta at rho {fixed:e}");
        }
    }
}

#[test]
fn arguments_out_of_range_are_refused() {
    for conversion in ALL {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(epsilon(conversion, bad, 0.1), Err(ConvertError::Rho { .. })), "{bad}");
            assert!(matches!(rho(conversion, bad, 0.1), Err(ConvertError::Epsilon { .. })), "{bad}");
            assert!(matches!(super::delta(conversion, bad, 1.0), Err(ConvertError::Rho { .. })), "{bad}");
            assert_eq!(super::delta(conversion, 1.0, bad).is_ok(), bad == 0.0, "{bad}");
        }
        for bad in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(epsilon(conversion, 1.0, bad), Err(ConvertError::Delta { .. })), "{bad}");
            assert!(matches!(rho(conversion, 1.0, bad), Err(ConvertError::Delta { .. })), "{bad}");
        }
    }
}

#[test]
fn the_ends_of_the_range_give_bounds_and_not_nonsense() {
    let ends = [5e-324, f64::MIN_POSITIVE, 1e-200, 1e-20, 1.0, 1e20, 1e200, 1e307, f64::MAX];
    let deltas = [5e-324, f64::MIN_POSITIVE, 1e-20, 0.5, 1.0 - f64::EPSILON / 2.0];
    for conversion in ALL {
        for value in ends {
            for delta in deltas {
                let epsilon = epsilon(conversion, value, delta).expect("valid arguments");
                assert!(epsilon >= 0.0, "{conversion:?}: rho {value:e}, delta {delta:e} gave {epsilon}");
                let rho = rho(conversion, value, delta).expect("valid arguments");
                assert!(rho >= 0.0 && rho.is_finite(), "{conversion:?}: epsilon {value:e}, delta {delta:e} gave {rho}");
            }
            for promised in ends.into_iter().chain([0.0]) {
                let delta = super::delta(conversion, value, promised).expect("valid arguments");
                assert!(delta > 0.0 && delta <= 1.0, "{conversion:?}: {value:e}, {promised:e} gave {delta}");
            }
        }
    }
}
