//! From a model to columns of the design matrix, and back to coefficients in their own units.

use std::collections::HashSet;

use crate::{
    Contrast,
    formula::{Column, Expression, Formula, FormulaError, Kind, Model, Range, Variable, Weights},
    options::Family,
    table::{Block, Cells, MISSING},
};

use super::{
    BLOCK_ROWS,
    basis::Basis,
    bits::{CELL_RANGE_BITS, CELL_SCALE_BITS},
    block::LaneWriter,
    exact::{narrow, power},
    factor::{Factor, Row, RowFunction, codes, numbers, product},
};

/// A public affine scale: a standardised value is `(cell - centre) / unit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnScale {
    /// The cell that becomes 0.
    pub centre: f64,
    /// The distance that becomes 1.
    pub unit: f64,
    /// Cells are clamped to this range first.
    pub range: (f64, f64),
}

/// One column of the design matrix, standardised.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// The constant 1.
    Intercept,
    /// A number.
    Number {
        /// Which of the columns that are read.
        column: usize,
        /// How its cells are standardised.
        scale: ColumnScale,
    },
    /// 1 where a categorical cell has this level, else 0.
    Level {
        /// Which of the columns that are read.
        column: usize,
        /// Which of its levels.
        level: u32,
    },
    /// Anything else.
    Product(Product),
}

/// A product of functions of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Product(Vec<Factor>);

impl Slot {
    /// Whether it is 1 for the rows of a level, or of a combination of levels, and 0 for the
    /// others.
    pub fn is_level(&self) -> bool {
        match self {
            Slot::Level { .. } => true,
            Slot::Product(Product(factors)) => factors.iter().all(Factor::is_level),
            Slot::Intercept | Slot::Number { .. } => false,
        }
    }

    /// Whether it is 0 for the rows of other levels.
    pub(crate) fn has_level(&self) -> bool {
        match self {
            Slot::Level { .. } => true,
            Slot::Product(Product(factors)) => factors.iter().any(Factor::is_level),
            Slot::Intercept | Slot::Number { .. } => false,
        }
    }

    fn of(factors: Vec<Factor>, ranges: &[Range]) -> Slot {
        match &factors[..] {
            [] => Slot::Intercept,
            [Factor { function: RowFunction::Number(Expression::Column(column)), centre, unit }] => {
                let Range { low, high } = ranges[*column];
                Slot::Number {
                    column: *column,
                    scale: ColumnScale { centre: *centre, unit: *unit, range: (low, high) },
                }
            }
            [Factor { function: RowFunction::Level { column, level }, .. }] => {
                Slot::Level { column: *column, level: *level }
            }
            _ => Slot::Product(Product(factors)),
        }
    }
}

/// The public rule that turns one row of the table into one row of the lattice.
///
/// In a file it is the model that it was made from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Design {
    model: Model,
    columns: Vec<Column>,
    /// What the numbers of each column are clamped to.
    ranges: Vec<Range>,
    names: Vec<String>,
    /// The columns of the design matrix in their own units.
    asked: Vec<Vec<Factor>>,
    slots: Vec<Slot>,
    /// Each slot as a combination of the columns of the design matrix.
    combinations: Vec<Vec<(usize, f64)>>,
    /// The response less the offsets.
    fitted: Expression<usize>,
    response: ColumnScale,
    offset: Option<Expression<usize>>,
    /// What each row is multiplied by the root of; its column is the last that is read.
    weights: Option<Weights>,
    /// Whether rows are encoded without their response, which is a column like others.
    is_silent: bool,
}

/// What to do with a row: the values that multiply the coefficients, and what is added to their
/// sum; `None` if a cell is missing.
pub type RowVisitor<'a> = dyn FnMut(Option<(&[f64], f64)>) + 'a;

impl Design {
    /// The design of a model: numbers become -1 to 1, levels 0 and 1, and standard columns stay as
    /// they are.
    pub fn new(model: &Model) -> Design {
        let basis = Basis::of(model);
        let columns = model.columns();
        let range = |column: &Column| column.kind.bounds().map_or(Range::ALL, |(low, high)| Range { low, high });
        let ranges: Vec<Range> = columns.iter().map(range).collect();
        let (slots, combinations) =
            basis.fitted().into_iter().map(|one| (Slot::of(one.factors, &ranges), one.combination)).unzip();
        let fitted = model.fitted();
        Design {
            slots,
            combinations,
            names: model.coefficient_names(),
            asked: basis.asked(),
            response: match model.binary_response() {
                Some(_) => ColumnScale::BINARY,
                None => scale_of(basis.range(&fitted), model.spans_constant()),
            },
            fitted: basis.placed(&fitted),
            offset: model.offset().map(|offset| basis.placed(&offset)),
            model: model.clone(),
            ranges,
            columns,
            weights: None,
            is_silent: false,
        }
    }

