//! How the automatic method divides its budget, how long its descent is and how many rows it clips:
//! rules about public numbers only.
//!
//! Each release needs a certain precision, whose price falls as rows grow: counts to a few per cent
//! of the rows, moments to a fraction of themselves, a curvature to a tenth. The rest goes to the
//! descent, whose noise is the noise of the estimate.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{
    Choices,
    counts::{self, CLEAR_OF_NOISE, CLIP_THRESHOLDS, queries},
    noise::{edge, matrix_rho, moved_sq, reach_sq},
    skewed,
    strength::{WEAK, strength},
    white::clip_for_tail,
};
use crate::{
    interval::normal_quantile,
    options::Target,
    privacy::{Neighbours, Rho},
    theory::student::normal_cdf,
};

/// Parts of the budget; the descent takes what is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    /// The length of rows, in each round.
    pub length: f64,
    /// Second moments in the first round.
    pub first_moments: f64,
    /// The clip threshold of the start, and the start.
    pub start_threshold: f64,
    pub start: f64,
    /// The clip threshold of the descent.
    pub threshold: f64,
    /// For intervals; zero without them.
    pub spread: f64,
    pub bend: f64,
}

/// A threshold gets between these parts of the budget, and the length of rows in a round at most
/// `LENGTH_MOST`.
const THRESHOLD_PARTS: (f64, f64) = (0.005, 0.03);
const LENGTH_MOST: f64 = 0.01;
/// The second round is made for between these parts, wherever the larger one brings the noise on
/// its entries to this: freed of noise, eigenvalues that are known to a half say more than those of
/// a first round.
const SECOND_PARTS: (f64, f64) = (0.02, 0.12);
const SECOND_NOISE: f64 = 0.5;
/// No more rounds than these, and than these where rows are shortened.
const MOST_ROUNDS: usize = 5;
const MOST_ROUNDS_SHORTENED: usize = 8;
/// White rows are shortened to this many times `sqrt p` at least. More than 1 is needed for
/// coordinates in which the second moments of such rows are 1 in every direction; at 1.25 Gaussian
/// rows of many columns lose nothing. Rows of few columns may be longer, so that this share of
/// Gaussian ones is left as it is.
const LONGEST: f64 = 1.25;
const LEFT_ALONE: f64 = 0.9;
/// A start for coefficients that clipping may define gets half: they are clipped more narrowly, so
/// that noise falls as fast.
const START_OF_ROBUST: f64 = 0.5;
const CURVATURE_PARTS: (f64, f64) = (0.02, 0.12);
/// The covariance of gradients gets no more than this.
const SPREAD_MOST: f64 = 0.1;
/// About what is left for the descent, for rules that come before the division.
const ABOUT_LEFT: f64 = 0.75;
/// Steps for each unit of strength where some direction is short, and how many times as many as
/// otherwise there may be: where noise rules an early stop is better.
const STEPS_PER_STRENGTH: f64 = 12.0;
const MOST_STEPS: f64 = 1.5;
/// A quarter of the rows is clipped where noise exceeds the first of these, half of them more where
/// it exceeds the second.
const TAIL_NOISE: (f64, f64) = (1e-3, 1e-2);

/// A fit is not called least squares if clipping would move the intercept by this many of its
/// standard errors when errors are as skewed as incomes: half of one lowers the coverage of an
/// interval from 95 % to 92 %.
const NOTABLE_BEND: f64 = 0.5;
/// Intervals may be this many times as long for being those of least squares: with what the rule
/// leaves out (the noise of the covariance of gradients, which grows with the clip too) that is 3 %
/// at most.
const PRICE_OF_LEAST_SQUARES: f64 = 1.025;
/// The search for a wider clip ends here: where even this is not harmless, so large a share of the
/// rows is clipped that the budget is for robust coefficients only.
const WIDEST: f64 = 64.0;
/// A fit that was asked for least squares clips no larger share of the rows at first, so that the
/// clip that is found is about as many standard deviations of the errors wide whatever their
/// distribution: 1.96 for Gaussian ones, 1.63 for lognormal ones.
const CLIPPED_FIRST: f64 = 0.05;

