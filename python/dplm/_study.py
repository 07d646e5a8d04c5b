"""More than one fit of a table.

Several specifications under one budget, and a second release pooled with the first.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dplm import _data, _native
from dplm._errors import FitWarning, PrivacyWarning, RequestError, warn
from dplm._fit import Fit
from dplm._given import check
from dplm._ledger import Ledger
from dplm._lm import _warn_of
from dplm._said import said


class Study:
    """What came of a study: released and public numbers only.

    `fits` has the fit of each specification by its name, the main one first; each states the
    guarantee of the whole study. `shares` has what each got of the budget.
    """

    def __init__(self, native: _native.StudyFit) -> None:
        self._native = native
        parts = native.parts()
        self.fits: dict[str, Fit] = {name: Fit(fit) for name, _, fit, _ in parts}
        self.shares: dict[str, float] = {name: share for name, share, _, _ in parts}
        self._followed = {name: followed for name, _, _, followed in parts}

    def summary(self) -> str:
        """The specifications side by side, as text."""
        return self._native.summary()

    @property
    def interest(self) -> str | None:
        """The coefficient that is followed across specifications.

        It is the one that was named, or the first other than the intercept that all of them have.
        """
        return self._native.interest()

    def curve(self) -> dict[str, tuple[float, float, float] | None]:
        """The estimate and interval of the coefficient of interest in each specification.

        A value is None if the coefficient is not in the specification or not identified.
        """
        return {name: None if found is None else (found[0], *found[1]) for name, found in self._followed.items()}

    def to_json(self) -> str:
        """All fits as one JSON document."""
        return self._native.json()

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        author: str | None = None,
        dataset: str | None = None,
    ) -> None:
        """Writes a page with the specification curve and all coefficients side by side."""
        check(path=path, title=title, author=author, dataset=dataset)
        Path(path).write_text(self._native.page(title, author, dataset), encoding="utf-8")

    def _repr_html_(self) -> str:
        return _native.table([self.to_json()], "html", None, [], False, False).decode()

    def __repr__(self) -> str:
        return f"<dplm.Study of {len(self.fits)} specifications: {', '.join(self.fits)}>"


def study(
    specifications: Mapping[str, str] | str | os.PathLike[str],
    data: Any,
    *,
    # <options study>
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    focus: Sequence[str] | None = None,
    family: str | None = None,
    weights: str | None = None,
    neighbours: str | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    target: str | None = None,
    level: float | None = None,
    csv: str | None = None,
    strict: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    device: str = "cpu",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    other_table: bool = False,
    # </options>
    shares: Mapping[str, float] | None = None,
    interest: str | None = None,
    simultaneous: bool = False,
    progress: Callable[[str, int, int], object] | None = None,
) -> Study:
    """Fits a main specification and its checks under one budget.

    Second moments are released once for all specifications, unless `focus` names coefficients of
    interest: each specification then has controls of its own. Of the rest of the budget the first
    specification, the main one, gets half, and the others share what is left, unless `shares` says
    otherwise. With a ledger the whole study is one charge, recorded before any noise is drawn.

    Parameters
    ----------
    specifications
        The formulas by name, the main one first; or the path of a study file, as `dplm study` takes
        it, which then says the budget, the level and the interest itself.
    data, progress
        As in `dplm.lm`.
    shares
        Shares of what whitening leaves, by name; they add up to 1, or to less where some have none.
    interest, simultaneous
        A coefficient that is followed across specifications, and whether its intervals should hold
        in all of them at once (Bonferroni). By default it is the first
        coefficient other than the intercept that all specifications have.

    Other Parameters
    ----------------
    rho : float | None
        The whole budget in zero-concentrated differential privacy (zCDP), for instance 0.015.
    epsilon : float | None
        The whole budget as (epsilon, delta): the largest rho that keeps this promise is used.
    delta : float | None
        With `epsilon`, part of the budget; with `rho`, where epsilon is stated [default: 1e-6].
    focus : Sequence[str] | None
        The coefficients of interest, by term or name: 'educ, union'; all others are controls.
        Controls are in the model and are not reported. Each coefficient of interest then pays for
        itself, and not for all the others. See docs/focus.md.
    family : str | None
        gaussian, or binomial: a response of two values, y{no,yes} or y[0..1]. `binomial` is
        logistic regression: coefficients are of the log odds of the second level, or of 1. See
        docs/logit.md.
    weights : str | None
        Weigh rows by a column with a public bound, for instance 'w[0..50]'. Weighted least squares,
        with standard errors for sampling with replacement. Weights above the bound count as the
        bound; a row whose weight is missing or negative contributes nothing.
    neighbours : str | None
        What is hidden: replace-one, or zero-out (a row adds nothing). `zero-out` is a weaker
        promise, for comparison with other tools.
    person : str | None
        Protect persons, each with all their rows: the column that identifies them. Standard errors
        are then clustered by person.
    rows_per_person : int | None
        The number of rows of each person that count, the first ones [default: 1024].
    target : str | None
        What intervals are for: auto, population, sample, robust (Huber) or person. `auto` is the
        least-squares coefficients of the population where these cost little, and else the robust
        ones; the result says which. `person` counts each person once.
    level : float | None
        How often an interval should cover.
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

    Notes
    -----
    The budget is that of all specifications together. With `person` each of them protects persons
    with all their rows.
    """
    # What is not said here, the study file may say.
    told = said({name: value for name, value in locals().items() if value is not None})
    check(specifications=specifications, shares=shares, interest=interest)
    stated = ({"interest": interest} if interest is not None else {}) | ({"simultaneous": True} if simultaneous else {})
    if isinstance(specifications, Mapping):
        text = _document(specifications, shares or {}, stated)
    else:
        text = _read(Path(specifications), [*stated, *(["shares"] if shares else [])])
    found = _native.study(text, _data.table(data, None, None, csv), told, progress)
    for about_privacy, sentence in found.warnings():
        warn(sentence, PrivacyWarning if about_privacy else FitWarning)
    return Study(found)


def _read(path: Path, stated: list[str]) -> str:
    if stated:
        raise RequestError(f"a study file says {stated[0]} itself: leave it out, or give the formulas as a mapping")
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    raise RequestError(f"the study {path} could not be read: check the path, and that it is text")


def _document(specifications: Mapping[str, str], shares: Mapping[str, float], stated: Mapping[str, Any]) -> str:
    """A study file that says what the keywords say. JSON strings are TOML strings too."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in stated.items()]
    for name in shares:
        if name not in specifications:
            raise RequestError(f"there is no specification {name!r} to have a share")
    for name, formula in specifications.items():
        lines += ["[[specification]]", f"name = {json.dumps(name)}", f"formula = {json.dumps(formula)}"]
        lines += [f"share = {json.dumps(shares[name])}"] if name in shares else []
    return "\n".join(lines) + "\n"


