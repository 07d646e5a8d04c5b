//! The fit for people: a table that users of `lm` and statsmodels recognise.

use super::event::{averages, studies, trend};
use crate::{
    Bounded, Coefficient, EventEffects, FirstStage, Fit, OddsRatio, Piece, Precision, Statement, Warning,
    method::auto,
    number::{degrees, grouped, p_value, percent_up, rounded_up, short, significant},
    options::{Family, Purpose, Target},
    privacy::{Epsilon, Guarantee, Neighbours, Person, Promise, Provenance, Unit, convert::Conversion},
    schema::Kind,
    warning::{LeftOut, listed},
};

/// The most characters in a line of a sentence.
pub(super) const WIDTH: usize = 100;

/// The summary of a fit.
pub fn summary(fit: &Fit) -> String {
    let guarantee = guarantee_in_words(&fit.guarantee);
    let budget = budget(&fit.guarantee, fit.statement.as_ref());
    let parts = [
        heading(fit),
        table(fit),
        odds(fit),
        trends(fit),
        instrument(fit),
        quality(fit),
        reading(fit),
        guarantee,
        budget,
        warnings(fit),
    ];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

impl std::fmt::Display for Fit {
    /// The [`summary`].
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&summary(self))
    }
}

fn heading(fit: &Fit) -> String {
    let method = &fit.method;
    let runs = if method.runs > 1 { format!("{} runs of ", method.runs) } else { String::new() };
    let steps = match fit.trajectories.is_empty() {
        true => String::new(),
        false => format!("{runs}{} steps of {}, ", method.steps, significant(method.step_size)),
    };
    let about = fit.group.as_ref().map_or(String::new(), |group| format!("{} = {}: ", group.by.name(), group.level));
    let weighted = fit.weights.as_ref().map_or(String::new(), |weights| format!(" weighted by {weights}"));
    let rows = format!(
        "{about}{} {}{weighted}{}",
        size(fit),
        fit.guarantee.promise.unit.plural(),
        used(fit.rows_used.as_ref())
    );
    let clustered = fit.person.as_ref().map_or(String::new(), |person| format!(", {}", clustering(person)));
    let [clip, noise_sd] = [method.clip, method.noise_sd].map(significant);
    let about = format!("{rows}{clustered}; method {}: {steps}clip {clip}, noise sd {noise_sd}", method.name);
    let version = env!("CARGO_PKG_VERSION");
    let regression = fit.family().regression();
    format!("Private {regression} (dplm {version})\n\n  {}\n{}", fit.formula, wrapped(&about, WIDTH, "  "))
}

/// How many rows were used, after how many there are.
pub fn used(rows: Option<&Bounded>) -> String {
    rows.map_or(String::new(), |rows| format!(", about {} used", grouped(rows.estimate as u64)))
}

/// How rows of persons enter standard errors, in words.
pub fn clustering(person: &Person) -> String {
    let rows = match person.rows.unwrap_or(Person::ROWS) {
        1 => "row".to_owned(),
        rows => format!("{} rows", grouped(rows.into())),
    };
    format!("clustered by {}, first {rows} of each", person.column)
}

/// How many units were fitted: of a group, about, unless its size is public.
fn size(fit: &Fit) -> String {
    let is_noisy = fit.group.as_ref().is_some_and(|group| group.size_sd.is_some());
    format!("{}{}", if is_noisy { "about " } else { "" }, grouped(fit.rows))
}

/// How many units were fitted, and of what, where that is not rows.
pub fn fitted_rows(fit: &Fit) -> String {
    match fit.guarantee.promise.unit {
        Unit::Row => size(fit),
        Unit::Person => format!("{} persons", size(fit)),
    }
}

fn table(fit: &Fit) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(columns(fit)).chain(fit.reported().map(|one| line(fit, one, is_student(fit)))).collect();
    let heading = match fit.left_out.len() {
        0 => "Coefficients:".to_owned(),
        count => format!("Coefficients: ({count} left out)"),
    };
    let skewed = asymmetric(fit).map_or(String::new(), |words| wrapped(&words, WIDTH, ""));
    format!("{heading}\n{}{skewed}{}", aligned(&rows, 2), left_out(fit))
}

