//! A second release of a model that was fitted before, pooled with the first: more budget for the
//! same question, later.

use crate::{
    Dataset, Error, Fit, GroupedDataset, MethodSummary, NoiseSource, Person, Prepared, Progress, Reading, RunOptions,
    Statement,
    formula::{By, Formula, Weights},
    interval::Inference,
    lattice::Design,
    method::{ConfigError, Method, Request, Tuning, auto},
    options::{IntervalMethod, Purpose},
    privacy::{Guarantee, PrivacyError, Provenance, Release, Rho},
    table::{Dialect, Source},
    warning::Warning,
};

/// A fit that is to be made more precise.
///
/// [`read`](Self::read) its data, [`prepare`](Self::prepare), charge and run, and
/// [`join`](Self::join) what comes out to the first fit. Only the second fit is charged: the first
/// was paid for.
#[derive(Clone, Debug)]
pub struct Refinement {
    first: Fit,
    method: auto::Config,
}

impl Refinement {
    /// Plans to spend `rho` more on the model of `first`.
    ///
    /// # Errors
    /// When the fit is not one that can be refined: by itself, by the automatic method, with
    /// intervals, of data.
    pub fn new(first: Fit, rho: Rho) -> Result<Refinement, ConfigError> {
        let method = asked_again(&first, rho)?;
        Ok(Refinement { method, first })
    }

    /// Reads the data as they were read for the first fit; a group's fit has the rows of that group
    /// only.
    ///
    /// # Errors
    /// When the table cannot be read, or is not that of the first fit.
    pub fn read(&self, source: &Source, run: &RunOptions, progress: Progress<'_>) -> Result<Dataset, Error> {
        let formula = Formula::parse_for(&self.first.formula, self.first.family())?;
        let (person, weights) = (self.first.person.clone(), self.first.weights.clone());
        let reading = Reading { person, weights, ..Reading::by(run, progress) };
        match &self.first.group {
            None => Dataset::read(source, &formula, &reading),
            Some(group) => {
                GroupedDataset::read(source, &formula, &reading, &group.by, None)?.again(group, self.first.rows)
            }
        }
    }

    /// The account that paid for the first fit, where one did.
    pub fn statement(&self) -> Option<&Statement> {
        self.first.statement.as_ref()
    }

    /// Which person a row belongs to, if persons are protected.
    pub fn person(&self) -> Option<&Person> {
        self.first.person.as_ref()
    }

    /// What rows are weighted by.
    pub fn weights(&self) -> Option<&Weights> {
        self.first.weights.as_ref()
    }

    /// What the groups are by, where the fit is of one.
    pub fn by(&self) -> Option<&By> {
        self.first.group.as_ref().map(|group| &group.by)
    }

    /// The columns that are read, the response first; `None` if `.` leaves them to the table.
    ///
    /// # Errors
    /// When the formula of the first fit is not understood.
    pub fn columns(&self) -> Result<Option<Vec<String>>, Error> {
        let formula = Formula::parse_for(&self.first.formula, self.first.family())?;
        let person = self.person().map(|person| person.column.as_str());
        let others = [self.weights().map(Weights::name), self.by().map(By::name), person];
        Ok(formula
            .names()
            .map(|names| names.into_iter().chain(others.into_iter().flatten()).map(str::to_owned).collect()))
    }

    /// How the text of the table was written, as far as that was said.
    pub fn csv(&self) -> Dialect {
        self.first.csv
    }

    /// What is asked of the second fit.
    pub fn method(&self) -> &dyn Method {
        &self.method
    }

    /// Refuses noise of another kind than that of the first fit: what is pooled promises as little
    /// as either does.
    ///
    /// # Errors
    /// When one of both has a fixed seed and the other has not.
    pub fn check_noise(&self, noise: NoiseSource) -> Result<(), ConfigError> {
        match (self.first.guarantee.promise.provenance, noise) {
            (Provenance::System, NoiseSource::System) | (Provenance::Seed, NoiseSource::Seed(_)) => Ok(()),
            (Provenance::Seed, NoiseSource::System) => Err(ConfigError::RefinesSeeded),
            (Provenance::System, NoiseSource::Seed(_)) => Err(ConfigError::RefinesBySeed),
            (Provenance::Simulated, _) => Err(ConfigError::RefinesSimulated),
        }
    }