/// A clip so wide that a fit is least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Harmless {
    /// How many times wider it is than the one that was found.
    pub factor: f64,
    /// The share of rows beyond it if errors are as skewed as incomes; fewer otherwise.
    pub tail: f64,
}

/// What the rules depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    pub rows: u64,
    pub features: usize,
    pub rho: Rho,
    pub neighbours: Neighbours,
    /// What intervals are for; `None` if there are no intervals.
    pub target: Option<Target>,
    /// Whether least squares was asked for, and is wanted at any cost.
    pub at_any_price: bool,
    /// Whether long rows are shortened once they are white, with their responses.
    pub shortens: bool,
    /// The constants that no theory gives.
    pub choices: Choices,
}

/// How long white rows are where long ones are shortened and nothing is known of their lengths;
/// public.
pub(crate) fn row_length(features: usize) -> f64 {
    let law = ChiSquared::new(features as f64).expect("a model has a column");
    (LONGEST * (features as f64).sqrt()).max(law.inverse_cdf(LEFT_ALONE).sqrt())
}

impl Rules {
    fn strength(&self) -> f64 {
        strength(self.features, self.rows, self.rho.to_f64())
    }

    /// Whether second moments that are publicly known are to be trusted, where they are: released
    /// ones would say too little.
    pub(crate) fn is_weak(&self) -> bool {
        self.strength() < WEAK
    }

    /// Whether the budget affords one round of whitening only.
    pub(crate) fn has_one_round(&self) -> bool {
        self.matrix_share(2.0 * self.features as f64, SECOND_NOISE) > SECOND_PARTS.1
    }

    /// Whether intervals are for the population, so that what sampling adds must be known.
    pub(crate) fn covers_population(&self) -> bool {
        self.target.is_some_and(|target| target != Target::Sample)
    }

    /// Whether intervals are for least-squares coefficients, so that clipping must not bias them
    /// silently.
    pub(crate) fn covers_least_squares(&self) -> bool {
        self.target.is_some_and(|target| target != Target::Robust)
    }

    /// How the budget is divided.
    pub(crate) fn shares(&self) -> Shares {
        let choices = &self.choices;
        let start_threshold = self.threshold_share(choices.count_precision);
        let tail = self.about_tail(self.features, 1.0);
        let factor = self.harmless(tail, self.features).map_or(1.0, |one| one.factor);
        let only = |wanted: bool, share: f64| if wanted { share } else { 0.0 };
        Shares {
            length: if self.has_one_round() {
                start_threshold
            } else {
                self.threshold_share(choices.length_precision).min(LENGTH_MOST)
            },
            first_moments: if self.has_one_round() { choices.only_moments } else { choices.first_moments },
            start_threshold,
            start: if self.covers_least_squares() { choices.start } else { START_OF_ROBUST * choices.start },
            threshold: self.clip_threshold_share(),
            spread: only(self.covers_population(), self.spread_share(tail, factor)),
            bend: only(self.covers_least_squares(), choices.bend),
        }
    }

    /// What privacy adds to the variance of an estimate at this squared clip, in units of what
    /// sampling adds.
    pub(crate) fn privacy_variance(&self, gamma_sq: f64) -> f64 {
        let rho = ABOUT_LEFT * self.rho.to_f64();
        reach_sq(self.neighbours) * gamma_sq / (2.0 * self.rows as f64 * rho)
    }

    /// The variance of an estimate where a share `tail` of rows is clipped, in units of what
    /// sampling adds to it: 1, for a population, and what privacy adds,
    /// `P = (reach gamma)^2 / (2 n rho)`.
    pub(crate) fn variance(&self, tail: f64, features: usize) -> f64 {
        let gamma_sq = clip_for_tail(features, 1.0, tail).powi(2);
        self.privacy_variance(gamma_sq) + f64::from(u8::from(self.covers_population()))
    }

