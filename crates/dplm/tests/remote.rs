//! Rows on other machines: the same fit as in memory, whatever goes wrong, or a refusal that names what did.

use std::sync::{Arc, atomic::Ordering};

use dplm::{
    Dataset, Error, Progress, Reading,
    formula::Formula,
    lattice::Lattice,
    method::{Method, Request, Tuning, choose},
    options::Purpose,
    privacy::{Rho, noise::NoiseSource},
    report::to_json,
    rows::{BlockId, Executor, Forecast, RemoteError, RemoteRows, Rows, most_rows, pack},
    table::{ReadOptions, Source},
};

use crate::common::{
    Data,
    cluster::{Cluster, Fault},
    gradient_sum,
};

const FEATURES: usize = 4;

/// A table with numbers and a category, some cells of which are missing.
fn table(rows: usize) -> Source {
    let data = Data::isotropic(rows, 3, 11);
    let line = |(i, (x, y)): (usize, (&Vec<f64>, &f64))| {
        let gap = if i % 97 == 5 { "NA".to_owned() } else { format!("{:.4}", x[2]) };
        format!("{:.4},{:.4},{:.4},{gap},{}\n", y, x[0], 20.0 + 5.0 * x[1], ["a", "b", "c"][i % 3])
    };
    let text: String = data.x.iter().zip(&data.y).enumerate().map(line).collect();
    Source::from_csv_stream(&mut format!("y,u,v,w,g\n{text}").as_bytes(), "table").unwrap()
}

/// The table packed into blocks of so many rows.
fn cluster(source: &Source, formula: &Formula, rows_in_block: usize) -> Cluster {
    let reading = Reading::default();
    let design = reading.design(&reading.model(formula, source.schema()).unwrap());
    let (mut blocks, options) = (Vec::new(), ReadOptions { block_rows: rows_in_block, ..ReadOptions::default() });
    source
        .for_each_block(design.columns(), &options, &mut |block| {
            blocks.push(pack(&block, &design, BlockId::new(0, blocks.len() as u32)));
            Ok(())
        })
        .unwrap();
    Cluster::new(blocks)
}

fn method(name: &str, formula: &Formula, tuning: Tuning) -> Box<dyn Method> {
    let purpose = if name == "adassp" { Purpose::Prediction } else { Purpose::Inference };
    let request = Request { purpose, ..Request::new(Rho::checked_from_f64(0.5).unwrap()) };
    choose(Some(name.parse().unwrap()), request, tuning, formula, true).unwrap()
}

fn fit(dataset: &mut Dataset, method: &dyn Method) -> Result<String, Error> {
    Ok(to_json(&dataset.fit(method, NoiseSource::Seed(7), Progress::NONE)?))
}

/// A fit, and how many questions it asked.
fn remote_fit(cluster: Cluster, source: &Source, formula: &Formula, method: &dyn Method) -> (String, usize) {
    let cluster = Arc::new(cluster);
    let dataset = Dataset::remote(cluster.clone(), source.schema(), formula, &Reading::default());
    let found = fit(&mut dataset.unwrap(), method).unwrap();
    (found, cluster.asked.load(Ordering::Relaxed))
}

#[test]
fn fits_have_the_bits_of_the_fit_in_memory() {
    let source = table(20_000);
    for (name, text) in [
        ("auto", "y[-10..10] ~ u[-4..4] + v[0..40] + w[-4..4] + g{a,b,c}"),
        ("adassp", "y[-10..10] ~ u[-4..4] + v[0..40] + w[-4..4] + g{a,b,c}"),
        ("dpgd", "y ~ u + w"),
    ] {
        let formula = Formula::parse(text).unwrap();
        let method = method(name, &formula, Tuning::default());
        let expected = fit(&mut Dataset::read(&source, &formula, &Reading::default()).unwrap(), method.as_ref());
        let expected = expected.unwrap();
        for (rows_in_block, blocks_in_answer) in [(700, 1), (700, 5), (20_000, 1)] {
            let mut cluster = Cluster { blocks_in_answer, ..cluster(&source, &formula, rows_in_block) };
            cluster.blocks.reverse();
            let (found, questions) = remote_fit(cluster, &source, &formula, method.as_ref());
            assert_eq!(found, expected, "{name}, blocks of {rows_in_block}");
            assert!(questions <= 40, "{name}: {questions} questions");
        }
    }
}

/// A cluster of five blocks in which something goes wrong with the third question.
fn faulty(fault: Fault) -> RemoteRows {
    let (data, other) = (Data::isotropic(5000, FEATURES, 1), Data::isotropic(5000, FEATURES, 2));
    let blocks = data.packed(1000);
    let short = Data { x: data.x[..1999].to_vec(), y: data.y[..1999].to_vec() };
    let spare =
        vec![other.packed(1000).swap_remove(1), short.packed(1000).swap_remove(1), other.packed(700).swap_remove(6)];
    let cluster = Cluster { fault: Some((2, fault)), spare, ..Cluster::new(blocks) };
    RemoteRows::open(Arc::new(cluster), FEATURES, None).unwrap()
}

