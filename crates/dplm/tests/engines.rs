//! The same rows give the same bits on any number of threads, in any order and in any chunks.

use dplm::{
    Progress,
    descend::{Descent, Trajectory},
    lattice::{ClippedOuter, Kernel, Ladder, Lattice, Outer, Whitening},
    privacy::{Budget, Neighbours, Rho},
    rows::{CustomRows, Encoded, ExpectedSteps, MemoryBuilder, Rows, engine::Place},
    table::{Block, Cells},
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use crate::common::{
    Data, clipped_count, clipped_outer_sum, cluster, gradient_sum, hostile, outer_sum, square_sum, standard_design,
    tail_counts, values,
};

const FEATURES: usize = 7;
const RELATION: Neighbours = Neighbours::ReplaceOne;

fn fit(mut rows: Encoded) -> Trajectory {
    fit_on(&mut rows)
}

fn fit_on(rows: &mut dyn Rows) -> Trajectory {
    let features = rows.features();
    let plan = Descent::plan(rows.count(), features, 4.0, 12, 0.25, Neighbours::ReplaceOne, 0.1).unwrap();
    let spend = Budget::new(Rho::checked_from_f64(0.1).unwrap()).spend_rest("gradients").unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    plan.run(rows, &vec![0.0; features], spend, &mut rng, Progress::NONE).unwrap()
}

fn on_threads(threads: usize, data: &Data) -> Trajectory {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| fit(data.rows()))
}

fn in_chunks(data: &Data, size: usize) -> Encoded {
    let design = standard_design(FEATURES);
    let mut builder = MemoryBuilder::new(&design);
    let block = data.block();
    for start in (0..block.rows).step_by(size) {
        let end = (start + size).min(block.rows);
        let columns = block.columns.iter().map(|cells| match cells {
            Cells::Numbers(numbers) => Cells::Numbers(numbers[start..end].to_vec()),
            Cells::Levels(codes) => Cells::Levels(codes[start..end].to_vec()),
        });
        builder.push(&Block { rows: end - start, columns: columns.collect() });
    }
    builder.finish()
}

fn reversed(data: &Data) -> Data {
    let mut copy = data.clone();
    copy.x.reverse();
    copy.y.reverse();
    // Not only reversed: rows of different blocks change places.
    for i in (0..copy.y.len() / 2).step_by(3) {
        let j = copy.y.len() - 1 - i / 2;
        copy.x.swap(i, j);
        copy.y.swap(i, j);
    }
    copy
}

#[test]
fn threads_chunks_and_order_do_not_matter() {
    let data = Data::isotropic(20_011, FEATURES, 9);
    let reference = on_threads(1, &data);
    for threads in [2, 7] {
        assert_eq!(on_threads(threads, &data), reference, "{threads} threads");
    }
    for size in [1, 100, 128, 8192, 8193] {
        assert_eq!(fit(in_chunks(&data, size)), reference, "chunks of {size}");
    }
    assert_eq!(fit(reversed(&data).rows()), reference, "another order");
}

#[test]
fn one_cell_matters() {
    let mut data = Data::isotropic(20_011, FEATURES, 9);
    let reference = on_threads(1, &data);
    data.x[12_345][3] += 1.0;
    assert_ne!(on_threads(1, &data), reference);
}

