//! One row decides nothing but its own contribution.
//!
//! A row of a table, or several at a time, is replaced by anything its format can express. The
//! columns, the plan, every refusal and every other row's integers must stay the same, for every
//! source of tables. `DPLM_LOCALITY_ROWS=100000` replaces more rows than the default of a few
//! hundred.

use std::{fs, fs::File, io::Write, path::Path, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, NullArray, RecordBatch, StringArray,
    StructArray, UnionArray, types::Int32Type,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, UnionFields};
use dplm::{
    Dataset, NoiseSource, Reading,
    formula::Formula,
    method::{Purpose, Request, Tuning, dpgd},
    privacy::Rho,
    table::{DataError, ReadOptions, Source},
};
use flate2::write::GzEncoder;
use parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use tempfile::TempDir;

/// The default number of replaced rows per source.
const REPLACED: usize = 300;
/// Rows of a table.
const ROWS: usize = 40;
/// How many of them are replaced at a time.
const AT_ONCE: [usize; 4] = [1, 1, 2, ROWS / 2];

/// Models that read the columns of [`row`] in every way a formula can.
const FORMULAS: [&str; 6] = [
    "y[-10..10] ~ x[0..5] + count[0..9] + g{a,b} + member{false,true}",
    "y ~ x + count{0,1,2} + g{b,NA,1} + 0",
    "count[-3..3] ~ y[0..1] + member + g{a,true,0.5}",
    "log(y[0.5..10]) ~ poly(x[0..5], 2) * g{a,b,*} + I(count[0..9]^2):member{false,true} + offset(sqrt(count))",
    // Refused where notes are nested.
    "y[0..10] ~ I(note[2020-01-01..2024-12-31]^2) + x[0..1]",
    // Refused without declared types, whatever the cells are.
    "y ~ .",
];

/// A cell, for every type of column.
#[derive(Clone, Debug)]
enum Cell {
    Nothing,
    Truth(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

use Cell::{Integer, Nothing, Number, Text, Truth};

struct Chance(ChaCha20Rng);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn number(&mut self) -> f64 {
        const ODD: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            5e-324,
            f64::MIN_POSITIVE,
            f64::MAX,
            -1e308,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            9_007_199_254_740_993.0,
            0.5,
        ];
        match self.below(3) {
            0 => self.pick(&ODD),
            1 => f64::from_bits(self.0.next_u64()),
            _ => self.below(2000) as f64 / 100.0 - 10.0,
        }
    }

    fn integer(&mut self) -> i64 {
        match self.below(3) {
            0 => self.pick(&[i64::MIN, i64::MAX, -1, 0, 1 << 53, (1 << 53) + 1]),
            _ => self.below(12) as i64 - 3,
        }
    }

    /// Texts that some reader interprets, and texts that none does.
    fn text(&mut self) -> String {
        const ODD: [&str; 30] = [
            "",
            "a",
            "b",
            "NA",
            "null",
            "NaN",
            "true",
            "False",
            "1",
            "1.0",
            "01",
            "+1",
            "1e3",
            "-inf",
            "0x1F",
            "1,5",
            "1.234,5",
            "2024-01-31",
            "2020-02-30",
            "2020-05-05T10:00",
            "\"",
            "\"\"",
            "a,b",
            "a\tb",
            "a\nb",
            "a\r\nb",
            "\u{feff}",
            "\0",
            " b ",
            "é",
        ];
        match self.below(4) {
            0 => self.number().to_string(),
            1 => "x,\"\n".repeat(self.below(200)),
            2 => char::from_u32(self.below(0xd800) as u32).map_or(String::new(), String::from),
            _ => self.pick(&ODD).to_owned(),
        }
    }

    fn any(&mut self) -> Cell {
        match self.below(5) {
            0 => Nothing,
            1 => Truth(self.below(2) == 1),
            2 => Integer(self.integer()),
            3 => Number(self.number()),
            _ => Text(self.text()),
        }
    }

