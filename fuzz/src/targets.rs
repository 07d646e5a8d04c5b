//! What dplm does with bytes that somebody else chose. A target panics when a promise is broken.
//!
//! The promises: no panic, no message with a cell in it, the same rows and refusals however a table
//! is cut into pieces, and nothing that changes with one row but that row.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use dplm::{
    Charge, Dataset, Design, Fit, FitRequest, Person, Reading,
    formula::{By, Column, Formula, template},
    lattice::{ClippedOuter, Ladder, Lattice, Outer},
    options::Choice,
    privacy::{Neighbours, Rho},
    report::{SavedGuarantee, to_json},
    rows::{Encoded, ExpectedSteps, Rows},
    table::{Block, Cells, ReadOptions, Source},
};
use dplm_cluster::{Answering, BlockId, Executor, Packer, RemoteError, answer, open, pack, sealed};
use dplm_ledger::Ledger;
use dplm_report::{Table, TableForm, TableOptions};

/// A cell that no message may hold; the tables of the corpus are full of it.
pub const MARKER: &str = "987654";

/// A target: its name and the function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const ALL: [Target; 11] = [
    ("csv", csv),
    ("tsv", tsv),
    ("parquet", parquet),
    ("arrow", arrow),
    ("model", model),
    ("formula", formula),
    ("request", request),
    ("ledger", ledger),
    ("locality", locality),
    ("fit", fit),
    ("remote", remote),
];

/// Models of the columns y, x and g, each read in every way.
const FORMULAS: [&str; 4] = ["y[-10..10] ~ x + g{a,b}", "y ~ .", "x[0..1] ~ y{a,1.5,true}", "x ~ y + g"];

/// Text with commas: as it is, or as the rows between two planted ones.
pub fn csv(data: &[u8]) {
    match is_even(data) {
        true => table(data, "csv"),
        false => planted(data, "csv", ","),
    }
}

/// Text with tabs, likewise.
pub fn tsv(data: &[u8]) {
    match is_even(data) {
        true => table(data, "tsv"),
        false => planted(data, "tsv", "\t"),
    }
}

/// A Parquet file.
pub fn parquet(data: &[u8]) {
    table(data, "parquet");
}

/// An Arrow file or stream.
pub fn arrow(data: &[u8]) {
    table(data, "arrow");
}

/// A model file.
pub fn model(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(formula) = Formula::from_toml(text) {
        reads_back(&formula);
    }
}

/// A formula.
pub fn formula(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(formula) = Formula::parse(text) {
        reads_back(&formula);
    }
}

