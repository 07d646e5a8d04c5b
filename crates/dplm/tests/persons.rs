//! Persons with several rows: what is summed is what a plain loop over them says, in any order, on any engine and any processor.

use dplm::{
    lattice::{Clip, Kernel, Ladder, Lattice, Outer, Whitening},
    rows::{Encoded, Rows},
};
use faer::Mat;
use num_bigint::BigInt;

use crate::common::{Data, gradient_sum, outer_sum, square_sum, tail_counts};

const FEATURES: usize = 5;

/// A table in which person `i` has one to nine rows, those of different persons mixed.
fn table(persons: usize, seed: u64) -> (Data, Vec<u32>) {
    let sizes: Vec<usize> = (0..persons).map(|person| 1 + (person * person + 3 * person) % 9).collect();
    let mut of_rows: Vec<u32> = Vec::new();
    for row in 0..9 {
        of_rows.extend((0..).zip(&sizes).filter(|(_, size)| row < **size).map(|(person, _)| person));
    }
    (Data::isotropic(of_rows.len(), FEATURES, seed).on_lattice(), of_rows)
}

/// Every answer there is.
fn answers(rows: &mut dyn Rows, gamma: f64, step_noise: f64) -> Vec<Vec<i128>> {
    let lattice = Lattice::plan(rows.count(), rows.features(), gamma, step_noise).unwrap();
    rows.set_clip(lattice.clip(gamma)).unwrap();
    let theta = lattice.theta(&vec![0.3; rows.features()]);
    let (theta, theta_unit) = (&theta, lattice.theta_unit());
    let clips: Vec<Clip> = (1..12).map(|step| lattice.clip(gamma * f64::from(step) / 4.0)).collect();
    let radii: Vec<u64> = (1..12).map(|step| step * 3000).collect();
    let clipped = rows.clipped_count(theta, &lattice).unwrap().into_inner();
    vec![
        gradient_sum(rows, theta, &lattice),
        square_sum(rows, theta, &lattice),
        outer_sum(rows, &Outer::Shrunk { radius: 14_000 }),
        outer_sum(rows, &Outer::Unclipped { theta, theta_unit, radius: 20_000 }),
        outer_sum(rows, &Outer::Gradient { theta, theta_unit }),
        tail_counts(rows, &Ladder::Norms { radii: &radii }),
        tail_counts(rows, &Ladder::Gradients { theta, theta_unit, clips: &clips }),
        vec![clipped.into()],
        rows.moments().unwrap().into_inner().into_upper(),
    ]
}

const SETTINGS: [(f64, f64); 4] = [(6.0, 1.0), (6.0, 1e-12), (0.5, 1.0), (3000.0, 1e-12)];

#[test]
fn with_one_row_each_every_answer_is_that_of_the_rows() {
    let data = Data::isotropic(5000, FEATURES, 3);
    // Nobody's number is the number of their row.
    let persons: Vec<u32> = (0..5000).map(|row| (row * 7 + 3) % 5000).collect();
    for (gamma, step_noise) in SETTINGS {
        let mut by_person = data.by_person(&persons, 4, u64::MAX);
        let rows = answers(&mut data.rows(), gamma, step_noise);
        assert_eq!(answers(by_person.rows_mut(), gamma, step_noise), rows, "{gamma} {step_noise}");
        assert_eq!(by_person.rows().rows_in_unit(), Some(4));
    }
}

#[test]
fn kernels_files_and_order_do_not_matter() {
    let (data, persons) = table(1500, 5);
    let turn = |values: &mut dyn FnMut(usize, usize)| (0..persons.len() / 2).step_by(3).for_each(|i| values(i, i * 2));
    let (mut other, mut other_persons) = (data.clone(), persons.clone());
    turn(&mut |i, j| {
        other.x.swap(i, j);
        other.y.swap(i, j);
        other_persons.swap(i, j);
    });
    let whitening = Whitening::new(Mat::from_fn(FEATURES, FEATURES, |i, j| 0.5 / (1 + i + j) as f64).as_ref());
    for (gamma, step_noise) in SETTINGS {
        let Encoded::Memory(mut memory) = data.by_person(&persons, 9, u64::MAX) else { panic!("memory is there") };
        let expected = answers(&mut memory, gamma, step_noise);
        for kernel in Kernel::available() {
            memory.set_kernel(kernel);
            memory.set_clip(Clip::new(1)).unwrap();
            assert_eq!(answers(&mut memory, gamma, step_noise), expected, "{kernel:?}");
        }
        assert_eq!(answers(other.by_person(&other_persons, 9, u64::MAX).rows_mut(), gamma, step_noise), expected);
        // As little memory as there can be, and enough for a few windows.
        for bytes in [1, 100_000] {
            let mut file = data.by_person(&persons, 9, bytes);
            assert!(matches!(file, Encoded::File(_)));
            assert_eq!(answers(file.rows_mut(), gamma, step_noise), expected, "{bytes} bytes");
            let white = |rows: &dyn Rows| answers(rows.whitened(&whitening).unwrap().as_mut(), gamma, step_noise);
            assert_eq!(white(file.rows()), white(&memory), "{bytes} bytes");
        }
    }
}

