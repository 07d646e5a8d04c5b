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
