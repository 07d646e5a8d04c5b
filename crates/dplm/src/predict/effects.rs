//! The change of the mean response over each column's whole public range: effect sizes that can be
//! compared.

use super::{Predictor, RowValues};
use crate::{
    Contrast, Error, Fit,
    formula::{Column, Kind},
    interval::Interval,
    table::{Block, Cells},
};

/// The change of the mean response from one value of a column to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// The starting value: the lower bound, or the reference level.
    pub from: String,
    /// The end value: the upper bound, or another level.
    pub to: String,
    /// The change.
    pub estimate: f64,
    /// Its interval.
    pub interval: (f64, f64),
}

impl Fit {
    /// The change of the mean response over the whole range of each column, and from the reference
    /// to each other level of a category; a column that is centred and of unit variance goes from 0
    /// to 1. Effects that the budget cannot identify are not listed. It reads no data.
    ///
    /// Other columns are held at the middle of their bounds and at their reference levels. If a
    /// column enters the model in one term alone, its effect is its coefficient times the width of
    /// its bounds. Columns of an event study have no such effect: its coefficients say it all.
    ///
    /// # Errors
    /// When the level is not a probability, or nothing was released to make intervals from.
    pub fn effects(&self, level: f64) -> Result<Vec<Effect>, Error> {
        let predictor = Predictor::new(self, level)?;
        let features = &self.design.predictors()[..];
        let of_events = self.design.model().event_columns();
        let is_shown = |column: &usize| !of_events.contains(features[*column].name.as_str());
        let changes: Vec<Change> =
            (0..features.len()).filter(is_shown).flat_map(|column| Change::of(features, column)).collect();
        let ends = ends(features, &changes);
        let rows: Vec<RowValues> = self.rows(ends).into_iter().flatten().collect();
        let contrast = |pair: &[RowValues]| {
            let values = pair[1].values.iter().zip(&pair[0].values).map(|(to, from)| to - from).collect();
            RowValues { values, offset: pair[1].offset - pair[0].offset }.contrast(&predictor.parts)
        };
        let contrasts: Vec<Contrast> = rows.chunks_exact(2).map(contrast).collect();
        let found = predictor.inference.intervals(&contrasts, level)?;
        let told = changes.iter().zip(found).filter(|(_, interval)| interval.identified);
        let effect = |(change, interval): (&Change, Interval)| Effect {
            column: features[change.column].name.clone(),
            from: change.from.in_words(&features[change.column]),
            to: change.to.in_words(&features[change.column]),
            estimate: interval.estimate,
            interval: (interval.low, interval.high),
        };
        Ok(told.map(effect).collect())
    }
}

/// The cell of a column.
#[derive(Clone, Copy)]
enum Cell {
    Number(f64),
    Level(u32),
}

impl Cell {
    /// The middle of a number's range, or the reference level.
    fn held(kind: &Kind) -> Cell {
        kind.middle().map_or(Cell::Level(0), Cell::Number)
    }

    fn in_words(self, column: &Column) -> String {
        match (self, &column.kind) {
            (Cell::Level(code), Kind::Levels(levels)) => levels[code as usize].clone(),
            (Cell::Level(code), _) => code.to_string(),
            (Cell::Number(number), kind) => kind.shown(number),
        }
    }
}

/// Two cells of a column.
struct Change {
    column: usize,
    from: Cell,
    to: Cell,
}

impl Change {
    fn of(features: &[Column], column: usize) -> Vec<Change> {
        let number = |from: f64, to: f64| vec![Change { column, from: Cell::Number(from), to: Cell::Number(to) }];
        match &features[column].kind {
            Kind::Standard => number(0.0, 1.0),
            Kind::Bounded { low, high } => number(*low, *high),
            Kind::Dates { low, high } => number(f64::from(*low), f64::from(*high)),
            Kind::Levels(levels) => {
                let to = |code: u32| Change { column, from: Cell::Level(0), to: Cell::Level(code) };
                (1..).take(levels.len() - 1).map(to).collect()
            }
        }
    }
}

/// Two rows for each change, in which all other columns are held.
fn ends(features: &[Column], changes: &[Change]) -> Block {
    let cells = |place: usize| {
        let held = Cell::held(&features[place].kind);
        let of = |change: &Change| if change.column == place { [change.from, change.to] } else { [held, held] };
        let cells = changes.iter().flat_map(of);
        match held {
            Cell::Number(_) => Cells::Numbers(cells.filter_map(number).collect()),
            Cell::Level(_) => Cells::Levels(cells.filter_map(level).collect()),
        }
    };
    Block { rows: 2 * changes.len(), columns: (0..features.len()).map(cells).collect() }
}

fn number(cell: Cell) -> Option<f64> {
    if let Cell::Number(number) = cell { Some(number) } else { None }
}

fn level(cell: Cell) -> Option<u32> {
    if let Cell::Level(code) = cell { Some(code) } else { None }
}
