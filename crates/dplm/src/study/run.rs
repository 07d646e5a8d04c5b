//! A study in two halves: planned and checked, then charged and run.

use std::sync::Arc;

use super::{Interest, Specification, Study, StudyError};
use crate::{
    Bounded, Charge, Dataset, Error, Fit, NoiseSource, Prepared, Progress, Reading, Receipt, RunOptions, Statement,
    dataset::{Paid, Pay, Stages},
    lattice::Design,
    method::{Plan, Request, Tuning, after_count, auto},
    privacy::{Budget, Guarantee, PrivacyError, Promise, Release, Rho, convert::Conversion, noise::NoiseRng},
    request::plan_identity,
    table::Source,
    warning::Warning,
};

/// A study whose rows are read, planned and checked. Nothing is spent.
pub struct PreparedStudy {
    study: Study,
    /// The rows of one model that holds the terms of all, and those of each specification.
    union: Dataset,
    data: Vec<Dataset>,
    /// The count of the rows that all specifications can use, and what that leaves.
    stages: Stages,
    /// How second moments are released for all; `None` if each specification releases its own.
    plan: Option<auto::Plan>,
    noise: NoiseSource,
}

/// What came of a study: released and public numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StudyFit {
    /// The specifications in words, as a ledger records them.
    pub words: String,
    /// What is promised of all fits together.
    pub guarantee: Guarantee,
    /// How many rows contribute to all specifications, as released; `None` if it was not.
    pub rows_used: Option<Bounded>,
    /// The fits, the main one first.
    pub parts: Vec<StudyPart>,
    /// The coefficient that is followed; `None` if none was named and the specifications share
    /// none.
    pub interest: Option<Interest>,
    /// Whether its intervals hold in all specifications at once.
    pub simultaneous: bool,
    /// The budget of the data set, where a ledger keeps it.
    pub statement: Option<Statement>,
}

/// One fit of a study.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StudyPart {
    /// What the specification is called.
    pub name: String,
    /// Its share of what whitening left, and what that was.
    pub share: f64,
    /// What was spent on this specification alone.
    pub rho: Rho,
    /// The fit. Its guarantee is that of the whole study.
    pub fit: Fit,
}

impl Study {
    /// Reads the rows of every specification, plans each fit and checks it, from public numbers
    /// only.
    ///
    /// # Errors
    /// When the table cannot be read, or a plan is refused.
    ///
    /// # Guarantee
    /// Every specification is read with the same privacy units: what a row or a person may change
    /// in each of their queries is claimed there, so that what the study spends on all of them adds
    /// up for each unit.
    pub fn prepare(self, source: &Source, run: &RunOptions, progress: Progress<'_>) -> Result<PreparedStudy, Error> {
        let (person, weights) = (self.request.person.clone(), self.weights.clone());
        let reading = &Reading { person, weights, ..Reading::by(run, progress) };
        let union = Dataset::read(source, &self.union()?, reading)?;
        let read = |one: &Specification| Dataset::read(source, &one.formula, reading);
        let data: Vec<Dataset> = self.specifications.iter().map(read).collect::<Result<_, _>>()?;
        let config = auto::Config::new(self.request.clone());
        let stages = Stages { whole: self.request.rho, count: after_count(&config, union.rows()).1 };
        let config = auto::Config::new(Request { rho: stages.rest(), ..self.request.clone() });
        let shares = self.request.focus.is_empty();
        let plan = shares.then(|| config.plan(union.rows(), union.design())).transpose()?;
        let prepared = PreparedStudy { study: self, union, data, stages, plan, noise: run.noise() };
        prepared.check()?;
        Ok(prepared)
    }
}

impl PreparedStudy {
    /// Refuses a specification that public numbers show cannot have an interval at the least budget
    /// it can get.
    fn check(&self) -> Result<(), Error> {
        let shares_moments = self.plan.is_some();
        let least = if shares_moments { self.stages.rest().share(1.0 - auto::LEARNING) } else { self.stages.rest() };
        for ((one, share), data) in self.study.specifications.iter().zip(self.study.shares()?).zip(&self.data) {
            let wrong = |error: Error| StudyError::Specification {
                name: one.name.clone(),
                problem: error.problem(),
                advice: error.advice(),
            };
            let config = auto::Config::new(asked_of(&self.study.request, data.design(), least.share(share)));
            let config = if shares_moments { config.sharing_moments() } else { config };
            let plan = config.plan(data.rows(), data.design()).map_err(wrong)?;
            plan.check().map_err(Error::from).map_err(wrong)?;
        }
        Ok(())
    }

