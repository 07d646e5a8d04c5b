//! Iterations that do not touch most rows, and give the same integers.
//!
//! Away from a row's kinks its clipped gradient is linear in `theta`: `X_i r_i` while the row is
//! unclipped, the constant `+-B_i X_i` while it is clipped. Over a region of parameters most rows
//! stay on one side. Their part of the sum is then known from their exact second moments and one
//! constant vector, and only the *undecided* rows are visited.
//!
//! Iterates travel from where they start to the optimum of the clipped loss and then stay about it,
//! at a distance the noise decides. So the first region reaches from the first iterate to the
//! optimum, and smaller ones are nested in it as the iterates draw near: a level looks only at the
//! undecided rows of the level above.
//!
//! Where noise is too large for any region, a coarse copy of the rows may still tell at each
//! iterate which rows are clipped: `coarse.rs`.
//!
//! Regions, and whether to have any, are chosen by a guess at what costs less. The guess may use
//! anything, released or not: the answers do not depend on it.

use faer::{Mat, Side, linalg::solvers::Llt, prelude::Solve};

use super::{
    ExpectedSteps,
    coarse::Coarse,
    held::{Chunks, Held, Piece},
    query::{At, Each, Query, Sum, plus},
    region::{Gather, Region, Sorted, Sorting},
    store::{Costs, Store},
};
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, CELL_SCALE_BITS, Clip, ClippedOuter, Kernel, Lattice, Outer, RowBlock, SecondMoments, Theta,
        UnitClip,
    },
};

/// One row in `SAMPLE_SHARE`, and at least `SAMPLE_LEAST`, are looked at for the first guess.
const SAMPLE_SHARE: u64 = 32;
const SAMPLE_LEAST: u64 = 8192;
/// Steps of the first guess; each leaves at most the clipped share of the distance.
const GUESS_STEPS: usize = 8;
/// Full passes that improve the first guess.
const POLISHES: usize = 2;
/// Screening must promise to save this share of the full passes.
const WORTH: f64 = 0.2;
/// A level that leaves a larger share of the rows undecided was hardly worth building: the next
/// waits longer.
const SHRINKS: f64 = 0.7;
/// While iterates travel they stray from the segment by more than they will from its end.
const TRAVEL: f64 = 1.25;
/// What a step over a coarse copy costs, in passes: a quarter of the bytes, and arithmetic; and
/// what making the copy costs.
const COARSE_PASS: f64 = 0.35;
const COARSE_SORT: f64 = 3.0;
/// One row in this number may have cells that do not fit a byte.
const COARSE_WITHOUT: usize = 512;
/// If more than one row in this many is shrunk, all are visited.
const MOST_LONG: u64 = 8;
/// A part of the curvature that is far below anything that matters.
const RIDGE: f64 = 1e-9;

/// Answers gradients from what is known of the rows.
pub(super) struct Screen {
    /// How many units there are, and how many rows a pass visits.
    count: u64,
    rows: u64,
    kernel: Kernel,
    clip: Clip,
    forecast: ExpectedSteps,
    asked: u32,
    /// The arithmetic everything below is in.
    lattice: Option<Lattice>,
    strategy: Strategy,
    levels: Vec<Level>,
    /// Rows visited at no level, since a level was last built there.
    spent: u64,
    visited: u64,
}

enum Strategy {
    NotChosen,
    FullPasses,
    Screened(Guess),
    Coarse(Coarse),
}

/// Where iterates will stay.
struct Guess {
    /// The optimum, nearly, in standardised units.
    centre: Vec<f64>,
    /// The curvature there, nearly.
    curvature: Llt<f64>,
    /// How far from it iterates will be, in lattice units.
    radius: f64,
    /// What share of its distance from the optimum a polish leaves, as the curvature is that of a
    /// sample and so not exact.
    left: f64,
    /// Grows when levels turn out not to pay.
    patience: f64,
}

impl Screen {
    pub(super) fn new((count, rows): (u64, u64), kernel: Kernel, clip: Clip, forecast: ExpectedSteps) -> Screen {
        let strategy = Strategy::NotChosen;
        Screen {
            count,
            rows,
            kernel,
            clip,
            forecast,
            asked: 0,
            lattice: None,
            strategy,
            levels: Vec::new(),
            spent: 0,
            visited: 0,
        }
    }