#[test]
fn what_goes_wrong_is_survived_or_refused_by_name() {
    let lattice = Lattice::plan(5000, FEATURES, 2.0, 1.0).unwrap();
    let theta = lattice.theta(&[0.1; FEATURES]);
    let mut memory = Data::isotropic(5000, FEATURES, 1).rows();
    memory.set_clip(lattice.clip(2.0)).unwrap();
    let expected = gradient_sum(&memory, &theta, &lattice);
    let block = BlockId::new(3, 1);
    let refusals = [
        (Fault::Reordered, None),
        (Fault::Retried, None),
        (Fault::Lost, Some(RemoteError::Lost { block })),
        (Fault::Repeated, Some(RemoteError::Repeated { block })),
        (Fault::Delayed, Some(RemoteError::Stale)),
        (Fault::Changed, Some(RemoteError::Changed { block })),
        (Fault::Shortened, Some(RemoteError::Changed { block })),
        (Fault::Misplaced, Some(RemoteError::Unknown { block: BlockId::new(3, 6) })),
        (Fault::Added, Some(RemoteError::Unknown { block: BlockId::new(3, 6) })),
        (Fault::Damaged, Some(RemoteError::Malformed { what: "an answer of packed rows" })),
        (Fault::Cut, Some(RemoteError::Malformed { what: "an answer of packed rows" })),
        (Fault::OtherVersion, Some(RemoteError::OtherVersion { what: "an answer of packed rows" })),
        (Fault::Failed, Some(RemoteError::Failed)),
    ];
    for (fault, refusal) in refusals {
        let mut rows = faulty(fault);
        rows.set_clip(lattice.clip(2.0)).unwrap();
        // A second question to which the third may be answered instead.
        rows.moments().unwrap();
        match (rows.negative_gradient_sum(&theta, &lattice, dplm::privacy::Neighbours::ReplaceOne), refusal) {
            (Ok(sum), None) => assert_eq!(crate::common::values(sum), expected, "{fault:?}"),
            (Err(Error::Remote(error)), Some(expected)) => assert_eq!(error, expected, "{fault:?}"),
            (Ok(_), Some(_)) => panic!("{fault:?} was not noticed"),
            (Err(error), _) => panic!("{fault:?}: {error}"),
        }
        // The next question finds the blocks as they were.
        assert_eq!(gradient_sum(&rows, &theta, &lattice), expected, "{fault:?}");
    }
}

#[test]
fn blocks_that_are_there_twice_or_not_at_all_are_refused_at_first() {
    let blocks = Data::isotropic(100, FEATURES, 1).packed(30);
    let open = |blocks: Vec<Vec<u8>>, features| RemoteRows::open(Arc::new(Cluster::new(blocks)), features, None).err();
    assert_eq!(open(blocks.clone(), FEATURES), None);
    let twice = blocks.iter().chain([&blocks[2]]).cloned().collect();
    assert_eq!(open(twice, FEATURES), Some(RemoteError::Repeated { block: BlockId::new(3, 2) }));
    assert_eq!(open(Vec::new(), FEATURES), Some(RemoteError::NoRows));
}

/// Questions that a fit asks, and whether its sums are those of rows in memory.
#[test]
fn a_descent_asks_few_questions() {
    let (rows, features, steps, gamma) = (60_000, 10, 200, 15.8);
    let data = Data::isotropic(rows, features, 5);
    let (mut remote, mut memory) = (data.on_a_cluster(8192, 2), data.rows());
    let lattice = Lattice::plan(rows as u64, features, gamma, 1e-3).unwrap();
    for rows in [&mut remote as &mut dyn Rows, &mut memory] {
        rows.set_clip(lattice.clip(gamma)).unwrap();
        rows.expect(Forecast { steps, step_size: 0.25, noise_sd: 0.01 });
    }
    let optimum = 1.0 / (features as f64).sqrt();
    for step in 0..steps {
        let shift = 0.004 * (f64::from(step % 7) - 3.0);
        let theta = lattice.theta(&vec![optimum * (1.0 - 0.75f64.powi(step as i32)) + shift; features]);
        assert_eq!(gradient_sum(&remote, &theta, &lattice), gradient_sum(&memory, &theta, &lattice), "step {step}");
    }
    let questions = remote.questions().load(Ordering::Relaxed);
    assert!(questions <= 15, "{questions} questions");
}

/// A message names blocks, and nothing of what they hold.
#[test]
fn refusals_hold_no_number_computed_from_rows() {
    let block = BlockId::new(12, 34);
    for error in [
        RemoteError::Failed,
        RemoteError::NoRows,
        RemoteError::Malformed { what: "a block" },
        RemoteError::Lost { block },
        RemoteError::Repeated { block },
        RemoteError::Unknown { block },
        RemoteError::Changed { block },
        RemoteError::Stale,
    ] {
        let text = error.to_string().replace("block 34 of part 12", "");
        assert!(!text.contains(|c: char| c.is_ascii_digit()), "{text}");
    }
}

#[test]
fn wide_rows_are_packed_a_few_at_a_time() {
    assert_eq!(most_rows(20), 65_536);
    assert_eq!(most_rows(16_383), 1024);
}

/// Workers that are never asked.
struct Nobody;

impl Executor for Nobody {
    fn ask(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, RemoteError> {
        panic!("nothing is asked before the request is checked")
    }

    fn cancel(&self) {}
}

#[test]
fn persons_are_refused_before_anything_is_asked() {
    let (source, formula) = (table(10), Formula::parse("y[-9..9] ~ u[-4..4]").unwrap());
    let reading = Reading { person: Some(dplm::Person::new("g")), ..Reading::default() };
    let refused = Dataset::remote(Arc::new(Nobody), source.schema(), &formula, &reading).err();
    assert!(matches!(refused, Some(Error::Remote(RemoteError::Persons))));
}
