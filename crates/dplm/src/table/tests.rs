use std::{
    fs::{self, File},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use ::parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array,
    Int8Array, Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray, StringViewArray, UInt64Array,
    UnionArray, types::Int32Type,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, UnionFields};
use tempfile::TempDir;

use super::{Block, Cells, DataError, MISSING, ReadOptions, Source, Type, bytes, parquet};
use crate::{
    Progress,
    formula::{Column, Formula, Kind},
};

/// What a column of blocks says, in a form that can be compared: `None` for a missing cell.
type Said = Vec<Option<f64>>;

fn number(name: &str) -> Column {
    Column { name: name.into(), kind: Kind::Standard }
}

fn category(name: &str, levels: &[&str]) -> Column {
    Column { name: name.into(), kind: Kind::Levels(levels.iter().map(|level| (*level).to_owned()).collect()) }
}

fn said(cells: &Cells) -> Said {
    match cells {
        Cells::Numbers(numbers) => numbers.iter().map(|number| number.is_finite().then_some(*number)).collect(),
        Cells::Levels(codes) => codes.iter().map(|code| (*code != MISSING).then_some(f64::from(*code))).collect(),
    }
}

fn read_with(source: &Source, columns: &[Column], options: &ReadOptions<'_>) -> Result<Vec<Said>, DataError> {
    let mut all = vec![Said::new(); columns.len()];
    source.for_each_block(columns, options, &mut |block| {
        assert!(block.rows > 0 && block.rows <= options.block_rows);
        for (column, cells) in all.iter_mut().zip(&block.columns) {
            let cells = said(cells);
            assert_eq!(cells.len(), block.rows);
            column.extend(cells);
        }
        Ok(())
    })?;
    Ok(all)
}

fn read(source: &Source, columns: &[Column]) -> Vec<Said> {
    read_with(source, columns, &ReadOptions::default()).expect("the source can be read")
}

fn open(path: &Path) -> Result<Source, DataError> {
    Source::open(&[path])
}

fn csv(text: impl AsRef<[u8]>) -> Result<Source, DataError> {
    Source::from_csv_stream(&mut text.as_ref(), "the stream")
}

/// What opening the text, and reading the column `x` of it, is refused with.
fn refusal(text: impl AsRef<[u8]>) -> String {
    let read = |source: Source| read_with(&source, &[number("x")], &ReadOptions::default());
    csv(text).and_then(read).expect_err("it is refused").to_string()
}

fn file(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).expect("a temporary file can be written");
    path
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("the columns fit together")
}

fn write_parquet(path: &Path, batch: &RecordBatch, compression: Compression) {
    let properties = WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(3));
    let file = File::create(path).expect("a temporary file can be made");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).expect("a writer");
    writer.write(batch).expect("the batch is written");
    writer.close().expect("the file is finished");
}

fn write_arrow(path: &Path, batch: &RecordBatch) {
    let mut writer = FileWriter::try_new(File::create(path).expect("a file"), &batch.schema()).expect("a writer");
    writer.write(batch).expect("the batch is written");
    writer.finish().expect("the file is finished");
}

fn write_stream(path: &Path, batch: &RecordBatch) {
    let mut writer = StreamWriter::try_new(File::create(path).expect("a file"), &batch.schema()).expect("a writer");
    writer.write(batch).expect("the batch is written");
    writer.finish().expect("the stream is finished");
}

fn survey() -> RecordBatch {
    let dictionary: DictionaryArray<Int32Type> =
        [Some("north"), Some("south"), None, Some("north"), Some("")].into_iter().collect();
    batch(vec![
        ("y", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-2e3), Some(f64::INFINITY), Some(0.1)]))),
        ("unused", Arc::new(StringArray::from(vec!["p,q", "r\"s", "t\nu", "", "w"]))),
        ("count", Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(3), None, Some(7)]))),
        ("region", Arc::new(StringArray::from(vec![Some("south"), Some("east"), None, Some("north"), Some("NA")]))),
        ("code", Arc::new(dictionary)),
    ])
}

const SURVEY_CSV: &str = "y,unused,count,region,code\r\n\
    1.5,\"p,q\",1,south,north\r\n\
    NA,\"r\"\"s\",2,east,south\r\n\
    -2e3,\"t\r\nu\", 3 ,,\r\n\
    inf,,,\"north\",north\r\n\
    .1,w,7,NA,\"\"\r\n";

fn survey_columns() -> Vec<Column> {
    let region = ["north", "south"];
    vec![
        number("count"),
        category("region", &region),
        number("y"),
        category("code", &region),
        Column { name: "y".into(), kind: Kind::Bounded { low: 0.0, high: 1.0 } },
    ]
}

fn survey_said() -> Vec<Said> {
    let y = vec![Some(1.5), None, Some(-2000.0), None, Some(0.1)];
    vec![
        vec![Some(1.0), Some(2.0), Some(3.0), None, Some(7.0)],
        vec![Some(1.0), Some(0.0), None, Some(0.0), None],
        y.clone(),
        vec![Some(0.0), Some(1.0), None, Some(0.0), None],
        y,
    ]
}

