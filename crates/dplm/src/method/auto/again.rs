//! The same model once more on the same rows, after a fit whose releases are paid for: its coordinates, its clip and its estimate are where this
//! one starts, so that all but a little is spent on the descent and on what intervals need. Both are then pooled.

use faer::Mat;

use super::{
    Plan,
    clip::Threshold,
    start::Start,
    whiten::{UNIT, Whitened},
};
use crate::{
    Error,
    interval::{Coordinates, Newton},
    lattice::{Design, Whitening},
    matrix::{inverse, times},
    method::{ConfigError, Target},
    privacy::{Budget, noise::RandomWords},
    rows::Rows,
};

/// A fit that was made before: released and public numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Earlier {
    pub design: Design,
    pub rows: u64,
    pub newton: Newton,
    pub clip: f64,
    pub target: Target,
}

impl Earlier {
    /// Refuses another model, or a table with another number of rows.
    pub(super) fn check(&self, rows: u64, design: &Design) -> Result<(), ConfigError> {
        if self.rows == rows && self.design == *design { Ok(()) } else { Err(ConfigError::OtherFit) }
    }

    /// Where it ended, and its clip.
    pub(super) fn start(&self, white: &Whitened) -> Start {
        let theta = times(&white.coordinates.basis, self.newton.estimates());
        Start { theta, threshold: Threshold { gamma: self.clip, at_edge: false, tail: 0.0 } }
    }
}

impl Plan {
    /// The coordinates of an earlier fit. Nothing is released but how long rows are in them.
    pub(super) fn whiten_as<R: RandomWords>(
        &self,
        earlier: &Earlier,
        rows: &mut dyn Rows,
        budget: &mut Budget,
        rng: &mut R,
    ) -> Result<Whitened, Error> {
        let turn = earlier.newton.coordinates_of_kept().ok_or(ConfigError::NotRefinable)?;
        let (kept, k) = (earlier.newton.kept().to_vec(), turn.nrows());
        let mut matrix = Mat::zeros(self.features, k);
        kept.iter().enumerate().for_each(|(i, &row)| (0..k).for_each(|j| matrix[(row, j)] = turn[(i, j)]));
        let whitening = Whitening::new(matrix.as_ref());
        let exact = whitening.matrix();
        let basis = inverse(&Mat::from_fn(k, k, |i, j| exact[(kept[i], j)]));
        let rows = rows.whitened_at_last(&whitening)?;
        let length = self.length_of_whitened(rows.as_ref(), "length of rows", budget, rng)?;
        Ok(Whitened {
            rows,
            coordinates: Coordinates { parameters: self.features, kept, basis },
            whitening,
            radius: length.radius as f64 / UNIT,
            longer: 1.0,
            moments: vec![1.0; k],
            found: None,
            left_out: Vec::new(),
            at_edge: false,
            mean_weight: None,
            trust: None,
        })
    }
}
