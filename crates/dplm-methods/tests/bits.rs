//! The numbers that a seed gives for methods that no command fits, and so no golden fit holds.

use crate::common::{Data, estimates, fit, prediction};

#[test]
fn a_seed_gives_the_same_bits() {
    let data = Data::normal(3000, 3, 1);
    let bits = |name: &&'static str| {
        let found = estimates(&fit(name, prediction(2.0), &data, 5));
        (*name, found.iter().map(|value| value.to_bits()).collect::<Vec<u64>>())
    };
    let found: Vec<_> = dplm_methods::COMPARISONS.iter().map(bits).collect();
    assert_eq!(found, EXPECTED.map(|(name, bits)| (name, bits.to_vec())));
}

const EXPECTED: [(&str, [u64; 3]); 3] = [
    ("preconditioned-adassp", [4602809223431018432, 13821881751363602148, 4597078413045608946]),
    ("functional", [4602463389735498542, 13823135176757986284, 4595500746532529925]),
    ("projected", [4601762486182058394, 13821709434365149184, 4596947614812864512]),
];
