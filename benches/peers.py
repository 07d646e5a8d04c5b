"""The other side of each comparison: numpy doing the same steps, scikit-learn fitting once, pandas
and pyarrow reading the same file.

Reads one request a line and answers each with one line of JSON:

    {"do": "data", "rows": N, "features": P}     makes data; kept until the next
    {"do": "clip", "gamma": G}                   bounds of the rows, and back to the start
    {"do": "step"}                               one step of clipped gradient descent in float64
    {"do": "gram"}                               X'X of the same data in float64
    {"do": "sklearn"}                            LinearRegression on the same data
    {"do": "read", "file": F}                    reads the columns of a Parquet or CSV file and stacks them
    {"do": "fit", "file": F, "steps": T}         the same, and T steps
    {"do": "gzip", "file": F, "to": G}           writes a Parquet file again, its pages in gzip
    {"do": "pandas", "file": F}                  pandas reads a Parquet file, LinearRegression fits it
    {"do": "binary", "file": F, "to": G}         writes a Parquet file again, y as 1 where it is above 0, else 0
    {"do": "logistic", "file": F}                pandas reads a Parquet file, LogisticRegression without a penalty fits it
    {"do": "torch", "rows": N, "features": P, "kind": K}   makes data on the GPU, float32 or float64
    {"do": "torch step"}                         one step of clipped gradient descent there
    {"do": "command", "words": [...]}            runs a command; also says its largest resident memory in bytes

The answer is the processor and wall-clock seconds of that, all threads together. Libraries are
loaded before the clock starts.
"""

import json
import os
import sys
import time


class Descent:
    """The paper's Algorithm 1, clipped by the closed form, as one would write it in numpy."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def clip(self, gamma):
        import numpy as np

        self.bound = gamma / np.maximum(np.sqrt(np.einsum("ij,ij->i", self.x, self.x)), 1e-300)
        self.theta = np.zeros(self.x.shape[1])

    def step(self):
        import numpy as np

        residual = self.y - self.x @ self.theta
        np.clip(residual, -self.bound, self.bound, out=residual)
        self.theta += 0.25 * (residual @ self.x) / len(self.y)


class TorchDescent:
    """The same in PyTorch on the GPU."""

    def __init__(self, rows, features, kind):
        import torch

        kind = getattr(torch, kind)
        torch.manual_seed(1)
        self.x = torch.randn(rows, features, dtype=kind, device="cuda")
        self.y = self.x.sum(1) * features**-0.5 + torch.randn(rows, dtype=kind, device="cuda")
        self.bound = 5 * features**0.5 / torch.linalg.vector_norm(self.x, dim=1)
        self.low = -self.bound
        self.theta = torch.zeros(features, dtype=kind, device="cuda")
        for _ in range(3):
            self.step()

    def step(self):
        import torch

        residual = torch.clamp(self.y - self.x @ self.theta, self.low, self.bound)
        self.theta += 0.25 * (residual @ self.x) / len(self.y)
        torch.cuda.synchronize()


def isotropic(rows, features):
    import numpy as np

    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, features))
    return Descent(x, x @ np.full(features, features**-0.5) + rng.standard_normal(rows))


def stacked(path):
    import numpy as np

    if path.endswith(".parquet"):
        from pyarrow import parquet

        table = parquet.read_table(path)
    else:
        from pyarrow import csv

        table = csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in table.columns])


def fit(path, steps):
    import numpy as np

    data = stacked(path)
    x, y = np.ascontiguousarray(data[:, :-1]), np.ascontiguousarray(data[:, -1])
    descent = Descent(x, y)
    descent.clip(5 * x.shape[1] ** 0.5)
    for _ in range(steps):
        descent.step()


def pandas_fit(path):
    import pandas
    from sklearn.linear_model import LinearRegression

    table = pandas.read_parquet(path)
    LinearRegression().fit(table.drop(columns="y"), table["y"])


def logistic_fit(path):
    import pandas
    from sklearn.linear_model import LogisticRegression

    table = pandas.read_parquet(path)
    LogisticRegression(penalty=None).fit(table.drop(columns="y"), table["y"])


def binary(path, to):
    import pandas

    table = pandas.read_parquet(path)
    table.assign(y=(table["y"] > 0).astype("int64")).to_parquet(to)


def timed(work):
    processor, wall = time.process_time(), time.perf_counter()
    work()
    return {"processor": time.process_time() - processor, "wall": time.perf_counter() - wall}


def command(words):
    """Memory is counted from the start of the process, so this worker must be small itself."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    wall = time.perf_counter()
    child = os.posix_spawnp(words[0], words, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - wall
    if status != 0:
        raise RuntimeError(f"{words[0]} failed")
    return {"processor": usage.ru_utime + usage.ru_stime, "wall": wall, "memory": usage.ru_maxrss * 1024}


def load(what):
    if what in ("read", "fit"):
        import numpy, pyarrow.csv, pyarrow.parquet  # noqa: F401, E401
    if what in ("pandas", "binary", "logistic"):
        import pandas, pyarrow.parquet  # noqa: F401, E401
    if what in ("sklearn", "pandas", "logistic"):
        import sklearn.linear_model  # noqa: F401


def answer(state, do, **request):
    load(do)
    if do == "data":
        state["descent"] = None
        state["descent"] = isotropic(request["rows"], request["features"])
        return {"processor": 0, "wall": 0}
    if do == "torch":
        import torch

        # What PyTorch keeps for itself would be missing on the card.
        state["descent"] = None
        torch.cuda.empty_cache()
        state["descent"] = TorchDescent(request["rows"], request["features"], request["kind"])
        return {"processor": 0, "wall": 0}
    descent = state.get("descent")
    if do == "clip":
        return timed(lambda: descent.clip(request["gamma"]))
    if do in ("step", "torch step"):
        return timed(descent.step)
    if do == "gram":
        return timed(lambda: descent.x.T @ descent.x)
    if do == "sklearn":
        from sklearn.linear_model import LinearRegression

        return timed(lambda: LinearRegression(fit_intercept=False).fit(descent.x, descent.y))
    if do == "read":
        return timed(lambda: stacked(request["file"]))
    if do == "fit":
        return timed(lambda: fit(request["file"], request["steps"]))
    if do == "gzip":
        from pyarrow import parquet

        table = parquet.read_table(request["file"])
        return timed(lambda: parquet.write_table(table, request["to"], compression="gzip", compression_level=1))
    if do == "pandas":
        return timed(lambda: pandas_fit(request["file"]))
    if do == "binary":
        return timed(lambda: binary(request["file"], request["to"]))
    if do == "logistic":
        return timed(lambda: logistic_fit(request["file"]))
    return command(request["words"])


state = {}
for line in sys.stdin:
    print(json.dumps(answer(state, **json.loads(line))), flush=True)
