//! The same model once more on the same rows, after a fit whose releases are paid for: its
//! coordinates, its clip and its estimate are where this one starts, so that all but a little is
//! spent on the descent and on what intervals need. Both are then pooled.

use faer::Mat;

use super::{ask::Ask, sequence::Sequence, whiten::White};
use crate::{
    Error,
    fit::Left,
    interval::Newton,
    lattice::{Design, Whitening},
    matrix::times,
    method::{ConfigError, Target},
};

/// A fit that was made before: released and public numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Earlier {
    pub design: Design,
    pub rows: u64,
    pub newton: Newton,
    pub clip: f64,
    pub target: Target,
    /// How long rows may be in its coordinates, where longer ones were shortened.
    pub row_length: Option<f64>,
    /// What partialling out left of rows, where that made it.
    pub left: Option<Left>,
}

impl Earlier {
    /// Refuses another model, or a table with another number of rows.
    pub(super) fn check(&self, rows: u64, design: &Design) -> Result<(), ConfigError> {
        if self.rows == rows && self.design == *design { Ok(()) } else { Err(ConfigError::OtherFit) }
    }

    /// Where it ended.
    pub(super) fn end(&self, white: &White) -> Vec<f64> {
        times(&white.coordinates.basis, self.newton.estimates())
    }
}

impl<A: Ask> Sequence<'_, A> {
    /// The coordinates of an earlier fit. Nothing is released but how long rows are in them.
    pub(super) fn whiten_as(&mut self, earlier: &Earlier) -> Result<White, Error> {
        let turn = earlier.newton.coordinates_of_kept().ok_or(ConfigError::NotRefinable)?;
        let (kept, k) = (earlier.newton.kept().to_vec(), turn.nrows());
        let mut matrix = Mat::zeros(self.plan.features, k);
        kept.iter().enumerate().for_each(|(i, &row)| (0..k).for_each(|j| matrix[(row, j)] = turn[(i, j)]));
        let white = White::new(Whitening::new(matrix.as_ref()), kept);
        let white = match earlier.row_length {
            Some(length) => white.shortened(length),
            None => white,
        };
        self.ask.whiten(&white.whitening, true)?;
        let radius = self.length_of_whitened(k, "length of rows")?;
        Ok(White { radius, ..white })
    }
}
