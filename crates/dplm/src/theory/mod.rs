//! The theory that planning a private fit needs: the Gaussian and Student t distributions, and the
//! paper's theorem on coverage. All of it is about public numbers; the rest of the paper's lemmas,
//! as functions, is the crate `dplm-theory`.

pub mod student;
pub mod coverage;

/// A parameter is outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} must be {rule}")]
pub struct OutOfRange {
    /// The parameter.
    pub name: &'static str,
    /// What it must be, in words.
    pub rule: &'static str,
}

impl OutOfRange {
    /// Refuses a parameter for which a rule does not hold.
    ///
    /// # Errors
    /// When it does not.
    pub fn unless(holds: bool, name: &'static str, rule: &'static str) -> Result<(), OutOfRange> {
        if holds { Ok(()) } else { Err(OutOfRange { name, rule }) }
    }

    /// Refuses a parameter that is not positive and finite.
    ///
    /// # Errors
    /// When it is not.
    pub fn unless_positive(name: &'static str, value: f64) -> Result<(), OutOfRange> {
        OutOfRange::unless(value > 0.0 && value.is_finite(), name, "positive and finite")
    }
}
