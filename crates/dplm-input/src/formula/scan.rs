//! The tokens of a formula: names, numbers, bounds, levels.

use super::{FormulaError, Kind, write};
use crate::date::day_of;

/// The text and the position reached, in bytes.
#[derive(Default)]
pub(super) struct Scanner<'a> {
    pub text: &'a str,
    pub position: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn skip_blanks(&mut self) {
        self.position = self.text.len() - self.rest().trim_start().len();
    }

    pub fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    /// Reads the longest run of characters that satisfy `wanted`.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|character| !wanted(character)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    /// Skips blanks, then reads `token` if it is next.
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        self.position += if found { token.len() } else { 0 };
        found
    }

    pub fn expect(&mut self, token: &str, what: &str) -> Result<(), FormulaError> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// The error at the current position.
    pub fn expected(&self, what: impl Into<String>) -> FormulaError {
        let at = self.at();
        if let Some(foreign) = self.foreign_operator() {
            return foreign;
        }
        match self.peek() {
            Some(symbol @ ('|' | '%')) => FormulaError::UnsupportedOperator { symbol, at },
            _ => FormulaError::Expected { what: what.into(), at },
        }
    }

    /// The position reached, counted in characters from 1.
    pub fn at(&self) -> usize {
        self.text[..self.position].chars().count() + 1
    }

    /// Reads `+` (true) or `-` (false).
    pub fn sign(&mut self) -> Option<bool> {
        if self.eat("+") {
            Some(true)
        } else if self.eat("-") {
            Some(false)
        } else {
            None
        }
    }

    /// Reads `1` (true) or `0` (false), and refuses longer numbers.
    pub fn constant(&mut self) -> Result<bool, FormulaError> {
        let start = self.position;
        match self.take_while(|character| write::continues_name(character) || character == '.') {
            "1" => Ok(true),
            "0" => Ok(false),
            _ => {
                self.position = start;
                Err(self.expected("a term, '.', 0 or 1 (put a name that starts with a digit in backquotes)"))
            }
        }
    }

    /// Reads the facts about a column that stand after its name, if any.
    pub fn facts(&mut self, column: &str) -> Result<Kind, FormulaError> {
        if self.eat("[") {
            self.bounds(column)
        } else if self.eat("{") {
            self.levels(column)
        } else {
            Ok(Kind::Standard)
        }
    }

    pub fn name(&mut self, what: &str) -> Result<String, FormulaError> {
        self.skip_blanks();
        if self.peek() == Some('`') {
            return self.quoted('`', "a closing backquote after the name");
        }
        if !self.peek().is_some_and(write::starts_name) {
            return Err(self.expected(what));
        }
        let start = self.position;
        loop {
            self.take_while(write::continues_name);
            let dot_inside = self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(write::continues_name));
            if !dot_inside {
                return Ok(self.text[start..self.position].to_owned());
            }
            self.position += 1;
        }
    }

    /// Reads quoted text, the opening quote included.
    fn quoted(&mut self, quote: char, what: &str) -> Result<String, FormulaError> {
        self.position += quote.len_utf8();
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|character| character != quote && character != '\\'));
            let mut ahead = self.rest().chars();
            match (ahead.next(), ahead.next()) {
                (Some('\\'), Some(escaped)) if escaped == quote || escaped == '\\' => {
                    text.push(escaped);
                    self.position += 2;
                }
                (Some('\\'), _) => {
                    text.push('\\');
                    self.position += 1;
                }
                (Some(_), _) => {
                    self.position += quote.len_utf8();
                    return Ok(text);
                }
                (None, _) => return Err(self.expected(what)),
            }
        }
    }

    fn bounds(&mut self, column: &str) -> Result<Kind, FormulaError> {
        if let Some(low) = self.day() {
            self.expect("..", &format!("'..' after the first day of '{column}'"))?;
            let wanted = format!("the last day of '{column}', as 2020-12-31");
            let high = self.day().ok_or_else(|| self.expected(wanted))?;
            self.expect("]", &format!("']' after the last day of '{column}'"))?;
            return Ok(Kind::Dates { low, high });
        }
        let low = self.number(&format!("the lower bound of '{column}', a number"), column)?;
        self.expect("..", &format!("'..' after the lower bound of '{column}'"))?;
        let high = self.number(&format!("the upper bound of '{column}', a number"), column)?;
        self.expect("]", &format!("']' after the upper bound of '{column}'"))?;
        Ok(Kind::Bounded { low, high })
    }

    /// Reads a number without a sign, where one stands.
    pub fn unsigned(&mut self) -> Option<f64> {
        self.skip_blanks();
        let length = number_length(self.rest());
        let number = self.rest()[..length].replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())?;
        self.position += length;
        Some(number)
    }

    /// Reads a date where one stands.
    fn day(&mut self) -> Option<i32> {
        const LENGTH: usize = "2020-12-31".len();
        self.skip_blanks();
        let day = day_of(self.rest().get(..LENGTH)?)?;
        self.position += LENGTH;
        Some(day)
    }

    /// Reads a number; `inf` and `nan` are accepted here so that the error can name the problem.
    pub fn number(&mut self, what: &str, column: &str) -> Result<f64, FormulaError> {
        self.skip_blanks();
        let length = number_length(self.rest());
        if let Ok(number) = self.rest()[..length].replace('_', "").parse() {
            self.position += length;
            return Ok(number);
        }
        let word = self.rest().trim_start_matches(['+', '-']).to_ascii_lowercase();
        if word.starts_with("inf") || word.starts_with("nan") {
            return Err(FormulaError::NonFiniteBounds { column: column.to_owned() });
        }
        Err(self.expected(what))
    }

    fn levels(&mut self, column: &str) -> Result<Kind, FormulaError> {
        let mut levels = Vec::new();
        if self.eat("}") {
            return Err(FormulaError::TooFewLevels { column: column.to_owned() });
        }
        loop {
            levels.push(self.level(column)?);
            if self.eat("}") {
                return Ok(Kind::Levels(levels));
            }
            self.expect(",", &format!("',' or '}}' after a level of '{column}'"))?;
        }
    }

    /// Reads a level that is the last argument of a function.
    pub fn argument(&mut self, what: &str) -> Result<String, FormulaError> {
        self.skip_blanks();
        match self.peek() {
            Some(quote @ ('"' | '`')) => self.quoted(quote, &format!("a closing {quote} after {what}")),
            None | Some(',' | ')') => Err(self.expected(what)),
            Some(_) => Ok(self.take_while(write::continues_argument).trim_end().to_owned()),
        }
    }

    fn level(&mut self, column: &str) -> Result<String, FormulaError> {
        self.skip_blanks();
        match self.peek() {
            Some(quote @ ('"' | '`')) => self.quoted(quote, &format!("a closing {quote} after a level of '{column}'")),
            Some(',' | '}') => Err(FormulaError::EmptyLevel { column: column.to_owned() }),
            None | Some('{') => Err(self.expected(format!("a level of '{column}'"))),
            Some(_) => Ok(self.take_while(|character| !write::ends_bare_level(character)).trim_end().to_owned()),
        }
    }
}

/// How many bytes at the start of `text` belong to a number:
/// `[+-] digits [. digits] [e [+-] digits]`.
///
/// A dot counts only when a digit follows, so that `0..20` is read as `0`, `..`, `20`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let digits = |from: usize| {
        let is_part = |at: usize| digit(at) || (at > from && bytes.get(at) == Some(&b'_') && digit(at + 1));
        (from..).find(|&at| !is_part(at)).expect("the text ends")
    };
    let mut end = digits(sign(0));
    if bytes.get(end) == Some(&b'.') && digit(end + 1) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + sign(end + 1);
        end = if digit(exponent) { digits(exponent) } else { end };
    }
    end
}
