//! A formula back to text.

use std::{
    collections::HashMap,
    fmt::{self, Display, Formatter, Write},
};

use crate::date::date_of;

use super::{
    Column, Curve, Event, Expression, Formula, Instrument, Kind, Model, Variable, expression::Operator, term::Term,
};

impl Display for Formula {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, true)
    }
}

impl Display for Model {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_formula(f, self, None, &[], true)
    }
}

impl Formula {
    /// The terms, without the facts about columns.
    pub(super) fn without_facts(&self) -> String {
        struct Bare<'a>(&'a Formula);
        impl Display for Bare<'_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                self.0.write(f, false)
            }
        }
        Bare(self).to_string()
    }

    fn write(&self, f: &mut Formatter<'_>, with_facts: bool) -> fmt::Result {
        write_formula(f, &self.model, self.dot, &self.except, with_facts)
    }
}

fn write_formula(
    f: &mut Formatter<'_>,
    model: &Model,
    dot: Option<usize>,
    except: &[String],
    with_facts: bool,
) -> fmt::Result {
    let mut mentions = Mentions { facts: HashMap::new() };
    if with_facts {
        mentions.facts = model.columns.iter().map(|column| (column.name.as_str(), column)).collect();
    }
    mentions.arithmetic(f, &model.response, Binding::Sum)?;
    f.write_str(" ~ ")?;
    let mut summands = Separated { first: true };
    for variable in named_first(model) {
        summands.next(f)?;
        mentions.variable(f, variable)?;
        write!(f, " - {variable}")?;
    }
    for place in 0..=model.controls().len() {
        if dot == Some(place) {
            summands.next(f)?;
            f.write_char('.')?;
        }
        if let Some(term) = model.controls().get(place) {
            summands.next(f)?;
            mentions.term(f, term)?;
        }
    }
    for offset in &model.offsets {
        if summands.first {
            summands.next(f)?;
            f.write_char('1')?;
        }
        summands.next(f)?;
        f.write_str("offset(")?;
        mentions.arithmetic(f, offset, Binding::Sum)?;
        f.write_char(')')?;
    }
    for name in except {
        write!(f, " - {}", Name(name))?;
    }
    match (summands.first, model.intercept) {
        (true, true) => f.write_char('1')?,
        (true, false) => f.write_char('0')?,
        (false, true) => {}
        (false, false) => f.write_str(" + 0")?,
    }
    model.within().map_or(Ok(()), |person| write!(f, " | {}", Name(person)))?;
    let Some(Instrument { of, by }) = &model.instrument else { return Ok(()) };
    f.write_str(" | ")?;
    mentions.variable(f, of)?;
    f.write_str(" ~ ")?;
    let mut summands = Separated { first: true };
    by.iter().try_for_each(|one| {
        summands.next(f)?;
        mentions.variable(f, one)
    })
}

/// The variables to name before any term, so that factors keep the model's order when the text is
/// read again: `a*b - a` is `a - a + b + a:b`.
fn named_first(model: &Model) -> &[Variable] {
    let places: HashMap<String, usize> = model.factors.iter().map(Variable::to_string).zip(0..).collect();
    let (mut count, mut furthest) = (0, 0);
    for variable in model.variables() {
        if let Some(&place) = places.get(&variable.to_string()) {
            // The variable comes after one that should follow it.
            count = if place < furthest { count.max(place + 1) } else { count };
            furthest = furthest.max(place);
        }
    }
    &model.factors[..count]
}

/// Writes a plus between summands.
struct Separated {
    first: bool,
}

impl Separated {
    fn next(&mut self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if std::mem::take(&mut self.first) { "" } else { " + " })
    }
}

/// Writes columns, with the facts about a column at its first mention.
struct Mentions<'a> {
    /// The facts not yet written.
    facts: HashMap<&'a str, &'a Column>,
}

/// The precedence of an operator, lowest first: an expression below the precedence of its place
/// gets parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Sum,
    Product,
    Negative,
    Power,
    Atom,
}

