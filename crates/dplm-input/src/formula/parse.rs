//! One line of text to a formula.
//!
//! ```text
//! formula     := arithmetic '~' [sign] summand (sign summand)* ['|' column ('+' column)*] ['|' variable '~' variable ('+' variable)*]
//! sign        := '+' | '-'
//! summand     := '0' | '1' | '.' | 'offset' '(' arithmetic ')' | crossing
//! crossing    := interaction ('*' interaction)*
//! interaction := power (':' power)*
//! power       := ('(' crossing (sign crossing)* ')' | variable) [caret whole number]
//! variable    := column | function '(' arithmetic ')' | family '(' arithmetic ',' [word '='] whole number ')'
//!              | 'i' '(' column ',' [column ','] 'ref' '=' level ')'
//! arithmetic  := product (sign product)*
//! product     := negative (('*' | '/') negative)*
//! negative    := '-' negative | atom [caret ['-'] number]
//! atom        := number | column | function '(' arithmetic ')' | '(' arithmetic ')'
//! caret       := '^' | '**'
//! function    := 'I' | 'log' | 'log2' | 'log10' | 'log1p' | 'exp' | 'sqrt' | 'abs'
//! family      := 'poly' | 'bs' | 'ns'
//! column      := name [ '[' number '..' number ']' | '[' date '..' date ']' | '{' level (',' level)* '}' ]
//! name        := letter (letter | digit | '_' | '.')*  |  '`' any '`'
//! level       := any but , { } " `                     |  '`' any '`'  |  '"' any '"'
//! ```
//!
//! Blanks are allowed everywhere outside names. In quotes, `\` escapes the quote and itself.

use std::collections::{HashMap, HashSet};

use crate::options::Family;

use super::{
    Column, Curve, Event, Expression, Formula, FormulaError, Instrument, Kind, Model, Variable, check_facts,
    expression::{Function, Operator},
    model::Facts,
    scan::Scanner,
    term::Term,
};

/// The deepest nesting of parentheses and signs, so that the stack does not overflow.
const DEEPEST: usize = 50;
/// The most numbers, columns and operators in one arithmetic expression, for the same reason.
const MOST_OPERATIONS: usize = 200;
/// The most terms of a formula with its products expanded.
const MOST_TERMS: usize = 100_000;
/// The function that marks a summand with coefficient 1.
const OFFSET: &str = "offset";
/// The function of an event study, and its last argument.
const EVENT: &str = "i";
const REFERENCE: &str = "ref";
const SHARES: &str = "shares";

impl Formula {
    /// Reads a formula such as `log(y[1..10]) ~ x[-1..1] * g{a,b} + poly(z[0..1], 2) + 0`.
    ///
    /// `+ 0` or `- 1` removes the intercept; `.` stands for every other numeric column, `. - id`
    /// for every other but `id`. Numbers may be written as `-1.5e3` or `1_000`. Bounds and levels
    /// are written at one mention of a column. `| id` gives each person a constant of their own,
    /// and `i(period, treated, ref = 3)` each period but one a coefficient. `| x ~ z` makes `x` a
    /// regressor with the instrument `z`; there may be several, as in `| x ~ z1 + z2`.
    ///
    /// # Errors
    /// Refuses text outside the grammar, with the position, and impossible facts: reversed, equal
    /// or infinite bounds, a function that is not defined within them, fewer than two levels, a
    /// response that is a category or also a predictor.
    ///
    /// # Examples
    /// ```
    /// use dplm::formula::Formula;
    /// let error = Formula::parse("y ~ age[18..90").unwrap_err();
    /// assert_eq!(error.to_string(), "formula: expected ']' after the upper bound of 'age' (at character 15)");
    /// ```
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        Formula::parse_for(text, Family::Gaussian)
    }

    /// Reads a formula for a family of responses. For [`Family::Binomial`] the left side is
    /// `y{no,yes}`, where the probability of the second level is fitted, or `y[0..1]`, a number
    /// that is 0 or 1.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and when the response is not of the family.
    ///
    /// # Examples
    /// ```
    /// use dplm::{formula::Formula, method::Family};
    /// let formula = Formula::parse_for("married{no,yes} ~ age[18..90]", Family::Binomial)?;
    /// assert!(formula.is_binary());
    /// # Ok::<(), dplm::formula::FormulaError>(())
    /// ```
    pub fn parse_for(text: &str, family: Family) -> Result<Self, FormulaError> {
        Formula::parse_any(text)?.of_family(family)
    }

    /// Reads a formula of any family.
    pub fn parse_any(text: &str) -> Result<Self, FormulaError> {
        Formula::read(text)?.checked()
    }

    /// Reads a formula whose facts may be written elsewhere.
    pub(super) fn read(text: &str) -> Result<Self, FormulaError> {
        Parser { scanner: Scanner { text, position: 0 }, ..Parser::default() }.formula()
    }
}

