//! A table and a model, encoded for each of several groups, and all of them fitted under one
//! budget.

use super::{
    Charge, Counted, Dataset, Prepared, Reading, Receipt, Stages, check_kept,
    prepared::today,
    usable::{Paid, Pay},
};
use crate::{
    Error, FitRequest, FittedGroup, Group, GroupOutcome, GroupedFit, Progress, Statement, Warning,
    formula::{By, Formula},
    lattice::Design,
    method::{ConfigError, Method, Request, after_count},
    plan::usable::Usable,
    privacy::{
        Budget, Guarantee, PrivacyError, Provenance, Release, Rho, Unit,
        convert::Conversion,
        noise::{NoiseRng, NoiseSource},
        release,
    },
    request::{Sizes, plan_identity},
    rows::{CellCounts, Encoded, GroupBuilder, Together, group_sizes},
    table::{ReadOptions, Schema, Source},
};

/// Rows of a table encoded for one model, those of each group by themselves.
///
/// # Guarantee
/// A unit is in one group at most, by a rule about that unit. All groups' fits together cost what
/// one costs: argued at `privacy/sensitivity.rs`.
pub struct GroupedDataset {
    by: By,
    groups: Vec<Dataset>,
    /// How many cells of each column can be used, over all groups; `None` if rows were read on
    /// other machines.
    cells: Option<CellCounts>,
    /// How many units there are in all; public.
    units: u64,
    /// The sizes of the groups, where those are public.
    sizes: Option<Vec<u64>>,
}

/// The part of the budget that the sizes of groups are released with, where they are not public.
/// They are a scale that cancels from estimates and their errors, so that little will do.
const SIZES_SHARE: f64 = 0.02;

impl GroupedDataset {
    /// Reads and encodes the columns of a formula, for each group. Sizes are given where they are
    /// public, one for each group.
    ///
    /// # Errors
    /// As [`Dataset::read`]; and when the column that groups are by is in the model.
    pub fn read(
        source: &Source,
        formula: &Formula,
        reading: &Reading<'_>,
        by: &By,
        sizes: Option<Vec<u64>>,
    ) -> Result<GroupedDataset, Error> {
        let (model, design) = reading.model_by(formula, source.schema(), by)?;
        let person = reading.checked_person()?;
        reading.check_device(true)?;
        let columns: Vec<_> = design.columns().iter().cloned().chain([by.column()]).collect();
        let table = ReadOptions { person: person.map(|person| person.column.as_str()), ..reading.table };
        let as_read = design.as_read();
        let mut builder = GroupBuilder::new(&as_read, reading.memory, by.levels().len(), person.is_some());
        let mut cells = CellCounts::new(&columns, person);
        source.for_each_block(&columns, &table, &mut |block| {
            cells.see(&block);
            builder.push(&block, columns.len() - 1)
        })?;
        let (encoded, units) = builder.finish(person.map(|person| (person, Together::of(person, &design))))?;
        let group = |rows| {
            let rows = Dataset::of(rows, formula, (model.clone(), design.clone()), source.schema(), reading);
            Dataset { is_simulated: source.is_simulated(), csv: source.dialect(), ..rows }
        };
        let (groups, cells) = (encoded.into_iter().map(group).collect(), Some(cells));
        Ok(GroupedDataset { by: by.clone(), groups, cells, units, sizes })
    }

    /// Rows that are kept elsewhere, those of each group by themselves, of `units` units, in a
    /// group or in none; encoded there with the design of this formula and reading. `schema` is
    /// what the table declares.
    ///
    /// # Errors
    /// As [`Dataset::elsewhere`]; and when the column that groups are by is in the model.
    ///
    /// # Panics
    /// As [`Dataset::elsewhere`]; and when there are more or fewer groups.
    pub fn elsewhere(
        (rows, units): (Vec<Encoded>, u64),
        schema: &Schema,
        formula: &Formula,
        reading: &Reading<'_>,
        by: &By,
        sizes: Option<Vec<u64>>,
    ) -> Result<GroupedDataset, Error> {
        let (model, design) = reading.model_by(formula, schema, by)?;
        let person = reading.checked_person()?;
        assert_eq!(rows.len(), by.levels().len(), "each group has rows of its own");
        rows.iter().for_each(|rows| check_kept(rows, &design, person));
        let group = |mut rows: Encoded| {
            // Nothing is said of its size before that is released.
            rows.say_of_group(0);
            Dataset::of(rows, formula, (model.clone(), design.clone()), schema, reading)
        };
        let groups = rows.into_iter().map(group).collect();
        Ok(GroupedDataset { by: by.clone(), groups, cells: None, units, sizes })
    }

