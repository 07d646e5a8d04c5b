//! Rows that count the passes through them.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use dplm::{
    Error,
    lattice::{Clip, ClippedOuter, Ladder, Lattice, Number, Outer, SecondMoments, Theta, Whitening},
    privacy::{Neighbours, NotPrivate, Sealed, Sensitive},
    rows::{BatchMoments, ClippedRows, CustomQuery, CustomRows, ExpectedSteps, OuterSum, Rows, TailCounts},
};

/// Rows, and the number of queries that passed through all of them; rows re-encoded from these
/// share the count.
pub(crate) struct Counted {
    rows: Box<dyn Rows>,
    clip: Option<Clip>,
    passes: Arc<AtomicU32>,
}

/// The same under a clip.
struct CountedClipped<'a> {
    rows: Box<dyn ClippedRows + 'a>,
    passes: Arc<AtomicU32>,
}

impl CountedClipped<'_> {
    fn pass(&self) {
        self.passes.fetch_add(1, Ordering::Relaxed);
    }
}

impl ClippedRows for CountedClipped<'_> {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn negative_gradient_sum(
        &mut self,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        self.pass();
        self.rows.negative_gradient_sum(theta, lattice, neighbours)
    }

    fn bend_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        self.pass();
        self.rows.bend_sum(theta, lattice, neighbours)
    }

    fn number_sum(
        &self,
        number: Number,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        self.pass();
        self.rows.number_sum(number, theta, lattice, neighbours)
    }

    fn square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        self.pass();
        self.rows.square_sum(theta, lattice, neighbours)
    }

    fn outer_sum(&self, outer: &ClippedOuter<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        self.pass();
        self.rows.outer_sum(outer, neighbours)
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error> {
        self.pass();
        self.rows.clipped_count(theta, lattice)
    }
}

impl Counted {
    pub(crate) fn new(rows: impl Rows + 'static) -> Counted {
        Counted { rows: Box::new(rows), clip: None, passes: Arc::default() }
    }

    pub(crate) fn passes(&self) -> u32 {
        self.passes.load(Ordering::Relaxed)
    }

    fn once_more(&self) -> &dyn Rows {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.rows.as_ref()
    }
}

impl CustomRows for Counted {
    fn sum(&self, query: &dyn CustomQuery, neighbours: Neighbours) -> Result<Sensitive, Error> {
        self.once_more().custom()?.sum(query, neighbours)
    }

    fn batch_moments(&self, batches: usize) -> Result<Sealed<BatchMoments>, Error> {
        self.once_more().custom()?.batch_moments(batches)
    }

    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error> {
        self.once_more().custom()?.batches(batches)
    }
}

impl Rows for Counted {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn features(&self) -> usize {
        self.rows.features()
    }

    fn clipped(&mut self, clip: Clip, forecast: Option<ExpectedSteps>) -> Result<Box<dyn ClippedRows + '_>, Error> {
        // The bounds of one clip are computed once.
        if self.clip.replace(clip) != Some(clip) {
            self.once_more();
        }
        let rows = self.rows.clipped(clip, forecast)?;
        Ok(Box::new(CountedClipped { rows, passes: self.passes.clone() }))
    }

    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        self.once_more().outer_sum(outer, neighbours)
    }

    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error> {
        self.once_more().tail_counts(ladder, neighbours)
    }

    fn custom(&self) -> Result<&dyn CustomRows, Error> {
        self.rows.custom()?;
        Ok(self)
    }

    fn moments(&self) -> Result<NotPrivate<SecondMoments>, Error> {
        self.once_more().moments()
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let rows = self.once_more().whitened(whitening)?;
        Ok(Box::new(Counted { rows, clip: None, passes: self.passes.clone() }))
    }
}
