//! Runs the automatic method many times and says how far off it is. It compares with least squares on the same rows, so what it prints
//! is not private: a bench for the method, not a way to fit.
//!
//! - `excess`, `excess_90`: `(MSE - MSE_OLS) / MSE_OLS` in sample, median and ninth decile over the seeds; `adassp` and `dpgd` likewise;
//! - `gap`: the same of the clipped optimum, the part that is not noise; `error`: distance to the truth where it is known, else to OLS;
//! - `coverage`: of the clipped optimum by identified coefficients; `identified`: their share; `width`: against classical OLS.
//!
//! `autopilot LIST [rho,rho,...] [seeds] [population|empirical|prediction]`, where each line of LIST is `name;file.csv;formula`, or `name;synthetic;kind rows features`.

use std::{error::Error, fs};

use dplm::{
    descend::Trajectory,
    formula::{Column, Formula, Kind, Model},
    lattice::{CELL_SCALE_BITS, Design},
    method::{Goal, Outcome, Purpose, Request, adassp, auto, dpgd, ols::Ols},
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
    error: f64,
    covered: usize,
    identified: usize,
    width: f64,
    gap: f64,
    adassp: f64,
    dpgd: f64,
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
    let mut score = judge(bench, &outcome);
    (score.adassp, score.dpgd) = others(bench, &mut rows, n, rho, seed)?;
    Ok(score)
}

/// The excess of AdaSSP and of the paper's method at the same budget, both spending all of it on the estimate.
fn others(bench: &Bench, rows: &mut MemoryRows, n: u64, rho: f64, seed: u64) -> Result<(f64, f64), Failure> {
    let request = Request { purpose: Purpose::Prediction, ..Request::new(Rho::checked_from_f64(rho)?) };
    let plan = adassp::Config::new(request.clone()).plan(n, &bench.design)?;
    let adassp = plan.run(rows, &bench.design, &mut FixedSeed::new(seed))?.theta;
    let plan = dpgd::Config::new(request).plan(n, &bench.design)?;
    let run = plan.run(rows, &bench.design, &mut FixedSeed::new(seed), &mut |_, _| Ok(()))?;
    let excess = |theta: &[f64]| bench.distance_sq(theta, &bench.ols) / bench.mse;
    Ok((excess(&adassp), excess(&late_mean(&run.trajectories[0]))))
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
    let (mut covered, mut identified, mut widths) = (0, 0, Vec::new());
    for (j, c) in outcome.coefficients.iter().enumerate() {
        let Some(precision) = &c.precision else { continue };
        identified += 1;
        let empirical = contrasts[j].of(&optimum);
        covered += usize::from(precision.low <= empirical && empirical <= precision.high);
        if j > 0 || bench.design.slots().len() == 1 {
            let se = contrasts[j].weights[j].abs() * bench.ols_se[j];
            widths.push((precision.high - precision.low) / (2.0 * 1.96 * se));
        }
    }
    widths.sort_by(f64::total_cmp);
    let truth = bench.truth.as_ref().unwrap_or(&bench.ols);
    Score {
        excess: bench.distance_sq(&standard, &bench.ols) / bench.mse,
        error: bench.distance_sq(&standard, truth).sqrt() / bench.mse.sqrt(),
        covered,
        identified,
        width: widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN),
        gap: bench.distance_sq(&optimum, &bench.ols) / bench.mse,
        adassp: f64::NAN,
        dpgd: f64::NAN,
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

/// Medians over the seeds, as a line of the table.
fn line(name: &str, bench: &Bench, rho: f64, scores: &[Score]) -> String {
    let of = |f: fn(&Score) -> f64, q: f64| quantile(&mut scores.iter().map(f).collect::<Vec<_>>(), q);
    let total = |f: fn(&Score) -> usize| scores.iter().map(f).sum::<usize>() as f64;
    let identified = total(|s| s.identified);
    let (rows, p) = (bench.y.len(), bench.p);
    let numbers = [
        of(|s| s.excess, 0.5),
        of(|s| s.excess, 0.9),
        of(|s| s.adassp, 0.5),
        of(|s| s.dpgd, 0.5),
        of(|s| s.gap, 0.5),
        of(|s| s.error, 0.5),
        total(|s| s.covered) / identified,
        identified / (scores.len() * p) as f64,
        of(|s| s.width, 0.5),
    ];
    let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:.4}")).collect();
    format!("{name},{rows},{p},{rho},{}", numbers.join(","))
}

fn bench_of(line: &str) -> Result<(&str, Bench), Failure> {
    let [name, file, what] = line.splitn(3, ';').collect::<Vec<_>>()[..] else {
        return Err("a line has a name, a file and a formula, with semicolons between".into());
    };
    if file != "synthetic" {
        return Ok((name, from_csv(file, what)?));
    }
    let [kind, rows, features] = what.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err("a synthetic set has a kind, rows and features".into());
    };
    Ok((name, synthetic(kind, rows.parse()?, features.parse()?)?))
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let list = fs::read_to_string(args.next().ok_or("give a list of data sets")?)?;
    let rhos = args.next().unwrap_or("0.005,0.015,0.1,0.5".into());
    let rhos: Vec<f64> = rhos.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let seeds: u64 = args.next().unwrap_or("20".into()).parse()?;
    let asked = match args.next().as_deref() {
        Some("prediction") => (Purpose::Prediction, None),
        Some("empirical") => (Purpose::Inference, Some(Goal::Empirical)),
        _ => (Purpose::Inference, Some(Goal::Population)),
    };
    println!("data,n,p,rho,excess,excess_90,adassp,dpgd,gap,error,coverage,identified,width");
    for text in list.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (name, bench) = bench_of(text)?;
        for &rho in &rhos {
            let scores = (0..seeds).into_par_iter().map(|seed| score(&bench, rho, seed, asked));
            println!("{}", line(name, &bench, rho, &scores.collect::<Result<Vec<_>, _>>()?));
        }
    }
    Ok(())
}