    /// Another run over the same rows with the same clip.
    pub(super) fn expect(&mut self, forecast: ExpectedSteps) {
        self.forecast = forecast;
        self.asked = 0;
        if matches!(self.strategy, Strategy::FullPasses) {
            self.strategy = Strategy::NotChosen;
        }
    }

    pub(super) fn visited(&self) -> u64 {
        self.visited
    }

    /// The negative gradient sum at `theta`: the same integers as a full pass.
    pub(super) fn negative_gradient_sum(
        &mut self,
        store: &dyn Store,
        theta: &Theta,
        lattice: &Lattice,
    ) -> Result<Vec<i128>, Error> {
        if self.lattice != Some(*lattice) {
            let anew = Screen::new((self.count, self.rows), self.kernel, self.clip, self.forecast);
            *self = Screen { lattice: Some(*lattice), ..anew };
        }
        if matches!(self.strategy, Strategy::NotChosen) {
            self.strategy = self.decide(store, theta, lattice)?;
        }
        self.asked = self.asked.saturating_add(1);
        if matches!(self.strategy, Strategy::Screened(_)) {
            self.widen_after_near_miss(theta);
            if self.should_build(self.depth(theta), store.costs()) {
                self.build(store, theta, lattice)?;
            }
        }
        if let (Strategy::Coarse(coarse), Some(rows)) = (&self.strategy, store.in_memory()) {
            let (sum, visited) = coarse.negative_gradient_sum(rows.open(), self.kernel, (theta, lattice));
            self.visited += visited;
            return Ok(sum);
        }
        self.sum_at(store, self.depth(theta), theta, lattice)
    }

    /// `sum_i x_i x_i'` over rows that are not clipped at `theta`, shrunk to norm at most `radius`:
    /// the same integers as a full pass, where a region holds `theta` and few rows are shrunk.
    ///
    /// Rows that are surely unclipped are in the moments of the region, the undecided ones are
    /// visited. Both count as if none were shrunk, and what shrinking changes is worked out from
    /// the long rows alone.
    pub(super) fn unclipped_outer_sum(
        &self,
        rows: &Chunks,
        (theta, theta_unit): (&Theta, f64),
        radius: u64,
    ) -> Result<Option<SecondMoments>, Error> {
        let Some(level) = self.depth(theta).checked_sub(1).map(|index| &self.levels[index]) else { return Ok(None) };
        if self.lattice.is_none_or(|lattice| lattice.theta_unit() != theta_unit) {
            return Ok(None);
        }
        let long = self.longer_than(radius, rows)?;
        if long.count() > self.rows / MOST_LONG {
            return Ok(None);
        }
        let features = rows.features;
        let over = |rows: &Chunks, radius: u64| {
            let outer = ClippedOuter::Unclipped { theta, theta_unit, radius };
            let query = Query { sum: Sum::ClippedOuter(&outer, &self.clip), features, kernel: self.kernel };
            Ok::<_, Error>(SecondMoments::from_upper(features, query.over(rows)?))
        };
        let whole = level.known.unclipped.leading(features).plus(&over(&level.known.rows, u64::MAX)?);
        Ok(Some(whole.minus(&over(&long, u64::MAX)?).plus(&over(&long, radius)?)))
    }

    /// The rows of a larger norm.
    fn longer_than(&self, radius: u64, rows: &Chunks) -> Result<Chunks, Error> {
        // Squared norms are whole numbers below 2^52.
        let (most, features) = ((radius.min(1 << 26) as f64).powi(2), rows.features);
        let parts = rows.fold(
            || Gather::new(self.kernel, features),
            |mut long, piece| {
                let norms = piece.norms_sq(self.kernel, features);
                for ((block, bounds), norms) in piece.blocks(features).zip(norms.as_chunks::<BLOCK_ROWS>().0) {
                    long.add(
                        block,
                        bounds,
                        (0..BLOCK_ROWS).fold(0, |lanes, row| lanes | u32::from(norms[row] > most) << row),
                    );
                }
                long
            },
        )?;
        Ok(Chunks { features, chunks: parts.into_iter().flat_map(|part| part.chunks).collect() })
    }

