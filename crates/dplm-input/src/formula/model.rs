//! A model with every column named, and the columns of its design matrix as R has them.

use std::collections::{HashMap, HashSet};

use super::{
    Event, FormulaError, Instrument, check_bounds, check_facts,
    expression::{Expression, Operator},
    range::Range,
    term::{Part, Regressor, Term, Variable},
};
use crate::schema::{Column, Kind};

/// A model with every column named: what [`Formula::resolve`](super::Formula::resolve) gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(super) columns: Facts,
    pub(super) response: Expression,
    /// As written, with products expanded and their factors put in order.
    pub(super) terms: Vec<Term>,
    /// The variables that occur in products, in the order of their first mention in the formula,
    /// which is the order of factors in every product.
    pub(super) factors: Vec<Variable>,
    pub(super) offsets: Vec<Expression>,
    /// Whether the model has a constant: one for all, or one for each person.
    pub(super) intercept: bool,
    /// What follows `|`; once the model is checked, the column of persons at most.
    pub(super) within: Vec<String>,
    /// The regressor that is instrumented, which is the last term, and what by.
    pub(super) instrument: Option<Instrument>,
}

/// The public facts about the columns that a model reads, in the order of their first mention, the
/// response first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    columns: Vec<Column>,
    /// A linear search would be quadratic in the number of columns.
    places: HashMap<String, usize>,
}

impl Facts {
    pub(super) fn of(columns: Vec<Column>) -> Facts {
        let places = columns.iter().zip(0..).map(|(column, place)| (column.name.clone(), place)).collect();
        Facts { columns, places }
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Column> {
        self.columns.iter()
    }

    pub(super) fn kind(&self, column: &str) -> &Kind {
        &self.columns[self.places[column]].kind
    }
}

/// The most coefficients of a model; more are a mistake and would fill the memory.
const MOST_COEFFICIENTS: usize = 1 << 20;

impl Model {
    /// The model of a response and a sum of columns.
    pub fn of_columns(response: Column, features: Vec<Column>, intercept: bool) -> Model {
        Model {
            response: Expression::Column(response.name.clone()),
            terms: features.iter().map(|column| Term(vec![Variable::column(&column.name)])).collect(),
            columns: Facts::of(std::iter::once(response).chain(features).collect()),
            factors: Vec::new(),
            offsets: Vec::new(),
            intercept,
            within: Vec::new(),
            instrument: None,
        }
    }

    /// Every column the model reads, in the order of their first mention, the response's first.
    pub fn columns(&self) -> Vec<Column> {
        self.columns.columns.clone()
    }

    /// Whether a constant is fitted.
    pub fn intercept(&self) -> bool {
        self.intercept && self.within.is_empty()
    }

    /// The left side, as R prints it.
    pub fn response(&self) -> String {
        self.response.to_string()
    }

    /// The terms of the right side, as R prints them and in R's order.
    pub fn term_names(&self) -> Vec<String> {
        let offsets = self.offsets.iter().map(|offset| format!("offset({offset})"));
        self.ordered_terms().iter().map(ToString::to_string).chain(offsets).collect()
    }

    /// The public bounds of the left side; `None` if one of its columns has none.
    pub fn response_bounds(&self) -> Option<(f64, f64)> {
        let Range { low, high } = self.range(&self.response).ok()?;
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }

    /// Whether any column has public bounds (`name[lo..hi]`); levels do not count.
    pub fn has_bounds(&self) -> bool {
        self.columns.iter().any(|column| column.kind.bounds().is_some())
    }

    /// Names of the columns assumed (not measured) to be centred with unit variance; the response
    /// first.
    pub fn assumed_standard(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| column.kind == Kind::Standard).map(|column| column.name.as_str())
    }

    /// Names of the coefficients, as R prints them and in R's order: `(Intercept)`, then columns,
    /// then products of two, and so on. A level is `column[level]`; the reference level has none
    /// if another term stands for it.
    pub fn coefficient_names(&self) -> Vec<String> {
        let variables = self.variables();
        self.regressors().iter().map(|regressor| self.name(regressor, &variables)).collect()
    }