/// What is asked of a fit, as a saved fit holds it: a formula, a family, groups, persons, weights,
/// a budget and all other options. What makes sense is written as it was read.
pub fn request(data: &[u8]) {
    let Ok(request) = serde_json::from_slice::<FitRequest>(data) else { return };
    match request.check() {
        Ok(checked) => drop(checked),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let text = serde_json::to_string(&request).expect("plain data serialise");
    assert!(serde_json::from_str::<FitRequest>(&text).is_ok_and(|again| again == request), "{text}");
}

/// A ledger, with a rollback journal beside it where the first byte is odd.
pub fn ledger(data: &[u8]) {
    let Some((&kind, data)) = data.split_first() else { return };
    let folder = Scratch::new();
    let file = folder.path("ledger");
    let (body, journal) = data.split_at(if kind % 2 == 1 { data.len() / 2 } else { data.len() });
    fs::write(&file, body).expect("scratch space");
    if kind % 2 == 1 {
        fs::write(folder.path("ledger-journal"), journal).expect("scratch space");
    }
    use_ledger(&file);
}

/// A saved fit: one that loads answers whatever may be asked of it, and is written as it was read.
pub fn fit(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    side_by_side(text);
    let Ok(fit) = Fit::from_json(text) else { return };
    // What nothing can be said of is refused or left blank.
    let _ = (fit.to_string(), fit.covariance(), fit.predictor(), fit.intervals(0.9));
    assert!(Fit::from_json(&to_json(&fit)).is_ok_and(|again| again == fit), "a fit that does not read back");
}

/// Every form of a table of the results in a document, whatever they are, and their guarantee.
fn side_by_side(text: &str) {
    let _ = SavedGuarantee::from_json(text).map(|saved| saved.guarantee);
    let options = TableOptions { stars: true, ..TableOptions::default() };
    let Ok(table) = Table::of(&[text, text], &options) else { return };
    assert!(TableForm::ALL.iter().all(|&form| !table.to_bytes(form).is_empty()));
}

/// Bytes that travel between machines: the first byte says which, and each three that follow change
/// one of theirs, or cut them short. They are sealed again, so that what is changed is read.
pub fn remote(data: &[u8]) {
    let Some((&which, edits)) = data.split_first() else { return };
    let known = TRAVELLING.with(Clone::clone);
    let mut bytes = known[usize::from(which) % known.len()].clone();
    bytes.truncate(bytes.len() - 32);
    for [high, low, value] in edits.as_chunks().0 {
        let at = usize::from(u16::from_be_bytes([*high & 0x7f, *low])) % bytes.len();
        if *high & 0x80 == 0 { bytes[at] = *value } else { bytes.truncate(at.max(1)) }
    }
    let bytes = sealed(bytes);
    // Whatever they are, they are tried as each of the three.
    let _ = Answering::new(&bytes).map(|mut answering| {
        let _ = answering.add(&known[0]);
        answering.finish()
    });
    let _ = answer(&bytes, &known[1]);
    // A question to persons, whatever the block.
    let _ = known.last_chunk().map(|[question, _]| answer(&bytes, question));
    let _ = dplm_cluster::open_groups(Arc::new(Travel::answering(bytes.clone())), 3, 2, Some(3), None);
    let _ = open(Arc::new(Travel::answering(bytes)), 3, None, None);
}

thread_local! {
    /// A block, the questions that may be asked of it, and its answers.
    static TRAVELLING: Vec<Vec<u8>> = Travel::all();
}

/// Carries questions to one block, and keeps them and their answers; or gives one answer to all.
#[derive(Default)]
struct Travel {
    block: Vec<u8>,
    always: Option<Vec<u8>>,
    kept: Mutex<Vec<Vec<u8>>>,
}

impl Executor for Travel {
    fn ask(&self, question: &[u8], _: Option<u32>) -> Result<Vec<Vec<u8>>, RemoteError> {
        let answer = match &self.always {
            Some(always) => always.clone(),
            None => answer(&self.block, question).map_err(|_| RemoteError::Failed)?,
        };
        self.kept.lock().expect("no panic").extend([question.to_vec(), answer.clone()]);
        Ok(vec![answer])
    }

    fn cancel(&self) {}
}

impl Travel {
    fn answering(bytes: Vec<u8>) -> Travel {
        Travel { always: Some(bytes), ..Travel::default() }
    }

    fn all() -> Vec<Vec<u8>> {
        let text: String = (0..90).map(|i| format!("{},{},{}\n", i % 7, i % 5, i % 3)).collect();
        let source = Source::from_csv_stream(&mut format!("y,x,g\n{text}").as_bytes(), "rows").expect("a table");
        let formula = Formula::parse("y[0..9] ~ x[0..9] + g[0..2]").expect("a sound formula");
        let design = Reading::default().design(&formula.resolve(source.schema()).expect("its columns are there"));
        let mut travel = Travel::default();
        let each = &mut |block| {
            travel.block = pack(&block, &design, BlockId::new(0, 0));
            Ok(())
        };
        source.for_each_block(design.columns(), &ReadOptions::default(), each).expect("a table");
        let (block, travel) = (travel.block.clone(), Arc::new(travel));
        let mut rows = open(travel.clone(), 3, None, None).expect("a sound block");
        ask_everything(&mut rows);
        let kept = travel.kept.lock().expect("no panic").clone();
        // New bytes come last: inputs of the corpus say by number which they change.
        std::iter::once(block).chain(kept).chain(Travel::of_persons(&source, &design)).collect()
    }

    /// The same for persons in groups, each with up to three rows, and for nobody.
    fn of_persons(source: &Source, design: &Design) -> Vec<Vec<u8>> {
        let by: By = "g{0,1}".parse().expect("groups");
        let columns: Vec<_> = design.columns().iter().cloned().chain([by.column()]).collect();
        let person = Person { rows: Some(3), ..Person::new("y") };
        let mut packer = Packer::new(design.clone(), 0, Some(2), Some(&person)).expect("few rows");
        let each = &mut |block: Block| {
            let persons: Vec<u128> = (0..block.rows as u128).map(|row| row / 4).collect();
            packer.push(block, Some(&persons)).expect("in order");
            Ok(())
        };
        source.for_each_block(&columns, &ReadOptions::default(), each).expect("a table");
        let blocks: Vec<Vec<u8>> = packer.finish().into_iter().map(|block| block.bytes).collect();
        let travel = Arc::new(Travel { block: blocks[0].clone(), ..Travel::default() });
        let mut rows = open(travel.clone(), 3, Some(3), None).expect("a sound block");
        ask_everything(&mut rows);
        let kept = travel.kept.lock().expect("no panic").clone();
        blocks.into_iter().chain(kept).collect()
    }
}

fn ask_everything(rows: &mut Encoded) {
    let (relation, matrix) = (Neighbours::ReplaceOne, Outer::Shrunk { radius: 1 << 13 });
    let lattice = Lattice::plan(90, 3, 2.0, 1.0).expect("few rows");
    let (theta, theta_unit) = (&lattice.theta(&[0.1; 3]), lattice.theta_unit());
    let clip = lattice.clip(2.0);
    rows.clipped(clip, None).expect("sound");
    let clips = [lattice.clip(1.0), lattice.clip(2.0)];
    let within = Outer::Within { theta, theta_unit, radius: 1 << 13, residual: 1 << 30 };
    for outer in [matrix, within] {
        let is_refused = rows.rows_in_unit().is_some() && matches!(outer, Outer::Within { .. });
        assert_eq!(rows.outer_sum(&outer, relation).is_err(), is_refused);
    }
    for outer in
        [ClippedOuter::Unclipped { theta, theta_unit, radius: 9 }, ClippedOuter::Gradient { theta, theta_unit }]
    {
        rows.clipped(clip, None).expect("sound").outer_sum(&outer, relation).expect("sound");
    }
    let (norms, residuals) = (Ladder::Norms { radii: &[9, 99] }, Ladder::Residuals { theta, theta_unit, sizes: &[9] });
    for ladder in [norms, residuals, Ladder::Gradients { theta, theta_unit, clips: &clips }] {
        rows.tail_counts(&ladder, relation).expect("sound");
    }
    // Inputs of the corpus say by number which question they change: these keep the numbers of
    // those that follow.
    for radius in [1 << 12, 1 << 14] {
        rows.outer_sum(&Outer::Shrunk { radius }, relation).expect("sound");
    }
    let clipped = rows.clipped(clip, None).expect("sound");
    clipped.square_sum(theta, &lattice, relation).expect("sound");
    clipped.clipped_count(theta, &lattice).expect("sound");
    drop(clipped);
    rows.moments().expect("sound");
    let forecast = ExpectedSteps { steps: 1000, step_size: 0.25, noise_sd: 0.01 };
    let mut rows = rows.clipped(clip, Some(forecast)).expect("sound");
    rows.negative_gradient_sum(theta, &lattice, relation).expect("sound");
}

/// Two texts that differ in one row. The first byte says which row and how it is written, the
/// others are its cells, with a NUL between them: whatever they hold, the columns, the refusals and
/// every other row stay the same.
pub fn locality(data: &[u8]) {
    let Some((&choice, cells)) = data.split_first() else { return };
    let Ok(cells) = std::str::from_utf8(cells) else { return };
    let row: Vec<&str> = cells.splitn(3, '\0').chain(["", ""]).take(3).collect();
    let mut rows = ROWS;
    let table = Written {
        place: usize::from(choice >> 2) % rows.len(),
        comma: choice & 1 == 0,
        quote: choice & 2 == 2,
        formula: FORMULAS[cells.len() % FORMULAS.len()],
    };
    let before =
        BEFORE.with_borrow_mut(|known| known.entry(table).or_insert_with(|| table.seen(&ROWS, 1 << 20)).clone());
    rows[table.place] = [row[0], row[1], row[2]];
    let after = table.seen(&rows, 1 + cells.len() % 40);
    assert!(before == after, "a row changes more than itself: {before} {after}");
}

/// The rows of which one is replaced.
const ROWS: [[&str; 3]; 5] =
    [["1.5", "0.25", "a"], ["NA", "2", "b"], ["-3", "1e2", "c"], ["true", "", "a"], ["0", "x", "1"]];

thread_local! {
    /// What the rows show before one is replaced.
    static BEFORE: RefCell<HashMap<Written, String>> = RefCell::default();
}

/// How rows are written and read, and which of them is not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Written {
    place: usize,
    comma: bool,
    quote: bool,
    formula: &'static str,
}

