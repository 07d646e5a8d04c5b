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
from fits import FITS, ONE_STEP, auditor, document, estimate, extreme, scores, verifier
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
    print(f"mu over claim {found / mu:.4f} +- {error / mu:.4f}, proved epsilon {bound(inside, outside):.2f}")
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


ORDERS = [2, 4, 8]
# Cells of the separation, few enough that each has many scores.
CUTS = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])


def renyi(inside: np.ndarray, outside: np.ndarray, order: int) -> float:
    """The Renyi divergence of two frequencies."""
    return math.log(np.sum(inside**order * outside ** (1 - order))) / (order - 1)


def estimated(inside: np.ndarray, outside: np.ndarray, order: int) -> tuple[float, float]:
    """The divergence of two samples in cells, and its error, by half-sampling its Poisson noise."""
    counts = np.array([inside, outside], dtype=float) + 0.5
    draws = np.random.default_rng(3).poisson(counts, (400, 2, len(inside))) + 0.5
    spread = [renyi(one / one.sum(), other / other.sum(), order) for one, other in draws]
    found = renyi(counts[0] / counts[0].sum(), counts[1] / counts[1].sum(), order)
    # The noise of frequencies makes them differ: what it adds is the same again in the draws.
    return 2 * found - float(np.mean(spread)), float(np.std(spread))


def test_renyi_divergences_are_at_most_order_times_rho_and_no_less_than_cells_can_show():
    """Counts in cells are computed from what is released, so that they diverge no more than it."""
    rho = 0.02
    inside, outside = (scores(extreme(sign), {**ONE_STEP, "rho": rho}, 4 * FITS) for sign in (1, -1))
    mu, spread = math.sqrt(2 * rho), np.concatenate([inside - inside.mean(), outside - outside.mean()]).std()
    middle = (inside.mean() + outside.mean()) / 2
    cells = [np.histogram((one - middle) / spread, [-np.inf, *CUTS, np.inf])[0] for one in (inside, outside)]
    up = math.copysign(1, inside.mean() - outside.mean())
    exact = [np.diff(norm.cdf([-np.inf, *(CUTS - sign * up * mu / 2), np.inf])) for sign in (1, -1)]
    for order in ORDERS:
        found, error = estimated(*cells, order)
        print(f"order {order}: {found:.4f} +- {error:.4f}, cells {renyi(*exact, order):.4f}, stated {order * rho:.4f}")
        assert found - norm.isf(ALARM) * error < order * rho
        assert abs(found - renyi(*exact, order)) < norm.isf(ALARM) * error


METHODS = ["auto", "dpgd", "adassp", "ssp", "huber", "adaptive-clips", "medians", "theil-sen"]
# Fewer fits of these, which are shares and orders of the same mechanisms.
MORE_METHODS = ["boosted-adassp", "one-pass", "binagg", "tukey", "tukey-tested"]
NOT_GAUSSIAN = ["adaptive-clips", "one-pass", "medians", "theil-sen", "tukey", "tukey-tested"]


