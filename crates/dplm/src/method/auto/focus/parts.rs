//! Which controls can be told apart, which columns of interest can be told from them, and the
//! coordinates of both.

use faer::Mat;

use super::{
    super::{
        Plan,
        left_out::left_out,
        whiten::{Found, RESOLVED, Round, White, eigen},
    },
    Wanted,
    split::clear_of_noise,
};
use crate::{
    interval::{Floor, Pivot, Resolved, resolve},
    lattice::{Design, Whitening},
    matrix::columns,
    warning::{Cause, LeftOut},
};

/// Scores of `n` rows need `phi n sqrt(rho / k)` of this, `phi = (E u^2)^2 / E u^4`: measured where
/// intervals begin to cover.
const ENOUGH: f64 = 130.0;
/// That of a number that fills its bounds, and the most that a level has.
const PHI_OF_NUMBER: f64 = 1.0 / 3.0;

/// The controls and the columns of interest.
pub(in crate::method::auto) struct Parts {
    /// The standardised parameters of interest that can be told from the controls.
    pub wanted: Vec<usize>,
    /// The standard deviation of what is new in each of them, given the controls.
    pub scales: Vec<f64>,
    /// Coordinates of the controls that are in the model, and of all columns that are.
    controls: White,
    pub whole: White,
    /// What is not in the model.
    pub left_out: Vec<LeftOut>,
    /// Whether a length of rows was found at an end of its ladder.
    pub at_edge: bool,
}

impl Parts {
    pub(super) fn of(found: &Found, wanted: &Wanted, plan: &Plan, design: &Design) -> Parts {
        let controls = Controls::of(found, wanted, design).standing_clear();
        let (kept, mut resolved) = (controls.kept.clone(), controls.resolved());
        let k = wanted.parameters.len();
        let (enough, rare): (Vec<usize>, Vec<usize>) =
            wanted.parameters.iter().partition(|&&j| plan.has_enough_for(phi(found, j, design), k));
        let new_in = |&j: &usize| found.new_in(j, &kept).map(|variance| (j, variance.sqrt()));
        let (places, scales): (Vec<usize>, Vec<f64>) = enough.iter().filter_map(new_in).unzip();
        resolved.kept = in_order(&kept, &places);
        let mut left_out = left_out(&resolved, &found.law, &found.basis, &found.floor, design);
        let is_rare = |name: &String| rare.iter().any(|&j| design.names()[j] == *name);
        left_out.iter_mut().filter(|one| is_rare(&one.name)).for_each(|one| one.cause = Cause::RareLevel);
        Parts {
            controls: white(found, &kept),
            whole: white(found, &resolved.kept),
            wanted: places,
            scales,
            left_out,
            at_edge: false,
        }
    }

    /// Where few rows are longer than this in the coordinates of whitening.
    pub(super) fn seen(mut self, radius: f64, at_edge: bool) -> Parts {
        self.controls.radius = radius;
        self.whole.radius = radius;
        Parts { at_edge, ..self }
    }

    /// The standardised parameters of the controls that are in the model.
    pub(super) fn controls(&self) -> Vec<usize> {
        self.controls.coordinates.kept.clone()
    }

    /// The coordinates of the controls, a column of interest being the response, in units of what
    /// is new in it.
    pub(super) fn controls_of(&self, place: usize) -> White {
        let matrix = self.controls.whitening.matrix();
        let mut weights = vec![0.0; matrix.nrows() + 1];
        weights[self.wanted[place]] = 1.0 / self.scales[place];
        let whitening = Whitening::with_response(matrix.as_ref(), &weights);
        let moments = self.controls.moments.clone();
        White { radius: self.controls.radius, moments, ..White::new(whitening, self.controls.coordinates.kept.clone()) }
    }
}

/// Coordinates that whiten these columns.
fn white(found: &Found, kept: &[usize]) -> White {
    let turn = found.turn(kept);
    White { moments: turn.moments, ..White::new(Whitening::new(turn.matrix.as_ref()), kept.to_vec()) }
}

fn in_order(some: &[usize], others: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = some.iter().chain(others).copied().collect();
    all.sort_unstable();
    all
}

/// `(E u^2)^2 / E u^4` of a column, as far as it is known: a level's from the share of rows that
/// have it, each counting by its weight, or of persons by their rows.
fn phi(found: &Found, j: usize, design: &Design) -> f64 {
    if !design.slots()[j].is_level() {
        return PHI_OF_NUMBER;
    }
    let moment = |j: usize| found.law.quadratic(found.basis.col_as_slice(j));
    let all = if design.has_intercept() { moment(0).max(f64::MIN_POSITIVE) } else { 1.0 };
    let share = (moment(j) / all).clamp(0.0, 1.0);
    share * (1.0 - share)
}

impl Plan {
    /// Whether the rows and the budget are enough for scores of `k` columns with such tails.
    fn has_enough_for(&self, phi: f64, k: usize) -> bool {
        phi * self.precision() / (k as f64).sqrt() >= ENOUGH
    }

