//! What is asked, checked; and from there to a fit.
//!
//! ```text
//! FitRequest -> check() -> CheckedFit -> read() -> Data -> prepare() -> PreparedFit -> run(Receipt) -> Fitted
//! ```

use std::sync::Arc;

use crate::{
    Charge, Dataset, Error, Fitted, GroupedDataset, NoiseSource, Person, Prepared, PreparedGroups, Progress, Reading,
    Receipt,
    dataset::check_within,
    formula::{By, Formula, Weights},
    lattice::Design,
    method::{self, Asked, Asks, ConfigError, Entry, Method, Request, Tuning},
    plan::{Assumption, Forecast, Question, Stated},
    privacy::{Rho, Unit, convert::Conversion},
    request::{FitRequest, Instead, Opt, OptionError, PlanQuestion, RunOptions},
    rows::Encoded,
    table::{ReadOptions, Schema, Source},
    warning::Warning,
};

/// A fit that makes sense as far as can be known without its rows.
#[derive(Clone, Debug)]
pub struct CheckedFit {
    request: FitRequest,
    formula: Formula,
    groups: Option<Groups>,
    weights: Option<Weights>,
    asked: Asked,
    method: Arc<dyn Method>,
}

/// What groups are by, and their sizes where those are public.
type Groups = (By, Option<Vec<u64>>);

impl FitRequest {
    /// A fit of this model.
    pub fn new(formula: impl Into<String>) -> FitRequest {
        FitRequest { formula: formula.into(), ..FitRequest::default() }
    }

    /// A fit of the model in a TOML file, which says of each column without bounds that it is
    /// standard.
    ///
    /// # Errors
    /// When the file is not understood.
    pub fn from_model_file(toml: &str) -> Result<FitRequest, Error> {
        Ok(FitRequest::new(Formula::from_toml(toml)?.to_string()).standardised(true))
    }

    /// Makes sense of the request: everything that can be refused without rows is refused here.
    ///
    /// # Errors
    /// One sentence on the first thing that makes no sense.
    pub fn check(&self) -> Result<CheckedFit, Error> {
        self.check_among(&[])
    }

