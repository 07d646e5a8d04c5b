//! Linear functions of the standardised coefficients.

use crate::matrix::dot;

/// One reported coefficient as a linear function of the standardised ones:
/// `offset + weights . theta`.
///
/// A slope in its own units has one weight that is not zero; the intercept mixes several.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// One weight for each coordinate of `theta`.
    pub weights: Vec<f64>,
    /// Added to the weighted sum; a public number.
    pub offset: f64,
}

impl Contrast {
    /// Coordinate `j` of `p`.
    pub fn coordinate(j: usize, p: usize) -> Self {
        let weights = (0..p).map(|k| if k == j { 1.0 } else { 0.0 }).collect();
        Contrast { weights, offset: 0.0 }
    }

    /// Every coordinate of `p`.
    pub fn coordinates(p: usize) -> Vec<Self> {
        (0..p).map(|j| Contrast::coordinate(j, p)).collect()
    }

    /// The weighted sum of contrasts, with `shares` as the weights.
    pub fn combined(parts: &[Contrast], shares: &[f64]) -> Self {
        let parameters = parts.first().map_or(0, |part| part.weights.len());
        let mut whole = Contrast { weights: vec![0.0; parameters], offset: 0.0 };
        for (part, share) in parts.iter().zip(shares).filter(|(_, share)| **share != 0.0) {
            whole.offset += share * part.offset;
            whole.weights.iter_mut().zip(&part.weights).for_each(|(sum, weight)| *sum += share * weight);
        }
        whole
    }

    /// The weight of the coordinate `place`, where that is the only one.
    pub(crate) fn only(&self, place: usize) -> Option<f64> {
        let is_alone = self.weights.iter().enumerate().all(|(k, weight)| (k == place) == (*weight != 0.0));
        is_alone.then(|| self.weights[place])
    }

    /// `offset + weights . theta`.
    pub fn of(&self, theta: &[f64]) -> f64 {
        self.offset + dot(&self.weights, theta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contrast_weighs_and_shifts() {
        let contrast = Contrast { weights: vec![2.0, -1.0], offset: 5.0 };
        assert_eq!(contrast.of(&[1.0, 3.0]), 4.0);
        assert_eq!(Contrast::coordinate(1, 3).of(&[4.0, 5.0, 6.0]), 5.0);
        assert_eq!([0, 1].map(|place| Contrast::coordinate(1, 3).only(place)), [None, Some(1.0)]);
        assert_eq!(contrast.only(0), None);
        let parts = [contrast, Contrast::coordinate(0, 2)];
        assert_eq!(Contrast::combined(&parts, &[2.0, -3.0]), Contrast { weights: vec![1.0, -2.0], offset: 10.0 });
    }
}
