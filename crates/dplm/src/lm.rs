//! The usual way in: a formula, a budget, a file.

use std::path::Path;

use crate::{
    CheckedFit, Error, Fit, FitRequest, Fitted, GroupedFit, Progress, Receipt, RunOptions,
    method::ConfigError,
    moments::Moments,
    options::{Device, Family, IntervalMethod, Purpose, Target, option_table},
    privacy::Neighbours,
    progress::background,
    request::{Bytes, Given, Sizes},
    table::{Dialect, Source},
};

/// Linear regression of the model that `formula` writes: what R's `lm` does, privately.
///
/// # Examples
/// ```no_run
/// let fit = dplm::lm("pay[0..200000] ~ age[18..90] + region{north,south}").rho(0.015).fit("people.csv")?;
/// println!("{fit}");
/// # Ok::<(), dplm::Error>(())
/// ```
pub fn lm(formula: &str) -> Lm<'static> {
    Lm::from(FitRequest::new(formula))
}

/// A regression that is being described; [`lm`] starts one. Nothing is read or spent before it is
/// fitted, and a mistake is reported then.
#[derive(Clone)]
#[must_use = "nothing is fitted before fit is called"]
pub struct Lm<'a> {
    request: FitRequest,
    run: RunOptions,
    progress: Progress<'a>,
}

/// For a request that was made before, as from a model file or a saved fit.
impl From<FitRequest> for Lm<'static> {
    fn from(request: FitRequest) -> Lm<'static> {
        Lm { request, run: RunOptions::default(), progress: Progress::NONE }
    }
}

