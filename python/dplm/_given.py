"""What a call is given, checked by its type before anything is done with it.

A column of a table that is handed over by mistake, as a formula or an option, holds cells: no
sentence quotes it, and no exception of Python or of another library, which would, comes of it. So
sentences name the argument and what it must be.
"""

from __future__ import annotations

import functools
import numbers
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from dplm import _native
from dplm._errors import RequestError

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])
_QUOTED = re.compile(r"'([^']+)'")
_PATH = (str, os.PathLike)
_TYPES: dict[str, Any] = {"truth": bool, "number": numbers.Number, "whole": numbers.Number, "text": str, "sizes": Mapping, "path": _PATH}
#: Of each option by its name: its kind, what it must be, and its default.
OPTIONS = _native.option_kinds()
_TEXTS = ("author", "column", "data_name", "interest", "kind", "mechanisms", "reason", "title", "what")
_KINDS: dict[str, tuple[Any, str]] = {
    **{name: (_TYPES[kind], wanted) for name, (kind, wanted, _) in OPTIONS.items() if kind in _TYPES},
    **{name: (str, "a text") for name in _TEXTS},
    **{name: (numbers.Number, "a number") for name in ("alpha", "entry")},
    **{name: (_PATH, "a path") for name in ("copy", "file", "out", "path")},
    **{name: (bool, "True or False") for name in ("others", "void")},
    "ledger": (_PATH, "a dplm.Ledger or the path of its file"),
    "formula": (_PATH, "a text such as 'pay[0..200000] ~ age[18..90]', or the path of a model file"),
    "at": (Mapping, "a mapping with a value for each name"),
    "shares": (Mapping, "a mapping with a number for each specification"),
    "specifications": ((Mapping, *_PATH), "a mapping of formulas by name, or the path of a study file"),
}


def check(**given: Any) -> None:
    """Refuses what is not of the type that its name asks for; None is nothing, and fine."""
    for name, one in given.items():
        kind, wanted = _KINDS[name]
        if one is not None and not isinstance(one, kind):
            raise RequestError(f"{name} must be {wanted}, not {type(one).__name__}")


def answering(function: _F) -> _F:
    """The function, which says what to do in place of an argument that other packages have."""

    @functools.wraps(function)
    def answered(*given: Any, **named: Any) -> Any:
        for answer in filter(None, map(_native.of_other_programs, named)):
            raise RequestError(answer)
        return function(*given, **named)

    return cast(_F, answered)


def text(name: str, given: str) -> None:
    """Refuses what is not text, of an argument that shares its name with another option."""
    if not isinstance(given, str):
        raise RequestError(f"{name} must be a text, not {type(given).__name__}")


def floats(name: str, given: Any) -> list[float]:
    """The numbers of a sequence."""
    try:
        return [float(one) for one in given]
    except Exception:  # noqa: BLE001
        pass
    # Raised once the other exception is gone: its words may hold a cell.
    raise RequestError(f"{name} must be a list of numbers")


def texts(name: str, given: Sequence[str]) -> list[str]:
    """The texts of a list or a tuple."""
    if isinstance(given, str):
        raise RequestError(f"{name} takes a list of texts: write {name}=[{given!r}]")
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, str) for one in given):
        raise RequestError(f"{name} takes a list of texts")
    return list(given)


def unquoted(name: str, given: Sequence[str], ask: Callable[[], _T]) -> _T:
    """What `ask` returns.

    A refusal does not quote one of several texts, which may be a column of a table by mistake.
    """
    try:
        return ask()
    except RequestError as refusal:
        quoted = [part for part in _QUOTED.findall(str(refusal)) if any(part in text for text in given)]
        if len(given) < 2 or not quoted:
            raise
    raise RequestError(f"one of the {len(given)} texts of {name} is not understood: give them one by one to see which, and why")