    /// What is to be recorded before [`run`](Self::run): one charge for all.
    pub fn charge(&self) -> Charge {
        let shares: Vec<String> = self.study.shares().unwrap_or_default().iter().map(f64::to_string).collect();
        let words = self.study.in_words();
        let asked = self.union.asked(&self.study.request, Tuning::default(), auto::NAME);
        Charge {
            rho: self.study.request.rho,
            promise: self.promise(),
            plan: plan_identity(&asked, self.union.rows(), &[("study", words.clone()), ("shares", shares.join(", "))]),
            formula: words,
            table: self.union.table_in_words(),
        }
    }

    fn promise(&self) -> Promise {
        self.union.promise(&self.study.request, Conversion::Exact, self.noise)
    }

    /// Charges what the fit will spend and runs it: `pay` records each charge, durably, before
    /// anything is drawn for it.
    ///
    /// It is asked as by [`Prepared::run_paid_by`](crate::Prepared::run_paid_by); the rows that are
    /// counted are those that all specifications can use.
    ///
    /// # Errors
    /// What `pay` refuses, when nothing is drawn for that charge; otherwise as [`run`](Self::run).
    pub fn run_paid_by<E: From<Error>>(
        self,
        pay: &mut dyn FnMut(Charge) -> Result<Receipt, E>,
        progress: Progress<'_>,
    ) -> Result<StudyFit, E> {
        let mut rng = self.noise.open().map_err(PrivacyError::from).map_err(Error::from)?;
        let paid = self.paid_in_stages(&mut rng, pay)?;
        Ok(self.fits(paid, &mut rng, progress)?)
    }

    /// Draws the noise and fits every specification. The receipt is for everything that is drawn.
    ///
    /// # Guarantee
    /// With [`NoiseSource::System`] all fits together are `rho`-zCDP for the budget of the charge:
    /// what the count of usable rows and whitening take and what each specification gets add up to
    /// it.
    ///
    /// # Errors
    /// When `receipt` is for another study (nothing is drawn then), hardly any row can be used, or
    /// a release fails.
    pub fn run(self, receipt: Receipt, progress: Progress<'_>) -> Result<StudyFit, Error> {
        let statement = receipt.statement_of(&self.charge())?;
        let mut rng = self.noise.open().map_err(PrivacyError::from)?;
        let by_caller = &mut |charge| Ok::<_, Error>(Receipt::by_caller(charge));
        let paid = self.paid_in_stages(&mut rng, by_caller)?;
        self.fits(Paid { statement, ..paid }, &mut rng, progress)
    }

    fn paid_in_stages<E: From<Error>>(&self, rng: &mut NoiseRng, pay: &mut Pay<'_, E>) -> Result<Paid, E> {
        let counted = self.union.counted(self.study.request.neighbours);
        counted.pay_in_stages(self.stages, &self.charge(), rng, pay)
    }

    /// Makes the fits, which were paid for.
    fn fits(mut self, paid: Paid, rng: &mut NoiseRng, progress: Progress<'_>) -> Result<StudyFit, Error> {
        let (promise, unit) = (self.promise(), self.union.unit());
        let Paid { used, count, statement } = paid;
        let mut budget = Budget::new(self.study.request.rho);
        if let Some(count) = count {
            budget.take_over(shared(count))?;
        }
        let learned = self.learn(&mut budget, rng)?;
        let rhos = divided(&mut budget, &self.study.shares()?)?;
        let words = self.study.in_words();
        let Study { specifications, request, interest, simultaneous, weights: _ } = self.study;
        let mut parts = Vec::new();
        for (place, (one, data)) in specifications.iter().zip(&mut self.data).enumerate() {
            let config = auto::Config::new(asked_of(&request, data.design(), rhos[place].1));
            let config = match &learned {
                Some(learned) if learned.holds(data.design()) => config.knowing(Arc::clone(learned)),
                _ => config,
            };
            // The rows were counted for all specifications.
            let prepared = Prepared::new(data, &config, another(self.noise, place))?;
            // The whole study was charged.
            let paid = Receipt::by_caller(prepared.charge());
            let fit = prepared.run(paid, progress)?;
            parts.push(StudyPart { name: one.name.clone(), share: rhos[place].0, rho: rhos[place].1, fit });
        }
        let promised = Guarantee::of(promise, request.rho, request.delta).map_err(PrivacyError::from)?;
        let guarantee = Guarantee { releases: budget.releases(), ..promised };
        let rows_used = used.map(|used| used.at(request.level));
        let is_within = parts.first().is_some_and(|part| part.fit.design.is_within());
        let study = StudyFit { words, guarantee, rows_used, parts, interest, simultaneous, statement };
        let few = used.and_then(|used| used.warning(request.level, unit, is_within));
        Ok(study.with_whole_guarantees().warned_first(few))
    }

