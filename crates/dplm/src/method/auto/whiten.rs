//! Rounds of private whitening: each measures second moments in the coordinates that the previous
//! one made.
//!
//! Noise on second moments is the same in every direction, so a direction much shorter than the
//! others drowns in it. One round stretches what it resolves to length one and the rest as far as
//! its noise allows; the next one resolves more. Rounds go on while some column is not resolved and
//! a round is cheap. Columns that are still not resolved then are left out of the model, in formula
//! order: see [`resolve`]. The releases that decide this are not used for intervals, so that
//! passing says nothing about the errors of coefficients.

use faer::Mat;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{
    Plan, Shortens,
    ask::{Ask, Length, Look},
    known::Trust,
    left_out::left_out,
    sequence::{AS_NORMAL, Sequence},
};
use crate::{
    Error,
    interval::{Coordinates, Curvature, Floor, Resolved, resolve, without_noise},
    lattice::{CELL_SCALE_BITS, Design, Slot, Whitening},
    matrix::{Eigen, columns, inverse, turned_to_triangle},
    method::{NotKeptError, Purpose, is_of_term, noisy::NoisyMatrix},
    plan::{
        counts::{self, LENGTH_THRESHOLDS},
        division::{Rules, row_length},
    },
    privacy::Budget,
    warning::LeftOut,
};

/// Where whitening ended: released numbers only.
pub(super) struct White {
    /// How the kept parameters make the coordinates of the descent.
    pub coordinates: Coordinates,
    /// The change of coordinates `theta = P theta_white`; rows of zeros for parameters that were
    /// left out.
    pub whitening: Whitening,
    /// The norm that few rows exceeded in the last round.
    pub radius: f64,
    /// That norm, divided by the one that as many Gaussian rows would exceed.
    pub longer: f64,
    /// The second moment of each final coordinate: 1 where whitening succeeded, less where it
    /// stopped at the floor.
    pub moments: Vec<f64>,
    /// What was released of the second moments; `None` if given moments were trusted.
    pub found: Option<Found>,
    /// What the budget could not resolve.
    pub left_out: Vec<LeftOut>,
    /// Whether the length of rows was found at the lower end of its ladder.
    pub at_edge: bool,
    /// Where rows are weighted and there is a constant, the mean of the weights, as the first round
    /// has it.
    pub mean_weight: Option<f64>,
    /// Whether moments that were trusted proved right.
    pub trust: Option<Trust>,
    /// How long rows may be in the coordinates of the descent, where longer ones are shortened.
    pub row_length: Option<f64>,
}

/// One round: second moments released in the coordinates `theta = P theta_round`.
pub(super) struct Round {
    pub matrix: Mat<f64>,
    pub moments: NoisyMatrix,
    pub radius: f64,
    pub at_edge: bool,
    /// Whether long rows were shortened with their responses.
    pub shortened: bool,
}

/// Where the length of rows is looked for.
pub(super) struct Ladders {
    /// The top of the ladder.
    pub top: f64,
    /// Whether it is looked for above the ladder too: all rows of a person together may be longer
    /// than one row can be.
    pub above: bool,
    /// Whether it is looked for below the ladder too: weights may be far below their bound, and
    /// rows near their means.
    pub below: bool,
}

impl Ladders {
    /// One ladder.
    fn one(top: f64) -> Ladders {
        Ladders { top, above: false, below: false }
    }
}

