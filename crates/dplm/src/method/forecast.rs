//! What to expect of the method that would run.

use super::{ConfigError, Entry, Request, Tuning, after_count, choose};
use crate::{
    Error,
    formula::{Column, Formula, Kind, Model, Weights},
    lattice::Design,
    plan::{Assumed, Assumption, Forecast, Question},
    privacy::Rho,
    schema::Schema,
};

/// A fit as it would be asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The method, if one is asked for by name.
    pub method: Option<Entry>,
    /// What is asked of any method; the budget and the level are the question's.
    pub request: Request,
    /// Parameters set by hand.
    pub tuning: Tuning,
    /// The model, or how many columns of unit variance it has.
    pub model: Asks,
}

/// What a forecast is for.
#[derive(Clone, Debug)]
pub enum Asks {
    /// A model with public facts, and what is assumed of its columns beside them.
    Formula {
        /// The model.
        formula: Formula,
        /// Whether columns without bounds are centred and of about unit variance.
        standardised: bool,
        /// What rows are weighted by.
        weights: Option<Weights>,
        /// What is assumed.
        assumptions: Vec<Assumption>,
    },
    /// Columns of unit variance that are not correlated, and errors of this standard deviation.
    White {
        /// How many.
        features: u32,
        /// The errors.
        error_sd: f64,
    },
}

/// What accuracy to expect, from public numbers only: the rules are those of the method that would
/// run.
///
/// # Errors
/// When the question makes no sense, or the fit would be refused.
pub fn forecast(asked: &Asked, question: &Question) -> Result<Forecast, Error> {
    forecast_among(asked, None, question, question.rows)
}

/// As [`forecast`], of the columns of a table: `.` stands for those that it declares to be numeric.
///
/// # Errors
/// As [`forecast`]; when the table does not have the columns of the formula.
pub fn forecast_for(asked: &Asked, schema: &Schema, question: &Question) -> Result<Forecast, Error> {
    forecast_among(asked, Some(schema), question, question.rows)
}

/// As [`forecast_for`], of each of several groups of a table whose sizes are public. The rows of
/// each are taken to be as those of the table.
///
/// # Errors
/// As [`forecast_for`], for each group: the others are fitted all the same.
pub fn forecast_groups(
    asked: &Asked,
    schema: &Schema,
    sizes: &[u64],
    question: &Question,
) -> Vec<Result<Forecast, Error>> {
    let asked = Asked { request: Request { one_of_groups: true, ..asked.request.clone() }, ..asked.clone() };
    let of_group = |&rows: &u64| {
        let group = Question { rows, ..question.clone() };
        forecast_among(&asked, Some(schema), &group, question.rows)
    };
    sizes.iter().map(of_group).collect()
}

/// What a fit of some of the rows of a table would come to, at the budget of the question and at
/// others.
fn forecast_among(asked: &Asked, schema: Option<&Schema>, question: &Question, all: u64) -> Result<Forecast, Error> {
    let Subject { formula, standardised, design, assumed } = subject(&asked.model, schema)?;
    let known = asked.request.moments.as_ref().map(|moments| moments.of(&design)).transpose()?;
    let assumed = known.map_or_else(|| assumed.clone(), |moments| assumed.clone().with_moments(moments));
    let plans = |rho: Rho| {
        let request = Request { rho, level: question.level, delta: question.delta, ..asked.request.clone() };
        let method = choose(asked.method, request, asked.tuning, &formula, standardised)?;
        let (method, count) = after_count(method.as_ref(), all);
        let plan = method.plan(question.rows, &design)?;
        plan.check()?;
        Ok(plan.foresee(&design, &assumed)?.after_count(count))
    };
    Forecast::new(question, &design, &assumed, &plans)
}

/// A model, and what is assumed of its columns.
struct Subject {
    formula: Formula,
    standardised: bool,
    design: Design,
    assumed: Assumed,
}

fn subject(model: &Asks, schema: Option<&Schema>) -> Result<Subject, Error> {
    match model {
        Asks::Formula { formula, standardised, weights, assumptions } => {
            let model = match schema {
                Some(schema) => formula.resolve(schema)?,
                None if formula.uses_dot() => return Err(ConfigError::DotInPlan.into()),
                None => formula.clone().into_model()?,
            };
            let design = design(&model, weights);
            let assumed = Assumed::of(&design, assumptions)?;
            Ok(Subject { formula: formula.clone(), standardised: *standardised, design, assumed })
        }
        Asks::White { features, error_sd } => Ok(Subject {
            formula: Formula::parse("y ~ x + 0").expect("a formula"),
            standardised: true,
            design: standard_design(*features),
            assumed: Assumed::white(*error_sd),
        }),
    }
}

/// The design of a model whose rows may be weighted.
fn design(model: &Model, weights: &Option<Weights>) -> Design {
    let design = Design::new(model);
    weights.iter().fold(design, |design, weights| design.weighted(weights.clone()))
}

