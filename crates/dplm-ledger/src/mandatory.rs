//! A ledger that must pay for every fit on a machine, so that nobody forgets to name it.
//!
//! It is named by the first of these: `/etc/dplm/settings.toml`, the environment variable
//! `DPLM_LEDGER`, and `dplm/settings.toml` in the user's configuration folder. A file has the line
//! `ledger = '/path/to/budget.db'`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::LedgerError;

/// The environment variable that names the ledger.
const VARIABLE: &str = "DPLM_LEDGER";
/// The settings of the machine, which its users cannot change.
const OF_MACHINE: &str = "/etc/dplm/settings.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    ledger: Option<PathBuf>,
}

/// The mandatory ledger, if there is one.
///
/// # Errors
/// When settings exist and cannot be parsed: a typing mistake must not switch the ledger off.
pub fn mandatory_ledger() -> Result<Option<PathBuf>, LedgerError> {
    if let Some(file) = in_settings(Path::new(OF_MACHINE))? {
        return Ok(Some(file));
    }
    match env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        Some(file) => Ok(Some(file.into())),
        // If the configuration folder cannot be read, the user has no settings.
        None => of_user().filter(|file| file.exists()).map_or(Ok(None), |file| in_settings(&file)),
    }
}

/// The settings of the user.
fn of_user() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let base =
        folder("XDG_CONFIG_HOME").or_else(|| folder("APPDATA")).or_else(|| Some(folder("HOME")?.join(".config")));
    Some(base?.join("dplm").join("settings.toml"))
}

fn in_settings(file: &Path) -> Result<Option<PathBuf>, LedgerError> {
    let wrong = || LedgerError::Settings { file: file.display().to_string() };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(_) => return Err(wrong()),
    };
    let settings: Settings = toml::from_str(&text).map_err(|_| wrong())?;
    Ok(settings.ledger)
}

/// Whether two paths lead to the same file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}
