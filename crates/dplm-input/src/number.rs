//! Formats numbers for reports.

/// Four significant digits, in plain notation if that is readable, else in powers of ten.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = magnitude(value);
    if (-4..7).contains(&magnitude) {
        let places = (3 - magnitude).max(0) as usize;
        format!("{value:.places$}")
    } else {
        format!("{value:.3e}")
    }
}

/// The decimal exponent of a nonzero number.
pub fn magnitude(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// As [`significant`], without zeros at the end.
pub fn short(value: f64) -> String {
    let text = significant(value);
    match text.split_once('e') {
        None if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => text,
    }
}

/// A p-value: three decimals, or a bound.
pub fn p_value(value: f64) -> String {
    if value < 0.001 { "<0.001".to_owned() } else { format!("{value:.3}") }
}

/// A number of degrees of freedom in words.
pub fn degrees(df: usize) -> String {
    if df == 1 { "1 degree of freedom".to_owned() } else { format!("{df} degrees of freedom") }
}

/// With separators every three digits.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).expect("digits"));
    groups.collect::<Vec<_>>().join(",")
}

/// Rounded up at `places` decimals: the printed number reads back as no less than `value`.
pub fn rounded_up(value: f64, places: usize) -> String {
    let nearest = format!("{value:.places$}");
    let stated: f64 = nearest.parse().expect("a printed number reads back");
    let unit = 10f64.powi(-(places as i32));
    if stated >= value { nearest } else { format!("{:.places$}", stated + unit) }
}

/// A probability in per cent with one decimal, rounded up, so that "at most this often" stays true.
pub fn percent_up(share: f64) -> String {
    // Beyond the product's own rounding, so that the printed share is no less than the true one.
    format!("{} %", rounded_up((100.0 * share).next_up().min(100.0), 1))
}

/// Two digits, rounded up: the printed number suffices wherever `value` does.
pub fn two_digits_up(value: f64) -> String {
    let places = 1 - magnitude(value);
    if places >= 0 {
        let text = rounded_up(value, places as usize);
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    let unit = 10f64.powi(-places);
    format!("{:.0}", (value / unit).ceil() * unit)
}

/// A number in a file, for `#[serde(with = "crate::number::or_infinite")]`: JSON has no infinities,
/// so they become words.
pub mod or_infinite {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }

    /// The number, or its word.
    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() { to.serialize_f64(*value) } else { to.collect_str(value) }
    }

    /// The number that was written.
    ///
    /// # Errors
    /// For any other word.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        match Written::deserialize(from)? {
            Written::Number(value) => Ok(value),
            Written::Word(word) => match word.as_str() {
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                _ => Err(D::Error::custom("a number is neither one nor 'inf'")),
            },
        }
    }
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
    fn rounding_up() {
        assert_eq!(rounded_up(0.714_66, 4), "0.7147");
        assert_eq!(rounded_up(0.714_61, 4), "0.7147");
        assert_eq!(rounded_up(0.7, 4), "0.7000");
        assert_eq!(rounded_up(0.999_99, 4), "1.0000");
        assert_eq!([0.534_506, 0.588_468, 0.691_462, 1.0].map(percent_up), ["53.5 %", "58.9 %", "69.2 %", "100.0 %"]);
    }

    #[test]
    fn two_digits_are_never_less_and_never_nothing() {
        for (value, text) in [
            (0.000_123_4, "0.00013"),
            (0.000_1, "0.0001"),
            (0.012, "0.012"),
            (0.012_000_1, "0.013"),
            (0.995, "1"),
            (1.01, "1.1"),
            (10.0, "10"),
            (99.5, "100"),
            (1234.0, "1300"),
            (1_560_000.0, "1600000"),
        ] {
            assert_eq!(two_digits_up(value), text);
        }
        for i in 0..3000 {
            let value = 1e-12 * 1e16f64.powf(f64::from(i) / 2999.0);
            let printed: f64 = two_digits_up(value).parse().unwrap();
            assert!(printed >= value && printed <= value * 1.100_001, "{value}: {printed}");
        }
    }
}
