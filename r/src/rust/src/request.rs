//! What is asked, from R's arguments to the library's own types, checked before a row is read.

use std::sync::Arc;

use dplm::{
    formula::{By, Column, Formula, Weights},
    method::{self, Asked, Asks, Entry, Method, Request, Tuning},
    moments::Moments,
    options::Choice,
    privacy::{convert::Conversion, Rho},
    table::Source,
    NoiseSource, Person,
};
use dplm_ledger::{AccountName, Attribution, LedgerError, Payer};
use dplm_simulate::pretend;
use savvy::{ListSexp, TypedSexp};

use crate::{
    failure::{Kind, Refusal},
    given::{json, Given},
    pay::not_paid,
    table,
};

/// A model: the `text` of a formula or of a model file, and whether it `is_file`.
pub struct Model {
    pub formula: Formula,
    is_file: bool,
}

impl Model {
    /// The model, if it can be understood.
    pub fn parse(model: ListSexp) -> Result<Model, Refusal> {
        let model = Given(model);
        let (text, is_file) = (model.word("text")?, model.truth("is_file")?);
        let parsed = if is_file { Formula::from_toml(text) } else { Formula::parse(text) };
        Ok(Model { formula: parsed.map_err(dplm::Error::from)?, is_file })
    }
}

/// The budget and the delta at which epsilon is stated, of the method that is asked for.
pub fn budget(given: &Given, method: Option<Entry>) -> Result<(Rho, f64), Refusal> {
    budget_by(given, Entry::conversion_of(method))
}

/// The same of releases whose epsilon follows by this conversion.
pub fn budget_by(given: &Given, conversion: Conversion) -> Result<(Rho, f64), Refusal> {
    let [rho, epsilon, delta] = ["rho", "epsilon", "delta"].map(|name| given.number(name));
    method::budget(rho?, epsilon?, delta?, conversion).map_err(|error| Kind::Request.because(error))
}

/// The method that is asked for; names are those of the command line.
pub fn method(given: &Given) -> Result<Option<Entry>, Refusal> {
    let found = given.text("method")?.map(dplm_methods::find).transpose();
    found.map_err(|unknown| Kind::Request.because(unknown))
}

/// Means and covariances that are public: the path of a file, or a list of them.
pub fn moments(given: &Given) -> Result<Option<Arc<Moments>>, Refusal> {
    let read = match given.get("moments") {
        None => return Ok(None),
        Some(TypedSexp::String(_)) => Moments::read(given.word("moments")?),
        Some(list) => {
            let unusable = || Kind::Request.because("moments must be a path, or a list of numbers with names");
            Moments::from_json(&json(list).ok_or_else(unusable)?.to_string())
        }
    };
    read.map(|moments| Some(Arc::new(moments))).map_err(|error| Kind::Request.because(error))
}

/// The value a word stands for; words are those of the command line.
pub fn word<T: Choice>(given: &Given, name: &str) -> Result<T, Refusal> {
    given.word(name)?.parse().map_err(|unknown| Kind::Request.because(unknown))
}

/// The options of a fit, which [`Options::read`] has checked as far as it can be done without rows.
pub struct Options {
    asked: Asked,
    standardised: bool,
    /// Who a row is of.
    pub person: Option<Person>,
    /// What rows are weighted by.
    pub weights: Option<Weights>,
    /// What groups are by, and their sizes where those are public.
    pub groups: Option<Groups>,
    /// Where the noise comes from.
    pub noise: NoiseSource,
    /// Whether an unusable cell is refused.
    pub strict: bool,
    /// Threads to use; all where nothing is asked.
    pub threads: Option<usize>,
    /// The most bytes the rows may take.
    pub memory: Option<u64>,
    /// The account that is asked to pay.
    account: AccountName,
    /// So many simulated rows in place of the data.
    pretend: Option<u64>,
}

/// What groups are by, and their sizes where those are public.
pub type Groups = (By, Option<Vec<u64>>);

impl Options {
    /// What is asked of a fit of this model. A model file says of each column without bounds that it is standard.
    pub fn read(options: ListSexp, model: &Model) -> Result<Options, Refusal> {
        let given = &Given(options);
        let standardised = given.truth("standardised")? || model.is_file;
        let options = Options {
            asked: asked(given, model, standardised)?,
            standardised,
            person: person(given)?,
            weights: given.text("weights")?.map(str::parse).transpose().map_err(dplm::Error::from)?,
            groups: groups(given)?,
            noise: given.whole("seed")?.map_or(NoiseSource::System, NoiseSource::Seed),
            strict: given.truth("strict")?,
            threads: given.whole("threads")?,
            memory: given.whole("memory")?,
            account: account(given)?,
            pretend: given.whole("pretend")?,
        };
        match options.names_account() && options.is_pretended() {
            true => Err(Kind::Request.because(pretend::NO_LEDGER)),
            false => Ok(options),
        }
    }

    /// Whether a ledger, or a data set in one, was named.
    fn names_account(&self) -> bool {
        self.account.ledger.is_some() || self.account.dataset.is_some()
    }

