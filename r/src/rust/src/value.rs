//! Results for R.

use savvy::{NotAvailableValue, NullSexp, OwnedListSexp, OwnedLogicalSexp, OwnedRealSexp, OwnedStringSexp, Sexp};
use serde_json::{Map, Value};

/// A document as R keeps one: objects are named lists, arrays of numbers or of texts are vectors,
/// and a number that is not there is `NA`.
pub fn document(value: &Value) -> savvy::Result<Sexp> {
    match value {
        Value::Null => NullSexp.into(),
        Value::Bool(truth) => OwnedLogicalSexp::try_from_scalar(*truth)?.into(),
        Value::Number(_) => numbers([number(value)]),
        Value::String(text) => texts([text]),
        Value::Array(entries) => array(entries),
        Value::Object(entries) => object(entries),
    }
}

/// A document from its text.
pub fn parsed(json: &str) -> savvy::Result<Sexp> {
    document(&serde_json::from_str(json).expect("what was just written can be read"))
}

/// Numbers; not-a-number is `NA`.
pub fn numbers(numbers: impl AsRef<[f64]>) -> savvy::Result<Sexp> {
    let na = |number: &f64| if number.is_nan() { f64::na() } else { *number };
    OwnedRealSexp::try_from_slice(numbers.as_ref().iter().map(na).collect::<Vec<_>>())?.into()
}

/// Texts.
pub fn texts<T: AsRef<str>>(texts: impl AsRef<[T]>) -> savvy::Result<Sexp> {
    OwnedStringSexp::try_from_slice(texts)?.into()
}

/// A list with names.
pub fn list<const N: usize>(entries: [(&str, &dyn Fn() -> savvy::Result<Sexp>); N]) -> savvy::Result<Sexp> {
    let mut list = OwnedListSexp::new(N, true)?;
    for (place, (name, value)) in entries.into_iter().enumerate() {
        list.set_name_and_value(place, name, value()?)?;
    }
    list.into()
}

fn array(entries: &[Value]) -> savvy::Result<Sexp> {
    let are = |is: fn(&Value) -> bool| !entries.is_empty() && entries.iter().all(is);
    if are(Value::is_string) {
        return texts(entries.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    }
    if are(|entry| entry.is_number() || entry.is_null()) {
        return numbers(entries.iter().map(number).collect::<Vec<_>>());
    }
    let mut list = OwnedListSexp::new(entries.len(), false)?;
    for (place, entry) in entries.iter().enumerate() {
        list.set_value(place, document(entry)?)?;
    }
    list.into()
}

fn object(entries: &Map<String, Value>) -> savvy::Result<Sexp> {
    let mut list = OwnedListSexp::new(entries.len(), true)?;
    for (place, (name, entry)) in entries.iter().enumerate() {
        list.set_name_and_value(place, name, document(entry)?)?;
    }
    list.into()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}
