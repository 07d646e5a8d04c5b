"""The main job: a private fit."""

from __future__ import annotations

import abc
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

from dplm import _data, _native
from dplm._errors import FitWarning, PrivacyWarning, RequestError, warn
from dplm._fit import Fit
from dplm._given import answering
from dplm._groups import GroupedFit
from dplm._ledger import Ledger
from dplm._moments import MomentsLike
from dplm._progress import Bar
from dplm._said import said
from dplm._tools import Plan


class RowsElsewhere(abc.ABC):
    """Rows that do not come to this machine."""

    @abc.abstractmethod
    def fit(self, said: Mapping[str, Any], progress: Any) -> _native.Fit | _native.GroupedFit:
        """Fits them where they are, each group where groups are asked for."""


class LmOptions(TypedDict, total=False):
    """The keywords of `lm`, except those that decide what it returns.

    These are `by`, `group_sizes` and `dry_run`.
    """

    # <options LmOptions>
    rho: float | None
    epsilon: float | None
    delta: float | None
    focus: Sequence[str]
    standardised: bool
    moments: MomentsLike | None
    family: str
    weights: str | None
    keep: Sequence[str]
    neighbours: str
    person: str | None
    rows_per_person: int | None
    method: str | None
    clip: float | None
    steps: int | None
    step_size: float | None
    interval: str
    target: str | None
    level: float
    batches: int
    burn_in: int | None
    purpose: str
    csv: str | None
    strict: bool
    seed: int | None
    threads: int | None
    memory: int | None
    device: str
    ledger: Ledger | str | os.PathLike[str] | None
    dataset: str | None
    other_table: bool
    pretend: int | bool
    assume: Sequence[str]
    # </options>
    names: Sequence[str] | None
    progress: bool | Callable[[str, int, int], object]


