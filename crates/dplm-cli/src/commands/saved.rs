//! What a file of results holds, which part of it is asked about, and what is said of all that is
//! made of it.

use dplm::{Error, Fitted, Warning, privacy::Provenance};

use crate::{args::SavedFits, exit::Failure, places::InputFile, printer::Printer};

/// Loads the fit, or those of several groups; where one group is named, its fit.
pub fn load(args: &SavedFits) -> Result<Fitted, Failure> {
    let fitted = Fitted::load(&args.fit).map_err(|error| unread(&args.fit, error))?;
    match (fitted, &args.group) {
        (Fitted::Groups(groups), Some(level)) => {
            let fit = groups.fit_of(level).map_err(dplm::Error::from)?;
            Ok(Fitted::One(Box::new(fit.clone())))
        }
        (Fitted::One(_), Some(_)) => {
            Err(Failure::Usage(format!("{} has one fit, of no groups: leave out --group", args.fit.display())))
        }
        (saved, None) => Ok(saved),
    }
}

/// Of several files, or of one and a table, the one that is wrong is named.
pub fn unread(path: &InputFile, error: impl Into<Error>) -> Failure {
    match error.into() {
        Error::FitFile(error) => Failure::Refused(format!("{}: {error}", path.display())),
        other => other.into(),
    }
}

/// How a form of a result says that it promises nothing: of noise that can be subtracted, and of
/// rows that are nobody's.
pub struct Marks {
    /// For a fixed seed.
    pub seed: fn(&str) -> String,
    /// For simulated rows.
    pub simulated: fn(&str) -> String,
}

impl Marks {
    /// The text, marked as its provenance asks.
    pub fn on(&self, provenance: Provenance, text: String) -> String {
        match provenance {
            Provenance::System => text,
            Provenance::Seed => (self.seed)(&text),
            Provenance::Simulated => (self.simulated)(&text),
        }
    }
}

/// The sentence that goes before a text about a fit with a fixed seed.
pub fn void(text: &str) -> String {
    format!("NOT PRIVATE: {}.\n\n{text}", Warning::FixedSeed)
}

/// Says of noise that can be subtracted what a form without room for words cannot say, quiet or
/// not.
pub fn alarm(provenance: Provenance) {
    match provenance {
        Provenance::Seed => Printer::alarm(&Warning::FixedSeed.to_string(), false),
        Provenance::System | Provenance::Simulated => {}
    }
}
