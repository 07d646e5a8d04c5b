//! `dplm demo`: the main job on data whose truth is known, explained.

use dplm::{
    Coefficient, Dataset, Fit, NoiseSource, Progress, Reading,
    formula::Formula,
    method::{Request, dpgd},
    privacy::Rho,
    report::summary,
    table::{ReadOptions, Source},
};
use dplm_simulate::{Setting, record_batch};
use dplm_theory::clear::{OlsFit, least_squares};

use crate::{args::DemoArgs, cells, exit::Failure, layout, layout::significant, printer::Printer};

/// The paper's standard setting.
const ROWS: u64 = 10_000;
const FEATURES: usize = 10;
const RHO: f64 = 0.015;
const FORMULA: &str = "y ~ . + 0";

/// The data are the same each time, so that only the noise of the fit changes from one demo to the
/// next.
const DATA_SEED: u64 = 1;

/// Simulates, fits, and explains.
pub fn run(args: &DemoArgs, printer: &Printer) -> Result<(), Failure> {
    let (truth, source) = simulate()?;
    let formula = Formula::parse(FORMULA).map_err(Failure::usage)?;
    let mut dataset = Dataset::read(&source, &formula, &Reading::default())?;
    let config = dpgd::Config::new(Request::new(Rho::checked_from_f64(RHO).map_err(Failure::usage)?));
    let noise = args.seed.map_or(NoiseSource::System, NoiseSource::Seed);
    let fit = dataset.fit(&config, noise, Progress::NONE)?;
    // The rows are simulated, so nobody's data are in them.
    let ols = least_squares(&source, dataset.model(), &ReadOptions::default())?.into_inner();
    printer.result(&format!("{}\n{}\n{}", introduction(), indented(&summary(&fit)), comparison(&truth, &ols, &fit)))
}

fn simulate() -> Result<(Vec<f64>, Source), Failure> {
    let population = Setting::new(FEATURES).draw(DATA_SEED).map_err(Failure::usage)?;
    let rows = record_batch(&population.sample(ROWS), FEATURES);
    let source = Source::from_batches(rows.schema(), vec![rows], "the simulated data")?;
    Ok((population.theta().to_vec(), source))
}

fn introduction() -> String {
    format!(
        "\
1. The data
  {rows} rows of {FEATURES} features, and y = their sum with true coefficients plus an error of standard deviation 1.
  They are simulated, so that the truth is known. To have them in a file:

    dplm simulate --rows {ROWS} --features {FEATURES} --seed {DATA_SEED} --out demo.parquet

2. The fit
  A regression by gradient descent. Each step sees the rows only through one sum, to which noise is added, and no row
  may move that sum by more than a fixed length (the clip). So what follows hardly depends on any one row. rho says
  how little: smaller is more private. The columns are simulated with mean 0 and variance 1, which --standardised
  says; your own get public bounds instead, as in age[18..90]. The command would be:

    dplm fit demo.parquet --formula '{FORMULA}' --standardised --rho {RHO}
",
        rows = layout::grouped(ROWS),
    )
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  | {line}").trim_end().to_owned() + "\n").collect()
}

/// The truth, least squares and the private fit side by side.
fn comparison(truth: &[f64], ols: &OlsFit, fit: &Fit) -> String {
    let intervals = ols.intervals(fit.level);
    let mut lines =
        vec![cells!["", "Truth", "Least squares", "(95 % interval)", "Private", "(95 % interval)", "Holds truth"]];
    let estimates = ols.coefficients.iter().zip(&intervals);
    for ((truth, (estimate, &ols)), private) in truth.iter().zip(estimates).zip(&fit.coefficients) {
        lines.push(cells![
            private.name,
            significant(*truth),
            significant(*estimate),
            bracketed(ols),
            private.estimate.map_or("-".to_owned(), significant),
            interval_of(private).map_or("-".to_owned(), bracketed),
            if holds(private, *truth) { "yes" } else { "no" },
        ]);
    }
    let held = fit.coefficients.iter().zip(truth).filter(|(private, truth)| holds(private, **truth)).count();
    format!(
        "\
3. How good it is
  Only simulated data allow this comparison: least squares is not private.

{table}
  {held} of the {FEATURES} private intervals hold the truth; in the long run 95 % do. They are {ratio:.1} times as long as those of
  least squares: that is what privacy costs here. With more rows the cost falls faster than the sampling error.

4. What to try next
{next}",
        next = layout::pairs(&next_steps()),
        table = layout::table(&lines),
        ratio = mean_length(fit.coefficients.iter().filter_map(interval_of)) / mean_length(intervals.iter().copied()),
    )
}

fn next_steps() -> [(String, &'static str); 4] {
    [
        ("dplm demo".to_owned(), "the same data, fresh noise"),
        (
            format!("dplm plan --rows {ROWS} --features {FEATURES} --rho {RHO}"),
            "what to expect, before any data are read",
        ),
        ("dplm init DATA.csv --out model.toml".to_owned(), "a model for your own data, to be filled in"),
        (format!("dplm fit DATA.csv --model model.toml --rho {RHO}"), "and its private fit"),
    ]
}

fn interval_of(coefficient: &Coefficient) -> Option<(f64, f64)> {
    coefficient.precision.as_ref().map(|precision| (precision.low, precision.high))
}

fn holds(coefficient: &Coefficient, truth: f64) -> bool {
    interval_of(coefficient).is_some_and(|(low, high)| low <= truth && truth <= high)
}

fn bracketed((low, high): (f64, f64)) -> String {
    format!("({low:.3}, {high:.3})")
}

fn mean_length(intervals: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (count, sum) = intervals.fold((0.0, 0.0), |(count, sum), (low, high)| (count + 1.0, sum + (high - low)));
    sum / count
}
