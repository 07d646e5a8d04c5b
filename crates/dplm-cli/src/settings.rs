//! What was meant: every setting checked before a row is read.

use std::{fs, io, path::Path, sync::Arc};

use dplm::{
    Dataset, GroupedDataset, NoiseSource, Person, Progress, Reading,
    formula::{By, Formula, Weights},
    method::{self, Asked, Asks, Entry, Method, Request, Tuning, dpgd},
    moments::{Moments, MomentsError},
    options::Device,
    privacy::{Rho, convert::Conversion},
    report::Cover,
    table::{Dialect, ReadOptions, Source},
};
use dplm_ledger::{AccountName, Attribution, LedgerError};
use dplm_simulate::pretend;

use crate::{
    args::{
        AccountArgs, AttributionArgs, BudgetArgs, CoverArgs, DataArgs, DiagnoseArgs, FitArgs, IntervalArgs,
        MachineArgs, MethodArgs, ModelArgs, PromiseArgs,
    },
    exit::Failure,
    output::{Destination, Format},
    places::DataInput,
    printer::Printer,
    progress::Bar,
};

/// The paper's standard budget: what a diagnosis looks at when nothing is asked.
const DIAGNOSED_RHO: f64 = 0.015;

/// More threads than any machine has; the operating system would refuse them with a worse message.
const MOST_THREADS: usize = 4096;

/// A fit, checked.
pub struct FitSettings {
    /// The rows and the model.
    pub data: DataSettings,
    /// The method, and what is asked of it.
    pub method: Box<dyn Method>,
    /// What was asked, for a forecast.
    pub asked: Asked,
    /// The groups that the model is fitted in, where it is not all rows together.
    pub groups: Option<GroupSettings>,
    /// So many simulated rows in place of the data.
    pub pretend: Option<u64>,
    /// Whether to stop before anything is spent.
    pub dry_run: bool,
    /// The same asked of the paper's method, which a diagnosis is about.
    pub paper: dpgd::Config,
    /// Where the noise comes from.
    pub noise: NoiseSource,
    /// Where the result goes as JSON.
    pub json: Option<Destination>,
    /// Where the iterates go.
    pub trajectory: Option<Destination>,
    /// Where the page goes.
    pub report: Option<Destination>,
    /// What is said of the page.
    pub cover: Cover,
    /// What is asked to pay for the fit.
    pub account_name: AccountName,
}

/// Groups that are fitted under one budget.
pub struct GroupSettings {
    /// What they are by.
    pub by: By,
    /// Their sizes, where those are public.
    pub sizes: Option<Vec<u64>>,
}

/// The rows and the model, checked as far as they can be without reading a row.
pub struct DataSettings {
    /// Files, folders, patterns or `-`.
    pub inputs: Vec<DataInput>,
    /// How text files are written.
    pub csv: Dialect,
    /// The model.
    pub formula: Formula,
    /// Whether an unusable cell is refused.
    pub strict: bool,
    /// The most bytes the rows may take.
    pub memory: Option<u64>,
    /// What computes sums over rows.
    pub device: Device,
    /// Who a row is of.
    pub person: Option<Person>,
    /// What rows are weighted by.
    pub weights: Option<Weights>,
}