    /// The same, with methods of other crates beside the library's own.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_among(&self, others: &[Entry]) -> Result<CheckedFit, Error> {
        let groups = self.groups()?;
        let weights: Option<Weights> = self.weights.as_deref().map(str::parse).transpose()?;
        let asked = self.asked(others)?;
        let formula = Formula::parse_for(&self.formula, self.family)?;
        check_within(&formula, asked.request.person.as_ref())?;
        let Asked { method, request, tuning, .. } = asked.clone();
        let method = method::choose(method, request, tuning, &formula, self.standardised)?;
        if !method.fits(self.family) {
            return Err(ConfigError::OtherFamily { method: method.name(), family: self.family }.into());
        }
        let asked = Asked { model: self.model(&formula, weights.as_ref()), ..asked };
        Ok(CheckedFit { request: self.clone(), formula, groups, weights, asked, method: method.into() })
    }

    /// What accuracy to expect of the fit, from public numbers only: nothing is read. With a curve,
    /// budgets over a wide range are looked at too, for a picture. Without a budget it is the one
    /// that gives all standard errors that are wanted.
    ///
    /// # Errors
    /// When the question makes no sense, no budget is enough, or the fit would be refused.
    pub fn forecast(&self, question: &PlanQuestion, curve: bool, others: &[Entry]) -> Result<Forecast, Error> {
        if self.rho.is_some() || self.epsilon.is_some() || question.want.is_empty() {
            return self.forecast_at(question, curve, others);
        }
        // What is wanted is looked for over all budgets, whichever is asked about.
        let at_any = FitRequest { rho: Some(1.0), ..self.clone() }.forecast_at(question, false, others)?;
        let rho = at_any.budget_of_wants()?;
        FitRequest { rho: Some(rho), ..self.clone() }.forecast_at(question, curve, others)
    }

    fn forecast_at(&self, question: &PlanQuestion, curve: bool, others: &[Entry]) -> Result<Forecast, Error> {
        let asked = self.asked(others)?;
        let model = match question.features {
            Some(features) => Asks::White { features, error_sd: question.noise_sd.unwrap_or(1.0) },
            None => {
                let formula = Formula::parse_for(&self.formula, self.family)?;
                check_within(&formula, asked.request.person.as_ref())?;
                let weights = self.weights.as_deref().map(str::parse).transpose()?;
                // A plan reads nothing that could be standard or not.
                Asks::Formula { formula, standardised: true, weights, assumptions: question.assumptions()? }
            }
        };
        let question = Question { curve, ..question.about(&asked.request)? };
        method::forecast(&Asked { model, ..asked }, &question)
    }

    /// The whole budget, and the delta at which epsilon is stated, of releases whose epsilon
    /// follows by this conversion.
    ///
    /// # Errors
    /// When no budget is given, more than one, or one that means nothing.
    pub fn budget(&self, conversion: Conversion) -> Result<(Rho, f64), Error> {
        method::budget(self.rho, self.epsilon, self.delta, conversion)
    }

    /// What is asked of the method; the model is not known yet.
    fn asked(&self, others: &[Entry]) -> Result<Asked, Error> {
        let named = self.method.as_deref().map(|name| method::find(name, others)).transpose();
        let method = named.map_err(ConfigError::from)?;
        let (rho, delta) = self.budget(Entry::conversion_of(method))?;
        let request = self.request(rho, delta)?;
        Ok(Asked { method, request, tuning: self.tuning(), model: Asks::White { features: 1, error_sd: 1.0 } })
    }

    /// What is asked of any method. Every option is named here, so that a new one is not forgotten.
    pub(crate) fn request(&self, rho: Rho, delta: f64) -> Result<Request, ConfigError> {
        let FitRequest { neighbours, purpose, interval, target, level, batches, burn_in, .. } = self;
        let FitRequest { moments, focus, keep, .. } = self;
        Ok(Request {
            rho,
            delta,
            neighbours: *neighbours,
            purpose: *purpose,
            interval: *interval,
            target: *target,
            level: *level,
            batches: *batches,
            burn_in: *burn_in,
            person: self.protected()?,
            focus: focus.clone(),
            moments: moments.clone().map(Arc::new),
            keep: keep.clone(),
            one_of_groups: false,
        })
    }

    /// What was set by hand.
    pub(crate) fn tuning(&self) -> Tuning {
        Tuning { clip: self.clip, steps: self.steps, step_size: self.step_size }
    }

    fn model(&self, formula: &Formula, weights: Option<&Weights>) -> Asks {
        let (formula, weights) = (formula.clone(), weights.cloned());
        Asks::Formula { formula, standardised: self.standardised, weights, assumptions: Vec::new() }
    }

    /// The persons who are protected, where rows are not.
    fn protected(&self) -> Result<Option<Person>, ConfigError> {
        let counts_once = self.target == Some(method::Target::Person);
        match (&self.person, self.rows_per_person) {
            (None, Some(_)) => Err(ConfigError::NoPerson),
            (person, rows) => Ok(person.clone().map(|column| Person { column, rows, counts_once })),
        }
    }

    fn groups(&self) -> Result<Option<Groups>, Error> {
        let Some(by) = &self.by else {
            return if self.group_sizes.is_some() { Err(ConfigError::NoGroups.into()) } else { Ok(None) };
        };
        let by: By = by.parse()?;
        let pairs = self.group_sizes.as_ref().map(|sizes| sizes.0.clone().into_iter().collect::<Vec<_>>());
        let sizes = pairs.map(|pairs| by.sizes_of(&pairs)).transpose()?;
        Ok(Some((by, sizes)))
    }
}

impl PlanQuestion {
    /// What is assumed of columns, understood.
    ///
    /// # Errors
    /// When an assumption is not understood.
    pub fn assumptions(&self) -> Result<Vec<Assumption>, Error> {
        Ok(self.assume.iter().map(|text| text.parse()).collect::<Result<_, _>>()?)
    }

    fn about(&self, request: &Request) -> Result<Question, Error> {
        let stated = |option: Opt, texts: &[String]| -> Result<Vec<Stated>, Error> {
            let wrong = |wanted: &str| OptionError::new(option, wanted);
            Ok(texts.iter().map(|text| text.parse().map_err(wrong)).collect::<Result<_, _>>()?)
        };
        let Request { rho, delta, level, .. } = *request;
        Ok(Question {
            wants: stated(Opt::Want, &self.want)?,
            effects: stated(Opt::Effect, &self.effect)?,
            share: self.share,
            ..Question::new(self.rows, rho, delta, level)
        })
    }
}

impl CheckedFit {
    /// The same with what is assumed of columns where no fit is made but a plan.
    ///
    /// # Errors
    /// When an assumption is not understood, or the fit is to be made.
    pub fn assuming(mut self, question: &PlanQuestion, instead: &Instead) -> Result<CheckedFit, Error> {
        if !question.assume.is_empty() && !instead.dry_run {
            return Err(OptionError::new(Opt::Assume, "left out of a fit that is made: it is for a dry run").into());
        }
        if let Asks::Formula { assumptions, .. } = &mut self.asked.model {
            *assumptions = question.assumptions()?;
        }
        Ok(self)
    }

