"""The estimator: scikit-learn's own checks, and the rule that every fit is paid for."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dplm
from dplm.sklearn import BudgetError, PrivateLinearRegression


# No check is disabled or expected to fail. Two tags say what privacy means: scores may be poor on a few dozen rows (`poor_score`), and
# a missing feature is no error (`allow_nan`). Checks that fit twice set `random_state`, so the noise is the same.
@parametrize_with_checks(
    [
        PrivateLinearRegression(rho=100.0, budget=math.inf),
        PrivateLinearRegression(rho=100.0, bounds_X=(-20, 20), bounds_y=(-20, 20), budget=math.inf),
    ],
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, size=(4000, 3))
    return X, X @ [1.0, -0.5, 0.0] + 2 + rng.normal(size=4000)


def estimator(**options) -> PrivateLinearRegression:
    return PrivateLinearRegression(**({"rho": 0.2, "bounds_X": (0, 10), "bounds_y": (-10, 20), "random_state": 1} | options))


def test_a_fit(data):
    model = estimator().fit(*data)
    assert np.abs(model.coef_ - [1.0, -0.5, 0.0]).max() < 0.1 and abs(model.intercept_ - 2) < 0.6
    assert model.score(*data) > 0.8 and model.result_.guarantee.rho == 0.2
    assert model.predict([[5.0, 99.0, 0.0]]) == model.predict([[5.0, 10.0, 0.0]]), "moved to the bound"


def test_it_is_the_fit_of_lm(data):
    X, y = data
    table = {"y": y} | {f"x{j}": X[:, j] for j in range(3)}
    formula = "y[-10..20] ~ x0[0..10] + x1[0..10] + x2[0..10]"
    expected = dplm.lm(formula, table, rho=0.2, seed=1, purpose="prediction").params
    model = estimator().fit(X, y)
    assert [model.intercept_, *model.coef_] == list(expected)


def test_bounds_for_each_column_and_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["age of `x`", "b", "y"])
    named = estimator(bounds_X=([0, 0, 0], [10, 10, 10])).fit(frame, y)
    assert (named.coef_ == estimator().fit(X, y).coef_).all() and named.result_.names[1] == "x0"
    plain = estimator(purpose="inference").fit(frame.set_axis(["age in years", "b", "y"], axis=1), y)
    assert plain.result_.names == ["(Intercept)", "age in years", "b", "y"] and not plain.result_.bse.isna().any()
    without = estimator(fit_intercept=False).fit(X, y)
    assert without.intercept_ == 0.0 and without.coef_.shape == (3,)
    for wrong in ((1, 2, 3), 7, ([0, 0], [1, 1]), ("a", "b"), (3, 1)):
        with pytest.raises(ValueError):
            estimator(bounds_X=wrong).fit(X, y)


def test_missing_features_contribute_nothing(data):
    X, y = (part.copy() for part in data)
    X[::50, 0] = np.nan
    assert np.isfinite(estimator().fit(X, y).coef_).all()


def test_one_estimator_one_fit(data):
    model = estimator().fit(*data)
    with pytest.raises(BudgetError, match="have spent 0.2 of their 0.2"):
        model.fit(*data)
    with pytest.raises(BudgetError):
        copy.deepcopy(model).fit(*data)
    estimator(budget=0.4).fit(*data).fit(*data)
    assert isinstance(BudgetError(""), dplm.DplmError)


def test_a_clone_spends_from_the_account_of_its_original(data):
    with pytest.raises(BudgetError, match="this is a clone"):
        clone(estimator()).fit(*data)
    model = estimator(budget=0.4)
    first, second = clone(model), clone(clone(model))
    first.fit(*data)
    second.set_params(rho=0.15).fit(*data)
    with pytest.raises(BudgetError, match="have spent 0.35 of their 0.4"):
        model.fit(*data)


def test_cross_validation_is_refused_and_spends_nothing(data):
    model = estimator()
    with pytest.raises(ValueError, match="choose settings with dplm.plan"):
        cross_val_score(model, *data)
    with pytest.raises(ValueError, match="this is a clone"):
        GridSearchCV(make_pipeline(FunctionTransformer(), model), {}).fit(*data)
    model.fit(*data)


def test_cross_validation_with_a_budget_for_all_fits(data):
    assert (cross_val_score(estimator(budget=1.0), *data, cv=5) > 0.8).all()
    with pytest.raises(BudgetError):
        cross_val_score(estimator(budget=0.8), *data, cv=5, error_score="raise")


def test_pipelines_and_wrappers(data):
    assert make_pipeline(FunctionTransformer(), estimator()).fit(*data).score(*data) > 0.8
    assert TransformedTargetRegressor(estimator(budget=0.2)).fit(*data).score(*data) > 0.8


def test_pickles_predict_but_do_not_fit(data):
    model = estimator().fit(*data)
    away = pickle.loads(pickle.dumps(model))
    assert (away.predict(data[0]) == model.predict(data[0])).all() and not hasattr(away, "result_")
    with pytest.raises(BudgetError, match="another process"):
        pickle.loads(pickle.dumps(estimator())).fit(*data)


def test_a_refused_request_spends_nothing(data):
    model = estimator(method="magic")
    with pytest.raises(dplm.RequestError):
        model.fit(*data)
    model.set_params(method=None).fit(*data)


def test_with_a_ledger_the_ledger_keeps_account(data, tmp_path):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=1.0)
    model = estimator(ledger=ledger, dataset="rows", random_state=None)
    assert (cross_val_score(model, *data, cv=5) > 0.8).all()
    assert ledger.show("rows")["left"] == 0.0
    with pytest.raises(dplm.LedgerError, match="nothing was spent"):
        clone(model).fit(*data)
