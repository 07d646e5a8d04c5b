"""Bounds on the guarantee of fits, by an auditor of others: the `auditing` module of jax-privacy.

An auditor sees the scores of many fits of each of two neighbouring tables, and bounds from below,
with confidence, the epsilon that could have made them as different as they are. A bound above what
a fit states is a fault; a bound far below it on the worst pair of tables would be a blunt
auditor.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from fits import FITS, ONE_STEP, auditor, extreme, scores, verifier
from scipy.stats import norm

# Of some 30 comparisons, one in 3,000 fails by chance.
ALARM = 1e-5
DELTA = 1e-3
RHO = 0.5
VERIFY = verifier()
AUDITOR = auditor().CanaryScoreAuditor


def bound(inside: np.ndarray, outside: np.ndarray) -> float:
    """The epsilon at `DELTA` that these scores prove; neither table is favoured."""
    both = [(inside, outside), (outside, inside), (-inside, -outside), (-outside, -inside)]
    found = [AUDITOR(*pair).epsilon_clopper_pearson(ALARM, DELTA) for pair in both]
    return max(found)


def separation(inside: np.ndarray, outside: np.ndarray) -> tuple[float, float]:
    """The mu of the two Gaussian laws that these scores are drawn from, and its error."""
    spread = math.sqrt((inside.var(ddof=1) + outside.var(ddof=1)) / 2)
    mu = abs(inside.mean() - outside.mean()) / spread
    return mu, math.sqrt(2 / len(inside) + mu**2 / (4 * len(inside)))


def is_as_claimed(inside: np.ndarray, outside: np.ndarray, mu: float) -> bool:
    found, error = separation(inside, outside)
    return abs(found - mu) < norm.isf(ALARM) * error


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_the_smallest_tables_are_exactly_as_private_as_stated(rows):
    inside, outside = (scores(extreme(sign, rows), {**ONE_STEP, "rho": RHO}) for sign in (1, -1))
    assert is_as_claimed(inside, outside, math.sqrt(2 * RHO))
    assert bound(inside, outside) < VERIFY.exact_epsilon(RHO, DELTA)


@pytest.mark.parametrize("replaced", [2, 3, 4])
def test_groups_of_rows_lose_by_the_square_of_their_number(replaced):
    inside, outside = (scores(extreme(sign, 6, replaced), {**ONE_STEP, "rho": 0.1}) for sign in (1, -1))
    assert is_as_claimed(inside, outside, replaced * math.sqrt(2 * 0.1))


def test_a_row_that_is_missing_differs_by_half_as_much():
    missing = extreme(1).assign(x=[math.nan, 0, 0, 0, 0])
    options = {**ONE_STEP, "rho": RHO, "neighbours": "zero-out"}
    inside, outside = scores(extreme(1), options), scores(missing, options)
    assert is_as_claimed(inside, outside, math.sqrt(2 * RHO))


def persons(sign: float) -> pd.DataFrame:
    """Three persons, of which one has most of the rows."""
    rows = pd.concat([extreme(sign, 20, 20), extreme(1, 2, 0)])
    return rows.assign(id=["a"] * 20 + ["b", "c"])


def test_a_person_with_many_rows_is_as_private_as_one_row():
    options = {**ONE_STEP, "rho": RHO, "person": "id"}
    inside, outside = (scores(persons(sign), options) for sign in (1, -1))
    assert is_as_claimed(inside, outside, math.sqrt(2 * RHO))


def test_a_row_of_the_largest_weight_is_as_private_as_any():
    options = {**ONE_STEP, "rho": RHO, "weights": "w[0..50]"}
    weighted = [extreme(sign).assign(w=[50.0, 1, 1, 1, 1]) for sign in (1, -1)]
    inside, outside = (scores(table, options) for table in weighted)
    assert is_as_claimed(inside, outside, math.sqrt(2 * RHO))


METHODS = ["auto", "dpgd", "adassp", "ssp", "huber", "adaptive-clips", "medians", "theil-sen"]


@pytest.mark.parametrize("method", METHODS)
def test_no_method_exceeds_what_it_states(method):
    """The slope of a line through rows of which one lies as far off as its bounds allow."""
    line = pd.DataFrame({"x": np.linspace(-1, 1, 150), "y": np.linspace(-1, 1, 150)})
    options = {"formula": "y[-1..1] ~ x[-1..1]", "rho": 2.0, "method": method, "purpose": "prediction"}
    tables = [line.assign(y=[end, *line["y"][1:]]) for end in (-1.0, 1.0)]
    inside, outside = (scores(table, options) for table in tables)
    stated = VERIFY.general_epsilon if method in ("adaptive-clips", "medians", "theil-sen") else VERIFY.exact_epsilon
    assert bound(inside, outside) < stated(2.0, DELTA)


def test_a_fit_that_is_less_private_than_stated_is_caught():
    """Noise is a half where four fits are averaged, and missing if all have one seed."""
    inside, outside = (scores(extreme(sign), {**ONE_STEP, "rho": RHO}, 4 * FITS) for sign in (1, -1))
    halved = [part.reshape(-1, 4).mean(axis=1) for part in (inside, outside)]
    assert not is_as_claimed(*halved, math.sqrt(2 * RHO))
    seeded = [scores(extreme(sign), {**ONE_STEP, "rho": RHO, "seed": 1}) for sign in (1, -1)]
    assert bound(*seeded) > VERIFY.exact_epsilon(RHO, DELTA)
