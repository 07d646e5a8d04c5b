use std::{
    fs,
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use ::parquet::basic::Compression;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Date64Array, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use tempfile::TempDir;

use super::{
    DataError, Dialect, ReadOptions, Source, Type, files_named,
    kit::{
        SURVEY_CSV, batch, category, csv, dates, file, number, open, read, read_all, read_with, survey, survey_columns,
        survey_said, write_arrow, write_parquet, write_stream,
    },
    would_be_named,
};
use crate::{
    Progress,
    formula::{Column, Formula},
    options::{Advised, Interface},
};

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

/// What is handed on is what was written, in the order of rows and whatever the format: text as it
/// is, numbers as they print.
#[test]
fn cells_are_handed_on_as_they_were_written() {
    let folder = TempDir::new().unwrap();
    let written = |source: &Source, column: &str| source.written(column).unwrap();
    let text = Source::from_csv_stream(&mut "id,x\n007,1\n,2\n007,3\nNA,4\n\"a,b\",5\n".as_bytes(), "rows").unwrap();
    assert_eq!(written(&text, "id"), ["007", "", "007", "NA", "a,b"]);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some((1 << 53) + 1)]));
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("007"), None, Some(" b")]));
    let table = batch(vec![("id", ids), ("name", names)]);
    write_parquet(&folder.path().join("a.parquet"), &table, Compression::SNAPPY);
    write_arrow(&folder.path().join("b.arrow"), &table);
    for name in ["a.parquet", "b.arrow"] {
        let source = open(&folder.path().join(name)).unwrap();
        assert_eq!(written(&source, "id"), ["7", "", "9007199254740993"], "{name}");
        assert_eq!(written(&source, "name"), ["007", "", " b"], "{name}");
    }
    let refused = text.written("idd").unwrap_err();
    assert!(refused.to_string().contains("'idd'"), "{refused}");
}

#[test]
fn a_stream_is_text_or_either_format_of_arrow() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.csv"), SURVEY_CSV).unwrap();
    write_arrow(&path("b.arrow"), &survey());
    write_stream(&path("c.ipc"), &survey());
    let streamed = |bytes: &[u8]| Source::from_stream(&mut &*bytes, "standard input");
    for name in ["a.csv", "b.arrow", "c.ipc"] {
        let source = streamed(&fs::read(path(name)).unwrap()).unwrap();
        assert_eq!(source.schema(), open(&path(name)).unwrap().schema(), "{name}");
        for block_rows in [65_536, 2] {
            let options = ReadOptions { block_rows, ..ReadOptions::default() };
            assert_eq!(read_with(&source, &survey_columns(), &options).unwrap(), survey_said(), "{name}");
        }
    }
    // A name that starts as an Arrow file does is a name.
    let source = streamed(b"ARROW1,x\n1,2\n").unwrap();
    assert_eq!(source.schema().names().collect::<Vec<_>>(), ["ARROW1", "x"]);
    let file = fs::read(path("b.arrow")).unwrap();
    let refused = streamed(&file[..file.len() - 9]).err().unwrap().to_string();
    assert!(refused.starts_with("standard input is not a complete Arrow file"), "{refused}");
    let stream = fs::read(path("c.ipc")).unwrap();
    let refused = streamed(&stream[..stream.len() / 2]).err().unwrap().to_string();
    assert!(refused.starts_with("standard input is not a complete Arrow file"), "{refused}");
}