impl Written {
    /// What a table of these rows shows but for one of them: its columns, and a refusal or the
    /// other rows' cells.
    fn seen(&self, rows: &[[&str; 3]], segment_bytes: usize) -> String {
        let folder = Scratch::new();
        let file = folder.path(if self.comma { "table.csv" } else { "table.tsv" });
        let text = self.line(&["y", "x", "g"]) + &rows.iter().map(|row| self.line(row)).collect::<String>();
        fs::write(&file, text).expect("scratch space");
        let source = Source::open(&[file.to_str().expect("plain").to_owned()]).expect("a sound table");
        let options = ReadOptions { block_rows: 3, segment_bytes, ..ReadOptions::default() };
        let formula = Formula::parse(self.formula).expect("a sound formula");
        let read = match formula.resolve(source.schema()) {
            Err(error) => error.to_string(),
            Ok(model) => {
                let mut columns = cells(&source, &model.columns(), &options);
                columns.iter_mut().for_each(|column| {
                    column.remove(self.place);
                });
                format!("{columns:?}")
            }
        };
        format!("{:?} {read}", source.schema())
    }

    fn line(&self, row: &[&str; 3]) -> String {
        let cell = |cell: &&str| match self.quote || cell.contains(['"', '\n', '\r', '\t', ',']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => (*cell).to_owned(),
        };
        row.iter().map(cell).collect::<Vec<_>>().join(if self.comma { "," } else { "\t" }) + "\n"
    }
}

