//! The paper's claims, in a form that numbers can contradict.

use std::path::Path;

use crate::LabError;

/// The file of verdicts.
pub const CLAIMS: &str = "claims.json";

/// A claim, the measurement, the requirement, and the verdict.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Claim {
    /// The figure it is judged from.
    pub figure: String,
    /// The claim.
    pub claim: String,
    /// The measurement; after ± half a 95 % interval.
    pub measured: String,
    /// The requirement.
    pub required: String,
    /// The verdict.
    pub holds: bool,
}

impl Claim {
    /// The verdict as one word.
    pub fn verdict(&self) -> &'static str {
        if self.holds { "PASS" } else { "FAIL" }
    }
}

/// Claims of one figure, as an experiment states them.
pub struct Claims {
    figure: String,
    claims: Vec<Claim>,
}

impl Claims {
    /// No claims yet.
    pub fn of(figure: &str) -> Claims {
        Claims { figure: figure.to_owned(), claims: Vec::new() }
    }

    /// Adds a claim.
    pub fn add(&mut self, claim: impl Into<String>, measured: impl ToString, required: impl Into<String>, holds: bool) {
        self.claims.push(Claim {
            figure: self.figure.clone(),
            claim: claim.into(),
            measured: measured.to_string(),
            required: required.into(),
            holds,
        });
    }

    /// The claims.
    pub fn into_vec(self) -> Vec<Claim> {
        self.claims
    }
}

/// The verdicts of a folder; empty if there is no file.
///
/// # Errors
/// When the file cannot be read.
pub fn read(folder: &Path) -> Result<Vec<Claim>, LabError> {
    let path = folder.join(CLAIMS);
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|_| LabError::BrokenRecord { file: path.display().to_string(), line: 1 }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(LabError::file(&path, error)),
    }
}

/// Appends the verdicts of a figure, in place of earlier ones of the same figure.
///
/// # Errors
/// When the file cannot be read or written.
pub fn append(folder: &Path, figure: &str, claims: &[Claim]) -> Result<(), LabError> {
    let mut all = read(folder)?;
    all.retain(|claim| claim.figure != figure);
    all.extend_from_slice(claims);
    let path = folder.join(CLAIMS);
    let text = serde_json::to_string_pretty(&all).expect("claims are plain text");
    std::fs::write(&path, text + "\n").map_err(|error| LabError::file(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_of_a_figure_replace_its_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let claim = |figure: &str, holds| {
            let mut claims = Claims::of(figure);
            claims.add("it holds", 1, "1", holds);
            claims.into_vec()
        };
        append(folder.path(), "pn", &claim("pn", false)).unwrap();
        append(folder.path(), "length", &claim("length", true)).unwrap();
        append(folder.path(), "pn", &claim("pn", true)).unwrap();
        let found = read(folder.path()).unwrap();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|claim| claim.holds));
    }
}
