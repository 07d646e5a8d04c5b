//! Lines of the table, and the verdict on each.

use statrs::function::beta::beta_reg;

use super::grid::{Cell, Side};
use crate::experiment::cell as shown;

/// The columns of the table.
pub(super) const COLUMNS: [&str; 21] = [
    "design",
    "errors",
    "n",
    "rho",
    "target",
    "term",
    "reps",
    "printed",
    "judged",
    "coverage",
    "coverage_se",
    "length",
    "rmse",
    "robust",
    "misfit",
    "passes",
    "contradictions",
    "level_changes",
    "bare_numbers",
    "refused",
    "verdict",
];

/// A term of a cell, with its results.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub cell: Cell,
    pub term: String,
    /// The share of coefficients for which a number was printed.
    pub printed: f64,
    pub coverage: Coverage,
    pub length: f64,
    pub rmse: f64,
    pub prediction: f64,
    pub robust: f64,
    /// The share of fits that say that a logit is not the whole truth.
    pub misfit: f64,
    pub passes: f64,
    /// The share of printed numbers whose p-value contradicts the interval.
    pub contradictions: f64,
    pub level_changes: f64,
    pub bare_numbers: f64,
    pub refused: f64,
}

/// The number of intervals, the number that covered, and the effective number of independent ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::experiment) struct Coverage {
    pub judged: f64,
    pub covered: f64,
    /// The design effect from intervals of the same table: 1 for independent ones.
    pub effect: f64,
}

impl Coverage {
    /// From the number of intervals of each table and the number of them that covered.
    pub(in crate::experiment) fn of(tables: &[(f64, f64)]) -> Coverage {
        let (judged, covered) = tables.iter().fold((0.0, 0.0), |(m, k), (judged, hit)| (m + judged, k + hit));
        let share = covered / judged;
        let spread: f64 = tables.iter().map(|(judged, hit)| (hit - share * judged).powi(2)).sum();
        let most = tables.iter().map(|(judged, _)| *judged).fold(1.0, f64::max);
        let effect = spread / (judged * share * (1.0 - share));
        Coverage { judged, covered, effect: if effect.is_finite() { effect.clamp(1.0, most) } else { 1.0 } }
    }

    pub(in crate::experiment) fn share(&self) -> f64 {
        self.covered / self.judged
    }

    /// The Monte-Carlo standard error, computed as if the share were at least slightly away from 0
    /// and 1.
    pub(super) fn error(&self) -> f64 {
        let count = self.judged / self.effect;
        let share = (self.covered / self.effect + 0.5) / (count + 1.0);
        (share * (1.0 - share) / count).sqrt()
    }

    /// The side on which the share lies beyond chance: an interval with coverage exactly `band.0`
    /// (or `band.1`) is called low (or high) with a probability of at most `alarm`.
    pub(in crate::experiment) fn outside(&self, band: (f64, f64), alarm: f64) -> Option<Side> {
        let (count, hits) = (self.judged / self.effect, self.covered / self.effect);
        let misses = count - hits;
        // P(at most `hits`) at the lower edge and P(at least `hits`) at the upper one, binomial.
        let at_most = if misses <= 0.0 { 1.0 } else { beta_reg(misses, hits + 1.0, 1.0 - band.0) };
        let at_least = if hits <= 0.0 { 1.0 } else { beta_reg(hits, misses + 1.0, band.1) };
        match (at_most < alarm, at_least < alarm) {
            (true, _) => Some(Side::Low),
            (_, true) => Some(Side::High),
            _ => None,
        }
    }
}

impl Line {
    pub(super) fn cells(&self, verdict: &str) -> Vec<String> {
        let Cell { design, errors, n, rho, target, repetitions, .. } = &self.cell;
        let start = [
            design.clone(),
            errors.clone(),
            n.to_string(),
            rho.to_string(),
            target.name().to_owned(),
            self.term.clone(),
            repetitions.to_string(),
        ];
        let coverage = &self.coverage;
        let numbers = [
            self.printed,
            coverage.judged,
            coverage.share(),
            if coverage.judged > 0.0 { coverage.error() } else { f64::NAN },
            self.length,
            self.rmse,
            self.robust,
            self.misfit,
            self.passes,
            self.contradictions,
            self.level_changes,
            self.bare_numbers,
            self.refused,
        ];
        start.into_iter().chain(numbers.map(shown)).chain([verdict.replace(',', ";")]).collect()
    }

    pub(super) fn in_words(&self) -> String {
        let Cell { design, errors, n, rho, target, .. } = &self.cell;
        format!("{design}, {errors}, n = {n}, rho = {rho}, {}, {}", target.name(), self.term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAND: (f64, f64) = (0.93, 0.98);
    const ALARM: f64 = 0.00135;

    fn verdict(judged: f64, covered: f64) -> Option<Side> {
        Coverage { judged, covered, effect: 1.0 }.outside(BAND, ALARM)
    }

    #[test]
    fn only_what_chance_does_not_explain_is_outside() {
        // Exact binomial tails: at 93 %, P(X <= 173 of 200) = .0010, P(X <= 174 of 200) = .0021.
        assert_eq!((verdict(200.0, 173.0), verdict(200.0, 174.0)), (Some(Side::Low), None));
        // At 98 %, P(all of 327) = .00135.
        assert_eq!((verdict(326.0, 326.0), verdict(328.0, 328.0)), (None, Some(Side::High)));
        assert_eq!(verdict(5.0, 3.0), None);
        assert_eq!(verdict(5.0, 1.0), Some(Side::Low));
        assert_eq!(verdict(0.0, 0.0), None);
    }

    #[test]
    fn intervals_of_a_table_that_fail_together_count_less() {
        let together = Coverage::of(&[vec![(4.0, 4.0); 45], vec![(4.0, 0.0); 5]].concat());
        let apart = Coverage::of(&[vec![(4.0, 4.0); 30], vec![(4.0, 3.0); 20]].concat());
        assert_eq!((together.share(), apart.share()), (0.9, 0.9));
        assert!((together.effect - 4.0).abs() < 1e-9 && apart.effect == 1.0);
        assert!(together.error() > 1.8 * apart.error());
    }
}
