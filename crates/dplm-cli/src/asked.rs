//! What was typed of the options, as the library takes it.

use std::{fs, io, path::Path};

use dplm::{
    CheckedFit, Error, FitRequest, RunOptions,
    formula::Formula,
    moments::{Moments, MomentsError},
    progress::background::ThreadsError,
    request::{AccountOptions, Instead, Opt, OptionError, PlanQuestion, Value},
};
use dplm_report::Cover;

use crate::{
    args::{CoverArgs, Options},
    exit::Failure,
    output::{Destination, Format},
};

/// Everything that options say.
pub struct Asked {
    /// The fit.
    pub request: FitRequest,
    /// How it is carried out.
    pub run: RunOptions,
    /// Who pays.
    pub account: AccountOptions,
    /// What is made in place of a fit.
    pub instead: Instead,
    /// What is asked of a plan.
    pub question: PlanQuestion,
}

impl<T> Options<T> {
    /// Reads what was typed, and the files that stand for options.
    ///
    /// # Errors
    /// When a file cannot be read or is not understood, or a value is not one that its option
    /// takes.
    pub fn read(&self) -> Result<Asked, Failure> {
        let mut said = self.said.clone();
        if let Some(path) = &self.model {
            let model = FitRequest::from_model_file(&text_of(path)?).map_err(Failure::of_request)?;
            said.insert(Opt::Formula, Value::Text(model.formula));
            said.insert(Opt::Standardised, Value::Truth(true));
        }
        if let Some(path) = &self.moments {
            said.insert(Opt::Moments, Value::Moments(Box::new(moments(path)?)));
        }
        Ok(Asked {
            request: FitRequest::from_said(&mut said).map_err(wrong)?,
            run: RunOptions::from_said(&mut said).map_err(wrong)?,
            account: AccountOptions::from_said(&mut said).map_err(wrong)?,
            instead: Instead::from_said(&mut said).map_err(wrong)?,
            question: PlanQuestion::from_said(&mut said).map_err(wrong)?,
        })
    }
}

fn wrong(value: OptionError) -> Failure {
    Failure::of_request(value)
}

/// Makes sense of a request: every number it is refused for was typed.
///
/// # Errors
/// One sentence on the first thing that makes no sense; a mistake in the formula is shown where it
/// is.
pub fn checked(request: &FitRequest) -> Result<CheckedFit, Failure> {
    Formula::parse_for(&request.formula, request.family).map_err(|error| Failure::formula(&request.formula, &error))?;
    request.check_among(dplm_methods::METHODS).map_err(Failure::of_request)
}

/// Moments that are public, from a file.
fn moments(path: &Path) -> Result<Moments, Failure> {
    Moments::read(path).map_err(|error| match error {
        MomentsError::Unread { .. } => Failure::Refused(format!("{}: {error}", path.display())),
        other => Failure::Usage(format!("{}: {other}", path.display())),
    })
}

fn text_of(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        Failure::Refused(match error.kind() {
            io::ErrorKind::NotFound => format!("{path} does not exist: check the path, or make it with dplm init"),
            kind => format!("{path} could not be read ({kind}): check the file and its permissions"),
        })
    })
}

/// Sets the number of threads, for the whole program.
///
/// # Errors
/// When the number makes no sense, or the operating system does not give that many threads.
pub fn use_threads(run: &RunOptions) -> Result<(), Failure> {
    let Some(threads) = run.threads else { return Ok(()) };
    dplm::progress::background::check_threads(threads).map_err(Error::from)?;
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|_| Failure::from(Error::from(ThreadsError::Refused)))
}

/// What is said of the page.
pub fn cover(args: CoverArgs) -> Cover {
    let CoverArgs { title, author, data_name } = args;
    Cover { title, author, dataset: data_name }
}

/// Refuses names that promise another format than the one written there.
///
/// # Errors
/// For the first such name.
pub fn check_formats<const N: usize>(places: [(&Option<Destination>, Format); N]) -> Result<(), Failure> {
    places.iter().try_for_each(|(place, format)| place.as_ref().map_or(Ok(()), |place| place.check_format(*format)))
}
