//! The answers of rows, released with noise.

use super::{
    Plan,
    ask::{Ask, Length, Look, Reached},
    clip::{GammaLadder, Threshold},
    focus::{Estimate, Scores},
    infer::{self, Inferred, Rights},
    sequence::Descended,
    start, threshold,
    whiten::{LENGTHS_PER_DOUBLING, UNIT, White},
};
use crate::{
    Error, Progress,
    descend::{Descent, Trajectory},
    lattice::{Clip, Design, Ladder, Whitening},
    method::noisy::NoisyMatrix,
    plan::counts::LENGTH_THRESHOLDS,
    privacy::{Neighbours, Spend, noise::RandomWords, release},
    rows::{Rows, Seen, TailCounts},
};

/// Rows, and where noise comes from.
///
/// # Guarantee
/// Rows are read through releases only, each paid for by the `Spend` that is passed in.
pub(super) struct OnRows<'a, R> {
    pub plan: &'a Plan,
    pub design: &'a Design,
    original: &'a mut dyn Rows,
    /// The rows in the coordinates of the descent, once there are any.
    white: Option<Box<dyn Rows>>,
    pub rng: &'a mut R,
}

impl<'a, R> OnRows<'a, R> {
    pub(super) fn new(plan: &'a Plan, design: &'a Design, original: &'a mut dyn Rows, rng: &'a mut R) -> Self {
        OnRows { plan, design, original, white: None, rng }
    }

    /// Counts of the gradients at a point that are longer than these, which ascend.
    fn longer_than(&mut self, at: &[f64], gammas: &[f64]) -> Result<TailCounts, Error> {
        let (plan, top) = (self.plan, gammas.last().copied().unwrap_or_default());
        let rho = plan.request.rho.to_f64();
        let lattice = *plan.descent(at.len(), top, plan.rules().most_steps(), rho)?.lattice();
        let clips: Vec<Clip> = gammas.iter().map(|&gamma| lattice.clip(gamma)).collect();
        let theta = lattice.theta(at);
        let ladder = Ladder::Gradients { theta: &theta, theta_unit: lattice.theta_unit(), clips: &clips };
        self.white().0.tail_counts(&ladder, plan.request.neighbours)
    }

    /// The rows of the descent in other coordinates, to be looked at only.
    pub(super) fn through_white<'s>(&'s mut self, to: &'s Whitening) -> Result<Box<dyn Look + 's>, Error>
    where
        R: RandomWords,
    {
        let neighbours = self.plan.request.neighbours;
        let (rows, rng) = self.white();
        let count = rows.count();
        Ok(Box::new(Looking { seen: rows.through(to)?, neighbours, count, rng }))
    }

    /// Takes the rows of the descent to other coordinates.
    pub(super) fn turn(&mut self, to: &Whitening) -> Result<(), Error> {
        let white = self.white().0.whitened_at_last(to)?;
        self.white = Some(white);
        Ok(())
    }

    /// The rows of the descent, and where noise comes from.
    pub(super) fn white(&mut self) -> (&mut Box<dyn Rows>, &mut R) {
        (self.white.as_mut().expect("rows were whitened"), self.rng)
    }
}

