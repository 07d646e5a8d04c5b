//! The fitted model is the one in the formula: coefficients through the design are those of a
//! straightforward computation.

use dplm::{Dataset, Design, Reading, formula::Formula, table::Source};
use dplm_theory::clear::{Ols, OlsFit};

/// The rows of a survey: pay, schooling, experience, hours, a region, membership.
struct Person {
    pay: f64,
    educ: f64,
    exper: f64,
    hours: f64,
    region: &'static str,
    member: bool,
}

fn people(count: u32) -> Vec<Person> {
    let spread = |i: u32, step: u32, modulus: u32| f64::from(i * step % modulus) / f64::from(modulus - 1);
    let person = |i: u32| {
        let (educ, exper) = (20.0 * spread(i, 37, 101), 60.0 * spread(i, 53, 211));
        let (region, member) = (["north", "south", "east"][(i * 31 % 7 % 3) as usize], (i * 29 % 11).is_multiple_of(2));
        let hours = 5.0 + 75.0 * spread(i, 71, 307);
        let noise = 2.0 * spread(i, 7919, 4001) - 1.0;
        let line = 1.0 + 0.08 * educ + 0.05 * exper - 0.0008 * exper * exper + if member { 0.2 } else { 0.0 };
        Person { pay: (line + 0.004 * hours + 0.5 * noise).exp(), educ, exper, hours, region, member }
    };
    (0..count).map(person).collect()
}

fn table(people: &[Person]) -> Source {
    let mut text = "pay,educ,exper,hours,region,member\n".to_owned();
    for Person { pay, educ, exper, hours, region, member } in people {
        text += &format!("{pay},{educ},{exper},{hours},{region},{member}\n");
    }
    Source::from_csv_stream(&mut text.as_bytes(), "people").expect("rows")
}

type Columns = fn(&Person) -> Vec<f64>;
type Response = fn(&Person) -> f64;

fn is(person: &Person, region: &str) -> f64 {
    f64::from(u8::from(person.region == region))
}

fn member(person: &Person) -> f64 {
    f64::from(u8::from(person.member))
}

/// Legendre polynomials of degrees 1 to 3 on the bounds of experience, with variance 1 there,
/// written out.
fn cubic(person: &Person) -> [f64; 3] {
    let t = person.exper / 30.0 - 1.0;
    [3f64.sqrt() * t, 5f64.sqrt() * (1.5 * t * t - 0.5), 7f64.sqrt() * (2.5 * t.powi(3) - 1.5 * t)]
}

/// Bernstein polynomials: cubic B-splines without knots.
fn bernstein(person: &Person) -> [f64; 3] {
    let u = person.exper / 60.0;
    [3.0 * u * (1.0 - u).powi(2), 3.0 * u * u * (1.0 - u), u.powi(3)]
}

/// The design matrix and the response that each formula stands for, written out by hand.
fn cases() -> Vec<(&'static str, Columns, Response)> {
    let log_pay: Response = |p| p.pay.ln();
    vec![
        (
            "log(pay[1..500]) ~ educ[0..20] + exper[0..60] + I(exper^2)",
            |p| vec![1.0, p.educ, p.exper, p.exper * p.exper],
            log_pay,
        ),
        ("log(pay[1..500]) ~ poly(exper[0..60], 3)", |p| [&[1.0][..], &cubic(p)].concat(), log_pay),
        (
            "log(pay[1..500]) ~ I(exper[0..60]^3) + I(exper^2) + exper",
            |p| vec![1.0, p.exper.powi(3), p.exper.powi(2), p.exper],
            log_pay,
        ),
        // The square is missing, so the cube is fitted as it stands.
        ("log(pay[1..500]) ~ exper[0..60] + I(exper^3)", |p| vec![1.0, p.exper, p.exper.powi(3)], log_pay),
        ("log(pay[1..500]) ~ educ[0..20] * hours[5..80]", |p| vec![1.0, p.educ, p.hours, p.educ * p.hours], log_pay),
        // Without one of the columns, the product is fitted as it stands.
        ("log(pay[1..500]) ~ educ[0..20] + educ:hours[5..80]", |p| vec![1.0, p.educ, p.educ * p.hours], log_pay),
        (
            "log(pay[1..500]) ~ region{north,south,east} * member{false,true}",
            |p| {
                let (south, east, m) = (is(p, "south"), is(p, "east"), member(p));
                vec![1.0, south, east, m, south * m, east * m]
            },
            log_pay,
        ),
        (
            "log(pay[1..500]) ~ exper[0..60] * region{north,south,east} + I(exper^2):region + I(exper^2)",
            |p| {
                let (south, east, x) = (is(p, "south"), is(p, "east"), p.exper);
                vec![1.0, x, south, east, x * x, x * south, x * east, x * x * south, x * x * east]
            },
            log_pay,
        ),
        (
            "log(pay[1..500]) ~ 0 + region{north,south,east} + educ[0..20]",
            |p| vec![is(p, "north"), is(p, "south"), is(p, "east"), p.educ],
            log_pay,
        ),
        // Experience through the origin: nothing may be shifted.
        ("pay[0..500] ~ exper[0..60] + I(exper^2) + 0", |p| vec![p.exper, p.exper * p.exper], |p| p.pay),
        (
            "log(pay[1..500]) ~ bs(exper[0..60], df = 3) + sqrt(hours[5..80])",
            |p| [&[1.0][..], &bernstein(p), &[p.hours.sqrt()]].concat(),
            log_pay,
        ),
        (
            "pay[1..500] / hours[5..80] ~ educ[0..20] + log(hours)",
            |p| vec![1.0, p.educ, p.hours.ln()],
            |p| p.pay / p.hours,
        ),
        (
            "log(pay[1..500]) ~ educ[0..20] + offset(log(hours[5..80]))",
            |p| vec![1.0, p.educ],
            |p| p.pay.ln() - p.hours.ln(),
        ),
        (
            "log10(pay[1..500]) ~ I((educ[0..20] - 10) / 5) + member{false,true} + educ:exper[0..60]:hours[5..80]",
            |p| vec![1.0, (p.educ - 10.0) / 5.0, member(p), p.educ * p.exper * p.hours],
            |p| p.pay.log10(),
        ),
        // An unlisted region is missing or a level of its own.
        ("log(pay[1..500]) ~ region{north,*} + educ[0..20]", |p| vec![1.0, 1.0 - is(p, "north"), p.educ], log_pay),
    ]
}

