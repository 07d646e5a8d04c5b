//! The native half of the R package `dplm`: R objects in, the library's own types, R objects out.
//!
//! What an R user sees is written in R (`r/R`); here is only what needs Rust. Modules in the order
//! a fit passes them: `failure` turns every error into an R condition, `given` reads arguments and
//! `value` makes results, `column` and `table` are rows, `request` is what is asked, `work` is
//! threads, interrupts and progress, `pay` is what pays for a fit. The rest are the functions that
//! R calls. They keep nothing between calls: a fit is its JSON, so that R may save it, copy it and
//! send it elsewhere like any other object.
//!
//! `savvy-cli update r` writes `init.c`, `api.h` and `R/000-wrappers.R` anew from the functions
//! marked `#[savvy]`.

mod failure;
mod given;
mod value;
mod column;
mod table;
mod request;
mod pay;
mod work;
mod fit;
mod groups;
mod study;
mod tools;
mod ledger;
