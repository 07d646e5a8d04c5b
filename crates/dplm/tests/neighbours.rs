//! One row moves no query further than it claims, as integers, whatever the rows hold; the same
//! holds for all rows of a person. A unit that changes its group moves the queries of both no
//! further than one that is replaced may move one.
//!
//! Every query of [`Rows`], for both relations between neighbours, on every engine, for rows as
//! they are and re-encoded ones. The comparison is of the arguments of
//! [`release`](dplm::privacy::release): the integers, their weights and the claim.

use dplm::{
    formula::{Column, Kind},
    lattice::{Clip, ClippedOuter, Ladder, Lattice, Link, Number, Outer, Theta, Whitening},
    privacy::{Claim, Neighbours, Person, Sensitive},
    rows::{CellCounts, Encoded, ExpectedSteps, OuterSum, Rows, engine, usable_units},
    table::{Block, Cells, MISSING},
};
use faer::Mat;
use num_bigint::{BigInt, BigUint};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use rayon::prelude::*;

use crate::common::{Data, hostile, within_design};

/// Cells that have broken the arithmetic of other programs.
const ADVERSARIAL: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e308,
    -1e308,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    128.0,
    -127.999_9,
    0.5 / 4096.0,
    1.5 / 4096.0,
    1e-300,
];

struct Cases(ChaCha20Rng);

impl Cases {
    fn new(seed: u64) -> Cases {
        Cases(ChaCha20Rng::seed_from_u64(seed))
    }

    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn cell(&mut self) -> f64 {
        match self.below(4) {
            0 => ADVERSARIAL[self.below(ADVERSARIAL.len())],
            1 => (self.uniform() - 0.5) * 300.0,
            _ => (self.uniform() - 0.5) * 6.0,
        }
    }

    fn data(&mut self, rows: usize, features: usize) -> Data {
        let x = (0..rows).map(|_| (0..features).map(|_| self.cell()).collect()).collect();
        Data { x, y: (0..rows).map(|_| self.cell()).collect() }
    }

    /// The replacement of a row in a neighbouring data set.
    fn other_row(&mut self, features: usize, neighbours: Neighbours) -> Data {
        match neighbours {
            Neighbours::ReplaceOne => self.data(1, features),
            Neighbours::ZeroOut => Data { x: vec![vec![f64::NAN; features]], y: vec![f64::NAN] },
        }
    }

    /// Half of the time one that makes another response too, and one in three for rows beside a
    /// copy that half of the units have.
    fn whitening(&mut self, features: usize) -> Whitening {
        let scale = 10f64.powf(self.uniform() * 6.0 - 3.0);
        let is_beside_half = self.below(3) == 0;
        let inputs = if is_beside_half { 2 * features } else { features };
        let matrix = Mat::from_fn(inputs, features, |_, _| (self.uniform() - 0.5) * scale);
        let weights: Vec<f64> = (0..=inputs).map(|_| (self.uniform() - 0.5) * scale).collect();
        let whitening = match self.below(2) {
            0 => Whitening::new(matrix.as_ref()),
            _ => Whitening::with_response(matrix.as_ref(), &weights),
        };
        let length = (self.below(2) == 0).then(|| 1 + self.below(1 << 20) as u64);
        let whitening = whitening.shortened_to(length);
        if is_beside_half { whitening.beside_half() } else { whitening }
    }

    /// Half of the time so small that parameters use all their bits.
    fn step_noise(&mut self) -> f64 {
        if self.below(2) == 0 { 1e-12 } else { self.uniform() }
    }

    fn gamma(&mut self) -> f64 {
        10f64.powf(self.uniform() * 9.0 - 5.0)
    }
}

#[derive(Clone, Copy)]
enum Place {
    Memory,
    File,
    Cluster,
}

fn rows_in(place: Place, data: &Data) -> Box<dyn Rows> {
    match place {
        Place::Memory => Box::new(data.rows()),
        Place::File => boxed(data.in_a_file(), place),
        Place::Cluster => Box::new(data.on_a_cluster(2, 1)),
    }
}

fn boxed(encoded: Encoded, place: Place) -> Box<dyn Rows> {
    let expected = match place {
        Place::Memory => engine::Place::Memory,
        Place::File => engine::Place::File,
        Place::Cluster => engine::Place::Elsewhere,
    };
    assert_eq!(encoded.place(), expected, "one byte holds no row, and all memory any");
    Box::new(encoded)
}

/// Persons with their rows.
#[derive(Clone)]
struct People {
    persons: Vec<Data>,
    features: usize,
    /// The most rows of a person that count.
    most: u32,
    /// Whether persons' own means are taken out.
    within: bool,
}

impl People {
    fn draw(cases: &mut Cases) -> People {
        let (count, features) = (1 + cases.below(6), 1 + cases.below(3));
        let persons = (0..count).map(|_| People::person(cases, features)).collect();
        People { persons, features, most: 1 + cases.below(5) as u32, within: cases.below(2) == 0 }
    }