    fn nullable(&mut self, cell: impl Fn(&mut Chance) -> Cell) -> Cell {
        if self.below(6) == 0 { Nothing } else { cell(self) }
    }

    /// A row whose cells have the declared types: y, x numbers; count whole; g text; member a
    /// boolean; note text.
    fn typed_row(&mut self) -> Vec<Cell> {
        vec![
            self.nullable(|chance| Number(chance.number())),
            self.nullable(|chance| Number(chance.number())),
            self.nullable(|chance| Integer(chance.integer())),
            self.nullable(|chance| Text(chance.text())),
            self.nullable(|chance| Truth(chance.below(2) == 1)),
            self.nullable(|chance| Text(chance.text())),
        ]
    }

    /// A row of any cells.
    fn any_row(&mut self) -> Vec<Cell> {
        (0..NAMES.len()).map(|_| self.any()).collect()
    }
}

const NAMES: [&str; 6] = ["y", "x", "count", "g", "member", "note"];

/// The rows that are not replaced: ordinary ones.
fn ordinary(row: usize) -> Vec<Cell> {
    let g = ["a", "b", "c"][row % 3];
    let number = |factor: usize| Number((row * factor % 11) as f64 / 2.0);
    vec![
        number(3),
        number(5),
        Integer(row as i64 % 4),
        Text(g.to_owned()),
        Truth(row.is_multiple_of(2)),
        Text(format!("2020-01-{:02}", 1 + row % 28)),
    ]
}

/// A source of tables: the rows it can hold, and how a table of them is opened.
struct Way {
    name: &'static str,
    row: fn(&mut Chance) -> Vec<Cell>,
    open: fn(&Path, &[Vec<Cell>]) -> Result<Source, DataError>,
}

/// A test for each source.
macro_rules! ways {
    ($($name:ident: $row:path, $open:expr;)*) => {
        $(#[test]
        fn $name() {
            check(&Way { name: stringify!($name), row: $row, open: $open });
        })*
    };
}

ways! {
    csv: Chance::any_row, |folder, rows| file(folder, "t.csv", &delimited(rows, ','));
    tsv: Chance::any_row, |folder, rows| file(folder, "t.tsv", &delimited(rows, '\t'));
    semicolons_and_decimal_commas: Chance::any_row, |folder, rows| {
        fs::write(folder.join("t.csv"), delimited(rows, ';').replace('.', ",")).unwrap();
        Source::open_as(&[folder.join("t.csv")], "semicolon,decimal-comma".parse().unwrap())
    };
    gzip: Chance::any_row, |folder, rows| {
        let mut writer = GzEncoder::new(File::create(folder.join("t.csv.gz")).unwrap(), flate2::Compression::fast());
        writer.write_all(delimited(rows, ',').as_bytes()).unwrap();
        writer.finish().unwrap();
        opened(&folder.join("t.csv.gz"))
    };
    zstandard: Chance::any_row, |folder, rows| {
        let packed = zstd::encode_all(delimited(rows, '\t').as_bytes(), 1).unwrap();
        fs::write(folder.join("t.tsv.zst"), packed).unwrap();
        opened(&folder.join("t.tsv.zst"))
    };
    standard_input: Chance::any_row, |_, rows| {
        Source::from_csv_stream(&mut delimited(rows, ',').as_bytes(), "standard input")
    };
    folder: Chance::any_row, |folder, rows| parts(folder, rows, "parts");
    pattern: Chance::any_row, |folder, rows| parts(folder, rows, "parts/*.csv");
    parquet_plain: Chance::typed_row, |folder, rows| parquet_file(folder, &typed(rows), false);
    parquet_with_dictionaries: Chance::typed_row, |folder, rows| parquet_file(folder, &encoded(rows), true);
    arrow_files: Chance::typed_row, |folder, rows| arrow_file(folder, &encoded(rows));
    arrow_on_standard_input: Chance::typed_row, |folder, rows| {
        drop(arrow_stream(folder, &typed(rows)));
        Source::from_stream(&mut File::open(folder.join("t.ipc")).unwrap(), "standard input")
    };
    arrow_streams: Chance::typed_row, |folder, rows| arrow_stream(folder, &typed(rows));
    memory_in_chunks: Chance::typed_row, |_, rows| chunks(rows);
    memory_with_cells_of_any_type: Chance::any_row, |_, rows| {
        let table = unions(rows);
        Source::from_batches(table.schema(), vec![table], "the table")
    };
}

