//! What is asked of a fit: plain, unchecked and serialisable, the same for every interface.
//!
//! A [`FitRequest`] holds every option that may change a number or the promise, and [`RunOptions`]
//! how the fit is carried out. Both are made from the table of options, and so are the arguments of
//! every interface. [`FitRequest::check`] makes sense of a request, before anything is read.

mod value;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use crate::options::Opt;
use crate::{
    moments::Moments,
    options::{Device, Family, IntervalMethod, Purpose, Target, option_table},
    privacy::{Neighbours, noise::NoiseSource},
    table::Dialect,
};
use value::OptionValue;
pub use value::{Bytes, Given, OptionError, OptionKind, Sizes, Value};

/// What is publicly known of an option.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Which it is.
    pub option: Opt,
    /// What it takes.
    pub kind: OptionKind,
    /// Its value where nothing is said.
    pub default: fn() -> Value,
    /// The word for its value in a help text.
    pub value: &'static str,
    /// What it is listed under.
    pub heading: Heading,
    /// The commands that take it.
    pub commands: &'static [Command],
    /// What it means: the first paragraph is the help text, all of them are the reference.
    pub about: &'static [&'static str],
    /// What else there is to know.
    pub flags: Flags,
}

/// What few options have.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// Its letter on the command line.
    pub short: Option<char>,
    /// Another name on the command line, accepted and not shown.
    pub alias: Option<&'static str>,
    /// The environment variable that stands for it.
    pub env: Option<&'static str>,
    /// The option without which it means nothing.
    pub needs: Option<Opt>,
    /// The option that cannot be given with it.
    pub excludes: Option<Opt>,
    /// Whether its default is to be called `auto`.
    pub auto: bool,
    /// Its value where it is given without one.
    pub usual: Option<u64>,
    /// Whether it must be given.
    pub required: bool,
}

impl Flags {
    const NONE: Flags = Flags {
        short: None,
        alias: None,
        env: None,
        needs: None,
        excludes: None,
        auto: false,
        usual: None,
        required: false,
    };
}

/// What options are listed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are all there is to say")]
pub enum Heading {
    Data,
    Question,
    Model,
    Privacy,
    Method,
    Intervals,
    Questions,
    Output,
    Machine,
}

/// A command, or the function of that name in Python and R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are all there is to say")]
pub enum Command {
    Fit,
    Plan,
    Diagnose,
    Refine,
    Study,
    Moments,
    Account,
    Record,
}

/// The options as an interface received them, before they are understood.
pub type Said = BTreeMap<Opt, Value>;

