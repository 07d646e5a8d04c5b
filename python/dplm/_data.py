"""Tables of any kind to the library's own: files, Arrow, NumPy, plain columns."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dplm import _native
from dplm._errors import DataError, RequestError


def table(data: Any, names: Sequence[str] | None, wanted: Sequence[str] | None) -> _native.Table:
    """The table that `data` is.

    `names` are those of the columns of an array. `wanted` are the columns that will be read, where that is known: whatever has to
    be converted, only they are.
    """
    if names is not None:
        return _native.Table.from_columns(_columns_of_array(data, names))
    if isinstance(data, (str, os.PathLike)):
        return _native.Table.open([_path(data)])
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return _native.Table.open([_path(one) for one in data])
    if _is_pandas(data):
        return _from_pandas(data, wanted)
    if hasattr(data, "__arrow_c_stream__"):
        return _native.Table.from_arrow(data)
    if isinstance(data, Mapping):
        return _native.Table.from_columns([(str(name), _plain(cells)) for name, cells in data.items()])
    if getattr(getattr(data, "dtype", None), "names", None):
        return _native.Table.from_columns([(name, _plain(data[name])) for name in data.dtype.names])
    if hasattr(data, "shape"):
        raise RequestError("an array has no column names: give them with names=[...], one for each column")
    raise RequestError(
        "the data must be a path, a pandas, polars or pyarrow table, a mapping of columns, or an array with names=[...]"
    )


def _path(path: str | os.PathLike[str]) -> str:
    return os.fspath(path)


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _from_pandas(frame: Any, wanted: Sequence[str] | None) -> _native.Table:
    if wanted is not None:
        # A column that is not there is left for the library to name.
        frame = frame[[name for name in dict.fromkeys(wanted) if name in frame.columns]]
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if _has_pyarrow():
        import pyarrow

        try:
            return _native.Table.from_arrow(pyarrow.Table.from_pandas(frame, preserve_index=False))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
            # The words of the error may hold a cell.
            raise DataError("a column of the data holds a mix of types: convert it to numbers or texts first") from None
    return _native.Table.from_columns([(name, _plain_series(frame[name])) for name in frame.columns])


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _plain_series(series: Any) -> Any:
    """A pandas column without the help of pyarrow."""
    kind = series.dtype.kind if hasattr(series.dtype, "kind") else "O"
    if kind == "f":
        return _plain(series.to_numpy(dtype="float64", na_value=float("nan")))
    if kind in "iu" and not series.hasnans:
        return _plain(series.to_numpy())
    missing = series.isna()
    return [None if gone else cell for cell, gone in zip(series.astype(object), missing, strict=True)]


def _columns_of_array(data: Any, names: Sequence[str]) -> list[tuple[str, Any]]:
    import numpy

    array = numpy.asarray(data)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise RequestError(f"{len(names)} names do not fit an array of shape {array.shape}: give one for each column")
    # Columns side by side in memory are shared as they are; otherwise one copy puts them so.
    columns = numpy.asfortranarray(array)
    return [(str(name), _plain(columns[:, j])) for j, name in enumerate(names)]


def _plain(cells: Any) -> Any:
    """Cells as `float64`, `int64` or a list."""
    dtype: Any = getattr(cells, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if kind is None:
        return list(cells)
    import numpy

    if kind == "f":
        return numpy.ascontiguousarray(cells, dtype=numpy.float64)
    if kind == "i" or (kind == "u" and dtype.itemsize < 8):
        return numpy.ascontiguousarray(cells, dtype=numpy.int64)
    return [None if cell is None or cell != cell else cell for cell in numpy.asarray(cells).tolist()]