    /// How much wider a clip that a share `tail` of rows exceeds must be, for lognormal errors to
    /// move the intercept by no more than half of its standard error; `None` if that would make
    /// intervals longer than least squares is worth to a user who did not ask for it.
    ///
    /// With a clip `f` times as wide the variance is `S + f^2 P`, and `E (e - f c)+`, what clipping
    /// takes from the mean of an error, falls.
    pub(crate) fn harmless(&self, tail: f64, features: usize) -> Option<Harmless> {
        if !self.covers_least_squares() {
            return None;
        }
        let (narrow, sampling) = (self.variance(tail, features), f64::from(u8::from(self.covers_population())));
        let privacy = narrow - sampling;
        let at = |factor: f64| Some(Harmless { factor, tail: skewed::tail_beyond(tail, factor)? });
        let is_harmless = |one: &Harmless| {
            let variance = sampling + privacy * one.factor.powi(2);
            skewed::excess(one.tail) <= NOTABLE_BEND * (variance / self.rows as f64).sqrt()
        };
        let affordable = (1.0 + (PRICE_OF_LEAST_SQUARES.powi(2) - 1.0) * narrow / privacy).sqrt();
        let (mut low, mut high) = (1.0, if self.at_any_price { WIDEST } else { affordable });
        at(high).filter(is_harmless)?;
        if at(low).is_some_and(|one| is_harmless(&one)) {
            return at(low);
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if at(middle).is_some_and(|one| is_harmless(&one)) { high = middle } else { low = middle }
        }
        at(high)
    }

    /// About the share of rows above the clip that is found: the one wanted, or what its counts,
    /// worth `worth` times their share of the budget, can tell from none.
    pub(crate) fn about_tail(&self, features: usize, worth: f64) -> f64 {
        let rho = self.rho.to_f64();
        let wanted = self.tail(ABOUT_LEFT * rho, features);
        counts::target(wanted, self.rows, CLIP_THRESHOLDS as usize, worth * self.clip_threshold_share() * rho)
            / self.rows as f64
    }

    /// The share of the clip threshold: the tail aimed at must itself stand clear of the noise.
    fn clip_threshold_share(&self) -> f64 {
        let tail = self.tail(ABOUT_LEFT * self.rho.to_f64(), self.features);
        self.threshold_share((tail / CLEAR_OF_NOISE).min(self.choices.count_precision))
    }

    /// The share of the covariance of gradients where the clip is `factor` times as wide as one
    /// that a share `tail` of rows exceeds.
    ///
    /// Of the [`variance`](Self::variance) `T = 1 + P` a share `f` taken from the descent makes
    /// `1 + P / (1 - f)`. The covariance is then known up to a noise of variance
    /// `s^2 = m gamma^4 / (2 n^2 rho f)`, `m` the squared movement of a matrix, which lengthens a
    /// squared interval by `(z^2 + 1) s^2 / (4 T^2)` (Student's t with `2 T^2 / s^2` degrees of
    /// freedom). The product is smallest at `f^2 = (z^2 + 1) m gamma^2 / (4 reach^2 n T)`.
    fn spread_share(&self, tail: f64, factor: f64) -> f64 {
        let gamma_sq = (factor * clip_for_tail(self.features, 1.0, tail)).powi(2);
        self.spread_share_at(gamma_sq, 1.0 + (self.variance(tail, self.features) - 1.0) * factor.powi(2))
    }

    /// The same for this squared clip and this variance of an estimate, in units of what sampling
    /// adds to it.
    pub(crate) fn spread_share_at(&self, gamma_sq: f64, variance: f64) -> f64 {
        let rows = self.rows as f64;
        let z_sq = normal_quantile(0.95).powi(2);
        let share_sq =
            (z_sq + 1.0) * moved_sq(self.neighbours) * gamma_sq / (4.0 * reach_sq(self.neighbours) * rows * variance);
        (self.choices.spread * share_sq.sqrt()).min(SPREAD_MOST)
    }