    /// How many nested levels hold `theta`.
    fn depth(&self, theta: &Theta) -> usize {
        self.levels.iter().take_while(|level| level.region.holds(theta)).count()
    }

    /// The negative gradient sum from the rows of one level.
    fn sum_at(
        &mut self,
        store: &dyn Store,
        depth: usize,
        theta: &Theta,
        lattice: &Lattice,
    ) -> Result<Vec<i128>, Error> {
        let rows = self.rows_at(depth);
        self.visited += rows;
        match depth.checked_sub(1) {
            None => {
                self.spent += rows;
                store.sum(&gradient(self.kernel, &self.clip, (theta, lattice)))
            }
            Some(index) => {
                self.levels[index].spent += rows;
                let at = (theta, lattice);
                self.levels[index].negative_gradient_sum(&gradient(self.kernel, &self.clip, at), at)
            }
        }
    }

    fn rows_at(&self, depth: usize) -> u64 {
        depth.checked_sub(1).map_or(self.rows, |index| self.levels[index].known.undecided)
    }

    /// What the moments of a row cost, in visits.
    fn gram_cost(features: usize) -> f64 {
        3.0 + features as f64 / 12.0
    }

    /// A level is built when visits have cost as much as building it will; so at most twice the
    /// least is paid.
    fn should_build(&self, depth: usize, of_store: Costs) -> bool {
        let Strategy::Screened(guess) = &self.strategy else { return false };
        let rows = self.rows_at(depth) as f64;
        let costs = if depth == 0 { of_store } else { Costs::HELD };
        let spent = depth.checked_sub(1).map_or(self.spent, |index| self.levels[index].spent) as f64;
        let first = depth == 0 && self.levels.is_empty() && guess.patience == 1.0;
        let price = rows * guess.patience * (costs.sort + Screen::gram_cost(guess.centre.len()) / 8.0);
        let left = f64::from(self.forecast.steps.saturating_sub(self.asked)) * rows * costs.pass;
        rows > BLOCK_ROWS as f64 && left > price && (first || spent * costs.pass >= price)
    }

    /// Iterates that leave a region by little were farther out than the noise promised: later
    /// regions are wider.
    fn widen_after_near_miss(&mut self, theta: &Theta) {
        let missed = self.levels.get(self.depth(theta)).map(|level| level.region.distance(theta));
        if let (Some(distance), Strategy::Screened(guess)) = (missed, &mut self.strategy)
            && distance < 3.0 * guess.radius
        {
            guess.radius = guess.radius.max(1.2 * distance);
        }
    }

    /// Builds a level for iterates between `theta` and the centre, from the undecided rows of the
    /// deepest level that holds `theta`.
    fn build(&mut self, store: &dyn Store, theta: &Theta, lattice: &Lattice) -> Result<(), Error> {
        let depth = self.depth(theta);
        self.levels.truncate(depth);
        self.polish(store, lattice)?;
        let Strategy::Screened(guess) = &self.strategy else { return Ok(()) };
        let centre = lattice.theta(&guess.centre);
        let stay = Region::new(centre.clone(), centre, guess.radius, &self.clip);
        let region = if stay.distance(theta) > TRAVEL * guess.radius {
            Region::new(theta.clone(), stay.to, TRAVEL * guess.radius, &self.clip)
        } else {
            stay
        };
        let rows = self.rows_at(depth);
        let most_rows = store.spare() / (lattice.features() + 2) as u64 / size_of::<f32>() as u64;
        let sorting = Sorting { region: &region, kernel: self.kernel, clip: &self.clip, lattice, most_rows };
        let known = match self.levels.last() {
            Some(level) => sorting.over(&level.known.rows)?,
            None => store.sorted(&sorting)?.open(),
        };
        if known.is_partial {
            self.strategy = Strategy::FullPasses;
            return Ok(());
        }
        let built = Level { region, known, spent: 0 };
        let built = self.levels.last().into_iter().fold(built, Level::below);
        self.visited += 2 * rows;
        let pays = built.known.undecided as f64 <= SHRINKS * rows as f64;
        match self.levels.last_mut() {
            Some(level) => level.spent = 0,
            None => self.spent = 0,
        }
        if let Strategy::Screened(guess) = &mut self.strategy {
            guess.patience = if pays { 1.0 } else { 2.0 * guess.patience };
        }
        if built.known.undecided < rows {
            self.levels.push(built);
        }
        Ok(())
    }

