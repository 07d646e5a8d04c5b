"""Private linear regression as a scikit-learn estimator."""

from __future__ import annotations

import contextlib
import math
import numbers
import os
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from dplm import _data, _native
from dplm._errors import DataError, DplmError, LedgerError, RequestError, warn
from dplm._fit import Fit
from dplm._given import check
from dplm._lm import lm

__all__ = ["BudgetError", "PrivateLinearRegression"]


class BudgetError(DplmError, RuntimeError):
    """A fit would spend more than the estimator may. Nothing was spent."""


_ELSEWHERE = (
    "this estimator was copied from another process, so its spending cannot be accounted for: create it in the process that fits it, " "or say budget=math.inf for data that need no protection"
)


class _Account:
    """The joint spending of an estimator and all its clones, in the process that created it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._spent = 0.0

    def is_elsewhere(self) -> bool:
        """Whether this is a forked process's copy of an account; its lock may be held for ever."""
        return os.getpid() != self._process

    def spend(self, rho: float, budget: float) -> None:
        """Records a fit before it is made, or refuses it."""
        if self.is_elsewhere():
            if budget == math.inf:
                return
            raise BudgetError(_ELSEWHERE)
        with self._lock:
            # Budgets are decimals of at most 15 places; the tolerance covers the rounding of sums
            # of doubles.
            if self._spent + rho > budget * (1 + 1e-12):
                raise BudgetError(
                    f"this fit needs rho = {rho:g}, and the estimator and its clones have spent {self._spent:g} of their {budget:g}: "
                    "every fit on the same rows adds to what is spent, cross-validation and searches too; choose settings with dplm.plan "
                    "or on simulated data, or say budget= for all fits together, or ledger= and dataset="
                )
            self._spent += rho

    def give_back(self, rho: float) -> None:
        """Removes the record of a fit that was refused before it spent anything."""
        if not self.is_elsewhere():
            with self._lock:
                self._spent -= rho

    def __copy__(self) -> _Account:
        return self

    def __deepcopy__(self, memo: object) -> _Account:
        # A copy of an estimator spends from the same account.
        return self


