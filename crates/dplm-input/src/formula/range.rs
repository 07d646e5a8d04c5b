//! The range of a computed number: interval arithmetic on public bounds (Moore 1966), rounded
//! outwards.

use super::{
    FormulaError,
    expression::{Expression, Function, LARGEST_WHOLE_POWER, Operator, power},
};

/// The numbers from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least number.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// The error bound of the library's functions, in units in the last place, on either side: less
/// than one at the bound and less than one at the cell.
const FUNCTION_STEPS: u32 = 4;

impl Range {
    /// No bounds.
    pub const ALL: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Whether neither end is infinite.
    pub fn is_bounded(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// Half way between the ends.
    pub fn centre(self) -> f64 {
        self.low / 2.0 + self.high / 2.0
    }

    /// Half the distance between the ends.
    pub fn half_width(self) -> f64 {
        self.high / 2.0 - self.low / 2.0
    }

    /// The largest absolute value.
    pub fn size(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    fn holds_zero(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// The smallest range around some numbers, each with an error of up to `steps` units in the
    /// last place.
    fn around(numbers: &[f64], steps: u32) -> Range {
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Range {
            low: (0..steps).fold(low, |low, _| low.next_down()),
            high: (0..steps).fold(high, |high, _| high.next_up()),
        }
    }

    fn combined(self, operator: Operator, other: Range) -> Range {
        let corners = [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        Range::around(&corners.map(|(a, b)| operator.of(a, b)), 1)
    }

    fn to_power(self, exponent: f64) -> Range {
        let is_product = exponent.abs() <= LARGEST_WHOLE_POWER;
        let steps = if is_product { exponent.abs().ceil() as u32 + 2 } else { FUNCTION_STEPS };
        let ends = [power(self.low, exponent), power(self.high, exponent)];
        let is_even = exponent > 0.0 && exponent % 2.0 == 0.0;
        match is_even && self.holds_zero() {
            true => Range { low: 0.0, ..Range::around(&ends, steps) },
            false => Range::around(&ends, steps),
        }
    }

    fn of_function(self, function: Function) -> Range {
        let ends = [function.of(self.low), function.of(self.high)];
        match function {
            Function::Identity => self,
            Function::Abs if self.holds_zero() => Range { low: 0.0, ..Range::around(&ends, 0) },
            Function::Abs => Range::around(&ends, 0),
            // Neither is ever negative, whatever the rounding.
            Function::Sqrt | Function::Exp => {
                let range = Range::around(&ends, FUNCTION_STEPS);
                Range { low: range.low.max(0.0), ..range }
            }
            Function::Log | Function::Log2 | Function::Log10 | Function::Log1p => Range::around(&ends, FUNCTION_STEPS),
        }
    }
}

impl Expression {
    /// The range of the expression when each column keeps to its bounds.
    ///
    /// # Errors
    /// When the expression is not defined everywhere within them, or exceeds what can serve as a
    /// scale.
    pub fn range(&self, bounds: &impl Fn(&str) -> Range) -> Result<Range, FormulaError> {
        let range = match self {
            Expression::Column(column) => return Ok(bounds(column)),
            Expression::Number(number) => Range { low: *number, high: *number },
            Expression::Negative(of) => {
                let Range { low, high } = of.range(bounds)?;
                Range { low: -high, high: -low }
            }
            Expression::Binary(operator, a, b) => {
                let (left, right) = (a.range(bounds)?, b.range(bounds)?);
                if *operator == Operator::Over {
                    self.check_argument(b, right, Needs::NotZero)?;
                }
                left.combined(*operator, right)
            }
            Expression::Power(of, exponent) => {
                let range = of.range(bounds)?;
                self.check_argument(of, range, Needs::of_power(*exponent))?;
                range.to_power(*exponent)
            }
            Expression::Call(function, of) => {
                let range = of.range(bounds)?;
                self.check_argument(of, range, Needs::of_function(*function))?;
                range.of_function(*function)
            }
        };
        match range.size() <= super::LARGEST_BOUND {
            true => Ok(range),
            false => Err(FormulaError::LargeBounds { column: self.to_string() }),
        }
    }

    fn check_argument(&self, argument: &Expression, range: Range, needs: Needs) -> Result<(), FormulaError> {
        if needs.are_met(range) {
            return Ok(());
        }
        let mut columns = argument.columns();
        columns.dedup();
        Err(FormulaError::Undefined {
            expression: self.to_string(),
            argument: argument.to_string(),
            needs: needs.in_words(),
            low: range.low,
            high: range.high,
            change: match (argument, needs) {
                (Expression::Column(column), Needs::Above(_) | Needs::NotBelow(_)) => {
                    format!("raise the lower bound of '{column}'")
                }
                _ => format!("change the bounds of '{}'", columns.join("', '")),
            },
        })
    }
}

/// What a function needs of its argument.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    NotZero,
    Above(f64),
    NotBelow(f64),
}

impl Needs {
    fn of_function(function: Function) -> Needs {
        match function {
            Function::Log | Function::Log2 | Function::Log10 => Needs::Above(0.0),
            Function::Log1p => Needs::Above(-1.0),
            Function::Sqrt => Needs::NotBelow(0.0),
            Function::Identity | Function::Exp | Function::Abs => Needs::Nothing,
        }
    }

    fn of_power(exponent: f64) -> Needs {
        match exponent.trunc() == exponent {
            true if exponent >= 0.0 => Needs::Nothing,
            true => Needs::NotZero,
            false if exponent >= 0.0 => Needs::NotBelow(0.0),
            false => Needs::Above(0.0),
        }
    }

    fn are_met(self, range: Range) -> bool {
        match self {
            Needs::Nothing => true,
            Needs::NotZero => !range.holds_zero(),
            Needs::Above(least) => range.low > least,
            Needs::NotBelow(least) => range.low >= least,
        }
    }

    fn in_words(self) -> String {
        match self {
            Needs::Nothing => String::new(),
            Needs::NotZero => "never 0".to_owned(),
            Needs::Above(least) => format!("above {least}"),
            Needs::NotBelow(least) => format!("not below {least}"),
        }
    }
}
