use super::*;
use dplm::{report::to_json, table::Source};

fn fit(formula: &str, seed: u64) -> Fit {
    of(dplm::lm(formula).rho(1.0).seed(seed))
}

fn of(lm: dplm::Lm<'_>) -> Fit {
    let row = |i: u32| {
        let (x, z) = (f64::from(i * 37 % 101) / 10.1, f64::from(i * 53 % 97) / 12.125 - 4.0);
        format!("{},{x},{z},{}\n", 20.0 + 2.0 * x + z + f64::from(i * 7919 % 13), ["a", "b"][i as usize % 2])
    };
    let text = format!("y,x,z,g_1\n{}", (0..3000).map(row).collect::<String>());
    let source = Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("a table");
    lm.fit_table(&source).expect("a fit")
}

fn fits() -> [Fit; 2] {
    let long = "y[0..60] ~ x[0..10] + z[-4..4] + g_1{a,b}";
    [fit("y[0..60] ~ x[0..10]", 1), fit(long, 2)]
}

fn documents() -> [String; 2] {
    fits().map(|fit| to_json(&fit))
}

fn text(options: &TableOptions, form: TableForm) -> String {
    Table::of(&documents(), options).expect("a table").to_text(form).expect("text")
}

fn starred() -> TableOptions {
    TableOptions { stars: true, title: Some("Pay & hours".to_owned()), ..TableOptions::default() }
}

/// Every coefficient of any column has one line of estimates, and blanks where a column lacks it.
#[test]
fn columns_stand_side_by_side() {
    let table = Table::of(&documents(), &TableOptions::default()).expect("a table");
    let labels: Vec<&str> =
        table.body.iter().map(|line| line.label.as_str()).filter(|label| !label.is_empty()).collect();
    assert_eq!(labels, ["(Intercept)", "x", "z", "g_1[b]"]);
    let z = &table.body[4];
    assert!(
        z.cells[0].text.is_empty() && z.cells[1].text.starts_with("1.0") || z.cells[1].text.starts_with("0.9"),
        "{z:?}"
    );
    assert_eq!(table.heads, [["(1)", "(2)"], ["y", "y"]]);
    assert!(table.notes.iter().any(|note| note.starts_with("(1), (2): NOT PRIVATE")), "{:?}", table.notes);
    assert!(table.notes.iter().any(|note| note.contains("they cost rho = 2 together")), "{:?}", table.notes);
}

/// Controls have no line, and are counted at the foot.
#[test]
fn controls_are_counted() {
    let lm = dplm::lm("y[0..60] ~ x[0..10] + z[-4..4] + g_1{a,b}").rho(1.0).seed(1).focus(vec!["x".to_owned()]);
    let table = Table::of(&[to_json(&of(lm))], &TableOptions::default()).expect("a table");
    assert_eq!(table.body.iter().map(|line| line.label.as_str()).collect::<Vec<_>>(), ["x", ""]);
    let controls = table.foot.iter().find(|line| line.label == "Controls").expect("controls");
    assert_eq!(controls.cells[0].text, "3");
}

/// Braces and environments are balanced, every line has as many cells, and nothing that LaTeX would
/// read as a command is left of names and titles.
#[test]
fn latex_is_balanced() {
    let tex = text(&starred(), TableForm::Latex);
    let count = |what: &str| tex.matches(what).count();
    assert_eq!((count("{"), count("\\begin{")), (count("}"), count("\\end{")));
    assert!(
        tex.contains("\\caption{Pay \\& hours}")
            && tex.contains("g\\_1[b] &")
            && tex.contains("\\textsuperscript{***}")
    );
    let lines = tex.lines().filter(|line| line.ends_with("\\\\") && !line.starts_with("\\multicolumn"));
    lines.for_each(|line| assert_eq!(line.replace("\\&", "").matches('&').count(), 2, "{line}"));
}

#[test]
fn every_line_of_a_spreadsheet_has_as_many_fields() {
    let csv = text(&TableOptions { intervals: true, ..starred() }, TableForm::Csv);
    let fields = |line: &str| {
        let mut is_quoted = false;
        line.chars()
            .filter(|&letter| {
                is_quoted ^= letter == '"';
                letter == ',' && !is_quoted
            })
            .count()
    };
    csv.lines().for_each(|line| assert_eq!(fields(line), 2, "{line}"));
    assert!(csv.contains("\"[") && csv.contains("95 % intervals in brackets."));
}

#[test]
fn marks_of_other_forms_are_escaped() {
    let markdown = text(&starred(), TableForm::Markdown);
    assert!(markdown.contains("| g\\_1\\[b\\] |") && markdown.contains("\\*\\*\\*"), "{markdown}");
    let html = text(&starred(), TableForm::Html);
    assert!(html.contains("<caption>Pay &amp; hours</caption>") && html.contains("p &lt; 0.05"), "{html}");
    assert_eq!(html.matches("<t").count(), html.matches("</t").count());
}

/// Each coefficient has a panel with the interval of each result that has it, and the notes of a
/// table.
#[test]
fn a_picture_has_every_interval() {
    let svg = text(&starred(), TableForm::Svg);
    for words in ["Pay &amp; hours", ">x</text>", ">g_1[b]</text>", "(1), (2): NOT PRIVATE", "95 % intervals, privacy"]
    {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    assert!(!svg.contains("(Intercept)") && !svg.contains("in brackets"));
    // One column has one slope, the other three.
    assert_eq!(svg.matches("stroke-width=\"2.5\"").count(), 4);
    let estimate = |place: usize| dplm::number::significant(fits()[place].coefficients[1].estimate.expect("known"));
    assert!(svg.contains(&format!(">{} ±", estimate(0))) && svg.contains(&format!(">{} ±", estimate(1))));
}

#[test]
fn names_are_for_all_columns_or_for_none() {
    let named = |names: &[&str]| {
        let options = TableOptions { names: names.iter().map(|name| (*name).to_owned()).collect(), ..starred() };
        Table::of(&documents(), &options)
    };
    assert_eq!(named(&["short", "long"]).expect("a table").heads[1], ["short", "long"]);
    assert_eq!(named(&["short"]), Err(TableError::Names { columns: 2, names: 1 }));
    assert_eq!(Table::of::<String>(&[], &starred()), Err(TableError::Empty));
    assert_eq!(Table::of(&["{}"], &starred()), Err(TableError::File { place: 1, error: FitFileError::NotAFit }));
}
