//! Numbers and tables as a statistician prints them.

pub use dplm::number::{grouped, p_value, percent_up, short, significant};

/// As a percentage with two places, or a bound.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 5e-5 { "<0.01 %".to_owned() } else { format!("{:.2} %", 100.0 * share) }
}

/// Lines of cells: the first column to the left, the others to the right, indented by two.
pub fn table(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |j: usize| lines.iter().filter_map(|line| line.get(j)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    lines.iter().map(|line| self::line(line, &widths)).collect()
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded = cells
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(j, (cell, &width))| if j == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
    format!("  {}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
}

/// Lines of a command and what it does, both to the left.
pub fn pairs(lines: &[(String, &str)]) -> String {
    let width = lines.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(command, purpose)| format!("  {command:<width$}   {purpose}\n")).collect()
}

/// A line of cells from anything that can be one.
#[macro_export]
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(($cell).to_string()),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(percent(0.0), "0.00 %");
        assert_eq!(percent(1e-6), "<0.01 %");
    }

    #[test]
    fn columns_line_up() {
        let lines = [cells!["", "a"], cells!["name", -1.5], cells!["n", 10]];
        assert_eq!(table(&lines), "           a\n  name  -1.5\n  n       10\n");
    }
}
