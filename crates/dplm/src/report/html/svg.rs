//! What the plots share.

/// The width of a picture in its own units: on a phone each is less than a pixel, on a desk one and a half. The style sheet sets
/// words larger in units where the screen is narrow, so that they can be read on both.
pub(super) const WIDTH: f64 = 480.0;

/// A linear scale from values to places.
pub(super) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
}

impl Scale {
    pub(super) fn new(from: (f64, f64), to: (f64, f64)) -> Scale {
        let from = if from.0 < from.1 { from } else { (from.0 - 1.0, from.0 + 1.0) };
        Scale { from, to }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value - self.from.0) / (self.from.1 - self.from.0);
        self.to.0 + share * (self.to.1 - self.to.0)
    }

    /// Four to eight round values inside the scale.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let span = self.from.1 - self.from.0;
        let power = 10f64.powf((span / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|times| times * power)
            .into_iter()
            .find(|step| span / step <= 8.0)
            .unwrap_or(10.0 * power);
        let first = (self.from.0 / step).ceil();
        (0..).map(|k| (first + f64::from(k)) * step).take_while(|tick| *tick <= self.from.1 + 1e-9 * span).collect()
    }
}

/// A tick label without trailing noise.
pub(super) fn label(value: f64) -> String {
    if value.abs() < 1e-12 {
        return "0".to_owned();
    }
    let text = if (1e-3..1e6).contains(&value.abs()) { format!("{value:.6}") } else { return format!("{value:e}") };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An accessible picture: `title` is read out in place of it.
pub(super) fn picture(title: &str, width: f64, height: f64, content: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n{content}</svg>\n",
        super::escaped(title)
    )
}

pub(super) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> String {
    format!(
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>\n",
        from.0, from.1, to.0, to.1
    )
}

pub(super) fn text(class: &str, anchor: &str, at: (f64, f64), words: &str) -> String {
    format!(
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
        at.0,
        at.1,
        super::escaped(words)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        for (low, high) in [(0.0, 1.0), (-3.2, 17.9), (0.001, 0.0017), (1e6, 9e6)] {
            let ticks = Scale::new((low, high), (0.0, 100.0)).ticks();
            assert!((3..=9).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.iter().all(|tick| (low..=high * (1.0 + 1e-9)).contains(tick)), "{ticks:?}");
        }
    }

    #[test]
    fn labels_are_short() {
        assert_eq!(label(0.3), "0.3");
        assert_eq!(label(-20.0), "-20");
        assert_eq!(label(0.1 + 0.2), "0.3");
    }
}