@overload
def lm(
    formula: str | os.PathLike[str],
    data: Any = None,
    *,
    by: str | None = None,
    group_sizes: Mapping[str, int] | None = None,
    dry_run: Literal[True],
    **options: Unpack[LmOptions],
) -> Plan: ...
@overload
def lm(
    formula: str | os.PathLike[str], data: Any = None, *, by: None = None, group_sizes: None = None, dry_run: Literal[False] = False, **options: Unpack[LmOptions]
) -> Fit: ...
@overload
def lm(
    formula: str | os.PathLike[str],
    data: Any = None,
    *,
    by: str,
    group_sizes: Mapping[str, int] | None = None,
    dry_run: Literal[False] = False,
    **options: Unpack[LmOptions],
) -> GroupedFit: ...
@answering
def lm(
    formula: str | os.PathLike[str],
    data: Any = None,
    *,
    # <options lm>
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    focus: Sequence[str] = (),
    standardised: bool = False,
    moments: MomentsLike | None = None,
    family: str = "gaussian",
    weights: str | None = None,
    keep: Sequence[str] = (),
    by: str | None = None,
    group_sizes: Mapping[str, int] | None = None,
    neighbours: str = "replace-one",
    person: str | None = None,
    rows_per_person: int | None = None,
    method: str | None = None,
    clip: float | None = None,
    steps: int | None = None,
    step_size: float | None = None,
    interval: str = "newton",
    target: str | None = None,
    level: float = 0.95,
    batches: int = 10,
    burn_in: int | None = None,
    purpose: str = "inference",
    csv: str | None = None,
    strict: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    device: str = "cpu",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    other_table: bool = False,
    pretend: int | bool = False,
    dry_run: bool = False,
    assume: Sequence[str] = (),
    # </options>
    names: Sequence[str] | None = None,
    progress: bool | Callable[[str, int, int], object] = False,
) -> Fit | GroupedFit | Plan:
    """Fits a linear regression privately.

    The formula is R's, with the public facts about each column written into it: `age[18..90]` is a
    number with public bounds, `region{north,south}` a category with public levels. Bounds and
    levels must come from public knowledge, never from the data. A bare `name`, a number that is
    already centred and of about unit variance, needs `standardised=True`. A path (not a string) is
    read as a model file.

    Parameters
    ----------
    formula
        The model, for instance `"earnings[0..200000] ~ age[18..90] + educ[0..20]"`, or the path of
        a model file.
    data
        A pandas, polars or pyarrow table, anything else with `__arrow_c_stream__` (a relation of
        DuckDB), a query (a lazy frame of polars, a dataset of pyarrow, a cursor of ADBC that has
        executed one), a mapping of columns, an array with `names`, or the path of a CSV, TSV,
        Parquet or Arrow file (a folder, a pattern, a list of them).
    names
        The names of the columns of an array.
    progress
        True for a bar on standard error once a second has passed, or a function of the stage, how
        much is done, and how much there is.

    Other Parameters
    ----------------
    rho : float | None
        The whole budget in zero-concentrated differential privacy (zCDP), for instance 0.015.
    epsilon : float | None
        The whole budget as (epsilon, delta): the largest rho that keeps this promise is used.
    delta : float | None
        With `epsilon`, part of the budget; with `rho`, where epsilon is stated [default: 1e-6].
    focus : Sequence[str]
        The coefficients of interest, by term or name: 'educ, union'; all others are controls.
        Controls are in the model and are not reported. Each coefficient of interest then pays for
        itself, and not for all the others. See docs/focus.md.
    standardised : bool
        Say that columns without bounds or levels are centred and of about unit variance. Without
        it, and without the method `dpgd`, such columns are refused: on any others the budget would
        be spent on nonsense. The paper's intervals are refused too: they cover where columns are
        hardly correlated as well, which nothing they release shows.
    moments : MomentsLike | None
        Means and covariances that are public (TOML, JSON or CSV), so that nothing is spent on them.
        The path of a file; in Python and R also a mapping with `means` and `covariance`, or
        `means`, `sds` and `correlations`. See docs/moments.md.
    family : str
        gaussian, or binomial: a response of two values, y{no,yes} or y[0..1]. `binomial` is
        logistic regression: coefficients are of the log odds of the second level, or of 1. See
        docs/logit.md.
    weights : str | None
        Weigh rows by a column with a public bound, for instance 'w[0..50]'. Weighted least squares,
        with standard errors for sampling with replacement. Weights above the bound count as the
        bound; a row whose weight is missing or negative contributes nothing.
    keep : Sequence[str]
        A term that must stay in the model, for instance bathrooms; may be repeated. Others are left
        out before it is. Where the budget cannot resolve it nevertheless, the fit gives that reason
        and no numbers: what showed it is spent.
    by : str | None
        Fit each of several groups under one budget: 'region{north,south}'. The groups' sizes are
        released with a fiftieth of the budget, unless they are public.
    group_sizes : Mapping[str, int] | None
        With `by`: public sizes of the groups, as north=1000,south=800.
    neighbours : str
        What is hidden: replace-one, or zero-out (a row adds nothing). `zero-out` is a weaker
        promise, for comparison with other tools.
    person : str | None
        Protect persons, each with all their rows: the column that identifies them. Standard errors
        are then clustered by person.
    rows_per_person : int | None
        The number of rows of each person that count, the first ones [default: 1024].
    method : str | None
        auto, dpgd (the paper's), adassp, or one of docs/methods.md [default: auto with bounds].
    clip : float | None
        Largest norm of a row's gradient, standardised (gamma) [default: chosen].
    steps : int | None
        How many gradient steps [default: chosen].
    step_size : float | None
        How far a step goes (eta) [default: chosen].
    interval : str
        newton, or one of the paper's: batched, checkpoints, independent.
    target : str | None
        What intervals are for: auto, population, sample, robust (Huber) or person. `auto` is the
        least-squares coefficients of the population where these cost little, and else the robust
        ones; the result says which. `person` counts each person once.
    level : float
        How often an interval should cover.
    batches : int
        Batches, checkpoints or runs of the paper's intervals.
    burn_in : int | None
        Steps left out at the start [default: chosen].
    purpose : str
        inference, or prediction: estimates only, and nothing spent on intervals.
    csv : str | None
        How text is written: comma, semicolon, tab or pipe, and decimal-comma; joined by commas.
    strict : bool
        Refuse data with a missing or unusable cell, instead of letting its row contribute nothing.
    seed : int | None
        Make the noise reproducible: for tests only, the result is then not private.
    threads : int | None
        Threads to use [default: one for each processor]; the result does not depend on it.
    memory : int | None
        The most memory the rows may take, in bytes.
    device : str
        cpu, or cuda: an NVIDIA GPU does the sums over rows, with the same result.
    ledger : Ledger | str | os.PathLike[str] | None
        Spend from this ledger: recorded before any noise is drawn. Refused are a fit that needs
        more than is left, one that promises something else than the account, and one with a seed.
    dataset : str | None
        What the ledger calls the data; where DPLM_LEDGER names the ledger, it alone.
    other_table : bool
        With `dataset`: the table has another shape than those fitted before, which is meant.
        Otherwise such a table is refused, since it may be about other people.
    pretend : int | bool
        Fit simulated rows, 10000 or this many, that know the formula only: nothing is read or
        spent. Everything that is made of them is marked. With a seed, every interface gives the
        same numbers.
    dry_run : bool
        Show the plan, the checks and the cost, and stop; nothing is spent. No cell is read, except
        identifiers of persons. What the fit would be refused for is refused.
    assume : Sequence[str]
        What a code book says of columns: 'educ sd 3', 'region shares 0.6 0.4', 'R2 0.3'. Of a fit
        only with `dry_run`: nothing is assumed of rows that are fitted.

    Returns
    -------
    Fit, GroupedFit or Plan
        The fit; with `by` those of all groups; with `dry_run` the plan, as `dplm.plan` gives it for
        as many rows. A plan for which there is no forecast has `units`, `method` and `rho`, and in
        `unforeseen` why.

    Notes
    -----
    `ledger` is a `dplm.Ledger` or its file. A `Ledger` says who asks, what for, and what else is
    remembered. `moments` is the path of a file or a mapping: pandas objects with names, or lists
    beside `names`. With `pretend`, `data` may be left out and is not looked at; `Fit.pretended` is
    then True, and summaries, pages, pictures and files are marked. With a seed, these are the
    numbers of `dplm fit --pretend`.

    Warns
    -----
    PrivacyWarning
        The noise is reproducible.
    FitWarning
        What the command line prints as a warning: what was left out or is not identified, what was
        assumed. `Fit.warnings` keeps it. Also that rows were simulated.

    Raises
    ------
    RequestError
        What was asked makes no sense (a `ValueError`). Nothing was spent.
    DataError
        The data cannot be used as they are (a `ValueError`). Nothing was spent.
    LedgerError
        The ledger refused. Nothing was spent.
    FitError
        The fit failed once it had begun, and its budget counts as spent; or its guarantee cannot be
        given.

    Examples
    --------
    >>> import dplm
    >>> data = dplm.simulate(rows=10_000, features=2, theta=[0.6, -0.8], seed=1)
    >>> fit = dplm.lm("y ~ x1 + x2 + 0", data, rho=0.015, standardised=True, seed=1)
    >>> fit
    <dplm.Fit of 'y ~ x1 + x2 + 0': 2 coefficients, rho = 0.015>
    >>> fit.private  # because of the seed
    False
    """
    if not isinstance(formula, (str, os.PathLike)) and isinstance(data, str) and "~" in data:
        raise RequestError("the formula comes first, and then the data: dplm.lm(formula, data, rho=0.015)")
    told = said(locals())
    if data is None and pretend is False:
        raise RequestError("give the data, or pretend=True to fit simulated rows in their place")
    rows: _native.Table | None = None
    if pretend is False and not isinstance(data, RowsElsewhere):
        rows = _data.table(data, names, _native.columns(told), csv)
    if dry_run:
        return _planned(rows, told, pretend)
    bar = Bar() if progress is True else None
    callback = bar if bar is not None else progress if callable(progress) else None
    try:
        if rows is None and pretend is False:
            found = data.fit(told, callback)
        else:
            found = _native.fit(rows, told, callback)
    finally:
        if bar is not None:
            bar.close()
    fit = Fit(found) if isinstance(found, _native.Fit) else GroupedFit(found)
    _warn_of(fit, found.warnings())
    return fit


