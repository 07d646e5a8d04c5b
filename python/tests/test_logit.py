"""Logistic regression: what `dplm.glm` gives."""

from __future__ import annotations

import math

import pytest

import dplm

FORMULA = "union{no,yes} ~ educ[0..20] + exper[0..45]"


def test_odds_effects_and_probabilities(wages):
    fit = dplm.glm(FORMULA, wages, rho=1, seed=1)
    assert fit.family == "binomial" and "logistic" in str(fit.summary()).splitlines()[0]
    odds, usual, wide = fit.odds_ratios(), fit.conf_int(), fit.odds_ratios(0.01)
    assert list(odds.index) == ["educ", "exper"]
    assert odds["low"]["educ"] == pytest.approx(math.exp(usual["low"]["educ"]))
    assert wide["low"]["educ"] < odds["low"]["educ"] < odds["high"]["educ"] < wide["high"]["educ"]
    effects = fit.marginal_effects(level=0.9)
    assert ((effects["low"] < effects["estimate"]) & (effects["estimate"] < effects["high"])).all()
    assert 0 <= fit.r_squared.low < fit.prsquared < fit.r_squared.high <= 1 and "Pseudo R-squared" in str(fit.summary())
    predicted = fit.get_prediction({"educ": [8, 20], "exper": [0, 45]}).summary_frame()
    assert predicted["mean"].between(0, 1).all()


def test_lm_takes_the_family_and_least_squares_has_no_odds(wages):
    one, other = dplm.glm(FORMULA, wages, rho=1, seed=2), dplm.lm(FORMULA, wages, rho=1, seed=2, family="binomial")
    assert (one.params == other.params).all()
    linear = dplm.lm("wage[0..60] ~ educ[0..20]", wages, rho=1, seed=2)
    assert linear.family == "gaussian"
    with pytest.raises(dplm.RequestError, match="binomial"):
        linear.odds_ratios()
    with pytest.raises(dplm.RequestError, match="binomial"):
        _ = linear.prsquared


def test_counts_are_refused_with_what_to_fit_instead(wages):
    with pytest.raises(dplm.RequestError, match="gaussian, binomial .* counts; a logit of whether there are any"):
        dplm.glm("wage[0..60] ~ educ[0..20]", wages, family="poisson", rho=1)
    with pytest.raises(dplm.RequestError, match="one of two levels"):
        dplm.glm("union{no,yes,maybe} ~ educ[0..20]", wages, rho=1)


def test_a_logit_is_refined(wages):
    # Ten times the budget: what is saved is more than the noise of a standard error.
    first = dplm.glm(FORMULA, wages, rho=0.05, seed=1)
    both = dplm.refine(first, wages, rho=0.5, seed=101)
    assert (both.bse < first.bse).all() and both.family == "binomial" and both.rsquared == first.rsquared
