//! Axes: from numbers to places, and where the ticks are.

/// An axis: its label, its scale and, where they are fixed, its ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    label: String,
    log: bool,
    from: Option<f64>,
    to: Option<f64>,
}

impl Axis {
    /// An axis of equal steps.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// An axis of equal ratios.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { log: true, ..Axis::linear(label) }
    }

    /// Fixes the lower end.
    #[must_use]
    pub fn from(self, value: f64) -> Axis {
        Axis { from: Some(value), ..self }
    }

    /// Fixes the upper end.
    #[must_use]
    pub fn to(self, value: f64) -> Axis {
        Axis { to: Some(value), ..self }
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// The axis laid over the values it must hold, from place `start` to place `end`.
    pub(super) fn scale(&self, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Scale {
        let usable = values.filter(|v| v.is_finite() && (!self.log || *v > 0.0)).map(|v| self.bend(v));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { 0.05 * (high - low) } else { 0.5 };
        let from = self.from.map_or(low - room, |v| self.bend(v));
        let to = self.to.map_or(high + room, |v| self.bend(v));
        Scale { log: self.log, from, to, start, end }
    }

    fn bend(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }
}

/// An axis with its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    log: bool,
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// The place of a value; none where it is outside.
    pub fn place(&self, value: f64) -> Option<f64> {
        let bent = if self.log { value.log10() } else { value };
        let slack = 1e-9 * (self.to - self.from).abs();
        (bent >= self.from - slack && bent <= self.to + slack).then(|| self.at(bent))
    }

    /// The place of a value, or of the nearest end.
    pub fn nearest(&self, value: f64) -> f64 {
        let bent = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        self.at(bent.clamp(self.from, self.to))
    }

    fn at(&self, bent: f64) -> f64 {
        self.start + (bent - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// Labelled ticks, each with its place.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let values = if self.log { self.log_ticks() } else { self.linear_ticks() };
        let placed: Vec<(f64, f64)> =
            values.into_iter().filter_map(|value| Some((self.place(value)?, value))).collect();
        let largest = placed.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
        placed.into_iter().map(|(place, value)| (place, number(value, largest))).collect()
    }

    /// Ticks without labels.
    pub fn minor(&self) -> Vec<f64> {
        if !self.log {
            return Vec::new();
        }
        let decades = self.from.floor() as i32..=self.to.ceil() as i32;
        decades.flat_map(|k| (2..10).map(move |d| f64::from(d) * 10f64.powi(k))).filter_map(|v| self.place(v)).collect()
    }

    /// Powers of ten, with 2 and 5 of each where there are few.
    fn log_ticks(&self) -> Vec<f64> {
        let between: &[f64] = match self.to - self.from {
            span if span <= 2.2 => &[1.0, 2.0, 5.0],
            span if span <= 3.2 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let decades = self.from.floor() as i32..=self.to.ceil() as i32;
        decades.flat_map(|k| between.iter().map(move |d| format!("{d}e{k}").parse().expect("a number"))).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.to - self.from) / 6.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|d| d * unit).find(|step| *step >= rough).unwrap_or(unit);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        (first..=last).map(|k| k as f64 * step).collect()
    }
}

/// A tick's number: plain, or with a power of ten where plain ones would be long. Beside 10^5 stands 2·10^4 and not 20000.
fn number(value: f64, largest: f64) -> String {
    let exponent = if value == 0.0 { 0.0 } else { value.abs().log10() };
    let long = if largest > 9.9e4 { 3.99 } else { 4.99 };
    if exponent >= long || exponent < -3.01 {
        let power = (exponent + 1e-9).floor();
        let lead = value / 10f64.powf(power);
        let power = format!("{power}").replace('-', "−");
        return if (lead - 1.0).abs() < 1e-6 { format!("10^{power}") } else { format!("{lead:.0}·10^{power}") };
    }
    let rounded: f64 = format!("{value:.6e}").parse().expect("a printed number reads back");
    format!("{rounded}").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_ticks_are_round_numbers() {
        let scale = Axis::log("n").scale([1000.0, 100_000.0].into_iter(), 0.0, 100.0);
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1000", "2000", "5000", "10^4", "2·10^4", "5·10^4", "10^5"]);
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        let scale = Axis::linear("%").from(0.0).to(100.0).scale([3.0, 80.0].into_iter(), 0.0, 100.0);
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn places_run_from_start_to_end() {
        let scale = Axis::log("x").from(1.0).to(100.0).scale(std::iter::empty(), 50.0, 250.0);
        assert_eq!(scale.place(10.0), Some(150.0));
        assert_eq!(scale.place(0.1), None);
        assert_eq!(scale.nearest(0.1), 50.0);
    }

    #[test]
    fn small_numbers_are_powers() {
        assert_eq!(number(0.0001, 1.0), "10^−4");
        assert_eq!(number(2e6, 2e6), "2·10^6");
        assert_eq!(number(0.05, 1.0), "0.05");
        assert_eq!(number(20_000.0, 50_000.0), "20000");
    }
}
