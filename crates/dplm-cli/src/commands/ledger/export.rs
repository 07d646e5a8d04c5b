//! A ledger for programs.

use dplm_ledger::{Account, Entry, Verdict};
use serde::Serialize;

/// An account, and what it means at its delta.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    account: &'a Account,
    neighbours: String,
    epsilon_spent: Option<f64>,
    epsilon_total: Option<f64>,
}

#[derive(Serialize)]
struct Export<'a> {
    last_hash: &'a str,
    datasets: Vec<Document<'a>>,
}

impl<'a> Document<'a> {
    fn of(account: &'a Account) -> Document<'a> {
        Document {
            account,
            neighbours: account.neighbours(),
            epsilon_spent: account.epsilon_spent(),
            epsilon_total: account.epsilon_total(),
        }
    }
}

/// One data set as JSON.
pub fn account_json(account: &Account) -> String {
    json(&Document::of(account))
}

/// Every data set as JSON, with the hash that all of it hangs on.
pub fn accounts_json(accounts: &[Account], verdict: &Verdict) -> String {
    json(&Export { last_hash: &verdict.last_hash, datasets: accounts.iter().map(Document::of).collect() })
}

fn json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("plain data serialises") + "\n"
}

/// Every entry as CSV, in the order of the file.
pub fn csv(accounts: &[Account]) -> String {
    let mut entries: Vec<&Entry> = accounts.iter().flat_map(|account| &account.entries).collect();
    entries.sort_by_key(|entry| entry.id);
    let head = "id,time,dataset,kind,rho,delta,neighbours,text,plan,table,hash\n".to_owned();
    head + &entries.into_iter().map(csv_line).collect::<String>()
}

fn csv_line(entry: &Entry) -> String {
    let Entry { id, dataset, time, kind, rho, delta, neighbours, text, plan, table, hash } = entry;
    let (id, rho, delta) = (id.to_string(), rho.to_string(), delta.map_or(String::new(), |delta| delta.to_string()));
    let fields = [&id, time, dataset, kind.name(), &rho, &delta, neighbours, text, plan, table, hash];
    fields.map(quoted).join(",") + "\n"
}

/// Quoted where need be; doubled quotes inside.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