fn file(folder: &Path, name: &str, text: &str) -> Result<Source, DataError> {
    fs::write(folder.join(name), text).unwrap();
    opened(&folder.join(name))
}

fn opened(path: &Path) -> Result<Source, DataError> {
    Source::open(&[path])
}

/// Rows as text; cells are quoted where necessary, and sometimes where not.
fn delimited(rows: &[Vec<Cell>], delimiter: char) -> String {
    let line = |(number, row): (usize, &Vec<Cell>)| {
        let cells: Vec<String> = row.iter().map(|cell| quoted(&shown(cell), delimiter, number % 5 == 4)).collect();
        cells.join(&delimiter.to_string()) + if number % 4 == 3 { "\r\n" } else { "\n" }
    };
    let header = NAMES.join(&delimiter.to_string()) + "\n";
    header + &rows.iter().enumerate().map(line).collect::<String>()
}

fn shown(cell: &Cell) -> String {
    match cell {
        Nothing => String::new(),
        Truth(truth) => truth.to_string(),
        Integer(integer) => integer.to_string(),
        Number(number) => number.to_string(),
        Text(text) => text.clone(),
    }
}

fn quoted(cell: &str, delimiter: char, always: bool) -> String {
    let must = cell.contains(['"', '\n', '\r', delimiter]);
    if must || always { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// The rows in two files of a folder.
fn parts(folder: &Path, rows: &[Vec<Cell>], name: &str) -> Result<Source, DataError> {
    let (first, second) = rows.split_at(rows.len() / 3);
    fs::create_dir_all(folder.join("parts")).unwrap();
    fs::write(folder.join("parts/1.csv"), delimited(first, ',')).unwrap();
    fs::write(folder.join("parts/2.csv"), delimited(second, ',')).unwrap();
    opened(&folder.join(name))
}

/// One column of the rows, by the type of its cells.
fn column<'a, T>(rows: &'a [Vec<Cell>], index: usize, of: fn(&'a Cell) -> Option<T>) -> Vec<Option<T>> {
    rows.iter().map(|row| of(&row[index])).collect()
}

fn number(cell: &Cell) -> Option<f64> {
    if let Number(number) = cell { Some(*number) } else { None }
}

fn integer(cell: &Cell) -> Option<i64> {
    if let Integer(integer) = cell { Some(*integer) } else { None }
}

fn truth(cell: &Cell) -> Option<bool> {
    if let Truth(truth) = cell { Some(*truth) } else { None }
}

fn text(cell: &Cell) -> Option<&str> {
    if let Text(text) = cell { Some(text) } else { None }
}

fn table(columns: [ArrayRef; 6]) -> RecordBatch {
    let named = NAMES.into_iter().zip(columns).map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(named).unwrap()
}

/// Columns of declared types; the notes are nested, and null at either depth.
fn typed(rows: &[Vec<Cell>]) -> RecordBatch {
    let notes: ArrayRef = Arc::new(StringArray::from(column(rows, 5, text)));
    let inner = Arc::new(Field::new("inner", DataType::Utf8, true));
    let valid = rows.iter().map(|row| !matches!(row[5], Nothing)).collect::<Vec<bool>>();
    table([
        Arc::new(Float64Array::from(column(rows, 0, number))),
        Arc::new(Float64Array::from(column(rows, 1, number))),
        Arc::new(Int64Array::from(column(rows, 2, integer))),
        Arc::new(StringArray::from(column(rows, 3, text))),
        Arc::new(BooleanArray::from(column(rows, 4, truth))),
        Arc::new(StructArray::try_new(vec![inner].into(), vec![notes], Some(valid.into())).unwrap()),
    ])
}

/// The same with dictionaries for the texts.
fn encoded(rows: &[Vec<Cell>]) -> RecordBatch {
    let words = |index: usize| -> ArrayRef {
        Arc::new(column(rows, index, text).into_iter().collect::<DictionaryArray<Int32Type>>())
    };
    let plain = typed(rows);
    let keep = |index: usize| plain.column(index).clone();
    table([keep(0), keep(1), keep(2), words(3), keep(4), words(5)])
}

fn parquet_file(folder: &Path, table: &RecordBatch, dictionary: bool) -> Result<Source, DataError> {
    let path = folder.join("t.parquet");
    let properties =
        WriterProperties::builder().set_dictionary_enabled(dictionary).set_max_row_group_row_count(Some(5));
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), table.schema(), Some(properties.build())).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
    opened(&path)
}

