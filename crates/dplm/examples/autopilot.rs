//! Runs the automatic method many times and says how far off it is. It compares with least squares on the same rows, so what it prints
//! is not private: a bench for the method, not a way to fit.
//!
//! `autopilot LIST [rho,rho,...] [seeds] [population|empirical|prediction]`, where each line of LIST is `name;file.csv;formula`, or `name;synthetic;kind rows features`.

use std::{error::Error, fs};

use dplm::{
    descend::Trajectory,
    formula::{Column, Formula, Kind, Model},
    lattice::{CELL_SCALE_BITS, Design},
    method::{Goal, Outcome, Purpose, Request, auto, ols::Ols},
    privacy::{Rho, noise::FixedSeed},
    rows::{MemoryBuilder, MemoryRows},
    table::{Block, Cells, ReadOptions, Source},
    theory::huber::huber_optimum,
};
use faer::Mat;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};
use rayon::prelude::*;

type Failure = Box<dyn Error + Send + Sync>;

/// A data set in the clear, standardised as the lattice sees it.
struct Bench {
    design: Design,
    blocks: Vec<Block>,
    x: Vec<f64>,
    y: Vec<f64>,
    p: usize,
    ols: Vec<f64>,
    ols_se: Vec<f64>,
    truth: Option<Vec<f64>>,
    mse: f64,
    gram: Mat<f64>,
}

impl Bench {
    fn new(design: Design, blocks: Vec<Block>, truth: Option<Vec<f64>>) -> Result<Bench, Failure> {
        let p = design.features();
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for block in &blocks {
            for row in 0..block.rows {
                if let Some((cells, response)) = standardised(&design, block, row) {
                    x.extend(cells);
                    y.push(response);
                }
            }
        }
        let mut ols = Ols::new(p);
        ols.push(&x, &y)?;
        let fit = ols.finish()?;
        let n = y.len() as f64;
        let mut gram = Mat::<f64>::zeros(p, p);
        let mut sse = 0.0;
        for (row, y) in x.chunks_exact(p).zip(&y) {
            for j in 0..p {
                for k in 0..p {
                    gram[(j, k)] += row[j] * row[k] / n;
                }
            }
            sse += (y - dot(row, &fit.coefficients)).powi(2);
        }
        Ok(Bench {
            design,
            blocks,
            x,
            y,
            p,
            ols: fit.coefficients.clone(),
            ols_se: fit.std_errors.clone(),
            truth,
            mse: sse / n,
            gram,
        })
    }

    fn rows(&self) -> MemoryRows {
        let mut builder = MemoryBuilder::new(&self.design);
        self.blocks.iter().for_each(|block| builder.push(block));
        builder.finish()
    }

