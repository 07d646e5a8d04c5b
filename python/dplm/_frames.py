"""Results as pandas objects, whatever kind of table the data were.

Pandas is imported when the first result is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def series(index: Any, values: Iterable[float], title: str) -> pd.Series[float]:
    """A number for each name."""
    import pandas as pd

    return pd.Series(list(values), index=index, name=title, dtype="float64")


def frame(columns: Mapping[str, Sequence[float]], index: Any = None) -> pd.DataFrame:
    """Columns of numbers by name."""
    import pandas as pd

    return pd.DataFrame(dict(columns), index=index, dtype="float64")


def matrix(names: Sequence[str], values: Sequence[Sequence[float]]) -> pd.DataFrame:
    """A number for each pair of names."""
    import pandas as pd

    return pd.DataFrame([list(row) for row in values], index=list(names), columns=list(names), dtype="float64")
