//! The mean response over the range of one column, or over its levels, with the other columns held.

use super::{Prediction, PredictionError, Predictor, RowValues, simultaneous::level_of_each};
use crate::{
    Contrast, Error, Fit,
    date::day_of,
    formula::{Column, Kind},
    table::{Block, Cells},
};

/// Points over the range of a number.
const POINTS: usize = 41;
/// Points over a range of dates, each of which is printed.
const DAYS: i32 = 9;
/// The most combinations of levels of other columns that are averaged over.
const MOST_COMBINATIONS: usize = 4096;
/// Standard deviations to either side of zero for a column that is centred and of unit variance.
const STANDARD_RANGE: f64 = 2.0;

/// The mean response over one column: a confidence band over a number, marginal means over a
/// category.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Over {
    /// The column.
    pub column: String,
    /// The response.
    pub response: String,
    /// The coverage of the intervals.
    pub level: f64,
    /// What the intervals cover.
    pub coverage: Coverage,
    /// From the lower bound to the upper one, or the levels in order.
    pub points: Vec<OverPoint>,
    /// The values at which the other columns are held, in words.
    pub held: Vec<String>,
}

/// What the intervals over a column cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Each its own point.
    Pointwise,
    /// All points at once: a band that contains the whole curve with the probability of its level.
    Simultaneous,
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Coverage::Pointwise => "each for its own point",
            Coverage::Simultaneous => "for all points at once",
        })
    }
}

/// One point of a column's range.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OverPoint {
    /// The value of the column.
    pub value: OverValue,
    /// The prediction there.
    pub prediction: Prediction,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum OverValue {
    /// Of a number.
    Number(f64),
    /// Of a category, or a date.
    Level(String),
}

impl std::fmt::Display for OverValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OverValue::Number(number) => write!(f, "{number}"),
            OverValue::Level(level) => f.write_str(level),
        }
    }
}

impl Fit {
    /// The mean response over the public range of a column, or over its levels.
    ///
    /// `at` gives the values of other columns. Numbers not given are held at the middle of their
    /// public bounds, and categories are averaged with equal weights for their levels, since their
    /// distribution in the rows is unknown. It reads no data.
    ///
    /// # Errors
    /// When a column or a level is not in the model, the level is not a probability, or nothing was
    /// released to make intervals from.
    pub fn over(&self, column: &str, at: &[(String, String)], level: f64, coverage: Coverage) -> Result<Over, Error> {
        let features = self.design.predictors();
        let grid = Grid::of(&features, column, at)?;
        let mut predictor = Predictor::of_means(self, level)?;
        let rows: Vec<RowValues> = self.rows(grid.block(&features)).into_iter().flatten().collect();
        let means: Vec<RowValues> = rows.chunks(grid.combinations()).map(mean).collect();
        if coverage == Coverage::Simultaneous {
            let contrasts: Vec<Contrast> = means.iter().map(|row| row.contrast(&predictor.parts)).collect();
            let each = predictor.inference.intervals(&contrasts, level)?;
            predictor.level = level_of_each(&contrasts, &each, level);
        }
        let means: Vec<Option<RowValues>> = means.into_iter().map(Some).collect();
        let points = grid.varied.values(&features[grid.column]).into_iter().zip(predictor.of_rows(&means));
        Ok(Over {
            column: column.to_owned(),
            response: self.design.model().response(),
            level,
            coverage,
            points: points.map(|(value, prediction)| OverPoint { value, prediction }).collect(),
            held: grid.in_words(&features),
        })
    }
}

/// The values of one column: one value, or several that vary together with those of other columns.
#[derive(Clone, Debug, PartialEq)]
enum Taken {
    Numbers(Vec<f64>),
    Levels(Vec<u32>),
}

