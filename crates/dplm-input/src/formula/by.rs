//! The column that `--by` groups rows by.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{Column, FormulaError, Kind};

/// A column with public levels, such as `region{north,south}`: the model is fitted in each level's
/// group.
///
/// A row whose cell matches no level is in no group and contributes nothing; the level `*` collects
/// every unlisted value in one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct By {
    name: String,
    levels: Vec<String>,
}

impl By {
    /// The column's name in the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The levels, one for each group.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// The column that is read.
    pub fn column(&self) -> Column {
        Column { name: self.name.clone(), kind: Kind::Levels(self.levels.clone()) }
    }

    /// Public sizes of the groups, written as `north=1000,south=800`, in the order of the levels.
    ///
    /// # Errors
    /// When the text has another form, or not every group has exactly one size.
    ///
    /// # Examples
    /// ```
    /// use dplm::formula::By;
    /// let by: By = "region{north,south}".parse()?;
    /// assert_eq!(by.sizes("south = 800, north = 1000")?, [1000, 800]);
    /// # Ok::<(), dplm::formula::FormulaError>(())
    /// ```
    pub fn sizes(&self, text: &str) -> Result<Vec<u64>, FormulaError> {
        let pair = |part: &str| {
            let (level, size) = part.rsplit_once('=')?;
            Some((level.trim().to_owned(), size.trim().parse().ok()?))
        };
        let pairs: Option<Vec<(String, u64)>> = text.split(',').map(pair).collect();
        self.sizes_of(&pairs.ok_or_else(|| self.expected_sizes())?)
    }

    /// The same from pairs of a level and a size.
    ///
    /// # Errors
    /// When not every group has one size.
    pub fn sizes_of(&self, pairs: &[(String, u64)]) -> Result<Vec<u64>, FormulaError> {
        let size = |level: &String| {
            let mut sizes = pairs.iter().filter(|(one, _)| one == level).map(|(_, size)| *size);
            sizes.next().filter(|_| sizes.next().is_none())
        };
        let sizes: Option<Vec<u64>> = self.levels.iter().map(size).collect();
        sizes.filter(|sizes| sizes.len() == pairs.len()).ok_or_else(|| self.expected_sizes())
    }

    fn expected_sizes(&self) -> FormulaError {
        let example: Vec<String> = self.levels.iter().take(2).map(|level| format!("{level}=1000")).collect();
        FormulaError::GroupSizes { example: example.join(",") }
    }
}

impl FromStr for By {
    type Err = FormulaError;

    fn from_str(text: &str) -> Result<By, FormulaError> {
        let Column { name, kind } = Column::parse(text)?;
        match kind {
            Kind::Levels(levels) => Ok(By { name, levels }),
            _ => Err(FormulaError::GroupLevels { column: name }),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column())
    }
}

impl TryFrom<String> for By {
    type Error = FormulaError;

    fn try_from(text: String) -> Result<By, FormulaError> {
        text.parse()
    }
}

impl From<By> for String {
    fn from(by: By) -> String {
        by.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_levels_and_one_size_each() {
        let by: By = "`my region`{north, \"a,b\",*}".parse().expect("groups");
        assert_eq!((by.name(), by.to_string().as_str()), ("my region", "`my region`{north,\"a,b\",*}"));
        let refused = |text: &str| text.parse::<By>().expect_err("refused").to_string();
        assert!(
            refused("region").contains("region{north,south}")
                && refused("region[0..4]").contains("region{north,south}")
        );
        let by: By = "r{a,b}".parse().expect("groups");
        for text in ["a=1", "a=1,b=2,b=3", "a=1,c=2", "a=1,b=x", "a=1,b=-2", "", "a,b"] {
            assert!(by.sizes(text).expect_err("refused").to_string().contains("a=1000,b=1000"), "{text}");
        }
    }
}
