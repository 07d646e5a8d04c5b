//! The usual way in: a formula, a budget, a file.

use std::{path::Path, sync::Arc};

use crate::{
    Dataset, Error, Fit, GroupedDataset, GroupedFit, Person, Progress, Reading, Receipt,
    formula::{By, Formula, FormulaError, Weights},
    method::{self, Entry, Method, Request, Tuning},
    moments::Moments,
    options::{Device, IntervalMethod, Purpose, Target},
    privacy::{Neighbours, Rho, noise::NoiseSource},
    table::{ReadOptions, Source},
};

/// Linear regression of the model that `formula` writes: what R's `lm` does, privately.
///
/// # Examples
/// ```no_run
/// let fit = dplm::lm("pay[0..200000] ~ age[18..90] + region{north,south}").rho(0.015)?.fit("people.csv")?;
/// println!("{fit}");
/// # Ok::<(), dplm::Error>(())
/// ```
pub fn lm(formula: &str) -> Lm<'static> {
    Lm::new(Formula::parse(formula))
}

/// A regression that is being described; [`lm`] starts one. Nothing is read or spent before [`Lm::fit`].
#[derive(Clone)]
#[must_use = "nothing is fitted before fit is called"]
pub struct Lm<'a> {
    /// A mistake in the formula is told by the next step that can tell it.
    formula: Result<Formula, FormulaError>,
    standardised: bool,
    rho: Option<f64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    neighbours: Neighbours,
    purpose: Purpose,
    interval: IntervalMethod,
    target: Option<Target>,
    level: f64,
    batches: u32,
    burn_in: Option<u32>,
    method: Option<Entry>,
    tuning: Tuning,
    noise: NoiseSource,
    strict: bool,
    memory: Option<u64>,
    device: Device,
    person: Option<Person>,
    moments: Option<Arc<Moments>>,
    weights: Option<Weights>,
    progress: Progress<'a>,
}

/// For a model that was read before, as from a model file.
impl From<Formula> for Lm<'static> {
    fn from(formula: Formula) -> Lm<'static> {
        Lm::new(Ok(formula))
    }
}

impl Lm<'static> {
    fn new(formula: Result<Formula, FormulaError>) -> Lm<'static> {
        Lm {
            formula,
            standardised: false,
            rho: None,
            epsilon: None,
            delta: None,
            neighbours: Neighbours::default(),
            purpose: Purpose::default(),
            interval: IntervalMethod::default(),
            target: None,
            level: 0.95,
            batches: 10,
            burn_in: None,
            method: None,
            tuning: Tuning::default(),
            noise: NoiseSource::System,
            strict: false,
            memory: None,
            device: Device::default(),
            person: None,
            moments: None,
            weights: None,
            progress: Progress::NONE,
        }
    }
}

