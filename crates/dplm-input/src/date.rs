//! Day numbers and dates.

use jiff::{ToSpan, civil::Date};

/// Day 0.
const EPOCH: Date = Date::constant(1970, 1, 1);
const SECONDS_OF_A_DAY: i64 = 86_400;

/// The days from 1970-01-01 to a date written as `2020-12-31`; `None` for any other text.
pub fn day_of(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    let is_dash = |place: usize| bytes[place] == b'-';
    let digits = |from: usize, to: usize| {
        let is_number = bytes[from..to].iter().all(u8::is_ascii_digit);
        is_number.then(|| bytes[from..to].iter().fold(0, |number, digit| 10 * number + i16::from(digit - b'0')))
    };
    if bytes.len() != 10 || !is_dash(4) || !is_dash(7) {
        return None;
    }
    let (month, day) = (i8::try_from(digits(5, 7)?).ok()?, i8::try_from(digits(8, 10)?).ok()?);
    let date = Date::new(digits(0, 4)?, month, day).ok()?;
    i32::try_from(date.duration_since(EPOCH).as_secs() / SECONDS_OF_A_DAY).ok()
}

/// The date of a day that [`day_of`] gave, as `2020-12-31`.
pub(crate) fn date_of(day: i32) -> String {
    EPOCH.checked_add(day.days()).map_or_else(|_| day.to_string(), |date| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_others_names() {
        for (text, day) in [("1970-01-01", 0), ("1969-12-31", -1), ("2000-03-01", 11_017), ("2020-12-31", 18_627)] {
            assert_eq!(day_of(text), Some(day));
            assert_eq!(date_of(day), text);
        }
        let refused = [
            "",
            "2020-1-1",
            "2020-13-01",
            "2021-02-29",
            "20200101",
            "2020/01/01",
            "+020-01-01",
            "2020-01-01 ",
            "é020-01-0",
        ];
        assert!(refused.iter().all(|text| day_of(text).is_none()));
        assert!(["0000-01-01", "9999-12-31"].iter().all(|text| day_of(text).map(date_of).as_deref() == Some(text)));
    }
}
