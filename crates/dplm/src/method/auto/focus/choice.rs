//! Which of two ways gives coefficients of interest: partialling out, or all coefficients of which
//! these are shown.

use super::{
    super::{IndexRule, Plan},
    Wanted,
};
use crate::{
    Error,
    lattice::Design,
    method::{ConfigError, Outcome, Purpose, Request, Target},
    plan::{Assumed, Foretold, Planned, Way},
    warning::Enough,
};

/// Least squares may make intervals this many times as long without being asked for.
const PRICE_OF_LEAST_SQUARES: f64 = 1.10;

impl Wanted {
    /// Those that are asked for, where not all are.
    pub(in crate::method::auto) fn of_request(
        request: &Request,
        design: &Design,
    ) -> Result<Option<Wanted>, ConfigError> {
        let texts = Some(&request.focus).filter(|texts| !texts.is_empty());
        texts.map(|texts| Wanted::of(texts, design)).transpose()
    }
}

impl Plan {
    /// What the intervals of partialling out are for, where it promises the shorter ones by the
    /// forecasts of both ways on columns as a plan assumes them.
    /// Beside that, whether controls are in the model as indices only.
    pub(in crate::method::auto) fn prefers_partialling(
        &self,
        indices: IndexRule,
        design: &Design,
    ) -> Result<(Option<Target>, bool), Error> {
        if indices == IndexRule::Always {
            return Ok((Some(Target::Robust), true));
        }
        let Some(wanted) = &self.wanted else { return Ok((None, false)) };
        if let Some(earlier) = &self.earlier {
            return Ok((earlier.left.is_some().then_some(earlier.target), false));
        }
        // Moments that are trusted, or shared with other models, are those of all coefficients.
        let has_others = self.shares_moments || self.learned.is_some() || self.trusted().is_some();
        if self.request.purpose == Purpose::Prediction || has_others {
            return Ok((None, false));
        }
        let (room, k) = (self.room(wanted), wanted.parameters.len());
        // What a wide clip of skewed errors does given indices is not known.
        let may_be_indices = indices == IndexRule::WhereNeeded && self.asks_for_robust();
        match (room >= 1.0, self.gives_intervals()) {
            (false, true) => Ok((None, false)),
            (true, all) => {
                let (target, length) = self.target_of_scores(design);
                Ok(((!all || length <= self.length_by(None, design)).then_some(target), false))
            }
            (false, false) if may_be_indices && self.room_for_indices(k) >= 1.0 => Ok((Some(Target::Robust), true)),
            (false, false) => {
                let enough = Enough::times(1.0 / room, self.rows, self.request.rho).of(self.request.unit());
                let controls = self.features - k;
                Err(ConfigError::FocusTooWeak { controls, rows: self.rows, enough }.into())
            }
        }
    }

    /// What was asked for; by default least squares, where that is cheap. With it the length that
    /// intervals would have.
    fn target_of_scores(&self, design: &Design) -> (Target, f64) {
        let with_length = |target: Target| (target, self.length_by(Some(target), design));
        let wanted = with_length(self.request.target());
        if self.request.target.is_some() {
            return wanted;
        }
        let robust = with_length(Target::Robust);
        if wanted.1 <= PRICE_OF_LEAST_SQUARES * robust.1 { wanted } else { robust }
    }

    /// The length that intervals would have on columns as a plan assumes them, up to a factor.
    fn length_by(&self, partials_out: Option<Target>, design: &Design) -> f64 {
        // On white columns no level would be one: each row would have it.
        let assumed = Assumed::of(design, &[]).expect("nothing is assumed that could be wrong");
        let length = |planned: Planned| {
            let errors = planned.descent.errors;
            errors.std_error() * errors.widening
        };
        let plan = Plan { partials_out, ..self.clone() };
        plan.foreseen(design, &assumed).map_or(f64::INFINITY, length)
    }

    /// What the way that was not chosen would come to.
    pub(in crate::method::auto) fn other_way(&self, design: &Design, assumed: &Assumed) -> Option<(Way, Foretold)> {
        let wanted = self.wanted.as_ref()?;
        let (way, partials_out) = match self.partials_out {
            Some(_) => (Way::AllCoefficients, None),
            None => (Way::PartiallingOut, Some(self.target_of_scores(design).0)),
        };
        let plan = Plan { partials_out, by_indices: false, ..self.clone() };
        let is_open = match way {
            Way::AllCoefficients => plan.gives_intervals(),
            Way::PartiallingOut => self.room(wanted) >= 1.0,
        };
        let planned = is_open.then(|| plan.foreseen(design, assumed).ok()).flatten()?;
        Some((way, planned.descent))
    }

    /// Whether robust intervals will do.
    fn asks_for_robust(&self) -> bool {
        self.request.target.is_none_or(|target| target == Target::Robust)
    }

    /// How many times what is enough for partialling out there is.
    fn room(&self, wanted: &Wanted) -> f64 {
        self.room_for_controls().min(self.room_for_scores(wanted.parameters.len()))
    }

    /// An outcome of all coefficients, of which only those of interest are shown.
    pub(in crate::method::auto) fn of_interest(&self, mut outcome: Outcome, design: &Design) -> Outcome {
        let Some(wanted) = &self.wanted else { return outcome };
        for (place, one) in outcome.coefficients.iter_mut().enumerate() {
            if !wanted.coefficients.contains(&place) {
                (one.estimate, one.precision, one.identified) = (None, None, false);
            }
        }
        let names = outcome.left_out.iter().map(|one| one.name.clone());
        let is_control = |name: &String| wanted.parameters.iter().all(|&j| design.names()[j] != *name);
        outcome.focus = Some(wanted.told(design, names.filter(is_control).collect()));
        outcome
    }
}
