//! Persons with several rows: sums equal a plain loop over the persons, in any order, on any engine
//! and any processor.

use std::sync::Arc;

use dplm::{
    Coefficient, Dataset, Person, Progress, Reading,
    formula::Formula,
    lattice::{Clip, ClippedOuter, Design, Kernel, Ladder, Lattice, Outer, Whitening},
    method::{Purpose, Request, Target, auto},
    privacy::{Rho, Unit, noise::FixedSeed},
    report::to_json,
    rows::{Builder, ExpectedSteps, Persons, Rows, Together, engine::Place},
    table::{Block, Cells, Field, Schema, Source, Type},
};
use dplm_report::{Cover, to_html};
use faer::Mat;
use num_bigint::BigInt;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::common::{
    Data, clipped_count, clipped_outer_sum, cluster::Cluster, gradient_sum, outer_sum, square_sum, standard_design,
    tail_counts,
};

const FEATURES: usize = 5;

/// A table in which person `i` has one to nine rows, those of different persons mixed.
fn table(persons: usize, seed: u64) -> (Data, Vec<u32>) {
    let sizes: Vec<usize> = (0..persons).map(|person| 1 + (person * person + 3 * person) % 9).collect();
    let mut of_rows: Vec<u32> = Vec::new();
    for row in 0..9 {
        of_rows.extend((0..).zip(&sizes).filter(|(_, size)| row < **size).map(|(person, _)| person));
    }
    (Data::isotropic(of_rows.len(), FEATURES, seed).on_lattice(), of_rows)
}

/// The answer to every query.
pub fn answers(rows: &mut dyn Rows, gamma: f64, step_noise: f64) -> Vec<Vec<i128>> {
    let lattice = Lattice::plan(rows.count(), rows.features(), gamma, step_noise).unwrap();
    let clip = lattice.clip(gamma);
    let theta = lattice.theta(&vec![0.3; rows.features()]);
    let (theta, theta_unit) = (&theta, lattice.theta_unit());
    let clips: Vec<Clip> = (1..12).map(|step| lattice.clip(gamma * f64::from(step) / 4.0)).collect();
    let radii: Vec<u64> = (1..12).map(|step| step * 3000).collect();
    let clipped = clipped_count(rows, clip, theta, &lattice);
    vec![
        gradient_sum(rows, clip, theta, &lattice),
        square_sum(rows, clip, theta, &lattice),
        outer_sum(rows, &Outer::Shrunk { radius: 14_000 }),
        clipped_outer_sum(rows, clip, &ClippedOuter::Unclipped { theta, theta_unit, radius: 20_000 }),
        clipped_outer_sum(rows, clip, &ClippedOuter::Gradient { theta, theta_unit }),
        tail_counts(rows, &Ladder::Norms { radii: &radii }),
        tail_counts(rows, &Ladder::Gradients { theta, theta_unit, clips: &clips }),
        vec![clipped.into()],
        rows.moments().unwrap().into_inner().into_upper(),
    ]
}

const SETTINGS: [(f64, f64); 4] = [(6.0, 1.0), (6.0, 1e-12), (0.5, 1.0), (3000.0, 1e-12)];

#[test]
fn with_one_row_each_every_answer_is_that_of_the_rows() {
    let data = Data::isotropic(5000, FEATURES, 3);
    // No person's number is the number of their row.
    let persons: Vec<u32> = (0..5000).map(|row| (row * 7 + 3) % 5000).collect();
    for (gamma, step_noise) in SETTINGS {
        let mut by_person = data.by_person(&persons, 4, u64::MAX);
        let rows = answers(&mut data.rows(), gamma, step_noise);
        assert_eq!(answers(&mut by_person, gamma, step_noise), rows, "{gamma} {step_noise}");
        assert_eq!(by_person.rows_in_unit(), Some(4));
    }
}