    /// The share of the second round, in whitened coordinates for the first time, where rows have
    /// norm `sqrt p` on average.
    pub(crate) fn second_round(&self) -> f64 {
        self.moments_share(self.usual_length_sq()).min(SECOND_PARTS.1)
    }

    /// The share of a further round in which few rows are longer than `radius`, if it is worth its
    /// price.
    pub(crate) fn further_round(&self, radius: f64) -> Option<f64> {
        let least = if self.shortens { 0.0 } else { self.usual_length_sq() };
        Some(self.moments_share(radius.powi(2).max(least))).filter(|&share| share <= self.choices.further_round)
    }

    /// The squared length of white rows before it is measured: twice its average, or what they are
    /// shortened to.
    fn usual_length_sq(&self) -> f64 {
        if self.shortens { row_length(self.features).powi(2) } else { 2.0 * self.features as f64 }
    }

    fn moments_share(&self, length_sq: f64) -> f64 {
        self.matrix_share(length_sq, self.choices.moments_precision).max(SECOND_PARTS.0)
    }

    /// No more rounds than these: they cost less where the length of rows need not be looked for.
    pub(crate) fn most_rounds(&self) -> usize {
        if self.shortens { MOST_ROUNDS_SHORTENED } else { MOST_ROUNDS }
    }

    /// The share that brings the noise on the entries of a matrix to `noise_sd`.
    pub(crate) fn matrix_share(&self, length_sq: f64, noise_sd: f64) -> f64 {
        matrix_rho(self.rows, length_sq, self.neighbours, noise_sd) / self.rho.to_f64()
    }

    /// The share of the curvature where few rows are longer than `radius`.
    pub(crate) fn curvature_share(&self, radius: f64) -> f64 {
        let noise_sd = self.choices.curvature_precision.min(self.choices.curvature_edge / edge(self.features, 1.0));
        self.matrix_share(radius.powi(2), noise_sd).clamp(CURVATURE_PARTS.0, CURVATURE_PARTS.1)
    }

    /// What a threshold needs for counts to this share of the rows, six or seven of them.
    fn threshold_share(&self, precision: f64) -> f64 {
        let counts = f64::from(queries(CLIP_THRESHOLDS as usize));
        let needed = counts / (2.0 * (precision * self.rows as f64).powi(2)) / self.rho.to_f64();
        needed.clamp(THRESHOLD_PARTS.0, THRESHOLD_PARTS.1)
    }

    /// Steps of the descent: few where whitening stretched every direction to full length.
    pub(crate) fn steps(&self, moments: &[f64]) -> u32 {
        if moments.iter().all(|&moment| moment >= 1.0) { self.choices.steps as u32 } else { self.most_steps() }
    }

    /// Steps where some direction is short.
    pub(crate) fn most_steps(&self) -> u32 {
        let limits = (self.choices.steps, MOST_STEPS * self.choices.steps);
        (STEPS_PER_STRENGTH * self.strength()).round().clamp(limits.0, limits.1) as u32
    }

    /// The share of rows to clip when `rho` is spent on the descent of `features` parameters.
    pub(crate) fn tail(&self, rho: f64, features: usize) -> f64 {
        match (self.covers_least_squares(), self.at_any_price) {
            (true, false) => self.least_squares_tail(rho, features),
            (true, true) => self.least_squares_tail(rho, features).min(CLIPPED_FIRST),
            (false, _) => self.most_precise_tail(rho, features),
        }
    }

