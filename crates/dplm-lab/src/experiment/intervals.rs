//! Coverage and length of the confidence intervals as the total number of steps grows.

use dplm::interval::{Batching, Contrast, Inference, IntervalError, batched_means, checkpoints, independent_runs};

use super::{DesignName, Ends, Experiment, Finished, Measures, Point, Table, all, cell, ends, gamma, grouped, put};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Reference, Series},
    record::Values,
    stats::{Estimate, percentile},
    trial::{Data, Descending, seed},
};

/// The figure that is drawn from the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shown {
    /// The share of intervals that contain the least-squares value.
    Coverage,
    /// The length of the intervals.
    Length,
}

/// Coverage and length of four interval methods.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    shows: Shown,
    design: DesignName,
    p: u32,
    n: u64,
    rho: f64,
    clip: f64,
    step_size: f64,
    total_steps: Vec<u32>,
    batches: u32,
    burn_in: u32,
    level: f64,
    repetitions: u32,
    settled: u32,
    seed: u64,
}

const METHODS: [(&str, &str); 4] = [
    ("independent", "independent runs"),
    ("checkpoints", "checkpoints"),
    ("batched", "batched means"),
    ("newton", "Newton (ours)"),
];

/// The allowed shortfall of the mean coverage: about four standard errors of 100 runs of 10
/// coordinates.
const ALLOWANCE: f64 = 0.025;

/// An interval method this much below its level still counts as covering when lengths are compared.
const NEARLY: f64 = 0.01;

impl Intervals {
    fn descending(&self, steps: u32) -> Descending {
        let gamma = gamma(self.clip, f64::from(self.p));
        Descending { rho: self.rho, gamma, steps, step_size: self.step_size }
    }

    fn batching(&self, average_last: usize) -> Batching {
        Batching { batches: self.batches as usize, burn_in: self.burn_in as usize, average_last }
    }

    /// Independent runs of `total / m` steps each, with the mean of each after its burn-in; `None`
    /// if a run would be all burn-in.
    fn independent(&self, data: &mut Data, total: u32, seed: u64) -> Result<Option<Ends>, LabError> {
        let steps = total / self.batches;
        if steps <= self.burn_in {
            return Ok(None);
        }
        let runs = data.descends(&self.descending(steps), self.batches, seed)?;
        Ok(Some(self.ends(independent_runs(&runs, &self.batching(usize::MAX)))?))
    }

    /// Checkpoints and batched means of the same run: both are post-processing of it.
    fn one_run(&self, data: &mut Data, total: u32, seed: u64) -> Result<[Ends; 2], LabError> {
        let run = data.descend(&self.descending(total), seed)?;
        Ok([self.ends(checkpoints(&run, &self.batching(1)))?, self.ends(batched_means(&run, &self.batching(1)))?])
    }

    fn ends(&self, inference: Result<Inference, IntervalError>) -> Result<Ends, LabError> {
        let found = inference.and_then(|inference| inference.intervals(&self.coordinates(), self.level));
        Ok(ends(&found.map_err(dplm::Error::from)?))
    }

    fn coordinates(&self) -> Vec<Contrast> {
        Contrast::coordinates(self.p as usize)
    }

    fn has(one: &Finished, method: &str) -> bool {
        one.values.contains_key(&format!("{method}.coverage"))
    }

    fn marks(&self, done: &[Finished], method: &str) -> Vec<Mark> {
        let with = done.iter().filter(|one| Intervals::has(one, method));
        with.map(|one| {
            let [value, low, high] = match self.shows {
                Shown::Coverage => ["coverage", "coverage.lo", "coverage.hi"],
                Shown::Length => ["length", "length.lo", "length.hi"],
            }
            .map(|name| one.value(&format!("{method}.{name}")));
            let scale = if self.shows == Shown::Coverage { 100.0 } else { 1.0 };
            Mark::between(one.at("steps"), scale * value, scale * low, scale * high)
        })
        .collect()
    }

    fn caption(&self) -> String {
        let bars = match self.shows {
            Shown::Coverage => "Mean over coordinates; bars: 2.5 to 97.5 percentiles across coordinates.",
            Shown::Length => "Mean over runs and coordinates; bars: 2.5 to 97.5 percentiles.",
        };
        format!(
            "p = {}, n = {}, ρ = {}, γ = {}√p, step size {}, {}; m = {}, burn-in {}, {} data sets. {bars}",
            self.p,
            grouped(self.n as f64),
            self.rho,
            self.clip,
            self.step_size,
            self.design.words(),
            self.batches,
            self.burn_in,
            self.repetitions
        )
    }

