"""The same fit on Spark: the rows stay on the cluster, and the result has the bits of `dplm.lm` on
the same rows.

Needs PySpark 4 on the driver, Java if Spark runs in this process, and dplm and pyarrow on every
executor. docs/cluster.md describes the set-up, the data that travel, and the cost.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from dplm import _errors, _native
from dplm._errors import DataError, DplmError, FitError, PrivacyWarning, RequestError, warn
from dplm._fit import Fit
from dplm._groups import GroupedFit
from dplm._lm import LmOptions, RowsElsewhere
from dplm._lm import lm as _lm

if TYPE_CHECKING:
    import pyarrow
    import pyspark.sql

__all__ = ["lm", "session"]

_T = TypeVar("_T")

# The rows of a block.
_ROWS = 65_536
# The bytes of a person's hash.
_HASH = 16
_PACKED = "group int, block binary"
_NO_FRAME = (
    "the data must be a DataFrame of PySpark 4 or newer: pip install 'pyspark>=4', with Java 17 where Spark runs in this process, "
    "or use dplm.lm for a table on this machine"
)
_NO_PYSPARK = "Spark needs PySpark 4 or newer: pip install 'pyspark>=4'"
_NO_JAVA = (
    "Spark needs Java 17 or newer in this process, and there is none: install it, or set JAVA_HOME to its folder; " "with Spark Connect (remote=) none is needed"
)
_NO_SESSION = "Spark did not start: its own messages above give the reason"
_NO_WHEEL = (
    "dplm is not installed on the executors: install it on each, as a library of the cluster, in its image, or by " "spark.archives; docs/cluster.md describes how"
)
_IN_THE_CLEAR = (
    "rows and sums over rows are not encrypted between the machines of this cluster, nor on their disks: set {} to true"
)
_APART = "the rows of a person are not together on the cluster: pack the rows to a folder, or fit them on one machine"
_ENCRYPTION = ("spark.network.crypto.enabled", "spark.io.encryption.enabled")
# The last line of a worker's traceback if the exception is from this package.
_OWN = re.compile(r"dplm\._errors\.(\w+): ([^\n]+)")


@overload
def lm(
    formula: str | os.PathLike[str],
    df: pyspark.sql.DataFrame,
    *,
    pack: str | None = None,
    by: None = None,
    group_sizes: None = None,
    **options: Unpack[LmOptions],
) -> Fit: ...
@overload
def lm(
    formula: str | os.PathLike[str],
    df: pyspark.sql.DataFrame,
    *,
    pack: str | None = None,
    by: str,
    group_sizes: Mapping[str, int] | None = None,
    **options: Unpack[LmOptions],
) -> GroupedFit: ...
def lm(
    formula: str | os.PathLike[str],
    df: pyspark.sql.DataFrame,
    *,
    pack: str | None = None,
    by: str | None = None,
    group_sizes: Mapping[str, int] | None = None,
    **options: Unpack[LmOptions],
) -> Fit | GroupedFit:
    """Fits a linear regression privately to the rows of a Spark DataFrame.

    Parameters
    ----------
    formula
        The model, as for `dplm.lm`.
    df
        The rows. They are encoded and packed once, by the executors, and Spark keeps the packed
        blocks in memory and on local disks.
    pack
        A folder in which the packed blocks are kept instead, as Parquet, in a subfolder: for rows
        whose order changes each time they are computed. They are rows of the data: delete them
        afterwards.
    by, group_sizes
        As for `dplm.lm`: the model in each group, and a `GroupedFit`.
    options
        As for `dplm.lm`. A DataFrame has no order: with `person`, the rows of a person that count
        are the first `rows_per_person` when sorted by the columns that are read, in the DataFrame's
        column order. `progress=True` prints the number of queries at the end, which depends on the
        rows and is only for people who may see them.

    Raises
    ------
    RequestError, DataError, LedgerError, FitError
        As `dplm.lm`. A lost or changed block ends the fit: nothing is summed twice or left out.
    """
    rows = _Spark(_frame(df), pack)
    try:
        return _lm(formula, rows, by=by, group_sizes=group_sizes, **options)  # type: ignore[arg-type]
    finally:
        if options.get("progress") is True:
            sys.stderr.write(f"{rows.questions} queries to the cluster (not private: the number depends on the rows)\n")


def session(master: str = "local[*]", *, remote: str | None = None, settings: Mapping[str, str] | None = None) -> pyspark.sql.SparkSession:
    """A Spark session in which rows are encrypted in transit and on disks.

    Parameters
    ----------
    master
        The cluster, for instance `"spark://host:7077"` or `"yarn"`; this machine by default.
    remote
        The address of a server of Spark Connect instead, such as `"sc://host:15002"`, which has its
        own settings.
    settings
        Other settings of Spark; they take precedence over those made here.

    Raises
    ------
    RequestError
        PySpark or Java is missing, or Spark did not start.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise RequestError(_NO_PYSPARK) from None
    if remote is None and not _has_java():
        raise RequestError(_NO_JAVA)
    builder = SparkSession.builder.remote(remote) if remote is not None else SparkSession.builder.master(master)
    safe = {} if remote is not None or master.startswith("local") else dict.fromkeys(("spark.authenticate", *_ENCRYPTION), "true")
    for name, value in {**safe, **(settings or {})}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception:  # noqa: BLE001
        raise RequestError(_NO_SESSION) from None


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=None if home is None else os.path.join(home, "bin")) is not None


