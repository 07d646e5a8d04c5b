//! Rows seen through a released matrix, without keeping what they become.
//!
//! A round of whitening asks how long rows are in new coordinates and, once a length is released,
//! for their second moments shrunk to it. Both come from one pass: rows are re-encoded a few blocks
//! at a time, counted and multiplied while they are in cache. Second moments are summed as if no
//! row were shrunk, and the few long rows are kept; what shrinking changes is worked out from
//! these.

use std::cmp::Ordering;

use super::{
    Neighbours, OuterSum, Rows, TailCounts,
    held::{Chunks, Held, Piece},
    query::{Query, Sum, plus},
    region::Gather,
};
use crate::{
    Error,
    lattice::{BLOCK_ROWS, GramSum, Kernel, Ladder, Outer, Reencoded, RowBlock, SecondMoments, Whitening},
};

/// Rows seen through a released matrix: what a round of whitening asks. Answers are sealed as those
/// of [`Rows`] are.
pub trait Seen {
    /// For each radius, how many rows are longer.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn longer_than(&self, radii: &[u64], neighbours: Neighbours) -> Result<TailCounts, Error>;

    /// `sum_i x_i x_i'` over rows shrunk to a norm of at most `radius`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn second_moments(&self, radius: u64, neighbours: Neighbours) -> Result<OuterSum, Error>;
}

/// Rows that are kept as they became.
impl Seen for Box<dyn Rows> {
    fn longer_than(&self, radii: &[u64], neighbours: Neighbours) -> Result<TailCounts, Error> {
        self.tail_counts(&Ladder::Norms { radii }, neighbours)
    }

    fn second_moments(&self, radius: u64, neighbours: Neighbours) -> Result<OuterSum, Error> {
        self.outer_sum(&Outer::Shrunk { radius }, neighbours)
    }
}

/// Blocks that are re-encoded at a time: they stay in the second-level cache until they have been
/// asked.
const BLOCKS: usize = 16;

/// Rows as they are re-encoded, a few at a time.
pub(super) struct Through<'a, H> {
    rows: &'a H,
    /// `None` if rows stay as they are.
    whitening: Option<&'a Whitening>,
    /// Coefficients of a row before.
    features: usize,
}

impl<'a, H: Held> Through<'a, H> {
    pub(super) fn new(rows: &'a H, whitening: &'a Whitening, features: usize) -> Through<'a, H> {
        Through { rows, whitening: Some(whitening).filter(|whitening| !whitening.is_identity()), features }
    }
}

impl<H: Held> Held for Through<'_, H> {
    fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, Piece<'_>) -> T + Sync + Send,
    ) -> Result<Vec<T>, Error> {
        let (length, kernel) = (BLOCKS * RowBlock::len_for(self.features), Kernel::best());
        let add = |(mut buffer, mut sum): (Reencoded, T), piece: Piece<'_>| {
            for cells in piece.cells.chunks(length) {
                let (cells, norms_sq) = match self.whitening {
                    None => (cells, &[][..]),
                    Some(whitening) => {
                        whitening.encode_into(kernel, cells, &[], &mut buffer);
                        (&buffer.cells[..], &buffer.norms_sq[..])
                    }
                };
                sum = add(sum, Piece { cells, norms_sq, bounds: &[], depths: &[] });
            }
            (buffer, sum)
        };
        let parts = self.rows.fold(|| (Reencoded::default(), start()), add)?;
        Ok(parts.into_iter().map(|(_, sum)| sum).collect())
    }
}

/// What is asked in one pass.
pub struct Measuring<'a> {
    pub(super) ladder: &'a Ladder<'a>,
    pub(super) features: usize,
    pub(super) kernel: Kernel,
}

/// How long rows are, and their second moments.
pub struct Measured {
    /// How many are above exactly `i` thresholds.
    pub(super) tally: Vec<i128>,
    /// Of all rows, none shrunk.
    moments: SecondMoments,
    /// The rows with a larger squared norm than this.
    long: Chunks,
    cut_sq: f64,
}