/// The text, the position reached, and the columns met so far.
#[derive(Default)]
struct Parser<'a> {
    scanner: Scanner<'a>,
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    /// The position at which each variable of the right side was first named, even if its term was
    /// removed again.
    mentions: HashMap<String, usize>,
    depth: usize,
    operations: usize,
}

/// The right side as it is read.
#[derive(Default)]
struct Right {
    terms: Vec<Term>,
    keys: HashSet<String>,
    dot: Option<usize>,
    /// Columns that were removed, and whether they were terms.
    removed: Vec<(String, bool)>,
    offsets: Vec<Expression>,
    without_intercept: bool,
}

impl Right {
    fn add(&mut self, terms: Vec<Term>) {
        for term in terms {
            self.removed.retain(|(name, _)| term.as_column() != Some(name));
            if self.keys.insert(term.key()) {
                self.terms.push(term);
            }
        }
    }

    fn remove(&mut self, terms: Vec<Term>) -> Result<(), FormulaError> {
        for term in terms {
            let place = self.terms.iter().position(|one| one.key() == term.key());
            if let Some(place) = place {
                self.keys.remove(&term.key());
                self.terms.remove(place);
                self.dot = self.dot.map(|dot| dot - usize::from(place < dot));
            }
            match term.as_column() {
                // `.` may stand for it.
                Some(name) => self.removed.push((name.to_owned(), place.is_some())),
                None if place.is_none() => return Err(FormulaError::NothingToRemove { term: term.to_string() }),
                None => {}
            }
        }
        Ok(())
    }

    /// The columns that `.` leaves out.
    fn except(&self) -> Result<Vec<String>, FormulaError> {
        let mut except: Vec<String> = Vec::new();
        for (name, was_there) in &self.removed {
            match self.dot {
                None if !was_there => return Err(FormulaError::NothingToRemove { term: name.clone() }),
                Some(_) if !except.contains(name) => except.push(name.clone()),
                _ => {}
            }
        }
        Ok(except)
    }
}