/// The sums of the engine against the plainest possible loop in `i128`.
#[test]
fn sums_equal_a_plain_loop() {
    for (gamma, step_noise) in [(3.0, 1.0), (3.0, 1e-9), (300.0, 1e-9), (0.05, 1.0), (5000.0, 1.0)] {
        let data = Data::isotropic(1000, 3, 4).on_lattice();
        let mut rows = data.rows();
        let lattice = Lattice::plan(1000, 3, gamma, step_noise).unwrap();
        let clip = lattice.clip(gamma);
        let theta = lattice.theta(&[0.4, -1.7, 0.01]);
        let mut sums = vec![0i128; 3];
        let (mut clipped, mut square) = (0, 0i128);
        let mut curvature = [0i128; 6];
        for (x, y) in data.x.iter().zip(&data.y) {
            let cells: Vec<i128> = x.iter().map(|x| (x * 4096.0) as i128).collect();
            let fitted: i128 = cells.iter().zip(theta.integers()).map(|(x, theta)| x * *theta as i128).sum();
            let residual = (y * 4096.0) as i128 * lattice.theta_unit() as i128 - fitted;
            let norm_sq: i128 = cells.iter().map(|x| x * x).sum();
            let bound = clip.bound(norm_sq as u64) as i128;
            let weight = residual.clamp(-bound, bound);
            sums.iter_mut().zip(&cells).for_each(|(sum, x)| *sum += x * weight);
            clipped += u64::from(residual.abs() > bound);
            square += (weight * weight * norm_sq) >> clip.square_shift();
            if residual.abs() <= bound {
                let pairs = (0..3).flat_map(|j| (0..=j).map(move |i| (i, j)));
                curvature.iter_mut().zip(pairs).for_each(|(sum, (i, j))| *sum += cells[i] * cells[j]);
            }
        }
        for kernel in Kernel::available() {
            rows.set_kernel(kernel);
            assert_eq!(gradient_sum(&mut rows, clip, &theta, &lattice), sums, "{kernel:?}");
            assert_eq!(clipped_count(&mut rows, clip, &theta, &lattice), clipped, "{kernel:?}");
            assert_eq!(square_sum(&mut rows, clip, &theta, &lattice), [square], "{kernel:?}");
            let outer = ClippedOuter::Unclipped { theta: &theta, theta_unit: lattice.theta_unit(), radius: 1 << 19 };
            assert_eq!(clipped_outer_sum(&mut rows, clip, &outer), curvature, "{kernel:?}");
        }
        assert!(clipped < 1000);
    }
}

/// Every rule for outer products, at sizes around the tiles, against the plainest possible loop.
#[test]
fn outer_products_equal_a_plain_loop() {
    for features in [1, 5, 11, 12, 13, 50] {
        let data = Data::isotropic(1500, features, 8).on_lattice();
        let gamma = (features as f64).sqrt();
        let lattice = Lattice::plan(1500, features, gamma, 1.0).unwrap();
        let theta = lattice.theta(&vec![0.2; features]);
        let (mut rows, clip) = (data.rows(), lattice.clip(gamma));
        let cells: Vec<Vec<i128>> =
            data.x.iter().map(|row| row.iter().map(|x| (x * 4096.0) as i128).collect()).collect();
        let short: i128 = 4096 * 4096 * features as i128;
        let norm_sq = |row: &Vec<i128>| row.iter().map(|x| x * x).sum::<i128>();
        let (mut all, mut inside) = (Vec::new(), Vec::new());
        for j in 0..features {
            for i in 0..=j {
                all.push(cells.iter().map(|row| row[i] * row[j]).sum::<i128>());
                inside.push(cells.iter().filter(|row| norm_sq(row) <= short).map(|row| row[i] * row[j]).sum::<i128>());
            }
        }
        for kernel in Kernel::available() {
            rows.set_kernel(kernel);
            let moments = rows.moments().unwrap().into_inner();
            let x_part: Vec<i128> =
                (0..features).flat_map(|j| (0..=j).map(move |i| (i, j))).map(|(i, j)| moments.entry(i, j)).collect();
            assert_eq!(x_part, all, "{kernel:?}");
            assert_eq!(outer_sum(&rows, &Outer::Shrunk { radius: 1 << 40 }), all, "{kernel:?}");
            // A long row is shrunk, so the sum of squares falls between that of the short rows and
            // that of all.
            let radius = (short as f64).sqrt() as u64;
            let shrunk = outer_sum(&rows, &Outer::Shrunk { radius });
            let diagonal = |values: &[i128]| (0..features).map(|j| values[j * (j + 3) / 2]).sum::<i128>();
            let trace = diagonal(&shrunk);
            assert!(diagonal(&inside) < trace && trace < diagonal(&all), "{kernel:?}");
            let gradient = ClippedOuter::Gradient { theta: &theta, theta_unit: lattice.theta_unit() };
            let portable = {
                rows.set_kernel(Kernel::available()[0]);
                clipped_outer_sum(&mut rows, clip, &gradient)
            };
            rows.set_kernel(kernel);
            assert_eq!(clipped_outer_sum(&mut rows, clip, &gradient), portable, "{kernel:?}");
        }
    }
}

