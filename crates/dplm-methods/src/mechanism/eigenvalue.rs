//! The smallest eigenvalue of an exact integer matrix, rounded down to a public grid. Every
//! decision is made in integers.
//!
//! For a positive semidefinite integer matrix `A` with smallest eigenvalue `lambda`, and a step
//! `g`, the answer is `g k` for the largest `k >= 0` for which
//!
//! ```text
//! M_k = 2A - (2gk - 1) I   is positive definite,   that is   k = floor((lambda + 1/2) / g).
//! ```
//!
//! The half is there so that nothing is ever undecided: the characteristic polynomial of `A` has
//! integer coefficients and leading coefficient 1, so an eigenvalue that is rational is an integer,
//! and `gk - 1/2` is none. No `M_k` is singular, and since its leading blocks are of the same form,
//! none of those is either.
//!
//! Floating point only says where to look. What it finds is turned into integers, which prove the
//! answer or do not:
//!
//! - *Too large.* For any integer vector `v`, `v' M_k v <= 0` says that `M_k` is not positive
//!   definite. An approximate eigenvector, rounded, gives the largest `k` that can be right
//!   ([`Grid::most`]).
//! - *Small enough.* For any integer matrix `L`, if `c M_k - L L'` with `c > 0` is strictly
//!   diagonally dominant with a positive diagonal, then `M_k` is positive definite (Gershgorin). An
//!   approximate Cholesky factor, rounded, nearly always does ([`Symmetric::is_proven_by_factor`]).
//! - *Neither.* The signs of the pivots of Gaussian elimination decide (Sylvester). They are
//!   enclosed between fixed-point numbers whose digits are doubled until every sign is known
//!   ([`Symmetric::has_positive_pivots`]); no pivot is zero, so they come to be.

use dplm::{
    lattice::SecondMoments,
    privacy::{CustomMechanism, Mechanism, Noisy, PrivacyError, Sensitive, Spend, noise::RandomWords, release},
    rows::OuterProducts,
};
use faer::{
    Mat, Scale, Side,
    linalg::solvers::{Llt, Solve},
};
use num_bigint::{BigInt, BigUint};

/// Coordinates of a direction are rounded to one part in this power of two: what is lost is its
/// square.
const DIRECTION_BITS: i32 = 30;
/// More than enough for a shift this close to the eigenvalue.
const INVERSE_ITERATIONS: u32 = 4;
/// Products and their sums stay below this power of two, so that they fit `i128`.
const SUM_BITS: u32 = 124;
/// The bits that floating point can be trusted for, with a few to spare for a product of matrices.
const FACTOR_BITS: i32 = 50;

/// The step of the grid is about one part in this number of what a row can move the eigenvalue by:
/// noise that covers the one covers the other.
const GRID: u128 = 1024;

/// Releases the smallest eigenvalue of a sum of outer products, rounded down to a grid of at most
/// one part in 1024 of the largest norm, with Gaussian noise.
///
/// # Guarantee
/// That of [`release`](release()).
pub struct LeastEigenvalue;

impl LeastEigenvalue {
    /// The query that is released.
    pub fn query(products: &OuterProducts) -> Sensitive {
        let value = least_eigenvalue_down(&products.sum, products.norm_sq);
        // `||A|| <= ||A||_F` for what a unit adds (`OuterProducts`), Weyl's inequality, and a grid
        // that is the same for both data sets: argued at `eigenvalue_sensitivity`, for both
        // relations.
        let most = eigenvalue_sensitivity(products.norm_sq);
        Sensitive::claim(vec![value], products.sensitivity.of_number(&most))
    }
}

impl CustomMechanism<OuterProducts> for LeastEigenvalue {
    type Output = Noisy;

    fn paid_by(&self) -> Vec<Mechanism> {
        vec![Mechanism::Gaussian]
    }

    fn draw<R: RandomWords>(
        &self,
        products: &OuterProducts,
        shares: Vec<Spend>,
        rng: &mut R,
    ) -> Result<Noisy, PrivacyError> {
        let share = shares.into_iter().next().expect("one share");
        Ok(release(LeastEigenvalue::query(products), share, rng)?.into_inner())
    }
}

