//! A private fit in economics against the fit in the clear: the model that validation servers are
//! tested on, log wages on education, a cubic in experience and race, with the measures and
//! tolerances of that literature.

use std::sync::OnceLock;

use dplm::{
    Coefficient, Design, NoiseSource, Progress,
    formula::Formula,
    method::{self, ConfigError, Request, Tuning},
    privacy::{Rho, convert},
    rows::{MemoryBuilder, Rows},
    table::{Block, Cells, Field, ReadOptions, Schema, Source, Type},
};
use dplm_theory::clear::Ols;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::{Ends, Experiment, Finished, Measures, Point, Table, all, cell};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Panel, Panels},
    peers::{PEERS, Peer, Promise, Task},
    record::Values,
    stats::{Estimate, percentile},
    trial::seed,
};

/// Private fits of one model of wages, at several budgets.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// A file; empty for a simulated table.
    table: String,
    rows: u64,
    formula: String,
    method: String,
    epsilon: Vec<f64>,
    delta: f64,
    repetitions: u32,
    seed: u64,
    #[serde(skip)]
    clear: OnceLock<Clear>,
}

/// The table in the clear, and its least squares.
struct Clear {
    design: Design,
    blocks: Vec<Block>,
    estimates: Vec<f64>,
    /// Ends of the intervals at 95 %.
    ends: Ends,
}

/// The tolerances that economists stated in a survey.
struct Tolerance {
    name: &'static str,
    most: f64,
    /// The number to compare with the tolerance, for a coefficient.
    measured: fn(&Finished, usize) -> f64,
}

const TOLERANCES: [Tolerance; 4] = [
    Tolerance {
        name: "interval over that of least squares",
        most: 1.25,
        measured: |one, term| one.value(&named("ci_ratio", term)),
    },
    Tolerance {
        name: "bias, share of the coefficient",
        most: 0.10,
        measured: |one, term| one.value(&named("bias", term)).abs(),
    },
    Tolerance {
        name: "sign differs, share of fits",
        most: 0.05,
        measured: |one, term| 1.0 - one.value(&named("sign", term)),
    },
    Tolerance {
        name: "significance differs, share of fits",
        most: 0.10,
        measured: |one, term| 1.0 - one.value(&named("significance", term)),
    },
];

/// The columns of the table.
const COLUMNS: [(&str, Type); 4] =
    [("wage", Type::Number), ("education", Type::Number), ("experience", Type::Number), ("ethnicity", Type::Text)];

const LEVEL: f64 = 0.95;

fn named(measure: &str, term: usize) -> String {
    format!("{measure} {term}")
}

impl Study {
    fn formula(&self) -> Result<Formula, dplm::Error> {
        Ok(Formula::parse(&self.formula)?)
    }

    /// The design of the formula on the columns that every such table has.
    fn design(&self) -> Result<Design, dplm::Error> {
        let schema = Schema::new(COLUMNS.map(|(name, kind)| Field::new(name, kind)).into());
        Ok(Design::new(&self.formula()?.resolve(&schema)?))
    }

    fn terms(&self) -> Vec<String> {
        self.design().map(|design| design.names().to_vec()).unwrap_or_default()
    }

    fn clear(&self) -> Result<&Clear, LabError> {
        if let Some(clear) = self.clear.get() {
            return Ok(clear);
        }
        let design = self.design()?;
        let blocks = if self.table.is_empty() { vec![self.simulated(&design)] } else { self.read(&design)? };
        let (estimates, ends) = least_squares(&design, &blocks)?;
        Ok(self.clear.get_or_init(|| Clear { design, blocks, estimates, ends }))
    }

    fn read(&self, design: &Design) -> Result<Vec<Block>, LabError> {
        let source = Source::open(&[&self.table]).map_err(dplm::Error::from)?;
        let mut blocks = Vec::new();
        let read = source.for_each_block(design.columns(), &ReadOptions::default(), &mut |block| {
            blocks.push(block);
            Ok(())
        });
        read.map_err(dplm::Error::from)?;
        Ok(blocks)
    }

    /// A table like the Current Population Survey of 1988, with its least-squares coefficients.
    fn simulated(&self, design: &Design) -> Block {
        let mut rng = ChaCha20Rng::seed_from_u64(seed(self.seed, "wages", &[self.rows]));
        let rows = self.rows as usize;
        let (mut wage, mut education) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let (mut experience, mut ethnicity) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for _ in 0..rows {
            let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
            let years = (13.1 + 2.9 * normal()).round().clamp(0.0, 18.0);
            let worked = (18.0 + 13.0 * normal()).round().abs().min(63.0);
            let error = 0.58 * normal();
            let other = rng.next_u64() % 100 < 8;
            let curve = 0.0774 * worked - 0.00132 * worked.powi(2) + 1e-6 * worked.powi(3);
            wage.push((4.32 + 0.0857 * years + curve - 0.243 * f64::from(u8::from(other)) + error).exp());
            education.push(years);
            experience.push(worked);
            ethnicity.push(u32::from(other));
        }
        let column = |name: &str| match name {
            "wage" => Cells::Numbers(wage.clone()),
            "education" => Cells::Numbers(education.clone()),
            "experience" => Cells::Numbers(experience.clone()),
            _ => Cells::Levels(ethnicity.clone()),
        };
        Block { rows, columns: design.columns().iter().map(|one| column(&one.name)).collect() }
    }

