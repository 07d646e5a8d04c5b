//! Python objects to cells, each by itself.
//!
//! A list or a column of objects declares no type, and none is told from its cells: one person's
//! cell would then decide how everybody's are read. Each cell keeps a type of its own in an Arrow
//! union, and the formula says how it is read.
//!
//! # Guarantee
//! What a cell becomes depends on that cell alone. No method that a cell's own class defines is
//! called, and nothing a cell says is in a message: what is neither a boolean, a number, a date nor
//! a text (or the bytes of one) counts as missing.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    ArrayRef, NullArray, UnionArray,
    builder::{ArrayBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, LargeStringBuilder},
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, UnionFields, UnionMode};
use pyo3::{
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyType},
};

/// The most cells of one array of many: a union's offsets are of 32 bits.
const MOST_CELLS: usize = 1 << 20;

/// The types a cell can have, in the order of the union's children.
const TYPES: [(&str, DataType); 6] = [
    ("missing", DataType::Null),
    ("truth", DataType::Boolean),
    ("integer", DataType::Int64),
    ("number", DataType::Float64),
    ("text", DataType::LargeUtf8),
    ("day", DataType::Date32),
];

/// The type of a column of cells.
pub fn data_type() -> DataType {
    DataType::Union(union_fields(), UnionMode::Dense)
}

/// The cells of a list, as arrays one after another.
pub fn arrays(cells: &Bound<'_, PyList>) -> PyResult<Vec<ArrayRef>> {
    let (reader, cells) = (Reader::new(cells.py())?, &mut cells.iter());
    let mut arrays = Vec::new();
    while cells.len() > 0 {
        arrays.push(reader.array(cells.take(MOST_CELLS)));
    }
    Ok(arrays)
}

/// The cells of a list as the texts that they print as, each by itself: for columns that declare
/// texts, or categories, whatever these are.
pub fn texts(cells: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
    let reader = Reader::new(cells.py())?;
    let mut texts = LargeStringBuilder::new();
    cells.iter().for_each(|cell| texts.append_option(reader.printed(reader.read(&cell))));
    Ok(Arc::new(texts.finish()))
}

/// What a cell holds.
enum Cell<'a> {
    Missing,
    Truth(bool),
    Integer(i64),
    Number(f64),
    Text(Cow<'a, str>),
    /// Days after 1970-01-01.
    Day(i32),
}

impl Cell<'_> {
    fn number(number: f64) -> Self {
        if number.is_nan() { Cell::Missing } else { Cell::Number(number) }
    }
}

/// A dense union that is being filled.
#[derive(Default)]
struct Union {
    types: Vec<i8>,
    offsets: Vec<i32>,
    missing: usize,
    truths: BooleanBuilder,
    integers: Int64Builder,
    numbers: Float64Builder,
    texts: LargeStringBuilder,
    days: Date32Builder,
}

impl Union {
    fn push(&mut self, cell: Cell<'_>) {
        let (child, offset) = match &cell {
            Cell::Missing => (0, self.missing),
            Cell::Truth(_) => (1, self.truths.len()),
            Cell::Integer(_) => (2, self.integers.len()),
            Cell::Number(_) => (3, self.numbers.len()),
            Cell::Text(_) => (4, self.texts.len()),
            Cell::Day(_) => (5, self.days.len()),
        };
        self.types.push(child);
        self.offsets.push(i32::try_from(offset).expect("an array has fewer than 2^31 cells"));
        match cell {
            Cell::Missing => self.missing += 1,
            Cell::Truth(truth) => self.truths.append_value(truth),
            Cell::Integer(integer) => self.integers.append_value(integer),
            Cell::Number(number) => self.numbers.append_value(number),
            Cell::Text(text) => self.texts.append_value(text),
            Cell::Day(day) => self.days.append_value(day),
        }
    }