def _frame(df: Any) -> pyspark.sql.DataFrame:
    """The DataFrame, or a sentence on what is needed."""
    if all(hasattr(df, name) for name in ("mapInArrow", "toArrow", "sparkSession")):
        return df
    raise RequestError(_NO_FRAME)


class _Spark(RowsElsewhere):
    """The rows of a DataFrame, and the queries on them."""

    def __init__(self, frame: pyspark.sql.DataFrame, folder: str | None) -> None:
        self._frame, self._folder = frame, folder
        self._session = frame.sparkSession
        self._tag = f"dplm-{uuid.uuid4()}"
        self._packed: pyspark.sql.DataFrame | None = None
        self._pack: Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]] | None = None
        self._failure: str | None = None
        self.questions = 0

    def fit(self, said: Mapping[str, Any], progress: Any) -> _native.Fit | _native.GroupedFit:
        self._warn_of_the_clear()
        frame, columns = self._frame, _native.columns(said)
        if columns is not None:
            frame = frame.select([_quoted(name) for name in frame.columns if name in columns])
        unit = None if said["person"] is None else self._tag
        # Moments change nothing about how a row is packed, and their file is on this machine.
        packed = {name: value for name, value in said.items() if name != "moments"}
        self._pack = partial(_pack, said=packed, unit=unit)
        try:
            empty = self._try(frame.limit(0).toArrow)
            self._frame = self._in_order(frame, unit, said)
            return _native.fit(_native.Cluster(self._ask, self._cancel, empty), said, progress)
        except (DataError, FitError) as error:
            if self._failure is None:
                raise
            refusal = type(error)(self._failure)
        finally:
            self._forget()
        raise refusal

    def _in_order(self, frame: pyspark.sql.DataFrame, unit: str | None, said: Mapping[str, Any]) -> pyspark.sql.DataFrame:
        """The same rows, sorted, those of a person together: a recomputed partition gives the same
        blocks."""
        order = [_quoted(name) for name in _sortable(frame)]
        if unit is None:
            return frame.sortWithinPartitions(order)
        if said["person"] not in frame.columns:
            raise DataError(f"the data have no column {said['person']!r}: name the one that identifies persons")
        from pyspark.sql.types import BinaryType, StructField, StructType

        identify = partial(_identify, person=said["person"], strict=said["strict"], key=secrets.token_bytes(32), unit=unit)
        schema = StructType([*frame.schema.fields, StructField(unit, BinaryType(), nullable=False)])
        # Keeps the number of partitions: Spark's default for a shuffle, 200, suits few tables.
        parts = max(1, self._try(frame.selectExpr("spark_partition_id() AS part").distinct().count))
        by_person = frame.mapInArrow(identify, schema).repartition(parts, _quoted(unit))
        # The partition of a person's rows is a function of the person; `_pack` refuses rows in any
        # other.
        placed = by_person.selectExpr("*", f"pmod(hash({_quoted(unit)}), {parts}) AS {_quoted(_place(unit))}")
        return placed.sortWithinPartitions([_quoted(unit), *order])

    def _ask(self, question: bytes, group: int | None) -> list[bytes]:
        """The answers of all blocks, or of those of a group."""
        self.questions += 1
        self._session.addTag(self._tag)
        try:
            blocks = self._blocks() if group is None else self._blocks().where(f"group = {group}")
            answers = blocks.select("block").mapInArrow(partial(_answer, question=question), "answer binary")
            return [bytes(row[0]) for row in self._try(answers.collect)]
        finally:
            self._session.removeTag(self._tag)

    def _cancel(self) -> None:
        self._session.interruptTag(self._tag)

    def _blocks(self) -> pyspark.sql.DataFrame:
        """The packed rows: computed by the first query, and fixed from then on."""
        if self._packed is None:
            assert self._pack is not None
            packed = self._frame.mapInArrow(self._pack, _PACKED)
            if self._folder is None:
                from pyspark import StorageLevel

                self._packed = packed.persist(StorageLevel.MEMORY_AND_DISK)
            else:
                folder = f"{self._folder.rstrip('/')}/{self._tag}"
                self._try(partial(packed.write.parquet, folder))
                self._packed = self._session.read.schema(_PACKED).parquet(folder)
        return self._packed

    def _forget(self) -> None:
        if self._packed is not None and self._folder is None:
            self._packed.unpersist()

    def _try(self, work: Callable[[], _T]) -> _T:
        """Keeps only this package's sentences of a failure: Spark's own messages may hold cells."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001
            self._failure = _sentence(str(error))
        raise DataError(self._failure or "the query on the cluster failed: its log gives the reason")

    def _warn_of_the_clear(self) -> None:
        conf = self._session.conf
        if conf.get("spark.master", "local").startswith("local"):
            return
        off = [name for name in _ENCRYPTION if conf.get(name, "false") != "true"]
        if off:
            warn(_IN_THE_CLEAR.format(" and ".join(off)), PrivacyWarning)


def _place(unit: str) -> str:
    return f"{unit}-place"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _sortable(frame: pyspark.sql.DataFrame) -> list[str]:
    """The columns that can be in a model: numbers, texts, booleans and dates, all of which have an
    order."""
    from pyspark.sql.types import AtomicType

    return [field.name for field in frame.schema.fields if isinstance(field.dataType, AtomicType)]


def _sentence(text: str) -> str | None:
    """This package's own message in the error of a failed worker."""
    if "No module named 'dplm" in text or "No module named 'pyarrow" in text:
        return _NO_WHEEL
    own = _OWN.search(text)
    is_own = own is not None and issubclass(getattr(_errors, own[1], object), DplmError)
    return own[2] if own is not None and is_own else None