#[test]
fn every_format_gives_the_same_blocks() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.csv"), SURVEY_CSV).unwrap();
    fs::write(path("b.TSV"), SURVEY_CSV.replace(',', "\t").replace("p\tq", "p,q")).unwrap();
    fs::write(path("c.csv"), format!("\u{feff}{}\n\n", SURVEY_CSV.replace("\r\n", "\n"))).unwrap();
    fs::write(path("d.csv"), SURVEY_CSV.replace("\r\n", "\r")).unwrap();
    fs::write(path("e.csv"), SURVEY_CSV.trim_end()).unwrap();
    write_parquet(&path("f.parquet"), &survey(), Compression::SNAPPY);
    write_parquet(&path("g.parquet"), &survey(), Compression::UNCOMPRESSED);
    write_parquet(&path("h.parquet"), &survey(), Compression::ZSTD(Default::default()));
    write_parquet(&path("i.parquet"), &survey(), Compression::GZIP(Default::default()));
    write_parquet(&path("j.parquet"), &survey(), Compression::LZ4_RAW);
    write_arrow(&path("k.arrow"), &survey());
    write_arrow(&path("l.feather"), &survey());
    write_stream(&path("m.ipc"), &survey());
    let mut paths: Vec<PathBuf> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 13);
    for path in paths {
        let source = open(&path).unwrap();
        for block_rows in [65_536, 2, 1] {
            let options = ReadOptions { block_rows, ..ReadOptions::default() };
            let said = read_with(&source, &survey_columns(), &options).unwrap();
            assert_eq!(said, survey_said(), "{} in blocks of {block_rows}", path.display());
        }
    }
}

#[test]
fn schemas_name_columns_and_types() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.parquet");
    write_parquet(&path, &survey(), Compression::SNAPPY);
    let kinds = |source: &Source| source.schema().fields().iter().map(|field| field.kind).collect::<Vec<_>>();
    let expected = [Type::Number, Type::Text, Type::Number, Type::Text, Type::Text];
    assert_eq!(kinds(&open(&path).unwrap()), expected);
    let text = csv(SURVEY_CSV).unwrap();
    assert_eq!(kinds(&text), [Type::Undeclared; 5], "whatever the cells look like");
    assert_eq!(text.schema().names().collect::<Vec<_>>(), ["y", "unused", "count", "region", "code"]);
}

#[test]
fn the_dot_is_refused_on_text_whatever_its_cells() {
    for cell in ["3.1", "abc", ""] {
        let source = csv(format!("y,x,note\n1,2,{cell}\n2,3,\n")).unwrap();
        let message = Formula::parse("y ~ .").unwrap().resolve(source.schema()).unwrap_err().to_string();
        assert!(
            message.starts_with("'.' needs columns whose types are declared, which a text file does not do"),
            "{message}"
        );
    }
}

