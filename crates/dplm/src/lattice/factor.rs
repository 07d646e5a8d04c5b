//! Functions of the cells of one row.

use crate::{
    formula::{CurveShape, Expression, Range},
    table::{Block, Cells, MISSING},
};

/// Where one row's cells are: a block with every column of the model, and the range that each
/// column's numbers are clamped to.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub block: &'a Block,
    pub ranges: &'a [Range],
    pub row: usize,
}

impl Row<'_> {
    /// The number in a column, clamped.
    #[inline(always)]
    pub(super) fn number(self, column: usize) -> f64 {
        let Range { low, high } = self.ranges[column];
        numbers(&self.block.columns[column])[self.row].clamp(low, high)
    }

    /// The code of the level in a column.
    #[inline(always)]
    pub(super) fn code(self, column: usize) -> u32 {
        codes(&self.block.columns[column])[self.row]
    }

    /// Whether a column has a cell that can be used.
    pub(super) fn has(self, column: usize) -> bool {
        match &self.block.columns[column] {
            Cells::Numbers(numbers) => numbers[self.row].is_finite(),
            Cells::Levels(codes) => codes[self.row] != MISSING,
        }
    }

    /// A number computed from its cells.
    pub(super) fn value(self, expression: &Expression<usize>) -> f64 {
        expression.value(&|&column| self.number(column))
    }
}

pub(super) fn numbers(cells: &Cells) -> &[f64] {
    match cells {
        Cells::Numbers(numbers) => numbers,
        Cells::Levels(_) => unreachable!("the table gives numbers for numeric columns"),
    }
}

pub(super) fn codes(cells: &Cells) -> &[u32] {
    match cells {
        Cells::Levels(codes) => codes,
        Cells::Numbers(_) => unreachable!("the table gives levels for categorical columns"),
    }
}

/// A public function of one row: `(function - centre) / unit`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    pub function: RowFunction,
    pub centre: f64,
    pub unit: f64,
}

/// What a factor is an affine function of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowFunction {
    /// A number.
    Number(Expression<usize>),
    /// 1 where a categorical cell has this level, else 0.
    Level { column: usize, level: u32 },
    /// 1 where both categorical cells have these levels, else 0.
    Levels([(usize, u32); 2]),
    /// A polynomial or a spline of a number.
    Shape(Expression<usize>, CurveShape),
}

impl Factor {
    /// The function itself.
    pub(super) fn plain(function: RowFunction) -> Factor {
        Factor { function, centre: 0.0, unit: 1.0 }
    }

    pub(super) fn value(&self, row: Row<'_>) -> f64 {
        let value = match &self.function {
            RowFunction::Number(expression) => row.value(expression),
            RowFunction::Level { column, level } => f64::from(row.code(*column) == *level),
            RowFunction::Levels(levels) => f64::from(levels.iter().all(|&(column, level)| row.code(column) == level)),
            RowFunction::Shape(expression, shape) => shape.value(row.value(expression)),
        };
        (value - self.centre) / self.unit
    }

    /// Whether it is 0 or 1.
    pub(super) fn is_level(&self) -> bool {
        matches!(self.function, RowFunction::Level { .. } | RowFunction::Levels(_))
    }
}

/// The value of a product; 1 for the product of none.
pub(super) fn product(factors: &[Factor], row: Row<'_>) -> f64 {
    factors.iter().map(|factor| factor.value(row)).product()
}
