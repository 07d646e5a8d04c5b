"""The result of a fit. It holds released and public numbers only."""

from __future__ import annotations

import datetime
import json
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, overload

from dplm import _data, _frames, _hypothesis, _native
from dplm._errors import RequestError
from dplm._given import check
from dplm._hypothesis import TTest, WaldTest
from dplm._numbers import coverage, ends, number
from dplm._prediction import Prediction
from dplm._released import SIMULATED, Released

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Bounded:
    """A released number with the ends of its interval, at the level of the fit."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Model:
    """The names of a model, under those that statsmodels uses."""

    endog_names: str
    exog_names: list[str]


_NO_ROWS = "a private fit keeps no rows: new rows are predicted by predict(rows), and residual_sd is what was released of the residuals"
_NO_LIKELIHOOD = (
    "a private fit releases no likelihood: compare specifications by dplm.study, and coefficients by wald_test"
)
_ALWAYS_ROBUST = "standard errors never assume equal variances: bse and cov_params() are what there is"
#: What results of statsmodels have and a private fit has not, each with what there is instead.
_ABSENT = {
    **dict.fromkeys(["resid", "resid_pearson", "wresid", "fittedvalues", "get_influence", "outlier_test"], _NO_ROWS),
    **dict.fromkeys(["llf", "aic", "bic", "info_criteria", "compare_lr_test", "compare_f_test"], _NO_LIKELIHOOD),
    **dict.fromkeys(["cov_type", "get_robustcov_results", "HC0_se", "HC1_se", "HC2_se", "HC3_se"], _ALWAYS_ROBUST),
    **dict.fromkeys(["ssr", "mse_resid", "scale"], "residual_sd has the residual standard error, where it was released"),
    **dict.fromkeys(["fvalue", "f_pvalue", "f_test"], "wald_test tests several coefficients together, by chi-square"),
    **dict.fromkeys(["df_resid", "df_model"], "df has the degrees of freedom of each coefficient's test"),
    "rsquared_adj": "with this many rows it is r_squared, which has its interval",
    "summary2": "summary() is the table; dplm.table puts several fits side by side",
}

#: The public bounds of a column in a formula.
_BOUNDS = re.compile(r"\[[^\]]*\]")


class Fit(Released["_native.Fit"]):
    """A private fit, as `dplm.lm` gives it.

    Everything here is released or public, so it may be printed, stored and used in computations at
    no further cost in privacy. Coefficients are in the columns' own units. Results are pandas
    Series and DataFrames, whatever the type of the data.

    >>> import dplm
    >>> data = dplm.simulate(rows=10_000, features=2, theta=[0.6, -0.8], seed=1)
    >>> fit = dplm.lm("y ~ x1 + x2 + 0", data, rho=0.015, standardised=True, seed=1)
    >>> [round(value, 1) for value in fit.params]
    [0.6, -0.8]
    """

    @staticmethod
    def _read(text: str) -> _native.Fit:
        return _native.Fit.from_json(text)

    def __init__(self, native: _native.Fit) -> None:
        self._native = native
        self._facts: dict[str, Any] = json.loads(native.facts())
        self._coefficients: list[dict[str, Any]] = self._facts["coefficients"]
        self._names = [str(one["name"]) for one in self._coefficients]

    # The request.

    @property
    def rows(self) -> int | None:
        """The number of rows fitted; public. `None` if persons are protected, whose number is in
        `units`."""
        rows = self._facts["rows"]
        return None if rows is None else int(rows)

    @property
    def rows_used(self) -> Bounded | None:
        """The number of rows, or persons, without a missing cell, which were used; `None` if it was
        not released."""
        found = self._facts["rows_used"]
        return None if found is None else Bounded(**found)

    @property
    def nobs(self) -> int:
        """The number of rows fitted, or of persons if they are protected; public. The name is that
        of statsmodels.

        Of these, `rows_used` contribute to the fit.
        """
        return int(self._facts["units"]["count"])

    @property
    def level(self) -> float:
        """The requested coverage."""
        return float(self._facts["level"])

    @property
    def date(self) -> str:
        """The day the fit was made, in UTC, as `2026-11-16`."""
        return str(self._facts["date"])

    @property
    def target(self) -> str:
        """The target of the intervals: `population`, `sample`, `robust` or `person`.

        Where `auto` was asked for, what it became; `summary()` says why.
        """
        return str(self._facts["target"])

    @property
    def family(self) -> str:
        """What the response is: `gaussian`, or `binomial` in a logistic regression."""
        return str(self._facts.get("family", "gaussian"))

    @property
    def target_text(self) -> str:
        """The target of the intervals in words: the coefficients, the population and the model.

        >>> import dplm
        >>> data = dplm.simulate(rows=1000, features=1, seed=1)
        >>> dplm.lm("y ~ x1 + 0", data, rho=0.1, standardised=True, target="sample", clip=20, seed=1).target_text
        'the least-squares coefficients of this data set; rows that are clipped count up to the clip'
        """
        return str(self._facts["target_text"])

    @property
    def method(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return dict(self._facts["method"])

    @property
    def ledger(self) -> dict[str, Any] | None:
        """The ledger entry that records the fit (`dataset`, `entry`, `hash`), and the budget after
        it.

        The budget is in `total`, `spent` and `left`; `None` without a ledger.
        """
        return dict(self._facts["ledger"]) if "ledger" in self._facts else None

    # The results.

    @property
    def names(self) -> list[str]:
        """The names of the coefficients: `(Intercept)`, `column` or `column[level]`."""
        return list(self._names)

    @property
    def params(self) -> pd.Series[float]:
        """The estimates; NaN for a coefficient that was left out or is not identified, unless the
        fit is for prediction."""
        return self._column("estimate")

    @property
    def bse(self) -> pd.Series[float]:
        """The standard errors, including privacy noise; NaN for a coefficient that was left out or
        is not identified."""
        return self._column("std_error")

    @property
    def pvalues(self) -> pd.Series[float]:
        """The two-sided p-values of the hypotheses that a coefficient is 0."""
        return self._column("p_value")

    @property
    def tvalues(self) -> pd.Series[float]:
        """The estimates over their standard errors: z values, or t values where `df` is finite."""
        return self._column("statistic")

    @property
    def df(self) -> pd.Series[float]:
        """The degrees of freedom of each test: those with which its standard error is known, and
        infinite where it is known so well that Student's distribution is Gaussian."""
        return self._column("df").where(self.bse.isna() | self._column("df").notna(), float("inf"))

    @property
    def identified(self) -> dict[str, bool]:
        """Whether the budget identifies each coefficient."""
        return {name: bool(one["identified"]) for name, one in zip(self._names, self._coefficients, strict=True)}

    @property
    def left_out(self) -> list[str]:
        """The coefficients that the budget could not resolve: the model was fitted without them.
        `warnings` has the cause of each."""
        return list(self._facts["left_out"])

    @property
    def residual_sd(self) -> Bounded | None:
        """The standard deviation of the errors; `None` if it was not released."""
        found = self._facts["residual_sd"]
        return None if found is None else Bounded(**found)

    @property
    def r_squared(self) -> Bounded | None:
        """The share of the response's variance that the model explains, with its interval; of a
        logistic regression McFadden's pseudo R^2; `None` if not released."""
        found = self._facts["r_squared"]
        return None if found is None else Bounded(**found)

    @property
    def rsquared(self) -> float:
        """The estimate of `r_squared`, under statsmodels' name; NaN if it was not released."""
        return number(None if self.r_squared is None else self.r_squared.estimate)

    @property
    def prsquared(self) -> float:
        """The estimate of McFadden's pseudo R^2, under statsmodels' name.

        Only a logistic regression has one, and it is NaN if it was not released.
        """
        self._must_be_binomial()
        return self.rsquared

    def cov_params(self) -> pd.DataFrame:
        """The covariance of the identified coefficients' estimates, including privacy noise; its
        diagonal is `bse` squared.

        >>> import dplm
        >>> data = dplm.simulate(rows=1000, features=2, seed=1)
        >>> fit = dplm.lm("y ~ x1 + x2 + 0", data, rho=0.1, standardised=True, seed=1)
        >>> cov = fit.cov_params()
        >>> error_of_sum = (cov["x1"]["x1"] + cov["x2"]["x2"] + 2 * cov["x1"]["x2"]) ** 0.5
        """
        found = self._native.covariance()
        if found is None:
            raise RequestError("this fit released nothing to make a covariance from: fit again for inference, or at a larger budget")
        names, values = found
        return _frames.matrix(names, values)

    def conf_int(self, alpha: float | None = None, *, level: float | None = None) -> pd.DataFrame:
        """The ends of the intervals, `low` and `high`, at any level: asking again costs nothing.

        As in statsmodels, `alpha` is the allowed probability of a miss: 0.01 gives 99 % intervals,
        as `level=0.99` does.

        >>> import dplm
        >>> fit = dplm.lm("y ~ x1 + 0", dplm.simulate(rows=1000, features=1, seed=1), rho=0.1, standardised=True, seed=1)
        >>> wide, usual = fit.conf_int(0.01), fit.conf_int()
        >>> bool(wide["low"]["x1"] < usual["low"]["x1"] < fit.params["x1"] < usual["high"]["x1"] < wide["high"]["x1"])
        True
        """
        found = self._native.intervals(coverage(alpha, level, self.level))
        low, high = zip(*map(ends, found), strict=True)
        return _frames.frame({"low": low, "high": high}, self._names)

    def odds_ratios(self, alpha: float | None = None, *, level: float | None = None) -> pd.DataFrame:
        """What the odds are multiplied by where a column is larger by 1, with `low` and `high`.

        They are the exponentials of the coefficients and of the ends of their intervals. Only a
        logistic regression has them.

        >>> import dplm
        >>> x = [i // 3 % 2 for i in range(30_000)]
        >>> rows = {"y": [int(i % 3 < 1 + x[i]) for i in range(30_000)], "x": x}
        >>> fit = dplm.glm("y[0..1] ~ x[0..1]", rows, rho=0.5, seed=1)
        >>> bool(fit.odds_ratios()["low"]["x"] < 4 < fit.odds_ratios()["high"]["x"])
        True
        """
        self._must_be_binomial()
        intervals = self.conf_int(alpha, level=level)
        names = [name for name in self._names if name != "(Intercept)"]
        columns = {"estimate": self.params, "low": intervals["low"], "high": intervals["high"]}
        return _frames.frame({key: [math.exp(found[name]) for name in names] for key, found in columns.items()}, names)

    def marginal_effects(self, alpha: float | None = None, *, level: float | None = None) -> pd.DataFrame:
        """How much the probability changes with each column, on average over rows: the average
        marginal effects of a logistic regression, with `std_error`, `low` and `high`.

        They are derivatives, also for levels. A fit with weights, or of persons with several rows,
        has none.

        >>> import dplm
        >>> x = [i // 3 % 2 for i in range(30_000)]
        >>> rows = {"y": [int(i % 3 < 1 + x[i]) for i in range(30_000)], "x": x}
        >>> fit = dplm.glm("y[0..1] ~ x[0..1]", rows, rho=0.5, seed=1)
        >>> bool(abs(fit.marginal_effects()["estimate"]["x"] - 0.308) < 0.03)
        True
        """
        self._must_be_binomial()
        found = self._facts["marginal_effects"]
        half = NormalDist().inv_cdf(0.5 + coverage(alpha, level, self.level) / 2)
        columns = {key: [float(one[key]) for one in found] for key in ("estimate", "std_error")}
        both = list(zip(*columns.values(), strict=True))
        columns["low"] = [estimate - half * error for estimate, error in both]
        columns["high"] = [estimate + half * error for estimate, error in both]
        return _frames.frame(columns, [str(one["name"]) for one in found])

    def _must_be_binomial(self) -> None:
        if self.family != "binomial":
            raise RequestError("only a fit of family='binomial' has odds and probabilities: use dplm.glm")

    def t_test(self, hypothesis: Any) -> TTest:
        """Tests linear hypotheses about the coefficients, one by one.

        A hypothesis is a text in the coefficients' names (`"educ - exper = 0.1"`; several are
        separated by commas, and one without `=` has the value 0), a matrix with a weight for each
        coefficient, or a pair of such a matrix and the values tested.

        >>> import dplm
        >>> data = dplm.simulate(rows=10_000, features=2, theta=[0.6, -0.8], seed=1)
        >>> fit = dplm.lm("y ~ x1 + x2 + 0", data, rho=0.1, standardised=True, seed=1)
        >>> test = fit.t_test("x1 + x2 = -0.2, x1 = 0")
        >>> (test.pvalue < 0.001).tolist(), test.effect.round(1).tolist()
        ([False, True], [-0.2, 0.6])
        """
        return TTest(self._native, _hypothesis.rows(self._native, hypothesis), self.level)

    def wald_test(self, hypothesis: Any) -> WaldTest:
        """Tests linear hypotheses about the coefficients jointly; they are written as for `t_test`.

        >>> import dplm
        >>> data = dplm.simulate(rows=10_000, features=2, theta=[0.6, -0.8], seed=1)
        >>> fit = dplm.lm("y ~ x1 + x2 + 0", data, rho=0.1, standardised=True, seed=1)
        >>> fit.wald_test("x1 = 0, x2 = 0").pvalue < 0.001 < fit.wald_test("x1 = 0.6, x2 = -0.8").pvalue
        True
        """
        return WaldTest(self._native, _hypothesis.rows(self._native, hypothesis))

    @overload
    def predict(
        self,
        data: Any,
        *,
        interval: Literal[False] = False,
        level: float | None = None,
        names: Sequence[str] | None = None,
        csv: str | None = None,
    ) -> pd.Series[float]: ...
    @overload
    def predict(
        self,
        data: Any,
        *,
        interval: Literal[True],
        level: float | None = None,
        names: Sequence[str] | None = None,
        csv: str | None = None,
    ) -> pd.DataFrame: ...
    def predict(
        self,
        data: Any,
        *,
        interval: bool = False,
        level: float | None = None,
        names: Sequence[str] | None = None,
        csv: str | None = None,
    ) -> pd.Series[float] | pd.DataFrame:
        """The mean response for each row of `data`, which needs the model's features only.

        With `interval=True` a table with `estimate`, `low` and `high`: the interval is for the mean
        of all rows like this one. For a single new response see `get_prediction`. Rows with a
        missing cell give NaN; where a cell is beyond the bounds of its column, the bound is used.
        """
        table, index = self._new_rows(data, names, csv)
        if not interval:
            return _frames.series(index, self._native.predict(table), "estimate")
        found = self._native.predict_intervals(table, coverage(None, level, self.level))
        low, high = zip(*(ends(one[2]) for one in found), strict=True)
        return _frames.frame({"estimate": [one[0] for one in found], "low": low, "high": high}, index)

    def get_prediction(self, data: Any, *, names: Sequence[str] | None = None, csv: str | None = None) -> Prediction:
        """The mean response for each row of `data` with its standard error and intervals;
        `summary_frame(alpha=0.05)` is the table."""
        return Prediction(self._native, *self._new_rows(data, names, csv), self.level)

    def _new_rows(self, data: Any, names: Sequence[str] | None, csv: str | None) -> tuple[_native.Table, Any]:
        """The table of the model's features, and its pandas index."""
        table = _data.table(data, names, self._native.predictors(), csv)
        return table, (data.index if _data.is_pandas(data) else None)

    def over(
        self,
        column: str,
        at: Mapping[str, float | str] | None = None,
        *,
        alpha: float | None = None,
        level: float | None = None,
        simultaneous: bool = False,
    ) -> pd.DataFrame:
        """The mean response over the public bounds of a column, or over its levels (marginal
        means), with intervals; it reads no data.

        `at` gives the values of other columns. Numbers not given are held at the middle of their
        bounds, and categories are averaged with equal weights for their levels. The index has the
        values of the column, and `attrs["held"]` those of the others. Each interval is for its own
        point, unless `simultaneous=True` requests a band that holds at all points at once.

        >>> import dplm
        >>> data = dplm.simulate(rows=1000, features=2, seed=1)
        >>> fit = dplm.lm("y[-9..9] ~ x1[-5..5] + x2[-5..5]", data, rho=0.5, seed=1)
        >>> band = fit.over("x1", at={"x2": 1})
        >>> list(band.columns), band.index.name, band.attrs["held"]
        (['estimate', 'std_error', 'low', 'high'], 'x1', ['x2 = 1'])
        >>> bool((fit.over("x1", at={"x2": 1}, simultaneous=True)["high"] > band["high"]).all())
        True
        """
        check(column=column, at=at, alpha=alpha, level=level)
        if not all(isinstance(value, (str, numbers.Number, datetime.date)) for value in (at or {}).values()):
            raise RequestError("at must have one value for each name, as in at={'educ': 12}")
        import pandas as pd

        fixed = [(name, str(value)) for name, value in (at or {}).items()]
        points, held = self._native.over(column, fixed, coverage(alpha, level, self.level), simultaneous)
        low, high = zip(*(ends(found[2]) for _, found in points), strict=True)
        columns = {
            "estimate": [found[0] for _, found in points],
            "std_error": [number(found[1]) for _, found in points],
            "low": low,
            "high": high,
        }
        band = _frames.frame(columns, pd.Index([value for value, _ in points], name=column))
        band.attrs["held"] = held
        return band

    @property
    def model(self) -> Model:
        """The names of the response and of the coefficients, where statsmodels' tables look for
        them: `statsmodels.iolib.summary2.summary_col([fit, other])` works."""
        response = _BOUNDS.sub("", self.formula.split("~")[0]).strip()
        return Model(response, self.names)

    @property
    def warnings(self) -> list[str]:
        """Notes for readers of the fit."""
        return list(self._facts["warnings"])

    # For readers.

    @property
    def trajectory(self) -> pd.DataFrame:
        """The released iterates in standardised units, a row for each step; step 0 is the start.

        With several runs (`interval="independent"`) a `run` comes before the `step`.
        """
        runs = self._native.trajectories()
        steps = [(run, step, theta) for run, thetas in enumerate(runs, 1) for step, theta in enumerate(thetas)]
        columns = {name: [theta[j] for _, _, theta in steps] for j, name in enumerate(self._names)}
        import pandas as pd

        if len(runs) > 1:
            return _frames.frame(columns, pd.MultiIndex.from_tuples([step[:2] for step in steps], names=["run", "step"]))
        return _frames.frame(columns, pd.Index([step for _, step, _ in steps], name="step"))

    def summary(self) -> Summary:
        """The summary of the command line: text when printed, a table in a notebook."""
        return Summary(self._native.summary(), self._native.summary_html())

    def plot(self, kind: str = "coefficients", ax: Any = None) -> Any:
        """Draws the coefficients, except the intercept, with their intervals, or the
        `"trajectory"`.

        Needs matplotlib; returns its axes.
        """
        check(kind=kind)
        from dplm import _plot

        draw = {"coefficients": _plot.coefficients, "trajectory": _plot.trajectory}.get(kind)
        if draw is None:
            raise RequestError("kind must be one of coefficients, trajectory")
        return draw(self, ax)

    def plot_over(
        self,
        column: str,
        at: Mapping[str, float | str] | None = None,
        *,
        level: float | None = None,
        simultaneous: bool = False,
        ax: Any = None,
    ) -> Any:
        """Draws `over(...)`: a confidence band, or the mean of each level. Needs matplotlib;
        returns its axes."""
        from dplm import _plot

        return _plot.over(self, column, at, level, simultaneous, ax)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is not there: for names of statsmodels, what there is instead."""
            told = f"'Fit' object has no attribute {name!r}"
            raise AttributeError(f"{told}: {_ABSENT[name]}" if name in _ABSENT else told, name=name, obj=self)

    def __repr__(self) -> str:
        marked = f"; {SIMULATED}" if self.pretended else ""
        return f"<dplm.Fit of {self.formula!r}: {len(self._names)} coefficients, rho = {self.guarantee.rho}{marked}>"

    def _repr_html_(self) -> str:
        return self._native.summary_html()

    def _values(self, key: str) -> list[float]:
        return [number(one[key]) for one in self._coefficients]

    def _column(self, key: str) -> pd.Series[float]:
        return _frames.series(self._names, self._values(key), key)


class Summary(str):
    """A text that notebooks show as a table."""

    _html: str

    def __new__(cls, text: str, html: str) -> Summary:
        summary = super().__new__(cls, text)
        summary._html = html
        return summary

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._html
