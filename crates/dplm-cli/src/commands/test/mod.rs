//! `dplm test`: hypotheses about the coefficients of a saved fit. No data are read, and nothing is
//! spent.

mod text;

use std::collections::BTreeMap;

use dplm::{Error, Fit, Fitted, FittedGroup, GroupOutcome, GroupedFit, Hypothesis, TTest, WaldTest, privacy::Promise};
use dplm_simulate::pretend;
use serde::Serialize;

use crate::{
    args::TestArgs,
    asked::check_formats,
    commands::saved::{self, Marks},
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
};

/// Loads the fit, or those of several groups, tests, and shows it as text or JSON.
pub fn run(args: &TestArgs, printer: &Printer) -> Result<(), Failure> {
    check_formats([(&args.json, Format::Json)])?;
    let saved = saved::load(&args.saved)?;
    let promise = saved.promise();
    let (json, text) = match &saved {
        Fitted::One(fit) => {
            let level = args.level.unwrap_or(fit.level);
            let tests = Tested::all(fit, &args.hypotheses, level)?;
            (json(promise, level, &About::fit(fit, &tests)), text::render(fit, level, &tests))
        }
        Fitted::Groups(groups) => {
            let level = args.level.unwrap_or(groups.level);
            of_groups(groups, &args.hypotheses, level)?
        }
    };
    // A document has the promise; a text has a line.
    let json = Marks { seed: str::to_owned, simulated: pretend::mark_json }.on(promise.provenance, json);
    let text = Marks { seed: saved::void, simulated: pretend::mark_text }.on(promise.provenance, text);
    if let Some(place) = &args.json {
        Output::open(place)?.finish_with(&json)?;
    }
    match args.json == Some(Destination::Stdout) {
        true => Ok(()),
        false => printer.result(&text),
    }
}

/// The tests in each group, as JSON and as text.
fn of_groups(groups: &GroupedFit, hypotheses: &[String], level: f64) -> Result<(String, String), Error> {
    let column = groups.by.name();
    let (mut abouts, mut text) = (Vec::new(), String::new());
    for group in &groups.groups {
        let by = BTreeMap::from([(column, group.level.as_str())]);
        let (tested, shown) = in_group(group, hypotheses, level)?;
        text += &format!("{}{column} = {}\n{shown}", if text.is_empty() { "" } else { "\n" }, group.level);
        abouts.push(InGroup { by, tested });
    }
    Ok((json(&groups.guarantee.promise, level, &Groups { groups: abouts }), text))
}

fn in_group<'a>(group: &'a FittedGroup, hypotheses: &[String], level: f64) -> Result<(TestedGroup<'a>, String), Error> {
    match &group.outcome {
        GroupOutcome::Fitted(fit) => {
            let tests = Tested::all(fit, hypotheses, level)?;
            Ok((TestedGroup::Fitted(About::fit(fit, &tests)), text::render(fit, level, &tests)))
        }
        GroupOutcome::NotFitted(why) => {
            Ok((TestedGroup::NotFitted { not_fitted: why }, format!("It was not fitted: {why}.\n")))
        }
    }
}

fn json(promise: &Promise, level: f64, tested: &impl Serialize) -> String {
    let document = Document { dplm: env!("CARGO_PKG_VERSION"), private: promise.is_private(), promise, level, tested };
    serde_json::to_string_pretty(&document).expect("plain data serialise") + "\n"
}

/// One argument, tested: an equation by itself, several together.
enum Tested {
    One(TTest),
    Several(WaldTest),
}

impl Tested {
    fn all(fit: &Fit, hypotheses: &[String], level: f64) -> Result<Vec<Tested>, Error> {
        hypotheses.iter().map(|typed| Tested::of(fit, typed, level)).collect()
    }

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
struct Document<'a, T> {
    dplm: &'static str,
    private: bool,
    promise: &'a Promise,
    level: f64,
    #[serde(flatten)]
    tested: &'a T,
}

/// The tests of one fit, and what they are about.
#[derive(Serialize)]
struct About {
    target_text: String,
    tests: Vec<Entry>,
}

/// Those of several groups.
#[derive(Serialize)]
struct Groups<'a> {
    groups: Vec<InGroup<'a>>,
}

#[derive(Serialize)]
struct InGroup<'a> {
    by: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    tested: TestedGroup<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TestedGroup<'a> {
    Fitted(About),
    NotFitted { not_fitted: &'a str },
}

impl About {
    fn fit(fit: &Fit, tests: &[Tested]) -> About {
        About { target_text: fit.target_text(), tests: tests.iter().map(Entry::of).collect() }
    }
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
