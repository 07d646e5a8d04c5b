//! The questions, answered from any store.

use std::sync::{Mutex, PoisonError};

use super::{
    Forecast, OuterSum, Rows, TailCounts,
    screen::Screen,
    store::{Piece, Store},
};
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, Clip, GramSum, Kernel, Ladder, Lattice, Moments, Outer, RowBlock, Theta, WeightedSum, Whitening,
        above, clipped_in_block, norms_sq, residuals, square_of_block,
    },
    privacy::{Neighbours, NotPrivate, Sensitive},
};

/// Rows in a store of their own kind, ready for questions.
pub struct Engine<S> {
    pub(super) store: S,
    features: usize,
    count: u64,
    kernel: Kernel,
    clip: Option<Clip>,
    /// What is known of the rows beyond their cells. Answers do not depend on it, only the time they take.
    screen: Mutex<Option<Screen>>,
}

impl<S: Store> Engine<S> {
    pub(super) fn new(store: S, features: usize, count: u64) -> Engine<S> {
        Engine { store, features, count, kernel: Kernel::best(), clip: None, screen: Mutex::new(None) }
    }

    /// Uses these instructions instead of the fastest; answers are the same.
    pub fn set_kernel(&mut self, kernel: Kernel) {
        self.kernel = kernel;
    }

    /// How many rows were looked at for [`Rows::negative_gradient_sum`] since it was forecast, for measuring.
    #[doc(hidden)]
    pub fn visited(&self) -> NotPrivate<u64> {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        NotPrivate::new(screen.as_ref().map_or(0, Screen::visited))
    }

    /// Shows every block, with how many of its rows are data.
    pub(super) fn for_each_block(&self, see: &mut dyn FnMut(RowBlock<'_>, usize)) -> Result<(), Error> {
        let mut left = self.count as usize;
        self.store.for_each_piece(&mut |cells| {
            for block in RowBlock::all(cells, self.features) {
                let rows = left.min(BLOCK_ROWS);
                see(block, rows);
                left -= rows;
            }
        })
    }

    fn clip(&self) -> Clip {
        self.clip.expect("the clip is set before gradients are asked for")
    }

    /// Sums a number over blocks; integer sums do not mind the order.
    fn sum<T: Send + std::iter::Sum<T>>(&self, of_piece: impl Fn(Piece<'_>) -> T + Sync + Send) -> Result<T, Error> {
        let parts = self.store.fold(Vec::new, |mut parts, piece| {
            parts.push(of_piece(piece));
            parts
        })?;
        Ok(parts.into_iter().flatten().sum())
    }

    /// Sums outer products.
    fn gram(&self, size: usize, add: impl Fn(&mut GramSum, Piece<'_>) + Sync + Send) -> Result<Moments, Error> {
        let parts = self.store.fold(
            || GramSum::new(self.kernel, size),
            |mut sum, piece| {
                add(&mut sum, piece);
                sum
            },
        )?;
        Ok(parts.into_iter().map(GramSum::finish).fold(Moments::empty(size), |a, b| a.plus(&b)))
    }
}

/// The negative gradient sum over all rows of a store.
pub(super) fn full_sum<S: Store>(
    store: &S,
    kernel: Kernel,
    clip: &Clip,
    theta: &Theta,
    lattice: &Lattice,
) -> Result<Vec<i128>, Error> {
    let sum = WeightedSum::new(clip);
    let zeros = || vec![0; lattice.features()];
    let parts = store.fold(zeros, |mut sums, piece| {
        sum.add_clipped(kernel, piece.cells, piece.bounds, (theta, lattice), &mut sums);
        sums
    })?;
    Ok(parts.into_iter().fold(zeros(), plus))
}

pub(super) fn plus(mut mine: Vec<i128>, theirs: Vec<i128>) -> Vec<i128> {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
    mine
}

impl<S: Store + 'static> Rows for Engine<S> {
    fn count(&self) -> u64 {
        self.count
    }

    fn features(&self) -> usize {
        self.features
    }

    fn set_clip(&mut self, clip: Clip) -> Result<(), Error> {
        // Bounds and what is known by screening stay good for as long as the clip does.
        if self.clip != Some(clip) {
            self.store.set_clip(&clip, self.kernel)?;
            self.clip = Some(clip);
            self.screen = Mutex::new(None);
        }
        Ok(())
    }

    fn expect(&mut self, forecast: Forecast) {
        let clip = self.clip();
        let screen = self.screen.get_mut().unwrap_or_else(PoisonError::into_inner);
        match screen {
            Some(screen) => screen.expect(forecast),
            None => *screen = Some(Screen::new(self.count, self.kernel, clip, forecast)),
        }
    }

    fn negative_gradient_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        let clip = self.clip();
        let sum = match &mut *self.screen.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(screen) => screen.negative_gradient_sum(&self.store, theta, lattice)?,
            None => full_sum(&self.store, self.kernel, &clip, theta, lattice)?,
        };
        // Each row's term `X_i w`, `|w| <= B_i`, has integer norm at most gamma (`Clip::bound`).
        Ok(Sensitive::claim(sum, neighbours.of_vector_sum(&clip.gamma_sq())))
    }

    fn clipped_square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        let (clip, shift) = (self.clip(), self.clip().square_shift());
        let sum = self.sum(|piece| {
            let squares = piece.blocks(self.features).map(|(block, bounds)| {
                let residual = residuals(self.kernel, block, theta, lattice.theta_unit());
                square_of_block(&residual, bounds, &norms_sq(self.kernel, block), shift)
            });
            squares.sum::<i128>()
        })?;
        // Each row's term is the square of a norm of at most gamma (`Clip::bound`), shifted down: an integer from 0 to gamma^2 / 2^shift.
        Ok(Sensitive::claim(vec![sum], neighbours.of_nonnegative_sum(&(clip.gamma_sq() >> shift))))
    }

    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        let clip = self.clip.as_ref();
        let sum = self.gram(self.features, |sum, piece| {
            outer.add_to(sum, self.kernel, piece.cells, (clip, piece.bounds), self.features);
        })?;
        Ok(OuterSum::new(sum, outer.largest_norm(clip), neighbours))
    }

    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error> {
        let zeros = || vec![0; ladder.len() + 1];
        let parts = self.store.fold(zeros, |mut sums, piece| {
            ladder.tally(self.kernel, piece.cells, self.features, &mut sums);
            sums
        })?;
        let plus = |mine: Vec<u64>, theirs: Vec<u64>| mine.iter().zip(theirs).map(|(a, b)| a + b).collect();
        Ok(TailCounts::new(above(&parts.into_iter().fold(zeros(), plus)), neighbours))
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error> {
        let count = self.sum(|piece| {
            let counts = piece.blocks(self.features).map(|(block, bounds)| {
                let residual = residuals(self.kernel, block, theta, lattice.theta_unit());
                clipped_in_block(&residual, bounds, &norms_sq(self.kernel, block))
            });
            counts.sum::<u64>()
        })?;
        Ok(NotPrivate::new(count))
    }

    fn moments(&self) -> Result<NotPrivate<Moments>, Error> {
        let moments = self.gram(self.features + 1, |sum, piece| sum.add_blocks(piece.cells, self.features))?;
        Ok(NotPrivate::new(moments))
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let mut rows = Engine::new(self.store.whitened(whitening)?, whitening.outputs(), self.count);
        rows.set_kernel(self.kernel);
        Ok(Box::new(rows))
    }
}