    /// What was asked.
    pub fn request(&self) -> &FitRequest {
        &self.request
    }

    /// The model.
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// The whole budget.
    pub fn rho(&self) -> Rho {
        self.asked.request.rho
    }

    /// The method that will run, and what is asked of it.
    pub fn method(&self) -> &dyn Method {
        &*self.method
    }

    /// What was set by hand.
    pub fn tuning(&self) -> Tuning {
        self.asked.tuning
    }

    /// The person's column, where persons are protected.
    pub fn person(&self) -> Option<&Person> {
        self.asked.request.person.as_ref()
    }

    /// What rows are weighted by.
    pub fn weights(&self) -> Option<&Weights> {
        self.weights.as_ref()
    }

    /// What groups are by, where the model is fitted in each of several.
    pub fn by(&self) -> Option<&By> {
        self.groups.as_ref().map(|(by, _)| by)
    }

    /// The columns that are read, the response first; `None` if `.` leaves them to the table.
    pub fn columns(&self) -> Option<Vec<String>> {
        let model = self.formula.names()?.into_iter().map(str::to_owned);
        let weights = self.weights.as_ref().map(|weights| weights.name().to_owned());
        let by = self.by().map(|by| by.name().to_owned());
        let person = self.person().map(|person| person.column.clone());
        let mut names: Vec<String> = Vec::new();
        for name in model.chain(weights).chain(by).chain(person) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(names)
    }