    /// A person with any number of rows, including none, half of the time so large that their rows
    /// nearly cancel.
    fn person(cases: &mut Cases, features: usize) -> Data {
        let rows = cases.below(6);
        let mut person = cases.data(rows, features);
        if rows > 1 && cases.below(4) == 0 {
            person.x[0] = vec![127.0; features];
            person.x[1] = vec![-127.0 + cases.uniform(); features];
        }
        person
    }

    /// One person replaced by another, or by one whose rows contribute nothing.
    fn neighbour(&self, cases: &mut Cases, neighbours: Neighbours) -> People {
        let mut other = self.clone();
        let who = cases.below(self.persons.len());
        other.persons[who] = match neighbours {
            Neighbours::ReplaceOne => People::person(cases, self.features),
            Neighbours::ZeroOut => {
                let rows = cases.below(4);
                Data { x: vec![vec![f64::NAN; self.features]; rows], y: vec![1.0; rows] }
            }
        };
        other
    }

    /// The rows of all persons in one table, in mixed order, and a last row of the last person so
    /// that each has a number.
    fn rows(&self, place: Place) -> Box<dyn Rows> {
        boxed(self.encoded(place), place)
    }

    fn encoded(&self, place: Place) -> Encoded {
        let (mut table, mut of_rows) = (Data { x: Vec::new(), y: Vec::new() }, Vec::new());
        let longest = self.persons.iter().map(|person| person.y.len()).max().unwrap_or(0);
        for row in 0..longest {
            for (number, person) in (0..).zip(&self.persons).filter(|(_, person)| row < person.y.len()) {
                table.x.push(person.x[row].clone());
                table.y.push(person.y[row]);
                of_rows.push(number);
            }
        }
        // A person without rows appears with one that contributes nothing.
        let without = (0..).zip(&self.persons).filter(|(_, person)| person.y.is_empty()).map(|(number, _)| number);
        for number in without.chain([self.persons.len() as u32]) {
            table.x.push(vec![f64::NAN; self.features]);
            table.y.push(0.0);
            of_rows.push(number);
        }
        match place {
            Place::Cluster if self.within => {
                table.on_a_cluster_by(&within_design(self.features), &of_rows, self.most, 1)
            }
            Place::Cluster => table.persons_on_a_cluster(&of_rows, self.most, 1),
            _ if self.within => table.within_persons(&of_rows, self.most, memory_of(place)),
            _ => table.by_person(&of_rows, self.most, memory_of(place)),
        }
    }
}

/// A data set, a neighbour of it, and the same public numbers for the queries on both.
struct Pair {
    rows: [Box<dyn Rows>; 2],
    asked: Asked,
}

/// What is asked of both.
struct Asked {
    lattice: Lattice,
    clip: Clip,
    theta: Theta,
    radius: u64,
    neighbours: Neighbours,
}

impl Pair {
    /// Relations alternate, and so do rows as they are and re-encoded ones.
    fn draw(seed: usize, place: Place) -> Pair {
        let cases = &mut Cases::new(seed as u64);
        let neighbours = if seed.is_multiple_of(2) { Neighbours::ReplaceOne } else { Neighbours::ZeroOut };
        let (count, features) = (1 + cases.below(6), 1 + cases.below(3));
        let data = cases.data(count, features);
        let other = data.replaced(cases.below(count), &cases.other_row(features, neighbours), 0);
        let rows = [&data, &other].map(|data| rows_in(place, data));
        Pair::ask_about(seed, cases, rows, neighbours)
    }

    /// The same for persons with any number of rows.
    fn of_persons(seed: usize, place: Place) -> Pair {
        let cases = &mut Cases::new(seed as u64);
        let neighbours = if seed.is_multiple_of(2) { Neighbours::ReplaceOne } else { Neighbours::ZeroOut };
        let people = People::draw(cases);
        let other = people.neighbour(cases, neighbours);
        let rows = [&people, &other].map(|people| people.rows(place));
        assert_eq!(rows[0].count(), rows[1].count());
        Pair::ask_about(seed, cases, rows, neighbours)
    }

    fn ask_about(seed: usize, cases: &mut Cases, mut rows: [Box<dyn Rows>; 2], neighbours: Neighbours) -> Pair {
        let (count, features) = (rows[0].count(), rows[0].features());
        if seed / 2 % 2 == 1 {
            let whitening = cases.whitening(features);
            rows = rows.map(|rows| rows.whitened(&whitening).unwrap());
        }
        let gamma = cases.gamma();
        let lattice = Lattice::plan(count, features, gamma, cases.step_noise()).unwrap();
        let clip = lattice.clip(gamma);
        let theta = lattice.theta(&(0..features).map(|_| cases.cell()).collect::<Vec<_>>());
        let radius = 1 + cases.below(1 << 20) as u64;
        Pair { rows, asked: Asked { lattice, clip, theta, radius, neighbours } }
    }

    /// The same where responses are taken for binary ones: any cell is one, of some weight.
    fn binary(seed: usize, place: Place) -> Pair {
        Pair::draw(seed, place).of_logistic_link(seed)
    }

