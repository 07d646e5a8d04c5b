"""Without chance: a shared seed cancels the noise, and what is left is the sensitivity."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pandas as pd
import pytest
from fits import ONE_STEP, document

# The first gradient is taken at a public point: later ones differ in where they are taken too.
FIRST = {**ONE_STEP, "formula": "y ~ a + b + c", "rho": 0.5, "seed": 1}
PAIRS = 150


def loss(one: dict, other: dict) -> float:
    """What the first gradients of two fits with the same noise lose, over what was paid."""
    runs = [fit["fit"]["trajectories"][0] for fit in (one, other)]
    moved = np.subtract(*(run["gradient"][0] for run in runs))
    paid = next(release["rho"] for release in one["guarantee"]["releases"] if "gradients" in release["what"])
    return float(moved @ moved / (2 * runs[0]["noise_sd"] ** 2) / paid)


def table(row: list[float], rest: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(np.vstack([row, rest]), columns=["a", "b", "c", "y"])


EXTREMES = [-1e300, -6.0, -1e-300, 0.0, 1e-9, 1.0, 6.0, 1e18, float("nan"), float("inf")]


def test_no_pair_of_neighbours_loses_more_than_was_paid():
    random.seed(5)
    rest = np.random.default_rng(5).normal(size=(9, 4))
    rows = [[random.choice(EXTREMES) for _ in range(4)] for _ in range(PAIRS)]
    fits = [document(table(row, rest), FIRST) for row in rows]
    losses = [loss(one, other) for one, other in itertools.pairwise(fits)]
    assert max(losses) <= 1 + 1e-9
    assert sum(0 < one for one in losses) > PAIRS / 2


def test_the_worst_pair_loses_all_that_was_paid():
    rest = np.zeros((9, 4))
    opposite = [document(table([6.0, 0.0, 0.0, sign * 1e6], rest), FIRST) for sign in (1, -1)]
    # The row's gradient has norm one or a little less, as rounding cuts towards zero.
    assert 1 - 1e-3 < loss(*opposite) <= 1 + 1e-9


@pytest.mark.parametrize("relation, share", [("replace-one", 0.25), ("zero-out", 1.0)])
def test_a_missing_row_moves_a_sum_by_its_own_term(relation, share):
    rest = np.zeros((9, 4))
    rows = ([6.0, 0.0, 0.0, 1e6], [float("nan"), 0.0, 0.0, 1e6])
    lost = loss(*(document(table(row, rest), {**FIRST, "neighbours": relation}) for row in rows))
    assert share * (1 - 1e-3) < lost <= share * (1 + 1e-9)