    fn finish(mut self) -> ArrayRef {
        let children: Vec<ArrayRef> = vec![
            Arc::new(NullArray::new(self.missing)),
            Arc::new(self.truths.finish()),
            Arc::new(self.integers.finish()),
            Arc::new(self.numbers.finish()),
            Arc::new(self.texts.finish()),
            Arc::new(self.days.finish()),
        ];
        let (types, offsets) = (ScalarBuffer::from(self.types), Some(ScalarBuffer::from(self.offsets)));
        let union = UnionArray::try_new(union_fields(), types, offsets, children);
        Arc::new(union.expect("each cell has its place in a child"))
    }
}

fn union_fields() -> UnionFields {
    let fields = TYPES.map(|(name, data_type)| Arc::new(Field::new(name, data_type, true)));
    UnionFields::try_new(0..TYPES.len() as i8, fields).expect("every child has a number of its own")
}

/// Tells Python's types of cells apart, and takes values out by functions of those types, never by
/// those a cell's own class may define.
struct Reader<'py> {
    /// From a whole number to its digits.
    digits: Bound<'py, PyAny>,
    /// `Decimal` and `Fraction`, each with what turns it into a float. Only the classes themselves:
    /// one made from them may define anything.
    exact: [(Bound<'py, PyType>, Bound<'py, PyAny>); 2],
    /// `date` and `datetime`, likewise: `NaT` of pandas is made from them, and is none.
    dates: [Bound<'py, PyType>; 2],
    /// From a date to its day, counted from the first of the year 1.
    ordinal: Bound<'py, PyAny>,
    numpy: Option<Numpy<'py>>,
}

impl<'py> Reader<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let class =
            |module: &str, name: &str| -> PyResult<_> { Ok(py.import(module)?.getattr(name)?.cast_into::<PyType>()?) };
        let exact = |module: &str, name: &str| -> PyResult<_> {
            let class = class(module, name)?;
            let to_float = class.getattr("__float__")?;
            Ok((class, to_float))
        };
        let dates = [class("datetime", "date")?, class("datetime", "datetime")?];
        Ok(Reader {
            digits: py.get_type::<PyInt>().getattr("__repr__")?,
            exact: [exact("decimal", "Decimal")?, exact("fractions", "Fraction")?],
            ordinal: dates[0].getattr("toordinal")?,
            dates,
            numpy: Numpy::if_loaded(py)?,
        })
    }

    fn array(&self, cells: impl Iterator<Item = Bound<'py, PyAny>>) -> ArrayRef {
        let mut union = Union::default();
        cells.for_each(|cell| union.push(self.read(&cell)));
        union.finish()
    }

    fn read<'a>(&self, cell: &'a Bound<'py, PyAny>) -> Cell<'a> {
        if let Ok(float) = cell.cast::<PyFloat>() {
            Cell::number(float.value())
        } else if let Ok(text) = cell.cast::<PyString>() {
            // A text that is not Unicode (a lone surrogate) says nothing.
            text.to_str().map_or(Cell::Missing, |text| Cell::Text(text.into()))
        } else if let Ok(truth) = cell.cast::<PyBool>() {
            Cell::Truth(truth.is_true())
        } else if let Ok(integer) = cell.cast::<PyInt>() {
            self.integer(integer)
        } else if let Ok(bytes) = cell.cast::<PyBytes>() {
            // As NumPy's arrays of bytes are read.
            Cell::Text(String::from_utf8_lossy(bytes.as_bytes()))
        } else if cell.is_none() {
            Cell::Missing
        } else {
            self.other(cell).unwrap_or(Cell::Missing)
        }
    }

    /// What a cell prints as; levels and dates are read from it as from the cell itself.
    fn printed<'a>(&self, cell: Cell<'a>) -> Option<Cow<'a, str>> {
        Some(match cell {
            Cell::Missing => return None,
            Cell::Truth(truth) => truth.to_string().into(),
            Cell::Integer(integer) => integer.to_string().into(),
            Cell::Number(number) => number.to_string().into(),
            Cell::Text(text) => text,
            Cell::Day(day) => {
                let date = self.dates[0].call_method1("fromordinal", (day.checked_add(EPOCH)?,)).ok()?;
                date.call_method0("isoformat").ok()?.extract::<String>().ok()?.into()
            }
        })
    }

    /// A whole number; one beyond 64 bits by its digits, unless they are too many for Python to
    /// write.
    fn integer(&self, integer: &Bound<'py, PyInt>) -> Cell<'static> {
        if let Ok(integer) = integer.extract() {
            return Cell::Integer(integer);
        }
        let digits = self.digits.call1((integer,)).and_then(|digits| digits.extract::<String>());
        digits.map_or(Cell::Missing, |digits| Cell::Text(digits.into()))
    }

    fn other(&self, cell: &Bound<'py, PyAny>) -> Option<Cell<'static>> {
        let class = cell.get_type();
        if let Some((_, to_float)) = self.exact.iter().find(|(exact, _)| class.is(exact)) {
            return Some(Cell::number(to_float.call1((cell,)).ok()?.extract().ok()?));
        }
        if self.dates.iter().any(|date| class.is(date)) {
            let ordinal: i32 = self.ordinal.call1((cell,)).ok()?.extract().ok()?;
            return Some(Cell::Day(ordinal - EPOCH));
        }
        let numpy = self.numpy.as_ref()?;
        let is = |one: &Bound<'py, PyType>| class.is_subclass(one).unwrap_or(false);
        if is(&numpy.floating) {
            Some(Cell::number(numpy.astype.call1((cell, "float64")).ok()?.cast::<PyFloat>().ok()?.value()))
        } else if is(&numpy.truth) {
            Some(Cell::Truth(numpy.item.call1((cell,)).ok()?.cast::<PyBool>().ok()?.is_true()))
        } else if is(&numpy.integer) && !is(&numpy.span) {
            Some(self.integer(numpy.item.call1((cell,)).ok()?.cast::<PyInt>().ok()?))
        } else if is(&numpy.date) {
            numpy.day(cell)
        } else if numpy.timestamp.as_ref().is_some_and(|(timestamp, _)| class.is(timestamp)) {
            let (_, to_numpy) = numpy.timestamp.as_ref()?;
            numpy.day(&to_numpy.call1((cell,)).ok()?)
        } else {
            None
        }
    }
}

/// 1970-01-01, counted in days from the first of the year 1, which is 1.
const EPOCH: i32 = 719_163;

/// The scalars of NumPy, where it is loaded.
struct Numpy<'py> {
    truth: Bound<'py, PyType>,
    integer: Bound<'py, PyType>,
    /// Spans of time are integers to NumPy, and no numbers.
    span: Bound<'py, PyType>,
    floating: Bound<'py, PyType>,
    date: Bound<'py, PyType>,
    /// A time of pandas, where that is loaded too, and what turns it into one of NumPy. Only the
    /// class itself.
    timestamp: Option<(Bound<'py, PyType>, Bound<'py, PyAny>)>,
    item: Bound<'py, PyAny>,
    astype: Bound<'py, PyAny>,
}