    fn judge_coverage(&self, done: &[Finished], claims: &mut Claims) {
        for (method, label) in METHODS {
            let with: Vec<_> = done.iter().filter(|one| Intervals::has(one, method)).collect();
            let coverage = |one: &&&Finished| one.value(&format!("{method}.coverage"));
            let settled = with.iter().filter(|one| one.at("steps") >= f64::from(self.settled));
            let least = settled.map(|one| coverage(&one)).fold(f64::INFINITY, f64::min);
            let short: Vec<String> = with
                .iter()
                .filter(|one| one.at("steps") < f64::from(self.settled))
                .map(|one| format!("{:.1} % at {}", 100.0 * coverage(&one), one.at("steps")))
                .collect();
            let short = if short.is_empty() { String::new() } else { format!("; before that {}", short.join(", ")) };
            claims.add(
                format!("{label}: valid {:.0} % intervals for the least-squares value", 100.0 * self.level),
                format!("covers at least {:.1} % from {} steps on{short}", 100.0 * least, self.settled),
                format!("at least {:.1} % from {} steps on", 100.0 * (self.level - ALLOWANCE), self.settled),
                least.is_finite() && least >= self.level - ALLOWANCE,
            );
        }
        let newton = done.iter().map(|one| one.value("newton.coverage")).fold(f64::INFINITY, f64::min);
        claims.add(
            "the Newton interval covers from the first steps on",
            format!("at least {:.1} % at every number of steps", 100.0 * newton),
            format!("at least {:.1} %", 100.0 * (self.level - ALLOWANCE)),
            newton >= self.level - ALLOWANCE,
        );
    }

    fn judge_length(&self, done: &[Finished], claims: &mut Claims) {
        let length = |one: &Finished, method: &str| one.estimate(&format!("{method}.length"));
        let both = |method| done.iter().filter(move |one| Intervals::has(one, method));
        let ratio = |one: &Finished, of: &str, to: &str| length(one, of).ln().minus(&length(one, to).ln());
        let Some(shortest) = both("independent").next() else { return };
        let found = ratio(shortest, "independent", "batched");
        claims.add(
            "with few steps independent runs are longer than batched means: burn-in is paid for every run",
            format!("{:.2} times as long at {} steps", found.value.exp(), shortest.at("steps")),
            "longer, surely",
            found.interval().0 > 0.0,
        );
        let Some(last) = done.last() else { return };
        let first = done.iter().find(|one| one.at("steps") >= f64::from(self.settled)).unwrap_or(last);
        let found = ratio(last, "checkpoints", "batched");
        let growth = length(last, "checkpoints").ln().minus(&length(first, "checkpoints").ln());
        claims.add(
            "checkpoints depend poorly on the number of steps: most are disregarded",
            format!(
                "{:.2} times as long as batched means at {} steps, and {:.2} times their own length at {}",
                found.value.exp(),
                last.at("steps"),
                growth.value.exp(),
                first.at("steps")
            ),
            "longer, surely, and growing",
            found.interval().0 > 0.0 && growth.interval().0 > 0.0,
        );
        self.judge_shortest(done, claims);
        let (low, high) = done
            .iter()
            .map(|one| one.value("newton.length"))
            .fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
        claims.add(
            "the length of the Newton interval does not depend on the number of steps",
            format!("from {low:.4} to {high:.4}"),
            "largest at most 1.15 times the smallest",
            high <= 1.15 * low,
        );
    }
}

impl Intervals {
    /// The shortest interval method at each point, among those that cover.
    fn judge_shortest(&self, done: &[Finished], claims: &mut Claims) {
        let covers = |one: &Finished, method: &str| one.value(&format!("{method}.coverage")) >= self.level - NEARLY;
        let length = |one: &Finished, method: &str| one.value(&format!("{method}.length"));
        let rivals =
            |one: &Finished| METHODS.iter().map(|(method, _)| *method).filter(|m| covers(one, m)).collect::<Vec<_>>();
        let shortest =
            |one: &Finished| rivals(one).into_iter().min_by(|a, b| length(one, a).total_cmp(&length(one, b)));
        let mut places: Vec<String> = Vec::new();
        let mut closest = f64::INFINITY;
        for one in done {
            places.push(format!("{} at {}", shortest(one).unwrap_or("none"), one.at("steps")));
            for rival in rivals(one).into_iter().filter(|method| *method != "newton") {
                closest = closest.min(length(one, rival) / length(one, "newton"));
            }
        }
        claims.add(
            format!(
                "of those that cover at least {:.0} % the Newton interval is the shortest, or nearly so",
                100.0 * (self.level - NEARLY)
            ),
            format!("shortest: {}; the others at least {closest:.3} times as long as Newton", places.join(", ")),
            "none less than 0.98 times as long",
            closest >= 0.98,
        );
    }
}