def glm(
    formula: str | os.PathLike[str], data: Any = None, *, family: str = "binomial", **options: Any
) -> Fit | GroupedFit | Plan:
    """Fits a logistic regression privately: `lm` with `family="binomial"`.

    The response is `y{no,yes}`, of which the second level is the one whose probability is fitted,
    or `y[0..1]`, a number that is 0 or 1. Coefficients are of the log odds; `Fit.odds_ratios` and
    `Fit.marginal_effects` say what they come to, and `Fit.predict` gives probabilities. Everything
    else is as in `lm`.

    >>> import dplm
    >>> x = [i // 3 % 2 for i in range(30_000)]
    >>> rows = {"union": [("no", "yes")[i % 3 < 1 + x[i]] for i in range(30_000)], "x": x}
    >>> fit = dplm.glm("union{no,yes} ~ x[0..1]", rows, rho=0.5, seed=1)
    >>> fit.family, bool(abs(fit.params["x"] - 1.386) < 0.1)
    ('binomial', True)
    """
    fit: Fit | GroupedFit | Plan = lm(formula, data, family=family, **options)
    return fit


def _planned(rows: _native.Table | None, told: Mapping[str, Any], pretend: int | bool) -> Plan:
    """The plan in place of the fit."""
    if rows is None and pretend is False:
        raise RequestError("there is no dry run for rows on a cluster: dplm.plan says what to expect of as many rows")
    document, warnings = _native.dry_run(rows, told)
    for sentence in warnings:
        warn(sentence, FitWarning)
    return Plan(json.loads(document))


def _warn_of(fit: Fit | GroupedFit, sentences: Sequence[tuple[bool, str]]) -> None:
    """Gives the warnings that the command line gives.

    Where warnings are made exceptions, the fit, which is paid for, goes with the exception.
    """
    for about_privacy, sentence in sentences:
        try:
            warn(sentence, PrivacyWarning if about_privacy else FitWarning)
        except (PrivacyWarning, FitWarning) as raised:
            raised.fit = fit
            raised.add_note("The fit is made and its budget is spent: it is the attribute 'fit' of this exception.")
            raise
