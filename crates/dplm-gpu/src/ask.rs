//! Questions, as work for the card. Answers are the integers that [`Query::over`] gives.

use dplm::{
    lattice::{BLOCK_ROWS, Clip, ClippedOuter, Ladder, Link, Outer, RowBlock, Theta, Whitening},
    rows::engine::{At, Each, Query, Sum},
};

use crate::{
    CardError,
    card::{Buffers, Card, Spread},
    driver::Memory,
    kernels::StepPlan,
    store::OnCard,
};

/// Blocks of which sums of products of cells fit `i64`: 2^24 rows, and at most 2^38 for each.
const SEGMENT: u64 = 1 << 19;
/// Threads of a block whose warps share work.
const THREADS: u32 = 512;
/// Columns that such a block takes of a matrix of products, and of a weighted sum.
const PANEL: usize = 128;
const WINDOW: usize = 256;
/// Coordinates that a warp re-encodes together, and the threads of its block.
const TOGETHER: usize = 8;
const WHITEN: Spread = Spread::Blocks { threads: 256, each: 8, second: 1 };
/// More thresholds than these are not counted in shared memory.
const MOST_THRESHOLDS: usize = 8192;
/// Bits of the lower half of a weight.
const HALF_BITS: u32 = 27;

/// Which rows are taken, and what for; as the kernels number them.
const EVERY: u64 = 0;
const UNCLIPPED: u64 = 1;
const WITHIN: u64 = 2;
const CLAMPED: u64 = 3;

/// What a row contributes to a matrix of products.
const CELLS: u64 = 0;
const SCALED: u64 = 1;
const GRADIENTS: u64 = 2;

/// What is known of the rows of an outer product: their factors by a rule.
struct Rule {
    rule: u64,
    radius: u64,
    most: u64,
    theta: u64,
}

/// A matrix of products.
struct Products {
    vector: u64,
    size: usize,
    /// The shift of gradients.
    shift: u32,
    rule: Option<Rule>,
}

impl OnCard {
    /// The sum, where a kernel answers it.
    pub(crate) fn ask(&self, query: &Query<'_>) -> Result<Option<Vec<i128>>, CardError> {
        // Kernels know of no probabilities.
        if query.link() != Link::Identity {
            return Ok(None);
        }
        let buffers = &mut *self.card.buffers();
        Ok(Some(match query.sum {
            Sum::Each(Each::Gradient, at, clip) => self.gradient(buffers, clip, at)?,
            Sum::Each(Each::Square, at, clip) => self.squares(buffers, clip, at)?,
            Sum::Each(Each::IsClipped, at, _) => self.clipped(buffers, at)?,
            Sum::Custom(_) | Sum::Each(Each::Bend | Each::Number(_), ..) => return Ok(None),
            Sum::Outer(outer) => self.outer(buffers, outer)?,
            Sum::ClippedOuter(outer, clip) => self.clipped_outer(buffers, outer, clip)?,
            Sum::Moments => {
                let products = Products { vector: CELLS, size: self.features + 1, shift: 0, rule: None };
                self.products(buffers, &products)?
            }
            Sum::Tally(ladder) if ladder.len() > MOST_THRESHOLDS => return Ok(None),
            Sum::Tally(ladder) => self.tally(buffers, ladder)?,
        }))
    }

    /// Some blocks as an argument.
    fn rows(&self, first: u64, blocks: u64) -> [u64; 3] {
        let offset = first as usize * RowBlock::len_for(self.features) * size_of::<f32>();
        [self.cells.at(offset), blocks, self.features as u64]
    }

    fn all_rows(&self) -> [u64; 3] {
        self.rows(0, self.blocks)
    }

    /// The bounds of rows from a block on.
    fn bounds_from(&self, first: u64) -> u64 {
        self.bounds.as_ref().map_or(0, |bounds| bounds.at(first as usize * BLOCK_ROWS * size_of::<f32>()))
    }

    /// Some blocks at a time.
    fn segments(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let all = self.blocks;
        (0..all).step_by(SEGMENT as usize).map(move |first| (first, SEGMENT.min(all - first)))
    }

