"""The result object: what statsmodels users expect, all of it from released numbers."""

from __future__ import annotations

import copy
import json
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from common import FORMULA

import dplm

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
    assert list(fit.tvalues) == [one["statistic"] for one in facts["coefficients"]]
    assert list(fit.tvalues) == pytest.approx(list(fit.params / fit.bse)) and (fit.df > 10).all()
    ends = fit.conf_int()
    assert ((fit.pvalues < 0.05) == ((ends["low"] > 0) | (ends["high"] < 0))).all()
    assert fit.residual_sd == dplm.Bounded(**facts["residual_sd"]) and fit.rsquared == facts["r_squared"]["estimate"]
    assert fit.residual_sd.low < 4 < fit.residual_sd.high, "the truth"
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
    # Least squares is claimed where the budget affords a clip that cannot bend it: some 5,000 for
    # rows times rho.
    assert fit.target == "robust" == facts["target"] and fit.target_text == facts["target_text"]
    assert fit.target_text.startswith("the robust (Huber) coefficients of the population")
    for target, start in {
        "population": "the least-squares coefficients of the population",
        "sample": "the least-squares coefficients of this data set",
    }.items():
        ample = dplm.lm(FORMULA, wages, rho=8, seed=3, target=target)
        assert ample.target == target and ample.target_text.startswith(start)
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
        assert "<table>" in html and "union<wbr>[yes]" in html and "<style" not in html and "Not private" in html
    assert repr(fit).startswith("<dplm.Fit of 'wage[0..60] ~")


def test_page(fit, tmp_path):
    page = fit.to_html(tmp_path / "fit.html", title="Wages & schools", author="The office", data_name="wages 2026")
    assert (tmp_path / "fit.html").read_text(encoding="utf-8") == page and page.startswith("<!doctype html>")
    for words in ("<h1>Wages &amp; schools</h1>", "<dd>The office</dd>", "<dd>wages 2026</dd>"):
        assert words in page and words not in fit.to_html()


MEAN = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]


def test_predictions_as_statsmodels_has_them(fit):
    rows = pd.DataFrame({"educ": [12, 16], "exper": [10.0, 20.0], "union": ["yes", "no"]}, index=["a", "b"])
    found = fit.get_prediction(rows)
    table = found.summary_frame(alpha=0.1)
    assert list(table.columns) == [*MEAN, "obs_ci_lower", "obs_ci_upper"] and list(table.index) == ["a", "b"]
    usual = fit.predict(rows, interval=True, level=0.9)
    for ours, theirs in [("estimate", "mean"), ("low", "mean_ci_lower"), ("high", "mean_ci_upper")]:
        assert list(usual[ours]) == list(table[theirs])
    assert list(found.predicted_mean) == list(table["mean"]) and list(found.se_mean) == list(table["mean_se"])
    assert found.conf_int(0.1).tolist() == found.conf_int(level=0.9).tolist() == usual[["low", "high"]].to_numpy().tolist()
    x = np.array([[1, 12, 10, 1], [1, 16, 20, 0]])
    assert list(found.se_mean**2) == pytest.approx(np.diag(x @ fit.cov_params().to_numpy() @ x.T), rel=1e-6)
    half = (table["obs_ci_upper"] - table["obs_ci_lower"]) / 2
    assert list(half) == pytest.approx([1.645 * (fit.residual_sd.estimate**2 + se**2) ** 0.5 for se in found.se_mean], rel=0.02)
    with pytest.raises(dplm.RequestError, match="not both"):
        found.conf_int(0.1, level=0.9)
    unspread = dplm.lm("wage ~ educ", {"wage": [0.1, 1.2] * 99, "educ": [1, 0] * 99}, rho=9, standardised=True, seed=1, interval="batched")
    assert unspread.residual_sd is None and math.isnan(unspread.rsquared)
    assert unspread.get_prediction({"educ": [1]}).summary_frame()["obs_ci_lower"].isna().all()


