//! The options of the library's table, as arguments of the commands that take them.

use std::{ffi::OsStr, marker::PhantomData, path::PathBuf};

use clap::{
    Arg, ArgAction, ArgMatches, FromArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser},
    error::{ContextKind, ContextValue},
    parser::ValueSource,
};
use dplm::{
    options::{Interface, Opt},
    request::{Command, Heading, OptionKind, OptionSpec, Said, Value},
};

use super::{bytes, number, whole};
use crate::places::{InputFile, LedgerInput};

/// A command that takes options of the table.
pub trait Takes: Clone + Send + Sync + 'static {
    /// Which it is.
    const COMMAND: Command;
}

macro_rules! commands {
    ($($name:ident)+) => {
        $(
            #[doc = concat!("The options of `", stringify!($name), "`.")]
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Takes for $name {
                const COMMAND: Command = Command::$name;
            }
        )+
    };
}

commands! { Fit Plan Diagnose Refine Study Moments Account Record }

/// What was typed of the options of a command.
#[derive(Clone, Debug)]
pub struct Options<T> {
    /// The options and their values.
    pub said: Said,
    /// The file of the model, in place of a formula.
    pub model: Option<InputFile>,
    /// The file of moments.
    pub moments: Option<InputFile>,
    command: PhantomData<T>,
}

