//! How many units contribute anything, and how many cells of each column can be used.
//!
//! A row with a missing cell is a row of zeros, so what is asked of encoded rows cannot tell which
//! column it was that made them so. The cells of each column are counted beside, while rows are
//! encoded.

use rayon::prelude::*;

use super::{Encoded, Rows, answer::above_in_all};
use crate::{
    Error,
    formula::{Column, Kind},
    lattice::Ladder,
    privacy::{Neighbours, Person, Sensitive, Sensitivity},
    table::{Block, Cells, MISSING},
};

/// How many units contribute anything: rows, or persons with a row, that are not all zeros. Where
/// there are groups, over all of them.
///
/// # Errors
/// When rows cannot be read.
pub fn usable_units<'a>(groups: impl Iterator<Item = &'a Encoded>, neighbours: Neighbours) -> Result<Sensitive, Error> {
    // Whole numbers that are not all zeros have a norm above 0.
    let ladder = Ladder::Norms { radii: &[0] };
    let tables = groups.map(|group| group.tail_counts(&ladder, neighbours)).collect::<Result<Vec<_>, _>>()?;
    Ok(above_in_all(&tables, neighbours))
}

/// How many cells of each column can be used, for which nothing has been paid.
///
/// Of rows: one number for a column of numbers, and one for each level of a column with levels. Of
/// persons: one number for each column, how many persons have a usable cell in it. A person with
/// several rows may have several levels, so that counts of levels would cost more than they tell.
pub struct CellCounts(Counts);

enum Counts {
    OfRows(Vec<OfRows>),
    OfPersons(OfPersons),
}

/// The usable cells of a column.
enum OfRows {
    Numbers(u64),
    Levels(Vec<u64>),
}

/// Which persons have a usable cell in each column, among the rows that count.
struct OfPersons {
    /// A bit for each person, for each column.
    has: Vec<Vec<u64>>,
    /// How many rows of each person there were so far.
    rows: Vec<u32>,
    most: u32,
}

impl CellCounts {
    /// No cells yet, of rows with these columns, or of persons with such rows.
    pub fn new(columns: &[Column], person: Option<&Person>) -> CellCounts {
        CellCounts(match person {
            None => Counts::OfRows(columns.iter().map(OfRows::of).collect()),
            Some(person) => Counts::OfPersons(OfPersons {
                has: vec![Vec::new(); columns.len()],
                rows: Vec::new(),
                most: person.most_rows(),
            }),
        })
    }

    /// Counts the cells of a block, whose first columns are these. The last one, where units are
    /// persons, says whose rows they are.
    pub fn see(&mut self, block: &Block) {
        match &mut self.0 {
            Counts::OfRows(columns) => {
                columns.par_iter_mut().zip(&block.columns).for_each(|(column, cells)| column.see(cells));
            }
            Counts::OfPersons(persons) => match block.columns.last() {
                Some(Cells::Levels(of_rows)) => persons.see(of_rows, block),
                _ => unreachable!("the last column says which person a row belongs to"),
            },
        }
    }

    /// How far a unit moves the numbers, squared; public.
    pub fn moved_sq(&self, neighbours: Neighbours) -> u32 {
        self.delta_sq(neighbours).try_into().expect("fewer than 2^30 columns")
    }

    fn delta_sq(&self, neighbours: Neighbours) -> num_bigint::BigUint {
        let (numbers, partitions) = match &self.0 {
            Counts::OfPersons(persons) => (persons.has.len(), 0),
            Counts::OfRows(columns) => {
                let numbers = columns.iter().filter(|column| matches!(column, OfRows::Numbers(_))).count();
                (numbers, columns.len() - numbers)
            }
        };
        let whole = |count: usize| u32::try_from(count).expect("fewer than 2^30 columns");
        Sensitivity::of_table(neighbours).of_columns(whole(numbers), whole(partitions))
    }

    /// The numbers, column by column.
    pub fn claimed(&self, neighbours: Neighbours) -> Sensitive {
        let values = match &self.0 {
            Counts::OfRows(columns) => {
                columns.iter().flat_map(OfRows::counts).map(|&count| i128::from(count)).collect()
            }
            Counts::OfPersons(persons) => persons.has.iter().map(|bits| ones(bits)).collect(),
        };
        // Whether a cell can be used, and which level it has, is a rule about that cell, and which
        // rows of a person count is one about that person. A row is counted once for a column of
        // numbers and for one level of any other column; a person is counted once for each column.
        // A unit that is zeroed out has no usable cell.
        Sensitive::claim(values, self.delta_sq(neighbours))
    }
}

impl OfRows {
    fn of(column: &Column) -> OfRows {
        match &column.kind {
            Kind::Levels(levels) => OfRows::Levels(vec![0; levels.len()]),
            Kind::Standard | Kind::Bounded { .. } | Kind::Dates { .. } => OfRows::Numbers(0),
        }
    }

    fn counts(&self) -> &[u64] {
        match self {
            OfRows::Numbers(count) => std::slice::from_ref(count),
            OfRows::Levels(counts) => counts,
        }
    }

    fn see(&mut self, cells: &Cells) {
        match (self, cells) {
            (OfRows::Numbers(count), Cells::Numbers(numbers)) => {
                *count += numbers.iter().map(|number| u64::from(number.is_finite())).sum::<u64>();
            }
            (OfRows::Levels(counts), Cells::Levels(codes)) => {
                codes.iter().filter(|&&code| code != MISSING).for_each(|&code| counts[code as usize] += 1);
            }
            _ => unreachable!("cells are of the kind of their column"),
        }
    }
}

impl OfPersons {
    fn see(&mut self, of_rows: &[u32], block: &Block) {
        let counted: Vec<Option<u32>> = of_rows.iter().map(|&person| self.counted(person)).collect();
        let words = self.rows.len().div_ceil(64);
        self.has.par_iter_mut().zip(&block.columns).for_each(|(bits, cells)| {
            bits.resize(words, 0);
            for (row, person) in counted.iter().enumerate() {
                match person {
                    Some(person) if is_usable(cells, row) => bits[*person as usize / 64] |= 1 << (person % 64),
                    _ => {}
                }
            }
        });
    }

    /// The person whose next row this is, where that row counts.
    fn counted(&mut self, person: u32) -> Option<u32> {
        if person == MISSING {
            return None;
        }
        let known = self.rows.len().max(person as usize + 1);
        self.rows.resize(known, 0);
        let rows = &mut self.rows[person as usize];
        *rows = rows.saturating_add(1);
        (*rows <= self.most).then_some(person)
    }
}

fn is_usable(cells: &Cells, row: usize) -> bool {
    match cells {
        Cells::Numbers(numbers) => numbers[row].is_finite(),
        Cells::Levels(codes) => codes[row] != MISSING,
    }
}

fn ones(bits: &[u64]) -> i128 {
    bits.iter().map(|word| i128::from(word.count_ones())).sum()
}
