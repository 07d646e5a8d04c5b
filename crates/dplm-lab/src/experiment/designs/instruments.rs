//! A regressor that goes with the errors, and instruments.

use std::fmt::Write;

use dplm::table::Source;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::Trial;

const SLOPE: f64 = 0.5;

/// Rows whose regressor is moved by instruments with these coefficients; errors are larger where
/// the control is.
pub(super) fn table(rows: u64, seed: u64, strengths: &[f64]) -> Result<Trial, dplm::Error> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let instruments: Vec<String> = (1..=strengths.len()).map(|k| format!("z{k}")).collect();
    let mut text = format!("y,x,w,{}\n", instruments.join(","));
    // The constant, the control, the instruments, the regressor, the response.
    let mut columns = vec![Vec::new(); strengths.len() + 4];
    for _ in 0..rows {
        let (w, shared, common) = (normal(), normal(), normal());
        let z: Vec<f64> = strengths.iter().map(|_| 0.3 * w + 0.5 * common + 0.8 * normal()).collect();
        let moved: f64 = z.iter().zip(strengths).map(|(z, strength)| strength * z).sum();
        let x = moved + 0.5 * w + shared + 0.5 * normal();
        let y = SLOPE * x + 0.3 * w - shared + (0.4 + 0.2 * w.abs()) * normal();
        let cells: Vec<String> = z.iter().map(f64::to_string).collect();
        writeln!(text, "{y},{x},{w},{}", cells.join(",")).expect("a text can be written");
        let row = [1.0, w].into_iter().chain(z).chain([x, y]);
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    let instruments: Vec<String> = instruments.iter().map(|name| format!("{name}[-5..5]")).collect();
    Ok(Trial {
        source: Source::from_csv_stream(&mut text.as_bytes(), "instruments")?,
        formula: format!("y[-12..12] ~ w[-4..4] | x[-9..9] ~ {}", instruments.join(" + ")),
        persons: None,
        judged: vec![("x".to_owned(), SLOPE, two_stage_error(columns))],
    })
}

/// The standard error of two-stage least squares that allows for errors of different size.
fn two_stage_error(columns: Vec<Vec<f64>>) -> f64 {
    const CONTROLS: usize = 2;
    let stage = columns.len() - 2;
    // What is new in each column beside those before it, with length 1.
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut left: Vec<Vec<f64>> = Vec::new();
    for (place, mut column) in columns.into_iter().enumerate() {
        for one in &basis[..basis.len().min(if place < stage { place } else { CONTROLS })] {
            let share = dot(one, &column);
            column.iter_mut().zip(one).for_each(|(cell, one)| *cell -= share * one);
        }
        let length = dot(&column, &column).sqrt();
        if place < stage { basis.push(column.iter().map(|cell| cell / length).collect()) } else { left.push(column) }
    }
    let (instruments, [x, y]) = (&basis[CONTROLS..], [&left[0], &left[1]]);
    let first_stage: Vec<f64> = instruments.iter().map(|z| dot(z, x)).collect();
    let strength = dot(&first_stage, &first_stage);
    let slope = instruments.iter().zip(&first_stage).map(|(z, share)| share * dot(z, y)).sum::<f64>() / strength;
    let score = |row: usize| {
        let fitted: f64 = instruments.iter().zip(&first_stage).map(|(z, share)| share * z[row]).sum();
        fitted * (y[row] - slope * x[row])
    };
    (0..x.len()).map(|row| score(row).powi(2)).sum::<f64>().sqrt() / strength
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With errors of variance `s^2` and one instrument of variance `v` beside the control, the
    /// standard error is `s / (strength sqrt(n v))`.
    #[test]
    fn the_error_is_that_of_the_textbook() {
        let trial = table(40_000, 1, &[0.8]).unwrap();
        let (.., error) = trial.judged[0];
        let absolute = (2.0 / std::f64::consts::PI).sqrt();
        let errors = 1.0 + 0.16 + 2.0 * 0.4 * 0.2 * absolute + 0.04;
        let expected = errors.sqrt() / (0.8 * (40_000.0f64 * 0.89).sqrt());
        assert!((error / expected - 1.0).abs() < 0.03, "{error} {expected}");
    }
}
