use std::{
    fs::{self, File},
    sync::Arc,
};

use ::parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};
use arrow_array::{ArrayRef, Float64Array};
use tempfile::TempDir;

use super::{metadata, rows};
use crate::{
    formula::Column,
    table::{
        ReadOptions,
        bytes::Bytes,
        kit::{batch, number, open, read, read_all, read_with, survey, write_parquet},
    },
};

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
            let bytes = Bytes::on_disk(&path, &fs::metadata(&path).unwrap()).unwrap();
            let promised = rows(&metadata(&bytes).unwrap());
            assert_eq!((columns[0].len(), promised), (5, 5), "byte {at}");
        }
    }
}

#[test]
fn an_unsupported_codec_is_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.parquet");
    write_parquet(&path, &survey(), Compression::SNAPPY);
    // No brotli writer is available, so the codec's number in the footer is changed from snappy (1)
    // to brotli (4). It is field 4 of the column's metadata, right after the path: type i32 (0x15),
    // zigzag value.
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
