//! From a model to columns of the design matrix, and back to coefficients in their own units.

use std::ops::Range;

use crate::{
    Contrast,
    formula::{Column, Kind, Model},
    table::{Block, Cells, MISSING},
};

use super::{
    BLOCK_ROWS,
    bits::{CELL_RANGE_BITS, CELL_SCALE_BITS},
    block::LaneWriter,
    exact::{narrow, power},
};

/// A public affine scale: a standardised value is `(cell - centre) / unit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The cell that becomes 0.
    pub centre: f64,
    /// The distance that becomes 1.
    pub unit: f64,
    /// Cells are clamped to this range first.
    pub range: (f64, f64),
}

/// One column of the design matrix.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// The constant 1.
    Intercept,
    /// A number.
    Number {
        /// Which of the model's features.
        feature: usize,
        /// How its cells are standardised.
        scale: Scale,
    },
    /// 1 where a categorical cell has this level, else 0.
    Level {
        /// Which of the model's features.
        feature: usize,
        /// Which of its levels; never 0, the reference.
        level: u32,
    },
}

/// The public rule that turns one row of the table into one row of the lattice.
///
/// In a file it is the model that it was made from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Model", into = "Model")]
pub struct Design {
    slots: Vec<Slot>,
    response: Scale,
    names: Vec<String>,
    columns: Vec<Column>,
}

impl Design {
    /// The design of a model: bounds become -1 to 1, levels 0 and 1, and standard columns stay as they are.
    pub fn new(model: &Model) -> Design {
        let intercept = model.intercept.then_some(Slot::Intercept);
        let features = model.features.iter().enumerate();
        let slots =
            intercept.into_iter().chain(features.flat_map(|(index, column)| slots_of(index, column, model.intercept)));
        Design {
            slots: slots.collect(),
            response: scale_of(&model.response.kind, model.intercept).expect("a response is numeric"),
            names: model.coefficient_names(),
            columns: model.columns(),
        }
    }

    /// How many coefficients there are.
    pub fn features(&self) -> usize {
        self.slots.len()
    }

    /// The names of the coefficients, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns of the design matrix, in order.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// How the response is standardised.
    pub fn response(&self) -> &Scale {
        &self.response
    }

    /// The columns of the table that are read: the response first.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What is publicly known of the largest squared norm of a standardised row: bounded columns and groups of levels add at most 1
    /// each. None when a column has no bounds.
    pub fn row_norm_sq(&self) -> Option<f64> {
        let groups = self.columns[1..].iter().map(|column| match column.kind {
            Kind::Standard => None,
            Kind::Bounded { .. } | Kind::Levels(_) => Some(1.0),
        });
        let intercept = f64::from(self.slots.iter().any(|slot| matches!(slot, Slot::Intercept)));
        groups.sum::<Option<f64>>().map(|sum| sum + intercept)
    }

    /// The variance that rounding to the lattice gives to each column of the design matrix, in standardised units.
    pub(crate) fn rounding_variances(&self) -> Vec<f64> {
        let step = f64::from(ONE).recip();
        let variance = |slot: &Slot| match slot {
            Slot::Number { .. } => step * step / 12.0,
            Slot::Intercept | Slot::Level { .. } => 0.0,
        };
        self.slots.iter().map(variance).collect()
    }

    /// Each coefficient in its own units, as a linear function of the standardised parameters.
    pub fn contrasts(&self) -> Vec<Contrast> {
        (0..self.features()).map(|index| self.contrast(index)).collect()
    }

    fn contrast(&self, index: usize) -> Contrast {
        let mut weights = vec![0.0; self.features()];
        let unit = self.response.unit;
        let mut offset = 0.0;
        match &self.slots[index] {
            Slot::Number { scale, .. } => weights[index] = unit / scale.unit,
            Slot::Level { .. } => weights[index] = unit,
            Slot::Intercept => {
                offset = self.response.centre;
                for (weight, slot) in weights.iter_mut().zip(&self.slots) {
                    *weight = unit * slot.value_at_zero();
                }
            }
        }
        Contrast { weights, offset }
    }

    /// Writes some rows of a table block, no more than a lattice block has, to its lanes. A row with a missing cell becomes a row of zeros.
    #[inline(always)]
    pub(super) fn encode(&self, block: &Block, rows: Range<usize>, out: &mut LaneWriter<'_>) {
        let complete = &complete_rows(block, rows.clone())[..rows.len()];
        self.response.write(&numbers(&block.columns[0])[rows.clone()], complete, out.column(self.features()));
        for (index, slot) in self.slots.iter().enumerate() {
            let out = out.column(index);
            match slot {
                Slot::Intercept => out.iter_mut().zip(complete).for_each(|(out, kept)| *out = ONE * kept),
                Slot::Number { feature, scale } => {
                    scale.write(&numbers(&block.columns[feature + 1])[rows.clone()], complete, out);
                }
                Slot::Level { feature, level } => {
                    let codes = &levels(&block.columns[feature + 1])[rows.clone()];
                    for ((out, code), kept) in out.iter_mut().zip(codes).zip(complete) {
                        *out = if code == level { ONE * kept } else { 0.0 };
                    }
                }
            }
        }
    }
}

impl From<Design> for Model {
    fn from(design: Design) -> Model {
        let intercept = matches!(design.slots.first(), Some(Slot::Intercept));
        let mut columns = design.columns.into_iter();
        Model { response: columns.next().expect("a design has a response"), features: columns.collect(), intercept }
    }
}

impl TryFrom<Model> for Design {
    type Error = &'static str;