    /// How a table is read for the fit.
    pub fn reading<'a>(&self, run: &RunOptions, progress: Progress<'a>) -> Reading<'a> {
        Reading { person: self.person().cloned(), weights: self.weights.clone(), ..Reading::by(run, progress) }
    }

    /// Reads and encodes the rows.
    ///
    /// # Errors
    /// When columns are missing, the table cannot be read, or the rows need too much room.
    pub fn read(&self, table: &Source, run: &RunOptions, progress: Progress<'_>) -> Result<Data, Error> {
        let reading = self.reading(run, progress);
        let rows = match &self.groups {
            None => OneOrGroups::One(Box::new(Dataset::read(table, &self.formula, &reading)?)),
            Some((by, sizes)) => {
                OneOrGroups::Groups(GroupedDataset::read(table, &self.formula, &reading, by, sizes.clone())?)
            }
        };
        Ok(Data { method: Arc::clone(&self.method), rows })
    }

    /// Rows that are kept elsewhere, those of each group by themselves or all together. There
    /// are `units` units, in a group or in none; `schema` is what the table declares.
    ///
    /// # Errors
    /// When columns are missing.
    ///
    /// # Panics
    /// As [`Dataset::elsewhere`] and [`GroupedDataset::elsewhere`].
    pub fn elsewhere(
        &self,
        (mut rows, units): (Vec<Encoded>, u64),
        schema: &Schema,
        run: &RunOptions,
    ) -> Result<Data, Error> {
        let (reading, formula) = (self.reading(run, Progress::NONE), &self.formula);
        let rows = match (&self.groups, rows.len()) {
            (Some((by, sizes)), _) => {
                let rows = (rows, units);
                OneOrGroups::Groups(GroupedDataset::elsewhere(rows, schema, formula, &reading, by, sizes.clone())?)
            }
            (None, 1) => OneOrGroups::One(Box::new(Dataset::elsewhere(rows.remove(0), schema, formula, &reading)?)),
            (None, _) => unreachable!("rows that are not in groups are together"),
        };
        Ok(Data { method: Arc::clone(&self.method), rows })
    }

    /// How a row of a table is encoded.
    ///
    /// # Errors
    /// When columns are missing, or cannot be read as the formula says.
    pub fn design(&self, schema: &Schema) -> Result<Design, Error> {
        let reading = self.reading(&RunOptions::default(), Progress::NONE);
        match self.by() {
            None => Ok(reading.design(&reading.model(&self.formula, schema)?)),
            Some(by) => Ok(reading.model_by(&self.formula, schema, by)?.1),
        }
    }

    /// What accuracy to expect of a fit of this many rows, from public numbers only.
    ///
    /// # Errors
    /// When there is no forecast for such a fit, or it would be refused.
    pub fn forecast(&self, schema: &Schema, rows: u64) -> Result<Forecast, Error> {
        method::forecast_for(&self.asked, schema, &self.question(rows))
    }

    fn question(&self, rows: u64) -> Question {
        let Request { rho, delta, level, .. } = self.asked.request;
        Question::new(rows, rho, delta, level)
    }

    /// Goes through a fit of a table up to its payment: rows are counted and the plan is checked.
    /// No cell is read, except identifiers of persons, and nothing is spent.
    ///
    /// # Errors
    /// When the fit would be refused, or the rows cannot be counted.
    pub fn dry_run(&self, table: &Source, run: &RunOptions, progress: Progress<'_>) -> Result<DryRun, Error> {
        let design = self.design(table.schema())?;
        let units = match self.person() {
            Some(_) => self.read(table, run, progress)?.units(),
            None => table.count_rows(&design.columns()[0], &ReadOptions { progress, ..ReadOptions::default() })?,
        };
        let (method, _) = method::after_count(self.method(), units);
        let plan = method.plan(units, &design)?;
        plan.check()?;
        let foreseen = self.foreseen(table.schema(), units)?;
        let unit = self.person().map_or(Unit::Row, |_| Unit::Person);
        let (method, rho) = (self.method.name(), self.rho());
        Ok(DryRun { unit, units, method, rho, warnings: plan.warn(), foreseen })
    }

    fn foreseen(&self, schema: &Schema, units: u64) -> Result<Result<Foreseen, Unforeseen>, Error> {
        let forecast = match &self.groups {
            None => self.forecast(schema, units).map(|forecast| Foreseen::One(Box::new(forecast))),
            Some((by, Some(sizes))) if self.person().is_none() => Ok(self.foreseen_groups(schema, by, sizes, units)),
            Some(_) => return Ok(Err(Unforeseen::Groups)),
        };
        match forecast {
            Ok(found) => Ok(Ok(found)),
            Err(Error::Config(ConfigError::NoForecastOfInstruments { longer })) => {
                Ok(Err(Unforeseen::Instrument { longer }))
            }
            Err(Error::Config(ConfigError::NoForecast)) if self.person().is_some() => Ok(Err(Unforeseen::Persons)),
            Err(Error::Config(ConfigError::NoForecast)) => Ok(Err(Unforeseen::Columns)),
            Err(other) => Err(other),
        }
    }

    /// What is foreseen of each group; one that cannot be fitted leaves the others as they are.
    fn foreseen_groups(&self, schema: &Schema, by: &By, sizes: &[u64], units: u64) -> Foreseen {
        let forecasts = method::forecast_groups(&self.asked, schema, sizes, &self.question(units));
        let group = |(level, forecast): (&String, Result<Forecast, Error>)| ForeseenGroup {
            column: by.name().to_owned(),
            level: level.clone(),
            forecast: forecast.map(Box::new).map_err(|refusal| refusal.problem()),
        };
        Foreseen::Groups(by.levels().iter().zip(forecasts).map(group).collect())
    }
}

/// What is known of a fit before it is made. Every number is public.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DryRun {
    /// What the fit protects.
    pub unit: Unit,
    /// How many of them there are.
    pub units: u64,
    /// The method that would run.
    pub method: &'static str,
    /// What the fit would cost.
    pub rho: Rho,
    /// What the plan warns of.
    pub warnings: Vec<Warning>,
    /// What accuracy to expect, or why that is not known.
    pub foreseen: Result<Foreseen, Unforeseen>,
}

/// What accuracy to expect.
#[derive(Clone, Debug)]
pub enum Foreseen {
    /// Of the fit of all rows together.
    One(Box<Forecast>),
    /// Of the fit of each group.
    Groups(Vec<ForeseenGroup>),
}

/// What accuracy to expect of a group, whose size is public.
#[derive(Clone, Debug)]
pub struct ForeseenGroup {
    /// The column that groups are by.
    pub column: String,
    /// The level of this one.
    pub level: String,
    /// The forecast, or why the group would not be fitted.
    pub forecast: Result<Box<Forecast>, String>,
}

/// What there is no forecast for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unforeseen {
    /// How much the rows of a person say together depends on how alike they are.
    #[error("there is no forecast for persons with several rows")]
    Persons,
    /// The sizes of groups are not known.
    #[error("there is no forecast for groups")]
    Groups,
    /// How the instruments move their regressor is not known.
    #[error("{}", method::without_strength(*longer))]
    Instrument {
        /// By how many percent their set is longer than in the clear, if they are strong and that
        /// can be said.
        longer: Option<u32>,
    },
    /// Nothing is known of how these columns spread.
    #[error("there is no forecast for it on such columns")]
    Columns,
}