#[test]
fn kernels_files_and_order_do_not_matter() {
    let (data, persons) = table(1500, 5);
    let turn = |values: &mut dyn FnMut(usize, usize)| (0..persons.len() / 2).step_by(3).for_each(|i| values(i, i * 2));
    let (mut other, mut other_persons) = (data.clone(), persons.clone());
    turn(&mut |i, j| {
        other.x.swap(i, j);
        other.y.swap(i, j);
        other_persons.swap(i, j);
    });
    let matrix = Mat::from_fn(FEATURES, FEATURES, |i, j| 0.5 / (1 + i + j) as f64);
    let weights: Vec<f64> = (0..=FEATURES).map(|i| 0.5 - 0.2 * i as f64).collect();
    let whitening = Whitening::with_response(matrix.as_ref(), &weights);
    for (gamma, step_noise) in SETTINGS {
        let mut memory = data.by_person(&persons, 9, u64::MAX);
        let expected = answers(&mut memory, gamma, step_noise);
        for kernel in Kernel::available() {
            memory.set_kernel(kernel);
            memory.clipped(Clip::new(1), None).unwrap();
            assert_eq!(answers(&mut memory, gamma, step_noise), expected, "{kernel:?}");
        }
        assert_eq!(answers(&mut other.by_person(&other_persons, 9, u64::MAX), gamma, step_noise), expected);
        let mut remote = data.persons_on_a_cluster(&persons, 9, 2);
        assert_eq!(answers(&mut remote, gamma, step_noise), expected, "on a cluster");
        let white = |rows: &dyn Rows| answers(rows.whitened(&whitening).unwrap().as_mut(), gamma, step_noise);
        assert_eq!(white(&remote), white(&memory), "on a cluster");
        // The smallest possible memory, and enough for a few windows.
        for bytes in [1, 100_000] {
            let mut file = data.by_person(&persons, 9, bytes);
            assert_eq!(file.place(), Place::File);
            assert_eq!(answers(&mut file, gamma, step_noise), expected, "{bytes} bytes");
            assert_eq!(white(&file), white(&memory), "{bytes} bytes");
        }
    }
}

/// The same with persons whose rows are all zeros, or all except one, with the largest cells, and
/// with residuals that cancel and saturate.
fn with_odd_persons((mut data, persons): (Data, Vec<u32>)) -> (Data, Vec<u32>) {
    let rows_of = |person: u32| (0..persons.len()).filter(|&row| persons[row] == person).collect::<Vec<usize>>();
    rows_of(5).into_iter().for_each(|row| data.x[row].fill(0.0));
    (0..3).flat_map(rows_of).for_each(|row| data.x[row].fill(1000.0));
    data.y[40] = 1e9;
    let of_two: Vec<Vec<usize>> = (100..400).map(rows_of).filter(|rows| rows.len() == 2).collect();
    assert!(of_two.len() > 20);
    for rows in &of_two[1..] {
        data.y[rows[0]] = 90.0;
        data.x[rows[1]].fill(0.0);
        data.y[rows[1]] = 0.0;
    }
    for (&row, y) in of_two[0].iter().zip([127.0, -127.5]) {
        data.x[row] = vec![10.0, -10.0, 0.0, 0.0, 0.0];
        data.y[row] = y;
    }
    (data, persons)
}

