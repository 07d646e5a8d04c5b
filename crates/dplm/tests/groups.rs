//! Groups: the model in each of them under one budget.

use dplm::{
    Fit, GroupOutcome, GroupedFit, Lm, Warning,
    method::{Purpose, Target},
    privacy::{Neighbours, Unit},
    report::{grouped_to_json, to_json},
    request::Sizes,
    table::Source,
};
use dplm_report::{Cover, grouped_to_html, to_html};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

const FORMULA: &str = "y[-8..8] ~ x[-4..4] + z[0..7]";
const LEVELS: [&str; 4] = ["north", "south", "east", "west"];
/// The slope of `x` in each group.
const SLOPES: [f64; 4] = [0.5, 0.5, -0.3, 1.0];

/// Rows of four groups, of which the second is half as large and the last may be tiny; persons have
/// two rows each.
fn table(rows: u32, seed: u64, slopes: [f64; 4], groups: impl Fn(u32) -> usize) -> Source {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let row = |i: u32| {
        let (x, z, group) = (normal(), f64::from(i % 7), groups(i));
        let level = LEVELS.get(group).copied().unwrap_or("nowhere");
        let y = 1.0 + slopes.get(group).unwrap_or(&0.0) * x - 0.2 * z + normal();
        format!("{y:.4},{x:.4},{z},{level},p{}\n", i / 2)
    };
    let rows: String = (0..rows).map(row).collect();
    Source::from_csv_stream(&mut format!("y,x,z,region,id\n{rows}").as_bytes(), "rows").expect("a table")
}

fn usual(seed: u64) -> Source {
    table(8000, seed, SLOPES, |i| i as usize / 2 % 4)
}

fn lm(rho: f64, seed: u64) -> Lm<'static> {
    dplm::lm(FORMULA).rho(rho).seed(seed)
}