impl Experiment for Intervals {
    fn points(&self) -> Vec<Point> {
        let point = |&steps: &u32| {
            let parameters = [
                ("design", self.design.code() as f64),
                ("p", f64::from(self.p)),
                ("n", self.n as f64),
                ("rho", self.rho),
                ("clip", self.clip),
                ("step_size", self.step_size),
                ("steps", f64::from(steps)),
                ("batches", f64::from(self.batches)),
                ("burn_in", f64::from(self.burn_in)),
                ("level", self.level),
            ];
            Point::new("intervals", &parameters, self.repetitions, self.seed)
        };
        self.total_steps.iter().map(point).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let total = point.whole("steps") as u32;
        let words = [self.design.code(), u64::from(self.p), self.n, repetition];
        let mut data = Data::simulate(&self.design.setting(self.p), self.n, seed(self.seed, "data", &words))?;
        let ols = data.least_squares()?;
        let noise = |purpose| seed(self.seed, purpose, &[words[0], words[1], words[2], u64::from(total), repetition]);
        let independent = self.independent(&mut data, total, noise("independent"))?;
        let [checked, batched] = self.one_run(&mut data, total, noise("one run"))?;
        let newton = data.newton(&self.descending(total), self.level, noise("newton"))?;
        let named = [
            ("checkpoints", Some(checked)),
            ("batched", Some(batched)),
            ("newton", Some(newton)),
            ("independent", independent),
        ];
        let mut measures = Measures::from([("ols.length".to_owned(), ols.lengths(self.level))]);
        for (name, ends) in named {
            let Some(ends) = ends else { continue };
            let covers = |((low, high), truth): (&(f64, f64), &f64)| f64::from(u8::from(low <= truth && truth <= high));
            measures.insert(format!("{name}.coverage"), ends.iter().zip(&ols.theta).map(covers).collect());
            measures.insert(format!("{name}.length"), ends.iter().map(|(low, high)| high - low).collect());
        }
        Ok(measures)
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        let p = self.p as usize;
        for (method, _) in METHODS {
            let (covers, lengths) =
                (all(repetitions, &format!("{method}.coverage")), all(repetitions, &format!("{method}.length")));
            if covers.is_empty() {
                continue;
            }
            let of_coordinate =
                |j: usize| Estimate::mean(&covers.iter().skip(j).step_by(p).copied().collect::<Vec<_>>()).value;
            let coordinates: Vec<f64> = (0..p).map(of_coordinate).collect();
            put(&mut values, &format!("{method}.coverage"), Estimate::mean(&covers));
            put(&mut values, &format!("{method}.length"), Estimate::mean(&lengths));
            for (name, sample) in [("coverage", &coordinates), ("length", &lengths)] {
                values.insert(format!("{method}.{name}.lo"), percentile(sample, 0.025));
                values.insert(format!("{method}.{name}.hi"), percentile(sample, 0.975));
            }
        }
        put(&mut values, "ols.length", Estimate::mean(&all(repetitions, "ols.length")));
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let named = |one: &Finished, method: &str, name: &str| cell(one.value(&format!("{method}.{name}")));
        let row = |one: &Finished, method: &str| {
            let steps = cell(one.at("steps"));
            match self.shows {
                Shown::Coverage => {
                    let [value, low, high] =
                        ["coverage", "coverage.lo", "coverage.hi"].map(|name| named(one, method, name));
                    vec![steps, method.to_owned(), one.point.repetitions.to_string(), value, low, high]
                }
                Shown::Length => {
                    let [value, low, high] = ["length", "length.lo", "length.hi"].map(|name| named(one, method, name));
                    vec![steps, method.to_owned(), value, low, high, cell(one.value("ols.length"))]
                }
            }
        };
        let rows = done.iter().flat_map(|one| {
            METHODS.iter().filter(|(method, _)| Intervals::has(one, method)).map(move |(method, _)| row(one, method))
        });
        let columns: &[&str] = match self.shows {
            Shown::Coverage => &["total_steps", "method", "reps", "coverage", "coverage_lo", "coverage_hi"],
            Shown::Length => &["total_steps", "method", "length", "length_lo", "length_hi", "ols_length"],
        };
        Table { columns, rows: rows.collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = METHODS.map(|(method, label)| Series::new(label, self.marks(done, method))).into();
        let x = Axis::log("total number of steps mT");
        let plot = match self.shows {
            Shown::Coverage => {
                let level = 100.0 * self.level;
                let references = vec![Reference::new(format!("nominal {level:.0} %"), level)];
                Plot {
                    x,
                    y: Axis::linear("coverage of the least-squares value (%)").to(100.0),
                    series,
                    references,
                    dodge: true,
                }
            }
            Shown::Length => {
                let length = Estimate::mean(&done.iter().map(|one| one.value("ols.length")).collect::<Vec<_>>()).value;
                let references = vec![Reference::new("least squares, for the population", length)];
                Plot { x, y: Axis::linear("length of a 95 % interval").from(0.0), series, references, dodge: true }
            }
        };
        Figure::plot(self.caption(), plot)
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        match self.shows {
            Shown::Coverage => self.judge_coverage(done, claims),
            Shown::Length => self.judge_length(done, claims),
        }
    }
}
