//! The model fitted in each of several groups, and whether it is the same in all of them:
//! post-processing of their fits.

use faer::Mat;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::{
    Bounded, Error, Fit, FitRequest, Person, Prediction, Statement, Warning,
    formula::{By, Weights},
    matrix::{inverse, quadratic, times},
    options::Purpose,
    predict::Predictor,
    privacy::Guarantee,
    table::{Block, Cells, ReadOptions, Source},
    warning::listed,
};

/// What came of a fit, and what a file of results holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Fitted {
    /// One fit.
    One(Box<Fit>),
    /// The fits of several groups.
    Groups(Box<GroupedFit>),
}

/// The fits of all groups, made together under one budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GroupedFit {
    /// The day it was made, in UTC, as `2026-11-16`.
    pub date: String,
    /// The model, as a formula.
    pub formula: String,
    /// What the groups are by.
    pub by: By,
    /// How many privacy units there are in all, rows or persons, in a group or in none; public.
    pub rows: u64,
    /// How many of them are in a group and contribute anything, as released; `None` if it was not.
    #[serde(default)]
    pub rows_used: Option<Bounded>,
    /// Who is protected, where it is not each row.
    pub person: Option<Person>,
    /// What rows were weighted by, where they do not count alike.
    pub weights: Option<Weights>,
    /// What is promised about each unit, of everything that was released for all groups together.
    pub guarantee: Guarantee,
    /// Everything that was asked, every option written out.
    pub request: FitRequest,
    /// What the fits were for.
    pub purpose: Purpose,
    /// The coverage asked for.
    pub level: f64,
    /// The groups, in the order of the levels.
    pub groups: Vec<FittedGroup>,
    /// What a reader should know of all that was released; each fit has what there is to know of
    /// its group.
    pub warnings: Vec<Warning>,
    /// The budget of the data set, where a ledger keeps it.
    pub statement: Option<Statement>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FittedGroup {
    /// Its level.
    pub level: String,
    /// How many units it has, as that was released, and at least 1; or as it is publicly known.
    pub size: u64,
    /// The standard deviation of the noise in the size; `None` if it is publicly known.
    pub size_sd: Option<f64>,
    /// Its fit, or why there is none.
    pub outcome: GroupOutcome,
}

/// What became of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupOutcome {
    /// It was fitted.
    Fitted(Box<Fit>),
    /// Its size shows that the group cannot be fitted, for this reason.
    NotFitted(String),
}

/// Why a group has no answer. Groups are public, and so is why one was not fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// A level that no group has.
    #[error("'{level}' is no group of '{column}': its groups are {}", listed(levels))]
    NoSuchGroup {
        /// What was asked for.
        level: String,
        /// The column that groups are by.
        column: String,
        /// Its levels.
        levels: Vec<String>,
    },
    /// A group without a fit.
    #[error("the group '{level}' was not fitted: {why}")]
    NotFitted {
        /// Its level.
        level: String,
        /// Why.
        why: String,
    },
    /// No group has a fit.
    #[error("no group of this file was fitted: give a file in which one was")]
    NoneFitted,
}

/// A test of whether coefficients are the same in all groups in which they are identified.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EqualityTest {
    /// The coefficients.
    pub names: Vec<String>,
    /// In how many groups they are identified.
    pub groups: usize,
    /// Wald's statistic: how far apart the estimates are, against their covariances.
    pub statistic: f64,
    /// Its degrees of freedom if the coefficients are the same.
    pub df: u32,
    /// How often it is this large or larger if they are.
    pub p_value: f64,
}

impl FittedGroup {
    /// Its fit, if it has one.
    pub fn fit(&self) -> Option<&Fit> {
        match &self.outcome {
            GroupOutcome::Fitted(fit) => Some(fit),
            GroupOutcome::NotFitted(_) => None,
        }
    }
}

impl GroupedFit {
    /// The fit of a group, if there is one.
    pub fn get(&self, level: &str) -> Option<&Fit> {
        self.groups.iter().find(|group| group.level == level).and_then(FittedGroup::fit)
    }