    /// A model from a file, which no formula has checked.
    fn try_from(model: Model) -> Result<Design, Self::Error> {
        let is_sound = |column: &Column| match &column.kind {
            Kind::Standard => true,
            Kind::Bounded { low, high } => low.is_finite() && high.is_finite() && low < high,
            Kind::Levels(levels) => !levels.is_empty(),
        };
        let is_number = !matches!(model.response.kind, Kind::Levels(_));
        match is_number && model.columns().iter().all(is_sound) {
            true => Ok(Design::new(&model)),
            false => Err("the model has a column without sound bounds or levels"),
        }
    }
}

/// A standardised 1.
const ONE: f32 = narrow(power(CELL_SCALE_BITS));

impl Scale {
    /// The lattice integer of a cell: clamped, standardised, rounded to the nearest with ties to even, saturated. A rule about one cell, whatever
    /// it holds.
    #[inline(always)]
    pub fn encode(&self, cell: f64) -> f32 {
        let standardised = (cell.clamp(self.range.0, self.range.1) - self.centre) / self.unit;
        nearest_cell(standardised * f64::from(ONE))
    }

    /// Encodes cells of the rows that are kept (1, not 0).
    #[inline(always)]
    fn write(&self, cells: &[f64], kept: &[f32], out: &mut [f32]) {
        for ((out, &cell), &kept) in out.iter_mut().zip(cells).zip(kept) {
            // Not a product, as a missing cell is NaN.
            *out = if kept > 0.0 { self.encode(cell) } else { 0.0 };
        }
    }
}

/// The nearest integer a cell can be, ties to even: at most 20 bits, so exact in `f32`. NaN becomes 0: one in a sum would erase it.
///
/// Adding 1.5 2^52 leaves no bits for a fraction, so the addition does the rounding, and unlike a call to round it runs on whole vectors.
#[inline(always)]
pub(super) fn nearest_cell(value: f64) -> f32 {
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    const LARGEST: f64 = power(CELL_RANGE_BITS);
    // Not `clamp`, which lets NaN through.
    let number = if value.is_nan() { 0.0 } else { value };
    narrow(number.clamp(-LARGEST, LARGEST) + WHOLE - WHOLE)
}

impl Slot {
    /// The standardised value of the slot where the column's own value is 0.
    fn value_at_zero(&self) -> f64 {
        match self {
            Slot::Intercept => 1.0,
            Slot::Number { scale, .. } => -scale.centre / scale.unit,
            Slot::Level { .. } => 0.0,
        }
    }
}

fn slots_of(feature: usize, column: &Column, centred: bool) -> Vec<Slot> {
    match &column.kind {
        Kind::Levels(levels) => {
            (1..).zip(levels.iter().skip(1)).map(|(level, _)| Slot::Level { feature, level }).collect()
        }
        kind => {
            let scale = scale_of(kind, centred).expect("not levels");
            vec![Slot::Number { feature, scale }]
        }
    }
}

/// Without an intercept nothing may be shifted, so bounds are then only scaled.
fn scale_of(kind: &Kind, centred: bool) -> Option<Scale> {
    match *kind {
        Kind::Standard => Some(Scale { centre: 0.0, unit: 1.0, range: (f64::NEG_INFINITY, f64::INFINITY) }),
        Kind::Bounded { low, high } if centred => {
            Some(Scale { centre: low / 2.0 + high / 2.0, unit: high / 2.0 - low / 2.0, range: (low, high) })
        }
        Kind::Bounded { low, high } => Some(Scale { centre: 0.0, unit: low.abs().max(high.abs()), range: (low, high) }),
        Kind::Levels(_) => None,
    }
}

/// 1 for each row without a missing cell, 0 for each other.
#[inline(always)]
fn complete_rows(block: &Block, rows: Range<usize>) -> [f32; BLOCK_ROWS] {
    let mut complete = [1.0; BLOCK_ROWS];
    for column in &block.columns {
        match column {
            Cells::Numbers(cells) => {
                for (complete, cell) in complete.iter_mut().zip(&cells[rows.clone()]) {
                    *complete = if cell.is_finite() { *complete } else { 0.0 };
                }
            }
            Cells::Levels(codes) => {
                for (complete, &code) in complete.iter_mut().zip(&codes[rows.clone()]) {
                    *complete = if code == MISSING { 0.0 } else { *complete };
                }
            }
        }
    }
    complete
}

fn numbers(cells: &Cells) -> &[f64] {
    match cells {
        Cells::Numbers(numbers) => numbers,
        Cells::Levels(_) => unreachable!("the table gives numbers for numeric columns"),
    }
}

fn levels(cells: &Cells) -> &[u32] {
    match cells {
        Cells::Levels(codes) => codes,
        Cells::Numbers(_) => unreachable!("the table gives levels for categorical columns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scales like these are refused with their bounds, but a sum must not hang on that.
    #[test]
    fn no_cell_and_no_scale_puts_nan_on_the_lattice() {
        let numbers = [0.0, -0.0, 1.0, 5e-324, -1e308, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for unit in numbers {
            for (centre, cell) in numbers.into_iter().flat_map(|centre| numbers.map(|cell| (centre, cell))) {
                let encoded = Scale { centre, unit, range: (f64::NEG_INFINITY, f64::INFINITY) }.encode(cell);
                assert!(encoded.abs() <= (1u32 << CELL_RANGE_BITS) as f32, "{centre} {unit} {cell}: {encoded}");
                assert_eq!(encoded, encoded.trunc(), "{centre} {unit} {cell}");
            }
        }
    }
}
