//! Encoded rows, wherever they are: the questions, answered from any store.

use std::cell::RefCell;

use super::{
    ClippedRows, CustomRows, ExpectedSteps, OuterSum, Rows, TailCounts,
    person::{Persons, Together},
    query::{At, Each, Query, Sum},
    screen::Screen,
    store::{Place, Store},
    through::{Measured, Measuring, Seen},
};
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, Clip, ClippedOuter, Kernel, Ladder, Lattice, Link, Number, Outer, RowBlock, SecondMoments, Theta,
        Whitening, above,
    },
    privacy::{Neighbours, NotPrivate, Sensitive, Sensitivity},
};

/// Encoded rows, ready for questions, wherever they are kept.
pub struct Encoded {
    pub(super) store: Box<dyn Store>,
    pub(super) features: usize,
    /// How many units there are: rows, or persons.
    count: u64,
    /// The most rows of a person; `None` if units are rows.
    rows_in_unit: Option<u32>,
    /// The public number of units, where these are the units of one of several groups: their true
    /// number is not public.
    said: Option<u64>,
    /// Whether these rows are needed for one fit only.
    given_up: bool,
    kernel: Kernel,
    clip: Option<Clip>,
    /// What is known of the rows beyond their cells. Answers do not depend on it, only the time
    /// they take.
    screen: Option<Screen>,
}

impl Encoded {
    /// `count` units, each a row with `features` coefficients.
    pub fn new(store: Box<dyn Store>, features: usize, count: u64) -> Encoded {
        let kernel = Kernel::best();
        Encoded {
            store,
            features,
            count,
            rows_in_unit: None,
            said: None,
            given_up: false,
            kernel,
            clip: None,
            screen: None,
        }
    }

    /// The same rows by person, of each the first `most`, and what is made of them together; as
    /// much memory again is needed for a while, or space in the temporary directory.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    pub fn by_person(self, persons: &Persons, most: u32, together: Together) -> Result<Encoded, Error> {
        let grouping = persons.grouping(most, together);
        let features = grouping.features(self.features);
        let grouped = Encoded::new(self.store.grouped(&grouping)?, features, grouping.persons());
        Ok(Encoded { rows_in_unit: Some(most), said: self.said, kernel: self.kernel, ..grouped })
    }

    /// Says that the units are persons, each with at most `rows_in_unit` rows, if a number is
    /// given.
    pub fn of_persons(self, rows_in_unit: Option<u32>) -> Encoded {
        Encoded { rows_in_unit, ..self }
    }

    /// Says that these are the units of one of several groups, and how many of them there are, as
    /// that was released or is public.
    ///
    /// # Guarantee
    /// From then on every query claims what [`Sensitivity`](crate::privacy) asks of groups, and how
    /// many units there are is not told.
    #[doc(hidden)]
    pub fn say_of_group(&mut self, said: u64) {
        self.said = Some(said);
    }

    /// Says that these rows are needed for one fit only, so that it may take the memory that they
    /// are in.
    pub(crate) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Where the rows are.
    #[doc(hidden)]
    pub fn place(&self) -> Place {
        self.store.place()
    }

    /// The same units in a store of their own, which nobody else has: it is given up if it is
    /// re-encoded at last.
    fn of_store(&self, store: Box<dyn Store>, features: usize) -> Encoded {
        let rows = Encoded::new(store, features, self.count);
        Encoded { kernel: self.kernel, rows_in_unit: self.rows_in_unit, said: self.said, given_up: true, ..rows }
    }

    /// How many units there are, which is not public of a group.
    pub(super) fn true_count(&self) -> u64 {
        self.count
    }

    /// Whether these are the rows of a whole table, each a unit.
    pub(super) fn is_whole(&self) -> bool {
        self.rows_in_unit.is_none() && self.said.is_none()
    }

    /// Stops a program that divides units by their place in the table, where they have none.
    pub(super) fn must_be_whole(&self) {
        assert!(self.is_whole(), "batches are of the rows of a whole table");
    }

    pub(super) fn sensitivity(&self, neighbours: Neighbours) -> Sensitivity {
        match self.said {
            None => Sensitivity::of_table(neighbours),
            Some(_) => Sensitivity::of_group(neighbours),
        }
    }

    /// Uses these instructions instead of the fastest; answers are the same.
    pub fn set_kernel(&mut self, kernel: Kernel) {
        self.kernel = kernel;
    }

    /// How many rows were looked at for
    /// [`ClippedRows::negative_gradient_sum`](super::ClippedRows::negative_gradient_sum) since it
    /// was forecast, for measuring.
    #[doc(hidden)]
    pub fn visited(&self) -> NotPrivate<u64> {
        NotPrivate::new(self.screen.as_ref().map_or(0, Screen::visited))
    }

    /// Shows every block, with how many of its rows are data. Groups of persons are shown whole,
    /// with the rows of zeros that fill them up.
    pub(crate) fn for_each_block(&self, see: &mut dyn FnMut(RowBlock<'_>, usize)) -> Result<(), Error> {
        let mut left = if self.rows_in_unit.is_some() { usize::MAX } else { self.count as usize };
        self.store.for_each_piece(&mut |cells| {
            for block in RowBlock::all(cells.open(), self.features) {
                let rows = left.min(BLOCK_ROWS);
                see(block, rows);
                left -= rows;
            }
        })
    }

    pub(super) fn sums(&self, sum: Sum<'_>) -> Result<Vec<i128>, Error> {
        self.store.sum(&Query { sum, features: self.features, kernel: self.kernel })
    }
}

