//! Rows that count how often they are gone through.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use dplm::{
    Error,
    lattice::{Clip, Ladder, Lattice, Moments, Outer, Separate, Theta, Whitening},
    privacy::{Neighbours, NotPrivate, Sensitive},
    rows::{BatchFits, Batching, BinSums, Bins, Forecast, OuterSum, Rows, TailCounts},
};

/// Rows, and how many questions went through all of them; rows re-encoded from these count with them.
pub(crate) struct Counted {
    rows: Box<dyn Rows>,
    passes: Arc<AtomicU32>,
}

impl Counted {
    pub(crate) fn new(rows: impl Rows + 'static) -> Counted {
        Counted { rows: Box::new(rows), passes: Arc::default() }
    }

    pub(crate) fn passes(&self) -> u32 {
        self.passes.load(Ordering::Relaxed)
    }

    fn once_more(&self) -> &dyn Rows {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.rows.as_ref()
    }
}

impl Rows for Counted {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn features(&self) -> usize {
        self.rows.features()
    }

    fn set_clip(&mut self, clip: Clip) -> Result<(), Error> {
        self.once_more();
        self.rows.set_clip(clip)
    }

    fn expect(&mut self, forecast: Forecast) {
        self.rows.expect(forecast);
    }

    fn negative_gradient_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        self.once_more().negative_gradient_sum(theta, lattice, neighbours)
    }

    fn clipped_square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        self.once_more().clipped_square_sum(theta, lattice, neighbours)
    }

    fn separate_gradient_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        self.once_more().separate_gradient_sum(theta, lattice, bounds, neighbours)
    }

    fn separate_square_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        self.once_more().separate_square_sum(theta, lattice, bounds, neighbours)
    }

    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        self.once_more().outer_sum(outer, neighbours)
    }

    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error> {
        self.once_more().tail_counts(ladder, neighbours)
    }

    fn batch_fits(&self, batching: &Batching, neighbours: Neighbours) -> Result<BatchFits, Error> {
        self.once_more().batch_fits(batching, neighbours)
    }

    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error> {
        self.once_more().batches(batches)
    }

    fn bin_sums(&self, bins: &Bins, radius: u64, neighbours: Neighbours) -> Result<BinSums, Error> {
        self.once_more().bin_sums(bins, radius, neighbours)
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error> {
        self.once_more().clipped_count(theta, lattice)
    }

    fn moments(&self) -> Result<NotPrivate<Moments>, Error> {
        self.once_more().moments()
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let rows = self.once_more().whitened(whitening)?;
        Ok(Box::new(Counted { rows, passes: self.passes.clone() }))
    }
}