#[test]
fn schemas_name_columns_and_types() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.parquet");
    write_parquet(&path, &survey(), Compression::SNAPPY);
    let kinds = |source: &Source| source.schema().fields().iter().map(|field| field.kind).collect::<Vec<_>>();
    let expected = [Type::Number, Type::Text, Type::Integer, Type::Text, Type::Text];
    assert_eq!(kinds(&open(&path).unwrap()), expected);
    let text = csv(SURVEY_CSV).unwrap();
    assert_eq!(kinds(&text), [Type::Undeclared; 5], "whatever the cells look like");
    assert_eq!(text.schema().names().collect::<Vec<_>>(), ["y", "unused", "count", "region", "code"]);
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
        assert!(refused(&inputs).contains("hold the same data: name only one of them"), "{inputs:?}");
    }
    assert!(Source::open(&[shown(&a), shown(&c)]).is_ok());
    let second_name = folder.path().join("second.csv");
    std::fs::hard_link(&a, &second_name).unwrap();
    assert!(refused(&[shown(&a), shown(&second_name)]).contains("hold the same data"));
    #[cfg(unix)]
    {
        let link = folder.path().join("link.csv");
        std::os::unix::fs::symlink(&a, &link).unwrap();
        assert!(refused(&[shown(&a), shown(&link)]).contains("hold the same data"));
    }
    let empty = [file(&folder, "d.csv", "x,g\n"), file(&folder, "e.csv", "x,g\n"), c].map(|path| shown(&path));
    assert!(Source::open(&empty).is_ok(), "files without rows repeat nobody");
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
    assert!(refused(number("date")).starts_with("column 'date' holds dates: write its bounds as"));
    assert!(refused(category("date", &["a", "b"])).starts_with("column 'date' holds dates: write its bounds as"));
    assert!(refused(dates("float", 0, 9)).starts_with("column 'float' holds numbers, not dates"));
    assert!(refused(number("bytes")).starts_with("column 'bytes' has a type that a model cannot use"));
    assert!(refused(number("flaot")).starts_with("the data have no column 'flaot': did you mean 'float'?"));
}

#[test]
fn paths_that_lead_nowhere_are_refused() {
    let folder = TempDir::new().unwrap();
    let refused = |path: &Path| open(path).err().expect("it is refused").to_string();
    let shown = |path: &Path| path.display().to_string();
    let missing = folder.path().join("none.csv");
    assert_eq!(refused(&missing), format!("{} does not exist: check the path", shown(&missing)));
    assert!(refused(folder.path()).contains("holds no .csv, .tsv, .csv.gz"));
    assert!(refused(&folder.path().join("*.csv")).contains("holds no .csv, .tsv, .csv.gz"));
    assert!(refused(&folder.path().join("[")).contains("holds no .csv, .tsv, .csv.gz"));
    assert!(refused(&file(&folder, "a.xlsx", "x")).starts_with("the format of "));
    assert!(refused(&file(&folder, "a.csv.gz", "x")).contains("is not a complete gzip file"));
    assert!(refused(&file(&folder, "a.tsv.zst", "x")).contains("is not a complete zstd file"));
    assert!(refused(&file(&folder, "a.csv.bz2", "x")).contains("is compressed in an unsupported way: use .csv.gz"));
    assert!(refused(&file(&folder, "a.parquet.gz", "x")).contains("is compressed in an unsupported way"));
    assert!(refused(&file(&folder, "a.csv", "")).contains("is empty"));
    assert!(refused(&file(&folder, "a.parquet", "")).contains("is empty"));
    assert!(Source::open(&[] as &[&str]).err().unwrap().to_string().starts_with("no data were named"));
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

#[test]
fn compressed_text_is_the_text() {
    let folder = TempDir::new().unwrap();
    let (first, second) = SURVEY_CSV.as_bytes().split_at(60);
    let tabs = SURVEY_CSV.replace(',', "\t");
    let members = [gzipped(first), gzipped(second)].concat();
    let files: [(&str, Vec<u8>); 4] = [
        ("a.csv.gz", members),
        ("b.tsv.gz", gzipped(tabs.as_bytes())),
        ("c.csv.zst", zstd::encode_all(SURVEY_CSV.as_bytes(), 3).unwrap()),
        ("d.tsv.zst", [zstd::encode_all(tabs.as_bytes(), 3).unwrap(), zstd::encode_all(&b""[..], 3).unwrap()].concat()),
    ];
    for (name, bytes) in &files {
        let path = file(&folder, name, bytes);
        assert_eq!(read_all(&path).unwrap(), survey_said(), "{name}");
        let cut = file(&folder, &format!("cut.{name}"), &bytes[..bytes.len() / 2]);
        let refusal = open(&cut).err().expect("it is cut short").to_string();
        assert!(refusal.contains("is not a complete"), "{refusal}");
        fs::remove_file(cut).unwrap();
    }
    let twice = Source::open(&[folder.path().join("a.csv.gz"), folder.path().join("c.csv.zst")]).err();
    assert!(twice.expect("both hold the same rows").to_string().contains("hold the same data"));
    fs::remove_file(folder.path().join("c.csv.zst")).unwrap();
    fs::remove_file(folder.path().join("d.tsv.zst")).unwrap();
    let both = read_all(folder.path());
    assert!(both.is_ok(), "a folder finds them");
}

/// A file of a few kilobytes that claims to hold a gigabyte or more must not fill the disk.
#[test]
fn a_small_file_that_inflates_without_end_is_refused() {
    let folder = TempDir::new().unwrap();
    let mut writer = zstd::Encoder::new(Vec::new(), 1).unwrap();
    let piece = vec![b'\n'; 1 << 24];
    writer.write_all(b"y,x\n1,2\n").unwrap();
    (0..70).for_each(|_| writer.write_all(&piece).unwrap());
    let path = file(&folder, "bomb.csv.zst", writer.finish().unwrap());
    let refusal = open(&path).err().expect("it is refused").to_string();
    assert!(refusal.contains("implausibly large sizes"), "{refusal}");
}

#[test]
fn text_is_read_as_it_is_said_to_be_written() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a.csv", "x;g\n1,5;a,b\n-0,25;c\n1.5;c\n1.234,5;c\n1,234,5;c\n3;c\ntrue;c\n");
    let told = |path: &Path| open(path).err().expect("another delimiter").sentence(Interface::Command);
    let refusal = told(&path);
    assert!(
        refusal.contains("with a semicolon in it") && refusal.contains("--csv semicolon, or semicolon,decimal-comma"),
        "{refusal}"
    );
    let columns = [number("x"), category("g", &["a,b", "c"])];
    let said = |words: &str| read(&Source::open_as(&[&path], words.parse().unwrap()).unwrap(), &columns);
    let levels = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(Some).to_vec();
    let commas = [Some(1.5), Some(-0.25), None, None, None, Some(3.0), Some(1.0)].to_vec();
    assert_eq!(said("semicolon,decimal-comma"), [commas, levels.clone()], "a point is no decimal");
    let points = [None, None, Some(1.5), None, None, Some(3.0), Some(1.0)].to_vec();
    assert_eq!(said("semicolon"), [points, levels], "a comma is no decimal");
    let tabs = file(&folder, "b.csv", "x\tg\n1\t2\n");
    assert!(told(&tabs).contains("--csv tab"));
    let commas = file(&folder, "c.tsv", "x,g\n1,2\n");
    assert!(told(&commas).contains("--csv comma"));
    assert!(Source::open_as(&[&commas], "comma".parse().unwrap()).is_ok());
    let words = "semicolon,decimal".parse::<Dialect>().unwrap_err().to_string();
    assert!(words.starts_with("csv: 'decimal' is not known: use comma, semicolon, tab or pipe"), "{words}");
}