/// Iterates that travel to the optimum, stay near it, leave by a little, and jump away: screened
/// sums equal full ones at each, on every engine, with the clip threshold on the lattice and on a
/// coarser grid.
#[test]
fn screened_sums_of_persons_equal_full_sums() {
    for (gamma, step_noise, most) in [(30.0, 1e-3, 0.3), (30.0, 1e-12, 0.3), (9.0, 1e-12, 0.6), (3000.0, 1e-12, 0.6)] {
        let (data, persons) = with_odd_persons(table(6000, 5));
        let mut screened = data.by_person(&persons, 9, u64::MAX);
        let mut full = data.by_person(&persons, 9, u64::MAX);
        let mut file = data.by_person(&persons, 9, 1_000_000);
        assert_eq!(file.place(), Place::File);
        let design = standard_design(FEATURES);
        let cluster = Arc::new(Cluster { blocks_in_answer: 2, ..data.cluster_by(&design, &persons, 9) });
        let mut remote = dplm_cluster::open(cluster.clone(), FEATURES, Some(9), None).unwrap();
        let lattice = Lattice::plan(6000, FEATURES, gamma, step_noise).unwrap();
        let clip = lattice.clip(gamma);
        for rows in [&mut screened as &mut dyn Rows, &mut file, &mut remote] {
            rows.clipped(clip, Some(ExpectedSteps { steps: 1_000_000, step_size: 0.25, noise_sd: 0.01 })).unwrap();
        }
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let optimum = 1.0 / (FEATURES as f64).sqrt();
        for step in 0..60 {
            let (travel, spread) = (0.75f64.powi(step), if step % 20 == 19 { 1.0 } else { 0.004 });
            let mut draw =
                || optimum * (1.0 - travel) + spread * Distribution::<f64>::sample(&StandardNormal, &mut rng);
            let theta = lattice.theta(&[(); FEATURES].map(|()| draw()));
            let expected = gradient_sum(&mut full, clip, &theta, &lattice);
            let engines: [(&str, &mut dyn Rows); 3] =
                [("memory", &mut screened), ("file", &mut file), ("cluster", &mut remote)];
            for (name, rows) in engines {
                assert_eq!(gradient_sum(rows, clip, &theta, &lattice), expected, "gamma {gamma}, step {step}, {name}");
            }
        }
        let share = screened.visited().into_inner() as f64 / (60 * persons.len()) as f64;
        assert!(share < most, "gamma {gamma}: visited {share} of the rows");
        let questions = cluster.asked.load(std::sync::atomic::Ordering::Relaxed);
        assert!(questions < 30, "gamma {gamma}: {questions} questions");
    }
}

/// A person's vector, exactly, compared with the engine's, one person at a time.
#[test]
fn a_person_contributes_the_sum_of_their_rows_shortened_to_the_clip() {
    for (gamma, step_noise) in [(6.0, 1.0), (6.0, 1e-12), (15.0, 1.0)] {
        let mut clipped = 0;
        for seed in 0..300 {
            let rows = 2 + seed as usize % 6;
            let data = Data::isotropic(rows, FEATURES, seed).on_lattice();
            let mut person = data.by_person(&vec![0; rows], 9, u64::MAX);
            let lattice = Lattice::plan(1, FEATURES, gamma, step_noise).unwrap();
            let theta = lattice.theta(&[0.4, -1.7, 0.01, 0.0, 1.0]);
            let clip = lattice.clip(gamma);
            let found = gradient_sum(&mut person, clip, &theta, &lattice);
            let mut sum = [0i128; FEATURES];
            for (x, y) in data.x.iter().zip(&data.y) {
                let cells: Vec<i128> = x.iter().map(|x| (x * 4096.0) as i128).collect();
                let fitted: i128 = cells.iter().zip(theta.integers()).map(|(x, theta)| x * *theta as i128).sum();
                let residual = (y * 4096.0) as i128 * lattice.theta_unit() as i128 - fitted;
                sum.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += cell * residual);
            }
            let length_sq: BigInt = sum.iter().map(|v| BigInt::from(*v).pow(2)).sum();
            let factor = (clip.gamma() as f64 / length_sq.to_string().parse::<f64>().unwrap().sqrt()).min(1.0);
            clipped += u32::from(factor < 1.0);
            // If nobody is clipped, second moments must give the same.
            assert!(factor < 1.0 || found == sum, "{gamma} {step_noise}: {found:?} {sum:?}");
            for (found, sum) in found.iter().zip(sum) {
                let expected = sum as f64 * factor;
                assert!((*found as f64 - expected).abs() <= 1e-6 * clip.gamma() as f64, "{found} {expected}");
            }
        }
        assert!((20..280).contains(&clipped), "{gamma}: {clipped}");
    }
}