impl FitSettings {
    /// Checks what was typed.
    ///
    /// # Errors
    /// One sentence on the first thing that makes no sense.
    pub fn check(args: FitArgs) -> Result<FitSettings, Failure> {
        check_formats([(&args.report, Format::Html), (&args.json, Format::Json), (&args.trajectory, Format::Csv)])?;
        // Simulated rows and dry runs spend nothing, so that a seed takes nothing from a ledger.
        let spends = args.pretend.is_none() && !args.dry_run;
        let account_name = account_name(args.account, args.promise.seed.filter(|_| spends))?;
        let groups = groups(args.by, args.group_sizes.as_deref())?;
        if groups.is_some() && args.trajectory.is_some() {
            return Err(Failure::usage("there is no table of the iterates of several groups: leave out --trajectory"));
        }
        let conversion = Entry::conversion_of(args.method.method);
        let request = request((&args.budget, conversion), &args.promise, &args.interval)?;
        let request = Request { moments: moments(args.moments.as_deref())?, ..request };
        let tuning = tuning(&args.method);
        check_machine(&args.machine)?;
        let pretend = args.pretend.map(|rows| rows.unwrap_or(pretend::USUAL_ROWS));
        check_pretence(pretend, &args.data.inputs)?;
        // A model file says of each such column that it is standard.
        let standardised = args.model.standardised || args.model.model.is_some();
        let person = person(&args.promise, &args.interval);
        let data = data(args.data, &args.model, &args.machine, person, args.weights)?;
        let paper = dpgd::Config { request: request.clone(), tuning };
        let formula = data.formula.clone();
        let model = Asks::Formula { formula, standardised, assumptions: Vec::new() };
        let asked = Asked { method: args.method.method, request: request.clone(), tuning, model };
        let method =
            method::choose(args.method.method, request, tuning, &data.formula, standardised).map_err(Failure::usage)?;
        Ok(FitSettings {
            data,
            method,
            asked,
            groups,
            pretend,
            dry_run: args.dry_run,
            paper,
            noise: args.promise.seed.map_or(NoiseSource::System, NoiseSource::Seed),
            json: args.json,
            trajectory: args.trajectory,
            report: args.report,
            cover: cover(args.cover),
            account_name,
        })
    }

    /// So many simulated rows in place of the data.
    ///
    /// # Errors
    /// When the formula does not name its columns.
    pub fn simulate(&self, rows: u64) -> Result<Source, Failure> {
        let DataSettings { formula, person, weights, .. } = &self.data;
        let by = self.groups.as_ref().map(|groups| &groups.by);
        let asked = pretend::Asked { formula, person: person.as_ref(), weights: weights.as_ref(), by };
        let seed = match self.noise {
            NoiseSource::Seed(seed) => Some(seed),
            NoiseSource::System => None,
        };
        Ok(pretend::source(&asked, rows, seed)?)
    }

    /// Checks what was typed for a diagnosis, which is a fit that looks.
    ///
    /// # Errors
    /// One sentence on the first thing that makes no sense.
    pub fn check_diagnosis(args: DiagnoseArgs) -> Result<FitSettings, Failure> {
        let DiagnoseArgs { data, not_private: _, model, mut budget, promise, method, interval, json, machine } = args;
        if budget.epsilon.is_none() {
            budget.rho.get_or_insert(DIAGNOSED_RHO);
        }
        let (trajectory, report) = (None, None);
        FitSettings::check(FitArgs {
            data,
            model,
            moments: None,
            budget,
            promise,
            method,
            interval,
            weights: None,
            by: None,
            group_sizes: None,
            account: AccountArgs {
                ledger: None,
                dataset: None,
                other_table: false,
                attribution: AttributionArgs::default(),
            },
            pretend: None,
            dry_run: false,
            json,
            trajectory,
            report,
            cover: CoverArgs::default(),
            machine,
        })
    }
}

impl DataSettings {
    /// Opens the table.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(&self) -> Result<Source, Failure> {
        Ok(Source::open_as(&self.inputs, self.csv)?)
    }

    /// Reads and encodes the rows.
    ///
    /// # Errors
    /// When they cannot be read, or need too much memory.
    pub fn read(&self, source: &Source, printer: &Printer) -> Result<Dataset, Failure> {
        let bar = Bar::new(printer, "reading");
        let update = |done, total| bar.update(done, total);
        let table = ReadOptions { strict: self.strict, progress: Progress::new(&update), ..ReadOptions::default() };
        Ok(Dataset::read(source, &self.formula, &self.reading(table))?)
    }

    /// Reads and encodes the rows of each group.
    ///
    /// # Errors
    /// When they cannot be read, or need too much memory.
    pub fn read_groups(
        &self,
        source: &Source,
        groups: &GroupSettings,
        printer: &Printer,
    ) -> Result<GroupedDataset, Failure> {
        let bar = Bar::new(printer, "reading");
        let update = |done, total| bar.update(done, total);
        let table = ReadOptions { strict: self.strict, progress: Progress::new(&update), ..ReadOptions::default() };
        let GroupSettings { by, sizes } = groups;
        Ok(GroupedDataset::read(source, &self.formula, &self.reading(table), by, sizes.clone())?)
    }

    /// How the table is read.
    pub fn reading<'a>(&self, table: ReadOptions<'a>) -> Reading<'a> {
        let DataSettings { memory, device, .. } = *self;
        Reading { table, memory, person: self.person.clone(), weights: self.weights.clone(), device }
    }
}

