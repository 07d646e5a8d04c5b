//! The programs of the card, and how each is run.

use std::ffi::CString;

/// Questions about rows, for cards of compute capability 8 and newer.
pub(crate) const ROWS: &str = include_str!("kernels/rows.ptx");
/// The step, for cards of compute capability 9 and newer.
pub(crate) const STEP: &str = include_str!("kernels/step.ptx");

const ENTRY: &str = ".visible .entry ";
const END: &str = "\n}\n";

/// A module with one kernel of several: the driver compiles a module as a whole, and only what is
/// used should take time.
pub(crate) fn only(module: &str, kernel: &str) -> CString {
    let mut parts = module.split(ENTRY);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entry, after) = part.split_once(END).expect("a kernel has an end");
        if entry.split('(').next() == Some(kernel) {
            text.extend([ENTRY, entry, END]);
        }
        text += after;
    }
    CString::new(text).expect("text without zeros")
}

/// Bytes of a column of a block: 32 rows, four bytes each.
const COLUMN_BYTES: usize = 128;
/// The most columns with which a lane has a whole row; kernels are for multiples of four.
const WHOLE: usize = 24;
/// From this number of columns on, the registers that such a kernel needs leave room for only half
/// of the threads.
const MANY: usize = 17;
/// The most columns with which a warp has rows to itself; with more, warps form teams.
const ALONE: usize = 52;
/// From this number of columns on, fewer threads are faster where a warp has rows to itself.
const WIDE: usize = 33;
/// And up to here such a warp has room for two blocks at a time.
const WIDER: usize = 37;
/// Columns that a lane may have of its warp's slice; lanes have every fourth.
const WIDTHS: [usize; 2] = [8, 13];
/// About how many bytes a warp that works alone takes at a time; with very few columns more, since
/// starting a tile takes as long as a few blocks.
const TILE_BYTES: usize = 2048;
const FEW: usize = 4;
/// The largest sums that `f64` holds exactly.
const EXACT: u128 = 1 << 53;

/// How the step is run. Sizes are those that were fastest on an H200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepPlan {
    pub(crate) kernel: String,
    pub(crate) threads: usize,
    pub(crate) warps_per_team: usize,
    pub(crate) blocks_per_tile: usize,
    pub(crate) stages: usize,
    /// Bytes of shared memory.
    pub(crate) shared: usize,
    /// Rows that one sum takes of a block.
    rows_per_sum: u128,
    pub(crate) halves: bool,
}

impl StepPlan {
    /// The plan for rows of `columns` columns, the response included; `None` if such a row does not
    /// fit.
    pub(crate) fn new(columns: usize, halves: bool, shared: usize) -> Option<StepPlan> {
        let plan = if columns <= WHOLE {
            StepPlan::whole(columns)
        } else if columns <= ALONE {
            StepPlan::alone(columns)?
        } else {
            [2, 4, 8, 16].into_iter().find_map(|warps| StepPlan::slices("team", columns, warps))?
        };
        let most = if plan.warps_per_team == 1 { 2 } else { 3 };
        let stages = (2..=most).rev().find(|stages| plan.used(columns, *stages) <= shared)?;
        let kernel = if halves { plan.kernel.clone() + "_halves" } else { plan.kernel.clone() };
        Some(StepPlan { kernel, stages, shared: plan.used(columns, stages), halves, ..plan })
    }

    fn whole(columns: usize) -> StepPlan {
        let tile = if columns <= FEW { 2 * TILE_BYTES } else { TILE_BYTES };
        let (threads, tile) = if columns < MANY { (512, tile) } else { (256, 3 * TILE_BYTES) };
        let blocks_per_tile = (tile / block_bytes(columns)).max(1);
        let kernel = format!("step_whole_{}", columns.next_multiple_of(4));
        StepPlan { threads, blocks_per_tile, rows_per_sum: 1, ..StepPlan::of_kernel(kernel, 1) }
    }

    fn alone(columns: usize) -> Option<StepPlan> {
        let plan = StepPlan::slices("alone", columns, 1)?;
        if columns < WIDE {
            return Some(plan);
        }
        let blocks_per_tile = if columns < WIDER { 2 } else { 1 };
        Some(StepPlan { threads: 384, blocks_per_tile, ..plan })
    }

    fn slices(kind: &str, columns: usize, warps_per_team: usize) -> Option<StepPlan> {
        let width = WIDTHS.into_iter().find(|width| 4 * width * warps_per_team >= columns)?;
        Some(StepPlan::of_kernel(format!("step_{kind}_{width}"), warps_per_team))
    }

