"""No message holds a cell of a column that is given by mistake.

The column is given as any argument of any function.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from common import FORMULA

import dplm
from dplm.sklearn import PrivateLinearRegression

CELLS = ["Alice Xyzzy", "Bob Plugh", "Carol Frotz"]
SECRETS = ["Alice", "Xyzzy", "Bob", "Plugh", "Carol", "Frotz", "471147", "471148"]

VECTORS: dict[str, Callable[[], Any]] = {
    "list": lambda: list(CELLS),
    "tuple": lambda: tuple(CELLS),
    "pandas": lambda: pd.Series(CELLS),
    "pandas object": lambda: pd.Series(CELLS, dtype=object),
    "pandas index": lambda: pd.Index(CELLS),
    "category": lambda: pd.Series(CELLS, dtype="category"),
    "NumPy": lambda: np.array(CELLS),
    "NumPy object": lambda: np.array(CELLS, dtype=object),
    "one cell": lambda: np.array(CELLS[:1]),
    "polars": lambda: pl.Series(CELLS),
    "pyarrow": lambda: pa.array(CELLS),
    "numbers": lambda: pd.Series([471147.0, 471148.0]),
    "one number": lambda: np.array([471147]),
    "bytes": lambda: b"Alice Xyzzy",
}


@pytest.fixture(scope="module")
def fit(wages) -> dplm.Fit:
    return dplm.lm(FORMULA, wages, rho=0.5)


@pytest.fixture
def ledger(tmp_path) -> dplm.Ledger:
    return dplm.Ledger.init(tmp_path / "budget.db", "wages", rho=100.0)


def usual(wages: Any, fit: dplm.Fit, ledger: dplm.Ledger, tmp_path: Any) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public function, with arguments that it takes."""
    frame = pd.DataFrame(wages)[["educ", "exper"]]
    bounds = {"rho": 0.5, "bounds_X": (0, 60), "bounds_y": (0, 60), "budget": None}

    def estimated(X: Any, y: Any, **options: Any) -> Any:
        return PrivateLinearRegression(**{**bounds, **options}).fit(X, y)

    def scored(X: Any, y: Any, sample_weight: Any) -> Any:
        return PrivateLinearRegression(**bounds).fit(frame, wages["wage"]).score(X, y, sample_weight)

    def initialised(file: Any, dataset: Any, **more: Any) -> Any:
        return dplm.Ledger.init(file, dataset, **more)

    estimator = {"X": frame, "y": wages["wage"]} | {name: None for name in inspect.signature(PrivateLinearRegression).parameters} | bounds
    estimator |= {"standardised": False, "fit_intercept": True, "purpose": "prediction"}
    return {
        "lm": (dplm.lm, {"formula": FORMULA, "data": wages, "rho": 0.5}),
        "study": (dplm.study, {"specifications": {"one": FORMULA}, "data": wages, "rho": 0.5}),
        "refine": (dplm.refine, {"fit": fit, "data": wages, "rho": 0.5}),
        "plan": (dplm.plan, {"formula": FORMULA, "rows": 1000, "rho": 0.5}),
        "simulate": (dplm.simulate, {"rows": 10, "features": 2}),
        "load": (dplm.load, {"path": None}),
        "Ledger": (dplm.Ledger, {"file": ledger.file}),
        "Ledger.init": (initialised, {"file": tmp_path / "new.db", "dataset": "x", "rho": 0.5, "delta": 1e-6, "note": ""}),
        "Ledger.grant": (ledger.grant, {"dataset": "wages", "rho": 0.5, "note": ""}),
        "Ledger.limit": (ledger.limit, {"dataset": "wages", "rho": 0.5}),
        "Ledger.record": (ledger.record, {"dataset": "wages", "rho": 0.5, "what": "mean"}),
        "Ledger.reverse": (ledger.reverse, {"entry": 1, "reason": "mistake"}),
        "Ledger.report": (ledger.report, {"file": tmp_path / "page.html"}),
        "Ledger.back_up": (ledger.back_up, {"copy": tmp_path / "copy.db"}),
        "Ledger.show": (ledger.show, {"dataset": "wages"}),
        "Ledger.verify": (ledger.verify, {}),
        "Fit.predict": (fit.predict, {"data": wages}),
        "Fit.get_prediction": (fit.get_prediction, {"data": wages}),
        "Fit.conf_int": (fit.conf_int, {}),
        "Fit.t_test": (fit.t_test, {"hypothesis": "educ = 0"}),
        "Fit.wald_test": (fit.wald_test, {"hypothesis": "educ = 0"}),
        "Fit.over": (fit.over, {"column": "educ"}),
        "Fit.plot": (fit.plot, {}),
        "Fit.save": (fit.save, {"path": tmp_path / "fit.json"}),
        "Fit.to_html": (fit.to_html, {}),
        "estimator": (estimated, estimator),
        "estimator.score": (scored, {"X": frame, "y": wages["wage"], "sample_weight": None}),
    }


def told(error: BaseException) -> str:
    """All text of an exception and of those linked to it, without the code that raised them."""
    words, seen, waiting = [], set(), [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        words += [str(one), repr(one), *traceback.format_exception_only(one), *getattr(one, "__notes__", [])]
        waiting += [one.__cause__, one.__context__]  # type: ignore[list-item]
    return "\n".join(words)


FUNCTIONS = ["lm", "study", "refine", "plan", "simulate", "load", "Ledger", "Ledger.init", "Ledger.grant", "Ledger.limit", "Ledger.record"]
FUNCTIONS += ["Ledger.reverse", "Ledger.report", "Ledger.back_up", "Ledger.show", "Ledger.verify", "Fit.predict", "Fit.get_prediction"]
FUNCTIONS += ["Fit.conf_int", "Fit.t_test", "Fit.wald_test", "Fit.over", "Fit.plot", "Fit.save", "Fit.to_html", "estimator", "estimator.score"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_argument_of_a_function_is_quoted_when_it_is_a_column(name, wages, fit, ledger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    functions = usual(wages, fit, ledger, tmp_path)
    assert list(functions) == FUNCTIONS
    function, arguments = functions[name]
    parameters = arguments if name.startswith("estimator") or name == "Ledger.init" else inspect.signature(function).parameters
    refused = 0
    for argument in parameters:
        for kind, vector in VECTORS.items():
            given = {**arguments, argument: vector()}
            try:
                function(**given)
            except Exception as error:  # noqa: BLE001
                refused += 1
                assert not [one for one in SECRETS if one in told(error)], (name, argument, kind, told(error))
                assert isinstance(error, (dplm.DplmError, TypeError, ValueError)) or argument == "ax", (argument, kind, type(error))
    assert refused > 0
    assert ledger.show("wages")["spent"] <= 50.0


def test_a_list_of_paths_is_read_and_none_that_is_missing_is_quoted(wages, tmp_path):
    paths = [tmp_path / f"{part}.csv" for part in range(2)]
    for part, path in enumerate(paths):
        pd.DataFrame(wages).iloc[part::2].to_csv(path, index=False)
    assert dplm.lm(FORMULA, paths, rho=0.5).rows == len(wages["wage"])
    with pytest.raises(dplm.DataError, match="path 2 of the 2") as refusal:
        dplm.lm(FORMULA, [paths[0], "Alice Xyzzy"], rho=0.5)
    assert "Alice" not in told(refusal.value)
