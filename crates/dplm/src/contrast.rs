//! Linear functions of the standardised coefficients.

/// One reported coefficient as a linear function of the standardised ones: `offset + weights . theta`.
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
    /// The coordinate `j` of `p`, as it is.
    pub fn coordinate(j: usize, p: usize) -> Self {
        let weights = (0..p).map(|k| if k == j { 1.0 } else { 0.0 }).collect();
        Contrast { weights, offset: 0.0 }
    }

    /// Every coordinate of `p`, each as it is.
    pub fn coordinates(p: usize) -> Vec<Self> {
        (0..p).map(|j| Contrast::coordinate(j, p)).collect()
    }

    /// `offset + weights . theta`.
    pub fn of(&self, theta: &[f64]) -> f64 {
        self.offset + dot(&self.weights, theta)
    }
}

/// The inner product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contrast_weighs_and_shifts() {
        let contrast = Contrast { weights: vec![2.0, -1.0], offset: 5.0 };
        assert_eq!(contrast.of(&[1.0, 3.0]), 4.0);
        assert_eq!(Contrast::coordinate(1, 3).of(&[4.0, 5.0, 6.0]), 5.0);
    }
}
