"""The noise itself: its law where it is a single bit or two, and that none is used twice."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from fits import FITS, ONE_STEP, document, estimate, extreme
from scipy.stats import chisquare, norm

ALARM = 1e-5


def test_noise_of_a_count_has_the_law_of_a_rounded_gaussian():
    """Half of 200 rows can be used; at this budget the noise of their count has sigma = 1."""
    rows = pd.DataFrame({"x": [1.0] * 100 + [np.nan] * 100, "y": [0.0] * 200})
    options = {"formula": "y[-1..1] ~ x[-1..1] + 0", "rho": 25, "method": "dpgd"}
    options |= {"purpose": "prediction", "steps": 1, "clip": 1.0}
    fits = [document(rows, options) for _ in range(FITS)]
    assert {fit["guarantee"]["releases"][0]["noise"][0]["sigma"] for fit in fits} == {"1"}
    counts = np.array([round(fit["rows_used"]["estimate"]) - 100 for fit in fits])
    edges = np.array([-np.inf, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, np.inf])
    expected = FITS * np.diff(norm.cdf(edges))
    observed = np.histogram(np.clip(counts, -3, 3), [-3.5, *edges[1:-1], 3.5])[0]
    assert chisquare(observed, expected).pvalue > ALARM


def released(_: int) -> float:
    return estimate(document(extreme(0.0), {**ONE_STEP, "rho": 0.5}))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_no_two_processes_draw_the_same_noise(start):
    released(0)
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context(start)) as pool:
        drawn = list(pool.map(released, range(100)))
    assert len(set(drawn)) == len(drawn)


def test_no_two_threads_draw_the_same_noise():
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(released, range(200)))
    assert len(set(drawn)) == len(drawn)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_does_not_draw_its_parents_noise():
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, repr(released(0)).encode())
        os._exit(0)
    os.wait()
    assert float(os.read(read, 100)) != released(0)
