"""The guarantee of a fit in the words of other libraries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dplm._errors import RequestError

#: What OpenDP calls the relation; it has no metric for a row that contributes nothing.
_METRICS = {"replace-one": "ChangeOneDistance"}


#: What an accountant is not told, since it would take it to hold.
_VOID = {
    "seed": "the noise of this fit came from a fixed seed, so it has no guarantee to export: fit again without a seed",
    "simulated": "this fit was made of simulated rows, so it costs nobody anything to account for: export a fit of data",
}


def _check_holds(promise: Mapping[str, Any]) -> None:
    if promise["provenance"] != "system":
        raise RequestError(_VOID[promise["provenance"]])


def _up(rho: float) -> float:
    """The least double that is not below a budget, which is a decimal."""
    return rho if Decimal(rho) >= Decimal(repr(rho)) else math.nextafter(rho, math.inf)


def dp_event(guarantee: Mapping[str, Any], promise: Mapping[str, Any]) -> Any:
    """The releases of a fit as an event of Google's dp-accounting, which must be installed.

    A Gaussian release of rho has noise of 1 / sqrt(2 rho) times what neighbours of the fit's own
    relation can move. Give the event to an accountant of the relation that it takes when none is
    named: told of REPLACE_ONE, some accountants double the distance once more. A test may fail to
    protect, and no event has a delta of its own to say so: such a fit is refused.
    """
    import dp_accounting

    _check_holds(promise)
    if promise["conversion"] == "tested":
        raise RequestError("dp-accounting has no event for a test that may fail to protect: add the epsilon and delta of the fit yourself")
    events = [
        dp_accounting.GaussianDpEvent(noise_multiplier=1 / math.sqrt(2 * _up(one["rho"])))
        if one.get("mechanism", "gaussian") == "gaussian"
        else dp_accounting.ZCDpEvent(rho=_up(one["rho"]))
        for one in guarantee["releases"]
    ]
    return dp_accounting.ComposedDpEvent(events)


def opendp(guarantee: Mapping[str, Any], promise: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenDP would state of the fit as one measurement.

    Its metric, its measure, and the privacy map at one change.
    """
    _check_holds(promise)
    neighbours, unit, rho = promise["neighbours"], promise["unit"], _up(guarantee["rho"])
    tested = promise["conversion"] == "tested"
    return {
        "input_metric": _METRICS.get(neighbours) if unit == "row" else None,
        "output_measure": "Approximate<ZeroConcentratedDivergence>" if tested else "ZeroConcentratedDivergence",
        "d_in": 1,
        "d_out": [rho, promise["delta_spent"]] if tested else rho,
        "neighbours": neighbours,
        "unit": unit,
        "promise": dict(promise),
        "mechanisms": [
            {"what": one["what"], "mechanism": one.get("mechanism", "gaussian"), "d_out": _up(one["rho"])}
            for one in guarantee["releases"]
        ],
        "approximate": {"epsilon": guarantee["epsilon"], "delta": guarantee["delta"]},
    }
