//! Which functions are fitted for the columns of a design matrix.
//!
//! The columns that a formula asks for may be nearly dependent: a square of a number far from 0, a
//! product with such a number. What is fitted spans the same space and is better conditioned:
//! Legendre's polynomials on the public bounds for powers, and products of centred numbers for
//! products. Function `j` is a combination `sum_k T_jk f_k` of the columns `f` of the design
//! matrix, so that its coefficients are linear functions of the fitted parameters:
//! `beta_k = sum_j T_jk theta_j`. Where a column that the combination needs is not in the model,
//! the column asked for is fitted itself, scaled to its bounds.

use std::collections::HashMap;

use super::factor::{Factor, RowFunction};
use crate::formula::{
    CurveShape, Event, EventCell, Expression, Model, Part, Range, Regressor, Variable, legendre_in_powers,
};

/// A function that is fitted.
pub(super) struct Fitted {
    /// What is multiplied; none for the intercept.
    pub factors: Vec<Factor>,
    /// The function as a combination of the columns of the design matrix.
    pub combination: Vec<(usize, f64)>,
}

/// One way to encode a column of a variable: a function of a row, and that as a combination of
/// columns of variables; none is the constant.
struct Encoding {
    factor: Factor,
    combination: Vec<(Option<Part>, f64)>,
}

/// A model, its variables and the columns of its matrix.
pub(super) struct Basis<'a> {
    model: &'a Model,
    variables: Vec<&'a Variable>,
    regressors: Vec<Regressor>,
    places: HashMap<Vec<Part>, usize>,
    /// Where each column of the table is read.
    columns: HashMap<String, usize>,
}

