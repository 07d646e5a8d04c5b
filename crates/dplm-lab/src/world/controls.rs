//! Designs of a column of interest among controls.

use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{
    Feature,
    design::{Design, Drawn, USUAL, design, mean_of, numbered},
    normal, uniform,
};

/// Columns in pairs of correlation `r`.
pub(super) fn pairs(r: f64, p: usize) -> Design {
    let weight = (p as f64).sqrt().recip();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        cells.fill_with(|| normal(rng));
        (1..cells.len()).step_by(2).for_each(|j| cells[j] = r * cells[j - 1] + (1.0 - r * r).sqrt() * cells[j]);
        Drawn { mean: mean_of(cells, weight), drive: cells[0] }
    };
    Design { alike: true, elliptical: true, ..design(numbered(p, USUAL), Box::new(draw)) }
}

/// Columns of which all directions differ: the variances of the principal components fall
/// geometrically, the last being `number` times smaller than the first, and columns are cosines of
/// them, in units of their own spread.
pub(super) fn condition(number: f64, p: usize) -> Design {
    let (count, weight) = (p as f64, (p as f64).recip());
    let cosine = move |j: usize, k: usize| {
        let angle = std::f64::consts::PI * (j as f64 + 0.5) * k as f64 / count;
        (if k == 0 { 1.0 / count } else { 2.0 / count }).sqrt() * angle.cos()
    };
    let sds: Vec<f64> = (0..p).map(|k| number.powf(-0.5 * k as f64 / (count - 1.0))).collect();
    let rows: Vec<Vec<f64>> = (0..p)
        .map(|j| {
            let row: Vec<f64> = (0..p).map(|k| cosine(j, k) * sds[k]).collect();
            let own = row.iter().map(|one| one * one).sum::<f64>().sqrt();
            row.into_iter().map(|one| one / own).collect()
        })
        .collect();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let components: Vec<f64> = (0..rows.len()).map(|_| normal(rng)).collect();
        for (cell, row) in cells.iter_mut().zip(&rows) {
            *cell = row.iter().zip(&components).map(|(weight, one)| weight * one).sum();
        }
        Drawn { mean: mean_of(cells, weight), drive: cells[0] }
    };
    Design { elliptical: true, ..design(numbered(p, USUAL), Box::new(draw)) }
}

/// `x` among controls of which the last repeats `of` others, except for `apart` times a direction
/// that both `x` and the response depend on: without it the coefficient of `x` is another.
pub(super) fn nearly_repeated(of: usize, apart: f64, p: usize) -> Design {
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        cells.fill_with(|| normal(rng));
        let (direction, last) = (normal(rng), cells.len() - 1);
        let repeated = cells[last - of..last].iter().sum::<f64>() / (of as f64).sqrt();
        cells[last] = repeated + apart * direction;
        cells[0] = 0.6 * direction + 0.8 * cells[0];
        Drawn { mean: 0.3 * cells[0] + 0.7 * direction + 0.2 * cells[1], drive: cells[0] }
    };
    let controls = (1..=p).map(|j| Feature::within(format!("c{j}"), -USUAL, USUAL));
    let features = std::iter::once(Feature::within("x", -USUAL, USUAL)).chain(controls).collect();
    Design { elliptical: true, ..design(features, Box::new(draw)) }
}

/// A treatment that a share of the rows has, and 57 controls that it depends on: 12 numbers and
/// four factors.
pub(super) fn treated(share: f64) -> Design {
    const NUMBERS: usize = 12;
    const LEVELS: [usize; 4] = [10, 13, 12, 14];
    // What makes the treatment likely has about unit variance, and so has what is by chance.
    let threshold = -std::f64::consts::SQRT_2 * Normal::standard().inverse_cdf(share);
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let (treatment, controls) = cells.split_first_mut().expect("there are columns");
        let (numbers, factors) = controls.split_at_mut(NUMBERS);
        numbers.fill_with(|| normal(rng));
        factors.iter_mut().zip(LEVELS).for_each(|(cell, levels)| *cell = (levels as f64 * uniform(rng)).floor());
        let by_level: f64 = factors.iter().zip(LEVELS).map(|(cell, levels)| cell / (levels - 1) as f64 - 0.5).sum();
        let by_number = numbers.iter().sum::<f64>() / (NUMBERS as f64).sqrt();
        let likely = 0.75 * by_number + by_level;
        *treatment = f64::from(u8::from(likely + normal(rng) > threshold));
        Drawn { mean: 0.4 * *treatment + 0.5 * by_number + 0.5 * by_level, drive: by_number }
    };
    let of_levels = |(place, &count): (usize, &usize)| {
        let names: Vec<String> = (0..count).map(|level| level.to_string()).collect();
        Feature::levels(&format!("f{}", place + 1), &names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let features = std::iter::once(Feature::levels("treated", &["no", "yes"]))
        .chain(numbered(NUMBERS, USUAL))
        .chain(LEVELS.iter().enumerate().map(of_levels));
    design(features.collect(), Box::new(draw))
}

/// Columns that share three hidden factors, every other one with the opposite sign.
pub(super) fn factors(p: usize) -> Design {
    let weight = (p as f64).sqrt().recip();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let hidden: [f64; 3] = std::array::from_fn(|_| normal(rng));
        for (j, cell) in cells.iter_mut().enumerate() {
            let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
            *cell = sign * 0.5f64.sqrt() * hidden[j % 3] + 0.5f64.sqrt() * normal(rng);
        }
        Drawn { mean: mean_of(cells, weight), drive: cells[0] }
    };
    Design { elliptical: true, ..design(numbered(p, USUAL), Box::new(draw)) }
}

/// Uniform columns in threes that share a part.
pub(super) fn blocks(p: usize) -> Design {
    let weight = (p as f64).sqrt().recip();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        for three in cells.chunks_mut(3) {
            let shared = uniform(rng);
            three.fill_with(|| 6f64.sqrt() * (shared + uniform(rng) - 1.0));
        }
        Drawn { mean: mean_of(cells, weight), drive: cells[0] }
    };
    design(numbered(p, 2.5), Box::new(draw))
}
