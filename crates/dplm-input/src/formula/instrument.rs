//! Instruments: what stands after the last `|`, as in `y ~ w | x ~ z1 + z2`.

use super::Variable;

/// A regressor that goes with the errors, and what moves it but not them.
#[derive(Clone, Debug, PartialEq)]
pub struct Instrument {
    /// The regressor, which is the last term of the model.
    pub of: Variable,
    /// The instruments, which are no terms.
    pub by: Vec<Variable>,
}

impl Instrument {
    /// The columns that are read.
    pub(super) fn columns(&self) -> Vec<&str> {
        [&self.of].into_iter().chain(&self.by).flat_map(Variable::columns).collect()
    }
}

/// As a coefficient is called.
pub(super) fn name(variable: &Variable) -> String {
    variable.as_column().map_or_else(|| variable.to_string(), str::to_owned)
}
