//! `dplm table`: results side by side.

use crate::common::Directory;

fn fitted() -> Directory {
    let directory = Directory::new();
    let rows = directory.simulate("rows.csv", 3000);
    for (name, formula) in [("short.json", "y[-9..9] ~ x1[-5..5]"), ("long.json", "y[-9..9] ~ x1[-5..5] + x2[-5..5]")] {
        directory.ok(&["fit", &rows, "-f", formula, "--rho", "0.5", "--seed", "1", "--json", name]);
    }
    directory
}

#[test]
fn saved_fits_stand_side_by_side() {
    let directory = fitted();
    let text = directory.ok(&["table", "short.json", "long.json", "--names", "Short,Long", "--stars"]).stdout;
    for words in ["|  | Short | Long |", "| x2 |  | ", "| Observations | 3,000 | 3,000 |", "(1), (2): NOT PRIVATE"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    directory.ok(&["table", "short.json", "--to", "latex", "--out", "table.tex"]);
    assert!(directory.read("table.tex").contains("\\bottomrule"));
    directory.ok(&["table", "short.json", "long.json", "--to", "svg", "--out", "table.svg"]);
    assert!(directory.read("table.svg").starts_with("<svg"));
    directory.ok(&["table", "short.json", "--to", "docx", "--out", "table.docx"]);
    let archive = std::fs::read(directory.path("table.docx")).expect("written");
    assert!(archive.starts_with(b"PK\x03\x04"));
}

#[test]
fn a_table_refuses_what_it_cannot_write() {
    let directory = fitted();
    for (words, said) in [
        (&["table", "short.json", "--to", "docx"][..], "--out table.docx"),
        (&["table", "short.json", "--to", "docx", "--out", "table.txt"], "write table.docx"),
        (&["table", "short.json", "--to", "latex", "--out", "table.md"], "write table.tex"),
        (&["table", "short.json", "--names", "a,b"], "1 columns, and 2 were named"),
        (&["table", "short.json", "--out", "short.json"], "would be overwritten"),
    ] {
        directory.run(words).assert_refused(2, said);
    }
    directory.run(&["table", "rows.csv"]).assert_refused(1, "this is not a fit");
}
