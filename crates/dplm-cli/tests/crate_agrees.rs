//! The same seed gives the same bits from the command and from the crate.
//! (`python/tests/test_lm.py` adds the Python package.)

use dplm::{
    Dataset, NoiseSource, Progress, Reading,
    formula::Formula,
    method::{Method, Request, auto, dpgd},
    privacy::Rho,
    report::to_json,
    table::Source,
};

use crate::common::Directory;

#[test]
fn the_command_and_the_crate_give_the_same_document() {
    let directory = Directory::new();
    directory.ok(&["simulate", "--rows", "2000", "--features", "2", "--seed", "3", "--out", "rows.csv"]);
    let request = Request::new(Rho::checked_from_f64(0.1).expect("a budget"));
    let bounded = "y[-6..6] ~ x1[-5..5] + x2[-5..5]";
    let (auto, dpgd) = (auto::Config::new(request.clone()), dpgd::Config::new(request));
    let methods: [(&str, &dyn Method); 2] = [(bounded, &auto), ("y ~ x1 + x2 + 0", &dpgd)];
    for (formula, method) in methods {
        let typed = directory
            .ok(&[
                "fit",
                "rows.csv",
                "--formula",
                formula,
                "--standardised",
                "--rho",
                "0.1",
                "--seed",
                "9",
                "--json",
                "-",
            ])
            .stdout;
        let source = Source::open(&[directory.path("rows.csv")]).expect("the rows");
        let formula = Formula::parse(formula).expect("a formula");
        let mut data = Dataset::read(&source, &formula, &Reading::default()).expect("data");
        let fit = data.fit(method, NoiseSource::Seed(9), Progress::NONE).expect("a fit");
        assert_eq!(to_json(&fit), typed);
    }
}