    fn binary_of_persons(seed: usize, place: Place) -> Pair {
        Pair::of_persons(seed, place).of_logistic_link(seed)
    }

    fn of_logistic_link(self, seed: usize) -> Pair {
        let Asked { lattice, theta, radius, .. } = &self.asked;
        let logistic = lattice.of_link(Link::Logistic);
        let theta = logistic.theta(&lattice.standardised(theta));
        let clip = Clip::new(u128::from(*radius) << (seed % 24));
        Pair { asked: Asked { lattice: logistic, theta, clip, ..self.asked }, rows: self.rows }
    }

    /// For each query, whether its answers differ; none by more than is claimed.
    fn moved<const N: usize>(mut self, ask: impl Fn(&Asked, &mut dyn Rows) -> [Vec<Sensitive>; N]) -> [bool; N] {
        let [one, other] = self.rows.each_mut().map(|rows| ask(&self.asked, rows.as_mut()));
        let mut pairs = one.into_iter().zip(other);
        std::array::from_fn(|_| {
            let (one, other) = pairs.next().expect("as many answers");
            one.into_iter().zip(other).fold(false, |any, (one, other)| any | is_moved(one, other))
        })
    }
}

impl Asked {
    fn sums(&self, rows: &mut dyn Rows) -> [Vec<Sensitive>; 2] {
        let mut rows = rows.clipped(self.clip, None).unwrap();
        let gradient = rows.negative_gradient_sum(&self.theta, &self.lattice, self.neighbours).unwrap();
        let square = rows.square_sum(&self.theta, &self.lattice, self.neighbours).unwrap();
        [vec![gradient], vec![square]]
    }

    /// What a logit asks beside gradients: numbers, and second moments of tilted rows.
    fn of_likelihood(&self, rows: &mut dyn Rows) -> [Vec<Sensitive>; 4] {
        let same = Whitening::new(Mat::<f64>::identity(rows.features(), rows.features()).as_ref());
        let tilted = same.tilted(self.theta.clone(), &self.lattice);
        let moments = rows.through(&tilted).unwrap().second_moments(self.radius, self.neighbours).unwrap();
        let rows = rows.clipped(self.clip, None).unwrap();
        let number = |of: Number| vec![rows.number_sum(of, &self.theta, &self.lattice, self.neighbours).unwrap()];
        let [outcome, variance, entropy] = [Number::Outcome, Number::Variance, Number::Entropy].map(number);
        [outcome, variance, entropy, vec![moments.into_matrix()]]
    }

    fn bends(&self, rows: &mut dyn Rows) -> [Vec<Sensitive>; 1] {
        let rows = rows.clipped(self.clip, None).unwrap();
        [vec![rows.bend_sum(&self.theta, &self.lattice, self.neighbours).unwrap()]]
    }

    /// Sums of queries that do not keep to what they say of a row.
    fn custom_sums(&self, rows: &mut dyn Rows) -> [Vec<Sensitive>; 3] {
        let rows = rows.custom().unwrap();
        hostile(self.radius).map(|query| vec![rows.sum(&query, self.neighbours).unwrap()])
    }

    fn counts(&self, rows: &mut dyn Rows) -> [Vec<Sensitive>; 3] {
        let radii: Vec<u64> = (0..24).map(|bit| 3 << bit).collect();
        let clips: Vec<Clip> = (0..24).map(|bit| Clip::new(3 << (2 * bit))).collect();
        let gradients = Ladder::Gradients { theta: &self.theta, theta_unit: self.lattice.theta_unit(), clips: &clips };
        let sizes: Vec<u64> = (0..24).map(|bit| 3 << (2 * bit)).collect();
        let residuals = Ladder::Residuals { theta: &self.theta, theta_unit: self.lattice.theta_unit(), sizes: &sizes };
        [Ladder::Norms { radii: &radii }, gradients, residuals].map(|ladder| {
            let counts = rows.tail_counts(&ladder, self.neighbours).unwrap();
            (0..counts.len()).map(|threshold| counts.above(threshold)).collect()
        })
    }

    /// The three sums of outer products.
    fn outer_products(&self, rows: &mut dyn Rows) -> [Vec<Sensitive>; 3] {
        let (theta, theta_unit, radius) = (&self.theta, self.lattice.theta_unit(), self.radius);
        let matrix = |sum: Result<OuterSum, _>| vec![sum.unwrap().into_matrix()];
        let shrunk = matrix(rows.outer_sum(&Outer::Shrunk { radius }, self.neighbours));
        let rows = rows.clipped(self.clip, None).unwrap();
        let ask = |outer: ClippedOuter<'_>| matrix(rows.outer_sum(&outer, self.neighbours));
        [
            shrunk,
            ask(ClippedOuter::Unclipped { theta, theta_unit, radius }),
            ask(ClippedOuter::Gradient { theta, theta_unit }),
        ]
    }
}