    /// Whose data a fit protects.
    pub fn unit(&self) -> Unit {
        self.first().unit()
    }

    /// How many privacy units there are in all, rows or persons, in a group or in none; public.
    pub fn rows(&self) -> u64 {
        self.units
    }

    /// How the columns are standardised; public.
    pub fn design(&self) -> &Design {
        self.first().design()
    }

    /// What the groups are by.
    pub fn by(&self) -> &By {
        &self.by
    }

    fn first(&self) -> &Dataset {
        &self.groups[0]
    }

    /// Plans the fits and checks what can be checked, from public numbers only. Nothing is asked of
    /// a row and nothing is spent.
    ///
    /// # Errors
    /// When the plan is refused: for a group of all units, where sizes are not public; else for
    /// every group. Or when the noise has no source.
    pub fn prepare(&mut self, method: &dyn Method, noise: NoiseSource) -> Result<PreparedGroups<'_>, Error> {
        PreparedGroups::new(self, method, noise)
    }

    /// Fits every group by the method asked for. The caller keeps account of the budget; with a
    /// ledger, use [`GroupedDataset::prepare`].
    ///
    /// # Guarantee
    /// With [`NoiseSource::System`] the result is `rho`-zCDP for the budget of the request, as an
    /// exact statement about this program.
    ///
    /// # Errors
    /// When the plan is refused (nothing is spent then), or a release fails (the budget is spent
    /// then).
    pub fn fit(
        &mut self,
        method: &dyn Method,
        noise: NoiseSource,
        progress: Progress<'_>,
    ) -> Result<GroupedFit, Error> {
        let prepared = self.prepare(method, noise)?;
        let receipt = Receipt::by_caller(prepared.charge());
        prepared.run(receipt, progress)
    }

    /// The rows of one group only, to be asked again after a fit of that group.
    ///
    /// # Guarantee
    /// What is released from them with the claims of groups is `rho`-zCDP for the whole table,
    /// whatever was released before: argued at `privacy/sensitivity.rs`. The size of the group is
    /// the one that the earlier fit states, which was released or is public, and not the number of
    /// rows that are there.
    ///
    /// # Errors
    /// When the table has another number of units than that of the earlier fit, or lacks the group.
    pub(crate) fn again(self, group: &Group, size: u64) -> Result<Dataset, Error> {
        let place = self.by.levels().iter().position(|level| *level == group.level);
        let place = place.filter(|_| group.units.is_none_or(|units| units == self.units));
        let mut dataset = self.groups.into_iter().nth(place.ok_or(ConfigError::OtherFit)?).expect("a place");
        dataset.rows.say_of_group(size);
        dataset.group = Some(Group { units: Some(self.units), ..group.clone() });
        Ok(dataset)
    }

    fn table_in_words(&self) -> String {
        in_groups(self.first(), self.units, self.sizes.as_deref(), &self.by)
    }
}

/// A table whose rows are in groups, in words; `first` is what all groups are read like.
pub(super) fn in_groups(first: &Dataset, units: u64, sizes: Option<&[u64]>, by: &By) -> String {
    let sizes = sizes.map_or(String::new(), |sizes| format!(" of {sizes:?}"));
    let (unit, columns) = (first.unit().plural(), &first.columns);
    let weighted = first.design().weights().map_or(String::new(), |weights| format!(", weighted by {weights}"));
    let persons = first.person.as_ref().map_or(String::new(), |person| {
        let once = if person.counts_once { ", each counting once" } else { "" };
        format!(" by {}, at most {} rows each{once}", person.column, person.most_rows())
    });
    format!("{units} {unit}{persons}{weighted}, in groups{sizes} by {by}: {columns}")
}

/// Fits of all groups that are planned as far as public numbers go. Nothing has been asked of a row
/// yet, and nothing is spent.
pub struct PreparedGroups<'a> {
    data: &'a mut GroupedDataset,
    method: Box<dyn Method>,
    noise: NoiseSource,
    rng: NoiseRng,
    guarantee: Guarantee,
    /// The count of usable rows over all groups, and what that leaves.
    stages: Stages,
    /// What the sizes are released with, if they are, and what the fits are made with.
    for_sizes: Option<Rho>,
    /// What was released of all groups together.
    shared: Vec<Release>,
    for_fits: Rho,
}

/// The size of each group, and the standard deviation of its noise if it was released.
struct GroupCounts {
    counts: Vec<u64>,
    sd: Option<f64>,
}

