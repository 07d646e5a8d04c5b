//! Uniform numbers whose digits are drawn only when something depends on them.

use super::RandomWords;

/// A uniform number in `(0, 1)`, known to as many digits in base `2^64` as have been asked for.
///
/// A digit, once drawn, is kept: asking again gives the same digit. The number is not `Clone`,
/// because two copies would draw different digits for what should be one number.
pub(super) struct Deviate {
    /// The first digits, without a heap allocation; `near[..known.min(2)]` are drawn.
    near: [u64; 2],
    /// How many digits are drawn in all.
    known: usize,
    /// The digits after the first two, needed about once in `2^28` draws or less.
    far: Vec<u64>,
}

impl Deviate {
    /// A number of which nothing is known yet.
    pub(super) fn new() -> Self {
        Self { near: [0; 2], known: 0, far: Vec::new() }
    }

    /// The digit at `position`, counted from 0 after the point; draws it and those before it if
    /// need be.
    #[inline]
    pub(super) fn digit<R: RandomWords>(&mut self, position: usize, rng: &mut R) -> u64 {
        while self.known <= position {
            self.draw(rng.next_word());
        }
        if position < 2 { self.near[position] } else { self.far[position - 2] }
    }

    #[inline]
    fn draw(&mut self, digit: u64) {
        if self.known < 2 {
            self.near[self.known] = digit;
        } else {
            self.far.push(digit);
        }
        self.known += 1;
    }

    /// Whether this number is below `other`: compares digit by digit up to the first that differs.
    ///
    /// At each position this number's digit is drawn before the other's. Two numbers never agree
    /// for ever.
    #[inline]
    pub(super) fn is_below<R: RandomWords>(&mut self, other: &mut Deviate, rng: &mut R) -> bool {
        let mut position = 0;
        loop {
            let mine = self.digit(position, rng);
            let theirs = other.digit(position, rng);
            if mine != theirs {
                return mine < theirs;
            }
            position += 1;
        }
    }
}