    /// How many times what is enough for the scores of numbers there is.
    pub(super) fn room_for_scores(&self, k: usize) -> f64 {
        PHI_OF_NUMBER * self.precision() / (k as f64).sqrt() / ENOUGH
    }

    /// The share of another round of whitening, if it is needed.
    pub(in crate::method::auto) fn next_round_for(
        &self,
        wanted: &Wanted,
        rounds: &[Round],
        design: &Design,
    ) -> Option<f64> {
        let found = Found::of(rounds, self.floor_of(rounds, design));
        let controls = Controls::of(&found, wanted, design);
        let radius = rounds.last().expect("there was a first round").radius;
        self.round_for_focus(rounds.len(), radius, controls.weak.is_empty() && controls.stand_clear())
    }
}

/// The controls, those that are kept among them.
struct Controls<'a> {
    found: &'a Found,
    parameters: usize,
    /// All of them, and those kept, in formula order.
    all: Vec<usize>,
    kept: Vec<usize>,
    pivots: Vec<Pivot>,
    /// Those that stand less than clear.
    weak: Vec<usize>,
    needs: Vec<Vec<usize>>,
    has_constant: bool,
}

/// A control that stands less than this far above its noise is worth another round.
const CLEARLY: f64 = 5.0;

impl<'a> Controls<'a> {
    /// Those that the released second moments tell apart, each from the ones before it.
    fn of(found: &'a Found, wanted: &Wanted, design: &Design) -> Controls<'a> {
        let parameters = design.features();
        let all: Vec<usize> = (0..parameters).filter(|j| !wanted.parameters.contains(j)).collect();
        let Resolved { kept, pivots } =
            resolve(&found.law, &columns(&found.basis, &all), &only(&found.floor, &all), RESOLVED);
        let weak = (0..all.len()).filter(|&place| pivots[place].strength < CLEARLY).map(|place| all[place]).collect();
        let kept = kept.into_iter().map(|place| all[place]).collect();
        let (needs, has_constant) = (found.floor.needs.clone(), found.floor.has_constant);
        Controls { found, parameters, all, kept, pivots, weak, needs, has_constant }
    }

    /// Whether every direction of what is kept stands clear of noise.
    fn stand_clear(&self) -> bool {
        let basis = columns(&self.found.basis, &self.kept);
        let orthonormal = basis.qr().compute_thin_Q();
        let moments = orthonormal.transpose() * self.found.law.mean() * &orthonormal;
        let least = eigen(&moments).values.into_iter().fold(f64::INFINITY, f64::min);
        least > clear_of_noise(self.kept.len(), self.found.noise_sd)
    }

    /// The same with the least certain ones left out until all that is kept stands clear.
    fn standing_clear(mut self) -> Controls<'a> {
        while self.kept.len() > 1 && !self.stand_clear() {
            let strength = |j: &usize| {
                let place = self.all.iter().position(|one| one == j).expect("it is a control");
                self.pivots[place].strength
            };
            let free = self.kept.iter().copied().filter(|&j| !(self.has_constant && j == 0));
            let Some(weakest) = free.min_by(|a, b| strength(a).total_cmp(&strength(b))) else { break };
            self.kept.retain(|&j| j != weakest && !self.needs[j].contains(&weakest));
        }
        self
    }

    /// As the resolution of all parameters, of which those of interest are not judged.
    fn resolved(&self) -> Resolved {
        let pivot = |j: usize| self.all.iter().position(|&one| one == j).unwrap_or(0);
        Resolved { kept: self.kept.clone(), pivots: (0..self.parameters).map(|j| self.pivots[pivot(j)]).collect() }
    }
}

/// The floor of some columns; what they need of others is taken to be there.
fn only(floor: &Floor, places: &[usize]) -> Floor {
    let among = |needs: &Vec<usize>| needs.iter().filter_map(|j| places.iter().position(|one| one == j)).collect();
    Floor {
        rounding: places.iter().map(|&j| floor.rounding[j]).collect(),
        least: places.iter().map(|&j| floor.least[j]).collect(),
        needs: places.iter().map(|&j| among(&floor.needs[j])).collect(),
        first: among(&floor.first),
        has_constant: floor.has_constant,
    }
}

impl Found {
    /// The variance of a column given others; `None` if it does not stand clear of its noise.
    pub(super) fn new_in(&self, j: usize, others: &[usize]) -> Option<f64> {
        let places: Vec<usize> = others.iter().copied().chain([j]).collect();
        let floor = Floor { has_constant: false, ..only(&self.floor, &places) };
        let alone = Floor { needs: vec![Vec::new(); places.len()], ..floor };
        let basis: Mat<f64> = columns(&self.basis, &places);
        let found = resolve(&self.law, &basis, &alone, f64::NEG_INFINITY);
        let last = found.pivots.last().expect("a column has a pivot");
        (last.strength >= RESOLVED && found.kept.last() == Some(&(places.len() - 1))).then_some(last.value)
    }
}
