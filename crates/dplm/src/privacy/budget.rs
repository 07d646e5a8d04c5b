//! A budget, and the receipts cut from it.

use super::{
    Mechanism, PrivacyError, Rho,
    drawn::{Drawn, Noise},
};

/// The budget of one fit: shares are cut from it, and what was cut is remembered.
///
/// # Guarantee
/// Shares, and how many there are, may be chosen after looking at what earlier ones released: this
/// is a privacy filter, since the total is fixed first and no share beyond what is left is cut
/// (Rogers, Roth, Ullman and Vadhan 2016). For Gaussian mechanisms the sum of shares within the
/// total makes the whole `total`-zCDP (Whitehouse, Ramdas, Rogers and Wu 2023) and
/// `sqrt(2 total)`-GDP (Smith and Thakurta 2022).
#[derive(Debug)]
pub struct Budget {
    total: Rho,
    left: Rho,
    /// How much is cut off as budgets of their own.
    lent: Rho,
    /// What each share was cut for, and what was drawn for it.
    cut: Vec<(Release, Drawn)>,
}

/// What a share of the budget was spent on.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Release {
    /// In words, for the report.
    pub what: String,
    /// Its cost.
    #[serde(with = "super::rho::decimal")]
    pub rho: Rho,
    /// How it was made private.
    #[serde(default)]
    pub mechanism: Mechanism,
    /// The Gaussian noise that was drawn; `None` before the release is made, and if the entry
    /// stands for releases of several tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<Noise>,
}

impl Release {
    /// A release by Gaussian noise that is to be made.
    pub(crate) fn planned(what: impl Into<String>, rho: Rho) -> Release {
        Release { what: what.into(), rho, mechanism: Mechanism::Gaussian, noise: Vec::new() }
    }

    /// Whether the noise is as large as the sensitivity and the price of the release demand, and
    /// was drawn for no more than the release pays.
    pub(super) fn is_paid(&self) -> bool {
        let is_gaussian = self.noise.is_empty() || self.mechanism == Mechanism::Gaussian;
        is_gaussian && Noise::is_within(&self.noise) && self.noise.iter().all(|noise| noise.suffices(self.rho))
    }
}

/// The right to make one release. It is moved into [`release`](super::release) and cannot be used
/// twice.
///
/// ```compile_fail
/// # use dplm::privacy::{Budget, Rho};
/// let mut budget = Budget::new(Rho::checked_from_f64(0.1).unwrap());
/// let spend = budget.spend("a count", Rho::checked_from_f64(0.1).unwrap()).unwrap();
/// let twice = spend.clone(); // a Spend is not Clone
/// ```
#[derive(Debug)]
#[must_use = "a share that was cut is spent whether it is used or not"]
pub struct Spend {
    rho: Rho,
    mechanism: Mechanism,
    /// The spend is worth `rho / parts` exactly.
    parts: u32,
    drawn: Drawn,
}

impl Budget {
    /// A fresh budget.
    pub fn new(total: Rho) -> Budget {
        Budget { total, left: total, lent: Rho::NOTHING, cut: Vec::new() }
    }

    /// Cuts `rho` off as a budget of its own, for a part of the work; [`join`](Self::join) takes it
    /// back.
    ///
    /// # Errors
    /// When less than `rho` is left, or `rho` is nothing.
    pub(crate) fn part(&mut self, rho: Rho) -> Result<Budget, PrivacyError> {
        if rho.units() == 0 {
            return Err(PrivacyError::RhoNotPositive);
        }
        self.left = self.left.checked_sub(rho).ok_or(PrivacyError::Overdraft { asked: rho, left: self.left })?;
        self.lent = self.lent.plus(rho);
        Ok(Budget::new(rho))
    }

    /// Takes back a part that was cut off: what it was spent on was spent here, under these names,
    /// and what is left of it is left here.
    pub(crate) fn join(&mut self, part: Budget, named: impl Fn(&str) -> String) {
        self.lent = self.lent.checked_sub(part.total).expect("no more comes back than was cut off");
        self.left = self.left.plus(part.left);
        let renamed = |(release, drawn): (Release, Drawn)| (Release { what: named(&release.what), ..release }, drawn);
        self.cut.extend(part.cut.into_iter().map(renamed));
    }

    /// Cuts `rho` off the budget, for Gaussian noise.
    ///
    /// # Errors
    /// When less than `rho` is left, or `rho` is nothing.
    pub fn spend(&mut self, what: impl Into<String>, rho: Rho) -> Result<Spend, PrivacyError> {
        self.spend_on(Mechanism::Gaussian, what, rho)
    }

