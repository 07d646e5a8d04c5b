//! The cells of the grid, and the rules for them.

use dplm::method;

use crate::{
    experiment::Repetitions,
    world::{Design, Errors},
};

/// The requested target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::experiment) enum Target {
    /// No request: least-squares coefficients of the population if the budget suffices.
    Default,
    /// The least-squares coefficients of the table.
    Sample,
    /// The robust coefficients of the population.
    Robust,
    /// The least-squares coefficients of the population, at any cost.
    Population,
}

impl Target {
    pub(super) const ALL: [Target; 4] = [Target::Default, Target::Sample, Target::Robust, Target::Population];

    pub(super) fn name(self) -> &'static str {
        self.asked().map_or("default", method::Target::name)
    }

    /// The target as an option of a fit.
    pub(super) fn asked(self) -> Option<method::Target> {
        match self {
            Target::Default => None,
            Target::Sample => Some(method::Target::Sample),
            Target::Robust => Some(method::Target::Robust),
            Target::Population => Some(method::Target::Population),
        }
    }
}

/// A design by name, known to exist.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct DesignName(pub String);

impl TryFrom<String> for DesignName {
    type Error = String;

    fn try_from(name: String) -> Result<DesignName, String> {
        const ANY_ROWS: u64 = 10_000;
        Design::named(&name, ANY_ROWS, None).map_err(|_| format!("there is no design `{name}`"))?;
        Ok(DesignName(name))
    }
}

/// Errors by name, known to exist.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ErrorsName(pub String);

impl TryFrom<String> for ErrorsName {
    type Error = String;

    fn try_from(name: String) -> Result<ErrorsName, String> {
        Errors::named(&name).ok_or_else(|| format!("there are no errors `{name}`"))?;
        Ok(ErrorsName(name))
    }
}

/// All combinations of a few lists.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::experiment) struct Block {
    designs: Vec<DesignName>,
    errors: Vec<ErrorsName>,
    n: Vec<u64>,
    rho: Vec<f64>,
    targets: Vec<Target>,
    /// The column whose coefficients are of interest; none for all coefficients.
    #[serde(default)]
    focus: Option<String>,
    /// The same everywhere, or one for each n.
    repetitions: Repetitions,
    /// Whether each table is also fitted for predictions.
    #[serde(default)]
    predicts: bool,
}

/// One combination.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::experiment) struct Cell {
    pub design: String,
    pub errors: String,
    pub n: u64,
    pub rho: f64,
    pub target: Target,
    pub focus: Option<String>,
    pub repetitions: u32,
    pub predicts: bool,
}

impl Cell {
    /// The cell in words, without the number of repetitions.
    pub(in crate::experiment) fn in_words(&self) -> String {
        let Cell { design, errors, n, rho, target, focus, .. } = self;
        let focus = focus.as_ref().map_or(String::new(), |column| format!(" focus={column}"));
        format!("design={design} errors={errors} n={n} rho={rho} target={}{focus}", target.name())
    }

    /// Whether a coefficient of this name is reported: all are, unless some are of interest.
    pub(super) fn reports(&self, name: &str) -> bool {
        let is_of = |column: &String| name.split_once('[').map_or(name, |(of, _)| of) == column;
        self.focus.as_ref().is_none_or(is_of)
    }
}

impl Block {
    pub(in crate::experiment) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (DesignName(design), ErrorsName(errors)) in
            self.designs.iter().flat_map(|design| self.errors.iter().map(move |errors| (design, errors)))
        {
            for (index, &n) in self.n.iter().enumerate() {
                for (&rho, &target) in self.rho.iter().flat_map(|rho| self.targets.iter().map(move |one| (rho, one))) {
                    let (design, errors, repetitions) = (design.clone(), errors.clone(), self.repetitions.at(index));
                    let (focus, predicts) = (self.focus.clone(), self.predicts);
                    cells.push(Cell { design, errors, n, rho, target, focus, repetitions, predicts });
                }
            }
        }
        cells
    }
}

/// The lines of the table that a rule applies to; an absent field matches anything.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Which {
    design: Option<String>,
    errors: Option<String>,
    n: Option<u64>,
    rho: Option<f64>,
    target: Option<Target>,
    term: Option<String>,
}

impl Which {
    pub(super) fn is(&self, cell: &Cell, term: &str) -> bool {
        self.design.as_ref().is_none_or(|design| *design == cell.design)
            && self.errors.as_ref().is_none_or(|errors| *errors == cell.errors)
            && self.n.is_none_or(|n| n == cell.n)
            && self.rho.is_none_or(|rho| rho == cell.rho)
            && self.target.is_none_or(|target| target == cell.target)
            && self.term.as_ref().is_none_or(|wanted| wanted == term)
    }

    pub(super) fn in_words(&self) -> String {
        let words = [
            self.design.clone(),
            self.errors.clone(),
            self.n.map(|n| format!("n = {n}")),
            self.rho.map(|rho| format!("rho = {rho}")),
            self.target.map(|target| target.name().to_owned()),
            self.term.clone(),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The reason why coverage may be too low, or too high, in some cells.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    #[serde(default)]
    pub which: Which,
    pub allows: Side,
    pub why: String,
}

/// On which side of the band coverage lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::experiment) enum Side {
    Low,
    High,
}

/// An upper or a lower limit on a number of cells.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    pub which: Which,
    pub measure: Measure,
    pub least: Option<f64>,
    pub most: Option<f64>,
}

/// The number that a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Measure {
    Printed,
    Length,
    Rmse,
    Misfit,
    /// What predictions err beyond least squares, over what the coefficients that are printed do.
    Prediction,
}