def test_hypotheses(fit):
    alone = fit.t_test("educ = 0")
    assert alone.effect[0] == pytest.approx(fit.params["educ"]) and alone.sd[0] == pytest.approx(fit.bse["educ"])
    assert alone.tvalue[0] == pytest.approx(fit.tvalues["educ"]) and alone.pvalue[0] == pytest.approx(fit.pvalues["educ"])
    assert alone.conf_int(0.05)[0] == pytest.approx(fit.conf_int(0.05).loc["educ"].to_numpy())
    both = fit.t_test("educ - 2*exper = 0.5, union[yes]")
    frame = both.summary_frame(alpha=0.01)
    assert list(frame.columns) == ["coef", "std err", "t", "P>|t|", "Conf. Int. Low", "Conf. Int. Upp."]
    assert list(frame.index) == ["educ - 2*exper = 0.5", "union[yes]"] and "union[yes]" in repr(both)
    assert both.effect[0] == pytest.approx(fit.params["educ"] - 2 * fit.params["exper"]) and both.null_value[0] == 0.5
    assert frame["Conf. Int. Low"].iloc[0] < both.conf_int()[0][0] and "<table" in both._repr_html_()
    by_matrix = fit.t_test(([[0, 1, -2, 0], [0, 0, 0, 1]], [0.5, 0]))
    assert by_matrix.pvalue.tolist() == both.pvalue.tolist()
    assert fit.t_test([0, 1, 0, 0]).effect[0] == pytest.approx(fit.params["educ"])


def test_joint_hypotheses(fit, wages):
    found = fit.wald_test("educ = 0, exper = 0")
    assert (found.df_num, found.distribution, found.df_denom) == (2, "chi2", math.inf) and found.pvalue < 1e-6
    assert fit.wald_test(["educ = 1.1", "exper = 0.15", "union[yes] = 2.5"]).pvalue > 1e-4, "the truth"
    names = ["educ", "exper"]
    apart = fit.bse[names] * [1.5, -1]
    near = fit.wald_test(", ".join(f"{name} = {fit.params[name] - apart[name]}" for name in names))
    by_covariance = apart @ np.linalg.inv(fit.cov_params().loc[names, names]) @ apart
    assert near.statistic == pytest.approx(by_covariance, rel=0.05), "near the estimates it is Wald's own"
    assert "chi2(2)" in repr(found)
    batched = dplm.lm("wage ~ educ + exper", wages, rho=1, standardised=True, seed=1, interval="batched", batches=8)
    joint = batched.wald_test("educ = 0, exper = 0")
    assert (joint.distribution, joint.df_denom) == ("F", 6) and batched.t_test("educ").df_denom == 7
    for nonsense, words in [("age = 0", "no coefficient is named 'age'"), ("educ = 0, educ = 0", "repeat"), ([1, 2], "2 weights"), (object(), "text such as")]:
        with pytest.raises(dplm.RequestError, match=words):
            fit.wald_test(nonsense)


def test_over_a_column(fit):
    band = fit.over("exper", at={"educ": 12, "union": "yes"})
    assert band.index.name == "exper" and (band.index[0], band.index[-1]) == (0, 45)
    assert band.attrs["held"] == ["educ = 12", "union = yes"]
    ends = fit.predict({"educ": [12, 12], "exper": [0, 45], "union": ["yes", "yes"]}, interval=True)
    assert band.iloc[[0, -1]][["estimate", "low", "high"]].to_numpy() == pytest.approx(ends.to_numpy())
    wide = fit.over("exper", at={"educ": 12, "union": "yes"}, simultaneous=True)
    ratio = (wide["high"] - wide["low"]) / (band["high"] - band["low"])
    assert ratio.to_numpy() == pytest.approx(5.9915**0.5 / 1.96, rel=0.01), "Scheffé's band of a line"
    means = fit.over("union", level=0.5)
    assert list(means.index) == ["no", "yes"] and (means["low"] > fit.over("union")["low"]).all()
    assert means["estimate"]["yes"] - means["estimate"]["no"] == pytest.approx(fit.params["union[yes]"])
    with pytest.raises(dplm.RequestError, match="no predictor 'wage'"):
        fit.over("wage")


