"""Formulas against statsmodels and R.

The estimates on the same table at a huge budget are the same, and so are the names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dplm
import numpy as np
import pandas as pd
import patsy
import pytest
import statsmodels.api as sm
from numpy.polynomial.legendre import Legendre

ROWS = 20_000
#: The largest budget there is. What is left of the noise is less than a tenth of the sampling
#: error.
RHO = 1000.0
NAMES = Path(__file__).parent / "reference" / "names.tsv"
DAY = np.datetime64("1970-01-01")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Numbers, categories, dates and booleans.

    Some cells are missing or beyond their bounds, and no formula lists all levels.
    """
    rng = np.random.default_rng(11)
    educ, exper = rng.integers(0, 21, ROWS).astype(float), rng.uniform(0, 60, ROWS)
    tenure, hours = rng.uniform(0, 40, ROWS), rng.uniform(5, 80, ROWS)
    union, female = rng.choice(["no", "yes"], ROWS), rng.random(ROWS) < 0.5
    region = rng.choice(["north", "south", "east", "abroad"], ROWS, p=[0.4, 0.3, 0.25, 0.05])
    sector = rng.choice(["public", "private", "church", "club"], ROWS)
    day = np.datetime64("2019-12-25") + rng.integers(0, 380, ROWS)
    line = 1 + 0.08 * educ + 0.04 * exper - 0.0006 * exper**2 + 0.1 * (union == "yes") - 0.2 * female + 0.01 * tenure
    wage = np.exp(line + 0.1 * (region == "south") + 0.3 * rng.standard_normal(ROWS))
    exper[::97], hours[::89] = 75.0, 3.0
    people = pd.DataFrame({"wage": wage, "hours": hours, "educ": educ, "exper": exper, "tenure": tenure})
    people = people.assign(union=union, female=female, region=region, sector=sector, day=day, member=female & (union == "yes"))
    people.loc[::53, "educ"], people.loc[::61, "wage"] = np.nan, np.nan
    people.loc[::71, "region"], people.loc[::59, "sector"], people.loc[::67, "day"] = None, None, pd.NaT
    return people


def clamped(people: pd.DataFrame) -> SimpleNamespace:
    """The table as the formulas describe it.

    A level that is not listed is a missing cell.
    """
    numbers = {"wage": (2, 60), "hours": (20, 80), "educ": (0, 20), "exper": (0, 60), "tenure": (0, 40)}
    of: dict[str, object] = {name: people[name].clip(*bounds).to_numpy() for name, bounds in numbers.items()}
    days = people["day"].clip(pd.Timestamp("2020-01-01"), pd.Timestamp("2020-12-31")).to_numpy()
    of["day"] = np.where(np.isnat(days), np.nan, (days.astype("datetime64[D]") - DAY).astype(float))
    listed = people["region"].isin(["north", "south", "east"])
    of["south"], of["east"] = ((people["region"] == level).where(listed).astype(float).to_numpy() for level in ("south", "east"))
    of["north"] = 1 - of["south"] - of["east"]  # type: ignore[operator]
    known = people["sector"].notna()
    of["private"] = (people["sector"] == "private").where(known).astype(float).to_numpy()
    of["other"] = people["sector"].isin(["church", "club"]).where(known).astype(float).to_numpy()
    of["union"], of["female"] = (people["union"] == "yes").to_numpy(float), people["female"].to_numpy(float)
    return SimpleNamespace(**of, member=people["member"].to_numpy(float), one=np.ones(ROWS))


def legendre(x: np.ndarray, low: float, high: float, degree: int) -> np.ndarray:
    t = (2 * x - low - high) / (high - low)
    return np.sqrt(2 * degree + 1) * Legendre.basis(degree)(t)


def b_splines(x: np.ndarray, low: float, high: float, df: int) -> list[np.ndarray]:
    inner = np.linspace(low, high, df - 1)[1:-1]
    return list(np.asarray(patsy.bs(x, knots=inner, degree=3, lower_bound=low, upper_bound=high)).T)


WAGE, EDUC, EXPER, TENURE, HOURS = "wage[2..60]", "educ[0..20]", "exper[0..60]", "tenure[0..40]", "hours[20..80]"
UNION, FEMALE, REGION, SECTOR = "union{no,yes}", "female{false,true}", "region{north,south,east}", "sector{public,private,*}"

Columns = Callable[[SimpleNamespace], list[np.ndarray]]