    /// Moves the centre nearer to the optimum, while that is worth a visit.
    fn polish(&mut self, store: &dyn Store, lattice: &Lattice) -> Result<(), Error> {
        let depth = self.levels.len();
        for _ in 0..if depth == 0 { POLISHES } else { 1 } {
            let Strategy::Screened(guess) = &self.strategy else { break };
            let centre = lattice.theta(&guess.centre);
            if self.depth(&centre) < depth {
                break;
            }
            let sum = self.sum_at(store, depth, &centre, lattice)?;
            let Strategy::Screened(guess) = &mut self.strategy else { break };
            let step = newton_step(&guess.curvature, &sum, self.count, lattice);
            guess.centre.iter_mut().zip(&step).for_each(|(centre, step)| *centre += step);
            if norm(&step) * guess.left * lattice.theta_unit() < guess.radius / 4.0 {
                break;
            }
        }
        Ok(())
    }

    /// Looks at a sample of the rows and judges what screening would cost.
    fn decide(&self, store: &dyn Store, theta: &Theta, lattice: &Lattice) -> Result<Strategy, Error> {
        let features = lattice.features();
        let steps = f64::from(self.forecast.steps);
        let costs = store.costs();
        let least = POLISHES as f64 * costs.pass + costs.sort + Screen::gram_cost(features) / 4.0;
        if self.rows < costs.fewest_rows || least > (1.0 - WORTH) * steps * costs.pass {
            return Ok(Strategy::FullPasses);
        }
        let rows = (self.rows / SAMPLE_SHARE).max(SAMPLE_LEAST).max(16 * features as u64).min(self.rows);
        let sample =
            Sample { rows: store.sample(rows as usize)?.open(), kernel: self.kernel, clip: self.clip, lattice };
        let Some(guess) = sample.guess(theta, &self.forecast)? else { return Ok(Strategy::FullPasses) };
        let centre = lattice.theta(&guess.centre);
        let travel = sample.sorted(&Region::new(theta.clone(), centre.clone(), guess.radius, &self.clip))?;
        let stay = sample.sorted(&Region::new(centre.clone(), centre, guess.radius, &self.clip))?;
        let bytes = (self.rows as f64 * travel.undecided * (features + 2) as f64) * size_of::<f32>() as f64;
        if bytes > store.spare() as f64 {
            return Ok(Strategy::FullPasses);
        }
        let cost = POLISHES as f64 * costs.pass
            + costs.sort
            + Screen::gram_cost(features) * stay.unclipped
            + (Costs::HELD.sort + Screen::gram_cost(features) / 8.0) * 2.0 * travel.undecided
            + steps * stay.undecided;
        // Rows elsewhere have no coarse copy here, and are screened wherever that pays.
        let coarse = store.in_memory().map_or(Ok(f64::INFINITY), |_| sample.coarse_cost(&guess, steps))?;
        match store.in_memory() {
            _ if cost < coarse.min((1.0 - WORTH) * steps * costs.pass) => Ok(Strategy::Screened(guess)),
            Some(rows) if coarse < (1.0 - WORTH) * steps * costs.pass => {
                let centre = lattice.theta(&guess.centre);
                Ok(Strategy::Coarse(Coarse::new(rows.open(), self.kernel, centre, lattice, sample.largest_cell())?))
            }
            _ => Ok(Strategy::FullPasses),
        }
    }
}

/// The negative gradient sum at these parameters.
fn gradient<'a>(kernel: Kernel, clip: &'a Clip, at: At<'a>) -> Query<'a> {
    Query { sum: Sum::Each(Each::Gradient, at, clip), features: at.1.features(), kernel }
}

