//! A ledger for programs.

use dplm_ledger::{Account, Attribution, Entry, Verdict};
use serde_json::{Value, json};

/// One data set as JSON.
pub fn account_json(account: &Account) -> String {
    text(&account.document())
}

/// Every data set as JSON, with the hash that all of it hangs on.
pub fn accounts_json(accounts: &[Account], verdict: &Verdict) -> String {
    let datasets: Vec<Value> = accounts.iter().map(Account::document).collect();
    text(&json!({ "last_hash": verdict.last_hash, "datasets": datasets }))
}

fn text(document: &Value) -> String {
    serde_json::to_string_pretty(document).expect("plain data serialises") + "\n"
}

/// Every entry as CSV, in the order of the file.
pub fn csv(accounts: &[Account]) -> String {
    let mut entries: Vec<&Entry> = accounts.iter().flat_map(|account| &account.entries).collect();
    entries.sort_by_key(|entry| entry.id);
    let head = "id,time,dataset,kind,rho,delta,neighbours,text,plan,table,hash,analyst,purpose,note,about,promise\n"
        .to_owned();
    head + &entries.into_iter().map(csv_line).collect::<String>()
}

fn csv_line(entry: &Entry) -> String {
    let Entry {
        id,
        dataset,
        time,
        kind,
        rho,
        delta,
        neighbours,
        text,
        plan,
        table,
        attribution,
        about,
        hash,
        promise,
        ..
    } = entry;
    let Attribution { analyst, purpose, note } = attribution;
    let written = |number: Option<String>| number.unwrap_or_default();
    let (id, rho) = (id.to_string(), rho.to_string());
    let (delta, about) = (written(delta.map(|delta| delta.to_string())), written(about.map(|about| about.to_string())));
    let (first, words) = ([&id, time, dataset, kind.name(), &rho, &delta], [neighbours, text, plan, table, hash]);
    let (first, words) = (first.map(quoted).join(","), words.map(|word| quoted(word)).join(","));
    let promise =
        written(promise.as_ref().map(|promise| serde_json::to_string(promise).expect("plain data serialise")));
    let said = [analyst, purpose, note, &about, &promise].map(|word| quoted(word)).join(",");
    format!("{first},{words},{said}\n")
}

/// Quoted where need be; doubled quotes inside.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