    /// The same for weighted rows: `(sqrt(w) x, sqrt(w) y)` in the place of `(x, y)`, the constant
    /// included.
    pub fn weighted(self, weights: Weights) -> Design {
        let mut columns = self.columns;
        columns.push(weights.column());
        let ranges = self.ranges.into_iter().chain([Range { low: 0.0, high: weights.most() }]).collect();
        Design { columns, ranges, weights: Some(weights), ..self }
    }

    /// The design of some of these columns, and of columns without bounds beside them that a row
    /// makes of the others by weights that were released.
    pub(crate) fn given_indices(&self, own: &[usize], indices: &[String]) -> Design {
        let place = |j: usize| own.iter().position(|&one| one == j);
        let combination = |&j: &usize| {
            let parts = self.combinations[j].iter();
            parts.filter_map(|&(part, share)| Some((place(part)?, share))).collect::<Vec<_>>()
        };
        let scale = ColumnScale { centre: 0.0, unit: 1.0, range: (f64::NEG_INFINITY, f64::INFINITY) };
        // They are not read from the table.
        let made = indices.iter().map(|_| Slot::Number { column: usize::MAX, scale });
        let of_made = (own.len()..).take(indices.len()).map(|place| vec![(place, 1.0)]);
        Design {
            slots: own.iter().map(|&j| self.slots[j].clone()).chain(made).collect(),
            names: own.iter().map(|&j| self.names[j].clone()).chain(indices.iter().cloned()).collect(),
            combinations: own.iter().map(combination).chain(of_made).collect(),
            asked: Vec::new(),
            ..self.clone()
        }
    }

    /// The same for rows that count alike.
    pub fn unweighted(&self) -> Design {
        Design::new(&self.model)
    }

    /// The same as rows are read. Where persons' own means are to be taken out of them it starts
    /// with the constant, which says which rows have no missing cell and how much each counts;
    /// where there is an instrument it is `with_moments`.
    pub fn as_read(&self) -> Design {
        let asked = self.with_moments().unwrap_or_else(|| self.clone());
        let constant = self.is_within().then_some(Slot::Intercept);
        Design { slots: constant.into_iter().chain(asked.slots.iter().cloned()).collect(), ..asked }
    }

    /// The design of a model with instruments: columns of the controls, the instruments, the
    /// regressor and the response, in this order, except that products may stand elsewhere. There
    /// is no other response.
    pub(crate) fn with_moments(&self) -> Option<Design> {
        let all = Design::new(&self.model.with_moments()?);
        let (columns, ranges, weights) = (self.columns.clone(), self.ranges.clone(), self.weights.clone());
        Some(Design { columns, ranges, weights, is_silent: true, ..all })
    }

    /// How many columns rows have once they are read, and persons' means taken out.
    pub fn kept_features(&self) -> usize {
        self.with_moments().map_or(self.features(), |all| all.features())
    }

    /// Whether persons' own means are taken out of their rows.
    pub fn is_within(&self) -> bool {
        self.model.within().is_some()
    }

    /// The size of the largest cell with bounds: a difference of two where means are taken out.
    pub fn largest_cell(&self) -> f64 {
        if self.is_within() { 2.0 } else { 1.0 }
    }

    /// What rows are weighted by.
    pub fn weights(&self) -> Option<&Weights> {
        self.weights.as_ref()
    }

