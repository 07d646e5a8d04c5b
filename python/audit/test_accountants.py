"""Stated epsilons and chances of a right guess, against accountants of others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fits import verifier
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import GaussianMechanism
from riskcal.analysis import get_advantage_from_gdp

import dplm

VERIFY = verifier()


def stated(rho: float, delta: float) -> tuple[float, float]:
    plan = dplm.plan(rows=100_000, features=2, rho=rho, delta=delta)
    return plan["epsilon"], plan["guess"]


@pytest.mark.parametrize("rho", [1e-4, 1e-3, 0.015, 0.05, 0.1, 0.5, 1, 2, 8])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
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
