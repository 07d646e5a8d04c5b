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
        let mut number = || fields.next().and_then(|field| field.parse().ok()).expect("six fields, five of them numbers");
        Reference { what, first: number(), second: number(), values: [number(), number(), number()] }
    };
    include_str!("../../../tests/reference/convert.txt").lines().map(line).collect()
}

#[test]
fn reference_values_are_met_from_the_safe_side() {
    let references = references();
    assert!(references.len() > 400);
    let mut worst = [0.0_f64; 3];
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
            assert!(slack >= 0.0 || actual == 1.0, "not conservative: {case}");
            assert!(slack <= 1e-11 * expected + 1e-300, "not tight: {case}");
            let index = ["epsilon", "rho", "delta"].iter().position(|&name| name == what).expect("known");
            worst[index] = worst[index].max(slack / expected.max(1e-300));
        }
    }
    println!("largest relative slack: {worst:?}");
}
