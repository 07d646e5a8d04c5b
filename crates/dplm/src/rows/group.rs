//! The rows of each of several groups.
//!
//! A row is in the group that its cell in a column names, or in none. A person is in the group of
//! the first of their rows that is in any; their rows in other groups contribute nothing. Both are
//! rules about one unit, so that a unit is in one group at most.

use super::{Builder, Encoded, Persons, Together, answer};
use crate::{
    Error,
    lattice::Design,
    privacy::{Neighbours, Person, Sensitive},
    table::{Block, Cells, DataError, MISSING},
};

/// How many units each group has, for which nothing has been paid.
pub(crate) fn group_sizes<'a>(groups: impl Iterator<Item = &'a Encoded>, neighbours: Neighbours) -> Sensitive {
    answer::group_sizes(groups.map(Encoded::true_count), neighbours)
}

/// Takes table blocks and encodes the rows of each group by themselves.
pub(crate) struct GroupBuilder<'a> {
    builders: Vec<Builder<'a>>,
    /// How many units there are, in a group or in none.
    units: u64,
    members: Option<Members>,
}

impl<'a> GroupBuilder<'a> {
    /// No rows yet, for `groups` groups of rows, or of persons. All groups together take at most
    /// `memory` bytes.
    pub(crate) fn new(design: &'a Design, memory: Option<u64>, groups: usize, of_persons: bool) -> GroupBuilder<'a> {
        let builders = (0..groups).map(|_| Builder::new(design, memory).one_of(groups)).collect();
        GroupBuilder { builders, units: 0, members: of_persons.then(|| Members::of(groups)) }
    }

    /// Encodes a block of the table. The column after those of the design says which group a row is
    /// in, and the last one, where units are persons, who it is of.
    pub(crate) fn push(&mut self, block: &Block, by: usize) -> Result<(), DataError> {
        let mut of_rows = levels(&block.columns[by]).to_vec();
        let persons = match &mut self.members {
            None => {
                self.units += block.rows as u64;
                None
            }
            Some(members) => {
                let of_table = block.columns.last().expect("a block has columns");
                let local = members.join(levels(of_table), &mut of_rows);
                self.units = members.of_persons.len() as u64;
                Some(local)
            }
        };
        for (group, builder) in (0..).zip(&mut self.builders) {
            let rows: Vec<usize> = (0..block.rows).filter(|&row| of_rows[row] == group).collect();
            builder.push(&block.only(&rows))?;
            if let (Some(members), Some(local)) = (&mut self.members, &persons) {
                let of_group: Vec<u32> = rows.iter().map(|&row| local[row]).collect();
                members.groups[group as usize].push(&of_group)?;
            }
        }
        Ok(())
    }

    /// The rows of each group, and how many units there are in all.
    pub(crate) fn finish(self, persons: Option<(&Person, Together)>) -> Result<(Vec<Encoded>, u64), Error> {
        let mut groups = Vec::new();
        for (index, builder) in self.builders.into_iter().enumerate() {
            let mut rows = builder.finish()?;
            if let (Some(members), Some((person, together))) = (&self.members, persons) {
                rows = rows.by_person(&members.groups[index], person.most_rows(), together)?;
            }
            // Nothing is said of its size before that is released.
            rows.say_of_group(0);
            groups.push(rows);
        }
        Ok((groups, self.units))
    }
}

/// Which persons are in which group.
struct Members {
    /// The group of each person, and their number in it; none while none of their rows is in any.
    of_persons: Vec<Option<(u32, u32)>>,
    groups: Vec<Persons>,
    counts: Vec<u32>,
}

impl Members {
    fn of(groups: usize) -> Members {
        let none = std::iter::repeat_with(Persons::new).take(groups).collect();
        Members { of_persons: Vec::new(), groups: none, counts: vec![0; groups] }
    }

    /// Takes the next rows in: gives each person's number in their group, and takes rows out of
    /// groups that are not their person's.
    fn join(&mut self, persons: &[u32], of_rows: &mut [u32]) -> Vec<u32> {
        let join = |(&person, group): (&u32, &mut u32)| {
            if person == MISSING {
                *group = MISSING;
                return MISSING;
            }
            let known = self.of_persons.len().max(person as usize + 1);
            self.of_persons.resize(known, None);
            if *group == MISSING {
                return MISSING;
            }
            let counts = &mut self.counts;
            let (of_person, number) = *self.of_persons[person as usize].get_or_insert_with(|| {
                let count = &mut counts[*group as usize];
                *count += 1;
                (*group, *count - 1)
            });
            *group = if of_person == *group { of_person } else { MISSING };
            number
        };
        persons.iter().zip(of_rows).map(join).collect()
    }
}

fn levels(cells: &Cells) -> &[u32] {
    match cells {
        Cells::Levels(codes) => codes,
        Cells::Numbers(_) => unreachable!("groups and persons are read as levels"),
    }
}
