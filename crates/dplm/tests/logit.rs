//! Logistic regression: exact sums, maximum likelihood at a large budget, coverage, separation, and
//! what people read.

use dplm::{
    Dataset, Error, Fit, FitRequest, NoiseSource, Progress, Reading, Receipt, Refinement, Warning,
    formula::Formula,
    lattice::{ClippedOuter, Kernel, Lattice, Link, Number, Theta, Whitening},
    lm,
    method::Family,
    privacy::{Neighbours, Rho},
    request::PlanQuestion,
    rows::Rows,
    table::{ReadOptions, Source},
};
use faer::Mat;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::common::{Data, clipped_outer_sum, gradient_sum, values};

/// The sigmoid in whole numbers of 2^-20: 128 entries to a unit, a straight line between them.
fn probability(eta: f64) -> i128 {
    let entry = |place: f64| (1_048_576.0 / (1.0 + (16.0 - place / 128.0).exp())).round();
    // Linear functions are rounded to 2^-27 first.
    let place = ((eta * 2f64.powi(27)).round_ties_even() / 1_048_576.0).clamp(-2048.0, 2048.0) + 2048.0;
    let below = place.floor().min(4095.0);
    (entry(below) + (entry(below + 1.0) - entry(below)) * (place - below)).round_ties_even() as i128
}

/// Rows whose response is 1 or -1, and what a logit asks of them.
struct Asked {
    data: Data,
    lattice: Lattice,
    theta: Theta,
    gamma: f64,
}

impl Asked {
    fn new() -> Asked {
        let mut data = Data::isotropic(1000, 3, 4).on_lattice();
        data.y.iter_mut().for_each(|y| *y = y.signum());
        let gamma = 1.3;
        let lattice = Lattice::plan(1000, 3, gamma, 1e-3).unwrap().of_link(Link::Logistic);
        let theta = lattice.theta(&[0.4, -1.7, 0.01]);
        Asked { data, lattice, theta, gamma }
    }

    /// The sum of weighted residuals, of variances and of outcomes, by the plainest possible loop.
    fn plain(&self) -> (Vec<i128>, i128, i128) {
        let clip = self.lattice.clip(self.gamma);
        let (mut sums, mut variances, mut outcomes) = (vec![0i128; 3], 0, 0);
        for (x, y) in self.data.x.iter().zip(&self.data.y) {
            let cells: Vec<i128> = x.iter().map(|x| (x * 4096.0) as i128).collect();
            let linear: i128 = cells.iter().zip(self.theta.integers()).map(|(x, theta)| x * *theta as i128).sum();
            let mean = probability(linear as f64 / 4096.0 / self.lattice.theta_unit());
            let outcome = if *y > 0.0 { 1 << 20 } else { 0 };
            let (residual, largest) = (outcome - mean, mean.max((1 << 20) - mean));
            let bound = clip.bound(cells.iter().map(|x| x * x).sum::<i128>() as u64) as i128;
            let weight = if largest <= bound { residual } else { residual * bound / largest };
            sums.iter_mut().zip(&cells).for_each(|(sum, x)| *sum += x * weight);
            variances += ((mean * ((1 << 20) - mean)) as f64 / 1_048_576.0).round_ties_even() as i128;
            outcomes += outcome;
        }
        (sums, variances, outcomes)
    }
}

impl Asked {
    /// The entropy of all responses, in parts of 2^-20 of a bit.
    fn entropy(&self) -> f64 {
        let theta: Vec<f64> = self.theta.integers().iter().map(|theta| theta / self.lattice.theta_unit()).collect();
        let linear = self.data.x.iter().map(|x| x.iter().zip(&theta).map(|(x, theta)| x * theta).sum::<f64>());
        linear.map(|eta| 1_048_576.0 * of_entropy(probability(eta) as f64 / 1_048_576.0)).sum()
    }
}

