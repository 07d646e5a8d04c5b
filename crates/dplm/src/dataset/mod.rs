//! A table and a model, encoded and ready to be fitted.

mod prepared;
mod groups;
mod usable;

pub use groups::{GroupedDataset, PreparedGroups};
pub use prepared::{Charge, Prepared, Receipt};
pub use usable::UnusableError;
pub(crate) use usable::{Counted, Paid, Pay, Stages};

use crate::{
    Error, Fit, FitRequest, Group, Progress, RunOptions,
    diagnose::View,
    formula::{By, Column, Formula, Kind, Model, Weights},
    lattice::Design,
    method::{ConfigError, Method, Outcome, Request, Tuning},
    options::{Device, Family},
    privacy::{Neighbours, Person, Promise, Provenance, Unit, convert::Conversion, noise::NoiseSource},
    rows::{Builder, CellCounts, DeviceError, Encoded, Persons, Rows, Together, engine},
    table::{Block, Cells, DataError, Dialect, Field, ReadOptions, Schema, Source},
    warning::{Cause, Warning},
};

/// Rows of a table encoded for one model.
///
/// It holds data, so it cannot be printed or copied; [`Dataset::fit`] is the way out, or
/// [`Dataset::prepare`] and then [`Prepared::run`].
pub struct Dataset {
    formula: String,
    model: Model,
    design: Design,
    rows: Encoded,
    /// How many cells of each column can be used; `None` if rows were read on other machines.
    cells: Option<CellCounts>,
    /// The columns of the table, used or not.
    columns: String,
    /// How the table says which person a row belongs to, where the privacy unit is a person.
    person: Option<Person>,
    /// Whether a fit was given the memory that rows were in.
    given_up: bool,
    /// Whether the rows are nobody's.
    is_simulated: bool,
    /// How the text of the table is written, as far as that was said.
    csv: Dialect,
    /// Which of several groups the rows are, where they are not all.
    group: Option<Group>,
}

/// How a table is read.
#[derive(Default)]
pub struct Reading<'a> {
    /// The table reader's own options.
    pub table: ReadOptions<'a>,
    /// The most bytes that rows and the work on them may take; rows that need more go to a
    /// temporary file. Three quarters of the machine's memory when nothing is said, where the
    /// system tells how much that is, as Linux does; else all of them stay in memory.
    pub memory: Option<u64>,
    /// How the table says which person a row belongs to; by default, each row stands for itself.
    pub person: Option<Person>,
    /// What rows are weighted by; all count alike when nothing is said.
    pub weights: Option<Weights>,
    /// What computes sums over rows; results do not depend on it.
    pub device: Device,
}

impl<'a> Reading<'a> {
    /// How a table is read by a run, each row standing for itself and counting alike.
    pub(crate) fn by(run: &RunOptions, progress: Progress<'a>) -> Reading<'a> {
        Reading {
            table: ReadOptions { strict: run.strict, progress, ..ReadOptions::default() },
            memory: run.memory.map(|bytes| bytes.0),
            person: None,
            weights: None,
            device: run.device,
        }
    }
}

impl Reading<'_> {
    /// The model of a formula for a table that is read so.
    ///
    /// # Errors
    /// When columns are missing, or cannot be read as the formula says, or persons cannot be told
    /// apart by the column that is named; and when the formula has constants of others.
    pub fn model(&self, formula: &Formula, schema: &Schema) -> Result<Model, Error> {
        check_within(formula, self.person.as_ref())?;
        self.person.as_ref().map_or(Ok(()), |person| schema.check_identifier(&person.column))?;
        if !formula.uses_dot() {
            return Ok(formula.resolve(schema)?);
        }
        // `.` stands for what rows say of persons, not for who these are or how much a row counts.
        let person = self.person.as_ref().map(|person| person.column.as_str());
        let weights = self.weights.as_ref().map(Weights::name);
        Ok(formula
            .resolve(&person.into_iter().chain(weights).fold(schema.clone(), |schema, name| schema.without(name)))?)
    }

