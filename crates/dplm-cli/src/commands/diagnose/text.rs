//! A diagnosis for people.

use dplm::{Fit, privacy::Unit};

use super::measure::{ClippedAt, Diagnosis, Found, Iterates, LeastSquares, NoClipping};
use crate::{
    cells, layout,
    layout::{grouped, p_value, percent, short, significant},
};

/// The whole diagnosis.
pub fn render(diagnosis: &Diagnosis) -> String {
    let clipped = &diagnosis.clipped;
    [
        heading(diagnosis),
        section("1. Least squares", &diagnosis.least_squares, least_squares),
        private_fit(&diagnosis.fitted, &diagnosis.least_squares),
        clipping(clipped, diagnosis.units.unit),
        section("4. The No-Clipping Condition", &diagnosis.no_clipping, no_clipping),
        section("5. The law of the iterates", &diagnosis.iterates, |found| {
            iterates(found, clipped, diagnosis.units.unit)
        }),
    ]
    .join("\n")
}

fn heading(diagnosis: &Diagnosis) -> String {
    format!(
        "NOT PRIVATE: everything below shows the data as they are. Do not publish any of it.\n\n  {}\n  {} {}\n",
        diagnosis.formula,
        grouped(diagnosis.units.count),
        diagnosis.units.unit.plural(),
    )
}

fn section<T>(title: &str, found: &Found<T>, body: impl Fn(&T) -> String) -> String {
    let body = match found {
        Found::Some(found) => body(found),
        Found::Nothing { reason } => format!("  Not available: {reason}.\n"),
    };
    format!("{title} (not private)\n{body}")
}

fn least_squares(ols: &LeastSquares) -> String {
    let tail = 50.0 * (1.0 - ols.level);
    let mut lines = vec![cells![
        "",
        "Estimate",
        "Std. Error",
        "t value",
        "Pr(>|t|)",
        short(tail) + " %",
        short(100.0 - tail) + " %",
    ]];
    for one in &ols.coefficients {
        lines.push(cells![
            one.name,
            significant(one.estimate),
            significant(one.std_error),
            format!("{:.2}", one.t_value),
            p_value(one.p_value),
            significant(one.low),
            significant(one.high),
        ]);
    }
    let (rows, df) = (grouped(ols.rows as u64), grouped(ols.degrees_of_freedom as u64));
    let (errors, used) = match ols.persons {
        None => (String::new(), format!("{rows} rows used")),
        Some(persons) => (
            "\n  Standard errors are clustered: they allow for errors that go together within a person.".to_owned(),
            format!("{rows} rows of {} persons used", grouped(persons as u64)),
        ),
    };
    format!(
        "  On the cells as written, rows with a missing cell left out, as lm does.{errors}\n\n{}\n  \
         Residual standard error {} on {df} degrees of freedom; R squared {:.4}; {used}.\n",
        layout::table(&lines),
        significant(ols.residual_sd),
        ols.r_squared,
    )
}

/// The private fit beside least squares.
fn private_fit(fit: &Fit, ols: &Found<LeastSquares>) -> String {
    let reference = |name: &str| match ols {
        Found::Some(ols) => ols.coefficients.iter().find(|one| one.name == name).map(|one| one.estimate),
        Found::Nothing { .. } => None,
    };
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), significant);
    let mut lines = vec![cells!["", "Private", "Std. Error", "Low", "High", "Least squares"]];
    for one in &fit.coefficients {
        let precision = one.precision.as_ref();
        lines.push(cells![
            one.name,
            shown(one.estimate),
            shown(precision.map(|precision| precision.std_error)),
            shown(precision.map(|precision| precision.low)),
            shown(precision.map(|precision| precision.high)),
            shown(reference(&one.name)),
        ]);
    }
    let method = &fit.method;
    format!(
        "2. A private fit beside it (not private)\n  Method {}, rho {}: {} steps of {}, clip {}, noise of standard deviation {} in each gradient.\n\n{}",
        method.name,
        fit.guarantee.rho,
        method.steps,
        significant(method.step_size),
        significant(method.clip),
        significant(method.noise_sd),
        layout::table(&lines),
    )
}

