//! Means and covariances of columns that are publicly known: from a code book, an earlier wave,
//! another country.
//!
//! They state how columns vary and correlate, so that a fit need not spend a part of its budget on
//! that. They may describe the *terms* of the model, named as its coefficients are (`educ`,
//! `union[yes]`, `I(exper^2)`), or the *columns* of the terms: a number by its name, a category by
//! its levels except the first (`union[yes]`, whose mean is the share of that level). If a term is
//! not named, rows are drawn with the moments of the columns, and the terms are computed from them.

mod file;
mod draw;

use std::fmt::Write;

use faer::Mat;
use serde::{Deserialize, Serialize};

use crate::{
    formula::{Column, Kind},
    lattice::{Design, Slot},
    matrix::Eigen,
};

/// Means and covariances of named columns, in their own units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Moments {
    names: Vec<String>,
    means: Vec<f64>,
    #[serde(with = "crate::matrix::by_row")]
    covariance: Mat<f64>,
}

/// Moments as a saved fit stores them, before they are checked.
#[derive(Deserialize)]
struct Written {
    names: Vec<String>,
    means: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}

impl TryFrom<Written> for Moments {
    type Error = MomentsError;

    fn try_from(written: Written) -> Result<Moments, MomentsError> {
        Moments::new(written.names, written.means, &written.covariance)
    }
}

/// Why moments cannot be parsed, or do not fit a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MomentsError {
    /// The file could not be read.
    #[error("the moments could not be read ({kind}): check the file's name and its permissions")]
    Unread {
        /// The kind of failure.
        kind: std::io::ErrorKind,
    },
    /// The text has another form.
    #[error(
        "the moments cannot be parsed{place}: give names, means, and either covariance, or sds and \
         correlations, as TOML, JSON or CSV"
    )]
    Unreadable {
        /// The position, as ` in line 3`; empty if unknown.
        place: String,
    },
    /// A list and the names differ in length.
    #[error("the moments name {names} columns but have {found} {what}: give one for each")]
    Length {
        /// The number of names.
        names: usize,
        /// The list that is too short or too long.
        what: &'static str,
        /// Its length.
        found: usize,
    },
    /// A name given twice, or empty.
    #[error("the moments name '{name}' twice: name each column once")]
    Twice {
        /// The name.
        name: String,
    },
    /// Numbers that cannot be moments.
    #[error("the moments of '{name}' are impossible: {rule}")]
    Impossible {
        /// The name.
        name: String,
        /// The rule that they break.
        rule: &'static str,
    },
    /// A correlation matrix that is not positive semidefinite.
    #[error("the correlations are impossible: some combination of the columns would have a negative variance")]
    NotPositive,
    /// A table without rows.
    #[error("no row of the table has all the columns of the model, so it has no moments: check the formula")]
    NoRows,
    /// Columns of the model without moments.
    #[error("the moments lack {missing}: add {them}, or the moments of the columns that {they} made of")]
    Missing {
        /// Their names, with quotes.
        missing: String,
        /// `it` or `them`.
        them: &'static str,
        /// `it is` or `they are`.
        they: &'static str,
    },
}

/// How far below zero rounding may push a variance, as a share of the largest.
const ROUNDING: f64 = 1e-3;

impl Moments {
    /// Means and covariances of named columns, the latter by rows.
    ///
    /// # Errors
    /// When lists differ in length, a name comes twice, or the numbers cannot be moments.
    pub fn new(names: Vec<String>, means: Vec<f64>, covariance: &[Vec<f64>]) -> Result<Moments, MomentsError> {
        let count = names.len();
        if means.len() != count {
            return Err(MomentsError::Length { names: count, what: "means", found: means.len() });
        }
        let covariance = square(covariance, count, "covariances")?;
        let moments = Moments { names, means, covariance };
        moments.check()?;
        Ok(moments)
    }

    fn check(&self) -> Result<(), MomentsError> {
        for (j, name) in self.names.iter().enumerate() {
            let impossible = |rule| Err(MomentsError::Impossible { name: name.clone(), rule });
            if self.names[..j].contains(name) {
                return Err(MomentsError::Twice { name: name.clone() });
            }
            let row = (0..self.names.len()).map(|k| self.covariance[(j, k)]);
            if !self.means[j].is_finite() || row.clone().any(|entry| !entry.is_finite()) {
                return impossible("means and covariances must be numbers");
            }
            if self.covariance[(j, j)] < 0.0 {
                return impossible("a variance must not be negative");
            }
            let scale = |k: usize| (self.covariance[(j, j)] * self.covariance[(k, k)]).sqrt();
            let differs = |k: usize| (self.covariance[(j, k)] - self.covariance[(k, j)]).abs() > ROUNDING * scale(k);
            if (0..j).any(differs) {
                return impossible("a covariance matrix must be symmetric");
            }
        }
        let is_possible = |found: Eigen| found.values[0] >= -ROUNDING * self.names.len() as f64;
        // Without columns there are no eigenvalues.
        match self.names.is_empty() || Eigen::of(self.correlations().as_ref()).is_some_and(is_possible) {
            true => Ok(()),
            false => Err(MomentsError::NotPositive),
        }
    }