/// Which intervals and p-values do not follow from estimates and standard errors, in words.
pub fn asymmetric(fit: &Fit) -> Option<String> {
    if fit.first_stage.is_some() {
        // What the set of an instrument is, is said elsewhere.
        return None;
    }
    let is_asymmetric = |one: &&Coefficient| {
        one.estimate.zip(one.precision).is_some_and(|(estimate, found)| !found.is_symmetric(estimate, fit.level))
    };
    let names: Vec<String> = fit.coefficients.iter().filter(is_asymmetric).map(|one| one.name.clone()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Intervals and p-values allow for noise in the curvature, which makes those of {} differ from estimate and \
             standard error alone: rely on the interval.",
            listed(&names)
        )
    })
}

/// Rows of cells in columns, the first aligned on the left and the others on the right, with
/// `spaces` spaces before and between.
pub fn aligned(rows: &[Vec<String>], spaces: usize) -> String {
    let width = |j: usize| rows.iter().filter_map(|row| row.get(j)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let gap = " ".repeat(spaces);
    let print = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded =
            cells.map(|(j, (cell, &width))| if j == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
        format!("{gap}{}\n", padded.collect::<Vec<_>>().join(&gap).trim_end())
    };
    rows.iter().map(print).collect()
}

/// Why coefficients are not in the model, and what would bring them in.
fn left_out(fit: &Fit) -> String {
    let words = |one: &LeftOut| format!("{}: {}", one.name, cause_in_words(fit, one));
    let each = fit.left_out.iter().map(|one| wrapped(&words(one), WIDTH, "    "));
    let lines: String = each.map(|lines| lines.replacen("    ", "  ", 1)).collect();
    if lines.is_empty() { lines } else { format!("\n{}\n{lines}", fitted_without(fit)) }
}

/// Why a coefficient is left out, and where the rows of a level go that has none.
pub fn cause_in_words(fit: &Fit, one: &LeftOut) -> String {
    match reference_of(fit, &one.name) {
        Some(reference) => format!("{} (its rows are in the reference level, {reference}, here)", one.cause),
        None => one.cause.to_string(),
    }
}

/// The reference level of the category that a coefficient is a level of.
fn reference_of(fit: &Fit, name: &str) -> Option<String> {
    let (column, _) = name.strip_suffix(']').filter(|name| !name.contains(':'))?.split_once('[')?;
    let columns = fit.design.model().columns();
    match &columns.iter().find(|one| one.name == column)?.kind {
        Kind::Levels(levels) => levels.first().cloned(),
        _ => None,
    }
}

/// What it means that coefficients are left out, in words.
pub fn fitted_without(fit: &Fit) -> &'static str {
    match fit.left_out.len() {
        1 => "Left out, as this budget cannot resolve it; the model was fitted without it:",
        _ => "Left out, as this budget cannot resolve them; the model was fitted without them:",
    }
}

fn columns(fit: &Fit) -> Vec<String> {
    let names = match fit.purpose {
        Purpose::Prediction => vec!["Estimate".to_owned()],
        Purpose::Inference => interval_heads(is_student(fit), fit.level),
    };
    std::iter::once(String::new()).chain(names).collect()
}

/// Whether any of these is tested by Student's distribution, so that a table of them has a column
/// of degrees of freedom.
pub fn are_student<'a>(all: impl IntoIterator<Item = &'a Precision>) -> bool {
    all.into_iter().any(|one| one.df.is_some())
}

/// Whether any coefficient is tested by Student's distribution.
pub fn is_student(fit: &Fit) -> bool {
    are_student(fit.coefficients.iter().filter_map(|one| one.precision.as_ref()))
}

