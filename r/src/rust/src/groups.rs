//! The fits of several groups. R keeps them as their JSON.
#![allow(unsafe_code)] // `#[savvy]` writes it, and tables are shared.

use dplm::{
    report::{grouped_summary, grouped_to_json, to_json},
    FittedGroup, GroupOutcome, GroupedFit, Warning,
};
use dplm_report::{grouped_to_html, Cover};
use dplm_simulate::pretend;
use savvy::{savvy, OwnedListSexp, Sexp};

use crate::{
    failure::{answer, Refusal},
    fit::{as_in_file, as_marked, write},
    value::{list, parsed, texts},
};

/// What a reader should know, each with whether it is about privacy itself.
pub fn warnings_of(fit: &GroupedFit) -> Vec<(bool, String)> {
    let sentence = |(levels, warning): (Vec<&str>, &Warning)| {
        let of = if levels.is_empty() { String::new() } else { format!("{}: ", levels.join(", ")) };
        (matches!(warning, Warning::FixedSeed), format!("{of}{warning}"))
    };
    fit.notes().into_iter().filter(|(_, warning)| !warning.is_note()).map(sentence).collect()
}

/// The fits that a text is.
fn groups(json: &str) -> Result<GroupedFit, Refusal> {
    Ok(GroupedFit::from_json(json).map_err(dplm::Error::from)?)
}

/// The document of `dplm fit --by --json`.
#[savvy]
fn native_groups_facts(json: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(parsed(&as_marked(json, grouped_to_json(&groups(json)?), pretend::mark_json))?))
}

/// For each group its `level`, and the `json` of its fit or `why` there is none.
#[savvy]
fn native_groups(json: &str) -> savvy::Result<Sexp> {
    answer(|| {
        let found = groups(json)?.groups;
        let mut all = OwnedListSexp::new(found.len(), false)?;
        for (place, group) in found.iter().enumerate() {
            all.set_value(place, described(group, json)?)?;
        }
        Ok(all.into())
    })
}

fn described(group: &FittedGroup, of: &str) -> savvy::Result<Sexp> {
    let (key, text) = match &group.outcome {
        GroupOutcome::Fitted(fit) => ("json", as_marked(of, to_json(fit), pretend::mark_json)),
        GroupOutcome::NotFitted(why) => ("why", why.clone()),
    };
    list([("level", &|| texts([&group.level])), (key, &|| texts([&text]))])
}

/// The summary of the command line.
#[savvy]
fn native_groups_summary(json: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(texts([as_marked(json, grouped_summary(&groups(json)?), pretend::mark_text)])?))
}

/// The page of `--report`.
#[savvy]
fn native_groups_page(
    json: &str,
    title: Option<&str>,
    author: Option<&str>,
    dataset: Option<&str>,
) -> savvy::Result<Sexp> {
    answer(|| {
        let [title, author, dataset] = [title, author, dataset].map(|text| text.map(str::to_owned));
        let page = grouped_to_html(&groups(json)?, &Cover { title, author, dataset });
        Ok(texts([as_marked(json, page, pretend::mark_page)])?)
    })
}

/// The JSON of the fits in a file.
#[savvy]
fn native_groups_read(path: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(texts([as_in_file(path, grouped_to_json(&GroupedFit::load(path)?))])?))
}

/// Writes the JSON of the fits to a file.
#[savvy]
fn native_groups_write(json: &str, path: &str) -> savvy::Result<Sexp> {
    answer(|| {
        groups(json)?;
        write(path, json)
    })
}
