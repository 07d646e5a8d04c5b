//! Which person a row belongs to: the values of an identifier column, numbered.
//!
//! An identifier is what was written: text is compared as text and integers as integers. A text
//! equal to the printed form of an integer is that integer, so that a table has the same persons in
//! CSV and in Parquet.
//!
//! Identifiers are compared through a keyed hash; the key is drawn for one reading and forgotten
//! with it. Neither identifiers nor hashes are stored, printed or written; only which rows share an
//! identifier is kept. When several machines read rows of the same person, they are given a common
//! key.
//!
//! # Guarantee
//! Whether two rows belong to one person depends on those two cells alone. Over the draw of the
//! key, the probability that two persons collide is below `N^2 / 2^128`.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
    sync::{Mutex, PoisonError},
};

use sha2::{Digest, Sha256};

use super::{
    MISSING,
    cells::{Coding, LONGEST_CELL, is_missing},
};

/// Numbers persons in the order of their appearance.
#[derive(Default)]
pub(super) struct Identifiers {
    key: Key,
    known: Mutex<HashMap<u128, u32, BuildHasherDefault<AsIs>>>,
}

/// The key of the hashes.
enum Key {
    /// Of one reading.
    Drawn(RandomState),
    /// Given, for several readings on different machines.
    Given([u8; 32]),
}

impl Default for Key {
    fn default() -> Key {
        Key::Drawn(RandomState::new())
    }
}

/// The hash of a missing identifier. A present identifier has this hash, and is then missing too,
/// with probability 2^-128.
const NOBODY: u128 = 0;

impl Identifiers {
    /// The numbers of the persons with these hashes; new persons get new numbers. `None` when there
    /// are more persons than 32 bits can number.
    pub fn numbered(&self, hashes: &[u128]) -> Option<Vec<u32>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut number = |&hash: &u128| {
            let next = u32::try_from(known.len()).ok().filter(|next| *next != MISSING)?;
            Some(if hash == NOBODY { MISSING } else { *known.entry(hash).or_insert(next) })
        };
        hashes.iter().map(&mut number).collect()
    }

    /// Numbers persons by hashes that are the same wherever the same key is given.
    pub fn keyed(key: [u8; 32]) -> Identifiers {
        Identifiers { key: Key::Given(key), ..Identifiers::default() }
    }

    /// The hashes of all persons so far, in the order of their numbers.
    #[expect(clippy::disallowed_methods, reason = "each hash goes to the place of its number, in whatever order")]
    pub fn hashes(&self) -> Vec<u128> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hashes = vec![NOBODY; known.len()];
        known.iter().for_each(|(hash, number)| hashes[*number as usize] = *hash);
        hashes
    }

    fn hash(&self, kind: u8, bytes: &[u8]) -> u128 {
        match &self.key {
            Key::Drawn(key) => drawn(key, kind, bytes),
            Key::Given(key) => {
                let hash = Sha256::new().chain_update(key).chain_update([kind]).chain_update(bytes).finalize();
                u128::from_be_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
            }
        }
    }
}

