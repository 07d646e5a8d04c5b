//! One row moves the clipped gradient by at most 2 gamma, as integers, whatever the rows hold.

mod common;

use common::Data;
use dplm::{
    lattice::{Clip, Lattice, Theta},
    rows::Rows,
};
use num_bigint::{BigInt, BigUint};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

/// Cells that have broken other people's arithmetic.
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

struct Cases {
    rng: ChaCha20Rng,
}

impl Cases {
    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.rng.next_u64() % end as u64) as usize
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

    fn gamma(&mut self) -> f64 {
        10f64.powf(self.uniform() * 9.0 - 5.0)
    }
}

fn pull(data: &Data, theta: &Theta, lattice: &Lattice, clip: Clip) -> Vec<i128> {
    let mut rows = data.rows();
    rows.set_clip(clip).unwrap();
    rows.clipped_pull(theta, lattice).unwrap()
}

fn distance_sq(a: &[i128], b: &[i128]) -> BigUint {
    let squares = a.iter().zip(b).map(|(a, b)| BigInt::from(a - b).pow(2));
    squares.sum::<BigInt>().to_biguint().expect("a sum of squares")
}

fn check_pair(cases: &mut Cases) {
    let (rows, features) = (1 + cases.below(3), 1 + cases.below(4));
    let (data, other) = (cases.data(rows, features), cases.data(1, features));
    let neighbour = data.replaced(cases.below(rows), &other, 0);
    let gamma = cases.gamma();
    let lattice = Lattice::plan(rows as u64, features, gamma, cases.uniform()).unwrap();
    let clip = lattice.clip(gamma);
    let theta = lattice.theta(&(0..features).map(|_| cases.cell()).collect::<Vec<_>>());
    let moved = distance_sq(&pull(&data, &theta, &lattice, clip), &pull(&neighbour, &theta, &lattice, clip));
    assert!(moved <= clip.gamma_sq() * 4u32, "gamma {gamma}");
    if rows == 1 {
        let alone = distance_sq(&pull(&data, &theta, &lattice, clip), &vec![0; features]);
        assert!(alone <= clip.gamma_sq(), "one row, gamma {gamma}");
    }
}

#[test]
fn one_row_moves_the_sum_by_at_most_two_gamma() {
    let mut cases = Cases { rng: ChaCha20Rng::seed_from_u64(11) };
    for _ in 0..100_000 {
        check_pair(&mut cases);
    }
}

#[test]
fn the_bound_is_nearly_reached() {
    // A row and its mirror image, both clipped: the sum moves by 2 gamma up to the rounding of one bound.
    let row = |sign: f64| Data { x: vec![vec![1.0, 2.0]], y: vec![sign * 100.0] };
    let lattice = Lattice::plan(1, 2, 1.0, 1.0).unwrap();
    let (clip, theta) = (lattice.clip(1.0), lattice.theta(&[0.0, 0.0]));
    let moved = distance_sq(&pull(&row(1.0), &theta, &lattice, clip), &pull(&row(-1.0), &theta, &lattice, clip));
    assert!(moved > clip.gamma_sq() * 399u32 / 100u32);
}