fn distance_sq(one: &Claim, other: &Claim) -> BigUint {
    let pairs = one.values.iter().zip(&other.values).zip(&one.weights);
    let squares = pairs.map(|((one, other), &weight)| (BigInt::from(*one) - other).pow(2) * weight);
    squares.sum::<BigInt>().to_biguint().expect("a sum of squares")
}

/// Whether two answers differ. They must not differ by more than is claimed, and the claim must not
/// depend on the rows.
fn is_moved(one: Sensitive, other: Sensitive) -> bool {
    let [one, other] = [one, other].map(|answer| answer.into_not_private().into_inner());
    assert_eq!((&one.weights, &one.delta_sq), (&other.weights, &other.delta_sq));
    let distance_sq = distance_sq(&one, &other);
    assert!(distance_sq <= one.delta_sq, "moved by {distance_sq}, claimed {}", one.delta_sq);
    distance_sq > BigUint::ZERO
}

/// Compares `pairs` pairs; a query that a row hardly ever moves would test nothing.
fn check<const N: usize>(
    pairs: usize,
    (draw, place): (impl Fn(usize, Place) -> Pair + Sync, Place),
    ask: impl Fn(&Asked, &mut dyn Rows) -> [Vec<Sensitive>; N] + Sync + Copy,
) {
    let counted = |moved: [usize; N], more: [usize; N]| std::array::from_fn(|i| moved[i] + more[i]);
    let moved = (0..pairs).into_par_iter().map(|seed| draw(seed, place).moved(ask).map(usize::from));
    let moved = moved.reduce(|| [0; N], counted);
    assert!(moved.iter().all(|&moved| moved > pairs / 50), "moved {moved:?} of {pairs}");
}

#[test]
fn sums_of_clipped_gradients_and_of_their_squares() {
    check(100_000, (Pair::draw, Place::Memory), Asked::sums);
}

#[test]
fn sums_of_binary_responses() {
    for (pairs, place) in [(10_000, Place::Memory), (500, Place::File), (500, Place::Cluster)] {
        check(pairs, (Pair::binary, place), Asked::sums);
        check(pairs, (Pair::binary, place), Asked::of_likelihood);
        check(pairs, (Pair::binary, place), Asked::bends);
        check(pairs, (Pair::binary, place), Asked::outer_products);
    }
    check(5_000, (Pair::binary, Place::Memory), Asked::counts);
}

#[test]
fn sums_of_binary_responses_of_persons() {
    for (pairs, place) in [(10_000, Place::Memory), (500, Place::File), (500, Place::Cluster)] {
        check(pairs, (Pair::binary_of_persons, place), Asked::sums);
        check(pairs, (Pair::binary_of_persons, place), Asked::of_likelihood);
        check(pairs, (Pair::binary_of_persons, place), Asked::outer_products);
    }
    check(5_000, (Pair::binary_of_persons, Place::Memory), Asked::counts);
}

#[test]
fn sums_of_queries_of_other_crates() {
    check(50_000, (Pair::draw, Place::Memory), Asked::custom_sums);
    check(2_000, (Pair::draw, Place::File), Asked::custom_sums);
    check(10_000, (Pair::of_persons, Place::Memory), Asked::custom_sums);
    check(1_000, (Pair::of_persons, Place::File), Asked::custom_sums);
}

#[test]
fn sums_of_outer_products_of_rows_with_small_residuals() {
    check(50_000, (Pair::draw, Place::Memory), |pair, rows| {
        let (theta, theta_unit, radius) = (&pair.theta, pair.lattice.theta_unit(), pair.radius);
        let within = Outer::Within { theta, theta_unit, radius, residual: (1 << 50) >> (radius % 24) };
        [vec![rows.outer_sum(&within, pair.neighbours).unwrap().into_matrix()]]
    });
}

#[test]
fn counts_above_thresholds() {
    check(100_000, (Pair::draw, Place::Memory), Asked::counts);
}

/// Whatever a row holds, it changes the moments of one batch.
#[test]
fn moments_of_batches() {
    for (place, pairs) in [(Place::Memory, 20_000), (Place::File, 2_000)] {
        let moved = (0..pairs).into_par_iter().filter(|&seed| {
            let Pair { rows, asked: Asked { radius, .. } } = Pair::draw(seed, place);
            let [one, other] = rows.each_ref().map(|rows| {
                let moments = rows.custom().unwrap().batch_moments(1 + radius as usize % 5).unwrap();
                moments.into_not_private().into_inner().0
            });
            let differ = one
                .into_iter()
                .zip(other)
                .filter(|(one, other)| one.clone().into_upper() != other.clone().into_upper());
            match differ.count() {
                0 => false,
                1 => true,
                more => panic!("one row is in {more} batches"),
            }
        });
        assert!(moved.count() > pairs / 2);
    }
}

#[test]
fn sums_of_outer_products() {
    check(100_000, (Pair::draw, Place::Memory), Asked::outer_products);
}

