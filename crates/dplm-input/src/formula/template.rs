//! The model file that the user fills in.

use super::model_file::{key, quote};
use crate::schema::{Field, Schema, Type};

const HEAD: &str = "\
# A model for dplm. Fill in every blank from public knowledge: a code book, a law, common sense.
# Never look the values up in the data: a bound read off the data is not public, and using it breaks the guarantee.
# To leave a column out, delete its table. Columns enter the model in the order of this file.

response = \"\"        # the column to explain
intercept = true     # whether a constant is fitted
# formula = \"log(y) ~ x + poly(z, 2)\"    # instead of these two, for functions and products of the columns below
";

const BOUNDS: &str = "\
low = \"\"             # the smallest value it may take; smaller ones are raised to it
high = \"\"            # the largest value it may take; larger ones are lowered to it
";

const DATES: &str = "\
low = \"\"             # the first day it may hold, as 2020-01-01; earlier ones are raised to it
high = \"\"            # the last day it may hold; later ones are lowered to it
";

const LEVELS: &str = "\
levels = []          # the values it may take, in quotes; the first is the reference; \"*\" stands for any other
";

const EITHER: &str = "\
low = \"\"             # for a number: the smallest value it may take; smaller ones are raised to it
high = \"\"            # the largest value it may take; larger ones are lowered to it
# levels = []        # for a category, instead of low and high: its values in quotes; the first is the reference
";

/// The TOML that `dplm init` writes: every column with its type, and a blank for each public fact
/// about it.
///
/// It is valid TOML, but [`Formula::from_toml`](super::Formula::from_toml) refuses it until the
/// blanks of every remaining column are filled in.
///
/// # Guarantee
/// The template holds column names, and types if the table declares them. Nothing in it comes from
/// cells.
///
/// # Examples
/// ```
/// use dplm::{formula, table::{Field, Schema, Type}};
/// let schema = Schema::new(vec![Field::new("age", Type::Number)]);
/// assert!(formula::template(&schema).contains("[columns.age]           # number"));
/// ```
pub fn template(schema: &Schema) -> String {
    schema.fields().iter().fold(HEAD.to_owned(), |text, field| text + "\n" + &table(field))
}

fn table(field: &Field) -> String {
    let (name, blanks) = match field.kind {
        Type::Number | Type::Integer => ("number", BOUNDS),
        Type::Boolean => ("true or false", LEVELS),
        Type::Text => ("text", LEVELS),
        Type::Undeclared => ("a number, or levels", EITHER),
        Type::Date => ("date", DATES),
        Type::Unsupported => return unusable(field),
    };
    format!("{:<23} # {name}\n{blanks}", format!("[columns.{}]", key(&field.name)))
}

fn unusable(field: &Field) -> String {
    format!("# {} is of a type that a model cannot use; turn it into a number in the data first.\n", quote(&field.name))
}