#: For each formula its response and the columns of its design matrix, written out.
CASES: dict[str, tuple[Callable[[SimpleNamespace], np.ndarray], Columns]] = {
    f"{WAGE} ~ {EDUC} + {EXPER}": (lambda t: t.wage, lambda t: [t.one, t.educ, t.exper]),
    f"log({WAGE}) ~ {EDUC} + {EXPER} + I(exper^2) + {UNION}*{FEMALE}": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, t.educ, t.exper, t.exper**2, t.union, t.female, t.union * t.female],
    ),
    f"log({WAGE}) ~ {EDUC} + poly({EXPER}, 3)": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, t.educ, *(legendre(t.exper, 0, 60, k) for k in (1, 2, 3))],
    ),
    f"log({WAGE}) ~ {EXPER} + I(exper^2) + I(exper^3) + {REGION}:exper": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, t.exper, t.exper**2, t.exper**3, t.exper * t.south, t.exper * t.east],
    ),
    f"log({WAGE}) ~ bs({EXPER}, df = 5) + {EDUC}": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, *b_splines(t.exper, 0, 60, 5), t.educ],
    ),
    f"sqrt({WAGE}) ~ log({HOURS}) + log1p({TENURE})": (
        lambda t: np.sqrt(t.wage),
        lambda t: [t.one, np.log(t.hours), np.log1p(t.tenure)],
    ),
    f"log10({WAGE}) ~ abs({EDUC} - 12) + exp(-{EXPER}/20) + sqrt({TENURE})": (
        lambda t: np.log10(t.wage),
        lambda t: [t.one, np.abs(t.educ - 12), np.exp(-t.exper / 20), np.sqrt(t.tenure)],
    ),
    f"log2({WAGE}) ~ I({HOURS}/({EXPER} + 10)) + I(({EDUC} - 12)*(exper - 20)) + log10(hours)": (
        lambda t: np.log2(t.wage),
        lambda t: [t.one, t.hours / (t.exper + 10), (t.educ - 12) * (t.exper - 20), np.log10(t.hours)],
    ),
    f"{WAGE}/{HOURS} ~ {EDUC} + {SECTOR}": (lambda t: t.wage / t.hours, lambda t: [t.one, t.educ, t.private, t.other]),
    f"log({WAGE}) ~ {EDUC}*{TENURE}": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, t.educ, t.tenure, t.educ * t.tenure],
    ),
    f"log({WAGE}) ~ ({EDUC} + {UNION} + {REGION})^2": (
        lambda t: np.log(t.wage),
        lambda t: [
            *(t.one, t.educ, t.union, t.south, t.east, t.educ * t.union, t.educ * t.south, t.educ * t.east),
            *(t.union * t.south, t.union * t.east),
        ],
    ),
    f"log({WAGE}) ~ {UNION}*{FEMALE}*{EDUC}": (
        lambda t: np.log(t.wage),
        lambda t: [
            *(t.one, t.union, t.female, t.educ, t.union * t.female, t.union * t.educ, t.female * t.educ),
            t.union * t.female * t.educ,
        ],
    ),
    f"log({WAGE}) ~ 0 + {REGION} + {EDUC}": (lambda t: np.log(t.wage), lambda t: [t.north, t.south, t.east, t.educ]),
    f"log({WAGE}) ~ {REGION}:{UNION} - 1": (
        lambda t: np.log(t.wage),
        lambda t: [place * union for union in (1 - t.union, t.union) for place in (t.north, t.south, t.east)],
    ),
    f"log({WAGE}) ~ {EDUC} + {UNION}:educ": (lambda t: np.log(t.wage), lambda t: [t.one, t.educ, t.educ * t.union]),
    f"log({WAGE}) ~ {EDUC}*{UNION} - educ": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, t.union, t.educ * (1 - t.union), t.educ * t.union],
    ),
    f"log({WAGE}) ~ {EDUC} + offset(log({HOURS}))": (lambda t: np.log(t.wage) - np.log(t.hours), lambda t: [t.one, t.educ]),
    f"log({WAGE}) ~ day[2020-01-01..2020-12-31] + {UNION}": (lambda t: np.log(t.wage), lambda t: [t.one, t.day, t.union]),
    f"log({WAGE}) ~ poly({EXPER}, 2)*{FEMALE}": (
        lambda t: np.log(t.wage),
        lambda t: [
            *(t.one, legendre(t.exper, 0, 60, 1), legendre(t.exper, 0, 60, 2), t.female),
            *(legendre(t.exper, 0, 60, 1) * t.female, legendre(t.exper, 0, 60, 2) * t.female),
        ],
    ),
    f"log({WAGE}) ~ ({EDUC} + {TENURE} + {UNION})^3 - educ:tenure:union": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, t.educ, t.tenure, t.union, t.educ * t.tenure, t.educ * t.union, t.tenure * t.union],
    ),
    f"log({WAGE}) ~ member[0..1]:{EDUC} + educ + {UNION} + {FEMALE}": (
        lambda t: np.log(t.wage),
        lambda t: [t.one, t.educ, t.union, t.female, t.member * t.educ],
    ),
}

