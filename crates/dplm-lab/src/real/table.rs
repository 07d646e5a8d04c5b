//! The table, the page and the picture.

use std::{fmt::Write, path::Path};

use super::{
    bench::Bench,
    score::{Coverage, Score, median},
};
use crate::{
    LabError,
    draw::{Axis, Figure, Mark, Plot, Series, png},
    run::write,
    stats::percentile,
};

const HEAD: &str = "data,rows,coefficients,rho,seeds,excess,excess_90,excess_adassp,excess_dpgd,optimum_excess,\
coefficient_error,identified,covered_empirical,covered_population,width,passes";

/// One data set at one budget.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub data: String,
    pub rows: usize,
    pub coefficients: usize,
    pub rho: f64,
    pub seeds: u64,
    pub excess: f64,
    pub excess_90: f64,
    pub excess_adassp: f64,
    pub excess_dpgd: f64,
    pub optimum_excess: f64,
    pub coefficient_error: f64,
    pub identified: f64,
    pub covered_empirical: f64,
    pub covered_population: f64,
    pub width: f64,
    pub passes: f64,
}

impl Line {
    pub(super) fn of(data: &str, bench: &Bench, rho: f64, scores: &[Score]) -> Line {
        let of =
            |value: fn(&Score) -> f64, share: f64| percentile(&scores.iter().map(value).collect::<Vec<_>>(), share);
        let sum = |part: fn(&Score) -> Coverage| {
            let parts = scores.iter().map(part);
            parts.fold((0, 0), |(known, covered), one| (known + one.identified, covered + one.covered))
        };
        let (empirical, population) = (sum(|s| s.empirical), sum(|s| s.population));
        let share = |(known, covered): (usize, usize)| covered as f64 / known as f64;
        Line {
            data: data.to_owned(),
            rows: bench.y.len(),
            coefficients: bench.ols.len(),
            rho,
            seeds: scores.len() as u64,
            excess: of(|s| s.excess, 0.5),
            excess_90: of(|s| s.excess, 0.9),
            excess_adassp: of(|s| s.adassp, 0.5),
            excess_dpgd: of(|s| s.dpgd, 0.5),
            optimum_excess: of(|s| s.gap, 0.5),
            coefficient_error: of(|s| s.error, 0.5),
            identified: empirical.0 as f64 / (scores.len() * bench.ols.len()) as f64,
            covered_empirical: share(empirical),
            covered_population: share(population),
            width: median(scores.iter().map(|s| s.width).filter(|width| width.is_finite()).collect()),
            passes: of(|s| s.passes, 0.5),
        }
    }

    fn numbers(&self) -> [f64; 11] {
        [
            self.excess,
            self.excess_90,
            self.excess_adassp,
            self.excess_dpgd,
            self.optimum_excess,
            self.coefficient_error,
            self.identified,
            self.covered_empirical,
            self.covered_population,
            self.width,
            self.passes,
        ]
    }

    pub(super) fn csv(&self) -> String {
        let numbers: Vec<String> = self.numbers().iter().map(|number| format!("{number:.5}")).collect();
        let Line { data, rows, coefficients, rho, seeds, .. } = self;
        format!("{data},{rows},{coefficients},{rho},{seeds},{}", numbers.join(","))
    }

    /// A line of the table; `None` if it is not one.
    pub(super) fn parse(text: &str) -> Option<Line> {
        let mut cells = text.split(',');
        let (data, rows, coefficients) =
            (cells.next()?.to_owned(), cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        let (rho, seeds) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        let mut number = || cells.next()?.parse().ok();
        let line = Line {
            data,
            rows,
            coefficients,
            rho,
            seeds,
            excess: number()?,
            excess_90: number()?,
            excess_adassp: number()?,
            excess_dpgd: number()?,
            optimum_excess: number()?,
            coefficient_error: number()?,
            identified: number()?,
            covered_empirical: number()?,
            covered_population: number()?,
            width: number()?,
            passes: number()?,
        };
        // A line with more cells is from another table.
        cells.next().is_none().then_some(line)
    }
}

pub(super) fn csv(lines: &[Line]) -> String {
    let lines = lines.iter().map(Line::csv);
    std::iter::once(HEAD.to_owned()).chain(lines).fold(String::new(), |text, line| text + &line + "\n")
}

/// The picture and the page.
pub(super) fn draw(folder: &Path, lines: &[Line]) -> Result<(), LabError> {
    let svg = figure(lines).svg("Excess error of private regression");
    write(folder, "real.svg", svg.as_bytes())?;
    write(folder, "real.png", &png("real", &svg)?)?;
    write(folder, "README.md", page(lines).as_bytes())
}

/// A series for each data set, and AdaSSP's median over the data sets.
fn figure(lines: &[Line]) -> Figure {
    let mut names: Vec<&str> = lines.iter().map(|line| line.data.as_str()).collect();
    names.dedup();
    let mark = |line: &Line| Mark::between(line.rho, line.excess, line.excess.min(line.excess_90), line.excess_90);
    let of = |name: &str| lines.iter().filter(|line| line.data == name).map(mark).collect();
    let mut series: Vec<Series> = names.iter().map(|name| Series::new(*name, of(name))).collect();
    let mut budgets: Vec<f64> = lines.iter().map(|line| line.rho).collect();
    budgets.sort_by(f64::total_cmp);
    budgets.dedup();
    let adassp = budgets.iter().map(|&rho| {
        let excess = median(lines.iter().filter(|line| line.rho == rho).map(|line| line.excess_adassp).collect());
        Mark::between(rho, excess, excess, excess)
    });
    series.push(Series::new("AdaSSP, median", adassp.collect()));
    let plot = Plot { x: Axis::log("budget ρ"), y: Axis::log("excess error"), series, dodge: true, ..Plot::default() };
    Figure::plot("Excess of the mean square error over least squares: median and ninth decile over the seeds.", plot)
}

fn page(lines: &[Line]) -> String {
    let mut text = "# Excess error and coverage\n\n![excess error](real.svg)\n\n| data | ρ | excess | 90th | AdaSSP | DP-GD | \
        coefficient error | identified | covered, data set | covered, population | width | passes |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for line in lines {
        let Line { data, rows, coefficients, rho, .. } = line;
        let numbers = line.numbers();
        let shown =
            [0, 1, 2, 3, 5, 6, 7, 8, 9, 10].map(|k| if numbers[k].is_nan() { "-".into() } else { short(numbers[k]) });
        writeln!(text, "| {data} ({rows} × {coefficients}) | {rho} | {} |", shown.join(" | "))
            .expect("text can be written");
    }
    text + "\nExcess is `(MSE - MSE_OLS) / MSE_OLS`; the coefficient error is the median distance to least squares in classical standard \
        errors; coverage is of nominal 95 % intervals; width is against classical least squares; passes are how often a fit went through the rows.\n"
}

/// Three significant digits.
fn short(number: f64) -> String {
    let digits = if number == 0.0 { 2 } else { (2 - number.abs().log10().floor() as i32).clamp(0, 5) };
    format!("{number:.*}", digits as usize)
}