macro_rules! setters {
    ($($part:ident {
        $($(#[doc = $doc:literal])+ $opt:ident $name:ident: $type:ty = $default:expr, $value:literal, $heading:ident,
            [$($command:ident)*], {$($flag:ident: $set:expr),*};)+
    })+) => {
        $(setters_of! { $part $($(#[doc = $doc])+ $name: $type;)+ })+
    };
}

macro_rules! setters_of {
    (account $($other:tt)*) => {};
    (instead $($other:tt)*) => {};
    (question $($other:tt)*) => {};
    ($part:ident $($(#[doc = $doc:literal])+ $name:ident: $type:ty;)+) => {
        impl<'a> Lm<'a> {
            $(
                $(#[doc = $doc])+
                pub fn $name(self, value: impl Given<$type>) -> Lm<'a> {
                    Lm { $part: self.$part.$name(value), ..self }
                }
            )+
        }
    };
}

option_table!(setters);

impl<'a> Lm<'a> {
    /// Where reading and fitting report how far they have come.
    pub fn watched<'b>(self, progress: Progress<'b>) -> Lm<'b>
    where
        'a: 'b,
    {
        Lm { progress, ..self }
    }

    /// What is asked, checked as far as it can be without rows.
    ///
    /// # Errors
    /// One sentence on the first thing that makes no sense.
    pub fn check(&self) -> Result<CheckedFit, Error> {
        self.request.check()
    }

    /// Fits a file (`.csv`, `.tsv`, `.parquet`, `.arrow`), a folder or a pattern of them. The
    /// caller keeps account of the budget; with a ledger, use [`CheckedFit`].
    ///
    /// # Guarantee
    /// The result is `rho`-zCDP for the budget given, as an exact statement about this program,
    /// unless a seed was fixed.
    ///
    /// # Errors
    /// When an option makes no sense, the data cannot be read or the plan is refused (nothing is
    /// spent then), or a release fails (the budget is spent then).
    pub fn fit(self, path: impl AsRef<Path>) -> Result<Fit, Error> {
        let source = self.open(path)?;
        self.fit_table(&source)
    }

    /// As [`Lm::fit`], for a table that is already open: several files, a stream, or Arrow batches
    /// in memory.
    ///
    /// # Errors
    /// As [`Lm::fit`].
    ///
    /// # Examples
    /// ```
    /// use dplm::table::Source;
    /// let csv: String = (0..2000).map(|i| format!("{},{}\n", f64::from(i % 9), f64::from(i % 2))).collect();
    /// let table = Source::from_csv_stream(&mut format!("y,x\n{csv}").as_bytes(), "example")?;
    /// let fit = dplm::lm("y[0..9] ~ x[0..1]").rho(1.0).fit_table(&table)?;
    /// assert_eq!(fit.coefficients[1].name, "x");
    /// # Ok::<(), dplm::Error>(())
    /// ```
    pub fn fit_table(self, table: &Source) -> Result<Fit, Error> {
        if self.request.by.is_some() {
            return Err(ConfigError::SeveralFits.into());
        }
        match self.fitted(table)? {
            Fitted::One(fit) => Ok(*fit),
            Fitted::Groups(_) => unreachable!("no groups were asked for"),
        }
    }

    /// Fits the model in each of several groups, the levels of the column of [`Lm::by`], under one
    /// budget.
    ///
    /// # Guarantee
    /// All fits together are `rho`-zCDP for the budget given, as an exact statement about this
    /// program, unless a seed was fixed.
    ///
    /// # Errors
    /// As [`Lm::fit`]; and when no groups were asked for.
    ///
    /// # Examples
    /// ```no_run
    /// let fits = dplm::lm("pay[0..200000] ~ age[18..90]").rho(0.015).by("region{north,south}").fit_groups("people.csv")?;
    /// let north = fits.get("north").expect("large enough");
    /// println!("{north}");
    /// # Ok::<(), dplm::Error>(())
    /// ```
    pub fn fit_groups(self, path: impl AsRef<Path>) -> Result<GroupedFit, Error> {
        let source = self.open(path)?;
        self.fit_groups_of(&source)
    }

    /// As [`Lm::fit_groups`], for a table that is already open.
    ///
    /// # Errors
    /// As [`Lm::fit_groups`].
    pub fn fit_groups_of(self, table: &Source) -> Result<GroupedFit, Error> {
        if self.request.by.is_none() {
            return Err(ConfigError::NoGroups.into());
        }
        match self.fitted(table)? {
            Fitted::Groups(fits) => Ok(*fits),
            Fitted::One(_) => unreachable!("groups were asked for"),
        }
    }

    fn open(&self, path: impl AsRef<Path>) -> Result<Source, Error> {
        Ok(Source::open_as(&[path], self.run.csv.unwrap_or_default())?)
    }

    fn fitted(&self, table: &Source) -> Result<Fitted, Error> {
        let checked = self.check()?;
        background::on_threads(self.run.threads, || {
            let mut data = checked.read(table, &self.run, self.progress)?;
            let prepared = data.prepare(self.run.noise())?;
            let receipt = Receipt::by_caller(prepared.charge());
            prepared.run(receipt, self.progress)
        })?
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Dataset, NoiseSource, Reading,
        formula::Formula,
        method::{Request, auto},
        privacy::Rho,
        report::to_json,
    };

    fn table() -> Source {
        let rows: String =
            (0..3000).map(|i| format!("{},{}\n", f64::from(i % 10) / 1.2, f64::from(i % 7) / 7.0)).collect();
        Source::from_csv_stream(&mut format!("y,x\n{rows}").as_bytes(), "rows").expect("a table")
    }

    #[test]
    fn it_is_the_fit_of_the_modules() {
        let short = lm("y[0..9] ~ x[0..1]").rho(0.5).seed(3).fit_table(&table());
        let request = Request::new(Rho::checked_from_f64(0.5).expect("a budget"));
        let formula = Formula::parse("y[0..9] ~ x[0..1]").expect("a formula");
        let mut data = Dataset::read(&table(), &formula, &Reading::default()).expect("data");
        let long = data.fit(&auto::Config::new(request), NoiseSource::Seed(3), Progress::NONE);
        assert_eq!(to_json(&short.expect("a fit")), to_json(&long.expect("a fit")));
    }

    #[test]
    fn options_reach_the_fit() {
        let asked = lm("y ~ x").standardised(true).rho(0.5).target(Target::Sample).level(0.9);
        let asked = asked.method("dpgd").neighbours(Neighbours::ZeroOut).seed(1);
        let fit = asked.clone().fit_table(&table()).expect("a fit");
        assert_eq!(
            (fit.target, fit.level, fit.method.name.as_str(), fit.is_private()),
            (Target::Sample, 0.9, "dpgd", false)
        );
        assert_eq!(fit.guarantee.promise.neighbours, Neighbours::ZeroOut);
        let predicting = asked.purpose(Purpose::Prediction).fit_table(&table()).expect("a fit");
        assert!(predicting.coefficients.iter().all(|one| one.precision.is_none()));
        let epsilon = lm("y[0..9] ~ x[0..1]").delta(1e-5).epsilon(2.0);
        let found = epsilon.fit_table(&table()).expect("a fit").guarantee;
        assert!(found.delta == 1e-5 && (found.epsilon.to_f64() - 2.0).abs() < 1e-6);
    }

    #[test]
    fn mistakes_are_told_before_anything_is_read() {
        let refused = |lm: Lm<'_>| lm.fit_table(&table()).expect_err("refused").to_string();
        assert!(matches!(lm("y ~").rho(0.5).check(), Err(Error::Formula(_))));
        assert!(refused(lm("y[0..9] ~ x[0..1]").rho(-1.0)).contains("rho"));
        assert!(refused(lm("y[0..9] ~ x[0..1]").rho(1.0).method("magic")).contains("auto, dpgd"));
        assert!(refused(lm("y[0..9] ~ x[0..1]").rho(1.0).delta(2.0)).contains("delta"));
        assert!(refused(lm("y[0..9] ~ x[0..1]").rho(1.0).weights("w")).contains("w[0..50]"));
        assert!(refused(lm("y[0..9] ~ x[0..1]").rho(1.0).threads(0)).contains("threads"));
        assert!(refused(lm("y[0..9] ~ x[0..1]")).contains("budget"));
        assert!(refused(lm("y ~ x").rho(0.5)).contains("no bounds"));
        let both = lm("y[0..9] ~ x[0..1]").rho(0.5).epsilon(1.0);
        assert!(refused(both).contains("once"));
    }
}
