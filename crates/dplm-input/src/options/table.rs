//! Every option of a fit and of a plan, once: its name, its type, its default, who takes it, and
//! what it means.

/// Hands the table of options to another macro, so that each layer makes of it what it knows about:
/// here the names ([`Opt`](super::Opt)), in `dplm` the typed fields
/// (`FitRequest`), outside that crate the arguments of every interface.
///
/// A line is: the variant, the field with its type and default, the word for its value in a help
/// text, the heading it stands under, the commands that take it, and what else there is to know
/// (`OptionSpec`). The first paragraph of the comment is the help
/// text; all of it is the reference.
#[doc(hidden)]
#[macro_export]
macro_rules! option_table {
    ($expand:ident) => {
        $expand! {
            request {
                /// The model, for instance 'pay[0..200000] ~ age[18..90] + region{north,south}'
                Formula formula: String = String::new(), "F", Model, [Fit Plan Diagnose Moments], { short: Some('f') };
                /// The coefficients of interest, by term or name: 'educ, union'; all others are
                /// controls
                ///
                /// Controls are in the model and are not reported. Each coefficient of interest
                /// then pays for itself, and not for all the others. See docs/focus.md.
                Focus focus: Vec<String> = Vec::new(), "NAMES", Model, [Fit Plan Study], {};
                /// Say that columns without bounds or levels are centred and of about unit variance
                ///
                /// Without it, and without the method `dpgd`, such columns are refused: on any
                /// others the budget would be spent on nonsense. The paper's intervals are
                /// refused too: they cover where columns are hardly correlated as well, which
                /// nothing they release shows.
                Standardised standardised: bool = false, "", Model, [Fit Diagnose Moments], {};
                /// Means and covariances that are public (TOML, JSON or CSV), so that nothing is
                /// spent on them
                ///
                /// The path of a file; in Python and R also a mapping with `means` and
                /// `covariance`, or `means`, `sds` and `correlations`. See docs/moments.md.
                Moments moments: Option<Moments> = None, "FILE", Model, [Fit Plan], {};
                /// gaussian, or binomial: a response of two values, y{no,yes} or y[0..1]
                ///
                /// `binomial` is logistic regression: coefficients are of the log odds of the
                /// second level, or of 1. See docs/logit.md.
                Family family: Family = Family::Gaussian, "FAMILY", Model, [Fit Plan Study], {};
                /// Weigh rows by a column with a public bound, for instance 'w[0..50]'
                ///
                /// Weighted least squares, with standard errors for sampling with replacement.
                /// Weights above the bound count as the bound; a row whose weight is missing or
                /// negative contributes nothing.
                Weights weights: Option<String> = None, "W", Model, [Fit Study], {};
                /// A term that must stay in the model, for instance bathrooms; may be repeated
                ///
                /// Others are left out before it is. Where the budget cannot resolve it
                /// nevertheless, the fit gives that reason and no numbers: what showed it is spent.
                Keep keep: Vec<String> = Vec::new(), "TERM", Model, [Fit], {};
                /// Fit each of several groups under one budget: 'region{north,south}'
                ///
                /// The groups' sizes are released with a fiftieth of the budget, unless they are
                /// public.
                By by: Option<String> = None, "G", Model, [Fit], {};
                /// With --by: public sizes of the groups, as north=1000,south=800
                GroupSizes group_sizes: Option<Sizes> = None, "SIZES", Model, [Fit], { needs: Some(Opt::By) };
                /// The whole budget in zero-concentrated differential privacy (zCDP), for instance
                /// 0.015
                Rho rho: Option<f64> = None, "R", Privacy, [Fit Plan Diagnose Refine Study Account], { excludes: Some(Opt::Epsilon) };
                /// The whole budget as (epsilon, delta): the largest rho that keeps this promise is
                /// used
                Epsilon epsilon: Option<f64> = None, "E", Privacy, [Fit Plan Diagnose Refine Study Account], {};
                /// With --epsilon, part of the budget; with --rho, where epsilon is stated
                /// [default: 1e-6]
                Delta delta: Option<f64> = None, "D", Privacy, [Fit Plan Diagnose Refine Study Account], {};
                /// What is hidden: replace-one, or zero-out (a row adds nothing)
                ///
                /// `zero-out` is a weaker promise, for comparison with other tools.
                Neighbours neighbours: Neighbours = Neighbours::ReplaceOne, "WHICH", Privacy, [Fit Plan Diagnose Study Account Record], {};
                /// Protect persons, each with all their rows: the column that identifies them
                ///
                /// Standard errors are then clustered by person.
                Person person: Option<String> = None, "ID", Privacy, [Fit Diagnose Study], {};
                /// The number of rows of each person that count, the first ones [default: 1024]
                RowsPerPerson rows_per_person: Option<u32> = None, "K", Privacy, [Fit Diagnose Study], { needs: Some(Opt::Person) };
                /// auto, dpgd (the paper's), adassp, or one of docs/methods.md [default: auto with
                /// bounds]
                Method method: Option<String> = None, "M", Method, [Fit Plan], {};
                /// Largest norm of a row's gradient, standardised (gamma): a number or auto
                Clip clip: Option<f64> = None, "GAMMA", Method, [Fit Plan Diagnose], { auto: true };
                /// How many gradient steps: a number or auto
                Steps steps: Option<u32> = None, "T", Method, [Fit Plan Diagnose], { auto: true };
                /// How far a step goes (eta): a number or auto
                StepSize step_size: Option<f64> = None, "ETA", Method, [Fit Plan Diagnose], { auto: true };
                /// newton, or one of the paper's: batched, checkpoints, independent
                Interval interval: IntervalMethod = IntervalMethod::Newton, "HOW", Intervals, [Fit Diagnose], {};
                /// What intervals are for: auto, population, sample, robust (Huber) or person
                ///
                /// `auto` is the least-squares coefficients of the population where these
                /// cost little, and else the robust ones; the result says which. `person`
                /// counts each person once.
                Target target: Option<Target> = None, "WHAT", Intervals, [Fit Plan Diagnose Study], { auto: true };
                /// How often an interval should cover
                Level level: f64 = 0.95, "LEVEL", Intervals, [Fit Plan Diagnose Study], {};
                /// Batches, checkpoints or runs of the paper's intervals
                Batches batches: u32 = 10, "M", Intervals, [Fit Diagnose], {};
                /// Steps left out at the start: a number or auto
                BurnIn burn_in: Option<u32> = None, "K", Intervals, [Fit Diagnose], { auto: true };
                /// inference, or prediction: estimates only, and nothing spent on intervals
                Purpose purpose: Purpose = Purpose::Inference, "WHY", Intervals, [Fit Diagnose], { alias: Some("for") };
            }
            run {
                /// How text is written: comma, semicolon, tab or pipe, and decimal-comma; joined by
                /// commas
                Csv csv: Option<Dialect> = None, "WORDS", Data, [Fit Diagnose Refine Study Moments], {};
                /// Refuse data with a missing or unusable cell, instead of letting its row
                /// contribute nothing
                Strict strict: bool = false, "", Data, [Fit Diagnose Refine Study Moments], {};
                /// Make the noise reproducible: for tests only, the result is then not private
                Seed seed: Option<u64> = None, "S", Privacy, [Fit Diagnose Refine Study], {};
                /// Threads to use [default: one for each processor]; the result does not depend on
                /// it
                Threads threads: Option<usize> = None, "K", Machine, [Fit Diagnose Refine Study], {};
                /// The most memory the rows may take, for instance 2GB or 500MiB
                Memory memory: Option<Bytes> = None, "SIZE", Machine, [Fit Diagnose Refine Study], {};
                /// cpu, or cuda: an NVIDIA GPU does the sums over rows, with the same result
                Device device: Device = Device::Cpu, "DEVICE", Machine, [Fit Diagnose Refine Study], {};
            }
            account {
                /// Spend from this ledger: recorded before any noise is drawn
                ///
                /// Refused are a fit that needs more than is left, one that promises something else
                /// than the account, and one with a seed.
                Ledger ledger: Option<PathBuf> = None, "FILE", Privacy, [Fit Refine Study], { needs: Some(Opt::Dataset) };
                /// What the ledger calls the data; where DPLM_LEDGER names the ledger, it alone
                Dataset dataset: Option<String> = None, "NAME", Privacy, [Fit Refine Study], {};
                /// With --dataset: the table has another shape than those fitted before, which is
                /// meant
                ///
                /// Otherwise such a table is refused, since it may be about other people.
                OtherTable other_table: bool = false, "", Privacy, [Fit Refine Study], { needs: Some(Opt::Dataset) };
                /// With --ledger: who asks, as the ledger knows them
                Analyst analyst: Option<String> = None, "WHO", Privacy, [Fit Refine Study], { env: Some("DPLM_ANALYST") };
                /// With --ledger: what the result is for, in a few words
                StatedPurpose stated_purpose: Option<String> = None, "TEXT", Privacy, [Fit Refine Study], { needs: Some(Opt::Dataset) };
                /// With --ledger: what else should be remembered
                Note note: Option<String> = None, "TEXT", Privacy, [Fit Refine Study], { needs: Some(Opt::Dataset) };
            }
            instead {
                /// Fit simulated rows, 10000 or this many, that know the formula only: nothing is
                /// read or spent
                ///
                /// Everything that is made of them is marked. With a seed, every interface gives
                /// the same numbers.
                Pretend pretend: Option<u64> = None, "ROWS", Output, [Fit], { excludes: Some(Opt::Ledger), usual: Some(10_000) };
                /// Show the plan, the checks and the cost, and stop; nothing is spent
                ///
                /// No cell is read, except identifiers of persons. What the fit would be refused
                /// for is refused.
                DryRun dry_run: bool = false, "", Output, [Fit], {};
            }
            question {
                /// How many rows the data will have
                Rows rows: u64 = 0, "N", Question, [Plan], { required: true };
                /// Instead of a model: how many coefficients it will have, of columns with unit
                /// variance
                Features features: Option<u32> = None, "P", Model, [Plan], { excludes: Some(Opt::Formula) };
                /// What a code book says of columns: 'educ sd 3', 'region shares 0.6 0.4', 'R2 0.3'
                ///
                /// Of a fit only with --dry-run: nothing is assumed of rows that are fitted.
                Assume assume: Vec<String> = Vec::new(), "WHAT", Model, [Fit Plan], { excludes: Some(Opt::Features), needs: Some(Opt::DryRun) };
                /// With --features, the standard deviation of the errors [default: 1]
                NoiseSd noise_sd: Option<f64> = None, "SD", Model, [Plan], { needs: Some(Opt::Features) };
                /// Find the budget that gives a coefficient this standard error: 'educ 0.01'
                Want want: Vec<String> = Vec::new(), "NAME SE", Questions, [Plan], { excludes: Some(Opt::Features) };
                /// How often a coefficient of this size has the right sign and is significant
                Effect effect: Vec<String> = Vec::new(), "NAME SIZE", Questions, [Plan], { excludes: Some(Opt::Features) };
                /// Find the budget at which privacy adds this share of the sampling error
                Share share: f64 = 0.5, "SHARE", Questions, [Plan], {};
            }
        }
    };
}