/// What the first line holds is never shown where it may be a row: `secret` and `77` are cells here.
#[test]
fn a_first_line_that_may_be_a_row_is_not_shown() {
    for line in
        ["77,secret", "secret,2024-01-31", "NA,secret", "secret,12:30", "secret,-1e5", "n/a,secret", "secret,inf"]
    {
        let message = refusal(format!("{line}\n1,2\n"));
        assert!(message.starts_with("the first line of the stream looks like data"), "{line}: {message}");
        assert!(!message.contains("secret") && !message.contains("77"), "{message}");
    }
    assert_eq!(refusal("secret,b\n1,2\n"), "the data have no column 'x': check the formula against the header");
    assert_eq!(refusal("xx,secret\n1,2\n"), "the data have no column 'x': check the formula against the header");
    assert_eq!(
        refusal("secret,b,secret\n1,2,3\n"),
        "columns 1 and 3 of the stream have the same name: rename one of them"
    );
    let columns = [number("y"), number("incme")];
    let known = csv("y,income,1stFloor,2nd-quarter,\n1,2,3,4,5\n").unwrap();
    let message = read_with(&known, &columns, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(message, "the data have no column 'incme': did you mean 'income'?", "a header that has 'y' is one");
}

#[test]
fn the_same_rows_twice_are_refused() {
    let folder = TempDir::new().unwrap();
    let a = file(&folder, "a.csv", "x,g\n1,a\n2,b\n");
    let (b, c) = (file(&folder, "b.csv", "x,g\n1,a\n2,b\n"), file(&folder, "c.csv", "x,g\n1,a\n2,a\n"));
    let shown = |path: &Path| path.display().to_string();
    let refused = |inputs: &[String]| Source::open(inputs).err().expect("it is refused").to_string();
    for inputs in
        [[shown(&a), shown(&a)], [shown(&a), shown(&b)], [shown(&a), format!("{}/*.csv", shown(folder.path()))]]
    {
        assert!(refused(&inputs).contains("are the same data: name them once"), "{inputs:?}");
    }
    assert!(Source::open(&[shown(&a), shown(&c)]).is_ok());
    #[cfg(unix)]
    {
        let link = folder.path().join("link.csv");
        std::os::unix::fs::symlink(&a, &link).unwrap();
        assert!(refused(&[shown(&a), shown(&link)]).contains("are the same data"));
    }
    let empty = [file(&folder, "d.csv", "x,g\n"), file(&folder, "e.csv", "x,g\n"), c].map(|path| shown(&path));
    assert!(Source::open(&empty).is_ok(), "files without rows repeat nobody");
}

#[test]
fn numbers_are_read_from_every_numeric_type() {
    let folder = TempDir::new().unwrap();
    let decimals = Decimal128Array::from(vec![Some(150), None]).with_precision_and_scale(9, 2).unwrap();
    let dictionary =
        DictionaryArray::<Int32Type>::new(vec![Some(1), None].into(), Arc::new(Float64Array::from(vec![8.0, 1.5])));
    let table = batch(vec![
        ("i8", Arc::new(Int8Array::from(vec![Some(-3), None]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(0.5), Some(f32::NAN)]))),
        ("decimal", Arc::new(decimals)),
        ("truth", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("dictionary", Arc::new(dictionary)),
        ("nothing", Arc::new(NullArray::new(2))),
    ]);
    let path = folder.path().join("a.arrow");
    write_arrow(&path, &table);
    let columns: Vec<Column> = table.schema().fields().iter().map(|field| number(field.name())).collect();
    let firsts = [-3.0, u64::MAX as f64, 0.5, 1.5, 1.0, 1.5].map(|first| vec![Some(first), None]);
    let said = read(&open(&path).unwrap(), &columns);
    assert_eq!(said[..6], firsts);
    assert_eq!(said[6], [None, None]);
}

#[test]
fn levels_are_read_from_text_whole_numbers_and_truth_values() {
    let folder = TempDir::new().unwrap();
    let table = batch(vec![
        ("large", Arc::new(LargeStringArray::from(vec![Some("b"), None, Some("zzz")]))),
        ("view", Arc::new(StringViewArray::from(vec![Some(" b "), Some("null"), Some("zzz")]))),
        ("i8", Arc::new(Int8Array::from(vec![Some(-3), None, Some(3)]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(5)]))),
        ("truth", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("f64", Arc::new(Float64Array::from(vec![Some(-3.0), Some(f64::NAN), Some(3.5)]))),
        ("half", Arc::new(Float32Array::from(vec![Some(0.5), None, Some(f32::INFINITY)]))),
        ("nothing", Arc::new(NullArray::new(3))),
    ]);
    let path = folder.path().join("a.arrow");
    write_arrow(&path, &table);
    let columns = [
        category("large", &["a", "b"]),
        category("view", &["a", "b"]),
        category("i8", &["0", "-3", "03"]),
        category("u64", &["1", "18446744073709551615"]),
        category("truth", &["False", "True"]),
        category("f64", &["0", "-3", "3"]),
        category("half", &["0", "0.5"]),
        category("nothing", &["a", "b"]),
    ];
    let said = read(&open(&path).unwrap(), &columns);
    for column in &said[..7] {
        assert_eq!(*column, [Some(1.0), None, Some(0.0)]);
    }
    assert_eq!(said[7], [None, None, None]);
}

/// A missing cell turns a column of whole numbers into one of floats in many programs: the others must read the same.
#[test]
fn whole_numbers_are_the_same_levels_as_floats() {
    let whole = [0i64, 1, -7, 100, 1 << 53, 5];
    let texts = ["0", "1.0", "-7", "100", "9007199254740992", "x", "05"];
    let columns = [category("i", &texts), category("f", &texts), category("d", &texts)];
    let decimals = Decimal128Array::from(whole.map(|value| i128::from(value) * 100).to_vec());
    let table = batch(vec![
        ("i", Arc::new(Int64Array::from(whole.to_vec()))),
        ("f", Arc::new(Float64Array::from(whole.map(|value| value as f64).to_vec()))),
        ("d", Arc::new(decimals.with_precision_and_scale(38, 2).unwrap())),
    ]);
    let source = Source::from_batches(table.schema(), vec![table], "the table").unwrap();
    let said = read(&source, &columns);
    assert_eq!(said[0], [0.0, 1.0, 2.0, 3.0, 4.0, 0.0].map(Some), "5 is not 05");
    assert_eq!((&said[1], &said[2]), (&said[0], &said[0]));
}

/// One cell that is a number turns truth values into 1 and 0 in many programs, one that is a text turns them into True and False and numbers
/// into their digits: the others must read the same.
#[test]
fn truth_values_and_numbers_mean_the_same_whatever_they_are_stored_as() {
    let stored: [(&str, ArrayRef); 5] = [
        ("b", Arc::new(BooleanArray::from(vec![true, false]))),
        ("i", Arc::new(Int8Array::from(vec![1, 0]))),
        ("f", Arc::new(Float64Array::from(vec![1.0, 0.0]))),
        ("python", Arc::new(StringArray::from(vec!["True", "False"]))),
        ("digits", Arc::new(StringArray::from(vec!["1", "0.0"]))),
    ];
    for (name, array) in stored {
        let table = batch(vec![("x", array)]);
        let source = Source::from_batches(table.schema(), vec![table], "the table").unwrap();
        for levels in [["false", "true"], ["FALSE", "TRUE"], ["0", "1"], ["0.0", "1.0"]] {
            assert_eq!(read(&source, &[category("x", &levels)]), [[Some(1.0), Some(0.0)]], "{name} {levels:?}");
        }
        // A level that says the very word comes first, and a text that no program prints for a number is none.
        let exact = [category("x", &["-", "true", "1", "01", "+1"])];
        let code = if matches!(name, "b" | "python") { 1.0 } else { 2.0 };
        assert_eq!(read(&source, &exact), [[Some(code), Some(0.0)]], "{name}");
    }
    let texts = batch(vec![("x", Arc::new(StringArray::from(vec!["True", "2", "1e-05", "05", "+2", "yes"])))]);
    let source = Source::from_batches(texts.schema(), vec![texts], "the table").unwrap();
    let levels = [category("x", &["-", "1", "2.0", "0.00001"])];
    assert_eq!(read(&source, &levels), [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0].map(Some)]);
}

#[test]
fn a_cell_of_a_union_is_read_as_its_own_type_says() {
    let kinds = [DataType::Boolean, DataType::Int64, DataType::Float64, DataType::Utf8, DataType::Date32];
    let fields: UnionFields =
        kinds.into_iter().zip(0i8..).map(|(kind, id)| (id, Arc::new(Field::new(id.to_string(), kind, true)))).collect();
    let children: Vec<ArrayRef> = vec![
        Arc::new(BooleanArray::from(vec![Some(true)])),
        Arc::new(Int64Array::from(vec![Some(1), None])),
        Arc::new(Float64Array::from(vec![Some(1.0), Some(f64::NAN)])),
        Arc::new(StringArray::from(vec![Some("1"), Some(" true "), Some("NA"), Some("b")])),
        Arc::new(Date32Array::from(vec![1])),
    ];
    let (types, offsets) = (vec![0i8, 1, 1, 2, 2, 3, 3, 3, 3, 4], vec![0, 0, 1, 0, 1, 0, 1, 2, 3, 0]);
    let union = UnionArray::try_new(fields, types.into(), Some(offsets.into()), children).unwrap();
    let keys = Int8Array::from((0..10).rev().map(Some).chain([None]).collect::<Vec<_>>());
    let dictionary = DictionaryArray::try_new(keys, Arc::new(union.clone())).unwrap();
    let numbers = [Some(1.0), Some(1.0), None, Some(1.0), None, Some(1.0), Some(1.0), None, None, None];
    let levels = [Some(2.0), Some(1.0), None, Some(1.0), None, Some(1.0), Some(2.0), None, Some(0.0), None];
    let reversed = |said: &[Option<f64>]| said.iter().rev().copied().chain([None]).collect::<Vec<_>>();
    let columns = |name: &str| [number(name), category(name, &["a", "1", "true"])];
    for (array, said) in [
        (Arc::new(union) as ArrayRef, [numbers.to_vec(), levels.to_vec()]),
        (Arc::new(dictionary) as ArrayRef, [reversed(&numbers), reversed(&levels)]),
    ] {
        let table = batch(vec![("u", array)]);
        let source = Source::from_batches(table.schema(), vec![table], "the table").unwrap();
        assert_eq!(source.schema().fields()[0].kind, Type::Undeclared);
        for block_rows in [100, 3] {
            let options = ReadOptions { block_rows, ..ReadOptions::default() };
            assert_eq!(read_with(&source, &columns("u"), &options).unwrap(), said);
        }
    }
}