/// A person's vector, exactly, and what the engine made of it, one person at a time.
#[test]
fn a_person_contributes_the_sum_of_their_rows_shortened_to_the_clip() {
    for (gamma, step_noise) in [(6.0, 1.0), (6.0, 1e-12), (15.0, 1.0)] {
        let mut clipped = 0;
        for seed in 0..300 {
            let rows = 2 + seed as usize % 6;
            let data = Data::isotropic(rows, FEATURES, seed).on_lattice();
            let mut person = data.by_person(&vec![0; rows], 9, u64::MAX);
            let lattice = Lattice::plan(1, FEATURES, gamma, step_noise).unwrap();
            let theta = lattice.theta(&[0.4, -1.7, 0.01, 0.0, 1.0]);
            let clip = lattice.clip(gamma);
            person.rows_mut().set_clip(clip).unwrap();
            let found = gradient_sum(person.rows(), &theta, &lattice);
            let mut sum = [0i128; FEATURES];
            for (x, y) in data.x.iter().zip(&data.y) {
                let cells: Vec<i128> = x.iter().map(|x| (x * 4096.0) as i128).collect();
                let fitted: i128 = cells.iter().zip(theta.integers()).map(|(x, theta)| x * *theta as i128).sum();
                let residual = (y * 4096.0) as i128 * lattice.theta_unit() as i128 - fitted;
                sum.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += cell * residual);
            }
            let length_sq: BigInt = sum.iter().map(|v| BigInt::from(*v).pow(2)).sum();
            let factor = (clip.gamma() as f64 / length_sq.to_string().parse::<f64>().unwrap().sqrt()).min(1.0);
            clipped += u32::from(factor < 1.0);
            for (found, sum) in found.iter().zip(sum) {
                let expected = sum as f64 * factor;
                assert!((*found as f64 - expected).abs() <= 1e-6 * clip.gamma() as f64, "{found} {expected}");
            }
        }
        assert!((20..280).contains(&clipped), "{gamma}: {clipped}");
    }
}

/// Rows beyond the cap, and rows of nobody, are as if they were not there.
#[test]
fn the_first_rows_of_a_person_count_and_those_of_nobody_do_not() {
    let (data, persons) = table(200, 8);
    let mut seen = vec![0; 200];
    let keep: Vec<bool> = persons
        .iter()
        .map(|&person| {
            seen[person as usize] += 1;
            seen[person as usize] <= 3
        })
        .collect();
    let kept = |flag: bool| move |(_, keep): &(usize, &bool)| **keep == flag;
    let rows: Vec<usize> = keep.iter().enumerate().filter(kept(true)).map(|(row, _)| row).collect();
    let only = Data {
        x: rows.iter().map(|&row| data.x[row].clone()).collect(),
        y: rows.iter().map(|&row| data.y[row]).collect(),
    };
    let of_only: Vec<u32> = rows.iter().map(|&row| persons[row]).collect();
    let nobody: Vec<u32> =
        persons.iter().zip(&keep).map(|(&person, &keep)| if keep { person } else { u32::MAX }).collect();
    let ask =
        |data: &Data, persons: &[u32], most| answers(data.by_person(persons, most, u64::MAX).rows_mut(), 6.0, 1.0);
    let expected = ask(&only, &of_only, 9);
    assert_eq!(ask(&data, &persons, 3), expected);
    assert_eq!(ask(&data, &nobody, 9), expected);
    assert_ne!(ask(&data, &persons, 4), expected);
}