impl Parser<'_> {
    fn formula(mut self) -> Result<Formula, FormulaError> {
        let response = self.arithmetic("the response, a column's name")?;
        self.scanner.expect("~", "'~' after the response")?;
        let mut right = Right::default();
        let mut adds = self.scanner.sign().unwrap_or(true);
        loop {
            self.summand(&mut right, adds)?;
            if self.scanner.at_end() || self.scanner.peek() == Some('|') {
                break;
            }
            let wanted = "'+', '-', '*', ':' or the end of the formula";
            adds = self.scanner.sign().ok_or_else(|| self.scanner.expected(wanted))?;
        }
        let except = right.except()?;
        let (within, instrument) = self.after_bars()?;
        let Right { mut terms, dot, offsets, without_intercept, .. } = right;
        let factors = self.put_factors_in_order(&mut terms);
        let (columns, intercept) = (Facts::of(self.columns), !without_intercept);
        terms.extend(instrument.iter().map(|one| Term(vec![one.of.clone()])));
        let model = Model { columns, response, terms, factors, offsets, intercept, within, instrument };
        Ok(Formula { model: Box::new(model), dot, except })
    }

    /// What follows `|`, where something does: persons and categories, and instruments.
    fn after_bars(&mut self) -> Result<(Vec<String>, Option<Instrument>), FormulaError> {
        let (mut within, mut instrument) = (Vec::new(), None);
        while instrument.is_none() && self.scanner.eat("|") {
            let of = self.variable("the column of persons, a category, or what is instrumented, after '|'")?;
            if self.scanner.eat("~") {
                let mut by = vec![self.variable("the instrument, after '~'")?];
                while self.scanner.eat("+") {
                    by.push(self.variable("an instrument, after '+'")?);
                }
                instrument = Some(Instrument { of, by });
                continue;
            }
            let columns = self.after_first(of)?;
            if self.scanner.eat("~") {
                return Err(FormulaError::SeveralEndogenous { columns });
            } else if !within.is_empty() {
                return Err(self.scanner.expected("'~' and the instrument"));
            }
            within = columns;
        }
        match self.scanner.at_end() {
            true => Ok((within, instrument)),
            false => Err(self.scanner.expected("'+' or the end of the formula")),
        }
    }

    /// The columns after `|` that start with this one.
    fn after_first(&mut self, first: Variable) -> Result<Vec<String>, FormulaError> {
        let what = "the column of persons, or a category, after '|'";
        let mut within = vec![first.as_column().map(str::to_owned).ok_or_else(|| self.scanner.expected(what))?];
        while self.scanner.eat("+") {
            within.push(self.name_of_column(what)?);
        }
        Ok(within)
    }

    /// Puts the factors of each product in the order in which the formula first names them, as R
    /// does, and gives that order.
    fn put_factors_in_order(&self, terms: &mut [Term]) -> Vec<Variable> {
        let first_mention = |variable: &Variable| self.mentions[&variable.to_string()];
        let mut factors = Vec::new();
        for term in terms.iter_mut().filter(|term| term.0.len() > 1) {
            term.0.sort_by_cached_key(first_mention);
            factors.extend_from_slice(&term.0);
        }
        factors.sort_by_cached_key(first_mention);
        factors.dedup();
        factors
    }

    /// Reads one summand; `adds` is the sign before it.
    fn summand(&mut self, right: &mut Right, adds: bool) -> Result<(), FormulaError> {
        self.scanner.skip_blanks();
        match self.scanner.peek() {
            Some('0' | '1') => right.without_intercept = self.scanner.constant()? != adds,
            Some('.') if adds => {
                self.scanner.eat(".");
                if right.dot.replace(right.terms.len()).is_some() {
                    return Err(FormulaError::DuplicateDot);
                }
            }
            _ if self.eat_call(OFFSET) => {
                if !adds {
                    return Err(self.scanner.expected("an offset that is added, not subtracted"));
                }
                right.offsets.push(self.arithmetic("a number inside 'offset(...)'")?);
                self.close()?;
            }
            _ if adds => {
                let terms = self.crossing("a column, a function, '.', 0 or 1")?;
                right.add(terms);
            }
            _ => {
                let terms = self.crossing("the term to leave out, or 1")?;
                right.remove(terms)?;
            }
        }
        if right.terms.len() > MOST_TERMS { Err(FormulaError::TooManyTerms) } else { Ok(()) }
    }

    /// `a * b`: both, and their product.
    fn crossing(&mut self, what: &str) -> Result<Vec<Term>, FormulaError> {
        let mut terms = self.interaction(what)?;
        while self.scanner.eat("*") {
            let other = self.interaction("a term after '*'")?;
            let products = products(&terms, &other)?;
            terms = union(union(terms, other), products);
        }
        Ok(terms)
    }

    /// `a : b`: their product.
    fn interaction(&mut self, what: &str) -> Result<Vec<Term>, FormulaError> {
        let mut terms = self.power(what)?;
        while self.scanner.eat(":") {
            let other = self.power("a term after ':'")?;
            terms = union(Vec::new(), products(&terms, &other)?);
        }
        Ok(terms)
    }

    /// `(a + b)^2`: all terms, and all products of two.
    fn power(&mut self, what: &str) -> Result<Vec<Term>, FormulaError> {
        let base = self.group(what)?;
        if !self.caret() {
            return Ok(base);
        }
        let wanted = "a whole number from 1 after '^' (arithmetic stands inside I(...), as in I(x^2))";
        let at = self.scanner.position;
        let exponent = self.whole(wanted)?;
        if let ([Term(factors)], 2..) = (&base[..], exponent)
            && let [factor] = &factors[..]
        {
            self.scanner.position = at;
            return Err(self.scanner.power_of_one(&factor.to_string(), exponent));
        }
        let mut terms = base.clone();
        // A variable counts once in a product, so more factors than terms change nothing.
        for _ in 1..(exponent as usize).min(base.len().max(1)) {
            let products = products(&terms, &base)?;
            terms = union(terms, products);
        }
        Ok(terms)
    }

    /// Reads `^`, or `**`, which means the same.
    fn caret(&mut self) -> bool {
        self.scanner.eat("^") || self.scanner.eat("**")
    }

    fn group(&mut self, what: &str) -> Result<Vec<Term>, FormulaError> {
        if let Some(error) = self.scanner.random_effect() {
            return Err(error);
        }
        if !self.scanner.eat("(") {
            return Ok(vec![Term(vec![self.variable(what)?])]);
        }
        self.deeper()?;
        let mut terms = self.crossing("a term after '('")?;
        while self.scanner.eat("+") {
            let more = self.crossing("a term after '+'")?;
            terms = union(terms, more);
        }
        self.scanner.expect(")", "'+' or ')' inside parentheses")?;
        self.depth -= 1;
        Ok(terms)
    }

    /// A column, a function of numbers, or a family of them.
    fn variable(&mut self, what: &str) -> Result<Variable, FormulaError> {
        let variable = self.unplaced_variable(what)?;
        let place = self.mentions.len();
        self.mentions.entry(variable.to_string()).or_insert(place);
        Ok(variable)
    }

    fn unplaced_variable(&mut self, what: &str) -> Result<Variable, FormulaError> {
        for family in [Curve::Poly as fn(u32) -> Curve, Curve::Bs, Curve::Ns] {
            if self.eat_call(family(0).name()) {
                return self.curve(family);
            }
        }
        if self.eat_call(EVENT) {
            return self.event();
        }
        self.operations = 0;
        match self.call()? {
            Some(call) => Ok(Variable::Value(call)),
            None => Ok(Variable::Value(self.column(what)?)),
        }
    }

    /// The rest of `poly(x, 3)`.
    fn curve(&mut self, family: fn(u32) -> Curve) -> Result<Variable, FormulaError> {
        let (name, word) = (family(0).name(), family(0).size_word());
        let of = self.arithmetic(&format!("a number inside '{name}(...)'"))?;
        let wanted = format!("', {} = ' and a whole number inside '{name}(...)'", word);
        self.scanner.expect(",", &wanted)?;
        if self.scanner.eat(word) {
            self.scanner.expect("=", &wanted)?;
        }
        let size = self.whole(&wanted)?;
        self.close()?;
        Ok(Variable::Curve(family(size), of))
    }

    /// The rest of `i(period, treated, ref = 3)`.
    fn event(&mut self) -> Result<Variable, FormulaError> {
        let wanted = "', ref = ' and a level inside 'i(...)'";
        let period = self.name_of_column("a category inside 'i(...)'")?;
        self.scanner.expect(",", wanted)?;
        let mut of = None;
        if !self.eat_reference() {
            of = Some(self.name_of_column("'ref = ' and a level, or the category of those treated, inside 'i(...)'")?);
            self.scanner.expect(",", wanted)?;
            if !self.eat_reference() {
                return Err(self.scanner.expected(wanted));
            }
        }
        let reference = self.scanner.argument("the level that is the reference of 'i(...)'")?;
        let shares = self.shares()?;
        self.close()?;
        Ok(Variable::Event(Event { period, of, reference, shares }))
    }

    /// `, shares = {0.7,0.3}` where it is next.
    fn shares(&mut self) -> Result<Vec<f64>, FormulaError> {
        if !self.scanner.eat(",") {
            return Ok(Vec::new());
        }
        let wanted = "'shares = {' and the share of each cohort, as in shares = {0.7,0.3}";
        if !(self.eat_named(SHARES) && self.scanner.eat("{")) {
            return Err(self.scanner.expected(wanted));
        }
        let mut shares = vec![self.scanner.number(wanted, SHARES)?];
        while self.scanner.eat(",") {
            shares.push(self.scanner.number(wanted, SHARES)?);
        }
        self.scanner.expect("}", "'}' after the shares")?;
        Ok(shares)
    }

    /// Reads `ref =` where it is next.
    fn eat_reference(&mut self) -> bool {
        self.eat_named(REFERENCE)
    }

    /// Reads `name =` where it is next.
    fn eat_named(&mut self, name: &str) -> bool {
        let start = self.scanner.position;
        let found = self.scanner.name("").is_ok_and(|found| found == name) && self.scanner.eat("=");
        self.scanner.position = if found { self.scanner.position } else { start };
        found
    }

    /// Reads `name(` where it is next.
    fn eat_call(&mut self, name: &str) -> bool {
        let start = self.scanner.position;
        let found = self.scanner.name("").is_ok_and(|found| found == name) && self.scanner.eat("(");
        let is_quoted = self.scanner.text[start..].trim_start().starts_with('`');
        if !found || is_quoted {
            self.scanner.position = start;
        }
        found && !is_quoted
    }

    /// Reads a function of a number where one is next.
    fn call(&mut self) -> Result<Option<Expression>, FormulaError> {
        let Some(function) = Function::ALL.into_iter().find(|function| self.eat_call(function.name())) else {
            return Ok(None);
        };
        let of = self.sum(&format!("a number inside '{}(...)'", function.name()))?;
        self.close()?;
        Ok(Some(Expression::Call(function, Box::new(of))))
    }

    fn close(&mut self) -> Result<(), FormulaError> {
        self.scanner.expect(")", "')'")
    }

    /// An arithmetic expression.
    fn arithmetic(&mut self, what: &str) -> Result<Expression, FormulaError> {
        self.operations = 0;
        self.sum(what)
    }

    fn sum(&mut self, what: &str) -> Result<Expression, FormulaError> {
        let mut sum = self.product(what)?;
        while let Some(adds) = self.scanner.sign() {
            let operator = if adds { Operator::Plus } else { Operator::Minus };
            sum = Expression::binary(operator, sum, self.product("a number after the sign")?);
        }
        Ok(sum)
    }

    fn product(&mut self, what: &str) -> Result<Expression, FormulaError> {
        let mut product = self.negative(what)?;
        loop {
            let operator = match () {
                () if self.scanner.eat("*") => Operator::Times,
                () if self.scanner.eat("/") => Operator::Over,
                () => return Ok(product),
            };
            product = Expression::binary(operator, product, self.negative("a number after the operator")?);
        }
    }

    fn negative(&mut self, what: &str) -> Result<Expression, FormulaError> {
        if !self.scanner.eat("-") {
            return self.powered(what);
        }
        self.deeper()?;
        let of = self.negative("a number after '-'")?;
        self.depth -= 1;
        Ok(Expression::Negative(Box::new(of)))
    }

    fn powered(&mut self, what: &str) -> Result<Expression, FormulaError> {
        let base = self.atom(what)?;
        if !self.caret() {
            return Ok(base);
        }
        let in_parentheses = self.scanner.eat("(");
        let is_negative = self.scanner.eat("-");
        let exponent = self.scanner.unsigned().ok_or_else(|| self.scanner.expected("a number after '^'"))?;
        if in_parentheses {
            self.close()?;
        }
        Ok(Expression::Power(Box::new(base), if is_negative { -exponent } else { exponent }))
    }

    fn atom(&mut self, what: &str) -> Result<Expression, FormulaError> {
        self.operations += 1;
        if self.operations > MOST_OPERATIONS {
            return Err(self.scanner.expected("the end: compute arithmetic this long in the data"));
        }
        if self.scanner.eat("(") {
            self.deeper()?;
            let inside = self.sum("a number after '('")?;
            self.close()?;
            self.depth -= 1;
            return Ok(inside);
        }
        if let Some(number) = self.scanner.unsigned() {
            return Ok(Expression::Number(number));
        }
        self.deeper()?;
        let call = self.call()?;
        self.depth -= 1;
        call.map_or_else(|| self.column(what), Ok)
    }

    /// A column, with its facts if they stand here.
    fn column(&mut self, what: &str) -> Result<Expression, FormulaError> {
        Ok(Expression::Column(self.name_of_column(what)?))
    }

    fn name_of_column(&mut self, what: &str) -> Result<String, FormulaError> {
        let start = self.scanner.position;
        let name = self.scanner.name(what)?;
        if self.scanner.eat("(") {
            self.scanner.position = start;
            self.scanner.skip_blanks();
            return Err(self.scanner.unknown_function(name));
        }
        if let Some(error) = self.of_stata(start, &name) {
            return Err(error);
        }
        let kind = self.scanner.facts(&name)?;
        let place = *self.places.entry(name.clone()).or_insert_with(|| {
            self.columns.push(Column { name: name.clone(), kind: Kind::Standard });
            self.columns.len() - 1
        });
        self.columns[place].learn(kind)?;
        Ok(name)
    }

    /// The error for a name that Stata's prefixes begin; a name in backquotes is meant as it is.
    fn of_stata(&mut self, start: usize, name: &str) -> Option<FormulaError> {
        let end = std::mem::replace(&mut self.scanner.position, start);
        self.scanner.skip_blanks();
        let is_quoted = self.scanner.peek() == Some('`');
        let error = if is_quoted { None } else { self.scanner.of_stata(name) };
        self.scanner.position = end;
        error
    }

    fn whole(&mut self, what: &str) -> Result<u32, FormulaError> {
        let start = self.scanner.position;
        let whole = self.scanner.unsigned().filter(|number| number.trunc() == *number && (1.0..1e6).contains(number));
        whole.map(|number| number as u32).ok_or_else(|| {
            self.scanner.position = start;
            self.scanner.skip_blanks();
            self.scanner.expected(what)
        })
    }

    /// Enters one more level of nesting.
    fn deeper(&mut self) -> Result<(), FormulaError> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(self.scanner.expected("fewer parentheses inside each other")) } else { Ok(()) }
    }
}