    /// A private fit; `None` if it is refused before anything would be spent. The lab's own methods
    /// are named as in the arena.
    fn fit(&self, clear: &Clear, epsilon: f64, seed: u64) -> Result<Option<Found>, LabError> {
        let unknown = || LabError::Setting { given: format!("method={}", self.method) };
        if let Some(name) = self.method.strip_prefix("lab:") {
            let peer = PEERS.iter().find(|peer| peer.name == name).ok_or_else(unknown)?;
            return self.ask(clear, peer, epsilon, seed);
        }
        let entry = *dplm_methods::all().find(|entry| entry.name == self.method).ok_or_else(unknown)?;
        let rho = convert::rho(entry.conversion, epsilon, self.delta).map_err(dplm::privacy::PrivacyError::from);
        let rho = rho.and_then(Rho::checked_from_f64).map_err(dplm::Error::from)?;
        let request = Request { delta: self.delta, ..Request::new(rho) };
        let method = method::choose(Some(entry), request, Tuning::default(), &self.formula()?, false)?;
        let mut builder = MemoryBuilder::new(&clear.design);
        clear.blocks.iter().for_each(|block| builder.push(block));
        let mut rows = builder.finish();
        let plan = method.plan(rows.count(), &clear.design)?;
        match plan.check() {
            Ok(()) => {}
            Err(ConfigError::NoIntervals { .. } | ConfigError::NothingButNoise { .. }) => return Ok(None),
            Err(error) => return Err(dplm::Error::from(error).into()),
        }
        let mut rng =
            NoiseSource::Seed(seed).open().map_err(dplm::privacy::PrivacyError::from).map_err(dplm::Error::from)?;
        let outcome = plan.run(&mut rows, &clear.design, &mut rng, Progress::NONE)?;
        let of = |one: &Coefficient| (one.estimate, one.precision.map(|precision| (precision.low, precision.high)));
        Ok(Some(outcome.coefficients.iter().map(of).collect()))
    }

    /// The result of a method of the lab.
    fn ask(&self, clear: &Clear, peer: &Peer, epsilon: f64, seed: u64) -> Result<Option<Found>, LabError> {
        let wrong = |error| dplm::Error::from(dplm::privacy::PrivacyError::from(error));
        let rho = convert::rho(convert::Conversion::Exact, epsilon, self.delta).map_err(wrong)?;
        let promise = Promise::of(rho, self.delta).map_err(wrong)?;
        let task = Task::of_table(&clear.design, &clear.blocks, false, promise)?;
        let found = (peer.fit)(&task, &mut ChaCha20Rng::seed_from_u64(seed));
        let found = found.map(|found| found.in_own_units(&clear.design));
        Ok(found.map(|found| found.theta.into_iter().map(Some).zip(found.ends).collect()))
    }
}

/// The estimate of each coefficient and the ends of its interval, if any.
type Found = Vec<(Option<f64>, Option<(f64, f64)>)>;

/// Estimates and the ends of intervals of least squares, in the units of the columns.
fn least_squares(design: &Design, blocks: &[Block]) -> Result<(Vec<f64>, Ends), LabError> {
    let mut ols = Ols::new(design.features());
    for block in blocks {
        for (cells, response) in (0..block.rows).filter_map(|row| design.standardised_row(block, row)) {
            ols.push(&cells, &[response]).map_err(dplm::Error::from)?;
        }
    }
    let fit = ols.finish().map_err(dplm::Error::from)?;
    let features = design.features();
    let half = normal_half() * fit.residual_sd;
    let contrasts = design.contrasts();
    let estimates: Vec<f64> = contrasts.iter().map(|contrast| contrast.of(&fit.coefficients)).collect();
    let ends = contrasts.iter().zip(&estimates).map(|(contrast, estimate)| {
        let weight = |i: usize, j: usize| contrast.weights[i] * contrast.weights[j];
        let entries = (0..features).flat_map(|i| (0..features).map(move |j| (i, j)));
        let variance: f64 = entries.map(|(i, j)| weight(i, j) * fit.unscaled_covariance[i * features + j]).sum();
        (estimate - half * variance.sqrt(), estimate + half * variance.sqrt())
    });
    let ends = ends.collect();
    Ok((estimates, ends))
}

