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
