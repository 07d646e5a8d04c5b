//! A fit in two halves: planned and checked, then charged and run.

use super::{
    Dataset,
    usable::{Paid, Pay, Stages},
};
use crate::{
    Error, Fit, FitRequest, Group, Person, Progress, Statement, Warning,
    method::{ConfigError, Method, Plan, Request, after_count, auto},
    privacy::{
        Guarantee, PrivacyError, Promise, Rho,
        convert::Conversion,
        noise::{NoiseRng, NoiseSource},
    },
    request::plan_identity,
};

/// A fit that is planned and checked. No query has been asked and no budget spent yet.
///
/// [`Prepared::run`] takes a [`Receipt`], which shows that the [`Charge`] was recorded.
pub struct Prepared<'a> {
    dataset: &'a mut Dataset,
    /// What was asked, with the whole budget.
    request: Request,
    asked: FitRequest,
    /// What was spent on the fit that this one refines.
    refines: Option<Rho>,
    /// The count of usable rows, and what that leaves for the plan.
    stages: Stages,
    plan: Box<dyn Plan>,
    rng: NoiseRng,
    /// What the budget promises; nothing is released yet.
    guarantee: Guarantee,
}

/// What a fit will spend, in public words: what is to be recorded before noise is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// How much.
    pub rho: Rho,
    /// What is promised, and about whom: budgets add up only where promises do.
    pub promise: Promise,
    /// The model.
    pub formula: String,
    /// The plan as JSON of public numbers; the same text is the same plan.
    pub plan: String,
    /// The columns of the table and its number of rows, or of persons, in words; nothing of its
    /// cells.
    pub table: String,
}

impl Charge {
    /// A charge without plan and table, for callers that have none.
    pub fn new(rho: Rho, promise: Promise, formula: impl Into<String>) -> Charge {
        Charge { rho, promise, formula: formula.into(), plan: String::new(), table: String::new() }
    }

    /// What is paid for a count that is made before the fit that this charge is of. Its noise is
    /// Gaussian whatever the method draws, and nothing of delta is spent on it. It names no table:
    /// the fit does, and where that is reversed as a mistake, nothing else holds the next table to
    /// be another one.
    pub(super) fn part(&self, what: &str, rho: Rho) -> Charge {
        let (formula, plan) = (format!("{what}: {}", self.formula), format!("{what}: {}", self.plan));
        let promise = Promise { conversion: Conversion::Exact, delta_spent: 0.0, ..self.promise.clone() };
        Charge { rho, promise, formula, plan, table: String::new() }
    }
}

/// The proof that a charge was recorded. It is moved into [`Prepared::run`] and cannot be used
/// twice.
///
/// ```compile_fail
/// # fn twice(receipt: dplm::Receipt) {
/// let copy = receipt.clone(); // a Receipt is not Clone
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a charge that was recorded is spent whether the fit is run or not"]
pub struct Receipt {
    charge: Charge,
    statement: Option<Statement>,
}

impl Receipt {
    /// Claims that the charge is recorded where it cannot be lost; `statement` is the account with
    /// this charge in it.
    pub fn recorded(charge: Charge, statement: Statement) -> Receipt {
        Receipt { charge, statement: Some(statement) }
    }

    /// Claims that the caller keeps account of the budget in another way.
    pub fn by_caller(charge: Charge) -> Receipt {
        Receipt { charge, statement: None }
    }
}

impl Receipt {
    /// The account with a charge in it, if one is kept.
    ///
    /// # Errors
    /// When the receipt is for another charge.
    pub(crate) fn statement_of(self, charge: &Charge) -> Result<Option<Statement>, PrivacyError> {
        if self.charge == *charge { Ok(self.statement) } else { Err(PrivacyError::OtherCharge) }
    }
}

