//! A ledger for people.

use dplm::privacy::{Epsilon, Mechanisms, Promise, Unit};
use dplm_ledger::{Account, Allowance, Attribution, Entry, Kind};

use crate::{cells, layout};

/// Every account, and the hash to keep elsewhere.
pub fn accounts(accounts: &[Account], last_hash: &str) -> String {
    let parts: String = accounts.iter().map(|one| account(one) + "\n").collect();
    format!(
        "{parts}Last hash: {last_hash}\n  Keep a copy elsewhere: 'dplm ledger verify --since HASH' then notices entries that were cut off or written anew.\n"
    )
}

fn account(account: &Account) -> String {
    let Account { dataset, delta, total, spent, left, overdrawn, frozen, .. } = account;
    let lines = [
        cells!["", "rho", &format!("epsilon at delta = {delta:e}")],
        cells!["granted", total, epsilon(account.epsilon_total())],
        cells!["spent", spent, spent_epsilon(account)],
        cells!["left", left, ""],
    ];
    let stopped = match (frozen, overdrawn) {
        (Some(why), _) => format!("{}.\n", why),
        (None, true) => {
            "More was recorded than was granted, so the account is overdrawn and pays nothing more.\n".to_owned()
        }
        (None, false) => String::new(),
    };
    format!(
        "{dataset} ({})\n{}\n{stopped}{}{}",
        promised(account),
        layout::table(&lines),
        analysts(account),
        history(account)
    )
}

/// What the account promises of everything that is spent.
fn promised(account: &Account) -> String {
    let Promise { unit, person, neighbours, conversion, delta_spent: _, provenance: _ } = &account.promise;
    let of = match (unit, person) {
        (Unit::Row, _) => "rows".to_owned(),
        (Unit::Person, Some(column)) => format!("persons by {column}"),
        (Unit::Person, None) => "persons".to_owned(),
    };
    format!("neighbours: {neighbours}, of {of}; mechanisms: {}", Mechanisms::of(*conversion))
}

/// The epsilon of what was spent, where that can be added up.
fn spent_epsilon(account: &Account) -> String {
    match (account.spent.0, account.epsilon_spent()) {
        (0, _) => "0".to_owned(),
        (_, Some(spent)) => Epsilon::new(spent).to_string(),
        (_, None) => "no sum".to_owned(),
    }
}

/// What each analyst has spent and may spend; empty if nobody is named.
fn analysts(account: &Account) -> String {
    let Account { analysts, limit_of_others: others, .. } = account;
    if others.is_none()
        && account.limit_of_others_together.is_none()
        && analysts.iter().all(|one| one.analyst.is_empty())
    {
        return String::new();
    }
    let line = |one: &Allowance| {
        let who = if one.analyst.is_empty() { "nobody named" } else { &one.analyst };
        cells![who, one.spent, one.limit.map_or("-".to_owned(), |limit| limit.to_string())]
    };
    let together = account.limit_of_others_together.map(|limit| cells!["others, together", "", limit]);
    let others = others.map(|limit| cells!["others, each", "", limit]).into_iter().chain(together);
    let heads = cells!["analyst", "spent", "limit"];
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(analysts.iter().map(line)).chain(others).collect();
    layout::table(&lines) + "\n"
}

/// A line an entry; what was fitted, or noted, last and as long as it is.
fn history(account: &Account) -> String {
    let heads = cells!["entry", "time (UTC)", "what", "rho", "plan"];
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(account.entries.iter().map(line)).collect();
    let texts = std::iter::once(String::new()).chain(account.entries.iter().map(|entry| words(account, entry)));
    let table = layout::table(&lines);
    table.lines().zip(texts).map(|(line, text)| format!("{}\n", format!("{line}  {text}").trim_end())).collect()
}

/// What an entry says, who asked and what for, and whether it was a mistake.
fn words(account: &Account, entry: &Entry) -> String {
    let Attribution { analyst, purpose, note } = &entry.attribution;
    let about = entry.about.map_or(String::new(), |about| format!("of entry {about}"));
    let by = match entry.kind {
        Kind::Limit if analyst.is_empty() => "others, each".to_owned(),
        Kind::Limit if analyst == "*" => "others, together".to_owned(),
        Kind::Limit => analyst.clone(),
        _ if analyst.is_empty() => String::new(),
        _ => format!("by {analyst}"),
    };
    let mistake =
        account.reversal_of(entry).map_or(String::new(), |reversal| format!("reversed by entry {}", reversal.id));
    let parts = [&about, &entry.text, &by, purpose, note, &mistake];
    shown(&parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("; "))
}

fn epsilon(epsilon: Option<f64>) -> String {
    epsilon.map_or("0".to_owned(), |epsilon| Epsilon::new(epsilon).to_string())
}

fn line(entry: &Entry) -> Vec<String> {
    let Entry { id, time, kind, rho, plan, .. } = entry;
    let sign = match kind {
        Kind::Init | Kind::Grant => "+",
        Kind::Spend | Kind::Record => "-",
        Kind::Limit => "<=",
        Kind::Reverse if rho.0 > 0 => "-",
        Kind::Reverse => "",
    };
    let plan = if plan.is_empty() { "-" } else { plan };
    cells![id, time, kind.name(), format!("{sign}{rho}"), plan]
}

/// Text that others wrote, without what would move the cursor.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
