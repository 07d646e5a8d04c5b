//! The options of a fit and of a plan: one table of all of them, and those whose value
//! is a word.
//!
//! Errors name an option by its [`Opt`], and each interface spells it as its users type it.

mod table;
mod words;
mod spelling;

#[doc(hidden)]
pub use crate::option_table;
pub use spelling::{Advice, Advised, Interface};
#[doc(hidden)]
pub use words::chosen;
pub use words::{Choice, Device, Family, IntervalMethod, Purpose, Target, UnknownWord};

macro_rules! names {
    ($($part:ident {
        $($(#[doc = $doc:literal])+ $opt:ident $name:ident: $type:ty = $default:expr, $value:literal, $heading:ident,
            [$($command:ident)*], {$($flag:ident: $set:expr),*};)+
    })+) => {
        /// An option, by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Opt {
            $($(
                $(#[doc = $doc])+
                $opt,
            )+)+
        }

        impl Opt {
            /// Every option, in the order of the table.
            pub const ALL: &[Opt] = &[$($(Opt::$opt),+),+];

            /// Its name: the key in files, the argument in Python and R, the setter in Rust.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Opt::$opt => stringify!($name),)+)+
                }
            }
        }
    };
}

option_table!(names);

/// What to do in place of an option that other programs have, by its name; `None` if none of them
/// is known to have it.
pub fn of_other_programs(name: &str, to: Interface) -> Option<String> {
    let advice = match name {
        "cluster" | "clusters" | "cluster_by" | "cov_type" | "se" | "vce" | "vcov" => {
            Advice::new("standard errors allow for errors of any size, and are clustered by what is protected: ")
                .setting(Opt::Person, "firm")
                .text(" clusters by firm and protects whole firms, with the noise of a table that has one row for each")
        }
        "robust" | "hc1" => Advice::new("standard errors never assume equal variances, and ")
            .setting(Opt::Target, "robust")
            .text(" is for the robust (Huber) coefficients"),
        "delimiter" | "sep" | "separator" => {
            Advice::new("write ").setting(Opt::Csv, "semicolon").text(", tab or pipe; a file of tabs ends in .tsv")
        }
        "alpha" | "confidence" => {
            Advice::new("write ").setting(Opt::Level, "0.95").text(" for intervals that cover 95 % of the time")
        }
        "budget" | "eps" => Advice::new("the budget is ").option(Opt::Rho).text(" or ").option(Opt::Epsilon),
        "output" | "out" | "save" if to == Interface::Command => {
            Advice::new("a fit is written with --json FILE, its page with --report FILE.html")
        }
        _ => return None,
    };
    Some(format!("there is no {}: {}", to.flag(name), advice.spelled(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_options_are_answered() {
        let of = |name, to| of_other_programs(name, to).unwrap_or_default();
        let sentence = of("cluster", Interface::Command);
        assert!(sentence.starts_with("there is no --cluster: ") && sentence.contains("--person firm clusters"));
        assert!(of("cov_type", Interface::Command).starts_with("there is no --cov-type: "));
        assert!(of("cluster", Interface::Python).contains("person=\"firm\" clusters"));
        assert!(
            of("sep", Interface::Command).contains("--csv semicolon")
                && of("alpha", Interface::Python).contains("level=")
        );
        assert_eq!(of("out", Interface::Python), "");
        assert_eq!(of("clutser", Interface::R), "");
    }
}