/// In bits.
fn of_entropy(share: f64) -> f64 {
    let part = |share: f64| if share == 0.0 { 0.0 } else { -share * share.log2() };
    part(share) + part(1.0 - share)
}

/// Every engine and every kind of instructions gives the integers of the rule.
#[test]
fn sums_equal_a_plain_loop_on_every_engine() {
    let asked = Asked::new();
    let (lattice, theta, clip) = (&asked.lattice, &asked.theta, asked.lattice.clip(asked.gamma));
    let ((sums, variances, outcomes), entropy) = (asked.plain(), asked.entropy());
    let all = |rows: &mut dyn Rows| {
        let gradient = gradient_sum(rows, clip, theta, lattice);
        let curvature = ClippedOuter::Unclipped { theta, theta_unit: lattice.theta_unit(), radius: 1 << 14 };
        let curvature = clipped_outer_sum(rows, clip, &curvature);
        let tilted = Whitening::new(Mat::<f64>::identity(3, 3).as_ref()).tilted(theta.clone(), lattice);
        let moments = rows.through(&tilted).unwrap().second_moments(1 << 14, Neighbours::ReplaceOne).unwrap();
        let clipped = rows.clipped(clip, None).unwrap();
        let number = |of| values(clipped.number_sum(of, theta, lattice, Neighbours::ReplaceOne).unwrap());
        let bends = values(clipped.bend_sum(theta, lattice, Neighbours::ReplaceOne).unwrap());
        let numbers = [Number::Variance, Number::Outcome, Number::Entropy].map(number);
        (gradient, curvature, values(moments.into_matrix()), numbers, bends)
    };
    let mut rows = asked.data.rows();
    let reference = all(&mut rows);
    let [found_variances, found_outcomes, entropies] = &reference.3;
    assert_eq!((&reference.0, &found_variances[..], &found_outcomes[..]), (&sums, &[variances][..], &[outcomes][..]));
    // Each is rounded by two units and a half at most.
    assert!((entropies[0] as f64 - entropy).abs() < 2500.0, "{entropies:?} {entropy}");
    for kernel in Kernel::available() {
        rows.set_kernel(kernel);
        assert_eq!(all(&mut rows), reference, "{kernel:?}");
    }
    assert_eq!(all(&mut asked.data.in_a_file()), reference);
    assert_eq!(all(&mut asked.data.on_a_cluster(96, 3)), reference);
}

/// A table of a logit with these coefficients, the constant first.
struct Table {
    x: Vec<Vec<f64>>,
    y: Vec<bool>,
}

impl Table {
    fn draw(rows: usize, beta: &[f64], seed: u64) -> Table {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let row: Vec<f64> = beta[1..].iter().map(|_| StandardNormal.sample(&mut rng)).collect();
            let eta = beta[0] + row.iter().zip(&beta[1..]).map(|(x, b): (&f64, &f64)| x * b).sum::<f64>();
            let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            y.push(uniform < 1.0 / (1.0 + (-eta).exp()));
            x.push(row);
        }
        Table { x, y }
    }

    fn source(&self) -> Source {
        let heads: Vec<String> = (0..self.x[0].len()).map(|j| format!("x{j}")).collect();
        let line = |(i, (x, y)): (usize, (&Vec<f64>, &bool))| {
            let cells: Vec<String> = x.iter().map(f64::to_string).collect();
            let (word, weight) = (if *y { "yes" } else { "no" }, 1 + i % 2);
            format!("{},{word},{},{weight},{}\n", u8::from(*y), i / 3, cells.join(","))
        };
        let lines: String = self.x.iter().zip(&self.y).enumerate().map(line).collect();
        let text = format!("y,word,who,weight,{}\n{lines}", heads.join(","));
        Source::from_csv_stream(&mut text.as_bytes(), "rows").unwrap()
    }

    fn formula(&self, left: &str) -> String {
        let right: Vec<String> = (0..self.x[0].len()).map(|j| format!("x{j}[-6..6]")).collect();
        format!("{left} ~ {}", right.join(" + "))
    }

    /// Maximum likelihood by Newton's method, weighted; and standard errors.
    fn maximum_likelihood(&self, weight: impl Fn(usize) -> f64) -> (Vec<f64>, Vec<f64>) {
        let k = self.x[0].len() + 1;
        let mut beta = vec![0.0; k];
        loop {
            let (mut gradient, mut hessian) = (Mat::<f64>::zeros(k, 1), Mat::<f64>::zeros(k, k));
            for (i, (x, y)) in self.x.iter().zip(&self.y).enumerate() {
                let row: Vec<f64> = std::iter::once(1.0).chain(x.iter().copied()).collect();
                let eta: f64 = row.iter().zip(&beta).map(|(x, b)| x * b).sum();
                let mean = 1.0 / (1.0 + (-eta).exp());
                for j in 0..k {
                    gradient[(j, 0)] += weight(i) * (f64::from(u8::from(*y)) - mean) * row[j];
                    (0..k).for_each(|l| hessian[(j, l)] += weight(i) * mean * (1.0 - mean) * row[j] * row[l]);
                }
            }
            let inverse = faer::linalg::solvers::DenseSolveCore::inverse(&hessian.partial_piv_lu());
            let step = &inverse * &gradient;
            (0..k).for_each(|j| beta[j] += step[(j, 0)]);
            if step.norm_max() < 1e-12 {
                return (beta, (0..k).map(|j| inverse[(j, j)].sqrt()).collect());
            }
        }
    }
}