#[test]
fn columns_of_other_types_are_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let table = batch(vec![
        ("text", Arc::new(StringArray::from(vec!["secret"]))),
        ("date", Arc::new(Date32Array::from(vec![1]))),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"secret"[..]]))),
        ("float", Arc::new(Float64Array::from(vec![1.0]))),
    ]);
    let path = folder.path().join("a.parquet");
    write_parquet(&path, &table, Compression::SNAPPY);
    let source = open(&path).unwrap();
    let refused = |column: Column| read_with(&source, &[column], &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused(number("text")).starts_with("column 'text' holds text"));
    assert!(refused(number("date")).starts_with("column 'date' holds dates or times"));
    assert!(refused(category("date", &["a", "b"])).starts_with("column 'date' holds dates or times"));
    assert!(refused(number("bytes")).starts_with("column 'bytes' is of a type a model cannot use"));
    assert!(refused(number("flaot")).starts_with("the data have no column 'flaot': did you mean 'float'?"));
}

#[test]
fn missing_markers_of_csv() {
    let cells = ["", "NA", "NaN", "nan", "null", "NULL", "-", "1,5", "1_0", "inf", "-inf", "1e999", "0x1"];
    let rows: String = cells.iter().map(|cell| format!("\"{cell}\",\"{cell}\"\n")).collect();
    let source = csv(format!("x,g\n{rows} 1 , b \n+1.5e0,\"b\"\n")).unwrap();
    let said = read(&source, &[number("x"), category("g", &["a", "b"])]);
    let count = cells.len();
    assert_eq!(said[0][..count], vec![None; count]);
    assert_eq!(said[0][count..], [Some(1.0), Some(1.5)]);
    assert_eq!(said[1][..6], vec![None; 6]);
    assert_eq!(said[1][6..count], vec![Some(0.0); count - 6]);
    assert_eq!(said[1][count..], [Some(1.0), Some(1.0)]);
}

#[test]
fn a_missing_marker_may_be_a_level() {
    let source = csv("x,g\n1,NA\n2,DE\n").unwrap();
    assert_eq!(read(&source, &[category("g", &["DE", "NA"])]), [vec![Some(1.0), Some(0.0)]]);
}

#[test]
fn strict_refuses_naming_the_column_only() {
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let g = || category("g", &["a", "b"]);
    let refused = |text: &str| read_with(&csv(text).unwrap(), &[number("x"), g()], &strict).unwrap_err().to_string();
    for cell in ["", "NA", "abc", "inf", "nan", "1e999"] {
        let message = refused(&format!("x,g\n1,a\n{cell},b\n"));
        let expected = "column 'x' has a missing or unusable cell, which strict reading refuses: \
                        repair the data or read without it";
        assert_eq!(message, expected, "{cell}");
    }
    for cell in ["", "NA", "c", "A"] {
        assert!(refused(&format!("x,g\n1,a\n2,{cell}\n")).starts_with("column 'g' has a missing"), "{cell}");
    }
    let fine = csv("x,g,unused\n1,a,\n2,b,NA\n").unwrap();
    assert_eq!(read_with(&fine, &[number("x"), g()], &strict).unwrap()[1], [Some(0.0), Some(1.0)]);
}

#[test]
fn a_giant_cell_is_unparsable_and_does_no_harm() {
    let giant = "0".repeat((1 << 20) + 1);
    let source = csv(format!("x,g\n1,a\n{giant},\"{giant}\"\n3,b\n")).unwrap();
    let said = read(&source, &[number("x"), category("g", &["a", "b"])]);
    assert_eq!(said, [vec![Some(1.0), None, Some(3.0)], vec![Some(0.0), None, Some(1.0)]]);
}

#[test]
fn a_block_of_giant_rows_is_cut_short() {
    let wide = "\"a\nb\" ".repeat(1 << 18);
    let rows: String = (0..90).map(|row| format!("{row},\"{}\"\r\n", wide.replace('"', ""))).collect();
    let source = csv(format!("x,note\n{rows}")).unwrap();
    let mut sizes = Vec::new();
    let mut next = 0;
    let each = &mut |block: Block| {
        sizes.push(block.rows);
        for cell in said(&block.columns[0]) {
            assert_eq!(cell, Some(f64::from(next)));
            next += 1;
        }
        Ok(())
    };
    source.for_each_block(&[number("x")], &ReadOptions::default(), each).unwrap();
    assert_eq!(next, 90);
    assert!(sizes.len() > 1, "{sizes:?}");
}

#[test]
fn an_open_quote_is_found_before_it_swallows_the_memory() {
    let rows = "1,2\n".repeat((LONGEST_ROW_MIB << 20) / 4 + (1 << 20));
    let message = refusal(format!("x,g\n1,2\n3,\"open\n{rows}"));
    assert!(message.starts_with("the stream, line 3: the row that starts here is over 64 MiB long"), "{message}");
}

