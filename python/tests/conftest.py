"""What the tests share: a small table of wages in every form, and the command."""

from __future__ import annotations

import csv
import os
import random
import subprocess
from pathlib import Path

import pytest
from common import ROOT


@pytest.fixture(scope="session")
def wages() -> dict[str, list]:
    """Columns of simulated wages; some cells are missing."""
    rng = random.Random(7)
    columns: dict[str, list] = {"id": [], "wage": [], "educ": [], "exper": [], "union": []}
    for row in range(3000):
        educ, exper, union = rng.randrange(8, 21), rng.uniform(0, 45), rng.random() < 0.3
        wage = 4 + 1.1 * educ + 0.15 * exper + 2.5 * union + rng.gauss(0, 4)
        columns["id"].append(row)
        columns["wage"].append(wage)
        columns["educ"].append(educ)
        columns["exper"].append(None if row % 97 == 0 else exper)
        columns["union"].append("yes" if union else "no")
    return columns


@pytest.fixture(scope="session")
def wages_csv(wages: dict[str, list], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wages") / "wages.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(wages)
        writer.writerows(zip(*wages.values(), strict=True))
    return path


@pytest.fixture(scope="session")
def command():
    """Runs the `dplm` command; gives its standard output, or raises with its standard error."""
    program = os.environ.get("DPLM", str(ROOT / "target" / "debug" / "dplm"))

    def run(*arguments: object) -> str:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout

    return run
