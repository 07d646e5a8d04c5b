"""More than one fit of a table: several specifications under one budget, and a second release pooled with the first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dplm import _data, _native
from dplm._errors import FitWarning, PrivacyWarning, RequestError, warn
from dplm._fit import Fit
from dplm._ledger import Ledger
from dplm._lm import _account_name, _columns, _warn_of


class Study:
    """What came of a study: released and public numbers only.

    `fits` has the fit of each specification by its name, the main one first; each states the guarantee of the whole study.
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

    def curve(self) -> dict[str, tuple[float, float, float] | None]:
        """The estimate of the coefficient of interest and the ends of its interval in each specification; None where there is none."""
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
        Path(path).write_text(self._native.page(title, author, dataset), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<dplm.Study of {len(self.fits)} specifications: {', '.join(self.fits)}>"


def study(
    specifications: Mapping[str, str] | str | os.PathLike[str],
    data: Any,
    *,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    shares: Mapping[str, float] | None = None,
    interest: str | None = None,
    simultaneous: bool = False,
    level: float = 0.95,
    target: str | None = None,
    neighbours: str = "replace-one",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    csv: str | None = None,
    strict: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> Study:
    """Fits a main specification and its checks under one budget.

    Second moments are released once for all specifications. Of the rest of the budget the first specification, the main one, gets half, and the
    others share what is left, unless `shares` says otherwise. With a ledger the whole study is one charge, recorded before any noise is drawn.

    Parameters
    ----------
    specifications
        The formulas by name, the main one first; or the path of a study file, as `dplm study` takes it, which then says everything but how to
        read the data.
    data, csv, strict, seed, threads, memory, progress, ledger, dataset
        As in `dplm.lm`.
    rho, epsilon, delta, level, target, neighbours
        As in `dplm.lm`; the budget is that of all specifications together.
    shares
        Shares of what whitening leaves, by name; they add up to 1, or to less where some have none.
    interest, simultaneous
        A coefficient that is followed across specifications, and whether its intervals should hold in all of them at once (Bonferroni).
    """
    if isinstance(specifications, Mapping):
        text = _document(locals())
    else:
        text = _read(Path(specifications))
    options = {"strict": strict, "seed": seed, "threads": threads, "memory": memory}
    table = _data.table(data, None, None, csv)
    found = _native.study(text, table, options, _account_name(ledger, dataset), progress)
    for about_privacy, sentence in found.warnings():
        warn(sentence, PrivacyWarning if about_privacy else FitWarning)
    return Study(found)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise RequestError(f"the study {path} could not be read: check the path, and that it is text") from None


def _document(given: Mapping[str, Any]) -> str:
    """A study file that says what the keywords say. JSON strings are TOML strings too."""
    keys = ("rho", "epsilon", "delta", "interest", "simultaneous", "level", "target", "neighbours")
    lines = [f"{key} = {json.dumps(given[key])}" for key in keys if given[key] is not None]
    shares = given["shares"] or {}
    for name in shares:
        if name not in given["specifications"]:
            raise RequestError(f"there is no specification {name!r} to have a share")
    for name, formula in given["specifications"].items():
        lines += ["[[specification]]", f"name = {json.dumps(name)}", f"formula = {json.dumps(formula)}"]
        lines += [f"share = {json.dumps(shares[name])}"] if name in shares else []
    return "\n".join(lines) + "\n"


def refine(
    fit: Fit,
    data: Any,
    *,
    rho: float,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    csv: str | None = None,
    strict: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> Fit:
    """Spends `rho` more on the model of a fit, on the same data, and pools both fits by their precision.

    The result promises what both budgets together promise, and can be refined again. A ledger is charged for the second fit only.
    """
    options = {"strict": strict, "seed": seed, "threads": threads, "memory": memory}
    person = (json.loads(fit.to_json())["fit"].get("person") or {}).get("column")
    table = _data.table(data, None, _columns(fit.formula, False, person), csv)
    found = _native.refine(fit._native, table, rho, options, _account_name(ledger, dataset), progress)
    refined = Fit(found)
    _warn_of(refined, found.warnings())
    return refined
