"""What can go wrong. The sentences are those of the command line, and never hold a cell's value."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dplm._fit import Fit
    from dplm._groups import GroupedFit


class DplmError(Exception):
    """Anything that dplm refuses or fails to do."""


class RequestError(DplmError, ValueError):
    """What was asked makes no sense: the formula, an option, the budget."""


class DataError(DplmError, ValueError):
    """The data cannot be used as they are: a missing column, a damaged file, too few rows."""


class FitError(DplmError, RuntimeError):
    """The fit failed, or its guarantee cannot be given. Its budget may be spent."""


class LedgerError(DplmError, RuntimeError):
    """The ledger refused: too little budget left, no such data set, a damaged file."""


class _OfFit(UserWarning):
    """A warning that comes with a fit."""

    #: The fit, where the warning was made an exception.
    fit: Fit | GroupedFit


class PrivacyWarning(_OfFit):
    """What is done is allowed and not private: the noise is reproducible, or rows are looked at
    without noise."""


class FitWarning(_OfFit):
    """What a reader of the fit should know: what was left out, what is not identified, what was
    assumed."""


def warn(sentence: str, category: type[Warning] = PrivacyWarning) -> None:
    """Warns the caller of this package, at the line of the call."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "dplm":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)
