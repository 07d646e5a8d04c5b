"""Means and covariances that are publicly known."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from dplm._errors import RequestError

MomentsLike = str | os.PathLike[str] | Mapping[str, Any]
KEYS = ("names", "means", "sds", "correlations", "covariance")


def given_moments(moments: MomentsLike | None) -> tuple[bool, str] | None:
    """The argument of the native half: whether it is a path, and the path or JSON."""
    if moments is None:
        return None
    if isinstance(moments, str | os.PathLike):
        return True, os.fspath(moments)
    if not isinstance(moments, Mapping):
        raise RequestError("moments must be a path or a mapping with means, and covariance or sds and correlations")
    for key in moments:
        if key not in KEYS:
            raise RequestError(f"moments has no key {key!r}: its keys are {', '.join(KEYS)}")
    names = _names(moments)
    document = {key: _values(value, names) for key, value in moments.items() if key != "names"}
    return False, json.dumps({"names": names} | document)


def _names(moments: Mapping[str, Any]) -> list[str]:
    """The given names, or the column names of a matrix that has some."""
    if "names" in moments:
        return [str(name) for name in moments["names"]]
    for key in ("covariance", "correlations"):
        columns = getattr(moments.get(key), "columns", None)
        if columns is not None:
            return [str(name) for name in columns]
    raise RequestError("moments needs names=[...], unless the covariance is a data frame, which has them")


def _values(value: Any, names: list[str]) -> Any:
    """Numbers as lists in the order of the names. Values with their own names are reordered."""
    if isinstance(value, Mapping):
        value = [value[name] for name in names if name in value]
    elif hasattr(value, "columns"):
        value = value.reindex(index=names, columns=names)
    elif hasattr(value, "reindex"):
        value = value.reindex(names)
    with contextlib.suppress(Exception):
        value = value.to_numpy() if hasattr(value, "to_numpy") else value
        value = value.tolist() if hasattr(value, "tolist") else value
        return [[float(entry) for entry in row] if isinstance(row, list | tuple) else float(row) for row in value]
    # Raised outside the handler: the other exception's message may hold a cell.
    raise RequestError("moments must hold numbers, or lists of numbers")
