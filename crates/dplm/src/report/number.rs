//! Numbers as a statistician prints them.

/// Four significant digits, plain where that is readable, else in powers of ten.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    if (-4.0..7.0).contains(&magnitude) {
        let places = (3.0 - magnitude).max(0.0) as usize;
        format!("{value:.places$}")
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

/// With separators every three digits.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).expect("digits"));
    groups.collect::<Vec<_>>().join(",")
}

/// Rounded up at `places` decimals: a stated epsilon is never below the true one.
pub fn rounded_up(value: f64, places: usize) -> String {
    let scale = 10f64.powi(places as i32);
    let text = format!("{value:.places$}");
    let stated: f64 = text.parse().expect("a printed number reads back");
    if stated >= value { text } else { format!("{:.places$}", (value * scale).floor() / scale + 1.0 / scale) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.000"),
            (-0.012_345, "-0.01235"),
            (123_456.0, "123456"),
            (1e-9, "1.000e-9"),
            (4.2e12, "4.200e12"),
        ] {
            assert_eq!(significant(value), text);
        }
        for (value, text) in [(0.015, "0.015"), (100.0, "100"), (97.5, "97.5"), (1e-9, "1.000e-9")] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn groups_of_three() {
        assert_eq!(grouped(1), "1");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }

    #[test]
    fn epsilon_is_never_understated() {
        assert_eq!(rounded_up(0.714_66, 4), "0.7147");
        assert_eq!(rounded_up(0.714_61, 4), "0.7147");
        assert_eq!(rounded_up(0.7, 4), "0.7000");
    }
}
