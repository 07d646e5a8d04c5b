//! What the automatic method's division of its budget rests on and no theory gives: precisions and
//! shares, each with its rule.

/// Every number that was chosen by a rule of thumb. Coverage does not depend on them, since
/// intervals are made from what is released, whatever its precision; lengths do, a little.
/// `dplm lab run choices` halves and doubles each of them and shows what that does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choices {
    /// The noise that counts behind a clip may have, as a share of the rows: the share that lies
    /// between two thresholds of the ladder, an eighth of an octave apart, in the flanks of a
    /// Gaussian distribution.
    pub count_precision: f64,
    /// The same for the length of rows: so few rows are beyond it then that shortening them moves
    /// no second moment by more than its noise.
    pub length_precision: f64,
    /// The share for the first round of second moments, which only prepares the next: its entries
    /// are known to a third of a unit at the smallest strength that has several rounds.
    pub first_moments: f64,
    /// The share of a single round, which must find everything: three times as much.
    pub only_moments: f64,
    /// The precision of entries of later rounds. It multiplies the noise of the descent by one plus
    /// the variance of eigenvalues about one: at most `p` times the square of it over two, and far
    /// less where directions are alike, since noise is removed from eigenvalues.
    pub moments_precision: f64,
    /// The most that a further round may cost: one more column is worth about as much as the length
    /// that it adds to the intervals of all others, half of its share.
    pub further_round: f64,
    /// The share of the start, which has to come within a clip of the answer.
    pub start: f64,
    /// A second start, where the first one's noise is as large as the errors: twice the first.
    pub second_start: f64,
    /// The precision of each entry of the curvature: intervals are longer by three halves of its
    /// square for each coefficient.
    pub curvature_precision: f64,
    /// The noise of the curvature may move its eigenvalues by this share of their mean, the edge of
    /// the noise: a direction in which the curvature is a quarter of that is then found to within a
    /// twentieth of its length, squared.
    pub curvature_edge: f64,
    /// The covariance of gradients gets this many times the share that makes intervals shortest,
    /// which is derived.
    pub spread: f64,
    /// The share of the test for bias by clipping: at a quarter of the clip its noise is then about
    /// that of the estimate.
    pub bend: f64,
    /// Steps of the descent where all directions are at full length, and half as many again where
    /// some are not. At step size 1/2 the start is forgotten after ten; the rest averages, and what
    /// a mean over `t` steps loses to the first ten is `10 / t` of the noise's variance.
    pub steps: f64,
    /// The share of rows clipped for least-squares targets is this many times the rule's.
    pub tail: f64,
}

impl Choices {
    /// The choices of the method `auto`.
    pub const DEFAULT: Choices = Choices {
        count_precision: 0.03,
        length_precision: 0.01,
        first_moments: 0.05,
        only_moments: 0.15,
        moments_precision: 0.15,
        further_round: 0.07,
        start: 0.05,
        second_start: 0.10,
        curvature_precision: 0.1,
        curvature_edge: 1.0 / 3.0,
        spread: 1.0,
        bend: 0.03,
        steps: 80.0,
        tail: 1.0,
    };

    /// Their names.
    pub const NAMES: [&str; 14] = [
        "count_precision",
        "length_precision",
        "first_moments",
        "only_moments",
        "moments_precision",
        "further_round",
        "start",
        "second_start",
        "curvature_precision",
        "curvature_edge",
        "spread",
        "bend",
        "steps",
        "tail",
    ];

    /// The same with one of them multiplied; `None` if there is no such name.
    pub fn times(mut self, name: &str, factor: f64) -> Option<Choices> {
        let value = match name {
            "count_precision" => &mut self.count_precision,
            "length_precision" => &mut self.length_precision,
            "first_moments" => &mut self.first_moments,
            "only_moments" => &mut self.only_moments,
            "moments_precision" => &mut self.moments_precision,
            "further_round" => &mut self.further_round,
            "start" => &mut self.start,
            "second_start" => &mut self.second_start,
            "curvature_precision" => &mut self.curvature_precision,
            "curvature_edge" => &mut self.curvature_edge,
            "spread" => &mut self.spread,
            "bend" => &mut self.bend,
            "steps" => &mut self.steps,
            "tail" => &mut self.tail,
            _ => return None,
        };
        *value *= factor;
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_another_choice() {
        let changed = Choices::NAMES.map(|name| Choices::DEFAULT.times(name, 2.0).expect("a name"));
        for (index, one) in changed.iter().enumerate() {
            assert_ne!(*one, Choices::DEFAULT);
            assert!(changed[..index].iter().all(|other| other != one));
        }
        assert_eq!(Choices::DEFAULT.times("nothing", 2.0), None);
    }
}