impl<'a> Lm<'a> {
    /// The whole budget, in zero-concentrated differential privacy.
    ///
    /// # Errors
    /// When the formula cannot be read, or the number is no budget.
    pub fn rho(self, rho: f64) -> Result<Lm<'a>, Error> {
        self.formula.as_ref().map_err(Clone::clone)?;
        Rho::checked_from_f64(rho)?;
        Ok(Lm { rho: Some(rho), ..self })
    }

    /// The whole budget as epsilon, at the delta given or at 1e-6: the largest rho that keeps this promise is spent.
    ///
    /// # Errors
    /// When the formula cannot be read, or the number is no budget.
    pub fn epsilon(self, epsilon: f64) -> Result<Lm<'a>, Error> {
        self.formula.as_ref().map_err(Clone::clone)?;
        method::budget(None, Some(epsilon), self.delta, Entry::conversion_of(self.method))?;
        Ok(Lm { epsilon: Some(epsilon), ..self })
    }

    /// With [`Lm::epsilon`], part of the budget; with [`Lm::rho`], where epsilon is stated.
    ///
    /// # Errors
    /// When it is not between 0 and 1.
    pub fn delta(self, delta: f64) -> Result<Lm<'a>, Error> {
        let is_probability = delta > 0.0 && delta < 1.0;
        if is_probability { Ok(Lm { delta: Some(delta), ..self }) } else { Err(method::ConfigError::Delta.into()) }
    }

    /// Which data sets must be hard to tell apart.
    pub fn neighbours(self, neighbours: Neighbours) -> Lm<'a> {
        Lm { neighbours, ..self }
    }

    /// Whether intervals are wanted, or predictions only, which then have the whole budget.
    pub fn purpose(self, purpose: Purpose) -> Lm<'a> {
        Lm { purpose, ..self }
    }

    /// What intervals are for.
    pub fn target(self, target: Target) -> Lm<'a> {
        Lm { target: Some(target), ..self }
    }

    /// How intervals are made.
    pub fn interval(self, interval: IntervalMethod) -> Lm<'a> {
        Lm { interval, ..self }
    }

    /// How often an interval should cover: 0.95 when nothing is said.
    pub fn level(self, level: f64) -> Lm<'a> {
        Lm { level, ..self }
    }

    /// Batches, checkpoints or runs of the paper's intervals: 10 when nothing is said.
    pub fn batches(self, batches: u32) -> Lm<'a> {
        Lm { batches, ..self }
    }

    /// Steps that the paper's intervals leave out at the start.
    pub fn burn_in(self, steps: u32) -> Lm<'a> {
        Lm { burn_in: Some(steps), ..self }
    }

    /// The method, by name. When none is asked for, the formula and the options decide.
    ///
    /// # Errors
    /// When there is no such method; lists those there are.
    pub fn method(self, name: &str) -> Result<Lm<'a>, Error> {
        let entry = name.parse().map_err(method::ConfigError::from)?;
        Ok(Lm { method: Some(entry), ..self })
    }

    /// Parameters set by hand, for a method that lets them be.
    pub fn tuning(self, tuning: Tuning) -> Lm<'a> {
        Lm { tuning, ..self }
    }

    /// Says that columns without bounds or levels are centred and of about unit variance.
    pub fn standardised(self) -> Lm<'a> {
        Lm { standardised: true, ..self }
    }

    /// Makes the noise reproducible: for tests only. **The result is then not private**, and says so.
    pub fn not_private_seed(self, seed: u64) -> Lm<'a> {
        Lm { noise: NoiseSource::Seed(seed), ..self }
    }

    /// Refuses a missing or unusable cell, instead of letting its row contribute nothing.
    pub fn strict(self) -> Lm<'a> {
        Lm { strict: true, ..self }
    }

    /// The most bytes that rows may take; more go to a temporary file.
    pub fn memory(self, bytes: u64) -> Lm<'a> {
        Lm { memory: Some(bytes), ..self }
    }

    /// What computes sums over rows: the processor unless a GPU is asked for. Results are the same, bit for bit.
    pub fn device(self, device: Device) -> Lm<'a> {
        Lm { device, ..self }
    }

    /// Protects persons instead of rows: all rows with the same value in this column are one person's.
    pub fn person(self, column: &str) -> Lm<'a> {
        Lm { person: Some(Person::new(column)), ..self }
    }

    /// After [`Lm::person`]: of each person the first so many rows count.
    ///
    /// # Errors
    /// When nobody is identified, or the number cannot be meant.
    pub fn rows_per_person(self, rows: u32) -> Result<Lm<'a>, Error> {
        let person = self.person.clone().ok_or(method::ConfigError::NoPerson)?;
        let person = Person { rows: Some(rows), ..person };
        match person.is_sound() {
            true => Ok(Lm { person: Some(person), ..self }),
            false => Err(method::ConfigError::RowsPerPerson.into()),
        }
    }

    /// Means and covariances of the columns that are public, so that nothing is spent on finding them.
    pub fn moments(self, moments: Moments) -> Lm<'a> {
        Lm { moments: Some(Arc::new(moments)), ..self }
    }

    /// Weighs rows by a column with public bounds, such as `w[0..50]`.
    ///
    /// # Errors
    /// When it is not a column with bounds from 0.
    pub fn weights(self, column: &str) -> Result<Lm<'a>, Error> {
        Ok(Lm { weights: Some(column.parse()?), ..self })
    }

    /// Fits the model in each of several groups, the levels of a column such as `region{north,south}`, under one budget.
    ///
    /// # Errors
    /// When it is not a column with levels.
    ///
    /// # Examples
    /// ```no_run
    /// let fit = dplm::lm("pay[0..200000] ~ age[18..90]").rho(0.015)?.by("region{north,south}")?.fit("people.csv")?;
    /// let north = fit.get("north").expect("large enough");
    /// println!("{north}");
    /// # Ok::<(), dplm::Error>(())
    /// ```
    pub fn by(self, column: &str) -> Result<LmByGroup<'a>, Error> {
        Ok(LmByGroup { by: column.parse()?, sizes: None, lm: self })
    }

    /// Where reading and fitting report how far they have come.
    pub fn progress<'b>(self, progress: Progress<'b>) -> Lm<'b>
    where
        'a: 'b,
    {
        Lm { progress, ..self }
    }

    /// Fits a file (`.csv`, `.tsv`, `.parquet`, `.arrow`), a folder or a pattern of them. Whoever calls keeps account of the budget; with a
    /// ledger, use [`Dataset::prepare`].
    ///
    /// # Guarantee
    /// The result is `rho`-zCDP for the budget given, as an exact statement about this program, unless a seed was fixed.
    ///
    /// # Errors
    /// When an option makes no sense, the data cannot be read or the plan is refused (nothing is spent then), or a release fails (the
    /// budget is spent then).
    pub fn fit(self, path: impl AsRef<Path>) -> Result<Fit, Error> {
        self.fit_table(&Source::open(&[path])?)
    }

    /// As [`Lm::fit`], for a table that is already open: several files, a stream, or Arrow batches in memory.
    ///
    /// # Errors
    /// As [`Lm::fit`].
    ///
    /// # Examples
    /// ```
    /// use dplm::table::Source;
    /// let csv: String = (0..2000).map(|i| format!("{},{}\n", f64::from(i % 9), f64::from(i % 2))).collect();
    /// let table = Source::from_csv_stream(&mut format!("y,x\n{csv}").as_bytes(), "example")?;
    /// let fit = dplm::lm("y[0..9] ~ x[0..1]").rho(1.0)?.fit_table(&table)?;
    /// assert_eq!(fit.coefficients[1].name, "x");
    /// # Ok::<(), dplm::Error>(())
    /// ```
    pub fn fit_table(self, table: &Source) -> Result<Fit, Error> {
        let (noise, progress) = (self.noise, self.progress);
        let Asked { formula, method, reading } = self.checked()?;
        let mut dataset = Dataset::read(table, &formula, &reading)?;
        let prepared = dataset.prepare(method.as_ref(), noise)?.giving_up_rows();
        let receipt = Receipt::by_caller(prepared.charge());
        prepared.run(receipt, progress)
    }

    /// What is asked, checked as far as it can be without rows.
    fn checked(self) -> Result<Asked<'a>, Error> {
        let counts_once = self.target == Some(Target::Person);
        let person = self.person.clone().map(|person| Person { counts_once, ..person });
        let (rho, delta) = method::budget(self.rho, self.epsilon, self.delta, Entry::conversion_of(self.method))?;
        let Lm { neighbours, purpose, interval, target, level, batches, burn_in, .. } = self;
        let request = Request { neighbours, purpose, interval, target, level, batches, burn_in, ..Request::new(rho) };
        let request = Request { delta, person: person.clone(), moments: self.moments.clone(), ..request };
        let formula = self.formula?;
        let method = method::choose(self.method, request, self.tuning, &formula, self.standardised)?;
        let options = ReadOptions { strict: self.strict, progress: self.progress, ..ReadOptions::default() };
        let reading =
            Reading { table: options, memory: self.memory, person, weights: self.weights, device: self.device };
        Ok(Asked { formula, method, reading })
    }
}