    /// The largest weight on the lattice; 1 where rows count alike.
    pub(crate) fn largest_weight(&self) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights.most() / weight_unit(weights))
    }

    /// The weight that is 1 on the lattice.
    pub(crate) fn weight_unit(&self) -> f64 {
        self.weights.as_ref().map_or(1.0, weight_unit)
    }

    /// How many coefficients there are.
    pub fn features(&self) -> usize {
        self.slots.len()
    }

    /// What the response is.
    pub fn family(&self) -> Family {
        if self.model.binary_response().is_some() { Family::Binomial } else { Family::Gaussian }
    }

    /// Whether the first coefficient is the constant.
    pub(crate) fn has_intercept(&self) -> bool {
        matches!(self.slots.first(), Some(Slot::Intercept))
    }

    /// The names of the coefficients, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns of the design matrix, in order.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// How the response, less the offsets, is standardised.
    pub fn response(&self) -> &ColumnScale {
        &self.response
    }

    /// The model that it was made from.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The columns of the table that are read: the response's first.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns that a prediction needs.
    pub fn predictors(&self) -> Vec<Column> {
        let needed = self.model.predictors();
        self.columns.iter().filter(|column| needed.contains(column.name.as_str())).cloned().collect()
    }

    /// What is publicly known of the largest squared norm of a standardised row, before it is
    /// weighted. None when a column has no bounds.
    pub fn row_norm_sq(&self) -> Option<f64> {
        let is_standard = |column: &Column| column.kind == Kind::Standard;
        let needed = self.predictors();
        let intercept = f64::from(self.has_intercept());
        (!needed.iter().any(is_standard)).then(|| intercept + self.terms_norm_sq(f64::INFINITY))
    }

    /// The same of the terms without the intercept, where a column without bounds is at most
    /// `standard` in size: a bounded number and a group of levels add at most 1 each, and products
    /// multiply. Less their means over several rows they are at most twice as long.
    pub fn terms_norm_sq(&self, standard: f64) -> f64 {
        let bare: HashSet<&str> = self.model.assumed_standard().collect();
        let of_variable = |variable: &Variable| match variable {
            Variable::Curve(curve, _) => curve.norm_sq(),
            Variable::Value(_) if variable.as_column().is_some_and(|name| bare.contains(name)) => standard * standard,
            Variable::Value(_) | Variable::Event(_) => 1.0,
        };
        let largest_sq = self.largest_cell().powi(2);
        self.model.ordered_terms().iter().map(|term| largest_sq * term.0.iter().map(of_variable).product::<f64>()).sum()
    }

    /// The variance that rounding to the lattice gives to each column of the design matrix, in
    /// standardised units: once as a cell, and once more where a mean is taken out of it.
    pub(crate) fn rounding_variances(&self) -> Vec<f64> {
        let step = f64::from(ONE).recip();
        let is_whole = |slot: &Slot| self.weights.is_none() && (*slot == Slot::Intercept || slot.is_level());
        let times = |slot: &Slot| f64::from(u8::from(!is_whole(slot)) + u8::from(self.is_within()));
        self.slots.iter().map(|slot| times(slot) * step * step / 12.0).collect()
    }

    /// For each column of the design matrix, the other columns that are subtracted from it, except
    /// the constant: without one of them it would mean something else.
    pub(crate) fn margins(&self) -> Vec<Vec<usize>> {
        let is_other = |slot: usize, place: usize| place != slot && self.slots[place] != Slot::Intercept;
        let others = |(slot, parts): (usize, &Vec<(usize, f64)>)| {
            parts.iter().map(|(place, _)| *place).filter(|&place| is_other(slot, place)).collect()
        };
        self.combinations.iter().enumerate().map(others).collect()
    }

    /// Each coefficient in its own units, as a linear function of the standardised parameters.
    pub fn contrasts(&self) -> Vec<Contrast> {
        let zero = || Contrast { weights: vec![0.0; self.features()], offset: 0.0 };
        let mut contrasts: Vec<Contrast> = std::iter::repeat_with(zero).take(self.features()).collect();
        for (slot, combination) in self.combinations.iter().enumerate() {
            for &(place, share) in combination {
                contrasts[place].weights[slot] = self.response.unit * share;
            }
        }
        if let Some(Slot::Intercept) = self.slots.first() {
            contrasts[0].offset = self.response.centre;
        }
        contrasts
    }

    /// Writes some rows of a table block, no more than a lattice block has, to its lanes. A row
    /// with a missing cell becomes a row of zeros.
    #[inline(always)]
    pub(super) fn encode(&self, block: &Block, rows: std::ops::Range<usize>, out: &mut LaneWriter<'_>) {
        let complete = &complete_rows(block, rows.clone())[..rows.len()];
        let response = out.column(self.features());
        match &self.fitted {
            _ if self.is_silent => {}
            Expression::Column(column) if self.family() == Family::Binomial => {
                let codes = &codes(&block.columns[*column])[rows.clone()];
                for ((out, &code), kept) in response.iter_mut().zip(codes).zip(complete) {
                    *out = if code == 1 { ONE * kept } else { -ONE * kept };
                }
            }
            Expression::Column(column) => {
                self.response.write(&numbers(&block.columns[*column])[rows.clone()], complete, response);
            }
            expression => self.write_computed(block, rows.clone(), complete, response, |row| {
                self.response.encode(row.value(expression))
            }),
        }
        for (index, slot) in self.slots.iter().enumerate() {
            let out = out.column(index);
            match slot {
                Slot::Intercept => out.iter_mut().zip(complete).for_each(|(out, kept)| *out = ONE * kept),
                Slot::Number { column, scale } => {
                    scale.write(&numbers(&block.columns[*column])[rows.clone()], complete, out);
                }
                Slot::Level { column, level } => {
                    let codes = &codes(&block.columns[*column])[rows.clone()];
                    for ((out, code), kept) in out.iter_mut().zip(codes).zip(complete) {
                        *out = if code == level { ONE * kept } else { 0.0 };
                    }
                }
                Slot::Product(Product(factors)) => {
                    self.write_computed(block, rows.clone(), complete, out, |row| {
                        nearest_cell(product(factors, row) * f64::from(ONE))
                    });
                }
            }
        }
        if let Some(weights) = &self.weights {
            self.weigh(weights, &numbers(&block.columns[self.columns.len() - 1])[rows], out);
        }
    }

    /// Multiplies each row by the root of its weight and rounds it to the lattice: products of two
    /// cells then count as often as the weight says.
    fn weigh(&self, weights: &Weights, cells: &[f64], out: &mut LaneWriter<'_>) {
        let (most, unit) = (weights.most(), weight_unit(weights));
        let mut factors = [0.0; BLOCK_ROWS];
        // A weight that is missing is NaN, of which the larger with 0 is 0.
        factors.iter_mut().zip(cells).for_each(|(factor, weight)| *factor = (weight.max(0.0).min(most) / unit).sqrt());
        for column in 0..=self.features() {
            let cells = out.column(column).iter_mut().zip(factors);
            cells.for_each(|(cell, factor)| *cell = nearest_cell(f64::from(*cell) * factor));
        }
    }

    /// Writes a function of each row that is kept.
    fn write_computed(
        &self,
        block: &Block,
        rows: std::ops::Range<usize>,
        kept: &[f32],
        out: &mut [f32],
        value: impl Fn(Row<'_>) -> f32,
    ) {
        for ((out, row), &kept) in out.iter_mut().zip(rows).zip(kept) {
            *out = if kept > 0.0 { value(Row { block, ranges: &self.ranges, row }) } else { 0.0 };
        }
    }

    /// Visits the rows of a block of [`predictors`](Self::predictors): the values that multiply the
    /// coefficients, and what is added to their sum; none for a row with a missing cell.
    pub fn for_each_row(&self, block: Block, each: &mut RowVisitor<'_>) {
        let mut values = vec![0.0; self.features()];
        let (block, read) = self.with_gaps(block);
        for row in 0..block.rows {
            let row = Row { block: &block, ranges: &self.ranges, row };
            if !read.iter().all(|&column| row.has(column)) {
                each(None);
                continue;
            }
            values.iter_mut().zip(&self.asked).for_each(|(value, factors)| *value = product(factors, row));
            each(Some((&values, self.offset.as_ref().map_or(0.0, |offset| row.value(offset)))));
        }
    }

    /// A block of predictors as a block of all columns, and which of them it has.
    fn with_gaps(&self, block: Block) -> (Block, Vec<usize>) {
        let mut cells = block.columns.into_iter();
        let (mut columns, mut read) = (Vec::new(), Vec::new());
        let needed = self.model.predictors();
        for (place, column) in self.columns.iter().enumerate() {
            if needed.contains(column.name.as_str()) {
                read.push(place);
                columns.push(cells.next().expect("the block has every predictor"));
            } else {
                columns.push(Cells::Numbers(Vec::new()));
            }
        }
        (Block { rows: block.rows, columns }, read)
    }

    /// One row of a block of [`columns`](Self::columns) as written, not clamped: the columns of the
    /// design matrix and the response less the offsets. `None` if a cell is missing, or something
    /// cannot be computed from it.
    pub fn row_as_written(&self, block: &Block, row: usize) -> Option<(Vec<f64>, f64)> {
        let row = Row { block, ranges: &vec![Range::ALL; self.columns.len()], row };
        let complete = (0..self.columns.len()).all(|column| row.has(column));
        let values = || self.asked.iter().map(|factors| product(factors, row)).collect::<Vec<f64>>();
        let found = complete.then(|| (values(), row.value(&self.fitted)));
        found.filter(|(values, response)| values.iter().chain([response]).all(|value| value.is_finite()))
    }

    /// One row of a block of [`columns`](Self::columns) as the lattice has it, in standardised
    /// units: the slots and the response. `None` if a cell is missing.
    pub fn standardised_row(&self, block: &Block, row: usize) -> Option<(Vec<f64>, f64)> {
        let mut lanes = vec![0.0; (self.features() + 1) * BLOCK_ROWS];
        let place = Row { block, ranges: &self.ranges, row };
        let complete = (0..self.columns.len()).all(|column| place.has(column));
        self.encode(block, row..row + 1, &mut LaneWriter::new(&mut lanes, 0, 1));
        let cell = |index: usize| f64::from(lanes[index * BLOCK_ROWS] / ONE);
        complete.then(|| ((0..self.features()).map(cell).collect(), cell(self.features())))
    }
}

