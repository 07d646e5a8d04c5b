//! Files made to take all memory: each is read, or refused in words, within an address space of 1.5
//! GB.

#![cfg(target_os = "linux")]

use std::{fmt::Write as _, io::Write, path::Path, process::Child};

use crate::common::{Directory, Done, text_of};

/// The whole address space, in KiB.
const SPACE: u32 = 1_500_000;

fn start(directory: &Directory, args: &[&str]) -> Child {
    directory.start_limited(&format!("ulimit -v {SPACE}"), args)
}

fn run(directory: &Directory, args: &[&str]) -> Done {
    Done::when_ended(start(directory, args))
}

fn fit(directory: &Directory, data: &str, formula: &str) -> Done {
    run(
        directory,
        &["fit", data, "--formula", formula, "--standardised", "--rho", "0.1", "--purpose", "prediction", "--quiet"],
    )
}

fn bomb(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bombs").join(name);
    text_of(&path).to_owned()
}

#[test]
fn pages_and_buffers_that_inflate_are_refused() {
    let directory = Directory::new();
    for name in ["page.parquet", "buffer.arrow"] {
        let done = fit(&directory, &bomb(name), "y ~ x");
        done.assert_refused(1, name);
        assert!(done.stderr.contains("implausibly large sizes"), "{name}: {}", done.stderr);
    }
}

#[test]
fn a_long_text_in_a_dictionary_is_not_written_out_for_every_row_at_once() {
    let directory = Directory::new();
    let done = fit(&directory, &bomb("dictionary.parquet"), "y[0..1] ~ g{a,b}");
    assert_eq!(done.status, 0, "{}", done.stderr);
}

#[test]
fn a_row_of_a_million_cells_is_refused_by_its_line() {
    let directory = Directory::new();
    directory.write("wide.csv", format!("y,x\n1,2\n{}\n", "7,".repeat(1_000_000)));
    let done = fit(&directory, "wide.csv", "y ~ x");
    done.assert_refused(1, "a wide row");
    assert!(done.stderr.contains("line 3"), "{}", done.stderr);
}

#[test]
fn a_hundred_thousand_columns_are_read() {
    let directory = Directory::new();
    let mut text: String = (0..100_000).fold(String::new(), |mut text, column| {
        write!(text, "c{column},").expect("text");
        text
    });
    text.push_str("y\n");
    for row in 0..20 {
        text.push_str(&format!("{row},").repeat(100_000));
        text.push_str("1\n");
    }
    directory.write("wide.csv", text);
    let done = fit(&directory, "wide.csv", "y ~ c7 + c99999");
    assert_eq!(done.status, 0, "{}", done.stderr);
    // Every column at once is more than the arithmetic can be exact for, or the rows can tell
    // apart.
    fit(&directory, "wide.csv", "y ~ .").assert_refused(1, "a hundred thousand coefficients");
    let template = run(&directory, &["init", "wide.csv"]);
    assert!(template.status == 0 && template.stdout.contains("c99999"), "{}", template.stderr);
}

/// `DPLM_CELL_MB=1024` for a cell of a gigabyte.
#[test]
fn a_cell_without_end_is_refused() {
    let megabytes: usize = std::env::var("DPLM_CELL_MB").ok().and_then(|size| size.parse().ok()).unwrap_or(100);
    let directory = Directory::new();
    let mut child = start(&directory, &["fit", "-", "--formula", "y ~ x", "--standardised", "--rho", "0.1", "--quiet"]);
    let mut input = child.stdin.take().expect("piped");
    let chunk = vec![b'9'; 1 << 20];
    input.write_all(b"y,x\n1,2\n3,\"").expect("read");
    for _ in 0..megabytes {
        input.write_all(&chunk).expect("read");
    }
    drop(input);
    let done = Done::when_ended(child);
    done.assert_refused(1, "a long cell");
    assert!(done.stderr.contains("line 3"), "{}", done.stderr);
}
