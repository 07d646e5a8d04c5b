"""One row changes nothing about any other, whichever way a table comes in.

Rows of a table are replaced by anything the way in can express. Every other row must be encoded to
the same bits, and the schema, the plan, and the refusal with its words must be the same.
DPLM_LOCALITY_ROWS=100000 replaces that many rows for each way in; a normal run a few hundred.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import math
import os
import random
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dplm
from dplm import _native

REPLACED = int(os.environ.get("DPLM_LOCALITY_ROWS", "400"))
ROWS = 24 if REPLACED < 10_000 else 480

# Numbers, levels, booleans as numbers, texts as numbers, and columns chosen by their types.
FORMULAS = [
    "y[0..10] ~ a[-5..5] + b[0..100]",
    "y[0..10] ~ a[-5..5] + g{red,green,blue} + t{false,true} + h{1,2,3}",
    "y[0..10] ~ t[0..1] + h[0..4] + b{1,7,40}",
    "y[0..10] ~ g[0..1] + a[-5..5]",
    "y[0..10] ~ a{0.5,1,2.0} + g{red,green,1,true}",
    "y[0..10] ~ .",
]

Columns = dict[str, list[Any]]


def base() -> Columns:
    rng = random.Random(5)
    return {
        "y": [rng.uniform(0, 10) for _ in range(ROWS)],
        "a": [rng.choice([rng.uniform(-5, 5), 0.5, 1.0, 2.0]) for _ in range(ROWS)],
        "b": [rng.choice([1, 7, 40, rng.randrange(100)]) for _ in range(ROWS)],
        "g": [rng.choice(["red", "green", "blue"]) for _ in range(ROWS)],
        "t": [rng.random() < 0.5 for _ in range(ROWS)],
        "h": [rng.choice([1, 2, 3]) for _ in range(ROWS)],
    }


# Cells.


def a_float(rng: random.Random) -> float:
    bits: float = struct.unpack("d", rng.randbytes(8))[0]
    return rng.choice([bits, bits, math.nan, math.inf, -math.inf, 5e-324, -0.0, 1e308, 1.0, 2.5, rng.uniform(-9, 9)])


def a_single(rng: random.Random) -> float:
    bits: float = struct.unpack("f", rng.randbytes(4))[0]
    return rng.choice([bits, bits, math.nan, math.inf, 1e-45, 1.0, 2.5])


def an_integer(bits: int, signed: bool = True) -> Callable[[random.Random], int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return lambda rng: rng.choice([rng.randint(low, high), low, high, 0, 1, 2, 7])


def a_truth(rng: random.Random) -> bool:
    return rng.random() < 0.5


WORDS = ["", " ", "NA", "n/a", "NaN", "nan", "null", "None", "inf", "-Infinity", "1", "1.0", "01", "+1", " 2 ", "1e999", "5e-324", "0x10"]
WORDS += ["1,5", "1_000", "true", "True", "FALSE", "red", "Red", " red", "purple", "é漢🙂", "\x00", "\n", '"', "'", "9" * 400, "2026-01-01"]
LETTERS = [chr(code) for code in [*range(32, 127), *range(161, 9999, 7)]]


def a_text(rng: random.Random) -> str:
    if rng.random() < 0.001:
        return rng.choice(["9", "x"]) * (2 << 20)
    return rng.choice(WORDS) if rng.random() < 0.9 else "".join(rng.choices(LETTERS, k=rng.randrange(9)))


class Hostile:
    """Whatever is done with it raises, and says so with a secret."""

    def fail(self, *others: object) -> Any:
        raise RuntimeError("xyzzy-4711")

    __eq__ = __ne__ = __lt__ = __float__ = __int__ = __index__ = __bool__ = __str__ = __repr__ = __hash__ = fail  # type: ignore[assignment]
    __len__ = __iter__ = __array__ = __getattr__ = __format__ = __add__ = fail


class HostileText(str):
    __eq__ = __ne__ = __str__ = __repr__ = __len__ = __iter__ = __hash__ = encode = strip = Hostile.fail  # type: ignore[assignment]


class HostileNumber(float):
    __eq__ = __ne__ = __float__ = __str__ = __repr__ = __hash__ = __bool__ = Hostile.fail  # type: ignore[assignment]


class HostileInteger(int):
    __eq__ = __ne__ = __float__ = __int__ = __index__ = __str__ = __repr__ = __hash__ = __bool__ = Hostile.fail  # type: ignore[assignment]


class HostileDecimal(decimal.Decimal):
    __eq__ = __ne__ = __float__ = __str__ = __repr__ = __hash__ = __bool__ = Hostile.fail  # type: ignore[assignment]


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    ONE = 1


def a_decimal(rng: random.Random) -> decimal.Decimal:
    words = ["NaN", "sNaN", "-NaN", "Infinity", "1E+999999", "1E-999999", "0.5", "1", "2.0", "1.000", "-0"]
    return decimal.Decimal(rng.choice([*words, str(rng.uniform(-9, 9))]))


HASHABLE = [datetime.date(2026, 1, 1), (1, 2), b"red", decimal.Decimal("0.25"), fractions.Fraction(1, 3), Colour.RED, 10**30, 7.25, -3, int]
HASHABLE += [pd.Timestamp(0), np.str_("blue!")]
ODD = [Hostile(), HostileText("red"), HostileNumber(1.0), HostileInteger(1), HostileDecimal("1"), Level.ONE]
ODD += [None, pd.NA, pd.NaT, np.nan, np.ma.masked, np.datetime64("NaT"), Ellipsis, NotImplemented]
ODD += [np.bool_(True), np.int8(-1), np.uint64(2**64 - 1), np.float16(0.5), np.longdouble(2), np.str_("red")]
ODD += [np.timedelta64(1, "ns"), np.datetime64("2026-01-01"), np.bytes_(b"1"), np.complex128(1), np.array(1.0), np.void(b"1")]
ODD += [b"1", bytearray(b"1"), [], [1], {}, {"red": 1}, {1}, (), 1j, object(), print, Hostile, 10**5000, -(10**20), "\ud800"]
ODD += [datetime.datetime(2026, 1, 1), datetime.timedelta(1), datetime.time(1), pd.Period("2026"), pd.Interval(0, 1)]
ODD += [pa.scalar(1), pa.scalar("red"), pl.Series([1]), np.array([1, 2]), pd.Series([1])]


def something_hashable(rng: random.Random) -> Any:
    """A cell that can be a category: no missing value, and no two kinds of one number."""
    kind = rng.randrange(4)
    return (rng.choice(HASHABLE), a_text(rng), rng.randrange(10, 10**6), rng.uniform(-9, 9))[kind]


KINDS = [a_float, an_integer(64), an_integer(200), a_truth, a_text, a_decimal, something_hashable]


def anything(rng: random.Random) -> Any:
    """Whatever a Python list can hold."""
    return rng.choice(ODD) if rng.random() < 0.5 else rng.choice(KINDS)(rng)


# Ways in.


@dataclass
class Way:
    """How rows become a table, and what each of its columns can hold."""

    table: Callable[[Columns, random.Random], Any]
    cells: dict[str, Callable[[random.Random], Any]]
    names: bool = False
    columns: Columns = field(default_factory=base)
    # Whether it declares texts where every formula wants a number.
    is_refused: bool = False


def or_missing(cell: Callable[[random.Random], Any]) -> Callable[[random.Random], Any]:
    return lambda rng: None if rng.random() < 0.2 else cell(rng)


def every(cell: Callable[[random.Random], Any]) -> dict[str, Callable[[random.Random], Any]]:
    return dict.fromkeys(base(), cell)


TYPED = {"y": a_float, "a": a_single, "b": an_integer(64), "g": a_text, "t": a_truth, "h": an_integer(8)}
NULLABLE = {name: or_missing(cell) for name, cell in TYPED.items()}
NUMBERS = {name: [float(len(cell)) if isinstance(cell, str) else cell for cell in cells] for name, cells in base().items()}
WHOLE = {name: [int(cell) for cell in cells] for name, cells in NUMBERS.items()}
COUNTS = {name: [abs(cell) for cell in cells] for name, cells in WHOLE.items()}
CATEGORIES = {"a": [0.5, 1.0, 2.0], "g": ["red", "green", "blue"], "t": [False, True], "h": [1, 2, 3]}


def frame(**dtypes: Any) -> Callable[[Columns, random.Random], pd.DataFrame]:
    def build(columns: Columns, rng: random.Random) -> pd.DataFrame:
        return pd.DataFrame({name: pd.Series(cells, dtype=dtypes.get(name, object)) for name, cells in columns.items()})

    return build


def categorical(columns: Columns, rng: random.Random) -> pd.DataFrame:
    """Columns of categories; a cell that is none yet becomes one."""

    def column(name: str, cells: list[Any]) -> Any:
        known: list[Any] = list(CATEGORIES[name])
        known += dict.fromkeys(cell for cell in cells if cell is not None and cell not in known)
        rng.shuffle(known)
        codes = [-1 if cell is None else known.index(cell) for cell in cells]
        return pd.Categorical.from_codes(codes, categories=known)

    return pd.DataFrame({name: column(name, cells) if name in CATEGORIES else cells for name, cells in columns.items()})


def category_cells(name: str) -> Callable[[random.Random], Any]:
    def cell(rng: random.Random) -> Any:
        made = or_missing(something_hashable)(rng)
        return made if rng.random() < 0.7 else rng.choice(CATEGORIES[name])

    return cell


def a_day(rng: random.Random) -> pd.Period:
    return pd.Period(ordinal=rng.randrange(10**4), freq="D")


def decimal128(rng: random.Random) -> decimal.Decimal:
    return decimal.Decimal(rng.randint(-(10**9), 10**9)).scaleb(-3)


def chunked(columns: Columns, rng: random.Random) -> pa.Table:
    """Columns whose chunks end in places of their own.

    Dictionaries disagree from chunk to chunk, and some chunks hold nothing but nulls.
    """
    types = {"y": pa.float64(), "a": pa.float32(), "b": pa.int64(), "g": pa.string_view(), "t": pa.bool_(), "h": pa.int8()}

    def chunk(name: str, cells: list[Any]) -> pa.Array:
        array = pa.array(cells, types[name])
        if name in "gh":
            array = array.cast(pa.string()) if name == "g" else array
            array = array.dictionary_encode()
        return array

    def column(name: str, cells: list[Any]) -> pa.ChunkedArray:
        cuts = sorted({0, ROWS, *(rng.randrange(ROWS + 1) for _ in range(3))})
        parts = [chunk(name, cells[start:end]) for start, end in zip(cuts, cuts[1:], strict=False)]
        return pa.chunked_array([*parts, chunk(name, [])])

    return pa.table({name: column(name, cells) for name, cells in columns.items()})


def arrow(**types: pa.DataType) -> Callable[[Columns, random.Random], pa.Table]:
    return lambda columns, rng: pa.table({name: pa.array(cells, types.get(name)) for name, cells in columns.items()})


def union(columns: Columns, rng: random.Random) -> pa.Table:
    """Every column a union of numbers and texts."""

    def column(cells: list[Any]) -> pa.Array:
        numbers = [float(cell) for cell in cells if not isinstance(cell, str)]
        texts = [cell for cell in cells if isinstance(cell, str)]
        kinds = [int(isinstance(cell, str)) for cell in cells]
        offsets = [kinds[:row].count(kind) for row, kind in enumerate(kinds)]
        children = [pa.array(numbers, pa.float64()), pa.array(texts, pa.string())]
        return pa.UnionArray.from_dense(pa.array(kinds, pa.int8()), pa.array(offsets, pa.int32()), children)

    return pa.table({name: column(cells) for name, cells in columns.items()})


def polars(columns: Columns, rng: random.Random) -> pl.DataFrame:
    types = {"y": pl.Float64, "a": pl.Float32, "b": pl.Int64, "g": pl.String, "t": pl.Boolean, "h": pl.Int8}
    return pl.DataFrame({name: pl.Series(cells, dtype=types[name], strict=False) for name, cells in columns.items()})


def polars_categorical(columns: Columns, rng: random.Random) -> pl.DataFrame:
    return polars(columns, rng).with_columns(pl.col("g").cast(pl.Categorical), pl.col("h").cast(pl.String).cast(pl.Categorical))


def matrix(dtype: Any, order: str = "C") -> Callable[[Columns, random.Random], np.ndarray]:
    def build(columns: Columns, rng: random.Random) -> np.ndarray:
        cells = np.empty((ROWS, len(columns)), dtype=dtype, order=order)
        for j, column in enumerate(columns.values()):
            for i, cell in enumerate(column):
                cells[i, j] = cell
        return cells

    return build


STRUCTURE = [("y", "f8"), ("a", "f4"), ("b", "i8"), ("g", "U12"), ("t", "?"), ("h", "u1")]


def structured(columns: Columns, rng: random.Random) -> np.ndarray:
    return np.array(list(zip(*columns.values(), strict=True)), dtype=STRUCTURE)


def masked(columns: Columns, rng: random.Random) -> np.ndarray:
    """Missing cells are masked; what is under the mask is arbitrary."""
    under = {name: [was if cell is None else cell for cell, was in zip(columns[name], cells, strict=True)] for name, cells in base().items()}
    array = np.ma.array(structured(under, rng), dtype=STRUCTURE)
    for name, cells in columns.items():
        array.mask[name] = [cell is None for cell in cells]
    return array


def masked_matrix(columns: Columns, rng: random.Random) -> np.ndarray:
    rows = list(zip(*columns.values(), strict=True))
    filled = np.array([[rng.choice([0.5, math.nan, 1e9]) if cell is None else cell for cell in row] for row in rows], dtype=float)
    return np.ma.array(filled, mask=[[cell is None for cell in row] for row in rows])


def short(cell: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda rng: cell(rng)[:40]


def array_columns(**dtypes: Any) -> Callable[[Columns, random.Random], dict[str, np.ndarray]]:
    return lambda columns, rng: {name: np.array(cells, dtype=dtypes.get(name)) for name, cells in columns.items()}


def rows(columns: Columns, rng: random.Random) -> list[Any]:
    """Rows of Python: lists and tuples."""
    return [rng.choice([list, tuple])(row) for row in zip(*columns.values(), strict=True)]


WIDE = {"y": pd.Float64Dtype(), "a": pd.Float32Dtype(), "b": pd.Int64Dtype(), "g": pd.StringDtype(), "t": pd.BooleanDtype(), "h": pd.Int8Dtype()}
ARROW = {"y": pa.float64(), "a": pa.float32(), "b": pa.int64(), "g": pa.string(), "t": pa.bool_(), "h": pa.int8()}
ARROW_BACKED = {name: pd.ArrowDtype(kind) for name, kind in ARROW.items()}
LARGE = ARROW | {"a": pa.decimal128(18, 3), "g": pa.large_string(), "b": pa.uint64(), "h": pa.dictionary(pa.int32(), pa.string())}
SMALL = {name: short(a_text) if name == "g" else cell for name, cell in TYPED.items()} | {"h": an_integer(8, signed=False)}

WAYS = {
    "pandas numpy": Way(frame(y="float64", a="float32", b="int64", g="str", t="bool", h="int8"), TYPED),
    "pandas nullable": Way(frame(**WIDE), NULLABLE),
    "pandas Arrow-backed": Way(frame(**ARROW_BACKED), NULLABLE),
    "pandas Arrow-backed decimal, view, dictionary": Way(
        frame(**{name: pd.ArrowDtype(kind) for name, kind in (LARGE | {"g": pa.string_view()}).items()}),
        NULLABLE | {"a": or_missing(decimal128), "b": or_missing(an_integer(64, signed=False)), "h": or_missing(a_text)},
        columns=base() | {"a": [decimal.Decimal("0.5")] * ROWS, "h": [str(cell) for cell in base()["h"]]},
    ),
    "pandas object": Way(frame(), every(anything)),
    "pandas categorical": Way(categorical, {"y": a_float, "b": an_integer(64)} | {name: category_cells(name) for name in CATEGORIES}),
    "pandas datetime": Way(
        frame(y="float64", a="datetime64[ns]", b="int64", g="timedelta64[s]", t="bool", h="period[D]"),
        TYPED | {name: lambda rng: rng.choice([None, rng.randrange(10**6)]) for name in "ag"} | {"h": or_missing(a_day)},
        columns=base() | {name: list(range(ROWS)) for name in "ag"} | {"h": [pd.Period(ordinal=9, freq="D")] * ROWS},
    ),
    "pandas sparse": Way(
        frame(y="Sparse[float64]", a="Sparse[float32]", b="Sparse[int64]", g=object, t="Sparse[bool]", h="Sparse[int8]"),
        TYPED | {"g": anything},
    ),
    "polars": Way(polars, NULLABLE),
    "polars categorical": Way(polars_categorical, NULLABLE),
    "pyarrow": Way(arrow(**ARROW), NULLABLE),
    "pyarrow decimal, large, dictionary": Way(
        arrow(**LARGE),
        NULLABLE | {"a": or_missing(decimal128), "b": or_missing(an_integer(64, signed=False)), "h": or_missing(a_text)},
        columns=base() | {"a": [decimal.Decimal("0.5")] * ROWS, "h": [str(cell) for cell in base()["h"]]},
    ),
    "pyarrow chunks": Way(chunked, NULLABLE),
    "pyarrow stream": Way(lambda columns, rng: chunked(columns, rng).to_reader(max_chunksize=rng.randrange(1, 9)), NULLABLE),
    "pyarrow union": Way(union, every(lambda rng: rng.choice([a_float, a_text])(rng))),
    "NumPy float": Way(matrix("f8"), every(a_float), True, NUMBERS),
    "NumPy float in Fortran's order": Way(matrix("f4", "F"), every(a_single), True, NUMBERS),
    "NumPy int": Way(matrix("i8"), every(an_integer(64)), True, WHOLE),
    "NumPy unsigned": Way(matrix("u8"), every(an_integer(64, signed=False)), True, COUNTS),
    "NumPy bool": Way(matrix("?"), every(a_truth), True, {name: [bool(cell) for cell in cells] for name, cells in WHOLE.items()}),
    "NumPy object": Way(matrix(object), every(anything), True),
    "NumPy text": Way(matrix("U40"), every(short(a_text)), True, is_refused=True),
    "NumPy bytes": Way(matrix("S40"), every(lambda rng: a_text(rng).encode()[:40]), True, is_refused=True),
    "NumPy variable text": Way(
        array_columns(y="f8", a="f8", b="S40", g=np.dtypes.StringDType(na_object=None), t="U40", h="S40"),
        {"y": a_float, "a": a_float, "g": or_missing(a_text), "t": short(a_text)} | dict.fromkeys("bh", lambda rng: a_text(rng).encode()[:40]),
        columns=base() | {name: [f"{cell}".encode() for cell in base()[name]] for name in "bh"},
    ),
    "NumPy structured": Way(structured, SMALL),
    "NumPy masked": Way(masked, {name: or_missing(cell) for name, cell in SMALL.items()}),
    "NumPy masked matrix": Way(masked_matrix, every(or_missing(a_float)), True, NUMBERS),
    "mapping of lists": Way(lambda columns, rng: columns, every(anything)),
    "mapping of tuples": Way(lambda columns, rng: {name: tuple(cells) for name, cells in columns.items()}, every(anything)),
    "mapping of arrays": Way(array_columns(y="f8", a="f2", b="i4", g="U40", t="?", h="u1"), SMALL | {
        "a": lambda rng: rng.choice([math.nan, math.inf, 6e-8, rng.uniform(-9, 9)]),
        "b": an_integer(32),
    }),
    "mapping of Series": Way(lambda columns, rng: dict(frame(**WIDE)(columns, rng).items()), NULLABLE),
    "mapping of Arrow arrays": Way(lambda columns, rng: dict(zip(columns, chunked(columns, rng).columns, strict=True)), NULLABLE),
    "rows of Python": Way(rows, every(anything), True),
    "Decimal": Way(
        lambda columns, rng: columns,
        every(or_missing(a_decimal)),
        columns={name: [decimal.Decimal(float(cell)) for cell in cells] for name, cells in NUMBERS.items()},
    ),
}


# The property.


def linked(error: BaseException | None) -> list[BaseException]:
    """An exception and all that hang on to it, none of which may hold a cell."""
    if error is None:
        return []
    assert not hasattr(error, "__notes__")
    return [error, *linked(error.__cause__), *linked(error.__context__)]


class Seen(Exception):
    """Carries what a fit would have worked on past the rest of `dplm.lm`."""


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, list[list[float]]]]:
    """What `dplm.lm` says before it draws noise, and the rows as they are encoded.

    It says the refusal, or the schema and the plan.
    """

    def show(table: Any, said: Any, *_: object) -> None:
        raise Seen(_native.encoded(table, said))

    monkeypatch.setattr(_native, "fit", show)

    # The plans that are quickest to make.
    quick = {False: {"method": "adassp"}, True: {"method": "dpgd", "clip": 1.0, "steps": 1}}

    def of(data: Any, formula: str, names: list[str] | None = None) -> tuple[Any, list[list[float]]]:
        try:
            dplm.lm(formula, data, rho=1000.0, names=names, purpose="prediction", **quick[formula.endswith(".")])
        except Seen as seen:
            shown = seen.args[0]
            return ("read", shown.schema, shown.plan), shown.rows
        except dplm.DplmError as refusal:
            assert linked(refusal) == [refusal]
            return ("refused", type(refusal), str(refusal)), []
        raise AssertionError("neither read nor refused")

    return of


def bits(row: list[float]) -> bytes:
    return struct.pack(f"{len(row)}d", *row)


@pytest.mark.parametrize("way", WAYS)
def test_a_row_changes_nothing_about_the_others(way, outcome):
    how, rng, replaced, was_read = WAYS[way], random.Random(way), 0, 0
    names = list(how.columns) if how.names else None
    expected = {formula: outcome(how.table(how.columns, rng), formula, names) for formula in FORMULAS}
    assert any(said[0] == "read" for said, _ in expected.values()) != how.is_refused
    while replaced < REPLACED:
        formula = rng.choice(FORMULAS)
        new = set(rng.sample(range(ROWS), rng.choice([1, 2, ROWS // 2, ROWS // 2])))
        columns = {
            name: [how.cells[name](rng) if i in new else cell for i, cell in enumerate(cells)] for name, cells in how.columns.items()
        }
        said, encoded = outcome(how.table(columns, rng), formula, names)
        words, before = expected[formula]
        assert said == words, formula
        for i, (row, unchanged) in enumerate(zip(encoded, before, strict=True)):
            assert i in new or bits(row) == bits(unchanged), (formula, i)
        replaced, was_read = replaced + len(new), was_read + (said[0] == "read")
    assert (was_read > 0) != how.is_refused


# What one row does to the dtype of a column in common programs.

CHANGED = 3
READINGS = [
    "y[0..10] ~ a[-5..5] + g{red,green,blue} + t{false,true} + h{1,2,3}",
    "y[0..10] ~ a{0.5,1,2.0} + t{0,1} + h{1.0,2.0,3.0}",
    "y[0..10] ~ t[0..1] + h[0..4] + b[0..100]",
]


def without(column: str, cell: Any) -> Columns:
    columns = base()
    columns[column][CHANGED] = cell
    return columns


def others(rows: list[list[float]]) -> list[bytes]:
    assert len(rows) == ROWS
    return [bits(row) for i, row in enumerate(rows) if i != CHANGED]


def is_declared_otherwise(table: Any, usual: Any) -> bool:
    """Whether the library has declared another type for a column, by all of its cells."""
    types = [[str(one[name].dtype) for name in base()] for one in (table, usual)]
    return types[0] != types[1]


@pytest.mark.parametrize(
    ("column", "cell"),
    [("h", None), ("h", math.nan), ("h", 2.5), ("h", "three"), ("h", 2**80), ("t", None), ("t", 0), ("t", "yes"), ("t", 0.5)]
    + [("a", "n/a"), ("a", None), ("a", True), ("a", decimal.Decimal(1)), ("g", 7), ("g", None), ("g", math.nan), ("y", "-"), ("y", 3)],
)
@pytest.mark.parametrize(
    "infer",
    [
        pd.DataFrame,
        lambda columns: pd.DataFrame(columns).convert_dtypes(),
        lambda columns: pd.DataFrame(columns).astype({"g": "category", "h": "category", "t": "category"}),
        lambda columns: {name: np.array(cells) for name, cells in columns.items()},
        lambda columns: {name: np.array(cells, dtype=object) for name, cells in columns.items()},
        lambda columns: pl.DataFrame(columns, strict=False),
    ],
    ids=["DataFrame", "convert_dtypes", "category", "numpy.array", "object", "polars"],
)
def test_a_cell_that_changes_the_dtype_leaves_the_others_as_they_are(outcome, infer, column, cell):
    """Libraries choose a column's dtype by all of its cells.

    Whatever they choose, the other rows read the same.
    """
    try:
        table = infer(without(column, cell))
    except TypeError:
        pytest.skip("the library refuses such a column itself")
    for formula in READINGS:
        said, encoded = outcome(table, formula)
        if said[0] == "refused" and is_declared_otherwise(table, infer(base())):
            assert "holds text" in said[2] or "not supported" in said[2], "the library declares another type, which is refused as such"
            continue
        if said[0] == "refused":
            assert said == outcome(infer(base()), formula)[0] and "holds text or categories" in said[2], "categories are no numbers"
            continue
        assert said[0] == "read" and others(encoded) == others(outcome(infer(base()), formula)[1]), formula


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable", "pyarrow"])
@pytest.mark.parametrize(("column", "cell"), [("h", ""), ("h", "two"), ("t", ""), ("t", "maybe"), ("a", "-"), ("a", ""), ("g", "7"), ("y", "?")])
def test_a_cell_of_a_file_that_pandas_reads_leaves_the_others_as_they_are(outcome, tmp_path, backend, column, cell):
    def read(columns: Columns) -> pd.DataFrame:
        path = tmp_path / "table.csv"
        pd.DataFrame(columns, dtype=object).to_csv(path, index=False)
        return pd.read_csv(path, **({} if backend == "numpy" else {"dtype_backend": backend}))

    table = read(without(column, cell))
    for formula in READINGS:
        (_, before), (said, encoded) = outcome(read(base()), formula), outcome(table, formula)
        if said[0] == "refused":
            assert is_declared_otherwise(table, read(base())) and f"column '{column}' holds text" in said[2]
            continue
        assert others(encoded) == others(before), formula


TEXTS_AS_NUMBERS = {
    "str": lambda cells: pd.Series(cells, dtype="str"),
    "string[python]": lambda cells: pd.Series(cells, dtype="string[python]"),
    "string[pyarrow]": lambda cells: pd.Series(cells, dtype="string[pyarrow]"),
    "Arrow-backed": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.string())),
    "Arrow-backed dictionary": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "category": lambda cells: pd.Series(cells, dtype="category"),
    "category of numbers": lambda cells: pd.Series([float(cell) for cell in cells], dtype="category"),
    "Categorical": lambda cells: pd.Categorical(cells),
    "NumPy": lambda cells: np.array(cells),
    "NumPy bytes": lambda cells: np.array(cells, dtype="S"),
    "NumPy variable text": lambda cells: np.array(cells, dtype=np.dtypes.StringDType()),
    "polars": lambda cells: pl.Series(cells),
    "polars categorical": lambda cells: pl.Series(cells, dtype=pl.Categorical),
    "pyarrow": lambda cells: pa.array(cells),
}


@pytest.mark.parametrize("kind", TEXTS_AS_NUMBERS)
def test_declared_text_is_refused_where_a_number_is_declared(kind, tmp_path):
    """In one sentence for all libraries, whatever the cells are, and before anything is spent."""
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=1.0)
    column = TEXTS_AS_NUMBERS[kind](["12.5", "4711.25", "7"] * 100)
    for data in ({"y": [1.0, 2.0, 3.0] * 100, "a": column}, *([pd.DataFrame({"y": 1.0, "a": column})] if kind != "pyarrow" else [])):
        if isinstance(data, pd.DataFrame) and data["a"].dtype == object:
            continue
        with pytest.raises(dplm.DataError) as refusal:
            dplm.lm("y[0..10] ~ a[0..5000]", data, rho=0.5, ledger=ledger, dataset="rows")
        assert str(refusal.value) == (
            "column 'a' holds text or categories: give its levels, as in a{a,b}, or make it numbers, as with "
            'pd.to_numeric(df["a"], errors="coerce")'
        )
    assert ledger.show("rows")["spent"] == 0


def test_pandas_reads_the_same_without_pyarrow(outcome, monkeypatch):
    """Without pyarrow, the same dtypes give the same tables, cell for cell and type for type."""
    rng = random.Random(3)
    columns = {name: [NULLABLE[name](rng) if i % 3 else cell for i, cell in enumerate(cells)] for name, cells in base().items()}
    frames = [frame(**(WIDE | {"g": pd.StringDtype("python")}))(columns, rng), frame()(columns, rng), WAYS["pandas categorical"].table(base(), rng)]
    expected = [outcome(one, formula) for one in frames for formula in FORMULAS]
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert [outcome(one, formula) for one in frames for formula in FORMULAS] == expected


# Refusals.


class Stream:
    """A table whose library fails."""

    def __arrow_c_stream__(self, schema: object = None) -> object:
        raise RuntimeError("xyzzy-4711")


class Columnar(dict):
    def items(self) -> Any:
        return [(Hostile(), [1.0])]


class Unlistable(dict):
    def items(self) -> Any:
        raise ValueError("xyzzy-4711")


class Sequence:
    def __iter__(self) -> Any:
        raise RuntimeError("xyzzy-4711")


class Array:
    dtype, shape = np.dtype(float), (3, 2)

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("xyzzy-4711")


@pytest.mark.parametrize(
    ("data", "names", "sentence"),
    [
        (Stream(), None, "the Arrow stream of the data could not be read"),
        (pl.DataFrame({"y": [1.0], "a": pl.Series([object()], dtype=pl.Object)}), None, "could not be read|cannot use"),
        (Columnar(), None, "a name that is not text"),
        (Unlistable(), None, "the columns of the data could not be listed"),
        ({"y": Sequence(), "a": [1.0]}, None, "column 'y' of the data could not be read"),
        ({"y": {4711.0}, "a": [1.0]}, None, "column 'y' of the data is a set"),
        ({"y": frozenset([4711.0]), "a": [1.0]}, None, "column 'y' of the data is a set"),
        ({"y": {4711.0: 1}.keys(), "a": [1.0]}, None, "column 'y' of the data is a set"),
        ("y,a\n1,2\n4711,4\n", None, "text of several lines, not a path"),
        ("y,a\r4711,4", None, "text of several lines, not a path"),
        (["y,a", "4711,4"], None, "path 1 of the 2 that are given as the data does not exist"),
        ([__file__, "[4711,*"], None, "path 2 of the 2"),
        (("y,a\n4711,4\n", "\ud800/*4711", "\x004711"), None, "path 1 of the 3"),
        ({"y": "4711", "a": "4711"}, None, "column 'y' of the data is not a sequence of cells"),
        ({"y": np.zeros((2, 2)), "a": [1.0]}, None, "must have one dimension"),
        ({"y": [1.0, 2.0], "a": [4711]}, None, "same number of rows"),
        (Array(), ["y", "a"], "could not be read as a NumPy array"),
        ([[1.0, 2.0], [4711]], ["y", "a"], "do not all have the 2 cells"),
        ([4711, 4711], ["y", "a"], "a row of the data is not a list"),
        (np.zeros((4, 3)), ["y", "a"], r"2 names do not fit an array of shape \(4, 3\)"),
        (pd.DataFrame({"y": [4711]}), ["y"], "this table has its own names"),
        ({"\ud800": [1.0]}, None, "a name that is not text"),
        (pd.DataFrame([[1.0, 2.0]], columns=["y", "y"]), None, "columns 1 and 2 of the data have the same name|two columns named"),
        (pd.DataFrame({"y": [1.0], "a": [pd.Timestamp(0)]}), None, "holds dates: write its bounds as dates"),
        (pd.DataFrame({"y": [1.0], "a": pd.Series([pd.Period("2026")])}), None, "a type that a model cannot use"),
        (pd.DataFrame({"y": [1.0], "a": pd.Series([pd.Interval(0, 1)])}), None, "a type that a model cannot use"),
        (pd.DataFrame({"y": [1.0, 2.0], "a": pd.cut([1.0, 2.0], 2)}), None, "a type that a model cannot use"),
        (pd.DataFrame({"y": [1.0], "a": pd.Series([b"4711"], dtype=pd.ArrowDtype(pa.binary()))}), None, "a type that a model cannot use"),
        (pd.DataFrame({"y": [1.0], "a": pd.Series([[4711]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))}), None, "a type that a model cannot use"),
        ({"income": Sequence(), "aa": [1.0]}, None, "the data have no column 'y'"),
        ({"y": np.zeros(2), "a": np.zeros(2, complex)}, None, "a type that a model cannot use"),
        ({"y": np.zeros(2), "a": np.zeros(2, "M8[s]")}, None, "holds dates: write its bounds as dates"),
        ([[1.0, 2.0]], None, "give them with names="),
        (4711, None, "the data must be"),
    ],
)
def test_refusals_hold_no_cell_and_no_other_library_s_words(data, names, sentence):
    with pytest.raises(dplm.DplmError, match=sentence) as refusal:
        dplm.lm("y[0..1] ~ a[0..1]", data, rho=1, names=names)
    assert "4711" not in str(refusal.value) and linked(refusal.value) == [refusal.value]


def test_columns_that_are_not_asked_for_are_not_looked_at(outcome):
    assert outcome(base() | {"b": Sequence()}, "y[0..10] ~ a[-5..5]")[0][0] == "read"


def test_what_a_cell_s_conversion_raises_is_in_no_exception():
    def cells() -> Any:
        yield 1.0
        raise MemoryError("xyzzy-4711")

    with pytest.raises(MemoryError) as refusal:
        dplm.lm("y[0..1] ~ a[0..1]", {"y": cells(), "a": [1.0]}, rho=1)
    assert linked(refusal.value) == [refusal.value] and not refusal.value.args


# Texts that are not UTF-8.


def unchecked(cells: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """An Arrow array of texts that nobody has looked at."""
    array = pa.array(cells, {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind])
    return pa.Array.from_buffers(kind, len(array), array.buffers())


def coded(array: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(range(len(array)), pa.int32()), array)


def dense(array: pa.Array) -> pa.Array:
    rows = range(len(array))
    return pa.UnionArray.from_dense(pa.array([0 for _ in rows], pa.int8()), pa.array(rows, pa.int32()), [array, pa.array([1.0])])


def sparse(array: pa.Array) -> pa.Array:
    return pa.UnionArray.from_sparse(pa.array([0] * len(array), pa.int8()), [array, pa.nulls(len(array), pa.int64())])


def backed(array: pa.Array) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


TEXTS: dict[str, Callable[[list[bytes | None]], Any]] = {
    "string": lambda cells: unchecked(cells, pa.string()),
    "large string": lambda cells: unchecked(cells, pa.large_string()),
    "string view": lambda cells: unchecked(cells, pa.string_view()),
    "dictionary": lambda cells: coded(unchecked(cells, pa.string())),
    "dense union": lambda cells: dense(unchecked(cells, pa.string())),
    "sparse union": lambda cells: sparse(unchecked(cells, pa.large_string())),
    "slice": lambda cells: unchecked([b"\xff", *cells, b"\xff"], pa.string()).slice(1, len(cells)),
    "pandas Arrow-backed": lambda cells: backed(unchecked(cells, pa.string())),
    "pandas Arrow-backed view": lambda cells: backed(unchecked(cells, pa.string_view())),
    "pandas Arrow-backed dictionary": lambda cells: backed(coded(unchecked(cells, pa.string()))),
    "pandas str": lambda cells: pa.table({"g": unchecked(cells, pa.large_string())}).to_pandas()["g"],
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_that_is_not_utf_8_is_missing(outcome, kind):
    rng = random.Random(2)
    words: list[bytes | None] = [rng.choice(["red", "green", "blue", "1", "purple é"]).encode() + b" " * i for i in range(ROWS)]
    bad, gone = list(words), list(words)
    bad[CHANGED], gone[CHANGED] = b"a long text of latin-1: \xe9", None
    for formula in ("y[0..10] ~ g{red,green,blue,1}", "y[0..10] ~ a[-5..5] + b[0..100]"):
        columns = [base() | {"g": TEXTS[kind](cells)} for cells in (gone, bad)]
        expected, found = (outcome(one, formula) for one in columns)
        assert found[0][0] == "read" and found[0] == expected[0]
        assert [bits(row) for row in found[1]] == [bits(row) for row in expected[1]]
        if not kind.startswith("pandas"):
            tables = [outcome(pa.table(one), formula) for one in columns]
            assert [bits(row) for row in tables[1][1]] == [bits(row) for row in tables[0][1]] == [bits(row) for row in expected[1]]


def test_cells_inside_what_no_model_reads_are_not_looked_at(outcome):
    lists = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), unchecked([b"\xe9"] * ROWS, pa.string()))
    never_missing = pa.struct([pa.field("a", pa.int64(), nullable=False)])
    structs = pa.Array.from_buffers(never_missing, ROWS, [None], children=[pa.nulls(ROWS, pa.int64())])
    for nested in (lists, structs, coded(lists)):
        assert outcome(pa.table(base() | {"l": nested}), "y[0..10] ~ a[-5..5]")[0][0] == "read"


def test_a_missing_cell_of_a_column_declared_without_any_is_missing(outcome):
    fields = [pa.field(name, kind, nullable=False) for name, kind in ARROW.items()]
    full, short = (pa.table(pa.table(columns).cast(pa.schema(ARROW)).columns, pa.schema(fields)) for columns in (base(), without("a", None)))
    for formula in READINGS:
        (words, before), (said, encoded) = outcome(full, formula), outcome(short, formula)
        assert said[0] == words[0] and (said[0] == "refused" or others(encoded) == others(before))


BROKEN = {
    "offsets": lambda: pa.Array.from_buffers(pa.string(), 3, [None, pa.array([0, 9, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"abc")]),
    "negative offset": lambda: pa.Array.from_buffers(pa.string(), 2, [None, pa.array([0, -7, 3], pa.int32()).buffers()[1], pa.py_buffer(b"abc")]),
    "keys": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 7, -4], pa.int32()), pa.array(["red"]), safe=False),
    "types": lambda: pa.Array.from_buffers(
        pa.dense_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]),
        3,
        [None, pa.array([0, 9, -3], pa.int8()).buffers()[1], pa.array([0, 0, 0], pa.int32()).buffers()[1]],
        children=[pa.array([1]), pa.array(["red"])],
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_an_array_that_leads_out_of_itself_is_refused(outcome, broken):
    columns = {"y": pa.array([1.0, 2.0, 3.0]), "g": BROKEN[broken]()}
    columns["y"] = columns["y"][: len(columns["g"])]
    for data in (columns, pa.table(columns)):
        said, _ = outcome(data, "y[0..10] ~ g{red,green}")
        assert said[0] == "refused" and "could not be read" in said[2]


# Columns of other kinds.


@pytest.mark.parametrize(
    "column",
    [
        lambda cells: pd.Index(cells),
        lambda cells: pd.array(cells, dtype="Int64"),
        lambda cells: pd.array(cells, dtype=pd.ArrowDtype(pa.int64())),
        lambda cells: pd.Categorical(cells, categories=[3, 2, 1]),
        lambda cells: pd.CategoricalIndex(cells),
        lambda cells: {i: cell for i, cell in enumerate(cells)}.values(),
    ],
)
def test_arrays_and_indices_of_pandas_are_read_as_series(outcome, column):
    made = column(base()["h"])
    declared = made if isinstance(made, type({}.values())) else pd.Series(made)
    for formula in READINGS:
        expected = outcome(base() | {"h": declared}, formula)
        assert (expected[0][0] == "read") != ("h[0..4]" in formula and isinstance(getattr(declared, "dtype", None), pd.CategoricalDtype))
        assert outcome(base() | {"h": made}, formula) == expected
    dotted = "y[0..10] ~ ."
    assert outcome({"y": base()["y"], "h": made}, dotted) == outcome({"y": base()["y"], "h": declared}, dotted)


def test_bytes_are_the_text_they_say(outcome):
    texts = base() | {"a": [repr(cell) for cell in base()["a"]]}
    for cells in ([text.encode() for text in texts["g"]], np.array([text.encode() for text in texts["g"]], dtype=object)):
        numbers = [text.encode() for text in texts["a"]]
        for formula in READINGS:
            expected = outcome(texts, formula)
            assert expected[0][0] == "read" and outcome(texts | {"g": cells, "a": numbers}, formula) == expected
    bad = [b"\xe9" if i == CHANGED else cell for i, cell in enumerate(cells)]
    expected = outcome(texts | {"g": np.array(bad, dtype="S")}, READINGS[0])
    assert outcome(texts | {"g": bad}, READINGS[0])[1:] == expected[1:] and others(expected[1]) == others(outcome(texts, READINGS[0])[1])


def test_a_number_too_large_for_a_double_warns_of_nothing(outcome):
    large = np.longdouble("1e4000")
    for cells in ([large] * ROWS, np.array([large] * ROWS), np.array([large] * ROWS, dtype=object)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            assert outcome(base() | {"a": cells}, "y[0..10] ~ a[-5..5]")[0][0] == "read"
        assert not heard