    /// Second moments of the columns of all, where they are shared.
    fn learn(&mut self, budget: &mut Budget, rng: &mut NoiseRng) -> Result<Option<Arc<auto::Learned>>, Error> {
        let Some(plan) = &self.plan else { return Ok(None) };
        let mut own = Budget::new(self.stages.rest().share(auto::LEARNING));
        let (rows, design) = self.union.rows_and_design();
        let learned = plan.learn(rows, design, &mut own, rng)?;
        for release in own.releases() {
            budget.take_over(shared(release))?;
        }
        Ok(Some(learned.shared()))
    }
}

/// What is asked of a specification. One of which all coefficients are of interest has no controls.
fn asked_of(request: &Request, design: &Design, rho: Rho) -> Request {
    let slopes = design.names().len() - usize::from(design.has_intercept());
    let is_all = auto::places_of(&request.focus, design.names()).is_ok_and(|found| found.len() == slopes);
    let focus = if is_all { Vec::new() } else { request.focus.clone() };
    Request { rho, focus, ..request.clone() }
}

/// A release that all specifications use.
fn shared(release: Release) -> Release {
    Release { what: format!("{}{SHARED}", release.what), ..release }
}

/// The rest of a budget by shares, the first taking what rounding leaves; recorded as spent.
fn divided(budget: &mut Budget, shares: &[f64]) -> Result<Vec<(f64, Rho)>, Error> {
    let rest = budget.left();
    let others: Vec<Rho> = shares[1..].iter().map(|&share| rest.share(share)).collect();
    let of_others: u64 = others.iter().map(|rho| rho.units()).sum();
    let first = Rho::from_units(rest.units() - of_others).ok_or(PrivacyError::RhoNotPositive)?;
    let rhos: Vec<Rho> = std::iter::once(first).chain(others).collect();
    for (place, rho) in rhos.iter().enumerate() {
        let _ = budget.spend(format!("specification {}", place + 1), *rho)?;
    }
    Ok(shares.iter().copied().zip(rhos).collect())
}

/// A seed of its own for each fit.
fn another(noise: NoiseSource, place: usize) -> NoiseSource {
    match noise {
        NoiseSource::Seed(seed) => NoiseSource::Seed(seed.wrapping_add(1 + place as u64)),
        other => other,
    }
}

impl StudyFit {
    /// Gives every fit the guarantee of the study, since anyone who sees one fit may see all.
    fn with_whole_guarantees(mut self) -> StudyFit {
        let of = self.parts.len();
        for place in 0..of {
            let shared = self.guarantee.releases.iter().filter(|release| release.what.ends_with(SHARED));
            let own = self.parts[place].fit.guarantee.releases.iter();
            let others: u64 = self
                .parts
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != place)
                .map(|(_, part)| part.rho.units())
                .sum();
            let others = Rho::from_units(others).map(|rho| Release::planned("other specifications of the study", rho));
            let releases = shared.chain(own).cloned().chain(others).collect();
            let part = &mut self.parts[place];
            part.fit.part_of_study = true;
            part.fit.guarantee = Guarantee { releases, ..self.guarantee.clone() };
            part.fit.statement.clone_from(&self.statement);
            part.fit.warnings.insert(0, Warning::PartOfStudy { name: part.name.clone(), of });
        }
        self
    }

    /// The same with a warning that comes before all others in each fit, if there is one.
    fn warned_first(mut self, warning: Option<Warning>) -> StudyFit {
        for part in &mut self.parts {
            part.fit.warnings.splice(0..0, warning.clone());
        }
        self
    }

    /// The level of each interval of the coefficient that is followed: so high that all hold at
    /// once (Bonferroni), where that is asked for.
    pub fn interest_level(&self) -> f64 {
        let level = self.parts.first().map_or(0.95, |part| part.fit.level);
        let family = self.parts.iter().filter(|part| self.place_in(part).is_some()).count().max(1);
        if self.simultaneous { 1.0 - (1.0 - level) / family as f64 } else { level }
    }

    /// Where a fit has the coefficient that is followed.
    pub fn place_in(&self, part: &StudyPart) -> Option<usize> {
        let interest = self.interest.as_ref()?;
        part.fit.coefficients.iter().position(|one| one.name == interest.name)
    }

    /// The estimate of the coefficient that is followed, and its interval at
    /// [`interest_level`](Self::interest_level); `None` if it is not in the specification or not
    /// identified.
    ///
    /// # Errors
    /// When the interval cannot be computed.
    pub fn followed(&self, part: &StudyPart) -> Result<Followed, Error> {
        let Some(interest) = &self.interest else { return Ok(None) };
        // There are intervals for what is reported, which controls are not.
        let mut ends = part.fit.reported().zip(part.fit.intervals(self.interest_level())?);
        let found = ends.find(|(one, _)| one.name == interest.name);
        Ok(found.and_then(|(one, ends)| one.estimate.zip(ends)))
    }
}

/// An estimate and the ends of its interval, where there are any.
type Followed = Option<(f64, (f64, f64))>;

/// How what was released for all specifications is called.
const SHARED: &str = ", for all specifications";
