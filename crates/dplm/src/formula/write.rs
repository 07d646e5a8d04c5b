//! A formula back to text.

use std::fmt::{self, Display, Formatter, Write};

use super::{Column, Formula, Kind, Term};

impl Display for Formula {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ~ ", self.response)?;
        for (index, term) in self.terms.iter().enumerate() {
            f.write_str(if index > 0 { " + " } else { "" })?;
            match term {
                Term::Column(column) => write!(f, "{column}")?,
                Term::Others => f.write_char('.')?,
            }
        }
        for name in &self.except {
            write!(f, " - {}", Name(name))?;
        }
        match (self.terms.is_empty(), self.intercept) {
            (true, _) => f.write_char('1'),
            (false, true) => Ok(()),
            (false, false) => f.write_str(" + 0"),
        }
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Name(&self.name))?;
        match &self.kind {
            Kind::Standard => Ok(()),
            Kind::Bounded { low, high } => write!(f, "[{}..{}]", Number(*low), Number(*high)),
            Kind::Levels(levels) => write_levels(f, levels),
        }
    }
}

fn write_levels(f: &mut Formatter<'_>, levels: &[String]) -> fmt::Result {
    for (index, level) in levels.iter().enumerate() {
        f.write_char(if index == 0 { '{' } else { ',' })?;
        if is_bare_level(level) { f.write_str(level)? } else { write_quoted(f, level, '"')? }
    }
    f.write_char('}')
}

/// A column's name as a formula writes it: in backquotes when it holds odd characters.
pub(super) struct Name<'a>(pub &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare_name(self.0) { f.write_str(self.0) } else { write_quoted(f, self.0, '`') }
    }
}

/// A number in its shortest text that reads back as the same number, without a needless `.0`.
pub(super) struct Number(pub f64);

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = format!("{:?}", self.0);
        f.write_str(text.strip_suffix(".0").unwrap_or(&text))
    }
}

fn write_quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for character in text.chars() {
        if character == quote || character == '\\' {
            f.write_char('\\')?;
        }
        f.write_char(character)?;
    }
    f.write_char(quote)
}

/// Whether a name needs no backquotes: a letter or `_`, then letters, digits, `_`, and `.` between them.
fn is_bare_name(name: &str) -> bool {
    let starts_well = name.chars().next().is_some_and(starts_name);
    starts_well && name.chars().all(|c| continues_name(c) || c == '.') && !name.ends_with('.') && !name.contains("..")
}

/// Whether a bare name may start with this character.
pub(super) fn starts_name(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

/// Whether this character may stand inside a bare name; `.` may too, when another such character follows.
pub(super) fn continues_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_bare_level(level: &str) -> bool {
    !level.is_empty() && level.trim() == level && !level.contains(ends_bare_level)
}

/// Whether this character cannot stand in a level without quotes.
pub(super) fn ends_bare_level(character: char) -> bool {
    matches!(character, ',' | '{' | '}' | '"' | '`')
}