impl<'a> Basis<'a> {
    pub(super) fn of(model: &'a Model) -> Basis<'a> {
        let regressors = model.regressors();
        let places =
            regressors.iter().zip(0..).map(|(regressor, place)| (sorted(regressor.parts.clone()), place)).collect();
        let columns = model.columns().into_iter().zip(0..).map(|(column, place)| (column.name, place)).collect();
        Basis { model, variables: model.variables(), regressors, places, columns }
    }

    /// The columns of the design matrix, each as a product.
    pub(super) fn asked(&self) -> Vec<Vec<Factor>> {
        let factors = |regressor: &Regressor| regressor.parts.iter().map(|part| self.asked_part(*part)).collect();
        self.regressors.iter().map(factors).collect()
    }

    /// The functions that are fitted, one for each column of the design matrix.
    pub(super) fn fitted(&self) -> Vec<Fitted> {
        self.regressors.iter().map(|regressor| self.fitted_for(regressor)).collect()
    }

    /// An expression of columns by their places.
    pub(super) fn placed(&self, expression: &Expression) -> Expression<usize> {
        expression.map(&|name| self.columns[name])
    }

    /// The range of an expression.
    pub(super) fn range(&self, expression: &Expression) -> Range {
        self.model.range(expression).expect("a formula is checked for that")
    }

    fn asked_part(&self, part: Part) -> Factor {
        let variable = self.variables[part.variable];
        match (self.model.levels(variable), variable) {
            (Some(_), _) => Factor::plain(self.level(part)),
            (None, Variable::Value(expression)) => Factor::plain(RowFunction::Number(self.placed(expression))),
            (None, Variable::Curve(curve, of)) => {
                let unit = curve.unit(part.column);
                Factor { unit, ..Factor::plain(RowFunction::Shape(self.placed(of), self.shape(part))) }
            }
            (None, Variable::Event(event)) => Factor::plain(self.event(event, part)),
        }
    }

    fn event(&self, event: &Event, part: Part) -> RowFunction {
        let EventCell { period, of } = self.model.event_cells(event)[part.column as usize];
        let column = self.columns[&event.period];
        match event.of.as_ref().zip(of) {
            None => RowFunction::Level { column, level: period },
            Some((name, level)) => RowFunction::Levels([(column, period), (self.columns[name], level)]),
        }
    }

    fn level(&self, part: Part) -> RowFunction {
        let column = self.variables[part.variable].as_column().expect("a category is a column");
        RowFunction::Level { column: self.columns[column], level: part.column }
    }

    fn shape(&self, part: Part) -> CurveShape {
        let Variable::Curve(curve, of) = self.variables[part.variable] else { unreachable!("asked of a curve") };
        CurveShape::all(*curve, self.range(of)).swap_remove(part.column as usize)
    }

    /// As much of every factor is changed for the better as the model allows.
    fn fitted_for(&self, regressor: &Regressor) -> Fitted {
        let mut ways: Vec<Vec<Encoding>> = regressor.parts.iter().map(|part| self.encodings(*part)).collect();
        // The last way of each needs nothing else in the model.
        let mut chosen: Vec<usize> = ways.iter().map(|ways| ways.len() - 1).collect();
        let mut combination = self.combination(&ways, &chosen).expect("a column is in its own model");
        for factor in 0..ways.len() {
            for way in 0..chosen[factor] {
                let before = std::mem::replace(&mut chosen[factor], way);
                match self.combination(&ways, &chosen) {
                    Some(found) => {
                        combination = found;
                        break;
                    }
                    None => chosen[factor] = before,
                }
            }
        }
        let factors = ways.iter_mut().zip(chosen).map(|(ways, way)| ways.swap_remove(way).factor).collect();
        Fitted { factors, combination }
    }

    /// The ways to encode a column of a variable, the best first.
    fn encodings(&self, part: Part) -> Vec<Encoding> {
        let asked = self.asked_part(part);
        let variable = self.variables[part.variable];
        match (self.model.levels(variable), variable) {
            (None, Variable::Value(expression)) => self.encodings_of_number(part, expression),
            // Lies between -1 and 1 once it is divided by its unit.
            _ => {
                let combination = vec![(Some(part), asked.unit)];
                vec![Encoding { factor: Factor { unit: 1.0, ..asked }, combination }]
            }
        }
    }

    fn encodings_of_number(&self, part: Part, expression: &Expression) -> Vec<Encoding> {
        let range = self.range(expression);
        let number = RowFunction::Number(self.placed(expression));
        let scaled = |centre: f64, unit: f64| Encoding {
            factor: Factor { function: number.clone(), centre, unit },
            combination: vec![(Some(part), 1.0 / unit), (None, -centre / unit)],
        };
        if !range.is_bounded() {
            return vec![scaled(0.0, 1.0)];
        }
        let polynomial = self.legendre(expression);
        polynomial.into_iter().chain([scaled(range.centre(), range.half_width()), scaled(0.0, range.size())]).collect()
    }

    /// Legendre's polynomial for a power, where the powers below it are variables of the model.
    fn legendre(&self, expression: &Expression) -> Option<Encoding> {
        let (base, degree) = as_power(expression);
        if degree < 2 {
            return None;
        }
        let range = self.range(base);
        let powers = legendre_in_powers(degree, range);
        let mut combination = vec![(None, powers[0])];
        for (power, &coefficient) in (1..).zip(&powers[1..]).filter(|(_, coefficient)| **coefficient != 0.0) {
            let is_it = |variable: &&Variable| match variable {
                Variable::Value(other) => as_power(other) == (base, power),
                Variable::Curve(..) | Variable::Event(_) => false,
            };
            let variable = self.variables.iter().position(is_it)?;
            combination.push((Some(Part { variable, column: 0 }), coefficient));
        }
        let function = RowFunction::Shape(self.placed(base), CurveShape::legendre(degree, range));
        Some(Encoding { factor: Factor::plain(function), combination })
    }

    /// A product of chosen encodings as a combination of columns of the design matrix; `None` if it
    /// needs one that is not there.
    fn combination(&self, ways: &[Vec<Encoding>], chosen: &[usize]) -> Option<Vec<(usize, f64)>> {
        let mut products: Vec<(Vec<Part>, f64)> = vec![(Vec::new(), 1.0)];
        for (ways, &way) in ways.iter().zip(chosen) {
            let of_factor = &ways[way].combination;
            let times = |(parts, weight): &(Vec<Part>, f64)| {
                let extended = |&(part, share): &(Option<Part>, f64)| {
                    (parts.iter().copied().chain(part).collect::<Vec<Part>>(), weight * share)
                };
                of_factor.iter().map(extended).collect::<Vec<_>>()
            };
            products = products.iter().flat_map(times).filter(|(_, weight)| *weight != 0.0).collect();
        }
        let mut combination: HashMap<usize, f64> = HashMap::new();
        // The constants of persons are taken out of every column, and with them any constant.
        let is_taken_out = |parts: &[Part]| parts.is_empty() && self.model.within().is_some();
        for (parts, weight) in products.into_iter().filter(|(parts, _)| !is_taken_out(parts)) {
            *combination.entry(*self.places.get(&sorted(parts))?).or_default() += weight;
        }
        let mut combination: Vec<(usize, f64)> = combination.into_iter().collect();
        combination.sort_unstable_by_key(|(place, _)| *place);
        Some(combination)
    }
}

/// The parts of a product in an order that does not depend on how it is written.
fn sorted(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_unstable();
    parts
}

/// A number as a power of another: of itself, if of nothing else.
fn as_power(expression: &Expression) -> (&Expression, u32) {
    match expression.inside() {
        Expression::Power(base, exponent) if exponent.trunc() == *exponent && (2.0..=20.0).contains(exponent) => {
            let degrees = (2u32..).find(|degree| f64::from(*degree) == *exponent);
            (base.inside(), degrees.expect("a whole number from 2"))
        }
        other => (other, 1),
    }
}