    /// As [`get`](Self::get), or why there is none.
    ///
    /// # Errors
    /// When no group has this level, or it was not fitted.
    pub fn fit_of(&self, level: &str) -> Result<&Fit, GroupError> {
        let named = || level.to_owned();
        match self.groups.iter().find(|group| group.level == level).map(|group| &group.outcome) {
            Some(GroupOutcome::Fitted(fit)) => Ok(fit),
            Some(GroupOutcome::NotFitted(why)) => Err(GroupError::NotFitted { level: named(), why: why.clone() }),
            None => Err(GroupError::NoSuchGroup {
                level: named(),
                column: self.by.name().to_owned(),
                levels: self.by.levels().to_vec(),
            }),
        }
    }

    /// As [`Fit::predict_intervals`], each row by the fit of its group; nothing is said of a row in
    /// no group, or in one that was not fitted.
    ///
    /// # Errors
    /// As there; also where the table lacks the column that groups are by, or no group was fitted.
    pub fn predict_intervals(
        &self,
        source: &Source,
        options: &ReadOptions<'_>,
        level: f64,
    ) -> Result<Vec<Prediction>, Error> {
        let fits = self.groups.iter().map(FittedGroup::fit);
        let predictors = fits.map(|fit| fit.map(|fit| Predictor::of_means(fit, level)).transpose());
        let predictors: Vec<Option<Predictor<'_>>> = predictors.collect::<Result<_, _>>()?;
        let (_, first) = self.fits().next().ok_or(GroupError::NoneFitted)?;
        let columns: Vec<_> = first.design.predictors().into_iter().chain([self.by.column()]).collect();
        let mut found = Vec::new();
        source.for_each_block(&columns, options, &mut |block| {
            found.extend(of_block(&predictors, block));
            Ok(())
        })?;
        Ok(found)
    }

    /// The groups that were fitted.
    pub fn fits(&self) -> impl Iterator<Item = (&FittedGroup, &Fit)> {
        self.groups.iter().filter_map(|group| group.fit().map(|fit| (group, fit)))
    }

    /// The names of the coefficients, in formula order; empty if no group was fitted.
    pub fn names(&self) -> Vec<String> {
        let first = self.fits().next();
        first.map_or(Vec::new(), |(_, fit)| fit.reported().map(|one| one.name.clone()).collect())
    }

    /// What a reader should know: each sentence once, with the levels of the groups that it is
    /// about; none of them where it is about all that was released.
    pub fn notes(&self) -> Vec<(Vec<&str>, &Warning)> {
        let mut notes: Vec<(Vec<&str>, &Warning)> = self.warnings.iter().map(|warning| (Vec::new(), warning)).collect();
        let of_groups =
            self.fits().flat_map(|(group, fit)| fit.warnings.iter().map(move |one| (group.level.as_str(), one)));
        for (level, warning) in of_groups.filter(|(_, warning)| !self.warnings.contains(warning)) {
            match notes.iter_mut().find(|(_, known)| *known == warning) {
                Some((levels, _)) => levels.push(level),
                None => notes.push((vec![level], warning)),
            }
        }
        notes
    }

    /// Whether each coefficient is the same in all groups, and last whether all of them are: Wald's
    /// test. The estimates of different groups are independent, as their rows and their noise are.
    pub fn equality(&self) -> Vec<EqualityTest> {
        let names = self.names();
        let mut tests: Vec<EqualityTest> =
            names.iter().filter_map(|name| self.equality_of(std::slice::from_ref(name))).collect();
        let in_all = |name: &&String| self.known().iter().all(|known| known.place(name).is_some());
        let common: Vec<String> = names.iter().filter(in_all).cloned().collect();
        if common.len() > 1 {
            tests.extend(self.equality_of(&common));
        }
        tests
    }

    /// Tests whether some coefficients are the same in all groups that have them all; `None` if
    /// fewer than two do.
    pub fn equality_of(&self, names: &[String]) -> Option<EqualityTest> {
        let known = self.known();
        let parts: Vec<Estimates> = known.iter().filter_map(|one| one.only(names)).collect();
        if names.is_empty() || parts.len() < 2 {
            return None;
        }
        let statistic = distance(&parts);
        let df = (parts.len() - 1) * names.len();
        let law = ChiSquared::new(df as f64).expect("one degree of freedom or more");
        Some(EqualityTest {
            names: names.to_vec(),
            groups: parts.len(),
            statistic,
            df: u32::try_from(df).expect("few"),
            p_value: law.sf(statistic),
        })
    }