const BETA: [f64; 4] = [-0.5, 0.8, -0.4, 0.0];

fn fit(table: &Table, left: &str, rho: f64, seed: u64) -> Result<Fit, Error> {
    lm(&table.formula(left)).family(Family::Binomial).rho(rho).seed(seed).fit_table(&table.source())
}

fn estimates(fit: &Fit) -> Vec<f64> {
    fit.coefficients.iter().map(|one| one.estimate.expect("identified")).collect()
}

/// What is left is the sigmoid's table, the lattice of cells and the weights of a few rows. Both
/// spellings of the response are the same fit.
#[test]
fn at_a_huge_budget_it_is_maximum_likelihood() {
    let table = Table::draw(20_000, &BETA, 1);
    let (beta, errors) = table.maximum_likelihood(|_| 1.0);
    let one = fit(&table, "y[0..1]", 1000.0, 3).unwrap();
    for ((found, beta), error) in estimates(&one).iter().zip(&beta).zip(&errors) {
        assert!((found - beta).abs() < 0.05 * error, "{found} {beta}, {error}");
    }
    let ratio = |(one, error): (&dplm::Coefficient, &f64)| one.precision.expect("identified").std_error / error;
    assert!(one.coefficients.iter().zip(&errors).map(ratio).all(|ratio| (0.95..1.05).contains(&ratio)));
    let words = fit(&table, "word{no,yes}", 1000.0, 3).unwrap();
    assert_eq!(estimates(&words), estimates(&one));
    assert_eq!(words.family(), Family::Binomial);
}

/// Weighted rows: the root of a weight is on the lattice, to a part in some thousands.
#[test]
fn weights_count_rows_as_often() {
    let table = Table::draw(20_000, &BETA, 2);
    let (beta, errors) = table.maximum_likelihood(|i| (1 + i % 2) as f64);
    let asked = lm(&table.formula("y[0..1]")).family(Family::Binomial).weights("weight[0..2]").rho(1000.0).seed(5);
    let found = asked.fit_table(&table.source()).unwrap();
    for ((found, beta), error) in estimates(&found).iter().zip(&beta).zip(&errors) {
        assert!((found - beta).abs() < 0.1 * error, "{found} {beta}, {error}");
    }
    assert!(found.marginal_effects.is_empty());
}

