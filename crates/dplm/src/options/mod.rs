//! The options of a fit and of a plan: one table of all of them, and those whose value
//! is a word.
//!
//! Errors name an option by its [`Opt`], and each interface spells it as its users type it.

mod table;
mod words;
mod spelling;

pub use spelling::{Advice, Advised, Interface};
pub(crate) use table::option_table;
#[doc(hidden)]
pub use words::chosen;
pub use words::{Choice, Device, Family, IntervalMethod, Purpose, Target, Tuning, UnknownWord};

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
    let errors = ["cluster", "clusters", "cov_type", "se", "vce", "vcov"];
    let advice = Advice::new("standard errors allow for errors of any size, and are clustered by what is protected: ")
        .setting(Opt::Person, "firm")
        .text(" clusters by firm and protects whole firms, with the noise of a table that has one row for each");
    errors.contains(&name).then(|| format!("there is no {}: {}", to.flag(name), advice.spelled(to)))
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
        assert_eq!(of("clutser", Interface::R), "");
    }
}