/// Rows beyond the cap, and rows without a person, have no effect.
#[test]
fn the_first_rows_of_a_person_count_and_those_of_nobody_do_not() {
    let (data, persons) = table(200, 8);
    let mut seen = vec![0; 200];
    let keep: Vec<bool> = persons
        .iter()
        .map(|&person| {
            seen[person as usize] += 1;
            seen[person as usize] <= 3
        })
        .collect();
    let kept = |flag: bool| move |(_, keep): &(usize, &bool)| **keep == flag;
    let rows: Vec<usize> = keep.iter().enumerate().filter(kept(true)).map(|(row, _)| row).collect();
    let only = Data {
        x: rows.iter().map(|&row| data.x[row].clone()).collect(),
        y: rows.iter().map(|&row| data.y[row]).collect(),
    };
    let of_only: Vec<u32> = rows.iter().map(|&row| persons[row]).collect();
    let nobody: Vec<u32> =
        persons.iter().zip(&keep).map(|(&person, &keep)| if keep { person } else { u32::MAX }).collect();
    let ask = |data: &Data, persons: &[u32], most| answers(&mut data.by_person(persons, most, u64::MAX), 6.0, 1.0);
    let expected = ask(&only, &of_only, 9);
    assert_eq!(ask(&data, &persons, 3), expected);
    assert_eq!(ask(&data, &nobody, 9), expected);
    assert_ne!(ask(&data, &persons, 4), expected);
}

/// A table with one row for each of some persons, named in a mixed order.
fn one_row_each() -> Source {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let row = |i: u32| {
        let (x, z) = (normal(), f64::from(i % 7));
        format!("{:.4},{x:.4},{z},p{}\n", 1.0 + 0.5 * x - 0.2 * z + normal(), (i * 7 + 5) % 3000)
    };
    let rows: String = (0..3000).map(row).collect();
    Source::from_csv_stream(&mut format!("y,x,z,id\n{rows}").as_bytes(), "rows").unwrap()
}

/// Every estimate and interval is that of the row fit, for every method, in memory and in a file,
/// whatever the most rows of a person are. Methods whose parameters are public scale them by that
/// number if it is given, so it is 1 for those; and the spread of the errors of rows can only be
/// released if it is 1.
#[test]
fn with_one_row_each_a_fit_is_the_fit_of_the_rows() {
    let table = one_row_each();
    for (method, purpose, rows) in
        [("auto", Purpose::Inference, 20), ("auto", Purpose::Prediction, 20), ("dpgd", Purpose::Inference, 1)]
    {
        let asked = || {
            let lm = dplm::lm("y[-8..8] ~ x[-4..4] + z[0..7]").rho(1.0).method(method);
            lm.purpose(purpose).seed(3)
        };
        let of_rows = asked().fit_table(&table).unwrap();
        for by_person in [
            asked().person("id"),
            asked().person("id").rows_per_person(1),
            asked().person("id").rows_per_person(rows),
            asked().person("id").memory(1),
        ] {
            let mut fit = by_person.fit_table(&table).unwrap();
            assert_eq!((fit.guarantee.promise.unit, fit.rows), (Unit::Person, 3000));
            let person = fit.person.take();
            fit.guarantee.promise = of_rows.guarantee.promise.clone();
            fit.request = of_rows.request.clone();
            let mut expected = of_rows.clone();
            if person.is_none_or(|person| person.rows != Some(1)) {
                (expected.residual_sd, expected.r_squared) = (None, None);
            }
            assert_eq!(fit, expected, "{method}");
        }
    }
}

/// Errors that are correlated within a person: `icc` of their variance is shared. One column is
/// constant within persons, the other is not.
struct Clustered {
    table: Block,
    persons: Vec<u32>,
    count: u64,
}