/// A few rows, and what they let one guess of all.
struct Sample<'a> {
    rows: Chunks,
    kernel: Kernel,
    clip: Clip,
    lattice: &'a Lattice,
}

/// Shares of the rows that are visited.
struct Shares {
    unclipped: f64,
    undecided: f64,
}

impl Sample<'_> {
    /// How many units there are: each has a bound, or a reach.
    fn count(&self) -> u64 {
        self.rows.chunks.iter().map(|chunk| chunk.bounds.len() as u64).sum()
    }

    /// The optimum on the sample, by steps that majorise the loss: `theta + (X'X)^-1 sum`, the sum
    /// being the negative gradient's.
    fn guess(&self, start: &Theta, forecast: &ExpectedSteps) -> Result<Option<Guess>, Error> {
        let Some((all, _)) = self.curvature(Sum::Outer(&Outer::Shrunk { radius: 1 << 62 }))? else { return Ok(None) };
        let features = self.lattice.features();
        let mut centre = self.lattice.standardised(start);
        for _ in 0..GUESS_STEPS {
            let theta = self.lattice.theta(&centre);
            let sum = gradient(self.kernel, &self.clip, (&theta, self.lattice)).over(&self.rows)?;
            let step = newton_step(&all, &sum, self.count(), self.lattice);
            centre.iter_mut().zip(step).for_each(|(centre, step)| *centre += step);
        }
        let theta = self.lattice.theta(&centre);
        let unclipped =
            ClippedOuter::Unclipped { theta: &theta, theta_unit: self.lattice.theta_unit(), radius: 1 << 62 };
        let Some((curvature, slope)) = self.curvature(Sum::ClippedOuter(&unclipped, &self.clip))? else {
            return Ok(None);
        };
        let radius = noise_radius(forecast, slope, self.lattice);
        let left = (features as f64 / self.count() as f64).sqrt();
        Ok(radius.map(|radius| Guess { centre, curvature, radius, left, patience: 1.0 }))
    }

    /// A mean of outer products in standardised units, factored, and the mean of its diagonal.
    fn curvature(&self, sum: Sum<'_>) -> Result<Option<(Llt<f64>, f64)>, Error> {
        let features = self.lattice.features();
        let query = Query { sum, features, kernel: self.kernel };
        let sums = SecondMoments::from_upper(features, query.over(&self.rows)?);
        let unit = f64::from(2 * CELL_SCALE_BITS).exp2() * self.count() as f64;
        let slope = (0..features).map(|j| sums.entry(j, j) as f64 / unit).sum::<f64>() / features as f64;
        // A ridge far below anything that matters lets a constant or repeated column pass.
        let ridge = |i, j| if i == j { slope * RIDGE } else { 0.0 };
        let mean = Mat::from_fn(features, features, |i, j| sums.entry(i, j) as f64 / unit + ridge(i, j));
        Ok(mean.llt(Side::Lower).ok().filter(|_| slope > 0.0).map(|factor| (factor, slope)))
    }

    /// What steps over a coarse copy would cost: making it, its second moments, and for each step a
    /// part of a pass and two for each block with undecided rows. An iterate is a distance from the
    /// centre that the noise decides, in any direction: it moves a residual by three deviations of
    /// what that makes of the row's length, or less.
    fn coarse_cost(&self, guess: &Guess, steps: f64) -> Result<f64, Error> {
        let features = self.lattice.features();
        let reach = 3.0 * guess.radius / (features as f64).sqrt();
        let centre = self.lattice.theta(&guess.centre);
        let region = Region::new(centre.clone(), centre, reach, &self.clip);
        let undecided = 1.0 - self.sorted(&region)?.unclipped;
        let blocks = 1.0 - (1.0 - undecided).powi(BLOCK_ROWS as i32);
        Ok(COARSE_SORT + Screen::gram_cost(features) + steps * (COARSE_PASS + 2.0 * blocks))
    }

    /// The largest size of a cell in all rows but a few: those with larger cells are told apart by
    /// a coarse copy less well.
    fn largest_cell(&self) -> f64 {
        let mut largest: Vec<f32> = Vec::new();
        for block in self.rows.chunks.iter().flat_map(|chunk| RowBlock::all(&chunk.cells, self.lattice.features())) {
            let most = |mut most: [f32; BLOCK_ROWS], column: &[f32; BLOCK_ROWS]| {
                most.iter_mut().zip(column).for_each(|(most, cell)| *most = most.max(cell.abs()));
                most
            };
            largest.extend(block.columns().fold([0.0; BLOCK_ROWS], most));
        }
        let place = largest.len().saturating_sub(1 + largest.len() / COARSE_WITHOUT);
        if largest.is_empty() { 0.0 } else { f64::from(*largest.select_nth_unstable_by(place, f32::total_cmp).1) }
    }

    fn sorted(&self, region: &Region) -> Result<Shares, Error> {
        let parts = self.rows.fold(
            || (0, 0),
            |(mut unclipped, mut undecided), piece| {
                for (rows, of_unclipped, of_undecided) in self.sorted_units(region, piece) {
                    unclipped += rows * u64::from(of_unclipped.count_ones());
                    undecided += rows * u64::from(of_undecided.count_ones());
                }
                (unclipped, undecided)
            },
        )?;
        let share = |rows: u64| rows as f64 / self.rows.rows() as f64;
        let (unclipped, undecided) = parts.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        Ok(Shares { unclipped: share(unclipped), undecided: share(undecided) })
    }

    /// For each block or group of a piece, how many rows a unit has, and which units are surely
    /// unclipped and which undecided.
    fn sorted_units(&self, region: &Region, piece: Piece<'_>) -> Vec<(u64, u32, u32)> {
        let (features, clip) = (self.lattice.features(), UnitClip::new(&self.clip));
        if piece.is_grouped() {
            let sorted = piece.groups(features).map(|group| {
                let (unclipped, undecided) = region.sort_persons(self.kernel, group, &clip, self.lattice);
                (group.0.depth() as u64, unclipped, undecided)
            });
            return sorted.collect();
        }
        let sorted = piece.blocks(features).map(|(block, bounds)| {
            let marks = region.sort(self.kernel, block, bounds, self.lattice);
            (1, marks.unclipped, marks.undecided)
        });
        sorted.collect()
    }
}