fn by(lm: Lm<'static>) -> Lm<'static> {
    lm.by("region{north,south,east,west}")
}

fn fitted(rho: f64, seed: u64) -> GroupedFit {
    by(lm(rho, seed)).fit_groups_of(&usual(seed)).expect("fits")
}

fn slope(fit: &Fit) -> (f64, f64) {
    (fit.coefficients[1].estimate.expect("identified"), fit.coefficients[1].precision.expect("identified").std_error)
}

/// Of 4 x 40 intervals of 95 % more than 22 fail with probability below 1e-5.
#[test]
fn every_group_has_its_own_line() {
    let misses: usize = (0..40)
        .into_par_iter()
        .map(|seed| {
            let fit = fitted(1.0, seed);
            let missed = |(level, truth): (&&str, f64)| {
                let precision = fit.get(level).expect("fitted").coefficients[1].precision.expect("identified");
                precision.low > truth || precision.high < truth
            };
            LEVELS.iter().zip(SLOPES).filter(|(level, truth)| missed((level, *truth))).count()
        })
        .sum();
    assert!(misses <= 22, "{misses} of 160");
}

/// The loss of precision of a group's fit against the same rows fitted alone with the whole budget:
/// the sizes, and noisier counts.
#[test]
fn all_groups_together_cost_what_one_costs() {
    let errors = |seed: u64| {
        let together = fitted(0.2, seed);
        let alone = table(8000, seed, SLOPES, |i| if i / 2 % 4 == 0 { 0 } else { 9 });
        let alone = by(lm(0.2, seed)).fit_groups_of(&alone).expect("fits");
        let quarter = by(lm(0.05, seed)).fit_groups_of(&usual(seed)).expect("fits");
        [&together, &alone, &quarter].map(|fit| slope(fit.get("north").expect("fitted")).1)
    };
    let sums = (0..8).into_par_iter().map(errors).reduce(|| [0.0; 3], |a, b| std::array::from_fn(|i| a[i] + b[i]));
    assert!(sums[0] < 1.1 * sums[1] && sums[0] < 0.95 * sums[2], "{sums:?}");
}

/// The test of equality keeps its level if groups are the same, and detects differences.
#[test]
fn whether_groups_differ_is_tested() {
    let p_values = |slopes: [f64; 4]| -> Vec<[f64; 2]> {
        let found = (0..60).into_par_iter().map(|seed| {
            let fit =
                by(lm(1.0, seed)).fit_groups_of(&table(8000, seed, slopes, |i| i as usize / 2 % 4)).expect("fits");
            let tests = fit.equality();
            let of_x = tests.iter().find(|test| test.names == ["x"]).expect("a test of x");
            assert_eq!((of_x.df, of_x.groups, tests.last().expect("a test").df), (3, 4, 9));
            [of_x.p_value, tests.last().expect("a test of all").p_value]
        });
        found.collect()
    };
    // Of 60 tests at 5 % more than 12 reject with probability 1e-5.
    let same = p_values([0.5; 4]);
    assert!((0..2).all(|which| same.iter().filter(|p| p[which] < 0.05).count() <= 12), "{same:?}");
    assert!(p_values(SLOPES).iter().all(|p| p[0] < 1e-4 && p[1] < 1e-4));
}

/// With one row per person, in memory or in a file, for every method: the same numbers.
#[test]
fn engines_and_persons_with_one_row_agree() {
    let source = table(6000, 3, SLOPES, |i| i as usize % 3);
    let text = "y,x,z,region,id\n".to_owned()
        + &(0..6000)
            .map(|i| format!("{}.5,{}.25,{},{},{}\n", i % 5, i % 4, i % 7, LEVELS[i % 3], (i * 7) % 6000))
            .collect::<String>();
    let one_each = Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("a table");
    for (method, purpose) in [("auto", Purpose::Inference), ("dpgd", Purpose::Inference)] {
        let asked = || lm(5.0, 1).method(method).purpose(purpose);
        let groups =
            |lm: Lm<'static>, source: &Source| lm.by("region{north,south,east}").fit_groups_of(source).expect("fits");
        assert!(
            grouped_to_json(&groups(asked(), &source)) == grouped_to_json(&groups(asked().memory(1), &source)),
            "{method}"
        );
        let (rows, persons) = (groups(asked(), &one_each), groups(asked().person("id").rows_per_person(1), &one_each));
        for (one, other) in rows.fits().zip(persons.fits()) {
            assert_eq!(one.1.coefficients, other.1.coefficients, "{method}");
        }
        assert_eq!(rows.fits().count(), 3);
    }
}

/// A person is in the group of their first row; the other rows contribute nothing.
#[test]
fn a_person_is_in_one_group() {
    let rows = |moved: bool| {
        let row = |i: u32| {
            // Rows beyond 4000 are second rows; with `moved` they are in another group, otherwise
            // their cells are missing.
            let (person, second) = (i % 4000, i >= 4000);
            let group = LEVELS[(person % 2 + u32::from(second && moved)) as usize % 2];
            let y = if second && !moved { String::new() } else { format!("{}.5", i % 5) };
            format!("{y},{}.25,{},{group},p{person}\n", i % 4, i % 7)
        };
        let text: String = (0..8000).map(row).collect();
        Source::from_csv_stream(&mut format!("y,x,z,region,id\n{text}").as_bytes(), "rows").expect("a table")
    };
    let fit = |source: &Source| lm(2.0, 1).person("id").by("region{north,south}").fit_groups_of(source).expect("fits");
    let (moved, missing) = (fit(&rows(true)), fit(&rows(false)));
    assert_eq!((moved.rows, moved.guarantee.promise.unit), (4000, Unit::Person));
    for (one, other) in moved.fits().zip(missing.fits()) {
        assert_eq!(one.1.coefficients, other.1.coefficients);
    }
    assert_eq!(moved.fits().count(), 2);
}

/// An empty group and a tiny one are not fitted, with a sentence; the other fits are unchanged.
#[test]
fn a_group_that_is_too_small_is_left_and_the_others_stand() {
    let source = table(6000, 5, SLOPES, |i| if i == 17 { 3 } else { i as usize % 2 });
    let fit = by(lm(1.0, 2)).fit_groups_of(&source).expect("fits");
    assert!(fit.get("north").is_some() && fit.get("south").is_some());
    for group in &fit.groups[2..] {
        let GroupOutcome::NotFitted(why) = &group.outcome else { panic!("{fit}") };
        assert!(why.contains("rows") && !why.is_empty(), "{why}");
        assert!(fit.to_string().contains(&format!("{} was not fitted: ", group.level)), "{fit}");
    }
    let document: serde_json::Value = serde_json::from_str(&grouped_to_json(&fit)).expect("JSON");
    assert_eq!(document["groups"][3]["coefficients"], serde_json::json!([]));
    assert_eq!(document["groups"][3]["by"]["region"], "west");
    // No unit is in any group, at a budget that counts no rows.
    let nowhere = by(lm(0.002, 2)).fit_groups_of(&table(6000, 5, SLOPES, |_| 9)).expect("fits");
    assert!(nowhere.fits().count() == 0 && nowhere.equality().is_empty(), "{nowhere}");
    assert!(grouped_to_html(&nowhere, &Cover::default()).contains("No group could be fitted"));
}

/// Sizes are released with a small part of the budget, near the truth; or they are public and cost
/// nothing.
#[test]
fn sizes_are_released_or_public() {
    let fit = fitted(1.0, 4);
    for group in &fit.groups {
        let sd = group.size_sd.expect("released");
        // Replaced rows move two sizes by one: sqrt(2 / (2 rho)), within seven standard deviations.
        assert!((sd - 50f64.sqrt()).abs() < 1.0 && (group.size as f64 - 2000.0).abs() < 7.0 * sd, "{group:?}");
    }
    let units: Vec<u64> = fit.guarantee.releases.iter().map(|one| one.rho.units()).collect();
    assert_eq!(units.iter().sum::<u64>(), fit.guarantee.rho.units());
    let (_, north) = fit.fits().next().expect("fitted");
    assert_eq!(north.guarantee.releases.iter().map(|one| one.rho.units()).sum::<u64>(), fit.guarantee.rho.units());
    let what: Vec<&str> = north.guarantee.releases[..2].iter().map(|one| one.what.as_str()).collect();
    assert_eq!(what, ["number of usable rows", "sizes of the groups"]);
    let public = by(lm(1.0, 4)).group_sizes(Sizes::from(LEVELS.map(|level| (level, 2000))));
    let public = public.fit_groups_of(&usual(4)).expect("fits");
    assert!(public.groups.iter().all(|group| group.size == 2000 && group.size_sd.is_none()));
    assert_eq!(public.guarantee.releases.len(), 2);
    let zeroed = by(lm(1.0, 4).neighbours(Neighbours::ZeroOut)).fit_groups_of(&usual(4)).expect("fits");
    assert!((zeroed.groups[0].size_sd.expect("released") - 25f64.sqrt()).abs() < 1.0);
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_spent() {
    let source = usual(1);
    let told = |asked: Lm<'static>| asked.fit_groups_of(&source).expect_err("refused").to_string();
    assert!(told(lm(1.0, 1).by("region")).contains("region{north,south}"));
    assert!(told(by(lm(1.0, 1)).group_sizes(Sizes::from([("north", 3)]))).contains("north=1000,south=1000"));
    assert!(told(lm(1.0, 1)).contains("groups need a column"));
    let one = by(lm(1.0, 1)).fit_table(&source).expect_err("refused").to_string();
    assert!(one.contains("more than one"), "{one}");
    let model = dplm::lm("y[-8..8] ~ x[-4..4] + region{north,south}").rho(1.0);
    assert!(told(model.by("region{north,south}")).contains("leave it out of the formula"));
    assert!(told(lm(1.0, 1).by("Region{a,b}")).contains("did you mean 'region'"));
    assert!(told(by(lm(1e-9, 1))).contains("rows"));
    let tiny = by(lm(1.0, 1)).group_sizes(Sizes::from(LEVELS.map(|level| (level, 3))));
    assert!(told(tiny).contains("rows"));
}

/// The text for readers, and the saved fit.
#[test]
fn fits_of_groups_are_told_and_kept() {
    let fit = fitted(1.0, 6);
    let (text, page, json) = (fit.to_string(), grouped_to_html(&fit, &Cover::default()), grouped_to_json(&fit));
    for level in LEVELS {
        assert!(text.contains(level) && page.contains(level) && json.contains(level));
    }
    assert!(text.contains("8,000 rows") && text.contains("Are they the same in all groups?"), "{text}");
    assert!(page.matches("<svg").count() >= 4 && page.contains("--by 'region{north,south,east,west}'"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
    assert_eq!(fit, GroupedFit::from_json(&json).expect("the same"));
    assert!(Fit::from_json(&json).expect_err("not one fit").to_string().contains("several groups"));
    let north = fit.get("north").expect("fitted");
    assert_eq!(*north, Fit::from_json(&to_json(north)).expect("the same"));
    assert!(
        north.to_string().contains("region = north: about ")
            && to_html(north, &Cover::default()).contains("region = north")
    );
    assert!(fit.notes().iter().any(|(levels, warning)| levels.is_empty() && **warning == Warning::FixedSeed));
    let prediction = by(lm(1.0, 6).purpose(Purpose::Prediction)).fit_groups_of(&usual(6)).expect("fits");
    assert!(prediction.equality().is_empty() && prediction.to_string().contains("Estimates for prediction"));
    let weighted = by(lm(1.0, 6).target(Target::Sample).weights("z[0..7]")).fit_groups_of(&usual(6)).expect("fits");
    assert!(weighted.to_string().contains("weighted by z[0..7]"));
}
