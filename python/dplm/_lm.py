"""The main job: a private fit."""

from __future__ import annotations

import abc
import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from dplm import _data, _native
from dplm._errors import FitWarning, PrivacyWarning, RequestError, warn
from dplm._fit import Fit
from dplm._given import check
from dplm._groups import GroupedFit
from dplm._ledger import AccountName, Ledger
from dplm._moments import MomentsLike, given_moments
from dplm._progress import Bar
from dplm._tools import Plan


class RowsElsewhere(abc.ABC):
    """Rows that do not come to this machine."""

    @abc.abstractmethod
    def fit(
        self,
        model: str,
        is_file: bool,
        columns: list[str] | None,
        budget: Mapping[str, Any],
        options: Mapping[str, Any],
        account_name: AccountName,
        progress: Any,
    ) -> _native.Fit | _native.GroupedFit:
        """Fits them where they are, each group where groups are asked for; `columns` are those that are read, where the model names them."""


class LmOptions(TypedDict, total=False):
    """The keywords of `lm` but for `by` and `dry_run`, on which depends what it gives."""

    rho: float | None
    epsilon: float | None
    delta: float | None
    method: str | None
    clip: float | None
    steps: int | None
    step_size: float | None
    interval: str
    target: str | None
    level: float
    batches: int
    burn_in: int | None
    neighbours: str
    person: str | None
    rows_per_person: int | None
    weights: str | None
    purpose: str
    standardised: bool
    moments: MomentsLike | None
    ledger: Ledger | str | os.PathLike[str] | None
    dataset: str | None
    other_table: bool
    names: Sequence[str] | None
    csv: str | None
    strict: bool
    seed: int | None
    threads: int | None
    memory: int | None
    device: str
    progress: bool | Callable[[str, int, int], object]
    pretend: int | bool


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
def lm(
    formula: str | os.PathLike[str],
    data: Any = None,
    *,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    method: str | None = None,
    clip: float | None = None,
    steps: int | None = None,
    step_size: float | None = None,
    interval: str = "newton",
    target: str | None = None,
    level: float = 0.95,
    batches: int = 10,
    burn_in: int | None = None,
    neighbours: str = "replace-one",
    person: str | None = None,
    rows_per_person: int | None = None,
    weights: str | None = None,
    by: str | None = None,
    group_sizes: Mapping[str, int] | None = None,
    purpose: str = "inference",
    standardised: bool = False,
    moments: MomentsLike | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    other_table: bool = False,
    names: Sequence[str] | None = None,
    csv: str | None = None,
    strict: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    device: str = "cpu",
    progress: bool | Callable[[str, int, int], object] = False,
    dry_run: bool = False,
    pretend: int | bool = False,
) -> Fit | GroupedFit | Plan:
    """Fits a linear regression privately.

    The formula is R's, with the public facts about each column written into it: `age[18..90]` is a number with public bounds,
    `region{north,south}` a category with public levels. Bounds and levels must come from public knowledge, never from the data. A bare
    `name`, a number that is already centred and of about unit variance, needs `standardised=True`. A path (not a string) is read as a
    model file.

    Parameters
    ----------
    formula
        The model, for instance `"earnings[0..200000] ~ age[18..90] + educ[0..20]"`, or the path of a model file.
    data
        A pandas, polars or pyarrow table, anything else with `__arrow_c_stream__` (a relation of DuckDB), a query (a lazy frame of polars, a dataset of
        pyarrow, a cursor of ADBC that has executed one), a mapping of columns, an array with `names`, or the path of a CSV, TSV, Parquet or Arrow
        file (a folder, a pattern, a list of them).
    rho, epsilon, delta
        The whole budget: `rho` in zero-concentrated differential privacy, or `epsilon` with `delta` (1e-6). With `rho`, `delta` is where
        epsilon is stated.
    method
        `"dpgd"`, the paper's; `"auto"`, which finds scales privately and is used where the formula has bounds; `"adassp"`.
    clip, steps, step_size
        The paper's gamma, T and eta, for `dpgd`; chosen from public numbers when left out.
    interval, target, level, batches, burn_in
        How intervals are made (`"newton"`, `"batched"`, `"checkpoints"`, `"independent"`), what they are for (`"population"`,
        `"sample"`, `"robust"`, with `person` also `"person"`: each counts once), how often they cover, and the details of the paper's intervals.
    neighbours
        `"replace-one"`, or `"zero-out"`: a weaker promise, for comparison with other tools.
    person, rows_per_person
        The column that identifies persons, where a person may have several rows: what is protected is then a person with all their rows, and
        standard errors are clustered by person. Of each person the first `rows_per_person` rows count (1024 when left out).
    weights
        A column of weights with its public bound, as `"w[0..50]"`: weighted least squares, with standard errors for sampling with replacement. Weights
        above the bound count as the bound; a row whose weight is missing or negative contributes nothing.
    by, group_sizes
        A column with its public levels, as `"region{north,south}"`: the model is fitted in each group, all of them under one budget, and a `GroupedFit` is
        returned. The groups' sizes are released with a fiftieth of the budget, or given where they are public, as `{"north": 1000, "south": 800}`.
    purpose
        `"inference"`, or `"prediction"`: estimates only, and nothing spent on intervals.
    standardised
        Says that columns without bounds or levels are centred and of about unit variance. Without it, and without `method="dpgd"`, such
        columns are refused: on any others the budget would be spent on nonsense.
    moments
        Means and covariances of the columns that are public, so that nothing is spent on finding them: the path of a TOML, JSON or CSV
        file, or a mapping with `means` and `covariance` (pandas objects with names, or lists beside `names`), or `means`, `sds` and
        `correlations`. See docs/moments.md.
    ledger, dataset, other_table
        A `dplm.Ledger` or its file, and what it calls the data; where the environment variable `DPLM_LEDGER` names the ledger that must
        pay, `dataset` alone. A table of another shape than those fitted under that name before is refused unless `other_table` says
        that it is meant. The budget is on disk as spent before any noise is drawn; a fit that needs
        more than is left is refused, and so is one with a seed. The `Ledger` says who asks, and what for.
    names
        The names of the columns of an array.
    csv
        How text files are written: comma, semicolon, tab or pipe, and decimal-comma, as `"semicolon,decimal-comma"`.
    strict
        Refuse data with a missing or unusable cell, instead of letting its row contribute nothing.
    seed
        Makes the noise reproducible: for tests only, the result is then not private and a `PrivacyWarning` says so.
    threads, memory
        Threads to use, and the most bytes the rows may take; the result does not depend on them.
    device
        `"cpu"`, or `"cuda"`: an NVIDIA GPU does the sums over rows. The result does not depend on it.
    progress
        True for a bar on standard error once a second has passed, or a function of the stage, how much is done, and how much there is.
    dry_run
        Gives the plan in place of the fit: what to expect of each coefficient, as `dplm.plan` says it for as many rows. No cell is looked at and
        nothing is spent; what the fit would be refused for is refused.
    pretend
        Fits so many simulated rows (10,000 if True) that know the formula and nothing else, so that a script can be written and tried before the data are at
        hand: `data` may be left out and is not looked at, and nothing is spent. `Fit.pretended` is then True, and summaries, pages, pictures and files are
        marked. With a seed, these are the numbers of `dplm fit --pretend`.

    Warns
    -----
    PrivacyWarning
        The noise is reproducible.
    FitWarning
        What the command line prints as a warning: what was left out or is not identified, what was assumed. `Fit.warnings` keeps it. Also that rows were simulated.

    Raises
    ------
    RequestError
        What was asked makes no sense (a `ValueError`). Nothing was spent.
    DataError
        The data cannot be used as they are (a `ValueError`). Nothing was spent.
    LedgerError
        The ledger refused. Nothing was spent.
    FitError
        The fit failed once it had begun, and its budget counts as spent; or its guarantee cannot be given.

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
    check(
        formula=formula, rho=rho, epsilon=epsilon, delta=delta, method=method, clip=clip, steps=steps, step_size=step_size, interval=interval,
        target=target, level=level, batches=batches, burn_in=burn_in, neighbours=neighbours, person=person, rows_per_person=rows_per_person,
        weights=weights, by=by, group_sizes=group_sizes, purpose=purpose, dataset=dataset, csv=csv, seed=seed, threads=threads, memory=memory,
        device=device,
    )
    model, is_file = _model(formula)
    budget = {"rho": rho, "epsilon": epsilon, "delta": delta}
    options = {
        "method": method,
        "clip": clip,
        "steps": steps,
        "step_size": step_size,
        "interval": interval,
        "target": target,
        "level": level,
        "batches": batches,
        "burn_in": burn_in,
        "neighbours": neighbours,
        "person": person,
        "rows_per_person": rows_per_person,
        "weights": weights,
        "by": by,
        "group_sizes": None if group_sizes is None else dict(group_sizes),
        "purpose": purpose,
        "standardised": standardised,
        "moments": given_moments(moments),
        "strict": strict,
        "seed": seed,
        "threads": threads,
        "memory": memory,
        "device": device,
    }
    account_name = _account_name(ledger, dataset, other_table)
    columns = _columns(model, is_file, person, weights, by)
    table: _native.Table | None
    if pretend is not False:
        table = _native.Table.pretend(model, is_file, options, _simulated_rows(pretend), ledger is not None)
    elif data is None:
        raise RequestError("give the data, or pretend=True to fit simulated rows in their place")
    else:
        table = None if isinstance(data, RowsElsewhere) else _data.table(data, names, columns, csv)
    if dry_run:
        if table is None:
            raise RequestError("there is no dry run for rows on a cluster: dplm.plan says what to expect of as many rows")
        return Plan(json.loads(_native.dry_run(table, model, is_file, budget, options, account_name)))
    bar = Bar() if progress is True else None
    callback = bar if bar is not None else progress if callable(progress) else None
    found: _native.Fit | _native.GroupedFit
    fit: Fit | GroupedFit
    try:
        if table is None:
            found = data.fit(model, is_file, columns, budget, options, account_name, callback)
        elif by is None:
            found = _native.fit(table, model, is_file, budget, options, account_name, callback)
        else:
            found = _native.fit_groups(table, model, is_file, budget, options, account_name, callback)
    finally:
        if bar is not None:
            bar.close()
    fit = Fit(found) if isinstance(found, _native.Fit) else GroupedFit(found)
    _warn_of(fit, found.warnings())
    return fit


def _warn_of(fit: Fit | GroupedFit, sentences: Sequence[tuple[bool, str]]) -> None:
    """Warns of what the command line warns of. Where warnings are made exceptions, the fit, which is paid for, goes with the exception."""
    for about_privacy, sentence in sentences:
        try:
            warn(sentence, PrivacyWarning if about_privacy else FitWarning)
        except (PrivacyWarning, FitWarning) as raised:
            raised.fit = fit
            raised.add_note("The fit is made and its budget is spent: it is the attribute 'fit' of this exception.")
            raise


def _simulated_rows(pretend: int | bool) -> int | None:
    """How many rows to simulate; None for the usual number."""
    if pretend is True:
        return None
    if type(pretend) is bool or not isinstance(pretend, int) or pretend < 1:
        raise RequestError("pretend must be a number of rows, or True")
    return pretend


def _columns(model: str, is_file: bool, person: str | None, *with_facts: str | None) -> list[str] | None:
    """The columns that are read; none where the table names them."""
    columns = _native.columns(model, is_file)
    if columns is None:
        return None
    others = [_native.column_name(text) for text in with_facts if isinstance(text, str)]
    return list(dict.fromkeys([*columns, *([] if person is None else [person]), *others]))


def _account_name(
    ledger: Ledger | str | os.PathLike[str] | None, dataset: str | None, other_table: bool = False
) -> AccountName:
    """The ledger and its name for the data, as far as they are named, and who asks."""
    if isinstance(ledger, Ledger):
        check(dataset=dataset, other_table=other_table)
        return ledger.file, dataset, other_table, ledger.attribution
    check(ledger=ledger, dataset=dataset, other_table=other_table)
    attribution = (os.environ.get("DPLM_ANALYST", ""), "", "")
    return None if ledger is None else os.fspath(ledger), dataset, other_table, attribution


def _model(formula: str | os.PathLike[str]) -> tuple[str, bool]:
    """The model as text, and whether it is that of a model file."""
    if isinstance(formula, str):
        return formula, False
    path = Path(formula)
    # Raised once the other exception is gone: that one would hold the bytes of whatever file was named by mistake.
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8"), True
    raise RequestError(f"the model file {path} could not be read: check the path, and that it is text")
