//! Least squares against the NIST Statistical Reference Datasets (linear regression).
//!
//! The answers in `reference/nist/exact.csv` are the exact rational least squares solutions, made
//! by `exact.py` beside them, which also compares them with NIST's certificates. Accuracy is NIST's
//! log relative error: the number of correct figures.

use dplm_theory::clear::{Ols, OlsFit};

/// A set: its data, the construction of its columns, and the required figures of the coefficients
/// and of everything else.
///
/// The requirement is the measured accuracy minus about one figure: rounding differs between
/// processors. For Filip no method can do better than 7.6 figures: that is how far the exact
/// solution moves when the powers are rounded to doubles.
struct Set {
    name: &'static str,
    data: &'static str,
    model: Model,
    coefficient_figures: f64,
    error_figures: f64,
}

#[derive(Clone, Copy)]
enum Model {
    /// `1, x, ..., x^degree`.
    Polynomial(i32),
    /// `1, x1, x2, ...`.
    Linear,
    /// The predictors alone.
    Origin,
}

macro_rules! set {
    ($name:literal, $model:expr, $coefficient_figures:expr, $error_figures:expr) => {
        Set {
            name: $name,
            data: include_str!(concat!("reference/nist/", $name, ".csv")),
            model: $model,
            coefficient_figures: $coefficient_figures,
            error_figures: $error_figures,
        }
    };
}

fn sets() -> [Set; 11] {
    use Model::{Linear, Origin, Polynomial};
    [
        set!("norris", Polynomial(1), 12.5, 13.0),
        set!("pontius", Polynomial(2), 12.5, 12.5),
        set!("noint1", Origin, 15.0, 14.0),
        set!("noint2", Origin, 15.0, 14.0),
        set!("filip", Polynomial(10), 6.5, 6.5),
        set!("longley", Linear, 12.5, 13.0),
        set!("wampler1", Polynomial(5), 9.0, 14.0),
        set!("wampler2", Polynomial(5), 12.0, 14.0),
        set!("wampler3", Polynomial(5), 8.5, 13.0),
        set!("wampler4", Polynomial(5), 7.0, 13.0),
        set!("wampler5", Polynomial(5), 5.2, 12.5),
    ]
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number in a reference file")
}

impl Set {
    /// Rows of the design matrix and the responses.
    fn rows(&self) -> (Vec<Vec<f64>>, Vec<f64>) {
        let lines = self.data.lines().skip(1);
        let cells = lines.map(|line| line.split(',').map(number).collect::<Vec<f64>>());
        cells.map(|row| (self.columns(&row[1..]), row[0])).unzip()
    }

    fn columns(&self, predictors: &[f64]) -> Vec<f64> {
        match self.model {
            Model::Polynomial(degree) => (0..=degree).map(|k| predictors[0].powi(k)).collect(),
            Model::Linear => [&[1.0], predictors].concat(),
            Model::Origin => predictors.to_vec(),
        }
    }

    fn fit(&self, block_rows: usize) -> OlsFit {
        let (x, y) = self.rows();
        let mut ols = Ols::new(x[0].len()).block_rows(block_rows);
        if !matches!(self.model, Model::Origin) {
            ols = ols.constant_column(0);
        }
        ols.push(&x.concat(), &y).expect("rows of one length");
        ols.finish().expect("full rank")
    }

    /// The exact values of one quantity.
    fn exact(&self, quantity: &str) -> Vec<f64> {
        let wanted = format!("{},{quantity},", self.name);
        include_str!("reference/nist/exact.csv").lines().filter_map(|l| l.strip_prefix(&wanted)).map(number).collect()
    }
}

/// Correct figures of the worst value, at most 16; figures after the point of `scale` if the exact
/// value is zero.
fn figures(found: &[f64], exact: &[f64], scale: f64) -> f64 {
    assert_eq!(found.len(), exact.len());
    let error = |(f, e): (&f64, &f64)| (f - e).abs() / if *e == 0.0 { scale } else { e.abs() };
    found.iter().zip(exact).map(|pair| (-error(pair).log10()).min(16.0)).fold(16.0, f64::min)
}

/// Prints the figures reached and asserts those required of each set; `blocks_of` is the number of
/// rows factored at a time.
fn check(blocks_of: usize, allowance: f64) {
    for set in sets() {
        let fit = set.fit(blocks_of);
        // If the fit is exact the error is rounding, small compared with the responses.
        let scale = set.rows().1.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let reached = [
            figures(&fit.coefficients, &set.exact("coefficient"), 1.0),
            figures(&fit.std_errors, &set.exact("std_error"), scale),
            figures(&[fit.residual_sd], &set.exact("residual_sd"), scale),
            figures(&[fit.r_squared], &set.exact("r_squared"), 1.0),
        ];
        println!("{:9} {reached:5.1?}", set.name);
        let wanted = [set.coefficient_figures, set.error_figures, set.error_figures, set.error_figures];
        for (quantity, (got, asked)) in
            ["coefficients", "standard errors", "residual sd", "R squared"].iter().zip(reached.iter().zip(wanted))
        {
            assert!(*got >= asked - allowance, "{}, {quantity}: {got:.1} figures, {asked} asked", set.name);
        }
    }
}

#[test]
fn figures_of_every_set() {
    check(1024, 0.0);
}

/// Blocks shorter than the model is wide, the hardest way to stream, may cost a figure or two.
#[test]
fn figures_when_streamed_in_tiny_blocks() {
    check(5, 2.5);
    check(1, 2.5);
}

#[test]
fn exact_values_are_all_there() {
    for set in sets() {
        let p = set.rows().0[0].len();
        assert_eq!([p, p, 1, 1], ["coefficient", "std_error", "residual_sd", "r_squared"].map(|q| set.exact(q).len()));
    }
}