impl Clustered {
    const SLOPES: [f64; 2] = [0.6, -0.4];

    fn draw(seed: u64, icc: f64) -> Clustered {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let (count, mut columns, mut persons) = (1500, [const { Vec::new() }; 3], Vec::new());
        for person in 0..count {
            let (of_person, shared) = (normal().clamp(-3.0, 3.0), normal());
            for _ in 0..1 + person % 8 {
                let of_row = normal().clamp(-3.0, 3.0);
                let error = icc.sqrt() * shared + (1.0 - icc).sqrt() * normal();
                let y = Clustered::SLOPES[0] * of_person + Clustered::SLOPES[1] * of_row + error;
                columns.iter_mut().zip([y, of_person, of_row]).for_each(|(column, value)| column.push(value));
                persons.push(person);
            }
        }
        let table = Block { rows: persons.len(), columns: columns.map(Cells::Numbers).into() };
        Clustered { table, persons, count: count.into() }
    }

    /// The slopes that the intervals of a fit cover.
    fn covered(&self, by_person: bool, seed: u64) -> [bool; 2] {
        let formula = Formula::parse("y[-6..6] ~ of_person[-3..3] + of_row[-3..3]").unwrap();
        let number = |name| Field::new(name, Type::Number);
        let schema = Schema::new(["y", "of_person", "of_row"].map(number).into());
        let design = Design::new(&formula.resolve(&schema).unwrap());
        let mut builder = Builder::new(&design, None);
        builder.push(&self.table).unwrap();
        let mut rows = builder.finish().unwrap();
        if by_person {
            let mut persons = Persons::new();
            persons.push(&self.persons).unwrap();
            rows = rows.by_person(&persons, 8, Together::default()).unwrap();
            assert_eq!(rows.count(), self.count);
        }
        let request = Request::new(Rho::checked_from_f64(1.0).unwrap());
        let plan = auto::Config::new(request).plan(rows.count(), &design).unwrap();
        let outcome = plan.run(&mut rows, &design, &mut FixedSeed::new(seed), Progress::NONE).unwrap();
        let inside = |(one, slope): (&Coefficient, f64)| {
            one.precision.as_ref().is_some_and(|one| one.low <= slope && slope <= one.high)
        };
        let mut found = outcome.coefficients[1..].iter().zip(Clustered::SLOPES).map(inside);
        std::array::from_fn(|_| found.next().unwrap())
    }
}

/// With coverage of 93 %, fewer than 65 of 80 intervals cover with probability 1.2e-4, for either
/// slope; with 95 %, with 2e-6. With 65 %, 65 or more do with probability 1.1e-3.
#[test]
fn intervals_cover_though_errors_are_alike_within_persons() {
    let fits = 80;
    let covered = |by_person: bool| -> [usize; 2] {
        let found = (0..fits).into_par_iter().map(|seed| Clustered::draw(seed, 0.8).covered(by_person, seed));
        found.map(|covered| covered.map(usize::from)).reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    };
    let (by_person, by_row) = (covered(true), covered(false));
    assert!(by_person.iter().all(|&covered| covered >= 65), "{by_person:?} of {fits}");
    assert!(by_row[0] < 65, "rows ignore that errors are alike: {by_row:?} of {fits}");
}

/// Identifiers are read from numbers and from texts alike, and a missing identifier is nobody's.
#[test]
fn identifiers_are_read_as_they_are_meant() {
    let rows = |ids: &[&str]| {
        let row = |(i, id): (usize, &&str)| format!("{}.5,{}.25,{id}\n", i % 7, i % 5);
        let text: String = ids.iter().enumerate().map(row).collect();
        Source::from_csv_stream(&mut format!("y,x,id\n{text}").as_bytes(), "rows").unwrap()
    };
    let count = |source: &Source| {
        let reading = Reading { person: Some(Person::new("id")), ..Reading::default() };
        Dataset::read(source, &Formula::parse("y[0..9] ~ x[0..9]").unwrap(), &reading).unwrap().rows()
    };
    assert_eq!(count(&rows(&["1", "1.0", " 1 ", "2", "02", "x", "X", "", "NA"])), 6, "1.0 is not 1");
    assert_eq!(count(&rows(&["", "NA"])), 0);
}