/// One lattice unit of a cell.
pub(super) const UNIT: f64 = (1u32 << CELL_SCALE_BITS) as f64;
/// How far the top of the ladder of lengths is above its bottom, and its thresholds to a factor of
/// two.
pub(super) const LADDER_SPAN: f64 = 16.0;
pub(super) const LENGTHS_PER_DOUBLING: f64 = 8.0;
/// In whitened coordinates rows have norm `sqrt p` on average: the ladder starts this far above.
pub(super) const TOP_OF_WHITENED: f64 = 3.0;
/// The last turn stretches no direction beyond this: a level with a few rows would otherwise become
/// a row of enormous length. Where rows are shortened it may stretch further.
const LEAST_FLOOR: f64 = 0.3;
const LEAST_FLOOR_SHORTENED: f64 = 0.1;
/// Tables of this many cells or more are large.
const MANY_CELLS: u64 = 1 << 22;
/// A direction lost in noise is assumed to be no shorter than this many standard deviations of the
/// noise.
const LEAST_SCALE: f64 = 1.5;
/// A column is in the model when what is new in it stands this far above its noise: one that
/// repeats the others passes with probability 0.0014.
pub(super) const RESOLVED: f64 = 3.0;
/// Another round is worth its price while a column stands less than this further above its noise
/// than it must.
const CLEARLY: f64 = 2.0;
/// Where rows are shortened a column must stand half as far above its noise as one that is white
/// does, at least as far as otherwise and no further than this: the curvature, which resolves all
/// columns once more and loses all intervals with one of them, then rarely loses any.
const MOST_STRENGTH: f64 = 7.0;

impl White {
    /// Kept columns in these coordinates, of which nothing else is known.
    pub(super) fn new(whitening: Whitening, kept: Vec<usize>) -> White {
        let (exact, k) = (whitening.matrix(), kept.len());
        let basis = inverse(&Mat::from_fn(k, k, |i, j| exact[(kept[i], j)]));
        White {
            coordinates: Coordinates { parameters: exact.nrows(), kept, basis },
            whitening,
            radius: 0.0,
            longer: 1.0,
            moments: vec![1.0; k],
            found: None,
            left_out: Vec::new(),
            at_edge: false,
            mean_weight: None,
            trust: None,
            row_length: None,
        }
    }

    /// How many coordinates there are.
    pub(super) fn features(&self) -> usize {
        self.moments.len()
    }

    /// The same coordinates, in which long rows are shortened with their responses.
    pub(super) fn shortened(self, length: f64) -> White {
        White { whitening: shortening(self.whitening, length), row_length: Some(length), ..self }
    }
}

/// The same change of coordinates for rows that are shortened where they are longer than this.
fn shortening(whitening: Whitening, length: f64) -> Whitening {
    whitening.shortened_to(Some((length * UNIT) as u64))
}

impl<'a, A: Ask> Sequence<'a, A> {
    /// Finds coordinates in which rows are about equally long in every direction, and the columns
    /// that can be told apart.
    pub(super) fn whiten(&mut self) -> Result<White, Error> {
        let Plan { earlier, learned, .. } = self.plan;
        let white = match (earlier, learned, self.plan.trusted()) {
            (Some(earlier), ..) => self.whiten_as(earlier),
            (_, Some(learned), _) => self.whiten_learned(learned),
            (.., Some(known)) => self.whiten_on_trust(known),
            (None, None, None) => self.whiten_in_rounds(),
        }?;
        NotKeptError::check(&white.left_out, &self.plan.request.keep)?;
        Ok(white)
    }

    fn whiten_in_rounds(&mut self) -> Result<White, Error> {
        let (plan, design) = (self.plan, self.design);
        let rounds = self.rounds()?;
        let found = Found::of(&rounds, plan.floor_of(&rounds, design));
        let white = found.white(plan, design);
        let last = rounds.last().expect("there was a first round");
        let white = if last.shortened { white.shortened(last.radius) } else { white };
        self.ask.whiten(&white.whitening, true)?;
        Ok(White {
            radius: white.row_length.unwrap_or(last.radius),
            longer: plan.longer(last),
            at_edge: rounds.iter().any(|round| round.at_edge),
            mean_weight: mean_of_weights(&rounds, design).map(|mean| mean * design.weight_unit()),
            ..white
        })
    }