fn use_ledger(file: &Path) {
    let Ok(mut ledger) = Ledger::open(file) else { return };
    let Ok(names) = ledger.datasets() else { return };
    let sound = ledger.verify().is_ok();
    for name in names {
        let before = ledger.account(&name).map(|account| account.spent);
        let spent = ledger.spend(&name, &Charge::new(Rho::SMALLEST, dplm::privacy::Promise::default(), "y ~ x"));
        assert!(sound || spent.is_err(), "a ledger that does not verify spends nothing");
        let after = ledger.account(&name).map(|account| account.spent);
        if let (Ok(before), Ok(after), Ok(_)) = (before, after, spent) {
            assert_eq!(after.0, before.0 + u128::from(Rho::SMALLEST.units()), "a charge is in the account");
        }
    }
    if sound {
        ledger.verify().expect("a sound ledger stays sound");
    }
}

/// Writes the bytes to a file and reads it as a table.
fn table(data: &[u8], ending: &str) {
    let folder = Scratch::new();
    let file = folder.path(&format!("table.{ending}"));
    fs::write(&file, data).expect("scratch space");
    read(&[file.to_str().expect("plain").to_owned()], data.len());
}

/// The bytes between two rows that hold the marker, under a header that does not.
fn planted(data: &[u8], ending: &str, delimiter: &str) {
    let row = [format!("{MARKER}.321"), format!("m{MARKER}"), format!("-{MARKER}")].join(delimiter);
    let head = [["y", "x", "g"].join(delimiter), row.clone(), String::new()].join("\n");
    table(&[head.as_bytes(), data, b"\n", row.as_bytes(), b"\n"].concat(), ending);
}

