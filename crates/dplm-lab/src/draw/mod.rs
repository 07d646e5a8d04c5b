//! Figures as SVG, from a small writer, and as PNG from the same SVG.
//!
//! A figure holds only text and plain shapes. The font, DejaVu Sans (free under the Bitstream Vera
//! licence), is built in, so a picture is the same on every machine. Colours are those of Okabe and
//! Ito, which colour-blind readers can distinguish, and every series also has its own marker.

mod axis;
mod svg;
mod plot;
mod heat;
mod dots;
mod panels;
mod strips;
mod png;

pub use axis::Axis;
pub use dots::{Dot, DotRow, DotSeries, Dots};
pub use heat::HeatMap;
pub use panels::{Panel, Panels};
pub use plot::{Mark, Plot, Reference, Series};
#[cfg(test)]
pub use png::pixels_of;
pub use png::png;
pub use strips::{Look, Strip, Strips};

use svg::{Svg, wrapped};

/// Width of a figure in points.
const WIDTH: f64 = 640.0;
/// Left edge of the panel, and right edge of everything.
const LEFT: f64 = 74.0;
const RIGHT: f64 = WIDTH - 22.0;
/// Height of the panel.
const PANEL: f64 = 330.0;
/// Size of most text, and of captions.
const TEXT: f64 = 13.0;
const SMALL: f64 = 11.0;

/// A picture with its caption.
pub struct Figure {
    caption: String,
    content: Content,
}

enum Content {
    Plot(Plot),
    Heat(HeatMap),
    Dots(Dots),
    Panels(Panels),
    Strips(Strips),
}

/// A rectangle of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Figure {
    /// Series against an axis.
    pub fn plot(caption: impl Into<String>, plot: Plot) -> Figure {
        Figure { caption: caption.into(), content: Content::Plot(plot) }
    }

    /// A table of colours.
    pub fn heat(caption: impl Into<String>, heat: HeatMap) -> Figure {
        Figure { caption: caption.into(), content: Content::Heat(heat) }
    }

    /// Shares by name.
    pub fn dots(caption: impl Into<String>, dots: Dots) -> Figure {
        Figure { caption: caption.into(), content: Content::Dots(dots) }
    }

    /// Small panels side by side.
    pub fn panels(caption: impl Into<String>, panels: Panels) -> Figure {
        Figure { caption: caption.into(), content: Content::Panels(panels) }
    }

    /// Small panels with a line for each name.
    pub fn strips(caption: impl Into<String>, strips: Strips) -> Figure {
        Figure { caption: caption.into(), content: Content::Strips(strips) }
    }

    /// The caption, which states the parameters.
    pub fn caption(&self) -> &str {
        &self.caption
    }

    /// The picture as SVG.
    pub fn svg(&self, title: &str) -> String {
        let mut svg = Svg::new();
        svg.bold(WIDTH / 2.0, 22.0, title);
        let bottom = match &self.content {
            Content::Plot(plot) => plot.draw(&mut svg, 34.0),
            Content::Heat(heat) => heat.draw(&mut svg, 38.0),
            Content::Dots(dots) => dots.draw(&mut svg, 30.0),
            Content::Panels(panels) => panels.draw(&mut svg, 34.0),
            Content::Strips(strips) => strips.draw(&mut svg, 34.0),
        };
        let mut below = bottom + 12.0;
        for line in wrapped(&self.caption, WIDTH - 36.0, SMALL) {
            below += 15.0;
            svg.caption(18.0, below, &line);
        }
        svg.finish(WIDTH, below + 12.0, title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Estimate;

    fn figure() -> Figure {
        let mark = |x: f64| Mark::with_error(x, &Estimate { value: 1.0 / x, error: 0.02 / x });
        let series =
            ["a < b & \"c\"", "θ_T − θ̂"].map(|label| Series::new(label, [1.0, 10.0, 100.0].map(mark).to_vec()));
        let references = vec![Reference::new("one tenth", 0.1)];
        let (x, y) = (Axis::log("rows n"), Axis::log("error"));
        Figure::plot("p = 10, ρ = 0.015 & so on", Plot { x, y, series: series.into(), references, dodge: true })
    }

    fn heat() -> Figure {
        Figure::heat(
            "caption",
            HeatMap {
                x: Axis::linear("p"),
                y: Axis::linear("γ / √p"),
                columns: vec!["5".into(), "10".into()],
                rows: vec!["1".into()],
                values: vec![vec![0.0, 55.0]],
                colour_label: "%".into(),
                range: (0.0, 100.0),
            },
        )
    }

    /// The first colour of an element, written as `#0072B2`.
    fn hex(element: &str) -> &str {
        let at = element.find('#').expect("a colour");
        &element[at..at + 7]
    }

    #[test]
    fn figures_are_well_formed_and_become_pictures() {
        // The lines of two series, and two cells.
        for (figure, marks) in [(figure(), "<polyline"), (heat(), "stroke=\"#ffffff\" stroke-width=\"1\"")] {
            let text = figure.svg("A title & more");
            let bytes = png("test", &text).unwrap();
            let colours: Vec<&str> = text.split('<').filter(|tag| format!("<{tag}").contains(marks)).map(hex).collect();
            assert!(colours.len() == 2 && colours[0] != colours[1], "{colours:?}");
            for colour in colours {
                assert!(pixels_of(&bytes, colour) > 50, "{colour} is not in the picture");
            }
        }
    }

    #[test]
    fn text_that_looks_like_markup_is_escaped() {
        let text = figure().svg("t");
        assert!(text.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(!text.contains("a < b"));
    }

    #[test]
    fn every_series_has_a_colour_and_a_marker_of_its_own() {
        let text = figure().svg("t");
        assert!(text.contains("#0072B2") && text.contains("#D55E00"));
        assert!(text.contains("<circle") && text.contains("<rect"));
    }

    #[test]
    fn what_is_not_xml_is_refused() {
        assert!(png("test", "<svg>").is_err());
    }
}