    /// For each column, the names of the coefficients that involve it.
    pub fn coefficients_by_column(&self) -> HashMap<&str, Vec<String>> {
        let variables = self.variables();
        let mut found: HashMap<&str, Vec<String>> = HashMap::new();
        for regressor in self.regressors() {
            let name = self.name(&regressor, &variables);
            let of_parts = regressor.parts.iter().map(|part| variables[part.variable]);
            let columns: HashSet<&str> = of_parts.flat_map(Variable::columns).collect();
            columns.into_iter().for_each(|column| found.entry(column).or_default().push(name.clone()));
        }
        found
    }

    /// The columns that its terms and offsets read.
    pub fn predictors(&self) -> HashSet<&str> {
        let terms = self.terms.iter().flat_map(|term| &term.0).flat_map(Variable::columns);
        terms.chain(self.offsets.iter().flat_map(Expression::columns)).collect()
    }

    /// The fitted quantity: the response minus the offsets.
    pub fn fitted(&self) -> Expression {
        let less = |response, offset: &Expression| Expression::binary(Operator::Minus, response, offset.clone());
        self.offsets.iter().fold(self.response.clone(), less)
    }

    /// The sum of the offsets.
    pub fn offset(&self) -> Option<Expression> {
        let plus = |sum, offset| Expression::binary(Operator::Plus, sum, offset);
        self.offsets.iter().cloned().reduce(plus)
    }

    /// The variables of its terms, in the order of their first mention.
    pub fn variables(&self) -> Vec<&Variable> {
        let mut seen = HashSet::new();
        let all = self.terms.iter().flat_map(|term| &term.0);
        all.filter(|variable| seen.insert(variable.to_string())).collect()
    }

    /// The levels of a variable that is a category.
    pub fn levels(&self, variable: &Variable) -> Option<&[String]> {
        self.levels_of(variable.as_column()?)
    }

    /// The levels of a column that is a category.
    pub(super) fn levels_of(&self, column: &str) -> Option<&[String]> {
        match self.columns.kind(column) {
            Kind::Levels(levels) => Some(levels),
            Kind::Standard | Kind::Bounded { .. } | Kind::Dates { .. } => None,
        }
    }

    /// The range of an expression of the model; unbounded for a column without bounds.
    ///
    /// # Errors
    /// As [`Expression::range`].
    pub fn range(&self, expression: &Expression) -> Result<Range, FormulaError> {
        expression
            .range(&|column| self.columns.kind(column).bounds().map_or(Range::ALL, |(low, high)| Range { low, high }))
    }

    /// The terms in R's order: first by the number of their variables, then as written.
    pub fn ordered_terms(&self) -> Vec<&Term> {
        let mut terms: Vec<&Term> = self.terms.iter().collect();
        terms.sort_by_key(|term| term.0.len());
        terms
    }

    /// The columns of the design matrix, in R's order: in a product, the first variable's columns
    /// change fastest.
    pub fn regressors(&self) -> Vec<Regressor> {
        let position: HashMap<String, usize> =
            self.variables().iter().zip(0..).map(|(variable, at)| (variable.to_string(), at)).collect();
        let coding = Coding::of(self);
        let mut all: Vec<Regressor> = self.intercept().then(|| Regressor { parts: Vec::new() }).into_iter().collect();
        for (index, term) in self.ordered_terms().into_iter().enumerate() {
            let mut products = vec![Vec::new()];
            for variable in &term.0 {
                let part = |column| Part { variable: position[&variable.to_string()], column };
                let columns = coding.columns(self, index, term, variable);
                products = columns
                    .flat_map(|column| products.iter().map(move |parts| [&parts[..], &[part(column)]].concat()))
                    .collect();
            }
            all.extend(products.into_iter().map(|parts| Regressor { parts }));
        }
        all
    }

    fn name(&self, regressor: &Regressor, variables: &[&Variable]) -> String {
        let names = regressor.parts.iter().map(|part| self.part_name(variables[part.variable], part.column));
        let names: Vec<String> = names.collect();
        if names.is_empty() { "(Intercept)".to_owned() } else { names.join(":") }
    }

