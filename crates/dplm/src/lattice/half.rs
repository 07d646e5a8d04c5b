//! Two halves of the units, by a rule that looks at one unit alone.
//!
//! What is found on one half and used on the other has nothing to do with the errors there
//! (cross-fitting; Chernozhukov et al. 2018). A row is in the half that a fixed mixing function of
//! its cells says, a person in the one that the sum of theirs says: neither depends on the order of
//! rows, on where they are kept, or on anybody else's. The response has no part in it, so that
//! given the cells of the columns the half says nothing of the errors.
//!
//! # Guarantee
//! A copy of a row is made of that row, or of that person's rows, and of nothing else: each claim
//! about re-encoded rows holds where rows stand beside such a copy.

use super::BLOCK_ROWS;

/// What is known of the rows in each lane of a block.
type Lanes = [u64; BLOCK_ROWS];

/// The rows of some blocks, each with its cells once more: as they are where its unit is in the
/// second half, and zero where it is in the first. Responses stay.
pub(super) fn with_half(cells: &[f32], features: usize, depths: &[u32]) -> Vec<f32> {
    let (before, columns) = ((features + 1) * BLOCK_ROWS, features * BLOCK_ROWS);
    let mut marks: Vec<Lanes> = cells.chunks_exact(before).map(|block| marks_of(&block[..columns])).collect();
    let mut rest = &mut marks[..];
    for &depth in depths {
        let (group, others) = rest.split_at_mut(depth as usize);
        let of_persons = group.iter().fold([0; BLOCK_ROWS], |sum, marks| plus(&sum, marks));
        group.fill(of_persons);
        rest = others;
    }
    let mut out = Vec::with_capacity(cells.len() * 2);
    for (block, marks) in cells.chunks_exact(before).zip(&marks) {
        let in_second = marks.map(|mark| mixed(mark) >> 63 == 1);
        let copied = |(place, &cell): (usize, &f32)| if in_second[place % BLOCK_ROWS] { cell } else { 0.0 };
        out.extend_from_slice(&block[..columns]);
        out.extend(block[..columns].iter().enumerate().map(copied));
        out.extend_from_slice(&block[columns..]);
    }
    out
}

/// A number of each row of a block; 0 of a row of zeros, so that it does not matter how many of
/// these fill up the rows of a person.
fn marks_of(columns: &[f32]) -> Lanes {
    let (mut marks, mut is_filled) = ([0; BLOCK_ROWS], [false; BLOCK_ROWS]);
    for column in columns.as_chunks::<BLOCK_ROWS>().0 {
        for lane in 0..BLOCK_ROWS {
            // Cells are whole numbers of at most 2^19; zero has two signs.
            let cell = column[lane] + 0.0;
            marks[lane] = mixed(marks[lane] ^ u64::from(cell.to_bits()));
            is_filled[lane] |= cell != 0.0;
        }
    }
    std::array::from_fn(|lane| if is_filled[lane] { marks[lane] } else { 0 })
}

fn plus(one: &Lanes, other: &Lanes) -> Lanes {
    std::array::from_fn(|lane| one[lane].wrapping_add(other[lane]))
}

/// The mixing function of SplitMix64 (Steele, Lea and Flood 2014).
fn mixed(mark: u64) -> u64 {
    let mark = mark.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mark = (mark ^ (mark >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mark = (mark ^ (mark >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mark ^ (mark >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four columns of 32 rows, and what is in the second half.
    fn block(seed: u64) -> Vec<f32> {
        (0..5 * BLOCK_ROWS as u64).map(|place| (mixed(seed ^ (place << 20)) % 4096) as f32 - 2048.0).collect()
    }

    fn copies(cells: &[f32], depths: &[u32]) -> Vec<bool> {
        let length = 9 * BLOCK_ROWS;
        let is_copied = |(place, _): (usize, &f32)| place % length / BLOCK_ROWS == 4;
        let out = with_half(cells, 4, depths);
        let copies: Vec<f32> = out.iter().enumerate().filter(|one| is_copied(*one)).map(|(_, cell)| *cell).collect();
        copies.iter().map(|&cell| cell != 0.0).collect()
    }

    /// Half of the rows have a copy, whatever their responses are; it is theirs.
    #[test]
    fn half_of_the_rows_have_a_copy() {
        let cells: Vec<f32> = (0..100).flat_map(block).collect();
        let in_second = copies(&cells, &[]);
        let count = in_second.iter().filter(|is_copied| **is_copied).count();
        // Of 3,200 rows 1,600, and no further from it than with a probability of 1e-6.
        assert!(count.abs_diff(1600) < 140, "{count}");
        let other: Vec<f32> = cells.iter().enumerate().map(|(i, c)| if i / 32 % 5 == 4 { 7.0 } else { *c }).collect();
        assert_eq!(copies(&other, &[]), in_second);
        let out = with_half(&cells[..5 * 32], 4, &[]);
        assert_eq!((&out[..4 * 32], &out[8 * 32..]), (&cells[..4 * 32], &cells[4 * 32..5 * 32]));
        for (lane, &is_copied) in in_second[..32].iter().enumerate() {
            let cell = |column: usize| out[column * 32 + lane];
            assert!((0..4).all(|column| cell(4 + column) == if is_copied { cell(column) } else { 0.0 }));
        }
    }

    /// The rows of a person are in one half, in any order and with any number of empty rows beside.
    #[test]
    fn persons_are_in_one_half() {
        let (a, b, zeros) = (block(1), block(2), vec![0.0; 5 * BLOCK_ROWS]);
        let halves = |blocks: &[&Vec<f32>]| {
            let cells: Vec<f32> = blocks.iter().flat_map(|block| block.iter().copied()).collect();
            copies(&cells, &[blocks.len() as u32])
        };
        let both = halves(&[&a, &b]);
        assert_eq!(both[..32], both[32..]);
        assert_eq!(halves(&[&b, &a]), both);
        assert_eq!(halves(&[&b, &zeros, &a])[..32], both[..32]);
        // Of 32 persons with two rows not all are where their first row would be.
        assert_ne!(both[..32], copies(&a, &[])[..]);
        assert!(both.iter().any(|one| *one) && !both.iter().all(|one| *one));
    }
}
