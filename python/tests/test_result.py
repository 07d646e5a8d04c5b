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
    narrow, wide = fit.conf_int(0.5), fit.conf_int(0.001)
    assert (wide["low"] < usual["low"]).all() and (usual["low"] < narrow["low"]).all()
    assert (wide["high"] > usual["high"]).all() and (usual["high"] > narrow["high"]).all()
    assert fit.conf_int(level=0.999).equals(wide) and fit.conf_int(alpha=0.05).equals(usual)
    with pytest.raises(ValueError, match="level"):
        fit.conf_int(1.0)
    with pytest.raises(dplm.RequestError, match="not both"):
        fit.conf_int(0.05, level=0.95)


def test_the_covariance(fit, facts):
    covariance = fit.cov_params()
    assert list(covariance.index) == list(covariance.columns) == NAMES
    assert covariance.to_numpy().tolist() == facts["covariance"]["values"]
    for name in NAMES:
        assert covariance[name][name] ** 0.5 == pytest.approx(fit.bse[name], rel=1e-9)


def test_what_the_intervals_are_for(fit, facts, wages):
    assert fit.target == "population" == facts["target"] and fit.target_text == facts["target_text"]
    assert fit.target_text.startswith("the least-squares coefficients of the population")
    sample = dplm.lm(FORMULA, wages, rho=0.5, seed=3, target="sample")
    assert sample.target_text.startswith("the least-squares coefficients of this data set")
    assert fit.left_out == [] and fit.date == facts["date"]


def test_what_is_left_out(wages):
    twice = wages | {"months": [None if years is None else 12 * years for years in wages["exper"]]}
    fit = dplm.lm("wage[0..60] ~ educ[0..20] + exper[0..50] + months[0..600]", twice, rho=0.5, seed=3)
    assert fit.left_out == ["months"] and "in the model without 'months'" in fit.target_text
    assert fit.identified == {"(Intercept)": True, "educ": True, "exper": True, "months": False}
    assert fit.params.isna().tolist() == [False, False, False, True] and math.isnan(fit.tvalues["months"])
    assert list(fit.cov_params().index) == ["(Intercept)", "educ", "exper"]
    [cause] = [warning for warning in fit.warnings if "months" in warning]
    assert "nearly a combination of" in cause
    found = fit.predict({"educ": [10, 10], "exper": [5.0, 5.0], "months": [0.0, 60.0]})
    b = fit.params
    assert found[0] == found[1] == pytest.approx(b["(Intercept)"] + 10 * b["educ"] + 5 * b["exper"])


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
    assert fit.cov_params()["educ"]["educ"] ** 0.5 == pytest.approx(fit.bse["educ"])
    assert set(fit.trajectory) == {"run", "step", *NAMES}


def test_prediction_only(wages):
    fit = dplm.lm(FORMULA, wages, rho=0.5, seed=3, purpose="prediction")
    assert fit.bse.isna().all()
    for ask in (fit.conf_int, lambda: fit.predict(wages, interval=True), fit.cov_params):
        with pytest.raises(dplm.RequestError, match="nothing to make .* from"):
            ask()
    assert len(fit.predict(wages)) == 3000


def test_what_cannot_be_told_is_not_a_number(wages_csv):
    # Words where the formula says numbers are missing cells, so there is nothing to be told.
    fit = dplm.lm("wage[0..60] ~ union[0..1]", wages_csv, rho=0.5, seed=3)
    assert fit.bse.isna().all() and fit.conf_int().isna().all(axis=None) and not any(fit.identified.values())
    assert any("'union' hold plain numbers" in warning for warning in fit.warnings)


def test_copies_and_pickles(fit):
    assert copy.copy(fit) is fit and copy.deepcopy([fit])[0] is fit
    assert same(pickle.loads(pickle.dumps(fit)), fit)


def same(one: dplm.Fit, other: dplm.Fit) -> bool:
    """Whether two fits answer alike, to the last bit."""
    rows = {"educ": [12, 8], "exper": [10.0, None], "union": ["yes", "no"]}
    asked = [
        lambda fit: fit.conf_int(0.003),
        lambda fit: fit.cov_params(),
        lambda fit: fit.trajectory,
        lambda fit: fit.predict(rows, interval=True, level=0.9),
    ]
    return one == other and hash(one) == hash(other) and all(ask(one).equals(ask(other)) for ask in asked)


def test_files(fit, tmp_path, wages, wages_csv, command):
    import joblib

    fit.save(tmp_path / "fit.json")
    assert (tmp_path / "fit.json").read_text(encoding="utf-8") == fit.to_json()
    assert same(dplm.load(tmp_path / "fit.json"), fit) and same(dplm.load(str(tmp_path / "fit.json")), fit)
    joblib.dump([fit], tmp_path / "fit.joblib")
    assert same(joblib.load(tmp_path / "fit.joblib")[0], fit)
    command("fit", wages_csv, "--formula", FORMULA, "--rho", 0.5, "--seed", 3, "--json", tmp_path / "typed.json")
    assert same(dplm.load(tmp_path / "typed.json"), fit)
    assert fit != dplm.lm(FORMULA, wages, rho=0.5, seed=4) and fit != "a fit"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "this is not a fit"),
        ('{"schema": 2}', "this is not a fit"),
        ('{"dplm": "0.1.0", "coefficients": []}', "written by an older version"),
        ('{"dplm": "7.0", "schema": 7}', r"written by a newer version of dplm \(7.0\)"),
        ('{"dplm": "0.1.0", "schema": 2, "fit": {}}', "damaged"),
    ],
)
def test_what_is_no_fit_is_not_loaded(text, words, tmp_path):
    (tmp_path / "fit.json").write_text(text)
    with pytest.raises(dplm.DataError, match=words):
        dplm.load(tmp_path / "fit.json")
    with pytest.raises(dplm.DataError, match="could not be read"):
        dplm.load(tmp_path / "none.json")


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