impl Taken {
    /// The whole public range of a column.
    fn all(kind: &Kind) -> Taken {
        let between = |low: f64, high: f64| {
            let at = |k: usize| low + (high - low) * k as f64 / (POINTS - 1) as f64;
            Taken::Numbers((0..POINTS).map(at).collect())
        };
        match kind {
            Kind::Standard => between(-STANDARD_RANGE, STANDARD_RANGE),
            Kind::Bounded { low, high } => between(*low, *high),
            Kind::Dates { low, high } => Taken::Numbers(days(*low, *high)),
            Kind::Levels(levels) => Taken::Levels((0..).take(levels.len()).collect()),
        }
    }

    /// The middle of a number's range, and every level of a category.
    fn held(kind: &Kind) -> Taken {
        kind.middle().map_or_else(|| Taken::all(kind), |middle| Taken::Numbers(vec![middle]))
    }

    /// The requested value, or the bound that it is beyond: rows are clamped in the fit too.
    fn at(column: &Column, value: &str) -> Result<Taken, PredictionError> {
        let name = || column.name.clone();
        match &column.kind {
            Kind::Levels(levels) => match (0..).zip(levels).find(|(_, level)| *level == value) {
                Some((code, _)) => Ok(Taken::Levels(vec![code])),
                None => Err(PredictionError::NoSuchLevel {
                    column: name(),
                    value: value.to_owned(),
                    levels: levels.clone(),
                }),
            },
            Kind::Dates { .. } => match day_of(value.trim()) {
                Some(day) => Ok(Taken::within(&column.kind, f64::from(day))),
                None => Err(PredictionError::NotADate { column: name(), value: value.to_owned() }),
            },
            Kind::Standard | Kind::Bounded { .. } => {
                match value.trim().parse::<f64>().ok().filter(|value| value.is_finite()) {
                    Some(number) => Ok(Taken::within(&column.kind, number)),
                    None => Err(PredictionError::NotANumber { column: name(), value: value.to_owned() }),
                }
            }
        }
    }

    /// Whether the value is not the one that was typed.
    fn is_clamped(&self, typed: &str) -> bool {
        let typed = typed.trim();
        let asked = day_of(typed).map(f64::from).or_else(|| typed.parse().ok());
        matches!((self, asked), (Taken::Numbers(used), Some(asked)) if used[0] != asked)
    }

    fn within(kind: &Kind, number: f64) -> Taken {
        let (low, high) = kind.bounds().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Taken::Numbers(vec![number.clamp(low, high)])
    }

    fn count(&self) -> usize {
        match self {
            Taken::Numbers(values) => values.len(),
            Taken::Levels(codes) => codes.len(),
        }
    }

    /// The cells of a column in which each value stays for `repeat` rows, in cycles.
    fn cells(&self, repeat: usize, rows: usize) -> Cells {
        let place = |row: usize| row / repeat % self.count();
        match self {
            Taken::Numbers(values) => Cells::Numbers((0..rows).map(|row| values[place(row)]).collect()),
            Taken::Levels(codes) => Cells::Levels((0..rows).map(|row| codes[place(row)]).collect()),
        }
    }

    fn values(&self, column: &Column) -> Vec<OverValue> {
        match (self, &column.kind) {
            (Taken::Levels(codes), Kind::Levels(levels)) => {
                codes.iter().map(|&code| OverValue::Level(levels[code as usize].clone())).collect()
            }
            (Taken::Numbers(days), kind @ Kind::Dates { .. }) => {
                days.iter().map(|&day| OverValue::Level(kind.shown(day))).collect()
            }
            (Taken::Numbers(values), _) => values.iter().map(|&value| OverValue::Number(value)).collect(),
            (Taken::Levels(_), _) => Vec::new(),
        }
    }

    fn in_words(&self, column: &Column) -> String {
        match (self, self.values(column).as_slice()) {
            (Taken::Numbers(values), _) => format!("{} = {}", column.name, column.kind.shown(values[0])),
            (Taken::Levels(_), [one]) => format!("{} = {one}", column.name),
            (Taken::Levels(_), _) => format!("the mean over the levels of {}", column.name),
        }
    }
}