    /// Room for a number for each row of a segment.
    fn of_segment(&self) -> Result<Memory, CardError> {
        let rows = self.blocks.min(SEGMENT) as usize * BLOCK_ROWS;
        Memory::take(&self.card.context, rows * size_of::<f64>())
    }

    pub(crate) fn set_bounds(&mut self, clip: &Clip) -> Result<(), CardError> {
        if self.bounds.is_none() {
            let bytes = self.blocks as usize * BLOCK_ROWS * size_of::<f32>();
            self.bounds = Some(Memory::take(&self.card.context, bytes)?);
        }
        let _buffers = self.card.buffers();
        self.card.run("bounds", &Spread::Warps, 0, &[&self.all_rows(), &[gamma(clip)], &[self.bounds_from(0)]])
    }

    fn gradient(&self, buffers: &mut Buffers, clip: &Clip, at: At<'_>) -> Result<Vec<i128>, CardError> {
        let theta = buffers.give(&self.card, theta_words(at.0, at.1.theta_unit()))?;
        match self.card.step_plan(self.features + 1, !clip.sums_in_one_product()) {
            Some(plan) => self.step(buffers, &plan, clip, theta),
            None => self.step_in_two(buffers, theta),
        }
    }

    /// In one reading of the rows.
    fn step(&self, buffers: &mut Buffers, plan: &StepPlan, clip: &Clip, theta: u64) -> Result<Vec<i128>, CardError> {
        let length = 2 * self.features * if plan.halves { 2 } else { 1 };
        let areas = buffers.areas(&self.card, self.card.multiprocessors() as usize * length)?;
        let sums = buffers.sums(&self.card, length)?;
        let job = [
            self.cells.at(0),
            self.bounds_from(0),
            theta,
            sums,
            areas,
            self.blocks,
            pair(self.features + 1, plan.warps_per_team),
            pair(plan.blocks_per_tile, plan.stages),
            plan.blocks_per_flush(clip.gamma()) as u64,
        ];
        self.card.run_step(plan, &job)?;
        Ok(of_halves(buffers.summed(length)?, self.features))
    }

    /// In two: clamped residuals first, then the sum with these weights.
    fn step_in_two(&self, buffers: &mut Buffers, theta: u64) -> Result<Vec<i128>, CardError> {
        let (length, weights) = (4 * self.features, self.of_segment()?);
        let sums = buffers.sums(&self.card, length)?;
        for (first, blocks) in self.segments() {
            let rule = Rule { rule: CLAMPED, radius: 0, most: 0, theta };
            self.factors(&rule, first, blocks, &weights)?;
            let second = self.features.div_ceil(WINDOW) as u32;
            let spread = Spread::Blocks { threads: THREADS, each: 2, second };
            self.card.run("weighted", &spread, 0, &[&self.rows(first, blocks), &[weights.at(0)], &[sums]])?;
        }
        Ok(of_halves(buffers.summed(length)?, self.features))
    }

    fn factors(&self, rule: &Rule, first: u64, blocks: u64, to: &Memory) -> Result<(), CardError> {
        let Rule { rule, radius, most, theta } = *rule;
        let rows = self.rows(first, blocks);
        let arguments: [&[u64]; 7] =
            [&rows, &[theta], &[self.bounds_from(first)], &[rule], &[radius], &[most], &[to.at(0)]];
        self.card.run("factors", &Spread::Warps, 0, &arguments)
    }

    fn squares(&self, buffers: &mut Buffers, clip: &Clip, at: At<'_>) -> Result<Vec<i128>, CardError> {
        let theta = buffers.give(&self.card, theta_words(at.0, at.1.theta_unit()))?;
        let (sums, shift) = (buffers.sums(&self.card, 2)?, clip.square_shift());
        let arguments: [&[u64]; 5] = [&self.all_rows(), &[theta], &[self.bounds_from(0)], &[shift.into()], &[sums]];
        self.card.run("squares", &Spread::Warps, 0, &arguments)?;
        Ok(vec![of_limbs(buffers.summed(2)?)])
    }

