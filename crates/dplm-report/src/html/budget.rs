//! The budget as one bar.

use dplm::{
    number::{short, significant},
    privacy::Guarantee,
    report::text::percent,
};

use super::WIDTH;
use crate::svg::{Svg, escaped};

const COLOURS: usize = 4;
const HEIGHT: f64 = 18.0;

/// The bar and its legend.
pub(super) fn plot(guarantee: &Guarantee) -> String {
    let total = guarantee.rho.to_f64();
    let (mut bar, mut legend, mut start) = (Svg::new(), String::new(), 0.0);
    for (index, release) in guarantee.releases.iter().enumerate() {
        let share = release.rho.to_f64() / total;
        let colour = index % COLOURS;
        let width = (share * WIDTH - 1.0).max(0.8);
        bar.rect((start * WIDTH, 0.0), (width, HEIGHT), &format!("class=\"f{colour}\""));
        legend += &format!(
            "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"f{colour}\" width=\"14\" height=\"14\"/></svg>\
             <span>{} % (&rho; {}): {}</span></li>\n",
            significant_percent(share),
            short(release.rho.to_f64()),
            escaped(&release.what)
        );
        start += share;
    }
    bar.within_page("The shares of the budget, listed below", (WIDTH, HEIGHT))
        + &format!("<ul class=\"legend\">\n{legend}</ul>\n")
}

/// Without more digits than it has.
fn significant_percent(share: f64) -> String {
    if share >= 1e-4 { percent(share) } else { significant(100.0 * share) }
}