    fn distance_sq(&self, a: &[f64], b: &[f64]) -> f64 {
        let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        (0..self.p).map(|j| d[j] * (0..self.p).map(|k| self.gram[(j, k)] * d[k]).sum::<f64>()).sum()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn standardised(design: &Design, block: &Block, row: usize) -> Option<(Vec<f64>, f64)> {
    use dplm::lattice::Slot;
    let unit = f64::from(CELL_SCALE_BITS).exp2();
    let number = |column: usize| match &block.columns[column] {
        Cells::Numbers(numbers) => numbers[row],
        Cells::Levels(codes) => f64::from(codes[row]),
    };
    let complete = block.columns.iter().all(|cells| match cells {
        Cells::Numbers(numbers) => numbers[row].is_finite(),
        Cells::Levels(codes) => codes[row] != dplm::table::MISSING,
    });
    let cell = |slot: &Slot| match slot {
        Slot::Intercept => 1.0,
        Slot::Number { feature, scale } => f64::from(scale.encode(number(feature + 1))) / unit,
        Slot::Level { feature, level } => f64::from(u8::from(number(feature + 1) == f64::from(*level))),
    };
    complete.then(|| (design.slots().iter().map(cell).collect(), f64::from(design.response().encode(number(0))) / unit))
}

fn from_csv(path: &str, formula: &str) -> Result<Bench, Failure> {
    let source = Source::open(&[path.to_owned()])?;
    let model = Formula::parse(formula)?.resolve(source.schema())?;
    let design = Design::new(&model);
    let mut blocks = Vec::new();
    source.for_each_block(design.columns(), &ReadOptions::default(), &mut |block| {
        blocks.push(block);
        Ok(())
    })?;
    Bench::new(design, blocks, None)
}

fn synthetic(kind: &str, n: usize, p: usize) -> Result<Bench, Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(20240607);
    let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
    let bounded = |name: String, w: f64| Column { name, kind: Kind::Bounded { low: -w, high: w } };
    let (what, number) = kind.split_once(':').unwrap_or((kind, "1"));
    let number: f64 = number.parse()?;
    let mut x: Vec<Vec<f64>> = (0..n).map(|_| (0..p).map(|_| normal(&mut rng)).collect()).collect();
    let truth: Vec<f64> = vec![1.0 / (p as f64).sqrt(); p];
    let mut width = 6.0;
    match what {
        // eigenvalues from 1 to 1/number, turned
        "condition" => {
            let q = Mat::from_fn(p, p, |_, _| normal(&mut rng)).qr().compute_thin_Q();
            for row in &mut x {
                let scaled: Vec<f64> =
                    row.iter().enumerate().map(|(j, v)| v * number.powf(-0.5 * j as f64 / (p - 1) as f64)).collect();
                *row = (0..p).map(|j| (0..p).map(|k| q[(j, k)] * scaled[k]).sum()).collect();
            }
        }
        "loose" => width *= number,
        "poly" => {
            width = 15.0;
            for row in &mut x {
                let u = row[0].clamp(-2.0, 2.0) + 3.0;
                row[0] = u;
                row[1] = u * u / 3.0;
            }
        }
        "heavyx" => {
            for row in &mut x {
                let t: f64 = StudentT::new(3.0)?.sample(&mut rng);
                row.iter_mut().for_each(|v| *v *= t.abs().max(0.2));
            }
        }
        _ => {}
    }
    let y: Vec<f64> = x
        .iter()
        .map(|row| {
            let error = match what {
                "heavy" => StudentT::new(3.0).expect("3 > 0").sample(&mut rng) / 3f64.sqrt(),
                "skew" => {
                    let e: f64 = Exp1.sample(&mut rng);
                    e - 1.0
                }
                _ => normal(&mut rng),
            };
            dot(row, &truth) + error
        })
        .collect();
    let intercept = what != "paper";
    let mut features: Vec<Column> = (0..p).map(|j| bounded(format!("x{j}"), width)).collect();
    let mut columns = vec![Cells::Numbers(y)];
    columns.extend((0..p).map(|j| Cells::Numbers(x.iter().map(|row| row[j]).collect())));
    let mut truth = truth;
    if what == "rare" {
        // a group with a geometric law of levels, the rarest with about `number` rows
        let levels = 8;
        let ratio = (number / n as f64).powf(1.0 / (levels - 1) as f64);
        let codes: Vec<u32> = (0..n)
            .map(|i| {
                let u = (i as f64 + 0.5) / n as f64;
                (0..levels).rev().find(|&l| u < ratio.powi(l)).unwrap_or(0) as u32
            })
            .collect();
        columns.push(Cells::Levels(codes));
        features.push(Column { name: "g".into(), kind: Kind::Levels((0..levels).map(|l| format!("l{l}")).collect()) });
        truth.extend([0.0; 7]);
    }
    let response = bounded("y".into(), if what == "heavyx" { 30.0 } else { width });
    let unit_y = if what == "heavyx" { 30.0 } else { width };
    let mut standard: Vec<f64> = truth.iter().map(|t| t * width / unit_y).collect();
    if intercept {
        standard.insert(0, 0.0);
    }
    let design = Design::new(&Model { response, features, intercept });
    Bench::new(design, vec![Block { rows: n, columns }], Some(standard))
}

struct Score {
    excess: f64,
    late: f64,
    error: f64,
    covered: usize,
    population: usize,
    identified: usize,
    width: f64,
    gap: f64,
}

fn score(bench: &Bench, rho: f64, seed: u64, (purpose, goal): (Purpose, Option<Goal>)) -> Result<Score, Failure> {
    let mut rows = bench.rows();
    let mut request = Request::new(Rho::checked_from_f64(rho)?);
    request.purpose = purpose;
    request.goal = goal;
    let config = auto::Config::new(request);
    let n = bench.blocks.iter().map(|block| block.rows as u64).sum();
    let plan = config.plan(n, &bench.design)?;
    let outcome = plan.run(&mut rows, &bench.design, &mut FixedSeed::new(seed), &mut |_, _| Ok(()))?;
    Ok(judge(bench, &outcome))
}

fn judge(bench: &Bench, outcome: &Outcome) -> Score {
    let p = bench.p;
    let matrix = outcome.whitening.as_ref().expect("auto whitens").matrix();
    let apply = |v: &[f64]| -> Vec<f64> { (0..p).map(|j| (0..p).map(|k| matrix[(j, k)] * v[k]).sum()).collect() };
    let white: Vec<f64> = bench
        .x
        .chunks_exact(p)
        .flat_map(|row| {
            let matrix = &matrix;
            (0..p).map(move |k| (0..p).map(|j| matrix[(j, k)] * row[j]).sum::<f64>())
        })
        .collect();
    let contrasts = bench.design.contrasts();
    let own: Vec<f64> = outcome.coefficients.iter().map(|c| c.estimate).collect();
    let standard = own_to_standard(bench, &own);
    let optimum = huber_optimum(&white, &bench.y, p, outcome.summary.clip)
        .map(|fit| apply(&fit.into_inner().theta))
        .unwrap_or(vec![f64::NAN; p]);
    let late = late_mean(&outcome.trajectories[0]);

    let (mut covered, mut population, mut identified, mut widths) = (0, 0, 0, Vec::new());
    for (j, c) in outcome.coefficients.iter().enumerate() {
        let Some(precision) = &c.precision else { continue };
        identified += 1;
        let empirical = contrasts[j].of(&optimum);
        covered += usize::from(precision.low <= empirical && empirical <= precision.high);
        let aim = contrasts[j].of(bench.truth.as_ref().unwrap_or(&bench.ols));
        population += usize::from(precision.low <= aim && aim <= precision.high);
        if j > 0 || bench.design.slots().len() == 1 {
            let se = contrasts[j].weights[j].abs() * bench.ols_se[j];
            widths.push((precision.high - precision.low) / (2.0 * 1.96 * se));
        }
    }
    widths.sort_by(f64::total_cmp);
    let truth = bench.truth.as_ref().unwrap_or(&bench.ols);
    Score {
        excess: bench.distance_sq(&standard, &bench.ols) / bench.mse,
        late: bench.distance_sq(&late, &bench.ols) / bench.mse,
        error: bench.distance_sq(&standard, truth).sqrt() / bench.mse.sqrt(),
        covered,
        population,
        identified,
        width: widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN),
        gap: bench.distance_sq(&optimum, &bench.ols) / bench.mse,
    }
}

