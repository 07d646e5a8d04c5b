"""What needs no private data: plans and simulated tables."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dplm import _native
from dplm._errors import RequestError
from dplm._given import check, floats, texts, unquoted
from dplm._moments import MomentsLike
from dplm._said import said


class Plan(Mapping[str, Any]):
    """What accuracy to expect of a fit.

    It is the document of `dplm plan --json`, by key or as attributes.

    `coefficients` has each coefficient in its own units. `fit` and `budgets` are those of one
    coefficient of a column of unit variance. A dry run for which there is no forecast has `units`,
    `method` and `rho`, and in `unforeseen` why; one of groups has in `groups` the plan of each.

    A notebook shows a plan of `dplm.plan` as a page with a slider over the budget, which needs no
    network.
    """

    def __init__(self, facts: Mapping[str, Any], told: Mapping[str, Any] | None = None) -> None:
        self._facts, self._told = dict(facts), told

    def __getitem__(self, key: str) -> Any:
        return self._facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_facts"][name]
        except KeyError:
            raise AttributeError(name) from None

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of `dplm plan --page`: a slider over the budget, with the accuracy of each
        coefficient. It is also written to a file.

        A dry run has no such page.
        """
        check(path=path)
        if self._told is None:
            raise RequestError("a dry run has no page: ask dplm.plan, with the number of rows")
        page = _native.plan_page(self._told, self._told.get("formula") or f"{self._facts['features']} columns of unit variance")
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str | None:
        if self._told is None:
            return None
        return f'<iframe srcdoc="{html.escape(self.to_html())}" title="A plan" style="width: 100%; height: 46rem; border: 0"></iframe>'

    def __repr__(self) -> str:
        if "fit" not in self:
            count, unit = self["units"]["count"], self["units"]["unit"]
            told = self["unforeseen"] if "unforeseen" in self else f"{len(self['groups'])} groups"
            return f"<dplm.Plan: {count:,} {unit}s, method {self['method']}, rho = {self['rho']:g}: {told}>"
        if "groups" in self:
            return f"<dplm.Plan: {len(self['groups'])} groups, method {self['method']}, rho = {self['rho']:g}: a plan for each in groups>"
        head = f"{self['rows']:,} rows, {self['features']} coefficients, rho = {self['rho']:g}"
        return f"<dplm.Plan: {head}: intervals {self['fit']['times_classical']:.2f} times as long as without privacy>"


