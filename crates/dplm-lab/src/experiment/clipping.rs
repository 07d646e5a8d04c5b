//! The share of clipped gradients, over dimension and threshold; and the lemma about when none is
//! clipped.

use dplm_theory::no_clipping::{check_condition, no_clipping_bound};

use super::{DesignName, Experiment, Finished, Measures, Point, Table, cell, gamma, grouped, measure, put_mean};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, HeatMap},
    record::Values,
    stats::{Estimate, share_at_most},
    trial::{Data, Descending, seed},
};

/// The share of gradients clipped over p and gamma.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clipping {
    design: DesignName,
    p: Vec<u32>,
    rows_per_feature: u64,
    /// gamma / sqrt(p)
    clip: Vec<f64>,
    rho: f64,
    steps: u32,
    step_size: f64,
    repetitions: u32,
    lemma_p: u32,
    lemma_n: u64,
    lemma_rho: f64,
    lemma_steps: u32,
    lemma_beta: f64,
    lemma_repetitions: u32,
    seed: u64,
}

/// Clip thresholds from this multiple of `sqrt(p)` on are expected to clip hardly anything.
const WIDE: f64 = 5.0;
/// Clip thresholds up to this multiple are expected to clip much.
const NARROW: f64 = 0.5;

impl Clipping {
    fn is_lemma(point: &Point) -> bool {
        point.key.starts_with("lemma ")
    }

    fn grid<'a>(&self, done: &'a [Finished]) -> Vec<&'a Finished> {
        done.iter().filter(|one| !Clipping::is_lemma(&one.point)).collect()
    }

    fn lemma_point(&self) -> Point {
        let parameters = [
            ("p", f64::from(self.lemma_p)),
            ("n", self.lemma_n as f64),
            ("rho", self.lemma_rho),
            ("steps", f64::from(self.lemma_steps)),
            ("step_size", self.step_size),
            ("beta", self.lemma_beta),
        ];
        Point::new("lemma", &parameters, self.lemma_repetitions, self.seed)
    }

    /// One run with the threshold that the lemma requires on this data set: whether its hypotheses
    /// hold, and whether anything is clipped.
    fn lemma(&self, repetition: u64) -> Result<Measures, LabError> {
        let (p, n, steps) = (self.lemma_p, self.lemma_n, self.lemma_steps);
        let words = [u64::from(p), n, repetition];
        let mut data = Data::simulate(&self.design.setting(p), n, seed(self.seed, "lemma data", &words))?;
        let (sample, theta) = (data.sample(), data.theta().to_vec());
        let condition =
            check_condition(&sample.x, &sample.y, &theta, 1.0, self.step_size, steps as usize)?.into_inner();
        let c0 = condition.smallest_c0();
        let gamma = 4.0 * c0 * c0 * f64::from(p).sqrt() * 1.000_001;
        let asked = Descending { rho: self.lemma_rho, gamma, steps, step_size: self.step_size };
        let run = data.descend(&asked, seed(self.seed, "lemma noise", &words))?;
        let bound =
            no_clipping_bound(n as usize, p as usize, gamma, run.noise_sd, self.step_size, steps as usize, c0, 1.0)?;
        let clips = data.clipped(&asked, &run)?.iter().any(|&share| share > 0.0);
        let applies = condition.spectrum.holds && bound.beta <= self.lemma_beta;
        Ok(Measures::from([
            measure("applies", f64::from(u8::from(applies))),
            measure("clips", f64::from(u8::from(clips && applies))),
        ]))
    }
}

impl Experiment for Clipping {
    fn points(&self) -> Vec<Point> {
        let point = |p: u32, clip: f64| {
            let parameters = [
                ("design", self.design.code() as f64),
                ("p", f64::from(p)),
                ("n", (u64::from(p) * self.rows_per_feature) as f64),
                ("clip", clip),
                ("rho", self.rho),
                ("steps", f64::from(self.steps)),
                ("step_size", self.step_size),
            ];
            Point::new("clipping", &parameters, self.repetitions, self.seed)
        };
        let grid = self.p.iter().flat_map(|&p| self.clip.iter().map(move |&clip| point(p, clip)));
        grid.chain([self.lemma_point()]).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        if Clipping::is_lemma(point) {
            return self.lemma(repetition);
        }
        let (p, n, clip) = (point.get("p"), point.whole("n"), point.get("clip"));
        let words = [self.design.code(), p as u64, n, repetition];
        let mut data = Data::simulate(&self.design.setting(p as u32), n, seed(self.seed, "data", &words))?;
        let asked = Descending { rho: self.rho, gamma: gamma(clip, p), steps: self.steps, step_size: self.step_size };
        let run = data.descend(&asked, seed(self.seed, "dpgd", &[words[1], words[2], clip.to_bits(), repetition]))?;
        Ok(Measures::from([measure("clipped", Estimate::mean(&data.clipped(&asked, &run)?).value)]))
    }