@pytest.mark.parametrize("method", METHODS + MORE_METHODS)
def test_no_method_exceeds_what_it_states(method):
    """The slope of a line through rows of which one lies as far off as its bounds allow."""
    rows = {"tukey": 300, "tukey-tested": 2400}.get(method, 150)
    line = pd.DataFrame({"x": np.linspace(-1, 1, rows), "y": np.linspace(-1, 1, rows)})
    options = {"formula": "y[-1..1] ~ x[-1..1]", "rho": 2.0, "method": method, "purpose": "prediction"}
    tables = [line.assign(y=[end, *line["y"][1:]]) for end in (-1.0, 1.0)]
    inside, outside = (scores(table, options, FITS if method in METHODS else FITS // 5) for table in tables)
    stated = VERIFY.general_epsilon if method in NOT_GAUSSIAN else VERIFY.exact_epsilon
    assert bound(inside, outside) < stated(2.0, DELTA)


def slopes(pairs: int) -> pd.DataFrame:
    """61 pairs of rows: lines of two slopes next to each other on the grid."""
    response = np.zeros(122)
    response[0 : 2 * pairs : 2] = 2 * 2.0**-12
    return pd.DataFrame({"x": 16.0, "y": response})


def test_an_exponential_choice_is_as_private_as_computed_in_its_worst_case():
    """Odds of e for the candidate one layer deeper, and of 1/e once a row is replaced."""
    options = {"formula": "y ~ x + 0", "standardised": True, "rho": 0.5, "method": "theil-sen", "purpose": "prediction"}
    share = 1 / (1 + math.exp(-1))
    for pairs, expected in ((30, 1 - share), (31, share)):
        found = np.mean(scores(slopes(pairs), options) > 2.0**-17)
        print(f"the greater slope: {found:.4f}, by the weights of the mechanism {expected:.4f}")
        assert abs(found - expected) < norm.isf(ALARM) * math.sqrt(share * (1 - share) / FITS)
    assert share < document(slopes(30), options)["guarantee"]["guess"] < 0.781


LINE = "y[-1..1] ~ x[-1..1]"
WALKS = {
    "coefficients of interest": {"formula": "y[-1..1] ~ x[-1..1] + z[-1..1]", "focus": ["x"]},
    "logistic regression": {"formula": "b[0..1] ~ x[-1..1]", "family": "binomial"},
    "persons": {"formula": LINE, "person": "id"},
    "constants of persons": {"formula": "y[-1..1] ~ x[-1..1] | id", "person": "id"},
    "an instrument": {"formula": "y[-1..1] ~ 1 | x[-1..1] ~ z[-1..1]"},
    "the population": {"formula": LINE, "target": "population"},
    "predictions": {"formula": LINE, "purpose": "prediction"},
    "weights": {"formula": LINE, "weights": "w[0..2]"},
}


@pytest.mark.parametrize("name", WALKS)
def test_no_walk_of_the_automatic_method_exceeds_what_it_states(name):
    """A person, or a row, as far off as bounds allow, the one way or the other."""
    x = np.tile(np.linspace(-1, 1, 60), 20)
    noise = np.random.default_rng(7).normal(scale=0.1, size=len(x))
    line = pd.DataFrame({"x": x, "z": np.clip(x + noise, -1, 1), "y": x / 2 - noise, "b": (x > 5 * noise) * 1})
    line = line.assign(id=np.arange(len(x)) // 3, w=1.0)
    tables = []
    for end in (-1.0, 1.0):
        # The first three rows are one person's, and differ in that person's constant too.
        count = 3 if "person" in WALKS[name] else 1
        moved = pd.DataFrame({"x": [1.0, -1.0, 0.0], "z": [1.0, -1.0, 0.0], "y": [end, -end, 0.0], "b": [end > 0] * 3, "w": 2.0})
        rest = line.iloc[count:]
        tables.append(pd.concat([moved.iloc[:count].assign(id=0), rest], ignore_index=True).astype(float).astype({"id": int, "b": int}))
    # A fit of one coefficient of interest takes as long as ten others.
    count = max(FITS // (100 if "focus" in WALKS[name] else 10), 20)
    inside, outside = (scores(table, {"rho": 4.0, **WALKS[name]}, count) for table in tables)
    assert bound(inside, outside) < VERIFY.exact_epsilon(4.0, DELTA)


def test_a_fit_that_is_less_private_than_stated_is_caught():
    """Noise is a half where four fits are averaged, and missing if all have one seed."""
    inside, outside = (scores(extreme(sign), {**ONE_STEP, "rho": RHO}, 4 * FITS) for sign in (1, -1))
    halved = [part.reshape(-1, 4).mean(axis=1) for part in (inside, outside)]
    assert not is_as_claimed(*halved, math.sqrt(2 * RHO))
    seeded = [estimate(document(extreme(sign), {**ONE_STEP, "rho": RHO, "seed": 1})) for sign in (1, -1)]
    seeded = [np.full(FITS, one) for one in seeded]
    assert bound(*seeded) > VERIFY.exact_epsilon(RHO, DELTA)