impl Measuring<'_> {
    pub(super) fn over(&self, rows: &impl Held) -> Result<Measured, Error> {
        let parts = rows.fold(
            || Part::new(self),
            |mut part, piece| {
                part.add(self, piece);
                part
            },
        )?;
        let long = Chunks { features: self.features, chunks: Vec::new() };
        let (tally, moments) = (vec![0; self.ladder.len() + 1], SecondMoments::empty(self.features));
        Ok(parts.into_iter().fold(Measured { tally, moments, long, cut_sq: 0.0 }, Measured::with))
    }
}

impl Measured {
    fn with(mut self, part: Part) -> Measured {
        self.long.chunks.extend(part.long.chunks);
        Measured {
            tally: plus(self.tally, part.tally.into_iter().map(i128::from).collect()),
            moments: self.moments.plus(&part.moments.finish()),
            long: self.long,
            cut_sq: self.cut_sq.max(part.cut_sq.unwrap_or(0.0)),
        }
    }

    /// Whether all rows that are shrunk to this radius are among those that were kept.
    pub(super) fn suffices(&self, radius: u64) -> bool {
        // Squared norms are whole numbers below 2^52, so that the cut is one; and a radius is below
        // 2^64.
        u128::from(radius).pow(2) >= self.cut_sq as u128
    }

    /// The second moments of all rows shrunk as the query says.
    pub(super) fn second_moments(&self, shrunk: &Query<'_>) -> Result<SecondMoments, Error> {
        let size = shrunk.features;
        let whole = Query { sum: Sum::Outer(&Outer::Shrunk { radius: u64::MAX }), ..*shrunk };
        let of_long = |query: &Query<'_>| Ok::<_, Error>(SecondMoments::from_upper(size, query.over(&self.long)?));
        Ok(self.moments.clone().minus(&of_long(&whole)?).plus(&of_long(shrunk)?))
    }
}

/// One row in this number is kept as a long one.
const ONE_IN: usize = 128;
/// If more rows than one in this number are long, the cut is raised.
const MOST_ONE_IN: u64 = 16;

/// What one thread has found.
struct Part {
    tally: Vec<u64>,
    moments: GramSum,
    long: Gather,
    /// Rows with a larger squared norm are kept; none before rows were seen.
    cut_sq: Option<f64>,
    seen: u64,
}

impl Part {
    fn new(measuring: &Measuring<'_>) -> Part {
        Part {
            tally: vec![0; measuring.ladder.len() + 1],
            moments: GramSum::new(measuring.kernel, measuring.features),
            long: Gather::new(measuring.kernel, measuring.features),
            cut_sq: None,
            seen: 0,
        }
    }

    fn add(&mut self, measuring: &Measuring<'_>, piece: Piece<'_>) {
        let Measuring { ladder, features, kernel } = *measuring;
        let norms = piece.norms_sq(kernel, features);
        ladder.tally(kernel, (piece.cells, features), &norms, &mut self.tally);
        let cut_sq = self.cut_for(&norms);
        for (block, norms) in RowBlock::all(piece.cells, features).zip(norms.as_chunks::<BLOCK_ROWS>().0) {
            self.moments.add_block(block);
            let long = (0..BLOCK_ROWS).fold(0, |long, row| long | u32::from(norms[row] > cut_sq) << row);
            self.long.add(block, &[0.0; BLOCK_ROWS], long);
        }
    }

    /// The squared norm beyond which rows are kept from here on. It may only grow: then all rows
    /// beyond the last cut have been kept.
    fn cut_for(&mut self, norms: &[f64]) -> f64 {
        let is_low = self.long.count > self.seen / MOST_ONE_IN;
        self.seen += norms.len() as u64;
        match self.cut_sq {
            Some(cut_sq) if !is_low => cut_sq,
            _ if norms.is_empty() => self.cut_sq.unwrap_or(0.0),
            before => {
                let mut norms = norms.to_vec();
                let place = norms.len() - 1 - norms.len() / ONE_IN;
                let order = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or(Ordering::Equal);
                let (_, &mut found, _) = norms.select_nth_unstable_by(place, order);
                *self.cut_sq.insert(found.max(before.unwrap_or(0.0)))
            }
        }
    }
}
