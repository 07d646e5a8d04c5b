//! The methods of the library, and which of them is used when none is asked for. Other crates have
//! methods too: [`find`] takes their lists.

use super::{ConfigError, IntervalMethod, Method, Purpose, Request, Tuning, auto, dpgd};
use crate::{
    Error,
    formula::Formula,
    options::{Choice, UnknownWord, chosen},
    privacy::convert::Conversion,
};

/// What is publicly known of a method. Its name is a word of the option `method`.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name used on the command line and in reports.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The ways in which it makes intervals; empty if it gives estimates only.
    pub intervals: &'static [IntervalMethod],
    /// Whether the clip, the steps and their size may be given.
    pub tunable: bool,
    /// Whether asking for it by name says that columns without bounds are centred and of about unit
    /// variance.
    pub assumes_standard: bool,
    /// How epsilon follows from its budget: exactly where everything it releases is Gaussian.
    pub conversion: Conversion,
    /// Whether it whitens columns, so that second moments that are known are of use.
    pub whitens: bool,
    /// Whether it may be used for a formula when no method is asked for.
    pub suits: fn(&Formula) -> bool,
    /// The method with what is asked of it.
    pub configure: fn(Request, Tuning) -> Box<dyn Method>,
}

impl Choice for Entry {
    const OPTION: &'static str = "method";
    /// When none is asked for, the first is used that suits the formula and can do what is asked.
    const ALL: &'static [Entry] = &[auto::ENTRY, dpgd::ENTRY];

    fn word(self) -> &'static str {
        self.name
    }

    fn synonyms(self) -> &'static [&'static str] {
        &[]
    }
}

impl std::str::FromStr for Entry {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Entry, UnknownWord> {
        chosen(word)
    }
}

/// The method of this name, among the library's own and `others`: those of another crate, which the
/// library need not know.
///
/// # Errors
/// Lists the names there are.
pub fn find(name: &str, others: &[Entry]) -> Result<Entry, UnknownWord> {
    let all = || Entry::ALL.iter().chain(others);
    let words = || all().map(|entry| entry.name).collect();
    all().find(|entry| entry.name == name).copied().ok_or_else(|| UnknownWord { option: Entry::OPTION, words: words() })
}

impl Entry {
    /// How epsilon follows from the budget of the method that is asked for; the library's own
    /// methods are all Gaussian.
    pub fn conversion_of(named: Option<Entry>) -> Conversion {
        named.map_or(Conversion::Exact, |entry| entry.conversion)
    }

    /// Refuses what the method does not offer.
    ///
    /// # Errors
    /// When parameters are set that the method finds itself, or intervals are asked for that it
    /// does not make.
    pub fn check(&self, request: &Request, tuning: &Tuning) -> Result<(), ConfigError> {
        let (method, interval) = (self.name, request.interval);
        if *tuning != Tuning::default() && !self.tunable {
            return Err(ConfigError::FindsItself { method });
        }
        if !request.focus.is_empty() && !self.whitens {
            return Err(ConfigError::NoFocus { method });
        }
        if request.moments.is_some() && !self.whitens {
            return Err(ConfigError::NoUseForMoments { method });
        }
        if !request.keep.is_empty() && !self.whitens {
            return Err(ConfigError::LeavesNothingOut { method });
        }
        match self.intervals.first() {
            _ if request.purpose == Purpose::Prediction => Ok(()),
            None => Err(ConfigError::MakesNoIntervals { method }),
            Some(_) if self.intervals.contains(&interval) => Ok(()),
            Some(&offered) => Err(ConfigError::OtherIntervals { method, offered, interval }),
        }
    }
}