fn least_squares(rows: impl Iterator<Item = (Vec<f64>, f64)>) -> OlsFit {
    let (x, y): (Vec<Vec<f64>>, Vec<f64>) = rows.unzip();
    let mut ols = Ols::new(x[0].len());
    ols.push(&x.concat(), &y).expect("rows");
    ols.finish().expect("columns that differ")
}

fn read(source: &Source, formula: &str) -> Dataset {
    Dataset::read(source, &Formula::parse(formula).expect(formula), &Reading::default()).expect(formula)
}

/// Least squares on the encoded rows, in users' units.
fn through_the_design(source: &Source, formula: &str) -> Vec<f64> {
    let mut dataset = read(source, formula);
    let p = dataset.design().features();
    let rows = dataset.not_private().standardised_rows().expect("rows").into_inner();
    let theta = least_squares(rows.x.chunks(p).map(<[f64]>::to_vec).zip(rows.y)).coefficients;
    dataset.design().contrasts().iter().map(|contrast| contrast.of(&theta)).collect()
}

/// The lattice rounds cells to 1/4096 of half a range, which moves a coefficient by a small share
/// of its standard error.
#[test]
fn coefficients_through_the_design_are_those_of_least_squares() {
    let people = people(4000);
    let source = table(&people);
    for (formula, columns, response) in cases() {
        let expected = least_squares(people.iter().map(|person| (columns(person), response(person))));
        let found = through_the_design(&source, formula);
        assert_eq!(found.len(), expected.coefficients.len(), "{formula}");
        for (found, (expected, error)) in found.iter().zip(expected.coefficients.iter().zip(&expected.std_errors)) {
            assert!((found - expected).abs() < 0.02 * error, "{formula}: {found}, not {expected} +- {error}");
        }
    }
}

/// Raw powers are fitted in the same columns as orthogonal ones, so they cost the same.
#[test]
fn raw_powers_are_encoded_as_polynomials() {
    let source = table(&people(500));
    let encoded = |formula: &str| {
        let rows = read(&source, formula).not_private().standardised_rows().expect("rows").into_inner();
        (rows.x, rows.y)
    };
    let raw = encoded("pay[0..500] ~ exper[0..60] + I(exper^2) + I(exper^3)");
    assert_eq!(raw, encoded("pay[0..500] ~ poly(exper[0..60], 3)"));
    let x = raw.0.chunks(4).map(|row| row[2]);
    assert!(x.clone().any(|x| x < -0.49) && x.clone().any(|x| x == 1.0), "Legendre's second reaches from -1/2 to 1");
}

/// A power that is fitted minus lower ones is not fitted without them, and a coefficient that was
/// left out has no number.
#[test]
fn what_is_left_out_is_left_out_with_what_it_belongs_to() {
    let source = table(&people(1500));
    let formula = "log(pay[1..500]) ~ exper[0..60] + I(exper^2) + I(exper^3) + educ[0..20]*hours[5..80]";
    let mut some = 0;
    for seed in 0..40 {
        let fit = dplm::lm(formula).rho(0.008 * 1.03f64.powi(seed)).seed(seed as u64);
        let Ok(fit) = fit.fit_table(&source) else { continue };
        let is_out = |name: &str| fit.is_left_out(name);
        assert!(!is_out("exper") || is_out("I(exper^2)"), "{:?}", fit.left_out);
        assert!(!is_out("I(exper^2)") || is_out("I(exper^3)"), "{:?}", fit.left_out);
        assert!(!(is_out("educ") || is_out("hours")) || is_out("educ:hours"), "{:?}", fit.left_out);
        for one in fit.coefficients.iter().filter(|one| is_out(&one.name)) {
            assert!(one.estimate.is_none() && !one.identified, "{} is left out and has a number", one.name);
        }
        some += usize::from(!fit.left_out.is_empty());
    }
    assert!(some > 5, "next to nothing was left out: {some}");
}