/// Persons with three rows each, whose outcomes are independent.
#[test]
fn persons_are_fitted_whole() {
    let table = Table::draw(30_000, &BETA, 4);
    let (beta, errors) = table.maximum_likelihood(|_| 1.0);
    let asked = lm(&table.formula("y[0..1]")).family(Family::Binomial).person("who").rows_per_person(3u32);
    let found = asked.rho(1000.0).seed(5).fit_table(&table.source()).unwrap();
    for ((found, beta), error) in estimates(&found).iter().zip(&beta).zip(&errors) {
        assert!((found - beta).abs() < 0.1 * error, "{found} {beta}, {error}");
    }
}

/// What a logit with [`BETA`] explains of the deviance: its linear function is normal.
fn explained() -> f64 {
    let spread = BETA[1..].iter().map(|beta| beta * beta).sum::<f64>().sqrt();
    let (mut all, mut share, mut own) = (0.0, 0.0, 0.0);
    for slice in -600..=600 {
        let x = f64::from(slice) / 100.0;
        let (density, mean) = ((-x * x / 2.0).exp(), 1.0 / (1.0 + (-BETA[0] - spread * x).exp()));
        all += density;
        share += density * mean;
        own += density * of_entropy(mean);
    }
    1.0 - own / all / of_entropy(share / all)
}

/// Of 160 intervals of 95 % more than 22 miss with probability below 10^-4, and of 40 more than 9;
/// that a logit is not the whole truth is said of three coefficients or fewer.
#[test]
fn intervals_cover() {
    let fits: Vec<(Fit, Vec<f64>)> = (0..40)
        .into_par_iter()
        .map(|seed| {
            let table = Table::draw(4000, &BETA, 100 + seed);
            (fit(&table, "y[0..1]", 0.5, seed).unwrap(), table.maximum_likelihood(|_| 1.0).1)
        })
        .collect();
    let misses = fits.iter().flat_map(|(fit, _)| fit.coefficients.iter().zip(BETA)).filter(|(one, truth)| {
        let precision = one.precision.expect("identified");
        precision.low > *truth || precision.high < *truth
    });
    assert!(misses.count() <= 22);
    let ratios = fits.iter().flat_map(|(fit, errors)| {
        fit.coefficients.iter().zip(errors).map(|(one, error)| one.precision.expect("identified").std_error / error)
    });
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[80] < 1.15, "{}", ratios[80]);
    let explains = |fit: &Fit| fit.r_squared.expect("released");
    let misses =
        fits.iter().map(|(fit, _)| explains(fit)).filter(|one| one.low > explained() || one.high < explained());
    assert!(misses.count() <= 9);
    let mean = fits.iter().map(|(fit, _)| explains(fit).estimate).sum::<f64>() / 40.0;
    // The mean of 40 is off by less than a third of one error.
    let half = fits.iter().map(|(fit, _)| explains(fit).high - explains(fit).low).sum::<f64>() / 160.0;
    assert!((mean - explained()).abs() < half / 2.0, "{mean} {} {half}", explained());
    assert!(half < 0.03, "{half}");
    assert!(fits.iter().filter(|(fit, _)| says_misfit(fit)).count() <= 3);
}

fn says_misfit(fit: &Fit) -> bool {
    fit.warnings.iter().any(|warning| matches!(warning, Warning::Misfit { .. }))
}

/// A square that the model lacks: outcomes vary more than a logit says, along the column.
#[test]
fn a_logit_that_lacks_a_square_says_so() {
    let mut table = Table::draw(40_000, &BETA, 14);
    let mut rng = ChaCha20Rng::seed_from_u64(15);
    for (x, y) in table.x.iter().zip(&mut table.y) {
        let eta = BETA[0] + 0.8 * x[0] + 0.7 * (x[0] * x[0] - 1.0);
        *y = (rng.next_u64() >> 11) as f64 / ((1u64 << 53) as f64) < 1.0 / (1.0 + (-eta).exp());
    }
    let fit = fit(&table, "y[0..1]", 1.0, 16).unwrap();
    let named = fit.warnings.iter().find_map(|warning| match warning {
        Warning::Misfit { names, times } => Some((names.clone(), *times)),
        _ => None,
    });
    let (names, times) = named.expect("a warning");
    assert!(names.contains(&"x0".to_owned()) && (1.2..2.5).contains(&times), "{names:?} {times}");
}

