//! Rows on other machines: the same fit as in memory under every fault, or a refusal that names the
//! fault.

use std::sync::{Arc, atomic::Ordering};

use dplm::{
    Dataset, Error, GroupedDataset, Person, Progress, Reading,
    descend::Descent,
    formula::{By, Formula},
    lattice::Lattice,
    method::{Method, Request, Tuning, auto, choose},
    privacy::{
        Budget, Neighbours, Rho,
        noise::{FixedSeed, NoiseSource},
    },
    report::{grouped_to_json, to_json},
    rows::{Encoded, ExpectedSteps, Rows},
    table::{ReadOptions, Source},
};
use dplm_cluster::{BlockId, Executor, Packer, RemoteError, answer, most_rows, most_rows_of_person, open, pack};

use crate::common::{
    Data,
    cluster::{Cluster, Fault, refusal, remote, remote_groups},
    gradient_sum, standard_design,
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

/// The table packed into blocks of `rows_in_block` rows.
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
    let request = Request::new(Rho::checked_from_f64(0.5).unwrap());
    choose(Some(name.parse().unwrap()), request, tuning, formula, true).unwrap()
}

fn fit(dataset: &mut Dataset, method: &dyn Method) -> Result<String, Error> {
    Ok(to_json(&dataset.fit(method, NoiseSource::Seed(7), Progress::NONE)?))
}

/// A fit, and the number of queries it asked.
fn remote_fit(cluster: Cluster, source: &Source, formula: &Formula, method: &dyn Method) -> (String, usize) {
    let cluster = Arc::new(cluster);
    let dataset = remote(cluster.clone(), source.schema(), formula, &Reading::default());
    let found = fit(&mut dataset.unwrap(), method).unwrap();
    (found, cluster.asked.load(Ordering::Relaxed))
}