impl<'a> PreparedGroups<'a> {
    fn new(data: &'a mut GroupedDataset, method: &dyn Method, noise: NoiseSource) -> Result<PreparedGroups<'a>, Error> {
        let request = method.request();
        // The argument for groups is about Gaussian noise: see `Sensitivity`.
        if method.conversion() != Conversion::Exact {
            return Err(ConfigError::NotByGroups { method: method.name() }.into());
        }
        let stages = Stages { whole: request.rho, count: after_count(method, data.units).1 };
        let for_sizes = data.sizes.is_none().then(|| request.rho.share(SIZES_SHARE));
        let rest = stages.rest();
        let for_fits = for_sizes.map_or(rest, |sizes| rest.checked_sub(sizes).expect("a part is less"));
        let method = method.with_request(Request { rho: for_fits, one_of_groups: true, ..request.clone() });
        let promise = data.first().promise(request, Conversion::Exact, noise);
        let guarantee = Guarantee::of(promise, request.rho, request.delta).map_err(PrivacyError::from)?;
        check(data, method.as_ref())?;
        // A key that cannot be had is found out before anything is spent.
        let rng = noise.open().map_err(PrivacyError::from)?;
        Ok(PreparedGroups { data, method, noise, rng, guarantee, stages, for_sizes, shared: Vec::new(), for_fits })
    }

    /// What is to be recorded before [`run`](Self::run).
    pub fn charge(&self) -> Charge {
        let formula = &self.data.first().formula;
        Charge {
            rho: self.guarantee.rho,
            promise: self.guarantee.promise.clone(),
            formula: formula.clone(),
            plan: plan_identity(&self.asked(), self.data.units, &[]),
            table: self.data.table_in_words(),
        }
    }

    /// Charges what the fit will spend and runs it: `pay` records each charge, durably, before
    /// anything is drawn for it.
    ///
    /// It is asked as by [`Prepared::run_paid_by`].
    ///
    /// # Errors
    /// What `pay` refuses, when nothing is drawn for that charge; otherwise as [`run`](Self::run).
    pub fn run_paid_by<E: From<Error>>(
        mut self,
        pay: &mut dyn FnMut(Charge) -> Result<Receipt, E>,
        progress: Progress<'_>,
    ) -> Result<GroupedFit, E> {
        let paid = self.paid_in_stages(pay)?;
        Ok(self.fits(paid, progress)?)
    }

    /// Draws the noise and fits every group. The receipt is for everything that is drawn. A group
    /// whose size shows that nothing can be told is not fitted; the others stand.
    ///
    /// # Guarantee
    /// With [`NoiseSource::System`] the result is `rho`-zCDP for the budget of the charge, as an
    /// exact statement about this program: the number of usable units and the sizes, and then fits
    /// of which each is asked of the rows of one group only, with the claims of groups.
    ///
    /// # Errors
    /// When `receipt` is for another fit (nothing is drawn then), hardly any row can be used, or a
    /// release fails.
    pub fn run(mut self, receipt: Receipt, progress: Progress<'_>) -> Result<GroupedFit, Error> {
        let statement = receipt.statement_of(&self.charge())?;
        let paid = self.paid_in_stages(&mut |charge| Ok::<_, Error>(Receipt::by_caller(charge)))?;
        self.fits(Paid { statement, ..paid }, progress)
    }

    fn paid_in_stages<E: From<Error>>(&mut self, pay: &mut Pay<'_, E>) -> Result<Paid, E> {
        let whole = self.charge();
        let first = self.data.first();
        let counted = Counted {
            rows: self.data.groups.iter().map(|group| &group.rows).collect(),
            units: self.data.units,
            by: Some(self.data.by.column()),
            cells: self.data.cells.as_ref(),
            ..first.counted(self.guarantee.promise.neighbours)
        };
        counted.pay_in_stages(self.stages, &whole, &mut self.rng, pay)
    }

    /// Makes the fits, which were paid for.
    fn fits(mut self, paid: Paid, progress: Progress<'_>) -> Result<GroupedFit, Error> {
        let Paid { used, count, statement } = paid;
        self.shared.extend(count);
        let sizes = self.sizes()?;
        let guarantee = Guarantee { releases: self.releases(), ..self.guarantee.clone() };
        let mut groups = Vec::new();
        for (index, &size) in sizes.counts.iter().enumerate() {
            let outcome = self.fit(index, size, sizes.sd, statement.as_ref(), progress)?;
            groups.push(FittedGroup { level: self.data.by.levels()[index].clone(), size, size_sd: sizes.sd, outcome });
        }
        let (first, level) = (self.data.first(), self.method.request().level);
        Ok(GroupedFit {
            date: today(),
            formula: first.formula.clone(),
            by: self.data.by.clone(),
            rows: self.data.units,
            rows_used: used.map(|used| used.at(level)),
            person: first.person.clone(),
            weights: first.design.weights().cloned(),
            guarantee,
            request: self.asked(),
            purpose: self.method.request().purpose,
            level,
            groups,
            warnings: self.warnings(used, statement.as_ref()),
            statement,
        })
    }

    /// What was asked of all groups together.
    fn asked(&self) -> FitRequest {
        let whole = Request { rho: self.stages.whole, ..self.method.request().clone() };
        let asked = self.data.first().asked(&whole, self.method.tuning(), self.method.name());
        let levels = self.data.by.levels().iter().cloned();
        let sizes = self.data.sizes.as_ref().map(|sizes| Sizes(levels.zip(sizes.iter().copied()).collect()));
        FitRequest { by: Some(self.data.by.to_string()), group_sizes: sizes, ..asked }
    }

    /// What the budget is spent on, over all groups.
    fn releases(&self) -> Vec<Release> {
        let what = format!("the model in each of {} groups, on the rows of one each", self.data.groups.len());
        self.shared.iter().cloned().chain([Release::planned(what, self.for_fits)]).collect()
    }

    fn warnings(&self, used: Option<Usable>, statement: Option<&Statement>) -> Vec<Warning> {
        let level = self.method.request().level;
        let few = used.and_then(|used| used.warning(level, self.data.unit(), self.data.design().is_within()));
        let seed = (self.guarantee.promise.provenance == Provenance::Seed).then_some(Warning::FixedSeed);
        let other = statement.filter(|statement| statement.other_table);
        few.into_iter()
            .chain(seed)
            .chain(other.map(|one| Warning::OtherTable { dataset: one.dataset.clone() }))
            .collect()
    }

    /// The sizes of all groups: one query. A size of less than 1 is 1.
    fn sizes(&mut self) -> Result<GroupCounts, Error> {
        let Some(rho) = self.for_sizes else {
            return Ok(GroupCounts { counts: self.data.sizes.clone().expect("sizes are public"), sd: None });
        };
        let mut budget = Budget::new(rho);
        let spend = budget.spend_rest(SIZES)?;
        let query = group_sizes(self.data.groups.iter().map(|group| &group.rows), self.guarantee.promise.neighbours);
        let noisy = release(query, spend, &mut self.rng)?;
        self.shared.extend(budget.releases());
        let counts = noisy.values.iter().map(|&count| u64::try_from(count.max(1)).unwrap_or(u64::MAX)).collect();
        Ok(GroupCounts { counts, sd: Some(noisy.sigma[0] as f64) })
    }

    fn fit(
        &mut self,
        index: usize,
        size: u64,
        size_sd: Option<f64>,
        statement: Option<&Statement>,
        progress: Progress<'_>,
    ) -> Result<GroupOutcome, Error> {
        let groups = self.data.groups.len() as u64;
        let data = &mut self.data.groups[index];
        data.rows.say_of_group(size);
        // Noise of its own, also where it comes from a seed.
        let noise = match self.noise {
            NoiseSource::Seed(seed) => NoiseSource::Seed(seed.wrapping_add(1 + index as u64)),
            system => system,
        };
        let prepared = match Prepared::new(data, self.method.as_ref(), noise) {
            Ok(prepared) => prepared,
            // Refused for its size, which was released or is public.
            Err(refusal @ (Error::Config(_) | Error::Lattice(_))) => {
                return Ok(GroupOutcome::NotFitted(refusal.problem()));
            }
            Err(other) => return Err(other),
        };
        // The charge of all groups was recorded.
        let receipt = Receipt::by_caller(prepared.charge());
        let report = |done: u64, total: u64| progress.within(index as u64, groups, done, total);
        let fit = prepared.run(receipt, Progress::new(&report))?;
        let releases = self.shared.iter().chain(&fit.guarantee.releases).cloned().collect();
        let group = Group {
            by: self.data.by.clone(),
            level: self.data.by.levels()[index].clone(),
            size_sd,
            units: Some(self.data.units),
        };
        Ok(GroupOutcome::Fitted(Box::new(crate::Fit {
            request: self.asked(),
            group: Some(group),
            guarantee: Guarantee { releases, ..self.guarantee.clone() },
            statement: statement.cloned(),
            ..fit
        })))
    }
}

/// Refuses what public numbers show cannot give what was asked, in any group: of sizes that are
/// public, or else where all units are in one.
fn check(data: &GroupedDataset, method: &dyn Method) -> Result<(), Error> {
    let mut refusal = None;
    for &size in data.sizes.as_deref().unwrap_or(&[data.units]) {
        match method.plan(size, data.design()).and_then(|plan| Ok(plan.check()?)) {
            Ok(()) => return Ok(()),
            Err(error) => refusal = Some(error),
        }
    }
    refusal.map_or(Ok(()), Err)
}

/// What the release of sizes is called.
const SIZES: &str = "sizes of the groups";
