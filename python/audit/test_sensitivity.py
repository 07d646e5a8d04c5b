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


def runs(fit: dict) -> list[tuple[dict, float]]:
    """The descent of each group of a fit, or of all rows, and what was paid for its gradients."""
    groups = [one["outcome"]["fitted"] for one in fit.get("grouped_fit", {}).get("groups", [])]
    paid = [[r["rho"] for r in one["guarantee"]["releases"] if "gradients" in r["what"]] for one in fit.get("groups", [fit])]
    return [(one["trajectories"][0], rhos[0]) for one, rhos in zip(groups or [fit["fit"]], paid)]


def losses(one: dict, other: dict) -> list[float]:
    """What the first gradients of two fits lose, group by group, over what was paid for each."""
    found = []
    for (run, paid), (twin, _) in zip(runs(one), runs(other)):
        moved = np.subtract(run["gradient"][0], twin["gradient"][0])
        found.append(float(moved @ moved / (2 * run["noise_sd"] ** 2) / paid))
    return found


def with_columns(row: list[float], **columns: list) -> pd.DataFrame:
    """Ten rows of zeros, of which the first two are this one."""
    rows = pd.DataFrame(np.zeros((10, 4)), columns=["a", "b", "c", "y"])
    rows.loc[[0, 1]] = row
    return rows.assign(**columns)


FAR = [6.0, 0.0, 0.0, 1e6]


def test_persons_with_many_rows_lose_no_more_than_one_row():
    """A person has two rows as far off as any in one table, and the other way in the other."""
    options = {**FIRST, "person": "id"}
    persons = ["p", "p", *"abcdefgh"]
    one, other = (document(with_columns([6.0, 0.0, 0.0, sign * 1e6], id=persons), options) for sign in (1, -1))
    assert 1 - 1e-3 < losses(one, other)[0] <= 1 + 1e-9
    # The rows of nobody move nothing, however many.
    missing = [None, None, *"abcdefgh"]
    assert losses(*(document(with_columns(row, id=missing), options) for row in (FAR, [0.0] * 4)))[0] == 0


@pytest.mark.parametrize("weight, share", [(50.0, 1.0), (1e300, 1.0), (float("nan"), 0.0), (-1.0, 0.0)])
def test_a_weight_at_its_bound_moves_a_sum_as_far_as_any_row(weight, share):
    options = {**FIRST, "weights": "w[0..50]"}
    one, other = (
        document(table([6.0, 0.0, 0.0, sign * 1e6], np.zeros((9, 4))).assign(w=[weight] + [1.0] * 9), options)
        for sign in (1, -1)
    )
    assert share * (1 - 1e-3) <= losses(one, other)[0] <= share * (1 + 1e-9)


def test_a_row_that_leaves_a_group_for_another_costs_no_more_than_one_that_stays():
    """Each of the two groups loses a quarter of what was paid, once, for both."""
    options = {**FIRST, "by": "g{p,q,none}", "group_sizes": {"p": 5, "q": 5, "none": 5}}
    row = table(FAR, np.zeros((14, 4)))
    groups = [*"pppppqqqqq", *["none"] * 5]
    moved = ["q", *groups[1:]]
    lost = losses(*(document(row.assign(g=of), options) for of in (groups, moved)))
    assert lost[2] == 0 and all(0.25 * (1 - 1e-3) < one <= 0.25 * (1 + 1e-9) for one in lost[:2])
