//! Several specifications of one question, on one table, under one budget.
//!
//! A study has a main specification and checks. Second moments are released once, of a model that
//! holds the terms of all, so that whitening each is post-processing; the rest of the budget is
//! divided by stated shares. The whole is charged before anything is drawn. Unless shares say
//! otherwise the main specification has half of the rest and the checks the other half. With
//! coefficients of interest nothing is shared but the charge: each specification then has controls
//! of its own, and learns by itself which of them it can tell apart.
//!
//! ```toml
//! rho = 0.1
//! interest = "educ"         # the coefficient that is followed across specifications
//! simultaneous = true       # intervals for it that hold together, in all specifications at once
//!
//! person = "id"             # whose data are protected, with all their rows; without it each row stands for itself
//! weights = "w[0..50]"      # what rows are weighted by
//!
//! [columns.wage]            # what is known of columns is written once, here or in a formula
//! low = 1
//! high = 100
//!
//! [[specification]]
//! name = "main"
//! formula = "log(wage) ~ educ[0..20] + exper[0..60]"
//! share = 0.6
//!
//! [[specification]]
//! name = "without exper"
//! formula = "log(wage) ~ educ[0..20]"
//! ```

mod file;
mod run;

pub use run::{PreparedStudy, StudyFit, StudyPart};

use crate::{
    Error,
    formula::{Formula, FormulaError, Model, Weights},
    method::{IntervalMethod, Purpose, Request, auto},
    options::{Advice, Advised},
};

/// A study, checked as far as it can be without a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    specifications: Vec<Specification>,
    request: Request,
    weights: Option<Weights>,
    interest: Option<Interest>,
    simultaneous: bool,
}

/// The coefficient that is followed across specifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Its name.
    pub name: String,
    /// Whether it was named; otherwise it is the first coefficient other than the intercept that
    /// all specifications have.
    pub stated: bool,
}

/// One specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    /// What it is called.
    pub name: String,
    /// The model.
    pub formula: Formula,
    /// Its share of what whitening leaves; none for an equal part of what the stated shares leave,
    /// or for half where it is the main one and no share is stated.
    pub share: Option<f64>,
}

/// Why a study makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The file was not read.
    #[error("the study could not be read ({kind}): check the file's name and its permissions")]
    Unread {
        /// What kind of refusal it was.
        kind: std::io::ErrorKind,
    },
    /// Something else.
    #[error("the study is not understood{place}: {problem}")]
    Unreadable {
        /// Where, as ` in line 3`; empty if that is not known.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// Nothing to fit.
    #[error("the study has no specification: add [[specification]] with a name and a formula")]
    Empty,
    /// One name for two.
    #[error("two specifications are called '{name}': give each its own name")]
    TwoNames {
        /// Which.
        name: String,
    },
    /// Shares that do not divide anything.
    #[error("the shares of the specifications must be above 0 and add up to 1, or to less where some have none")]
    Shares,
    /// Nobody knows which columns `.` stands for in all of them.
    #[error("'.' stands for other columns in each specification of a study: write the columns out")]
    Dot,
    /// Something is said in the file and beside it.
    #[error("the study says '{key}' itself: say it in the file or beside it, and not in both")]
    SaidTwice {
        /// What.
        key: &'static str,
    },
    /// A coefficient that is in no specification.
    #[error("no specification has a coefficient '{name}' to follow: name one as fits print it")]
    NoInterest {
        /// What was asked for.
        name: String,
    },
    /// Intervals for what?
    #[error("simultaneous intervals are for one coefficient in all specifications: name it with interest")]
    NoFamily,
    /// A coefficient that no fit reports.
    #[error("'{name}' is a control in every specification: follow a coefficient of interest")]
    FollowsControl {
        /// What was asked for.
        name: String,
    },
    /// A study is about intervals.
    #[error("a study is about intervals, by the method auto: leave out what asks for something else")]
    NotForIntervals,
    /// A formula that is not understood, or a plan that is refused.
    #[error("specification '{name}': {problem}")]
    Specification {
        /// Which.
        name: String,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        advice: Option<Advice>,
    },
}

impl Advised for StudyError {
    fn advice(&self) -> Option<Advice> {
        match self {
            StudyError::Specification { advice, .. } => advice.clone(),
            _ => None,
        }
    }
}

impl Study {
    /// A study of these specifications, the first being the main one.
    ///
    /// # Errors
    /// One sentence on the first thing that makes no sense.
    pub fn new(specifications: Vec<Specification>, request: Request) -> Result<Study, Error> {
        request.check()?;
        if request.purpose != Purpose::Inference
            || request.interval != IntervalMethod::Newton
            || request.moments.is_some()
        {
            return Err(StudyError::NotForIntervals.into());
        }
        let interest = shared_coefficient(&specifications, &request).map(|name| Interest { name, stated: false });
        let study = Study { specifications, request, weights: None, interest, simultaneous: false };
        study.check()?;
        Ok(study)
    }