/// The smallest eigenvalue of `sum_i v_i v_i'`, all `|v_i|^2 <= norm_sq`, rounded down to a grid
/// that `norm_sq` decides.
///
/// # Guarantee
/// A function of the integers in the matrix and of `norm_sq` only: it is exact, and the same on
/// every machine. Entries must be below 2^125 in size; sums over at most 2^40 rows are below 2^78.
/// See [`eigenvalue_sensitivity`].
pub(super) fn least_eigenvalue_down(sums: &SecondMoments, norm_sq: u128) -> i128 {
    let grid = Grid { sums, step: grid_step(norm_sq).cast_signed() };
    grid.answer()
}

/// How far one row can move [`least_eigenvalue_down`]; both relations of neighbours have the same
/// bound.
///
/// Replacing `v` by `u` turns `A` into `A - vv' + uu'`. By Weyl's inequality the first change
/// lowers the smallest eigenvalue by at most `|v|^2`, the second raises it by at most `|u|^2`, and
/// neither does the other: so it moves by at most `norm_sq`. Rounded down to multiples of `g`, a
/// number that moves by at most `norm_sq` moves by at most `norm_sq` rounded up to a multiple.
/// Zeroing `v` is the first change.
pub(super) fn eigenvalue_sensitivity(norm_sq: u128) -> BigUint {
    let step = grid_step(norm_sq);
    BigUint::from(norm_sq.div_ceil(step)) * step
}

/// A power of two from public numbers.
fn grid_step(norm_sq: u128) -> u128 {
    1 << (norm_sq / GRID).max(1).ilog2()
}

/// About the eigenvector of the smallest eigenvalue, by inverse iteration. Any answer is right; a
/// poor one costs time.
fn least_direction(sums: &SecondMoments) -> Vec<i64> {
    let size = sums.size();
    let matrix = Mat::from_fn(size, size, |i, j| nearest(sums.entry(i, j)));
    let Some(factor) = nearly_singular_factor(&matrix) else { return vec![0; size] };
    // A start with all directions in it: fractional parts of multiples of the golden ratio.
    let mut direction = Mat::from_fn(size, 1, |i, _| (count(i + 1) * 0.618_033_988_749_895).fract() - 0.5);
    for _ in 0..INVERSE_ITERATIONS {
        direction = factor.solve(&direction);
        direction = &direction * Scale(direction.norm_l2().recip());
    }
    let unit = f64::from(DIRECTION_BITS).exp2();
    (0..size).map(|i| saturated((direction[(i, 0)] * unit).round())).collect()
}

/// The Cholesky factor of the matrix less almost its smallest eigenvalue.
fn nearly_singular_factor(matrix: &Mat<f64>) -> Option<Llt<f64>> {
    let values = matrix.self_adjoint_eigenvalues(Side::Lower).ok()?;
    let (least, most) = (*values.first()?, *values.last()?);
    let less = |margin: f64| matrix - Mat::<f64>::identity(matrix.nrows(), matrix.nrows()) * Scale(least - margin);
    let margins = (0..).map(|power| most * (f64::from(4 * power) - f64::from(FACTOR_BITS)).exp2());
    margins.take(8).find_map(|margin| less(margin).llt(Side::Lower).ok())
}

/// The matrices `M_k` of a sum of outer products.
struct Grid<'a> {
    sums: &'a SecondMoments,
    step: i128,
}