/// The root mean square distance from maximum likelihood, over six tables and three slopes, falls
/// by more than the root of ten where the budget grows a hundred times.
#[test]
fn errors_fall_with_the_budget() {
    let error = |rho: f64| {
        let squares = (0..6u64).into_par_iter().flat_map_iter(|seed| {
            let table = Table::draw(4000, &BETA, 300 + seed);
            let (own, _) = table.maximum_likelihood(|_| 1.0);
            let found = fit(&table, "y[0..1]", rho, seed).unwrap();
            found.coefficients.into_iter().zip(own).skip(1).map(|(one, own)| (one.estimate.unwrap() - own).powi(2))
        });
        squares.sum::<f64>().sqrt()
    };
    let errors = [0.2, 20.0, 1000.0].map(error);
    assert!(errors[0] > 3.2 * errors[1] && errors[1] > 1.5 * errors[2], "{errors:?}");
}

/// As for least squares: a second release shortens intervals as the budget of both would, about,
/// and the estimate is that of maximum likelihood where the budget is huge.
#[test]
fn a_logit_is_refined() {
    let table = Table::draw(6000, &BETA, 17);
    let (own, errors) = table.maximum_likelihood(|_| 1.0);
    let first = fit(&table, "word{no,yes}", 0.1, 18).unwrap();
    let formula = Formula::parse_for(&first.formula, Family::Binomial).unwrap();
    let again = |first: &Fit, rho: f64, seed: u64| {
        let mut data = Dataset::read(&table.source(), &formula, &Reading::default()).unwrap();
        let refinement = Refinement::new(first.clone(), Rho::checked_from_f64(rho).unwrap()).unwrap();
        let prepared = refinement.prepare(&mut data, NoiseSource::Seed(seed)).unwrap();
        let receipt = Receipt::by_caller(prepared.charge());
        refinement.join(prepared.run(receipt, Progress::NONE).unwrap()).unwrap()
    };
    let length = |fit: &Fit| fit.coefficients.iter().map(|one| one.precision.unwrap().std_error.ln()).sum::<f64>();
    let (more, huge) = (again(&first, 0.4, 19), again(&first, 900.0, 20));
    let whole = fit(&table, "word{no,yes}", 0.5, 21).unwrap();
    assert!(length(&huge) < length(&more) && length(&more) < length(&first));
    assert!((length(&more) - length(&whole)).abs() < 0.1 * own.len() as f64);
    for ((found, own), error) in estimates(&huge).iter().zip(&own).zip(&errors) {
        assert!((found - own).abs() < 0.1 * error, "{found} {own}, {error}");
    }
    assert_eq!((more.r_squared, &more.marginal_effects), (first.r_squared, &first.marginal_effects));
    // Refined once more, and saved between.
    let saved = Fit::from_json(&dplm::report::to_json(&more)).unwrap();
    assert!(length(&again(&saved, 0.5, 22)) < length(&more));
}

/// Of 160 intervals of 95 % more than 22 miss with probability below 10^-4.
#[test]
fn refined_intervals_cover() {
    let misses = (0..40u64).into_par_iter().map(|seed| {
        let table = Table::draw(3000, &BETA, 400 + seed);
        let asked = lm(&table.formula("y[0..1]")).family(Family::Binomial).rho(0.2).seed(seed);
        let first = asked.fit_table(&table.source()).unwrap();
        let formula = Formula::parse_for(&first.formula, Family::Binomial).unwrap();
        let mut data = Dataset::read(&table.source(), &formula, &Reading::default()).unwrap();
        let refinement = Refinement::new(first, Rho::checked_from_f64(0.3).unwrap()).unwrap();
        let prepared = refinement.prepare(&mut data, NoiseSource::Seed(500 + seed)).unwrap();
        let receipt = Receipt::by_caller(prepared.charge());
        let both = refinement.join(prepared.run(receipt, Progress::NONE).unwrap()).unwrap();
        let told = both.coefficients.iter().zip(BETA).filter_map(|(one, truth)| Some((one.precision?, truth)));
        told.filter(|(one, truth)| one.low > *truth || one.high < *truth).count()
    });
    let misses: usize = misses.sum();
    assert!(misses <= 22, "{misses}");
}

