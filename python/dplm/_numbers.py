"""Numbers that may be missing."""

from __future__ import annotations

import math

from dplm._errors import RequestError
from dplm._given import check

Ends = tuple[float, float] | None


def number(value: float | None) -> float:
    """Not a number in place of nothing."""
    return math.nan if value is None else float(value)


def ends(pair: Ends) -> tuple[float, float]:
    """The ends of an interval, or two that are not numbers."""
    return (math.nan, math.nan) if pair is None else pair


def coverage(alpha: float | None, level: float | None, usual: float) -> float:
    """The coverage that was asked for in one of two ways, or else the usual one."""
    check(alpha=alpha, level=level)
    if alpha is not None and level is not None:
        raise RequestError("give alpha or level, not both: alpha = 1 - level")
    if alpha is not None:
        return 1 - alpha
    return usual if level is None else level