fn late_mean(run: &Trajectory) -> Vec<f64> {
    let late = &run.theta[run.theta.len() / 4..];
    (0..late[0].len()).map(|j| late.iter().map(|t| t[j]).sum::<f64>() / late.len() as f64).collect()
}

/// Undoes the contrasts, which are triangular: the intercept alone mixes.
fn own_to_standard(bench: &Bench, own: &[f64]) -> Vec<f64> {
    let contrasts = bench.design.contrasts();
    let p = bench.p;
    let a = Mat::from_fn(p, p, |j, k| contrasts[j].weights[k]);
    let b = Mat::from_fn(p, 1, |j, _| own[j] - contrasts[j].offset);
    use faer::linalg::solvers::Solve;
    let s = a.partial_piv_lu().solve(b);
    (0..p).map(|j| s[(j, 0)]).collect()
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let list = fs::read_to_string(args.next().ok_or("give a list")?)?;
    let rhos: Vec<f64> =
        args.next().unwrap_or("0.005,0.015,0.1,0.5".into()).split(',').map(|r| r.parse()).collect::<Result<_, _>>()?;
    let seeds: u64 = args.next().unwrap_or("20".into()).parse()?;
    let asked = match args.next().as_deref() {
        Some("prediction") => (Purpose::Prediction, None),
        Some("empirical") => (Purpose::Inference, Some(Goal::Empirical)),
        _ => (Purpose::Inference, Some(Goal::Population)),
    };
    println!(
        "{:>14} {:>6} {:>3} {:>6} | {:>8} {:>8} | {:>8} {:>8} | {:>7} | {:>6} {:>6} {:>6} | {:>6} | {:>8}",
        "data", "n", "p", "rho", "excess", "p90", "late", "p90", "err", "cover", "popul", "ident", "width", "gap"
    );
    for line in list.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let parts: Vec<&str> = line.splitn(3, ';').collect();
        let bench = if parts[1] == "synthetic" {
            let words: Vec<&str> = parts[2].split_whitespace().collect();
            synthetic(words[0], words[1].parse()?, words[2].parse()?)?
        } else {
            from_csv(parts[1], parts[2])?
        };
        for &rho in &rhos {
            let scores: Vec<Score> =
                (0..seeds).into_par_iter().map(|seed| score(&bench, rho, seed, asked)).collect::<Result<_, _>>()?;
            let of = |f: fn(&Score) -> f64, q: f64| quantile(&mut scores.iter().map(f).collect::<Vec<_>>(), q);
            let total = |f: fn(&Score) -> usize| scores.iter().map(f).sum::<usize>() as f64;
            let identified = total(|s| s.identified);
            println!(
                "{:>14} {:>6} {:>3} {rho:>6} | {:>8.4} {:>8.4} | {:>8.4} {:>8.4} | {:>7.4} | {:>6.3} {:>6.3} {:>6.2} | {:>6.2} | {:>8.5}",
                parts[0],
                bench.y.len(),
                bench.p,
                of(|s| s.excess, 0.5),
                of(|s| s.excess, 0.9),
                of(|s| s.late, 0.5),
                of(|s| s.late, 0.9),
                of(|s| s.error, 0.5),
                total(|s| s.covered) / identified,
                total(|s| s.population) / identified,
                identified / (scores.len() * bench.p) as f64,
                of(|s| s.width, 0.5),
                of(|s| s.gap, 0.5)
            );
        }
    }
    Ok(())
}