impl Grid<'_> {
    fn answer(&self) -> i128 {
        self.last_positive(self.most(&least_direction(self.sums))) * self.step
    }

    /// No `M_k` beyond this `k` is positive definite: `v' M_k v = 2 v'Av - (2gk - 1) v'v` is not
    /// positive there.
    fn most(&self, direction: &[i64]) -> i128 {
        let size = self.sums.size();
        let mut direction: Vec<BigInt> = direction.iter().copied().map(BigInt::from).collect();
        if direction.iter().all(|coordinate| *coordinate == BigInt::ZERO) {
            direction[0] = 1.into();
        }
        let row = |i: usize| (0..size).map(|j| &direction[j] * self.sums.entry(i, j)).sum::<BigInt>();
        let quadratic: BigInt = (0..size).map(|i| &direction[i] * row(i)).sum();
        let length_sq: BigInt = direction.iter().map(|coordinate| coordinate * coordinate).sum();
        let most = (quadratic * 2 + &length_sq - 1) / (length_sq * 2 * self.step);
        i128::try_from(most).expect("a Rayleigh quotient is between eigenvalues").max(0)
    }

    /// The largest `k` up to `most` for which `M_k` is positive definite, or 0. Looked for from the
    /// top, where it nearly always is.
    fn last_positive(&self, most: i128) -> i128 {
        let (mut below, mut above, mut stride) = (most, most + 1, 1);
        while below > 0 && !self.is_positive(below) {
            above = below;
            below = (below - stride).max(0);
            stride *= 2;
        }
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if self.is_positive(middle) { below = middle } else { above = middle }
        }
        below
    }

    fn is_positive(&self, k: i128) -> bool {
        let matrix = self.matrix(k);
        matrix.is_proven_by_factor() || matrix.has_positive_pivots()
    }

    fn matrix(&self, k: i128) -> Symmetric {
        let shift = 2 * self.step * k - 1;
        let entry = |i, j| 2 * self.sums.entry(i, j) - if i == j { shift } else { 0 };
        Symmetric { rows: (0..self.sums.size()).map(|i| (0..=i).map(|j| entry(i, j)).collect()).collect() }
    }
}

/// A symmetric integer matrix by its lower triangle.
struct Symmetric {
    rows: Vec<Vec<i128>>,
}

impl Symmetric {
    fn size(&self) -> usize {
        self.rows.len()
    }

    fn largest(&self) -> u128 {
        self.rows.iter().flatten().map(|entry| entry.unsigned_abs()).max().unwrap_or(0)
    }

    /// Whether an approximate Cholesky factor proves it positive definite. `false` says nothing.
    fn is_proven_by_factor(&self) -> bool {
        // With entries of the scaled matrix and squares of those of the factor below 2^room, a
        // remainder is below (size + 1) 2^room and a row of remainders below size (size + 1) 2^room
        // <= 2^124.
        let size_bits = 2 * usize::BITS - 2 * self.size().leading_zeros();
        let entry_bits = u128::BITS - self.largest().leading_zeros();
        let room = SUM_BITS - size_bits;
        let Some(half) = room.checked_sub(entry_bits).map(|spare| spare / 2) else { return false };
        let Some(factor) = self.approximate_factor() else { return false };
        let (unit, most) = (f64::from(half).exp2(), f64::from(room / 2).exp2());
        let rounded = |value: f64| saturated((value * unit).round().clamp(-most, most));
        let factor: Vec<Vec<i64>> =
            (0..self.size()).map(|i| (0..=i).map(|j| rounded(factor[(i, j)])).collect()).collect();
        self.is_dominant_beyond(&factor, 2 * half)
    }

    /// About the Cholesky factor, of a matrix made smaller by more than the rounding will take
    /// away.
    fn approximate_factor(&self) -> Option<Mat<f64>> {
        let size = self.size();
        let less = nearest(self.largest().cast_signed()) * count(size) * f64::from(-FACTOR_BITS).exp2();
        let entry = |i: usize, j: usize| nearest(self.rows[i.max(j)][i.min(j)]) - if i == j { less } else { 0.0 };
        Mat::from_fn(size, size, entry).llt(Side::Lower).ok().map(|found| found.L().to_owned())
    }

    /// Whether `2^bits M - L L'` has a diagonal that exceeds the sum of the sizes of all other
    /// entries of its row.
    fn is_dominant_beyond(&self, factor: &[Vec<i64>], bits: u32) -> bool {
        let mut excess = vec![0i128; self.size()];
        for (i, row) in self.rows.iter().enumerate() {
            for (j, &entry) in row.iter().enumerate() {
                let products = factor[i].iter().zip(&factor[j]).map(|(&a, &b)| i128::from(a) * i128::from(b));
                let rest = (entry << bits) - products.sum::<i128>();
                if i == j {
                    excess[i] += rest;
                } else {
                    excess[i] -= rest.abs();
                    excess[j] -= rest.abs();
                }
            }
        }
        excess.into_iter().all(|excess| excess > 0)
    }