/// Every product of a term of one list and a term of the other.
fn products(left: &[Term], right: &[Term]) -> Result<Vec<Term>, FormulaError> {
    if left.len().saturating_mul(right.len()) > MOST_TERMS {
        return Err(FormulaError::TooManyTerms);
    }
    Ok(left.iter().flat_map(|a| right.iter().map(|b| a.times(b))).collect())
}

/// The terms of two lists, each once.
fn union(terms: Vec<Term>, more: Vec<Term>) -> Vec<Term> {
    let mut seen = HashSet::new();
    terms.into_iter().chain(more).filter(|term| seen.insert(term.key())).collect()
}

impl Column {
    /// Reads one column with its public facts, such as `w[0..50]` or `region{north,south}`.
    ///
    /// # Errors
    /// Refuses text outside the grammar, with the position, and impossible facts.
    ///
    /// # Examples
    /// ```
    /// use dplm::formula::Column;
    /// assert_eq!(Column::parse("region{north, south}")?.to_string(), "region{north,south}");
    /// # Ok::<(), dplm::formula::FormulaError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Column, FormulaError> {
        let mut scanner = Scanner { text, position: 0 };
        let name = scanner.name("a column's name")?;
        let kind = scanner.facts(&name)?;
        if !scanner.at_end() {
            return Err(scanner.expected("the end: one column and what is publicly known of it"));
        }
        let column = Column { name, kind };
        check_facts(&column)?;
        Ok(column)
    }

    /// Merges a fact that is written at another mention.
    ///
    /// # Errors
    /// When a different fact is already known.
    pub(super) fn learn(&mut self, kind: Kind) -> Result<(), FormulaError> {
        match kind {
            Kind::Standard => {}
            kind if self.kind == Kind::Standard => self.kind = kind,
            kind if self.kind == kind => {}
            _ => return Err(FormulaError::TwoFacts { column: self.name.clone() }),
        }
        Ok(())
    }
}
