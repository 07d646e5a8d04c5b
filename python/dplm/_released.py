"""What a fit, and the fits of several groups, have in common.

Both have a guarantee, and forms that they can be saved in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, Self, TypeVar

from dplm import _export
from dplm._given import check


#: What is said of results of simulated rows, and of those whose noise came from a fixed seed.
SIMULATED = "PRETEND: simulated rows"
SEEDED = "NOT PRIVATE: the noise came from a fixed seed"
#: What is said of a result by its provenance.
MARKS = {"system": "", "seed": SEEDED, "simulated": SIMULATED}


@dataclass(frozen=True)
class Release:
    """One thing the budget was spent on."""

    what: str
    rho: float


@dataclass(frozen=True)
class Guarantee(Mapping[str, Any]):
    """What is promised about each row. Reads as attributes or, as in the JSON, by key.

    >>> import dplm
    >>> fit = dplm.lm("y ~ x1 + 0", dplm.simulate(rows=1000, features=1, seed=1), rho=0.015, standardised=True, seed=1)
    >>> fit.guarantee.rho, fit.guarantee["neighbours"], round(fit.guarantee.epsilon, 4), round(fit.guarantee.guess, 4)
    (0.015, 'replace-one', 0.7147, 0.5345)

    For any set of results, replacing a row by another changes the probability that the result is
    among them by at most the factor `exp(epsilon)`, plus `delta`. Someone who knows all other rows
    and sees everything released guesses which of two equally likely rows was in the data (with
    `zero-out` neighbours, whether a row contributed or not) correctly with probability `guess` at
    most. `text` says the same in words.
    """

    definition: str
    neighbours: str
    rho: float
    epsilon: float
    delta: float
    guess: float
    text: str = field(repr=False)

    def __getitem__(self, key: str) -> Any:
        if key not in self.__dict__:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))


class _Native(Protocol):
    """What the native results have in common."""

    @property
    def pretended(self) -> bool: ...
    def json(self) -> str: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def page(self, title: str | None, author: str | None, dataset: str | None) -> str: ...


N = TypeVar("N", bound=_Native)


class Released(Generic[N]):
    """A result that holds released and public numbers only, and cannot change."""

    _native: N
    _facts: dict[str, Any]

    @staticmethod
    def _read(text: str) -> Any:
        """The native result, of its JSON."""
        raise NotImplementedError

    @property
    def formula(self) -> str:
        """The model."""
        return str(self._facts["formula"])

    @property
    def units(self) -> dict[str, Any]:
        """Whose data are protected (`unit`, a `row` or a `person`), and their number (`count`).

        Both are public.
        """
        return dict(self._facts["units"])

    @property
    def pretended(self) -> bool:
        """True when the rows were simulated (`dplm.lm(..., pretend=)`).

        The numbers then say nothing about anybody, and all that is made of them is marked.
        """
        return self._native.pretended

    @property
    def private(self) -> bool:
        """False if nothing is promised.

        That is so where a seed was fixed, so that the noise can be subtracted, and for simulated
        rows.
        """
        return bool(self._facts["private"])

    @property
    def promise(self) -> dict[str, Any]:
        """What is promised, and about whom.

        The keys are `unit`, `person`, `neighbours`, `conversion`, `delta_spent` and `provenance`.
        """
        return dict(self._facts["promise"])

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each row or person, of all that was released."""
        facts = self._facts["guarantee"]
        return Guarantee(**{field.name: facts[field.name] for field in fields(Guarantee)})

    @property
    def releases(self) -> list[Release]:
        """What the budget was spent on; adds up to exactly `guarantee.rho`."""
        return [Release(one["what"], one["rho"]) for one in self._facts["guarantee"]["releases"]]

    def dp_event(self) -> Any:
        """The releases as an event of Google's dp-accounting, which must be installed.

        Give it to an accountant with the relation that it takes when none is named: distances are
        already those between neighbours of this fit.
        """
        return _export.dp_event(self._facts["guarantee"], self.promise)

    def to_opendp(self) -> dict[str, Any]:
        """What OpenDP would state of the fit as one measurement.

        It has `input_metric`, `output_measure`, `d_in`, `d_out` (rho), and the `mechanisms` in it.

        The metric is None if OpenDP has none: for zero-out neighbours, and where persons with
        several rows are protected.
        """
        return _export.opendp(self._facts["guarantee"], self.promise)

    def to_json(self) -> str:
        """The result for programs: the same document as `dplm fit --json`.

        Every number is at full precision.
        """
        return self._native.json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_json()` to a file. `dplm.load` makes the same result of it, to the last bit.

        >>> import dplm, tempfile
        >>> fit = dplm.lm("y ~ x1 + 0", dplm.simulate(rows=1000, features=1, seed=1), rho=0.1, standardised=True, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.save(f"{folder}/fit.json")
        ...     kept = dplm.load(f"{folder}/fit.json")
        >>> kept == fit, kept.conf_int(0.01).equals(fit.conf_int(0.01))
        (True, True)
        """
        check(path=path)
        self._native.save(path)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        author: str | None = None,
        data_name: str | None = None,
    ) -> str:
        """The page of `dplm fit --report`, for readers of the release.

        It is also written to `path` if one is given.

        It may say what it is called, who publishes it, and what the data are called (without that,
        what the ledger calls them).
        """
        check(path=path, title=title, author=author, data_name=data_name)
        page = self._native.page(title, author, data_name)
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(page)
        return page

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        # Nothing in it can change.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_json, (type(self), self.to_json())

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())


def _from_json(kind: Any, text: str) -> Any:
    return kind(kind._read(text))