/// As the message says it.
const LONGEST_ROW_MIB: usize = 64;

#[test]
fn broken_text_is_refused_by_line() {
    let long = "1,2\n".repeat(70_000);
    let table = [
        ("x,g\n1,2\n1\n", "the stream, line 3: the row does not have the 2 cells of the header"),
        ("x,g\n1,2,3\n", "the stream, line 2: the row does not have the 2 cells of the header"),
        ("x,g\n\n1,2\n\n1,2,3\n", "the stream, line 5: the row does not have the 2 cells of the header"),
        ("x,g\n1,\"two\nlines\"\n1,\"two\r\nmore", "the stream, line 4: a quote opens a cell here and is never closed"),
        ("x,g\n1,\"two\nlines\"\n\"3\n\n", "the stream, line 4: a quote opens a cell here and is never closed"),
        ("x,g\n1,2\n3,\"so\" said\n", "the stream, line 3: text follows the quote that closes a cell"),
        ("x,g\n1,\"very good\n3,\"b\"\n", "the stream, line 3: text follows the quote that closes a cell"),
        ("x,\"note\n1,2\n2,3\"\n3,4\n", "the first line of the stream looks like data"),
        ("x,g\r1,2\r3\r", "the stream, line 3: the row does not have the 2 cells of the header"),
        (&format!("x,g\n{long}3\n4,5\n"), "the stream, line 70002: the row does not have the 2 cells"),
        ("", "the stream is empty: it needs a header and rows"),
        ("\n\n", "the stream is empty: it needs a header and rows"),
        ("\u{feff}", "the stream is empty: it needs a header and rows"),
        ("x,g\n", "the stream has a header but no rows: there is nothing to fit"),
        ("x,g", "the stream has a header but no rows: there is nothing to fit"),
        ("x,g,x\n1,2,3\n", "columns 1 and 3 of the stream have the same name: rename one of them"),
        ("x, x\n1,2\n", "columns 1 and 2 of the stream have the same name: rename one of them"),
        ("x\n1\n\n3\n", "the stream, line 3: a blank line among the rows of a one-column file"),
        ("x\r1\r\r3\r", "the stream, line 3: a blank line among the rows of a one-column file"),
        ("x\r\n1\r\n\r\n\r\n3\r\n", "the stream, line 3: a blank line among the rows of a one-column file"),
    ];
    for (text, expected) in table {
        let message = refusal(text);
        assert!(message.starts_with(expected), "{}: {message}", &text[..text.len().min(40)]);
    }
    assert_eq!(read(&csv("x\n1\n3\n\n\n").unwrap(), &[number("x")]), [vec![Some(1.0), Some(3.0)]]);
}

