"""The estimator: scikit-learn's own checks, and the rule that every fit is paid for."""

from __future__ import annotations

import copy
import inspect
import math
import multiprocessing
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import AdaBoostRegressor, BaggingRegressor, VotingRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dplm
from dplm._given import OPTIONS
from dplm.sklearn import BudgetError, PrivateLinearRegression


# No check is disabled or expected to fail. Two tags say what privacy means: scores may be poor on a
# few dozen rows (`poor_score`), and a missing feature is no error (`allow_nan`). Checks that fit
# twice set `random_state`, so the noise is the same.
@parametrize_with_checks(
    [
        PrivateLinearRegression(rho=100.0, standardised=True, budget=math.inf),
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
    return PrivateLinearRegression(**({"rho": 0.2, "bounds_X": (0, 10), "bounds_y": (-10, 20)} | options))


def seeded(**options) -> PrivateLinearRegression:
    return estimator(random_state=1, **options)


def test_a_column_that_is_left_out_counts_as_zero(data):
    X, y = data
    model = seeded(purpose="inference").fit(np.column_stack([X, X[:, 0]]), y)
    assert model.result_.left_out == ["x3"] and math.isnan(model.result_.params["x3"]) and model.coef_[3] == 0.0
    assert np.isfinite(model.predict(np.column_stack([X, X[:, 0]]))).all()


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
    model = seeded().fit(X, y)
    assert [model.intercept_, *model.coef_] == list(expected)


def test_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["age of `x`", "b", "y"])
    named = seeded().fit(frame, y)
    assert (named.coef_ == seeded().fit(X, y).coef_).all() and named.result_.names[1] == "x0"
    plain = estimator(purpose="inference").fit(frame.set_axis(["age in years", "b", "y"], axis=1), y)
    assert plain.result_.names == ["(Intercept)", "age in years", "b", "y"] and not plain.result_.bse.isna().any()
    without = estimator(fit_intercept=False).fit(X, y)
    assert without.intercept_ == 0.0 and without.coef_.shape == (3,)


def formula_of(X, y, **options) -> str:
    return estimator(**options).fit(X, y).result_.formula


def test_bounds_are_pairs_one_for_each_column(data):
    X, y = data[0][:, :2], data[1]
    expected = "y[-10..20] ~ x0[0..20] + x1[16..70]"
    for pairs in ([(0, 20), (16, 70)], ((0, 20), (16, 70)), [[0, 20], [16, 70]], np.array([[0, 20], [16, 70]])):
        assert formula_of(X, y, bounds_X=pairs) == expected
    frame = pd.DataFrame(X, columns=["educ", "age"])
    by_name = {"age": (16, 70), "educ": (0, 20)}
    assert formula_of(frame, y, bounds_X=by_name) == "y[-10..20] ~ educ[0..20] + age[16..70]"
    assert formula_of(frame, y, bounds_X=(0, 10)) == "y[-10..20] ~ educ[0..10] + age[0..10]"
    model = estimator(bounds_X=by_name).fit(frame, y)
    far, at_the_bounds = (pd.DataFrame({"educ": [educ], "age": [age]}) for educ, age in ((99.0, -5.0), (20.0, 16.0)))
    assert model.predict(far) == model.predict(at_the_bounds), "moved to the bounds of its own column"


@pytest.mark.parametrize(
    ("columns", "wrong", "sentence"),
    [
        (2, ([0, 16], [20, 70]), "could be two pairs or lows and highs"),
        (2, (np.array([0, 16]), np.array([20, 70])), "could be two pairs or lows and highs"),
        (3, ([0, 0, 0], [10, 10, 10]), r"list\(zip\(lows, highs\)\)"),
        (3, [(0, 10), (0, 10)], "one pair for each of the 3 columns"),
        (3, (1, 2, 3), "one pair"),
        (3, 7, "one pair"),
        (3, [(0, 10), 3, None], "one pair"),
        (3, ("a", "b"), "low below high"),
        (3, (3, 1), "low below high"),
        (3, (0, math.inf), "low below high"),
        (3, {"educ": (0, 20)}, "the columns have no names"),
    ],
)
def test_bounds_that_are_ambiguous_or_wrong_are_refused(data, columns, wrong, sentence):
    model = estimator(bounds_X=wrong)
    with pytest.raises(dplm.RequestError, match=sentence):
        model.fit(data[0][:, :columns], data[1])
    model.set_params(bounds_X=(0, 10)).fit(*data)


def test_a_column_without_bounds_must_be_said_to_be_standardised(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for without in ({"bounds_X": None}, {"bounds_y": None}, {"bounds_X": {"a": (0, 10), "b": (0, 10)}}):
        with pytest.raises(dplm.RequestError, match="standardised=True"):
            estimator(**without).fit(frame, y)
        estimator(**without, standardised=True).fit(frame, y)
    estimator(bounds_X=None, bounds_y=None, method="dpgd").fit(frame, y)
    with pytest.raises(dplm.RequestError, match="bounds_X names 'd', which is not a column"):
        estimator(bounds_X={"d": (0, 1)}).fit(frame, y)


def test_missing_features_contribute_nothing(data):
    X, y = (part.copy() for part in data)
    X[::50, 0] = np.nan
    assert np.isfinite(estimator().fit(X, y).coef_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("secret", ["xyzzy-4711", {"xyzzy-4711": 1}, complex(4711, 1), b"xyzzy-4711"])
def test_no_cell_is_in_a_message(data, secret):
    """Any features or response are refused without quoting a cell, or read as missing."""
    X, y = (part[:50].astype(object) for part in data)
    X[3, 1], y[7] = secret, secret
    ragged = [list(row) for row in X[:9]] + [[secret]]
    shapes = [X, X[:, 1], X.reshape(2, 25, 3), X.tolist(), pd.DataFrame(X), ragged, X[3:4, 1:2]]
    model = estimator(budget=math.inf).fit(*data)
    for features in shapes:
        for call in (lambda: estimator().fit(features, data[1][:50]), lambda: model.predict(features)):  # noqa: B023
            try:
                call()
            except (TypeError, ValueError) as refusal:
                assert "4711" not in str(refusal) and "4711" not in str(refusal.__cause__), str(refusal)
    for response in (y, y.tolist(), pd.Series(y), y.reshape(-1, 1), y.reshape(25, 2)):
        for call in (lambda: estimator().fit(data[0][:50], response), lambda: model.score(data[0][:50], response)):  # noqa: B023
            with pytest.raises((TypeError, ValueError)) as refused:
                call()
            assert "4711" not in str(refused.value) and "4711" not in str(refused.value.__cause__)


def test_features_are_read_cell_by_cell(data):
    X, y = (part[:200] for part in data)
    expected = seeded().fit(np.where(np.arange(200)[:, None] == 5, np.nan, X), y).coef_
    odd = X.astype(object)
    odd[5] = ["no number", None, np.datetime64("2026-01-01")]
    masked = np.ma.array(X, mask=np.arange(200)[:, None] == np.full((1, 3), 5))
    frame = pd.DataFrame(odd)
    text = pd.DataFrame({name: frame[name].map(str).astype(object) for name in frame})
    for features in (odd, odd.tolist(), frame, text, text.to_numpy().tolist(), masked):
        assert (seeded().fit(features, y).coef_ == expected).all()
    with pytest.raises(dplm.DataError, match="holds dates"):
        estimator().fit(frame.assign(when=pd.Timestamp("2026-01-01")).set_axis(list("abcd"), axis=1), y)


def test_declared_text_is_refused_as_by_scikit_learn_and_without_a_cell(data):
    X, y = (part[:200] for part in data)
    frame = pd.DataFrame(X, columns=["age", "ethnicity", "education"])
    words = ["xyzzy", "4711"] * 100
    for kind in ("str", "string[python]", "category", pd.ArrowDtype(pa.string())):
        told = frame.assign(ethnicity=pd.Series(words, dtype=kind))
        for features in (told, pl.DataFrame(told), pa.table(told)):
            model = estimator()
            with pytest.raises(ValueError, match="column 'ethnicity' holds text or categories") as refusal:
                model.fit(features, y)
            assert "xyzzy" not in str(refusal.value) and 'pd.to_numeric(df["ethnicity"]' in str(refusal.value)
            assert model.fit(frame, y) is model, "nothing was spent"
            with pytest.raises(ValueError, match="holds text or categories"):
                model.predict(features)
    for features, response in ((np.array(X, dtype="U"), y), (np.array(X, dtype="S"), y), (X, np.array(y, dtype="U")), (X, pd.Series(words, dtype="str"))):
        with pytest.raises(ValueError, match="holds text or categories"):
            estimator().fit(features, response)


def test_a_seed_warns_and_is_never_accounted_for(data, tmp_path):
    with pytest.warns(dplm.PrivacyWarning, match="not private") as heard:
        seeded().fit(*data)
    assert heard[0].filename == __file__
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=1.0)
    for account in ({"budget": 1.0}, {"ledger": ledger, "dataset": "rows"}, {"ledger": ledger, "dataset": "rows", "budget": math.inf}):
        for seed in (0, np.random.RandomState(0)):
            model = estimator(random_state=seed, **account)
            with pytest.raises(dplm.RequestError, match="no budget or ledger can account for a fit that is not private"):
                model.fit(*data)
            model.set_params(random_state=None).fit(*data)
    # Each of the four fits is charged twice: for its count of usable rows, and for the rest.
    assert [entry["kind"] for entry in ledger.show("rows")["entries"]] == ["init"] + ["spend"] * 8
    seeded(budget=math.inf).fit(*data).fit(*data)


@pytest.mark.parametrize("budget", [None, 1.0])
@pytest.mark.parametrize(
    "ensemble",
    [
        lambda one: BaggingRegressor(one, n_estimators=1),
        lambda one: BaggingRegressor(make_pipeline(FunctionTransformer(), one), n_estimators=1),
        lambda one: BaggingRegressor(one, n_estimators=1, bootstrap=False),
        lambda one: AdaBoostRegressor(one, n_estimators=1),
        lambda one: RANSACRegressor(one, max_trials=1, min_samples=0.5),
    ],
)
def test_ensembles_that_repeat_or_choose_rows_are_refused(data, ensemble, budget):
    model = estimator(budget=budget)
    with pytest.raises(dplm.RequestError, match="as bagging, boosting and RANSAC do"):
        ensemble(model).fit(*data)
    model.fit(*data)


def test_bagging_of_public_data(data):
    BaggingRegressor(estimator(budget=math.inf), n_estimators=2).fit(*data)


def test_a_score_is_not_private_and_says_so(data):
    with pytest.warns(dplm.PrivacyWarning, match="score looks at the rows") as heard:
        assert estimator().fit(*data).score(*data) > 0.8
    assert heard[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimator(budget=math.inf).fit(*data).score(*data) > 0.8


def test_one_fit_for_the_estimator_and_its_clones(data):
    model = estimator().fit(*data)
    with pytest.raises(BudgetError, match="have spent 0.2 of their 0.2"):
        model.fit(*data)
    with pytest.raises(BudgetError):
        clone(model).fit(*data)
    with pytest.raises(BudgetError):
        copy.deepcopy(model).fit(*data)
    estimator(budget=0.4).fit(*data).fit(*data)
    assert isinstance(BudgetError(""), dplm.DplmError)


def test_a_clone_spends_from_the_account_of_its_original(data):
    model = estimator()
    clone(model).fit(*data)
    for other in (model, clone(model), clone(clone(model))):
        with pytest.raises(BudgetError, match="have spent 0.2 of their 0.2"):
            other.fit(*data)
    model = estimator(budget=0.4)
    first, second = clone(model), clone(clone(model))
    first.fit(*data)
    second.set_params(rho=0.15).fit(*data)
    with pytest.raises(BudgetError, match="have spent 0.35 of their 0.4"):
        model.fit(*data)


def test_the_second_fold_of_cross_validation_is_refused(data):
    with pytest.raises(BudgetError, match="choose settings with dplm.plan"):
        cross_val_score(estimator(), *data, error_score="raise")
    with pytest.warns(FitFailedWarning, match="4 fits failed out of a total of 5"):
        scores = cross_val_score(estimator(), *data)
    assert np.isnan(scores).sum() == 4, "one fold was paid for"
    with pytest.raises(BudgetError, match="choose settings with dplm.plan"):
        GridSearchCV(make_pipeline(FunctionTransformer(), estimator()), {}, error_score="raise").fit(*data)


def test_cross_validation_with_a_budget_for_all_fits(data):
    assert (cross_val_score(estimator(budget=1.0), *data, cv=5) > 0.8).all()
    with pytest.raises(BudgetError):
        cross_val_score(estimator(budget=0.8), *data, cv=5, error_score="raise")


def test_pipelines_and_wrappers(data):
    assert make_pipeline(FunctionTransformer(), estimator()).fit(*data).score(*data) > 0.8
    assert TransformedTargetRegressor(estimator()).fit(*data).score(*data) > 0.8
    assert TransformedTargetRegressor(estimator(bounds_y=(-4, 5)), func=np.cbrt, inverse_func=lambda z: z**3).fit(*data)
    assert VotingRegressor([("one", estimator())]).fit(*data).score(*data) > 0.8


@pytest.mark.parametrize("several", [MultiOutputRegressor, RegressorChain])
def test_each_output_is_a_fit(data, several):
    X, y = data
    both = np.column_stack([y, y])
    assert several(estimator(bounds_X=(-20, 20))).fit(X, both[:, :1]).score(X, both[:, :1]) > 0.8
    with pytest.raises(BudgetError, match="have spent 0.2 of their 0.2"):
        several(estimator(bounds_X=(-20, 20))).fit(X, both)
    assert several(estimator(bounds_X=(-20, 20), budget=0.4)).fit(X, both).score(X, both) > 0.8


def test_pickles_predict_but_do_not_fit(data):
    model = estimator().fit(*data)
    away = pickle.loads(pickle.dumps(model))
    assert (away.predict(data[0]) == model.predict(data[0])).all() and away.result_ == model.result_
    with pytest.raises(BudgetError, match="another process"):
        pickle.loads(pickle.dumps(estimator())).fit(*data)


def test_fits_in_other_processes_are_refused(data):
    """Each process would have an account of its own, and so would clones made there."""
    X, y = data
    with pytest.raises(BudgetError, match="another process"):
        clone(pickle.loads(pickle.dumps(estimator(budget=1.0)))).fit(X, y)
    with pytest.raises(BudgetError, match="another process"):
        MultiOutputRegressor(estimator(budget=1.0), n_jobs=2).fit(X, np.column_stack([y, y]))


def test_a_refused_request_spends_nothing(data):
    model = estimator(method="magic")
    with pytest.raises(dplm.RequestError):
        model.fit(*data)
    model.set_params(method=None).fit(*data)


@pytest.mark.parametrize("budget", [math.nan, "nan", "inf", "1", -1, -math.inf, 0, True, [1.0]])
def test_a_budget_is_a_positive_number(data, budget):
    model = estimator(budget=budget)
    with pytest.raises(dplm.RequestError, match="budget must be a positive number"):
        model.fit(*data)
    model.set_params(budget=np.float32(0.2)).set_params(budget=None).fit(*data)


def fitted_in_child(model, data, answer) -> None:
    try:
        answer.put(type(model.fit(*data)).__name__)
    except Exception as refusal:
        answer.put(f"{type(refusal).__name__}: {refusal}")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_spend(data):
    fork, X, y = multiprocessing.get_context("fork"), data[0][:500], data[1][:500]
    model = estimator()
    for one, expected in ((model, "another process"), (clone(model), "another process"), (estimator(budget=math.inf), "PrivateLinearRegression")):
        answer = fork.Queue()
        child = fork.Process(target=fitted_in_child, args=(one, (X, y), answer))
        child.start()
        assert expected in answer.get(timeout=60)
        child.join()
    model.fit(X, y)


def test_fits_that_no_budget_limits_count_when_one_does(data, tmp_path):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=0.3)
    for unlimited in ({"ledger": ledger, "dataset": "rows"}, {"budget": math.inf}):
        model = estimator(**unlimited).fit(*data)
        for one in (model, clone(model)):
            with pytest.raises(BudgetError, match="have spent 0.2 of their 0.2"):
                one.set_params(ledger=None, dataset=None, budget=None).fit(*data)
    refused = estimator(ledger=ledger, dataset="rows")
    with pytest.raises(dplm.LedgerError):
        refused.fit(*data)
    refused.set_params(ledger=None, dataset=None).fit(*data)


def test_features_that_cannot_be_read_leave_no_trace(data):
    class Failing:
        shape = (4000, 3)
        reads = 0

        def __array__(self, *_: object, **__: object):
            self.reads += 1
            if self.reads > self.last:
                raise ValueError("xyzzy-4711")
            return data[0]

    for last in (0, 1):
        for call in (lambda one: estimator().fit(one, data[1]), lambda one: estimator().fit(data[0], one), estimator().fit(*data).predict):
            failing = Failing()
            failing.last = last
            try:
                call(failing)
            except ValueError as refusal:
                assert "4711" not in str(refusal) and refusal.__cause__ is None and refusal.__context__ is None


def test_a_number_too_large_for_a_double_warns_of_nothing(data):
    X = data[0].astype(np.longdouble)
    X[3, 1] = np.longdouble("1e4000")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = estimator(budget=math.inf).fit(X, data[1]).fit(X.tolist(), data[1])
        model.predict(X), model.predict(X.astype(object))
    assert not heard


def test_with_a_ledger_the_ledger_keeps_account(data, tmp_path):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=1.0)
    model = estimator(ledger=ledger, dataset="rows")
    assert (cross_val_score(model, *data, cv=5) > 0.8).all()
    assert ledger.show("rows")["left"] == 0.0
    with pytest.raises(dplm.LedgerError, match="nothing was spent"):
        clone(model).fit(*data)


def test_its_options_are_those_of_the_table():
    own = {"bounds_X", "bounds_y", "fit_intercept", "budget", "random_state"}
    # Few who predict want to pay for intervals.
    other_default = {"purpose": "prediction"}
    parameters = inspect.signature(PrivateLinearRegression).parameters
    assert own <= set(parameters) and set(parameters) - own <= set(OPTIONS)
    for name in set(parameters) - own:
        assert parameters[name].default == other_default.get(name, OPTIONS[name][2]), name