fn clipping(clipped: &[ClippedAt], unit: Unit) -> String {
    let steps = std::iter::once("step".to_owned()).chain(clipped.iter().map(|at| at.step.to_string()));
    let shares = std::iter::once("clipped".to_owned()).chain(clipped.iter().map(|at| percent(at.fraction)));
    let (title, who) = match unit {
        Unit::Row => ("Rows", "row adds a gradient"),
        Unit::Person => ("Persons", "person adds a gradient, of all their rows together,"),
    };
    format!(
        "3. {title} clipped at each step (not private)\n  A clipped {who} of the largest norm allowed, and no more.\n\n{}",
        layout::table(&[steps.collect(), shares.collect()])
    )
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "fails" }
}

fn no_clipping(found: &NoClipping) -> String {
    let eigenvalues =
        format!("{} to {}", significant(found.smallest_eigenvalue), significant(found.largest_eigenvalue));
    let mut lines = vec![
        cells!["item", "found", "c0 needed", format!("at c0 = {}", significant(found.paper_c0))],
        cells!["(i)   eigenvalues of Sigma in 1/2 to 2", eigenvalues, "-", verdict(found.spectrum_holds)],
        cells!["     ||I - eta Sigma|| <= 7/8", significant(found.contraction), "-", ""],
    ];
    for item in &found.items {
        lines.push(cells![
            format!("{:<5} {}", item.item, item.says),
            significant(item.value),
            significant(item.smallest_c0),
            verdict(item.holds_at_paper_c0),
        ]);
    }
    format!(
        "  What the paper asks of the rows so that no gradient is clipped, in standardised units. theta is least squares on the\n  \
         encoded rows, sigma = {} its residual standard error, and t runs over {} steps. c0 = {} is what the paper\n  \
         takes for Gaussian rows to satisfy it with probability {}. With this theta item (v) is only rounding.\n\n{}\n{}",
        significant(found.sigma),
        found.steps,
        significant(found.paper_c0),
        1.0 - found.paper_beta,
        layout::table(&lines),
        lemma(found),
    )
}

fn lemma(found: &NoClipping) -> String {
    let mut lines = vec![cells!["c0", "condition", "clip needed", "clip used", "chance that a row is clipped"]];
    for lemma in &found.lemma {
        let chance = if lemma.beta >= 1.0 { "no bound".to_owned() } else { format!("at most {:.1e}", lemma.beta) };
        lines.push(cells![
            significant(lemma.c0),
            verdict(lemma.condition_holds),
            significant(lemma.clip_needed),
            significant(lemma.clip),
            chance,
        ]);
    }
    format!(
        "  The lemma \"no clipping occurs\", at the smallest c0 these rows allow and at the paper's:\n\n{}",
        layout::table(&lines)
    )
}

fn iterates(found: &Iterates, clipped: &[ClippedAt], unit: Unit) -> String {
    let mut lines = vec![cells!["", "Limit", "Mean", "Std. Dev.", "Happened", "z"]];
    for one in &found.coefficients {
        lines.push(cells![
            one.name,
            significant(one.limit),
            significant(one.mean),
            significant(one.sd),
            significant(one.happened),
            format!("{:.2}", one.z),
        ]);
    }
    let largest = clipped.iter().map(|at| at.fraction).fold(0.0, f64::max);
    let caution = if largest > 0.0 {
        let units = unit.plural();
        format!(
            "  Up to {} of the {units} were clipped at a step, so the law is only a guide here.\n",
            percent(largest)
        )
    } else {
        format!("  No {unit} was clipped at the steps shown above.\n")
    };
    format!(
        "  Without clipping, the iterate after {} steps is Gaussian with the mean and standard deviation below. 'Limit' is where it\n  \
         would end without noise: least squares on the encoded rows.\n\n{}\n{}{caution}",
        found.step,
        layout::table(&lines),
        distance(found),
    )
}

fn distance(found: &Iterates) -> String {
    match (found.chi_square, found.p_value) {
        (Some(chi_square), Some(p)) => format!(
            "  All together: chi-square {chi_square:.2} on {} degrees of freedom, as large with probability {}.\n",
            found.degrees_of_freedom,
            p_value(p),
        ),
        _ => String::new(),
    }
}