impl From<Design> for String {
    fn from(design: Design) -> String {
        design.model.to_string()
    }
}

impl TryFrom<String> for Design {
    type Error = FormulaError;

    /// A model from a file.
    fn try_from(text: String) -> Result<Design, FormulaError> {
        Ok(Design::new(&Formula::parse_any(&text)?.into_model()?))
    }
}

/// A standardised 1.
const ONE: f32 = narrow(power(CELL_SCALE_BITS));

impl ColumnScale {
    /// Of a response that is one of two: -1 or 1, and its coefficients are what they are.
    const BINARY: ColumnScale = ColumnScale { centre: 0.0, unit: 1.0, range: (-1.0, 1.0) };

    /// The lattice integer of a cell: clamped, standardised, rounded to the nearest with ties to
    /// even, saturated. A rule about one cell, whatever it holds.
    #[inline(always)]
    pub fn encode(&self, cell: f64) -> f32 {
        let standardised = (cell.clamp(self.range.0, self.range.1) - self.centre) / self.unit;
        nearest_cell(standardised * f64::from(ONE))
    }

    /// Encodes cells of the rows that are kept (1, not 0).
    #[inline(always)]
    fn write(&self, cells: &[f64], kept: &[f32], out: &mut [f32]) {
        let (low, high) = self.range;
        for ((out, &cell), &kept) in out.iter_mut().zip(cells).zip(kept) {
            // The same as `encode` for cells that are numbers: `max` and `min` do what `clamp`
            // does, and run on whole vectors.
            let standardised = (cell.max(low).min(high) - self.centre) / self.unit;
            let cell = nearest_cell(standardised * f64::from(ONE));
            // Not a product, as a missing cell is NaN.
            *out = if kept > 0.0 { cell } else { 0.0 };
        }
    }
}

