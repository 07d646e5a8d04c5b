//! A ledger as one self-contained page: what was released to whom, when, from which data, and what
//! is left. No network, no script, prints to A4.

mod picture;

use dplm::privacy::{Epsilon, Mechanisms};
use dplm_report::{STYLE, svg::escaped};

use crate::{Account, Allowance, Entry, Kind, balance::OTHERS};

/// Styles that the pages of fits do not need.
const MORE_STYLE: &str = "\
main { max-width: 60rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; break-after: avoid; }
.entries td, .entries th { text-align: left; vertical-align: top; white-space: nowrap; }
.entries td.words { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
.entries td.number, .entries th.number { text-align: right; }
.entries td:first-child { text-align: left; padding-left: 0; }
.entries thead th:first-child { font-weight: 600; }
.entries .small { display: block; color: var(--soft); font-size: .85em; }
.entries .reversed { text-decoration: line-through; }
svg { max-width: 46rem; }
svg .room { fill: var(--line); }
svg .limit { stroke: var(--two); stroke-width: 2; }
.hash { overflow-wrap: anywhere; }
@media print { .scroll { overflow: visible; } .entries td, .entries th { padding-right: .35rem; font-size: .92em; } }
";

/// The page of these data sets; `last_hash` is that of the ledger's last entry.
pub fn to_html(accounts: &[Account], last_hash: &str) -> String {
    let names: Vec<&str> = accounts.iter().map(|account| account.dataset.as_str()).collect();
    let title = format!("Privacy ledger: {}", names.join(", "));
    let sections: String = accounts.iter().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}{MORE_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kind\">Privacy ledger</p>\n<h1>What was released, and what is left</h1>\n</header>\n{sections}{}</main>\n</body>\n</html>\n",
        footer(last_hash),
        title = escaped(&title),
    )
}

fn section(account: &Account) -> String {
    let name = escaped(&account.dataset);
    let parts = [
        facts(account),
        picture::over_time(account),
        titled("Who has spent it", &(picture::of_analysts(account) + &analysts(account))),
        titled("What was released", &(releases(account) + &tables(account))),
        titled("How the budget was set", &settings(account)),
    ];
    format!("<section aria-label=\"{name}\">\n<h2>{name}</h2>\n{}</section>\n", parts.concat())
}

fn titled(title: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("<h3>{title}</h3>\n{content}") }
}

fn facts(account: &Account) -> String {
    let with_epsilon = |rho: String, epsilon: Option<f64>| match epsilon {
        Some(epsilon) => format!("&rho; = {rho}, which is &epsilon; = {}", Epsilon::new(epsilon)),
        None => format!("&rho; = {rho}"),
    };
    let opened = account.entries.first().map_or("", |entry| day(entry));
    let fits = account.entries.iter().filter(|entry| entry.kind.spends()).count();
    let facts = [
        ("Granted", with_epsilon(account.total.to_string(), account.epsilon_total())),
        ("Spent", with_epsilon(account.spent.to_string(), account.epsilon_spent())),
        ("Left", format!("&rho; = {}", account.left)),
        ("At &delta;", format!("{:e}", account.delta)),
        ("Charges", fits.to_string()),
        ("Protects", account.promise.unit.plural().to_owned()),
        ("Identified by", account.promise.person.as_deref().map(escaped).unwrap_or_default()),
        ("Neighbours", account.promise.neighbours.name().to_owned()),
        ("Mechanisms", Mechanisms::of(account.promise.conversion).name().to_owned()),
        ("Stopped", escaped(&stopped(account).unwrap_or_default())),
        ("Opened", opened.to_owned()),
    ];
    let facts: String = facts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"))
        .collect();
    format!("<dl class=\"facts\">\n{facts}</dl>\n")
}

/// Why an account allows no further charge.
fn stopped(account: &Account) -> Option<String> {
    let overdrawn = account.overdrawn.then(|| "more was recorded than was granted".to_owned());
    account.frozen.clone().or(overdrawn)
}

/// Numbers beside the bars, for readers who cannot see them.
fn analysts(account: &Account) -> String {
    let line = |one: &Allowance| {
        let limit = one.limit.map_or("none".to_owned(), |limit| limit.to_string());
        row(&[cell(&named(one)), number(&one.spent.to_string()), number(&limit)])
    };
    let each = account.limit_of_others.map_or(String::new(), |limit| {
        format!("<p>Each analyst without a limit of their own may spend &rho; = {limit}.</p>\n")
    });
    let together = account.limit_of_others_together.map_or(String::new(), |limit| {
        format!("<p>All analysts without a limit of their own may together spend &rho; = {limit}.</p>\n")
    });
    let others = each + &together;
    match account.analysts.is_empty() {
        true => others,
        false => {
            let lines = account.analysts.iter().map(line).collect();
            table("Analysts", &["Analyst", "Spent, &rho;", "Limit, &rho;"], lines) + &others
        }
    }
}

