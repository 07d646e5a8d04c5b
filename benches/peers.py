"""Times what dplm is compared with: numpy doing the same steps, scikit-learn fitting once, pyarrow reading the same file.

    peers.py steps ROWS P...        seconds of one step of clipped gradient descent in float64, and of LinearRegression
    peers.py read FILE              seconds to read the columns of a Parquet or CSV file and stack them
    peers.py fit FILE STEPS         seconds to read and to take the steps

Prints JSON. Processor time is of all threads together, so that other load on the machine hardly counts.
"""

import json
import sys
import time

import numpy as np


def timed(work, rounds):
    processor, wall = [], []
    for _ in range(rounds):
        p, w = time.process_time(), time.perf_counter()
        work()
        processor.append(time.process_time() - p)
        wall.append(time.perf_counter() - w)
    return {"processor": float(np.median(processor)), "wall": float(np.median(wall))}


class Descent:
    """The paper's Algorithm 1, clipped by the closed form, as one would write it in numpy."""

    def __init__(self, x, y, gamma):
        self.x, self.y = x, y
        self.bound = gamma / np.maximum(np.sqrt(np.einsum("ij,ij->i", x, x)), 1e-300)
        self.theta = np.zeros(x.shape[1])

    def step(self):
        residual = self.y - self.x @ self.theta
        np.clip(residual, -self.bound, self.bound, out=residual)
        self.theta += 0.25 * (residual @ self.x) / len(self.y)


def isotropic(rows, features):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, features))
    return x, x @ np.full(features, features**-0.5) + rng.standard_normal(rows)


def steps(rows, widths):
    from sklearn.linear_model import LinearRegression

    out = []
    for features in widths:
        x, y = isotropic(rows, features)
        descent = Descent(x, y, 5 * features**0.5)
        descent.step()
        out.append({
            "rows": rows,
            "p": features,
            "step": timed(descent.step, 7),
            "sklearn": timed(lambda: LinearRegression(fit_intercept=False).fit(x, y), 3),
        })
    return out


def table(path):
    if path.endswith(".parquet"):
        from pyarrow import parquet

        return parquet.read_table(path)
    from pyarrow import csv

    return csv.read_csv(path)


def stacked(path):
    columns = table(path)
    return np.column_stack([column.to_numpy() for column in columns.columns])


def fit(path, count):
    data = stacked(path)
    x, y = np.ascontiguousarray(data[:, 1:]), np.ascontiguousarray(data[:, 0])
    descent = Descent(x, y, 5 * x.shape[1] ** 0.5)
    for _ in range(count):
        descent.step()


def main(command, *words):
    if command == "steps":
        return steps(int(words[0]), [int(word) for word in words[1:]])
    if command == "read":
        return timed(lambda: stacked(words[0]), 5)
    return timed(lambda: fit(words[0], int(words[1])), 1)


print(json.dumps(main(*sys.argv[1:])))