/// No number is large enough where a column tells every outcome, and none is printed.
#[test]
fn complete_separation_is_never_printed() {
    for rows in [3000, 10_000] {
        let printed = (0..8).into_par_iter().flat_map_iter(|seed| {
            let mut table = Table::draw(rows, &BETA, 200 + seed);
            table.y = table.x.iter().map(|x| x[0] + 0.5 * x[1] > 0.0).collect();
            let fit = fit(&table, "y[0..1]", 0.1, seed).unwrap();
            fit.coefficients.into_iter().skip(1).take(2).filter(|one| one.identified).map(|one| one.name)
        });
        assert_eq!(printed.collect::<Vec<String>>(), Vec::<String>::new(), "{rows} rows");
    }
}

/// A level in which all outcomes are one has no number: of 40 fits more than one that prints one
/// has a probability below 10^-3, where each does so with .001. At a third of the rows the noise of
/// the spread alone decides.
#[test]
fn a_level_with_one_outcome_is_hardly_ever_printed() {
    for (rows, rho) in [(10_000, 0.5), (3000, 0.1)] {
        let printed = levels_of_one_outcome_that_are_printed(rows, rho);
        assert!(printed <= 1, "{printed} of {rows} rows");
    }
}

/// In how many of 40 fits it is.
fn levels_of_one_outcome_that_are_printed(rows: usize, rho: f64) -> usize {
    let printed = (0..40u64).into_par_iter().filter(|&seed| {
        let table = Table::draw(rows, &BETA[..2], 700 + seed);
        let row = |(i, (x, y)): (usize, (&Vec<f64>, &bool))| match i % 33 {
            0 => format!("1,{},rare\n", x[0]),
            other => format!("{},{},{}\n", u8::from(*y), x[0], ["a", "b"][other % 2]),
        };
        let lines: String = table.x.iter().zip(&table.y).enumerate().map(row).collect();
        let source = Source::from_csv_stream(&mut format!("y,x0,g\n{lines}").as_bytes(), "rows").unwrap();
        let asked = lm("y[0..1] ~ x0[-6..6] + g{a,b,rare}").family(Family::Binomial).rho(rho).seed(seed);
        asked.fit_table(&source).unwrap().coefficients[3].precision.is_some()
    });
    printed.count()
}

#[test]
fn probabilities_and_odds_are_what_people_read() {
    let table = Table::draw(10_000, &BETA, 6);
    let fit = fit(&table, "word{no,yes}", 0.5, 7).unwrap();
    let predictions = fit.predict_intervals(&table.source(), &ReadOptions::default(), 0.95).unwrap();
    for one in &predictions {
        let (low, high) = one.interval.expect("identified");
        assert!(0.0 < low && low < one.estimate && one.estimate < high && high < 1.0 && one.person.is_none());
    }
    let plain = fit.predict(&table.source(), &ReadOptions::default()).unwrap();
    assert!(plain.iter().zip(&predictions).all(|(plain, one)| *plain == one.estimate));
    let odds = fit.odds_ratios(0.95).unwrap();
    assert_eq!(odds.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["x0", "x1", "x2"]);
    assert_eq!(odds[0].estimate, fit.coefficients[1].estimate.unwrap().exp());
    // The coefficient times the mean of mu (1 - mu), within four standard errors.
    let effect = &fit.marginal_effects[0];
    let linear = |x: &Vec<f64>| BETA[0] + x.iter().zip(&BETA[1..]).map(|(x, b)| x * b).sum::<f64>();
    let means = table.x.iter().map(|x| 1.0 / (1.0 + (-linear(x)).exp()));
    let expected = BETA[1] * means.map(|mean| mean * (1.0 - mean)).sum::<f64>() / table.x.len() as f64;
    assert!((effect.estimate - expected).abs() < 4.0 * effect.std_error, "{effect:?} {expected}");
    assert!((0.003..0.008).contains(&effect.std_error), "{effect:?}");
    let text = fit.to_string();
    assert!(text.starts_with("Private logistic regression") && text.contains("Odds ratio"), "{text}");
    assert!(text.contains("Pseudo R-squared (McFadden): 0."), "{text}");
    assert!(dplm_report::to_html(&fit, &Default::default()).contains("McFadden"));
    let saved = Fit::from_json(&dplm::report::to_json(&fit)).unwrap();
    assert_eq!(saved, fit);
    assert!(dplm::report::to_json(&fit).contains("\"family\": \"binomial\""));
}

