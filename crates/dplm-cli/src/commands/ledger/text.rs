//! A ledger for people.

use dplm::privacy::Epsilon;
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
    let Account { dataset, delta, total, spent, left, .. } = account;
    let lines = [
        cells!["", "rho", &format!("epsilon at delta = {delta:e}")],
        cells!["granted", total, epsilon(account.epsilon_total())],
        cells!["spent", spent, epsilon(account.epsilon_spent())],
        cells!["left", left, ""],
    ];
    format!(
        "{dataset} (neighbours: {})\n{}\n{}{}",
        account.neighbours(),
        layout::table(&lines),
        analysts(account),
        history(account)
    )
}

/// What each analyst has spent and may spend; nothing where nobody is named.
fn analysts(account: &Account) -> String {
    let Account { analysts, limit_of_others: others, .. } = account;
    if others.is_none() && analysts.iter().all(|one| one.analyst.is_empty()) {
        return String::new();
    }
    let line = |one: &Allowance| {
        let who = if one.analyst.is_empty() { "nobody named" } else { &one.analyst };
        cells![who, one.spent, one.limit.map_or("-".to_owned(), |limit| limit.to_string())]
    };
    let others = others.map(|limit| cells!["others, each", "", limit]);
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
        Kind::Spend => "-",
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