impl<'a> Prepared<'a> {
    /// A fit that counts the rows it can use first.
    pub(super) fn counting(
        dataset: &'a mut Dataset,
        method: &dyn Method,
        noise: NoiseSource,
    ) -> Result<Prepared<'a>, Error> {
        let (whole, units) = (method.request().rho, dataset.rows());
        let (method, count) = after_count(method, units);
        Prepared::planned(dataset, method.as_ref(), Stages { whole, count }, noise)
    }

    /// A fit that is a part of a larger one, which has counted the rows.
    pub(crate) fn new(
        dataset: &'a mut Dataset,
        method: &dyn Method,
        noise: NoiseSource,
    ) -> Result<Prepared<'a>, Error> {
        Prepared::planned(dataset, method, Stages { whole: method.request().rho, count: None }, noise)
    }

    /// A fit by a method that was given what the count leaves.
    fn planned(
        dataset: &'a mut Dataset,
        method: &dyn Method,
        stages: Stages,
        noise: NoiseSource,
    ) -> Result<Prepared<'a>, Error> {
        let request = Request { rho: stages.whole, ..method.request().clone() };
        if dataset.model().endogenous().is_some() && method.name() != auto::NAME {
            return Err(ConfigError::NoInstruments { method: method.name() }.into());
        }
        let family = dataset.design().family();
        if !method.fits(family) {
            return Err(ConfigError::OtherFamily { method: method.name(), family }.into());
        }
        let plan = method.plan(dataset.rows(), dataset.design())?;
        plan.check()?;
        // A key that cannot be had, or an epsilon that means nothing, is found out before anything
        // is spent.
        let rng = noise.open().map_err(PrivacyError::from)?;
        let promise = dataset.promise(&request, method.conversion(), noise);
        let guarantee = Guarantee::of(promise, request.rho, request.delta).map_err(PrivacyError::from)?;
        let asked = dataset.asked(&request, method.tuning(), method.name());
        Ok(Prepared { dataset, request, asked, refines: None, stages, plan, rng, guarantee })
    }

    /// What is to be recorded before [`run`](Self::run).
    pub fn charge(&self) -> Charge {
        Charge {
            rho: self.request.rho,
            promise: self.guarantee.promise.clone(),
            formula: self.dataset.formula().to_owned(),
            plan: plan_identity(&self.asked, self.dataset.rows(), &self.beside()),
            table: self.dataset.table_in_words(),
        }
    }

    /// Who its rows are of, and which group they are.
    pub(crate) fn of(&self) -> (Option<&Person>, Option<&Group>) {
        (self.dataset.person.as_ref(), self.dataset.group.as_ref())
    }

    /// The same fit, as one that refines another for which this much was spent.
    pub(crate) fn refining(self, spent: Rho) -> Prepared<'a> {
        Prepared { refines: Some(spent), ..self }
    }

    /// What makes the plan another one beside what was asked.
    fn beside(&self) -> Vec<(&'static str, String)> {
        let group = self.dataset.group.as_ref().map(|group| ("group", group.level.clone()));
        let refines = self.refines.map(|rho| ("refines", rho.to_string()));
        group.into_iter().chain(refines).collect()
    }

    /// Gives the fit the memory that the rows are in: re-encoded rows then take their place, and
    /// the data set cannot be fitted again.
    #[must_use]
    pub fn giving_up_rows(self) -> Prepared<'a> {
        self.dataset.given_up = true;
        self.dataset.rows.give_up();
        self
    }

    /// Charges what the fit will spend and runs it: `pay` records each charge, durably, before
    /// anything is drawn for it.
    ///
    /// It is asked for the count of usable rows first, and then for the rest, or, where hardly any
    /// row can be used, for the question why. Where the count would cost too much, it is asked
    /// once, for the whole.
    ///
    /// # Errors
    /// What `pay` refuses, when nothing is drawn for that charge; otherwise as [`run`](Self::run).
    pub fn run_paid_by<E: From<Error>>(
        mut self,
        pay: &mut dyn FnMut(Charge) -> Result<Receipt, E>,
        progress: Progress<'_>,
    ) -> Result<Fit, E> {
        let paid = self.paid_in_stages(pay)?;
        Ok(self.fit(paid, progress)?)
    }

    /// Draws the noise and fits. The receipt is for everything that is drawn.
    ///
    /// # Guarantee
    /// With [`NoiseSource::System`] the result is `rho`-zCDP for the budget of the charge, as an
    /// exact statement about this program.
    ///
    /// # Errors
    /// When `receipt` is for another fit (nothing is drawn then), hardly any row can be used, or a
    /// release fails.
    pub fn run(mut self, receipt: Receipt, progress: Progress<'_>) -> Result<Fit, Error> {
        let statement = receipt.statement_of(&self.charge())?;
        let paid = self.paid_in_stages(&mut |charge| Ok::<_, Error>(Receipt::by_caller(charge)))?;
        self.fit(Paid { statement, ..paid }, progress)
    }

    fn paid_in_stages<E: From<Error>>(&mut self, pay: &mut Pay<'_, E>) -> Result<Paid, E> {
        let whole = self.charge();
        let counted = self.dataset.counted(self.request.neighbours);
        counted.pay_in_stages(self.stages, &whole, &mut self.rng, pay)
    }

    /// Runs the plan, which was paid for.
    fn fit(self, paid: Paid, progress: Progress<'_>) -> Result<Fit, Error> {
        let Paid { used, count, statement } = paid;
        let Prepared { dataset, request, asked, refines: _, stages: _, plan, mut rng, guarantee } = self;
        let (rows, unit) = (dataset.rows(), dataset.unit());
        let (table, design) = dataset.rows_and_design();
        let outcome = plan.run(table, design, &mut rng, progress)?;
        let mut warnings: Vec<Warning> =
            used.and_then(|used| used.warning(request.level, unit, design.is_within())).into_iter().collect();
        warnings.extend(plan.warn().into_iter().map(|warning| of_whole(warning, request.rho)));
        let of_outcome = dataset.warnings(guarantee.promise.provenance, &outcome);
        warnings.extend(outcome.warnings);
        warnings.extend(of_outcome);
        if let Some(Statement { dataset, other_table: true, .. }) = &statement {
            warnings.push(Warning::OtherTable { dataset: dataset.clone() });
        }
        let releases = count.into_iter().chain(outcome.releases).collect();
        Ok(Fit {
            date: today(),
            formula: dataset.formula().to_owned(),
            rows,
            rows_used: used.map(|used| used.at(request.level)),
            person: dataset.person.clone(),
            group: dataset.group.clone(),
            guarantee: guarantee.after(releases).map_err(PrivacyError::from)?,
            purpose: request.purpose,
            asked: request.target(),
            target: outcome.target,
            interval: request.interval,
            level: request.level,
            request: asked,
            refined: Vec::new(),
            csv: dataset.csv,
            part_of_study: false,
            coefficients: outcome.coefficients,
            left_out: outcome.left_out,
            focus: outcome.focus,
            residual_sd: outcome.quality.and_then(|quality| quality.residual_sd),
            r_squared: outcome.quality.map(|quality| quality.r_squared),
            marginal_effects: outcome.marginal_effects,
            method: outcome.summary,
            warnings,
            trajectories: outcome.trajectories,
            weights: dataset.design().weights().cloned(),
            design: dataset.design().unweighted(),
            inference: outcome.inference,
            evidence: outcome.evidence,
            first_stage: outcome.first_stage,
            statement,
        })
    }
}