#: Formulas of which a logit is fitted as well: each kind of term once.
LOGITS = [
    f"{WAGE} ~ {EDUC} + {EXPER}",
    f"log({WAGE}) ~ {EDUC} + {EXPER} + I(exper^2) + {UNION}*{FEMALE}",
    f"log({WAGE}) ~ {EDUC} + poly({EXPER}, 3)",
    f"log({WAGE}) ~ bs({EXPER}, df = 5) + {EDUC}",
    f"sqrt({WAGE}) ~ log({HOURS}) + log1p({TENURE})",
    f"{WAGE}/{HOURS} ~ {EDUC} + {SECTOR}",
    f"log({WAGE}) ~ {EDUC}*{TENURE}",
    f"log({WAGE}) ~ ({EDUC} + {UNION} + {REGION})^2",
    f"log({WAGE}) ~ 0 + {REGION} + {EDUC}",
    f"log({WAGE}) ~ day[2020-01-01..2020-12-31] + {UNION}",
]

#: Natural splines in another basis: what is compared are fitted values.
NATURAL = f"log({WAGE}) ~ ns({EXPER}, df = 4) + {REGION}"


#: Formulas whose names alone are compared.
NAMED = [
    f"{WAGE} ~ {UNION}:{EDUC} - 1",
    f"{WAGE} ~ 0 + {EDUC}:{REGION} + {FEMALE}",
    f"{WAGE} ~ 0 + {EDUC} + {REGION}*{UNION}",
    f"{WAGE} ~ {SECTOR}*{EDUC} - {SECTOR}:{EDUC} + {EDUC}:{SECTOR}",
    f"{WAGE} ~ log({EDUC} + 1):{UNION} + poly({EXPER}, 2)",
    f"{WAGE} ~ {UNION}*{FEMALE}*{REGION}*{EDUC} - {UNION}:{FEMALE}:{REGION}",
    f"{WAGE} ~ ({EDUC} + {TENURE}):({UNION} + {FEMALE})",
    f"{WAGE} ~ {EDUC}:{EXPER} + {EXPER}:{TENURE} + {TENURE}:{EDUC} + {TENURE}",
    f"{WAGE} ~ I({EDUC}/2/3) + I({EXPER}*{TENURE}/(1 + educ)) + I(-tenure^2) + I(0.5*exper)",
]


@dataclass(frozen=True)
class LeastSquares:
    """What statsmodels makes of the rows without a missing cell."""

    x: np.ndarray
    results: Any

    @staticmethod
    def of(response: np.ndarray, columns: list[np.ndarray]) -> LeastSquares:
        x = np.column_stack(columns)
        whole = np.isfinite(response) & np.isfinite(x).all(axis=1)
        return LeastSquares(x[whole], sm.OLS(response[whole], x[whole]).fit())

    def moved_by_rounding(self, half_range: float, weights: np.ndarray) -> np.ndarray:
        """How far rounding to the lattice can move weighted coefficients, `weights @ params`.

        The lattice rounds the response and every column by at most 2^-13 of half its range, so that
        no residual is off by more than `shift`, and coefficients are `pinv(x)` times the response.
        (Powers are fitted in polynomials, which are smaller: for them it is more than enough.)
        """
        half_ranges = np.ptp(self.x, axis=0) / 2
        shift = 2.0**-13 * (half_range + np.abs(self.results.params) @ half_ranges)
        return shift * np.abs(weights @ np.linalg.pinv(self.x)).sum(axis=1)


def half_range(response: Callable[[SimpleNamespace], np.ndarray]) -> float:
    """Half the width of the response's bounds.

    They are reached at the corners of its columns' bounds.
    """
    corners = SimpleNamespace(wage=np.array([2, 60, 2, 60]), hours=np.array([20, 80, 80, 20]))
    return float(np.ptp(response(corners))) / 2


@pytest.mark.parametrize("formula", CASES)
def test_estimates_are_those_of_statsmodels(formula, people):
    """The precision of the lattice, plus five of the standard errors of the noise.

    That is one false alarm in a million.
    """
    response, columns = CASES[formula]
    table = clamped(people)
    expected = LeastSquares.of(response(table), columns(table))
    found = dplm.lm(formula, people, rho=RHO, target="sample", seed=2)
    rounding = expected.moved_by_rounding(half_range(response), np.eye(len(found.names)))
    apart = np.abs(found.params.to_numpy() - expected.results.params)
    assert found.left_out == []
    assert (apart < rounding + 5 * found.bse.to_numpy()).all(), (apart / expected.results.bse).round(3)
    # What is allowed is itself a small share of a standard error.
    assert (rounding + 5 * found.bse.to_numpy() < 0.4 * expected.results.bse).all()


