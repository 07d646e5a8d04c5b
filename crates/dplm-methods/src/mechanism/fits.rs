//! Points deep among least-squares fits of many batches of rows.

use std::ops::Range;

use dplm::{
    lattice::SecondMoments,
    privacy::{CustomMechanism, Mechanism, PrivacyError, Spend, noise::RandomWords},
    rows::BatchMoments,
};

use super::{Depths, Failure, IntegerBox, Nested, select_point, select_tested_point};

/// How rows are divided into batches, and what is read off the fit of each; public.
#[derive(Clone, Debug, PartialEq)]
pub struct Batching {
    /// How many batches there are. Row `i` of the table is in batch `i mod batches`, whatever it
    /// holds.
    pub batches: usize,
    /// What is read off a fit: the product of its coefficients with each of these vectors.
    pub readings: Vec<Vec<f64>>,
    /// Readings are rounded to whole numbers of this many to one standardised unit.
    pub unit: f64,
    /// Readings saturate at this distance from zero, in those whole numbers.
    pub limit: i64,
}

impl Batching {
    /// Reads off the coefficients themselves.
    pub fn of_coefficients(batches: usize, features: usize, unit: f64, limit: i64) -> Batching {
        let coordinate = |j: usize| (0..features).map(|k| f64::from(u8::from(j == k))).collect();
        Batching { batches, readings: (0..features).map(coordinate).collect(), unit, limit }
    }
}

/// What was read off the least-squares fit of each batch.
///
/// A fit is a function of the rows of its batch and of nothing else, and which batch a row is in is
/// public: whatever a row holds, it changes the readings of one batch.
pub struct BatchFits {
    /// For each reading, those of all batches, ascending.
    sorted: Vec<Vec<i64>>,
    limit: i64,
}

impl BatchFits {
    /// Fits each batch.
    pub fn new(batches: &BatchMoments, batching: &Batching) -> BatchFits {
        let fits: Vec<Vec<i64>> = batches.0.iter().map(|sum| batching.read(&least_squares(sum))).collect();
        let ascending = |reading: usize| {
            let mut values: Vec<i64> = fits.iter().map(|fit| fit[reading]).collect();
            values.sort_unstable();
            values
        };
        let sorted = (0..batching.readings.len()).map(ascending).collect();
        BatchFits { sorted, limit: batching.limit }
    }

    /// Points by how deep they lie among the batches, in some of the readings together: the least,
    /// over these readings and both directions, of how many batches lie at least as far out as the
    /// point. Only the `most` deepest layers are told apart.
    pub fn depths(&self, readings: Range<usize>, most: usize) -> Nested {
        let everywhere: IntegerBox = readings.clone().map(|_| (-self.limit, self.limit)).collect();
        let batches = self.sorted[readings.start].len();
        let deepest = batches.div_ceil(2);
        let layers = deepest.saturating_sub(most) + 1..=deepest;
        let boxes = layers.map(|depth| self.at_least(depth, readings.clone()));
        let boxes = std::iter::once(everywhere).chain(boxes).collect();
        // One batch changes its readings, for both relations: that moves each number of batches at
        // least as far out as a point by at most 1, and so their least. Layers that are not told
        // apart cut the depth off below, which moves no further.
        Nested::claim(boxes, 1)
    }

    /// The same without a box that holds all points, for a draw after a test.
    pub fn tested_depths(&self, readings: Range<usize>) -> Depths {
        let deepest = self.sorted[readings.start].len().div_ceil(2);
        // As for `depths`: one batch moves the depth of every point by at most 1, for both
        // relations.
        Depths::claim((1..=deepest).map(|depth| self.at_least(depth, readings.clone())).collect())
    }

    /// The box of points that are at least so deep.
    fn at_least(&self, depth: usize, readings: Range<usize>) -> IntegerBox {
        self.sorted[readings].iter().map(|of| (of[depth - 1], of[of.len() - depth])).collect()
    }
}

/// A point deep among the fits, in all readings together, of a public box.
///
/// # Guarantee
/// That of [`select_point`] for [`BatchFits::depths`].
pub struct Deepest<'a> {
    /// How rows are divided, and what is read.
    pub batching: &'a Batching,
    /// How many of the deepest layers are told apart.
    pub most: usize,
}

impl CustomMechanism<BatchMoments> for Deepest<'_> {
    type Output = Vec<i64>;

    fn paid_by(&self) -> Vec<Mechanism> {
        vec![Mechanism::Exponential]
    }

    fn draw<R: RandomWords>(
        &self,
        batches: &BatchMoments,
        shares: Vec<Spend>,
        rng: &mut R,
    ) -> Result<Vec<i64>, PrivacyError> {
        let depths = BatchFits::new(batches, self.batching).depths(0..self.batching.readings.len(), self.most);
        select_point(&depths, &shares[0], rng)
    }
}

