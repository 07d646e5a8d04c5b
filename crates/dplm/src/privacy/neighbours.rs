//! Which data sets the guarantee makes hard to tell apart.

crate::choice! {
    "neighbours";
    /// The relation between neighbouring data sets. The number n of privacy units is public in
    /// both. A unit is a row, or a person: all rows with the same value in an identifier column.
    /// What is said of a row below is said of a unit.
    #[derive(Default)]
    pub enum Neighbours {
        /// One row is replaced by any other row: the paper's relation.
        #[default]
        ReplaceOne = "replace-one",
        /// One row's contribution is removed (all its cells become missing): what DP-SGD tools
        /// report.
        ZeroOut = "zero-out",
    }
}
