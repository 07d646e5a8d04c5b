"""Stated epsilons and chances of a right guess, against accountants of others."""

from __future__ import annotations

import functools
import math

import dp_accounting
import numpy as np
import pandas as pd
import pytest
from dp_accounting import rdp
from fits import document, verifier
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import GaussianMechanism
from riskcal.analysis import get_advantage_from_gdp

import dplm

VERIFY = verifier()


RHOS = [1e-4, 1e-3, 0.015, 0.05, 0.1, 0.5, 1, 2, 8]
DELTAS = [1e-9, 1e-6, 1e-3]


@functools.cache
def stated(rho: float, delta: float) -> tuple[float, float]:
    plan = dplm.plan(rows=100_000, features=2, rho=rho, delta=delta)
    return plan["epsilon"], plan["guess"]


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_nothing_stated_is_too_small(rho, delta):
    epsilon, guess = stated(rho, delta)
    mu = math.sqrt(2 * rho)
    assert 0 <= guess - (1 + get_advantage_from_gdp(mu)) / 2 < 1e-9
    # The other evaluation is right to a few of the last digits.
    assert -1e-14 <= epsilon / VERIFY.exact_epsilon(rho, delta) - 1 < 1e-6


@pytest.mark.parametrize("parts", [1, 4, 32])
@pytest.mark.parametrize("rho", [0.015, 0.5])
def test_parts_of_a_budget_compose_to_what_is_stated_of_the_whole(rho, parts):
    noise = math.sqrt(parts / (2 * rho))
    accountant = PRVAccountant([GaussianMechanism(noise)], max_self_compositions=[parts], eps_error=1e-3, delta_error=1e-10)
    lower, found, upper = accountant.compute_epsilon(1e-6, [parts])
    assert lower - 1e-9 <= stated(rho, 1e-6)[0] <= upper + 1e-9 and np.isfinite(found)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_an_accountant_of_gaussian_mechanisms_agrees(rho, delta):
    found = dp_accounting.get_epsilon_gaussian(1 / math.sqrt(2 * rho), delta)
    assert -1e-9 <= stated(rho, delta)[0] - found < 1e-6 * (1 + found)


@pytest.mark.parametrize("rho", [0.05, 0.5, 2])
@pytest.mark.parametrize("method", ["theil-sen", "medians"])
def test_what_is_stated_of_other_noise_is_not_too_small(rho, method):
    """By Renyi divergences of many orders, which bound the best order from above."""
    line = pd.DataFrame({"x": np.linspace(-1, 1, 900), "y": np.linspace(-1, 1, 900)})
    options = {"formula": "y[-1..1] ~ x[-1..1]", "rho": rho, "method": method, "purpose": "prediction"}
    guarantee = document(line, options)["guarantee"]
    accountant = rdp.RdpAccountant(orders=1 + np.geomspace(1e-3, 1e4, 20_000))
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    found = accountant.get_epsilon(guarantee["delta"])
    assert -1e-4 * (1 + found) <= guarantee["epsilon"] - found <= 1e-6
