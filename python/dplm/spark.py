"""The same fit on Spark: the rows stay on the cluster, and the result has the bits of `dplm.lm` on the same rows.

Needs PySpark 4 on the driver, Java for it where Spark runs in this process, and dplm and pyarrow where the rows are: on every executor.
docs/cluster.md says how to set that up, what travels where, and what it costs.
"""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from dplm import _errors, _native
from dplm._errors import DataError, DplmError, FitError, PrivacyWarning, RequestError, warn
from dplm._fit import Fit
from dplm._ledger import AccountName
from dplm._lm import LmOptions, RowsElsewhere
from dplm._lm import lm as _lm

if TYPE_CHECKING:
    import pyarrow
    import pyspark.sql

__all__ = ["lm"]

_T = TypeVar("_T")

# As many rows as a block holds.
_ROWS = 65_536
_NO_FRAME = (
    "the data must be a DataFrame of PySpark 4 or newer: pip install 'pyspark>=4', with Java 17 where Spark runs in this process, "
    "or use dplm.lm for a table on this machine"
)
_NO_WHEEL = (
    "dplm is not installed where the rows are: install it on every executor, as a library of the cluster, in its image, or by "
    "spark.archives; docs/cluster.md says how"
)
_NO_CLUSTER = "rows on a cluster are fitted all together: leave {} out, or use dplm.lm on one machine"
_IN_THE_CLEAR = (
    "rows and sums over rows travel between the machines of this cluster in the clear, and lie so on their disks: set {} to true"
)
_ENCRYPTION = ("spark.network.crypto.enabled", "spark.io.encryption.enabled")
# How an exception of this package ends the traceback of a worker.
_OWN = re.compile(r"dplm\._errors\.(\w+): ([^\n]+)")


def lm(
    formula: Any,
    df: pyspark.sql.DataFrame,
    *,
    pack: str | None = None,
    **options: Unpack[LmOptions],
) -> Fit:
    """Fits a linear regression privately to the rows of a Spark DataFrame.

    Parameters
    ----------
    formula
        The model, as for `dplm.lm`.
    df
        The rows. They are encoded and packed once, by the executors, and Spark keeps the packed blocks in memory and on local disks.
    pack
        A folder in which the packed blocks are kept instead, as Parquet, in a folder of their own: for rows that come in another order each time they are
        computed. They are rows of the data: delete them afterwards.
    options
        As for `dplm.lm`, but for `person` and `by`. With `progress=True`, how many questions the cluster was asked is printed at the end, which
        is for whoever may see the rows.

    Raises
    ------
    RequestError, DataError, LedgerError, FitError
        As `dplm.lm`. A block that is lost or is not what it was ends the fit: nothing is summed twice or left out.
    """
    rows = _Spark(_frame(df), pack)
    try:
        return _lm(formula, rows, **options)
    finally:
        if options.get("progress") is True:
            sys.stderr.write(f"{rows.questions} questions to the cluster (not private: how many depends on the rows)\n")


def _frame(df: Any) -> pyspark.sql.DataFrame:
    """The DataFrame, or a sentence on what is needed."""
    if all(hasattr(df, name) for name in ("mapInArrow", "toArrow", "sparkSession")):
        return df
    raise RequestError(_NO_FRAME)


