//! One row moves no query of this crate further than it claims, whatever the rows hold: the
//! integers that a release is given, of random tables.

use dplm::{
    Design,
    formula::{Column, Kind, Model},
    lattice::{Lattice, Outer, Theta},
    privacy::{Neighbours, Sensitive},
    rows::{Encoded, Rows},
};
use dplm_methods::{
    mechanism::LeastEigenvalue,
    query::{At, BinCounts, BinSums, Bins, Separate, SeparateGradients, SeparateSquares, Weight},
};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::common::{
    Data,
    twin::{Moved, compare_batches},
};

/// Cells that have broken other people's arithmetic.
const ADVERSARIAL: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e308,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    128.0,
    0.5 / 4096.0,
];

struct Cases(ChaCha20Rng);

impl Cases {
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

    fn row(&mut self, features: usize) -> (Vec<f64>, f64) {
        ((0..features).map(|_| self.cell()).collect(), self.cell())
    }
}

/// A table, a neighbour of it, and what is asked of both: the same public numbers.
struct Pair {
    rows: [Encoded; 2],
    lattice: Lattice,
    theta: Theta,
    radius: u64,
    neighbours: Neighbours,
}

impl Pair {
    fn draw(seed: u64) -> Pair {
        let cases = &mut Cases(ChaCha20Rng::seed_from_u64(seed));
        let neighbours = if seed.is_multiple_of(2) { Neighbours::ReplaceOne } else { Neighbours::ZeroOut };
        let (count, features) = (1 + cases.below(6), 1 + cases.below(3));
        let (x, y) = (0..count).map(|_| cases.row(features)).unzip();
        let data = Data { x, y };
        let (x, y) = match neighbours {
            Neighbours::ReplaceOne => cases.row(features),
            Neighbours::ZeroOut => (vec![f64::NAN; features], f64::NAN),
        };
        let other = data.replaced(cases.below(count), &x, y);
        let column = |name: String| Column { name, kind: Kind::Standard };
        let columns = (0..features).map(|j| column(format!("x{j}"))).collect();
        let design = Design::new(&Model::of_columns(column("y".to_owned()), columns, false));
        let lattice = Lattice::plan(count as u64, features, 1.0, cases.uniform()).unwrap();
        let theta = lattice.theta(&(0..features).map(|_| cases.cell()).collect::<Vec<_>>());
        let radius = 1 + cases.below(1 << 20) as u64;
        Pair { rows: [data.rows(&design), other.rows(&design)], lattice, theta, radius, neighbours }
    }
}

/// Checks the query on `pairs` pairs; one that a row hardly ever moves would test nothing.
fn check<const N: usize>(pairs: u64, ask: impl Fn(&Pair, &dyn Rows) -> [Sensitive; N]) {
    let mut moved = [0; N];
    for seed in 0..pairs {
        let pair = Pair::draw(seed);
        let [one, other] = pair.rows.each_ref().map(|rows| ask(&pair, rows));
        for ((one, other), moved) in one.into_iter().zip(other).zip(&mut moved) {
            let note = Moved::default();
            note.note(one, other);
            *moved += u64::from(note.most() > 0.0);
        }
    }
    assert!(moved.iter().all(|&moved| moved > pairs / 50), "moved {moved:?} of {pairs}");
}

/// For each weight, the gradients, then their squares.
#[test]
fn sums_with_rows_and_residuals_bounded_separately() {
    check(50_000, |pair, rows| {
        let sums = [Weight::Shrink, Weight::Mallows].map(|weight| {
            // Residuals of all sizes, by the radius, which is as good as random.
            let bounds = Separate::new(pair.radius, (1 << 42) >> (pair.radius % 32), weight);
            let at = At { theta: &pair.theta, lattice: &pair.lattice, bounds: &bounds };
            let rows = rows.custom().unwrap();
            let gradients = rows.sum(&SeparateGradients(at), pair.neighbours).unwrap();
            [gradients, rows.sum(&SeparateSquares(at), pair.neighbours).unwrap()]
        });
        let [[a, b], [c, d]] = sums;
        [a, b, c, d]
    });
}

#[test]
fn counts_and_sums_of_bins() {
    check(50_000, |pair, rows| {
        let mut bins = Bins::whole();
        (0..4).for_each(|k| bins.cut(k / 2, k % rows.features(), [0.0, 4000.0, -2000.0, 1.0][k]));
        let rows = rows.custom().unwrap();
        let sums = BinSums { bins: &bins, radius: pair.radius };
        [rows.sum(&BinCounts(&bins), pair.neighbours).unwrap(), rows.sum(&sums, pair.neighbours).unwrap()]
    });
}

#[test]
fn least_eigenvalues_of_sums_of_outer_products() {
    check(30_000, |pair, rows| {
        let (theta, theta_unit, radius) = (&pair.theta, pair.lattice.theta_unit(), pair.radius);
        [Outer::Shrunk { radius }, Outer::Within { theta, theta_unit, radius, residual: (1 << 50) >> (radius % 24) }]
            .map(|outer| {
                let sum = rows.outer_sum(&outer, pair.neighbours).unwrap();
                LeastEigenvalue::query(&sum.sealed().into_not_private().into_inner())
            })
    });
}

#[test]
fn depths_among_fits_of_batches() {
    let mut moved = 0;
    let pairs = 20_000;
    for seed in 0..pairs {
        let pair = Pair::draw(seed);
        let [one, other] = pair.rows.each_ref().map(|rows| {
            let moments = rows.custom().unwrap().batch_moments(1 + pair.radius as usize % 5).unwrap();
            moments.into_not_private().into_inner()
        });
        let note = Moved::default();
        compare_batches(&note, &one, &other);
        moved += u64::from(note.most() > 0.0);
    }
    assert!(moved > pairs / 10, "{moved}");
}

/// One row of the largest norm holds a direction up: without it the smallest eigenvalue falls by
/// nearly what is claimed.
#[test]
fn the_claim_of_the_least_eigenvalue_is_nearly_reached() {
    let column = |name: &str| Column { name: name.to_owned(), kind: Kind::Standard };
    let design = Design::new(&Model::of_columns(column("y"), vec![column("a"), column("b")], false));
    let rows =
        |own: f64| Data { x: vec![vec![own, 0.0], vec![0.0, 9.0], vec![0.0, 9.0]], y: vec![0.0; 3] }.rows(&design);
    for neighbours in [Neighbours::ReplaceOne, Neighbours::ZeroOut] {
        let [one, other] = [100.0, 0.0].map(|own| {
            let sum = rows(own).outer_sum(&Outer::Shrunk { radius: 12_345 }, neighbours).unwrap();
            LeastEigenvalue::query(&sum.sealed().into_not_private().into_inner())
        });
        let moved = Moved::default();
        moved.note(one, other);
        // Of the claim, squared.
        assert!(moved.most() > 0.99, "{}", moved.most());
    }
}