    /// The names of the columns or terms.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Their means.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The covariance of two of them, by their places.
    pub fn covariance(&self, j: usize, k: usize) -> f64 {
        self.covariance[(j, k)]
    }

    /// Their correlations; 0 with a constant.
    fn correlations(&self) -> Mat<f64> {
        let p = self.names.len();
        let sd = |j: usize| self.covariance[(j, j)].sqrt();
        let entry = |j: usize, k: usize| match sd(j) * sd(k) {
            scale if scale > 0.0 => self.covariance[(j, k)] / scale,
            _ => f64::from(u8::from(j == k)),
        };
        Mat::from_fn(p, p, entry)
    }

    /// The second moments of the columns of a design matrix, in standardised units.
    ///
    /// # Errors
    /// When a term is neither named nor made of named columns.
    pub(crate) fn of(&self, design: &Design) -> Result<Mat<f64>, MomentsError> {
        match self.of_terms(design) {
            Some(moments) => Ok(moments),
            None => self.of_columns(design),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one == name)
    }

    /// From the moments of the terms; `None` if a term is not named.
    ///
    /// A column of the design matrix is `z = S a`, a combination of the terms `a` in their own
    /// units.
    fn of_terms(&self, design: &Design) -> Option<Mat<f64>> {
        let intercept = matches!(design.slots().first(), Some(Slot::Intercept));
        let constant = |j: usize| intercept && j == 0;
        let place = |(j, name): (usize, &String)| if constant(j) { Some(None) } else { self.place(name).map(Some) };
        let places: Vec<Option<usize>> = design.names().iter().enumerate().map(place).collect::<Option<_>>()?;
        let mean = |place: Option<usize>| place.map_or(1.0, |place| self.means[place]);
        let entry = |j: usize, k: usize| {
            let apart = places[j].zip(places[k]).map_or(0.0, |at| self.covariance[at]);
            apart + mean(places[j]) * mean(places[k])
        };
        let p = design.features();
        let combinations = combinations(design);
        Some(&combinations * Mat::from_fn(p, p, entry) * combinations.transpose())
    }

    /// From the moments of the columns.
    fn of_columns(&self, design: &Design) -> Result<Mat<f64>, MomentsError> {
        let needed = design.predictors();
        let missing: Vec<String> = needed.iter().flat_map(names_of).filter(|name| self.place(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(lacking(&missing));
        }
        Ok(draw::second_moments(self, design))
    }

    /// The moments as TOML that [`Moments::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        let list = |values: &mut dyn Iterator<Item = f64>| {
            values.map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ")
        };
        let names: Vec<String> = self.names.iter().map(|name| format!("{name:?}")).collect();
        let mut text = format!("names = [{}]\n", names.join(", "));
        let sd = |j: usize| self.covariance[(j, j)].sqrt();
        let (p, correlations) = (self.names.len(), self.correlations());
        let _ = writeln!(text, "means = [{}]", list(&mut self.means.iter().copied()));
        let _ = writeln!(text, "sds = [{}]", list(&mut (0..p).map(sd)));
        text.push_str("correlations = [\n");
        for j in 0..p {
            let _ = writeln!(text, "  [{}],", list(&mut (0..p).map(|k| correlations[(j, k)])));
        }
        text + "]\n"
    }
}

/// A square matrix by its rows; `what` names its entries.
fn square(rows: &[Vec<f64>], count: usize, what: &'static str) -> Result<Mat<f64>, MomentsError> {
    let wrong = rows.iter().map(Vec::len).chain([rows.len()]).find(|&found| found != count);
    match wrong {
        Some(found) => Err(MomentsError::Length { names: count, what, found }),
        None => Ok(Mat::from_fn(count, count, |j, k| rows[j][k])),
    }
}

/// The names of a column's moments: a number's own, a category's levels except the first.
fn names_of(column: &Column) -> Vec<String> {
    match &column.kind {
        Kind::Levels(levels) => levels.iter().skip(1).map(|level| format!("{}[{level}]", column.name)).collect(),
        _ => vec![column.name.clone()],
    }
}

fn lacking(missing: &[String]) -> MomentsError {
    let quoted: Vec<String> = missing.iter().map(|name| format!("'{name}'")).collect();
    let (them, they) = if missing.len() == 1 { ("it", "it is") } else { ("them", "they are") };
    MomentsError::Missing { missing: quoted.join(", "), them, they }
}