#[test]
fn every_query_of_rows_in_a_file() {
    check(4_000, (Pair::draw, Place::File), Asked::sums);
    check(4_000, (Pair::draw, Place::File), Asked::counts);
    check(4_000, (Pair::draw, Place::File), Asked::outer_products);
}

#[test]
fn rows_on_a_cluster() {
    check(2_000, (Pair::draw, Place::Cluster), Asked::sums);
    check(2_000, (Pair::draw, Place::Cluster), Asked::counts);
    check(2_000, (Pair::draw, Place::Cluster), Asked::outer_products);
}

#[test]
fn sums_of_clipped_gradients_of_persons() {
    check(20_000, (Pair::of_persons, Place::Memory), Asked::sums);
}

#[test]
fn counts_of_persons_above_thresholds() {
    check(20_000, (Pair::of_persons, Place::Memory), Asked::counts);
}

#[test]
fn sums_of_outer_products_of_persons() {
    check(20_000, (Pair::of_persons, Place::Memory), Asked::outer_products);
}

#[test]
fn every_query_of_persons_in_a_file() {
    check(1_000, (Pair::of_persons, Place::File), Asked::sums);
    check(1_000, (Pair::of_persons, Place::File), Asked::counts);
    check(1_000, (Pair::of_persons, Place::File), Asked::outer_products);
}

#[test]
fn persons_on_a_cluster() {
    check(1_000, (Pair::of_persons, Place::Cluster), Asked::sums);
    check(1_000, (Pair::of_persons, Place::Cluster), Asked::counts);
    check(1_000, (Pair::of_persons, Place::Cluster), Asked::outer_products);
}

/// Rows of one of several groups, with a given size.
fn in_group(mut rows: Encoded, place: Place) -> Box<dyn Rows> {
    rows.say_of_group(7);
    boxed(rows, place)
}

fn memory_of(place: Place) -> u64 {
    if matches!(place, Place::File) { 1 } else { u64::MAX }
}

impl Pair {
    /// A group, and the same with one row replaced by another, or zeroed out.
    fn of_group(seed: usize, place: Place) -> Pair {
        let cases = &mut Cases::new(seed as u64);
        let neighbours = if seed.is_multiple_of(2) { Neighbours::ReplaceOne } else { Neighbours::ZeroOut };
        let (count, features) = (1 + cases.below(40), 1 + cases.below(3));
        let data = cases.data(count, features);
        let other = data.replaced(cases.below(count), &cases.other_row(features, neighbours), 0);
        let rows = [data, other].map(|data| in_group(data.within(memory_of(place)), place));
        Pair::ask_about(seed, cases, rows, neighbours)
    }

    /// A group, and the same with one row more.
    fn with_one_more_row(seed: usize, cases: &mut Cases, place: Place) -> Pair {
        let (count, features) = (1 + cases.below(40), 1 + cases.below(3));
        let more = cases.data(1 + count, features);
        let without = Data { x: more.x[..count].to_vec(), y: more.y[..count].to_vec() };
        let rows = [without, more].map(|data| in_group(data.within(memory_of(place)), place));
        Pair::ask_about(seed, cases, rows, Neighbours::ReplaceOne)
    }

    /// A group of persons, and the same with one person more.
    fn with_one_more_person(seed: usize, cases: &mut Cases, place: Place) -> Pair {
        let with = People::draw(cases);
        let mut without = with.clone();
        without.persons.pop();
        let rows = [&without, &with].map(|people| in_group(people.encoded(place), place));
        Pair::ask_about(seed, cases, rows, Neighbours::ReplaceOne)
    }

    /// The squared distance by which each query is moved, and its claim.
    fn losses<const N: usize>(
        mut self,
        ask: impl Fn(&Asked, &mut dyn Rows) -> [Vec<Sensitive>; N],
    ) -> Vec<(BigUint, BigUint)> {
        let [one, other] = self.rows.each_mut().map(|rows| ask(&self.asked, rows.as_mut()).into_iter().flatten());
        let claim = |answer: Sensitive| answer.into_not_private().into_inner();
        let pairs = one.zip(other).map(|(one, other)| (claim(one), claim(other)));
        pairs.map(|(one, other)| (distance_sq(&one, &other), one.delta_sq)).collect()
    }
}

/// A unit leaves one group and enters another, which has its own clip threshold, coordinates and
/// parameters: its cost in both is within one budget.
fn check_change<const N: usize>(
    pairs: usize,
    (draw, place): (impl Fn(usize, &mut Cases, Place) -> Pair + Sync, Place),
    ask: impl Fn(&Asked, &mut dyn Rows) -> [Vec<Sensitive>; N] + Sync + Copy,
) {
    let moved = (0..pairs).into_par_iter().map(|seed| {
        let cases = &mut Cases::new(seed as u64);
        let [left, joined] = [2 * seed, seed].map(|seed| draw(seed, cases, place).losses(ask));
        let mut any = 0;
        for ((left, claimed_left), (joined, claimed_joined)) in left.into_iter().zip(joined) {
            let both = &left * &claimed_joined + &joined * &claimed_left;
            assert!(both <= claimed_left * claimed_joined, "{left} and {joined} in one budget");
            any += usize::from(both > BigUint::ZERO);
        }
        any
    });
    assert!(moved.sum::<usize>() > pairs / 20, "a unit that moves nothing tests nothing");
}

