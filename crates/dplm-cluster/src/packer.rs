//! The rows of a part of the data, packed block by block, those of a person together and those of
//! each group by themselves.

use dplm::{
    Design, Person,
    rows::Together,
    table::{Block, Cells, MISSING},
};

use crate::{
    BlockId, RemoteError,
    pack::{Units, most_rows, most_rows_of_person, pack_nobody},
};

/// Rows of all groups together that wait for more of their block, in blocks.
const MOST_WAITING: usize = 4;

/// Packs the rows of a part of the data.
///
/// # Guarantee
/// Which rows of a person count, and in which group, is a rule about that person alone. The first
/// row that is in a group decides the person's group, and the first rows in that group count, up to
/// the stated number, in the order in which they come. [`GroupedDataset`](dplm::GroupedDataset) has
/// the same rule on one machine.
pub struct Packer {
    design: Design,
    /// How many coefficients there are, which may be fewer than columns that are packed.
    features: usize,
    part: u32,
    place: u32,
    is_grouped: bool,
    /// The most rows of a person, and what is made of them.
    of_persons: Option<(usize, Together)>,
    /// Rows of the person who came last: more of theirs may come.
    last: Option<(Block, u128)>,
    groups: Vec<Waiting>,
    /// Units in no group.
    nobody: u32,
    packed: Vec<Packed>,
}

/// A packed block, and the number of its group; `None` if its units are in no group.
pub struct Packed {
    /// The group.
    pub group: Option<u32>,
    /// What [`answer`](crate::answer()) takes.
    pub bytes: Vec<u8>,
}

/// Units of a group that wait for more of their block.
#[derive(Default)]
struct Waiting {
    rows: Option<Block>,
    sizes: Vec<u16>,
    /// Rows of the table block at hand that are to join.
    joining: Vec<usize>,
}

impl Waiting {
    fn len(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.rows) + self.joining.len()
    }

    /// Takes the rows that are to join out of the table block.
    fn settle(&mut self, block: &Block) {
        if self.joining.is_empty() {
            return;
        }
        let rows = block.only(&std::mem::take(&mut self.joining));
        match &mut self.rows {
            Some(waiting) => waiting.append(rows),
            None => self.rows = Some(rows),
        }
    }
}

impl Packer {
    /// No rows yet of this part of the data, for `groups` groups if rows are grouped.
    ///
    /// # Errors
    /// When a person's rows could take more memory than is there for them.
    pub fn new(
        design: Design,
        part: u32,
        groups: Option<usize>,
        person: Option<&Person>,
    ) -> Result<Packer, RemoteError> {
        let of_persons = match person {
            None => None,
            Some(person) => {
                check_person(person.most_rows(), design.as_read().features())?;
                Some((person.most_rows() as usize, Together::of(person, &design)))
            }
        };
        let waiting = std::iter::repeat_with(Waiting::default).take(groups.unwrap_or(1)).collect();
        Ok(Packer {
            features: design.kept_features(),
            design: design.as_read(),
            part,
            place: 0,
            is_grouped: groups.is_some(),
            of_persons,
            last: None,
            groups: waiting,
            nobody: 0,
            packed: Vec::new(),
        })
    }

    /// Takes the next rows. Where there are groups, the column after those of the design says which
    /// a row is in. Where units are persons, `persons` has a number for each row that is theirs
    /// alone; all rows of a person come one after another, and persons in ascending order.
    ///
    /// # Errors
    /// When persons come in another order.
    pub fn push(&mut self, block: Block, persons: Option<&[u128]>) -> Result<(), RemoteError> {
        match persons {
            None => self.push_rows(&block),
            Some(persons) => self.push_persons(block, persons)?,
        }
        while self.groups.iter().map(Waiting::len).sum::<usize>() > MOST_WAITING * most_rows(self.design.features()) {
            let fullest = (0..self.groups.len()).max_by_key(|&group| self.groups[group].len()).expect("a group");
            self.pack_waiting(fullest);
        }
        Ok(())
    }

    /// The blocks that are full.
    pub fn take(&mut self) -> Vec<Packed> {
        std::mem::take(&mut self.packed)
    }

    /// The remaining blocks.
    pub fn finish(mut self) -> Vec<Packed> {
        if let Some((rows, _)) = self.last.take() {
            self.push_whole(&rows, &[rows.rows]);
        }
        (0..self.groups.len()).for_each(|group| self.pack_waiting(group));
        self.pack_nobody();
        self.packed
    }

    fn push_rows(&mut self, block: &Block) {
        let codes = self.codes(block);
        for row in 0..block.rows {
            match codes.map_or(0, |codes| codes[row]) {
                MISSING => self.count_nobody(),
                group => self.join(group as usize, &[row], block),
            }
        }
        self.groups.iter_mut().for_each(|group| group.settle(block));
    }

