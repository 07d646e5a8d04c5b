//! Two neighbouring tables in the place of one: every question a fit asks is put to both.

use std::sync::{Arc, Mutex};

use dplm::{
    Error,
    lattice::{Clip, Ladder, Lattice, Moments, Outer, Separate, Theta, Whitening},
    privacy::{Claim, IntegerBox, Neighbours, Nested, NotPrivate, Sensitive},
    rows::{BatchFits, Batching, BinSums, Bins, Forecast, OuterSum, Rows, TailCounts},
};
use num_bigint::{BigInt, BigUint};

/// Answers for the first table, after the same question to its neighbour has moved the answer by no more than is claimed.
///
/// Along the path of one fit that is its guarantee: later questions depend on released numbers only, so they are the same for both tables.
pub struct Twin {
    one: Box<dyn Rows>,
    other: Box<dyn Rows>,
    moved: Moved,
}

/// The largest share of a claim that a question was moved by, and how many questions there were.
#[derive(Clone, Default)]
pub struct Moved(Arc<Mutex<(f64, usize)>>);

impl Moved {
    pub fn most(&self) -> f64 {
        self.0.lock().expect("no panic").0
    }

    pub fn questions(&self) -> usize {
        self.0.lock().expect("no panic").1
    }

    fn note(&self, one: Sensitive, other: Sensitive) {
        let [one, other] = [one, other].map(|answer| answer.into_not_private().into_inner());
        assert_eq!((&one.weights, &one.delta_sq), (&other.weights, &other.delta_sq), "claims are public");
        let distance_sq = distance_sq(&one, &other);
        assert!(distance_sq <= one.delta_sq, "moved by {distance_sq}, claimed {}", one.delta_sq);
        let mut so_far = self.0.lock().expect("no panic");
        *so_far = (so_far.0.max(ratio(&distance_sq, &one.delta_sq)), so_far.1 + 1);
    }
}

/// Whether a box is inside another.
fn is_inside(inner: &IntegerBox, outer: &IntegerBox) -> bool {
    inner.iter().zip(outer).all(|(inner, outer)| outer.0 <= inner.0 && inner.1 <= outer.1)
}

fn distance_sq(one: &Claim, other: &Claim) -> BigUint {
    let pairs = one.values.iter().zip(&other.values).zip(&one.weights);
    let squares = pairs.map(|((one, other), &weight)| (BigInt::from(*one) - other).pow(2) * weight);
    squares.sum::<BigInt>().to_biguint().expect("a sum of squares")
}

/// In millionths, which integers can say.
fn ratio(part: &BigUint, whole: &BigUint) -> f64 {
    let millionths = part * 1_000_000u32 / whole.max(&BigUint::from(1u32));
    u32::try_from(millionths).map_or(f64::INFINITY, f64::from) / 1e6
}

impl Moved {
    /// Whatever is in `s + d` boxes of one table, `d` the claim, is in `s` boxes of the other, and the public box is the same.
    fn note_depths(&self, one: Nested, other: Nested) {
        let ((one, claimed), (other, _)) = (one.into_not_private().into_inner(), other.into_not_private().into_inner());
        assert!(one[0] == other[0], "the first box is public");
        self.note_boxes(&one, &other, claimed as usize);
    }

    fn note_boxes(&self, one: &[IntegerBox], other: &[IntegerBox], steps: usize) {
        assert_eq!(one.len(), other.len(), "how many boxes there are is public");
        for (one, other) in [(one, other), (other, one)] {
            assert!(
                one.iter().skip(steps).zip(other).all(|(deeper, shallow)| is_inside(deeper, shallow)),
                "depths moved"
            );
        }
        let mut so_far = self.0.lock().expect("no panic");
        *so_far = (so_far.0.max(f64::from(u8::from(one != other))), so_far.1 + 1);
    }
}

impl Twin {
    pub fn new(one: Box<dyn Rows>, other: Box<dyn Rows>) -> (Twin, Moved) {
        let moved = Moved::default();
        (Twin { one, other, moved: moved.clone() }, moved)
    }

    /// Scores by nearness to the middle rank move by no more than they claim.
    fn compare_scores(&self, ladder: &Ladder<'_>, relation: Neighbours) -> Result<(), Error> {
        let scores = |rows: &dyn Rows| -> Result<_, Error> {
            let scores = rows.tail_counts(ladder, relation)?.nearness(rows.count() / 2);
            Ok(scores.into_not_private().into_inner())
        };
        let ((one, claimed), (other, _)) = (scores(self.one.as_ref())?, scores(self.other.as_ref())?);
        assert!(one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= u64::from(claimed)), "scores moved");
        Ok(())
    }

    fn both(&self, ask: impl Fn(&dyn Rows) -> Result<Vec<Sensitive>, Error>) -> Result<(), Error> {
        let pairs = ask(self.one.as_ref())?.into_iter().zip(ask(self.other.as_ref())?);
        pairs.for_each(|(one, other)| self.moved.note(one, other));
        Ok(())
    }
}

