//! `dplm test`: hypotheses about the coefficients of a saved fit. No data are read, and nothing is spent.

mod text;

use dplm::{Error, Fit, Hypothesis, TTest, WaldTest};
use serde::Serialize;

use crate::{
    args::TestArgs,
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
    settings::check_formats,
};

/// Loads the fit, tests, and shows it as text or JSON.
pub fn run(args: &TestArgs, printer: &Printer) -> Result<(), Failure> {
    check_formats([(&args.json, Format::Json)])?;
    let fit = Fit::load(&args.saved.fit)?;
    let level = args.level.unwrap_or(fit.level);
    let tested = args.hypotheses.iter().map(|typed| Tested::of(&fit, typed, level));
    let tests = tested.collect::<Result<Vec<Tested>, Error>>()?;
    if let Some(place) = &args.json {
        let entries = tests.iter().map(Entry::of).collect();
        let document =
            Document { dplm: env!("CARGO_PKG_VERSION"), level, target_text: fit.target_text(), tests: entries };
        let json = serde_json::to_string_pretty(&document).expect("plain data serialise");
        Output::open(place)?.finish_with(&(json + "\n"))?;
    }
    match args.json == Some(Destination::Stdout) {
        true => Ok(()),
        false => printer.result(&text::render(&fit, level, &tests)),
    }
}

/// One argument, tested: an equation by itself, several together.
enum Tested {
    One(TTest),
    Several(WaldTest),
}

impl Tested {
    fn of(fit: &Fit, typed: &str, level: f64) -> Result<Tested, Error> {
        let hypothesis: Hypothesis = fit.hypothesis(typed)?;
        Ok(match hypothesis.equations().len() {
            1 => Tested::One(fit.t_test(&hypothesis, level)?.remove(0)),
            _ => Tested::Several(fit.wald_test(&hypothesis)?),
        })
    }
}

/// What programs read.
#[derive(Serialize)]
struct Document {
    dplm: &'static str,
    level: f64,
    target_text: String,
    tests: Vec<Entry>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    One {
        hypothesis: String,
        null: f64,
        estimate: Option<f64>,
        std_error: Option<f64>,
        low: Option<f64>,
        high: Option<f64>,
        distribution: &'static str,
        statistic: Option<f64>,
        df: Option<f64>,
        p_value: Option<f64>,
        identified: bool,
    },
    Several {
        hypothesis: String,
        equations: Vec<String>,
        distribution: &'static str,
        statistic: Option<f64>,
        df: usize,
        df_denominator: Option<f64>,
        p_value: Option<f64>,
        identified: bool,
    },
}

impl Entry {
    fn of(tested: &Tested) -> Entry {
        match tested {
            Tested::One(TTest { hypothesis, null, estimate, precision, .. }) => {
                // An end that is infinite is no end.
                let end = |end: f64| Some(end).filter(|end| end.is_finite());
                let df = precision.and_then(|one| one.df);
                Entry::One {
                    hypothesis: hypothesis.clone(),
                    null: *null,
                    estimate: *estimate,
                    std_error: precision.map(|one| one.std_error),
                    low: precision.and_then(|one| end(one.low)),
                    high: precision.and_then(|one| end(one.high)),
                    distribution: if df.is_some() { "t" } else { "normal" },
                    statistic: precision.map(|one| one.statistic),
                    df,
                    p_value: precision.map(|one| one.p_value),
                    identified: precision.is_some(),
                }
            }
            Tested::Several(WaldTest { hypothesis, found, .. }) => {
                let df_denominator = found.and_then(|one| one.df);
                Entry::Several {
                    hypothesis: hypothesis.join(", "),
                    equations: hypothesis.clone(),
                    distribution: if df_denominator.is_some() { "F" } else { "chi-square" },
                    statistic: found.map(|one| one.statistic),
                    df: hypothesis.len(),
                    df_denominator,
                    p_value: found.map(|one| one.p_value),
                    identified: found.is_some(),
                }
            }
        }
    }
}