#[test]
fn dates_are_days() {
    let folder = TempDir::new().unwrap();
    let texts =
        ["2020-01-01", " 2020-12-31 ", "2020-02-30", "1.5", "2020-03-01T23:59:59", "2020-03-01 07:00", "", "20200101"];
    let days = [Some(18262.0), Some(18627.0), None, None, Some(18322.0), Some(18322.0), None, None];
    let column = [dates("d", 18262, 18627)];
    let csv = file(&folder, "a.csv", format!("d,x\n{}\n", texts.map(|text| format!("{text},1")).join("\n")));
    assert_eq!(read(&open(&csv).unwrap(), &column), [days]);
    let instants = |per_day: i64| vec![Some(18262 * per_day), Some(18627 * per_day + per_day - 1), None, Some(-1)];
    let stored: Vec<ArrayRef> = vec![
        Arc::new(Date32Array::from(vec![Some(18262), Some(18627), None, Some(-1)])),
        Arc::new(Date64Array::from(instants(86_400_000))),
        Arc::new(TimestampSecondArray::from(instants(86_400))),
        Arc::new(TimestampMillisecondArray::from(instants(86_400_000))),
        Arc::new(TimestampMicrosecondArray::from(instants(86_400_000_000)).with_timezone("+05:00")),
        Arc::new(TimestampNanosecondArray::from(instants(86_400_000_000_000))),
        Arc::new(StringArray::from(vec![Some("2020-01-01"), Some("2020-12-31"), Some("x"), Some("1969-12-31")])),
    ];
    for array in stored {
        let kind = array.data_type().clone();
        let table = batch(vec![("d", array)]);
        let source = Source::from_batches(table.schema(), vec![table], "the table").unwrap();
        assert_eq!(read(&source, &column), [[Some(18262.0), Some(18627.0), None, Some(-1.0)]], "{kind}");
    }
}