    /// Rounds of second moments, while one pays and the budget has it.
    pub(super) fn rounds(&mut self) -> Result<Vec<Round>, Error> {
        let (plan, design) = (self.plan, self.design);
        let mut rounds = vec![self.first_round()?];
        let length = plan.rules().shares().length;
        let has = |budget: &Budget, share: f64| budget.left() >= plan.request.rho.share(share + length);
        let (mut longest, mut is_found) = (row_length(plan.features), false);
        loop {
            let last = rounds.last().expect("there was a first round");
            if last.shortened && !is_found {
                (longest, is_found) = (self.fitting_length(last)?, true);
            }
            let next = plan.next_round(&rounds, longest, design);
            let Some(share) = next.filter(|&share| has(self.budget, share)) else { break };
            let all: Vec<usize> = (0..plan.features).collect();
            let matrix = plan.quickly_made(rounds.last().expect("there was a first round").turned(), &all);
            let (number, ladders) = (rounds.len() + 1, Ladders::one(TOP_OF_WHITENED * (plan.features as f64).sqrt()));
            rounds.push(match plan.shortens_after(&rounds) {
                true => self.shortened_round(&matrix, longest, number, share)?,
                false => self.round(&matrix, &ladders, number, share)?,
            });
        }
        Ok(rounds)
    }

    fn first_round(&mut self) -> Result<Round, Error> {
        let (plan, design) = (self.plan, self.design);
        let (matrix, top, share) = plan.first_coordinates(design);
        // Rows may also be longer in coordinates that wrong moments made.
        let above = self.ask.rows_in_unit().is_some_and(|most| most > 1) || plan.known.is_some();
        let below = design.weights().is_some() || design.is_within();
        let ladders = Ladders { top, above, below };
        self.round(&matrix, &ladders, 1, share)
    }

    fn round(&mut self, matrix: &Mat<f64>, ladders: &Ladders, number: usize, share: f64) -> Result<Round, Error> {
        let whitening = Whitening::new(matrix.as_ref());
        let mut seen = self.ask.through(&whitening)?;
        let what = format!("length of rows, round {number}");
        let Length { radius, at_edge, .. } = self.plan.length(seen.as_mut(), ladders, &what, self.budget)?;
        let spend = self.budget.spend(format!("second moments, round {number}"), self.plan.request.rho.share(share))?;
        let moments = seen.second_moments(radius, spend)?;
        Ok(Round { matrix: whitening.matrix(), moments, radius, at_edge, shortened: false })
    }

    /// A round of rows that are shortened, whose length need not be looked for.
    fn shortened_round(&mut self, matrix: &Mat<f64>, radius: f64, number: usize, share: f64) -> Result<Round, Error> {
        let whitening = shortening(Whitening::new(matrix.as_ref()), radius);
        let spend = self.spend(format!("second moments, round {number}"), share)?;
        let moments = self.ask.through(&whitening)?.second_moments(radius, spend)?;
        Ok(Round { matrix: whitening.matrix(), moments, radius, at_edge: false, shortened: true })
    }

    /// A norm that few rows exceed in the coordinates of the descent, where known moments made
    /// them. Those may be wrong, and rows longer than white ones.
    pub(super) fn length_of_whitened(&mut self, features: usize, what: &str) -> Result<f64, Error> {
        let top = TOP_OF_WHITENED * (features as f64).sqrt();
        let ladders = Ladders { top, above: true, below: false };
        Ok(self.plan.length(self.ask.look().as_mut(), &ladders, what, self.budget)?.radius)
    }
}

impl Plan {
    /// The parameters of terms that must stay.
    pub(super) fn kept_terms(&self, design: &Design) -> Vec<usize> {
        let is_kept = |name: &str| self.request.keep.iter().any(|term| is_of_term(name, term));
        (0..self.features).filter(|&j| is_kept(&design.names()[j])).collect()
    }

    /// The same coordinates, rotated so that each is made of its own cell and later ones only:
    /// re-encoding then takes half as long, which matters in large tables. Noise and lengths are
    /// alike in every direction, so that nothing else changes.
    fn quickly_made(&self, matrix: Mat<f64>, kept: &[usize]) -> Mat<f64> {
        if self.rows.saturating_mul(kept.len() as u64) < MANY_CELLS {
            return matrix;
        }
        let triangle = turned_to_triangle(&Mat::from_fn(kept.len(), kept.len(), |j, k| matrix[(kept[j], k)]));
        let mut turned = Mat::zeros(matrix.nrows(), kept.len());
        kept.iter().enumerate().for_each(|(j, &row)| (0..=j).for_each(|k| turned[(row, k)] = triangle[(j, k)]));
        turned
    }