/// The Gaussian quantile for [`LEVEL`]; with thousands of rows Student's is the same.
fn normal_half() -> f64 {
    use statrs::distribution::{ContinuousCDF, Normal};
    Normal::standard().inverse_cdf(0.5 + LEVEL / 2.0)
}

/// The share of each interval that both have in common, averaged over the two (Karr, Kohnen,
/// Oganian, Reiter and Sanil 2006); 0 for disjoint intervals.
fn overlap(one: (f64, f64), other: (f64, f64)) -> f64 {
    let common = (one.1.min(other.1) - one.0.max(other.0)).max(0.0);
    0.5 * (common / (one.1 - one.0) + common / (other.1 - other.0))
}

fn is_significant((low, high): (f64, f64)) -> bool {
    low > 0.0 || high < 0.0
}

impl Experiment for Study {
    fn points(&self) -> Vec<Point> {
        let point = |&epsilon: &f64| {
            let parameters = [("epsilon", epsilon), ("delta", self.delta), ("n", self.rows as f64)];
            let point = Point::new("study", &parameters, self.repetitions, self.seed);
            let key = format!("{} table={} method={} formula={}", point.key, self.table, self.method, self.formula);
            Point { key, ..point }
        };
        self.epsilon.iter().map(point).collect()
    }