#[test]
fn every_query_of_a_group() {
    check(20_000, (Pair::of_group, Place::Memory), Asked::sums);
    check(20_000, (Pair::of_group, Place::Memory), Asked::counts);
    check(20_000, (Pair::of_group, Place::Memory), Asked::outer_products);
    check(20_000, (Pair::of_group, Place::Memory), Asked::custom_sums);
    check(1_000, (Pair::of_group, Place::File), Asked::sums);
}

#[test]
fn a_row_that_changes_its_group_costs_no_more_than_one_that_is_replaced() {
    check_change(20_000, (Pair::with_one_more_row, Place::Memory), Asked::sums);
    check_change(20_000, (Pair::with_one_more_row, Place::Memory), Asked::counts);
    check_change(20_000, (Pair::with_one_more_row, Place::Memory), Asked::outer_products);
    check_change(20_000, (Pair::with_one_more_row, Place::Memory), Asked::custom_sums);
    check_change(1_000, (Pair::with_one_more_row, Place::File), Asked::counts);
}

#[test]
fn a_person_who_changes_their_group_costs_no_more_than_one_who_is_replaced() {
    check_change(20_000, (Pair::with_one_more_person, Place::Memory), Asked::sums);
    check_change(20_000, (Pair::with_one_more_person, Place::Memory), Asked::counts);
    check_change(20_000, (Pair::with_one_more_person, Place::Memory), Asked::outer_products);
    check_change(20_000, (Pair::with_one_more_person, Place::Memory), Asked::custom_sums);
}

/// A single row is within the bound on a row: the claim of the weaker relation.
#[test]
fn the_weaker_relation_claims_half_as_far() {
    for seed in 0..200 {
        let Pair { mut rows, asked: Asked { theta, lattice, clip, .. } } = Pair::draw(seed, Place::Memory);
        let mut rows = rows[0].clipped(clip, None).unwrap();
        let mut claim =
            |neighbours| rows.negative_gradient_sum(&theta, &lattice, neighbours).unwrap().into_not_private();
        let [replaced, zeroed] =
            [Neighbours::ReplaceOne, Neighbours::ZeroOut].map(|relation| claim(relation).into_inner());
        assert_eq!(replaced.delta_sq, zeroed.delta_sq * 4u32);
        assert_eq!(replaced.values, zeroed.values);
    }
}

/// Enough steps for screening to visit far fewer rows than full passes would.
const STEPS: i32 = 40;

/// Iterates that travel to the optimum and stay near it, so that most rows are screened.
fn ask_along_a_path(rows: &mut dyn Rows, neighbours: Neighbours) -> Vec<Sensitive> {
    let (count, features) = (rows.count(), rows.features());
    let lattice = Lattice::plan(count, features, 6.0, 1e-3).unwrap();
    let forecast = ExpectedSteps { steps: 1_000_000, step_size: 0.25, noise_sd: 0.01 };
    let mut rows = rows.clipped(lattice.clip(6.0), Some(forecast)).unwrap();
    let optimum = 1.0 / (features as f64).sqrt();
    let theta = |step: i32| lattice.theta(&vec![optimum * (1.0 - 0.6f64.powi(step)); features]);
    (0..STEPS).map(|step| rows.negative_gradient_sum(&theta(step), &lattice, neighbours).unwrap()).collect()
}

/// Screening uses all rows, so its answers on neighbours must be compared as well, not only with a
/// full pass.
#[test]
fn screened_sums_of_clipped_gradients() {
    let (count, features) = (6000, 3);
    let is_screened = |visited: u64| assert!(visited < count as u64 * STEPS as u64 / 2, "visited {visited} rows");
    let moved: usize = (0..24usize)
        .into_par_iter()
        .map(|seed| {
            let cases = &mut Cases::new(seed as u64);
            let neighbours = if seed.is_multiple_of(2) { Neighbours::ReplaceOne } else { Neighbours::ZeroOut };
            let data = Data::isotropic(count, features, seed as u64);
            let other = data.replaced(cases.below(count), &cases.other_row(features, neighbours), 0);
            let [one, other] = [data, other].map(|data| {
                if seed % 6 < 2 {
                    let mut rows = data.rows();
                    let answers = ask_along_a_path(&mut rows, neighbours);
                    is_screened(rows.visited().into_inner());
                    answers
                } else if seed % 6 < 4 {
                    let mut rows = data.on_a_cluster(1000, 2);
                    let answers = ask_along_a_path(&mut rows, neighbours);
                    is_screened(rows.visited().into_inner());
                    answers
                } else {
                    let mut rows = data.within(200_000);
                    assert_eq!(rows.place(), engine::Place::File, "the rows take more than half of that");
                    let answers = ask_along_a_path(&mut rows, neighbours);
                    is_screened(rows.visited().into_inner());
                    answers
                }
            });
            one.into_iter().zip(other).map(|(one, other)| usize::from(is_moved(one, other))).sum::<usize>()
        })
        .sum();
    assert!(moved > 24 * STEPS as usize * 3 / 4, "{moved}");
}

