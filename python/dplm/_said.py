"""What the native half is told: options by their names, as the table of options has them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dplm import _native
from dplm._errors import RequestError
from dplm._given import OPTIONS, check
from dplm._ledger import Ledger
from dplm._moments import given_moments


def said(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options among what a function was given, and those that other arguments say."""
    told = {name: given[name] for name in OPTIONS if name in given}
    if "formula" in told:
        told |= _model(told.pop("formula"))
    if "moments" in told:
        told["moments"] = given_moments(told["moments"])
    if "ledger" in told:
        told |= _account(told["ledger"])
    if "pretend" in told:
        told["pretend"] = _simulated_rows(told["pretend"])
    return told


def _model(formula: str | os.PathLike[str] | None) -> dict[str, Any]:
    """The formula; a model file says of each column without bounds that it is standardised."""
    check(formula=formula)
    if formula is None or isinstance(formula, str):
        return {} if formula is None else {"formula": formula}
    path, text = Path(formula), None
    # Raised once the other exception is gone: that one would hold the bytes of a file that was
    # named by mistake.
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = path.read_text(encoding="utf-8")
    if text is None:
        raise RequestError(f"the model file {path} could not be read: check the path, and that it is text")
    return {"formula": _native.model_file(text), "standardised": True}


def _account(ledger: Ledger | str | os.PathLike[str] | None) -> dict[str, Any]:
    """The ledger's file, and who asks."""
    if not isinstance(ledger, Ledger):
        check(ledger=ledger)
        return {"ledger": ledger, "analyst": os.environ.get("DPLM_ANALYST", "")}
    analyst, purpose, note = ledger.attribution
    return {"ledger": ledger.file, "analyst": analyst, "stated_purpose": purpose, "note": note}


def _simulated_rows(pretend: int | bool) -> int | bool:
    """How many rows to simulate; True for the usual number."""
    if type(pretend) is not bool and (not isinstance(pretend, int) or pretend < 1):
        raise RequestError("pretend must be a number of rows, or True")
    return pretend
