"""Tests of hypotheses, by the names statsmodels gives to what they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dplm import _native
from dplm._errors import RequestError
from dplm._given import unquoted
from dplm._numbers import coverage, ends, number
from dplm._released import MARKS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: The name of an equation, a weight for each coefficient, and what they come to if it holds.
Row = tuple[str, list[float], float]


def rows(native: _native.Fit, hypothesis: Any) -> list[Row]:
    """The equations of a hypothesis.

    It is given as text, texts, a matrix of weights, or such a matrix and the values.
    """
    if isinstance(hypothesis, str):
        return native.hypothesis(hypothesis)
    if isinstance(hypothesis, Sequence) and hypothesis and all(isinstance(one, str) for one in hypothesis):
        return unquoted("the hypothesis", hypothesis, lambda: [row for text in hypothesis for row in native.hypothesis(text)])
    import numpy as np

    weights, values = hypothesis if isinstance(hypothesis, tuple) and len(hypothesis) == 2 else (hypothesis, 0.0)
    matrix = None
    # Refused once the other exception is gone: its words may hold a cell.
    with contextlib.suppress(Exception):
        matrix = np.atleast_2d(np.asarray(weights, dtype="float64"))
        nulls = np.broadcast_to(np.asarray(values, dtype="float64"), matrix.shape[:1])
    if matrix is None or matrix.ndim != 2:
        raise RequestError(
            "a hypothesis is a text such as 'educ = 0', a matrix with a weight for each coefficient, or a pair of such a matrix and values"
        )
    return [(f"c{j}", weight.tolist(), float(null)) for j, (weight, null) in enumerate(zip(matrix, nulls, strict=True))]


class TTest:
    """Equations, each tested by itself.

    As an array, `effect` has the estimate of the left side of each.

    `sd` is its standard error, `tvalue` (or `statistic`) its distance from the value tested over
    that, and `df_denom` the degrees of freedom with which the standard error is known. An interval
    excludes the value tested exactly where `pvalue` is below alpha.
    """

    def __init__(self, native: _native.Fit, equations: list[Row], level: float) -> None:
        import numpy as np

        self._native, self._equations, self._level = native, equations, level
        self.promise: dict[str, str] = native.promise()
        self._mark = MARKS[self.promise["provenance"]]
        found = native.t_test(equations, level)
        column = list(zip(*found, strict=True))

        def array(j: int) -> NDArray[np.float64]:
            return np.array([number(value) for value in column[j]])

        self.effect: NDArray[np.float64] = array(0)
        self.sd: NDArray[np.float64] = array(1)
        self.tvalue: NDArray[np.float64] = array(3)
        self.statistic: NDArray[np.float64] = self.tvalue
        self.df_denom: NDArray[np.float64] = np.array([np.inf if value is None else value for value in column[4]])
        self.distribution: str = "t" if np.isfinite(self.df_denom).any() else "norm"
        self.pvalue: NDArray[np.float64] = array(5)

    @property
    def null_value(self) -> NDArray[np.float64]:
        """What the left side of each equation comes to if it holds."""
        import numpy as np

        return np.array([value for _, _, value in self._equations])

    def conf_int(self, alpha: float | None = None, *, level: float | None = None) -> NDArray[np.float64]:
        """The ends of the interval for each left side: a row for each equation.

        They are at the level of the fit unless another is asked for.
        """
        import numpy as np

        found = self._native.t_test(self._equations, coverage(alpha, level, self._level))
        return np.array([ends(one[2]) for one in found])

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """A row for each equation, with statsmodels' columns."""
        import pandas as pd

        letter = "z" if self.distribution == "norm" else "t"
        low, high = self.conf_int(alpha).T
        columns = {
            "coef": self.effect,
            "std err": self.sd,
            letter: self.tvalue,
            f"P>|{letter}|": self.pvalue,
            "Conf. Int. Low": low,
            "Conf. Int. Upp.": high,
        }
        return pd.DataFrame(columns, index=[text for text, _, _ in self._equations])

    def __repr__(self) -> str:
        text = self.summary_frame(1 - self._level).to_string(float_format="{:.4g}".format)
        if self._native.pretended:
            return "\n".join(f"PRETEND | {line}" for line in text.splitlines())
        return f"{self._mark}\n{text}" if self._mark else text

    def _repr_html_(self) -> str:
        table = str(self.summary_frame(1 - self._level).to_html(float_format="{:.4g}".format))
        return f"<p>{self._mark}</p>\n{table}" if self._mark else table


class WaldTest:
    """Equations tested all at once.

    The results are `statistic`, `pvalue`, `df_num`, `df_denom` and `distribution` (`"chi2"`, or
    `"F"` with the paper's intervals).

    Not numbers where the budget cannot tell one of them. The test keeps its level however weak the
    curvature is: docs/intervals.md says how.
    """

    def __init__(self, native: _native.Fit, equations: list[Row]) -> None:
        found = native.wald_test(equations)
        statistic, df, p_value = (None, None, None) if found is None else found
        self.hypotheses: list[str] = [text for text, _, _ in equations]
        self.statistic: float = number(statistic)
        self.pvalue: float = number(p_value)
        self.df_num: int = len(equations)
        self.df_denom: float = float("inf") if df is None else df
        self.distribution: str = "chi2" if df is None else "F"
        self.promise: dict[str, str] = native.promise()
        mark = MARKS[self.promise["provenance"]]
        self._marked = f"; {mark}" if mark else ""

    def __repr__(self) -> str:
        df = str(self.df_num) if self.distribution == "chi2" else f"{self.df_num}, {self.df_denom:g}"
        tested = ", ".join(self.hypotheses)
        return f"<Wald test of {tested}: {self.distribution}({df}) = {self.statistic:.4g}, p = {self.pvalue:.4g}{self._marked}>"