macro_rules! fields {
    ($(#[$meta:meta])* $struct:ident, $($(#[doc = $doc:literal])+ $opt:ident $name:ident: $type:ty = $default:expr;)+) => {
        $(#[$meta])*
        pub struct $struct {
            $(
                $(#[doc = $doc])+
                pub $name: $type,
            )+
        }

        impl Default for $struct {
            fn default() -> $struct {
                $struct { $($name: $default,)+ }
            }
        }

        impl $struct {
            /// Its options.
            pub const OPTIONS: &[Opt] = &[$(Opt::$opt),+];

            $(
                $(#[doc = $doc])+
                #[must_use = "the builder is moved, not changed"]
                pub fn $name(self, value: impl Given<$type>) -> $struct {
                    $struct { $name: value.given(), ..self }
                }
            )+

            /// Takes what was said; what is said of other options stays.
            ///
            /// # Errors
            /// When a value is not one that its option takes.
            pub fn from_said(said: &mut Said) -> Result<$struct, OptionError> {
                let mut made = $struct::default();
                $(
                    if let Some(value) = said.remove(&Opt::$opt) {
                        let wrong = || OptionError::new(Opt::$opt, <$type as OptionValue>::wanted());
                        made.$name = <$type as OptionValue>::read(value).ok_or_else(wrong)?;
                    }
                )+
                Ok(made)
            }

            /// The value of an option; `None` if it is not one of these.
            pub fn value(&self, option: Opt) -> Option<Value> {
                match option {
                    $(Opt::$opt => Some(OptionValue::value(&self.$name)),)+
                    _ => None,
                }
            }
        }
    };
}

macro_rules! section {
    (request $($fields:tt)*) => {
        fields! {
            /// What is asked of a fit, plain and unchecked. A saved fit keeps it.
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields, default)]
            #[non_exhaustive]
            FitRequest, $($fields)*
        }
    };
    (run $($fields:tt)*) => {
        fields! {
            /// How a fit is carried out. It is not saved; a seed leaves its provenance.
            #[derive(Clone, Debug, PartialEq)]
            #[non_exhaustive]
            RunOptions, $($fields)*
        }
    };
    (account $($fields:tt)*) => {
        fields! {
            /// Who pays: a ledger, what it calls the data, and what it is to remember.
            #[derive(Clone, Debug, PartialEq)]
            #[non_exhaustive]
            AccountOptions, $($fields)*
        }
    };
    (instead $($fields:tt)*) => {
        fields! {
            /// What is made in place of a fit of the data.
            #[derive(Clone, Debug, PartialEq)]
            #[non_exhaustive]
            Instead, $($fields)*
        }
    };
    (question $($fields:tt)*) => {
        fields! {
            /// What is asked of a plan beside the fit that it is for.
            #[derive(Clone, Debug, PartialEq)]
            #[non_exhaustive]
            PlanQuestion, $($fields)*
        }
    };
}

macro_rules! table {
    ($($part:ident {
        $($(#[doc = $doc:literal])+ $opt:ident $name:ident: $type:ty = $default:expr, $value:literal, $heading:ident,
            [$($command:ident)*], {$($flag:ident: $set:expr),*};)+
    })+) => {
        $(section! { $part $($(#[doc = $doc])+ $opt $name: $type = $default;)+ })+

        /// Every option, in the order in which interfaces list them.
        pub const OPTIONS: &[OptionSpec] = &[
            $($(spec!($opt: $type = $default, $value, $heading, [$($command)*], {$($flag: $set),*}, [$($doc),+]),)+)+
        ];
    };
}

macro_rules! spec {
    ($opt:ident: $type:ty = $default:expr, $value:literal, $heading:ident, [$($command:ident)*],
        {$($flag:ident: $set:expr),*}, [$($doc:literal),+]) => {
        OptionSpec {
            option: Opt::$opt,
            kind: <$type as OptionValue>::KIND,
            default: || {
                let default: $type = $default;
                OptionValue::value(&default)
            },
            value: $value,
            heading: Heading::$heading,
            commands: &[$(Command::$command),*],
            about: &[$($doc),+],
            flags: Flags { $($flag: $set,)* ..Flags::NONE },
        }
    };
}

option_table!(table);

/// What a ledger knows a plan by: versioned JSON of public numbers. The same text is the same plan.
///
/// `units` is how many rows or persons there are; `beside` is what else makes it another plan: the
/// shares of a study, what a refinement adds to.
pub(crate) fn plan_identity(request: &FitRequest, units: u64, beside: &[(&str, String)]) -> String {
    let beside: BTreeMap<&str, &String> = beside.iter().map(|(key, value)| (*key, value)).collect();
    let plan = serde_json::json!({
        "form": 1,
        "dplm": env!("CARGO_PKG_VERSION"),
        "request": request,
        "units": units,
        "beside": beside,
    });
    plan.to_string()
}

impl RunOptions {
    /// Where the noise comes from.
    pub fn noise(&self) -> NoiseSource {
        self.seed.map_or(NoiseSource::System, NoiseSource::Seed)
    }
}

impl OptionSpec {
    /// Every option, in the order in which interfaces list them.
    pub fn all() -> impl Iterator<Item = &'static OptionSpec> {
        OPTIONS.iter()
    }

    /// The options that a command takes.
    pub fn of(command: Command) -> impl Iterator<Item = &'static OptionSpec> {
        OPTIONS.iter().filter(move |spec| spec.commands.contains(&command))
    }

    /// Its help text: the first paragraph of what it means, in one line.
    pub fn help(&self) -> String {
        let first = self.about.iter().map(|line| line.trim()).take_while(|line| !line.is_empty());
        first.collect::<Vec<_>>().join(" ")
    }

    /// The paragraphs after that, in one line.
    pub fn more(&self) -> String {
        let rest = self.about.iter().map(|line| line.trim()).skip_while(|line| !line.is_empty());
        rest.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