#[test]
fn text_in_another_encoding_is_refused_by_line() {
    let late = [b"x,g\n".as_slice(), &b"1,2\n".repeat(300_000), b"3,caf\xe9\n"].concat();
    let table: [(&[u8], &str); 6] = [
        (b"x,caf\xe9\n1,2\n", "the stream, line 1: the text is not UTF-8"),
        (b"x,g\n1,2\n3,caf\xe9\n", "the stream, line 3: the text is not UTF-8"),
        (b"x,g\n1,\xc3,\xa9\n", "the stream, line 2: the text is not UTF-8"),
        (b"x,g\n1,2\n3,caf\xc3", "the stream, line 3: the text is not UTF-8"),
        (b"\xff\xfex\0,\0", "the stream, line 1: the text is not UTF-8"),
        (&late, "the stream, line 300002: the text is not UTF-8"),
    ];
    for (text, expected) in table {
        let message = refusal(text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn characters_cut_by_the_edge_of_a_chunk_are_put_together() {
    // One byte more each time, so that the edge at 1 MiB falls on every part of a character.
    for lead in 0..5 {
        let text = format!("x,g{}\n{}", "g".repeat(lead), "1,é€😀\n".repeat(200_000));
        let source = csv(&text).unwrap();
        let name = format!("g{}", "g".repeat(lead));
        let said = read(&source, &[category(&name, &["a", "é€😀"])]);
        assert_eq!(said, [vec![Some(1.0); 200_000]]);
    }
}

#[test]
fn paths_that_lead_nowhere_are_refused() {
    let folder = TempDir::new().unwrap();
    let refused = |path: &Path| open(path).err().expect("it is refused").to_string();
    let shown = |path: &Path| path.display().to_string();
    let missing = folder.path().join("none.csv");
    assert_eq!(refused(&missing), format!("{} does not exist: check the path", shown(&missing)));
    assert!(refused(folder.path()).contains("holds no .csv, .tsv, .parquet"));
    assert!(refused(&folder.path().join("*.csv")).contains("holds no .csv, .tsv, .parquet"));
    assert!(refused(&folder.path().join("[")).contains("holds no .csv, .tsv, .parquet"));
    assert!(refused(&file(&folder, "a.xlsx", "x")).starts_with("the format of "));
    assert!(refused(&file(&folder, "a.csv.gz", "x")).contains("is compressed: decompress it first"));
    assert!(refused(&file(&folder, "a.csv", "")).contains("is empty"));
    assert!(refused(&file(&folder, "a.parquet", "")).contains("is empty"));
    assert!(Source::open(&[] as &[&str]).err().unwrap().to_string().starts_with("no data were named"));
}

#[test]
fn folders_and_patterns_are_read_in_order_of_name() {
    let folder = TempDir::new().unwrap();
    file(&folder, "b.csv", "x,g\n3,a\n");
    file(&folder, "a.csv", "g,x\na,1\nb,2\n");
    file(&folder, "empty.csv", "g,x\n");
    write_parquet(
        &folder.path().join("c.parquet"),
        &batch(vec![("x", Arc::new(Int64Array::from(vec![4]))), ("g", Arc::new(StringArray::from(vec!["b"])))]),
        Compression::SNAPPY,
    );
    file(&folder, "README.md", "not data");
    file(&folder, "_SUCCESS.csv", "not data");
    file(&folder, ".hidden.csv", "not data");
    fs::create_dir(folder.path().join("d.csv")).unwrap();
    let columns = [number("x"), category("g", &["a", "b"])];
    let four = vec![vec![Some(1.0), Some(2.0), Some(3.0), Some(4.0)], vec![Some(0.0), Some(1.0), Some(0.0), Some(1.0)]];
    assert_eq!(read(&open(folder.path()).unwrap(), &columns), four);
    assert_eq!(read(&open(&folder.path().join("[abc].*")).unwrap(), &columns), four);
    let three = four.iter().map(|column| column[..3].to_vec()).collect::<Vec<_>>();
    assert_eq!(read(&open(&folder.path().join("*.csv")).unwrap(), &columns), three);
    let literal = file(&folder, "[x]*.csv", "x,g\n9,b\n");
    if cfg!(unix) {
        assert_eq!(read(&open(&literal).unwrap(), &[number("x")]), [vec![Some(9.0)]]);
    }
}

#[test]
fn files_that_do_not_fit_together_are_named() {
    let folder = TempDir::new().unwrap();
    let names = |first: &Path, second: &Path| {
        let inputs = [first, second].map(|path| path.display().to_string());
        (Source::open(&inputs).err().expect("it is refused").to_string(), inputs)
    };
    let a = file(&folder, "a.csv", "x,g\n1,a\n");
    let (message, [first, second]) = names(&a, &file(&folder, "b.csv", "x,h\n1,a\n"));
    let expected = format!("{second} does not have the columns of {first}: column number 2 of {first} is not in it");
    assert_eq!(message, expected, "by position, since the line might be a row");
    let (message, _) = names(&a, &file(&folder, "c.csv", "x,g,h\n1,a,b\n"));
    assert!(message.contains("c.csv: column number 3 of"), "{message}");
    let (d, e) = (folder.path().join("d.parquet"), folder.path().join("e.parquet"));
    write_parquet(&d, &batch(vec![("x", Arc::new(Int64Array::from(vec![4])))]), Compression::SNAPPY);
    write_parquet(&e, &batch(vec![("x", Arc::new(StringArray::from(vec!["4"])))]), Compression::SNAPPY);
    let (message, [first, second]) = names(&d, &e);
    assert!(message.starts_with(&format!("{first} and {second} declare different types for column 'x'")), "{message}");
}

#[test]
fn binary_files_with_two_columns_of_one_name_or_no_rows_are_refused() {
    let folder = TempDir::new().unwrap();
    let column = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let twice = batch(vec![("x", column(vec![1])), ("x", column(vec![2]))]);
    let empty = batch(vec![("x", column(vec![]))]);
    for (table, expected) in [(&twice, "columns 1 and 2 of"), (&empty, "has a header but no rows")] {
        write_parquet(&folder.path().join("a.parquet"), table, Compression::SNAPPY);
        write_arrow(&folder.path().join("a.arrow"), table);
        write_stream(&folder.path().join("a.ipc"), table);
        for name in ["a.parquet", "a.arrow", "a.ipc"] {
            let message = open(&folder.path().join(name)).err().expect("it is refused").to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}

/// Opens and reads a file; whatever happens must be a block or one of our own sentences.
fn read_all(path: &Path) -> Result<Vec<Said>, DataError> {
    read_with(&open(path)?, &survey_columns(), &ReadOptions::default())
}

#[test]
fn cut_and_damaged_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let (parquet, arrow) = (folder.path().join("a.parquet"), folder.path().join("a.arrow"));
    write_parquet(&parquet, &survey(), Compression::SNAPPY);
    write_arrow(&arrow, &survey());
    for (path, format) in [(&parquet, "Parquet"), (&arrow, "Arrow")] {
        let whole = fs::read(path).unwrap();
        for length in [1, 7, whole.len() / 2, whole.len() - 1] {
            fs::write(path, &whole[..length]).unwrap();
            let message = read_all(path).expect_err("it is refused").to_string();
            let expected = format!("{} is not a complete {format} file", path.display());
            assert!(message.starts_with(&expected), "{message}");
        }
        fs::write(path, "this is no such file, whatever its name says").unwrap();
        assert!(matches!(read_all(path), Err(DataError::Corrupt { .. })));
    }
}

#[test]
fn any_damaged_byte_is_an_error_or_other_cells_never_a_panic() {
    let folder = TempDir::new().unwrap();
    let paths = ["a.parquet", "a.arrow", "a.ipc"].map(|name| folder.path().join(name));
    write_parquet(&paths[0], &survey(), Compression::SNAPPY);
    write_arrow(&paths[1], &survey());
    write_stream(&paths[2], &survey());
    for path in &paths {
        let whole = fs::read(path).unwrap();
        for (at, flip) in (0..whole.len()).step_by(2).zip([0x01, 0x80, 0xff].into_iter().cycle()) {
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            fs::write(path, &damaged).unwrap();
            let _ = read_all(path);
        }
    }
}

#[test]
fn no_row_of_a_damaged_parquet_file_goes_missing_unnoticed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.parquet");
    write_parquet(&path, &survey(), Compression::SNAPPY);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        // In the footer's coding of numbers this bit changes a count by one.
        damaged[at] ^= 0x02;
        fs::write(&path, &damaged).unwrap();
        if let Ok(columns) = read_all(&path) {
            let bytes = bytes::Bytes::on_disk(&path, &fs::metadata(&path).unwrap()).unwrap();
            let promised = parquet::rows(&parquet::metadata(&bytes).unwrap());
            assert_eq!((columns[0].len(), promised), (5, 5), "byte {at}");
        }
    }
}

#[test]
fn an_unsupported_codec_is_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.parquet");
    write_parquet(&path, &survey(), Compression::SNAPPY);
    // No writer for brotli is at hand, so the codec's number in the footer is changed from snappy (1) to brotli (4).
    // It is field 4 of the column's metadata, right after the path: type i32 (0x15), zigzag value.
    let mut bytes = fs::read(&path).unwrap();
    let at: Vec<usize> =
        (0..bytes.len() - 4).filter(|&at| &bytes[at..at + 5] == b"\x01y\x15\x02\x16").map(|at| at + 3).collect();
    assert!(!at.is_empty(), "the footer has the expected form");
    at.into_iter().for_each(|at| bytes[at] = 8);
    fs::write(&path, bytes).unwrap();
    let refused = read_with(&open(&path).unwrap(), &[number("y")], &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("is compressed with brotli: write it again with snappy"), "{refused}");
    read(&open(&path).unwrap(), &[number("count")]);
}

#[test]
fn a_kept_stream_can_be_read_again_and_by_several_at_once() {
    let source = csv(format!("x\n{}", "1\n2\n".repeat(100_000))).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let said = read(&source, &[number("x")]);
                assert_eq!(said[0].len(), 200_000);
                assert!(said[0].chunks(2).all(|pair| pair == [Some(1.0), Some(2.0)]));
            });
        }
    });
}