    fn part_name(&self, variable: &Variable, column: u32) -> String {
        match (self.levels(variable), variable) {
            (Some(levels), Variable::Value(_)) => {
                format!("{}[{}]", variable.as_column().expect("a column has levels"), levels[column as usize])
            }
            (_, Variable::Curve(curve, _)) if curve.columns() > 1 => format!("{variable}{}", column + 1),
            (_, Variable::Event(event)) => self.event_name(event, self.event_cells(event)[column as usize]),
            (_, other) => other.as_column().map_or_else(|| other.to_string(), str::to_owned),
        }
    }

    /// Checks the rules of every model.
    pub(super) fn check(&self) -> Result<(), FormulaError> {
        self.columns.iter().try_for_each(check_facts)?;
        self.check_response()?;
        for term in &self.terms {
            term.0.iter().try_for_each(|variable| self.check_variable(variable))?;
        }
        self.check_instrument()?;
        self.offsets.iter().try_for_each(|offset| self.check_numbers(offset))?;
        if self.binary_response().is_none() {
            self.check_computed(&self.fitted())?;
        }
        if self.terms.is_empty() && !self.intercept() {
            return Err(FormulaError::NoTerms);
        }
        self.check_count()
    }

    /// The column of a response that is one of two levels.
    pub fn binary_response(&self) -> Option<&str> {
        match &self.response {
            Expression::Column(column) => match self.columns.kind(column) {
                Kind::Levels(levels) if levels.len() == 2 => Some(column),
                _ => None,
            },
            _ => None,
        }
    }

    fn check_response(&self) -> Result<(), FormulaError> {
        match (&self.response, self.binary_response()) {
            (_, Some(_)) if !self.offsets.is_empty() => return Err(FormulaError::OffsetOfBinary),
            (_, Some(_)) if self.within().is_some() => return Err(FormulaError::WithinOfBinary),
            (_, Some(_)) => {}
            (Expression::Column(column), None) if matches!(self.columns.kind(column), Kind::Levels(_)) => {
                return Err(FormulaError::CategoricalResponse { column: column.clone() });
            }
            _ => self.check_numbers(&self.response)?,
        }
        let columns = self.response.columns();
        match columns[..] {
            [column] if self.predictors().contains(column) => {
                Err(FormulaError::ResponseOnRight { column: column.to_owned() })
            }
            [] => Err(FormulaError::ConstantResponse),
            _ => Ok(()),
        }
    }

    pub(super) fn check_variable(&self, variable: &Variable) -> Result<(), FormulaError> {
        match variable {
            Variable::Value(Expression::Column(_)) => Ok(()),
            Variable::Value(expression) => {
                self.check_numbers(expression)?;
                self.check_computed(expression)
            }
            Variable::Event(event) => self.check_event(event),
            Variable::Curve(curve, expression) => {
                let (least, most) = curve.columns_allowed();
                if !(least..=most).contains(&curve.columns()) {
                    return Err(FormulaError::CurveSize { curve: curve.name(), least, most });
                }
                self.check_numbers(expression)?;
                self.check_bounded(expression)?;
                self.check_computed(expression)
            }
        }
    }

    fn check_event(&self, event: &Event) -> Result<(), FormulaError> {
        if let Some(column) = event.columns().find(|column| self.levels_of(column).is_none()) {
            return Err(FormulaError::EventOfNumber { column: column.to_owned() });
        }
        let (levels, reference) = (self.levels_of(&event.period).unwrap_or_default(), &event.reference);
        if !levels.contains(reference) {
            return Err(FormulaError::NoSuchReference { column: event.period.clone(), level: reference.clone() });
        }
        let cohorts = event.of.as_ref().map_or(0, |of| self.levels_of(of).map_or(0, |levels| levels.len() - 1));
        let is_share = |share: &f64| *share > 0.0 && share.is_finite();
        match event.shares.is_empty() || event.shares.len() == cohorts && event.shares.iter().all(is_share) {
            true => Ok(()),
            false => Err(FormulaError::SharesOfCohorts { cohorts }),
        }
    }

