//! The `dplm` command: linear regression under differential privacy.

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    ExitCode::from(dplm_cli::command_line(env::args_os()))
}