/// The budget and the delta at which epsilon is stated, of Gaussian releases.
///
/// # Errors
/// When the numbers mean nothing.
pub fn budget(args: &BudgetArgs) -> Result<(Rho, f64), Failure> {
    budget_by(args, Conversion::Exact)
}

/// The same of releases whose epsilon follows by this conversion.
///
/// # Errors
/// When the numbers mean nothing.
pub fn budget_by(args: &BudgetArgs, conversion: Conversion) -> Result<(Rho, f64), Failure> {
    // Every number it is refused for was typed.
    method::budget(args.rho, args.epsilon, args.delta, conversion).map_err(Failure::usage)
}

pub fn cover(args: CoverArgs) -> Cover {
    let CoverArgs { title, author, data_name } = args;
    Cover { title, author, dataset: data_name }
}

/// Parameters set by hand.
pub fn tuning(method: &MethodArgs) -> Tuning {
    Tuning { clip: method.clip.given(), steps: method.steps.given(), step_size: method.step_size.given() }
}

fn request(
    (budget, conversion): (&BudgetArgs, Conversion),
    promise: &PromiseArgs,
    interval: &IntervalArgs,
) -> Result<Request, Failure> {
    let (rho, delta) = budget_by(budget, conversion)?;
    let request = Request {
        delta,
        neighbours: promise.neighbours.neighbours,
        purpose: interval.purpose,
        interval: interval.interval,
        target: interval.aim.target,
        level: interval.aim.level,
        batches: interval.batches,
        burn_in: interval.burn_in.given(),
        person: person(promise, interval),
        ..Request::new(rho)
    };
    Ok(request)
}

fn person(promise: &PromiseArgs, interval: &IntervalArgs) -> Option<Person> {
    let counts_once = interval.aim.target == Some(method::Target::Person);
    promise.person.clone().map(|column| Person { column, rows: promise.rows_per_person, counts_once })
}

fn data(
    args: DataArgs,
    model: &ModelArgs,
    machine: &MachineArgs,
    person: Option<Person>,
    weights: Option<Weights>,
) -> Result<DataSettings, Failure> {
    let DataArgs { inputs, csv, strict } = args;
    let MachineArgs { memory, device, .. } = *machine;
    let (csv, formula) = (csv.unwrap_or_default(), formula(model)?);
    Ok(DataSettings { inputs, csv, formula, strict, memory, device, person, weights })
}

fn groups(by: Option<By>, sizes: Option<&str>) -> Result<Option<GroupSettings>, Failure> {
    let Some(by) = by else { return Ok(None) };
    let sizes = sizes.map(|sizes| by.sizes(sizes)).transpose().map_err(Failure::usage)?;
    Ok(Some(GroupSettings { by, sizes }))
}

fn formula(model: &ModelArgs) -> Result<Formula, Failure> {
    formula_in(model.formula.as_deref(), model.model.as_deref())
}

/// The model, from text or from a file.
///
/// # Errors
/// When neither is given, or it cannot be understood.
pub fn formula_in(text: Option<&str>, file: Option<&Path>) -> Result<Formula, Failure> {
    match (text, file) {
        (Some(text), _) => Formula::parse(text).map_err(|error| Failure::formula(text, &error)),
        (None, Some(path)) => Formula::from_toml(&read_model(path)?).map_err(Failure::usage),
        (None, None) => Err(Failure::usage("give the model with --formula or --model")),
    }
}

