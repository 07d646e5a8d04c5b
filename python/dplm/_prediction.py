"""Predictions with their intervals, by the names statsmodels gives to what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dplm import _native
from dplm._numbers import coverage, ends, number

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: The mean, its standard error, its interval, and where a person's response falls.
Predicted = tuple[float, float | None, tuple[float, float] | None, tuple[float, float] | None]


class Prediction:
    """The mean response of rows, as `Fit.get_prediction` gives it.

    Rows with a missing cell have no numbers. Where a single response falls (`obs`) has none unless
    the fit released a residual standard deviation.
    """

    def __init__(self, native: _native.Fit, table: _native.Table, index: Any, level: float) -> None:
        self._native, self._table, self._index, self._level = native, table, index, level
        self._found: dict[float, list[Predicted]] = {}

    def _at(self, level: float) -> list[Predicted]:
        if level not in self._found:
            self._found[level] = self._native.predict_intervals(self._table, level)
        return self._found[level]

    @property
    def predicted_mean(self) -> NDArray[np.float64]:
        """The mean response of all rows like each."""
        import numpy as np

        return np.array([one[0] for one in self._at(self._level)])

    @property
    def se_mean(self) -> NDArray[np.float64]:
        """The standard error of each mean, privacy noise included."""
        import numpy as np

        return np.array([number(one[1]) for one in self._at(self._level)])

    def conf_int(self, alpha: float | None = None, *, obs: bool = False, level: float | None = None) -> NDArray[np.float64]:
        """The ends of the interval for each mean, or with `obs=True` for a single response.

        They are at the level of the fit unless another is asked for.
        """
        import numpy as np

        found = self._at(coverage(alpha, level, self._level))
        return np.array([ends(one[3] if obs else one[2]) for one in found]).reshape(-1, 2)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """A row for each row of the data, with statsmodels' columns.

        These are `mean`, `mean_se`, `mean_ci_lower` and `_upper`, `obs_ci_lower` and `_upper`.

        `attrs["promise"]` is what is promised of the fit: its `provenance` says where nothing is.

        >>> import dplm
        >>> data = dplm.simulate(rows=1000, features=1, seed=1)
        >>> fit = dplm.lm("y ~ x1 + 0", data, rho=0.1, standardised=True, seed=1)
        >>> list(fit.get_prediction({"x1": [0.5]}).summary_frame().columns)
        ['mean', 'mean_se', 'mean_ci_lower', 'mean_ci_upper', 'obs_ci_lower', 'obs_ci_upper']
        """
        import pandas as pd

        mean, obs = self.conf_int(alpha), self.conf_int(alpha, obs=True)
        columns = {
            "mean": self.predicted_mean,
            "mean_se": self.se_mean,
            "mean_ci_lower": mean[:, 0],
            "mean_ci_upper": mean[:, 1],
            "obs_ci_lower": obs[:, 0],
            "obs_ci_upper": obs[:, 1],
        }
        frame = pd.DataFrame(columns, index=self._index)
        frame.attrs["promise"] = self._native.promise()
        return frame