def test_what_the_command_warns_of_is_warned_of(wages):
    twice = wages | {"months": [None if years is None else 12 * years for years in wages["exper"]]}
    with pytest.warns(dplm.FitWarning) as heard:
        fit = dplm.lm("wage[0..60] ~ educ[0..20] + exper[0..50] + months[0..600]", twice, rho=0.5, seed=3)
    told = [str(one.message) for one in heard]
    notes = [sentence for sentence in fit.warnings if sentence not in told]
    assert told == [sentence for sentence in fit.warnings if sentence not in notes]
    assert all("gradients are clipped" in note for note in notes), "what ordinary fits have is no warning"
    kinds = [one.category for one in heard]
    assert kinds.count(dplm.PrivacyWarning) == 1 and set(kinds) == {dplm.PrivacyWarning, dplm.FitWarning}
    assert all(one.filename == __file__ for one in heard)


def test_a_fit_is_not_lost_where_warnings_are_errors(wages):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((dplm.PrivacyWarning, dplm.FitWarning)) as raised:
            dplm.lm(FORMULA, wages, rho=0.5, seed=3)
    assert raised.value.fit == dplm.lm(FORMULA, wages, rho=0.5, seed=3)
    assert "its budget is spent" in raised.value.__notes__[0]


def test_what_statsmodels_has_is_answered(fit):
    """No such name is found, so that programs that ask take another way; people are told one."""
    for name, word in {"resid": "keeps no rows", "aic": "no likelihood", "HC1_se": "never assume", "fvalue": "wald_test"}.items():
        assert not hasattr(fit, name)
        with pytest.raises(AttributeError, match=word):
            getattr(fit, name)
    with pytest.raises(AttributeError, match="no attribute 'colour'$"):
        fit.colour


def test_prediction_only(wages):
    fit = dplm.lm(FORMULA, wages, rho=0.5, seed=3, purpose="prediction")
    assert fit.bse.isna().all()
    for ask in (fit.conf_int, lambda: fit.predict(wages, interval=True), fit.cov_params):
        with pytest.raises(dplm.RequestError, match="nothing to make .* from"):
            ask()
    assert len(fit.predict(wages)) == 3000


def test_what_cannot_be_told_is_not_a_number(wages_csv):
    # A column that hardly varies within its bounds, at a budget that cannot tell it from the
    # constant.
    fit = dplm.lm("wage[0..60] ~ educ[0..100000]", wages_csv, rho=0.5, seed=3)
    assert math.isnan(fit.bse["educ"]) and fit.conf_int().loc["educ"].isna().all() and not fit.identified["educ"]


def test_a_column_of_words_stops_the_fit_and_costs_a_count(wages_csv, tmp_path):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "wages", rho=1)
    asked = {"rho": 0.5, "ledger": ledger, "dataset": "wages"}
    with pytest.raises(dplm.FitError, match="the column 'union' holds no plain numbers.*; the ledger has recorded rho = 0.0") as stopped:
        dplm.lm("wage[0..60] ~ union[0..1]", wages_csv, **asked)
    account = ledger.show("wages")
    assert 0 < account["spent"] < 0.02 and f"{account['spent']:g}" in str(stopped.value)
    fit = dplm.lm("wage[0..60] ~ union{no,yes}", wages_csv, **asked)
    assert fit.rows_used.low <= fit.rows_used.estimate <= fit.nobs


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
    assert [label.get_text() for label in axes.get_yticklabels()] == NAMES[1:], "the intercept has another scale"
    dots, bars = axes.get_lines()[0].get_xdata(), axes.collections[0].get_segments()
    assert list(dots) == list(fit.params[1:])
    assert [[bar[0][0], bar[1][0]] for bar in bars] == fit.conf_int()[1:].to_numpy().tolist()
    low, high = axes.get_xlim()
    assert low < min(0, *fit.conf_int()["low"][1:]) and max(fit.conf_int()["high"][1:]) < high
    assert len(fit.plot("trajectory").get_lines()) == len(NAMES)
    assert fit.plot(ax=axes) is axes
    assert fit.plot_over("exper", at={"union": "no"}).get_xlabel() == "exper"
    assert [label.get_text() for label in fit.plot_over("union").get_xticklabels()] == ["no", "yes"]
    with pytest.raises(ValueError, match="kind"):
        fit.plot("pie")
    matplotlib.pyplot.close("all")
