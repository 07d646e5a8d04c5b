//! Second moments that are released once for several models of one table: whitening each is then
//! post-processing.

use std::sync::Arc;

use faer::Mat;

use super::{
    Plan,
    ask::Ask,
    on_rows::OnRows,
    sequence::{Response, Sequence},
    whiten::{Found, White},
};
use crate::{
    Error, Progress,
    interval::Curvature,
    lattice::Design,
    matrix::inverse,
    method::ConfigError,
    moments::combinations,
    privacy::{Budget, noise::RandomWords},
    rows::Rows,
};

/// What was released of the columns of a model that holds the terms of several.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Learned {
    design: Design,
    law: Curvature,
    basis: Mat<f64>,
    noise_sd: f64,
    /// How many rows a level needs, so as not to be understated.
    level_rows: f64,
}

/// The part of a budget that whitening may take for all models together: two rounds always fit in,
/// and further ones where they are cheap.
pub(crate) const LEARNING: f64 = 0.25;

impl Plan {
    /// Releases second moments in rounds, as a fit of this model would.
    ///
    /// # Guarantee
    /// Rows are read through releases only, each paid for by `budget`.
    pub(crate) fn learn<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        budget: &mut Budget,
        rng: &mut R,
    ) -> Result<Learned, Error> {
        let (ask, response) = (&mut OnRows::new(self, design, rows, rng), Response::of_model(design));
        Sequence { plan: self, design, budget, ask, response, progress: Progress::NONE }.learn()
    }
}

impl<A: Ask> Sequence<'_, A> {
    /// Whitening for several models: rounds of second moments.
    pub(super) fn learn(mut self) -> Result<Learned, Error> {
        let (plan, design) = (self.plan, self.design);
        let rounds = self.rounds()?;
        let Found { law, basis, noise_sd, .. } = Found::of(&rounds, plan.floor_of(&rounds, design));
        Ok(Learned { design: design.clone(), law, basis, noise_sd, level_rows: plan.level_rows() })
    }

    /// Whitens a model by what was learned of one that holds its terms. Nothing is released but how
    /// long its rows are then.
    pub(super) fn whiten_learned(&mut self, learned: &Learned) -> Result<White, Error> {
        let (plan, design) = (self.plan, self.design);
        let turn = learned.turn(design).ok_or(ConfigError::OtherFit)?;
        let found = Found {
            law: learned.law.clone(),
            basis: &learned.basis * turn,
            noise_sd: learned.noise_sd,
            floor: plan.floor_for(design, learned.level_rows),
            shortened: false,
        };
        let white = found.white(plan, design);
        self.ask.whiten(&white.whitening, false)?;
        let k = white.features();
        let radius = self.length_of_whitened(k, "length of rows")?;
        let longer = radius / plan.normal_length(&Mat::identity(k, k));
        // Rows that are complete for this model need not be so for all, so what was learned says
        // nothing of how many there are.
        Ok(White { radius, longer, found: None, ..white })
    }
}

impl Learned {
    /// A model's standardised parameters as those of the model that holds its terms; `None` if it
    /// has a term that the other lacks.
    ///
    /// With the terms `a` in their own units, columns are `z = S a` in both, so that
    /// `z_of = S_of Pi S^-1 z`, `Pi` picking out terms.
    fn turn(&self, of: &Design) -> Option<Mat<f64>> {
        let place = |name: &String| self.design.names().iter().position(|one| one == name);
        let places: Vec<usize> = of.names().iter().map(place).collect::<Option<_>>()?;
        let to_terms = inverse(&combinations(&self.design));
        let picked = Mat::from_fn(places.len(), self.design.features(), |j, k| to_terms[(places[j], k)]);
        Some((combinations(of) * picked).transpose().to_owned())
    }

    /// The same, to be shared.
    pub(crate) fn shared(self) -> Arc<Learned> {
        Arc::new(self)
    }

    /// Whether it says all that a model needs.
    pub(crate) fn holds(&self, design: &Design) -> bool {
        self.turn(design).is_some()
    }
}
