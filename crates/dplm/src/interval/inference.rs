//! Intervals for any contrast at any level, long after the fit.

use std::{fmt, sync::Arc};

use super::{Contrast, Interval, IntervalError, check_level};

type Find = dyn Fn(&[Contrast], f64) -> Result<Vec<Interval>, IntervalError> + Send + Sync;

/// How a fit makes its intervals: from contrasts of the standardised parameters and a level.
///
/// It holds released and public numbers only, so it may be asked as often as one likes.
#[derive(Clone)]
pub struct Inference(Arc<Find>);

impl Inference {
    /// Intervals by `find`, which may hold released and public numbers only.
    pub(crate) fn new(
        find: impl Fn(&[Contrast], f64) -> Result<Vec<Interval>, IntervalError> + Send + Sync + 'static,
    ) -> Inference {
        Inference(Arc::new(find))
    }

    /// One interval for each contrast.
    ///
    /// # Errors
    /// When the level is not a probability, or a contrast is for another number of features.
    pub fn intervals(&self, contrasts: &[Contrast], level: f64) -> Result<Vec<Interval>, IntervalError> {
        check_level(level)?;
        (self.0)(contrasts, level)
    }
}

impl fmt::Debug for Inference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inference")
    }
}

/// Always equal: what it was made from is compared beside it, as the numbers of the fit.
impl PartialEq for Inference {
    fn eq(&self, _: &Inference) -> bool {
        true
    }
}
