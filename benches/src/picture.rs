//! A record, drawn.

use std::collections::BTreeMap;

use dplm_lab::draw::{Axis, Figure, Mark, Plot, Reference, Series};

use crate::record::{Measure, Record};

/// The pictures of a record: name and SVG.
pub fn all(record: &Record) -> Vec<(&'static str, String)> {
    let caption = format!("{}: {}.", record.date, record.machine);
    let draw = |title: &str, text: &str, plot: Plot| Figure::plot(format!("{text} {caption}"), plot).svg(title);
    vec![
        (
            "pass",
            draw(
                "One pass over the rows",
                "Processor time of a plain read of the same bytes, over that of a pass.",
                passes(record),
            ),
        ),
        ("fit", draw("A fit of 200 steps against numpy", FIT, fits(record))),
        (
            "growth",
            draw("Seconds of a fit of 200 steps as rows grow", "p = 10, all threads, wall clock.", growth(record)),
        ),
    ]
}

const FIT: &str = "numpy in float64 takes the same steps on the same number of rows. Seconds of numpy over seconds of dplm: on one thread of \
    processor time, on all threads of the clock.";

fn passes(record: &Record) -> Plot {
    let what = format!("{} pass, share of a plain read", record.machine.kernel);
    let chosen = record.measures.iter().filter(|measure| measure.what == what);
    let series = by(chosen, |measure| format!("threads: {}", measure.at["threads"]), "p");
    let references = vec![Reference::new("a plain read", 1.0)];
    Plot {
        x: Axis::log("features p"),
        y: Axis::linear("share of a plain read").from(0.0),
        series,
        references,
        dodge: false,
    }
}

fn fits(record: &Record) -> Plot {
    let chosen = record.measures.iter().filter(|measure| measure.what == "times numpy's");
    let label = |measure: &Measure| {
        let threads = if measure.at["threads"] == 1.0 { "one thread" } else { "all threads" };
        format!("clip {} √p, {threads}", measure.at["clip"])
    };
    let series = by(chosen, label, "p");
    Plot { x: Axis::log("features p"), y: Axis::log("times as fast as numpy"), series, ..Plot::default() }
}

fn growth(record: &Record) -> Plot {
    let chosen = record.measures.iter().filter(|measure| measure.what == "growing with rows");
    let series = by(chosen, |_| "dplm".to_owned(), "n");
    Plot { x: Axis::log("rows n"), y: Axis::log("seconds"), series, ..Plot::default() }
}

/// A series for each label, over one of the numbers a measure was taken at.
fn by<'a>(measures: impl Iterator<Item = &'a Measure>, label: impl Fn(&Measure) -> String, over: &str) -> Vec<Series> {
    let mut marks: BTreeMap<String, Vec<Mark>> = BTreeMap::new();
    for measure in measures {
        let mark = Mark::between(measure.at[over], measure.value, measure.value, measure.value);
        marks.entry(label(measure)).or_default().push(mark);
    }
    marks.into_iter().map(|(label, marks)| Series::new(label, marks)).collect()
}