/// Rows made to move a query as far as they can.
#[test]
fn claims_are_nearly_reached() {
    let row = |x: [f64; 2], y: f64| Data { x: vec![x.to_vec()], y: vec![y] };
    let nearly = |one: Data,
                  other: Data,
                  neighbours: Neighbours,
                  ask: &dyn Fn(&mut dyn Rows, &Lattice, &Theta, Neighbours) -> Sensitive| {
        let lattice = Lattice::plan(1, 2, 1.0, 1.0).unwrap();
        let theta = lattice.theta(&[0.0, 0.0]);
        let [one, other] = [one, other]
            .map(|data| ask(&mut data.rows(), &lattice, &theta, neighbours).into_not_private().into_inner());
        let moved = distance_sq(&one, &other);
        assert!(moved <= one.delta_sq && moved > &one.delta_sq * 99u32 / 100u32, "{moved} of {}", one.delta_sq);
    };
    let none = || row([0.0, 0.0], 0.0);
    let (replaced, zeroed) = (Neighbours::ReplaceOne, Neighbours::ZeroOut);
    let gradient = |rows: &mut dyn Rows, lattice: &Lattice, theta: &Theta, relation| {
        rows.clipped(lattice.clip(1.0), None).unwrap().negative_gradient_sum(theta, lattice, relation).unwrap()
    };
    nearly(row([1.0, 2.0], 100.0), row([1.0, 2.0], -100.0), replaced, &gradient);
    nearly(row([1.0, 2.0], 100.0), none(), zeroed, &gradient);
    let square = |rows: &mut dyn Rows, lattice: &Lattice, theta: &Theta, relation| {
        rows.clipped(lattice.clip(1.0), None).unwrap().square_sum(theta, lattice, relation).unwrap()
    };
    nearly(row([1.0, 2.0], 100.0), none(), replaced, &square);
    nearly(row([1.0, 2.0], 100.0), none(), zeroed, &square);
    let shrunk = |rows: &mut dyn Rows, _: &Lattice, _: &Theta, relation| {
        rows.outer_sum(&Outer::Shrunk { radius: 5000 }, relation).unwrap().into_matrix()
    };
    nearly(row([100.0, 0.0], 0.0), row([0.0, -100.0], 0.0), replaced, &shrunk);
    nearly(row([3.0, 4.0], 0.0), none(), zeroed, &shrunk);
    let count = |rows: &mut dyn Rows, _: &Lattice, _: &Theta, relation| {
        rows.tail_counts(&Ladder::Norms { radii: &[4096] }, relation).unwrap().above(0)
    };
    nearly(row([3.0, 4.0], 0.0), none(), replaced, &count);
    nearly(row([3.0, 4.0], 0.0), none(), zeroed, &count);
}

/// Persons made to move a query further than any one of their rows could.
#[test]
fn claims_about_persons_are_nearly_reached() {
    let of = |x: [f64; 2], y: f64| Data { x: vec![x.to_vec(); 5], y: vec![y; 5] };
    let lattice = Lattice::plan(1, 2, 30.0, 1.0).unwrap();
    let clip = lattice.clip(30.0);
    let theta = lattice.theta(&[0.0, 0.0]);
    let nearly = |pair: [Data; 2], ask: &dyn Fn(&mut dyn Rows) -> Sensitive| {
        let [one, other] = pair.map(|data| {
            let mut rows = data.by_person(&[0; 5], 5, u64::MAX);
            ask(&mut rows).into_not_private().into_inner()
        });
        let moved = distance_sq(&one, &other);
        assert!(moved <= one.delta_sq && moved > &one.delta_sq * 99u32 / 100u32, "{moved} of {}", one.delta_sq);
    };
    let relation = Neighbours::ReplaceOne;
    nearly([of([1.0, 2.0], 4.0), of([1.0, 2.0], -4.0)], &|rows| {
        rows.clipped(clip, None).unwrap().negative_gradient_sum(&theta, &lattice, relation).unwrap()
    });
    nearly([of([1.0, 2.0], 4.0), of([0.0, 0.0], 0.0)], &|rows| {
        rows.clipped(clip, None).unwrap().square_sum(&theta, &lattice, relation).unwrap()
    });
    let shrunk = Outer::Shrunk { radius: 20_000 };
    nearly([of([3.0, 0.0], 0.0), of([0.0, -3.0], 0.0)], &|rows| {
        rows.outer_sum(&shrunk, relation).unwrap().into_matrix()
    });
    let at = ClippedOuter::Gradient { theta: &theta, theta_unit: lattice.theta_unit() };
    nearly([of([3.0, 0.0], 9.0), of([0.0, -3.0], 9.0)], &|rows| {
        rows.clipped(clip, None).unwrap().outer_sum(&at, relation).unwrap().into_matrix()
    });
    let ladder = Ladder::Norms { radii: &[8192] };
    nearly([of([1.0, 1.0], 0.0), of([0.5, 0.5], 0.0)], &|rows| rows.tail_counts(&ladder, relation).unwrap().above(0));
}

