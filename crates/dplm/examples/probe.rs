//! scratch
use dplm::{Dataset, NoiseSource, Reading, formula::Formula, method::{Target, Purpose, Request, auto}, Progress, privacy::Rho, table::Source};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, Exp1};
use rayon::prelude::*;
use std::collections::BTreeMap;

type Rng = ChaCha8Rng;
fn z(r: &mut Rng) -> f64 { StandardNormal.sample(r) }
fn ex(r: &mut Rng) -> f64 { let e: f64 = Exp1.sample(r); e - 1.0 }
fn clampf(x: f64, a: f64, b: f64) -> f64 { x.max(a).min(b) }

/// columns x.. then y
fn design(name: &str, r: &mut Rng) -> (Vec<f64>, f64) {
    match name {
        "b1" | "b1ten" => { let x = z(r); let zz = 0.9 * x + (1.0f64 - 0.81).sqrt() * z(r); let y = 1.0 + x + zz + z(r);
            (vec![x, zz / if name == "b1" { 100.0 } else { 10.0 }], y) }
        "mincer" => { let ed = clampf((12.5 + 2.9 * z(r)).round(), 0.0, 18.0); let u: f64 = (z(r) * 0.7).exp(); let ex = clampf(18.0 * u / 1.28, 0.0, 60.0).round();
            let nw = if z(r) > 1.4 { 1.0 } else { 0.0 };
            let y = 4.3 + 0.09 * ed + 0.12 * ex - 0.0045 * ex * ex + 0.00005 * ex * ex * ex - 0.25 * nw + 0.55 * z(r);
            (vec![ed, ex, ex * ex, ex * ex * ex, nw], y) }
        "ar95" => { let mut v = vec![z(r)]; for j in 1..6 { let p = v[j - 1]; v.push(0.95 * p + (1.0f64 - 0.9025).sqrt() * z(r)); }
            let y = 0.5 * v.iter().sum::<f64>() / 2.0 + z(r); (v, y) }
        "const" => { let x = z(r); let c = 3.0 + 0.003 * x + 0.0003 * z(r); (vec![x, c, z(r)], 1.0 + x + z(r)) }
        "dup" => { let x = z(r); let w = z(r); (vec![x, x, w], 1.0 + x + 0.5 * w + z(r)) }
        "wide10" | "wide100" => { let v: Vec<f64> = (0..4).map(|_| z(r)).collect(); let y = v.iter().sum::<f64>() * 0.5 + z(r); (v, y) }
        "p5" | "p10" | "p10skew" | "p10t" | "p5het" | "p10xskew" | "p10curve" | "r2" => {
            let p = if name.starts_with("p5") { 5 } else { 10 };
            let v: Vec<f64> = (0..p).map(|_| z(r)).collect();
            let e = match name { "p10skew" => ex(r), "p5het" => z(r) * (0.25 + v[0] * v[0]).sqrt(), "p10xskew" => if v[0] > 0.0 { ex(r) } else { -ex(r) }, "p10curve" => z(r) + 0.5 * (v[0] * v[0] - 1.0), "r2" => 0.0316 * z(r), _ => z(r) };
            let y = v.iter().sum::<f64>() * 0.3 + e; (v, y) }
        "rare" => { let u: f64 = z(r); let g = if u < -2.33 { 1.0 } else if u < -1.65 { 2.0 } else { 0.0 }; let x = z(r); (vec![x, if g == 1.0 { 1.0 } else { 0.0 }, if g == 2.0 { 1.0 } else { 0.0 }], x + 0.5 * g + z(r)) }
        _ => panic!("{name}"),
    }
}
fn formula(name: &str) -> String {
    match name {
        "b1" | "b1ten" => "y[-10..10] ~ x[-5..5] + z[-20..20]".into(),
        "mincer" => "y[0..12] ~ x0[0..18] + x1[0..63] + x2[0..3969] + x3[0..250047] + x4[0..1]".into(),
        "ar95" => "y[-12..12] ~ x0[-5..5] + x1[-5..5] + x2[-5..5] + x3[-5..5] + x4[-5..5] + x5[-5..5]".into(),
        "const" => "y[-10..10] ~ x0[-5..5] + x1[0..6] + x2[-5..5]".into(),
        "dup" => "y[-10..10] ~ x0[-5..5] + x1[-5..5] + x2[-5..5]".into(),
        "wide10" => format!("y[-80..80] ~ {}", (0..4).map(|j| format!("x{j}[-40..40]")).collect::<Vec<_>>().join(" + ")),
        "wide100" => format!("y[-800..800] ~ {}", (0..4).map(|j| format!("x{j}[-400..400]")).collect::<Vec<_>>().join(" + ")),
        "rare" => "y[-10..10] ~ x0[-5..5] + x1[0..1] + x2[0..1]".into(),
        n => { let p = if n.starts_with("p5") { 5 } else { 10 }; format!("y[-10..10] ~ {}", (0..p).map(|j| format!("x{j}[-5..5]")).collect::<Vec<_>>().join(" + ")) }
    }
}
fn names(name: &str) -> Vec<String> { match name { "b1" | "b1ten" => vec!["x".into(), "z".into()], n => { let mut r = Rng::seed_from_u64(1); (0..design(n, &mut r).0.len()).map(|j| format!("x{j}")).collect() } } }

