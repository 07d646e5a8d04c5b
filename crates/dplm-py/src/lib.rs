//! The native half of the Python package `dplm`: Python objects in, the library's own types, Python
//! objects out.
//!
//! What a Python user sees is written in Python (`python/dplm`); here is only what needs Rust.
//! Modules in the order a fit passes them: `arrow`, `cells`, `column` and `table` (rows), `request`
//! (what is asked), `work` (threads, signals, progress), `fit` (the result). `cluster` is for rows
//! that stay on a cluster. `failure` turns every error into a Python exception, and `not_private`
//! is for the package's own tests.

mod failure;
mod arrow;
mod cells;
mod column;
mod table;
mod request;
mod work;
mod fit;
mod study;
mod groups;
mod cluster;
mod tools;
mod ledger;
mod not_private;

use pyo3::prelude::*;

/// What the Python package is made of; use `dplm` instead.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        cluster::{NativeAnswering, NativeCluster, NativePacker, identified},
        column::NativeColumn,
        fit::{NativeFit, dry_run, fit},
        groups::NativeGroupedFit,
        ledger::NativeLedger,
        not_private::{NotPrivate, encoded},
        request::{columns, model_file, of_other_programs, option_kinds},
        study::{NativeStudy, again, refine, study},
        table::NativeTable,
        tools::{NativeSimulated, command_line, plan, plan_page, rho, simulate, table},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::keep_panics_quiet();
        dplm_gpu::install();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// The words of a panic could hold a cell, so they are never shown. This library has its own copy
/// of the hook: other extension modules keep theirs.
fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|_| {}));
}