impl Rows for Encoded {
    fn count(&self) -> u64 {
        self.said.unwrap_or(self.count)
    }

    fn rows_in_unit(&self) -> Option<u32> {
        self.rows_in_unit
    }

    fn features(&self) -> usize {
        self.features
    }

    fn clipped(&mut self, clip: Clip, forecast: Option<ExpectedSteps>) -> Result<Box<dyn ClippedRows + '_>, Error> {
        // Bounds and what is known by screening stay good for as long as the clip does.
        if self.clip != Some(clip) {
            self.store.set_clip(&clip, self.kernel)?;
            self.clip = Some(clip);
            self.screen = None;
        }
        let rows = self.rows_in_unit.map_or(self.count, |_| self.store.rows());
        match (&mut self.screen, forecast) {
            (_, None) => {}
            (Some(screen), Some(forecast)) => screen.expect(forecast),
            (screen, Some(forecast)) => {
                *screen = Some(Screen::new((self.count, rows), self.kernel, clip, forecast));
            }
        }
        Ok(Box::new(Clipped { rows: self, clip }))
    }

    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        let sum = SecondMoments::from_upper(self.features, self.sums(Sum::Outer(outer))?);
        Ok(OuterSum::new(sum, outer.largest_norm(), self.sensitivity(neighbours)))
    }

    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error> {
        let tally = self.sums(Sum::Tally(ladder))?;
        Ok(TailCounts::new(above(&tally), self.sensitivity(neighbours)))
    }

    fn custom(&self) -> Result<&dyn CustomRows, Error> {
        self.store.check_custom()?;
        Ok(self)
    }

    fn moments(&self) -> Result<NotPrivate<SecondMoments>, Error> {
        let moments = SecondMoments::from_upper(self.features + 1, self.sums(Sum::Moments)?);
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
        if self.rows_in_unit.is_some() || self.store.place() == Place::Elsewhere {
            return Ok(Box::new(self.whitened(whitening)?));
        }
        Ok(Box::new(SeenRows { rows: self, whitening, measured: RefCell::new(None) }))
    }
}

/// Rows whose store has the bounds of this clip.
struct Clipped<'a> {
    rows: &'a mut Encoded,
    clip: Clip,
}

impl Clipped<'_> {
    fn each(&self, each: Each, at: At<'_>) -> Result<Vec<i128>, Error> {
        self.rows.sums(Sum::Each(each, at, &self.clip))
    }

    /// A sum that screening knows nearly all of.
    fn known_outer_sum(&self, outer: &ClippedOuter<'_>) -> Result<Option<SecondMoments>, Error> {
        match (outer, &self.rows.screen, self.rows.store.in_memory()) {
            (&ClippedOuter::Unclipped { theta, theta_unit, radius }, Some(screen), Some(rows))
                if theta.link() == Link::Identity =>
            {
                screen.unclipped_outer_sum(rows.open(), (theta, theta_unit), radius)
            }
            _ => Ok(None),
        }
    }
}