    /// Whether the matrix is positive definite. No leading block may be singular.
    fn has_positive_pivots(&self) -> bool {
        let digits = (6..).map(|power| 1usize << power);
        digits.filter_map(|bits| self.pivots_are_positive(bits)).next().expect("no pivot is zero, so digits suffice")
    }

    /// The same with `bits` bits after the point; `None` when they do not tell.
    fn pivots_are_positive(&self, bits: usize) -> Option<bool> {
        let exact = |&entry: &i128| Enclosed::exactly(BigInt::from(entry) << bits);
        let mut rows: Vec<Vec<Enclosed>> = self.rows.iter().map(|row| row.iter().map(exact).collect()).collect();
        for column in 0..rows.len() {
            let below = rows.split_off(column + 1);
            let pivot = &rows[column][column];
            if !pivot.is_positive() {
                return pivot.is_negative().then_some(false);
            }
            let multiples: Vec<Enclosed> = below.iter().map(|row| row[column].over(pivot, bits)).collect();
            let eliminated = below.iter().zip(&multiples).map(|(row, multiple)| {
                let entry = |j: usize| row[j].minus(&multiple.times(&below[j - column - 1][column], bits));
                row[..=column].iter().cloned().chain((column + 1..row.len()).map(entry)).collect()
            });
            rows.extend(eliminated);
        }
        Some(true)
    }
}

/// A number between two fixed-point numbers, held as integers.
#[derive(Clone)]
struct Enclosed {
    low: BigInt,
    high: BigInt,
}

impl Enclosed {
    fn exactly(value: BigInt) -> Enclosed {
        Enclosed { low: value.clone(), high: value }
    }

    fn is_positive(&self) -> bool {
        self.low > BigInt::ZERO
    }

    fn is_negative(&self) -> bool {
        self.high < BigInt::ZERO
    }

    fn minus(&self, other: &Enclosed) -> Enclosed {
        Enclosed { low: &self.low - &other.high, high: &self.high - &other.low }
    }

    fn times(&self, other: &Enclosed, bits: usize) -> Enclosed {
        let products =
            [&self.low * &other.low, &self.low * &other.high, &self.high * &other.low, &self.high * &other.high];
        let low = products.iter().min().expect("there are four");
        let high = products.iter().max().expect("there are four");
        // A shift rounds down.
        Enclosed { low: low >> bits, high: -(-high >> bits) }
    }

    /// Divided by something positive.
    fn over(&self, positive: &Enclosed, bits: usize) -> Enclosed {
        let (low, high) = (&positive.low, &positive.high);
        let least = if self.low < BigInt::ZERO { low } else { high };
        let most = if self.high < BigInt::ZERO { high } else { low };
        Enclosed { low: divided_down(&self.low << bits, least), high: -divided_down(-(&self.high << bits), most) }
    }
}

fn divided_down(value: BigInt, positive: &BigInt) -> BigInt {
    let quotient = &value / positive;
    if &quotient * positive > value { quotient - 1 } else { quotient }
}

/// The nearest float: for estimates, which integers then check.
#[allow(clippy::cast_precision_loss, reason = "any estimate is right")]
fn nearest(value: i128) -> f64 {
    value as f64
}

/// The whole part of any float, at the ends of the type where it is beyond them: for numbers that
/// are only tried.
#[allow(clippy::cast_possible_truncation, reason = "any number may be tried")]
fn saturated(value: f64) -> i64 {
    value as i64
}