/// How far noise keeps iterates from the optimum, in lattice units: the stationary distribution of
/// `theta <- theta - eta (h theta + lambda z)`, and three deviations of its length. None when the
/// steps do not contract.
fn noise_radius(forecast: &ExpectedSteps, slope: f64, lattice: &Lattice) -> Option<f64> {
    let features = lattice.features() as f64;
    let ExpectedSteps { step_size, noise_sd, .. } = *forecast;
    let kept = 1.0 - step_size * slope;
    let variance = (step_size * noise_sd).powi(2) / (1.0 - kept * kept);
    let far = 1.0 + 3.0 / (2.0 * features).sqrt();
    let radius = (features * variance).sqrt() * far * lattice.theta_unit() + features.sqrt();
    (kept.abs() < 1.0 && radius.is_finite()).then_some(radius)
}

/// The Newton step from a point where the negative gradient sum over `count` rows is `sum`, in
/// standardised units.
fn newton_step(curvature: &Llt<f64>, sum: &[i128], count: u64, lattice: &Lattice) -> Vec<f64> {
    let unit = lattice.gradient_unit() * count as f64;
    let step = curvature.solve(&Mat::from_fn(sum.len(), 1, |i, _| sum[i] as f64 / unit));
    (0..sum.len()).map(|i| step[(i, 0)]).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// What is known of the rows over a region, and what it was used for.
struct Level {
    region: Region,
    known: Sorted,
    /// Rows visited here since a level was last built below.
    spent: u64,
}

impl Level {
    /// Adds what the level above knows of the rows that are decided there.
    fn below(mut self, above: &Level) -> Level {
        self.known.add_decided(&above.known.unclipped, above.known.clipped.clone());
        self
    }

    fn negative_gradient_sum(&self, query: &Query<'_>, at: At<'_>) -> Result<Vec<i128>, Error> {
        let undecided = query.over(&self.known.rows)?;
        Ok(plus(plus(undecided, self.known.unclipped.negative_gradient_sum(at.0, at.1)), self.known.clipped.clone()))
    }
}