/// No message holds an identifier, a strict reading refuses a missing one, and impossible requests
/// are refused before anything is read.
#[test]
fn what_is_refused_names_no_person() {
    let secret = "943-77-1234";
    let text: String = (0..3000).map(|i| format!("{},{},{secret}{}\n", i % 7, i % 5, i / 2)).collect();
    let table = Source::from_csv_stream(&mut format!("y,x,id\n{text}1,1,\n").as_bytes(), "rows").unwrap();
    let asked = || dplm::lm("y[0..9] ~ x[0..9]").rho(0.5);
    let told = |lm: dplm::Lm<'_>| lm.fit_table(&table).unwrap_err().to_string();
    assert!(told(asked().person("ID")).contains("did you mean 'id'"));
    let strict = told(asked().person("id").strict(true));
    assert!(strict.contains("'id'") && !strict.contains(secret), "{strict}");
    assert!(told(asked().rows_per_person(3)).contains("name it with person"));
    for rows in [0, 16_385] {
        assert!(told(asked().person("id").rows_per_person(rows)).contains("between 1 and 16384"));
    }
    let few = told(dplm::lm("y[0..9] ~ x[0..9]").rho(1e-9).person("id"));
    assert!(few.contains("on 1,500 persons"), "{few}");
    let fit = asked().person("id").rows_per_person(2).fit_table(&table).unwrap();
    let told = [fit.to_string(), to_json(&fit), to_html(&fit, &Cover::default())].concat();
    assert!(!told.contains(secret) && !told.contains("3,001"), "{told}");
    assert!(
        told.contains("1,500 persons") && to_html(&fit, &Cover::default()).contains("--person id --rows-per-person 2"),
        "{told}"
    );
}

/// If each person counts once, their rows share the weight of one: products are divided by the
/// number of rows without a missing cell.
#[test]
fn a_person_that_counts_once_has_the_weight_of_one_row() {
    let (mut data, persons) = table(300, 11);
    data.x[700][2] = f64::NAN;
    let mut of_rows = Persons::new();
    of_rows.push(&persons).unwrap();
    let counts = |row: usize| data.x[row].iter().all(|cell| cell.is_finite());
    let mut sizes = vec![0.0; 300];
    (0..persons.len()).filter(|&row| counts(row)).for_each(|row| sizes[persons[row] as usize] += 1.0);
    let mut expected = Vec::new();
    for (i, j) in (0..FEATURES).flat_map(|j| (0..=j).map(move |i| (i, j))) {
        let rows = (0..persons.len()).filter(|&row| counts(row));
        expected.push(rows.map(|row| data.x[row][i] * data.x[row][j] / sizes[persons[row] as usize]).sum::<f64>());
    }
    let [memory, file] = [u64::MAX, 100_000].map(|memory| {
        let once = data.within(memory).by_person(&of_rows, 9, Together { once: true, within: false }).unwrap();
        outer_sum(&once, &Outer::Shrunk { radius: 1 << 31 })
    });
    assert_eq!(memory, file);
    for (found, expected) in memory.iter().zip(expected) {
        assert!((*found as f64 / 4096f64.powi(2) - expected).abs() < 0.1, "{found} {expected}");
    }
    let asked = dplm::lm("y[-8..8] ~ x[-4..4]").rho(1.0).target(Target::Person);
    assert!(asked.clone().fit_table(&one_row_each()).unwrap_err().to_string().contains("name it with person"));
    let fit = asked.person("id").fit_table(&one_row_each()).unwrap();
    assert!(fit.target == Target::Person && fit.target_text().contains("each person counts once"));
}
