"""The guarantee of a fit in the words of other libraries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

#: What OpenDP calls the relation; it has no metric for a row that contributes nothing.
_METRICS = {"replace-one": "ChangeOneDistance"}


def dp_event(guarantee: Mapping[str, Any]) -> Any:
    """The releases of a fit as an event of Google's dp-accounting, which must be installed.

    A Gaussian release of rho has noise of 1 / sqrt(2 rho) times what neighbours of the fit's own relation can move. Give the event to an
    accountant of the relation that it takes when none is named: told of REPLACE_ONE, some accountants double the distance once more.
    """
    import dp_accounting

    events = [
        dp_accounting.GaussianDpEvent(noise_multiplier=1 / math.sqrt(2 * one["rho"]))
        if one.get("mechanism", "gaussian") == "gaussian"
        else dp_accounting.ZCDpEvent(rho=one["rho"])
        for one in guarantee["releases"]
    ]
    return dp_accounting.ComposedDpEvent(events)


def opendp(guarantee: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """What OpenDP would say of the fit as one measurement: its metric, its measure, and the privacy map at one change."""
    neighbours = guarantee["neighbours"]
    return {
        "input_metric": _METRICS.get(neighbours) if unit == "row" else None,
        "output_measure": "ZeroConcentratedDivergence",
        "d_in": 1,
        "d_out": guarantee["rho"],
        "neighbours": neighbours,
        "unit": unit,
        "mechanisms": [
            {"what": one["what"], "mechanism": one.get("mechanism", "gaussian"), "d_out": one["rho"]} for one in guarantee["releases"]
        ],
        "approximate": {"epsilon": guarantee["epsilon"], "delta": guarantee["delta"]},
    }
