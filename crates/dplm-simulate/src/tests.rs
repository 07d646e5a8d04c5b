//! Tests of the distributions of what is drawn, and of the files it is written to.
//!
//! A test of a distribution compares an empirical distribution function with the true one. By the
//! Dvoretzky-Kiefer-Wolfowitz inequality with Massart's constant,
//! `P(sup |F_n - F| > d) <= 2 exp(-2 n d^2)` for every n, so the false-alarm rates below are exact
//! bounds.

use std::{cell::RefCell, f64::consts::PI};

use dplm::{
    formula::{Column, Kind},
    table::{Cells, ReadOptions, Source},
    theory::student::{normal_cdf, t_two_sided_p},
};

use crate::{population::dot, *};

/// Of one comparison; no test makes more than twenty.
const FALSE_ALARM: f64 = 1e-6 / 20.0;

fn assert_law(what: &str, mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    let n = values.len() as f64;
    values.sort_by(f64::total_cmp);
    let gap = |(i, value): (usize, &f64)| {
        let at = cdf(*value);
        (at - i as f64 / n).max((i + 1) as f64 / n - at)
    };
    let largest = values.iter().enumerate().map(gap).fold(0.0, f64::max);
    let allowed = ((2.0 / FALSE_ALARM).ln() / (2.0 * n)).sqrt();
    assert!(largest <= allowed, "{what}: off by {largest}, {allowed} allowed");
}

fn uniform_cdf(low: f64, high: f64) -> impl Fn(f64) -> f64 {
    move |value| ((value - low) / (high - low)).clamp(0.0, 1.0)
}

fn student_cdf(t: f64) -> f64 {
    let tail = t_two_sided_p(t, 4.0) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

fn along(sample: &Sample, p: usize, direction: &[f64]) -> Vec<f64> {
    sample.x.chunks(p).map(|row| dot(row, direction)).collect()
}

fn residuals(population: &Population, rows: u64) -> Vec<f64> {
    let sample = population.sample(rows);
    let p = population.features();
    sample.x.chunks(p).zip(&sample.y).map(|(row, y)| y - dot(row, population.theta())).collect()
}

#[test]
fn coefficients_are_uniform_on_the_sphere() {
    let draws: Vec<Population> = (0..20_000).map(|seed| Setting::new(3).draw(seed).expect("sound")).collect();
    for population in &draws {
        assert!((dot(population.theta(), population.theta()) - 1.0).abs() < 1e-14);
    }
    // Archimedes: any coordinate of a uniform point on the sphere in three dimensions is uniform.
    for direction in [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0]] {
        let values = draws.iter().map(|population| dot(population.theta(), &direction)).collect();
        assert_law("a coordinate", values, uniform_cdf(-1.0, 1.0));
    }
}

#[test]
fn isotropic_features_are_standard_normal_in_every_direction() {
    let sample = Setting::new(4).draw(1).expect("sound").sample(50_000);
    for direction in [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.5, 0.5, 0.5, 0.5], [0.6, -0.8, 0.0, 0.0]] {
        assert_law("a direction", along(&sample, 4, &direction), normal_cdf);
    }
}

#[test]
fn rows_are_independent_of_their_neighbours() {
    let sample = Setting::new(1).draw(2).expect("sound").sample(100_000);
    let pairs = |shift: usize| {
        let pairs = sample.x.iter().zip(&sample.x[shift..]).step_by(2 * shift);
        pairs.map(|(a, b)| (a + b) / 2f64.sqrt()).collect()
    };
    for shift in [1, 1024] {
        assert_law("neighbours", pairs(shift), normal_cdf);
    }
}

#[test]
fn anisotropic_features_have_their_covariance() {
    let setting = Setting { design: Design::Anisotropic, ..Setting::new(5) };
    let population = setting.draw(3).expect("sound");
    let covariance = population.covariance();
    let sample = population.sample(50_000);
    for direction in [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0], [0.3, -0.5, 0.1, 0.7, 0.2]] {
        let image: Vec<f64> = covariance.chunks(5).map(|row| dot(row, &direction)).collect();
        let variance = dot(&direction, &image);
        let relative = variance / dot(&direction, &direction);
        assert!((1.0 - 1e-12..=2.0 + 1e-12).contains(&relative), "{relative}");
        let values = along(&sample, 5, &direction).iter().map(|value| value / variance.sqrt()).collect();
        assert_law("a direction", values, normal_cdf);
    }
}

#[test]
fn anisotropic_covariances_are_rotated_uniformly() {
    let setting = Setting { design: Design::Anisotropic, ..Setting::new(2) };
    let angles = (0..20_000).map(|seed| {
        let s = setting.draw(seed).expect("sound").covariance();
        // Eigenvalues 2 and 1.
        assert!((s[0] + s[3] - 3.0).abs() < 1e-12 && (s[0] * s[3] - s[1] * s[2] - 2.0).abs() < 1e-12);
        (2.0 * s[1]).atan2(s[0] - s[3])
    });
    assert_law("twice the angle", angles.collect(), uniform_cdf(-PI, PI));
}

#[test]
fn middle_eigenvalues_are_uniform() {
    let setting = Setting { design: Design::Anisotropic, ..Setting::new(3) };
    let middle = (0..20_000).map(|seed| {
        let s = setting.draw(seed).expect("sound").covariance();
        s[0] + s[4] + s[8] - 3.0
    });
    assert_law("the third eigenvalue", middle.collect(), uniform_cdf(1.0, 2.0));
}