    fn prepare(&self, _: &Point) -> Result<(), LabError> {
        self.clear().map(|_| ())
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let clear = self.clear()?;
        let epsilon = point.get("epsilon");
        let fit = self.fit(clear, epsilon, seed(self.seed, "fit", &[epsilon.to_bits(), repetition]))?;
        let mut measures = Measures::new();
        for (term, (&truth, &ends)) in clear.estimates.iter().zip(&clear.ends).enumerate() {
            let (estimate, interval) = fit.as_ref().map_or((None, None), |fit| fit[term]);
            let mut put = |measure: &str, value: f64| measures.insert(named(measure, term), vec![value]);
            put("identified", f64::from(u8::from(interval.is_some())));
            put("sign", f64::from(u8::from(estimate.is_some_and(|estimate| estimate * truth > 0.0))));
            let significant = interval.is_some_and(is_significant);
            put("significance", f64::from(u8::from(significant == is_significant(ends))));
            put("overlap", interval.map_or(0.0, |interval| overlap(interval, ends)));
            if let (Some(estimate), Some((low, high))) = (estimate, interval) {
                put("bias", (estimate - truth) / truth.abs());
                put("ci_ratio", (high - low) / (ends.1 - ends.0));
            }
        }
        Ok(measures)
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        for term in 0..self.terms().len() {
            for measure in ["identified", "sign", "significance", "overlap", "bias"] {
                let found = all(repetitions, &named(measure, term));
                if !found.is_empty() {
                    values.insert(named(measure, term), Estimate::mean(&found).value);
                }
            }
            // An interval may be unbounded, so that lengths have no mean.
            let lengths = all(repetitions, &named("ci_ratio", term));
            if !lengths.is_empty() {
                values.insert(named("ci_ratio", term), percentile(&lengths, 0.5));
            }
        }
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let terms = self.terms();
        let row = |one: &Finished, term: usize| {
            let measures = ["ci_ratio", "overlap", "sign", "significance", "bias", "identified"];
            let mut row = vec![cell(one.at("epsilon")), quoted(&terms[term])];
            row.extend(measures.map(|measure| cell(one.value(&named(measure, term)))));
            row
        };
        let columns = &["epsilon", "term", "ci_ratio", "overlap", "sign", "significance", "bias", "identified"];
        Table { columns, rows: done.iter().flat_map(|one| (0..terms.len()).map(move |term| row(one, term))).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let terms = self.terms();
        let panel = |Tolerance { name, most, measured }: Tolerance| {
            let mark = |one: &Finished, value: f64| Mark::between(one.at("epsilon"), value, value, value);
            let over = |one: &Finished, term: usize| (measured(one, term) / most).max(LEAST_SHOWN);
            let mut series: Vec<Vec<Mark>> =
                (0..terms.len()).map(|term| done.iter().map(|one| mark(one, over(one, term))).collect()).collect();
            series.push(done.iter().map(|one| mark(one, 1.0)).collect());
            Panel { title: format!("{name}: {most}"), series }
        };
        let mut labels = terms.clone();
        labels.push("tolerance".to_owned());
        Figure::panels(
            format!(
                "Four measures over the tolerances that economists stated, for each coefficient of {}: below the line the tolerance is kept. The method {}, \
                 delta = {}, {} of the same table, against least squares in the clear{}.",
                self.formula,
                self.method,
                self.delta,
                self.repetitions_in_words(),
                if self.table.is_empty() { ", simulated in the likeness of the CPS of 1988" } else { "" }
            ),
            Panels {
                x: Axis::log("epsilon"),
                y: Axis::log("measure / tolerance").from(LEAST_SHOWN).to(30.0),
                labels,
                panels: TOLERANCES.map(panel).into(),
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let terms = self.terms().len();
        for Tolerance { name, most, measured } in TOLERANCES {
            // 5 of 100 count as at most 5 %, even if a share is 1 minus another.
            let kept = |one: &Finished| (0..terms).filter(|&term| measured(one, term) <= most + 1e-9).count();
            let words: Vec<String> =
                done.iter().map(|one| format!("{} of {terms} at epsilon {}", kept(one), one.at("epsilon"))).collect();
            claims.add(
                format!("the tolerance that economists stated is kept: {name}, {most}"),
                words.join(", "),
                "all coefficients at the largest epsilon",
                done.last().is_some_and(|one| kept(one) == terms),
            );
        }
    }
}

/// A value below this part of a tolerance is drawn there.
const LEAST_SHOWN: f64 = 0.03;

/// A name as a cell of a table, in quotes if it has a comma.
fn quoted(name: &str) -> String {
    if name.contains(',') { format!("\"{name}\"") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Changes, Definition};

    fn small(more: &[&str]) -> Definition {
        let set = ["rows=3000", "epsilon=[0.5,20.0]", "repetitions=3"].iter().chain(more);
        let set = set.map(|setting| (*setting).to_owned()).collect();
        Definition::built_in("study", &Changes { set, ..Changes::default() }).unwrap()
    }

    fn measured(definition: &Definition) -> Vec<Finished> {
        let mut record = crate::record::Record::read("", "study").unwrap();
        crate::run::measure(definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap()
    }

    #[test]
    fn every_coefficient_is_measured_in_the_columns_people_read() {
        let definition = small(&[]);
        let done = measured(&definition);
        let table = definition.experiment.table(&done);
        assert_eq!(table.columns.join(","), "epsilon,term,ci_ratio,overlap,sign,significance,bias,identified");
        assert_eq!(table.rows.len(), 2 * 6);
        assert_eq!(table.rows[2][1], "\"poly(experience, 3)1\"");
        let of = |row: &Vec<String>, column: usize| row[column].parse::<f64>().unwrap();
        // At the large budget education is found with nearly its classical interval.
        let education = &table.rows[7];
        assert!(education[1] == "education" && of(education, 2) < 3.0 && of(education, 4) == 1.0, "{education:?}");
        let picture = crate::draw::png("study", &definition.experiment.figure(&done).svg(&definition.title)).unwrap();
        assert!(picture.len() > 10_000);
        assert_eq!(crate::run::judge(&definition, &done).len(), 4);
    }

    #[test]
    fn a_table_from_a_file_and_another_method() {
        let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
        let rows: String = (0..20_000)
            .map(|i| format!("{},{},{},{}\n", 200 + i % 7 * 90, 8 + i % 9, i % 41, ["cauc", "afam"][i % 2]))
            .collect();
        std::fs::write(file.path(), format!("wage,education,experience,ethnicity\n{rows}")).unwrap();
        let table = format!("table={}", file.path().display());
        let definition = small(&[&table, "method=ssp", "epsilon=[20.0]"]);
        let table = definition.experiment.table(&measured(&definition));
        assert!(table.rows.len() == 6 && table.rows.iter().any(|row| row[7] != "0"), "{table:?}");
    }

    /// A method of the lab is judged by the same measures; its intervals are for coefficients that
    /// are one standardised coefficient in another unit.
    #[test]
    fn a_method_of_the_lab() {
        let definition = small(&["method=lab:parametric-bootstrap", "rows=20000", "epsilon=[20.0]"]);
        let table = definition.experiment.table(&measured(&definition));
        let identified: Vec<&str> = table.rows.iter().map(|row| row[7].as_str()).collect();
        assert_eq!((identified[0], identified[1], identified[5]), ("0", "1", "1"), "{table:?}");
        let unknown = small(&["method=lab:nothing"]);
        assert!(unknown.experiment.repeat(&unknown.experiment.points()[0], 0).is_err());
    }

    #[test]
    fn overlap_by_hand() {
        assert!((overlap((0.0, 2.0), (1.0, 2.0)) - 0.75).abs() < 1e-12);
        assert_eq!(overlap((0.0, 1.0), (2.0, 3.0)), 0.0);
        assert_eq!(overlap((0.0, 1.0), (0.0, 1.0)), 1.0);
    }
}
