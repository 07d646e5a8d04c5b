//! The rows of each person, brought together.
//!
//! Where the privacy unit is a person, all rows with the same value in an identifier column are one
//! contribution. A table may have them in any order, so they are laid out anew once all are read:
//! persons with one row as rows, and persons with several side by side in groups of 32, sorted by
//! their number of rows so that little is filled up with zeros. The layout depends on the rows, and
//! no answer depends on the layout: sums over persons are exact.
//!
//! # Guarantee
//! Of a person's rows, only the first ones in the order of the table count, up to a stated number:
//! a rule about that person alone. A row without an identifier belongs to nobody: it contributes
//! nothing and adds nobody to the count. What is made of a person's rows ([`Together`]) looks at no
//! other person's.

use std::ops::Range;

use crate::{
    lattice::{BLOCK_ROWS, Design, RowBlock, weigh_as_one, without_means},
    privacy::Person,
    table::{DataError, MISSING},
};

/// Which person each row belongs to: for each row of a table, in order, the number of a person, or
/// [`MISSING`].
#[derive(Default)]
pub struct Persons {
    of_rows: Vec<u32>,
    count: u32,
}

impl Persons {
    /// No rows yet.
    pub fn new() -> Persons {
        Persons::default()
    }

    /// The next rows of the table. Persons are numbered from 0 without gaps, in any order.
    ///
    /// # Errors
    /// When there are more rows than are counted.
    pub fn push(&mut self, of_rows: &[u32]) -> Result<(), DataError> {
        if self.of_rows.len() + of_rows.len() > Grouping::NONE as usize {
            return Err(DataError::TooManyPersons);
        }
        self.of_rows.extend_from_slice(of_rows);
        let most = of_rows.iter().filter(|&&person| person != MISSING).max();
        self.count = self.count.max(most.map_or(0, |most| most + 1));
        Ok(())
    }

    /// Where each row goes, of each person the first `most` rows.
    pub fn grouping(&self, most: u32, together: Together) -> Grouping {
        let sizes = self.sizes(most);
        let order = Order::by_size(&sizes);
        let mut rows = vec![Grouping::NONE; order.blocks() * BLOCK_ROWS];
        let mut seen = vec![0; sizes.len()];
        for (row, &person) in (0..).zip(&self.of_rows).filter(|(_, person)| **person != MISSING) {
            let person = person as usize;
            if seen[person] < sizes[person] {
                rows[order.place(person, seen[person])] = row;
                seen[person] += 1;
            }
        }
        let (singles, persons) = (order.single_blocks(), self.count.into());
        Grouping { rows, singles, depths: order.depths, persons, together }
    }

    /// How many rows each person keeps.
    fn sizes(&self, most: u32) -> Vec<u32> {
        let mut sizes = vec![0u32; self.count as usize];
        for &person in self.of_rows.iter().filter(|person| **person != MISSING) {
            let size = &mut sizes[person as usize];
            *size = (*size + 1).min(most);
        }
        sizes
    }
}

/// What is made of the rows of a person once they are together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// Whether each person counts once, not each row.
    pub once: bool,
    /// Whether the person's own means are taken out. The first column is the constant then, and is
    /// gone afterwards.
    pub within: bool,
}

impl Together {
    /// What a model makes of the rows of persons.
    pub fn of(person: &Person, design: &Design) -> Together {
        Together { once: person.counts_once, within: design.is_within() }
    }

    /// How many of the columns that were read are left.
    pub(super) fn features(self, read: usize) -> usize {
        read - usize::from(self.within)
    }
}

/// Persons sorted by their number of rows.
struct Order {
    /// The place of each person.
    ranks: Vec<u32>,
    singles: usize,
    /// The blocks of each group, and those of all groups before it.
    depths: Vec<u32>,
    before: Vec<usize>,
}

impl Order {
    fn by_size(sizes: &[u32]) -> Order {
        let mut persons: Vec<u32> = (0..).take(sizes.len()).collect();
        persons.sort_by_key(|&person| sizes[person as usize]);
        let mut ranks = vec![0; sizes.len()];
        (0..).zip(&persons).for_each(|(rank, &person)| ranks[person as usize] = rank);
        let singles = persons.partition_point(|&person| sizes[person as usize] <= 1);
        // The last of a group has the most rows.
        let groups = persons[singles..].chunks(BLOCK_ROWS);
        let depths: Vec<u32> = groups.map(|group| sizes[group[group.len() - 1] as usize]).collect();
        let before = depths.iter().scan(0, |sum, &depth| Some(std::mem::replace(sum, *sum + depth as usize))).collect();
        Order { ranks, singles, depths, before }
    }