    /// Plans the second fit of the rows that [`read`](Self::read) gave, and checks it. Nothing is
    /// spent.
    ///
    /// # Errors
    /// When the rows are not those of the first fit, or the noise is of another kind.
    pub fn prepare<'a>(&self, rows: &'a mut Dataset, noise: NoiseSource) -> Result<Prepared<'a>, Error> {
        self.check_noise(noise)?;
        let prepared = rows.prepare(&self.method, noise)?;
        // Rows of another provenance, of other persons or of another group are not those of the
        // first fit.
        match prepared.charge().promise == self.first.guarantee.promise && rows_are_of(&prepared, &self.first) {
            true => Ok(prepared.refining(self.first.guarantee.rho)),
            false => Err(ConfigError::OtherFit.into()),
        }
    }

    /// The pooled fit: what the second gave, which holds the first's estimates already, under a
    /// guarantee for both.
    ///
    /// # Errors
    /// When both together are more than any budget, or the second does not promise what the first
    /// does.
    pub fn join(self, second: Fit) -> Result<Fit, Error> {
        let first = self.first;
        let (spent, more) = (first.guarantee.rho, second.guarantee.rho);
        let total = Rho::from_units(spent.units() + more.units()).ok_or(PrivacyError::RhoOutOfRange)?;
        let Guarantee { promise, delta, .. } = first.guarantee;
        if promise != second.guarantee.promise {
            return Err(ConfigError::OtherFit.into());
        }
        let promised = Guarantee::of(promise, total, delta).map_err(PrivacyError::from)?;
        let again = |release: Release| Release { what: format!("{}, refinement", release.what), ..release };
        let releases = first.guarantee.releases.into_iter().chain(second.guarantee.releases.into_iter().map(again));
        let mut method = second.method;
        method.runs = first.method.runs + 1;
        if first.focus.as_ref().is_some_and(|focus| focus.left.is_some()) {
            // The second fit asks for one more mean score of what the steps of the first left.
            method.steps = first.method.steps;
        }
        Ok(Fit {
            guarantee: Guarantee { releases: releases.collect(), ..promised },
            request: first.request,
            refined: first.refined.into_iter().chain([more.to_f64()]).collect(),
            target: second.target,
            rows_used: second.rows_used.or(first.rows_used),
            left_out: first.left_out,
            focus: first.focus,
            residual_sd: first.residual_sd,
            r_squared: first.r_squared,
            marginal_effects: first.marginal_effects,
            method,
            warnings: joined(first.warnings, second.warnings),
            trajectories: first.trajectories.into_iter().chain(second.trajectories).collect(),
            ..second
        })
    }
}

/// What is asked of the second fit: what was asked of the first. Every field of the first is named,
/// so that a new one cannot be left out by oversight.
fn asked_again(first: &Fit, rho: Rho) -> Result<auto::Config, ConfigError> {
    let Fit {
        formula: _,
        rows,
        rows_used: _,
        person: _,
        weights,
        group,
        guarantee,
        request,
        // As the request says.
        purpose: _,
        interval: _,
        level: _,
        target,
        // The caller opens the table in it.
        csv: _,
        part_of_study,
        refined: _,
        method,
        design,
        inference,
        // What follows from what was stated.
        asked: _,
        // Results, and what is said of them.
        date: _,
        coefficients: _,
        left_out: _,
        focus,
        residual_sd: _,
        r_squared: _,
        marginal_effects: _,
        warnings: _,
        trajectories: _,
        evidence: _,
        first_stage: _,
        statement: _,
    } = first;
    let Guarantee { promise, rho: _, delta, epsilon: _, guess: _, releases: _ } = guarantee;
    let MethodSummary { name, clip, steps: _, step_size: _, noise_sd: _, runs: _, row_length } = method;
    if *part_of_study {
        return Err(ConfigError::RefinesPartOfStudy);
    }
    if promise.provenance == Provenance::Simulated {
        return Err(ConfigError::RefinesSimulated);
    }
    let Some(Inference::Newton(newton)) = inference.as_ref().filter(|_| name == auto::NAME) else {
        return Err(ConfigError::NotRefinable);
    };
    if focus.as_ref().is_some_and(|focus| !focus.indices.is_empty()) {
        return Err(ConfigError::NotRefinable);
    }
    let is_usual = request.purpose == Purpose::Inference && request.interval == IntervalMethod::Newton;
    if !is_usual || request.tuning() != Tuning::default() || !newton.can_be_pooled() {
        return Err(ConfigError::NotRefinable);
    }
    let asked = Request { one_of_groups: group.is_some(), ..request.request(rho, *delta)? };
    let earlier = auto::Earlier {
        design: with_weights(design, weights.as_ref()),
        rows: *rows,
        newton: newton.as_ref().clone(),
        clip: *clip,
        target: *target,
        row_length: *row_length,
        left: focus.as_ref().and_then(|focus| focus.left.clone()),
    };
    Ok(auto::Config::new(asked).after(earlier))
}

/// A fit keeps its weights beside its design, which predicts rows that have none.
fn with_weights(design: &Design, weights: Option<&Weights>) -> Design {
    match weights {
        Some(weights) => design.unweighted().weighted(weights.clone()),
        None => design.unweighted(),
    }
}

fn rows_are_of(second: &Prepared<'_>, first: &Fit) -> bool {
    let level = |group: Option<&crate::Group>| group.map(|group| (group.by.clone(), group.level.clone()));
    let (person, group) = second.of();
    person == first.person.as_ref() && level(group) == level(first.group.as_ref())
}

/// Each sentence once. Which coefficients are identified, what a logit lacks, and whether the
/// budget is large or small, the pooled fit says itself.
fn joined(first: Vec<Warning>, second: Vec<Warning>) -> Vec<Warning> {
    let outdated = |warning: &Warning| {
        matches!(
            warning,
            Warning::NotIdentified { .. }
                | Warning::BudgetForColumns { .. }
                | Warning::OtherTable { .. }
                | Warning::Separated { .. }
                | Warning::Vague
                | Warning::Misfit { .. }
        )
    };
    let mut all: Vec<Warning> = first.into_iter().filter(|warning| !outdated(warning)).collect();
    for warning in second.into_iter().filter(|warning| !matches!(warning, Warning::BudgetForColumns { .. })) {
        if !all.contains(&warning) {
            all.push(warning);
        }
    }
    all
}