    /// The model of a formula that is fitted in each of several groups, and how its rows are
    /// encoded.
    ///
    /// # Errors
    /// As [`model`](Self::model); and when the column that groups are by is in the model.
    pub fn model_by(&self, formula: &Formula, schema: &Schema, by: &By) -> Result<(Model, Design), Error> {
        let without = formula.uses_dot().then(|| schema.without(by.name()));
        let model = self.model(formula, without.as_ref().unwrap_or(schema))?;
        let design = self.design(&model);
        if design.columns().iter().any(|column| column.name == by.name()) {
            return Err(ConfigError::ByInModel { column: by.name().to_owned() }.into());
        }
        Ok((model, design))
    }

    /// The persons that rows belong to; refused if they could have more rows than sums over them
    /// are exact for.
    fn checked_person(&self) -> Result<Option<&Person>, ConfigError> {
        match &self.person {
            Some(person) if !person.is_sound() => Err(ConfigError::RowsPerPerson),
            person => Ok(person.as_ref()),
        }
    }

    /// Refuses a device for units that it cannot have.
    fn check_device(&self, of_several: bool) -> Result<(), DeviceError> {
        if of_several && self.device != Device::Cpu { Err(DeviceError::Units) } else { Ok(()) }
    }

    /// How a row of the model is encoded.
    pub fn design(&self, model: &Model) -> Design {
        let design = Design::new(model);
        match &self.weights {
            Some(weights) => design.weighted(weights.clone()),
            None => design,
        }
    }
}

impl Dataset {
    /// Reads and encodes the columns of a formula.
    ///
    /// # Errors
    /// When columns are missing, the table cannot be read, or the encoded rows fit neither in
    /// memory nor in a temporary file.
    pub fn read(source: &Source, formula: &Formula, reading: &Reading<'_>) -> Result<Dataset, Error> {
        let model = reading.model(formula, source.schema())?;
        let design = reading.design(&model);
        reading.check_device(reading.person.is_some())?;
        // Only the processor knows of probabilities.
        let device = if design.family() == Family::Gaussian { reading.device } else { Device::Cpu };
        let accelerator = engine::ready(device)?;
        let person = reading.checked_person()?;
        let mut cells = CellCounts::new(design.columns(), person);
        let rows = match person {
            Some(person) => read_persons(source, &design, reading, person, &mut cells)?,
            None => {
                let mut see = |block: &Block| {
                    cells.see(block);
                    Ok(())
                };
                let rows = read_rows(source, &design.as_read(), reading, &mut see)?;
                match accelerator {
                    Some(accelerator) => rows.moved_to(&*accelerator)?,
                    None => rows,
                }
            }
        };
        let (is_simulated, csv, cells) = (source.is_simulated(), source.dialect(), Some(cells));
        let rows = Dataset::of(rows, formula, (model, design), source.schema(), reading);
        Ok(Dataset { cells, is_simulated, csv, ..rows })
    }

    /// Rows that were encoded with this design, and what is known of them all.
    fn of(
        rows: Encoded,
        formula: &Formula,
        (model, design): (Model, Design),
        schema: &Schema,
        reading: &Reading<'_>,
    ) -> Dataset {
        let (formula, columns, person) = (formula.to_string(), in_words(schema), reading.person.clone());
        let (cells, given_up, is_simulated, csv, group) = (None, false, false, Dialect::default(), None);
        Dataset { formula, model, design, rows, cells, columns, person, given_up, is_simulated, csv, group }
    }

    /// Rows that are kept elsewhere, encoded there with the design of this formula and reading;
    /// `schema` is what the table declares.
    ///
    /// # Errors
    /// When columns are missing.
    ///
    /// # Panics
    /// When the rows are of another design, or of other units.
    pub fn elsewhere(
        rows: Encoded,
        schema: &Schema,
        formula: &Formula,
        reading: &Reading<'_>,
    ) -> Result<Dataset, Error> {
        let model = reading.model(formula, schema)?;
        let design = reading.design(&model);
        check_kept(&rows, &design, reading.checked_person()?);
        Ok(Dataset::of(rows, formula, (model, design), schema, reading))
    }