#[test]
fn a_stream_that_breaks_off_is_refused() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    let message = Source::from_csv_stream(&mut Broken, "standard input").err().unwrap().to_string();
    assert!(message.starts_with("standard input could not be kept in a temporary file"), "{message}");
}

#[test]
fn a_file_that_changes_between_readings_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a.csv", "x\n1\n");
    let source = open(&path).unwrap();
    read(&source, &[number("x")]);
    fs::write(&path, "x\n1\n2\n").unwrap();
    let refused = read_with(&source, &[number("x")], &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("changed while it was being read"), "{refused}");
}

#[test]
fn progress_goes_up_to_the_whole() {
    let folder = TempDir::new().unwrap();
    let csv = file(&folder, "a.csv", "x\n1\n2\n3\n");
    let parquet = folder.path().join("b.parquet");
    write_parquet(&parquet, &batch(vec![("x", Arc::new(Int64Array::from(vec![4; 9])))]), Compression::SNAPPY);
    let total = fs::metadata(csv).unwrap().len() + fs::metadata(parquet).unwrap().len();
    let seen = Mutex::new(Vec::new());
    let progress = |done, of| {
        seen.lock().unwrap().push((done, of));
        ControlFlow::Continue(())
    };
    let options = ReadOptions { block_rows: 2, progress: Progress::new(&progress), ..ReadOptions::default() };
    read_with(&open(folder.path()).unwrap(), &[number("x")], &options).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 4 && seen.is_sorted() && seen.iter().all(|&(_, of)| of == total), "{seen:?}");
    assert_eq!(seen.last(), Some(&(total, total)));
}

#[test]
fn a_refusal_by_the_reader_of_blocks_stops_the_reading() {
    let source = csv("x\n1\n2\n3\n").unwrap();
    let mut blocks = 0;
    let options = ReadOptions { block_rows: 1, ..ReadOptions::default() };
    let stopped = source.for_each_block(&[number("x")], &options, &mut |_| {
        blocks += 1;
        Err(DataError::NoInput)
    });
    assert!(matches!(stopped, Err(DataError::NoInput)));
    assert_eq!(blocks, 1);
}

#[test]
fn a_formula_reads_its_columns() {
    let source = csv("id,y,age,region\n1,2.5,30,north\n2,3.5,40,south\n").unwrap();
    let model = Formula::parse("y ~ age + region{north,south}").unwrap().resolve(source.schema()).unwrap();
    assert_eq!(model.coefficient_names(), ["(Intercept)", "age", "region[south]"]);
    let said = read(&source, &model.columns());
    assert_eq!(said, [[2.5, 3.5], [30.0, 40.0], [0.0, 1.0]].map(|column| column.map(Some).to_vec()));
}

#[test]
fn batches_in_memory_read_as_a_file_of_them_does() {
    let folder = TempDir::new().expect("a folder");
    let floats = Float64Array::from(vec![Some(1.5), None, Some(f64::NAN), Some(-2.0), Some(9.0)]);
    let texts = StringViewArray::from(vec![Some("b"), Some("a"), None, Some("zzz"), Some("b")]);
    let whole = batch(vec![("x", Arc::new(floats)), ("unused", Arc::new(NullArray::new(5))), ("g", Arc::new(texts))]);
    let path = folder.path().join("table.parquet");
    write_parquet(&path, &whole, Compression::UNCOMPRESSED);
    let columns = [category("g", &["a", "b"]), number("x")];
    let expected = read(&open(&path).expect("a file"), &columns);
    let parts = vec![whole.slice(0, 2), whole.slice(2, 0), whole.slice(2, 3)];
    let source = Source::from_batches(whole.schema(), parts, "the table").expect("a table");
    assert_eq!(source.schema(), open(&path).expect("a file").schema());
    for block_rows in [1, 2, 1000] {
        let options = ReadOptions { block_rows, ..ReadOptions::default() };
        assert_eq!(read_with(&source, &columns, &options).expect("cells"), expected);
    }
    let seen = Mutex::new(Vec::new());
    let progress = |done, of| {
        seen.lock().expect("one thread").push((done, of));
        ControlFlow::Continue(())
    };
    let options = ReadOptions { progress: Progress::new(&progress), block_rows: 2, ..ReadOptions::default() };
    read_with(&source, &columns, &options).expect("cells");
    assert_eq!(seen.into_inner().expect("one thread"), [(2, 5), (4, 5), (5, 5), (5, 5)]);
}

