//! Packed rows in this process, queried as workers would be, with every fault that may occur on the
//! way.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use dplm::{
    Dataset, Error, GroupedDataset, Person, Reading,
    formula::{By, Formula},
    table::Schema,
};
use dplm_cluster::{Answering, Executor, RemoteError, answer};

/// A fault in one query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The answers come in another order.
    Reordered,
    /// A worker fails in the middle, and another repeats its work.
    Retried,
    /// An answer is lost.
    Lost,
    /// An answer comes twice.
    Repeated,
    /// An answer to the previous query comes.
    Delayed,
    /// A block holds other rows than before.
    Changed,
    /// A block has lost a row.
    Shortened,
    /// A block is in the position of another.
    Misplaced,
    /// There is an additional block.
    Added,
    /// A byte of an answer is changed.
    Damaged,
    /// An answer ends too soon.
    Cut,
    /// A worker has another version of the library.
    OtherVersion,
    /// Nothing comes.
    Failed,
}

/// Packed rows in this process.
pub struct Cluster {
    pub blocks: Vec<Vec<u8>>,
    pub blocks_in_answer: usize,
    /// The fault and its query, counted from 0.
    pub fault: Option<(usize, Fault)>,
    /// Extra blocks, for those faults that need one.
    pub spare: Vec<Vec<u8>>,
    pub asked: AtomicUsize,
    pub before: Mutex<Vec<Vec<u8>>>,
}

impl Cluster {
    pub fn new(blocks: Vec<Vec<u8>>) -> Cluster {
        let (asked, before) = (AtomicUsize::new(0), Mutex::default());
        Cluster { blocks, blocks_in_answer: 1, fault: None, spare: Vec::new(), asked, before }
    }

    fn answers(&self, blocks: &[Vec<u8>], question: &[u8]) -> Vec<Vec<u8>> {
        let together = |blocks: &[Vec<u8>]| {
            let mut answering = Answering::new(question).unwrap();
            blocks.iter().for_each(|block| answering.add(block).unwrap());
            answering.finish()
        };
        // The last worker has no block.
        blocks.chunks(self.blocks_in_answer).chain([&[][..]]).map(together).collect()
    }

    fn faulty(&self, fault: Fault, question: &[u8]) -> Result<Vec<Vec<u8>>, RemoteError> {
        let mut blocks = self.blocks.clone();
        match fault {
            Fault::Changed => blocks[1].clone_from(&self.spare[0]),
            Fault::Shortened => blocks[1].clone_from(&self.spare[1]),
            Fault::Misplaced => blocks[1].clone_from(&self.spare[2]),
            Fault::Added => blocks.push(self.spare[2].clone()),
            _ => {}
        }
        let mut answers = self.answers(&blocks, question);
        match fault {
            Fault::Reordered => answers.reverse(),
            Fault::Retried => answers[1] = answer(&blocks[1], question).unwrap(),
            Fault::Lost => drop(answers.remove(1)),
            Fault::Repeated => answers.push(answers[1].clone()),
            Fault::Delayed => answers[1].clone_from(&self.before.lock().unwrap()[1]),
            Fault::Damaged => answers[1][150] ^= 0x40,
            Fault::Cut => drop(answers[1].pop()),
            Fault::OtherVersion => answers[1][7] ^= 1,
            Fault::Failed => return Err(RemoteError::Failed),
            _ => {}
        }
        Ok(answers)
    }
}

impl Executor for Cluster {
    fn ask(&self, question: &[u8], _: Option<u32>) -> Result<Vec<Vec<u8>>, RemoteError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let answers = match self.fault {
            Some((at, fault)) if at == number => self.faulty(fault, question)?,
            _ => self.answers(&self.blocks, question),
        };
        self.before.lock().unwrap().clone_from(&answers);
        Ok(answers)
    }

    fn cancel(&self) {}
}

/// The rows of a cluster, ready to be fitted.
pub fn remote(
    executor: Arc<dyn Executor>,
    schema: &Schema,
    formula: &Formula,
    reading: &Reading<'_>,
) -> Result<Dataset, Error> {
    let features = reading.design(&reading.model(formula, schema)?).kept_features();
    let most = reading.person.as_ref().map(Person::most_rows);
    let rows = dplm_cluster::open(executor, features, most, reading.memory)?;
    Dataset::elsewhere(rows, schema, formula, reading)
}

/// The same for each of several groups.
pub fn remote_groups(
    executor: Arc<dyn Executor>,
    schema: &Schema,
    formula: &Formula,
    reading: &Reading<'_>,
    by: &By,
) -> Result<GroupedDataset, Error> {
    let features = reading.model_by(formula, schema, by)?.1.kept_features();
    let (groups, most) = (by.levels().len(), reading.person.as_ref().map(Person::most_rows));
    let rows = dplm_cluster::open_groups(executor, features, groups, most, reading.memory)?;
    GroupedDataset::elsewhere(rows, schema, formula, reading, by, None)
}

/// The cluster's own error, where it is one.
pub fn refusal(error: &Error) -> Option<&RemoteError> {
    match error {
        Error::Other(error) => error.why(),
        _ => None,
    }
}
