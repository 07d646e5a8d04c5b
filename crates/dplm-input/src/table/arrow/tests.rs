use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use ::parquet::basic::Compression;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray, StringViewArray,
    UInt64Array, UnionArray, types::Int32Type,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, UnionFields};
use tempfile::TempDir;

use crate::{
    Progress,
    formula::Column,
    table::{
        ReadOptions, Source, Type,
        kit::{batch, category, csv, number, open, read, read_with, said, write_arrow, write_parquet},
    },
};

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
        category("truth", &["yes", "True"]),
        category("f64", &["0", "-3", "3"]),
        category("half", &["0", "0.5"]),
        category("nothing", &["a", "b"]),
    ];
    let said = read(&open(&path).unwrap(), &columns);
    for column in &said[..7] {
        assert_eq!(*column, [Some(1.0), None, None], "what is not a level is missing");
    }
    assert_eq!(said[7], [None, None, None]);
}

/// A missing cell turns a column of whole numbers into floats in many programs: the other cells
/// must read the same.
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
    let expected = [0.0, 1.0, 2.0, 3.0, 4.0].into_iter().map(Some).chain([None]);
    assert_eq!(said[0], expected.collect::<Vec<_>>(), "5 is not 05");
    assert_eq!((&said[1], &said[2]), (&said[0], &said[0]));
}

/// The person of each row by a column, numbered in order of appearance; `None` for a missing
/// identifier.
fn persons(source: &Source, column: &str) -> Result<Vec<Option<f64>>, String> {
    let mut persons = Vec::new();
    let options = ReadOptions { person: Some(column), ..ReadOptions::default() };
    let read = source.for_each_block(&[], &options, &mut |block| {
        persons.extend(said(&block.columns[0]));
        Ok(())
    });
    read.map(|()| persons).map_err(|error| error.to_string())
}

#[test]
fn a_table_has_the_same_persons_in_text_as_in_typed_columns() {
    let ids = [Some(7), None, Some(-7), Some(9_007_199_254_740_993), Some(9_007_199_254_740_992), Some(7)];
    let digits = |id: Option<i64>| id.map_or(String::new(), |id| id.to_string());
    let wide = ids.map(|id| id.map(i128::from));
    let table = batch(vec![
        ("integer", Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef),
        ("text", Arc::new(StringArray::from(ids.map(|id| id.map(|id| id.to_string())).to_vec()))),
        ("decimal", Arc::new(Decimal128Array::from(wide.to_vec()).with_precision_and_scale(38, 0).unwrap())),
        (
            "wide",
            Arc::new(
                Decimal256Array::from(wide.map(|id| id.map(i256::from_i128)).to_vec())
                    .with_precision_and_scale(76, 0)
                    .unwrap(),
            ),
        ),
    ]);
    let source = Source::from_batches(table.schema(), vec![table], "the table").unwrap();
    let expected = Ok([Some(0.0), None, Some(1.0), Some(2.0), Some(3.0), Some(0.0)].to_vec());
    let text = ids.iter().fold("other,csv\n".to_owned(), |text, id| text + "1," + &digits(*id) + "\n");
    assert_eq!(persons(&csv(text).unwrap(), "csv"), expected);
    for column in ["integer", "text", "decimal", "wide"] {
        assert_eq!(persons(&source, column), expected, "{column}");
        let hashes = |column| source.identified(column, false, [1; 32]).unwrap();
        assert_eq!(hashes(column), hashes("integer"), "{column}");
    }
    let texts = "other,id\n1,7\n1,7.0\n1,07\n1,7.1\n1,7.10\n1, 7 \n1,True\n1,true\n";
    let expected = [0, 1, 2, 3, 4, 0, 5, 6].map(|person| Some(f64::from(person)));
    assert_eq!(persons(&csv(texts).unwrap(), "id").unwrap(), expected);
}

#[test]
fn a_type_that_changes_what_was_written_identifies_nobody() {
    let decimals = Decimal128Array::from(vec![Some(4711)]).with_precision_and_scale(9, 1).unwrap();
    let coded = DictionaryArray::<Int32Type>::new(vec![0].into(), Arc::new(Float64Array::from(vec![4711.0])));
    for (array, held) in [
        (Arc::new(Float64Array::from(vec![4711.0])) as ArrayRef, "floating-point numbers or decimals"),
        (Arc::new(Float32Array::from(vec![4711.0])), "floating-point numbers or decimals"),
        (Arc::new(decimals), "floating-point numbers or decimals"),
        (Arc::new(coded), "floating-point numbers or decimals"),
        (Arc::new(BooleanArray::from(vec![true])), "booleans"),
        (Arc::new(Date32Array::from(vec![4711])), "dates"),
        (Arc::new(BinaryArray::from(vec![&b"4711"[..]])), "neither integers nor text"),
    ] {
        let table = batch(vec![("id", array)]);
        let source = Source::from_batches(table.schema(), vec![table], "the table").unwrap();
        let refusal = persons(&source, "id").unwrap_err();
        assert!(refusal.starts_with(&format!("column 'id' holds {held}, ")) && !refusal.contains("4711"), "{refusal}");
        assert_eq!(source.identified("id", false, [1; 32]).unwrap_err().to_string(), refusal);
    }
}

#[test]
fn one_file_of_floats_makes_the_identifiers_of_all_files_floats() {
    let folder = TempDir::new().unwrap();
    let arrays: [ArrayRef; 2] = [Arc::new(Int64Array::from(vec![1])), Arc::new(Float64Array::from(vec![2.0]))];
    let paths = ["a.parquet", "b.parquet"].map(|name| folder.path().join(name));
    for (path, array) in paths.iter().zip(arrays) {
        write_parquet(path, &batch(vec![("id", array)]), Compression::UNCOMPRESSED);
    }
    for paths in [[&paths[0], &paths[1]], [&paths[1], &paths[0]]] {
        let both = Source::open(&paths).unwrap();
        assert_eq!(both.schema().fields()[0].kind, Type::Number);
        assert!(persons(&both, "id").unwrap_err().contains("holds floating-point numbers"));
        assert_eq!(read(&both, &[number("id")])[0].len(), 2);
    }
    assert_eq!(persons(&open(&paths[0]).unwrap(), "id"), Ok(vec![Some(0.0)]));
}

/// In many programs, one numeric cell turns booleans into 1 and 0, and one text cell turns booleans
/// into True and False and numbers into their digits: the other cells must read the same.
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
        // An exact match of a level comes first, and a text that no program prints for a number is
        // not a number.
        let exact = [category("x", &["-", "true", "1", "01", "+1"])];
        let code = if matches!(name, "b" | "python") { 1.0 } else { 2.0 };
        assert_eq!(read(&source, &exact), [[Some(code), None]], "{name}");
        let other = [category("x", &["1", "*"])];
        assert_eq!(read(&source, &other), [[Some(0.0), Some(1.0)]], "{name}: what is not listed is a level of its own");
    }
    let texts = batch(vec![("x", Arc::new(StringArray::from(vec!["True", "2", "1e-05", "05", "+2", "yes"])))]);
    let source = Source::from_batches(texts.schema(), vec![texts], "the table").unwrap();
    let levels = [category("x", &["-", "1", "2.0", "0.00001"])];
    assert_eq!(read(&source, &levels), [[Some(1.0), Some(2.0), Some(3.0), None, None, None]]);
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
    let levels = [Some(2.0), Some(1.0), None, Some(1.0), None, Some(1.0), Some(2.0), None, None, None];
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