/// The heads of a table of estimates with their tests and intervals, as R's users know them.
pub fn interval_heads(is_student: bool, level: f64) -> Vec<String> {
    let letter = if is_student { "t" } else { "z" };
    let tail = 0.5 - level / 2.0;
    let mut heads = vec!["Estimate".to_owned(), "Std. Error".to_owned(), format!("{letter} value")];
    heads.extend(is_student.then(|| "Df".to_owned()));
    heads.push(format!("Pr(>|{letter}|)"));
    heads.extend([tail, 1.0 - tail].map(|end| format!("{} %", percent(end))));
    heads
}

/// The cells under those heads.
pub fn interval_cells(is_student: bool, estimate: f64, found: &Precision) -> Vec<String> {
    let mut cells = vec![significant(estimate), significant(found.std_error), format!("{:.2}", found.statistic)];
    cells.extend(is_student.then(|| degrees_of_freedom(found.df)));
    cells.push(p_value(found.p_value));
    cells.extend([found.low, found.high].map(significant));
    cells
}

/// Degrees of freedom: whole, but where there are few.
fn degrees_of_freedom(df: Option<f64>) -> String {
    match df {
        None => "Inf".to_owned(),
        Some(df) if df < 10.0 => short((10.0 * df).round() / 10.0),
        Some(df) => grouped(df.round() as u64),
    }
}

/// A share in percent: at most three places, without trailing zeros.
pub fn percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A coefficient as cells, its name first.
pub fn line(fit: &Fit, coefficient: &Coefficient, is_student: bool) -> Vec<String> {
    let mut cells = vec![coefficient.name.clone()];
    match (coefficient.estimate, &coefficient.precision) {
        (Some(estimate), Some(precision)) => cells.extend(interval_cells(is_student, estimate, precision)),
        (Some(estimate), None) => cells.push(significant(estimate)),
        (None, _) => cells.push(in_place_of_numbers(fit, coefficient).to_owned()),
    }
    cells
}

/// What is said of a coefficient that has no number.
pub fn in_place_of_numbers(fit: &Fit, coefficient: &Coefficient) -> &'static str {
    match () {
        () if fit.is_left_out(&coefficient.name) => "left out",
        () if fit.first_stage.is_some() => "a control",
        () => "not identified",
    }
}

/// What the coefficients of event studies say of the time before.
fn trends(fit: &Fit) -> String {
    let [lower, upper] = [0.5 - fit.level / 2.0, 0.5 + fit.level / 2.0].map(|end| format!("{} %", percent(end)));
    let of_study = |event: &EventEffects| {
        let said = wrapped(&trend(event), WIDTH, "");
        if !event.study.is_average() {
            return said;
        }
        let heads = [&event.study.period, "Estimate", &lower, &upper].map(str::to_owned).to_vec();
        said + &aligned(&std::iter::once(heads).chain(averages(event)).collect::<Vec<_>>(), 2)
    };
    studies(fit).iter().map(of_study).collect()
}

fn instrument(fit: &Fit) -> String {
    fit.first_stage.as_ref().map_or(String::new(), |stage| wrapped(&instrumented(stage, fit.level), WIDTH, ""))
}

/// What the instruments do to the regressor, and what that means for the interval.
pub fn instrumented(stage: &FirstStage, level: f64) -> String {
    let FirstStage { regressor, instruments, statistic, df, p_value: p, .. } = stage;
    let (does, set, whose) = match &instruments[..] {
        [_] => ("does", "Anderson-Rubin set", "the instrument is, and is unbounded where it is too weak"),
        _ => {
            let whose = "the instruments are, and is unbounded where they are too weak";
            ("do", "set of a conditional likelihood-ratio test (Moreira 2003)", whose)
        }
    };
    let agreement = stage.disagreement.map_or(String::new(), |found| {
        format!(
            " That the instruments agree: chi-square {} on {}, p-value {}.{}",
            significant(found.statistic),
            degrees(found.df),
            p_value(found.p_value),
            if found.p_value < 1.0 - level { DISAGREE } else { "" }
        )
    });
    format!(
        "First stage, that {} {does} not move '{regressor}': chi-square {} on {}, p-value {}.{agreement} The interval is the {set}, \
         which covers however weak {whose}; the p-value of '{regressor}' is of the same test, and not of its standard error.{}",
        listed(instruments),
        significant(*statistic),
        degrees(*df),
        p_value(*p),
        set_in_words(&stage.set, level),
    )
}

