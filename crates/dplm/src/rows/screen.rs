//! Iterations that do not touch most rows, and give the same integers.
//!
//! Away from a row's kinks its clipped gradient is linear in `theta`: `X_i r_i` while the row is unclipped, the constant `+-B_i X_i` while it is
//! clipped. Over a region of parameters most rows stay on one side. Their part of the sum is then known from their exact second
//! moments and one constant vector, and only the *undecided* rows are visited.
//!
//! A region is everything within a radius `D` of the segment between two points `a` and `b`. For a point of it, `r_i` is within
//! `||X_i|| D` of a number between `r_i(a)` and `r_i(b)`, and `||X_i|| <= gamma / B_i` by [`Clip::bound`]. So a row is surely
//!
//! - unclipped when `(B_i - max(|r_i(a)|, |r_i(b)|)) B_i >= gamma D`,
//! - clipped upwards when `(min(r_i(a), r_i(b)) - B_i) B_i >= gamma D`, and downwards likewise.
//!
//! Iterates travel from where they start to the optimum of the clipped loss and then stay about it, at a distance the noise decides. So the
//! first region reaches from the first iterate to the optimum, and smaller ones are nested in it as the iterates draw near: a level looks
//! only at the undecided rows of the level above.
//!
//! Regions, and whether to have any, are chosen by a guess at what costs less. The guess may use anything, released or not: the answers do
//! not depend on it. Comparisons are rounded so that an undecided row is visited.

use std::sync::atomic::{AtomicU64, Ordering};

use faer::{Mat, Side, linalg::solvers::Llt, prelude::Solve};

use super::{
    Forecast,
    engine::{full_sum, plus},
    store::{CHUNK_BLOCKS, Chunk, Chunks, Store},
};
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, CELL_SCALE_BITS, COMPRESSED, Clip, GramSum, Kernel, Lattice, Moments, Outer, RowBlock, Theta,
        WeightedSum, compressed, residuals,
    },
};

/// With fewer rows a full pass costs nothing.
const FEWEST_ROWS: u64 = 4096;
/// A share of the rows, and at least so many, are looked at for the first guess.
const SAMPLE_SHARE: u64 = 32;
const SAMPLE_LEAST: u64 = 8192;
/// Steps of the first guess; each leaves at most the clipped share of the distance.
const GUESS_STEPS: usize = 8;
/// Full passes that improve the first guess.
const POLISHES: usize = 2;
/// What a level costs to build, in visits of its source: residuals at two points, a polish, and moving rows.
const BUILD_COST: f64 = 3.5;
/// Screening must promise to save this share of the full passes.
const WORTH: f64 = 0.2;
/// A level that leaves a larger share of the rows undecided was hardly worth building: the next waits longer.
const SHRINKS: f64 = 0.7;
/// While iterates travel they stray from the segment by more than they will from its end.
const TRAVEL: f64 = 1.25;
/// Room for rounding in comparisons; far more than `f64` needs.
const SLACK: f64 = 1e-9;

/// Answers gradients from what is known of the rows.
pub(super) struct Screen {
    count: u64,
    kernel: Kernel,
    clip: Clip,
    forecast: Forecast,
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
}

/// Where iterates will stay.
struct Guess {
    /// The optimum, nearly, in standardised units.
    centre: Vec<f64>,
    /// The curvature there, nearly.
    curvature: Llt<f64>,
    /// How far from it iterates will be, in lattice units.
    radius: f64,
    /// What share of its distance from the optimum a polish leaves: the curvature is that of a sample, and off by so much.
    left: f64,
    /// Grows when levels turn out not to pay.
    patience: f64,
}