/// Moments that are public, from a file.
///
/// # Errors
/// When it cannot be read or understood.
pub fn moments(file: Option<&Path>) -> Result<Option<Arc<Moments>>, Failure> {
    let Some(path) = file else { return Ok(None) };
    let read = Moments::read(path).map_err(|error| match error {
        MomentsError::Unread { .. } => Failure::Refused(format!("{}: {error}", path.display())),
        other => Failure::Usage(format!("{}: {other}", path.display())),
    });
    read.map(|moments| Some(Arc::new(moments)))
}

fn read_model(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        Failure::Refused(match error.kind() {
            io::ErrorKind::NotFound => format!("{path} does not exist: check the path, or make it with dplm init"),
            kind => format!("{path} could not be read ({kind}): check the file and its permissions"),
        })
    })
}

/// Refuses a number of rows that would be taken for the name of data, which a pretended fit does not open.
fn check_pretence(pretend: Option<u64>, inputs: &[DataInput]) -> Result<(), Failure> {
    let names = inputs.iter().map(|input| input.to_string_lossy());
    match names.filter(|_| pretend.is_some()).find(|name| name.parse::<u64>().is_ok()) {
        Some(rows) => Err(Failure::usage(format!("simulate so many rows with --pretend={rows}"))),
        None => Ok(()),
    }
}

/// Sets the number of threads, for the whole program.
pub fn check_machine(machine: &MachineArgs) -> Result<(), Failure> {
    let Some(threads) = machine.threads else { return Ok(()) };
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(Failure::Usage(format!("the number of threads must be between 1 and {MOST_THREADS}")));
    }
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|_| Failure::refused("the operating system refused that many threads: ask for fewer"))
}

/// Refuses names that promise another format than the one written there.
pub fn check_formats<const N: usize>(places: [(&Option<Destination>, Format); N]) -> Result<(), Failure> {
    places.iter().try_for_each(|(place, format)| place.as_ref().map_or(Ok(()), |place| place.check_format(*format)))
}

/// What is asked to pay. A fixed seed is refused here, before anything is opened.
pub fn account_name(account: AccountArgs, seed: Option<u64>) -> Result<AccountName, Failure> {
    let AccountArgs { ledger, dataset, other_table, attribution } = account;
    let AttributionArgs { analyst, stated_purpose, note } = attribution;
    let [analyst, purpose, note] = [analyst, stated_purpose, note].map(Option::unwrap_or_default);
    let attribution = Attribution { analyst, purpose, note };
    let ledger = ledger.map(|file| file.to_path_buf());
    let name = AccountName { ledger, dataset, attribution, another_table: other_table };
    match seed.is_some() && name.resolved()?.is_some() {
        true => Err(Failure::usage(LedgerError::Seed)),
        false => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use dplm::privacy::Epsilon;

    use super::*;

    fn typed(rho: Option<f64>, epsilon: Option<f64>, delta: Option<f64>) -> BudgetArgs {
        BudgetArgs { rho, epsilon, delta }
    }

    #[test]
    fn epsilon_and_delta_give_the_exact_rho_rounded_down() {
        let (rho, delta) = budget(&typed(None, Some(1.0), Some(1e-6))).expect("sound");
        assert!((rho.to_f64() - 0.02801).abs() < 1e-5 && delta == 1e-6);
        let promised = Epsilon::exact(rho.to_f64(), 1e-6).expect("sound").to_f64();
        assert!(promised <= 1.0 && promised > 1.0 - 1e-9, "{promised}");
        assert_eq!(budget(&typed(None, Some(1.0), None)).expect("sound"), (rho, delta), "1e-6 when nothing is said");
    }

    #[test]
    fn senseless_budgets_are_usage_errors() {
        for (rho, epsilon, delta) in [
            (Some(0.0), None, None),
            (Some(-1.0), None, None),
            (Some(f64::NAN), None, None),
            (Some(1.0), None, Some(1.0)),
            (None, Some(0.0), Some(1e-6)),
            (None, Some(1.0), Some(2.0)),
            (None, None, None),
        ] {
            assert_eq!(budget(&typed(rho, epsilon, delta)).expect_err("refused").status(), 2);
        }
    }
}
