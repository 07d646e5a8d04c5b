//! Options of other programs, answered with what to type here.

/// What has another name here, and what to type.
const OPTIONS: [(&[&str], &str); 6] = [
    (
        &["--cluster", "--vce", "--cluster-by"],
        "rows of one person are protected and clustered together by --person COLUMN",
    ),
    (
        &["--robust", "--cov-type", "--hc1"],
        "standard errors never assume equal variances; --target robust is for the robust (Huber) coefficients",
    ),
    (&["--delimiter", "--sep", "--separator"], "write --csv semicolon, tab or pipe; a file of tabs ends in .tsv"),
    (&["--output", "--out", "-o", "--save"], "a fit is written with --json FILE, its page with --report FILE.html"),
    (&["--alpha", "--confidence"], "write --level 0.95 for intervals that cover 95 % of the time"),
    (&["--budget", "--eps"], "write the budget as --rho R, or as --epsilon E"),
];

/// What to type for an option that this program does not have.
pub fn option_here(typed: &str) -> Option<&'static str> {
    let name = typed.split(['=', ' ']).next()?;
    OPTIONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, here)| *here)
}
