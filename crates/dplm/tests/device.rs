//! Rows on a GPU give the bits of rows in memory. Without a GPU these tests print that and stop;
//! with `DPLM_GPU=required` they fail.

use dplm::{
    lattice::{Clip, Lattice},
    options::Device,
    rows::{DeviceError, Encoded, Rows, engine::Place},
    table::Source,
};
use dplm_gpu::{CardError, Gpu};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    common::{Data, clipped_count, gradient_sum, square_sum},
    engines::answers_as_memory_does,
};

/// The card of this machine, or the reason why there is none.
fn card() -> Option<Gpu> {
    match Gpu::open() {
        Ok(card) => Some(card),
        Err(error @ (CardError::NoDriver | CardError::NoCard)) => {
            assert!(std::env::var("DPLM_GPU").as_deref() != Ok("required"), "{error}");
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn on(card: &Gpu, data: &Data) -> Encoded {
    data.rows().moved_to(card).unwrap()
}

/// Cells of every size, the largest among them, and rows of zeros.
fn extreme(rows: usize, features: usize, seed: u64) -> Data {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut cell = move || {
        let (kind, word) = (rng.next_u32() % 8, rng.next_u32());
        let whole = f64::from(word % (1 << 20)) - f64::from(1 << 19);
        match kind {
            0 => 128.0,
            1 => -128.0,
            2 => 0.0,
            3 => 1.0 / 4096.0,
            4 | 5 => whole / 4096.0,
            _ => whole / f64::from(1 << 19),
        }
    };
    let row = |cell: &mut dyn FnMut() -> f64| (0..features).map(|_| cell()).collect::<Vec<f64>>();
    let mut data = Data { x: (0..rows).map(|_| row(&mut cell)).collect(), y: (0..rows).map(|_| cell()).collect() };
    data.x.iter_mut().step_by(97).for_each(|row| row.fill(0.0));
    data
}

#[test]
fn a_card_answers_as_memory_does() {
    let Some(card) = card() else { return };
    for (rows, features) in [(1, 7), (31, 1), (33, 3), (1000, 12), (20_003, 7), (3001, 53), (2000, 130), (1500, 300)] {
        for data in [Data::isotropic(rows, features, 6), extreme(rows, features, 6)] {
            let mut encoded = on(&card, &data);
            assert!(encoded.place() == Place::Elsewhere);
            answers_as_memory_does(&mut encoded, &mut data.rows());
        }
    }
}

#[test]
fn rows_come_to_the_card_from_a_file() {
    let Some(card) = card() else { return };
    let data = Data::isotropic(200_003, 7, 6);
    let mut encoded = data.in_a_file().moved_to(&card).unwrap();
    answers_as_memory_does(&mut encoded, &mut data.rows());
}

/// Steps at these parameters on both, with clip thresholds of both regimes and of the largest size.
fn same_steps(card: &Gpu, data: &Data) {
    let (mut memory, mut encoded) = (data.rows(), on(card, data));
    let (features, count) = (memory.features(), memory.count());
    for (gamma, noise) in [(0.001, 1.0), (1.0, 1.0), (3.0, 1e-9), (300.0, 1e-9), (1e6, 1.0)] {
        let lattice = Lattice::plan(count, features, gamma, noise).unwrap();
        for clip in [lattice.clip(gamma), Clip::new(1 << 46), Clip::new((1 << 46) + 1)] {
            let device = &mut encoded;
            for theta in [vec![64.0; features], (0..features).map(|j| 0.3 - 0.1 * (j % 7) as f64).collect()] {
                let theta = lattice.theta(&theta);
                let at = format!("{count} rows, {features} features, gamma {gamma}, {clip:?}");
                let found = gradient_sum(device, clip, &theta, &lattice);
                assert_eq!(found, gradient_sum(&mut memory, clip, &theta, &lattice), "{at}");
                let found = square_sum(device, clip, &theta, &lattice);
                assert_eq!(found, square_sum(&mut memory, clip, &theta, &lattice), "{at}");
                let found = clipped_count(device, clip, &theta, &lattice);
                assert_eq!(found, clipped_count(&mut memory, clip, &theta, &lattice), "{at}");
            }
        }
    }
}

#[test]
fn steps_are_exact_at_every_width() {
    let Some(card) = card() else { return };
    let narrow = (1..=24).chain([31, 32, 39, 40, 50, 51, 52, 53, 64, 79, 95, 100, 103, 104, 127]);
    let wide = [128, 159, 200, 207, 208, 223, 250, 300, 319, 320, 415, 416, 500, 511, 512, 639, 640, 831, 832, 1100];
    for features in narrow.chain(wide) {
        let rows = if features < 64 { 5003 } else { 1003 };
        same_steps(&card, &extreme(rows, features, features as u64));
    }
}

/// Enough rows for sums to leave floats more than once.
#[test]
fn steps_over_many_rows_are_exact() {
    let Some(card) = card() else { return };
    for (rows, features) in [(9_000_001, 3), (5_000_011, 10), (700_001, 100), (300_007, 250), (150_001, 500)] {
        same_steps(&card, &extreme(rows, features, 1));
    }
}

#[test]
fn fits_are_the_same() {
    let Some(_) = card() else { return };
    let mut csv = "y,a,b,c\n".to_owned();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    for i in 0..20_000 {
        let (a, b) = (f64::from(rng.next_u32() % 1000) / 10.0, f64::from(rng.next_u32() % 7));
        let c = ["no", "yes"][i % 2];
        csv += &format!("{},{a},{b},{c}\n", 3.0 * a - 5.0 * b + f64::from(rng.next_u32() % 100));
    }
    let bounded = "y[-100..500] ~ a[0..100] + b[0..7] + c{no,yes}";
    let table = Source::from_csv_stream(&mut csv.as_bytes(), "example").unwrap();
    for (formula, standardised) in [(bounded, false), ("y ~ a + b", true)] {
        let fit = |device: Device| {
            let asked = dplm::lm(formula).rho(1.0).seed(7).device(device);
            let asked = if standardised { asked.standardised(true) } else { asked };
            asked.fit_table(&table).unwrap()
        };
        let numbers = |device: Device| format!("{:?}", fit(device).coefficients);
        assert_eq!(numbers(Device::Cuda), numbers(Device::Cpu), "{formula}");
    }
}

/// Without a GPU the error is one sentence that says what to do, and nothing is read or spent.
#[test]
fn what_a_card_cannot_do_is_refused() {
    let table = Source::from_csv_stream(&mut "y,x,who\n1,2,a\n".as_bytes(), "example").unwrap();
    let asked = || dplm::lm("y[0..9] ~ x[0..9]").rho(1.0).device(Device::Cuda);
    let error = asked().person("who").fit_table(&table).unwrap_err();
    assert!(matches!(error, dplm::Error::Device(DeviceError::Units)), "{error}");
    if card().is_none() {
        let error = asked().fit_table(&table).unwrap_err().to_string();
        assert!(error.ends_with("leave out the device") || error.contains("leave out the device,"), "{error}");
        assert!(!error.contains('\n'));
    }
}
