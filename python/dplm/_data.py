"""Converts tables to the library's own: files, Arrow, pandas, NumPy, plain columns.

A column with a declared type (a NumPy or pandas dtype, an Arrow field) is read as that type,
whatever its cells are. A column without one (lists, object arrays) is read cell by cell, as the
formula says. No type is inferred from all cells of a column: one person's cell would then change
how everybody's are read. Messages of other libraries are never passed on, since they quote cells;
nor are their exceptions chained to ours, which are raised only after theirs have been handled.
"""

from __future__ import annotations

import array
import contextlib
import glob
import os
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from dplm import _native
from dplm._errors import DataError, DplmError, RequestError
from dplm._given import check

_ACCEPTED = "the data must be a path, a pandas, polars or pyarrow table, a query, a mapping of columns, or an array with names=[...]"

# Columns of pandas that are not Series but declare their types like one.
_PANDAS_COLUMNS = [("pandas", "Index"), ("pandas.api.extensions", "ExtensionArray")]
_SERIES = [("pandas", "Series"), *_PANDAS_COLUMNS, ("polars", "Series"), ("pyarrow", "Array"), ("pyarrow", "ChunkedArray")]
# Queries that have not run yet.
_QUERIES = [("polars", "LazyFrame"), ("pyarrow.dataset", "Dataset"), ("pyarrow.dataset", "Scanner")]


def table(
    data: Any, names: Sequence[str] | None, wanted: Sequence[str] | None, csv: str | None = None
) -> _native.Table:
    """Converts `data` to a table.

    `names` are the column names of an array. `wanted` are the columns that will be read, if known;
    only these are converted. `csv` is the format of text files.
    """
    check(csv=csv)
    if names is not None:
        return _from_columns(_columns_of_array(data, names), wanted)
    if isinstance(data, (str, os.PathLike)):
        return _native.Table.open([_path(data)], csv)
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return _native.Table.open(existing(data, "the data"), csv)
    if is_pandas(data):
        return _from_columns(((label, data.iloc[:, j]) for j, label in enumerate(data.columns)), wanted)
    if hasattr(data, "__arrow_c_stream__"):
        return _native.Table.from_arrow(data)
    if is_query(data):
        return _native.Table.from_arrow(_answer(data, wanted))
    if isinstance(data, Mapping):
        return _from_columns(_items(data), wanted)
    if getattr(getattr(data, "dtype", None), "names", None):
        return _from_columns(((name, data[name]) for name in data.dtype.names), wanted)
    if hasattr(data, "shape") or isinstance(data, (list, tuple)):
        raise RequestError("an array has no column names: give them with names=[...], one for each column")
    raise RequestError(_ACCEPTED)


def is_query(data: Any) -> bool:
    """Whether it is a query: a lazy frame of polars, a dataset or scanner of pyarrow, a cursor of
    ADBC."""
    return any(_is_a(data, *kind) for kind in _QUERIES) or hasattr(data, "fetch_record_batch")


def _answer(query: Any, wanted: Sequence[str] | None) -> Any:
    """The rows of a query, as an object with `__arrow_c_stream__`; only the wanted columns, if all
    exist."""
    with contextlib.suppress(Exception), quiet():
        if _is_a(query, "polars", "LazyFrame"):
            return query.select(_present(query.collect_schema().names(), wanted)).collect()
        if _is_a(query, "pyarrow.dataset", "Dataset"):
            return query.scanner(columns=_present(query.schema.names, wanted)).to_reader()
        if _is_a(query, "pyarrow.dataset", "Scanner"):
            return query.to_reader()
        return query.fetch_record_batch()
    # Raised outside the handler: the other exception's message may quote cells.
    raise DataError("the query could not be run: run it on its own to see why")


def _present(names: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """The wanted columns, or all if one is missing: the library then refuses, and suggests the
    nearest name."""
    return list(names) if wanted is None or not set(wanted) <= set(names) else list(wanted)


def _path(data: str | os.PathLike[str]) -> str:
    if isinstance(data, str) and len(data.splitlines()) > 1:
        raise RequestError("the data are text of several lines, not a path: write them to a file, or read them with pandas first")
    return os.fspath(data)


def existing(data: Sequence[str | os.PathLike[str]], what: str) -> list[str]:
    """A list of paths. A path that does not exist is not quoted: it may be a row of data."""
    paths = [os.fspath(one) for one in data]
    for number, path in enumerate(paths, start=1):
        if path != "-" and not _leads_somewhere(path):
            raise DataError(f"path {number} of the {len(paths)} that are given as {what} does not exist: check it")
    return paths


def _leads_somewhere(path: str) -> bool:
    try:
        return os.path.exists(path) or bool(glob.glob(path, recursive=True))
    except (ValueError, OSError):
        return False


def is_pandas(data: Any) -> bool:
    """Whether it is a pandas DataFrame; does not import pandas."""
    return _is_a(data, "pandas", "DataFrame")


def is_series(cells: Any) -> bool:
    """Whether it is a column of a data frame library."""
    return any(_is_a(cells, module, name) for module, name in _SERIES)


def _is_a(thing: Any, module: str, name: str) -> bool:
    """Whether it is an instance of a module's class; false if the module is not loaded."""
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None)
    return kind is not None and isinstance(thing, kind)


