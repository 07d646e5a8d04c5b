//! Many fits of one table, each with noise of its own, for audits: `many_fits REQUEST TABLE COUNT`.
//!
//! REQUEST is what is asked of a fit, in JSON as a saved fit has it. The table is encoded once;
//! each fit is planned, counts its rows and draws noise under a key of its own, as any fit does.
//! What is printed of each is its last coefficient, or the number of usable rows if it has none.

use std::{env, error::Error, fs, io::Write, process::ExitCode};

use dplm::{Dataset, Fit, FitRequest, NoiseSource, Progress, RunOptions, table::Source};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("many_fits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [request, table, count] = &arguments[..] else { return Err("usage: many_fits REQUEST TABLE COUNT".into()) };
    let request: FitRequest = serde_json::from_str(&fs::read_to_string(request)?)?;
    let checked = request.check_among(dplm_methods::METHODS)?;
    let reading = checked.reading(&RunOptions::default(), Progress::NONE);
    let mut rows = Dataset::read(&Source::open(std::slice::from_ref(table))?, checked.formula(), &reading)?;
    let mut out = std::io::stdout().lock();
    for _ in 0..count.parse::<u32>()? {
        writeln!(out, "{}", score(&rows.fit(checked.method(), NoiseSource::System, Progress::NONE)?))?;
    }
    Ok(())
}

fn score(fit: &Fit) -> f64 {
    let last = fit.coefficients.iter().filter_map(|one| one.estimate).next_back();
    last.or(fit.rows_used.map(|used| used.estimate)).unwrap_or(0.0)
}