    fn summarise(&self, point: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        let names: &[&str] = if Clipping::is_lemma(point) { &["applies", "clips"] } else { &["clipped"] };
        names.iter().for_each(|name| put_mean(&mut values, repetitions, name));
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &&Finished| {
            let [p, n, clip] = ["p", "n", "clip"].map(|name| cell(one.at(name)));
            vec![p, n, clip, cell(one.value("clipped"))]
        };
        let columns = &["p", "n", "gamma_over_sqrtp", "clipped"];
        Table { columns, rows: self.grid(done).iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let grid = self.grid(done);
        let at = |p: u32, clip: f64| {
            let found = grid.iter().find(|one| one.at("p") == f64::from(p) && one.at("clip") == clip);
            found.map_or(f64::NAN, |one| 100.0 * one.value("clipped"))
        };
        Figure::heat(
            format!(
                "{}; n = {}p, ρ = {}, {} steps of size {}; mean over all steps of {} repetitions.",
                self.design.words(),
                grouped(self.rows_per_feature as f64),
                self.rho,
                self.steps,
                self.step_size,
                self.repetitions
            ),
            HeatMap {
                x: Axis::linear("number of features p"),
                y: Axis::linear("clipping threshold γ / √p"),
                columns: self.p.iter().map(u32::to_string).collect(),
                rows: self.clip.iter().map(|&clip| cell(clip)).collect(),
                values: self.clip.iter().map(|&clip| self.p.iter().map(|&p| at(p, clip)).collect()).collect(),
                colour_label: "gradients clipped (%)".to_owned(),
                range: (0.0, 100.0),
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let grid = self.grid(done);
        let upper = |one: &&Finished| one.estimate("clipped").interval().1;
        let wide: Vec<_> = grid.iter().filter(|one| one.at("clip") >= WIDE).collect();
        let most = wide.iter().map(|one| upper(one)).fold(0.0, f64::max);
        claims.add(
            format!("hardly a gradient is clipped for γ ≥ {WIDE}√p, whatever p"),
            format!("at most {:.2} % for p from {} to {}", 100.0 * most, self.p[0], self.p[self.p.len() - 1]),
            "at most 1 % at every p",
            !wide.is_empty() && most <= 0.01,
        );
        let narrow = grid.iter().filter(|one| one.at("clip") <= NARROW);
        let least = narrow.map(|one| one.estimate("clipped").interval().0).fold(1.0, f64::min);
        claims.add(
            format!("and many are for γ ≤ {NARROW}√p: the threshold matters"),
            format!("at least {:.0} %", 100.0 * least),
            "at least 30 % at every p",
            least >= 0.3,
        );
        let spread = self.clip.iter().map(|&clip| {
            let shares = grid.iter().filter(|one| one.at("clip") == clip && one.at("p") >= 10.0);
            let (low, high) = shares.fold((1.0f64, 0.0f64), |(low, high), one| {
                (low.min(one.value("clipped")), high.max(one.value("clipped")))
            });
            high - low
        });
        let widest = spread.fold(0.0, f64::max);
        claims.add(
            "the share clipped depends on γ/√p and not on p: √p is the right scale",
            format!("differs by at most {:.1} points between p ≥ 10", 100.0 * widest),
            "at most 10 points at every γ/√p",
            widest <= 0.1,
        );
        let Some(lemma) = done.iter().find(|one| Clipping::is_lemma(&one.point)) else { return };
        let trials = (lemma.value("applies") * f64::from(lemma.point.repetitions)).round();
        let hits = (lemma.value("clips") * f64::from(lemma.point.repetitions)).round();
        claims.add(
            format!("Lemma “no clipping occurs”: where its hypotheses hold for β = {}, a run clips anything with probability at most β", self.lemma_beta),
            format!("{hits} of {trials} runs (p = {}, n = {}, ρ = {})", self.lemma_p, grouped(self.lemma_n as f64), self.lemma_rho),
            format!("upper 95 % bound at most {}, hypotheses true in all {} runs", self.lemma_beta, self.lemma_repetitions),
            trials == f64::from(self.lemma_repetitions) && share_at_most(hits, trials) <= self.lemma_beta,
        );
    }
}