fn read(inputs: &[String], length: usize) {
    let source = match Source::open(inputs) {
        Ok(source) => source,
        // Nothing but names of columns can be said of a file that does not open.
        Err(error) => return keeps_cells(&error, !error.to_string().contains("column")),
    };
    let names = source.schema().names().collect::<Vec<_>>().concat();
    // A name is not a cell. One that starts with a control character is written with an escape,
    // which may end in the marker's first digit.
    let hidden = !names.contains(&MARKER[1..]);
    keeps_cells(&template(source.schema()), hidden);
    // Which of them, and how strict, the bytes say themselves: a run is short that way, and the
    // same each time.
    let formula = Formula::parse(FORMULAS[length / 2 % FORMULAS.len()]).expect("a sound formula");
    let whole = ReadOptions { strict: length.is_multiple_of(3), ..ReadOptions::default() };
    // Pieces of a few bytes and rows, so that a short text is cut as a long one is.
    let cut = ReadOptions { block_rows: 7, segment_bytes: 1 + length % 97, ..whole };
    match Dataset::read(&source, &formula, &Reading { table: cut, ..Reading::default() }) {
        Ok(dataset) => same_cells(&dataset, &source, &[cut, whole]),
        Err(error) => {
            keeps_cells(&error, hidden);
            let again = Dataset::read(&source, &formula, &Reading { table: whole, ..Reading::default() }).err();
            let again = again.expect("what is refused in pieces is refused whole").to_string();
            // Strict reading names the first column that is bad in a block, so that blocks of other
            // rows may name another.
            assert!(whole.strict || again == error.to_string(), "{error}; {again}");
        }
    }
}

fn is_even(data: &[u8]) -> bool {
    data.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).is_multiple_of(2)
}

/// However a table is cut, it holds the same cells.
fn same_cells(dataset: &Dataset, source: &Source, options: &[ReadOptions<'_>; 2]) {
    let [cut, whole] = options.map(|options| cells(source, &dataset.model().columns(), &options));
    assert!(cut == whole, "other cells where the table is cut");
    assert!(cut.iter().all(|column| column.len() as u64 == dataset.rows()), "columns of other lengths");
}

/// The bits of every cell, by column.
fn cells(source: &Source, columns: &[Column], options: &ReadOptions<'_>) -> Vec<Vec<u64>> {
    let mut found = vec![Vec::new(); columns.len()];
    let read = source.for_each_block(columns, options, &mut |block| {
        for (found, cells) in found.iter_mut().zip(&block.columns) {
            match cells {
                Cells::Numbers(numbers) => found.extend(numbers.iter().map(|number| number.to_bits())),
                Cells::Levels(levels) => found.extend(levels.iter().map(|&level| u64::from(level))),
            }
        }
        Ok(())
    });
    read.expect("what was read can be read again");
    found
}

fn keeps_cells(message: &impl Display, hidden: bool) {
    let message = message.to_string();
    assert!(!hidden || !message.contains(MARKER), "a cell in a message: {message}");
}

/// A formula that was understood is understood again as it prints itself.
fn reads_back(formula: &Formula) {
    let text = formula.to_string();
    let again = Formula::parse(&text).unwrap_or_else(|error| panic!("{text:?} does not read back: {error}"));
    assert_eq!(again.to_string(), text);
}

/// A folder in memory where there is one, gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // In octal, so that no number ever spells the marker in a message that names the file.
        let folder = base.join(format!("dplm-fuzz-{:o}-{number:o}", std::process::id()));
        fs::create_dir_all(&folder).expect("scratch space");
        Scratch(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the machine's next start.
        let _ = fs::remove_dir_all(&self.0);
    }
}