    /// The coordinates of the first round, how long its rows may be, and its share: what known
    /// moments whiten is as far as a first round would have come.
    pub(super) fn first_coordinates(&self, design: &Design) -> (Mat<f64>, f64, f64) {
        match &self.known {
            None => {
                let identity = Mat::identity(self.features, self.features);
                (identity, super::largest_norm(design), self.rules().shares().first_moments)
            }
            Some(known) => {
                let all: Vec<usize> = (0..self.features).collect();
                let top = TOP_OF_WHITENED * (self.features as f64).sqrt();
                (known.turn(&all), top, self.rules().second_round())
            }
        }
    }

    /// The share of the budget for another round, if one pays.
    fn next_round(&self, rounds: &[Round], longest: f64, design: &Design) -> Option<f64> {
        let last = rounds.last().expect("there was a first round");
        if self.by_indices {
            return self.next_round_for_indices(rounds);
        }
        if let Some(wanted) = self.partialled_for() {
            return self.next_round_for(wanted, rounds, design);
        }
        if self.shortens_after(rounds) && !last.shortened && rounds.len() > 1 {
            return Some(self.shortening_rules().second_round());
        }
        if last.shortened && longest > last.radius {
            return self.shortening_rules().further_round(longest);
        }
        // Known moments are as good as a first round, unless the first that is made shows that they
        // are not.
        let known = self.known.is_some() && !(rounds.len() == 1 && last.is_uneven());
        let rules = if last.shortened { self.shortening_rules() } else { self.rules() };
        match rounds.len() + usize::from(known) {
            1 => (!self.rules().has_one_round()).then(|| self.rules().second_round()),
            rounds if rounds >= rules.most_rounds() => None,
            _ if self.rules().has_one_round() || self.request.purpose == Purpose::Prediction => None,
            _ => {
                let found = Found::of(rounds, self.floor_of(rounds, design));
                let Resolved { kept, pivots } = found.resolve();
                let is_unresolved = pivots.iter().any(|pivot| pivot.strength < found.least_strength() + CLEARLY);
                let stays_short = || found.turn(&kept).moments.iter().any(|&moment| moment < 1.0);
                rules.further_round(last.radius).filter(|_| is_unresolved || stays_short())
            }
        }
    }

    /// Whether rows are shortened in the round after these.
    fn shortens_after(&self, rounds: &[Round]) -> bool {
        let last = rounds.last().expect("there was a first round");
        match self.shortens {
            Shortens::Never => false,
            Shortens::Always => true,
            // The first round is in coordinates in which nothing is white.
            Shortens::WhereLong => last.shortened || rounds.len() > 1 && self.longer(last) > AS_NORMAL,
        }
    }

    /// What holds once rows are shortened.
    pub(super) fn shortening_rules(&self) -> Rules {
        Rules { shortens: true, ..self.rules() }
    }

    /// The length that few rows exceed, over that which as many would if they were normal.
    fn longer(&self, round: &Round) -> f64 {
        round.radius / self.normal_length(&round.moments.mean)
    }

    /// A norm that few rows exceed, on the ladders on which it is looked for. Stopping at the top
    /// of a ladder is expected: bounds allow no longer rows at first, and later ones are shortened.
    pub(super) fn length(
        &self,
        look: &mut dyn Look,
        ladders: &Ladders,
        what: &str,
        budget: &mut Budget,
    ) -> Result<Length, Error> {
        let share = self.request.rho.share(self.rules().shares().length);
        let mut length = |top: f64| {
            let spend = budget.spend(what, share)?;
            look.length(top, self.rows_cut(spend.to_f64()), spend)
        };
        let found = length(ladders.top)?;
        if ladders.above && found.is_beyond {
            return length(ladders.top * LADDER_SPAN);
        }
        if ladders.below && found.at_edge { length(ladders.top / LADDER_SPAN) } else { Ok(found) }
    }