    /// What is known of each group that was fitted.
    fn known(&self) -> Vec<Estimates> {
        self.fits().filter_map(|(_, fit)| Estimates::of(fit)).collect()
    }
}

/// What the fits of groups say of the rows of a block, whose last column says which group each is
/// of.
fn of_block(predictors: &[Option<Predictor<'_>>], mut block: Block) -> Vec<Prediction> {
    let Some(Cells::Levels(groups)) = block.columns.pop() else {
        unreachable!("the last column says which group a row is of")
    };
    let mut found = vec![Prediction::NONE; block.rows];
    for (code, predictor) in (0..).zip(predictors) {
        let Some(predictor) = predictor else { continue };
        let rows: Vec<usize> = (0..block.rows).filter(|&row| groups[row] == code).collect();
        for (&row, prediction) in rows.iter().zip(predictor.of_block(block.only(&rows))) {
            found[row] = prediction;
        }
    }
    found
}

/// The identified coefficients of a group, and their covariance.
struct Estimates {
    names: Vec<String>,
    values: Vec<f64>,
    covariance: Mat<f64>,
}

impl Estimates {
    fn of(fit: &Fit) -> Option<Estimates> {
        let covariance = fit.covariance()?;
        let value = |name: &String| fit.coefficients.iter().find(|one| one.name == *name).and_then(|one| one.estimate);
        let values = covariance.names.iter().map(value).collect::<Option<Vec<f64>>>()?;
        let size = values.len();
        Some(Estimates {
            values,
            covariance: Mat::from_fn(size, size, |i, j| covariance.values[i][j]),
            names: covariance.names,
        })
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one == name)
    }

    /// Some of them; `None` if one is not identified.
    fn only(&self, names: &[String]) -> Option<Estimates> {
        let places = names.iter().map(|name| self.place(name)).collect::<Option<Vec<usize>>>()?;
        let size = places.len();
        Some(Estimates {
            names: names.to_vec(),
            values: places.iter().map(|&place| self.values[place]).collect(),
            covariance: Mat::from_fn(size, size, |i, j| self.covariance[(places[i], places[j])]),
        })
    }
}

/// `sum_g (b_g - b)' V_g^-1 (b_g - b)` at the `b` that makes it least,
/// `(sum V_g^-1)^-1 sum V_g^-1 b_g`: Wald's statistic for `b_g` being equal, whose covariance is
/// block diagonal.
fn distance(parts: &[Estimates]) -> f64 {
    let size = parts[0].values.len();
    let precisions: Vec<Mat<f64>> = parts.iter().map(|part| inverse(&part.covariance)).collect();
    let total = precisions.iter().fold(Mat::zeros(size, size), |sum: Mat<f64>, one| sum + one);
    let mut weighed = vec![0.0; size];
    for (part, precision) in parts.iter().zip(&precisions) {
        weighed.iter_mut().zip(times(precision, &part.values)).for_each(|(sum, value)| *sum += value);
    }
    let common = times(&inverse(&total), &weighed);
    let apart =
        |part: &Estimates| part.values.iter().zip(&common).map(|(one, common)| one - common).collect::<Vec<_>>();
    parts.iter().zip(&precisions).map(|(part, precision)| quadratic(precision, &apart(part))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(values: [f64; 2], covariance: [f64; 3]) -> Estimates {
        let [a, b, c] = covariance;
        let names = ["x", "z"].map(str::to_owned).to_vec();
        Estimates { names, values: values.to_vec(), covariance: Mat::from_fn(2, 2, |i, j| [[a, b], [b, c]][i][j]) }
    }

    /// Two groups: the statistic is `d' (V1 + V2)^-1 d` for the difference `d`.
    #[test]
    fn of_two_groups_it_is_the_test_of_their_difference() {
        let parts = [estimates([1.0, 2.0], [0.5, 0.1, 0.3]), estimates([0.4, 2.5], [0.2, -0.05, 0.4])];
        let (d, sum) = ([0.6, -0.5], Mat::from_fn(2, 2, |i, j| [[0.7, 0.05], [0.05, 0.7]][i][j]));
        assert!((distance(&parts) - quadratic(&inverse(&sum), &d)).abs() < 1e-12);
        let same = [estimates([1.0, 2.0], [0.5, 0.1, 0.3]), estimates([1.0, 2.0], [0.2, -0.05, 0.4])];
        assert!(distance(&same).abs() < 1e-12);
    }
}