impl Mentions<'_> {
    fn term(&mut self, f: &mut Formatter<'_>, term: &Term) -> fmt::Result {
        for (index, variable) in term.0.iter().enumerate() {
            f.write_str(if index > 0 { ":" } else { "" })?;
            self.variable(f, variable)?;
        }
        Ok(())
    }

    fn variable(&mut self, f: &mut Formatter<'_>, variable: &Variable) -> fmt::Result {
        match variable {
            Variable::Value(expression) => self.arithmetic(f, expression, Binding::Sum),
            Variable::Curve(curve, of) => {
                write!(f, "{}(", curve.name())?;
                self.arithmetic(f, of, Binding::Sum)?;
                match curve {
                    Curve::Poly(degree) => write!(f, ", {degree})"),
                    Curve::Bs(df) | Curve::Ns(df) => write!(f, ", df = {df})"),
                }
            }
            Variable::Event(event) => self.event(f, event),
        }
    }

    fn event(&mut self, f: &mut Formatter<'_>, event: &Event) -> fmt::Result {
        f.write_str("i(")?;
        for column in event.columns() {
            self.column(f, column)?;
            f.write_str(", ")?;
        }
        f.write_str("ref = ")?;
        match is_bare_level(&event.reference) && event.reference.chars().all(continues_argument) {
            true => f.write_str(&event.reference)?,
            false => write_quoted(f, &event.reference, '"')?,
        }
        if !event.shares.is_empty() {
            let shares: Vec<String> = event.shares.iter().map(f64::to_string).collect();
            write!(f, ", shares = {{{}}}", shares.join(","))?;
        }
        f.write_char(')')
    }

    fn column(&mut self, f: &mut Formatter<'_>, name: &str) -> fmt::Result {
        match self.facts.remove(name) {
            Some(column) => write!(f, "{column}"),
            None => write!(f, "{}", Name(name)),
        }
    }

    /// As R prints it.
    fn arithmetic(&mut self, f: &mut Formatter<'_>, expression: &Expression, least: Binding) -> fmt::Result {
        let in_parentheses = binding(expression) < least;
        f.write_str(if in_parentheses { "(" } else { "" })?;
        match expression {
            Expression::Column(name) => self.column(f, name)?,
            Expression::Number(number) => write!(f, "{}", Number(*number))?,
            Expression::Negative(of) => {
                f.write_char('-')?;
                self.arithmetic(f, of, Binding::Negative)?;
            }
            Expression::Binary(operator, a, b) => {
                let (sign, left, right) = match operator {
                    Operator::Plus => (" + ", Binding::Sum, Binding::Product),
                    Operator::Minus => (" - ", Binding::Sum, Binding::Product),
                    Operator::Times => (" * ", Binding::Product, Binding::Negative),
                    Operator::Over => ("/", Binding::Product, Binding::Negative),
                };
                self.arithmetic(f, a, left)?;
                f.write_str(sign)?;
                self.arithmetic(f, b, right)?;
            }
            Expression::Power(of, exponent) => {
                self.arithmetic(f, of, Binding::Atom)?;
                write!(f, "^{}", Number(*exponent))?;
            }
            Expression::Call(function, of) => {
                write!(f, "{}(", function.name())?;
                self.arithmetic(f, of, Binding::Sum)?;
                f.write_char(')')?;
            }
        }
        f.write_str(if in_parentheses { ")" } else { "" })
    }
}

fn binding(expression: &Expression) -> Binding {
    match expression {
        Expression::Binary(Operator::Plus | Operator::Minus, ..) => Binding::Sum,
        Expression::Binary(Operator::Times | Operator::Over, ..) => Binding::Product,
        Expression::Negative(_) => Binding::Negative,
        Expression::Power(..) => Binding::Power,
        Expression::Column(_) | Expression::Number(_) | Expression::Call(..) => Binding::Atom,
    }
}

/// Without facts.
impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Mentions { facts: HashMap::new() }.arithmetic(f, self, Binding::Sum)
    }
}

/// Without facts.
impl Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Mentions { facts: HashMap::new() }.variable(f, self)
    }
}

/// Without facts.
impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Mentions { facts: HashMap::new() }.term(f, self)
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Name(&self.name))?;
        match &self.kind {
            Kind::Standard => Ok(()),
            Kind::Bounded { low, high } => write!(f, "[{}..{}]", Number(*low), Number(*high)),
            Kind::Dates { low, high } => write!(f, "[{}..{}]", date_of(*low), date_of(*high)),
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

/// A column's name as a formula writes it: in backquotes if it holds unusual characters.
pub(super) struct Name<'a>(pub &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare_name(self.0) { f.write_str(self.0) } else { write_quoted(f, self.0, '`') }
    }
}

/// The shortest text that reads back as the same number, without a needless `.0`.
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

/// Whether a name needs no backquotes: a letter or `_`, then letters, digits, `_`, and `.` between
/// them, and no prefix of Stata's.
fn is_bare_name(name: &str) -> bool {
    let starts_well = name.chars().next().is_some_and(starts_name) && after_prefix(name).is_none();
    starts_well && name.chars().all(|c| continues_name(c) || c == '.') && !name.ends_with('.') && !name.contains("..")
}

/// What follows a prefix by which Stata says what a variable is: `i.region`, `ib2.region`, `c.age`.
pub(super) fn after_prefix(name: &str) -> Option<&str> {
    let (prefix, column) = name.split_once('.')?;
    let prefix = prefix.trim_end_matches(|letter: char| letter.is_ascii_digit());
    ["i", "ib", "c"].contains(&prefix).then_some(column)
}

/// Whether a bare name may start with this character.
pub(super) fn starts_name(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

/// Whether this character may stand inside a bare name; `.` may too, when another such character
/// follows.
pub(super) fn continues_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_bare_level(level: &str) -> bool {
    !level.is_empty() && level.trim() == level && !level.contains(ends_bare_level)
}

/// Whether this character can stand in a level without quotes that is the last argument of a
/// function.
pub(super) fn continues_argument(character: char) -> bool {
    !ends_bare_level(character) && character != ')'
}

/// Whether this character cannot stand in a level without quotes.
pub(super) fn ends_bare_level(character: char) -> bool {
    matches!(character, ',' | '{' | '}' | '"' | '`')
}
