//! The questions, answered from any store.

use std::{
    cell::RefCell,
    sync::{Mutex, PoisonError},
};

use num_bigint::BigUint;

use super::{
    BatchFits, Batching, BinSums, Bins, Forecast, OuterSum, Rows, TailCounts,
    batch::{BatchCells, BatchSums},
    person::Grouping,
    query::{Query, Sum, Term},
    screen::Screen,
    store::Store,
    through::{Measured, Measuring, Seen},
};
use crate::{
    Error,
    lattice::{BLOCK_ROWS, Clip, Kernel, Ladder, Lattice, Moments, Outer, RowBlock, Separate, Theta, Whitening, above},
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
    /// Whether these rows are needed for one fit only.
    given_up: bool,
    kernel: Kernel,
    clip: Option<Clip>,
    /// What is known of the rows beyond their cells. Answers do not depend on it, only the time they take.
    screen: Mutex<Option<Screen>>,
}

impl<S: Store> Engine<S> {
    pub(super) fn new(store: S, features: usize, count: u64) -> Engine<S> {
        let (kernel, screen) = (Kernel::best(), Mutex::new(None));
        Engine { store, features, count, rows_in_unit: None, said: None, given_up: false, kernel, clip: None, screen }
    }

    /// The same rows by person, each with at most so many rows.
    pub(super) fn by_person(self, grouping: &Grouping, most: u32) -> Result<Engine<S>, Error> {
        let grouped = Engine::new(self.store.grouped(grouping)?, self.features, grouping.persons());
        Ok(Engine { rows_in_unit: Some(most), said: self.said, kernel: self.kernel, ..grouped })
    }

    /// Says that the units are persons, each with at most so many rows, where a number is given.
    pub(super) fn of_persons(self, rows_in_unit: Option<u32>) -> Engine<S> {
        Engine { rows_in_unit, ..self }
    }

    /// Says that these are the units of one of several groups, about so many.
    pub(super) fn say_of_group(&mut self, said: u64) {
        self.said = Some(said);
    }

    /// Says that these rows are needed for one fit only.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// The same units in a store of their own.
    fn of_store(&self, store: S, features: usize) -> Engine<S> {
        let rows = Engine::new(store, features, self.count);
        Engine { kernel: self.kernel, rows_in_unit: self.rows_in_unit, said: self.said, ..rows }
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

    fn sums(&self, sum: Sum<'_>) -> Result<Vec<i128>, Error> {
        self.store.sums(&Query { sum, features: self.features, clip: self.clip.as_ref(), kernel: self.kernel })
    }
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
        let (clip, rows) = (self.clip(), self.rows_in_unit.map_or(self.count, |_| self.store.rows()));
        let screen = self.screen.get_mut().unwrap_or_else(PoisonError::into_inner);
        match screen {
            Some(screen) => screen.expect(forecast),
            None => *screen = Some(Screen::new((self.count, rows), self.kernel, clip, forecast)),
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
            None => self.sums(Sum::Terms(Term::Gradient, (theta, lattice)))?,
        };
        // Each row's term `X_i w`, `|w| <= B_i`, has integer norm at most gamma (`Clip::bound`); so has a person's, the sum over their rows
        // clipped as a whole (`UnitGradients::factors`), and a person's rows decide nobody else's term.
        Ok(Sensitive::claim(sum, self.sensitivity(neighbours).of_vector_sum(&clip.gamma_sq())))
    }