fn arrow_file(folder: &Path, table: &RecordBatch) -> Result<Source, DataError> {
    let path = folder.join("t.arrow");
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &table.schema()).unwrap();
    writer.write(table).unwrap();
    writer.finish().unwrap();
    opened(&path)
}

fn arrow_stream(folder: &Path, table: &RecordBatch) -> Result<Source, DataError> {
    let path = folder.join("t.ipc");
    let mut writer = StreamWriter::try_new(File::create(&path).unwrap(), &table.schema()).unwrap();
    writer.write(table).unwrap();
    writer.finish().unwrap();
    opened(&path)
}

/// Batches of a few rows, each with its own dictionaries.
fn chunks(rows: &[Vec<Cell>]) -> Result<Source, DataError> {
    let batches: Vec<RecordBatch> = rows.chunks(3).map(encoded).collect();
    Source::from_batches(batches[0].schema(), batches, "the table")
}

/// Every cell with its own type, as in Python lists.
fn unions(rows: &[Vec<Cell>]) -> RecordBatch {
    table(std::array::from_fn(|index| union(&rows.iter().map(|row| row[index].clone()).collect::<Vec<_>>())))
}

fn union(cells: &[Cell]) -> ArrayRef {
    let kind = |cell: &Cell| match cell {
        Nothing => 0i8,
        Truth(_) => 1,
        Integer(_) => 2,
        Number(_) => 3,
        Text(_) => 4,
    };
    let types: Vec<i8> = cells.iter().map(kind).collect();
    let before = |index: usize| types[..index].iter().filter(|&&kind| kind == types[index]).count() as i32;
    let offsets: Vec<i32> = (0..cells.len()).map(before).collect();
    let nothing = types.iter().filter(|&&kind| kind == 0).count();
    let children: Vec<ArrayRef> = vec![
        Arc::new(NullArray::new(nothing)),
        Arc::new(cells.iter().filter_map(truth).map(Some).collect::<BooleanArray>()),
        Arc::new(cells.iter().filter_map(integer).collect::<Int64Array>()),
        Arc::new(cells.iter().filter_map(number).collect::<Float64Array>()),
        Arc::new(StringArray::from(cells.iter().filter_map(text).collect::<Vec<_>>())),
    ];
    let field =
        |(id, child): (i8, &ArrayRef)| (id, Arc::new(Field::new(id.to_string(), child.data_type().clone(), true)));
    let fields: UnionFields = (0i8..).zip(&children).map(field).collect();
    Arc::new(UnionArray::try_new(fields, types.into(), Some(offsets.into()), children).unwrap())
}

/// Everything that a table shows or contributes.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    schema: Option<String>,
    /// Of each formula, and then of the persons by each column.
    models: Vec<Result<Model, String>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Model {
    charge: Result<String, String>,
    /// The integers of each row, as bits.
    rows: Vec<Vec<u64>>,
}