#[test]
fn fits_have_the_bits_of_the_fit_in_memory() {
    let source = table(20_000);
    for (name, text) in [("auto", "y[-10..10] ~ u[-4..4] + v[0..40] + w[-4..4] + g{a,b,c}"), ("dpgd", "y ~ u + w")] {
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

/// A cluster of five blocks with a fault in the third query.
fn faulty(fault: Fault) -> Encoded {
    let (data, other) = (Data::isotropic(5000, FEATURES, 1), Data::isotropic(5000, FEATURES, 2));
    let blocks = data.packed(1000);
    let short = Data { x: data.x[..1999].to_vec(), y: data.y[..1999].to_vec() };
    let spare =
        vec![other.packed(1000).swap_remove(1), short.packed(1000).swap_remove(1), other.packed(700).swap_remove(6)];
    let cluster = Cluster { fault: Some((2, fault)), spare, ..Cluster::new(blocks) };
    open(Arc::new(cluster), FEATURES, None, None).unwrap()
}

#[test]
fn what_goes_wrong_is_survived_or_refused_by_name() {
    let lattice = Lattice::plan(5000, FEATURES, 2.0, 1.0).unwrap();
    let theta = lattice.theta(&[0.1; FEATURES]);
    let mut memory = Data::isotropic(5000, FEATURES, 1).rows();
    let clip = lattice.clip(2.0);
    let expected = gradient_sum(&mut memory, clip, &theta, &lattice);
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
    for (fault, expected_refusal) in refusals {
        let mut rows = faulty(fault);
        // A second query, whose answer may come in place of the third's.
        rows.moments().unwrap();
        let sum = rows.clipped(clip, None).unwrap().negative_gradient_sum(&theta, &lattice, Neighbours::ReplaceOne);
        match (sum, expected_refusal) {
            (Ok(sum), None) => assert_eq!(crate::common::values(sum), expected, "{fault:?}"),
            (Err(error), Some(expected)) => assert_eq!(refusal(&error), Some(&expected), "{fault:?}: {error}"),
            (Ok(_), Some(_)) => panic!("{fault:?} was not noticed"),
            (Err(error), None) => panic!("{fault:?}: {error}"),
        }
        // The next query finds the blocks unchanged.
        assert_eq!(gradient_sum(&mut rows, clip, &theta, &lattice), expected, "{fault:?}");
    }
}

#[test]
fn blocks_that_are_there_twice_or_not_at_all_are_refused_at_first() {
    let blocks = Data::isotropic(100, FEATURES, 1).packed(30);
    let open =
        |blocks: Vec<Vec<u8>>, features| dplm_cluster::open(Arc::new(Cluster::new(blocks)), features, None, None).err();
    assert_eq!(open(blocks.clone(), FEATURES), None);
    let twice = blocks.iter().chain([&blocks[2]]).cloned().collect();
    assert_eq!(open(twice, FEATURES), Some(RemoteError::Repeated { block: BlockId::new(3, 2) }));
    assert_eq!(open(Vec::new(), FEATURES), Some(RemoteError::NoRows));
}

/// The number of queries of a fit, and whether its sums are those of rows in memory.
#[test]
fn a_descent_asks_few_questions() {
    let (rows, features, steps, gamma) = (60_000, 10, 200, 15.8);
    let data = Data::isotropic(rows, features, 5);
    let cluster = Arc::new(Cluster { blocks_in_answer: 2, ..Cluster::new(data.packed(8192)) });
    let (mut remote, mut memory) = (open(cluster.clone(), features, None, None).unwrap(), data.rows());
    let lattice = Lattice::plan(rows as u64, features, gamma, 1e-3).unwrap();
    let clip = lattice.clip(gamma);
    for rows in [&mut remote as &mut dyn Rows, &mut memory] {
        rows.clipped(clip, Some(ExpectedSteps { steps, step_size: 0.25, noise_sd: 0.01 })).unwrap();
    }
    let optimum = 1.0 / (features as f64).sqrt();
    for step in 0..steps {
        let shift = 0.004 * (f64::from(step % 7) - 3.0);
        let theta = lattice.theta(&vec![optimum * (1.0 - 0.75f64.powi(step as i32)) + shift; features]);
        let found = gradient_sum(&mut remote, clip, &theta, &lattice);
        assert_eq!(found, gradient_sum(&mut memory, clip, &theta, &lattice), "step {step}");
    }
    let questions = cluster.asked.load(Ordering::Relaxed);
    assert!(questions <= 15, "{questions} questions");
}

/// Persons with one to a few rows: 200 steps at the paper's clip threshold for rows, and a whole
/// fit by `auto`.
#[test]
fn fits_of_persons_ask_few_questions() {
    let (rows, features) = (60_000, 10);
    let data = Data::isotropic(rows, features, 5);
    let persons: Vec<u32> =
        (0..).take(rows).map(|row: u32| if row < 17_000 { row } else { row * 7 % 16_000 }).collect();
    let (design, rho) = (standard_design(features), |rho| Rho::checked_from_f64(rho).unwrap());
    let descend = |rows: &mut dyn Rows| {
        let plan = Descent::plan(rows.count(), features, 15.8, 200, 0.25, Neighbours::ReplaceOne, 0.015).unwrap();
        let spend = Budget::new(rho(0.015)).spend_rest("gradients").unwrap();
        let run = plan.run(rows, &vec![0.0; features], spend, &mut FixedSeed::new(3), Progress::NONE);
        format!("{:?}", run.unwrap().theta)
    };
    let auto = |rows: &mut dyn Rows| {
        let plan = auto::Config::new(Request::new(rho(0.5))).plan(rows.count(), &design).unwrap();
        let outcome = plan.run(rows, &design, &mut FixedSeed::new(3), Progress::NONE);
        format!("{:?}", outcome.unwrap().coefficients)
    };
    for (name, fit, most) in [("dpgd", &descend as &dyn Fn(&mut dyn Rows) -> String, 15), ("auto", &auto, 40)] {
        let cluster = Arc::new(Cluster { blocks_in_answer: 2, ..data.cluster_by(&design, &persons, 12) });
        let mut remote = open(cluster.clone(), features, Some(12), None).unwrap();
        assert_eq!(fit(&mut remote), fit(&mut data.by_person(&persons, 12, u64::MAX)), "{name}");
        let questions = cluster.asked.load(Ordering::Relaxed);
        assert!(questions <= most, "{name}: {questions} questions");
    }
}

/// A message names blocks, and nothing about their content.
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
    fn ask(&self, _: &[u8], _: Option<u32>) -> Result<Vec<Vec<u8>>, RemoteError> {
        panic!("nothing is asked before the request is checked")
    }

    fn cancel(&self) {}
}

#[test]
fn what_no_worker_has_memory_for_is_refused_before_anything_is_asked() {
    let (source, formula) = (table(10), Formula::parse("y[-9..9] ~ u[-4..4]").unwrap());
    let most = most_rows_of_person(2) + 1;
    let reading = Reading { person: Some(Person { rows: Some(most), ..Person::new("g") }), ..Reading::default() };
    let refused = remote(Arc::new(Nobody), source.schema(), &formula, &reading).err().unwrap();
    assert!(matches!(refusal(&refused), Some(RemoteError::WidePersons { .. })), "{refused}");
    let wide = open(Arc::new(Nobody), 5000, Some(1024), None).err();
    assert_eq!(wide, Some(RemoteError::WidePersons { asked: 1024, most: most_rows_of_person(5000) }));
}

/// Rows of persons, in groups, with weights; some without a person and some in no group.
fn visits() -> Vec<String> {
    let data = Data::isotropic(9000, 2, 5);
    let line = |(i, (x, y)): (usize, (&Vec<f64>, &f64))| {
        let person = match i % 50 {
            7 => String::new(),
            _ => format!("{}", i * i % 2500),
        };
        let region = ["north", "south", "nowhere", "east"][if i % 11 == 0 { 0 } else { i * i % 2500 % 4 }];
        format!("{:.4},{:.4},{:.4},{},{region},{person}\n", y, x[0], x[1], i % 5)
    };
    data.x.iter().zip(&data.y).enumerate().map(line).collect()
}

fn source_of(lines: &[String]) -> Source {
    Source::from_csv_stream(&mut format!("y,u,v,w,region,id\n{}", lines.concat()).as_bytes(), "visits").unwrap()
}

/// Visits packed as a cluster would: by person into three parts, a thousand rows at a time, or in
/// order of arrival.
fn packed_visits(lines: &[String], formula: &Formula, reading: &Reading<'_>, by: Option<&By>) -> Vec<Vec<u8>> {
    let identified = |lines: &[String]| source_of(lines).identified("id", false, [9; 32]).unwrap();
    let mut rows: Vec<(u128, &String)> = match reading.person {
        Some(_) => identified(lines).into_iter().zip(lines).filter(|(person, _)| *person != 0).collect(),
        None => (0..).zip(lines).collect(),
    };
    if reading.person.is_some() {
        rows.sort_by_key(|(person, _)| *person);
    }
    let mut blocks = Vec::new();
    for part in 0..3 {
        let lines: Vec<String> =
            rows.iter().filter(|(person, _)| person % 3 == part.into()).map(|(_, line)| (*line).clone()).collect();
        let design = match by {
            Some(by) => reading.model_by(formula, source_of(&lines).schema(), by).unwrap().1,
            None => reading.design(&reading.model(formula, source_of(&lines).schema()).unwrap()),
        };
        let columns: Vec<_> = design.columns().iter().cloned().chain(by.map(By::column)).collect();
        let groups = by.map(|by| by.levels().len());
        let mut packer = Packer::new(design, part, groups, reading.person.as_ref()).unwrap();
        for lines in lines.chunks(1000) {
            let persons = reading.person.as_ref().map(|_| identified(lines));
            let options = ReadOptions { block_rows: lines.len(), ..ReadOptions::default() };
            let push = &mut |block| {
                packer.push(block, persons.as_deref()).unwrap();
                Ok(())
            };
            source_of(lines).for_each_block(&columns, &options, push).unwrap();
        }
        blocks.extend(packer.finish().into_iter().map(|block| block.bytes));
    }
    blocks
}

/// The first rows of each person count, also if they arrive in several pieces; groups, persons and
/// weights together and each alone.
#[test]
fn persons_groups_and_weights_have_the_bits_of_the_fit_in_memory() {
    let (lines, formula) = (visits(), Formula::parse("y[-10..10] ~ u[-4..4] + v[-4..4]").unwrap());
    let (source, by) = (source_of(&lines), "region{north,south,east,west}".parse::<By>().unwrap());
    let person = |rows, counts_once| Some(Person { rows: Some(rows), counts_once, ..Person::new("id") });
    let weights = Some("w[0..4]".parse().unwrap());
    for (reading, by, name) in [
        (Reading { person: person(3, false), ..Reading::default() }, None, "auto"),
        (Reading { person: person(9, true), ..Reading::default() }, None, "dpgd"),
        (Reading::default(), Some(&by), "auto"),
        (Reading { person: person(3, false), weights, ..Reading::default() }, Some(&by), "dpgd"),
    ] {
        let cluster = Arc::new(Cluster::new(packed_visits(&lines, &formula, &reading, by)));
        let method = method(name, &formula, Tuning::default());
        let noise = NoiseSource::Seed(7);
        let (here, there) = match by {
            None => {
                let mut here = Dataset::read(&source, &formula, &reading).unwrap();
                let mut there = remote(cluster.clone(), source.schema(), &formula, &reading).unwrap();
                let fits = (fit(&mut here, method.as_ref()).unwrap(), fit(&mut there, method.as_ref()).unwrap());
                let questions = cluster.asked.load(Ordering::Relaxed);
                assert!(questions <= 40, "{name}: {questions} questions");
                fits
            }
            Some(by) => {
                let mut here = GroupedDataset::read(&source, &formula, &reading, by, None).unwrap();
                let mut there = remote_groups(cluster, source.schema(), &formula, &reading, by).unwrap();
                assert_eq!(here.rows(), there.rows());
                let here = here.fit(method.as_ref(), noise, Progress::NONE).unwrap();
                let there = there.fit(method.as_ref(), noise, Progress::NONE).unwrap();
                (grouped_to_json(&here), grouped_to_json(&there))
            }
        };
        assert!(here == there, "{name}");
    }
}

#[test]
fn persons_whose_rows_are_apart_are_refused() {
    let lines = visits();
    let (source, formula) = (source_of(&lines), Formula::parse("y[-10..10] ~ u[-4..4]").unwrap());
    let reading = Reading::default();
    let design = || reading.design(&reading.model(&formula, source.schema()).unwrap());
    let pushed = |persons: [&[u128]; 2]| {
        let mut packer = Packer::new(design(), 0, None, Some(&Person::new("id"))).unwrap();
        let mut results = Vec::new();
        for persons in persons {
            let few = source_of(&lines[..persons.len()]);
            let push = &mut |block| {
                results.push(packer.push(block, Some(persons)));
                Ok(())
            };
            few.for_each_block(design().columns(), &ReadOptions::default(), push).unwrap();
        }
        results.into_iter().collect::<Result<Vec<()>, _>>().err()
    };
    assert_eq!(pushed([&[1, 1, 2], &[2, 3]]), None);
    assert_eq!(pushed([&[1, 2, 1], &[3]]), Some(RemoteError::Scattered));
    assert_eq!(pushed([&[1, 2], &[1, 3]]), Some(RemoteError::Scattered));
}

/// A block of rows is refused as one of persons, and so is one of persons with more rows than
/// stated: sensitivities depend on that number.
#[test]
fn blocks_of_other_units_are_refused() {
    let data = Data::isotropic(60, FEATURES, 1);
    let reading = Reading { person: Some(Person { rows: Some(5), ..Person::new("id") }), ..Reading::default() };
    let formula = Formula::parse("y[-10..10] ~ u[-4..4] + v[-4..4]").unwrap();
    let blocks = packed_visits(&visits(), &formula, &reading, None);
    let malformed = Err(RemoteError::Malformed { what: "a block of packed rows" }.to_string());
    let ask = |blocks: Vec<Vec<u8>>, features, most: Option<u32>| {
        let asked = Arc::new(Recorded::default());
        drop(open(asked.clone(), features, most, None));
        let question = asked.0.lock().unwrap().clone();
        answer(&blocks[0], &question).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(ask(blocks.clone(), 3, Some(5)), Ok(()));
    assert_eq!(ask(blocks.clone(), 3, Some(2)), malformed);
    assert_eq!(ask(blocks, 3, None), malformed);
    assert_eq!(ask(data.packed(60), FEATURES, None), Ok(()));
    assert_eq!(ask(data.packed(60), FEATURES, Some(5)), malformed);
}

/// The claims of a fit are about its units: rows that were opened as units of their own are not
/// fitted as those of persons.
#[test]
#[should_panic(expected = "units are those that the fit protects")]
fn rows_of_other_units_are_not_fitted() {
    let (source, formula) = (table(10), Formula::parse("y[-9..9] ~ u[-4..4]").unwrap());
    let rows = open(Arc::new(Cluster::new(Data::isotropic(60, 2, 1).packed(60))), 2, None, None).unwrap();
    let reading = Reading { person: Some(Person::new("g")), ..Reading::default() };
    drop(Dataset::elsewhere(rows, source.schema(), &formula, &reading));
}

/// Records the query.
#[derive(Default)]
struct Recorded(std::sync::Mutex<Vec<u8>>);

impl Executor for Recorded {
    fn ask(&self, question: &[u8], _: Option<u32>) -> Result<Vec<Vec<u8>>, RemoteError> {
        *self.0.lock().unwrap() = question.to_vec();
        Err(RemoteError::Failed)
    }

    fn cancel(&self) {}
}