/// The same, each reading by itself: its median, nearly.
///
/// # Guarantee
/// Each choice is one of [`Deepest`], for a share of its own.
pub struct Medians<'a>(pub Deepest<'a>);

impl CustomMechanism<BatchMoments> for Medians<'_> {
    type Output = Vec<i64>;

    fn paid_by(&self) -> Vec<Mechanism> {
        vec![Mechanism::Exponential; self.0.batching.readings.len()]
    }

    fn draw<R: RandomWords>(
        &self,
        batches: &BatchMoments,
        shares: Vec<Spend>,
        rng: &mut R,
    ) -> Result<Vec<i64>, PrivacyError> {
        let fits = BatchFits::new(batches, self.0.batching);
        let median =
            |(j, share): (usize, &Spend)| Ok(select_point(&fits.depths(j..j + 1, self.0.most), share, rng)?[0]);
        shares.iter().enumerate().map(median).collect()
    }
}

/// A point deep among the fits, in all readings together, without a box; `None` if a test fails.
///
/// # Guarantee
/// That of [`select_tested_point`] for [`BatchFits::tested_depths`].
pub struct DeepestTested<'a> {
    /// How rows are divided, and what is read.
    pub batching: &'a Batching,
    /// How likely the test may fail to protect.
    pub failure: Failure,
}

impl CustomMechanism<BatchMoments> for DeepestTested<'_> {
    type Output = Option<Vec<i64>>;

    fn paid_by(&self) -> Vec<Mechanism> {
        vec![Mechanism::Test, Mechanism::Exponential]
    }

    fn draw<R: RandomWords>(
        &self,
        batches: &BatchMoments,
        shares: Vec<Spend>,
        rng: &mut R,
    ) -> Result<Option<Vec<i64>>, PrivacyError> {
        let depths = BatchFits::new(batches, self.batching).tested_depths(0..self.batching.readings.len());
        select_tested_point(&depths, self.failure, (&shares[0], &shares[1]), rng)
    }
}

impl Batching {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "any whole number within the limit will do, as a function of one batch"
    )]
    fn read(&self, theta: &[f64]) -> Vec<i64> {
        let reading = |with: &Vec<f64>| with.iter().zip(theta).map(|(weight, theta)| weight * theta).sum::<f64>();
        let whole = |value: f64| ((value * self.unit).round() as i64).clamp(-self.limit, self.limit);
        self.readings.iter().map(|with| whole(reading(with))).collect()
    }
}

/// A pivot this small a part of its column's square says that the column is a combination of
/// others.
const DEPENDENT: f64 = 1e-9;

/// The coefficients of least squares from the moments of `[X y]`, by Cholesky's factors; zeros
/// where columns depend on each other.
#[allow(clippy::cast_precision_loss, reason = "any coefficients will do, as a function of one batch")]
fn least_squares(moments: &SecondMoments) -> Vec<f64> {
    let features = moments.size() - 1;
    let entry = |i: usize, j: usize| moments.entry(i, j) as f64;
    let mut factor = vec![vec![0.0; features]; features + 1];
    for i in 0..=features {
        for j in 0..features.min(i + 1) {
            let rest = entry(i, j) - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            if i == j && rest <= DEPENDENT * entry(j, j) {
                return vec![0.0; features];
            }
            factor[i][j] = if i == j { rest.sqrt() } else { rest / factor[j][j] };
        }
    }
    // The last row is `L^-1 X'y`, where the response is one more column.
    let mut theta = factor[features].clone();
    for j in (0..features).rev() {
        let known: f64 = (j + 1..features).map(|i| factor[i][j] * theta[i]).sum();
        theta[j] = (theta[j] - known) / factor[j][j];
    }
    theta
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three points on the line `y = 2 - x`, and a column that is twice another.
    #[test]
    fn least_squares_by_hand() {
        let of = |rows: &[[i128; 3]]| {
            let entry = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<i128>();
            SecondMoments::from_upper(
                3,
                (0..3).flat_map(|j| (0..=j).map(move |i| (i, j))).map(|(i, j)| entry(i, j)).collect(),
            )
        };
        let found = least_squares(&of(&[[1, 0, 2], [1, 1, 1], [1, 2, 0]]));
        assert!((found[0] - 2.0).abs() < 1e-12 && (found[1] + 1.0).abs() < 1e-12, "{found:?}");
        assert_eq!(least_squares(&of(&[[1, 2, 5], [2, 4, 1]])), [0.0, 0.0]);
        assert_eq!(least_squares(&of(&[])), [0.0, 0.0]);
    }

    #[test]
    fn readings_saturate_and_are_no_number_of_nothing() {
        let batching = Batching { batches: 1, readings: vec![vec![1.0], vec![-2.0]], unit: 4.0, limit: 10 };
        assert_eq!(batching.read(&[1.3]), [5, -10]);
        assert_eq!(batching.read(&[f64::NAN]), [0, 0]);
    }
}