    fn push_persons(&mut self, block: Block, persons: &[u128]) -> Result<(), RemoteError> {
        if persons.len() != block.rows || !persons.is_sorted() {
            return Err(RemoteError::Scattered);
        }
        let Some(&first) = persons.first() else { return Ok(()) };
        let mut sizes: Vec<usize> = persons.chunk_by(|one, next| one == next).map(<[u128]>::len).collect();
        let mut rows = block;
        if let Some((mut last, person)) = self.last.take() {
            match person.cmp(&first) {
                std::cmp::Ordering::Less => sizes.insert(0, last.rows),
                std::cmp::Ordering::Equal => sizes[0] += last.rows,
                std::cmp::Ordering::Greater => return Err(RemoteError::Scattered),
            }
            last.append(rows);
            rows = last;
        }
        let open = sizes.pop().expect("a person at least");
        self.push_whole(&rows, &sizes);
        let kept = self.kept(&rows, rows.rows - open..rows.rows);
        // One row at least says that the person is there.
        let kept = if kept.rows.is_empty() { vec![rows.rows - open] } else { kept.rows };
        self.last = Some((rows.only(&kept), persons[persons.len() - 1]));
        Ok(())
    }

    /// Takes persons of whom no more rows will come; `sizes` has the number of rows of each.
    fn push_whole(&mut self, block: &Block, sizes: &[usize]) {
        let mut start = 0;
        for size in sizes {
            let kept = self.kept(block, start..start + size);
            start += size;
            match kept.group {
                None => self.count_nobody(),
                Some(group) => {
                    self.join(group, &kept.rows, block);
                    let size = kept.rows.len().try_into().expect("a person has at most 2^14 rows");
                    self.groups[group].sizes.push(size);
                }
            }
        }
        self.groups.iter_mut().for_each(|group| group.settle(block));
    }

    /// Which of a person's rows count: found from them alone. Rows that are kept are kept again
    /// when more are appended.
    fn kept(&self, block: &Block, mut rows: std::ops::Range<usize>) -> Kept {
        let (most, _) = self.of_persons.expect("units are persons");
        let Some(codes) = self.codes(block) else { return Kept { group: Some(0), rows: rows.take(most).collect() } };
        let group = rows.clone().map(|row| codes[row]).find(|code| *code != MISSING);
        let rows = rows.by_ref().filter(|&row| Some(codes[row]) == group).take(most).collect();
        match group {
            Some(group) => Kept { group: Some(group as usize), rows },
            None => Kept { group: None, rows: Vec::new() },
        }
    }

    /// Puts a unit into the block of its group, once that has room.
    fn join(&mut self, group: usize, rows: &[usize], block: &Block) {
        if self.groups[group].len() + rows.len() > most_rows(self.design.features()) {
            self.groups[group].settle(block);
            self.pack_waiting(group);
        }
        self.groups[group].joining.extend_from_slice(rows);
    }

    fn pack_waiting(&mut self, group: usize) {
        let sizes = std::mem::take(&mut self.groups[group].sizes);
        let Some(rows) = self.groups[group].rows.take() else { return };
        let number = u32::try_from(group).expect("few groups");
        let id = self.next_id();
        let units = Units { group: number, of_persons: self.of_persons.map(|(_, together)| (&sizes[..], together)) };
        let bytes = units.pack(&rows, &self.design, id);
        self.packed.push(Packed { group: Some(number), bytes });
    }

    fn count_nobody(&mut self) {
        self.nobody += 1;
        if self.nobody == u32::MAX {
            self.pack_nobody();
        }
    }

    fn pack_nobody(&mut self) {
        let units = std::mem::take(&mut self.nobody);
        if units > 0 {
            let bytes = pack_nobody(units, self.features, self.next_id());
            self.packed.push(Packed { group: None, bytes });
        }
    }

    fn next_id(&mut self) -> BlockId {
        self.place += 1;
        BlockId::new(self.part, self.place - 1)
    }

    /// The group of each row; `None` if there are no groups.
    fn codes<'b>(&self, block: &'b Block) -> Option<&'b [u32]> {
        match block.columns.get(self.design.columns().len()).filter(|_| self.is_grouped)? {
            Cells::Levels(codes) => Some(codes),
            Cells::Numbers(_) => unreachable!("groups are read as levels"),
        }
    }
}

/// The group of a person, and the rows that count.
struct Kept {
    group: Option<usize>,
    rows: Vec<usize>,
}

/// Refuses persons with more rows than can be packed.
pub(crate) fn check_person(asked: u32, features: usize) -> Result<(), RemoteError> {
    let most = most_rows_of_person(features);
    if asked > most { Err(RemoteError::WidePersons { asked, most }) } else { Ok(()) }
}