#[test]
fn errors_have_their_law() {
    let with = |errors| Setting { errors, noise_sd: 2.5, ..Setting::new(2) }.draw(5).expect("sound");
    let scaled = |errors, unit: f64| residuals(&with(errors), 50_000).iter().map(|e| e / unit).collect();
    assert_law("gaussian", scaled(Errors::Gaussian, 2.5), normal_cdf);
    assert_law("student", scaled(Errors::Student, 2.5 / 2f64.sqrt()), student_cdf);
    assert_law("skewed", scaled(Errors::Skewed, 2.5), |e| 1.0 - (-(e + 1.0).max(0.0)).exp());
}

#[test]
fn any_piece_is_the_same_rows() {
    let population = Setting { design: Design::Anisotropic, ..Setting::new(2) }.draw(8).expect("sound");
    let whole = population.sample(5000);
    for range in [0..1, 0..1024, 1000..1030, 1024..3000, 2047..2049, 4999..5000, 17..17] {
        let piece = population.rows(range.clone());
        let (start, end) = (range.start as usize, range.end as usize);
        assert_eq!(piece.y, whole.y[start..end]);
        assert_eq!(piece.x, whole.x[2 * start..2 * end]);
    }
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let sample = |threads, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| Setting::new(3).draw(seed).expect("sound").sample(10_000))
    };
    assert_eq!(sample(1, 4), sample(7, 4));
    assert_ne!(sample(1, 4).y, sample(1, 5).y);
}

#[test]
fn given_coefficients_are_used() {
    let setting = Setting { theta: Some(vec![2.0, -3.0]), noise_sd: 0.0, ..Setting::new(2) };
    let population = setting.draw(1).expect("sound");
    let sample = population.sample(10);
    for (row, y) in sample.x.chunks(2).zip(&sample.y) {
        assert_eq!(*y, 2.0 * row[0] - 3.0 * row[1]);
    }
}

#[test]
fn senseless_settings_are_refused() {
    let sound = Setting::new(2);
    let cases = [
        (Setting::new(0), SettingError::NoFeatures),
        (Setting::new(usize::MAX), SettingError::TooManyFeatures { most: 100_000 }),
        (Setting { noise_sd: -1.0, ..sound.clone() }, SettingError::NoiseSd),
        (Setting { noise_sd: f64::NAN, ..sound.clone() }, SettingError::NoiseSd),
        (Setting { theta: Some(vec![1.0]), ..sound.clone() }, SettingError::ThetaLength { features: 2, found: 1 }),
        (Setting { theta: Some(vec![1.0, f64::INFINITY]), ..sound }, SettingError::ThetaNotFinite),
    ];
    for (setting, error) in cases {
        assert_eq!(setting.draw(0), Err(error));
    }
}

/// The cells of a table, column after column.
fn read_back(file: &std::path::Path, features: usize) -> Vec<Vec<f64>> {
    let source = Source::open(&[file.to_str().expect("plain path").to_owned()]).expect("a table");
    let columns: Vec<Column> = (1..=features)
        .map(|j| format!("x{j}"))
        .chain(["y".to_owned()])
        .map(|name| Column { name, kind: Kind::Standard })
        .collect();
    let found = RefCell::new(vec![Vec::new(); features + 1]);
    source
        .for_each_block(&columns, &ReadOptions::default(), &mut |block| {
            for (cells, sink) in block.columns.into_iter().zip(found.borrow_mut().iter_mut()) {
                match cells {
                    Cells::Numbers(numbers) => sink.extend(numbers),
                    Cells::Levels(_) => unreachable!("numbers were asked for"),
                }
            }
            Ok(())
        })
        .expect("readable");
    found.into_inner()
}

#[test]
fn every_format_reads_back_as_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let population = Setting::new(3).draw(11).expect("sound");
    let sample = population.sample(3000);
    for name in ["a.csv", "a.tsv", "a.parquet", "a.arrow"] {
        let path = folder.path().join(name);
        let format = Format::of(&path).expect("a known ending");
        let mut seen = Vec::new();
        let out = std::fs::File::create(&path).expect("a file");
        write_table(&population, 3000, format, out, &mut |done, of| seen.push((done, of))).expect("written");
        assert_eq!(seen.last(), Some(&(3000, 3000)));
        let columns = read_back(&path, 3);
        assert_eq!(columns[3], sample.y, "{name}");
        assert_eq!(columns[1], sample.x.iter().skip(1).step_by(3).copied().collect::<Vec<_>>(), "{name}");
    }
    assert_eq!(Format::of(std::path::Path::new("a.txt")), None);
}

#[test]
fn same_seed_same_bytes() {
    let bytes = |seed, format| {
        let mut bytes = Vec::new();
        let population = Setting::new(2).draw(seed).expect("sound");
        write_table(&population, 2500, format, &mut bytes, &mut |_, _| ()).expect("written");
        bytes
    };
    for format in [Format::Csv, Format::Parquet, Format::Arrow] {
        assert!(bytes(3, format) == bytes(3, format));
        assert!(bytes(3, format) != bytes(4, format));
    }
}
