"""The result object: what statsmodels users expect, all of it from released numbers."""

from __future__ import annotations

import copy
import json
import math
import pickle

import pandas as pd
import pytest
from common import FORMULA

import dplm
from dplm import _frames

NAMES = ["(Intercept)", "educ", "exper", "union[yes]"]


@pytest.fixture(scope="module")
def fit(wages) -> dplm.Fit:
    return dplm.lm(FORMULA, wages, rho=0.5, seed=3)


@pytest.fixture(scope="module")
def facts(fit) -> dict:
    return json.loads(fit.to_json())


def test_columns_are_those_of_the_document(fit, facts):
    for result, key in [(fit.params, "estimate"), (fit.bse, "std_error"), (fit.pvalues, "p_value")]:
        assert isinstance(result, pd.Series) and list(result.index) == NAMES
        assert list(result) == [one[key] for one in facts["coefficients"]]
    assert fit.tvalues["educ"] == fit.params["educ"] / fit.bse["educ"]
    assert (fit.rows, fit.nobs, fit.names, fit.level) == (3000, 3000, NAMES, 0.95)
    assert fit.identified == dict.fromkeys(NAMES, True) and fit.method["name"] == "auto"
    assert fit.warnings == facts["warnings"] and not fit.private


def test_intervals_at_any_level(fit, facts):
    usual = fit.conf_int()
    assert list(usual["low"]) == [one["low"] for one in facts["coefficients"]]
    assert list(usual["high"]) == [one["high"] for one in facts["coefficients"]]
    narrow, wide = fit.conf_int(0.5), fit.conf_int(level=0.999)
    assert (wide["low"] < usual["low"]).all() and (usual["low"] < narrow["low"]).all()
    assert (wide["high"] > usual["high"]).all() and (usual["high"] > narrow["high"]).all()
    with pytest.raises(ValueError, match="level"):
        fit.conf_int(1.0)


def test_the_truth_is_covered(fit):
    # Deterministic by the seeds; the noise of a fit at this budget is far below these allowances.
    truth = pd.Series({"educ": 1.1, "exper": 0.15, "union[yes]": 2.5})
    assert ((fit.params[truth.index] - truth).abs() < 4 * fit.bse[truth.index]).all()


def test_predictions(fit):
    rows = pd.DataFrame({"educ": [12, 99, 12], "exper": [10.0, 10.0, None], "union": ["yes", "no", "no"]}, index=[5, 6, 7])
    found = fit.predict(rows)
    b = fit.params
    assert list(found.index) == [5, 6, 7]
    assert math.isclose(found[5], b["(Intercept)"] + 12 * b["educ"] + 10 * b["exper"] + b["union[yes]"])
    assert math.isclose(found[6], b["(Intercept)"] + 20 * b["educ"] + 10 * b["exper"]), "moved to the bound"
    assert math.isnan(found[7])
    table = fit.predict(rows, interval=True)
    assert (table["estimate"][:2] == found[:2]).all()
    assert (table["low"][:2] < found[:2]).all() and (found[:2] < table["high"][:2]).all()
    assert table.loc[7].isna().all()
    wide = fit.predict(rows, interval=True, level=0.999)
    assert (wide["low"][:2] < table["low"][:2]).all()
    with pytest.raises(dplm.DataError, match="no column 'educ'"):
        fit.predict({"exper": [1.0], "union": ["no"]})


def test_the_interval_of_a_baseline_row_is_that_of_the_intercept(fit):
    table = fit.predict({"educ": [0], "exper": [0.0], "union": ["no"]}, interval=True)
    assert table["low"][0] == pytest.approx(fit.conf_int()["low"]["(Intercept)"], rel=1e-9)
    assert table["high"][0] == pytest.approx(fit.conf_int()["high"]["(Intercept)"], rel=1e-9)


def test_guarantee_and_releases(fit, facts):
    assert fit.guarantee.rho == fit.guarantee["rho"] == 0.5
    assert dict(fit.guarantee) == {key: value for key, value in facts["guarantee"].items() if key != "releases"}
    assert math.isclose(sum(release.rho for release in fit.releases), 0.5, rel_tol=1e-12)
    with pytest.raises(KeyError):
        fit.guarantee["nothing"]


def test_trajectory(fit, wages):
    steps = fit.trajectory
    assert list(steps.columns) == NAMES and steps.index.name == "step" and len(steps) == fit.method["steps"] + 1
    several = dplm.lm("educ ~ exper", wages, rho=1, standardised=True, seed=1, interval="independent", batches=3, steps=5)
    assert several.trajectory.index.names == ["run", "step"] and len(several.trajectory) == 3 * 6


def test_words(fit, wages_csv, command):
    typed = command("fit", wages_csv, "--formula", FORMULA, "--rho", 0.5, "--seed", 3)
    assert str(fit.summary()) == typed and repr(fit.summary()) == typed
    for html in (fit._repr_html_(), fit.summary()._repr_html_()):
        assert "<table>" in html and "union[yes]" in html and "<style" not in html and "Not private" in html
    assert repr(fit).startswith("<dplm.Fit of 'wage[0..60] ~")


def test_page(fit, tmp_path):
    page = fit.to_html(tmp_path / "fit.html")
    assert (tmp_path / "fit.html").read_text(encoding="utf-8") == page and page.startswith("<!doctype html>")


def test_without_pandas(fit, monkeypatch):
    monkeypatch.setattr(_frames, "has_pandas", lambda: False)
    assert fit.params["educ"] == json.loads(fit.to_json())["coefficients"][1]["estimate"]
    low, high = fit.conf_int()["educ"]
    assert low < fit.params["educ"] < high
    rows = {"educ": [12], "exper": [10.0], "union": ["no"]}
    assert isinstance(fit.predict(rows), list)
    assert set(fit.predict(rows, interval=True)) == {"estimate", "low", "high"}
    assert set(fit.trajectory) == {"run", "step", *NAMES}


def test_prediction_only(wages):
    fit = dplm.lm(FORMULA, wages, rho=0.5, seed=3, purpose="prediction")
    assert fit.bse.isna().all()
    for ask in (fit.conf_int, lambda: fit.predict(wages, interval=True)):
        with pytest.raises(dplm.RequestError, match="nothing to make intervals from"):
            ask()
    assert len(fit.predict(wages)) == 3000


def test_what_cannot_be_told_is_not_a_number(wages_csv):
    # Words where the formula says numbers are missing cells, so there is nothing to be told.
    fit = dplm.lm("wage[0..60] ~ union[0..1]", wages_csv, rho=0.5, seed=3)
    assert fit.bse.isna().all() and fit.conf_int().isna().all(axis=None) and not any(fit.identified.values())
    assert any("'union' hold plain numbers" in warning for warning in fit.warnings)


def test_copies_and_pickles(fit):
    assert copy.copy(fit) is fit and copy.deepcopy([fit])[0] is fit
    with pytest.raises(TypeError, match="to_json"):
        pickle.dumps(fit)


def test_plots(fit, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    axes = fit.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == NAMES
    assert len(fit.plot("trajectory").get_lines()) == len(NAMES)
    assert fit.plot(ax=axes) is axes
    with pytest.raises(ValueError, match="kind"):
        fit.plot("pie")
    matplotlib.pyplot.close("all")