#[test]
fn batches_that_are_no_table_are_refused() {
    let column = |name| batch(vec![(name, Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)]);
    let refused =
        |schema, batches| Source::from_batches(schema, batches, "the table").err().expect("refused").to_string();
    assert!(refused(column("x").schema(), vec![]).contains("no rows"));
    assert!(refused(column("x").schema(), vec![column("x"), column("y")]).contains("the table is not"));
    let fields = vec![column("x").schema().field(0).clone(); 2];
    let array: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let schema = Arc::new(arrow_schema::Schema::new(fields));
    let twice = RecordBatch::try_new(schema.clone(), vec![array.clone(), array]).expect("a batch");
    assert!(refused(schema, vec![twice]).starts_with("columns 1 and 2 of the table have the same name"));
}

/// A table of text with everything that makes a cut hard: quotes that hold line ends and delimiters, quotes that mean themselves, blank lines, line
/// ends of all kinds.
fn tricky_csv(rows: usize, quotes: bool) -> String {
    let mut text = "\u{feff}\"x\",note,y\n".to_owned();
    for row in 0..rows {
        let note = match row % 7 {
            0 if quotes => "\"a,\nb\r\n\"\"c\"\" \"",
            1 if quotes => "6\" pipe",
            2 if quotes => "\"\"",
            3 => "\u{feff}é",
            4 => "",
            _ => " plain ",
        };
        let end = if row % 3 == 0 { "\r\n" } else { "\n" };
        let blank = if row % 11 == 0 { end } else { "" };
        let filler = "0".repeat(row % 40);
        text += &format!("{row}.{filler},{note},{}{end}{blank}", row % 5);
    }
    text
}

#[test]
fn a_text_says_the_same_wherever_it_is_cut() {
    let columns = [number("x"), category("note", &["plain", "é", "\u{feff}é", "6\" pipe"]), number("y")];
    for quotes in [false, true] {
        let text = tricky_csv(120_000, quotes);
        assert!(text.len() > 3 << 20, "several segments");
        let source = csv(&text).unwrap();
        // A window for each number of threads is of another length, so cuts fall elsewhere.
        let in_pool = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| read(&source, &columns))
        };
        let said = in_pool(1);
        assert_eq!(said[0].len(), 120_000);
        assert!(said[0].iter().enumerate().all(|(row, cell)| *cell == Some(row as f64)));
        let mark = said[1].iter().step_by(7).skip(1).count();
        assert!(
            mark > 0 && (3..120_000).step_by(7).all(|row| said[1][row] == Some(2.0)),
            "a mark is kept within a file"
        );
        assert!(in_pool(2) == said && in_pool(3) == said);
    }
}

#[test]
fn a_broken_row_far_into_a_text_is_found_by_line() {
    for (bad, quotes) in [("1,2\n", false), ("1,2\n", true), ("1,2,3,4\r\n", false)] {
        let mut text = tricky_csv(100_000, quotes);
        let line = {
            let ends = text.replace("\r\n", "\n");
            ends.matches(['\n', '\r']).count() + 1
        };
        text += bad;
        text += &tricky_csv(100_000, quotes)["\u{feff}\"x\",note,y\n".len()..];
        let message = refusal(&text);
        assert!(
            message.starts_with(&format!("the stream, line {line}: the row does not have the 3 cells")),
            "{message}"
        );
    }
}

/// A byte-order mark is one at the start of a file only: elsewhere it is text, wherever pieces are cut.
#[test]
fn a_row_that_starts_with_a_mark_is_found_by_line() {
    let source = csv("x,g\n1,2\n\u{feff}\n1,2\n3\n").unwrap();
    for segment_bytes in [1, 4, 1000] {
        let options = ReadOptions { segment_bytes, ..ReadOptions::default() };
        let message = read_with(&source, &[number("x")], &options).unwrap_err().to_string();
        assert!(message.starts_with("the stream, line 3: the row does not have"), "{segment_bytes}: {message}");
    }
}

/// A broken row that ends in a carriage return, and text that is not UTF-8 after it.
#[test]
fn the_first_of_two_faults_is_named_wherever_the_text_is_cut() {
    let source = csv(b"x,g\n1,2\n1,2,3\r4,\"\"\xf0").unwrap();
    for segment_bytes in [1, 4, 1000] {
        let options = ReadOptions { segment_bytes, ..ReadOptions::default() };
        let message = read_with(&source, &[number("x")], &options).unwrap_err().to_string();
        assert!(message.starts_with("the stream, line 3: the row does not have"), "{segment_bytes}: {message}");
    }
}

#[test]
fn a_row_longer_than_a_window_is_read_by_itself() {
    let long = format!("1,\"{}\"\n", "a\n".repeat(10 << 20));
    let rows: String = (0..300_000).map(|row| format!("{row},b\n")).collect();
    let source = csv(format!("x,note\n{rows}{long}{rows}")).unwrap();
    let said = read(&source, &[number("x")]);
    assert_eq!(said[0].len(), 600_001);
    assert_eq!(said[0][300_000..300_003], [Some(1.0), Some(0.0), Some(1.0)]);
}

#[test]
fn parquet_columns_come_together_whatever_the_groups_of_rows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let names: Vec<String> = (0..13).map(|column| format!("c{column}")).collect();
    let array = |column: usize| Arc::new((0..30_000).map(|row| (row * 13 + column) as f64).collect::<Float64Array>());
    let columns = names.iter().enumerate().map(|(column, name)| (&name[..], array(column) as ArrayRef)).collect();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(7001)).build();
    let table = batch(columns);
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), table.schema(), Some(properties)).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    let wanted: Vec<Column> = names.iter().rev().map(|name| number(name)).collect();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let said = pool.install(|| read(&open(&path).unwrap(), &wanted));
        for (column, cells) in said.iter().rev().enumerate() {
            let expected = (0..30_000).map(|row| Some((row * 13 + column) as f64));
            assert!(cells.iter().copied().eq(expected), "{column}");
        }
    }
}