    fn clipped(&self, buffers: &mut Buffers, at: At<'_>) -> Result<Vec<i128>, CardError> {
        let theta = buffers.give(&self.card, theta_words(at.0, at.1.theta_unit()))?;
        let count = buffers.sums(&self.card, 1)?;
        let arguments: [&[u64]; 4] = [&self.all_rows(), &[theta], &[self.bounds_from(0)], &[count]];
        self.card.run("clipped", &Spread::Warps, 0, &arguments)?;
        Ok(vec![buffers.summed(1)?[0].into()])
    }

    fn tally(&self, buffers: &mut Buffers, ladder: &Ladder<'_>) -> Result<Vec<i128>, CardError> {
        let (measure, theta, thresholds): (u64, Vec<u64>, Vec<u64>) = match ladder {
            Ladder::Norms { radii } => (0, Vec::new(), radii.to_vec()),
            Ladder::Gradients { theta, theta_unit, clips } => {
                (1, theta_words(theta, *theta_unit).collect(), clips.iter().map(gamma).collect())
            }
            Ladder::Residuals { theta, theta_unit, sizes } => {
                (2, theta_words(theta, *theta_unit).collect(), sizes.to_vec())
            }
        };
        let (after, length) = (theta.len() * size_of::<u64>(), thresholds.len());
        let words: Vec<u64> = theta.into_iter().chain(thresholds).collect();
        let given = buffers.give(&self.card, words.into_iter())?;
        let counts = buffers.sums(&self.card, length + 1)?;
        let arguments: [&[u64]; 6] =
            [&self.all_rows(), &[given], &[measure], &[given + after as u64], &[length as u64], &[counts]];
        self.card.run("tally", &Spread::Warps, (length + 1) * size_of::<u32>(), &arguments)?;
        Ok(buffers.summed(length + 1)?.iter().map(|&count| count.into()).collect())
    }

    fn outer(&self, buffers: &mut Buffers, outer: &Outer<'_>) -> Result<Vec<i128>, CardError> {
        let rule = match *outer {
            Outer::Shrunk { radius } => Rule { rule: EVERY, radius, most: 0, theta: 0 },
            Outer::Within { theta, theta_unit, radius, residual } => {
                let theta = buffers.give(&self.card, theta_words(theta, theta_unit))?;
                Rule { rule: WITHIN, radius, most: residual, theta }
            }
        };
        self.products(buffers, &Products { vector: SCALED, size: self.features, shift: 0, rule: Some(rule) })
    }

    fn clipped_outer(
        &self,
        buffers: &mut Buffers,
        outer: &ClippedOuter<'_>,
        clip: &Clip,
    ) -> Result<Vec<i128>, CardError> {
        let (ClippedOuter::Unclipped { theta, theta_unit, .. } | ClippedOuter::Gradient { theta, theta_unit }) = *outer;
        let theta = buffers.give(&self.card, theta_words(theta, theta_unit))?;
        let (vector, rule) = match *outer {
            ClippedOuter::Unclipped { radius, .. } => (SCALED, Rule { rule: UNCLIPPED, radius, most: 0, theta }),
            ClippedOuter::Gradient { .. } => (GRADIENTS, Rule { rule: CLAMPED, radius: 0, most: 0, theta }),
        };
        let shift = clip.gradient_shift();
        self.products(buffers, &Products { vector, size: self.features, shift, rule: Some(rule) })
    }

