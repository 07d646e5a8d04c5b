"""Private linear regression as a scikit-learn estimator."""

from __future__ import annotations

import math
import threading
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dplm import _native
from dplm._errors import DataError, DplmError, RequestError
from dplm._fit import Fit
from dplm._lm import lm

__all__ = ["BudgetError", "PrivateLinearRegression"]


class BudgetError(DplmError, RuntimeError):
    """A fit would spend more than the estimator may. Nothing was spent."""


class _Account:
    """What an estimator and all its clones have spent together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent = 0.0

    def spend(self, rho: float, budget: float) -> None:
        """Records a fit before it is made, or refuses it."""
        with self._lock:
            # Budgets are decimals of at most 15 places; sums of doubles are allowed their rounding.
            if self._spent + rho > budget * (1 + 1e-12):
                raise BudgetError(
                    f"this fit needs rho = {rho:g}, and the estimator and its clones have spent {self._spent:g} of their {budget:g}: "
                    "every fit on the same rows adds to what is spent, cross-validation too; say budget= for all fits together, or "
                    "make a new estimator if that is what you mean to spend"
                )
            self._spent += rho

    def give_back(self, rho: float) -> None:
        """Takes back the record of a fit that was refused before it spent anything."""
        with self._lock:
            self._spent -= rho

    def __copy__(self) -> _Account:
        return self

    def __deepcopy__(self, memo: object) -> _Account:
        # A copy of an estimator spends from the same account.
        return self


class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression under differential privacy.

    **One estimator, one fit.** Every fit on the same rows spends its budget again, and scikit-learn fits behind one's back: five-fold
    cross-validation is five fits, a grid search dozens. So an estimator may be fitted once, and a clone of it not at all, unless
    `budget` says how much the estimator and all its clones may spend together. To choose settings, use `dplm.plan` (which reads no
    data) or simulated data; to judge a fit, use its own standard errors.

    Parameters
    ----------
    rho, epsilon, delta
        The budget of one fit: `rho`, or `epsilon` with `delta`.
    bounds_X, bounds_y
        Public bounds `(low, high)`: numbers, or for `bounds_X` also one number for each column. Values outside are moved to the bound, in
        fitting and in predicting. They must come from public knowledge, never from the data. Without bounds, columns are taken to be
        centred and of about unit variance.
    fit_intercept
        Whether a constant is fitted.
    method, purpose
        As for `dplm.lm`; the purpose is `"prediction"` unless intervals are wanted: `result_` then has them.
    budget
        The most rho that this estimator and all its clones may spend together. `math.inf` switches the accounting off, for public or
        simulated data. The account lives as long as the process.
    ledger, dataset
        A `dplm.Ledger` or its file, and what it calls the data: the ledger then keeps account of every fit, in any process, and `budget`
        is not looked at.
    random_state
        A number makes the noise reproducible: for tests only, the fit is then not private.

    Attributes
    ----------
    coef_, intercept_
        The coefficients in the columns' own units.
    result_ : dplm.Fit
        The whole result: guarantee, summary, and with `purpose="inference"` standard errors and intervals. It is left behind when the
        estimator is pickled.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Notes
    -----
    A missing feature makes its row contribute nothing, as in `dplm.lm`. A missing response is refused, as scikit-learn asks; that
    there is one is then visible in the refusal.

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

    def __init__(
        self,
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
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
        self.fit_intercept = fit_intercept
        self.method = method
        self.purpose = purpose
        self.budget = budget
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PrivateLinearRegression:
        """Fits privately; spends the budget of one fit."""
        X, y = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite=False, y_numeric=True, ensure_min_samples=2
        )
        names, response = self._names()
        formula = self._formula(names, response)
        columns = np.asfortranarray(X)
        table = {name: columns[:, j] for j, name in enumerate(names)} | {response: y.astype(np.float64)}
        given: dict[str, Any] = {"rho": self.rho, "epsilon": self.epsilon, "delta": self.delta}
        rho = _native.rho(given)
        self._record(rho)
        try:
            self.result_ = lm(formula, table, **given, **self._options())
        except (RequestError, DataError):
            # Refused before anything was released.
            self._give_back(rho)
            raise
        estimates = np.asarray(self.result_._values("estimate"))
        self.intercept_ = float(estimates[0]) if self.fit_intercept else 0.0
        self.coef_ = estimates[1:] if self.fit_intercept else estimates
        return self

    def predict(self, X: Any) -> Any:
        """The mean response of each row, features moved to their bounds first."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite=False, reset=False)
        if self.bounds_X is not None:
            low, high = _bounds(self.bounds_X, "bounds_X", X.shape[1])
            X = np.clip(X, low, high)
        return X @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Privacy adds noise, so on a few dozen rows the fit says little.
        tags.regressor_tags.poor_score = True
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_clone__(self) -> PrivateLinearRegression:
        clone: PrivateLinearRegression = super().__sklearn_clone__()
        clone._account = self._shared_account()
        clone._is_clone = True
        return clone

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        # The account stays in this process: a copy elsewhere cannot see what is spent here.
        state.pop("_account", None)
        state.pop("result_", None)
        return state | {"_is_elsewhere": True}

    def _shared_account(self) -> _Account:
        if not hasattr(self, "_account"):
            self._account = _Account()
        return self._account

    def _keeps_account(self) -> bool:
        return self.budget != math.inf and self.ledger is None

    def _give_back(self, rho: float) -> None:
        if self._keeps_account():
            self._shared_account().give_back(rho)

    def _record(self, rho: float) -> None:
        """Records a fit in the account, or refuses it."""
        if not self._keeps_account():
            return
        if getattr(self, "_is_elsewhere", False):
            raise BudgetError(
                "this estimator was copied from another process, so what is spent cannot be accounted for: make it where it is fitted, "
                "or say budget=math.inf for data that need no protection"
            )
        if self.budget is None and getattr(self, "_is_clone", False):
            raise BudgetError(
                "this is a clone, as cross-validation and searches make them, and every fit of one would spend the budget again: choose "
                "settings with dplm.plan or on simulated data, or say budget= for all fits together, or ledger= and dataset="
            )
        self._shared_account().spend(rho, rho if self.budget is None else float(self.budget))

    def _options(self) -> dict[str, Any]:
        account = {"ledger": self.ledger, "dataset": self.dataset}
        return account | {"method": self.method, "purpose": self.purpose, "seed": self._seed()}

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, int):
            return self.random_state
        return int(check_random_state(self.random_state).randint(2**31))

    def _names(self) -> tuple[list[str], str]:
        """The names of the features and of the response."""
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        if not names or any("`" in name or not name for name in names):
            names = [f"x{j}" for j in range(self.n_features_in_)]
        response = "y"
        while response in names:
            response += "_"
        return names, response

    def _formula(self, names: list[str], response: str) -> str:
        facts = [""] * len(names)
        if self.bounds_X is not None:
            low, high = _bounds(self.bounds_X, "bounds_X", len(names))
            facts = [_fact(a, b) for a, b in zip(low, high, strict=True)]
        terms = [f"`{name}`{fact}" for name, fact in zip(names, facts, strict=True)]
        left = ""
        if self.bounds_y is not None:
            (low, high) = _bounds(self.bounds_y, "bounds_y", 1)
            left = _fact(low[0], high[0])
        return f"`{response}`{left} ~ {' + '.join(terms)}" + ("" if self.fit_intercept else " + 0")


def _bounds(bounds: Any, option: str, columns: int) -> tuple[Any, Any]:
    """The lower and the upper bound of each column."""
    sentence = f"{option} must be (low, high): numbers, or one number for each of the {columns} columns"
    try:
        low, high = bounds
        return np.broadcast_to(np.asarray(low, float), columns), np.broadcast_to(np.asarray(high, float), columns)
    except (TypeError, ValueError):
        raise RequestError(sentence) from None


def _fact(low: Real, high: Real) -> str:
    return f"[{float(low)!r}..{float(high)!r}]"
