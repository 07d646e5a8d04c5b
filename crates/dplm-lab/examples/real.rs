//! The automatic method on real tables: `real LIST OUT [rho,rho,...] [seeds]`; see `dplm_lab::real`
//! and `real/run`.

use std::{error::Error, path::Path, process::ExitCode};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("real: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: real LIST OUT [rho,rho,...] [seeds]";
    let (list, out) = (args.next().ok_or(usage)?, args.next().ok_or(usage)?);
    let budgets = args.next().unwrap_or("0.005,0.015,0.1,0.5".into());
    let budgets: Vec<f64> = budgets.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let seeds = args.next().map_or(Ok(100), |seeds| seeds.parse())?;
    Ok(dplm_lab::real::run(Path::new(&list), &budgets, seeds, Path::new(&out))?)
}