impl Screen {
    pub(super) fn new(count: u64, kernel: Kernel, clip: Clip, forecast: Forecast) -> Screen {
        let strategy = Strategy::NotChosen;
        Screen {
            count,
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
    pub(super) fn expect(&mut self, forecast: Forecast) {
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
    pub(super) fn negative_gradient_sum<S: Store>(
        &mut self,
        store: &S,
        theta: &Theta,
        lattice: &Lattice,
    ) -> Result<Vec<i128>, Error> {
        if self.lattice != Some(*lattice) {
            *self =
                Screen { lattice: Some(*lattice), ..Screen::new(self.count, self.kernel, self.clip, self.forecast) };
        }
        if matches!(self.strategy, Strategy::NotChosen) {
            self.strategy = self.decide(store, theta, lattice)?;
        }
        self.asked = self.asked.saturating_add(1);
        if matches!(self.strategy, Strategy::Screened(_)) {
            self.widen_after_near_miss(theta);
            if self.should_build(self.depth(theta)) {
                self.build(store, theta, lattice)?;
            }
        }
        self.sum_at(store, self.depth(theta), theta, lattice)
    }

    /// How many nested levels hold `theta`.
    fn depth(&self, theta: &Theta) -> usize {
        self.levels.iter().take_while(|level| level.region.holds(theta)).count()
    }

    /// The negative gradient sum from the rows of one level.
    fn sum_at<S: Store>(
        &mut self,
        store: &S,
        depth: usize,
        theta: &Theta,
        lattice: &Lattice,
    ) -> Result<Vec<i128>, Error> {
        let rows = self.rows_at(depth);
        self.visited += rows;
        match depth.checked_sub(1) {
            None => {
                self.spent += rows;
                full_sum(store, self.kernel, &self.clip, theta, lattice)
            }
            Some(index) => {
                self.levels[index].spent += rows;
                self.levels[index].negative_gradient_sum(self.kernel, &self.clip, theta, lattice)
            }
        }
    }

    fn rows_at(&self, depth: usize) -> u64 {
        depth.checked_sub(1).map_or(self.count, |index| self.levels[index].undecided)
    }

    /// What the moments of a row cost, in visits.
    fn gram_cost(features: usize) -> f64 {
        3.0 + features as f64 / 12.0
    }

    /// A level is built when visits have cost as much as building it will; so at most twice the least is paid.
    fn should_build(&self, depth: usize) -> bool {
        let Strategy::Screened(guess) = &self.strategy else { return false };
        let rows = self.rows_at(depth) as f64;
        let spent = depth.checked_sub(1).map_or(self.spent, |index| self.levels[index].spent) as f64;
        let first = depth == 0 && self.levels.is_empty() && guess.patience == 1.0;
        let price = rows * guess.patience * (BUILD_COST + Screen::gram_cost(guess.centre.len()) / 8.0);
        let left = f64::from(self.forecast.steps.saturating_sub(self.asked)) * rows;
        rows > BLOCK_ROWS as f64 && left > price && (first || spent >= price)
    }

    /// Iterates that leave a region by little were farther out than the noise promised: later regions are wider.
    fn widen_after_near_miss(&mut self, theta: &Theta) {
        let missed = self.levels.get(self.depth(theta)).map(|level| level.region.distance(theta));
        if let (Some(distance), Strategy::Screened(guess)) = (missed, &mut self.strategy)
            && distance < 3.0 * guess.radius
        {
            guess.radius = guess.radius.max(1.2 * distance);
        }
    }

    /// Builds a level for iterates between `theta` and the centre, from the undecided rows of the deepest level that holds `theta`.
    fn build<S: Store>(&mut self, store: &S, theta: &Theta, lattice: &Lattice) -> Result<(), Error> {
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
        let (rows, level) = (self.rows_at(depth), self.levels.last());
        let spare = store.spare();
        let built = match level {
            Some(level) => Level::build(&level.rows, region, self.kernel, &self.clip, lattice, spare)?.below(level),
            None => Level::build(store, region, self.kernel, &self.clip, lattice, spare)?,
        };
        if built.is_partial {
            self.strategy = Strategy::FullPasses;
            return Ok(());
        }
        self.visited += 2 * rows;
        let pays = built.undecided as f64 <= SHRINKS * rows as f64;
        match self.levels.last_mut() {
            Some(level) => level.spent = 0,
            None => self.spent = 0,
        }
        if let Strategy::Screened(guess) = &mut self.strategy {
            guess.patience = if pays { 1.0 } else { 2.0 * guess.patience };
        }
        if built.undecided < rows {
            self.levels.push(built);
        }
        Ok(())
    }

    /// Moves the centre nearer to the optimum, while that is worth a visit.
    fn polish<S: Store>(&mut self, store: &S, lattice: &Lattice) -> Result<(), Error> {
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
    fn decide<S: Store>(&self, store: &S, theta: &Theta, lattice: &Lattice) -> Result<Strategy, Error> {
        let features = lattice.features();
        let steps = f64::from(self.forecast.steps);
        let least = POLISHES as f64 + BUILD_COST + Screen::gram_cost(features) / 4.0;
        if self.count < FEWEST_ROWS || least > (1.0 - WORTH) * steps {
            return Ok(Strategy::FullPasses);
        }
        let rows = (self.count / SAMPLE_SHARE).max(SAMPLE_LEAST).max(16 * features as u64).min(self.count);
        let sample = Sample { rows: store.sample(rows as usize)?, kernel: self.kernel, clip: self.clip, lattice };
        let Some(guess) = sample.guess(theta, &self.forecast)? else { return Ok(Strategy::FullPasses) };
        let centre = lattice.theta(&guess.centre);
        let travel = sample.sorted(&Region::new(theta.clone(), centre.clone(), guess.radius, &self.clip))?;
        let stay = sample.sorted(&Region::new(centre.clone(), centre, guess.radius, &self.clip))?;
        let bytes = (self.count as f64 * travel.undecided * (features + 2) as f64) * size_of::<f32>() as f64;
        if bytes > store.spare() as f64 {
            return Ok(Strategy::FullPasses);
        }
        let cost = POLISHES as f64
            + BUILD_COST
            + Screen::gram_cost(features) * stay.unclipped
            + (BUILD_COST + Screen::gram_cost(features) / 8.0) * 2.0 * travel.undecided
            + steps * stay.undecided;
        Ok(if cost < (1.0 - WORTH) * steps { Strategy::Screened(guess) } else { Strategy::FullPasses })
    }
}

/// A few rows, and what they let one guess of all.
struct Sample<'a> {
    rows: Chunks,
    kernel: Kernel,
    clip: Clip,
    lattice: &'a Lattice,
}

/// Shares of the rows.
struct Shares {
    unclipped: f64,
    undecided: f64,
}

impl Sample<'_> {
    fn count(&self) -> u64 {
        self.rows.chunks.iter().map(|chunk| chunk.bounds.len() as u64).sum()
    }

    /// The optimum on the sample, by steps that majorise the loss: `theta + (X'X)^-1 sum`, the sum being the negative gradient's.
    fn guess(&self, start: &Theta, forecast: &Forecast) -> Result<Option<Guess>, Error> {
        let Some((all, _)) = self.curvature(&Outer::Shrunk { radius: 1 << 62 })? else { return Ok(None) };
        let features = self.lattice.features();
        let mut centre = self.lattice.standardised(start);
        for _ in 0..GUESS_STEPS {
            let sum = full_sum(&self.rows, self.kernel, &self.clip, &self.lattice.theta(&centre), self.lattice)?;
            let step = newton_step(&all, &sum, self.count(), self.lattice);
            centre.iter_mut().zip(step).for_each(|(centre, step)| *centre += step);
        }
        let theta = self.lattice.theta(&centre);
        let unclipped = Outer::Unclipped { theta: &theta, theta_unit: self.lattice.theta_unit(), radius: 1 << 62 };
        let Some((curvature, slope)) = self.curvature(&unclipped)? else { return Ok(None) };
        let radius = noise_radius(forecast, slope, self.lattice);
        let left = (features as f64 / self.count() as f64).sqrt();
        Ok(radius.map(|radius| Guess { centre, curvature, radius, left, patience: 1.0 }))
    }

    /// A mean of outer products in standardised units, factored, and the mean of its diagonal.
    fn curvature(&self, outer: &Outer<'_>) -> Result<Option<(Llt<f64>, f64)>, Error> {
        let features = self.lattice.features();
        let parts = self.rows.fold(
            || GramSum::new(self.kernel, features),
            |mut sum, piece| {
                outer.add_to(&mut sum, self.kernel, piece.cells, (Some(&self.clip), piece.bounds), features);
                sum
            },
        )?;
        let sums = parts.into_iter().map(GramSum::finish).fold(Moments::empty(features), |a, b| a.plus(&b));
        let unit = f64::from(2 * CELL_SCALE_BITS).exp2() * self.count() as f64;
        let slope = (0..features).map(|j| sums.entry(j, j) as f64 / unit).sum::<f64>() / features as f64;
        // A ridge far below anything that matters lets a constant or repeated column pass.
        let ridge = |i, j| if i == j { slope * SLACK } else { 0.0 };
        let mean = Mat::from_fn(features, features, |i, j| sums.entry(i, j) as f64 / unit + ridge(i, j));
        Ok(mean.llt(Side::Lower).ok().filter(|_| slope > 0.0).map(|factor| (factor, slope)))
    }

    fn sorted(&self, region: &Region) -> Result<Shares, Error> {
        let parts = self.rows.fold(
            || (0, 0),
            |(mut unclipped, mut undecided), piece| {
                for (block, bounds) in piece.blocks(self.lattice.features()) {
                    let sorted = region.sort(self.kernel, block, bounds, self.lattice);
                    unclipped += sorted.unclipped.count_ones();
                    undecided += sorted.undecided.count_ones();
                }
                (unclipped, undecided)
            },
        )?;
        let share = |count: u32| f64::from(count) / self.count() as f64;
        let (unclipped, undecided) = parts.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        Ok(Shares { unclipped: share(unclipped), undecided: share(undecided) })
    }
}

/// How far noise keeps iterates from the optimum, in lattice units: the stationary law of `theta <- theta - eta (h theta + lambda z)`, and three
/// deviations of its length. None when the steps do not contract.
fn noise_radius(forecast: &Forecast, slope: f64, lattice: &Lattice) -> Option<f64> {
    let features = lattice.features() as f64;
    let Forecast { step_size, noise_sd, .. } = *forecast;
    let kept = 1.0 - step_size * slope;
    let variance = (step_size * noise_sd).powi(2) / (1.0 - kept * kept);
    let far = 1.0 + 3.0 / (2.0 * features).sqrt();
    let radius = (features * variance).sqrt() * far * lattice.theta_unit() + features.sqrt();
    (kept.abs() < 1.0 && radius.is_finite()).then_some(radius)
}

/// The Newton step from a point where the negative gradient sum over `count` rows is `sum`, in standardised units.
fn newton_step(curvature: &Llt<f64>, sum: &[i128], count: u64, lattice: &Lattice) -> Vec<f64> {
    let unit = lattice.gradient_unit() * count as f64;
    let step = curvature.solve(&Mat::from_fn(sum.len(), 1, |i, _| sum[i] as f64 / unit));
    (0..sum.len()).map(|i| step[(i, 0)]).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Everything within a radius of the segment between two points.
struct Region {
    from: Theta,
    to: Theta,
    radius: f64,
    /// `gamma D`, rounded up.
    reach: f64,
}

/// Which rows of a block are sure over a region; a bit for each row.
struct Sorted {
    unclipped: u32,
    undecided: u32,
    clipped: bool,
    /// What the surely clipped rows contribute: `+-B_i`, and 0 for the others.
    weights: [f64; BLOCK_ROWS],
}

impl Region {
    fn new(from: Theta, to: Theta, radius: f64, clip: &Clip) -> Region {
        Region { from, to, radius, reach: clip.gamma() as f64 * radius * (1.0 + SLACK) }
    }

    /// Whether a point is inside; where rounding hides it, not.
    fn holds(&self, theta: &Theta) -> bool {
        self.distance(theta) <= self.radius
    }

    /// At least the distance of a point from the segment.
    fn distance(&self, theta: &Theta) -> f64 {
        let points = || self.from.integers().iter().zip(self.to.integers()).zip(theta.integers());
        let along: f64 = points().map(|((a, b), t)| (b - a) * (t - a)).sum();
        let length: f64 = points().map(|((a, b), _)| (b - a) * (b - a)).sum();
        // Any point of the segment bounds the distance; rounding only makes this one not quite the nearest.
        let place = if length > 0.0 { (along / length).clamp(0.0, 1.0) } else { 0.0 };
        let gaps = points().map(|((a, b), t)| t - (a + place * (b - a)));
        gaps.map(|gap| gap * gap).sum::<f64>().sqrt() * (1.0 + SLACK) + 1.0
    }

    /// Sorts the rows of a block. Rows with `B_i = 0` contribute nothing and are left out.
    fn sort(&self, kernel: Kernel, block: RowBlock<'_>, bounds: &[f32; BLOCK_ROWS], lattice: &Lattice) -> Sorted {
        let from = residuals(kernel, block, &self.from, lattice.theta_unit());
        let to = if self.from == self.to { from } else { residuals(kernel, block, &self.to, lattice.theta_unit()) };
        let mut sorted = Sorted { unclipped: 0, undecided: 0, clipped: false, weights: [0.0; BLOCK_ROWS] };
        for row in 0..BLOCK_ROWS {
            let bound = f64::from(bounds[row]);
            let (low, high) = (from[row].min(to[row]), from[row].max(to[row]));
            let is_sure = |margin: f64| margin * bound >= self.reach;
            let is_unclipped = is_sure(bound - high.max(-low));
            let (is_above, is_below) = (is_sure(low - bound), is_sure(-bound - high));
            let counts = bound > 0.0;
            sorted.unclipped |= u32::from(is_unclipped && counts) << row;
            sorted.undecided |= u32::from(!(is_unclipped || is_above || is_below) && counts) << row;
            sorted.clipped |= (is_above || is_below) && counts;
            sorted.weights[row] = if is_above {
                bound
            } else if is_below {
                -bound
            } else {
                0.0
            };
        }
        sorted
    }
}

/// What is known of the rows over a region.
struct Level {
    region: Region,
    /// The exact second moments of the surely unclipped rows.
    unclipped: Moments,
    /// The constant sum of the surely clipped rows.
    clipped: Vec<i128>,
    /// The undecided rows, and how many they are.
    rows: Chunks,
    undecided: u64,
    /// Whether there were more than may be kept: then it is of no use.
    is_partial: bool,
    /// Rows visited here since a level was last built below.
    spent: u64,
}

impl Level {
    /// Sorts all rows of a store.
    fn build<S: Store>(
        store: &S,
        region: Region,
        kernel: Kernel,
        clip: &Clip,
        lattice: &Lattice,
        spare: u64,
    ) -> Result<Level, Error> {
        let features = lattice.features();
        let most_rows = spare / (RowBlock::len_for(features) as u64 / BLOCK_ROWS as u64 + 1) / size_of::<f32>() as u64;
        let gathered = AtomicU64::new(0);
        let sum = WeightedSum::new(clip);
        let parts = store.fold(
            || Part::new(kernel, features),
            |mut part, piece| {
                for (block, bounds) in piece.blocks(features) {
                    let sorted = region.sort(kernel, block, bounds, lattice);
                    let more = u64::from(sorted.undecided.count_ones());
                    if gathered.fetch_add(more, Ordering::Relaxed) + more > most_rows {
                        part.is_partial = true;
                        break;
                    }
                    part.add(sorted, &sum, block, bounds);
                }
                part
            },
        )?;
        let mut level = Level {
            region,
            unclipped: Moments::empty(features + 1),
            clipped: vec![0; features],
            rows: Chunks { features, chunks: Vec::new() },
            undecided: 0,
            is_partial: false,
            spent: 0,
        };
        parts.into_iter().for_each(|part| level.take(part));
        Ok(level)
    }

    fn take(&mut self, part: Part) {
        self.is_partial |= part.is_partial;
        self.unclipped = std::mem::replace(&mut self.unclipped, Moments::empty(0)).plus(&part.unclipped.finish());
        self.clipped = plus(std::mem::take(&mut self.clipped), part.clipped);
        self.undecided += part.undecided.count;
        self.rows.chunks.extend(part.undecided.chunks);
    }

    /// Adds what the level above knows of the rows that are decided there.
    fn below(mut self, above: &Level) -> Level {
        self.unclipped = self.unclipped.plus(&above.unclipped);
        self.clipped = plus(self.clipped, above.clipped.clone());
        self
    }

    fn negative_gradient_sum(
        &self,
        kernel: Kernel,
        clip: &Clip,
        theta: &Theta,
        lattice: &Lattice,
    ) -> Result<Vec<i128>, Error> {
        let undecided = full_sum(&self.rows, kernel, clip, theta, lattice)?;
        Ok(plus(plus(undecided, self.unclipped.negative_gradient_sum(theta, lattice)), self.clipped.clone()))
    }
}

/// What one thread has sorted.
struct Part {
    kernel: Kernel,
    unclipped: GramSum,
    clipped: Vec<i128>,
    undecided: Gather,
    /// The undecided rows of one block.
    columns: Vec<[f32; COMPRESSED]>,
    is_partial: bool,
}

impl Part {
    fn new(kernel: Kernel, features: usize) -> Part {
        Part {
            kernel,
            unclipped: GramSum::new(kernel, features + 1),
            clipped: vec![0; features],
            undecided: Gather { features, chunks: Vec::new(), count: 0 },
            columns: Vec::new(),
            is_partial: false,
        }
    }

    fn add(&mut self, sorted: Sorted, sum: &WeightedSum, block: RowBlock<'_>, bounds: &[f32; BLOCK_ROWS]) {
        match sorted.unclipped {
            0 => {}
            u32::MAX => self.unclipped.add_block(block),
            some => self.unclipped.add_rows(block, some),
        }
        if sorted.clipped {
            sum.add_given(self.kernel, block.cells(), &sorted.weights, &mut self.clipped);
        }
        if sorted.undecided != 0 {
            compressed(self.kernel, block, bounds, sorted.undecided, &mut self.columns);
            self.undecided.add(&self.columns, sorted.undecided.count_ones() as usize);
        }
    }
}

/// Rows put together in blocks of their own.
struct Gather {
    features: usize,
    chunks: Vec<Chunk>,
    count: u64,
}

impl Gather {
    /// Adds rows given column by column: coefficients, response, bounds.
    fn add(&mut self, columns: &[[f32; COMPRESSED]], rows: usize) {
        let mut done = 0;
        while done < rows {
            let lane = self.count as usize % BLOCK_ROWS;
            let now = (rows - done).min(BLOCK_ROWS - lane);
            self.copy(columns, done..done + now, lane);
            self.count += now as u64;
            done += now;
        }
    }

    /// Copies rows to the lanes of the last block from `lane` on.
    fn copy(&mut self, columns: &[[f32; COMPRESSED]], rows: std::ops::Range<usize>, lane: usize) {
        let length = RowBlock::len_for(self.features);
        let chunk = self.open_block(lane == 0, length);
        let (cells, bounds) = (chunk.cells.len() - length, chunk.bounds.len() - BLOCK_ROWS);
        let places = chunk.cells[cells..].chunks_exact_mut(BLOCK_ROWS).chain([&mut chunk.bounds[bounds..]]);
        for (to, from) in places.zip(columns) {
            to[lane..lane + rows.len()].copy_from_slice(&from[rows.clone()]);
        }
    }

    /// The chunk whose last block has room; a new block is all zeros, which contribute nothing.
    fn open_block(&mut self, new: bool, length: usize) -> &mut Chunk {
        if new && self.chunks.last().is_none_or(|chunk| chunk.bounds.len() == CHUNK_BLOCKS * BLOCK_ROWS) {
            self.chunks.push(Chunk::default());
        }
        let chunk = self.chunks.last_mut().expect("a chunk was pushed for the first block");
        if new {
            chunk.cells.resize(chunk.cells.len() + length, 0.0);
            chunk.bounds.resize(chunk.bounds.len() + BLOCK_ROWS, 0.0);
        }
        chunk
    }
}
