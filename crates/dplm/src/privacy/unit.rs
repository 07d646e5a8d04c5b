//! Whose data are protected.

use serde::{Deserialize, Serialize};

use crate::lattice::MOST_ROWS;

crate::choice! {
    "unit";
    /// The privacy unit: what neighbouring data sets differ in one of. How many there are is
    /// public.
    #[derive(Default)]
    pub enum Unit {
        /// A row of the table.
        #[default]
        Row = "row",
        /// All rows with the same value in an identifier column. How many rows there are is not
        /// public then.
        Person = "person",
    }
}

impl Unit {
    /// The word for several.
    pub const fn plural(self) -> &'static str {
        match self {
            Unit::Row => "rows",
            Unit::Person => "persons",
        }
    }
}

/// The privacy unit is a person: all rows with the same value in a column.
///
/// # Guarantee
/// Of each person's rows, the first `most_rows` in the order of the table count. A row without an
/// identifier belongs to nobody and contributes nothing. Identifiers are compared and forgotten;
/// none is kept, printed or written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The column that identifies persons.
    pub column: String,
    /// The most rows of a person that count; `None` for the default.
    pub rows: Option<u32>,
    /// Whether each person counts once, so that the person's rows without a missing cell share the
    /// weight; otherwise each row counts once.
    #[serde(default)]
    pub counts_once: bool,
}

impl Person {
    /// The default for the most rows of a person that count.
    pub const ROWS: u32 = 1024;

    /// Persons by this column.
    pub fn new(column: impl Into<String>) -> Person {
        Person { column: column.into(), rows: None, counts_once: false }
    }

    /// The most rows of a person that count.
    pub fn most_rows(&self) -> u32 {
        self.rows.unwrap_or(Person::ROWS)
    }

    /// Whether the number of rows of a person is within its limits.
    pub(crate) fn is_sound(&self) -> bool {
        (1..=MOST_ROWS).contains(&self.most_rows())
    }
}