/// least squares of y on intercept + cols in `keep`
fn ols(rows: &[(Vec<f64>, f64)], keep: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let k = keep.len() + 1;
    let n = rows.len() as f64;
    let cen: Vec<f64> = keep.iter().map(|&j| rows.iter().map(|r| r.0[j]).sum::<f64>() / n).collect();
    let sc: Vec<f64> = keep.iter().zip(&cen).map(|(&j, c)| (rows.iter().map(|r| (r.0[j] - c).powi(2)).sum::<f64>() / n).sqrt().max(1e-300)).collect();
    let mut a = faer::Mat::<f64>::zeros(k, k); let mut b = faer::Mat::<f64>::zeros(k, 1);
    let row = |r: &(Vec<f64>, f64)| { let mut v = vec![1.0]; for (i, &j) in keep.iter().enumerate() { v.push((r.0[j] - cen[i]) / sc[i]); } v };
    for r in rows { let v = row(r); for i in 0..k { b[(i, 0)] += v[i] * r.1; for j in 0..k { a[(i, j)] += v[i] * v[j]; } } }
    use faer::linalg::solvers::Solve;
    let lu = a.partial_piv_lu(); let s = lu.solve(&b); let inv = lu.solve(faer::Mat::<f64>::identity(k, k));
    let rss: f64 = rows.iter().map(|r| { let v = row(r); (r.1 - (0..k).map(|i| v[i] * s[(i, 0)]).sum::<f64>()).powi(2) }).sum();
    let s2 = rss / (n - k as f64);
    let mut beta = vec![s[(0, 0)]]; let mut se = vec![0.0];
    for i in 0..keep.len() { beta.push(s[(i + 1, 0)] / sc[i]); beta[0] -= s[(i + 1, 0)] / sc[i] * cen[i]; se.push((s2 * inv[(i + 1, i + 1)]).sqrt() / sc[i]); }
    se[0] = (s2 * inv[(0, 0)]).sqrt();
    (beta, se)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let reps: u64 = args[1].parse().unwrap();
    let target = args[2].as_str();
    for spec in &args[3..] {
        let part: Vec<&str> = spec.split(',').collect();
        let (name, n, rho): (&str, usize, f64) = (part[0], part[1].parse().unwrap(), part[2].parse().unwrap());
        let names = names(name);
        let f = Formula::parse(&formula(name)).unwrap();
        // population rows
        let mut r = Rng::seed_from_u64(999); let big: Vec<_> = (0..if reps > 0 { 1_000_000 } else { 0 }).map(|_| design(name, &mut r)).collect();
        let one = |seed: u64| {
            let mut r = Rng::seed_from_u64(seed * 7919 + 13);
            let rows: Vec<_> = (0..n).map(|_| design(name, &mut r)).collect();
            let mut csv = names.join(",") + ",y\n";
            for (x, y) in &rows { for v in x { csv.push_str(&format!("{v},")); } csv.push_str(&format!("{y}\n")); }
            let source = Source::from_csv_stream(&mut csv.as_bytes(), "t").unwrap();
            let mut data = Dataset::read(&source, &f, &Reading::default()).unwrap();
            let mut request = Request::new(Rho::checked_from_f64(rho).unwrap());
            if target == "sample" { request.target = Some(Target::Sample); }
            if target == "robust" { request.target = Some(Target::Robust); }
            if target == "prediction" { request.purpose = Purpose::Prediction; }
            let fit = data.fit(&auto::Config::new(request), NoiseSource::Seed(seed), Progress::NONE).unwrap();
            if seed == 0 { for r in &fit.guarantee.releases { println!("{:40} {:.4}", r.what, r.rho.to_f64() / rho); } println!("clip {} noise {}", fit.method.clip, fit.method.noise_sd); for w in &fit.warnings { println!("{w}"); } }
            (rows, fit)
        };
        let pop: std::sync::Mutex<BTreeMap<Vec<usize>, Vec<f64>>> = Default::default();
        let all: Vec<_> = (0..reps).into_par_iter().map(|s| {
            let (rows, fit) = one(s);
            let left: Vec<String> = fit.left_out.iter().map(|l| l.name.clone()).collect();
            let keep: Vec<usize> = (0..names.len()).filter(|&j| !left.contains(&names[j])).collect();
            let (beta, se) = ols(&rows, &keep);
            let truth = if target == "sample" { beta.clone() } else { pop.lock().unwrap().entry(keep.clone()).or_insert_with(|| ols(&big, &keep).0).clone() };
            let res: Vec<(String, bool, bool, bool, f64, f64)> = fit.coefficients.iter().map(|c| {
                let pos = if c.name == "(Intercept)" { Some(0) } else { keep.iter().position(|&j| names[j] == c.name).map(|i| i + 1) };
                let Some(i) = pos else { return (c.name.clone(), true, false, false, 0.0, 0.0) };
                match c.precision { Some(p) => (c.name.clone(), false, true, p.low <= truth[i] && truth[i] <= p.high, (p.high - p.low) / (2.0 * 1.96 * se[i]), (c.estimate.unwrap_or(f64::NAN) - truth[i]) / se[i]), None => (c.name.clone(), false, c.identified && target == "prediction", false, 0.0, (c.estimate.unwrap_or(f64::NAN) - truth[i]) / se[i]) }
            }).collect();
            (res, fit.target == Target::Robust, fit.guarantee.releases.iter().filter(|r| r.what.starts_with("second moments")).count(), fit.guarantee.releases.iter().any(|r| r.what.starts_with("second start")))
        }).collect();
        let bent = all.iter().filter(|a| a.1).count() as f64 / reps as f64;
        let rounds = all.iter().map(|a| a.2).sum::<usize>() as f64 / reps as f64;
        let second = all.iter().filter(|a| a.3).count() as f64 / reps as f64;
        println!("{spec} {target}: bent {bent:.2} rounds {rounds:.2} second {second:.2}");
        for j in 0..all[0].0.len() {
            let rs: Vec<_> = all.iter().map(|a| &a.0[j]).collect();
            let left = rs.iter().filter(|r| r.1).count(); let id = rs.iter().filter(|r| r.2).count();
            let cov = rs.iter().filter(|r| r.2 && r.3).count() as f64 / id.max(1) as f64;
            let mut len: Vec<f64> = rs.iter().filter(|r| r.2).map(|r| r.4).collect(); len.sort_by(f64::total_cmp);
            let rm = (rs.iter().filter(|r| r.2).map(|r| r.5 * r.5).sum::<f64>() / id.max(1) as f64).sqrt();
            println!("   {:12} left {:.2} printed {:.2} cov {:.3} len/ols {:.2} rmse/ols {:.2}", rs[0].0, left as f64 / reps as f64, id as f64 / reps as f64, cov, len.get(len.len() / 2).unwrap_or(&0.0), rm);
        }
    }
}
