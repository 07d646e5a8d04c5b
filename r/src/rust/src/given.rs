//! Arguments as R gives them: lists with a name for each, and `NULL` where nothing was asked.

use savvy::{FunctionSexp, ListSexp, NotAvailableValue, Sexp, TypedSexp};
use serde_json::{Map, Value};

use crate::failure::{Kind, Refusal};

/// Named arguments.
pub struct Given(pub ListSexp);

impl Given {
    /// The argument of a name, unless it is `NULL`.
    pub fn get(&self, name: &str) -> Option<TypedSexp> {
        match self.0.get(name)?.into_typed() {
            TypedSexp::Null(_) => None,
            given => Some(given),
        }
    }

    fn wanted<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(TypedSexp) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let refused = || Kind::Request.because(format!("{name} must be {wanted}"));
        self.get(name).map(|given| read(given).ok_or_else(refused)).transpose()
    }

    /// What counts something.
    pub fn whole<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let whole = |given| whole(number(given)?)?.try_into().ok();
        self.wanted(name, "a whole number that is not negative", whole)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<Option<&'static str>, Refusal> {
        self.wanted(name, "a text", text)
    }

    /// A text that is always there.
    pub fn word(&self, name: &str) -> Result<&'static str, Refusal> {
        self.text(name)?.ok_or_else(|| Kind::Request.because(format!("{name} must be a text, and is missing")))
    }

    /// Any number of texts.
    pub fn texts(&self, name: &str) -> Result<Vec<&'static str>, Refusal> {
        Ok(self.wanted(name, "texts", texts)?.unwrap_or_default())
    }

    /// True or false.
    pub fn truth(&self, name: &str) -> Result<bool, Refusal> {
        Ok(self.wanted(name, "TRUE or FALSE", truth)?.unwrap_or(false))
    }
}

/// A function to call, unless there is none.
pub fn function(given: Sexp) -> Option<FunctionSexp> {
    match given.into_typed() {
        TypedSexp::Function(function) => Some(function),
        _ => None,
    }
}

/// The JSON that a list of numbers and texts says: a matrix by its rows.
pub fn json(given: TypedSexp) -> Option<Value> {
    match given {
        TypedSexp::List(list) => {
            let entry = |(name, one): (&str, Sexp)| Some((name.to_owned(), json(one.into_typed())?));
            Some(Value::Object(list.iter().map(entry).collect::<Option<Map<_, _>>>()?))
        }
        TypedSexp::String(_) => Some(texts(given)?.into()),
        TypedSexp::Real(real) => match real.get_dim() {
            Some(&[rows, columns]) => Some(matrix(real.as_slice(), rows.try_into().ok()?, columns.try_into().ok()?)),
            _ => Some(real.as_slice().into()),
        },
        _ => None,
    }
}

/// R keeps a matrix by columns.
fn matrix(entries: &[f64], rows: usize, columns: usize) -> Value {
    let row = |row: usize| (0..columns).map(|column| entries[column * rows + row]).collect::<Vec<f64>>();
    (0..rows).map(row).collect::<Vec<_>>().into()
}

/// One number.
pub fn number(given: TypedSexp) -> Option<f64> {
    numbers(given).filter(|numbers| numbers.len() == 1)?.pop()
}

fn numbers(given: TypedSexp) -> Option<Vec<f64>> {
    let found: Vec<f64> = match given {
        TypedSexp::Real(numbers) => numbers.as_slice().to_vec(),
        TypedSexp::Integer(numbers) => {
            numbers.as_slice().iter().filter(|one| !one.is_na()).map(|&one| one.into()).collect()
        }
        _ => return None,
    };
    found.iter().all(|one| !one.is_nan()).then_some(found)
}

/// A whole number that R's numbers can tell from its neighbours.
pub fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.trunc() == number && number <= (1u64 << f64::MANTISSA_DIGITS) as f64)
        .then_some(number as u64)
}

/// One text.
pub fn text(given: TypedSexp) -> Option<&'static str> {
    texts(given).filter(|texts| texts.len() == 1)?.pop()
}

/// Any number of texts.
pub fn texts(given: TypedSexp) -> Option<Vec<&'static str>> {
    let TypedSexp::String(given) = given else { return None };
    let found = given.to_vec();
    found.iter().all(|one| !one.is_na()).then_some(found)
}

/// True or false.
pub fn truth(given: TypedSexp) -> Option<bool> {
    let TypedSexp::Logical(given) = given else { return None };
    let &[one] = given.as_slice_raw() else { return None };
    (!one.is_na()).then_some(one != 0)
}

/// Names with a whole number each.
pub fn sizes(given: TypedSexp) -> Option<Vec<(String, u64)>> {
    let names = match &given {
        TypedSexp::Real(sizes) => sizes.get_names(),
        TypedSexp::Integer(sizes) => sizes.get_names(),
        _ => None,
    };
    let named = |(name, size): (&str, f64)| Some((name.to_owned(), whole(size)?));
    names?.into_iter().zip(numbers(given)?).map(named).collect()
}
