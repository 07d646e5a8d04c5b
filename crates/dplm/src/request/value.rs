//! The values that options take, before and after they are understood.

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

use super::Opt;
use crate::{
    moments::Moments,
    options::{Choice, Device, Family, IntervalMethod, Purpose, Target},
    privacy::Neighbours,
    table::Dialect,
};

/// A value as an interface gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: the default, where that is to choose.
    Nothing,
    /// True or false.
    Truth(bool),
    /// A number.
    Number(f64),
    /// A whole number that is not negative.
    Whole(u64),
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A whole number for each name.
    Sizes(Sizes),
    /// Means and covariances.
    Moments(Box<Moments>),
    /// The path of a file.
    Path(PathBuf),
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Whole(number)
    }
}

/// What an option takes.
#[derive(Clone, Copy, Debug)]
pub enum OptionKind {
    /// True or false.
    Truth,
    /// A number.
    Number,
    /// A whole number that is not negative.
    Whole,
    /// A number of bytes.
    Bytes,
    /// A text.
    Text,
    /// One of a few words, and others that mean the same; what to do instead of one that there is
    /// not.
    Word(fn() -> Vec<(&'static str, &'static [&'static str])>, Option<&'static str>),
    /// Several texts.
    Texts,
    /// A whole number for each name.
    Sizes,
    /// Means and covariances: a document or its file.
    Moments,
    /// The path of a file.
    Path,
}

impl OptionKind {
    /// What a value must be, in words.
    pub fn wanted(self) -> String {
        match self {
            OptionKind::Truth => "true or false".to_owned(),
            OptionKind::Number => "a number".to_owned(),
            OptionKind::Whole | OptionKind::Bytes => "a whole number that is not negative".to_owned(),
            OptionKind::Text => "a text".to_owned(),
            OptionKind::Word(words, instead) => {
                let words: Vec<&str> = words().iter().map(|(word, _)| *word).collect();
                let instead = instead.map_or_else(String::new, |instead| format!(" ({instead})"));
                format!("one of {}{instead}", words.join(", "))
            }
            OptionKind::Texts => "texts".to_owned(),
            OptionKind::Sizes => "a whole number for each level, as north=1000,south=800".to_owned(),
            OptionKind::Moments => "the path of a file, or means and covariances".to_owned(),
            OptionKind::Path => "a path".to_owned(),
        }
    }
}

/// A value is not one that the option takes. The value itself is not repeated: a table may have
/// been handed over by mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} must be {wanted}", option.name())]
#[non_exhaustive]
pub struct OptionError {
    /// The option.
    pub option: Opt,
    /// What it must be.
    pub wanted: String,
}

impl OptionError {
    /// An option whose value is something else.
    pub fn new(option: Opt, wanted: impl Into<String>) -> OptionError {
        OptionError { option, wanted: wanted.into() }
    }
}

/// The size of each group, where that is public.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sizes(pub BTreeMap<String, u64>);

impl<const N: usize> From<[(&str, u64); N]> for Sizes {
    fn from(pairs: [(&str, u64); N]) -> Sizes {
        Sizes(pairs.map(|(level, size)| (level.to_owned(), size)).into())
    }
}

impl FromStr for Sizes {
    type Err = &'static str;

    /// Reads `north=1000,south=800`.
    fn from_str(text: &str) -> Result<Sizes, Self::Err> {
        const EXPECTED: &str = "give a size for each group, as north=1000,south=800";
        let mut sizes = BTreeMap::new();
        for part in text.split(',') {
            let (level, size) = part.rsplit_once('=').ok_or(EXPECTED)?;
            let size = size.trim().parse().map_err(|_| EXPECTED)?;
            if sizes.insert(level.trim().to_owned(), size).is_some() {
                return Err(EXPECTED);
            }
        }
        Ok(Sizes(sizes))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(level, size)| format!("{level}={size}")).collect();
        f.write_str(&pairs.join(","))
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// The type of a field of a request, and the values it takes.
pub trait OptionValue: Sized {
    /// What interfaces must give.
    const KIND: OptionKind;

    /// What a value must be, in words.
    fn wanted() -> String {
        Self::KIND.wanted()
    }

    /// The field, from a value of its kind.
    fn read(value: Value) -> Option<Self>;

    /// The value that reads back as the field.
    fn value(&self) -> Value;
}

macro_rules! field {
    ($type:ty, $kind:ident, $value:ident) => {
        impl OptionValue for $type {
            const KIND: OptionKind = OptionKind::$kind;

            fn read(value: Value) -> Option<$type> {
                match value {
                    Value::$value(value) => value.try_into().ok(),
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                Value::$value(self.clone().try_into().expect("no larger than what values hold"))
            }
        }
    };
}

field!(bool, Truth, Truth);
field!(u32, Whole, Whole);
field!(u64, Whole, Whole);
field!(usize, Whole, Whole);
field!(String, Text, Text);
field!(Vec<String>, Texts, Texts);
field!(PathBuf, Path, Path);

impl OptionValue for f64 {
    const KIND: OptionKind = OptionKind::Number;

    fn read(value: Value) -> Option<f64> {
        match value {
            Value::Number(number) => Some(number),
            Value::Whole(number) => Some(number as f64),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Number(*self)
    }
}

impl OptionValue for Bytes {
    const KIND: OptionKind = OptionKind::Bytes;

    fn read(value: Value) -> Option<Bytes> {
        u64::read(value).map(Bytes)
    }

    fn value(&self) -> Value {
        Value::Whole(self.0)
    }
}

impl OptionValue for Sizes {
    const KIND: OptionKind = OptionKind::Sizes;

    fn read(value: Value) -> Option<Sizes> {
        match value {
            Value::Sizes(sizes) => Some(sizes),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Sizes(self.clone())
    }
}

impl OptionValue for Moments {
    const KIND: OptionKind = OptionKind::Moments;

    fn read(value: Value) -> Option<Moments> {
        match value {
            Value::Moments(moments) => Some(*moments),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Moments(Box::new(self.clone()))
    }
}

impl OptionValue for Dialect {
    const KIND: OptionKind = OptionKind::Text;

    fn wanted() -> String {
        "comma, semicolon, tab or pipe, and decimal-comma, as in semicolon,decimal-comma".to_owned()
    }

    fn read(value: Value) -> Option<Dialect> {
        String::read(value)?.parse().ok()
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

/// Options that are words. They are listed because [`Choice`] is another crate's trait: a rule for
/// all of its types could overlap with those for numbers.
macro_rules! word {
    ($($type:ty)+) => {
        $(impl OptionValue for $type {
            const KIND: OptionKind =
                OptionKind::Word(|| Self::ALL.iter().map(|value| (value.word(), value.synonyms())).collect(), Self::INSTEAD);

            fn read(value: Value) -> Option<$type> {
                String::read(value)?.parse().ok()
            }

            fn value(&self) -> Value {
                Value::Text(self.word().to_owned())
            }
        })+
    };
}

word!(Device Family IntervalMethod Neighbours Purpose Target);

impl<T: OptionValue> OptionValue for Option<T> {
    const KIND: OptionKind = T::KIND;

    fn wanted() -> String {
        T::wanted()
    }

    fn read(value: Value) -> Option<Option<T>> {
        match value {
            Value::Nothing => Some(None),
            // A text may be that word itself: the name of a column, or of a method.
            Value::Text(word) if word == AUTO && !matches!(T::KIND, OptionKind::Text) => Some(None),
            value => T::read(value).map(Some),
        }
    }

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Nothing, OptionValue::value)
    }
}

/// The word for a value that is chosen.
pub(super) const AUTO: &str = "auto";

/// What a setter takes for a field: the field, or what it is plainly made of.
pub trait Given<T> {
    /// The field.
    fn given(self) -> T;
}

impl<T> Given<T> for T {
    fn given(self) -> T {
        self
    }
}

impl<T> Given<Option<T>> for T {
    fn given(self) -> Option<T> {
        Some(self)
    }
}

impl Given<Option<Bytes>> for u64 {
    fn given(self) -> Option<Bytes> {
        Some(Bytes(self))
    }
}

impl Given<String> for &str {
    fn given(self) -> String {
        self.to_owned()
    }
}

impl Given<Option<String>> for &str {
    fn given(self) -> Option<String> {
        Some(self.to_owned())
    }
}