/// The files named before a file exists are those read once it does.
#[test]
fn files_that_would_be_named() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("in/deep")).unwrap();
    fs::write(at("in/a1.csv"), "").unwrap();
    fs::write(at("in/deep/a1.csv"), "").unwrap();
    let names =
        ["in/a2.csv", "in/../in/b.csv", "in/.a.csv", "in/a.json", "in/deep/a3.csv", "in/a1.csv/a.csv", "a4.csv"];
    for input in ["in", "in/", "in/a?.csv", "i*/*.csv", "in/**/a*", "in/a1.csv", "in/none.csv", "-"] {
        for name in names {
            let (input, file) = (at(input), at(name));
            let said = would_be_named(&input, &file);
            if fs::write(&file, "").is_err() {
                assert!(!said, "{input:?} {file:?}");
                continue;
            }
            let is_named = |named: &PathBuf| named.canonicalize().unwrap() == file.canonicalize().unwrap();
            let found = files_named(&input).is_ok_and(|files| files.iter().any(is_named));
            assert_eq!(said, found, "{input:?} {file:?}");
            fs::remove_file(file).unwrap();
        }
    }
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
    let literal = file(&folder, "[x].csv", "x,g\n9,b\n");
    assert_eq!(read(&open(&literal).unwrap(), &[number("x")]), [vec![Some(9.0)]]);
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
fn a_file_that_changes_between_readings_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a.csv", "x\n1\n");
    let source = open(&path).unwrap();
    read(&source, &[number("x")]);
    fs::write(&path, "x\n1\n2\n").unwrap();
    let refused = read_with(&source, &[number("x")], &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("changed while it was being read"), "{refused}");
}

/// Files of each format that are rewritten once their first block was read: longer, shorter, as
/// long as before with the old time of modification, or by another file put in their place.
#[test]
fn a_file_that_changes_while_it_is_read_is_refused_or_read_as_it_was() {
    type Change = fn(&Path, &[u8]);
    let changes: [(&str, Change); 5] = [
        ("grows", |path, bytes| fs::write(path, [bytes, bytes].concat()).unwrap()),
        ("shrinks", |path, bytes| fs::write(path, &bytes[..bytes.len() / 2]).unwrap()),
        ("is emptied", |path, _| fs::write(path, "").unwrap()),
        ("is rewritten under its old date", |path, bytes| {
            let modified = fs::metadata(path).unwrap().modified().unwrap();
            // File systems stamp changes by a clock that ticks every few milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(20));
            fs::write(path, bytes).unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        }),
        ("is replaced", |path, bytes| {
            let other = path.with_extension("new");
            fs::write(&other, bytes).unwrap();
            fs::rename(&other, path).unwrap();
        }),
    ];
    let folder = TempDir::new().unwrap();
    let text: String = (0..20_000).map(|row| format!("{row}\n")).collect();
    let csv = format!("x\n{text}");
    let rows = batch(vec![("x", Arc::new(Int64Array::from_iter_values(0..20_000)))]);
    for name in ["a.csv", "a.parquet", "a.arrow", "a.ipc"] {
        let path = folder.path().join(name);
        match name {
            "a.csv" => fs::write(&path, &csv).unwrap(),
            "a.parquet" => write_parquet(&path, &rows, Compression::SNAPPY),
            "a.arrow" => write_arrow(&path, &rows),
            _ => write_stream(&path, &rows),
        }
        let whole = fs::read(&path).unwrap();
        for (what, change) in changes {
            fs::write(&path, &whole).unwrap();
            let source = open(&path).unwrap();
            let mut blocks = 0;
            let options = ReadOptions { block_rows: 1000, segment_bytes: 1000, ..ReadOptions::default() };
            let read = source.for_each_block(&[number("x")], &options, &mut |_| {
                if blocks == 0 {
                    change(&path, &whole);
                }
                blocks += 1;
                Ok(())
            });
            let refused = read.expect_err(what).to_string();
            assert!(refused.contains("changed while it was being read"), "{name} {what}: {refused}");
        }
    }
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