    /// The model, with every column named.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How the columns are standardised; public.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Whose data a fit protects.
    pub fn unit(&self) -> Unit {
        if self.person.is_some() { Unit::Person } else { Unit::Row }
    }

    /// How many privacy units there are, rows or persons; public.
    pub fn rows(&self) -> u64 {
        self.rows.count()
    }

    /// Looks at the rows: for diagnosis, never for publication.
    ///
    /// # Panics
    /// When a fit was given the rows ([`Prepared::giving_up_rows`]).
    pub fn not_private(&mut self) -> View<'_> {
        assert!(!self.given_up, "{}", ConfigError::GivenUp);
        View::new(&mut self.rows)
    }

    /// Plans a fit and checks it, from public numbers only. Nothing is asked of a row and nothing
    /// is spent.
    ///
    /// # Errors
    /// When the plan is refused, the noise has no source, or an earlier fit was given the rows.
    pub fn prepare(&mut self, method: &dyn Method, noise: NoiseSource) -> Result<Prepared<'_>, Error> {
        if self.given_up {
            return Err(ConfigError::GivenUp.into());
        }
        Prepared::counting(self, method, noise)
    }

    /// Fits by the method asked for. The caller keeps account of the budget; with a ledger, use
    /// [`Dataset::prepare`].
    ///
    /// # Guarantee
    /// With [`NoiseSource::System`] the result is `rho`-zCDP for the budget of the request, as an
    /// exact statement about this program.
    ///
    /// # Errors
    /// When the plan is refused (nothing is spent then), or a release fails (the budget is spent
    /// then).
    pub fn fit(&mut self, method: &dyn Method, noise: NoiseSource, progress: Progress<'_>) -> Result<Fit, Error> {
        let prepared = self.prepare(method, noise)?;
        let receipt = Receipt::by_caller(prepared.charge());
        prepared.run(receipt, progress)
    }

    fn formula(&self) -> &str {
        &self.formula
    }

    /// What a fit of these rows promises.
    pub(crate) fn promise(&self, request: &Request, conversion: Conversion, noise: NoiseSource) -> Promise {
        let provenance = match (self.is_simulated, noise) {
            (true, _) => Provenance::Simulated,
            (false, NoiseSource::System) => Provenance::System,
            (false, NoiseSource::Seed(_)) => Provenance::Seed,
        };
        let person = self.person.as_ref().map(|person| person.column.as_str());
        Promise { neighbours: request.neighbours, provenance, ..Promise::about(person) }
            .converted_by(conversion, request.delta)
    }

    /// What was said of these rows and asked of a method, every option written out. Every field of
    /// both is named here, so that a new one is not forgotten in what is saved.
    pub(crate) fn asked(&self, request: &Request, tuning: Tuning, method: &str) -> FitRequest {
        let Request {
            rho,
            delta,
            neighbours,
            purpose,
            interval,
            target,
            level,
            batches,
            burn_in,
            keep,
            person,
            focus,
            moments,
            // The group says so.
            one_of_groups: _,
        } = request;
        let Tuning { clip, steps, step_size } = tuning;
        FitRequest {
            formula: self.formula.clone(),
            focus: focus.clone(),
            standardised: self.model.assumed_standard().next().is_some(),
            moments: moments.as_deref().cloned(),
            family: self.design.family(),
            weights: self.design.weights().map(ToString::to_string),
            by: self.group.as_ref().map(|group| group.by.to_string()),
            group_sizes: None,
            rho: Some(rho.to_f64()),
            epsilon: None,
            delta: Some(*delta),
            neighbours: *neighbours,
            person: person.as_ref().map(|person| person.column.clone()),
            rows_per_person: person.as_ref().and_then(|person| person.rows),
            method: Some(method.to_owned()),
            clip,
            steps,
            step_size,
            interval: *interval,
            target: *target,
            level: *level,
            batches: *batches,
            burn_in: *burn_in,
            keep: keep.clone(),
            purpose: *purpose,
        }
    }

    pub(crate) fn table_in_words(&self) -> String {
        if let Some(Group { by, units: Some(units), .. }) = &self.group {
            return groups::in_groups(self, *units, None, by);
        }
        let weighted = self.design.weights().map_or(String::new(), |weights| format!(", weighted by {weights}"));
        match &self.person {
            None => format!("{} rows{weighted}: {}", self.rows(), self.columns),
            Some(person) => {
                let (column, most) = (&person.column, person.most_rows());
                let once = if person.counts_once { ", each counting once" } else { "" };
                let persons = format!("{} persons by {column}, at most {most} rows each{once}", self.rows());
                format!("{persons}{weighted}: {}", self.columns)
            }
        }
    }

    /// The rows as they are counted before they are fitted.
    pub(crate) fn counted(&self, neighbours: Neighbours) -> Counted<'_> {
        Counted {
            rows: vec![&self.rows],
            units: self.rows(),
            unit: self.unit(),
            design: &self.design,
            by: None,
            cells: self.cells.as_ref(),
            neighbours,
        }
    }

    pub(crate) fn rows_and_design(&mut self) -> (&mut dyn Rows, &Design) {
        (&mut self.rows, &self.design)
    }

    fn warnings(&self, provenance: Provenance, outcome: &Outcome) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if provenance == Provenance::Seed {
            warnings.push(Warning::FixedSeed);
        }
        let columns: Vec<String> = self.model.assumed_standard().map(str::to_owned).collect();
        if !columns.is_empty() {
            warnings.push(Warning::AssumedStandard { columns });
        }
        warnings.extend(self.design.weights().map(|weights| Warning::Weighted { column: weights.name().to_owned() }));
        warnings.extend(self.events_without_periods());
        if outcome.first_stage.is_none() {
            warnings.extend(not_identified(outcome));
            warnings.extend(self.other_kinds(outcome));
        }
        warnings
    }

    fn events_without_periods(&self) -> impl Iterator<Item = Warning> {
        let studies = self
            .model
            .event_studies()
            .into_iter()
            .filter(|one| one.of.is_some() && !one.has_periods && !one.is_average());
        let mut periods: Vec<String> = studies.map(|study| study.period).collect();
        periods.dedup();
        periods.into_iter().map(|period| Warning::EventWithoutPeriods { period })
    }

    /// The columns that may not be what the formula says they are. A number that cannot be read
    /// leaves no row, so numbers are among them only where nothing is identified; a level that is
    /// spelt otherwise leaves a level without rows.
    fn other_kinds(&self, outcome: &Outcome) -> Option<Warning> {
        let is_known = |name: &String| {
            let is_estimated = outcome.coefficients.iter().any(|one| one.identified && one.name == *name);
            is_estimated || outcome.is_control(name)
        };
        let shows_rows = |name: &String| {
            outcome.left_out.iter().any(|one| one.name == *name && matches!(one.cause, Cause::Combination { .. }))
        };
        let nothing = !outcome.coefficients.iter().any(|one| one.identified);
        let by_column = self.model.coefficients_by_column();
        let is_suspect = |column: &&Column| {
            let names = by_column.get(column.name.as_str());
            let without_rows = names.is_some_and(|names| names.iter().all(|name| !is_known(name) && !shows_rows(name)));
            nothing || matches!(column.kind, Kind::Levels(_)) && without_rows
        };
        let (categories, numbers): (Vec<&Column>, Vec<&Column>) =
            self.design.columns().iter().filter(is_suspect).partition(|column| matches!(column.kind, Kind::Levels(_)));
        let named = |columns: Vec<&Column>| columns.into_iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        let (numbers, categories) = (named(numbers), named(categories));
        (!numbers.is_empty() || !categories.is_empty()).then_some(Warning::OtherKind { numbers, categories })
    }
}