def refine(
    fit: Fit,
    data: Any,
    *,
    # <options refine>
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    csv: str | None = None,
    strict: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    device: str = "cpu",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    other_table: bool = False,
    # </options>
    progress: Callable[[str, int, int], object] | None = None,
) -> Fit:
    """Spends `rho` more on the model of a fit, and pools both fits by their precision.

    The result promises what both budgets together promise, and can be refined again. A ledger is
    charged for the second fit only. The data are read as they were for the first fit, with its
    weights and its persons; the fit of a group has the rows of that group. Text is read in the
    dialect of the first fit unless `csv` says otherwise.

    Other Parameters
    ----------------
    rho : float | None
        The whole budget in zero-concentrated differential privacy (zCDP), for instance 0.015.
    epsilon : float | None
        The whole budget as (epsilon, delta): the largest rho that keeps this promise is used.
    delta : float | None
        With `epsilon`, part of the budget; with `rho`, where epsilon is stated [default: 1e-6].
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

    """
    if not isinstance(fit, Fit):
        raise RequestError("fit must be a fit that dplm.lm has made")
    told = said(locals())
    columns, dialect = _native.again(fit._native, told)
    found = _native.refine(fit._native, _data.table(data, None, columns, csv or dialect or None), told, progress)
    refined = Fit(found)
    _warn_of(refined, found.warnings())
    return refined