    /// Cuts `rho` off the budget, for a mechanism.
    ///
    /// # Errors
    /// When less than `rho` is left, or `rho` is nothing.
    pub fn spend_on(&mut self, mechanism: Mechanism, what: impl Into<String>, rho: Rho) -> Result<Spend, PrivacyError> {
        self.cut(Release { mechanism, ..Release::planned(what, rho) })
    }

    /// Counts a release that another budget, a part of this one, was spent on.
    ///
    /// # Errors
    /// When less than its price is left.
    pub(crate) fn take_over(&mut self, release: Release) -> Result<(), PrivacyError> {
        self.cut(release).map(drop)
    }

    fn cut(&mut self, release: Release) -> Result<Spend, PrivacyError> {
        let Release { rho, mechanism, .. } = release;
        if rho.units() == 0 {
            return Err(PrivacyError::RhoNotPositive);
        }
        self.left = self.left.checked_sub(rho).ok_or(PrivacyError::Overdraft { asked: rho, left: self.left })?;
        let drawn = Drawn::default();
        self.cut.push((release, drawn.clone()));
        Ok(Spend { rho, mechanism, parts: 1, drawn })
    }

    /// Cuts everything that is left, so that the releases add up to exactly the total.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn spend_rest(&mut self, what: impl Into<String>) -> Result<Spend, PrivacyError> {
        self.spend(what, self.left)
    }

    /// The whole budget, spent or not.
    pub fn total(&self) -> Rho {
        self.total
    }

    /// What is not spent yet.
    pub fn left(&self) -> Rho {
        self.left
    }

    /// What was spent, in order, with the noise that has been drawn for it.
    pub fn releases(&self) -> Vec<Release> {
        let with_noise = |(release, drawn): &(Release, Drawn)| {
            let noise = release.noise.iter().cloned().chain(drawn.so_far()).collect();
            Release { noise, ..release.clone() }
        };
        self.cut.iter().map(with_noise).collect()
    }
}

impl Spend {
    /// The same right as `parts` rights of `1/parts` of it each.
    pub fn in_parts(self, parts: u32) -> Vec<Spend> {
        assert!(parts > 0, "a spend is cut into at least one part");
        let parts_each = self.parts.checked_mul(parts).expect("a run has fewer than 2^32 releases");
        let Spend { rho, mechanism, drawn, .. } = self;
        (0..parts).map(|_| Spend { rho, mechanism, parts: parts_each, drawn: drawn.clone() }).collect()
    }

    /// Writes down what is drawn for this spend.
    pub(super) fn drawn(&self) -> &Drawn {
        &self.drawn
    }

    /// Stops a method that opens a query by another mechanism than its report would name.
    pub(super) fn must_be_for(&self, mechanism: Mechanism) {
        assert_eq!(self.mechanism, mechanism, "this share of the budget was cut for another mechanism");
    }

    /// The budget this spend is a part of, in units of 10^-15, and how many parts that has: its
    /// exact worth.
    pub fn fraction(&self) -> (u64, u32) {
        (self.rho.units(), self.parts)
    }

    /// The worth of this spend, as a number for planning and display.
    pub fn to_f64(&self) -> f64 {
        self.rho.to_f64() / f64::from(self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rho(value: f64) -> Rho {
        Rho::checked_from_f64(value).unwrap()
    }

    #[test]
    fn shares_add_up_to_the_total() {
        let mut budget = Budget::new(rho(0.015));
        let _ = budget.spend("a", rho(0.015).share(0.33)).unwrap();
        let _ = budget.spend_rest("b").unwrap();
        let sum: u64 = budget.releases().iter().map(|release| release.rho.units()).sum();
        assert_eq!(sum, rho(0.015).units());
    }

    #[test]
    fn a_part_is_spent_once_and_its_rest_comes_back() {
        let mut budget = Budget::new(rho(0.015));
        let mut part = budget.part(rho(0.01)).unwrap();
        assert!(budget.part(rho(0.01)).is_err() && part.spend("too much", rho(0.011)).is_err());
        let _ = part.spend("steps", rho(0.004)).unwrap();
        budget.join(part, |what| format!("{what} of educ"));
        assert_eq!((budget.left(), budget.releases()[0].what.as_str()), (rho(0.011), "steps of educ"));
    }

    #[test]
    fn an_overdraft_is_refused_and_spends_nothing() {
        let mut budget = Budget::new(rho(0.01));
        assert!(matches!(budget.spend("too much", rho(0.02)), Err(PrivacyError::Overdraft { .. })));
        assert!(budget.releases().is_empty());
        let _ = budget.spend_rest("all").unwrap();
        assert!(budget.spend_rest("again").is_err());
    }

    #[test]
    fn parts_are_exact_fractions() {
        let mut budget = Budget::new(rho(0.01));
        let parts = budget.spend_rest("steps").unwrap().in_parts(3);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.fraction() == (rho(0.01).units(), 3)));
    }
}
