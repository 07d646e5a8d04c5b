//! Says which commit a release is of. Other builds do not: they would be linked anew after every
//! commit.

use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=DPLM_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = env::var("DPLM_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
        .or_else(|| if is_release { commit() } else { None });
    let shown = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=DPLM_VERSION={shown}");
}

/// The commit of the checkout, where there is one.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok().filter(|done| done.status.success())?;
        String::from_utf8(done.stdout).ok().map(|text| text.trim().to_owned())
    };
    println!("cargo:rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    git(&["rev-parse", "--short", "HEAD"])
}