impl Rows for Twin {
    fn count(&self) -> u64 {
        self.one.count()
    }

    fn rows_in_unit(&self) -> Option<u32> {
        self.one.rows_in_unit()
    }

    fn features(&self) -> usize {
        self.one.features()
    }

    fn set_clip(&mut self, clip: Clip) -> Result<(), Error> {
        self.one.set_clip(clip)?;
        self.other.set_clip(clip)
    }

    fn expect(&mut self, forecast: Forecast) {
        self.one.expect(forecast);
        self.other.expect(forecast);
    }

    fn negative_gradient_sum(&self, at: &Theta, on: &Lattice, relation: Neighbours) -> Result<Sensitive, Error> {
        self.both(|rows| Ok(vec![rows.negative_gradient_sum(at, on, relation)?]))?;
        self.one.negative_gradient_sum(at, on, relation)
    }

    fn clipped_square_sum(&self, at: &Theta, on: &Lattice, relation: Neighbours) -> Result<Sensitive, Error> {
        self.both(|rows| Ok(vec![rows.clipped_square_sum(at, on, relation)?]))?;
        self.one.clipped_square_sum(at, on, relation)
    }

    fn separate_gradient_sum(
        &self,
        at: &Theta,
        on: &Lattice,
        bounds: &Separate,
        relation: Neighbours,
    ) -> Result<Sensitive, Error> {
        self.both(|rows| Ok(vec![rows.separate_gradient_sum(at, on, bounds, relation)?]))?;
        self.one.separate_gradient_sum(at, on, bounds, relation)
    }

    fn separate_square_sum(
        &self,
        at: &Theta,
        on: &Lattice,
        bounds: &Separate,
        relation: Neighbours,
    ) -> Result<Sensitive, Error> {
        self.both(|rows| Ok(vec![rows.separate_square_sum(at, on, bounds, relation)?]))?;
        self.one.separate_square_sum(at, on, bounds, relation)
    }

    fn outer_sum(&self, outer: &Outer<'_>, relation: Neighbours) -> Result<OuterSum, Error> {
        self.both(|rows| {
            let sum = rows.outer_sum(outer, relation)?;
            Ok(vec![sum.least_eigenvalue(), sum.into_matrix()])
        })?;
        self.one.outer_sum(outer, relation)
    }

    fn tail_counts(&self, ladder: &Ladder<'_>, relation: Neighbours) -> Result<TailCounts, Error> {
        self.both(|rows| {
            let counts = rows.tail_counts(ladder, relation)?;
            Ok((0..counts.len()).map(|threshold| counts.above(threshold)).collect())
        })?;
        self.compare_scores(ladder, relation)?;
        self.one.tail_counts(ladder, relation)
    }

    fn batch_fits(&self, batching: &Batching, relation: Neighbours) -> Result<BatchFits, Error> {
        let fits = |rows: &dyn Rows| rows.batch_fits(batching, relation);
        let [one, other] = [fits(self.one.as_ref())?, fits(self.other.as_ref())?];
        let readings = batching.readings.len();
        for of in (0..readings).map(|j| j..j + 1).chain(std::iter::once(0..readings)) {
            for most in [3, usize::MAX / 2] {
                self.moved.note_depths(one.depths(of.clone(), most), other.depths(of.clone(), most));
            }
            let [one, other] =
                [&one, &other].map(|fits| fits.tested_depths(of.clone()).into_not_private().into_inner());
            self.moved.note_boxes(&one, &other, 1);
        }
        self.one.batch_fits(batching, relation)
    }

    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error> {
        let pairs = self.one.batches(batches)?.into_iter().zip(self.other.batches(batches)?);
        let twin = |(one, other)| -> Box<dyn Rows> { Box::new(Twin { one, other, moved: self.moved.clone() }) };
        Ok(pairs.map(twin).collect())
    }

    fn bin_sums(&self, bins: &Bins, radius: u64, relation: Neighbours) -> Result<BinSums, Error> {
        self.both(|rows| {
            let sums = rows.bin_sums(bins, radius, relation)?;
            Ok(vec![sums.counts(), sums.into_sums()])
        })?;
        self.one.bin_sums(bins, radius, relation)
    }

    fn clipped_count(&self, _: &Theta, _: &Lattice) -> Result<NotPrivate<u64>, Error> {
        panic!("a fit does not ask what is not private")
    }

    fn moments(&self) -> Result<NotPrivate<Moments>, Error> {
        panic!("a fit does not ask what is not private")
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let (one, other) = (self.one.whitened(whitening)?, self.other.whitened(whitening)?);
        Ok(Box::new(Twin { one, other, moved: self.moved.clone() }))
    }
}