def plan(
    formula: str | os.PathLike[str] | None = None,
    *,
    # <options plan>
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    focus: Sequence[str] = (),
    moments: MomentsLike | None = None,
    family: str = "gaussian",
    neighbours: str = "replace-one",
    method: str | None = None,
    clip: float | None = None,
    steps: int | None = None,
    step_size: float | None = None,
    target: str | None = None,
    level: float = 0.95,
    rows: int,
    features: int | None = None,
    assume: Sequence[str] = (),
    noise_sd: float | None = None,
    want: Sequence[str] = (),
    effect: Sequence[str] = (),
    share: float = 0.5,
    # </options>
) -> Plan:
    """What accuracy to expect, from public numbers only. No data are read and nothing is spent.

    With a formula, the method that would run says what it would do with the budget, for each
    coefficient in its own units. What nobody knows beforehand is assumed, and listed in `assumed`:
    how far columns spread within their bounds, and how large the errors are. Say better with
    `assume=["educ sd 3", "R2 0.3"]`, or give `moments` as to `dplm.lm`. `want=["educ 0.01"]` asks
    for the budget that gives a standard error, `effect=["educ 0.05"]` how often an effect of that
    size has the right sign and is significant, `share` for the budget at which privacy adds that
    share of the sampling error.

    With `features` in place of a formula, figures are for the paper's method on columns of unit
    variance that are not correlated, and errors of standard deviation `noise_sd`. `guess` is how
    often, at most, someone who knows all other rows guesses which of two equally likely rows was in
    the data.

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
    moments : MomentsLike | None
        Means and covariances that are public (TOML, JSON or CSV), so that nothing is spent on them.
        The path of a file; in Python and R also a mapping with `means` and `covariance`, or
        `means`, `sds` and `correlations`. See docs/moments.md.
    family : str
        gaussian, or binomial: a response of two values, y{no,yes} or y[0..1]. `binomial` is
        logistic regression: coefficients are of the log odds of the second level, or of 1. See
        docs/logit.md.
    neighbours : str
        What is hidden: replace-one, or zero-out (a row adds nothing). `zero-out` is a weaker
        promise, for comparison with other tools.
    method : str | None
        auto, dpgd (the paper's), adassp, or one of docs/methods.md [default: auto with bounds].
    clip : float | None
        Largest norm of a row's gradient, standardised (gamma) [default: chosen].
    steps : int | None
        How many gradient steps [default: chosen].
    step_size : float | None
        How far a step goes (eta) [default: chosen].
    target : str | None
        What intervals are for: auto, population, sample, robust (Huber) or person. `auto` is the
        least-squares coefficients of the population where these cost little, and else the robust
        ones; the result says which. `person` counts each person once.
    level : float
        How often an interval should cover.
    rows : int
        How many rows the data will have.
    features : int | None
        Instead of a model: how many coefficients it will have, of columns with unit variance.
    assume : Sequence[str]
        What a code book says of columns: 'educ sd 3', 'region shares 0.6 0.4', 'R2 0.3'. Of a fit
        only with `dry_run`: nothing is assumed of rows that are fitted.
    noise_sd : float | None
        With `features`, the standard deviation of the errors [default: 1].
    want : Sequence[str]
        Find the budget that gives a coefficient this standard error: 'educ 0.01'.
    effect : Sequence[str]
        How often a coefficient of this size has the right sign and is significant.
    share : float
        Find the budget at which privacy adds this share of the sampling error.

    Examples
    --------
    >>> import dplm
    >>> plan = dplm.plan(rows=10_000, features=10, rho=0.015)
    >>> plan.classical["std_error"], plan.fit["std_error"] < 0.02, round(plan.guess, 3)
    (0.01, True, 0.535)
    >>> assumed = ["age sd 15", "errors sd 30000"]
    >>> plan = dplm.plan("pay[0..200000] ~ age[18..90]", rows=10_000, rho=0.015, assume=assumed)
    >>> age = plan.coefficients[1]
    >>> plan.method, round(age["classical_error"]), age["std_error"] < 2 * age["classical_error"]
    ('auto', 20, True)
    """
    given = texts("assume", assume) + texts("want", want) + texts("effect", effect)
    told = said(locals())
    return Plan(json.loads(unquoted("assume, want and effect", given, lambda: _native.plan(told))), told)


class Simulated:
    """Simulated rows with columns `x1` to `xP` and `y`, and the truth behind them.

    It is a table by Arrow's PyCapsule protocol: give it to `dplm.lm`, `pyarrow.table`,
    `polars.DataFrame` or `pandas.DataFrame.from_arrow`.
    """

    def __init__(self, native: _native.Simulated) -> None:
        self._native = native

    @property
    def theta(self) -> list[float]:
        """The true coefficients."""
        return self._native.theta

    @property
    def seed(self) -> int:
        """The seed that gives the same rows again."""
        return self._native.seed

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.stream()


def simulate(
    *,
    rows: int,
    features: int,
    design: str = "isotropic",
    noise_sd: float = 1.0,
    errors: str = "gaussian",
    theta: Sequence[float] | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Simulated:
    """Data from the paper's model, `y = x'theta + error`.

    These are the rows of `dplm simulate` with the same seed.

    `design` is `"isotropic"` or `"anisotropic"`, `errors` are `"gaussian"`, `"student"` (heavy
    tails) or `"skewed"`. With `out` the rows go to a file (.csv, .tsv, .parquet or .arrow) and are
    not kept.

    >>> import dplm
    >>> dplm.simulate(rows=100, features=2, theta=[1.0, -2.0], seed=7).theta
    [1.0, -2.0]
    """
    check(rows=rows, features=features, noise_sd=noise_sd, seed=seed, out=out)
    options = {
        "rows": rows,
        "features": features,
        "design": design,
        "noise_sd": noise_sd,
        "errors": errors,
        "theta": None if theta is None else floats("theta", theta),
        "seed": seed,
        "out": None if out is None else os.fspath(out),
    }
    return Simulated(_native.simulate(options))