/// What it means if no value agrees with all instruments.
const DISAGREE: &str = " They disagree: one of them has another way to the response, or effects differ and the \
                        instruments move different units. The interval allows for neither.";

/// The values that a set holds, where they are not all those between two ends.
fn set_in_words(set: &[Piece], level: f64) -> String {
    let (level, end) = (percent(level), |end: Option<f64>| end.map_or(String::new(), significant));
    match set {
        [] => format!(" At {level} % the set is empty: no value agrees with all instruments."),
        [Piece { low: None, high: None }] => format!(" At {level} % all values are possible."),
        [Piece { low: None, high }, Piece { low, high: None }] => {
            format!(" At {level} % all values are possible except those from {} to {}.", end(*high), end(*low))
        }
        [_] => String::new(),
        pieces => {
            let piece = |one: &Piece| match (one.low, one.high) {
                (None, high) => format!("up to {}", end(high)),
                (low, None) => format!("from {} on", end(low)),
                (low, high) => format!("from {} to {}", end(low), end(high)),
            };
            format!(
                " At {level} % these values are possible: {}.",
                pieces.iter().map(piece).collect::<Vec<_>>().join("; ")
            )
        }
    }
}

/// What the coefficients of a logit come to: odds ratios, and effects on the probability.
fn odds(fit: &Fit) -> String {
    let rows = odds_rows(fit);
    if rows.is_empty() {
        return String::new();
    }
    let [low, high] = [0.5 - fit.level / 2.0, 0.5 + fit.level / 2.0].map(|end| format!("{} %", percent(end)));
    let rows: Vec<Vec<String>> = std::iter::once(odds_heads(fit, "", [&low, &high])).chain(rows).collect();
    let effects =
        if fit.marginal_effects.is_empty() { "" } else { ", and average marginal effects on its probability" };
    format!("Odds ratios of {}{effects}:\n{}", outcome(fit), aligned(&rows, 2))
}

/// The heads of a table of odds ratios, and of effects where there are any.
pub fn odds_heads(fit: &Fit, first: &str, [low, high]: [&str; 2]) -> Vec<String> {
    let heads = [first, "Odds ratio", low, high, "Effect", low, high];
    let shown = if fit.marginal_effects.is_empty() { 4 } else { heads.len() };
    heads[..shown].iter().map(|head| (*head).to_owned()).collect()
}

/// The cells of each coefficient but the constant: its odds ratio and its average marginal effect,
/// with their intervals.
pub fn odds_rows(fit: &Fit) -> Vec<Vec<String>> {
    let cells = |estimate: f64, low: f64, high: f64| [estimate, low, high].map(significant);
    let row = |ratio: OddsRatio| {
        let effect = fit.marginal_effects.iter().find(|effect| effect.name == ratio.name);
        let effect = effect.map(|effect| cells(effect.estimate, effect.low, effect.high));
        let ratios = cells(ratio.estimate, ratio.low, ratio.high);
        std::iter::once(ratio.name).chain(ratios).chain(effect.into_iter().flatten()).collect()
    };
    fit.odds_ratios(fit.level).unwrap_or_default().into_iter().map(row).collect()
}

/// The outcome whose probability is fitted: a response, or one of its levels.
pub fn outcome(fit: &Fit) -> String {
    let levels = fit.design.columns().first().map(|column| &column.kind);
    let response = fit.design.model().response();
    match levels {
        Some(Kind::Levels(levels)) => format!("{response} = {}", levels[levels.len() - 1]),
        _ => response,
    }
}