    /// About how many rows may be longer than the length that is found with this budget.
    pub(super) fn rows_cut(&self, rho: f64) -> f64 {
        counts::target(0.0, self.rows, LENGTH_THRESHOLDS as usize, self.request.worth_in_counts(rho))
    }

    /// The length that about as many Gaussian rows with these second moments would exceed.
    pub(super) fn normal_length(&self, moments: &Mat<f64>) -> f64 {
        let spend = self.request.rho.share(self.rules().shares().length).to_f64();
        length_exceeded_by(moments, 1.0, self.rows_cut(spend) / self.rows as f64)
    }

    /// What a column must exceed, in units of what a row of average weight adds to a level.
    pub(super) fn floor_of(&self, rounds: &[Round], design: &Design) -> Floor {
        let is_shortened = rounds.last().is_some_and(|round| round.shortened);
        let mut floor = self.floor_for(design, if is_shortened { 0.0 } else { self.level_rows() });
        let typical = mean_of_weights(rounds, design).unwrap_or(1.0);
        floor.least.iter_mut().for_each(|least| *least *= typical);
        floor
    }

    /// How many rows a level needs. A level with fewer rows than may have been cut is understated
    /// by an unknown amount: it needs half as many again, which is a standard deviation and a half
    /// of the noisy count. If rows are shortened, none is cut.
    pub(super) fn level_rows(&self) -> f64 {
        1.5 * self.rows_cut(self.request.rho.share(self.rules().shares().length).to_f64())
    }

    /// The same where moments are known. Rows of a level with the share `pi` are `1 / sqrt(pi)`
    /// long once they are white; where that is more than `sqrt(2p)` they are clipped far more than
    /// others, and a curvature that is not known precisely overstates theirs.
    pub(super) fn floor_of_known(&self, design: &Design) -> Floor {
        self.floor_for(design, self.level_rows().min(self.rows as f64 / (2.0 * self.features as f64)))
    }

    /// What a column must exceed where a level needs `level_rows` rows.
    pub(super) fn floor_for(&self, design: &Design, level_rows: f64) -> Floor {
        let least = |slot: &Slot| if slot.is_level() { level_rows / self.rows as f64 } else { 0.0 };
        Floor {
            rounding: design.rounding_variances(),
            least: design.slots().iter().map(least).collect(),
            needs: design.margins(),
            first: self.kept_terms(design),
            has_constant: design.has_intercept(),
        }
    }
}

impl Round {
    /// Whether some direction is twice as long, or half as long, as it should be, beyond what noise
    /// makes.
    pub(super) fn is_uneven(&self) -> bool {
        let edge = self.moments.edge();
        eigen(&self.moments.mean).values.iter().any(|value| value - edge > 2.0 || value + edge < 0.5)
    }

    /// `P U e^(-1/2)` for moments `U e U'`, with `e` freed of what noise does to eigenvalues.
    pub(super) fn turned(&self) -> Mat<f64> {
        let found = eigen(&self.moments.mean);
        let values = without_noise(&found.values, self.moments.noise_sd);
        let least = LEAST_SCALE * self.moments.noise_sd;
        let p = values.len();
        &self.matrix * Mat::from_fn(p, p, |j, k| found.vectors[(j, k)] / values[k].max(least).sqrt())
    }
}

/// A change of coordinates, and the second moment of each of them.
pub(super) struct Turn {
    pub matrix: Mat<f64>,
    pub moments: Vec<f64>,
}

/// The second moments by all rounds together, in the coordinates of the last.
pub(super) struct Found {
    pub law: Curvature,
    /// The standardised parameters in those coordinates, one to a column: the inverse of `P` of the
    /// last round.
    pub basis: Mat<f64>,
    /// The noise of its diagonal, on average.
    pub noise_sd: f64,
    /// What a column must exceed.
    pub floor: Floor,
    /// Whether rows are shortened.
    pub shortened: bool,
}

