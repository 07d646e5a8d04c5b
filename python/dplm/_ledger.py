"""The privacy budget of data sets, kept in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dplm import _data, _native
from dplm._errors import RequestError
from dplm._fit import Fit
from dplm._given import check, text


class Ledger:
    """A ledger file: what may be spent on each data set, and what was spent.

    Give it to `dplm.lm` with `ledger=` and `dataset=`. Entries are only ever added, and each holds
    the hash of the one before it. `analyst`, `purpose` and `note` are recorded with every fit that
    is charged through this object: who asks, the purpose of the result, and any other remark. The
    default analyst is the environment variable `DPLM_ANALYST`.

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

    def __init__(
        self, file: str | os.PathLike[str], *, analyst: str | None = None, purpose: str = "", note: str = ""
    ) -> None:
        check(file=file, analyst=analyst, note=note)
        text("purpose", purpose)
        self._native = _native.Ledger(file)
        self._file = os.fspath(file)
        self._attribution = (os.environ.get("DPLM_ANALYST", "") if analyst is None else analyst, purpose, note)

    @property
    def file(self) -> str:
        """The file."""
        return self._file

    @property
    def attribution(self) -> tuple[str, str, str]:
        """The analyst, the purpose and the note that fits are recorded with."""
        return self._attribution

    @classmethod
    def init(
        cls,
        file: str | os.PathLike[str],
        dataset: str,
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        person: str | None = None,
        neighbours: str = "replace-one",
        mechanisms: str = "gaussian",
        note: str = "",
    ) -> Ledger:
        """Adds a data set with its first budget; makes the file if it does not exist.

        The account's promise is fixed here: about rows, or about persons by the column `person`;
        against which `neighbours`; and for which `mechanisms`: `gaussian`, `zcdp` (any such
        mechanism) or `tested` (with tests that may fail, for which half of delta is reserved). A
        fit with another promise is refused, since budgets of different promises do not add up.
        """
        check(file=file, dataset=dataset, rho=rho, epsilon=epsilon, delta=delta, note=note)
        check(person=person, neighbours=neighbours, mechanisms=mechanisms)
        said = {"rho": rho, "epsilon": epsilon, "delta": delta, "person": person, "neighbours": neighbours}
        _native.Ledger.init(file, dataset, said, mechanisms, note)
        return cls(file)

    def grant(self, dataset: str, *, rho: float, note: str = "") -> None:
        """Adds to the budget of a data set."""
        check(dataset=dataset, rho=rho, note=note)
        self._native.grant(dataset, rho, note)

    def limit(self, dataset: str, *, rho: float, analyst: str = "", others: bool = False, note: str = "") -> None:
        """Limits how much an analyst may spend of a data set in all.

        Without `analyst` the limit holds for each analyst without one of their own; with `others`,
        for all of these together. Names are compared without case. Earlier spending counts, and the
        latest limit holds. If there is one, a fit must name its analyst. A limit is bookkeeping:
        anyone who can write the file can name any analyst.
        """
        check(dataset=dataset, rho=rho, analyst=analyst, others=others, note=note)
        if others and analyst:
            raise RequestError("a limit binds one analyst or all others together: leave out analyst or others")
        self._native.limit(dataset, None if others else analyst, rho, note)

    def record(
        self,
        dataset: str,
        *,
        rho: float,
        what: str,
        person: str | None = None,
        neighbours: str = "replace-one",
        mechanisms: str = "gaussian",
        delta: float = 1e-6,
        void: bool = False,
        analyst: str = "",
        note: str = "",
    ) -> None:
        """Records a release that was made without this ledger, or is missing from a copy that was
        put back.

        It happened, so it is recorded whatever it promised and whether there is budget for it or
        not: the account may then be overdrawn, or stop if it cannot add the release to the others,
        and accepts no further charge. `delta` is that of a mechanism with a test; `void` means that
        the noise came from a fixed seed.
        """
        check(dataset=dataset, rho=rho, what=what, delta=delta, void=void, analyst=analyst, note=note)
        check(person=person, neighbours=neighbours, mechanisms=mechanisms)
        said = {"rho": rho, "delta": delta, "person": person, "neighbours": neighbours}
        self._native.record(dataset, said, mechanisms, what, void, analyst, note)

    def reverse(self, entry: int, *, reason: str) -> float:
        """Records that an entry was a mistake, and why; gives the rho that was taken back.

        Of a grant that is what is left of it; of a fit it is always 0, since released numbers
        cannot be made private again.

        >>> import dplm, tempfile, pathlib
        >>> ledger = dplm.Ledger.init(pathlib.Path(tempfile.mkdtemp()) / "budget.db", "wages", rho=10)
        >>> ledger.reverse(1, reason="10 in place of 0.1")
        10.0
        >>> ledger.grant("wages", rho=0.1)
        >>> ledger.show("wages")["left"]
        0.1
        """
        check(entry=entry, reason=reason)
        return self._native.reverse(entry, reason)

    def report(self, file: str | os.PathLike[str], *, dataset: str | None = None) -> None:
        """Writes a self-contained page: what was released to whom, when, from which data, and what
        is left."""
        check(file=file, dataset=dataset)
        Path(file).write_text(self._native.report(dataset), encoding="utf-8")

    def back_up(self, copy: str | os.PathLike[str]) -> str:
        """Writes a complete copy to a new file, even while others write; gives the hash of its last
        entry."""
        check(copy=copy)
        return self._native.back_up(copy)

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets."""
        return self._native.datasets()

    def show(self, dataset: str) -> dict[str, Any]:
        """The state of a data set: `promise`, `total`, `spent`, `left`, whether it is `overdrawn`
        or `frozen`, and every entry."""
        check(dataset=dataset)
        return dict(json.loads(self._native.show(dataset)))

    def verify(self, *, against: Iterable[Fit | str | os.PathLike[str]] = ()) -> str:
        """Checks every hash, the order of entries, and that nothing is overdrawn; gives the hash of
        the last entry.

        The hashes have no key, so anyone who can write the file can write another history that
        passes. `against` are saved fits, files with their JSON, or copies of the ledger: their
        entries must be in the ledger as they were recorded, or a `LedgerError` names the fit or the
        copy. Messages refer to a fit by its position, as in `against[0]`.

        >>> import dplm, tempfile, pathlib
        >>> ledger = dplm.Ledger.init(pathlib.Path(tempfile.mkdtemp()) / "budget.db", "wages", rho=0.1)
        >>> data = dplm.simulate(rows=1000, features=1, seed=1)
        >>> fit = dplm.lm("y ~ x1", data, rho=0.1, standardised=True, ledger=ledger, dataset="wages")
        >>> ledger.verify(against=[fit]) == fit.ledger["hash"]
        True
        """
        if isinstance(against, (Fit, str, os.PathLike)):
            raise RequestError("against takes a list of fits or files: put even a single one in brackets")
        if hasattr(against, "dtype") or _data.is_series(against):
            raise RequestError("against takes a list of fits or files")
        listed = list(against)
        if not all(isinstance(fit, (Fit, str, os.PathLike)) for fit in listed):
            raise RequestError("against takes a list of fits or files")
        files = [fit for fit in listed if not isinstance(fit, Fit)]
        if len(files) > 1:
            _data.existing(files, "against")
        kept = [_kept(place, fit) for place, fit in enumerate(listed)]
        return self._native.verify(kept)[1]

    def __reduce__(self) -> tuple[Callable[..., Ledger], tuple[str, str, str, str]]:
        # A copy is the same file.
        return (_attributed, (self._file, *self._attribution))

    def __repr__(self) -> str:
        return f"dplm.Ledger({self._file!r})"


def _attributed(file: str, analyst: str, purpose: str, note: str) -> Ledger:
    return Ledger(file, analyst=analyst, purpose=purpose, note=note)


def _kept(place: int, fit: Fit | str | os.PathLike[str]) -> tuple[str, str | None]:
    """The name of a fit in messages, and its JSON; the library itself reads files."""
    if isinstance(fit, Fit):
        return f"against[{place}]", fit.to_json()
    return os.fspath(fit), None