/// How well the model fits, as far as it was released.
fn quality(fit: &Fit) -> String {
    let with_ends = |name: &str, one: &Bounded| {
        let [estimate, low, high] = [one.estimate, one.low, one.high].map(significant);
        format!("{name}: {estimate} ({low} to {high})")
    };
    let spread = fit.residual_sd.iter().map(|one| with_ends("Residual standard error", one));
    let name = if fit.family() == Family::Binomial { "Pseudo R-squared (McFadden)" } else { "R-squared" };
    let explained = fit.r_squared.iter().map(|one| with_ends(name, one));
    let known: Vec<String> = spread.chain(explained).collect();
    match why_no_quality(fit) {
        _ if !known.is_empty() => known.join("; ") + "\n",
        Some(why) => wrapped(&format!("R-squared and residual standard error: none, {why}."), WIDTH, ""),
        None => String::new(),
    }
}

/// Why neither the spread of the errors nor R-squared was released with intervals.
pub fn why_no_quality(fit: &Fit) -> Option<&'static str> {
    let is_bent = || fit.warnings.iter().any(|warning| matches!(warning, Warning::Bent { .. }));
    let has_intercept = || fit.design.model().intercept() && !fit.is_left_out("(Intercept)");
    let why = match fit.asked {
        _ if fit.purpose == Purpose::Prediction || fit.family() == Family::Binomial => return None,
        _ if fit.focus.is_some() || fit.first_stage.is_some() => "as residuals of all rows were not asked for",
        _ if fit.method.name != auto::NAME => "as only the method auto releases what they are made of",
        _ if fit.weights.is_some() => "as gradients of weighted rows do not tell them",
        _ if fit.person.is_some() => "as gradients of persons with several rows do not tell them",
        _ if !has_intercept() => "as there is no intercept, whose gradients are the residuals",
        Target::Robust => "as the robust target says nothing of residuals beyond the clip",
        Target::Sample => "as the target sample releases no spread of the errors",
        _ if fit.method.row_length.is_some() => "as long rows count for less in this fit, and in its residuals",
        Target::Population | Target::Person if is_bent() => {
            "as clipping moves this fit from least squares, so that residuals beyond the clip would mislead"
        }
        Target::Population | Target::Person => {
            "as too many residuals are clipped, or noise is too large, at this budget"
        }
    };
    Some(why)
}

fn reading(fit: &Fit) -> String {
    let controls = fit.controls_text().map_or(String::new(), |text| wrapped(&text, WIDTH, ""));
    controls + &wrapped(&covered(fit), WIDTH, "")
}

/// What the intervals cover, in words.
pub fn covered(fit: &Fit) -> String {
    if fit.purpose == Purpose::Prediction {
        return "Estimates for prediction: no budget was spent on intervals, so none is given.".to_owned();
    }
    let noise = match fit.asked {
        Target::Sample => "Only privacy noise is inside.",
        Target::Population | Target::Robust | Target::Person => "Sampling and privacy noise are both inside.",
    };
    let [level, method, target] = [percent(fit.level), fit.interval.name().to_owned(), fit.target_text()];
    format!("The {level} % intervals ({method}) are for {target}. {noise}{}", chosen_target(fit))
}

/// Which target `auto` became, and why, where none was asked for.
fn chosen_target(fit: &Fit) -> String {
    let has_choice = fit.method.name == auto::NAME && fit.family() == Family::Gaussian && fit.first_stage.is_none();
    let is_chosen = fit.request.target.is_none() && has_choice && !fit.part_of_study;
    let why = match fit.target {
        _ if !is_chosen => return String::new(),
        Target::Robust if fit.method.row_length.is_some() => {
            "since some rows are so long that no clip would make it least squares"
        }
        Target::Robust => "since least squares would cost much precision here, or clipping could bend it",
        _ => "since least squares costs little precision here",
    };
    format!(" Target auto became {}, {why}.", fit.target)
}

pub fn guarantee_in_words(guarantee: &Guarantee) -> String {
    let heading = match guarantee.promise.provenance {
        Provenance::System => "Guarantee",
        Provenance::Seed => "Guarantee (void: the noise is reproducible)",
        Provenance::Simulated => "Guarantee (about nobody: the rows were simulated)",
    };
    format!("{heading}\n{}", wrapped(&promise(guarantee), WIDTH, "  ") + &wrapped(&attack(guarantee), WIDTH, "  "))
}