fn standard_design(features: u32) -> Design {
    let column = |name: String| Column { name, kind: Kind::Standard };
    let features = (1..=features).map(|j| column(format!("x{j}"))).collect();
    Design::new(&Model::of_columns(column("y".to_owned()), features, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rho(rho: f64) -> Rho {
        Rho::checked_from_f64(rho).expect("a budget")
    }

    fn question(rows: u64, budget: f64) -> Question {
        let (rho, delta, level, share) = (rho(budget), 1e-6, 0.95, 0.5);
        Question { rows, rho, delta, level, share, wants: Vec::new(), effects: Vec::new(), curve: false }
    }

    fn white(features: u32) -> Asked {
        let model = Asks::White { features, error_sd: 1.0 };
        Asked { method: None, request: Request::new(rho(1.0)), tuning: Tuning::default(), model }
    }

    fn of(formula: &str, assumptions: &[&str]) -> Asked {
        let formula = Formula::parse(formula).expect("a formula");
        let assumptions = assumptions.iter().map(|text| text.parse().expect("an assumption")).collect();
        let model = Asks::Formula { formula, standardised: false, weights: None, assumptions };
        Asked { method: None, request: Request::new(rho(1.0)), tuning: Tuning::default(), model }
    }

    /// Where a budget first affords the clip of least squares, that may cost 3 % of what it gains.
    #[test]
    fn more_budget_promises_a_smaller_error_and_never_one_below_least_squares() {
        for asked in [white(10), of("y[-9..9] ~ a[0..1] + b[-2..5] + g{u,v,w}", &["g shares 0.5 0.4 0.1"])] {
            let forecast = forecast(&asked, &question(10_000, 0.1)).expect("a forecast");
            assert!(
                forecast.budgets.is_sorted_by(|a, b| a.rho < b.rho && 1.03 * a.std_error > b.std_error),
                "{forecast:?}"
            );
            assert!(forecast.fit.std_error > forecast.classical.std_error && forecast.curve.is_empty());
            assert!(forecast.recommended.std_error <= forecast.fit.std_error);
            let spent: f64 = forecast.releases.iter().map(|release| release.share).sum();
            assert!((spent - 1.0).abs() < 1e-9, "{:?}", forecast.releases);
        }
    }

    /// Least squares of one centred column: sigma / (sd sqrt n), in its own units.
    #[test]
    fn errors_are_in_the_units_of_the_column() {
        let asked = of("y[0..100] ~ x[0..20]", &["x mean 12 sd 3", "errors sd 5"]);
        let forecast = forecast(&asked, &question(10_000, 0.1)).expect("a forecast");
        let x = &forecast.coefficients[1];
        assert!((x.classical_error / (5.0 / 3.0 / 100.0) - 1.0).abs() < 0.02, "{x:?}");
        assert!(x.std_error.expect("identified") > x.classical_error);
        assert_eq!(forecast.method, "auto");
    }

    #[test]
    fn what_will_be_left_out_is_said_beforehand() {
        let asked = of("y[0..100] ~ x[0..20] + flat[0..1000]", &["flat sd 0.001"]);
        let forecast = forecast(&asked, &question(10_000, 0.05)).expect("a forecast");
        assert_eq!(forecast.left_out.len(), 1);
        let flat = &forecast.coefficients[2];
        assert!(!flat.identified && flat.std_error.is_none() && forecast.coefficients[1].identified);
    }

    #[test]
    fn a_wanted_error_gives_the_budget_that_buys_it() {
        let asked = of("y[0..100] ~ x[0..20]", &[]);
        let want = |value: f64| {
            let wants = vec![crate::plan::Stated { name: "x".to_owned(), value }];
            forecast(&asked, &Question { wants, ..question(10_000, 0.1) }).expect("a forecast").wants[0].rho
        };
        let at =
            |budget: f64| forecast(&asked, &question(10_000, budget)).expect("a forecast").coefficients[1].std_error;
        let budget = want(0.08).expect("a budget does");
        // With a margin for fits that find a wider clip.
        assert!((1.15 * at(budget).expect("identified") / 0.08 - 1.0).abs() < 0.01);
        // Sampling alone makes more than this.
        assert_eq!(want(0.01), None);
    }

    #[test]
    fn senseless_questions_are_refused() {
        let small = question(5, 0.015);
        let good = question(10_000, 0.015);
        for wrong in [
            Question { level: 1.0, ..good.clone() },
            Question { delta: 0.0, ..good.clone() },
            Question { share: -1.0, ..good.clone() },
            small,
        ] {
            assert!(forecast(&white(10), &wrong).is_err(), "{wrong:?}");
        }
        let tuned = |tuning: Tuning| Asked { tuning, ..white(10) };
        assert!(forecast(&tuned(Tuning { steps: Some(0), ..Tuning::default() }), &good).is_err());
        assert!(forecast(&tuned(Tuning { clip: Some(-1.0), ..Tuning::default() }), &good).is_err());
        for wrong in ["x sd -1", "z sd 1", "x mean 50 sd 1", "g shares 0.5", "R2 1.5"] {
            let refused = forecast(&of("y[0..9] ~ x[0..1] + g{a,b}", &[wrong]), &good);
            assert!(refused.is_err(), "{wrong}");
        }
    }
}
