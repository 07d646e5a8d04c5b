//! What crosses modules of the library. One program, so that it is linked once.

mod common;

mod algorithm1;
mod auto;
mod coverage;
mod door;
mod engines;
mod law;
mod locality;
mod neighbours;
mod nist;
mod paper;
mod predict;