def moved_by_rounding_of_a_logit(x: np.ndarray, fit: Any) -> np.ndarray:
    """As for least squares, with two kinds of rounding.

    A linear function is off by at most `shift`, and a cell in the gradient by its own rounding.
    Probabilities are rounded to 2^-20, which is less than a thousandth of either.
    """
    mu, half_ranges = fit.predict(), np.ptp(x, axis=0) / 2
    shift = 2.0**-13 * np.abs(fit.params) @ half_ranges
    inverse = np.linalg.inv(x.T @ (x * (mu * (1 - mu))[:, None]))
    of_cells = np.abs(inverse) @ half_ranges * 2.0**-13 * np.sqrt(np.square(fit.resid_response).sum())
    of_linear = shift * (np.abs(inverse @ x.T) @ (mu * (1 - mu)))
    return np.asarray(of_cells + of_linear)


@pytest.mark.parametrize("formula", LOGITS)
def test_logits_are_those_of_statsmodels(formula, people):
    """To the precision of the lattice, and five standard errors of the noise.

    The standard errors for the population are the sandwich's.
    """
    _, columns = CASES[formula]
    rng, table = np.random.default_rng(5), clamped(people)
    chance = 1 / (1 + np.exp(1 - 0.08 * np.nan_to_num(table.educ) - 0.02 * table.exper + 0.4 * table.female))
    happy = (rng.random(ROWS) < chance).astype(int)
    x = np.column_stack(columns(table))
    whole = np.isfinite(x).all(axis=1)
    expected = sm.Logit(happy[whole], x[whole]).fit(disp=0, cov_type="HC0")
    asked = dict(family="binomial", rho=RHO, seed=2)
    right = formula.split("~")[1]
    found = dplm.lm(f"happy[0..1] ~{right}", people.assign(happy=happy), target="sample", **asked)
    rounding = moved_by_rounding_of_a_logit(x[whole], expected)
    apart = np.abs(found.params.to_numpy() - expected.params)
    assert found.left_out == []
    assert (apart < rounding + 5 * found.bse.to_numpy()).all(), (apart / expected.bse).round(3)
    assert (rounding + 5 * found.bse.to_numpy() < 0.5 * expected.bse).all()
    usual = dplm.lm(f"happy[0..1] ~{right}", people.assign(happy=happy), **asked)
    assert np.allclose(usual.bse, expected.bse, rtol=0.05)
    if "0 +" not in formula:
        assert usual.rsquared == pytest.approx(expected.prsquared, abs=0.002)


def test_natural_splines_fit_the_curve_of_statsmodels(people):
    table = clamped(people)
    inner = np.linspace(0, 60, 5)[1:-1]
    curve = np.asarray(patsy.cr(table.exper, knots=inner, lower_bound=0, upper_bound=60))
    expected = LeastSquares.of(np.log(table.wage), [*curve.T, table.south, table.east])
    found = dplm.lm(NATURAL, people, rho=RHO, target="sample", seed=1)
    whole = people[np.isfinite(np.column_stack([np.log(table.wage), table.south])).all(axis=1)].head(100)
    predicted, x = found.get_prediction(whole), expected.x[:100]
    allowed = expected.moved_by_rounding(half_range(lambda t: np.log(t.wage)), x) + 5 * predicted.se_mean
    apart = np.abs(predicted.predicted_mean - x @ expected.results.params)
    assert (apart < allowed).all(), apart.max()
    assert (allowed < 0.5 * expected.results.get_prediction(x).se_mean).all()


def in_r(formula: str) -> str:
    """The formula without bounds and levels."""
    return re.sub(r"\[[^]]*\]|\{[^}]*\}", "", formula)


def names_of_r() -> dict[str, list[str]]:
    lines = NAMES.read_text().splitlines()[1:]
    return {formula: names for formula, *names in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("formula", [*CASES, NATURAL, *NAMED])
def test_names_are_those_of_r(formula):
    """R's `unionyes` as it is written here, `union[yes]`.

    R writes a level right after its column.
    """
    plan = dplm.plan(formula, rows=10**6, rho=1.0)
    names = [re.sub(r"\[([^]]*)\]", r"\1", one["name"]) for one in plan.coefficients]
    assert names == names_of_r()[in_r(formula)]


def test_the_names_kept_are_those_that_r_gives():
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    formulas = "".join(f"{in_r(formula)}\n" for formula in [*CASES, NATURAL, *NAMED])
    done = subprocess.run(["Rscript", NAMES.with_suffix(".R")], input=formulas, capture_output=True, text=True, check=True)
    if os.environ.get("UPDATE_DOCUMENTS"):
        NAMES.write_text(done.stdout)
    _version, *names = done.stdout.splitlines()
    assert names == NAMES.read_text().splitlines()[1:], "run again with UPDATE_DOCUMENTS=1 if formulas were meant to change"
