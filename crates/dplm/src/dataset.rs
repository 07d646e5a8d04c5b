//! A table and a model, encoded and ready to be fitted.

use rand_core::CryptoRng;

use crate::{
    Error, Fit,
    descend::Watch,
    diagnose::View,
    formula::{Formula, Model},
    lattice::Design,
    method::{Config, ConfigError, Outcome, Purpose, Request},
    privacy::{
        Guarantee, PrivacyError, Release,
        convert::{self, Conversion},
        noise::{FixedSeed, SystemRng},
    },
    report::Warning,
    rows::{Builder, Encoded},
    table::{ReadOptions, Source},
};

/// Rows of a table encoded for one model.
///
/// It holds data, so it cannot be printed or copied; [`Dataset::fit`] is the way out.
pub struct Dataset {
    formula: String,
    /// Whether `.` chose columns by what their first rows look like.
    dot_on_text: bool,
    model: Model,
    design: Design,
    rows: Encoded,
}

/// How a table is read.
#[derive(Default)]
pub struct Reading<'a> {
    /// The table reader's own options.
    pub table: ReadOptions<'a>,
    /// The most bytes that rows and the work on them may take; rows that need more go to a temporary file. Three quarters of the machine's
    /// memory when nothing is said.
    pub memory: Option<u64>,
}

/// Where the noise comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseSource {
    /// The operating system: private.
    System,
    /// A seed: reproducible, and not private.
    Seed(u64),
}

impl Dataset {
    /// Reads and encodes the columns of a formula.
    ///
    /// # Errors
    /// When columns are missing, the table cannot be read, or the encoded rows fit neither in memory nor in a temporary file.
    pub fn read(source: &Source, formula: &Formula, reading: &Reading<'_>) -> Result<Dataset, Error> {
        let model = formula.resolve(source.schema())?;
        let design = Design::new(&model);
        let mut builder = Builder::new(&design, reading.memory);
        source.for_each_block(design.columns(), &reading.table, &mut |block| builder.push(&block))?;
        let rows = builder.finish()?;
        let dot_on_text = formula.uses_dot() && source.schema().is_guessed();
        Ok(Dataset { formula: formula.to_string(), dot_on_text, model, design, rows })
    }

    /// The model, with every column named.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How the columns are standardised; public.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// How many rows there are; public.
    pub fn rows(&self) -> u64 {
        self.rows.rows().count()
    }

    /// Looks at the rows: for diagnosis, never for publication.
    pub fn not_private(&mut self) -> View<'_> {
        View::new(&mut self.rows)
    }

    /// Fits by the method asked for.
    ///
    /// # Guarantee
    /// With [`NoiseSource::System`] the result is `rho`-zCDP for the budget of the request, as an exact statement about this program.
    ///
    /// # Errors
    /// When the plan is refused (nothing is spent then), or a release fails (the budget is spent then).
    pub fn fit(&mut self, config: impl Into<Config>, noise: NoiseSource, watch: &mut Watch<'_>) -> Result<Fit, Error> {
        let config = config.into();
        match noise {
            NoiseSource::System => {
                self.fit_with(config, true, &mut SystemRng::new().map_err(PrivacyError::from)?, watch)
            }
            NoiseSource::Seed(seed) => self.fit_with(config, false, &mut FixedSeed::new(seed), watch),
        }
    }

    fn fit_with<R: CryptoRng>(
        &mut self,
        config: Config,
        private: bool,
        rng: &mut R,
        watch: &mut Watch<'_>,
    ) -> Result<Fit, Error> {
        let request = config.request().clone();
        let count = self.rows();
        let (outcome, mut warnings) = self.run(config, rng, watch)?;
        warnings.extend(outcome.warnings);
        warnings.extend(self.warnings(private, &outcome.coefficients));
        Ok(Fit {
            private,
            formula: self.formula.clone(),
            rows: count,
            guarantee: guarantee(&request, outcome.releases)?,
            purpose: request.purpose,
            goal: request.goal(),
            construction: request.construction,
            level: request.level,
            coefficients: outcome.coefficients,
            method: outcome.summary,
            warnings,
            trajectories: outcome.trajectories,
        })
    }

    fn run<R: CryptoRng>(
        &mut self,
        config: Config,
        rng: &mut R,
        watch: &mut Watch<'_>,
    ) -> Result<(Outcome, Vec<Warning>), Error> {
        let (rows, design) = (self.rows.rows_mut(), &self.design);
        match config {
            Config::Dpgd(config) => {
                let plan = config.plan(rows.count(), design)?;
                Ok((plan.run(rows, design, rng, watch)?, plan.warnings()))
            }
            Config::Auto(config) => {
                let plan = config.plan(rows.count(), design)?;
                Ok((plan.run(rows, design, rng, watch)?, plan.warnings()))
            }
            Config::Adassp(config) if config.request.purpose == Purpose::Inference => {
                Err(ConfigError::AdasspMakesNoIntervals.into())
            }
            Config::Adassp(config) => {
                let plan = config.plan(rows.count(), design)?;
                Ok((plan.run(rows, design, rng)?.into(), Vec::new()))
            }
        }
    }

    fn warnings(&self, private: bool, coefficients: &[crate::Coefficient]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !private {
            warnings.push(Warning::FixedSeed);
        }
        let columns: Vec<String> = self.model.assumed_standard().map(str::to_owned).collect();
        if !columns.is_empty() {
            warnings.push(Warning::AssumedStandard { columns });
        }
        if self.dot_on_text {
            warnings.push(Warning::DotOnText);
        }
        let names: Vec<String> =
            coefficients.iter().filter(|one| !one.identified).map(|one| one.name.clone()).collect();
        if !names.is_empty() {
            warnings.push(Warning::NotIdentified { names });
        }
        warnings
    }
}

fn guarantee(request: &Request, releases: Vec<Release>) -> Result<Guarantee, Error> {
    let epsilon =
        convert::epsilon(Conversion::Exact, request.rho.to_f64(), request.delta).map_err(PrivacyError::from)?;
    let Request { neighbours, rho, delta, .. } = *request;
    Ok(Guarantee { neighbours, rho, delta, epsilon, releases })
}