impl<T: Takes> clap::Args for Options<T> {
    fn augment_args(command: clap::Command) -> clap::Command {
        OptionSpec::of(T::COMMAND).fold(command, |command, spec| {
            let command = command.arg(argument::<T>(spec));
            if spec.option == Opt::Formula { command.arg(model_file::<T>()) } else { command }
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<T: Takes> FromArgMatches for Options<T> {
    fn from_arg_matches(typed: &ArgMatches) -> Result<Options<T>, clap::Error> {
        let is_typed = |spec: &&OptionSpec| {
            let source = typed.value_source(spec.option.name());
            source.is_some_and(|source| source != ValueSource::DefaultValue)
        };
        let is_file = |option: Opt| matches!(option, Opt::Moments);
        let said = OptionSpec::of(T::COMMAND).filter(|spec| !is_file(spec.option)).filter(is_typed);
        let file = |name| typed.try_get_one::<InputFile>(name).ok().flatten().cloned();
        Ok(Options {
            said: said.map(|spec| (spec.option, value(spec, typed))).collect(),
            model: file(MODEL),
            moments: file(Opt::Moments.name()),
            command: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, typed: &ArgMatches) -> Result<(), clap::Error> {
        *self = Options::from_arg_matches(typed)?;
        Ok(())
    }
}

const MODEL: &str = "model";

/// A model file is a formula that is written elsewhere, and not an option of its own.
fn model_file<T: Takes>() -> Arg {
    let file = Arg::new(MODEL)
        .long(MODEL)
        .value_name("FILE")
        .value_parser(clap::value_parser!(InputFile))
        .help("The model in a TOML file; 'dplm init' prints a template")
        .help_heading("Model");
    if takes::<T>(Opt::Features) { file.conflicts_with(Opt::Features.name()) } else { file }
}

/// A fit has a model, from a formula or a file; a plan may do with the number of its features.
fn modelled<T: Takes>(option: Opt, argument: Arg) -> Arg {
    let features = takes::<T>(Opt::Features).then(|| Opt::Features.name());
    match option {
        Opt::Formula => {
            let others = [MODEL].into_iter().chain(features);
            argument.required_unless_present_any(others.clone()).conflicts_with_all(others)
        }
        Opt::Moments => argument.conflicts_with_all(features),
        _ => argument,
    }
}

fn takes<T: Takes>(option: Opt) -> bool {
    OptionSpec::of(T::COMMAND).any(|spec| spec.option == option)
}

fn value(spec: &OptionSpec, typed: &ArgMatches) -> Value {
    let name = spec.option.name();
    match spec.kind {
        OptionKind::Truth => Value::Truth(typed.get_flag(name)),
        OptionKind::Path => {
            let ledger = typed.get_one::<LedgerInput>(name).expect("it was typed");
            Value::Path(PathBuf::from(ledger.clone()))
        }
        OptionKind::Texts => {
            let texts = typed.get_many::<String>(name).expect("it was typed");
            Value::Texts(texts.cloned().collect())
        }
        _ => typed.get_one::<Value>(name).expect("it was typed").clone(),
    }
}

fn argument<T: Takes>(spec: &OptionSpec) -> Arg {
    let name = spec.option.name();
    let long = Interface::Command.option(spec.option);
    let mut argument = Arg::new(name).long(long.trim_start_matches('-').to_owned()).help(spec.help());
    argument = match spec.heading {
        Heading::Data | Heading::Question => argument,
        heading => argument.help_heading(format!("{heading:?}")),
    };
    argument = match spec.kind {
        OptionKind::Truth => argument.action(ArgAction::SetTrue),
        _ => valued(spec, argument),
    };
    let flags = spec.flags;
    let takes = |option: &Opt| takes::<T>(*option);
    argument = flags.short.map_or(argument.clone(), |letter| argument.short(letter));
    argument = flags.alias.map_or(argument.clone(), |alias| argument.alias(alias));
    argument = flags.env.map_or(argument.clone(), |env| argument.env(env).hide_env_values(true));
    argument = flags.excludes.filter(takes).map_or(argument.clone(), |other| argument.conflicts_with(other.name()));
    let needs = flags.needs.filter(takes).filter(|_| T::COMMAND != Command::Study || spec.option != Opt::RowsPerPerson);
    argument = needs.map_or(argument.clone(), |other| argument.requires(other.name()));
    argument = modelled::<T>(spec.option, argument);
    if spec.flags.required { argument.required(true) } else { argument }
}

/// An argument that takes a value.
fn valued(spec: &OptionSpec, argument: Arg) -> Arg {
    let is_number = matches!(spec.kind, OptionKind::Number | OptionKind::Whole);
    let argument = argument.value_name(spec.value).allow_negative_numbers(is_number || spec.option == Opt::Effect);
    let argument = match spec.kind {
        OptionKind::Texts => argument.action(ArgAction::Append),
        _ => argument.action(ArgAction::Set).value_parser(parser(spec)),
    };
    let argument = match (spec.flags.usual, default(spec)) {
        (Some(usual), _) => argument.num_args(0..=1).require_equals(true).default_missing_value(usual.to_string()),
        (None, Some(default)) => argument.default_value(default),
        (None, None) => argument,
    };
    if matches!(spec.kind, OptionKind::Word(..)) || spec.option == Opt::Method {
        argument.hide_possible_values(true)
    } else {
        argument
    }
}

/// What is shown, and taken, where nothing is typed.
fn default(spec: &OptionSpec) -> Option<String> {
    match (spec.default)() {
        Value::Nothing if spec.flags.auto => Some("auto".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Whole(number) if !spec.flags.required => Some(number.to_string()),
        Value::Text(text) if matches!(spec.kind, OptionKind::Word(..)) => Some(text),
        _ => None,
    }
}

fn parser(spec: &OptionSpec) -> ValueParser {
    let auto = spec.flags.auto;
    match (spec.option, spec.kind) {
        (Opt::Method, _) => methods(),
        (Opt::Rows, _) => ValueParser::from(|text: &str| super::rows(text).map(Value::Whole)),
        (Opt::Features, _) => ValueParser::from(|text: &str| super::features(text).map(|p| Value::Whole(p.into()))),
        (Opt::Moments, _) => clap::value_parser!(InputFile).into(),
        (_, OptionKind::Path) => clap::value_parser!(LedgerInput).into(),
        (_, OptionKind::Number) if auto => ValueParser::from(|text: &str| or_auto(text, number)),
        (_, OptionKind::Whole) if auto => ValueParser::from(|text: &str| or_auto(text, whole::<u64>)),
        (_, OptionKind::Number) => ValueParser::from(|text: &str| number(text).map(Value::Number)),
        (_, OptionKind::Whole) => ValueParser::from(|text: &str| whole(text).map(Value::Whole)),
        (_, OptionKind::Bytes) => ValueParser::from(|text: &str| bytes(text).map(Value::Whole)),
        (_, OptionKind::Sizes) => ValueParser::from(|text: &str| text.parse().map(Value::Sizes)),
        (_, OptionKind::Word(words, instead)) => {
            let listed = |(word, synonyms): (&'static str, &'static [&'static str])| {
                PossibleValue::new(word).aliases(synonyms.iter().copied())
            };
            let auto = auto.then(|| PossibleValue::new("auto"));
            let words = PossibleValuesParser::new(auto.into_iter().chain(words().into_iter().map(listed)));
            Words { words, instead }.map(Value::Text).into()
        }
        _ => ValueParser::from(|text: &str| Ok::<_, String>(Value::Text(text.to_owned()))),
    }
}

/// One of some words, and what to do instead of one that people look for.
#[derive(Clone)]
struct Words {
    words: PossibleValuesParser,
    instead: Option<&'static str>,
}

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(&self, command: &clap::Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        self.words.parse_ref(command, argument, value).map_err(|mut error| {
            if let (Some(instead), None) = (self.instead, error.get(ContextKind::SuggestedValue)) {
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![instead.into()]));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.words.possible_values()
    }
}

/// A number, or the word `auto`.
fn or_auto<N, E>(text: &str, number: fn(&str) -> Result<N, E>) -> Result<Value, &'static str>
where
    Value: From<N>,
{
    match text {
        "auto" => Ok(Value::Nothing),
        text => number(text).map(Value::from).map_err(|_| "give a number or auto"),
    }
}

/// The names of all methods, the library's own and others. Those of the lab are known, so that
/// asking for one gets its reason.
fn methods() -> ValueParser {
    let in_lab = dplm_methods::LAB_ONLY.iter().chain(dplm_methods::COMPARISONS);
    let in_lab = in_lab.map(|name| PossibleValue::new(*name).hide(true));
    let names = dplm_methods::offered().map(|entry| PossibleValue::new(entry.name)).chain(in_lab);
    let found = |name: String| dplm_methods::find(&name).map(|entry| Value::Text(entry.name.to_owned()));
    PossibleValuesParser::new(names).try_map(found).into()
}