/// A row is encoded within its public bound, whatever its cells hold.
#[test]
fn rows_are_within_what_is_publicly_known_of_their_norm() {
    let hostile = "y,x,z,g\n1e300,-1e300,1e300,a\n-5,3,0.5,b\n0,0,1,c\nNA,1,1,a\n1,1,1,zebra\n";
    let source = Source::from_csv_stream(&mut hostile.as_bytes(), "rows").expect("rows");
    for formula in [
        "y[0..9] ~ poly(x[0..7], 5)*g{a,b,*}",
        "y[0..9] ~ x[0..7]*z[0.1..2]*g{a,b} + I(x^2) + I(x/z)",
        "y[0..9] ~ ns(x[-3..7], df = 4) + bs(z[0..2], df = 6):g{a,b}",
        "exp(y[0..9]) ~ log(x[0.5..7]) + sqrt(z[0..1]) + offset(x)",
    ] {
        let mut dataset = read(&source, formula);
        let (p, bound) = (dataset.design().features(), dataset.design().row_norm_sq().expect("bounds"));
        let rows = dataset.not_private().standardised_rows().expect("rows").into_inner();
        for (row, y) in rows.x.chunks(p).zip(&rows.y) {
            assert!(row.iter().map(|x| x * x).sum::<f64>() <= bound + 1e-2 && y.abs() <= 1.0, "{formula} {row:?}");
        }
        assert!(rows.x[3 * p..4 * p].iter().all(|x| *x == 0.0), "{formula}: a missing cell leaves no row");
        let is_level = !formula.contains("g{") || formula.contains(",*}");
        assert_eq!(rows.x[4 * p..].iter().any(|x| *x != 0.0), is_level, "{formula}: the zebra");
    }
}

/// A prediction evaluates the same terms and adds the offset.
#[test]
fn predictions_evaluate_the_terms_of_the_formula() {
    let people = people(3000);
    let source = table(&people);
    let formula =
        "log(pay[1..500]) ~ educ[0..20] * member{false,true} + poly(exper[0..60], 3) + offset(log(hours[5..80]))";
    let fit = dplm::lm(formula).rho(50.0).seed(1).fit_table(&source).expect("a fit");
    let without_response = "educ,exper,hours,member\n12,70,40,true\n8,30,2,false\n8,30,NA,false\n";
    let new = Source::from_csv_stream(&mut without_response.as_bytes(), "new").expect("rows");
    let found = fit.predict(&new, &Default::default()).expect("predictions");
    let b = fit.predictor();
    let expected = |educ: f64, t: f64, hours: f64, m: f64| {
        let [one, two, three] =
            [3f64.sqrt() * t, 5f64.sqrt() * (1.5 * t * t - 0.5), 7f64.sqrt() * (2.5 * t.powi(3) - 1.5 * t)];
        let terms = [1.0, educ, m, one, two, three, educ * m];
        hours.ln() + terms.iter().zip(&b).map(|(x, b)| x * b).sum::<f64>()
    };
    assert!((found[0] - expected(12.0, 1.0, 40.0, 1.0)).abs() < 1e-9, "clamped to 60 years");
    assert!((found[1] - expected(8.0, 0.0, 5.0, 0.0)).abs() < 1e-9, "clamped to 5 hours");
    assert!(found[2].is_nan());
    let names: Vec<&str> = fit.coefficients.iter().map(|one| one.name.as_str()).collect();
    let polynomials = ["poly(exper, 3)1", "poly(exper, 3)2", "poly(exper, 3)3"];
    assert_eq!(names, [&["(Intercept)", "educ", "member[true]"][..], &polynomials, &["educ:member[true]"]].concat());
    let intervals = fit.predict_intervals(&new, &Default::default(), 0.95).expect("intervals");
    let (low, high) = intervals[0].interval.expect("a large budget");
    assert!(low < found[0] && found[0] < high && high - low < 0.5, "{low} {} {high}", found[0]);
}

/// A design in a file is its model as a formula.
#[test]
fn a_design_is_saved_as_its_formula() {
    for (formula, _, _) in cases() {
        let design = Design::new(read(&table(&people(3)), formula).model());
        let text = serde_json::to_string(&design).expect("text");
        assert_eq!(serde_json::from_str::<Design>(&text).expect(&text), design, "{text}");
    }
    assert!(serde_json::from_str::<Design>("\"y ~ .\"").is_err());
}
