"""The privacy budget of data sets, kept in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from dplm import _native
from dplm._errors import RequestError
from dplm._fit import Fit


class Ledger:
    """A ledger file: what may be spent on each data set, and what was.

    Give it to `dplm.lm` with `ledger=` and `dataset=`. Entries are only ever added, and each holds the hash of the one before it.

    >>> import dplm, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "budget.db"
    >>> ledger = dplm.Ledger.init(file, "wages", rho=0.1, note="the 2026 survey")
    >>> ledger.grant("wages", rho=0.05)
    >>> account = ledger.show("wages")
    >>> account["total"], account["spent"], account["left"]
    (0.15, 0.0, 0.15)
    >>> data = dplm.simulate(rows=1000, features=1, seed=1)
    >>> fit = dplm.lm("y ~ x1", data, rho=0.1, standardised=True, ledger=ledger, dataset="wages")
    >>> ledger.show("wages")["left"]
    0.05
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self._native = _native.Ledger(file)
        self._file = os.fspath(file)

    @property
    def file(self) -> str:
        """The file."""
        return self._file

    @classmethod
    def init(
        cls, file: str | os.PathLike[str], dataset: str, *, rho: float, delta: float | None = None, note: str = ""
    ) -> Ledger:
        """Adds a data set with its first budget, making the file where there is none."""
        _native.Ledger.init(file, dataset, rho, delta, note)
        return cls(file)

    def grant(self, dataset: str, *, rho: float, note: str = "") -> None:
        """Adds to the budget of a data set."""
        self._native.grant(dataset, rho, note)

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets."""
        return self._native.datasets()

    def show(self, dataset: str) -> dict[str, Any]:
        """The state of a data set: `total`, `spent`, `left` and every entry."""
        return dict(json.loads(self._native.show(dataset)))

    def verify(self, *, against: Iterable[Fit | str | os.PathLike[str]] = ()) -> str:
        """Checks every hash, the order of entries, and that nothing is overdrawn; gives the hash of the last entry.

        The hashes have no key, so whoever can write the file can write another history that passes. `against` are fits that were kept, or
        files with their JSON: the entry of each must be there as it was recorded, or a `LedgerError` names the fit. In messages a fit is
        called by its place among them, as in `against[0]`.

        >>> import dplm, tempfile, pathlib
        >>> ledger = dplm.Ledger.init(pathlib.Path(tempfile.mkdtemp()) / "budget.db", "wages", rho=0.1)
        >>> data = dplm.simulate(rows=1000, features=1, seed=1)
        >>> fit = dplm.lm("y ~ x1", data, rho=0.1, standardised=True, ledger=ledger, dataset="wages")
        >>> ledger.verify(against=[fit]) == fit.ledger["hash"]
        True
        """
        if isinstance(against, (Fit, str, os.PathLike)):
            raise RequestError("against takes a list of fits or files: put even a single one in brackets")
        kept = [_kept(place, fit) for place, fit in enumerate(against)]
        return self._native.verify(kept)[1]

    def __reduce__(self) -> tuple[type[Ledger], tuple[str]]:
        # A copy is the same file.
        return (type(self), (self._file,))

    def __repr__(self) -> str:
        return f"dplm.Ledger({self._file!r})"


def _kept(place: int, fit: Fit | str | os.PathLike[str]) -> tuple[str, str | None]:
    """What to call a fit, and its JSON; a file is read by the library."""
    if isinstance(fit, Fit):
        return f"against[{place}]", fit.to_json()
    return os.fspath(fit), None