def _items(data: Mapping[Any, Any]) -> Iterable[tuple[Any, Any]]:
    """The columns of a mapping, evaluated lazily, so that errors occur where they are handled."""
    yield from data.items()


def _from_columns(columns: Iterable[tuple[Any, Any]], wanted: Sequence[str] | None) -> _native.Table:
    named = _named(columns)
    if wanted is not None and not set(wanted) <= {name for name, _ in named}:
        # The library refuses, and suggests the nearest name.
        return _native.Table.from_columns([(name, _native.Column.cells([None])) for name, _ in named])
    asked = {name for name, _ in named} if wanted is None else set(wanted)
    return _native.Table.from_columns([(name, column(name, cells)) for name, cells in named if name in asked])


def _named(columns: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    try:
        return [(_name(label), cells) for label, cells in columns]
    except DplmError:
        raise
    except Exception:
        pass
    raise DataError("the columns of the data could not be listed: hand them over as a dictionary of lists or arrays")


def _name(label: Any) -> str:
    with contextlib.suppress(Exception):
        name = str(label)
        name.encode()
        return name
    raise RequestError("a column of the data has a name that is not text: rename it")


def column(name: str, cells: Any) -> _native.Column:
    """A column by its declared type, else cell by cell."""
    is_out_of_memory = False
    try:
        with quiet():
            return _column(name, cells)
    except DplmError:
        raise
    except MemoryError:
        is_out_of_memory = True
    except Exception:
        pass
    if is_out_of_memory:
        raise MemoryError
    raise DataError(f"column '{name}' of the data could not be read: convert it to numbers or texts first")


def quiet() -> contextlib.AbstractContextManager[Any]:
    """Suppresses NumPy's warnings of numbers that do not fit: such a warning would reveal a
    cell."""
    numpy = sys.modules.get("numpy")
    return contextlib.nullcontext() if numpy is None else numpy.errstate(all="ignore")


def _column(name: str, cells: Any) -> _native.Column:
    if any(_is_a(cells, module, kind) for module, kind in _PANDAS_COLUMNS):
        import pandas

        cells = pandas.Series(cells)
    if _is_a(cells, "pandas", "Series"):
        return _of_pandas(name, cells)
    if _is_a(cells, "polars", "Series"):
        return _native.Column.arrow(cells.to_frame())
    if _is_a(cells, "pyarrow", "Array") or _is_a(cells, "pyarrow", "ChunkedArray"):
        import pyarrow

        return _native.Column.arrow(pyarrow.table([cells], names=[""]))
    if isinstance(cells, (array.array, memoryview)) and memoryview(cells).format in ("d", "q"):
        return _native.Column.numbers(cells)
    if hasattr(cells, "dtype"):
        return _of_numpy(name, as_numpy(cells))
    if isinstance(cells, (str, bytes, Mapping)):
        raise RequestError(f"column '{name}' of the data is not a sequence of cells")
    if isinstance(cells, Set):
        raise RequestError(f"column '{name}' of the data is a set, which has no order and no repeated cells: make it a list")
    return _native.Column.cells(cells if type(cells) is list else list(cells))


def as_numpy(cells: Any) -> Any:
    """A NumPy array; a masked one keeps its mask."""
    import numpy

    with contextlib.suppress(Exception), quiet():
        return numpy.asanyarray(cells) if isinstance(cells, numpy.ma.MaskedArray) else numpy.asarray(cells)
    raise DataError("the data could not be read as a NumPy array")


def _of_numpy(name: str, cells: Any) -> _native.Column:
    import numpy

    if cells.ndim != 1:
        raise RequestError(f"column '{name}' of the data must have one dimension, and has {cells.ndim}")
    missing = numpy.ma.getmaskarray(cells) if isinstance(cells, numpy.ma.MaskedArray) else None
    return _typed(name, cells.dtype.kind, numpy.ma.getdata(cells), missing)


def _typed(name: str, kind: str, cells: Any, missing: Any) -> _native.Column:
    """A column by the kind of its dtype; `missing` marks missing cells."""
    import numpy

    gone = None if missing is None else numpy.ascontiguousarray(missing, dtype=bool).view(numpy.uint8)
    if kind == "b":
        return _native.Column.truths(numpy.ascontiguousarray(cells, dtype=bool).view(numpy.uint8), gone)
    if kind in "iuf":
        width = {"i": numpy.int64, "u": numpy.uint64, "f": numpy.float64}[kind]
        return _native.Column.numbers(numpy.ascontiguousarray(cells, dtype=width), gone)
    if kind == "M":
        return _days(cells.astype("datetime64[D]"), missing)
    if kind not in "OSUT":
        return _native.Column.unusable(len(cells))
    listed = cells.tolist()
    if missing is not None:
        listed = [None if gone else cell for cell, gone in zip(listed, missing, strict=True)]
    return _native.Column.cells(listed) if kind == "O" else _native.Column.texts(listed)


def _days(days: Any, missing: Any) -> _native.Column:
    """NumPy dates; not-a-time is missing."""
    import numpy

    gone = numpy.isnat(days) if missing is None else numpy.isnat(days) | missing
    return _native.Column.days(numpy.ascontiguousarray(days.astype(numpy.int64)), numpy.ascontiguousarray(gone).view(numpy.uint8))


def _of_pandas(name: str, series: Any) -> _native.Column:
    """A pandas column by its dtype, the same with pyarrow and without."""
    import numpy
    import pandas

    dtype = series.dtype
    if isinstance(dtype, pandas.SparseDtype):
        return _of_pandas(name, series.sparse.to_dense())
    if isinstance(dtype, pandas.CategoricalDtype):
        if isinstance(dtype.categories.dtype, pandas.IntervalDtype):
            return _native.Column.unusable(len(series))
        codes = numpy.ascontiguousarray(series.cat.codes, dtype=numpy.int32)
        return _native.Column.categories(codes, list(dtype.categories.astype(object)))
    if isinstance(dtype, numpy.dtype):
        return _of_numpy(name, series.to_numpy())
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return _typed(name, "M", series.to_numpy(dtype="datetime64[s]"), None)
    if isinstance(dtype, (pandas.PeriodDtype, pandas.IntervalDtype)) or dtype.kind in "Mm":
        return _native.Column.unusable(len(series))
    if dtype.kind in "iufb":
        # Nullable numbers: a missing cell leaves the type as it is.
        width, nothing = {"i": ("int64", 0), "u": ("uint64", 0), "f": ("float64", numpy.nan), "b": ("bool", False)}[dtype.kind]
        cells = series.to_numpy(dtype=width, na_value=nothing)
        return _typed(name, dtype.kind, cells, series.isna().to_numpy())
    if isinstance(dtype, pandas.ArrowDtype) and not _is_text_of_arrow(dtype):
        import pyarrow

        return _native.Column.arrow(pyarrow.table([pyarrow.array(series.array)], names=[""]))
    if _is_text_of_arrow(dtype):
        return _native.Column.texts(_texts_of_arrow(series))
    listed = series.to_numpy(dtype=object).tolist()
    return _native.Column.texts(listed) if isinstance(dtype, pandas.StringDtype) else _native.Column.cells(listed)


def _texts_of_arrow(series: Any) -> list[str | None]:
    """Texts, each decoded on its own: pyarrow would refuse the whole column for one that is not
    UTF-8."""
    import pyarrow

    return [None if cell is None else _text(cell) for cell in pyarrow.array(series.array).cast(pyarrow.large_binary()).to_pylist()]


def _text(cell: bytes) -> str | None:
    """The bytes as text; `None` if they are not UTF-8, as in an Arrow table."""
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _is_text_of_arrow(dtype: Any) -> bool:
    """Whether a pandas dtype keeps texts in Arrow arrays."""
    import pandas

    if isinstance(dtype, pandas.StringDtype):
        return bool(dtype.storage != "python")
    if not isinstance(dtype, pandas.ArrowDtype):
        return False
    from pyarrow import types

    return any(is_text(dtype.pyarrow_dtype) for is_text in (types.is_string, types.is_large_string, types.is_string_view))


def _columns_of_array(data: Any, names: Sequence[str]) -> list[tuple[Any, Any]]:
    if not hasattr(names, "__len__") or isinstance(names, str):
        raise RequestError("names must be a list of texts")
    if isinstance(data, (list, tuple)):
        return _columns_of_rows(data, names)
    if not hasattr(data, "shape") or is_pandas(data) or hasattr(data, "__arrow_c_stream__"):
        raise RequestError("names=[...] is for arrays and lists of rows: this table has its own names")
    import numpy

    cells = as_numpy(data)
    if cells.ndim != 2 or cells.shape[1] != len(names):
        raise RequestError(f"{len(names)} names do not fit an array of shape {cells.shape}: give one for each column")
    if cells.dtype.kind == "f" and not isinstance(cells, numpy.ma.MaskedArray):
        # Contiguous columns are shared without a copy; otherwise one copy makes them contiguous.
        cells = numpy.asfortranarray(cells)
    return [(name, cells[:, j]) for j, name in enumerate(names)]


def _columns_of_rows(rows: Sequence[Any], names: Sequence[str]) -> list[tuple[Any, Any]]:
    """Rows transposed to columns, each cell unchanged: an array would have one type for the whole
    table."""
    lists = None
    with contextlib.suppress(Exception):
        lists = [list(row) for row in rows]
    if lists is None:
        raise RequestError("names=[...] is for arrays and lists of rows, but a row of the data is not a list")
    if any(len(row) != len(names) for row in lists):
        raise RequestError(f"the rows of the data do not all have the {len(names)} cells that are named")
    return [(name, [row[j] for row in lists]) for j, name in enumerate(names)]