/// Whole days from the first to the last, each once.
fn days(low: i32, high: i32) -> Vec<f64> {
    let (steps, width) = (i64::from(DAYS) - 1, i64::from(high) - i64::from(low));
    let mut days: Vec<i64> = (0..=steps).map(|k| i64::from(low) + width * k / steps).collect();
    days.dedup();
    days.into_iter().map(|day| day as f64).collect()
}

/// Every combination of the columns' values; the column that varies changes slowest.
struct Grid {
    column: usize,
    varied: Taken,
    /// The values of each column, including the one that varies.
    taken: Vec<Taken>,
    /// Columns that were asked for beyond their bounds, and where.
    beyond: Vec<(usize, String)>,
}

impl Grid {
    fn of(features: &[Column], column: &str, at: &[(String, String)]) -> Result<Grid, PredictionError> {
        let place = |name: &str| {
            let columns = || features.iter().map(|one| one.name.clone()).collect();
            let found = features.iter().position(|one| one.name == name);
            found.ok_or_else(|| PredictionError::NoSuchColumn { column: name.to_owned(), columns: columns() })
        };
        let column = place(column)?;
        let varied = Taken::all(&features[column].kind);
        let mut taken: Vec<Taken> = features.iter().map(|one| Taken::held(&one.kind)).collect();
        taken[column] = varied.clone();
        let (mut named, mut beyond) = (vec![column], Vec::new());
        for (name, value) in at {
            let place = place(name)?;
            if named.contains(&place) {
                return Err(PredictionError::NamedTwice { column: name.clone() });
            }
            taken[place] = Taken::at(&features[place], value)?;
            if taken[place].is_clamped(value) {
                beyond.push((place, value.trim().to_owned()));
            }
            named.push(place);
        }
        let grid = Grid { column, varied, taken, beyond };
        let combinations = grid.others().try_fold(1usize, |product, one| product.checked_mul(one.count()));
        match combinations {
            Some(combinations) if combinations <= MOST_COMBINATIONS => Ok(grid),
            _ => Err(PredictionError::TooManyCombinations { most: MOST_COMBINATIONS }),
        }
    }

    /// The values of the other columns.
    fn others(&self) -> impl Iterator<Item = &Taken> {
        self.taken.iter().enumerate().filter(|(place, _)| *place != self.column).map(|(_, taken)| taken)
    }

    fn combinations(&self) -> usize {
        self.others().map(Taken::count).product()
    }

    fn block(&self, features: &[Column]) -> Block {
        let rows = self.varied.count() * self.combinations();
        let mut repeat = 1;
        let mut cells = |place: usize| {
            if place == self.column {
                return self.varied.cells(self.combinations(), rows);
            }
            let cells = self.taken[place].cells(repeat, rows);
            repeat *= self.taken[place].count();
            cells
        };
        Block { rows, columns: (0..features.len()).map(&mut cells).collect() }
    }

    fn in_words(&self, features: &[Column]) -> Vec<String> {
        let others = self.taken.iter().zip(features).enumerate().filter(|(place, _)| *place != self.column);
        let beyond = |place| self.beyond.iter().find(|(clamped, _)| *clamped == place);
        let words = |(place, (taken, column)): (usize, (&Taken, &Column))| match beyond(place) {
            Some((_, asked)) => format!("{}, its bound, as {asked} is beyond it", taken.in_words(column)),
            None => taken.in_words(column),
        };
        others.map(words).collect()
    }
}

fn mean(rows: &[RowValues]) -> RowValues {
    let over = |value: &dyn Fn(&RowValues) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
    let values = (0..rows[0].values.len()).map(|j| over(&|row| row.values[j])).collect();
    RowValues { values, offset: over(&|row| row.offset) }
}
