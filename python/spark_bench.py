"""Seconds for the same regression on Spark and beside it, as `./bench spark` measures them.

    python python/spark_bench.py ROWS FOLDER [COLUMNS]

Makes a table of independent columns once, as Parquet in FOLDER, keeps it in the memory of a cluster of two executors on this machine, and prints one line for
each way to fit it: `dplm.spark.lm`, `dplm.lm` on the files in one process, MLlib's linear regression, and gradient steps as they are usually written in PySpark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import dplm.spark

# Partitions of a million rows at most, and at least two a core.
PARTITION = 1_000_000
EXECUTORS = 2
MEMORY = 6
# Steps that are timed; the figure is for a hundred.
STEPS = 10
RHO = 0.1


def session() -> SparkSession:
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,{1024 * MEMORY}]").appName("dplm bench")
    settings = {
        "spark.ui.enabled": "false",
        "spark.executor.memory": f"{MEMORY}g",
        "spark.driver.memory": "2g",
        "spark.driver.maxResultSize": "2g",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def rows_on_disk(spark: SparkSession, rows: int, columns: int, folder: Path) -> str:
    path = folder / f"{rows}x{columns}"
    if not (path / "_SUCCESS").exists():
        partitions = max(2 * EXECUTORS, -(-rows // PARTITION))
        frame = spark.range(0, rows, 1, partitions)
        names = [f"x{j}" for j in range(columns)]
        frame = frame.select(*(F.randn(seed=j).alias(name) for j, name in enumerate(names)), F.randn(seed=columns).alias("error"))
        mean = sum((F.col(name) for name in names), F.lit(0.5)) / columns**0.5
        frame.select(*names, (mean + F.col("error")).alias("y")).write.mode("overwrite").parquet(str(path))
    return str(path)


def formula(columns: int) -> str:
    return "y[-10..10] ~ " + " + ".join(f"x{j}[-6..6]" for j in range(columns))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_one_process(path: str, columns: int) -> float:
    """Reading included: the table is nowhere else."""
    code = f"import dplm; dplm.lm({formula(columns)!r}, {path!r} + '/*.parquet', rho={RHO}, seed=1)"
    return seconds(lambda: subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True))


def mllib(frame: DataFrame, columns: int) -> float:
    assembler = VectorAssembler(inputCols=[f"x{j}" for j in range(columns)], outputCol="features")
    regression = LinearRegression(labelCol="y", solver="normal")
    return seconds(lambda: regression.fit(assembler.transform(frame)))


def gradient_steps(frame: DataFrame, columns: int) -> float:
    """A hundred steps of plain gradient descent: rows as NumPy arrays in the executors' memory, a sum of gradients for each step."""

    def arrays(batches: object) -> object:
        parts = [np.asarray(row, dtype=np.float64) for row in batches]  # type: ignore[attr-defined]
        if parts:
            yield np.stack(parts)

    rows = frame.rdd.mapPartitions(arrays).cache()
    count = rows.map(len).sum()
    theta = np.zeros(columns + 1)

    def step() -> None:
        nonlocal theta

        def gradient(part: np.ndarray, theta: np.ndarray = theta) -> np.ndarray:
            x = np.hstack([part[:, :columns], np.ones((len(part), 1))])
            return x.T @ (x @ theta - part[:, columns])

        theta = theta - 0.5 * rows.map(gradient).treeReduce(np.add) / count

    taken = seconds(lambda: [step() for _ in range(STEPS)])
    rows.unpersist()
    return taken * 100 / STEPS


def main() -> None:
    rows, folder, columns = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 20
    spark = session()
    path = rows_on_disk(spark, rows, columns, folder)
    frame = spark.read.parquet(path).cache()
    print(f"{rows} rows x {columns} columns, {frame.rdd.getNumPartitions()} partitions, {EXECUTORS} executors of one core", flush=True)
    print(f"reading into the cluster's memory: {seconds(frame.count):.1f} s", flush=True)
    fit = seconds(lambda: dplm.spark.lm(formula(columns), frame, rho=RHO, seed=1, progress=True))
    print(f"dplm.spark.lm, auto: {fit:.1f} s", flush=True)
    for what, taken in {
        "dplm.lm in one process, reading included": lambda: in_one_process(path, columns),
        "MLlib LinearRegression": lambda: mllib(frame, columns),
        f"100 gradient steps in PySpark ({STEPS} timed)": lambda: gradient_steps(frame, columns),
    }.items():
        found = taken()
        print(f"{what}: {found:.1f} s, dplm.spark.lm {fit / found:.2f} of it", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
