"""Linear regression under differential privacy, with honest error bars.

>>> import dplm
>>> data = dplm.simulate(rows=10_000, features=2, theta=[0.6, -0.8], seed=1)
>>> fit = dplm.lm("y ~ x1 + x2 + 0", data, rho=0.015, standardised=True, seed=1)
>>> print(fit.summary().splitlines()[0])
Private linear regression (dplm 0.1.0)

The scikit-learn estimator is in `dplm.sklearn`, which needs scikit-learn.
"""

from dplm._errors import DataError, DplmError, FitError, FitWarning, LedgerError, PrivacyWarning, RequestError
from dplm._fit import Bounded, Fit, Summary
from dplm._groups import GroupedFit, load
from dplm._hypothesis import TTest, WaldTest
from dplm._ledger import Ledger
from dplm._lm import glm, lm
from dplm._native import __version__
from dplm._prediction import Prediction
from dplm._released import Guarantee, Release
from dplm._study import Study, refine, study
from dplm._table import Table, table
from dplm._tools import Plan, Simulated, plan, simulate

__all__ = [
    "Bounded",
    "DataError",
    "DplmError",
    "Fit",
    "FitError",
    "FitWarning",
    "GroupedFit",
    "Guarantee",
    "Ledger",
    "LedgerError",
    "Plan",
    "Prediction",
    "PrivacyWarning",
    "Release",
    "RequestError",
    "Simulated",
    "Study",
    "Summary",
    "TTest",
    "Table",
    "WaldTest",
    "__version__",
    "glm",
    "lm",
    "load",
    "plan",
    "refine",
    "simulate",
    "study",
    "table",
]
