//! What is asked: R's arguments, understood by the table of options.

use dplm::{
    moments::Moments,
    options::Choice,
    request::{
        AccountOptions, Instead, Opt, OptionError, OptionKind, OptionSpec, PlanQuestion, Said, Sizes, Value, OPTIONS,
    },
    table::Source,
    CheckedFit, FitRequest, RunOptions,
};
use dplm_simulate::pretend;
use savvy::{ListSexp, Sexp, TypedSexp};

use crate::{
    failure::{Kind, Refusal},
    given::{json, number, sizes, text, texts, truth, whole, Given},
    table,
};

/// The options among named arguments; those that are left out have their defaults.
pub fn said(given: &ListSexp) -> Result<Said, Refusal> {
    let mut said = Said::new();
    for spec in OPTIONS {
        if let Some(value) = given.get(spec.option.name()) {
            said.extend(read(spec, value)?.map(|value| (spec.option, value)));
        }
    }
    Ok(said)
}

/// The value of an option, or a sentence on what it must be; `None` if `NULL` stands for the
/// default.
fn read(spec: &OptionSpec, given: Sexp) -> Result<Option<Value>, Refusal> {
    let wrong = || OptionError::new(spec.option, wanted(spec.kind)).into();
    match given.into_typed() {
        TypedSexp::Null(_) => {
            let is_default =
                spec.option == Opt::Formula || matches!((spec.default)(), Value::Nothing | Value::Texts(_));
            if is_default {
                Ok(None)
            } else {
                Err(wrong())
            }
        }
        given if matches!(spec.kind, OptionKind::Moments) => moments(given).map(Some),
        given => understood(spec.kind, given).map(Some).ok_or_else(wrong),
    }
}

fn understood(kind: OptionKind, given: TypedSexp) -> Option<Value> {
    Some(match kind {
        OptionKind::Truth => Value::Truth(truth(given)?),
        OptionKind::Number => Value::Number(number(given)?),
        OptionKind::Whole | OptionKind::Bytes => Value::Whole(whole(number(given)?)?),
        OptionKind::Text | OptionKind::Word(..) | OptionKind::Moments => Value::Text(text(given)?.to_owned()),
        OptionKind::Texts => Value::Texts(texts(given)?.into_iter().map(str::to_owned).collect()),
        OptionKind::Sizes => Value::Sizes(Sizes(sizes(given)?.into_iter().collect())),
        OptionKind::Path => Value::Path(text(given)?.into()),
    })
}

/// What an option must be, as R writes it.
fn wanted(kind: OptionKind) -> String {
    match kind {
        OptionKind::Truth => "TRUE or FALSE".to_owned(),
        OptionKind::Sizes => "whole numbers with the names of the levels".to_owned(),
        kind => kind.wanted(),
    }
}

/// Means and covariances that are public: the path of a file, or a list of them.
fn moments(given: TypedSexp) -> Result<Value, Refusal> {
    let unusable = || Kind::Request.because("moments must be a path, or a list of numbers with names");
    let read = match given {
        TypedSexp::String(_) => Moments::read(text(given).ok_or_else(unusable)?),
        list => Moments::from_json(&json(list).ok_or_else(unusable)?.to_string()),
    };
    read.map(|moments| Value::Moments(Box::new(moments))).map_err(|error| Kind::Request.because(error))
}

/// What is asked of a fit, unchecked.
pub fn request(said: &mut Said) -> Result<FitRequest, Refusal> {
    let request = FitRequest::from_said(said)?;
    // The refusal says why a method runs in the lab only.
    request.method.as_deref().map(dplm_methods::find).transpose()?;
    Ok(request)
}

/// A fit that is planned, and what is asked of the plan.
pub fn plan(given: ListSexp) -> Result<(FitRequest, PlanQuestion), Refusal> {
    let mut said = said(&given)?;
    let request = request(&mut said)?;
    let question = PlanQuestion::from_said(&mut said)?;
    match request.formula.is_empty() == question.features.is_some() {
        true => Ok((request, question)),
        false => Err(Kind::Request.because("give a formula, or a number of features, and not both")),
    }
}

/// A fit as R asks for it, checked as far as it can be without rows.
pub struct Asked {
    /// The fit.
    pub fit: CheckedFit,
    /// How it is carried out.
    pub run: RunOptions,
    /// Who pays.
    pub account: AccountOptions,
    instead: Instead,
}

impl Asked {
    /// What named arguments ask for.
    pub fn read(given: ListSexp) -> Result<Asked, Refusal> {
        let mut said = said(&given)?;
        let request = request(&mut said)?;
        let (run, account) = (RunOptions::from_said(&mut said)?, AccountOptions::from_said(&mut said)?);
        let instead = Instead::from_said(&mut said)?;
        if instead.pretend.is_some() && (account.ledger.is_some() || account.dataset.is_some()) {
            return Err(Kind::Request.because(pretend::NO_LEDGER));
        }
        // Every number a request is refused for was given here.
        let fit = request.check_among(dplm_methods::METHODS).map_err(Kind::of_request)?;
        let question = PlanQuestion::from_said(&mut said)?;
        let fit = fit.assuming(&question, &instead).map_err(Kind::of_request)?;
        Ok(Asked { fit, run, account, instead })
    }

    /// Whether rows are simulated.
    pub fn is_pretended(&self) -> bool {
        self.instead.pretend.is_some()
    }

    /// The rows of a table that R describes, or simulated ones in their place.
    ///
    /// # Safety
    /// As [`table::source`].
    #[allow(unsafe_code)] // Tables are shared.
    pub unsafe fn rows(&self, described: ListSexp) -> Result<Source, Refusal> {
        let Some(rows) = self.instead.pretend else {
            // SAFETY: as promised.
            return unsafe { table::source(described) };
        };
        let (formula, person, weights, by) = (self.fit.formula(), self.fit.person(), self.fit.weights(), self.fit.by());
        Ok(pretend::source(&pretend::Asked { formula, person, weights, by }, rows, self.run.seed)?)
    }
}

/// The value a word stands for; words are those of the command line.
pub fn word<T: Choice>(given: &Given, name: &str) -> Result<T, Refusal> {
    given.word(name)?.parse().map_err(|unknown| Kind::Request.because(unknown))
}
