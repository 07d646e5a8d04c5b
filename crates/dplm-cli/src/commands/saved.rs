//! What a file of results holds, and which part of it is asked about.

use dplm::report::Saved;

use crate::{args::SavedFits, exit::Failure};

/// Loads the fit, or those of several groups; where one group is named, its fit.
pub fn load(args: &SavedFits) -> Result<Saved, Failure> {
    match (Saved::load(&args.fit)?, &args.group) {
        (Saved::Groups(groups), Some(level)) => {
            let fit = groups.fit_of(level).map_err(dplm::Error::from)?;
            Ok(Saved::One(Box::new(fit.clone())))
        }
        (Saved::One(_), Some(_)) => {
            Err(Failure::Usage(format!("{} has one fit, of no groups: leave out --group", args.fit.display())))
        }
        (saved, None) => Ok(saved),
    }
}