    fn products(&self, buffers: &mut Buffers, products: &Products) -> Result<Vec<i128>, CardError> {
        let Products { vector, size, shift, rule } = products;
        let (panels, length) = (size.div_ceil(PANEL), size * (size + 1) / 2);
        let spread = Spread::Blocks { threads: THREADS, each: 1, second: (panels * (panels + 1) / 2) as u32 };
        // `outer::GradientWork`: weights are divided by the unit in two parts, and what comes of
        // that by the rest.
        let (unit, rest) = (shift.min(&HALF_BITS), shift.saturating_sub(HALF_BITS));
        let power = |bits: u32| f64::from(bits).exp2().to_bits();
        let mut upper = vec![0i128; length];
        let factors = if rule.is_some() { Some(self.of_segment()?) } else { None };
        for (first, blocks) in self.segments() {
            if let (Some(rule), Some(factors)) = (rule, &factors) {
                self.factors(rule, first, blocks, factors)?;
            }
            let [cells, blocks, features] = self.rows(first, blocks);
            let sums = buffers.sums(&self.card, length)?;
            let factors = factors.as_ref().map_or(0, |factors| factors.at(0));
            let job =
                [cells, blocks, features, factors, *vector | (*size as u64) << 32, power(*unit), power(rest), sums];
            self.card.run("gram", &spread, 0, &[&job])?;
            let sums = buffers.summed(length)?;
            upper.iter_mut().zip(sums).for_each(|(all, &sum)| *all += i128::from(sum.cast_signed()));
        }
        Ok(upper)
    }

    /// The same rows re-encoded, without bounds.
    pub(crate) fn encoded(&self, whitening: &Whitening) -> Result<OnCard, CardError> {
        let encoded = OnCard::new(&self.card, whitening.outputs(), self.blocks)?;
        let ((integers, unit_bits), outputs) = (whitening.integers(), whitening.outputs());
        let padded = outputs.next_multiple_of(TOGETHER);
        let entry = |place: usize| {
            let (input, output) = (place / padded, place % padded);
            if output < outputs { integers[output * self.features + input].to_bits() } else { 0 }
        };
        let buffers = &mut *self.card.buffers();
        let matrix = buffers.give(&self.card, (0..self.features * padded).map(entry))?;
        // The unit is a power of two: its inverse is exact.
        let step = f64::from(-unit_bits).exp2().to_bits();
        let arguments: [&[u64]; 5] = [&self.all_rows(), &[matrix], &[outputs as u64], &[step], &[encoded.cells.at(0)]];
        self.card.run("whiten", &WHITEN, 0, &arguments)?;
        Ok(encoded)
    }
}

impl Card {
    /// Reads about `bytes` bytes as fast as the card can, and returns how many it read.
    pub(crate) fn read_all(&self, bytes: usize) -> Result<usize, CardError> {
        let memory = Memory::take(&self.context, bytes)?;
        let buffers = &mut *self.buffers();
        let found = buffers.sums(self, 1)?;
        let spread = Spread::Blocks { threads: THREADS, each: 4, second: 1 };
        let length = memory.bytes() / 16;
        self.run("plain_read", &spread, 0, &[&[memory.at(0)], &[length as u64], &[found]])?;
        buffers.summed(1)?;
        Ok(memory.bytes())
    }
}

fn gamma(clip: &Clip) -> u64 {
    u64::try_from(clip.gamma()).expect("a clip is below 2^63")
}

/// What a residual is made with: -theta, and its unit for the response.
fn theta_words(theta: &Theta, unit: f64) -> std::vec::IntoIter<u64> {
    let words: Vec<u64> = theta.integers().iter().map(|theta| -theta).chain([unit]).map(f64::to_bits).collect();
    words.into_iter()
}

/// Two numbers of four bytes each.
fn pair(first: usize, second: usize) -> u64 {
    first as u64 | (second as u64) << 32
}

/// A sum by its limbs of 32 bits, each with what it carries.
fn of_limbs(limbs: &[u64]) -> i128 {
    i128::from(limbs[0]) + (i128::from(limbs[1].cast_signed()) << 32)
}

/// Sums by the limbs of their lower halves and, where there are, of their upper halves.
fn of_halves(limbs: &[u64], features: usize) -> Vec<i128> {
    let (lower, upper) = limbs.split_at(2 * features);
    let mut sums: Vec<i128> = lower.chunks_exact(2).map(of_limbs).collect();
    sums.iter_mut().zip(upper.chunks_exact(2)).for_each(|(sum, upper)| *sum += of_limbs(upper) << HALF_BITS);
    sums
}
