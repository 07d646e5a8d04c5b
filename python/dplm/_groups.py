"""The model fitted in each of several groups. It holds released and public numbers only."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dplm import _data, _frames, _native
from dplm._errors import FitWarning, RequestError, warn
from dplm._fit import Fit
from dplm._given import check
from dplm._released import SIMULATED, Released

if TYPE_CHECKING:
    import pandas as pd


class GroupedFit(Released["_native.GroupedFit"]):
    """The fits of several groups under one budget, as `dplm.lm(..., by=)` gives them.

    >>> import dplm
    >>> x = [i % 7 for i in range(4000)]
    >>> table = {"y": [2 * x + i % 3 for i, x in enumerate(x)], "x": x, "g": ["a", "b"] * 2000}
    >>> fit = dplm.lm("y[0..20] ~ x[0..7]", table, rho=1.0, by="g{a,b}", seed=1)
    >>> fit.by, list(fit.groups)
    ('g', ['a', 'b'])
    >>> round(fit.groups["a"].params["x"])
    2
    """

    @staticmethod
    def _read(text: str) -> _native.GroupedFit:
        return _native.GroupedFit.from_json(text)

    def __init__(self, native: _native.GroupedFit) -> None:
        self._native = native
        self._facts: dict[str, Any] = json.loads(native.json())
        found = native.groups()
        self._fits = {level: Fit(fit) for level, fit, _ in found if fit is not None}
        self._not_fitted = {level: why for level, _, why in found if why is not None}

    @property
    def by(self) -> str:
        """The column that groups are by."""
        return str(self._facts["by"]["column"])

    @property
    def groups(self) -> Mapping[str, Fit]:
        """The fit of each group that could be fitted, by its level."""
        return MappingProxyType(self._fits)

    @property
    def not_fitted(self) -> Mapping[str, str]:
        """Why a group could not be fitted, by its level."""
        return MappingProxyType(self._not_fitted)

    @property
    def sizes(self) -> pd.DataFrame:
        """How many rows, or persons, each group has (`count`).

        `noise_sd` is the standard deviation of the noise in that number; 0 where it is public.
        """
        import pandas as pd

        groups = self._facts["groups"]
        columns = {
            "count": [group["units"]["count"] for group in groups],
            "noise_sd": [group["size_sd"] or 0.0 for group in groups],
        }
        return _frames.frame(columns, pd.Index([group["by"][self.by] for group in groups], name=self.by))

    @property
    def params(self) -> pd.DataFrame:
        """The estimates: a row for each group, a column for each coefficient."""
        return self._by_group("params")

    @property
    def bse(self) -> pd.DataFrame:
        """The standard errors: a row for each group, a column for each coefficient."""
        return self._by_group("bse")

    @property
    def tvalues(self) -> pd.DataFrame:
        """Estimates over standard errors: a row for each group, a column for each coefficient."""
        return self._by_group("tvalues")

    @property
    def pvalues(self) -> pd.DataFrame:
        """The p-values: a row for each group, a column for each coefficient."""
        return self._by_group("pvalues")

    def _by_group(self, name: str) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({level: getattr(fit, name) for level, fit in self._fits.items()}).T.rename_axis(index=self.by)

    def conf_int(self, alpha: float | None = None, *, level: float | None = None) -> pd.DataFrame:
        """The ends of the intervals, `low` and `high`: a row for each group and coefficient, at any
        level. Asking again costs nothing."""
        import pandas as pd

        ends = {group: fit.conf_int(alpha, level=level) for group, fit in self._fits.items()}
        return pd.concat(ends, names=[self.by, "coefficient"])

    def predict(self, data: pd.DataFrame) -> pd.Series[float]:
        """The mean response for each row of a pandas DataFrame, by the fit of its group.

        Rows of groups that were not fitted, or with a missing cell, give NaN.
        """
        import pandas as pd

        if not _data.is_pandas(data) or self.by not in data:
            raise RequestError(f"rows of groups are a pandas DataFrame with the column {self.by!r}: give one, or predict by a fit of groups")
        levels = [_level(value) for value in data[self.by]]
        found = [math.nan] * len(levels)
        for level, fit in self._fits.items():
            places = [place for place, one in enumerate(levels) if one == level]
            if places:
                for place, estimate in zip(places, fit.predict(data.iloc[places]), strict=True):
                    found[place] = estimate
        return pd.Series(found, index=data.index, name="estimate")

    def plot(self, ax: Any = None) -> Any:
        """Draws each coefficient, except the intercept, with its interval in every group.

        Needs matplotlib; returns its axes, one for each coefficient.
        """
        from dplm import _plot

        return _plot.groups(self, ax)

    def equality(self) -> pd.DataFrame:
        """Wald's chi-square tests of whether groups have the same coefficients.

        A row for each coefficient, and the last row for all of them together.
        """
        import pandas as pd

        tests = self._facts["equality"]
        names = [one["names"][0] if len(one["names"]) == 1 else "all together" for one in tests]
        columns = {"chi2": "statistic", "df": "df", "pvalue": "p_value", "groups": "groups"}
        return _frames.frame({name: [one[key] for one in tests] for name, key in columns.items()}, pd.Index(names))

    @property
    def warnings(self) -> list[str]:
        """What a reader should know, with the groups that it is about."""
        return [sentence for _, sentence in self._native.warnings()]

    def summary(self) -> str:
        """The summary of the command line."""
        return self._native.summary()

    def _repr_html_(self) -> str:
        return _native.table([self.to_json()], "html", None, [], False, False).decode()

    def __repr__(self) -> str:
        marked = f"; {SIMULATED}" if self.pretended else ""
        return f"<dplm.GroupedFit of {self.formula!r} by {self.by}: {len(self._fits)} groups, rho = {self.guarantee.rho:g}{marked}>"


def _level(value: object) -> str:
    """A cell as a level is written: a number reads the same however it is stored."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def load(path: str | os.PathLike[str]) -> Fit | GroupedFit:
    """Reads what `save` has written: a fit, or the fits of several groups.

    Warnings
    --------
    FitWarning
        Where it was made of simulated rows.
    """
    check(path=path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        text = ""
    is_grouped = '"grouped_fit"' in text
    fit = GroupedFit(_native.GroupedFit.load(path)) if is_grouped else Fit(_native.Fit.load(path))
    if fit.pretended:
        warn("this result was made of simulated rows: its numbers say nothing about anybody", FitWarning)
    return fit