/// What is asked of a table, checked.
struct Asked<'a> {
    formula: Formula,
    method: Box<dyn Method>,
    reading: Reading<'a>,
}

/// A regression in each of several groups that is being described; [`Lm::by`] starts one.
#[derive(Clone)]
#[must_use = "nothing is fitted before fit is called"]
pub struct LmByGroup<'a> {
    lm: Lm<'a>,
    by: By,
    sizes: Option<Vec<u64>>,
}

impl LmByGroup<'_> {
    /// The sizes of the groups where they are public, as `north=1000,south=800`; else they are released with a small part of the budget.
    ///
    /// # Errors
    /// When not every group has one.
    pub fn sizes(self, sizes: &str) -> Result<Self, Error> {
        Ok(LmByGroup { sizes: Some(self.by.sizes(sizes)?), ..self })
    }

    /// Fits a file, a folder or a pattern of them, as [`Lm::fit`] does.
    ///
    /// # Guarantee
    /// All fits together are `rho`-zCDP for the budget given, as an exact statement about this program, unless a seed was fixed.
    ///
    /// # Errors
    /// As [`Lm::fit`].
    pub fn fit(self, path: impl AsRef<Path>) -> Result<GroupedFit, Error> {
        self.fit_table(&Source::open(&[path])?)
    }

    /// As [`LmByGroup::fit`], for a table that is already open.
    ///
    /// # Errors
    /// As [`Lm::fit`].
    pub fn fit_table(self, table: &Source) -> Result<GroupedFit, Error> {
        let (noise, progress) = (self.lm.noise, self.lm.progress);
        let Asked { formula, method, reading } = self.lm.checked()?;
        let mut groups = GroupedDataset::read(table, &formula, &reading, &self.by, self.sizes)?;
        groups.fit(method.as_ref(), noise, progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{method::auto, report::to_json};

    fn table() -> Source {
        let rows: String =
            (0..3000).map(|i| format!("{},{}\n", f64::from(i % 10) / 1.2, f64::from(i % 7) / 7.0)).collect();
        Source::from_csv_stream(&mut format!("y,x\n{rows}").as_bytes(), "rows").expect("a table")
    }

    #[test]
    fn it_is_the_fit_of_the_modules() {
        let short = lm("y[0..9] ~ x[0..1]").rho(0.5).expect("a budget").not_private_seed(3).fit_table(&table());
        let request = Request::new(Rho::checked_from_f64(0.5).expect("a budget"));
        let formula = Formula::parse("y[0..9] ~ x[0..1]").expect("a formula");
        let mut data = Dataset::read(&table(), &formula, &Reading::default()).expect("data");
        let long = data.fit(&auto::Config::new(request), NoiseSource::Seed(3), Progress::NONE);
        assert_eq!(to_json(&short.expect("a fit")), to_json(&long.expect("a fit")));
    }

    #[test]
    fn options_reach_the_fit() {
        let asked = lm("y ~ x").standardised().rho(0.5).expect("a budget").target(Target::Sample).level(0.9);
        let asked = asked.method("dpgd").expect("a method").neighbours(Neighbours::ZeroOut).not_private_seed(1);
        let fit = asked.clone().fit_table(&table()).expect("a fit");
        assert_eq!(
            (fit.target, fit.level, fit.method.name.as_str(), fit.is_private()),
            (Target::Sample, 0.9, "dpgd", false)
        );
        assert_eq!(fit.guarantee.promise.neighbours, Neighbours::ZeroOut);
        let predicting = asked.purpose(Purpose::Prediction).fit_table(&table()).expect("a fit");
        assert!(predicting.coefficients.iter().all(|one| one.precision.is_none()));
        let epsilon = lm("y[0..9] ~ x[0..1]").delta(1e-5).and_then(|lm| lm.epsilon(2.0)).expect("a budget");
        let found = epsilon.fit_table(&table()).expect("a fit").guarantee;
        assert!(found.delta == 1e-5 && (found.epsilon.to_f64() - 2.0).abs() < 1e-6);
    }

    #[test]
    fn mistakes_are_told_before_anything_is_read() {
        let told = |result: Result<Lm<'_>, Error>| result.err().expect("refused").to_string();
        assert!(matches!(lm("y ~").rho(0.5), Err(Error::Formula(_))));
        assert!(told(lm("y[0..9] ~ x[0..1]").rho(-1.0)).contains("rho"));
        assert!(told(lm("y[0..9] ~ x[0..1]").method("magic")).contains("auto, dpgd, adassp"));
        assert!(told(lm("y[0..9] ~ x[0..1]").delta(2.0)).contains("delta"));
        let refused = |lm: Lm<'_>| lm.fit_table(&table()).expect_err("refused").to_string();
        assert!(refused(lm("y[0..9] ~ x[0..1]")).contains("budget"));
        assert!(refused(lm("y ~ x").rho(0.5).expect("a budget")).contains("no bounds"));
        let both = lm("y[0..9] ~ x[0..1]").rho(0.5).and_then(|lm| lm.epsilon(1.0)).expect("each makes sense");
        assert!(refused(both).contains("once"));
    }
}