/// Iterates that travel to the optimum, stay near it, leave by a little, and jump away: screened
/// sums equal full ones at each.
#[test]
fn screened_sums_equal_full_sums() {
    for (gamma, features, seed, most) in
        [(12.0, 5, 1, 0.4), (5.0, 5, 2, 0.4), (2.2, 5, 3, 0.5), (0.7, 5, 4, 0.5), (4.0, 30, 5, 0.9)]
    {
        let data = Data::isotropic(30_000, features, seed);
        let (mut screened, mut full) = (data.rows(), data.rows());
        let lattice = Lattice::plan(30_000, features, gamma, 1e-3).unwrap();
        let clip = lattice.clip(gamma);
        // Enough steps for screening to seem worthwhile.
        screened.clipped(clip, Some(ExpectedSteps { steps: 1_000_000, step_size: 0.25, noise_sd: 0.01 })).unwrap();
        let optimum = 1.0 / (features as f64).sqrt();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut spread = |scale: f64| -> Vec<f64> {
            (0..features).map(|_| scale * Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect()
        };
        for step in 0..60 {
            let away = (0.75f64.powi(step), if step % 20 == 19 { 1.0 } else { 0.004 });
            let theta: Vec<f64> = spread(away.1).iter().map(|noise| optimum * (1.0 - away.0) + noise).collect();
            let theta = lattice.theta(&theta);
            let mine = gradient_sum(&mut screened, clip, &theta, &lattice);
            let theirs = gradient_sum(&mut full, clip, &theta, &lattice);
            assert_eq!(mine, theirs, "gamma {gamma}, step {step}");
            // None, few and half of the rows are longer.
            for times in [8.0, 1.4, 1.0].into_iter().filter(|_| step % 6 == 5) {
                let radius = (times * (features as f64).sqrt() * 4096.0) as u64;
                let outer = ClippedOuter::Unclipped { theta: &theta, theta_unit: lattice.theta_unit(), radius };
                let mine = clipped_outer_sum(&mut screened, clip, &outer);
                assert_eq!(mine, clipped_outer_sum(&mut full, clip, &outer), "gamma {gamma}, step {step}, {times}");
            }
        }
        let share = screened.visited().into_inner() as f64 / (60.0 * 30_000.0);
        assert!(share < most, "gamma {gamma}: visited {share} of the rows");
    }
}

#[test]
fn a_short_run_is_not_screened() {
    let mut rows = Data::isotropic(30_000, 5, 1).rows();
    let lattice = Lattice::plan(30_000, 5, 10.0, 1e-3).unwrap();
    let clip = lattice.clip(10.0);
    rows.clipped(clip, Some(ExpectedSteps { steps: 3, step_size: 0.25, noise_sd: 0.01 })).unwrap();
    for _ in 0..3 {
        gradient_sum(&mut rows, clip, &lattice.theta(&[0.1; 5]), &lattice);
    }
    assert_eq!(rows.visited().into_inner(), 90_000);
}

/// A clip threshold may be the same integer on two lattices; results for one must not be used on
/// the other.
#[test]
fn screening_starts_anew_on_another_lattice() {
    let data = Data::isotropic(30_000, 5, 1);
    let (mut screened, mut full) = (data.rows(), data.rows());
    let lattices = [4.0, 2.0].map(|gamma| (gamma, Lattice::plan(30_000, 5, gamma, 1.0).unwrap()));
    assert_eq!(lattices[0].1.clip(4.0), lattices[1].1.clip(2.0), "the case this test is about");
    for (gamma, lattice) in lattices {
        let clip = lattice.clip(gamma);
        screened.clipped(clip, Some(ExpectedSteps { steps: 1000, step_size: 0.25, noise_sd: 0.01 })).unwrap();
        for step in 0..10 {
            let theta = lattice.theta(&[0.4 * (1.0 - 0.75f64.powi(step)); 5]);
            let mine = gradient_sum(&mut screened, clip, &theta, &lattice);
            let theirs = gradient_sum(&mut full, clip, &theta, &lattice);
            assert_eq!(mine, theirs, "gamma {gamma}, step {step}");
        }
    }
}

/// Noise so large that no region holds the iterates: a coarse copy shows at each which rows are
/// clipped. Some rows have cells that do not fit a byte, or are clipped wherever iterates are.
#[test]
fn coarse_steps_are_exact() {
    let (rows, features) = (20_000, 100);
    let mut data = Data::isotropic(rows, features, 8);
    data.x[5].fill(1000.0);
    data.x[777][3] = -1000.0;
    data.x[900].fill(0.0);
    (data.y[31], data.y[32]) = (1e6, -1e6);
    let lattice = Lattice::plan(rows as u64, features, 50.0, 1.0).unwrap();
    let (mut coarse, mut full) = (data.rows(), data.rows());
    let clip = lattice.clip(50.0);
    coarse.clipped(clip, Some(ExpectedSteps { steps: 100_000, step_size: 0.25, noise_sd: 0.13 })).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    for scale in [0.0, 0.04, 0.04, 0.1, 1.0, 1e6] {
        let draw = |_| -> f64 { StandardNormal.sample(&mut rng) };
        let theta: Vec<f64> = (0..features).map(draw).map(|z| 0.1 + scale * z).collect();
        let theta = lattice.theta(&theta);
        let mine = gradient_sum(&mut coarse, clip, &theta, &lattice);
        assert_eq!(mine, gradient_sum(&mut full, clip, &theta, &lattice), "{scale}");
        if scale == 0.1 {
            let visited = coarse.visited().into_inner();
            assert!((1..rows as u64).contains(&visited), "{visited} rows visited in four steps");
        }
    }
}

/// Every query, on rows in memory and on the same rows elsewhere.
pub(crate) fn answers_as_memory_does(other: &mut dyn Rows, memory: &mut Encoded) {
    assert_eq!(other.count(), memory.count());
    let features = memory.features();
    let lattice = Lattice::plan(memory.count(), features, 2.0, 1.0).unwrap();
    let (clip, theta) = (lattice.clip(2.0), lattice.theta(&vec![0.3; features]));
    assert_eq!(gradient_sum(other, clip, &theta, &lattice), gradient_sum(memory, clip, &theta, &lattice));
    assert_eq!(square_sum(other, clip, &theta, &lattice), square_sum(memory, clip, &theta, &lattice));
    assert_eq!(clipped_count(other, clip, &theta, &lattice), clipped_count(memory, clip, &theta, &lattice));
    let moments = |rows: &dyn Rows| rows.moments().unwrap().into_inner().into_upper();
    assert_eq!(moments(other), moments(memory));
    let (theta, theta_unit) = (&theta, lattice.theta_unit());
    for outer in
        [Outer::Shrunk { radius: 1 << 13 }, Outer::Within { theta, theta_unit, radius: 1 << 13, residual: 1 << 30 }]
    {
        assert_eq!(outer_sum(other, &outer), outer_sum(memory, &outer));
    }
    for outer in
        [ClippedOuter::Unclipped { theta, theta_unit, radius: 1 << 13 }, ClippedOuter::Gradient { theta, theta_unit }]
    {
        assert_eq!(clipped_outer_sum(other, clip, &outer), clipped_outer_sum(memory, clip, &outer));
    }
    let (sizes, clips) = ([1 << 26, 1 << 28, 1 << 30], [0.5, 1.0, 2.0].map(|gamma| lattice.clip(gamma)));
    for ladder in [
        Ladder::Norms { radii: &[1 << 12, 1 << 13, 1 << 14] },
        Ladder::Gradients { theta, theta_unit, clips: &clips },
        Ladder::Residuals { theta, theta_unit, sizes: &sizes },
    ] {
        assert_eq!(tail_counts(other, &ladder), tail_counts(memory, &ladder));
    }
    let custom = |rows: &dyn CustomRows| hostile(1 << 20).map(|query| values(rows.sum(&query, RELATION).unwrap()));
    match other.custom() {
        Ok(rows) => assert_eq!(custom(rows), custom(memory.custom().unwrap())),
        Err(refusal) => assert_eq!(cluster::refusal(&refusal), Some(&dplm_cluster::RemoteError::NotHere)),
    }
    let whitening = Whitening::new(faer::Mat::from_fn(features, features, |i, j| 0.5 / (1 + i + j) as f64).as_ref());
    let (mut mine, mut theirs) = (other.whitened(&whitening).unwrap(), memory.whitened(&whitening).unwrap());
    assert_eq!(fit_on(&mut *mine), fit_on(&mut *theirs));
    let shortened = whitening.shortened_to(Some(2000));
    let (mut mine, mut theirs) = (mine.whitened(&shortened).unwrap(), theirs.whitened(&shortened).unwrap());
    assert_eq!(fit_on(&mut *mine), fit_on(&mut *theirs));
    let partial = regressed_anew(features);
    let (mut mine, mut theirs) = (mine.whitened(&partial).unwrap(), theirs.whitened(&partial).unwrap());
    assert_eq!(fit_on(&mut *mine), fit_on(&mut *theirs));
    let halves = in_halves(features);
    let (mut mine, mut theirs) = (other.whitened(&halves).unwrap(), memory.whitened(&halves).unwrap());
    assert_eq!(fit_on(&mut *mine), fit_on(&mut *theirs));
    assert_eq!(fit_on(other), fit_on(memory));
}

/// A change of coordinates with a block for each half of the units.
fn in_halves(features: usize) -> Whitening {
    let entry = |i: usize, j: usize| 0.6 / (1.0 + (i % features).abs_diff(j % features) as f64);
    let matrix = faer::Mat::from_fn(2 * features, 2 * features, |i, j| match (i < features, j < features) {
        (true, true) | (false, false) => entry(i, j),
        (false, true) => -entry(i, j),
        (true, false) => 0.0,
    });
    Whitening::new(matrix.as_ref()).beside_half()
}

/// A change of coordinates that makes another response too, and leaves a column out.
fn regressed_anew(features: usize) -> Whitening {
    let matrix = faer::Mat::from_fn(features, features - 1, |i, j| 0.7 / (1.0 + i.abs_diff(j) as f64));
    let weights: Vec<f64> = (0..=features).map(|i| 0.5 - 0.2 * i as f64).collect();
    Whitening::with_response(matrix.as_ref(), &weights)
}

#[test]
fn a_file_answers_as_memory_does() {
    let data = Data::isotropic(200_003, FEATURES, 6);
    let mut encoded = data.in_a_file();
    assert_eq!(encoded.place(), Place::File);
    assert_eq!(Data::isotropic(10, FEATURES, 6).within(1 << 20).place(), Place::Memory);
    answers_as_memory_does(&mut encoded, &mut data.rows());
}

/// Rows for which a pass keeps few, many or no long rows: short ones first, the longest a cell
/// allows, and rows of zeros.
fn hard_rows(rows: usize) -> [Data; 3] {
    let mut sorted = Data::isotropic(rows, FEATURES, 4);
    sorted.x.sort_by(|a, b| a.iter().map(|x| x * x).sum::<f64>().total_cmp(&b.iter().map(|x| x * x).sum()));
    let mut largest = Data::isotropic(rows, FEATURES, 5);
    largest.x.iter_mut().flatten().for_each(|x| *x = 1000.0 * x.signum());
    largest.y.iter_mut().for_each(|y| *y = 1000.0 * y.signum());
    let mut sparse = Data::isotropic(rows, FEATURES, 6);
    sparse.x.iter_mut().enumerate().filter(|(row, _)| row % 100 != 7).for_each(|(_, row)| row.fill(0.0));
    [sorted, largest, sparse]
}

#[test]
fn rows_seen_through_a_matrix_answer_as_kept_ones_do() {
    let turned = faer::Mat::from_fn(FEATURES, FEATURES - 1, |i, j| 0.9 / (1.0 + i.abs_diff(j) as f64));
    let identity = faer::Mat::<f64>::identity(FEATURES, FEATURES);
    let [turned, identity] = [turned.as_ref(), identity.as_ref()].map(Whitening::new);
    let shortened = identity.clone().shortened_to(Some(7000));
    for whitening in [turned, identity, shortened] {
        for data in hard_rows(70_001) {
            let file = data.in_a_file();
            assert_eq!(file.place(), Place::File);
            let memory = data.rows();
            for rows in [&memory as &dyn Rows, &file] {
                let kept = rows.whitened(&whitening).unwrap();
                for radius in [0, 1, 5000, 9000, 12_000, 1 << 19, 1 << 22] {
                    let seen = rows.through(&whitening).unwrap();
                    let moments = || values(seen.second_moments(radius, RELATION).unwrap().into_matrix());
                    let expected = outer_sum(kept.as_ref(), &Outer::Shrunk { radius });
                    // Before any other query, and after a pass that computed both.
                    assert_eq!(moments(), expected, "radius {radius}");
                    for radii in [[1, 8000, 12_000], [9000, 1 << 19, 1 << 21]] {
                        let counts = seen.longer_than(&radii, RELATION).unwrap();
                        let counts: Vec<i128> = (0..radii.len()).flat_map(|i| values(counts.above(i))).collect();
                        assert_eq!(counts, tail_counts(kept.as_ref(), &Ladder::Norms { radii: &radii }));
                    }
                    assert_eq!(moments(), expected, "radius {radius}, measured");
                }
            }
        }
    }
}

/// Products of 2^38, of more rows than `f64` could add.
#[test]
fn moments_of_the_largest_cells_are_exact() {
    let [_, largest, _] = hard_rows(70_001);
    let cell = |value: f64| if value > 0.0 { 1i128 << 19 } else { -(1 << 19) };
    let whole: Vec<Vec<i128>> =
        largest.x.iter().zip(&largest.y).map(|(x, &y)| x.iter().chain([&y]).map(|&v| cell(v)).collect()).collect();
    let mut memory = largest.rows();
    for kernel in Kernel::available() {
        memory.set_kernel(kernel);
        let moments = memory.moments().unwrap().into_inner();
        for (i, j) in (0..=FEATURES).flat_map(|i| (i..=FEATURES).map(move |j| (i, j))) {
            let expected: i128 = whole.iter().map(|row| row[i] * row[j]).sum();
            assert_eq!(moments.entry(i, j), expected, "{i} {j} {}", kernel.name());
        }
    }
}

#[test]
fn a_cluster_answers_as_memory_does() {
    for (rows, in_block, in_answer) in [(20_003, 65_536, 1), (20_003, 1000, 4), (1001, 1, 10)] {
        let data = Data::isotropic(rows, FEATURES, 6);
        let mut remote = data.on_a_cluster(in_block, in_answer);
        answers_as_memory_does(&mut remote, &mut data.rows());
    }
}

/// Screening from a file: with room for the undecided rows, and without.
#[test]
fn a_file_is_screened_within_its_memory() {
    let data = Data::isotropic(100_000, FEATURES, 3);
    let lattice = Lattice::plan(100_000, FEATURES, 12.0, 1.0).unwrap();
    let mut full = data.rows();
    let clip = lattice.clip(12.0);
    for (memory, is_screened) in [(4 << 20, true), (1 << 10, false)] {
        let mut rows = data.within(memory);
        assert_eq!(rows.place(), Place::File, "the rows take more than that");
        rows.clipped(clip, Some(ExpectedSteps { steps: 100_000, step_size: 0.25, noise_sd: 0.02 })).unwrap();
        for step in 0..20 {
            let theta = lattice.theta(&[0.37 * (1.0 - 0.75f64.powi(step)); FEATURES]);
            let mine = gradient_sum(&mut rows, clip, &theta, &lattice);
            let theirs = gradient_sum(&mut full, clip, &theta, &lattice);
            assert_eq!(mine, theirs, "step {step}");
        }
        assert_eq!(rows.visited().into_inner() < 10 * 100_000, is_screened);
    }
}