    /// Arithmetic needs numbers.
    fn check_numbers(&self, expression: &Expression) -> Result<(), FormulaError> {
        let category =
            expression.columns().into_iter().find(|column| matches!(self.columns.kind(column), Kind::Levels(_)));
        category.map_or(Ok(()), |column| {
            Err(FormulaError::CategoryInArithmetic { column: column.to_owned(), expression: expression.to_string() })
        })
    }

    fn check_bounded(&self, expression: &Expression) -> Result<(), FormulaError> {
        let bare = expression.columns().into_iter().find(|column| self.columns.kind(column).bounds().is_none());
        bare.map_or(Ok(()), |column| {
            Err(FormulaError::BoundsNeeded { column: column.to_owned(), expression: expression.to_string() })
        })
    }

    /// A computed number needs bounds that can serve as a scale.
    fn check_computed(&self, expression: &Expression) -> Result<(), FormulaError> {
        if let Expression::Column(_) = expression {
            return Ok(());
        }
        self.check_bounded(expression)?;
        let Range { low, high } = self.range(expression)?;
        check_bounds(&expression.to_string(), low, high)
    }

    /// Counts before anything is allocated.
    fn check_count(&self) -> Result<(), FormulaError> {
        let columns = |variable: &Variable| match (self.levels(variable), variable) {
            (Some(levels), _) => levels.len(),
            (None, Variable::Curve(curve, _)) => curve.columns() as usize,
            (None, Variable::Event(event)) => self.event_cells(event).len(),
            (None, Variable::Value(_)) => 1,
        };
        let of_term = |term: &Term| term.0.iter().fold(1, |product: usize, one| product.saturating_mul(columns(one)));
        let count = self.terms.iter().fold(0, |sum: usize, term| sum.saturating_add(of_term(term)));
        if count > MOST_COEFFICIENTS { Err(FormulaError::TooManyTerms) } else { Ok(()) }
    }
}

/// R's rule for which categories have a column for every level and which leave out their reference.
/// A category in a term leaves it out if an earlier term has all other variables of the term,
/// because its columns would sum to that term's. Without an intercept, the first category keeps it.
struct Coding {
    /// For each set of variables that is a term, or a term without one variable: the index of the
    /// first ordered term that contains the set.
    first_with: HashMap<String, usize>,
    /// The index of the first ordered term with a category, if there is no intercept.
    first: Option<usize>,
}

impl Coding {
    fn of(model: &Model) -> Coding {
        let has_category = |term: &&Term| term.0.iter().any(|variable| model.levels(variable).is_some());
        let terms = model.ordered_terms();
        let mut first_with = HashMap::new();
        for (index, term) in terms.iter().enumerate() {
            let parts = term.0.iter().map(|variable| term.without(variable).key());
            for key in parts.chain([term.key()]) {
                first_with.entry(key).or_insert(index);
            }
        }
        Coding { first_with, first: terms.iter().position(has_category).filter(|_| !model.spans_constant()) }
    }

    /// Which columns of a variable enter a term.
    fn columns(&self, model: &Model, index: usize, term: &Term, variable: &Variable) -> std::ops::Range<u32> {
        match (model.levels(variable), variable) {
            (Some(levels), _) => u32::from(!self.is_full(model, index, term, variable))..levels.len() as u32,
            (None, Variable::Curve(curve, _)) => 0..curve.columns(),
            (None, Variable::Event(event)) => 0..model.event_cells(event).len() as u32,
            (None, Variable::Value(_)) => 0..1,
        }
    }

    fn is_full(&self, model: &Model, index: usize, term: &Term, variable: &Variable) -> bool {
        let is_first = || term.0.iter().find(|one| model.levels(one).is_some()) == Some(variable);
        let is_alone = term.0.len() == 1;
        let is_earlier = |first: &usize| *first < index;
        let is_covered = is_alone || self.first_with.get(&term.without(variable).key()).is_some_and(is_earlier);
        !is_covered || self.first == Some(index) && is_first()
    }
}
