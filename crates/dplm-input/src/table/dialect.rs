//! The text format of a table.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The text format, where the file's ending does not determine it: a name for each choice, joined
/// by commas, as `semicolon,decimal-comma`.
///
/// # Examples
/// ```
/// use dplm::table::Dialect;
/// let dialect: Dialect = "semicolon,decimal-comma".parse()?;
/// assert!(dialect.decimal_comma);
/// assert!("colon".parse::<Dialect>().is_err());
/// # Ok::<(), dplm::table::UnknownDialect>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Dialect {
    /// What separates cells; by default a comma in `.csv` and a tab in `.tsv`.
    pub delimiter: Option<Delimiter>,
    /// Whether one and a half is written `1,5`.
    pub decimal_comma: bool,
}

/// The character that separates cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// `|`
    Pipe,
}

/// A word that is not an option of text files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("csv: '{0}' is not known: use comma, semicolon, tab or pipe, and decimal-comma, as in semicolon,decimal-comma")]
pub struct UnknownDialect(String);

impl Delimiter {
    const ALL: [Delimiter; 4] = [Delimiter::Comma, Delimiter::Semicolon, Delimiter::Tab, Delimiter::Pipe];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Delimiter::Comma => "comma",
            Delimiter::Semicolon => "semicolon",
            Delimiter::Tab => "tab",
            Delimiter::Pipe => "pipe",
        }
    }

    #[cfg_attr(not(feature = "csv"), allow(dead_code, reason = "only the text formats use it"))]
    pub(super) fn byte(self) -> u8 {
        match self {
            Delimiter::Comma => b',',
            Delimiter::Semicolon => b';',
            Delimiter::Tab => b'\t',
            Delimiter::Pipe => b'|',
        }
    }

    /// A delimiter that the first line contains, when another delimiter did not split it.
    #[cfg_attr(not(feature = "csv"), allow(dead_code, reason = "only the text formats use it"))]
    pub(super) fn shown_by(line: &str) -> Option<Delimiter> {
        let [comma, semicolon, tab, pipe] = Delimiter::ALL;
        [semicolon, tab, pipe, comma].into_iter().find(|delimiter| line.contains(char::from(delimiter.byte())))
    }
}

/// The words that parse back to it; empty for the defaults.
impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delimiter = self.delimiter.map(Delimiter::word);
        let words = delimiter.into_iter().chain(self.decimal_comma.then_some("decimal-comma"));
        f.write_str(&words.collect::<Vec<_>>().join(","))
    }
}

impl From<Dialect> for String {
    fn from(dialect: Dialect) -> String {
        dialect.to_string()
    }
}

impl TryFrom<String> for Dialect {
    type Error = UnknownDialect;

    fn try_from(words: String) -> Result<Dialect, UnknownDialect> {
        if words.is_empty() { Ok(Dialect::default()) } else { words.parse() }
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(words: &str) -> Result<Dialect, UnknownDialect> {
        let mut dialect = Dialect::default();
        for word in words.split(',').map(str::trim) {
            match Delimiter::ALL.into_iter().find(|delimiter| delimiter.word() == word) {
                Some(delimiter) => dialect.delimiter = Some(delimiter),
                None if word == "decimal-comma" => dialect.decimal_comma = true,
                None => return Err(UnknownDialect(word.to_owned())),
            }
        }
        Ok(dialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for words in ["", "comma", "semicolon,decimal-comma", "tab", "pipe", "decimal-comma"] {
            let dialect = Dialect::try_from(words.to_owned()).expect("known words");
            assert_eq!(dialect.to_string(), words);
        }
        assert!(Dialect::try_from("colon".to_owned()).is_err());
    }
}