impl Found {
    /// Pools the rounds, each entry weighed by its precision.
    ///
    /// With `P_last = P_k T`, round k says `T' M_k T` in the last coordinates, and the noise of its
    /// entry `ij` has variance `s^2/2 (|u|^2 |v|^2 + (u'v)^2)` for the columns `u`, `v` of `T`.
    pub(super) fn of(rounds: &[Round], floor: Floor) -> Found {
        let last = rounds.last().expect("there was a first round");
        let p = last.matrix.nrows();
        let (mut sum, mut weight) = (Mat::<f64>::zeros(p, p), Mat::<f64>::zeros(p, p));
        // Rows that were shortened further say less of long ones than they should.
        for round in rounds.iter().filter(|round| !round.shortened || round.radius >= last.radius) {
            let turn = inverse(&round.matrix) * &last.matrix;
            let (moments, lengths) = (turn.transpose() * &round.moments.mean * &turn, turn.transpose() * &turn);
            for (j, k) in (0..p).flat_map(|j| (0..p).map(move |k| (j, k))) {
                let spread = lengths[(j, j)] * lengths[(k, k)] + lengths[(j, k)].powi(2);
                let precision = 2.0 / (round.moments.noise_sd.powi(2) * spread).max(f64::MIN_POSITIVE);
                sum[(j, k)] += precision * moments[(j, k)];
                weight[(j, k)] += precision;
            }
        }
        let mean = Mat::from_fn(p, p, |j, k| sum[(j, k)] / weight[(j, k)]);
        let entry_sd = Mat::from_fn(p, p, |j, k| weight[(j, k)].sqrt().recip());
        let noise_sd = ((0..p).map(|j| entry_sd[(j, j)].powi(2)).sum::<f64>() / p as f64).sqrt();
        let (law, basis) = (Curvature::of_entries(mean, entry_sd), inverse(&last.matrix));
        Found { law, basis, noise_sd, floor, shortened: last.shortened }
    }

    /// How far above its noise a column must stand.
    fn least_strength(&self) -> f64 {
        if self.shortened { (0.5 / self.noise_sd).clamp(RESOLVED, MOST_STRENGTH) } else { RESOLVED }
    }

    pub(super) fn resolve(&self) -> Resolved {
        let mut resolved = resolve(&self.law, &self.basis, &self.floor, self.least_strength());
        // A model keeps at least one column, whatever the noise.
        if resolved.kept.is_empty() {
            resolved.kept.push(0);
        }
        resolved
    }

    /// The coordinates that whiten the kept columns.
    ///
    /// With `Q_K = O R` the kept parameters span the orthonormal `O` in the coordinates of the last
    /// round, where noise is the same in every direction, and `R^-1` leads from there to the
    /// parameters.
    pub(super) fn turn(&self, kept: &[usize]) -> Turn {
        let factors = columns(&self.basis, kept).qr();
        let (orthonormal, triangle) = (factors.compute_thin_Q(), factors.thin_R().to_owned());
        let found = eigen(&(orthonormal.transpose() * self.law.mean() * &orthonormal));
        let values = without_noise(&found.values, self.noise_sd);
        let least = if self.shortened { LEAST_FLOOR_SHORTENED } else { LEAST_FLOOR };
        let floor = (LEAST_SCALE * self.noise_sd).clamp(least, 1.0);
        let scales: Vec<f64> = values.iter().map(|value| value.max(floor)).collect();
        let (k, p) = (kept.len(), self.basis.ncols());
        let turn = inverse(&triangle) * Mat::from_fn(k, k, |i, j| found.vectors[(i, j)] / scales[j].sqrt());
        let mut matrix = Mat::zeros(p, k);
        kept.iter().enumerate().for_each(|(i, &row)| (0..k).for_each(|j| matrix[(row, j)] = turn[(i, j)]));
        Turn { matrix, moments: values.iter().zip(&scales).map(|(value, scale)| value.max(0.0) / scale).collect() }
    }

