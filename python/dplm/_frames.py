"""Results as pandas objects where pandas is installed, as plain dictionaries and lists where it is not."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def has_pandas() -> bool:
    """Whether pandas is installed; it is imported only when a result is asked for."""
    return importlib.util.find_spec("pandas") is not None


def series(names: Sequence[str], values: Iterable[float], title: str) -> Any:
    """A number for each name: a Series, or a dictionary."""
    if not has_pandas():
        return dict(zip(names, values, strict=True))
    import pandas

    return pandas.Series(list(values), index=list(names), name=title, dtype="float64")


def frame(columns: Mapping[str, Sequence[float]], index: Any = None) -> Any:
    """Columns by name: a DataFrame, or a dictionary of lists."""
    if not has_pandas():
        return {name: list(values) for name, values in columns.items()}
    import pandas

    return pandas.DataFrame(dict(columns), index=index)


def rows(names: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]]) -> Any:
    """A row of numbers for each name: a DataFrame, or a dictionary of tuples."""
    if not has_pandas():
        return {name: tuple(row) for name, row in zip(names, values, strict=True)}
    import pandas

    return pandas.DataFrame([list(row) for row in values], index=list(names), columns=list(columns), dtype="float64")


def matrix(names: Sequence[str], values: Sequence[Sequence[float]]) -> Any:
    """A number for each pair of names: a DataFrame, or a dictionary of dictionaries."""
    if not has_pandas():
        return {name: dict(zip(names, row, strict=True)) for name, row in zip(names, values, strict=True)}
    import pandas

    return pandas.DataFrame([list(row) for row in values], index=list(names), columns=list(names), dtype="float64")