/// The columns of the design matrix as combinations of the terms: a coefficient is a sum of
/// standardised ones with the same weights.
pub(crate) fn combinations(design: &Design) -> Mat<f64> {
    let (p, unit, contrasts) = (design.features(), design.response().unit, design.contrasts());
    Mat::from_fn(p, p, |slot, term| contrasts[term].weights[slot] / unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::Formula;

    fn design(formula: &str) -> Design {
        Design::new(&Formula::parse(formula).expect("a formula").into_model().expect("a model"))
    }

    const TOML: &str = "names = ['x', 'g[b]']\nmeans = [4, 0.3]\nsds = [2, 0.458]\ncorrelations = [[1, 0.2], [0.2, 1]]";

    #[test]
    fn three_formats_say_the_same() {
        let toml = Moments::from_toml(TOML).expect("moments");
        let json =
            r#"{"names": ["x", "g[b]"], "means": [4, 0.3], "sds": [2, 0.458], "correlations": [[1, 0.2], [0.2, 1]]}"#;
        assert_eq!(Moments::from_json(json).expect("moments"), toml);
        // Lines in another order than columns.
        let csv = "name,mean,sd,g[b],x\nx,4,2,0.2,1\n\"g[b]\",0.3,0.458,1,0.2\n";
        assert_eq!(Moments::from_csv(csv).expect("moments"), toml);
        let covariances =
            Moments::from_csv("name,mean,x,g[b]\nx,4,4,0.1832\ng[b],0.3,0.1832,0.209764\n").expect("moments");
        assert!((covariances.covariance(0, 1) - toml.covariance(0, 1)).abs() < 1e-12);
        assert_eq!(Moments::from_toml(&toml.to_toml()).expect("moments").names(), toml.names());
    }

    /// x in [0, 10] becomes (x - 5) / 5: mean -0.2, second moment 0.16 + 0.04.
    #[test]
    fn terms_are_standardised() {
        let found =
            Moments::from_toml(TOML).expect("moments").of(&design("y[0..1] ~ x[0..10] + g{a,b}")).expect("named");
        let expected =
            [[1.0, -0.2, 0.3], [-0.2, 0.2, 0.2 * 2.0 * 0.458 / 5.0 - 0.06], [0.3, -0.02328, 0.209764 + 0.09]];
        for (j, row) in expected.iter().enumerate() {
            row.iter().enumerate().for_each(|(k, value)| assert!((found[(j, k)] - value).abs() < 1e-4, "{j} {k}"));
        }
    }

    /// A term that is not named is computed from rows drawn with the moments of its columns:
    /// `E x^2 = 4 + 16`, and the share of both.
    #[test]
    fn terms_are_made_of_columns() {
        let design = design("y[0..1] ~ x[0..20] + I(x^2) + x:g{a,b} + g");
        let found = Moments::from_toml(TOML).expect("moments").of(&design).expect("columns are named");
        let direct =
            Moments::from_toml(TOML).expect("moments").of(&self::design("y[0..1] ~ x[0..20] + g{a,b}")).expect("named");
        let place = |name: &str| design.names().iter().position(|one| one == name).expect("there");
        let (x, g) = (place("x"), place("g[b]"));
        for ((j, k), (a, b)) in
            [((0, x), (0, 1)), ((0, g), (0, 2)), ((x, x), (1, 1)), ((x, g), (1, 2)), ((g, g), (2, 2))]
        {
            assert!((found[(j, k)] - direct[(a, b)]).abs() < 0.02, "{j} {k}: {} {}", found[(j, k)], direct[(a, b)]);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("names = ['x']\nmeans = [1, 2]\ncovariance = [[1]]", "1 columns but have 2 means"),
            ("names = ['x', 'x']\nmeans = [1, 2]\ncovariance = [[1, 0], [0, 1]]", "'x' twice"),
            ("names = ['x']\nmeans = [1]\ncovariance = [[-1]]", "must not be negative"),
            ("names = ['x', 'z']\nmeans = [1, 2]\ncovariance = [[1, 2], [2, 1]]", "negative variance"),
            ("names = ['x', 'z']\nmeans = [1, 2]\ncovariance = [[1, 0.5], [0, 1]]", "must be symmetric"),
            ("names = ['x']\nmeans = [1]\nsds = [1]", "either covariance, or sds and correlations"),
            ("names = ['x']\nmeans = ['one']\ncovariance = [[1]]", "in line 2"),
        ] {
            let refusal = Moments::from_toml(text).expect_err("refused").to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
        let nothing = Moments::from_toml("names = []\nmeans = []\ncovariance = []").expect("moments of nothing");
        assert!(nothing.of(&design("y[0..1] ~ x[0..9]")).expect_err("refused").to_string().contains("lack 'x'"));
        let known = Moments::from_toml("names = ['x']\nmeans = [1]\ncovariance = [[1]]").expect("moments");
        let refusal = known.of(&design("y[0..1] ~ x[0..9] + g{a,b}")).expect_err("refused").to_string();
        assert!(refusal.contains("lack 'g[b]': add it"), "{refusal}");
    }
}