/// Every charge: to whom, when, from which data, what for.
fn releases(account: &Account) -> String {
    let tables = distinct_tables(account);
    let line = |entry: &Entry| {
        let reversal = account.reversal_of(entry);
        let class = if reversal.is_some() { " class=\"reversed\"" } else { "" };
        let mistake = reversal.map_or(String::new(), |reversal| {
            small(&format!("a mistake, by entry {}: {}; its budget stays spent", reversal.id, reversal.text))
        });
        let asked = [&entry.attribution.purpose, &entry.attribution.note].map(|words| small(words)).concat();
        let letter = tables.iter().position(|table| **table == entry.table).map_or("not known".to_owned(), letter);
        row(&[
            number(&entry.id.to_string()),
            cell(&minute(entry)),
            cell(&escaped(&entry.attribution.analyst)),
            format!("<td class=\"words\"><code{class}>{}</code>{asked}{mistake}</td>", escaped(&entry.text)),
            cell(&letter),
            cell(&escaped(&entry.neighbours)),
            number(&entry.rho.to_string()),
        ])
    };
    let lines: String = account.entries.iter().filter(|entry| entry.kind.spends()).map(line).collect();
    if lines.is_empty() {
        return "<p>Nothing yet.</p>\n".to_owned();
    }
    let heads = ["Entry", "When (UTC)", "To whom", "What, and what for", "Table", "Protects", "&rho;"];
    table("Releases", &heads, lines)
}

/// The letters that stand for tables.
fn tables(account: &Account) -> String {
    let distinct = distinct_tables(account);
    let items = distinct.iter().enumerate().map(|(place, table)| format!("{} is {}", letter(place), escaped(table)));
    match distinct.len() {
        0 => String::new(),
        count => format!(
            "<p>{}: {}. A table is identified by a fingerprint of its columns and its number of rows, \
             never of its cells.</p>\n",
            if count == 1 { "One table" } else { "Tables of different shape under one name" },
            items.collect::<Vec<_>>().join(", "),
        ),
    }
}

/// The fingerprints of tables, in order of appearance.
fn distinct_tables(account: &Account) -> Vec<&String> {
    let mut seen = Vec::new();
    for table in account.entries.iter().map(|entry| &entry.table).filter(|table| !table.is_empty()) {
        if !seen.contains(&table) {
            seen.push(table);
        }
    }
    seen
}

fn letter(place: usize) -> String {
    match u8::try_from(place).ok().filter(|place| *place < 26) {
        Some(place) => char::from(b'A' + place).to_string(),
        None => format!("table {}", place + 1),
    }
}

/// Grants, limits and reversals.
fn settings(account: &Account) -> String {
    let line = |entry: &Entry| {
        let what = match (entry.kind, entry.about, entry.attribution.analyst.as_str()) {
            (Kind::Reverse, Some(about), _) => format!("reverses entry {about}"),
            (Kind::Limit, _, "") => "limits each analyst without a limit of their own".to_owned(),
            (Kind::Limit, _, OTHERS) => "limits all analysts without a limit of their own together".to_owned(),
            (Kind::Limit, _, analyst) => format!("limits {analyst}"),
            (Kind::Grant, ..) => "grants more".to_owned(),
            _ => "opens the data set".to_owned(),
        };
        let sign = if entry.kind == Kind::Reverse && entry.rho.0 > 0 { "&minus;" } else { "" };
        row(&[
            number(&entry.id.to_string()),
            cell(&minute(entry)),
            cell(&escaped(&what)),
            format!("<td class=\"words\">{}</td>", escaped(&entry.text)),
            number(&format!("{sign}{}", entry.rho)),
        ])
    };
    let lines = account.entries.iter().filter(|entry| !entry.kind.spends()).map(line).collect();
    table("Settings", &["Entry", "When (UTC)", "What", "Note or reason", "&rho;"], lines)
}

fn footer(last_hash: &str) -> String {
    format!(
        "<section aria-labelledby=\"check\">\n<h2 id=\"check\">How to check this page</h2>\n<p>Every line \
         is an entry of the ledger, and each entry holds the hash of the one before it. The hash of the \
         last entry is <code class=\"hash\">{}</code>. <code>dplm ledger verify FILE --since HASH</code> \
         tells whether a ledger still continues from there. Charges were recorded before their results \
         existed, so a charge may be of a fit that failed. What is spent is never given back: a release \
         cannot be undone. Written by dplm {}.</p>\n</section>\n",
        escaped(last_hash),
        env!("CARGO_PKG_VERSION"),
    )
}

fn named(one: &Allowance) -> String {
    if one.analyst.is_empty() { "nobody named".to_owned() } else { escaped(&one.analyst) }
}

fn table(name: &str, heads: &[&str], lines: String) -> String {
    let head = |head: &&str| {
        let class = if head.ends_with("&rho;") { " class=\"number\"" } else { "" };
        format!("<th scope=\"col\"{class}>{head}</th>")
    };
    let heads: String = heads.iter().map(head).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\n<table class=\"entries\">\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</div>\n"
    )
}

fn row(cells: &[String]) -> String {
    format!("<tr>{}</tr>\n", cells.concat())
}

/// A cell of text that is already escaped.
fn cell(text: &str) -> String {
    format!("<td>{text}</td>")
}

fn number(text: &str) -> String {
    format!("<td class=\"number\">{text}</td>")
}

fn small(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<span class=\"small\">{}</span>", escaped(text)) }
}

fn day(entry: &Entry) -> &str {
    entry.time.get(..10).unwrap_or(&entry.time)
}

fn minute(entry: &Entry) -> String {
    escaped(&entry.time.get(..16).unwrap_or(&entry.time).replace('T', " "))
}