    fn of_kernel(kernel: String, warps_per_team: usize) -> StepPlan {
        let (threads, blocks_per_tile, stages, shared) = (512, 1, 0, 0);
        StepPlan { kernel, threads, warps_per_team, blocks_per_tile, stages, shared, rows_per_sum: 4, halves: false }
    }

    /// Bytes of shared memory with `stages` places for tiles: these, their barriers, and what the
    /// warps of a team exchange.
    fn used(&self, columns: usize, stages: usize) -> usize {
        let warps = self.threads / 32;
        let ring = stages * self.blocks_per_tile * block_bytes(columns) + stages.next_multiple_of(2) * size_of::<u64>();
        let exchange = if self.warps_per_team == 1 { 0 } else { warps * 2 * 32 * size_of::<f64>() };
        warps / self.warps_per_team * ring + exchange
    }

    /// After how many blocks sums must leave `f64`: a term is at most `gamma`, or at most 2^45
    /// where weights are split in halves.
    pub(crate) fn blocks_per_flush(&self, gamma: u128) -> i32 {
        let term = if self.halves { 1 << 45 } else { gamma.max(1) };
        let blocks = EXACT / (self.rows_per_sum * term);
        i32::try_from(blocks.min(1 << 20)).expect("few")
    }
}

/// A block in shared memory: its columns, and the bounds of its rows.
fn block_bytes(columns: usize) -> usize {
    (columns + 1) * COLUMN_BYTES
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// What `kernels/build` wrote: the sum of each file, as `sha256sum` does.
    const SUMS: &str = include_str!("kernels/SHA256");
    const FILES: [(&str, &str); 5] = [
        ("build", include_str!("kernels/build")),
        ("rows.cu", include_str!("kernels/rows.cu")),
        ("rows.ptx", ROWS),
        ("step.cu", include_str!("kernels/step.cu")),
        ("step.ptx", STEP),
    ];

    #[test]
    fn compiled_kernels_are_of_their_source() {
        let sums = FILES.map(|(name, text)| {
            let sum: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{sum}  {name}\n")
        });
        assert_eq!(sums.concat(), SUMS, "run kernels/build where nvcc is");
    }

    fn kernels(module: &str) -> Vec<&str> {
        module.split(ENTRY).skip(1).filter_map(|part| part.split('(').next()).collect()
    }

    #[test]
    fn a_kernel_is_cut_out_whole() {
        for module in [ROWS, STEP] {
            for kernel in kernels(module) {
                let text = only(module, kernel).into_string().unwrap();
                assert!(text.starts_with(".version") && text.contains(".target sm_"), "{kernel}");
                assert_eq!(kernels(&text), [kernel]);
                let count = |sign: char| text.matches(sign).count();
                assert_eq!(count('{'), count('}'), "{kernel}");
                assert!(text.len() < module.len());
            }
        }
    }

    /// Shared memory of an H200.
    const SHARED: usize = 232_448;

    #[test]
    fn every_width_has_a_plan_that_fits() {
        for columns in 2..=832 {
            for halves in [false, true] {
                let plan = StepPlan::new(columns, halves, SHARED).unwrap_or_else(|| panic!("{columns}"));
                assert!(kernels(STEP).contains(&plan.kernel.as_str()), "{plan:?}");
                assert!(plan.shared <= SHARED && plan.stages >= 2, "{plan:?}");
                let width = plan.kernel.split('_').nth(2).and_then(|word| word.parse::<usize>().ok()).expect("a width");
                let room = if columns <= WHOLE { width } else { 4 * width * plan.warps_per_team };
                assert!(room >= columns, "{columns}: {plan:?}");
                assert!(columns > WHOLE || width - columns < 4, "a kernel leaves out three columns at most");
            }
        }
        assert_eq!(StepPlan::new(5000, false, SHARED), None);
    }

    /// A sum takes `rows_per_sum` rows of a block and must stay at most 2^53.
    #[test]
    fn sums_leave_floats_in_time() {
        for columns in [3, 11, 101, 501] {
            for gamma in [1, 1 << 30, 1 << 46] {
                let plan = StepPlan::new(columns, false, SHARED).unwrap();
                let blocks = plan.blocks_per_flush(gamma) as u128;
                assert!(blocks >= 32 && blocks * plan.rows_per_sum * gamma <= EXACT, "{columns} {gamma}");
            }
            let plan = StepPlan::new(columns, true, SHARED).unwrap();
            let blocks = plan.blocks_per_flush(1 << 62) as u128;
            assert!(blocks >= 32 && (blocks * plan.rows_per_sum) << 45 <= EXACT, "{columns}");
        }
    }
}