impl<R: RandomWords> Ask for OnRows<'_, R> {
    type Point = Vec<f64>;
    type Run = Trajectory;
    type Inferred = Inferred;

    fn rows_in_unit(&self) -> Option<u32> {
        self.original.rows_in_unit()
    }

    fn through<'s>(&'s mut self, to: &'s Whitening) -> Result<Box<dyn Look + 's>, Error> {
        let (neighbours, count) = (self.plan.request.neighbours, self.original.count());
        Ok(Box::new(Looking { seen: self.original.through(to)?, neighbours, count, rng: self.rng }))
    }

    fn whiten(&mut self, to: &Whitening, last: bool) -> Result<(), Error> {
        self.white = None;
        self.white = Some(if last { self.original.whitened_at_last(to)? } else { self.original.whitened(to)? });
        Ok(())
    }

    fn look(&mut self) -> Box<dyn Look + '_> {
        let neighbours = self.plan.request.neighbours;
        let (rows, rng) = self.white();
        let (seen, count): (&dyn Seen, u64) = (&*rows, rows.count());
        Box::new(Looking { seen, neighbours, count, rng })
    }

    fn origin(&self, features: usize) -> Vec<f64> {
        vec![0.0; features]
    }

    fn resume(&self, theta: Vec<f64>) -> Vec<f64> {
        theta
    }

    fn threshold(
        &mut self,
        at: &Vec<f64>,
        ladder: &GammaLadder,
        target: f64,
        spend: Spend,
    ) -> Result<Threshold, Error> {
        let gammas = ladder.gammas();
        let counts = self.longer_than(at, &gammas)?;
        let found = threshold::search(&counts, target, spend, self.rng)?;
        Ok(Threshold { gamma: gammas[found.index], at_edge: found.at_edge, tail: target / self.plan.rows as f64 })
    }

    fn shares_above(&mut self, at: &Vec<f64>, gammas: &[f64], spend: Spend) -> Result<Vec<f64>, Error> {
        shares(&self.longer_than(at, gammas)?, self.plan.rows, spend, self.rng)
    }

    fn descend(
        &mut self,
        by: &Descent,
        from: &Vec<f64>,
        spend: Spend,
        progress: Progress<'_>,
    ) -> Result<Trajectory, Error> {
        let (rows, rng) = self.white();
        by.run(rows.as_mut(), from, spend, rng, progress)
    }

    fn reached(&self, run: &Trajectory, from: &Vec<f64>, white: &White) -> Reached<Vec<f64>> {
        start::reached(run, from, self.design, white)
    }

    fn infer(&mut self, white: &White, last: &Descended<Self>, rights: Rights) -> Result<Inferred, Error> {
        self.release_for_intervals(white, last, rights)
    }

    fn estimate(&self, last: &Descended<Self>, white: &White) -> Estimate {
        let Descended { threshold, run, .. } = last;
        Estimate::of(run, threshold.tail, |run| infer::predicted(run, &white.moments, threshold.tail))
    }

    fn infer_scores(
        &mut self,
        scores: &Scores,
        last: &Descended<Self>,
        rights: Rights,
    ) -> Result<Option<Inferred>, Error> {
        self.release_for_scores(scores, last, rights)
    }
}

/// Counts as shares of this many rows, each released with an equal part of the budget.
fn shares(counts: &TailCounts, rows: u64, spend: Spend, rng: &mut impl RandomWords) -> Result<Vec<f64>, Error> {
    let mut share = |(index, part)| -> Result<f64, Error> {
        Ok(release(counts.above(index), part, rng)?.values[0] as f64 / rows as f64)
    };
    spend.in_parts(counts.len() as u32).into_iter().enumerate().map(&mut share).collect()
}

/// Rows in some coordinates.
struct Looking<'s, S, R> {
    seen: S,
    neighbours: Neighbours,
    /// How many there are.
    count: u64,
    rng: &'s mut R,
}

impl<S: std::ops::Deref<Target: Seen>, R: RandomWords> Look for Looking<'_, S, R> {
    fn length(&mut self, top: f64, cut: f64, spend: Spend) -> Result<Length, Error> {
        let radius = |i: u32| (top * UNIT * (-f64::from(i) / LENGTHS_PER_DOUBLING).exp2()).ceil() as u64;
        let radii: Vec<u64> = (0..LENGTH_THRESHOLDS).rev().map(radius).collect();
        let counts = self.seen.longer_than(&radii, self.neighbours)?;
        let found = threshold::search(&counts, cut, spend, self.rng)?;
        let radius = radii[found.index] as f64 / UNIT;
        Ok(Length { radius, at_edge: found.index == 0, is_beyond: found.is_beyond })
    }

    fn shares_longer(&mut self, radii: &[f64], spend: Spend) -> Result<Vec<f64>, Error> {
        let radii: Vec<u64> = radii.iter().map(|radius| (radius * UNIT).ceil() as u64).collect();
        shares(&self.seen.longer_than(&radii, self.neighbours)?, self.count, spend, self.rng)
    }

    fn second_moments(&mut self, radius: f64, spend: Spend) -> Result<NoisyMatrix, Error> {
        // Lengths are whole numbers of lattice units.
        let sum = self.seen.second_moments((radius * UNIT) as u64, self.neighbours)?;
        let size = sum.size();
        let noisy = release(sum.into_matrix(), spend, self.rng)?;
        Ok(NoisyMatrix::of(&noisy, size, UNIT, self.count))
    }
}
