"""Seconds for the same regression on Spark and beside it, as `python/bench-spark` measures them.

    python python/spark_bench.py ROWS FOLDER [PART...]

Makes a table of twenty independent columns once, as Parquet in FOLDER, keeps it in the memory of a
cluster of two executors on this machine, and fits it in several ways, the parts: `spark`
(`dplm.spark.lm`), `persons` (the same by person, three rows each on average), `dpgd` (200 steps of
the paper's method there, at its clip), `process` (`dplm.lm` on the files in one process), `mllib`
(Spark's own linear regression), and `steps` (gradient steps as they are usually written in
PySpark). What was measured is in FOLDER/record.json at once, and a part that is there is not
measured again; FOLDER/record.md has all of it as a table.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyspark
from pyspark import StorageLevel
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import dplm.spark

COLUMNS = 20
# Partitions of a million rows at most, and at least two a core.
PARTITION = 1_000_000
EXECUTORS = 2
# GiB of each executor, and of the driver: with the rows of one process beside them, within 24.
MEMORY = 5
DRIVER = 2
RHO = 0.1
# The paper's clip, 5 sqrt(p).
DPGD = {"rho": 0.015, "method": "dpgd", "steps": 200, "clip": 5 * COLUMNS**0.5, "standardised": True}


def session() -> SparkSession:
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,{1024 * MEMORY}]").appName("dplm bench")
    settings = {
        "spark.ui.enabled": "false",
        "spark.executor.memory": f"{MEMORY}g",
        "spark.driver.memory": f"{DRIVER}g",
        "spark.driver.maxResultSize": "1g",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def rows_on_disk(spark: SparkSession, rows: int, folder: Path) -> str:
    path = folder / f"{rows}x{COLUMNS}"
    if not (path / "_SUCCESS").exists():
        partitions = max(2 * EXECUTORS, -(-rows // PARTITION))
        frame = spark.range(0, rows, 1, partitions)
        names = [f"x{j}" for j in range(COLUMNS)]
        frame = frame.select(*(F.randn(seed=j).alias(name) for j, name in enumerate(names)), F.randn(seed=COLUMNS).alias("error"))
        mean = sum((F.col(name) for name in names), F.lit(0.5)) / COLUMNS**0.5
        frame.select(*names, (mean + F.col("error")).alias("y")).write.mode("overwrite").parquet(str(path))
    return str(path)


FORMULA = "y[-10..10] ~ " + " + ".join(f"x{j}[-6..6]" for j in range(COLUMNS))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Bench:
    """One table, in the memory of the cluster once a part needs it there."""

    def __init__(self, spark: SparkSession, path: str, rows: int) -> None:
        self.spark, self.path, self.rows = spark, path, rows
        self._frame: DataFrame | None = None
        self.caching: float | None = None

    def frame(self) -> DataFrame:
        if self._frame is None:
            frame = self.spark.read.parquet(self.path).persist(StorageLevel.MEMORY_AND_DISK)
            self.caching = seconds(frame.count)
            self._frame = frame
        return self._frame

    def on_spark(self, formula: str, frame: DataFrame, **options: Any) -> dict[str, Any]:
        asked: list[tuple[float, int]] = []
        whole = dplm.spark._Spark._ask

        def timed(rows: Any, question: bytes, group: int | None) -> list[bytes]:
            start = time.perf_counter()
            answers = whole(rows, question, group)
            asked.append((time.perf_counter() - start, sum(map(len, answers))))
            return answers

        dplm.spark._Spark._ask = timed  # type: ignore[method-assign]
        start = time.perf_counter()
        fit = dplm.spark.lm(formula, frame, seed=1, **options)
        taken = time.perf_counter() - start
        dplm.spark._Spark._ask = whole  # type: ignore[method-assign]
        later = sorted(spent for spent, _ in asked[1:])
        return {
            "seconds": taken,
            "questions": len(asked),
            "packing": asked[0][0],
            "question": later[len(later) // 2],
            "bytes to the driver": sum(sent for _, sent in asked),
            "bits": bits(fit._native.json()),
        }

    def part_spark(self) -> dict[str, Any]:
        return self.on_spark(FORMULA, self.frame(), rho=RHO)

    def part_persons(self) -> dict[str, Any]:
        person = F.expr(f"pmod(xxhash64(x0, y), {self.rows // 3})")
        return self.on_spark(FORMULA, self.frame().withColumn("person", person), rho=RHO, person="person", rows_per_person=12)

    def part_dpgd(self) -> dict[str, Any]:
        return self.on_spark("y ~ .", self.frame(), **DPGD)

    def part_process(self) -> dict[str, Any]:
        """Reading included: the table is nowhere else."""
        code = (
            "import dplm, hashlib, sys\n"
            f"fit = dplm.lm({FORMULA!r}, {self.path!r} + '/*.parquet', rho={RHO}, seed=1)\n"
            "print(hashlib.sha256(fit._native.json().encode()).hexdigest()[:16])"
        )
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
        return {"seconds": time.perf_counter() - start, "bits": done.stdout.strip()}

    def part_mllib(self) -> dict[str, Any]:
        assembler = VectorAssembler(inputCols=[f"x{j}" for j in range(COLUMNS)], outputCol="features")
        frame, regression = self.frame(), LinearRegression(labelCol="y", solver="normal")
        return {"seconds": seconds(lambda: regression.fit(assembler.transform(frame)))}

    def part_steps(self) -> dict[str, Any]:
        """Plain gradient descent, with a sum of gradients for each step.

        Rows are NumPy arrays in the executors' memory. A few steps are timed, to state the time of
        a hundred.
        """
        steps = 10 if self.rows <= 5_000_000 else 3

        def arrays(rows: Iterator[Any]) -> Iterator[np.ndarray]:
            parts = [np.asarray(row, dtype=np.float64) for row in rows]
            if parts:
                yield np.stack(parts)

        blocks = self.frame().rdd.mapPartitions(arrays).persist(StorageLevel.MEMORY_AND_DISK)
        start = time.perf_counter()
        count = blocks.map(len).sum()
        converting = time.perf_counter() - start
        theta = np.zeros(COLUMNS + 1)

        def step() -> None:
            nonlocal theta

            def gradient(part: np.ndarray, theta: np.ndarray = theta) -> np.ndarray:
                x = np.hstack([part[:, :COLUMNS], np.ones((len(part), 1))])
                return x.T @ (x @ theta - part[:, COLUMNS])

            theta = theta - 0.5 * blocks.map(gradient).treeReduce(np.add) / count

        taken = seconds(lambda: [step() for _ in range(steps)])
        blocks.unpersist()
        return {"seconds": taken * 100 / steps, "steps timed": steps, "converting": converting}


PARTS = ("spark", "persons", "dpgd", "process", "mllib", "steps")
WORDS = {
    "spark": "`dplm.spark.lm`, auto",
    "persons": "`dplm.spark.lm`, auto, by person, three rows each on average",
    "dpgd": "`dplm.spark.lm`, 200 steps of `dpgd` at the paper's clip",
    "process": "the same fit (auto) by `dplm.lm` in one process, reading the files included",
    "mllib": "Spark MLlib's `LinearRegression`, not private",
    "steps": "100 gradient steps in PySpark, not private",
}


def machine() -> dict[str, Any]:
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory GiB": round(memory, 1),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "dplm": dplm.__version__,
        "executors": f"{EXECUTORS} of one core and {MEMORY} GiB",
    }


def in_words(part: str, found: dict[str, Any]) -> str:
    notes = []
    if "questions" in found:
        notes.append(
            f"{found['questions']} questions: the first, which packs, {found['packing']:.1f} s, a later one {found['question']:.2f} s; "
            f"{found['bytes to the driver'] / 1e6:.1f} MB to the driver"
        )
    if "converting" in found:
        notes.append(f"{found['steps timed']} timed; making the arrays took {found['converting']:.1f} s and is not counted")
    return f"| {WORDS[part]} | {found['seconds']:.1f} | {'; '.join(notes)} |"


def table(record: dict[str, Any]) -> str:
    lines = []
    for rows, parts in record["tables"].items():
        machine = ", ".join(f"{name} {value}" for name, value in parts["machine"].items())
        lines += [f"{int(rows):,} rows x {COLUMNS} columns; {parts['when']}; {machine}.", ""]
        if "caching" in parts:
            lines += [f"Reading the files into the cluster's memory: {parts['caching']:.1f} s.", ""]
        lines += ["| way | seconds | |", "|---|---|---|"]
        lines += [in_words(part, parts[part]) for part in PARTS if part in parts]
        if "spark" in parts and "process" in parts:
            same = parts["spark"]["bits"] == parts["process"]["bits"]
            lines += ["", f"The fits of Spark and of one process have {'the same bits' if same else 'OTHER BITS'}."]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    rows, folder, asked = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or list(PARTS)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "record.json"
    record = json.loads(file.read_text()) if file.exists() else {"tables": {}}
    parts = record["tables"].setdefault(str(rows), {})
    spark = session()
    bench = Bench(spark, rows_on_disk(spark, rows, folder), rows)
    for part in asked:
        if part in parts:
            print(f"{rows} rows, {part}: measured before, in {file}", flush=True)
            continue
        found = getattr(bench, f"part_{part}")()
        parts |= {part: found, "machine": machine(), "when": datetime.now(timezone.utc).strftime("%Y-%m-%d")}
        if bench.caching is not None:
            parts.setdefault("caching", bench.caching)
        file.write_text(json.dumps(record, indent=1) + "\n")
        (folder / "record.md").write_text(table(record))
        print(f"{rows} rows, {part}: {json.dumps(found)}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
