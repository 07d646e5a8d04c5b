//! The column that weights rows.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{Column, FormulaError, Kind};

/// A column of weights, such as `w[0..50]`: nonnegative numbers with a public bound.
///
/// In a weighted sum, a row of weight `w` counts as `w` rows. Weights above the bound count as the
/// bound; a row whose weight is missing, negative or not finite contributes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Weights {
    name: String,
    most: f64,
}

impl Weights {
    /// The column's name in the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The largest weight.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// The column that is read.
    pub fn column(&self) -> Column {
        Column { name: self.name.clone(), kind: Kind::Bounded { low: 0.0, high: self.most } }
    }
}

impl FromStr for Weights {
    type Err = FormulaError;

    fn from_str(text: &str) -> Result<Weights, FormulaError> {
        let Column { name, kind } = Column::parse(text)?;
        match kind {
            Kind::Bounded { low: 0.0, high } => Ok(Weights { name, most: high }),
            _ => Err(FormulaError::WeightBounds { column: name }),
        }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column())
    }
}

impl TryFrom<String> for Weights {
    type Error = FormulaError;

    fn try_from(text: String) -> Result<Weights, FormulaError> {
        text.parse()
    }
}

impl From<Weights> for String {
    fn from(weights: Weights) -> String {
        weights.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_bounded_from_zero() {
        let weights: Weights = "`my w`[0..1e3]".parse().expect("weights");
        assert_eq!((weights.name(), weights.most(), weights.to_string().as_str()), ("my w", 1000.0, "`my w`[0..1000]"));
        for text in ["w", "w[1..50]", "w[-1..50]", "w{a,b}", "w[0..50] + x", "w[5..0]", ""] {
            assert!(text.parse::<Weights>().is_err(), "{text}");
        }
        assert_eq!(
            "w[1..50]".parse::<Weights>().expect_err("refused").to_string(),
            "weights are numbers from 0 to a public bound: write them as w[0..50]"
        );
    }
}