impl<'py> Numpy<'py> {
    fn if_loaded(py: Python<'py>) -> PyResult<Option<Self>> {
        let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
        let Some(numpy) = modules.get_item("numpy")? else { return Ok(None) };
        let class = |name: &str| -> PyResult<_> { Ok(numpy.getattr(name)?.cast_into::<PyType>()?) };
        let generic = class("generic")?;
        let timestamp = match modules.get_item("pandas")? {
            Some(pandas) => {
                let timestamp = pandas.getattr("Timestamp")?.cast_into::<PyType>()?;
                let to_numpy = timestamp.getattr("to_datetime64")?;
                Some((timestamp, to_numpy))
            }
            None => None,
        };
        Ok(Some(Numpy {
            truth: class("bool_")?,
            integer: class("integer")?,
            span: class("timedelta64")?,
            floating: class("floating")?,
            date: class("datetime64")?,
            timestamp,
            item: generic.getattr("item")?,
            astype: generic.getattr("astype")?,
        }))
    }

    /// A day; none of a time that is none.
    fn day(&self, date: &Bound<'py, PyAny>) -> Option<Cell<'static>> {
        let day = self.astype.call1((date, "datetime64[D]")).and_then(|day| self.astype.call1((day, "int64")));
        Some(Cell::Day(i32::try_from(self.item.call1((day.ok()?,)).ok()?.extract::<i64>().ok()?).ok()?))
    }
}
