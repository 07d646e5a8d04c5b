"""Pictures of a fit. Needs matplotlib, which nothing else does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dplm._errors import RequestError

if TYPE_CHECKING:
    from dplm._fit import Fit


def coefficients(fit: Fit, ax: Any = None) -> Any:
    """Each coefficient with its interval, in standard errors from zero: columns have units of their own."""
    ends, errors, params = fit._native.intervals(fit.level), fit._values("std_error"), fit._values("estimate")
    shown = [j for j, pair in enumerate(ends) if pair is not None]
    if not shown:
        raise RequestError("no coefficient of this fit is identified, so there is nothing to draw: spend more budget")
    ax = _axes(ax, height=0.9 + 0.32 * len(shown))
    bars = [[end / errors[j] for end in ends[j] or ()] for j in shown]
    finite = [end for bar in bars for end in bar if math.isfinite(end)]
    # An interval without an end goes on to the edge of the picture.
    low, high = min(finite, default=-3.0), max(finite, default=3.0)
    for place, (j, bar) in enumerate(zip(shown, bars, strict=True)):
        ax.plot([min(max(end, low), high) for end in bar], [place, place], color="#1f5fa8", linewidth=2)
        ax.plot(params[j] / errors[j], place, "o", color="#1f5fa8", markersize=6)
    ax.axvline(0.0, color="0.5", linestyle="--", linewidth=1)
    ax.set_yticks(range(len(shown)), [fit.names[j] for j in shown])
    ax.invert_yaxis()
    ax.set_xlabel(f"standard errors from zero ({100 * fit.level:g} % intervals)")
    return ax


def over(fit: Fit, column: str, at: Any, level: float | None, ax: Any = None) -> Any:
    """The mean response over a column: a band over a number, a dot with its interval for each level."""
    found = fit.over(column, at, level=level)
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
    ax.set_title(f"{coverage:g} % intervals" + (f", at {held}" if held else ""), fontsize="medium")
    ax.set_ylabel("mean response")
    return ax


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
    return ax


def _axes(ax: Any, height: float) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install 'dplm[plot]'") from None
    return pyplot.subplots(figsize=(7.0, height), layout="constrained")[1]