/// A number of rows and columns, of which there are fewer than 2^53: exact.
#[allow(clippy::cast_precision_loss, reason = "it is exact")]
fn count(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use rand_chacha::{
        ChaCha20Rng,
        rand_core::{Rng, SeedableRng},
    };

    use super::*;

    /// `sum_i v_i v_i'`.
    fn gram(size: usize, vectors: &[Vec<i128>]) -> SecondMoments {
        let entry = |i: usize, j: usize| vectors.iter().map(|v| v[i] * v[j]).sum();
        SecondMoments::from_upper(
            size,
            (0..size).flat_map(|j| (0..=j).map(move |i| (i, j))).map(|(i, j)| entry(i, j)).collect(),
        )
    }

    /// Bareiss' elimination without fractions.
    fn determinant(mut rows: Vec<Vec<BigInt>>) -> BigInt {
        let (size, mut before, mut sign) = (rows.len(), BigInt::from(1), 1);
        for k in 0..size - 1 {
            let Some(pivot) = (k..size).find(|&i| rows[i][k] != BigInt::ZERO) else { return BigInt::ZERO };
            if pivot != k {
                rows.swap(k, pivot);
                sign = -sign;
            }
            for i in k + 1..size {
                for j in k + 1..size {
                    rows[i][j] = (&rows[i][j] * &rows[k][k] - &rows[i][k] * &rows[k][j]) / &before;
                }
            }
            before = rows[k][k].clone();
        }
        &rows[size - 1][size - 1] * sign
    }

    /// Sylvester's criterion in exact arithmetic: every leading minor of `2A - (2gk - 1) I` is
    /// positive.
    fn is_positive(sums: &SecondMoments, step: i128, k: &BigInt) -> bool {
        let entry = |i: usize, j: usize| {
            let shift = if i == j { k * 2 * step - 1 } else { BigInt::ZERO };
            BigInt::from(sums.entry(i, j)) * 2 - shift
        };
        let block = |size: usize| (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect();
        (1..=sums.size()).all(|size| determinant(block(size)) > BigInt::ZERO)
    }

    /// The definition itself, by bisection over all `k` there can be.
    fn by_brute_force(sums: &SecondMoments, step: i128) -> BigInt {
        let diagonal = (0..sums.size()).map(|i| sums.entry(i, i)).min().unwrap();
        let (mut below, mut above) = (BigInt::ZERO, BigInt::from(diagonal / step + 2));
        while &above - &below > BigInt::from(1) {
            let middle: BigInt = (&below + &above) / 2;
            if is_positive(sums, step, &middle) { below = middle } else { above = middle }
        }
        below * step
    }

    struct Cases(ChaCha20Rng);

    impl Cases {
        fn new(seed: u64) -> Cases {
            Cases(ChaCha20Rng::seed_from_u64(seed))
        }

        fn below(&mut self, end: u64) -> u64 {
            self.0.next_u64() % end
        }

        fn signed(&mut self, bits: u64) -> i128 {
            i128::from(self.0.next_u64() >> (64 - bits)) - (1 << (bits - 1))
        }

        fn vector(&mut self, size: usize, bits: u64) -> Vec<i128> {
            (0..size).map(|_| self.signed(bits)).collect()
        }

        /// Few or many vectors, long or short, some nearly multiples of others, some repeated very
        /// often.
        fn sums(&mut self, size: usize) -> SecondMoments {
            let (count, bits) = (1 + self.below(2 * size as u64 + 2), 2 + self.below(38));
            let mut vectors: Vec<Vec<i128>> = (0..count).map(|_| self.vector(size, bits)).collect();
            if self.below(3) == 0 {
                let mut near = vectors[0].clone();
                near[self.below(size as u64) as usize] += self.signed(3);
                vectors.push(near);
            }
            if self.below(4) == 0 {
                let factor = self.signed(12);
                vectors.iter_mut().for_each(|v| v[0] = v[size - 1] * factor);
            }
            gram(size, &vectors)
        }
    }

    #[test]
    fn the_answer_is_that_of_exact_arithmetic() {
        let mut cases = Cases::new(1);
        for case in 0..3000 {
            let size = 1 + cases.below(6) as usize;
            let sums = cases.sums(size);
            let step = 1 << [0, 1, 7, 20][case % 4];
            let found = BigInt::from(Grid { sums: &sums, step }.answer());
            assert_eq!(found, by_brute_force(&sums, step), "case {case}");
        }
    }

    /// Entries of the largest sums there are, with a smallest eigenvalue that `f64` cannot see.
    #[test]
    fn a_least_eigenvalue_far_below_the_rounding_of_the_entries_is_found() {
        let long = 1i128 << 38;
        for (small, step) in [(0, 1), (3, 1), (1000, 1), (1000, 7), (1 << 20, 1)] {
            let sums = gram(3, &[vec![long, long - 1, 5], vec![long, long, 0], vec![0, 0, small], vec![small; 3]]);
            let found = Grid { sums: &sums, step }.answer();
            assert_eq!(BigInt::from(found), by_brute_force(&sums, step), "{small} {step}");
        }
    }

    /// Integer eigenvalues are where rounding down is decided by the last bit.
    #[test]
    fn eigenvalues_on_the_grid_are_exact() {
        for size in [1, 2, 5, 40] {
            for (own, all, step) in
                [(1, 0, 1), (3, 2, 1), (3 << 12, 2 << 12, 1 << 14), (1 << 30, 1 << 30, 1 << 20), (0, 9, 1)]
            {
                let unit = |i: usize| (0..size).map(|j| if i == j { own } else { 0 }).collect();
                let vectors: Vec<Vec<i128>> = (0..size).map(unit).chain([vec![all; size]]).collect();
                let expected = if size == 1 { own * own + all * all } else { own * own };
                assert_eq!(Grid { sums: &gram(size, &vectors), step }.answer(), expected / step * step, "{size}");
            }
        }
    }

    /// Whatever floating point suggests, the answer is the same.
    #[test]
    fn the_answer_does_not_depend_on_the_direction() {
        let mut cases = Cases::new(2);
        for _ in 0..300 {
            let size = 1 + cases.below(5) as usize;
            let sums = cases.sums(size);
            let grid = Grid { sums: &sums, step: 1 << cases.below(12) };
            let expected = grid.answer() / grid.step;
            let direction: Vec<i64> = (0..size).map(|_| cases.signed(9) as i64).collect();
            assert_eq!(grid.last_positive(grid.most(&direction)), expected);
            assert_eq!(grid.last_positive(grid.most(&vec![0; size])), expected);
        }
    }

    /// Where floating point is any good, its guess is proven as it stands: elimination in long
    /// integers would take seconds.
    #[test]
    fn wide_matrices_need_no_elimination() {
        let (size, mut cases) = (200, Cases::new(7));
        let sums = gram(size, &(0..2 * size).map(|_| cases.vector(size, 14)).collect::<Vec<_>>());
        let grid = Grid { sums: &sums, step: grid_step(size as u128 * (1 << 26)) as i128 };
        assert!(grid.matrix(grid.most(&least_direction(&sums))).is_proven_by_factor());
    }

    /// A factor of any integers at all never proves what is not so.
    #[test]
    fn no_factor_proves_what_is_false() {
        let mut cases = Cases::new(3);
        let mut proven = 0;
        for _ in 0..20_000 {
            let size = 1 + cases.below(3) as usize;
            let sums = gram(size, &(0..size).map(|_| cases.vector(size, 4)).collect::<Vec<_>>());
            let (grid, k) = (Grid { sums: &sums, step: 1 }, i128::from(cases.below(6)));
            let factor: Vec<Vec<i64>> = (1..=size)
                .map(|length| cases.vector(length, 5))
                .map(|row| row.iter().map(|&cell| cell as i64).collect())
                .collect();
            if grid.matrix(k).is_dominant_beyond(&factor, 2) {
                proven += 1;
                assert!(is_positive(&sums, 1, &k.into()));
            }
        }
        assert!(proven > 100, "{proven}");
    }

    /// Both proofs, each on its own, about the eigenvalue.
    #[test]
    fn pivots_decide_what_a_factor_does_not() {
        let mut cases = Cases::new(4);
        let mut factors = 0;
        for _ in 0..500 {
            let size = 1 + cases.below(6) as usize;
            let sums = cases.sums(size);
            let grid = Grid { sums: &sums, step: 1 };
            let last = grid.answer();
            for k in [last / 2, last, last + 1, 2 * last + 1] {
                let matrix = grid.matrix(k);
                assert_eq!(matrix.has_positive_pivots(), k <= last);
                assert!(!matrix.is_proven_by_factor() || k <= last);
                factors += u32::from(matrix.is_proven_by_factor());
            }
        }
        assert!(factors > 300, "{factors}");
    }

    #[test]
    fn enclosures_hold_their_quotients_and_products() {
        let mut cases = Cases::new(5);
        let bits = 8;
        for _ in 0..20_000 {
            let (a, b) = (cases.signed(20), cases.signed(20));
            let (a, b) = (Enclosed::exactly(a.into()), Enclosed { low: b.min(b + 3).into(), high: (b + 3).into() });
            let product = a.times(&b, bits);
            assert!(&product.low << bits <= &a.low * &b.low && &product.high << bits >= &a.low * &b.low);
            assert!(&product.low << bits <= &a.low * &b.high && &product.high << bits >= &a.low * &b.high);
            if b.is_positive() {
                let quotient = a.over(&b, bits);
                for divisor in [&b.low, &b.high] {
                    assert!(&quotient.low * divisor <= &a.low << bits && &quotient.high * divisor >= &a.low << bits);
                }
            }
        }
    }

    fn norm_sq(vector: &[i128]) -> u128 {
        vector.iter().map(|cell| (cell * cell) as u128).sum()
    }

    /// How far apart the answers are when one vector is replaced by another, or by zeros, and how
    /// far they may be.
    fn moved(vectors: &[Vec<i128>], other: Vec<i128>) -> (u128, BigUint) {
        let longest = vectors.iter().chain([&other]).map(|vector| norm_sq(vector)).max().unwrap();
        let neighbour: Vec<Vec<i128>> = [other].into_iter().chain(vectors[1..].iter().cloned()).collect();
        let answer = |vectors: &[Vec<i128>]| least_eigenvalue_down(&gram(vectors[0].len(), vectors), longest);
        (answer(vectors).abs_diff(answer(&neighbour)), eigenvalue_sensitivity(longest))
    }

    #[test]
    fn one_row_moves_the_answer_no_further_than_claimed() {
        let mut cases = Cases::new(6);
        for case in 0..100_000 {
            let (size, bits) = (1 + cases.below(3) as usize, 1 + cases.below(20));
            let count = 1 + cases.below(5);
            let mut vectors: Vec<Vec<i128>> = (0..count).map(|_| cases.vector(size, bits)).collect();
            // The row that is replaced is often the one that holds the smallest eigenvalue up.
            if size > 1 && case % 3 == 0 {
                vectors[1..].iter_mut().for_each(|vector| vector[0] = 0);
            }
            let other = if case % 4 == 0 { vec![0; size] } else { cases.vector(size, bits) };
            let (moved, claim) = moved(&vectors, other);
            assert!(BigUint::from(moved) <= claim, "case {case}: {moved} {claim}");
        }
    }

    /// One direction that a single row of the largest norm holds up: without it the eigenvalue
    /// falls by the whole claim, or nearly.
    #[test]
    fn the_claim_is_reached() {
        for (size, length) in [(1, 1), (1, 31), (1, 4 * 4096), (2, 12_345), (3, 1 << 20), (5, 77_777)] {
            let axis = |i: usize| (0..size).map(|j| if i == j { length } else { 0 }).collect::<Vec<i128>>();
            let vectors: Vec<Vec<i128>> = (0..size).map(axis).collect();
            let (moved, claim) = moved(&vectors, vec![0; size]);
            let moved = BigUint::from(moved);
            assert!(moved <= claim && &claim * 998u32 <= &moved * 1000u32, "{size} {length}: {moved} {claim}");
        }
        assert_eq!(moved(&[vec![4096]], vec![0]), (1 << 24, (1u32 << 24).into()));
    }
}