/// Refuses constants that are not those of the persons who are protected: one for each of anything
/// else would tell of single persons, or would have to be released for each of them.
pub(crate) fn check_within(formula: &Formula, person: Option<&Person>) -> Result<(), ConfigError> {
    let column = || formula.within().unwrap_or_default().to_owned();
    match (formula.within(), person) {
        (None, Some(person)) if formula.names().is_some_and(|names| names.contains(&person.column.as_str())) => {
            Err(ConfigError::PersonAsTerm { column: person.column.clone() })
        }
        (None, _) => Ok(()),
        (Some(_), None) => Err(ConfigError::WithinNoPerson { column: column() }),
        (Some(name), Some(person)) if name != person.column => {
            Err(ConfigError::WithinOthers { column: column(), person: person.column.clone() })
        }
        (Some(_), Some(Person { rows: Some(1), .. })) => Err(ConfigError::WithinOneRow),
        (Some(_), Some(_)) => Ok(()),
    }
}

/// Stops a program whose rows elsewhere are not those of the design: claims are about the units
/// that the fit protects.
fn check_kept(rows: &Encoded, design: &Design, person: Option<&Person>) {
    assert_eq!(rows.features(), design.kept_features(), "rows are encoded with the design of the fit");
    assert_eq!(rows.rows_in_unit(), person.map(Person::most_rows), "units are those that the fit protects");
}

