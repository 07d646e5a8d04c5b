//! Tables for the tests of the formats, and the cells that a source reads from them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use ::parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray, types::Int32Type};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use tempfile::TempDir;

use super::{Cells, DataError, MISSING, ReadOptions, Source};
use crate::formula::{Column, Kind};

/// The cells of a column in a comparable form: `None` for a missing cell.
pub(super) type Said = Vec<Option<f64>>;

pub(super) fn number(name: &str) -> Column {
    Column { name: name.into(), kind: Kind::Standard }
}

pub(super) fn dates(name: &str, low: i32, high: i32) -> Column {
    Column { name: name.into(), kind: Kind::Dates { low, high } }
}

pub(super) fn category(name: &str, levels: &[&str]) -> Column {
    Column { name: name.into(), kind: Kind::Levels(levels.iter().map(|level| (*level).to_owned()).collect()) }
}

pub(super) fn said(cells: &Cells) -> Said {
    match cells {
        Cells::Numbers(numbers) => numbers.iter().map(|number| number.is_finite().then_some(*number)).collect(),
        Cells::Levels(codes) => codes.iter().map(|code| (*code != MISSING).then_some(f64::from(*code))).collect(),
    }
}

pub(super) fn read_with(
    source: &Source,
    columns: &[Column],
    options: &ReadOptions<'_>,
) -> Result<Vec<Said>, DataError> {
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

pub(super) fn read(source: &Source, columns: &[Column]) -> Vec<Said> {
    read_with(source, columns, &ReadOptions::default()).expect("the source can be read")
}

pub(super) fn open(path: &Path) -> Result<Source, DataError> {
    Source::open(&[path])
}

pub(super) fn csv(text: impl AsRef<[u8]>) -> Result<Source, DataError> {
    Source::from_csv_stream(&mut text.as_ref(), "the stream")
}

/// The error from opening the text, or from reading its column `x`.
pub(super) fn refusal(text: impl AsRef<[u8]>) -> String {
    let read = |source: Source| read_with(&source, &[number("x")], &ReadOptions::default());
    csv(text).and_then(read).expect_err("it is refused").to_string()
}

pub(super) fn file(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).expect("a temporary file can be written");
    path
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("the columns fit together")
}

pub(super) fn write_parquet(path: &Path, batch: &RecordBatch, compression: Compression) {
    let properties = WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(3));
    let file = File::create(path).expect("a temporary file can be made");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).expect("a writer");
    writer.write(batch).expect("the batch is written");
    writer.close().expect("the file is finished");
}

pub(super) fn write_arrow(path: &Path, batch: &RecordBatch) {
    let mut writer = FileWriter::try_new(File::create(path).expect("a file"), &batch.schema()).expect("a writer");
    writer.write(batch).expect("the batch is written");
    writer.finish().expect("the file is finished");
}

pub(super) fn write_stream(path: &Path, batch: &RecordBatch) {
    let mut writer = StreamWriter::try_new(File::create(path).expect("a file"), &batch.schema()).expect("a writer");
    writer.write(batch).expect("the batch is written");
    writer.finish().expect("the stream is finished");
}

pub(super) fn survey() -> RecordBatch {
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

pub(super) const SURVEY_CSV: &str = "y,unused,count,region,code\r\n\
    1.5,\"p,q\",1,south,north\r\n\
    NA,\"r\"\"s\",2,east,south\r\n\
    -2e3,\"t\r\nu\", 3 ,,\r\n\
    inf,,,\"north\",north\r\n\
    .1,w,7,NA,\"\"\r\n";

pub(super) fn survey_columns() -> Vec<Column> {
    let region = ["north", "south"];
    vec![
        number("count"),
        category("region", &region),
        number("y"),
        category("code", &region),
        Column { name: "y".into(), kind: Kind::Bounded { low: 0.0, high: 1.0 } },
    ]
}

pub(super) fn survey_said() -> Vec<Said> {
    let y = vec![Some(1.5), None, Some(-2000.0), None, Some(0.1)];
    vec![
        vec![Some(1.0), Some(2.0), Some(3.0), None, Some(7.0)],
        vec![Some(1.0), None, None, Some(0.0), None],
        y.clone(),
        vec![Some(0.0), Some(1.0), None, Some(0.0), None],
        y,
    ]
}

/// Opens and reads a file, which must give blocks or one of the library's own errors.
pub(super) fn read_all(path: &Path) -> Result<Vec<Said>, DataError> {
    read_with(&open(path)?, &survey_columns(), &ReadOptions::default())
}
