//! Axes: labels, and scales over given values.

pub(super) use dplm_report::svg::Scale;

/// An axis: its label, its scale and, if fixed, its ends.
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

    /// The axis scaled to the values, from position `start` to position `end`.
    pub(super) fn scale(&self, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Scale {
        let usable = values.filter(|v| v.is_finite() && (!self.log || *v > 0.0)).map(|v| self.bend(v));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { 0.05 * (high - low) } else { 0.5 };
        let ends = (self.from.unwrap_or(self.unbend(low - room)), self.to.unwrap_or(self.unbend(high + room)));
        let scale = if self.log { Scale::log } else { Scale::linear };
        scale(ends, (start, end))
    }

    fn bend(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }

    fn unbend(&self, value: f64) -> f64 {
        if self.log { 10f64.powf(value) } else { value }
    }
}
