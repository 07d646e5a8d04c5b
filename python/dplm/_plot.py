"""Pictures of a fit. Needs matplotlib, which nothing else does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dplm._errors import RequestError
from dplm._released import SIMULATED

if TYPE_CHECKING:
    from dplm._fit import Fit
    from dplm._groups import GroupedFit


def coefficients(fit: Fit, ax: Any = None) -> Any:
    """Each identified coefficient with its interval, in its own units.

    The intercept is drawn only if there is no other coefficient.
    """
    found = fit.conf_int().assign(estimate=fit.params).dropna()
    shown = found.drop(index="(Intercept)", errors="ignore") if len(found) > 1 else found
    if shown.empty:
        raise RequestError("no coefficient of this fit is identified, so there is nothing to draw: spend more budget")
    ax = _axes(ax, height=0.9 + 0.32 * len(shown))
    places = range(len(shown))
    # An interval without an end goes on to the edge of the picture.
    finite = [end for end in (*shown["low"], *shown["high"], *shown["estimate"]) if math.isfinite(end)]
    ax.hlines(places, shown["low"].clip(lower=min(finite)), shown["high"].clip(upper=max(finite)), color="#1f5fa8", linewidth=2)
    ax.plot(shown["estimate"], places, "o", color="#1f5fa8", markersize=6)
    ax.axvline(0.0, color="0.5", linestyle="--", linewidth=1)
    ax.set_yticks(places, list(shown.index))
    ax.invert_yaxis()
    ax.set_xlabel(f"coefficient, per unit of its column ({100 * fit.level:g} % intervals)")
    return _marked(ax, fit)


def groups(fit: GroupedFit, ax: Any = None) -> Any:
    """A picture for each coefficient, each with a line for every group.

    The intercept is drawn only if there is no other coefficient.
    """
    ends = fit.conf_int()
    names = [name for name in fit.params.columns if name != "(Intercept)"] or list(fit.params.columns)
    axes = _row_of_axes(ax, len(names), height=1.1 + 0.32 * len(fit.params))
    for one, name in zip(axes, names, strict=True):
        shown = ends.xs(name, level="coefficient").reindex(fit.params.index).assign(estimate=fit.params[name])
        places = range(len(shown))
        one.hlines(places, shown["low"], shown["high"], color="#1f5fa8", linewidth=2)
        one.plot(shown["estimate"], places, "o", color="#1f5fa8", markersize=6)
        one.axvline(0.0, color="0.5", linestyle="--", linewidth=1)
        one.set_xlabel(name)
    axes[0].set_yticks(places, list(shown.index))
    axes[0].invert_yaxis()
    axes[0].set_ylabel(fit.by)
    _marked(axes[0], fit)
    return axes


def over(fit: Fit, column: str, at: Any, level: float | None, simultaneous: bool, ax: Any = None) -> Any:
    """The mean response over a column.

    It is a band over a number, and a dot with its interval for each level.
    """
    found = fit.over(column, at, level=level, simultaneous=simultaneous)
    ax = _axes(ax, height=4.0)
    if found.index.dtype.kind == "f":
        ax.fill_between(found.index, found["low"], found["high"], color="#1f5fa8", alpha=0.2, linewidth=0)
        ax.plot(found.index, found["estimate"], color="#1f5fa8", linewidth=2)
    else:
        places = range(len(found))
        ax.vlines(places, found["low"], found["high"], color="#1f5fa8", linewidth=2)
        ax.plot(places, found["estimate"], "o", color="#1f5fa8", markersize=6)
        ax.set_xticks(places, list(found.index))
    ax.set_xlabel(column)
    held = "; ".join(found.attrs["held"])
    coverage = 100 * (fit.level if level is None else level)
    covered = "for all points at once" if simultaneous else "each for its own point"
    ax.set_title(f"{coverage:g} % intervals, {covered}" + (f"\nat {held}" if held else ""), fontsize="medium")
    ax.set_ylabel("mean response")
    return _marked(ax, fit)


def trajectory(fit: Fit, ax: Any = None) -> Any:
    """The released iterates of the first run against the step."""
    runs = fit._native.trajectories()
    if not runs:
        raise RequestError("this method has no steps, so there is no trajectory to draw")
    ax = _axes(ax, height=3.2)
    for j, name in enumerate(fit.names):
        ax.plot([theta[j] for theta in runs[0]], linewidth=1.2, label=name)
    ax.set_xlabel("step")
    ax.set_ylabel("parameter, standardised")
    if len(fit.names) <= 10:
        ax.legend(frameon=False, fontsize="small")
    return _marked(ax, fit)


def _marked(ax: Any, fit: Fit | GroupedFit) -> Any:
    """The picture, with a note below its axis if rows were simulated.

    Nothing else is drawn there.
    """
    if fit.pretended:
        ax.set_xlabel(f"{ax.get_xlabel()}\n{SIMULATED}", color="#9c1c1c")
    return ax


def _axes(ax: Any, height: float) -> Any:
    return ax if ax is not None else _pyplot().subplots(figsize=(7.0, height), layout="constrained")[1]


def _row_of_axes(axes: Any, count: int, height: float) -> Any:
    """Axes beside each other that share the vertical one."""
    if axes is not None:
        return axes
    width = max(7.0, 1.0 + 2.4 * count)
    return _pyplot().subplots(1, count, figsize=(width, height), sharey=True, squeeze=False, layout="constrained")[1][0]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install 'dplm[plot]'") from None
    return pyplot
