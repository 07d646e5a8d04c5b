//! What was granted and spent over time, as the ledger stood once this fit was recorded.

use super::{
    paragraph,
    svg::{Scale, WIDTH, label, line, picture, text},
};
use crate::Statement;

const HEIGHT: f64 = 180.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 470.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 142.0;
/// Characters of a time up to its minutes.
const MINUTES: usize = 16;

/// The picture and its words; nothing where no ledger was used.
pub(super) fn plot(statement: Option<&Statement>) -> String {
    let Some(statement) = statement.filter(|statement| !statement.entries.is_empty()) else { return String::new() };
    let title = format!("The budget of {} over time: granted (dashed) and spent (solid)", statement.dataset);
    let words = format!(
        "{title}. rho = {} of {} is spent, this fit included, and {} is left.",
        label(statement.spent()),
        label(statement.total()),
        label(statement.left()),
    );
    let Statement { entry, hash, .. } = statement;
    let place = format!("This fit is entry {entry} of the ledger. The hash of that entry is {hash}.");
    picture(&title, WIDTH, HEIGHT, &content(statement)) + &paragraph(&words) + &paragraph(&place)
}

fn content(statement: &Statement) -> String {
    let times = || statement.entries.iter().map(|one| one.seconds as f64);
    let (first, last) =
        times().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), time| (low.min(time), high.max(time)));
    let across = Scale::new((first, last), (LEFT, RIGHT));
    let up = Scale::new((0.0, statement.total()), (BOTTOM, TOP));
    let mut content = axes(statement, &up);
    content += &steps(statement, false, "path s1", " stroke-dasharray=\"6 4\"", &across, &up);
    content += &steps(statement, true, "bar", "", &across, &up);
    content
}

/// Heights in rho; below, the first and the last time.
fn axes(statement: &Statement, up: &Scale) -> String {
    let mut content = String::new();
    for tick in up.ticks() {
        let y = up.place(tick);
        content += &line("grid", (LEFT, y), (RIGHT, y));
        content += &text("soft", "end", (LEFT - 8.0, y + 4.0), &label(tick));
    }
    let times = [statement.entries.first(), statement.entries.last()]
        .map(|one| one.map_or("", |one| one.time.get(..MINUTES).unwrap_or(&one.time)));
    content += &text("soft", "start", (LEFT, BOTTOM + 18.0), times[0]);
    content += &text("soft", "end", (RIGHT, BOTTOM + 18.0), times[1]);
    content + &text("soft", "middle", ((LEFT + RIGHT) / 2.0, HEIGHT - 6.0), "time (UTC)")
}

/// A staircase of the sum of grants, or of charges.
fn steps(statement: &Statement, spends: bool, class: &str, style: &str, across: &Scale, up: &Scale) -> String {
    let mut points = vec![(LEFT, up.place(0.0))];
    let (mut sum, mut latest) = (0.0, LEFT);
    for one in &statement.entries {
        // A clock that was set back draws a step upwards, not backwards.
        latest = across.place(one.seconds as f64).max(latest);
        points.push((latest, up.place(sum)));
        if one.spends == spends {
            sum += one.rho.to_f64();
            points.push((latest, up.place(sum)));
        }
    }
    points.push((RIGHT, up.place(sum)));
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    format!("<polyline class=\"{class}\"{style} points=\"{}\"/>\n", points.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LedgerEntry, privacy::Rho};

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
        assert!(drawn.contains("263.0,115.6") && drawn.contains("470.0,76.0\"/>"), "{drawn}");
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
