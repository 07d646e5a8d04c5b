use faer::Mat;
use proptest::{collection::vec, prelude::*};

use crate::{
    BlockId, RemoteError,
    bytes::{Kind, Reader, Writer, sealed},
    pack::{NO_GROUP, Unpacked, read_rows, write_rows},
    question::{Ask, Of, Question, Setting, written},
};
use dplm::lattice::{BLOCK_ROWS, Clip, RowBlock, Whitening};

/// Cells of columns of several ranges: constants, categories, numbers, and the ends of the lattice.
fn cells() -> impl Strategy<Value = (usize, usize, Vec<f32>)> {
    let range = prop_oneof![Just(0i32), Just(1), Just(200), Just(30_000), Just(1 << 19)];
    (1..80usize, vec(range, 2..6)).prop_flat_map(|(rows, ranges)| {
        let features = ranges.len() - 1;
        let columns: Vec<_> = ranges.iter().map(|&most| vec(-most..=most, rows)).collect();
        columns.prop_map(move |columns| {
            let mut cells = vec![0.0; rows.div_ceil(BLOCK_ROWS) * RowBlock::len_for(features)];
            for (j, column) in columns.iter().enumerate() {
                for (row, &cell) in column.iter().enumerate() {
                    let block = row / BLOCK_ROWS * RowBlock::len_for(features);
                    cells[block + j * BLOCK_ROWS + row % BLOCK_ROWS] = cell as f32;
                }
            }
            (rows, features, cells)
        })
    })
}

proptest! {
    #[test]
    fn rows_are_unpacked_as_they_were_packed((rows, features, cells) in cells()) {
        let mut writer = Writer::new(Kind::Block);
        write_rows(&mut writer, &cells, rows, features);
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes, Kind::Block).unwrap();
        let (count, chunk) = read_rows(&mut reader, features).unwrap();
        prop_assert!(reader.is_at_end());
        prop_assert_eq!((count as usize, chunk.cells), (rows, cells));
    }
}

#[test]
fn a_cell_beyond_the_lattice_is_refused() {
    let packed = |least: i32| {
        let mut writer = Writer::new(Kind::Block);
        writer.count(1);
        for _ in 0..2 {
            writer.u32(least.cast_unsigned());
            writer.u8(0);
        }
        let bytes = writer.finish();
        read_rows(&mut Reader::new(&bytes, Kind::Block).unwrap(), 1).is_some()
    };
    assert!(packed(1 << 19) && packed(-(1 << 19)));
    assert!(!packed((1 << 19) + 1) && !packed(i32::MIN));
}

/// Persons with no rows, with more than can be laid out, or with others than there are.
#[test]
fn persons_that_cannot_be_are_refused() {
    let cells = vec![1.0; 2 * RowBlock::len_for(1)];
    let read = |sizes: &[u16], group: u32| {
        let mut writer = Writer::new(Kind::Block);
        writer.u64(0);
        writer.u32(group);
        writer.count(1);
        writer.u8(1);
        writer.count(sizes.len());
        sizes.iter().for_each(|size| writer.u16(*size));
        write_rows(&mut writer, &cells, 40, 1);
        Unpacked::read(&writer.finish()).map(|unpacked| (unpacked.units, unpacked.rows_in_unit)).ok()
    };
    assert_eq!(read(&[1, 39], 0), Some((2, Some(39))));
    assert_eq!(read(&[40; 1], 3), Some((1, Some(40))));
    for sizes in [&[0, 40][..], &[39], &[41], &[], &[20_000, 20_000]] {
        assert_eq!(read(sizes, 0), None, "{sizes:?}");
    }
    assert_eq!(read(&[40], NO_GROUP), None);
}

#[test]
fn a_matrix_travels_as_it_is() {
    let sizes = [(3, 2, 0.3, true), (2, 2, 1e-9, false), (2, 1, 1e6, true)];
    let whitenings = sizes.map(|(cells, outputs, size, makes_response)| {
        let inputs = if makes_response { 2 * cells } else { cells };
        let matrix = Mat::from_fn(inputs, outputs, |i, j| size / (1 + i + 2 * j) as f64);
        let weights: Vec<f64> = (0..=inputs).map(|i| 0.5 - i as f64).collect();
        let whitening = match makes_response {
            true => Whitening::with_response(matrix.as_ref(), &weights),
            false => Whitening::new(matrix.as_ref()),
        };
        let whitening = whitening.shortened_to((inputs > outputs).then_some(5000));
        if makes_response { whitening.beside_half() } else { whitening }
    });
    let clip = Clip::new(1 << 40);
    let of = Of { group: Some(4), rows_in_unit: Some(12) };
    let setting = Setting { features: 3, of, whitenings: &whitenings, clip: Some(&clip) };
    let question = Question::read(&written(&setting, &Ask::Presence)).unwrap();
    assert_eq!(question.of, of);
    assert_eq!((question.features, question.outputs()), (3, 1));
    assert_eq!(question.whitenings, whitenings);
    assert_eq!(question.clip, Some(clip));
}

#[test]
fn a_matrix_that_makes_sums_inexact_is_refused() {
    let of = |largest: f64| Whitening::of_integers(1, 1, vec![largest], None, 0).is_some();
    assert!(of((1u64 << 34) as f64) && of(-((1u64 << 34) as f64)));
    assert!(!of((1u64 << 34) as f64 + 1.0) && !of(0.5) && !of(f64::NAN) && !of(f64::INFINITY));
    let with = |response: Vec<f64>| Whitening::of_integers(1, 1, vec![1.0], Some(response), 0).is_some();
    let largest = (1u64 << 33) as f64;
    assert!(with(vec![largest, -largest]) && !with(vec![largest + 1.0, 0.0]) && !with(vec![0.0]));
}

#[test]
fn bytes_of_another_version_are_told_from_damaged_ones() {
    let bytes = Writer::new(Kind::Answer).finish();
    let refused = |bytes: &[u8]| Reader::new(bytes, Kind::Answer).err().expect("refused");
    assert!(Reader::new(&bytes, Kind::Answer).is_ok());
    let malformed = Kind::Answer.malformed();
    assert_eq!(Reader::new(&bytes, Kind::Block).err(), Some(Kind::Block.malformed()));
    assert_eq!(refused(&bytes[1..]), malformed);
    assert_eq!(refused(&bytes[..bytes.len() - 1]), malformed);
    let other = |at: usize| {
        let mut other = bytes[..bytes.len() - 32].to_vec();
        other[at] ^= 1;
        sealed(other)
    };
    let what = "an answer of packed rows";
    assert_eq!(refused(&other(4)), RemoteError::OtherVersion { what });
    assert_eq!(refused(&other(7)), RemoteError::OtherVersion { what });
    assert_eq!(refused(&other(0)), malformed);
}

#[test]
fn a_block_says_where_it_is() {
    assert_eq!(BlockId::new(7, 2).to_string(), "block 2 of part 7");
}