/// The nearest integer a cell can be, ties to even: at most 20 bits, so exact in `f32`. NaN becomes
/// 0: one in a sum would erase it.
///
/// Adding 1.5 2^52 leaves no bits for a fraction, so the addition does the rounding, and unlike a
/// call to round it runs on whole vectors.
#[inline(always)]
pub(super) fn nearest_cell(value: f64) -> f32 {
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    const LARGEST: f64 = power(CELL_RANGE_BITS);
    // Not `clamp`, which lets NaN through.
    let number = if value.is_nan() { 0.0 } else { value };
    narrow(number.clamp(-LARGEST, LARGEST) + WHOLE - WHOLE)
}

/// Cells grow by at most this factor when they are weighted, so that most stay far below
/// saturation.
const LARGEST_ROOT: f64 = 16.0;

/// The weight at which a cell stays what it is: 1 where bounds allow that, so that weights whose
/// mean is about 1 leave rows at their scale.
fn weight_unit(weights: &Weights) -> f64 {
    1f64.clamp(weights.most() / (LARGEST_ROOT * LARGEST_ROOT), weights.most())
}

/// Without an intercept nothing may be shifted, so bounds are then only scaled.
fn scale_of(range: Range, centred: bool) -> ColumnScale {
    let Range { low, high } = range;
    match range.is_bounded() {
        false => ColumnScale { centre: 0.0, unit: 1.0, range: (low, high) },
        true if centred => ColumnScale { centre: range.centre(), unit: range.half_width(), range: (low, high) },
        true => ColumnScale { centre: 0.0, unit: range.size(), range: (low, high) },
    }
}

/// 1 for each row without a missing cell, 0 for each other.
#[inline(always)]
fn complete_rows(block: &Block, rows: std::ops::Range<usize>) -> [f32; BLOCK_ROWS] {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Scales like these are refused with their bounds, but a sum must not hang on that.
    #[test]
    fn no_cell_and_no_scale_puts_nan_on_the_lattice() {
        let numbers = [0.0, -0.0, 1.0, 5e-324, -1e308, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for unit in numbers {
            for (centre, cell) in numbers.into_iter().flat_map(|centre| numbers.map(|cell| (centre, cell))) {
                let encoded = ColumnScale { centre, unit, range: (f64::NEG_INFINITY, f64::INFINITY) }.encode(cell);
                assert!(encoded.abs() <= (1u32 << CELL_RANGE_BITS) as f32, "{centre} {unit} {cell}: {encoded}");
                assert_eq!(encoded, encoded.trunc(), "{centre} {unit} {cell}");
            }
        }
    }
}
