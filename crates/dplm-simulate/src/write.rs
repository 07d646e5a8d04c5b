//! Rows of a population in a file, written as they are drawn.

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use rayon::prelude::*;

use crate::{Population, Sample};

/// Cells drawn at a time, which bounds the memory.
const BATCH_CELLS: usize = 1 << 20;

/// Rows that one thread turns into text at a time.
const TEXT_ROWS: usize = 1024;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// Arrow's file format.
    Arrow,
}

impl Format {
    /// The format of a file's ending: `.csv`, `.tsv`, `.parquet`, or `.arrow`, `.feather`, `.ipc`.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Format::Csv),
            "tsv" => Some(Format::Tsv),
            "parquet" => Some(Format::Parquet),
            "arrow" | "feather" | "ipc" => Some(Format::Arrow),
            _ => None,
        }
    }
}

/// Writes the first `rows` rows as a table with columns `x1` to `xP` and `y`.
///
/// Numbers are written so that they read back as the same bits. Memory does not grow with the
/// number of rows. `progress` receives the rows done and the total.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_table<W: Write + Send>(
    population: &Population,
    rows: u64,
    format: Format,
    out: W,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<()> {
    let mut table = Table::start(population.features(), format, out)?;
    let step = (BATCH_CELLS / (population.features() + 1)).max(1) as u64;
    let mut done = 0;
    while done < rows {
        let end = (done + step).min(rows);
        table.push(&population.rows(done..end))?;
        done = end;
        progress(done, rows);
    }
    table.finish()
}

/// Rows in memory as one Arrow batch with columns `x1` to `xP` and `y`.
pub fn record_batch(sample: &Sample, features: usize) -> RecordBatch {
    batch(sample, &schema(features))
}

/// A table being written.
enum Table<W: Write + Send> {
    Text { out: W, delimiter: u8, features: usize },
    Parquet { out: Box<ArrowWriter<W>>, schema: Arc<Schema> },
    Arrow { out: Box<FileWriter<W>>, schema: Arc<Schema> },
}

impl<W: Write + Send> Table<W> {
    fn start(features: usize, format: Format, out: W) -> io::Result<Self> {
        match format {
            Format::Csv => Self::text(features, b',', out),
            Format::Tsv => Self::text(features, b'\t', out),
            Format::Parquet => {
                let schema = schema(features);
                // A row group is held in memory while it is written.
                let group = (8 * BATCH_CELLS / (features + 1)).max(1);
                let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
                let out = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(io::Error::other)?;
                Ok(Table::Parquet { out: Box::new(out), schema })
            }
            Format::Arrow => {
                let schema = schema(features);
                let out = FileWriter::try_new(out, &schema).map_err(io_error)?;
                Ok(Table::Arrow { out: Box::new(out), schema })
            }
        }
    }

    fn text(features: usize, delimiter: u8, mut out: W) -> io::Result<Self> {
        let separator = char::from(delimiter).to_string();
        writeln!(out, "{}", names(features).collect::<Vec<_>>().join(&separator))?;
        Ok(Table::Text { out, delimiter, features })
    }

    fn push(&mut self, sample: &Sample) -> io::Result<()> {
        match self {
            Table::Text { out, delimiter, features } => {
                text(sample, *features, *delimiter).iter().try_for_each(|part| out.write_all(part))
            }
            Table::Parquet { out, schema } => out.write(&batch(sample, schema)).map_err(io::Error::other),
            Table::Arrow { out, schema } => out.write(&batch(sample, schema)).map_err(io_error),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Table::Text { mut out, .. } => out.flush(),
            Table::Parquet { out, .. } => out.close().map(|_| ()).map_err(io::Error::other),
            Table::Arrow { mut out, .. } => out.finish().map_err(io_error),
        }
    }
}

fn names(features: usize) -> impl Iterator<Item = String> {
    (1..=features).map(|j| format!("x{j}")).chain(["y".to_owned()])
}

fn schema(features: usize) -> Arc<Schema> {
    Arc::new(Schema::new(names(features).map(|name| Field::new(name, DataType::Float64, false)).collect::<Vec<_>>()))
}

/// Lines of text, in parts made by several threads.
fn text(sample: &Sample, features: usize, delimiter: u8) -> Vec<Vec<u8>> {
    let rows = sample.x.par_chunks(TEXT_ROWS * features).zip(sample.y.par_chunks(TEXT_ROWS));
    rows.map(|(x, y)| {
        let mut text = Vec::with_capacity((x.len() + y.len()) * 21);
        for (row, response) in x.chunks(features).zip(y) {
            for cell in row {
                write!(text, "{cell}").expect("writing to memory does not fail");
                text.push(delimiter);
            }
            writeln!(text, "{response}").expect("writing to memory does not fail");
        }
        text
    })
    .collect()
}

fn batch(sample: &Sample, schema: &Arc<Schema>) -> RecordBatch {
    let features = schema.fields().len() - 1;
    let feature = |j: usize| -> ArrayRef {
        Arc::new(sample.x.iter().skip(j).step_by(features).copied().collect::<Float64Array>())
    };
    let response: ArrayRef = Arc::new(Float64Array::from(sample.y.clone()));
    let columns = (0..features).map(feature).chain([response]).collect();
    RecordBatch::try_new(schema.clone(), columns).expect("one column for each field, all of the same length")
}

fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    }
}