/// What a plan says of the budget that the count left it, of the whole.
fn of_whole(warning: Warning, rho: Rho) -> Warning {
    match warning {
        Warning::LargeBudget { .. } => Warning::LargeBudget { rho },
        other => other,
    }
}

/// The day in UTC. Not the time, so that fits with one seed are the same to the last bit all day
/// long.
pub(super) fn today() -> String {
    jiff::tz::Offset::UTC.to_datetime(jiff::Timestamp::now()).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Reading,
        formula::Formula,
        method::{auto, dpgd},
        table::Source,
    };

    fn dataset(rows: u32) -> Dataset {
        let csv: String = std::iter::once("y,x\n".to_owned())
            .chain((0..rows).map(|i| format!("{},{}\n", f64::from(i % 7) / 4.0, f64::from(i % 5) / 3.0)))
            .collect();
        let source = Source::from_csv_stream(&mut csv.as_bytes(), "test").unwrap();
        Dataset::read(&source, &Formula::parse("y ~ x").unwrap(), &Reading::default()).unwrap()
    }

    fn config(rho: f64) -> dpgd::Config {
        dpgd::Config::new(Request::new(Rho::checked_from_f64(rho).unwrap()))
    }

    #[test]
    fn a_fit_in_two_halves_is_the_fit() {
        let mut data = dataset(300);
        let whole = data.fit(&config(0.5), NoiseSource::Seed(3), Progress::NONE).unwrap();
        let prepared = data.prepare(&config(0.5), NoiseSource::Seed(3)).unwrap();
        let charge = prepared.charge();
        assert!(!charge.promise.is_private() && charge.rho.to_string() == "0.5");
        assert_eq!(prepared.run(Receipt::by_caller(charge), Progress::NONE).unwrap(), whole);
    }

    /// Rows of several chunks, the last one not full, of which a column is left out: re-encoded
    /// rows are shorter then.
    #[test]
    fn a_fit_that_is_given_its_rows_is_the_fit_and_the_last() {
        let csv: String = std::iter::once("y,x,z\n".to_owned())
            .chain(
                (0..20_001).map(|i| format!("{},{},{}\n", f64::from(i % 7) / 4.0, f64::from(i % 5), f64::from(i % 5))),
            )
            .collect();
        let source = Source::from_csv_stream(&mut csv.as_bytes(), "test").unwrap();
        let formula = Formula::parse("y[0..2] ~ x[0..5] + z[0..5]").unwrap();
        let mut data = Dataset::read(&source, &formula, &Reading::default()).unwrap();
        let config = auto::Config::new(Request::new(Rho::checked_from_f64(0.5).unwrap()));
        let whole = data.fit(&config, NoiseSource::Seed(3), Progress::NONE).unwrap();
        assert!(whole.is_left_out("z"), "{:?}", whole.left_out);
        let prepared = data.prepare(&config, NoiseSource::Seed(3)).unwrap().giving_up_rows();
        let receipt = Receipt::by_caller(prepared.charge());
        assert_eq!(prepared.run(receipt, Progress::NONE).unwrap(), whole);
        let refusal = data.prepare(&config, NoiseSource::Seed(3)).err().expect("no rows are left");
        assert!(refusal.to_string().contains("given up"), "{refusal}");
    }

    #[test]
    fn the_receipt_of_another_charge_is_refused() {
        let mut data = dataset(300);
        let cheap = Receipt::by_caller(data.prepare(&config(0.1), NoiseSource::Seed(3)).unwrap().charge());
        let prepared = data.prepare(&config(0.5), NoiseSource::Seed(3)).unwrap();
        let refusal = prepared.run(cheap, Progress::NONE).unwrap_err();
        assert!(matches!(refusal, Error::Privacy(PrivacyError::OtherCharge)), "{refusal}");
    }

    #[test]
    fn charges_tell_tables_and_plans_apart_and_hold_no_cell() {
        let (mut one, mut two) = (dataset(300), dataset(301));
        let charge = |data: &mut Dataset, rho| data.prepare(&config(rho), NoiseSource::System).unwrap().charge();
        let (first, longer, dearer) = (charge(&mut one, 0.1), charge(&mut two, 0.1), charge(&mut one, 0.2));
        assert_eq!(first, charge(&mut one, 0.1));
        assert_eq!(first.table, "300 rows: y, x");
        assert_ne!(first.table, longer.table);
        assert_ne!(first.plan, dearer.plan);
    }
}