impl DryRun {
    /// The document of the forecast, as `dplm plan` writes it; where there is none, what is known
    /// without it, and under `unforeseen` why.
    pub fn document(&self) -> serde_json::Value {
        let mut facts = serde_json::json!({
            "dplm": env!("CARGO_PKG_VERSION"),
            "method": self.method,
            "units": { "unit": self.unit, "count": self.units },
            "rho": self.rho.to_f64(),
        });
        match &self.foreseen {
            Ok(Foreseen::One(forecast)) => return serde_json::to_value(forecast).expect("plain data serialise"),
            Ok(Foreseen::Groups(groups)) => {
                facts["groups"] = groups.iter().map(ForeseenGroup::document).collect();
            }
            Err(why) => facts["unforeseen"] = why.to_string().into(),
        }
        facts
    }
}

impl ForeseenGroup {
    fn document(&self) -> serde_json::Value {
        let by = serde_json::Map::from_iter([(self.column.clone(), self.level.as_str().into())]);
        match &self.forecast {
            Ok(forecast) => serde_json::json!({ "by": by, "plan": forecast }),
            Err(why) => serde_json::json!({ "by": by, "unforeseen": why }),
        }
    }
}

/// Rows that are encoded for a checked fit.
///
/// It holds data, so it cannot be printed or copied; [`Data::prepare`] is the way out.
pub struct Data {
    method: Arc<dyn Method>,
    rows: OneOrGroups,
}

enum OneOrGroups {
    One(Box<Dataset>),
    Groups(GroupedDataset),
}

impl Data {
    /// How many privacy units there are, rows or persons; public.
    pub fn units(&self) -> u64 {
        match &self.rows {
            OneOrGroups::One(rows) => rows.rows(),
            OneOrGroups::Groups(groups) => groups.rows(),
        }
    }

    /// How the columns are standardised; public.
    pub fn design(&self) -> &Design {
        match &self.rows {
            OneOrGroups::One(rows) => rows.design(),
            OneOrGroups::Groups(groups) => groups.design(),
        }
    }

    /// Plans the fit and checks it, from public numbers only: nothing is asked of a row and nothing
    /// is spent. The fit has the memory that the rows are in, and is the only one of them.
    ///
    /// # Errors
    /// When the plan is refused, or the noise has no source.
    pub fn prepare(&mut self, noise: NoiseSource) -> Result<PreparedFit<'_>, Error> {
        match &mut self.rows {
            OneOrGroups::One(rows) => {
                Ok(PreparedFit::One(Box::new(rows.prepare(&*self.method, noise)?.giving_up_rows())))
            }
            OneOrGroups::Groups(groups) => Ok(PreparedFit::Groups(Box::new(groups.prepare(&*self.method, noise)?))),
        }
    }
}

/// A fit that is planned and checked; nothing is spent yet.
pub enum PreparedFit<'a> {
    /// Of all rows together.
    One(Box<Prepared<'a>>),
    /// Of each of several groups.
    Groups(Box<PreparedGroups<'a>>),
}

impl PreparedFit<'_> {
    /// What is to be recorded before anything is drawn.
    pub fn charge(&self) -> Charge {
        match self {
            PreparedFit::One(fit) => fit.charge(),
            PreparedFit::Groups(fits) => fits.charge(),
        }
    }

    /// Charges what the fit will spend and makes it: `pay` records each charge, durably, before
    /// anything is drawn for it.
    ///
    /// # Errors
    /// As [`Prepared::run_paid_by`].
    pub fn run_paid_by<E: From<Error>>(
        self,
        pay: &mut dyn FnMut(Charge) -> Result<Receipt, E>,
        progress: Progress<'_>,
    ) -> Result<Fitted, E> {
        match self {
            PreparedFit::One(fit) => Ok(Fitted::One(Box::new(fit.run_paid_by(pay, progress)?))),
            PreparedFit::Groups(fits) => Ok(Fitted::Groups(Box::new(fits.run_paid_by(pay, progress)?))),
        }
    }

    /// Makes the fit. The receipt is for everything that is drawn.
    ///
    /// # Errors
    /// As [`Prepared::run`].
    pub fn run(self, receipt: Receipt, progress: Progress<'_>) -> Result<Fitted, Error> {
        match self {
            PreparedFit::One(fit) => Ok(Fitted::One(Box::new(fit.run(receipt, progress)?))),
            PreparedFit::Groups(fits) => Ok(Fitted::Groups(Box::new(fits.run(receipt, progress)?))),
        }
    }
}
