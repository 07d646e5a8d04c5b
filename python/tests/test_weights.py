"""Weighted rows.

Every kind of table gives the fit of the command, and what cannot be a weight is refused.
"""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest
from common import FORMULA

import dplm


@pytest.fixture(scope="module")
def weighted(wages):
    """The wages with weights from one to four; some are missing."""
    return {**wages, "w": [None if row % 97 == 0 else 1.0 + row % 4 for row in range(len(wages["id"]))]}


def fitted(data, **options) -> str:
    return dplm.lm(FORMULA, data, rho=0.5, seed=3, weights="w[0..4]", **options).to_json()


def test_every_kind_of_table_gives_the_fit_of_the_command(weighted, command, tmp_path):
    path = tmp_path / "weighted.csv"
    pd.DataFrame(weighted).to_csv(path, index=False)
    expected = command("fit", path, "--formula", FORMULA, "--rho", 0.5, "--seed", 3, "--weights", "w[0..4]", "--json", "-")
    assert fitted(path) == fitted(pd.DataFrame(weighted)) == fitted(pl.DataFrame(weighted)) == fitted(weighted) == expected
    assert json.loads(expected)["weights"] == "w[0..4]"
    assert json.loads(expected)["coefficients"] != json.loads(dplm.lm(FORMULA, weighted, rho=0.5, seed=3).to_json())["coefficients"]


def test_what_cannot_be_a_weight_is_refused(weighted):
    for weights in ("w", "w[1..4]", "w{a,b}", 3):
        with pytest.raises(dplm.DplmError):
            dplm.lm(FORMULA, weighted, rho=0.5, weights=weights)
    with pytest.raises(dplm.DplmError, match="'v'"):
        dplm.lm(FORMULA, weighted, rho=0.5, weights="v[0..4]")


def test_a_dry_run_of_weighted_rows_says_what_it_assumes_of_weights(weighted):
    plan = dplm.lm(FORMULA, weighted, rho=0.5, weights="w[0..4]", dry_run=True)
    assert any("weights: 'w'" in line for line in plan.assumed)