/// 128 bits, from the hashes of two inputs with different first bytes under one key.
fn drawn(key: &RandomState, kind: u8, bytes: &[u8]) -> u128 {
    let half = |first: u8| {
        let mut hasher = key.build_hasher();
        hasher.write(&[first, kind]);
        hasher.write(bytes);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// The integer 7 equals the text 7 and no other text: not 007, not 7.0; and 7.1 is not 7.10. Blanks
/// around a text are ignored, as around every cell.
impl Coding for Identifiers {
    type Code = u128;
    const MISSING: u128 = NOBODY;

    fn text(&self, cell: &str) -> u128 {
        let cell = cell.trim();
        if cell.len() > LONGEST_CELL || is_missing(cell) {
            return NOBODY;
        }
        let whole = cell.parse::<i128>().ok().filter(|number| number.to_string() == cell);
        whole.map_or_else(|| self.hash(b't', cell.as_bytes()), |whole| self.integer(whole))
    }

    /// Programs write booleans in many ways, so no text equals one. Boolean columns are refused;
    /// this is for a cell of a column that declares no type.
    fn truth(&self, truth: bool) -> u128 {
        self.hash(b'b', &[u8::from(truth)])
    }

    fn integer(&self, integer: i128) -> u128 {
        self.hash(b'i', &integer.to_le_bytes())
    }

    /// Columns of floating-point numbers are refused; this is for a cell of a column that declares
    /// no type. A whole number below 2^53 is the integer it was converted from, since that
    /// conversion is exact. Any other number may stand for several identifiers, and counts as
    /// missing.
    fn number(&self, number: f64) -> u128 {
        match number.trunc() == number && number.abs() < (1u64 << f64::MANTISSA_DIGITS) as f64 {
            true => self.integer(number as i128),
            false => NOBODY,
        }
    }
}

/// The keys are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, bytes: &[u8]) {
        let mut first = [0; 8];
        first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.0 = u64::from_le_bytes(first);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_the_text_that_it_prints_as() {
        let ids = Identifiers::default();
        for integer in [7, 0, -7, (1 << 53) + 1, 123_456_789_012_345_678_901, i128::MIN] {
            assert_eq!(ids.text(&format!(" {integer} ")), ids.integer(integer));
        }
        assert_eq!((ids.number(7.0), ids.number(-0.0)), (ids.integer(7), ids.integer(0)));
    }

    #[test]
    fn a_text_is_no_other_text() {
        let ids = Identifiers::default();
        let digits = "123456789012345678901234567890123456789012345";
        let texts = [
            "7", "7.0", "7e0", "07", "007", "+7", "x7", "7.1", "7.10", "0", "-0", "0.5", ".5", "true", "True", "TRUE",
            "1", "1e0",
        ];
        let long = (0..10).map(|last| format!("{digits}{last}")).chain([digits.to_owned()]);
        let mut hashes: Vec<u128> =
            texts.into_iter().map(str::to_owned).chain(long).map(|text| ids.text(&text)).collect();
        hashes.extend([ids.truth(true), ids.truth(false), NOBODY]);
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }

    #[test]
    fn what_may_stand_for_several_identifiers_is_nobodys() {
        let ids = Identifiers::default();
        for missing in ["", "  ", "NA", "null", "NaN"] {
            assert_eq!(ids.text(missing), NOBODY);
        }
        for number in [f64::NAN, f64::INFINITY, 7.1, 9_007_199_254_740_992.0, -1e300] {
            assert_eq!(ids.number(number), NOBODY);
        }
        assert_eq!(ids.number(9_007_199_254_740_991.0), ids.integer(9_007_199_254_740_991));
    }

    #[test]
    fn persons_are_numbered_without_gaps_and_nobody_is_not() {
        let ids = Identifiers::default();
        let of = |texts: &[&str]| ids.numbered(&texts.iter().map(|text| ids.text(text)).collect::<Vec<_>>()).unwrap();
        assert_eq!(of(&["b", "a", "NA", "b"]), [0, 1, MISSING, 0]);
        assert_eq!(of(&["c", "a", ""]), [2, 1, MISSING]);
    }

    #[test]
    fn a_given_key_makes_the_same_hashes_everywhere() {
        let of = |key: u8| {
            let ids = Identifiers::keyed([key; 32]);
            let hashes = ["b", "7", "NA", "a"].map(|text| ids.text(text));
            assert_eq!(ids.numbered(&hashes).unwrap(), [0, 1, MISSING, 2]);
            assert_eq!(ids.hashes(), [hashes[0], hashes[1], hashes[3]]);
            assert_eq!((hashes[1], hashes[2]), (ids.integer(7), NOBODY));
            hashes
        };
        assert_eq!(of(1), of(1));
        assert!(of(1).iter().zip(of(2)).all(|(one, other)| *one != other || other == NOBODY));
    }

    /// Hashes are unpredictable: another reading has another key.
    #[test]
    fn each_reading_has_its_own_key() {
        assert_ne!(Identifiers::default().text("a"), Identifiers::default().text("a"));
    }
}
