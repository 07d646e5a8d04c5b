//! A second release of a model that was fitted before, pooled with the first: more budget for the same question, later.

use crate::{
    Error, Fit, Person,
    formula::{Formula, Weights},
    interval::Inference,
    method::{ConfigError, Method, Request, auto},
    options::{IntervalMethod, Purpose},
    privacy::{Guarantee, PrivacyError, Release, Rho},
    warning::Warning,
};

/// A fit that is to be made more precise.
///
/// Read the data with [`formula`](Self::formula) and [`person`](Self::person), prepare [`method`](Self::method) on them, charge it, run it, and
/// [`join`](Self::join) what comes out to the first fit. Only the second fit is charged: the first was paid for.
#[derive(Clone, Debug)]
pub struct Refinement {
    first: Fit,
    method: auto::Config,
}

impl Refinement {
    /// Plans to spend `rho` more on the model of `first`.
    ///
    /// # Errors
    /// When the fit is not one that can be refined: by the automatic method, with intervals.
    pub fn new(first: Fit, rho: Rho) -> Result<Refinement, ConfigError> {
        let Some(Inference::Newton(newton)) = first.inference.as_ref().filter(|_| first.method.name == auto::NAME)
        else {
            return Err(ConfigError::NotRefinable);
        };
        if first.purpose != Purpose::Inference || !newton.can_be_pooled() {
            return Err(ConfigError::NotRefinable);
        }
        let request = Request {
            delta: first.guarantee.delta,
            neighbours: first.guarantee.promise.neighbours,
            target: Some(first.asked),
            interval: IntervalMethod::Newton,
            level: first.level,
            person: first.person.clone(),
            ..Request::new(rho)
        };
        let earlier = auto::Earlier {
            design: first.design.clone(),
            rows: first.rows,
            newton: newton.as_ref().clone(),
            clip: first.method.clip,
            target: first.target,
        };
        Ok(Refinement { method: auto::Config::new(request).after(earlier), first })
    }

    /// The model.
    ///
    /// # Errors
    /// When the fit's file was changed by hand.
    pub fn formula(&self) -> Result<Formula, Error> {
        Ok(Formula::parse(&self.first.formula)?)
    }

    /// Who a row is of.
    pub fn person(&self) -> Option<&Person> {
        self.first.person.as_ref()
    }

    /// What rows are weighted by.
    pub fn weights(&self) -> Option<&Weights> {
        self.first.design.weights()
    }

    /// What is asked of the second fit.
    pub fn method(&self) -> &dyn Method {
        &self.method
    }

    /// The pooled fit: what the second gave, which holds the first's estimates already, under a guarantee for both.
    ///
    /// # Errors
    /// When both together are more than any budget.
    pub fn join(self, second: Fit) -> Result<Fit, Error> {
        let first = self.first;
        let (spent, more) = (first.guarantee.rho, second.guarantee.rho);
        let total = Rho::from_units(spent.units() + more.units()).ok_or(PrivacyError::RhoOutOfRange)?;
        let Guarantee { promise, delta, .. } = first.guarantee;
        let promised = Guarantee::of(promise, total, delta).map_err(PrivacyError::from)?;
        let again = |release: Release| Release { what: format!("{}, refinement", release.what), ..release };
        let releases = first.guarantee.releases.into_iter().chain(second.guarantee.releases.into_iter().map(again));
        let mut method = second.method;
        method.runs = first.method.runs + 1;
        Ok(Fit {
            guarantee: Guarantee { releases: releases.collect(), ..promised },
            target: second.target,
            rows_used: second.rows_used.or(first.rows_used),
            left_out: first.left_out,
            residual_sd: first.residual_sd,
            r_squared: first.r_squared,
            method,
            warnings: joined(first.warnings, second.warnings),
            trajectories: first.trajectories.into_iter().chain(second.trajectories).collect(),
            ..second
        })
    }
}

/// Each sentence once. Which coefficients are identified, and whether the budget is large or small, the pooled fit says itself.
fn joined(first: Vec<Warning>, second: Vec<Warning>) -> Vec<Warning> {
    let outdated = |warning: &Warning| {
        matches!(warning, Warning::NotIdentified { .. } | Warning::BudgetForColumns { .. } | Warning::OtherTable { .. })
    };
    let mut all: Vec<Warning> = first.into_iter().filter(|warning| !outdated(warning)).collect();
    for warning in second.into_iter().filter(|warning| !matches!(warning, Warning::BudgetForColumns { .. })) {
        if !all.contains(&warning) {
            all.push(warning);
        }
    }
    all
}