impl ClippedRows for Clipped<'_> {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn negative_gradient_sum(
        &mut self,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        // Second moments say what unclipped residuals add up to where the mean is linear.
        let sum = match (&mut self.rows.screen, lattice.link()) {
            (Some(screen), Link::Identity) => screen.negative_gradient_sum(&*self.rows.store, theta, lattice)?,
            _ => self.each(Each::Gradient, (theta, lattice))?,
        };
        // Each row's term `X_i w`, `|w| <= B_i` (`family::weighted` of a binary response), has
        // integer norm at most gamma (`Clip::bound`); so has a person's, the sum over their rows
        // clipped as a whole (`UnitGradients::factors`), and a person's rows decide nobody else's
        // term.
        Ok(Sensitive::claim(sum, self.rows.sensitivity(neighbours).of_vector_sum(&self.clip.gamma_sq())))
    }

    fn bend_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        let sum = self.each(Each::Bend, (theta, lattice))?;
        // Each row's term is `X_i w`, `|w| <= B_i`, as above.
        Ok(Sensitive::claim(sum, self.rows.sensitivity(neighbours).of_vector_sum(&self.clip.gamma_sq())))
    }

    fn number_sum(
        &self,
        number: Number,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error> {
        let sum = self.each(Each::Number(number), (theta, lattice))?;
        // Each row's or person's term is a whole number from 0 to 2^20: 1 or 0 for an outcome, a
        // variance is at most a quarter, and an entropy at most one bit (`family::entropy`); the
        // mean of such numbers over a person's rows, cut, is one too.
        Ok(Sensitive::claim(sum, self.rows.sensitivity(neighbours).of_number(&Number::UNIT.into())))
    }

    fn square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error> {
        let sum = self.each(Each::Square, (theta, lattice))?;
        // Each row's or person's term is the square of a norm of at most gamma, as above, shifted
        // down: an integer from 0 to gamma^2 / 2^shift.
        let most = self.clip.gamma_sq() >> self.clip.square_shift();
        Ok(Sensitive::claim(sum, self.rows.sensitivity(neighbours).of_number(&most)))
    }

    fn outer_sum(&self, outer: &ClippedOuter<'_>, neighbours: Neighbours) -> Result<OuterSum, Error> {
        let sum = match self.known_outer_sum(outer)? {
            Some(known) => known,
            None => {
                SecondMoments::from_upper(self.rows.features(), self.rows.sums(Sum::ClippedOuter(outer, &self.clip))?)
            }
        };
        Ok(OuterSum::new(sum, outer.largest_norm(&self.clip), self.rows.sensitivity(neighbours)))
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error> {
        let count = self.each(Each::IsClipped, (theta, lattice))?;
        Ok(NotPrivate::new(count[0].try_into().expect("no more than there are rows")))
    }
}

/// Rows seen through a released matrix, which are not kept.
struct SeenRows<'a> {
    rows: &'a Encoded,
    whitening: &'a Whitening,
    /// What the first question found out for the second.
    measured: RefCell<Option<Measured>>,
}

impl SeenRows<'_> {
    fn query<'a>(&self, sum: Sum<'a>) -> Query<'a> {
        Query { sum, features: self.whitening.outputs(), kernel: self.rows.kernel }
    }
}

impl Seen for SeenRows<'_> {
    fn longer_than(&self, radii: &[u64], neighbours: Neighbours) -> Result<TailCounts, Error> {
        let (ladder, mut measured) = (Ladder::Norms { radii }, self.measured.borrow_mut());
        let tally = match &*measured {
            Some(_) => self.rows.store.sums_through(self.whitening, &self.query(Sum::Tally(&ladder)))?.open(),
            None => {
                let measuring =
                    Measuring { ladder: &ladder, features: self.whitening.outputs(), kernel: self.rows.kernel };
                let found = self.rows.store.measured(self.whitening, &measuring)?.open();
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
            _ => {
                SecondMoments::from_upper(query.features, self.rows.store.sums_through(self.whitening, &query)?.open())
            }
        };
        Ok(OuterSum::new(sum, outer.largest_norm(), self.rows.sensitivity(neighbours)))
    }
}
