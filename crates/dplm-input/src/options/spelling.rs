//! How each interface spells an option, and what an error says to do about it.
//!
//! An error states a problem, and its advice names options as data. No message holds the name of an
//! option as one interface types it.

use std::{borrow::Cow, fmt};

use super::Opt;

/// Where options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The command line: `--target sample`.
    Command,
    /// Python: `target="sample"`.
    Python,
    /// R: `target = "sample"`.
    R,
    /// Rust: `target("sample")`.
    Rust,
}

/// What to do about an error, in words of which some are options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Cow<'static, str>),
    /// An option by its name.
    Option(Opt),
    /// An option with this value.
    Setting(Opt, String),
    /// An option that is on or off, switched on.
    Switch(Opt),
    /// How to make a column of text numbers.
    Numbers(String),
    /// How to keep a column's identifiers as they were written.
    Identifiers(String),
}

/// An error that says what can be done about it.
pub trait Advised: fmt::Display {
    /// What can be done.
    fn advice(&self) -> Option<Advice> {
        None
    }

    /// The problem and the advice, in one sentence, as an interface spells options.
    fn sentence(&self, to: Interface) -> String {
        match self.advice() {
            None => self.to_string(),
            Some(advice) => format!("{self}: {}", advice.spelled(to)),
        }
    }
}

impl Advice {
    /// Advice that begins with these words.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Advice {
        Advice::default().text(text)
    }

    /// And these words.
    #[must_use]
    pub fn text(self, text: impl Into<Cow<'static, str>>) -> Advice {
        self.and(Part::Text(text.into()))
    }

    /// And the name of an option.
    #[must_use]
    pub fn option(self, option: Opt) -> Advice {
        self.and(Part::Option(option))
    }

    /// And an option with a value.
    #[must_use]
    pub fn setting(self, option: Opt, value: impl fmt::Display) -> Advice {
        self.and(Part::Setting(option, value.to_string()))
    }

    /// And an option switched on.
    #[must_use]
    pub fn switch(self, option: Opt) -> Advice {
        self.and(Part::Switch(option))
    }

    /// And how to make a column of text numbers.
    #[must_use]
    pub fn numbers(self, column: &str) -> Advice {
        self.and(Part::Numbers(column.to_owned()))
    }

    /// And how to keep a column's identifiers as they were written.
    #[must_use]
    pub fn identifiers(self, column: &str) -> Advice {
        self.and(Part::Identifiers(column.to_owned()))
    }

    fn and(mut self, part: Part) -> Advice {
        self.0.push(part);
        self
    }

    /// The words, as an interface spells options.
    pub fn spelled(&self, to: Interface) -> String {
        let word = |part: &Part| match part {
            Part::Text(text) => text.clone().into_owned(),
            Part::Option(option) => to.option(*option),
            Part::Setting(option, value) => to.setting(*option, value),
            Part::Switch(option) => to.switch(*option),
            Part::Numbers(column) => to.numbers(column),
            Part::Identifiers(column) => to.identifiers(column),
        };
        self.0.iter().map(word).collect()
    }
}

impl Interface {
    /// The option, as it is named in a sentence.
    pub fn option(self, option: Opt) -> String {
        self.flag(option.name())
    }

    /// A name of an option, here or elsewhere, as it is named in a sentence.
    pub(super) fn flag(self, name: &str) -> String {
        match self {
            Interface::Command => format!("--{}", name.replace('_', "-")),
            Interface::Python | Interface::R | Interface::Rust => name.to_owned(),
        }
    }

    /// The option with a value, as it is typed.
    pub fn setting(self, option: Opt, value: impl fmt::Display) -> String {
        let name = self.option(option);
        match self {
            Interface::Command => format!("{name} {value}"),
            Interface::Python => format!("{name}=\"{value}\""),
            Interface::R => format!("{name} = \"{value}\""),
            Interface::Rust => format!("{name}(\"{value}\")"),
        }
    }

    /// The option switched on, as it is typed.
    pub fn switch(self, option: Opt) -> String {
        let name = self.option(option);
        match self {
            Interface::Command => name,
            Interface::Python => format!("{name}=True"),
            Interface::R => format!("{name} = TRUE"),
            Interface::Rust => format!("{name}(true)"),
        }
    }

    fn numbers(self, column: &str) -> String {
        match self {
            Interface::Command | Interface::Rust => "store it as numbers".to_owned(),
            Interface::Python => {
                format!(r#"make it numbers, as with pd.to_numeric(df["{column}"], errors="coerce")"#)
            }
            Interface::R => format!("make it numbers, as with as.numeric(as.character(data$`{column}`))"),
        }
    }

    fn identifiers(self, column: &str) -> String {
        match self {
            Interface::Command | Interface::Rust => "store it as integers or text".to_owned(),
            Interface::Python => format!(
                "read it as text, as with pd.read_csv(..., dtype={{\"{column}\": \"string\"}}), or make it integers \
                 where no digit is lost yet, as with df[\"{column}\"].astype(\"Int64\")"
            ),
            Interface::R => format!(
                "make it integers with as.integer(data$`{column}`), or read it as text: \
                 as.character(data$`{column}`) is not what was written once digits are lost"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_spells_options_as_its_users_type_them() {
        let advice = Advice::new("ask for ").setting(Opt::Target, "sample").text(", or (with ").switch(Opt::OtherTable);
        let advice = advice.text(") leave ").option(Opt::RowsPerPerson).text(" out");
        for (to, spelled) in [
            (Interface::Command, "ask for --target sample, or (with --other-table) leave --rows-per-person out"),
            (Interface::Python, "ask for target=\"sample\", or (with other_table=True) leave rows_per_person out"),
            (Interface::R, "ask for target = \"sample\", or (with other_table = TRUE) leave rows_per_person out"),
            (Interface::Rust, "ask for target(\"sample\"), or (with other_table(true)) leave rows_per_person out"),
        ] {
            assert_eq!(advice.spelled(to), spelled);
        }
        assert!(
            Advice::default().numbers("age").spelled(Interface::R).ends_with("as.numeric(as.character(data$`age`))")
        );
    }
}
