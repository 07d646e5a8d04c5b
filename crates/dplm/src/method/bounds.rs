//! How large rows and responses can be, from public facts.

use super::Request;
use crate::lattice::Design;

/// The chance, allowed for each bound, that a row of standard columns is beyond it.
const FAILURE: f64 = 0.05;

/// What public facts say of the size of rows and responses, in standardised units. Columns with
/// bounds have a largest row; of standard ones all `n` rows are within these bounds with
/// probability 0.95, if they are normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublicBounds {
    /// The largest norm of a row, or of a person's rows together.
    pub row: f64,
    /// The largest response, or norm of a person's responses.
    pub response: f64,
    /// The standard deviation of the errors: 1 for a standard response; a bounded one is scaled to
    /// -1 to 1 and taken to have 1/4.
    pub error_sd: f64,
}

impl PublicBounds {
    /// The bounds of `rows` rows of a design.
    ///
    /// A row of standard columns is below `sqrt(p) + sqrt(2 ln(n / 0.05))`, and their response, of
    /// variance 2 in the paper's setting, below `sqrt(2) sqrt(2 ln(2n / 0.05))`. A person's k rows
    /// together are as long as one row of `sqrt k` times the length, and a row of weight w is
    /// `sqrt w` times as long.
    pub fn of(rows: u64, design: &Design, request: &Request) -> PublicBounds {
        let longer = (f64::from(request.rows_per_person()) * design.largest_weight()).sqrt();
        let normal_row = || (design.features() as f64).sqrt() + (2.0 * (rows as f64 / FAILURE).ln()).sqrt();
        let normal_response = 2.0 * (2.0 * rows as f64 / FAILURE).ln().sqrt();
        let is_bounded = design.response().range.0.is_finite();
        PublicBounds {
            row: longer * design.row_norm_sq().map_or_else(normal_row, f64::sqrt),
            response: longer * if is_bounded { design.largest_cell() } else { normal_response },
            error_sd: longer * if is_bounded { 0.25 } else { 1.0 },
        }
    }
}
