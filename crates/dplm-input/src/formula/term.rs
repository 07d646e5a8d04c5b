//! The summands of a model: products of variables, as R has them.

use super::{curve::Curve, event::Event, expression::Expression};

/// A variable of a model: a number, a category, or several functions of a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Variable {
    /// A column or a computed number; a category where the column has levels.
    Value(Expression),
    /// A family of functions of a number.
    Curve(Curve, Expression),
    /// The periods of an event study.
    Event(Event),
}

impl Variable {
    /// A column.
    pub(super) fn column(name: &str) -> Variable {
        Variable::Value(Expression::Column(name.to_owned()))
    }

    /// The columns it is computed from.
    pub(super) fn columns(&self) -> Vec<&str> {
        match self {
            Variable::Value(expression) | Variable::Curve(_, expression) => expression.columns(),
            Variable::Event(event) => event.columns().collect(),
        }
    }

    /// The column, if the variable is a plain column.
    pub fn as_column(&self) -> Option<&str> {
        match self {
            Variable::Value(Expression::Column(name)) => Some(name),
            _ => None,
        }
    }
}

/// A product of variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Term(pub Vec<Variable>);

impl Term {
    /// The column, if the term is a plain column.
    pub(super) fn as_column(&self) -> Option<&str> {
        match &self.0[..] {
            [variable] => variable.as_column(),
            _ => None,
        }
    }

    /// The product with another term; a variable counts once.
    pub(super) fn times(&self, other: &Term) -> Term {
        let new = other.0.iter().filter(|variable| !self.0.contains(variable));
        Term(self.0.iter().chain(new).cloned().collect())
    }

    /// The product of all variables except this one.
    pub(super) fn without(&self, variable: &Variable) -> Term {
        Term(self.0.iter().filter(|other| *other != variable).cloned().collect())
    }

    /// A text that does not depend on the order of the variables.
    pub(super) fn key(&self) -> String {
        let mut names: Vec<String> = self.0.iter().map(Variable::to_string).collect();
        names.sort_unstable();
        names.join(":")
    }
}

/// One column of the design matrix: a product of columns of variables. The intercept is the empty
/// product.
#[derive(Clone, Debug, PartialEq)]
pub struct Regressor {
    /// Its factors, in the order of the term.
    pub parts: Vec<Part>,
}

/// One column of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// The index of the variable in the model.
    pub variable: usize,
    /// The index of the column: the level of a category, the function of a curve, the period of an
    /// event, 0 for a number.
    pub column: u32,
}