/// The guarantee in one plain paragraph.
pub fn promise(guarantee: &Guarantee) -> String {
    let Guarantee { promise: Promise { unit, neighbours, conversion, .. }, rho, epsilon, delta, .. } = guarantee;
    let (but, bound) = match conversion {
        // A Gaussian mechanism's own curve needs no mention.
        Conversion::Exact => ("", ""),
        Conversion::Simple | Conversion::Cks => ("", ", by a conversion that holds for every zCDP mechanism,"),
        Conversion::Tested => (
            ", except for half of delta, with which a test may fail to protect",
            ", by a conversion that holds for every such mechanism,",
        ),
    };
    let change = match (unit, neighbours) {
        (Unit::Row, Neighbours::ReplaceOne) => "replacing any one row of the data by any other row",
        (Unit::Row, Neighbours::ZeroOut) => "removing the contribution of any one row of the data",
        (Unit::Person, Neighbours::ReplaceOne) => "replacing all rows of any one person by any rows of another person",
        (Unit::Person, Neighbours::ZeroOut) => "removing the contribution of all rows of any one person",
    };
    format!(
        "Everything released is {rho}-zCDP for {neighbours} neighbours{but}, which{bound} is (epsilon, delta) = ({epsilon}, {delta:e}) differential \
         privacy: for any set of results, {change} changes the probability that the result is among them by at most the factor \
         e^{epsilon}{}, plus {delta:e}. The number of {} is public.",
        about(*epsilon),
        unit.plural(),
    )
}

/// What the factor comes to, where that is a number one can picture.
fn about(epsilon: Epsilon) -> String {
    const LARGEST: f64 = 1e4;
    let factor = epsilon.to_f64().exp();
    if factor < LARGEST { format!(" (about {})", rounded_up(factor, 2)) } else { String::new() }
}

/// What the guarantee means to a reader who would like to know more.
pub fn attack(guarantee: &Guarantee) -> String {
    let Promise { unit, neighbours, .. } = &guarantee.promise;
    let units = unit.plural();
    let question = match neighbours {
        Neighbours::ReplaceOne => format!("which of two equally likely {units} was in the data"),
        Neighbours::ZeroOut => format!("whether a {unit} contributed or not, both equally likely,"),
    };
    format!(
        "Someone who knows all other {units} and sees everything released guesses {question} correctly at most {} of the time; a tossed \
         coin does so 50 % of the time.",
        percent_up(guarantee.guess),
    )
}

/// Lines of at most `width` characters beside what stands before them.
pub fn wrapped(text: &str, width: usize, before: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| format!("{before}{line}\n")).collect()
}

pub fn budget(guarantee: &Guarantee, statement: Option<&Statement>) -> String {
    let lines = guarantee.releases.iter().map(|release| {
        let share = 100.0 * release.rho.to_f64() / guarantee.rho.to_f64();
        format!("  {share:5.1} %  rho {}  {}\n", release.rho, release.what)
    });
    let left = statement.map_or(String::new(), |statement| {
        let (total, left) = (statement.total(), statement.left());
        let Statement { dataset, entry, hash, .. } = statement;
        format!("  The ledger has rho = {left} of {total} left for '{dataset}'.\n  Entry {entry}: {hash}\n")
    });
    format!("Budget\n{}{left}", lines.collect::<String>())
}

fn warnings(fit: &Fit) -> String {
    let lines = notes(fit).map(|note| wrapped(&note, WIDTH, "    ").replacen("    ", "  - ", 1));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("Notes\n{lines}") }
}

/// The warnings, except those that the lines below the table state already.
pub fn notes(fit: &Fit) -> impl Iterator<Item = String> {
    let is_new = |warning: &&Warning| !matches!(warning, Warning::LeftOut { .. });
    fit.warnings.iter().filter(is_new).map(ToString::to_string)
}