    /// Opens what pays, unless it could not. Where a ledger is mandatory, it pays though nobody
    /// named its file.
    pub fn payer(&self) -> Result<Payer, Refusal> {
        let has_seed = matches!(self.noise, NoiseSource::Seed(_));
        if has_seed && self.account.resolved().map_err(not_paid)?.is_some() {
            return Err(not_paid(LedgerError::Seed));
        }
        let payer = Payer::open(&self.account).map_err(not_paid)?;
        payer.check(self.asked.request.rho).map_err(not_paid)?;
        Ok(payer)
    }

    /// Refuses what the account that is named could not pay for. A plan alone needs none, even
    /// where a ledger is mandatory.
    pub fn check_account(&self) -> Result<(), Refusal> {
        match self.names_account() {
            true => self.payer().map(drop),
            false => Ok(()),
        }
    }

    /// Whether rows are simulated.
    pub fn is_pretended(&self) -> bool {
        self.pretend.is_some()
    }

    /// The rows of a table that R describes, or simulated ones in their place.
    ///
    /// # Safety
    /// As [`table::source`].
    #[allow(unsafe_code)] // Tables are shared.
    pub unsafe fn rows(&self, described: ListSexp, model: &Model) -> Result<Source, Refusal> {
        let Some(rows) = self.pretend else {
            // SAFETY: as promised.
            return unsafe { table::source(described) };
        };
        let by = self.groups.as_ref().map(|(by, _)| by);
        let (person, weights) = (self.person.as_ref(), self.weights.as_ref());
        let seed = match self.noise {
            NoiseSource::Seed(seed) => Some(seed),
            NoiseSource::System => None,
        };
        Ok(pretend::source(&pretend::Asked { formula: &model.formula, person, weights, by }, rows, seed)?)
    }

    /// What is asked, for a forecast.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The method, if it can do what is asked.
    pub fn method(&self, model: &Model) -> Result<Box<dyn Method>, Refusal> {
        let Asked { method, request, tuning, .. } = self.asked.clone();
        Ok(method::choose(method, request, tuning, &model.formula, self.standardised)?)
    }
}

fn asked(given: &Given, model: &Model, standardised: bool) -> Result<Asked, Refusal> {
    let method = method(given)?;
    let (rho, delta) = budget(given, method)?;
    let request = Request {
        delta,
        neighbours: word(given, "neighbours")?,
        purpose: word(given, "purpose")?,
        interval: word(given, "interval")?,
        target: given.text("target")?.map(|_| word(given, "target")).transpose()?,
        level: given.usual("level")?,
        batches: given.whole("batches")?.unwrap_or(10),
        burn_in: given.whole("burn_in")?,
        person: person(given)?,
        moments: moments(given)?,
        ..Request::new(rho)
    };
    let tuning =
        Tuning { clip: given.number("clip")?, steps: given.whole("steps")?, step_size: given.number("step_size")? };
    let model = Asks::Formula { formula: model.formula.clone(), standardised, assumptions: Vec::new() };
    Ok(Asked { method, request, tuning, model })
}

fn account(given: &Given) -> Result<AccountName, Refusal> {
    let text = |name| Ok::<_, Refusal>(given.text(name)?.map(str::to_owned));
    let word = |name| Ok::<_, Refusal>(text(name)?.unwrap_or_default());
    Ok(AccountName {
        ledger: text("ledger")?.map(Into::into),
        dataset: text("dataset")?,
        attribution: Attribution { analyst: word("analyst")?, purpose: word("stated_purpose")?, note: word("note")? },
        another_table: given.truth("other_table")?,
    })
}

fn person(given: &Given) -> Result<Option<Person>, Refusal> {
    let rows = given.whole("rows_per_person")?;
    let counts_once = given.text("target")? == Some(method::Target::Person.name());
    match given.text("person")? {
        None if rows.is_some() => {
            Err(Kind::Request.because("rows_per_person needs person, the column that identifies persons"))
        }
        column => Ok(column.map(|column| Person { column: column.to_owned(), rows, counts_once })),
    }
}

fn groups(given: &Given) -> Result<Option<Groups>, Refusal> {
    let sizes = given.sizes("group_sizes")?;
    let Some(by) = given.text("by")? else {
        let without = "group_sizes needs by, the column that groups are by";
        return if sizes.is_some() { Err(Kind::Request.because(without)) } else { Ok(None) };
    };
    let by: By = by.parse().map_err(dplm::Error::from)?;
    let sizes = sizes.map(|sizes| by.sizes_of(&sizes)).transpose().map_err(dplm::Error::from)?;
    Ok(Some((by, sizes)))
}

/// The columns that a fit reads, the response first; nothing where `.` leaves them to the table.
pub fn columns(given: &Given, model: &Model) -> Result<Option<Vec<String>>, Refusal> {
    let Some(names) = model.formula.names() else { return Ok(None) };
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    for option in ["weights", "by"] {
        if let Some(text) = given.text(option)? {
            names.push(Column::parse(text).map_err(dplm::Error::from)?.name);
        }
    }
    names.extend(given.text("person")?.map(str::to_owned));
    Ok(Some(names))
}