fn relation(seed: u64) -> Neighbours {
    if seed.is_multiple_of(2) { Neighbours::ReplaceOne } else { Neighbours::ZeroOut }
}

/// Persons and rows, in memory, in a file and on a cluster; and over two groups, of which a person
/// may leave one for the other.
#[test]
fn numbers_of_usable_units() {
    for (place, pairs) in [(Place::Memory, 6000), (Place::File, 1000)] {
        let moved = (0..pairs).into_par_iter().filter(|&seed| {
            let cases = &mut Cases::new(seed);
            let (people, others, neighbours) = (People::draw(cases), People::draw(cases), relation(seed));
            let (before, features) = ([people.clone(), others], people.features);
            let mut after = before.clone();
            after[0] = people.neighbour(cases, neighbours);
            if neighbours == Neighbours::ReplaceOne
                && before[1].features == features
                && before[1].within == people.within
                && cases.below(2) == 0
            {
                after[0] = people.clone();
                let leaves = after[0].persons.pop().expect("a person");
                after[0].persons.push(Data { x: Vec::new(), y: Vec::new() });
                after[1].persons.push(leaves);
            }
            let answers = [before, after].map(|groups| {
                let mut groups = groups.map(|group| group.encoded(place));
                groups.iter_mut().for_each(|group| group.say_of_group(9));
                usable_units(groups.iter(), neighbours).expect("an answer")
            });
            let [one, other] = answers;
            is_moved(one, other)
        });
        assert!(moved.count() as u64 > pairs / 50);
    }
}

/// Cells of two columns of numbers and one of levels, and the row's person.
type Line = (f64, f64, u32, u32);

/// `rows` of them.
fn cells(cases: &mut Cases, rows: usize) -> Vec<Line> {
    let level = |cases: &mut Cases| [0, 1, 2, MISSING][cases.below(4)];
    (0..rows).map(|_| (cases.cell(), cases.cell(), level(cases), cases.below(4) as u32)).collect()
}

fn counted(rows: &[Line], person: Option<&Person>, neighbours: Neighbours) -> Sensitive {
    let column = |name: &str, kind: Kind| Column { name: name.to_owned(), kind };
    let levels = Kind::Levels(["a", "b", "c"].map(str::to_owned).to_vec());
    let columns = [column("y", Kind::Standard), column("x", Kind::Standard), column("g", levels)];
    let mut counts = CellCounts::new(&columns, person);
    // In two blocks, so that a person is in both.
    for rows in rows.chunks(3) {
        let of = |cell: &dyn Fn(&Line) -> u32| Cells::Levels(rows.iter().map(cell).collect());
        let numbers = |cell: fn(&Line) -> f64| Cells::Numbers(rows.iter().map(cell).collect());
        let mut columns = vec![numbers(|row| row.0), numbers(|row| row.1), of(&|row| row.2)];
        columns.extend(person.map(|_| of(&|row| row.3)));
        counts.see(&Block { rows: rows.len(), columns });
    }
    assert_eq!(BigUint::from(counts.moved_sq(neighbours)), delta_of(&counts, neighbours), "its price is public");
    counts.claimed(neighbours)
}

fn delta_of(counts: &CellCounts, neighbours: Neighbours) -> BigUint {
    counts.claimed(neighbours).into_not_private().into_inner().delta_sq
}

/// A row, or all rows of a person, with other cells or with none.
#[test]
fn numbers_of_usable_cells() {
    let moved = (0..20_000u64).into_par_iter().filter(|&seed| {
        let (cases, neighbours) = (&mut Cases::new(seed), relation(seed));
        let person = (seed % 4 < 2).then(|| Person { rows: Some(2), ..Person::new("id") });
        let count = 1 + cases.below(9);
        let before = cells(cases, count);
        let who = before[cases.below(before.len())].3;
        let (other, at) = (cells(cases, before.len()), cases.below(before.len()));
        let missing = (f64::NAN, f64::NAN, MISSING, who);
        let replaced = |row: usize| match neighbours {
            Neighbours::ReplaceOne => (other[row].0, other[row].1, other[row].2, who),
            Neighbours::ZeroOut => missing,
        };
        let is_changed = |row: usize| if person.is_some() { before[row].3 == who } else { row == at };
        let after: Vec<_> =
            (0..before.len()).map(|row| if is_changed(row) { replaced(row) } else { before[row] }).collect();
        let [one, other] = [before, after].map(|rows| counted(&rows, person.as_ref(), neighbours));
        is_moved(one, other)
    });
    assert!(moved.count() > 1000);
}