    /// `1/4 (1 - exp(-1000 N)) + 1/2 (1 - exp(-100 N))`, `N = 2 p^2 / (n^2 rho)` the noise.
    ///
    /// A clip at the scale of the errors makes the noise of the estimate `N` times their variance.
    /// A wider one clips fewer rows, and is noisier; a narrower one biases a fit with skewed
    /// errors, and that bias does not shrink with n. So up to three quarters of the rows are
    /// clipped if noise is large, and hardly any if it is small.
    fn least_squares_tail(&self, rho: f64, features: usize) -> f64 {
        let noise = 2.0 * (features as f64 / self.rows as f64).powi(2) / rho;
        let quarter = |scale: f64| 0.25 * (1.0 - (-noise / scale).exp());
        self.choices.tail * (quarter(TAIL_NOISE.0) + 2.0 * quarter(TAIL_NOISE.1))
    }

    /// The share that makes the estimate most precise if errors are Gaussian.
    ///
    /// At a clip of `k` standard deviations a coordinate of the estimate has variance
    /// `(E psi^2 + nu k^2) / (E psi')^2` over `n`, `psi` being the clamp at `k` (Huber 1964) and
    /// `nu k^2`, `nu = 2 p / (n rho)`, the noise for privacy. The clip is at its minimum.
    fn most_precise_tail(&self, rho: f64, features: usize) -> f64 {
        let nu = reach_sq(self.neighbours) / 2.0 * features as f64 / (self.rows as f64 * rho);
        2.0 * normal_cdf(-most_precise_clip(nu))
    }
}