/// A plan divides the budget as the fit does. Its error is that of the fit to a third: it takes
/// outcomes to be as uncertain in every row, and strong effects make them less so in many.
#[test]
fn a_plan_is_what_the_fit_does() {
    let table = Table::draw(10_000, &BETA, 8);
    let request = FitRequest::new(table.formula("y[0..1]")).family(Family::Binomial).rho(0.5);
    let assumed = ["x0 sd 1", "x1 sd 1", "x2 sd 1", "y share 0.4"].map(str::to_owned);
    let question = PlanQuestion::default().rows(10_000u64).assume(assumed.to_vec());
    let plan = request.forecast(&question, false, &[]).unwrap();
    let fit = fit(&table, "y[0..1]", 0.5, 9).unwrap();
    let named = |fit: &Fit| fit.guarantee.releases.iter().map(|one| one.what.clone()).collect::<Vec<String>>();
    assert_eq!(plan.releases.iter().map(|one| one.what.clone()).collect::<Vec<String>>(), named(&fit));
    for (planned, found) in plan.coefficients.iter().zip(&fit.coefficients) {
        let ratio = found.precision.unwrap().std_error / planned.std_error.unwrap();
        assert!((0.8..1.35).contains(&ratio), "{planned:?}: {ratio}");
    }
    let assumed = ["x0 sd 1", "x1 sd 1", "x2 sd 1", "y share 0.05"].map(str::to_owned);
    let rare = PlanQuestion::default().rows(10_000u64).assume(assumed.to_vec());
    let rare = request.forecast(&rare, false, &[]).unwrap();
    assert!(rare.coefficients[1].std_error > plan.coefficients[1].std_error.map(|error| 1.5 * error));
}

#[test]
fn what_a_logit_is_not_offered_with_is_refused() {
    let refusal = |request: FitRequest| request.check().map(|_| ()).expect_err("refused").to_string();
    let binomial = |formula: &str| FitRequest::new(formula).family(Family::Binomial).rho(0.1);
    assert!(refusal(binomial("y[0..2] ~ x[0..1]")).contains("y[0..1]"));
    assert!(refusal(binomial("y{a,b,c} ~ x[0..1]")).contains("must be a number, not a category"));
    assert!(refusal(binomial("y[0..1] ~ x[0..1] + offset(h[0..1])")).contains("offset"));
    assert!(refusal(binomial("y[0..1] ~ x[0..1] | who").person("who")).contains("a constant for each person"));
    assert!(refusal(binomial("y[0..1] ~ x[0..1]").method("dpgd".to_owned())).contains("dpgd"));
    assert!(Formula::parse("y{no,yes} ~ x[0..1]").is_err());
    let said = Formula::parse_for("y[0..1] ~ x[0..1]", Family::Binomial).unwrap();
    assert_eq!(said.to_string(), "y{0,1} ~ x[0..1]");
}