class _Spark(RowsElsewhere):
    """Rows of a DataFrame, and the questions they are asked."""

    def __init__(self, frame: pyspark.sql.DataFrame, folder: str | None) -> None:
        self._frame, self._folder = frame, folder
        self._session = frame.sparkSession
        self._tag = f"dplm-{uuid.uuid4()}"
        self._packed: pyspark.sql.DataFrame | None = None
        self._pack: Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]] | None = None
        self._failure: str | None = None
        self.questions = 0

    def fit(
        self,
        model: str,
        is_file: bool,
        columns: list[str] | None,
        budget: Mapping[str, Any],
        options: Mapping[str, Any],
        account_name: AccountName | None,
        progress: Any,
    ) -> _native.Fit:
        for name in ("by", "person"):
            if options[name] is not None:
                raise RequestError(_NO_CLUSTER.format(name))
        self._warn_of_the_clear()
        frame = self._frame
        if columns is not None:
            frame = frame.select([_quoted(name) for name in frame.columns if name in columns])
        # A partition that is computed again may have its rows in another order, after a shuffle; sorted, they are the same blocks.
        self._frame = frame.sortWithinPartitions([_quoted(name) for name in _sortable(frame)])
        self._pack = partial(_pack, model=model, is_file=is_file, weights=options["weights"], strict=options["strict"])
        carrier = (self._ask, self._cancel)
        try:
            empty = self._try(frame.limit(0).toArrow)
            return _native.fit_on_cluster(carrier, empty, model, is_file, budget, options, account_name, progress)
        except (DataError, FitError) as error:
            if self._failure is None:
                raise
            refusal = type(error)(self._failure)
        finally:
            self._forget()
        raise refusal

    def _ask(self, question: bytes) -> list[bytes]:
        """What all blocks answer."""
        self.questions += 1
        self._session.addTag(self._tag)
        try:
            answers = self._blocks().mapInArrow(partial(_answer, question=question), "answer binary")
            return [bytes(row[0]) for row in self._try(answers.collect)]
        finally:
            self._session.removeTag(self._tag)

    def _cancel(self) -> None:
        self._session.interruptTag(self._tag)

    def _blocks(self) -> pyspark.sql.DataFrame:
        """The packed rows: fixed by the first question, which computes them."""
        if self._packed is None:
            assert self._pack is not None
            packed = self._frame.mapInArrow(self._pack, "block binary")
            if self._folder is None:
                from pyspark import StorageLevel

                self._packed = packed.persist(StorageLevel.MEMORY_AND_DISK)
            else:
                folder = f"{self._folder.rstrip('/')}/{self._tag}"
                self._try(partial(packed.write.parquet, folder))
                self._packed = self._session.read.schema("block binary").parquet(folder)
        return self._packed

    def _forget(self) -> None:
        if self._packed is not None and self._folder is None:
            self._packed.unpersist()

    def _try(self, work: Callable[[], _T]) -> _T:
        """Spark's own words may hold cells, so that only sentences of this package are kept of a failure."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001
            self._failure = _sentence(str(error))
        raise DataError(self._failure or "the cluster could not be asked: its log says why")

    def _warn_of_the_clear(self) -> None:
        conf = self._session.conf
        if conf.get("spark.master", "local").startswith("local"):
            return
        off = [name for name in _ENCRYPTION if conf.get(name, "false") != "true"]
        if off:
            warn(_IN_THE_CLEAR.format(" and ".join(off)), PrivacyWarning)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _sortable(frame: pyspark.sql.DataFrame) -> list[str]:
    """The columns that can be in a model: numbers, texts, truth values and dates, all of which have an order."""
    from pyspark.sql.types import AtomicType

    return [field.name for field in frame.schema.fields if isinstance(field.dataType, AtomicType)]


def _sentence(text: str) -> str | None:
    """What this package says in the words of a failed worker."""
    if "No module named 'dplm" in text or "No module named 'pyarrow" in text:
        return _NO_WHEEL
    own = _OWN.search(text)
    is_own = own is not None and issubclass(getattr(_errors, own[1], object), DplmError)
    return own[2] if own is not None and is_own else None


def _pack(
    batches: Iterator[pyarrow.RecordBatch], *, model: str, is_file: bool, weights: str | None, strict: bool
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a partition as packed blocks; runs on an executor."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    part, place = context.partitionId(), 0
    for table in _tables(batches):
        blocks = _native.packed(_native.Table.from_arrow(table), model, is_file, weights, strict, part, place)
        place += len(blocks)
        yield from (_cell(block, "block") for block in blocks)


def _tables(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.Table]:
    """The same rows in tables of as many as a block holds."""
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
    """What the blocks of a partition answer together; runs on an executor."""
    answering = _native.Answering(question)
    for batch in batches:
        for block in batch.column(0):
            answering.add(block.as_py())
    yield _cell(answering.finish(), "answer")


def _cell(value: bytes, name: str) -> pyarrow.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([value], pa.binary())], names=[name])
