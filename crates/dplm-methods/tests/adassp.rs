//! AdaSSP of persons, groups and weighted rows, in memory and in a file.

use dplm::{
    Dataset, GroupedDataset, NoiseSource, Person, Progress, Reading,
    formula::Formula,
    method::{Purpose, Request},
    privacy::Rho,
    table::Source,
};
use dplm_methods::adassp::Config;

const ROWS: u32 = 6000;

fn request(rho: f64, person: Option<Person>) -> Config {
    Config::new(Request {
        purpose: Purpose::Prediction,
        person,
        ..Request::new(Rho::checked_from_f64(rho).expect("a budget"))
    })
}

/// Rows of one person each, in a mixed order.
fn table() -> Source {
    let rows: String = (0..ROWS)
        .map(|i| {
            let (x, z) = (f64::from(i * 37 % 101) / 50.0 - 1.0, f64::from(i % 7));
            let y = 1.0 + 0.5 * x - 0.2 * z + f64::from(i * 7919 % 13) / 13.0 - 0.5;
            format!("{y},{x},{z},{},{},p{}\n", i % 7, ["north", "south"][i as usize % 2], (i * 7 + 5) % ROWS)
        })
        .collect();
    Source::from_csv_stream(&mut format!("y,x,z,w,region,id\n{rows}").as_bytes(), "rows").expect("a table")
}

fn formula() -> Formula {
    Formula::parse("y[-8..8] ~ x[-1..1] + z[0..7]").expect("a formula")
}

fn estimates(reading: &Reading<'_>, rho: f64) -> Vec<f64> {
    let mut data = Dataset::read(&table(), &formula(), reading).expect("rows");
    let fit = data.fit(&request(rho, reading.person.clone()), NoiseSource::Seed(3), Progress::NONE).expect("a fit");
    fit.coefficients.iter().map(|one| one.estimate.expect("an estimate")).collect()
}

fn person() -> Option<Person> {
    Some(Person { rows: Some(1), ..Person::new("id") })
}

#[test]
fn with_one_row_each_a_fit_is_the_fit_of_the_rows() {
    let of_rows = estimates(&Reading::default(), 1.0);
    assert_eq!(of_rows, estimates(&Reading { person: person(), ..Reading::default() }, 1.0));
    assert_eq!(of_rows, estimates(&Reading { memory: Some(1), ..Reading::default() }, 1.0));
    assert_eq!(of_rows, estimates(&Reading { person: person(), memory: Some(1), ..Reading::default() }, 1.0));
}

#[test]
fn groups_are_fitted_alike_wherever_rows_are() {
    let by = "region{north,south}".parse().expect("groups");
    let fits = |reading: &Reading<'_>| -> Vec<Vec<Option<f64>>> {
        let mut groups = GroupedDataset::read(&table(), &formula(), reading, &by, None).expect("rows");
        let method = request(5.0, reading.person.clone());
        let fit = groups.fit(&method, NoiseSource::Seed(1), Progress::NONE).expect("fits");
        fit.fits().map(|(_, fit)| fit.coefficients.iter().map(|one| one.estimate).collect()).collect()
    };
    let of_rows = fits(&Reading::default());
    assert_eq!(of_rows.len(), 2);
    assert_ne!(of_rows[0], of_rows[1]);
    assert_eq!(of_rows, fits(&Reading { memory: Some(1), ..Reading::default() }));
    assert_eq!(of_rows, fits(&Reading { person: person(), ..Reading::default() }));
}

/// Clipping is beyond every row, and noise below a thousandth: weights of nothing leave their rows
/// out.
#[test]
fn weights_count() {
    let weighted =
        estimates(&Reading { weights: Some("w[0..6]".parse().expect("weights")), ..Reading::default() }, 900.0);
    let plain = estimates(&Reading::default(), 900.0);
    // The weight is `i mod 7`, as `z` is: with it the mean of `z` rises from 3 to 13/3, and the
    // line is the same.
    let distance = weighted.iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!((1e-6..0.05).contains(&distance), "{weighted:?} {plain:?}");
    for found in [&weighted, &plain] {
        assert!((found[1] - 0.5).abs() < 0.05 && (found[2] + 0.2).abs() < 0.02, "{found:?}");
    }
}
