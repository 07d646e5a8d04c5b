//! The pages that show a record: one for browsers, one in Markdown.

use std::{fmt::Write, path::Path, process::Command, time::SystemTime};

use serde_json::{Value, json};

use crate::{
    LabError,
    claim::Claim,
    definition::{Changes, Definition},
    run::write,
};

/// The file that states the version, the commit, the day and the machine.
const META: &str = "meta.json";

/// The metadata of a record: the version, the commit, the day and the machine.
pub fn meta(changes: &Changes) -> Value {
    json!({
        "dplm": env!("CARGO_PKG_VERSION"),
        "commit": commit(),
        "date": today(),
        "quick": changes.quick,
        "machine": {
            "processor": processor(),
            "cores": std::thread::available_parallelism().map_or(1, usize::from),
            "system": std::env::consts::OS,
        },
    })
}

/// Writes [`meta`] to a folder.
///
/// # Errors
/// When the file cannot be written.
pub fn write_meta(folder: &Path, meta: &Value) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(meta).expect("plain values are JSON");
    write(folder, META, (text + "\n").as_bytes())
}

/// The metadata of a folder; null if it has none.
pub fn read_meta(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join(META)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// The commit the program was built from, if known.
fn commit() -> Option<String> {
    let source = env!("CARGO_MANIFEST_DIR");
    let output = Command::new("git").args(["-C", source, "rev-parse", "--short=12", "HEAD"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The date in Greenwich, as 2024-07-21.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date((seconds / 86_400) as i64)
}

/// The date of a day counted from 1970-01-01, by Hinnant's algorithm for the Gregorian calendar.
fn date(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Writes `index.html` and `README.md`.
///
/// # Errors
/// When a file cannot be written.
pub fn write_pages(folder: &Path, figures: &[Definition], claims: &[Claim], meta: &Value) -> Result<(), LabError> {
    write(folder, "index.html", html(figures, claims, meta).as_bytes())?;
    write(folder, "README.md", markdown(figures, claims, meta).as_bytes())
}

fn of<'a>(claims: &'a [Claim], figure: &'a str) -> impl Iterator<Item = &'a Claim> {
    claims.iter().filter(move |claim| claim.figure == figure)
}

/// One sentence about the version and the machine.
fn about(claims: &[Claim], meta: &Value) -> String {
    let held = claims.iter().filter(|claim| claim.holds).count();
    let word = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let quick = if meta["quick"] == true { " A quick run: fewer points and repetitions than the paper's." } else { "" };
    format!(
        "{held} of {} claims hold. Measured on {} with dplm {} (commit {}) on {}.{quick}",
        claims.len(),
        word(&meta["date"]),
        word(&meta["dplm"]),
        word(&meta["commit"]),
        word(&meta["machine"]["processor"]),
    )
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;max-width:860px;margin:2em auto;padding:0 1em}\
h2{margin-top:2.5em;border-top:1px solid #ddd;padding-top:1em}img{max-width:100%;display:block;margin:1em auto}\
table{border-collapse:collapse;width:100%;font-size:14px}td,th{text-align:left;vertical-align:top;padding:.4em .6em;border-bottom:1px solid #ddd}\
.PASS{color:#00694d;font-weight:bold}.FAIL{color:#b33f00;font-weight:bold}.faint{color:#555}nav a{margin-right:.8em}\
@media(prefers-color-scheme:dark){body{background:#111;color:#eee}img{background:#fff}.faint{color:#aaa}.PASS{color:#4dd0a8}.FAIL{color:#ff9a5c}a{color:#8ab8ff}}";

fn html(figures: &[Definition], claims: &[Claim], meta: &Value) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>dplm: the paper's experiments</title><style>{STYLE}</style></head><body>\n<h1>The paper's experiments</h1>\n\
         <p>Every figure of Brown et al., <i>Private Gradient Descent for Linear Regression</i>, on dplm's own exact code.</p>\n<p>{}</p>\n",
        escaped(&about(claims, meta))
    );
    let links: Vec<String> = figures.iter().map(|one| format!("<a href=\"#{0}\">{0}</a>", one.name)).collect();
    let _ = writeln!(page, "<nav>{}</nav>", links.join("\n"));
    for figure in figures {
        page += &section(figure, claims);
    }
    page + "</body></html>\n"
}

fn section(figure: &Definition, claims: &[Claim]) -> String {
    let Definition { name, title, paper, .. } = figure;
    let (title, paper) = (escaped(title), escaped(paper));
    let mut section = format!(
        "<h2 id=\"{name}\">{title}</h2>\n<p class=\"faint\">{paper}. <a href=\"{name}.csv\">CSV</a> · <a href=\"{name}.svg\">SVG</a> · \
         <a href=\"{name}.png\">PNG</a></p>\n<img src=\"{name}.svg\" alt=\"{title}\">\n\
         <table><tr><th>claim</th><th>measured</th><th>required</th><th></th></tr>\n"
    );
    for claim in of(claims, name) {
        let [text, measured, required] = [&claim.claim, &claim.measured, &claim.required].map(|text| escaped(text));
        let verdict = claim.verdict();
        let _ = writeln!(
            section,
            "<tr><td>{text}</td><td>{measured}</td><td>{required}</td><td class=\"{verdict}\">{verdict}</td></tr>"
        );
    }
    section + "</table>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn markdown(figures: &[Definition], claims: &[Claim], meta: &Value) -> String {
    let mut page = format!("# The paper's experiments\n\n{}\n", about(claims, meta));
    for Definition { name, title, paper, .. } in figures {
        let _ = write!(page, "\n## {title}\n\n{paper}. `dplm lab run {name}`\n\n![{title}]({name}.svg)\n\n");
        page += "| claim | measured | required | verdict |\n|---|---|---|---|\n";
        for claim in of(claims, name) {
            let [text, measured, required] =
                [&claim.claim, &claim.measured, &claim.required].map(|t| t.replace('|', "\\|"));
            let _ = writeln!(page, "| {text} | {measured} | {required} | {} |", claim.verdict());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        for (days, expected) in
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (19_925, "2024-07-21"), (20_818, "2026-12-31")]
        {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn pages_show_every_claim_with_its_verdict() {
        let figures = [Definition::built_in("pn", &Changes::default()).unwrap()];
        let claim = |claim: &str, holds| Claim {
            figure: "pn".into(),
            claim: claim.into(),
            measured: "1 < 2".into(),
            required: "‖x‖ | y".into(),
            holds,
        };
        let claims = [claim("first", true), claim("second", false)];
        let page = html(&figures, &claims, &Value::Null);
        assert!(page.contains("1 of 2 claims hold") && page.contains(">PASS<") && page.contains(">FAIL<"));
        assert!(page.contains("1 &lt; 2") && !page.contains("http"));
        assert!(markdown(&figures, &claims, &Value::Null).contains("\\| y"));
    }
}
