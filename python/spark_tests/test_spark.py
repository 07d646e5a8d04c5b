"""Rows on a Spark cluster of two executors.

Whatever goes wrong, the bits are those of one machine, or the fit is refused.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import dplm
import dplm.spark
from dplm import _native

FORMULA = "wage[0..60] ~ educ[8..20] + exper[0..45] + union{no,yes}"
ROWS = 20_000


@pytest.fixture(scope="module")
def wages() -> pa.Table:
    rng = random.Random(7)
    columns: dict[str, list] = {"wage": [], "educ": [], "exper": [], "union": []}
    for row in range(ROWS):
        educ, exper, union = rng.randrange(8, 21), rng.uniform(0, 45), rng.random() < 0.3
        columns["wage"].append(4 + 1.1 * educ + 0.15 * exper + 2.5 * union + rng.gauss(0, 4))
        columns["educ"].append(educ)
        columns["exper"].append(None if row % 97 == 0 else exper)
        columns["union"].append("yes" if union else "no")
    return pa.table(columns)


@pytest.fixture(scope="module")
def isotropic() -> pa.Table:
    return pa.table(dplm.simulate(rows=ROWS, features=10, seed=1))


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("dplm")
    settings = {
        "spark.ui.enabled": "false",
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.1",
        "spark.executor.memory": "512m",
        # The wheel is where this Python is.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame(spark: SparkSession, table: pa.Table, partitions: int) -> DataFrame:
    return spark.createDataFrame(table).repartition(partitions)


def facts(fit: dplm.Fit | dplm.GroupedFit) -> str:
    return fit._native.json()


OPTIONS = {
    "auto": {"rho": 0.5},
    "adassp": {"rho": 0.5, "method": "adassp", "purpose": "prediction"},
    # The paper's clip, 5 sqrt(p).
    "dpgd": {"rho": 0.015, "method": "dpgd", "steps": 200, "clip": 15.8},
}


@pytest.mark.parametrize(("method", "partitions", "most"), [("auto", 5, 40), ("adassp", 1, 4), ("adassp", 5, 4), ("dpgd", 2, 15)])
def test_bits_and_questions(
    spark: SparkSession,
    wages: pa.Table,
    isotropic: pa.Table,
    capsys: pytest.CaptureFixture[str],
    method: str,
    partitions: int,
    most: int,
) -> None:
    data, formula = (isotropic, "y ~ .") if method == "dpgd" else (wages, FORMULA)
    here = dplm.lm(formula, data, seed=3, **OPTIONS[method])
    there = dplm.spark.lm(formula, frame(spark, data, partitions), seed=3, progress=True, **OPTIONS[method])
    assert facts(there) == facts(here)
    assert questions(capsys) <= most


def questions(capsys: pytest.CaptureFixture[str]) -> int:
    told = capsys.readouterr().err
    return int(told.split(" queries to the cluster")[0].split()[-1])


@pytest.fixture(scope="module")
def visits(wages: pa.Table) -> pa.Table:
    """Rows of persons, in the order in which Spark has them.

    Persons have up to nine rows each, some in several regions; some rows belong to nobody.
    """
    rng = random.Random(11)
    persons = [rng.randrange(4000) for _ in range(ROWS)]
    columns = wages.append_column("person", pa.array([f"p{p}" if rng.random() < 0.99 else None for p in persons]))
    regions = [["north", "south", "east", "nowhere", None][p % 5 if rng.random() < 0.9 else 0] for p in persons]
    columns = columns.append_column("region", pa.array(regions))
    columns = columns.append_column("weight", pa.array([rng.uniform(-0.1, 5) for _ in range(ROWS)]))
    return columns.sort_by([(name, "ascending") for name in columns.column_names]).combine_chunks()


BY = "region{north,south,east,west}"
ADASSP = {"method": "adassp", "purpose": "prediction"}
UNITS = {
    "persons": {"person": "person", "rows_per_person": 12},
    "persons, few rows of each": {"person": "person", "rows_per_person": 3, **ADASSP},
    "groups": {"by": BY},
    "groups of public sizes": {"by": BY, "group_sizes": {"north": 4000, "south": 4000, "east": 4000, "west": 1}, **ADASSP},
    "groups of persons": {"by": BY, "person": "person", "rows_per_person": 3, **ADASSP},
    "weights": {"weights": "weight[0..5]"},
    "weighted groups of persons": {"weights": "weight[0..5]", "by": "region{south,*}", "person": "person", **ADASSP},
}


def nulls_first(table: pa.Table, columns: list[str]) -> pa.Table:
    """In Spark's order of the columns that are read."""
    import pyarrow.compute as pc

    read = [name for name in table.column_names if name in columns]
    order = pc.sort_indices(table, [(name, "ascending") for name in read], null_placement="at_start")
    return table.take(order)