/// The method asked for, or the first that suits, with what is asked of it. Everything that can be
/// refused without rows is refused here.
///
/// A column with neither bounds nor levels is only fitted where the user said that it is centred
/// and of about unit variance: by `standardised`, or by asking for the paper's method, which is for
/// such columns. (A model file says it itself, by `standard = true`.) On any other column the
/// budget would be spent on nonsense. The paper's intervals rest on the same assumption, and on
/// columns that are hardly correlated, whatever bounds there are: nothing that they release shows
/// it.
///
/// # Errors
/// When an option makes no sense, a column has no bounds, or the method asked for cannot do what is
/// asked.
pub fn choose(
    named: Option<Entry>,
    request: Request,
    tuning: Tuning,
    formula: &Formula,
    standardised: bool,
) -> Result<Box<dyn Method>, Error> {
    tuning.check()?;
    request.check()?;
    let columns = formula.without_bounds();
    let assumed = standardised || named.is_some_and(|entry| entry.assumes_standard);
    if !columns.is_empty() && !assumed {
        return Err(ConfigError::NoBounds { columns }.into());
    }
    let suits = |entry: &&Entry| (entry.suits)(formula) && entry.check(&request, &tuning).is_ok();
    // The paper's method suits any formula and can do whatever may be asked.
    let entry = named.or_else(|| Entry::ALL.iter().find(suits).copied()).unwrap_or(dpgd::ENTRY);
    entry.check(&request, &tuning)?;
    let interval = request.interval;
    if request.purpose == Purpose::Inference && interval != IntervalMethod::Newton && !assumed {
        return Err(ConfigError::AssumesUncorrelated { interval }.into());
    }
    if formula.endogenous().is_some() && entry.name != auto::NAME {
        return Err(ConfigError::NoInstruments { method: entry.name }.into());
    }
    let method = (entry.configure)(request, tuning);
    method.check()?;
    Ok(method)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Rho;

    fn request() -> Request {
        Request::new(Rho::checked_from_f64(0.1).expect("a budget"))
    }

    fn chosen_for(named: Option<&str>, formula: &str, request: Request, tuning: Tuning) -> Result<&'static str, Error> {
        let formula = Formula::parse(formula).expect("a formula");
        let named = named.map(|name| name.parse().expect("a method"));
        Ok(choose(named, request, tuning, &formula, false)?.name())
    }

    #[test]
    fn what_is_asked_decides_the_method() {
        let tuned = Tuning { clip: Some(3.0), ..Tuning::default() };
        let batched = Request { interval: IntervalMethod::Batched, ..request() };
        let prediction = Request { purpose: Purpose::Prediction, ..request() };
        for (named, request, tuning, expected) in [
            (None, request(), Tuning::default(), "auto"),
            (None, request(), tuned, "dpgd"),
            (Some("dpgd"), batched, Tuning::default(), "dpgd"),
            (None, prediction, Tuning::default(), "auto"),
            (Some("dpgd"), request(), Tuning::default(), "dpgd"),
        ] {
            assert_eq!(chosen_for(named, "y[0..9] ~ x[0..1]", request, tuning).expect("a method"), expected);
        }
        assert_eq!(chosen_for(Some("dpgd"), "y ~ x", request(), Tuning::default()).expect("standard columns"), "dpgd");
    }

    #[test]
    fn what_a_method_does_not_offer_is_refused() {
        let tuned = Tuning { steps: Some(3), ..Tuning::default() };
        let batched = Request { interval: IntervalMethod::Batched, ..request() };
        for (named, formula, request, tuning, words) in [
            (Some("auto"), "y[0..9] ~ x[0..1]", request(), tuned, "finds the clip"),
            (Some("auto"), "y[0..9] ~ x[0..1]", batched.clone(), Tuning::default(), "newton intervals only"),
            (Some("auto"), "y ~ x", request(), Tuning::default(), "no bounds"),
            (None, "y ~ x", request(), Tuning::default(), "no bounds"),
            (None, "y[0..9] ~ x[0..1]", request(), Tuning { clip: Some(-1.0), ..tuned }, "clip"),
            (None, "y[0..9] ~ x[0..1]", batched.clone(), Tuning::default(), "hardly correlated"),
        ] {
            let refusal = chosen_for(named, formula, request, tuning).expect_err("refused").to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
