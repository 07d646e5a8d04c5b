//! Two neighbouring tables in the place of one: every question a fit asks is put to both.

use std::sync::{Arc, Mutex};

use dplm::{
    Error,
    lattice::{Clip, ClippedOuter, Ladder, Lattice, Number, Outer, SecondMoments, Theta, Whitening},
    privacy::{Claim, Neighbours, NotPrivate, Sealed, Sensitive},
    rows::{BatchMoments, ClippedRows, CustomQuery, CustomRows, ExpectedSteps, OuterSum, Rows, TailCounts},
};
use dplm_methods::mechanism::{BatchFits, Batching, IntegerBox, LeastEigenvalue, Nearest, Nested};
use num_bigint::{BigInt, BigUint};

/// Answers for the first table, after the same question to its neighbour has moved the answer by no
/// more than is claimed.
///
/// Along the path of one fit that is its guarantee: later questions depend on released numbers
/// only, so they are the same for both tables.
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

    pub fn note(&self, one: Sensitive, other: Sensitive) {
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
    /// Whatever is in `s + d` boxes of one table, `d` the claim, is in `s` boxes of the other, and
    /// the public box is the same.
    fn note_depths(&self, one: &Nested, other: &Nested) {
        let ((one, claimed), (other, _)) = (one.parts(), other.parts());
        assert!(one[0] == other[0], "the first box is public");
        self.note_boxes(one, other, claimed as usize);
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
            let tail = rows.tail_counts(ladder, relation)?.sealed().into_not_private().into_inner();
            Ok(Nearest { rank: rows.count() / 2 }.scores(&tail))
        };
        let (one, other) = (scores(self.one.as_ref())?, scores(self.other.as_ref())?);
        let ((one, claimed), (other, _)) = (one.parts(), other.parts());
        assert!(one.iter().zip(other).all(|(one, other)| one.abs_diff(*other) <= u64::from(claimed)), "scores moved");
        Ok(())
    }

    fn both(&self, ask: impl Fn(&dyn Rows) -> Result<Vec<Sensitive>, Error>) -> Result<(), Error> {
        let pairs = ask(self.one.as_ref())?.into_iter().zip(ask(self.other.as_ref())?);
        pairs.for_each(|(one, other)| self.moved.note(one, other));
        Ok(())
    }
}

/// The moments of batches of two neighbours, and what is read off the fits of them.
pub fn compare_batches(moved: &Moved, one: &BatchMoments, other: &BatchMoments) {
    let features = one.0[0].size() - 1;
    let batching = Batching::of_coefficients(one.0.len(), features, 4096.0, 1 << 16);
    let [one, other] = [one, other].map(|moments| BatchFits::new(moments, &batching));
    for of in (0..features).map(|j| j..j + 1).chain(std::iter::once(0..features)) {
        for most in [1, 3, usize::MAX / 2] {
            moved.note_depths(&one.depths(of.clone(), most), &other.depths(of.clone(), most));
        }
        let [one, other] = [&one, &other].map(|fits| fits.tested_depths(of.clone()));
        moved.note_boxes(one.boxes(), other.boxes(), 1);
    }
}

/// What is released of a sum of outer products.
fn queries(sum: OuterSum) -> Vec<Sensitive> {
    let products = sum.sealed().into_not_private().into_inner();
    vec![LeastEigenvalue::query(&products), sum.into_matrix()]
}

/// Both tables under a clip.
struct ClippedTwin<'a> {
    one: Box<dyn ClippedRows + 'a>,
    other: Box<dyn ClippedRows + 'a>,
    moved: Moved,
}

impl ClippedRows for ClippedTwin<'_> {
    fn count(&self) -> u64 {
        self.one.count()
    }

    fn negative_gradient_sum(&mut self, at: &Theta, on: &Lattice, relation: Neighbours) -> Result<Sensitive, Error> {
        let other = self.other.negative_gradient_sum(at, on, relation)?;
        self.moved.note(self.one.negative_gradient_sum(at, on, relation)?, other);
        self.one.negative_gradient_sum(at, on, relation)
    }

    fn bend_sum(&self, at: &Theta, on: &Lattice, relation: Neighbours) -> Result<Sensitive, Error> {
        self.moved.note(self.one.bend_sum(at, on, relation)?, self.other.bend_sum(at, on, relation)?);
        self.one.bend_sum(at, on, relation)
    }

    fn number_sum(&self, of: Number, at: &Theta, on: &Lattice, relation: Neighbours) -> Result<Sensitive, Error> {
        self.moved.note(self.one.number_sum(of, at, on, relation)?, self.other.number_sum(of, at, on, relation)?);
        self.one.number_sum(of, at, on, relation)
    }

    fn square_sum(&self, at: &Theta, on: &Lattice, relation: Neighbours) -> Result<Sensitive, Error> {
        self.moved.note(self.one.square_sum(at, on, relation)?, self.other.square_sum(at, on, relation)?);
        self.one.square_sum(at, on, relation)
    }

    fn outer_sum(&self, outer: &ClippedOuter<'_>, relation: Neighbours) -> Result<OuterSum, Error> {
        let [one, other] = [&self.one, &self.other].map(|rows| rows.outer_sum(outer, relation).map(queries));
        one?.into_iter().zip(other?).for_each(|(one, other)| self.moved.note(one, other));
        self.one.outer_sum(outer, relation)
    }

    fn clipped_count(&self, _: &Theta, _: &Lattice) -> Result<NotPrivate<u64>, Error> {
        panic!("a fit does not ask what is not private")
    }
}

impl CustomRows for Twin {
    fn sum(&self, query: &dyn CustomQuery, relation: Neighbours) -> Result<Sensitive, Error> {
        self.both(|rows| Ok(vec![rows.custom()?.sum(query, relation)?]))?;
        self.one.custom()?.sum(query, relation)
    }

    fn batch_moments(&self, batches: usize) -> Result<Sealed<BatchMoments>, Error> {
        let inside =
            |rows: &dyn Rows| Ok::<_, Error>(rows.custom()?.batch_moments(batches)?.into_not_private().into_inner());
        compare_batches(&self.moved, &inside(self.one.as_ref())?, &inside(self.other.as_ref())?);
        self.one.custom()?.batch_moments(batches)
    }

    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error> {
        let pairs = self.one.custom()?.batches(batches)?.into_iter().zip(self.other.custom()?.batches(batches)?);
        let twin = |(one, other)| -> Box<dyn Rows> { Box::new(Twin { one, other, moved: self.moved.clone() }) };
        Ok(pairs.map(twin).collect())
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

    fn clipped(&mut self, clip: Clip, forecast: Option<ExpectedSteps>) -> Result<Box<dyn ClippedRows + '_>, Error> {
        let (one, other) = (self.one.clipped(clip, forecast)?, self.other.clipped(clip, forecast)?);
        Ok(Box::new(ClippedTwin { one, other, moved: self.moved.clone() }))
    }

    fn outer_sum(&self, outer: &Outer<'_>, relation: Neighbours) -> Result<OuterSum, Error> {
        self.both(|rows| Ok(queries(rows.outer_sum(outer, relation)?)))?;
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

    fn custom(&self) -> Result<&dyn CustomRows, Error> {
        self.one.custom()?;
        Ok(self)
    }

    fn moments(&self) -> Result<NotPrivate<SecondMoments>, Error> {
        panic!("a fit does not ask what is not private")
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let (one, other) = (self.one.whitened(whitening)?, self.other.whitened(whitening)?);
        Ok(Box::new(Twin { one, other, moved: self.moved.clone() }))
    }
}
