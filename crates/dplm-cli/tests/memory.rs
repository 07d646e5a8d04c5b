//! Files made to take all memory: each is read, or refused in words, within an address space of 1.5 GB.

#![cfg(target_os = "linux")]

mod common;

use std::{fmt::Write as _, io::Write, path::Path, process::Child, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use common::{Desk, Done, text_of};
use parquet::{
    arrow::ArrowWriter,
    basic::Compression,
    file::{
        metadata::{ParquetMetaData, ParquetMetaDataWriter},
        properties::{EnabledStatistics, WriterProperties},
    },
};

/// The whole address space, in KiB.
const SPACE: u32 = 1_500_000;

fn start(desk: &Desk, args: &[&str]) -> Child {
    desk.start_limited(&format!("ulimit -v {SPACE}"), args)
}

fn run(desk: &Desk, args: &[&str]) -> Done {
    Done::when_ended(start(desk, args))
}

fn fit(desk: &Desk, data: &str, formula: &str) -> Done {
    run(desk, &["fit", data, "--formula", formula, "--rho", "0.1", "--for", "prediction", "--quiet"])
}

fn bomb(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bombs").join(name);
    text_of(&path).to_owned()
}

#[test]
fn pages_and_buffers_that_inflate_are_refused() {
    let desk = Desk::new();
    for name in ["page.parquet", "buffer.arrow"] {
        let done = fit(&desk, &bomb(name), "y ~ x");
        done.assert_refused(1, name);
        assert!(done.stderr.contains("far more memory"), "{name}: {}", done.stderr);
    }
}

/// Two thousand pieces of a mebibyte of zeros, each compressed by `pack`.
fn zeros(pack: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    pack(&vec![0; 1 << 20]).repeat(2000)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes it")
}

fn lz4_frame(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A Parquet file whose only pages hold `stored` as it is, and say that this is what they hold, and a footer that says by which codec
/// it was compressed.
fn lying(stored: &[u8], codec: Compression) -> Vec<u8> {
    let cells = stored.chunks_exact(8).map(|cell| f64::from_le_bytes(cell.try_into().expect("eight bytes")));
    let column: ArrayRef = Arc::new(Float64Array::from_iter_values(cells));
    let rows = column.len();
    let table = RecordBatch::try_from_iter([("y", column.clone()), ("x", column)]).expect("a table");
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_write_batch_size(rows)
        .set_data_page_row_count_limit(rows)
        .set_data_page_size_limit(usize::MAX)
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, table.schema(), Some(properties)).expect("a writer");
    writer.write(&table).expect("memory takes it");
    let said = writer.close().expect("memory takes it");
    let tail = file.len() - 8;
    let footer = u32::from_le_bytes(file[tail..tail + 4].try_into().expect("four bytes")) as usize;
    file.truncate(tail - footer);
    ParquetMetaDataWriter::new(&mut file, &compressed_by(said, codec)).finish().expect("memory takes it");
    file
}

fn compressed_by(said: ParquetMetaData, codec: Compression) -> ParquetMetaData {
    let mut said = said.into_builder();
    for group in said.take_row_groups() {
        let mut group = group.into_builder();
        for chunk in group.take_columns() {
            let chunk = chunk.into_builder().set_compression(codec).build().expect("a column");
            group = group.add_column_metadata(chunk);
        }
        said = said.add_row_group(group.build().expect("a group of rows"));
    }
    said.build()
}

/// Not all codecs stop at what a page says it holds.
#[test]
fn pages_that_hold_more_than_they_say_are_refused() {
    let desk = Desk::new();
    let liars = [(zeros(gzip), Compression::GZIP(Default::default())), (zeros(lz4_frame), Compression::LZ4)];
    for (stored, codec) in liars {
        desk.write("lying.parquet", lying(&stored, codec));
        let done = fit(&desk, "lying.parquet", "y ~ x");
        done.assert_refused(1, &codec.to_string());
        assert!(done.stderr.contains("damaged"), "{codec}: {}", done.stderr);
    }
}

#[test]
fn a_long_text_in_a_dictionary_is_not_written_out_for_every_row_at_once() {
    let desk = Desk::new();
    let done = fit(&desk, &bomb("dictionary.parquet"), "y[0..1] ~ g{a,b}");
    assert_eq!(done.status, 0, "{}", done.stderr);
}

#[test]
fn a_row_of_a_million_cells_is_refused_by_its_line() {
    let desk = Desk::new();
    desk.write("wide.csv", format!("y,x\n1,2\n{}\n", "7,".repeat(1_000_000)));
    let done = fit(&desk, "wide.csv", "y ~ x");
    done.assert_refused(1, "a wide row");
    assert!(done.stderr.contains("line 3"), "{}", done.stderr);
}

#[test]
fn a_hundred_thousand_columns_are_read() {
    let desk = Desk::new();
    let mut text: String = (0..100_000).fold(String::new(), |mut text, column| {
        write!(text, "c{column},").expect("text");
        text
    });
    text.push_str("y\n");
    for row in 0..20 {
        text.push_str(&format!("{row},").repeat(100_000));
        text.push_str("1\n");
    }
    desk.write("wide.csv", text);
    let done = fit(&desk, "wide.csv", "y ~ c7 + c99999");
    assert_eq!(done.status, 0, "{}", done.stderr);
    // Every column at once is more than the arithmetic can be exact for, or the rows can tell apart.
    fit(&desk, "wide.csv", "y ~ .").assert_refused(1, "a hundred thousand coefficients");
    let template = run(&desk, &["init", "wide.csv"]);
    assert!(template.status == 0 && template.stdout.contains("c99999"), "{}", template.stderr);
}

/// `DPLM_CELL_MB=1024` for a cell of a gigabyte.
#[test]
fn a_cell_without_end_is_refused() {
    let megabytes: usize = std::env::var("DPLM_CELL_MB").ok().and_then(|size| size.parse().ok()).unwrap_or(100);
    let desk = Desk::new();
    let mut child = start(&desk, &["fit", "-", "--formula", "y ~ x", "--rho", "0.1", "--quiet"]);
    let mut input = child.stdin.take().expect("piped");
    let chunk = vec![b'9'; 1 << 20];
    input.write_all(b"y,x\n1,2\n3,\"").expect("read");
    for _ in 0..megabytes {
        input.write_all(&chunk).expect("read");
    }
    drop(input);
    let done = Done::when_ended(child);
    done.assert_refused(1, "a long cell");
    assert!(done.stderr.contains("line 3"), "{}", done.stderr);
}