/// The `k` that minimises `(E psi_k^2 + nu k^2) / (E psi_k')^2` over standard Gaussian errors, by
/// golden section: there is one minimum.
fn most_precise_clip(nu: f64) -> f64 {
    let variance = |k: f64| {
        let density = (-0.5 * k * k).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let unclipped = 1.0 - 2.0 * normal_cdf(-k);
        (unclipped - 2.0 * k * density + 2.0 * k * k * normal_cdf(-k) + nu * k * k) / (unclipped * unclipped)
    };
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let (mut low, mut high) = (0.02, 6.0);
    for _ in 0..60 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if variance(left) < variance(right) { high = right } else { low = left }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rows: u64, rho: f64) -> Rules {
        let rho = Rho::checked_from_f64(rho).expect("a budget");
        Rules {
            rows,
            features: 4,
            rho,
            neighbours: Neighbours::ReplaceOne,
            target: Some(Target::Population),
            at_any_price: false,
            shortens: false,
            choices: Choices::DEFAULT,
        }
    }

    /// Much is clipped where noise is large and hardly anything where it is small, but never more
    /// than three quarters.
    #[test]
    fn the_share_clipped_falls_as_rows_grow() {
        let tails = [100, 1000, 10_000, 100_000, 1_000_000].map(|rows| rules(rows, 0.015).least_squares_tail(0.012, 4));
        assert!(tails.is_sorted_by(|a, b| a > b) && tails[0] <= 0.75 && tails[4] < 1e-3, "{tails:?}");
    }

    /// The minimum of Huber's variance with noise added, found on a grid elsewhere to three
    /// decimals.
    #[test]
    fn the_most_precise_clip_is_at_the_minimum() {
        for (nu, clip) in [(0.01, 1.948), (0.1, 1.177), (0.3, 0.801), (1.0, 0.436)] {
            assert!((most_precise_clip(nu) - clip).abs() < 2e-3, "{nu}: {}", most_precise_clip(nu));
        }
    }

    /// Half of a budget that is ample goes to the estimate even when every round is made, and
    /// something is always left for it.
    #[test]
    fn what_is_not_needed_goes_to_the_descent() {
        for rho in [0.001f64, 0.015, 0.1, 0.5, 5.0] {
            for rows in [200, 1000, 10_000, 100_000, 1_000_000] {
                let Some(plan) = (rows as f64 * rho.sqrt() > 10.0).then(|| rules(rows, rho)) else { continue };
                let left = 1.0 - most_spent(&plan);
                assert!(left > 0.15, "{rows} rows, rho {rho}: {left}");
                assert!(rows < 100_000 || rho < 0.015 || left > 0.5, "{rows} rows, rho {rho}: {left}");
            }
        }
    }

    /// What is spent beside the descent when every round and a second start are made, on rows twice
    /// as long as the average.
    fn most_spent(plan: &Rules) -> f64 {
        let (shares, radius) = (plan.shares(), 2.0 * (plan.features as f64).sqrt());
        let later = if plan.has_one_round() { 0 } else { MOST_ROUNDS - 2 };
        let second = if plan.has_one_round() { 0.0 } else { plan.second_round() + shares.length };
        let further = plan.further_round(radius).map_or(0.0, |share| share + shares.length) * later as f64;
        let starts = shares.start_threshold + shares.start + plan.choices.second_start + 2.0 * shares.threshold;
        let intervals = plan.curvature_share(radius) + shares.spread + shares.bend;
        shares.length + shares.first_moments + second + further + starts + intervals
    }

    /// Least squares takes about 5,000 rows times rho with five columns; a clip is widened no
    /// further than it must be, and lengthens intervals by no more than its price.
    #[test]
    fn least_squares_is_for_budgets_that_can_afford_its_clip() {
        let found = |rows: u64, rho: f64| {
            let rules = rules(rows, rho);
            let tail = rules.about_tail(4, 1.0);
            let longer = |factor: f64| {
                let narrow = rules.variance(tail, 4);
                ((1.0 + (narrow - 1.0) * factor.powi(2)) / narrow).sqrt()
            };
            rules.harmless(tail, 4).inspect(|one| {
                assert!(longer(one.factor) <= PRICE_OF_LEAST_SQUARES + 1e-9 && one.factor >= 1.0, "{one:?}");
                assert!(one.factor == 1.0 || rules.harmless(one.tail, 4).is_some());
            })
        };
        assert_eq!([found(3000, 0.1), found(10_000, 0.1), found(10_000, 0.015)], [None; 3]);
        let [few, more, many] = [(20_000, 0.5), (100_000, 0.5), (10_000_000, 0.5)].map(|(rows, rho)| found(rows, rho));
        let factors = [few, more, many].map(|one| one.expect("harmless").factor);
        assert!(factors.is_sorted_by(|a, b| a > b) && factors[2] == 1.0, "{factors:?}");
        for target in [Target::Population, Target::Sample] {
            for (rows, rho) in [(3000, 0.01), (3000, 0.1), (10_000, 0.5), (1_000_000, 0.5)] {
                let rules = Rules { target: Some(target), at_any_price: true, ..rules(rows, rho) };
                let found = rules.harmless(rules.about_tail(4, 1.0), 4).expect("a clip at any cost");
                assert!((1.0..WIDEST).contains(&found.factor), "{found:?}");
            }
        }
        let robust = Rules { target: Some(Target::Robust), ..rules(10_000_000, 0.5) };
        assert_eq!(robust.harmless(1e-6, 4), None);
    }

    /// That takes `n sqrt(rho)` of 11.5 times the columns: 15 times are enough and 9.8 are not.
    #[test]
    fn a_second_round_is_made_where_it_is_known_to_a_half() {
        let many_columns = |rho: f64| Rules { features: 41, ..rules(20_000, rho) };
        assert!([0.015, 0.001].iter().all(|&rho| !many_columns(rho).has_one_round()));
        assert!(many_columns(0.0004).has_one_round());
        assert!(many_columns(0.0004).shares().first_moments > many_columns(0.001).shares().first_moments);
    }

    #[test]
    fn a_further_round_is_made_only_where_it_is_cheap() {
        assert!(rules(10_000, 0.015).further_round(4.0).is_some_and(|share| share <= Choices::DEFAULT.further_round));
        assert_eq!(rules(1_000, 0.015).further_round(4.0), None);
    }
}