    /// The same with rows weighted in every specification.
    pub fn weighted(self, weights: Option<Weights>) -> Study {
        Study { weights, ..self }
    }

    /// The same with a coefficient that is followed across specifications, and intervals for it
    /// that hold in all of them at once if so wished.
    ///
    /// # Errors
    /// When no specification has it.
    pub fn following(self, interest: &str, simultaneous: bool) -> Result<Study, Error> {
        let name = interest.to_owned();
        let having: Vec<&Specification> = self.specifications.iter().filter(|one| one.has_coefficient(&name)).collect();
        if having.is_empty() {
            return Err(StudyError::NoInterest { name }.into());
        }
        if !having.iter().any(|one| one.reports(&name, &self.request)) {
            return Err(StudyError::FollowsControl { name }.into());
        }
        Ok(Study { interest: Some(Interest { name, stated: true }), simultaneous, ..self })
    }

    fn check(&self) -> Result<(), Error> {
        if self.specifications.is_empty() {
            return Err(StudyError::Empty.into());
        }
        for (place, one) in self.specifications.iter().enumerate() {
            if self.specifications[..place].iter().any(|other| other.name == one.name) {
                return Err(StudyError::TwoNames { name: one.name.clone() }.into());
            }
            if one.formula.uses_dot() {
                return Err(StudyError::Dot.into());
            }
        }
        self.shares()?;
        self.union()?;
        Ok(())
    }

    /// The specifications, the main one first.
    pub fn specifications(&self) -> &[Specification] {
        &self.specifications
    }

    /// What is asked of every fit, with the budget of all.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The coefficient that is followed.
    pub fn interest(&self) -> Option<&Interest> {
        self.interest.as_ref()
    }

    /// The share of each specification of what whitening leaves; they add up to 1.
    ///
    /// # Errors
    /// When stated shares are not positive, or leave nothing to those without one.
    pub fn shares(&self) -> Result<Vec<f64>, StudyError> {
        const ROUNDING: f64 = 1e-9;
        let stated: Vec<Option<f64>> = self.specifications.iter().map(|one| one.share).collect();
        let sum: f64 = stated.iter().flatten().sum();
        let open = stated.iter().filter(|share| share.is_none()).count();
        let sound = stated.iter().flatten().all(|&share| share > 0.0 && share.is_finite());
        let adds_up = if open == 0 { (sum - 1.0).abs() <= ROUNDING } else { sum < 1.0 - ROUNDING };
        if !sound || !adds_up {
            return Err(StudyError::Shares);
        }
        if open == stated.len() && open > 1 {
            let check = 0.5 / (open - 1) as f64;
            return Ok((0..open).map(|place| if place == 0 { 0.5 } else { check }).collect());
        }
        Ok(stated.into_iter().map(|share| share.unwrap_or((1.0 - sum) / open as f64)).collect())
    }

    /// One model that holds the terms of all.
    fn union(&self) -> Result<Formula, FormulaError> {
        Formula::union(&self.specifications.iter().map(|one| &one.formula).collect::<Vec<_>>())
    }

    /// The formulas, for a ledger.
    fn in_words(&self) -> String {
        let each = self.specifications.iter().map(|one| format!("{}: {}", one.name, one.formula));
        format!("study of {}: {}", self.specifications.len(), each.collect::<Vec<_>>().join("; "))
    }
}

impl Specification {
    /// The model; `None` if only the table can say what the columns are.
    fn model(&self) -> Option<Model> {
        self.formula.clone().into_model().ok()
    }

    fn has_coefficient(&self, name: &String) -> bool {
        self.model().is_some_and(|model| model.coefficient_names().contains(name))
    }

    /// Whether it has a coefficient of this name that is no control.
    fn reports(&self, name: &String, request: &Request) -> bool {
        let names = self.model().map_or(Vec::new(), |model| model.coefficient_names());
        let Some(place) = names.iter().position(|one| one == name) else { return false };
        request.focus.is_empty() || auto::places_of(&request.focus, &names).is_ok_and(|found| found.contains(&place))
    }
}

/// The first coefficient other than the intercept that all specifications have and report.
fn shared_coefficient(specifications: &[Specification], request: &Request) -> Option<String> {
    let model = specifications.first()?.model()?;
    let mut names = model.coefficient_names().into_iter().skip(usize::from(model.intercept()));
    names.find(|name| specifications.iter().all(|one| one.reports(name, request)))
}
