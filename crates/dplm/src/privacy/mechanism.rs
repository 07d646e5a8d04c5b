//! How a query is made private.

use super::convert::Conversion;

crate::choice! {
    "mechanism";
    /// How a query is made private.
    #[derive(Default)]
    pub enum Mechanism {
        /// Rounded Gaussian noise: `rho`-zCDP, and `sqrt(2 rho)`-GDP.
        #[default]
        Gaussian = "gaussian",
        /// Discrete Laplace noise: `sqrt(2 rho)`-DP.
        Laplace = "laplace",
        /// The exponential mechanism over public candidates: of bounded range `sqrt(8 rho)`.
        Exponential = "exponential",
        /// A test, `sqrt(2 rho)`-DP, of whether a later release is safe, which may pass by chance
        /// where it is not: that counts towards delta.
        Test = "test",
    }
}

impl Mechanism {
    /// The best conversion of rho to epsilon that holds for this mechanism together with any of the
    /// others that share it.
    pub fn conversion(self) -> Conversion {
        match self {
            Mechanism::Gaussian => Conversion::Exact,
            Mechanism::Laplace | Mechanism::Exponential => Conversion::Cks,
            Mechanism::Test => Conversion::Tested,
        }
    }
}