/// Reads and encodes rows, each standing for itself; `see` is shown every block.
fn read_rows(
    source: &Source,
    design: &Design,
    reading: &Reading<'_>,
    see: &mut dyn FnMut(&Block) -> Result<(), DataError>,
) -> Result<Encoded, Error> {
    let mut builder = Builder::new(design, reading.memory);
    source.for_each_block(design.columns(), &reading.table, &mut |block| {
        see(&block)?;
        builder.push(&block)
    })?;
    Ok(builder.finish()?)
}

/// Reads rows and brings those of each person together. A row in which the identifier is missing
/// has a missing cell, so it becomes zeros.
fn read_persons(
    source: &Source,
    design: &Design,
    reading: &Reading<'_>,
    person: &Person,
    cells: &mut CellCounts,
) -> Result<Encoded, Error> {
    let table = ReadOptions { person: Some(&person.column), ..reading.table };
    let reading = Reading { table, memory: reading.memory, ..Reading::default() };
    let mut persons = Persons::new();
    let rows = read_rows(source, &design.as_read(), &reading, &mut |block| {
        cells.see(block);
        match block.columns.last() {
            Some(Cells::Levels(of_rows)) => persons.push(of_rows),
            _ => unreachable!("the last column says which person a row belongs to"),
        }
    })?;
    rows.by_person(&persons, person.most_rows(), Together::of(person, design))
}

/// The coefficients that are not identified though they are in the model.
fn not_identified(outcome: &Outcome) -> Option<Warning> {
    let is_left_out = |name: &String| outcome.left_out.iter().any(|one| one.name == *name);
    let is_silent = |name: &String| is_left_out(name) || outcome.is_control(name);
    let unknown = outcome.coefficients.iter().filter(|one| !one.identified && !is_silent(&one.name));
    let names: Vec<String> = unknown.map(|one| one.name.clone()).collect();
    (!names.is_empty()).then_some(Warning::NotIdentified { names })
}

/// The names of the columns, and their types where something declares them.
fn in_words(schema: &Schema) -> String {
    let word = |field: &Field| match field.is_declared() {
        true => format!("{} {:?}", field.name, field.kind),
        false => field.name.clone(),
    };
    schema.fields().iter().map(word).collect::<Vec<_>>().join(", ")
}
