"""Fits of neighbouring tables, and what an attacker makes of them.

An attacker knows everything but one row, or one person, and sees what was released. The scores
here are numbers that such an attacker computes from a fit; `DPLM_AUDIT_FITS` fits are made of each
table.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
FITS = int(os.environ.get("DPLM_AUDIT_FITS", "500"))
# Each process makes its part of the fits of a table.
PROCESSES = os.cpu_count() or 1
# The program that makes them: `crates/dplm-methods/examples/many_fits.rs`.
MANY_FITS = os.environ.get("DPLM_MANY_FITS", ROOT / "target" / "debug" / "examples" / "many_fits")

# One step from zero, so that what is released is one clipped sum of a single column.
ONE_STEP = {"formula": "y ~ x + 0", "method": "dpgd", "standardised": True, "purpose": "prediction", "steps": 1, "clip": 1.0}


def module(path: Path):
    """A Python file, by itself."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = found
    specification.loader.exec_module(found)
    return found


def verifier():
    """`docs/verify_fit.py`, whose accounting shares no code with dplm."""
    return module(ROOT / "docs" / "verify_fit.py")


def auditor():
    """The auditing module of jax-privacy, which needs nothing of the rest of that package."""
    package = importlib.util.find_spec("jax_privacy")
    return module(Path(package.submodule_search_locations[0]) / "auditing.py")


def extreme(sign: float, rows: int = 5, replaced: int = 1) -> pd.DataFrame:
    """Rows of zeros, and some whose gradient is as long as any, in one direction or the other."""
    x = np.zeros(rows)
    x[:replaced] = 6.0
    return pd.DataFrame({"x": x, "y": sign * x})


def document(table: pd.DataFrame, options: dict) -> dict:
    """A fit as it is saved."""
    # Only here: fits of other builds are looked at without the package.
    import dplm

    formula, rest = options["formula"], {key: value for key, value in options.items() if key != "formula"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(dplm.lm(formula, table, **rest).to_json())


def estimate(fit: dict) -> float:
    """The last coefficient; without one, the number of usable rows."""
    known = [one["estimate"] for one in fit["coefficients"] if one["estimate"] is not None]
    return known[-1] if known else (fit["rows_used"] or {"estimate": 0.0})["estimate"]


def scores(table: pd.DataFrame, options: dict, count: int = FITS) -> np.ndarray:
    """The same number of many fits of a table, each with noise of its own, by `many_fits`."""
    parts = [count // PROCESSES + (place < count % PROCESSES) for place in range(PROCESSES)]
    with tempfile.TemporaryDirectory() as folder:
        rows, asked = Path(folder) / "rows.csv", Path(folder) / "request.json"
        table.to_csv(rows, index=False)
        asked.write_text(json.dumps(options))
        with ThreadPoolExecutor(PROCESSES) as pool:
            made = list(pool.map(lambda part: _made([MANY_FITS, asked, rows, part]), parts))
    return np.concatenate(made)


def _made(command: list) -> np.ndarray:
    alone = {**os.environ, "RAYON_NUM_THREADS": "1"}
    done = subprocess.run([str(word) for word in command], env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.split(), dtype=float)