class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression under differential privacy.

    **One fit, for the estimator and its clones together.** Every fit on the same rows spends its
    budget again, and scikit-learn makes fits implicitly: five-fold cross-validation is five fits, a
    grid search dozens, a `MultiOutputRegressor` one for each output. An estimator and all its
    clones may therefore be fitted only once, unless `budget` gives the rho that they may spend
    together: five folds or five outputs need `budget=5 * rho`. To choose settings, use `dplm.plan`
    (which reads no data) or simulated data; to judge a fit, use its own standard errors.

    **Every person in one row.** A fit protects each row it is given. Rows repeated by hand
    (`sklearn.utils.resample`, a bootstrap of indices) cannot be distinguished from equal rows of
    different persons: a person whose row appears k times is protected by k^2 rho only. Ensembles
    that repeat rows or choose them by their residuals (`BaggingRegressor`, `AdaBoostRegressor`,
    `RANSACRegressor`) set `random_state` on the clones they fit, and such clones are refused. Other
    steps of a pipeline that learn from the data (`StandardScaler`, imputers, selectors) are not
    private.

    Parameters
    ----------
    rho, epsilon, delta
        The budget of one fit: `rho`, or `epsilon` with `delta` (1e-6).
    bounds_X, bounds_y
        Public bounds. For `bounds_y` one pair `(low, high)`; for `bounds_X` one pair for all
        columns, one pair for each column (`[(0, 20), (16, 70)]`), or pairs by name
        (`{"educ": (0, 20)}`) for a data frame. Values outside are clamped to the bound, in fitting
        and in predicting. They must come from public knowledge, never from the data.
    standardised
        States that columns without bounds are already centred and of about unit variance. Without
        bounds and without this, a fit is refused, unless `method` is `"dpgd"`.
    fit_intercept
        Whether a constant is fitted.
    method, purpose
        As for `dplm.lm`; the purpose is `"prediction"` unless intervals are wanted: `result_` then
        has them.
    budget
        The most rho that this estimator and all its clones may spend together, a positive number.
        `math.inf` sets no limit, for public or simulated data. The account lives as long as the
        process; fits without a limit or with a ledger count in it too, so a limit set later
        includes them.
    ledger, dataset
        A `dplm.Ledger` or its file, and the name of the data set in it: the ledger then keeps
        account of every fit, in any process, and `budget` is ignored.
    random_state
        A number makes the noise reproducible: for tests only, the fit is then not private, and a
        `dplm.PrivacyWarning` says so. It is refused together with a `budget` (other than
        `math.inf`) or a ledger.

    Attributes
    ----------
    coef_, intercept_
        The coefficients used for predictions, in the columns' own units; 0 for a column that was
        left out.
    result_ : dplm.Fit
        The whole result: guarantee, summary, and with `purpose="inference"` standard errors and
        intervals.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Notes
    -----
    A feature that is missing or not a number makes its row contribute nothing, as in `dplm.lm`. Two
    refusals that scikit-learn requires depend on cells: a missing or infinite response, and a
    feature that is itself a list or a dictionary. `dplm.lm` has no such exceptions.

    Examples
    --------
    >>> import numpy as np
    >>> from dplm.sklearn import PrivateLinearRegression
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(0, 10, size=(5000, 2))
    >>> y = X @ [1.0, -0.5] + rng.normal(size=5000)
    >>> model = PrivateLinearRegression(rho=0.1, bounds_X=(0, 10), bounds_y=(-10, 15), random_state=1).fit(X, y)
    >>> model.coef_.round(1).tolist()
    [1.0, -0.5]
    """

    coef_: Any
    intercept_: float
    result_: Fit
    # Whether it was copied from another process, or cloned from such a copy.
    _is_elsewhere = False
    _making_account = threading.Lock()

    def __init__(
        self,
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
        standardised: bool = False,
        fit_intercept: bool = True,
        method: str | None = None,
        purpose: str = "prediction",
        budget: float | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.rho = rho
        self.epsilon = epsilon
        self.delta = delta
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.standardised = standardised
        self.fit_intercept = fit_intercept
        self.method = method
        self.purpose = purpose
        self.budget = budget
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state
        # Created now: a process forked before the first fit must find it, and recognise it as its
        # parent's.
        self._account = _Account()

    def fit(self, X: Any, y: Any) -> PrivateLinearRegression:
        """Fits privately; spends the budget of one fit."""
        self._refuse_invalid_budget()
        self._refuse_seed_with_account()
        check(rho=self.rho, epsilon=self.epsilon, delta=self.delta, method=self.method, purpose=self.purpose, dataset=self.dataset)
        X, y = self._rows(X, y)
        names, response = self._names()
        formula = self._formula(names, response)
        columns = np.asfortranarray(X)
        table = {name: columns[:, j] for j, name in enumerate(names)} | {response: y.astype(np.float64)}
        given: dict[str, Any] = {"rho": self.rho, "epsilon": self.epsilon, "delta": self.delta}
        rho = _native.rho(given | {"method": self.method})
        self._record(rho)
        try:
            self.result_ = lm(formula, table, **given, **self._options())
        except (RequestError, DataError, LedgerError):
            # Refused before anything was released.
            self._shared_account().give_back(rho)
            raise
        estimates = np.asarray(self.result_._native.predictor())
        self.intercept_ = float(estimates[0]) if self.fit_intercept else 0.0
        self.coef_ = estimates[1:] if self.fit_intercept else estimates
        return self

    def predict(self, X: Any) -> Any:
        """The mean response of each row, with features clamped to their bounds."""
        check_is_fitted(self)
        cells = _two_dimensional(_numbers(X, "X"))
        validate_data(self, _labelled(X, cells), reset=False, skip_check_array=True)
        X = check_array(cells, dtype=np.float64, ensure_all_finite=False, input_name="X", estimator=self)
        if self.bounds_X is not None:
            low, high = np.array([pair or (-math.inf, math.inf) for pair in self._feature_bounds()]).T
            X = np.clip(X, low, high)
        return X @ self.coef_ + self.intercept_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 on the rows given, without noise.

        It spends nothing and is **not private**: it is computed from these rows without noise.
        Publish it only for rows that need no protection; the fit's own standard errors cost nothing
        more. A `PrivacyWarning` says so, unless `budget` is `math.inf`. Scorers by name
        (`scoring="r2"`) are not private either, and do not give this warning.
        """
        if self.budget != math.inf:
            warn("score looks at the rows without noise: it is not private")
        weights = None if sample_weight is None else _numbers(sample_weight, "sample_weight")
        return float(super().score(X, _numbers(y, "y"), weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Privacy adds noise, so on a few dozen rows the fit is imprecise.
        tags.regressor_tags.poor_score = True
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_clone__(self) -> PrivateLinearRegression:
        clone: PrivateLinearRegression = super().__sklearn_clone__()
        clone._account = self._shared_account()
        clone._random_state_when_cloned = clone.random_state
        clone._is_elsewhere = self._is_elsewhere
        return clone

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        # The account stays in this process: a copy elsewhere cannot see its spending.
        state.pop("_account", None)
        return state | {"_is_elsewhere": True}

    # Rows.

    def _rows(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The features and the response as numbers, before scikit-learn sees them, since its
        messages quote cells."""
        features, response = _two_dimensional(_numbers(X, "X")), _numbers(y, "y")
        validate_data(self, _labelled(X, features), response, skip_check_array=True)
        checked: tuple[Any, Any] = check_X_y(
            features,
            response,
            dtype=np.float64,
            ensure_all_finite=False,
            y_numeric=True,
            ensure_min_samples=2,
            estimator=self,
        )
        return checked

    # The account.

    def _shared_account(self) -> _Account:
        with self._making_account:
            if not hasattr(self, "_account"):
                self._account = _Account()
        return self._account

    def _record(self, rho: float) -> None:
        """Records a fit in the account, or refuses it.

        A fit with a ledger, or without a budget, is recorded too: it counts if later fits are
        limited.
        """
        if self.ledger is not None or self.dataset is not None:
            limit = math.inf
        else:
            limit = rho if self.budget is None else float(self.budget)
        if self._is_elsewhere and limit < math.inf:
            raise BudgetError(_ELSEWHERE)
        self._shared_account().spend(rho, limit)

    def _refuse_invalid_budget(self) -> None:
        is_number = isinstance(self.budget, numbers.Real) and not isinstance(self.budget, bool)
        if self.budget is not None and not (is_number and self.budget > 0):
            raise RequestError("budget must be a positive number, the most rho that all fits may spend together, or math.inf")

    def _refuse_seed_with_account(self) -> None:
        if self.random_state is None:
            return
        if not isinstance(self.random_state, (numbers.Integral, np.random.RandomState)):
            raise RequestError("random_state must be a whole number, a RandomState of NumPy, or None")
        if self.ledger is None and self.dataset is None and self.budget == math.inf:
            return
        if self.random_state is not getattr(self, "_random_state_when_cloned", self.random_state):
            raise RequestError(
                "random_state was set on a clone, as bagging, boosting and RANSAC do, which fit rows repeatedly or choose them by their "
                "residuals: no promise about a row would hold then; fit the estimator itself, or say budget=math.inf for data that "
                "need no protection"
            )
        if self.ledger is not None or self.dataset is not None or self.budget is not None:
            raise RequestError(
                "random_state makes the noise reproducible, and no budget or ledger can account for a fit that is not private: leave one "
                "of them out"
            )

    # The request.

    def _options(self) -> dict[str, Any]:
        account = {"ledger": self.ledger, "dataset": self.dataset}
        asked = {"method": self.method, "purpose": self.purpose, "standardised": self.standardised}
        return account | asked | {"seed": self._seed()}

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, int):
            return self.random_state
        return int(check_random_state(self.random_state).randint(2**31))

    def _names(self) -> tuple[list[str], str]:
        """The names of the features and of the response."""
        names = self._given_names()
        if not names or any("`" in name or not name for name in names):
            names = [f"x{j}" for j in range(self.n_features_in_)]
        response = "y"
        while response in names:
            response += "_"
        return names, response

    def _given_names(self) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [])]

    def _formula(self, names: list[str], response: str) -> str:
        pairs = self._feature_bounds()
        range_y = None if self.bounds_y is None else _pair(self.bounds_y, "bounds_y")
        if None in [*pairs, range_y] and not self.standardised and self.method != "dpgd":
            raise RequestError(
                "every column needs public bounds: give bounds_X and bounds_y, or say standardised=True if the columns without bounds are "
                "already centred and of about unit variance"
            )
        terms = [f"`{name}`{_fact(pair)}" for name, pair in zip(names, pairs, strict=True)]
        return f"`{response}`{_fact(range_y)} ~ {' + '.join(terms)}" + ("" if self.fit_intercept else " + 0")

    def _feature_bounds(self) -> list[tuple[float, float] | None]:
        """The bounds of each feature, if any."""
        if isinstance(self.bounds_X, Mapping):
            return _bounds_by_name(self.bounds_X, self._given_names())
        return _bounds_by_position(self.bounds_X, self.n_features_in_)


def _numbers(data: Any, argument: str) -> Any:
    """An array of `float64` from any input of scikit-learn; untyped data are read cell by cell, as
    in `dplm.lm`."""
    if issparse(data):
        raise TypeError(f"{argument} is sparse, and dense data are needed: convert it with .toarray()")
    if _data.is_pandas(data):
        return _read([data.iloc[:, j] for j in range(data.shape[1])], len(data), [f"{label}" for label in data.columns])
    if isinstance(data, (list, tuple)):
        return _numbers_of_list(data, argument)
    if hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns"):
        table = _native.Table.from_arrow(data)
        for name in table.texts:
            raise _text_refused(name)
        return np.frombuffer(table.numbers()).reshape(len(table.names), -1).T
    if _data.is_series(data):
        return _read([data], len(data))[:, 0]
    return _numbers_of_array(_data.as_numpy(data), argument)


def _numbers_of_list(data: Any, argument: str) -> Any:
    # Uses the type itself, here and below, since a cell may claim to be another.
    if not any(issubclass(type(row), (list, tuple, np.ndarray)) for row in data):
        return _read([data], len(data))[:, 0]
    rows = [row.tolist() if type(row) is np.ndarray else row for row in data]
    if not all(issubclass(type(row), (list, tuple)) and len(row) == len(rows[0]) for row in rows):
        raise ValueError(f"the rows of {argument} do not all have the same number of columns")
    columns = [[row[j] for row in rows] for j in range(len(rows[0]))]
    _refuse_containers((cell for column in columns for cell in column), argument)
    return _read(columns, len(rows))


def _numbers_of_array(data: Any, argument: str) -> Any:
    kind = data.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: {argument} must hold real numbers")
    if kind in "fiub":
        with _data.quiet():
            cells = data.astype(np.float64, copy=False)
        return cells.filled(np.nan) if isinstance(cells, np.ma.MaskedArray) else cells
    if kind == "O":
        _refuse_containers(data.ravel().tolist(), argument)
    return _read([data.ravel()], data.size).reshape(data.shape)


def _refuse_containers(cells: Any, argument: str) -> None:
    """Refuses what scikit-learn requires to be refused, in its words."""
    if any(type(cell) in (dict, list, set, tuple) for cell in cells):
        raise TypeError(f"each cell of the argument must be a number or a string of a number: {argument} has a list or a dictionary")


def _read(columns: list[Any], rows: int, names: list[str] | None = None) -> Any:
    """Columns as the library reads them, in one array."""
    if not columns or rows == 0:
        return np.empty((rows, len(columns)))
    named = [(f"{j}", _data.column(f"{j}", column)) for j, column in enumerate(columns)]
    for j, (_, column) in enumerate(named):
        if column.is_text:
            raise _text_refused(f"{j}" if names is None else names[j])
    return np.frombuffer(_native.Table.from_columns(named).numbers()).reshape(len(columns), rows).T


def _text_refused(name: str) -> DataError:
    """The error for text; scikit-learn's own message would hold a cell."""
    return DataError(
        f"column '{name}' holds text or categories, and every feature and the response must be numbers: make it numbers, as with "
        f'pd.to_numeric(df["{name}"], errors="coerce"), or encode its levels first'
    )


def _labelled(X: Any, cells: Any) -> Any:
    """The object from which scikit-learn takes the features' names: a table that has some, else the
    numbers."""
    return X if hasattr(X, "columns") else cells


def _two_dimensional(cells: Any) -> Any:
    if cells.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns, and has {cells.ndim}. Reshape your data with X.reshape(-1, 1) if it is one "
            "column, or with X.reshape(1, -1) if it is one row"
        )
    return cells


def _bounds_by_name(bounds: Mapping[Any, Any], names: list[str]) -> list[tuple[float, float] | None]:
    unknown = [str(name) for name in bounds if name not in names]
    if unknown:
        have = f"the columns are {', '.join(names)}" if names else "the columns have no names: give one pair for each, in order"
        raise RequestError(f"bounds_X names '{unknown[0]}', which is not a column: {have}")
    return [_pair(bounds[name], f"bounds_X[{name!r}]") if name in bounds else None for name in names]


def _bounds_by_position(bounds: Any, columns: int) -> list[tuple[float, float] | None]:
    if bounds is None:
        return [None] * columns
    try:
        shape = np.shape(bounds)
    except ValueError:
        shape = ()
    if shape == (2,):
        return [_pair(bounds, "bounds_X")] * columns
    if shape != (columns, 2):
        raise RequestError(
            f"bounds_X must be one pair (low, high), or one pair for each of the {columns} columns, as in [(0, 20), (16, 70)]; "
            "lows and highs apart become pairs with list(zip(lows, highs))"
        )
    if columns == 2 and isinstance(bounds, tuple) and not any(isinstance(pair, tuple) for pair in bounds):
        raise RequestError(
            "bounds_X could be two pairs or lows and highs: write one pair (low, high) for each column, as in [(0, 20), (16, 70)]"
        )
    return [_pair(pair, f"bounds_X[{j}]") for j, pair in enumerate(bounds)]


def _pair(bounds: Any, option: str) -> tuple[float, float]:
    with contextlib.suppress(TypeError, ValueError):
        low, high = (float(bound) for bound in bounds)
        if -math.inf < low < high < math.inf:
            return low, high
    raise RequestError(f"{option} must be a pair (low, high) of numbers, low below high")


def _fact(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"[{pair[0]!r}..{pair[1]!r}]"
