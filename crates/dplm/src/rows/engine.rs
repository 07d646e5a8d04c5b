//! The questions, answered from any store.

use std::sync::{Mutex, PoisonError};

use num_bigint::BigUint;

use super::{
    Forecast, OuterSum, Rows, TailCounts,
    person::Grouping,
    screen::Screen,
    store::{Piece, Store},
};
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, Clip, GramSum, Kernel, Ladder, Lattice, Moments, Outer, RowBlock, Separate, Theta, WeightedSum,
        Whitening, above, add_unit_gradients, clipped_in_block, clipped_units, norms_sq, residuals, square_of_block,
        unit_square_sum,
    },
    privacy::{Neighbours, NotPrivate, Sensitive, Sensitivity},
};

/// Rows in a store of their own kind, ready for questions.
pub struct Engine<S> {
    pub(super) store: S,
    features: usize,
    /// How many units there are: rows, or persons with at most so many rows.
    count: u64,
    rows_in_unit: Option<u32>,
    /// Where these are the units of one of several groups, how many there are said to be: that is public, and how many there are is not.
    said: Option<u64>,
    kernel: Kernel,
    clip: Option<Clip>,
    /// What is known of the rows beyond their cells. Answers do not depend on it, only the time they take.
    screen: Mutex<Option<Screen>>,
}

impl<S: Store> Engine<S> {
    pub(super) fn new(store: S, features: usize, count: u64) -> Engine<S> {
        let (kernel, screen) = (Kernel::best(), Mutex::new(None));
        Engine { store, features, count, rows_in_unit: None, said: None, kernel, clip: None, screen }
    }

    /// The same rows by person, each with at most so many rows.
    pub(super) fn by_person(self, grouping: &Grouping, most: u32) -> Result<Engine<S>, Error> {
        let grouped = Engine::new(self.store.grouped(grouping)?, self.features, grouping.persons());
        Ok(Engine { rows_in_unit: Some(most), said: self.said, kernel: self.kernel, ..grouped })
    }

    /// Says that these are the units of one of several groups, about so many.
    pub(super) fn say_of_group(&mut self, said: u64) {
        self.said = Some(said);
    }

    /// How many units there are, which is not public of a group.
    pub(super) fn true_count(&self) -> u64 {
        self.count
    }

    fn sensitivity(&self, neighbours: Neighbours) -> Sensitivity {
        match self.said {
            None => Sensitivity::of_table(neighbours),
            Some(_) => Sensitivity::of_group(neighbours),
        }
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

    /// Shows every block, with how many of its rows are data. Groups of persons are shown whole, with the rows of zeros that fill them up.
    pub(super) fn for_each_block(&self, see: &mut dyn FnMut(RowBlock<'_>, usize)) -> Result<(), Error> {
        let mut left = if self.rows_in_unit.is_some() { usize::MAX } else { self.count as usize };
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
        if piece.is_grouped() {
            add_unit_gradients(kernel, piece.groups(lattice.features()), clip, (theta, lattice), &mut sums);
        } else {
            sum.add_clipped(kernel, piece.cells, piece.bounds, (theta, lattice), &mut sums);
        }
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
        self.said.unwrap_or(self.count)
    }

    fn rows_in_unit(&self) -> Option<u32> {
        self.rows_in_unit
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
        // Persons with several rows are visited at every step: what one contributes is not linear over a region where some are clipped.
        if self.rows_in_unit.is_some() {
            return;
        }
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
        // Each row's term `X_i w`, `|w| <= B_i`, has integer norm at most gamma (`Clip::bound`); so has a person's, the sum over their rows
        // clipped as a whole (`UnitGradients::factors`), and a person's rows decide nobody else's term.
        Ok(Sensitive::claim(sum, self.sensitivity(neighbours).of_vector_sum(&clip.gamma_sq())))
    }

    fn clipped_square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        let (clip, shift) = (self.clip(), self.clip().square_shift());
        let sum = self.sum(|piece| {
            if piece.is_grouped() {
                let at = (theta, lattice.theta_unit());
                return unit_square_sum(self.kernel, piece.groups(self.features), &clip, at);
            }
            let squares = piece.blocks(self.features).map(|(block, bounds)| {
                let residual = residuals(self.kernel, block, theta, lattice.theta_unit());
                square_of_block(&residual, bounds, &norms_sq(self.kernel, block), shift)
            });
            squares.sum::<i128>()
        })?;
        // Each row's or person's term is the square of a norm of at most gamma, as above, shifted down: an integer from 0 to
        // gamma^2 / 2^shift.
        Ok(Sensitive::claim(vec![sum], self.sensitivity(neighbours).of_number(&(clip.gamma_sq() >> shift))))
    }

    fn separate_gradient_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        let zeros = || vec![0; self.features];
        let parts = self.store.fold(zeros, |mut sums, piece| {
            for block in RowBlock::all(piece.cells, self.features) {
                bounds.add_gradients(self.kernel, block, (theta, lattice.theta_unit()), &mut sums);
            }
            sums
        })?;
        // Each row's term has integer norm at most that of the bounds (`Separate::for_each_term`), and a person has at most so many rows.
        let norm = BigUint::from(bounds.norm()) * self.rows_in_unit.unwrap_or(1);
        Ok(Sensitive::claim(
            parts.into_iter().fold(zeros(), plus),
            self.sensitivity(neighbours).of_vector_sum(&norm.pow(2)),
        ))
    }

    fn separate_square_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        let at = (theta, lattice.theta_unit());
        let sum = self.sum(|piece| {
            RowBlock::all(piece.cells, self.features).map(|block| bounds.squares(self.kernel, block, at)).sum::<i128>()
        })?;
        // The square of a norm of at most that of the bounds, as above, shifted down; and a person has at most so many rows.
        let top = (BigUint::from(bounds.norm()).pow(2) >> bounds.square_shift()) * self.rows_in_unit.unwrap_or(1);
        Ok(Sensitive::claim(vec![sum], self.sensitivity(neighbours).of_number(&top)))
    }

    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        let clip = self.clip.as_ref();
        let sum = self.gram(self.features, |sum, piece| match piece.is_grouped() {
            true => piece.groups(self.features).for_each(|group| outer.add_group(sum, self.kernel, group, clip)),
            false => outer.add_to(sum, self.kernel, piece.cells, (clip, piece.bounds), self.features),
        })?;
        Ok(OuterSum::new(sum, outer.largest_norm(clip), self.sensitivity(neighbours)))
    }

    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error> {
        let zeros = || vec![0; ladder.len() + 1];
        let parts = self.store.fold(zeros, |mut sums, piece| {
            match piece.is_grouped() {
                true => {
                    piece.groups(self.features).for_each(|group| ladder.tally_group(self.kernel, group, &mut sums));
                }
                false => ladder.tally(self.kernel, piece.cells, self.features, &mut sums),
            }
            sums
        })?;
        let plus = |mine: Vec<u64>, theirs: Vec<u64>| mine.iter().zip(theirs).map(|(a, b)| a + b).collect();
        Ok(TailCounts::new(above(&parts.into_iter().fold(zeros(), plus)), self.sensitivity(neighbours)))
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error> {
        let count = self.sum(|piece| {
            if piece.is_grouped() {
                let at = (theta, lattice.theta_unit());
                return clipped_units(self.kernel, piece.groups(self.features), &self.clip(), at);
            }
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
        let rows = Engine::new(self.store.whitened(whitening)?, whitening.outputs(), self.count);
        Ok(Box::new(Engine { kernel: self.kernel, rows_in_unit: self.rows_in_unit, said: self.said, ..rows }))
    }
}
