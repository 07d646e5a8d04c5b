//! What was granted and spent over time, as the ledger stood once this fit was recorded.

use dplm::Statement;

use super::{WIDTH, paragraph, rising_axis};
use crate::svg::{Anchor, Scale, Svg};

const HEIGHT: f64 = 180.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 470.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 142.0;
/// Characters of a time up to its minutes.
const MINUTES: usize = 16;

/// The picture and its words; empty if no ledger was used.
pub(super) fn plot(statement: Option<&Statement>) -> String {
    let Some(statement) = statement.filter(|statement| !statement.entries.is_empty()) else { return String::new() };
    let title = format!("The budget of {} over time: granted (dashed) and spent (solid)", statement.dataset);
    let words = format!(
        "{title}. rho = {} of {} is spent, this fit included, and {} is left.",
        statement.spent(),
        statement.total(),
        statement.left(),
    );
    let Statement { entry, hash, .. } = statement;
    let place = format!("This fit is entry {entry} of the ledger. The hash of that entry is {hash}.");
    content(statement).within_page(&title, (WIDTH, HEIGHT)) + &paragraph(&words) + &paragraph(&place)
}

fn content(statement: &Statement) -> Svg {
    let times = || statement.entries.iter().map(|one| one.seconds as f64);
    let (first, last) =
        times().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), time| (low.min(time), high.max(time)));
    let across = Scale::linear((first, last), (LEFT, RIGHT));
    let up = Scale::linear((0.0, statement.total()), (BOTTOM, TOP));
    let mut svg = Svg::new();
    rising_axis(&mut svg, &up, (LEFT, RIGHT));
    times_below(&mut svg, statement);
    svg.polyline(staircase(statement, false, &across, &up), "class=\"path s1\" stroke-dasharray=\"6 4\"");
    svg.polyline(staircase(statement, true, &across, &up), "class=\"bar\"");
    svg
}

/// The first and the last time.
fn times_below(svg: &mut Svg, statement: &Statement) {
    let times = [statement.entries.first(), statement.entries.last()]
        .map(|one| one.map_or("", |one| one.time.get(..MINUTES).unwrap_or(&one.time)));
    svg.text((LEFT, BOTTOM + 18.0), Anchor::Start, "class=\"soft\"", times[0]);
    svg.text((RIGHT, BOTTOM + 18.0), Anchor::End, "class=\"soft\"", times[1]);
    svg.text(((LEFT + RIGHT) / 2.0, HEIGHT - 6.0), Anchor::Middle, "class=\"soft\"", "time (UTC)");
}

/// The corners of the sum of grants, or of charges.
fn staircase(statement: &Statement, spends: bool, across: &Scale, up: &Scale) -> Vec<(f64, f64)> {
    let mut points = vec![(LEFT, up.at(0.0))];
    let (mut sum, mut latest) = (0.0, LEFT);
    for one in &statement.entries {
        // A clock that was set back draws a step upwards, not backwards.
        latest = across.at(one.seconds as f64).max(latest);
        points.push((latest, up.at(sum)));
        if one.spends == spends {
            sum += one.rho.to_f64();
            points.push((latest, up.at(sum)));
        }
    }
    points.push((RIGHT, up.at(sum)));
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use dplm::{LedgerEntry, privacy::Rho};

    fn statement(entries: &[(i64, bool, f64)]) -> Statement {
        let ledger_entry = |&(seconds, spends, rho): &(i64, bool, f64)| LedgerEntry {
            time: format!("day {seconds}"),
            seconds,
            spends,
            rho: Rho::checked_from_f64(rho).unwrap(),
        };
        Statement {
            dataset: "<wages>".into(),
            entries: entries.iter().map(ledger_entry).collect(),
            entry: 3,
            hash: "0f".repeat(32),
            other_table: false,
        }
    }

    #[test]
    fn the_staircase_ends_at_what_was_spent() {
        let drawn = plot(Some(&statement(&[(0, false, 0.1), (50, true, 0.02), (100, true, 0.03)])));
        // Half of the budget is half of the height, at the right edge.
        assert!(drawn.contains("263 115.6") && drawn.contains("470 76\" class=\"bar\"/>"), "{drawn}");
        assert!(drawn.contains("rho = 0.05 of 0.1 is spent, this fit included, and 0.05 is left"), "{drawn}");
        assert!(drawn.contains("&lt;wages&gt;") && !drawn.contains("<wages>"));
        assert!(drawn.contains("entry 3 of the ledger") && drawn.contains(&"0f".repeat(32)), "{drawn}");
    }

    #[test]
    fn one_moment_and_no_ledger_are_drawn_too() {
        assert!(plot(Some(&statement(&[(7, false, 0.1), (7, true, 0.1)]))).contains("<polyline"));
        assert_eq!(plot(None), "");
    }
}