@pytest.mark.parametrize("units", UNITS)
def test_persons_groups_and_weights(
    spark: SparkSession, visits: pa.Table, capsys: pytest.CaptureFixture[str], units: str
) -> None:
    options = {"rho": 2.0, "seed": 3, **UNITS[units]}
    read = [*wages_columns(), "person", "region" * ("by" in options), "weight" * ("weights" in options)]
    here = dplm.lm(FORMULA, nulls_first(visits, read), **options)
    there = dplm.spark.lm(FORMULA, frame(spark, visits, 3), progress=True, **options)
    assert facts(there) == facts(here)
    # Each of four groups asks as a table of its own.
    assert questions(capsys) <= (160 if "by" in options else 40)


def wages_columns() -> list[str]:
    return ["wage", "educ", "exper", "union"]


def test_persons_by_the_papers_method(
    spark: SparkSession, isotropic: pa.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    persons = pa.array([str(row % 7000) for row in range(ROWS)])
    table = isotropic.append_column("person", persons)
    options = {"rho": 0.5, "method": "dpgd", "steps": 200, "clip": 15.8, "seed": 3, "person": "person"}
    there = dplm.spark.lm("y ~ .", frame(spark, table, 3), progress=True, **options)
    assert questions(capsys) <= 15
    assert facts(there) == facts(dplm.lm("y ~ .", table, **options))


def test_a_person_in_several_partitions(
    spark: SparkSession, wages: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If rows were not brought together, a person would count once in each partition."""
    rows = frame(spark, wages.append_column("person", pa.array([row % 7000 for row in range(ROWS)])), 3)
    by = type(rows).repartition
    monkeypatch.setattr(type(rows), "repartition", lambda rows, parts, *_: by(rows, parts))
    with pytest.raises(dplm.DataError, match="rows of a person are not together"):
        dplm.spark.lm(FORMULA, rows, rho=0.5, seed=3, person="person")


def test_one_person_in_several_spellings(spark: SparkSession, wages: pa.Table) -> None:
    """A person counts once, whatever partition and spelling their rows are in."""
    persons = pa.array([["7", "7.0", " 7 ", "7e0"][row % 4] if row < 400 else f"p{row}" for row in range(ROWS)])
    table = wages.append_column("person", persons)
    options = {"rho": 0.5, "seed": 3, "person": "person", "method": "adassp", "purpose": "prediction"}
    there = dplm.spark.lm(FORMULA, frame(spark, table, 5), **options)
    assert facts(there) == facts(dplm.lm(FORMULA, table, **options))


def test_packed_in_a_folder(spark: SparkSession, wages: pa.Table, tmp_path: Path) -> None:
    here = dplm.lm(FORMULA, wages, seed=3, **OPTIONS["adassp"])
    there = dplm.spark.lm(FORMULA, frame(spark, wages, 3), seed=3, pack=str(tmp_path / "packed"), **OPTIONS["adassp"])
    assert facts(there) == facts(here)
    assert list((tmp_path / "packed").glob("dplm-*/*.parquet"))


def executors(spark: SparkSession) -> list[int]:
    """The processes of the executors: in this mode, children of Spark's own."""
    parent = spark.sparkContext._gateway.proc.pid
    listed = subprocess.run(["pgrep", "-P", str(parent), "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


class Disturbed(dplm.spark._Spark):
    """Does something at one of the questions."""

    at = 0

    def disturb(self) -> None:
        raise NotImplementedError

    def _ask(self, question: bytes, group: int | None) -> list[bytes]:
        if self.questions == self.at:
            self.disturb()
        return super()._ask(question, group)


@pytest.fixture(scope="module")
def expected(wages: pa.Table) -> str:
    return facts(dplm.lm(FORMULA, wages, rho=0.5, seed=3))


def test_an_executor_that_is_killed(
    spark: SparkSession, wages: pa.Table, monkeypatch: pytest.MonkeyPatch, expected: str, kill: int
) -> None:
    """Kills a worker each time at another question, packing among them, and another moment.

    `--kills 20` does it twenty times.
    """

    class Killed(Disturbed):
        at = (3 + 7 * kill) % 16

        def disturb(self) -> None:
            threading.Timer(0.05 + 0.03 * (kill % 10), os.kill, (executors(spark)[0], signal.SIGKILL)).start()

    monkeypatch.setattr(dplm.spark, "_Spark", Killed)
    before = wait_for_executors(spark)
    there = dplm.spark.lm(FORMULA, frame(spark, wages, 4), rho=0.5, seed=3)
    assert facts(there) == expected
    assert before[0] not in executors(spark)


def wait_for_executors(spark: SparkSession) -> list[int]:
    """Both executors, once the one that was killed last has a successor."""
    deadline = time.monotonic() + 60
    while len(executors(spark)) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    found = executors(spark)
    assert len(found) == 2
    return found


def test_data_that_change_between_questions(
    spark: SparkSession, wages: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drifting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows that are others each time they are computed."""
        for batch in batches:
            exper = pa.array([time.time() % 45] * batch.num_rows, pa.float64())
            yield batch.set_column(batch.schema.get_field_index("exper"), "exper", exper)

    class Unpinned(Disturbed):
        at = 3

        def disturb(self) -> None:
            self._blocks().unpersist(blocking=True)

    monkeypatch.setattr(dplm.spark, "_Spark", Unpinned)
    changing = frame(spark, wages, 3)
    changing = changing.mapInArrow(drifting, changing.schema)
    with pytest.raises(dplm.FitError, match="block 0 of part [0-2] of the packed rows is not what it was"):
        dplm.spark.lm(FORMULA, changing, rho=0.5, seed=3)


def test_ctrl_c(spark: SparkSession, wages: pa.Table) -> None:
    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(60)
        yield from batches

    waiting = frame(spark, wages, 2)
    waiting = waiting.mapInArrow(slow, waiting.schema)
    threading.Timer(3, signal.raise_signal, (signal.SIGINT,)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        dplm.spark.lm(FORMULA, waiting, rho=0.5, seed=3)
    assert time.monotonic() - started < 30
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


def test_refusals(spark: SparkSession, wages: pa.Table) -> None:
    rows = frame(spark, wages, 2)
    with pytest.raises(dplm.DataError, match="column 'exper' has a missing"):
        dplm.spark.lm(FORMULA, rows, rho=0.5, seed=3, strict=True)
    with pytest.raises(dplm.DataError, match="age"):
        dplm.spark.lm("wage[0..60] ~ age[0..90]", rows, rho=0.5)
    with pytest.raises(dplm.DataError, match="no column 'who'"):
        dplm.spark.lm(FORMULA, rows, rho=0.5, person="who")
    with pytest.raises(dplm.RequestError, match="rows of a person must be between"):
        dplm.spark.lm("wage[0..60] ~ exper[0..45]", rows, rho=0.5, person="educ", rows_per_person=1 << 15)
    with pytest.raises(dplm.RequestError, match="the same for all rows of a group"):
        dplm.spark.lm("wage[0..60] ~ educ[8..20] + union{no,yes}", rows, rho=0.5, by="union{no,yes}")
    with pytest.raises(dplm.RequestError, match="leave device out"):
        dplm.spark.lm(FORMULA, rows, rho=0.5, device="cuda")
    with pytest.raises(dplm.RequestError, match="PySpark 4"):
        dplm.spark.lm(FORMULA, wages, rho=0.5)  # type: ignore[arg-type]
    with pytest.raises(dplm.DataError, match="no rows"):
        dplm.spark.lm(FORMULA, rows.limit(0), rho=0.5)


def test_words_of_workers() -> None:
    told = "Traceback\n  cell 987654\ndplm._errors.DataError: column 'x' has a missing cell\n\tat org.apache.spark 987654"
    assert dplm.spark._sentence(told) == "column 'x' has a missing cell"
    assert "on the executors" in str(dplm.spark._sentence("ModuleNotFoundError: No module named 'dplm'"))
    assert dplm.spark._sentence("cannot cast 987654") is None


def test_answers_of_other_versions() -> None:
    with pytest.raises(dplm.DataError, match="a question to packed rows"):
        _native.Answering(b"not a question")


CONNECT = f"""
import sys, pyarrow.parquet as pq, dplm, dplm.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[2]").getOrCreate()
table = pq.read_table(sys.argv[1])
base = dict(rho=0.5, seed=3, method="adassp", purpose="prediction")
for more in (dict(), dict(person="person"), dict(by="union{{no,yes}}")):
    options, formula = dict(base, **more), "wage[0..60] ~ educ[8..20] + exper[0..45]"
    there = dplm.spark.lm(formula, spark.createDataFrame(table).repartition(3), **options)
    here = dplm.lm(formula, table, **options)
    assert there._native.json() == here._native.json(), more
print("equal")
spark.stop()
"""


CTRL_C = f"""
import signal, sys, threading, time, pyarrow.parquet as pq, dplm.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[2]").getOrCreate()
rows = spark.createDataFrame(pq.read_table(sys.argv[1])).repartition(2)
def slow(batches):
    time.sleep(60)
    yield from batches
threading.Timer(5, signal.raise_signal, (signal.SIGINT,)).start()
started = time.monotonic()
try:
    dplm.spark.lm("{FORMULA}", rows.mapInArrow(slow, rows.schema), rho=0.5, seed=3)
except KeyboardInterrupt:
    print("interrupted", "early" if time.monotonic() - started < 50 else "late")
spark.stop()
"""


def test_ctrl_c_on_connect(wages: pa.Table, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(wages, tmp_path / "wages.parquet")
    done = subprocess.run([sys.executable, "-c", CTRL_C, str(tmp_path / "wages.parquet")], capture_output=True, text=True)
    assert done.stdout.strip().endswith("interrupted early"), done.stderr


WITHOUT_WHEEL = """
import os, sys, dplm, dplm.spark
spark = dplm.spark.session("local-cluster[1,1,1024]", settings={
    "spark.ui.enabled": "false", "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": os.pathsep.join([sys.argv[1], *sys.path])})
spark.sparkContext.setLogLevel("OFF")
try:
    dplm.spark.lm("y[0..9] ~ x[0..9]", spark.createDataFrame([(1.0, 2.0)], "y double, x double"),
    rho=0.5)
except dplm.DataError as error:
    print(error)
spark.stop()
"""


def test_executors_without_the_wheel(tmp_path: Path) -> None:
    """As where it is not installed: the import fails with the words of Python for that."""
    (tmp_path / "dplm").mkdir()
    (tmp_path / "dplm" / "__init__.py").write_text("""raise ModuleNotFoundError("No module named 'dplm'", name="dplm")""")
    done = subprocess.run([sys.executable, "-c", WITHOUT_WHEEL, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.strip() == dplm.spark._NO_WHEEL, done.stdout + done.stderr


def test_without_java_or_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        patch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(dplm.RequestError, match="Java 17"):
            dplm.spark.session()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark.sql", None)
        with pytest.raises(dplm.RequestError, match="pip install"):
            dplm.spark.session()


class Settings(dict):
    """Of a session that is not there."""

    @property
    def conf(self) -> Settings:
        return self

    sparkSession = conf


@pytest.mark.parametrize(
    ("master", "is_on", "is_told"),
    [("spark://h:7077", "false", True), ("yarn", "false", True), ("yarn", "true", False), ("local[2]", "false", False)],
)
def test_rows_in_the_clear_on_a_real_cluster(master: str, is_on: str, is_told: bool) -> None:
    crypto = "spark.network.crypto.enabled"
    settings = Settings({"spark.master": master, "spark.io.encryption.enabled": "true", crypto: is_on})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dplm.spark._Spark(settings, None)._warn_of_the_clear()  # type: ignore[arg-type]
    assert [issubclass(one.category, dplm.PrivacyWarning) and f"set {crypto} to true" in str(one.message) for one in told] == [True] * is_told


def test_a_stage_that_is_retried(spark: SparkSession, wages: pa.Table, tmp_path: Path, expected: str) -> None:
    """Each task of the packing fails once, in the middle of its work."""

    def failing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        mark = tmp_path / f"{context.partitionId()}"
        if not mark.exists():
            mark.touch()
            yield next(batches)
            raise OSError("once")
        yield from batches

    rows = frame(spark, wages, 3)
    there = dplm.spark.lm(FORMULA, rows.mapInArrow(failing, rows.schema), rho=0.5, seed=3)
    assert facts(there) == expected
    assert len(list(tmp_path.iterdir())) == 3


def test_connect(wages: pa.Table, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    persons = pa.array([row % 3000 for row in range(ROWS)])
    pq.write_table(wages.append_column("person", persons), tmp_path / "wages.parquet")
    done = subprocess.run([sys.executable, "-c", CONNECT, str(tmp_path / "wages.parquet")], capture_output=True, text=True)
    assert done.stdout.strip().endswith("equal"), done.stderr