    fn clipped_square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        let (clip, shift) = (self.clip(), self.clip().square_shift());
        let sum = self.sums(Sum::Terms(Term::Square, (theta, lattice)))?;
        // Each row's or person's term is the square of a norm of at most gamma, as above, shifted down: an integer from 0 to
        // gamma^2 / 2^shift.
        Ok(Sensitive::claim(sum, self.sensitivity(neighbours).of_number(&(clip.gamma_sq() >> shift))))
    }

    fn separate_gradient_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        let sum = self.sums(Sum::Terms(Term::SeparateGradient(bounds), (theta, lattice)))?;
        // Each row's term has integer norm at most that of the bounds (`Separate::for_each_term`), and a person has at most so many rows.
        let norm = BigUint::from(bounds.norm()) * self.rows_in_unit.unwrap_or(1);
        Ok(Sensitive::claim(sum, self.sensitivity(neighbours).of_vector_sum(&norm.pow(2))))
    }

    fn separate_square_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        let sum = self.sums(Sum::Terms(Term::SeparateSquare(bounds), (theta, lattice)))?;
        // The square of a norm of at most that of the bounds, as above, shifted down; and a person has at most so many rows.
        let top = (BigUint::from(bounds.norm()).pow(2) >> bounds.square_shift()) * self.rows_in_unit.unwrap_or(1);
        Ok(Sensitive::claim(sum, self.sensitivity(neighbours).of_number(&top)))
    }

    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        let clip = self.clip.as_ref();
        let sum = Moments::from_upper(self.features, self.sums(Sum::Outer(outer))?);
        Ok(OuterSum::new(sum, outer.largest_norm(clip), self.sensitivity(neighbours)))
    }

    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error> {
        let tally = self.sums(Sum::Tally(ladder))?;
        Ok(TailCounts::new(above(&tally), self.sensitivity(neighbours)))
    }

    fn batch_fits(&self, batching: &Batching, neighbours: Neighbours) -> Result<BatchFits, Error> {
        assert!(self.rows_in_unit.is_none() && self.said.is_none(), "batches are of the rows of a whole table");
        let mut sums = BatchSums::new(batching.batches, self.features);
        self.for_each_block(&mut |block, rows| sums.add(block, rows))?;
        Ok(BatchFits::new(&sums.finish(self.features), batching, self.sensitivity(neighbours)))
    }

    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error> {
        assert!(self.rows_in_unit.is_none() && self.said.is_none(), "batches are of the rows of a whole table");
        let mut cells = BatchCells::new(batches, self.features);
        self.for_each_block(&mut |block, rows| cells.add(block, rows))?;
        Ok(cells.finish().into_iter().map(|rows| -> Box<dyn Rows> { Box::new(rows) }).collect())
    }

    fn bin_sums(&self, bins: &Bins, radius: u64, neighbours: Neighbours) -> Result<BinSums, Error> {
        assert!(self.rows_in_unit.is_none(), "bins are of rows");
        let mut sums = BinSums::new(bins, radius, self.features, self.sensitivity(neighbours));
        self.for_each_block(&mut |block, _| sums.add(bins, block))?;
        Ok(sums)
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error> {
        let count = self.sums(Sum::Terms(Term::IsClipped, (theta, lattice)))?;
        Ok(NotPrivate::new(count[0].try_into().expect("no more than there are rows")))
    }

    fn moments(&self) -> Result<NotPrivate<Moments>, Error> {
        let moments = Moments::from_upper(self.features + 1, self.sums(Sum::Moments)?);
        Ok(NotPrivate::new(moments))
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        Ok(Box::new(self.of_store(self.store.whitened(whitening)?, whitening.outputs())))
    }

    fn whitened_at_last(&mut self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        match self.given_up.then(|| self.store.whitened_in_place(whitening)).flatten() {
            Some(store) => Ok(Box::new(self.of_store(store, whitening.outputs()))),
            None => self.whitened(whitening),
        }
    }

    fn through<'a>(&'a self, whitening: &'a Whitening) -> Result<Box<dyn Seen + 'a>, Error> {
        // What a person with several rows is depends on all of them together.
        if self.rows_in_unit.is_some() || !self.store.is_here() {
            return Ok(Box::new(self.whitened(whitening)?));
        }
        Ok(Box::new(SeenRows { rows: self, whitening, measured: RefCell::new(None) }))
    }
}

/// Rows seen through a released matrix, which are not kept.
struct SeenRows<'a, S> {
    rows: &'a Engine<S>,
    whitening: &'a Whitening,
    /// What the first question found out for the second.
    measured: RefCell<Option<Measured>>,
}

impl<S: Store> SeenRows<'_, S> {
    fn query<'a>(&self, sum: Sum<'a>) -> Query<'a> {
        Query { sum, features: self.whitening.outputs(), clip: None, kernel: self.rows.kernel }
    }
}

impl<S: Store> Seen for SeenRows<'_, S> {
    fn longer_than(&self, radii: &[u64], neighbours: Neighbours) -> Result<TailCounts, Error> {
        let (ladder, mut measured) = (Ladder::Norms { radii }, self.measured.borrow_mut());
        let tally = match &*measured {
            Some(_) => self.rows.store.sums_through(self.whitening, &self.query(Sum::Tally(&ladder)))?,
            None => {
                let measuring =
                    Measuring { ladder: &ladder, features: self.whitening.outputs(), kernel: self.rows.kernel };
                let found = self.rows.store.measured(self.whitening, &measuring)?;
                measured.insert(found).tally.clone()
            }
        };
        Ok(TailCounts::new(above(&tally), self.rows.sensitivity(neighbours)))
    }

    fn second_moments(&self, radius: u64, neighbours: Neighbours) -> Result<OuterSum, Error> {
        let (outer, measured) = (Outer::Shrunk { radius }, self.measured.borrow());
        let query = self.query(Sum::Outer(&outer));
        let sum = match &*measured {
            Some(measured) if measured.suffices(radius) => measured.second_moments(&query)?,
            _ => Moments::from_upper(query.features, self.rows.store.sums_through(self.whitening, &query)?),
        };
        Ok(OuterSum::new(sum, outer.largest_norm(None), self.rows.sensitivity(neighbours)))
    }
}