impl Seen {
    /// The same except for some rows, which are those of `other`.
    fn with_rows_of(&self, other: &Seen, rows: &[usize]) -> Seen {
        let mut mixed = self.clone();
        for (mine, theirs) in mixed.models.iter_mut().zip(&other.models) {
            let (Ok(mine), Ok(theirs)) = (mine, theirs) else { continue };
            for &row in rows.iter().filter(|&&row| row < theirs.rows.len()) {
                mine.rows[row].clone_from(&theirs.rows[row]);
            }
        }
        mixed
    }
}

fn seen(source: Result<Source, DataError>, formulas: &[Formula], options: ReadOptions<'_>) -> Seen {
    match source {
        Err(error) => Seen { schema: None, models: vec![Err(error.to_string())] },
        Ok(source) => {
            let schema = Some(format!("{:?}", source.schema()));
            let model = |formula| model(&source, formula, options).map_err(|error| error.to_string());
            let models = formulas.iter().map(model).chain(NAMES.map(|column| persons(&source, column)));
            Seen { schema, models: models.collect() }
        }
    }
}

/// The person of each row by a column, as hashes that only the same key reproduces.
fn persons(source: &Source, column: &str) -> Result<Model, String> {
    let hashes = source.identified(column, false, [7; 32]).map_err(|error| error.to_string())?;
    let halves = |hash: &u128| vec![(hash >> 64) as u64, *hash as u64];
    Ok(Model { charge: Ok(column.to_owned()), rows: hashes.iter().map(halves).collect() })
}

fn model(source: &Source, formula: &Formula, options: ReadOptions<'_>) -> Result<Model, dplm::Error> {
    let mut data = Dataset::read(source, formula, &Reading { table: options, ..Reading::default() })?;
    let width = data.design().features();
    let clear = data.not_private().standardised_rows()?.into_inner();
    let row = |(x, y): (&[f64], &f64)| x.iter().chain([y]).map(|value| value.to_bits()).collect::<Vec<u64>>();
    let rows = clear.x.chunks(width).zip(&clear.y).map(row).collect();
    // The method with the fastest plan.
    let request = Request { purpose: Purpose::Prediction, ..Request::new(Rho::checked_from_f64(1000.0)?) };
    let tuning = Tuning { clip: Some(1.0), steps: Some(1), step_size: None };
    let config = dpgd::Config { request, tuning };
    let charge = data.prepare(&config, NoiseSource::System).map(|prepared| format!("{:?}", prepared.charge()));
    Ok(Model { charge: charge.map_err(|error| error.to_string()), rows })
}

fn replaced_rows() -> usize {
    std::env::var("DPLM_LOCALITY_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(REPLACED)
}

fn check(way: &Way) {
    let replaced = replaced_rows();
    let folder = TempDir::new_in(if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() });
    let folder = folder.unwrap();
    let formulas = FORMULAS.map(|text| Formula::parse(text).unwrap());
    let mut chance = Chance(ChaCha20Rng::seed_from_u64(way.name.len() as u64));
    let base: Vec<Vec<Cell>> = (0..ROWS).map(ordinary).collect();
    let before = seen((way.open)(folder.path(), &base), &formulas, ReadOptions::default());
    let reads = |model: &Result<Model, String>| model.as_ref().is_ok_and(|model| model.charge.is_ok());
    assert!(before.models[..4].iter().all(reads), "{before:?}");
    let mut done = 0;
    while done < replaced {
        let mut rows = base.clone();
        let first = chance.below(ROWS);
        let places: Vec<usize> = (0..chance.pick(&AT_ONCE)).map(|more| (first + 7 * more) % ROWS).collect();
        places.iter().for_each(|&place| rows[place] = (way.row)(&mut chance));
        let pieces = ReadOptions {
            block_rows: 1 + chance.below(20),
            segment_bytes: 1 + chance.below(400),
            ..ReadOptions::default()
        };
        let after = seen((way.open)(folder.path(), &rows), &formulas, pieces);
        let expected = before.with_rows_of(&after, &places);
        assert!(after == expected, "{}: rows {places:?} replaced: {rows:?}\n{after:?}\n{expected:?}", way.name);
        done += places.len();
    }
}
