//! From numbers to places, and where the ticks are.

/// A scale of equal steps or of equal ratios, laid over a stretch of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    log: bool,
    /// The ends, or their logarithms.
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

/// A labelled tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where it is.
    pub place: f64,
    /// Its number, as [`Svg::rich`](super::Svg::rich) sets it.
    pub label: String,
}

impl Scale {
    /// Equal steps: `values.0` is at `places.0`, `values.1` at `places.1`. Where both values are
    /// one, there is a unit to either side.
    pub fn linear(values: (f64, f64), places: (f64, f64)) -> Scale {
        Scale::over(false, values, places)
    }

    /// Equal ratios of positive values.
    pub fn log(values: (f64, f64), places: (f64, f64)) -> Scale {
        Scale::over(true, (values.0.log10(), values.1.log10()), places)
    }

    fn over(log: bool, (from, to): (f64, f64), (start, end): (f64, f64)) -> Scale {
        let (from, to) = if from < to { (from, to) } else { (from - 1.0, from + 1.0) };
        Scale { log, from, to, start, end }
    }

    /// The place of a value, also beyond the ends.
    pub fn at(&self, value: f64) -> f64 {
        self.at_bent(self.bent(value))
    }

    /// The place of a value; `None` if it is outside.
    pub fn place(&self, value: f64) -> Option<f64> {
        let bent = self.bent(value);
        let slack = 1e-9 * (self.to - self.from);
        (bent >= self.from - slack && bent <= self.to + slack).then(|| self.at_bent(bent))
    }

    /// The place of a value, or of the nearest end.
    pub fn nearest(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE) } else { value };
        self.at_bent(self.bent(value).clamp(self.from, self.to))
    }

    fn bent(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }

    fn at_bent(&self, bent: f64) -> f64 {
        self.start + (bent - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// A few ticks at round numbers.
    pub fn ticks(&self) -> Vec<Tick> {
        let values = if self.log { self.log_ticks() } else { self.linear_ticks() };
        let placed: Vec<(f64, f64)> =
            values.into_iter().filter_map(|value| Some((self.place(value)?, value))).collect();
        let largest = placed.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
        placed.into_iter().map(|(place, value)| Tick { place, label: number(value, largest) }).collect()
    }

    /// Places of ticks without labels: those between powers of ten.
    pub fn minor(&self) -> Vec<f64> {
        if !self.log {
            return Vec::new();
        }
        let between = |k: i32| (2..10).map(move |d| f64::from(d) * 10f64.powi(k));
        self.decades().flat_map(between).filter_map(|value| self.place(value)).collect()
    }

    fn decades(&self) -> std::ops::RangeInclusive<i32> {
        self.from.floor() as i32..=self.to.ceil() as i32
    }

    /// Powers of ten, with 2 and 5 of each where there are few.
    fn log_ticks(&self) -> Vec<f64> {
        let between: &[f64] = match self.to - self.from {
            span if span <= 2.2 => &[1.0, 2.0, 5.0],
            span if span <= 3.2 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let of = |k: i32| between.iter().map(move |d| format!("{d}e{k}").parse().expect("a number"));
        self.decades().flat_map(of).collect()
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

/// A tick's number: plain, or with a power of ten where plain ones would be long. Beside 10^5
/// stands 2·10^4 and not 20000.
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

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn log_ticks_are_round_numbers() {
        let scale = Scale::log((900.0, 110_000.0), (0.0, 100.0));
        assert_eq!(labels(scale), ["1000", "2000", "5000", "10^4", "2·10^4", "5·10^4", "10^5"]);
        assert_eq!(labels(Scale::log((0.03, 1.5), (0.0, 1.0))), ["0.05", "0.1", "0.2", "0.5", "1"]);
    }

    #[test]
    fn linear_ticks_are_round_numbers_inside() {
        assert_eq!(labels(Scale::linear((0.0, 100.0), (0.0, 1.0))), ["0", "20", "40", "60", "80", "100"]);
        for (low, high) in [(0.0, 1.0), (-3.2, 17.9), (0.001, 0.0017), (1e6, 9e6)] {
            let ticks = Scale::linear((low, high), (0.0, 100.0)).ticks();
            assert!((3..=7).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.iter().all(|tick| (-1e-6..=100.0 + 1e-6).contains(&tick.place)), "{ticks:?}");
        }
    }

    #[test]
    fn places_run_from_start_to_end() {
        let scale = Scale::log((1.0, 100.0), (50.0, 250.0));
        assert_eq!((scale.at(1.0), scale.place(10.0), scale.at(100.0)), (50.0, Some(150.0), 250.0));
        assert_eq!((scale.place(0.1), scale.nearest(0.1)), (None, 50.0));
        assert_eq!(Scale::linear((7.0, 7.0), (0.0, 10.0)).at(7.0), 5.0);
    }

    #[test]
    fn small_numbers_are_powers() {
        assert_eq!(number(0.0001, 1.0), "10^−4");
        assert_eq!(number(2e6, 2e6), "2·10^6");
        assert_eq!(number(0.05, 1.0), "0.05");
        assert_eq!(number(20_000.0, 50_000.0), "20000");
        assert_eq!((number(0.1 + 0.2, 1.0), number(-20.0, 20.0)), ("0.3".into(), "−20".into()));
    }
}
