//! Numbers and tables as a statistician prints them.

/// Four significant digits, plain where that is readable, else in powers of ten.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs().log10().floor();
    if value == 0.0 {
        "0".to_owned()
    } else if (-4.0..7.0).contains(&magnitude) {
        format!("{value:.*}", (3.0 - magnitude).max(0.0) as usize)
    } else {
        format!("{value:.3e}")
    }
}

/// As [`significant`], without zeros at the end.
pub fn short(value: f64) -> String {
    let text = significant(value);
    match text.split_once('e') {
        None if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => text,
    }
}

/// A p-value: three places, or a bound.
pub fn p_value(value: f64) -> String {
    if value < 0.001 { "<0.001".to_owned() } else { format!("{value:.3}") }
}

/// As a percentage with two places, or a bound.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 5e-5 { "<0.01 %".to_owned() } else { format!("{:.2} %", 100.0 * share) }
}

/// With separators every three digits.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
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
    fn numbers() {
        assert_eq!(significant(-0.012_345), "-0.01235");
        assert_eq!(significant(1e-9), "1.000e-9");
        assert_eq!(significant(0.0), "0");
        assert_eq!(short(0.015), "0.015");
        assert_eq!(short(100.0), "100");
        assert_eq!(short(97.5), "97.5");
        assert_eq!(grouped(1), "1");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(percent(0.0), "0.00 %");
        assert_eq!(percent(1e-6), "<0.01 %");
        assert_eq!(p_value(1e-9), "<0.001");
    }

    #[test]
    fn columns_line_up() {
        let lines = [cells!["", "a"], cells!["name", -1.5], cells!["n", 10]];
        assert_eq!(table(&lines), "           a\n  name  -1.5\n  n       10\n");
    }
}