    /// Whitens what is in the model: what is resolved, or everything if only predictions are asked
    /// for.
    pub(super) fn white(self, plan: &Plan, design: &Design) -> White {
        let resolved = &match plan.request.purpose {
            Purpose::Inference => self.resolve(),
            Purpose::Prediction => Resolved { kept: (0..self.basis.ncols()).collect(), pivots: Vec::new() },
        };
        let Turn { matrix, moments } = self.turn(&resolved.kept);
        // A direction that stayed short is a coordinate of its own.
        let is_white = moments.iter().all(|&moment| moment >= 1.0);
        let matrix = if is_white { plan.quickly_made(matrix, &resolved.kept) } else { matrix };
        let left_out = left_out(resolved, &self.law, &self.basis, &self.floor, design);
        let white = White::new(Whitening::new(matrix.as_ref()), resolved.kept.clone());
        White { moments, left_out, found: Some(self), ..white }
    }
}

/// Where rows are weighted and there is a constant: the mean of the weights on the lattice, which
/// is the second moment of the constant.
fn mean_of_weights(rounds: &[Round], design: &Design) -> Option<f64> {
    let is_constant = matches!(design.slots().first(), Some(Slot::Intercept));
    (is_constant && design.weights().is_some()).then(|| rounds[0].moments.mean[(0, 0)].max(0.0))
}

/// The share of rows with these second moments that is longer than this, likewise.
pub(super) fn share_longer_than(moments: &Mat<f64>, unlike: f64, length: f64) -> f64 {
    let (scale, law) = law_of_squares(moments, unlike);
    1.0 - law.cdf(length.powi(2) / scale)
}

/// A length that a share `tail` of rows with these second moments exceeds: their squared length is
/// treated as a multiple of a chi-square with the same mean and variance (Satterthwaite 1946), as
/// it would be for Gaussian rows. Weights that are `unlike`, `E w^2 / (E w)^2`, make its mean
/// square as many times as large.
pub(super) fn length_exceeded_by(moments: &Mat<f64>, unlike: f64, tail: f64) -> f64 {
    let (scale, law) = law_of_squares(moments, unlike);
    (scale * law.inverse_cdf(1.0 - tail.clamp(1e-9, 0.5))).sqrt()
}

/// The multiple, and the chi-square.
fn law_of_squares(moments: &Mat<f64>, unlike: f64) -> (f64, ChiSquared) {
    let p = moments.nrows();
    let trace: f64 = (0..p).map(|j| moments[(j, j)]).sum();
    let square: f64 = (0..p).flat_map(|j| (0..p).map(move |k| (j, k))).map(|at| moments[at].powi(2)).sum();
    let variance = 2.0 * unlike * square + (unlike - 1.0) * trace * trace;
    let freedom = (2.0 * trace * trace / variance.max(f64::MIN_POSITIVE)).max(1.0);
    (trace / freedom, ChiSquared::new(freedom).expect("positive"))
}

pub(super) fn eigen(matrix: &Mat<f64>) -> Eigen {
    Eigen::of(matrix.as_ref()).expect("released moments are finite")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::diagonal;

    /// Seven directions that noise alone sets apart, by a factor of four: both turns treat them as
    /// alike.
    #[test]
    fn directions_are_not_scaled_by_noise() {
        let mean = diagonal(&[0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6]);
        let moments = NoisyMatrix { mean, noise_sd: 0.25 };
        let round = Round { matrix: Mat::identity(7, 7), moments, radius: 4.0, at_edge: false, shortened: false };
        let found = Found::of(std::slice::from_ref(&round), Floor::none(7));
        for turn in [round.turned(), found.turn(&[0, 1, 2, 3, 4, 5, 6]).matrix] {
            let squares = (0..7).map(|k| turn.col(k).squared_norm_l2());
            assert!(squares.clone().all(|square| (0.8..1.25).contains(&square)), "{:?}", squares.collect::<Vec<_>>());
        }
    }
}