    fn single_blocks(&self) -> usize {
        self.singles.div_ceil(BLOCK_ROWS)
    }

    fn blocks(&self) -> usize {
        self.single_blocks() + self.depths.iter().map(|&depth| depth as usize).sum::<usize>()
    }

    /// Where a person's row of this number goes.
    fn place(&self, person: usize, row: u32) -> usize {
        let rank = self.ranks[person] as usize;
        match rank.checked_sub(self.singles) {
            None => rank,
            Some(rank) => {
                let block = self.single_blocks() + self.before[rank / BLOCK_ROWS] + row as usize;
                block * BLOCK_ROWS + rank % BLOCK_ROWS
            }
        }
    }
}

/// Where the rows of persons lie.
pub struct Grouping {
    /// For each lane of each block, which row of the table is there.
    rows: Vec<u32>,
    /// Blocks of persons with one row, which come first.
    singles: usize,
    /// The blocks of each group of persons with several.
    depths: Vec<u32>,
    persons: u64,
    together: Together,
}

/// Some neighbouring blocks, of persons with one row or of whole groups.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cut {
    pub blocks: Range<usize>,
    pub groups: Range<usize>,
}

impl Grouping {
    /// No row of the table.
    pub(super) const NONE: u32 = u32::MAX;

    /// How many persons there are.
    pub(super) fn persons(&self) -> u64 {
        self.persons
    }

    /// All blocks, in pieces of about `most_blocks` that keep groups whole.
    pub(super) fn cuts(&self, most_blocks: usize) -> Vec<Cut> {
        let singles = (0..self.singles).step_by(most_blocks);
        let mut cuts: Vec<Cut> =
            singles.map(|from| Cut { blocks: from..self.singles.min(from + most_blocks), groups: 0..0 }).collect();
        let mut end = self.singles;
        for (index, &depth) in self.depths.iter().enumerate() {
            let start = end;
            end += depth as usize;
            match cuts.last_mut().filter(|cut| !cut.groups.is_empty() && end - cut.blocks.start <= most_blocks) {
                Some(cut) => *cut = Cut { blocks: cut.blocks.start..end, groups: cut.groups.start..index + 1 },
                None => cuts.push(Cut { blocks: start..end, groups: index..index + 1 }),
            }
        }
        cuts
    }

    /// Which rows of the table the lanes of these blocks hold.
    pub(super) fn rows_of(&self, cut: &Cut) -> &[u32] {
        &self.rows[cut.blocks.start * BLOCK_ROWS..cut.blocks.end * BLOCK_ROWS]
    }

    /// How many of the columns that were read are left.
    pub(super) fn features(&self, read: usize) -> usize {
        self.together.features(read)
    }

    /// What is made of the rows of each person of a piece: they weigh as much as one together, or
    /// the person's means are taken out, which leaves nothing of a row by itself. The groups of a
    /// piece end it.
    pub(super) fn settled(&self, mut cells: Vec<f32>, cut: &Cut, features: usize) -> Vec<f32> {
        let Together { once, within } = self.together;
        let length = RowBlock::len_for(features);
        let depths = self.depths_of(cut).iter().map(|&depth| depth as usize);
        let singles = cut.blocks.len() - depths.clone().sum::<usize>();
        let mut settled = vec![0.0; singles * RowBlock::len_for(self.features(features))];
        let mut rest = &mut cells[singles * length..];
        for depth in depths {
            let (group, others) = rest.split_at_mut(depth * length);
            if once {
                weigh_as_one(group, features);
            }
            if within {
                settled.extend(without_means(group, features));
            }
            rest = others;
        }
        if within { settled } else { cells }
    }

    /// The blocks of each group.
    pub(super) fn depths(&self) -> &[u32] {
        &self.depths
    }

    /// The blocks of each group of a piece; empty if it has no groups.
    pub(super) fn depths_of(&self, cut: &Cut) -> &[u32] {
        &self.depths[cut.groups.clone()]
    }
}
