//! A ledger for people.

use dplm::privacy::Epsilon;
use dplm_ledger::{Account, Entry, Kind};

use crate::{cells, layout};

/// Every account, and the hash to keep elsewhere.
pub fn accounts(accounts: &[Account], last_hash: &str) -> String {
    let parts: String = accounts.iter().map(|one| account(one) + "\n").collect();
    format!(
        "{parts}Last hash: {last_hash}\n  Keep a copy elsewhere: 'dplm ledger verify --since HASH' then notices entries that were cut off or written anew.\n"
    )
}

fn account(account: &Account) -> String {
    let Account { dataset, delta, total, spent, left, entries, .. } = account;
    let lines = [
        cells!["", "rho", &format!("epsilon at delta = {delta:e}")],
        cells!["granted", total, epsilon(account.epsilon_total())],
        cells!["spent", spent, epsilon(account.epsilon_spent())],
        cells!["left", left, ""],
    ];
    format!("{dataset} (neighbours: {})\n{}\n{}", account.neighbours(), layout::table(&lines), history(entries))
}

/// A line an entry; what was fitted, or noted, last and as long as it is.
fn history(entries: &[Entry]) -> String {
    let heads = cells!["time (UTC)", "what", "rho", "plan"];
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(entries.iter().map(line)).collect();
    let texts = std::iter::once(String::new()).chain(entries.iter().map(|entry| shown(&entry.text)));
    let table = layout::table(&lines);
    table.lines().zip(texts).map(|(line, text)| format!("{}\n", format!("{line}  {text}").trim_end())).collect()
}

fn epsilon(epsilon: Option<f64>) -> String {
    epsilon.map_or("0".to_owned(), |epsilon| Epsilon::new(epsilon).to_string())
}

fn line(entry: &Entry) -> Vec<String> {
    let Entry { time, kind, rho, plan, .. } = entry;
    let sign = if *kind == Kind::Spend { "-" } else { "+" };
    let plan = if plan.is_empty() { "-" } else { plan };
    cells![time, kind.name(), format!("{sign}{rho}"), plan]
}

/// Text that others wrote, without what would move the cursor.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