def _identify(
    batches: Iterator[pyarrow.RecordBatch], *, person: str, strict: bool, key: bytes, unit: str
) -> Iterator[pyarrow.RecordBatch]:
    """The same rows with their persons' hashes, without rows that have no person; runs on an
    executor."""
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows == 0:
            continue
        table = pa.Table.from_batches([batch.select([person])])
        hashes = _native.identified(_native.Table.from_arrow(table), person, strict, key)
        fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(_HASH), batch.num_rows, [None, pa.py_buffer(hashes)])
        persons = fixed.cast(pa.binary())
        has_person = pa.compute.not_equal(persons, pa.scalar(bytes(_HASH), pa.binary()))
        yield batch.append_column(pa.field(unit, pa.binary(), nullable=False), persons).filter(has_person)


def _pack(
    batches: Iterator[pyarrow.RecordBatch], *, said: Mapping[str, Any], unit: str | None
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a partition as packed blocks; runs on an executor."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    packer = _native.Packer(said, context.partitionId())
    for table in _tables(batches):
        persons = None
        if unit is not None:
            # All rows of a person are in one partition, so each person is in one block, or is
            # refused.
            if not set(table.column(_place(unit)).unique().to_pylist()) <= {context.partitionId()}:
                raise DataError(_APART)
            persons = b"".join(table.column(unit).to_pylist())
            table = table.drop_columns([unit, _place(unit)])
        yield from _blocks_of(packer.add(_native.Table.from_arrow(table), persons))
    yield from _blocks_of(packer.finish())


def _blocks_of(packed: list[tuple[int | None, bytes]]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow as pa

    for group, block in packed:
        columns = [pa.array([group], pa.int32()), pa.array([block], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["group", "block"])


def _tables(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.Table]:
    """The same rows in tables of the size of a block."""
    import pyarrow as pa

    waiting: list[pyarrow.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        while rows >= _ROWS:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, _ROWS)
            waiting = table.slice(_ROWS).to_batches()
            rows -= _ROWS
    if rows > 0:
        yield pa.Table.from_batches(waiting)


def _answer(batches: Iterator[pyarrow.RecordBatch], *, question: bytes) -> Iterator[pyarrow.RecordBatch]:
    """The joint answer of a partition's blocks; runs on an executor."""
    import pyarrow as pa

    answering = _native.Answering(question)
    for batch in batches:
        for block in batch.column(0):
            answering.add(block.as_py())
    yield pa.RecordBatch.from_arrays([pa.array([answering.finish()], pa.binary())], names=["answer"])
