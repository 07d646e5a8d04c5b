"""Persons with several rows: every kind of table gives the same fit, and no identifier is seen again."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from common import FORMULA

import dplm


@pytest.fixture(scope="module")
def visits(wages):
    """The wages of 900 persons, by a number; some rows are nobody's."""
    persons = [None if row % 101 == 0 else (row * row) % 1800 // 2 for row in range(len(wages["id"]))]
    return {**wages, "id": persons}


def fitted(data, **options) -> str:
    return dplm.lm(FORMULA, data, rho=0.5, seed=3, person="id", rows_per_person=5, **options).to_json()


def test_every_kind_of_table_gives_the_fit_of_the_command(visits, command, tmp_path):
    path = tmp_path / "visits.csv"
    pd.DataFrame({**visits, "id": pd.array(visits["id"], dtype="Int64")}).to_csv(path, index=False)
    options = ["--formula", FORMULA, "--rho", 0.5, "--seed", 3, "--person", "id", "--rows-per-person", 5, "--json", "-"]
    expected = command("fit", path, *options)
    assert fitted(path) == expected
    # Floats, since some are missing; objects; a text among them would change nothing for the others.
    assert fitted(pd.DataFrame(visits)) == fitted(pd.DataFrame(visits).astype({"id": object})) == expected
    assert fitted(pl.DataFrame(visits)) == fitted(pa.table(visits)) == fitted(visits) == expected
    texts = {**visits, "id": [None if one is None else f" {one}" for one in visits["id"]]}
    assert fitted(texts) == expected


def test_the_number_of_persons_is_told_and_that_of_rows_is_not(visits):
    fit = dplm.lm(FORMULA, visits, rho=0.5, person="id", seed=3)
    persons = len({one for one in visits["id"] if one is not None})
    assert fit.units == {"unit": "person", "count": persons}
    assert fit.nobs == persons
    assert fit.rows is None
    assert f"{persons} persons" in fit.summary()
    assert "replacing all rows of any one person" in fit.summary()
    assert dplm.lm(FORMULA, visits, rho=0.5, seed=3).units == {"unit": "row", "count": len(visits["id"])}


def test_with_one_row_each_the_numbers_are_those_of_the_rows(wages):
    by_row, by_person = (json.loads(dplm.lm(FORMULA, wages, rho=0.5, seed=3, **more).to_json()) for more in ({}, {"person": "id"}))
    assert by_person["coefficients"] == by_row["coefficients"]
    assert by_person["guarantee"]["releases"] == by_row["guarantee"]["releases"]


def test_what_makes_no_sense_is_refused_and_names_nobody(visits):
    with pytest.raises(dplm.RequestError, match="person="):
        dplm.lm(FORMULA, visits, rho=0.5, rows_per_person=3)
    with pytest.raises(dplm.RequestError, match="between 1 and 16384"):
        dplm.lm(FORMULA, visits, rho=0.5, person="id", rows_per_person=0)
    with pytest.raises(dplm.DataError, match="'ID'"):
        dplm.lm(FORMULA, visits, rho=0.5, person="ID")
    secret = {**visits, "id": ["943-77-1234", *visits["id"][1:]]}
    with pytest.raises(dplm.DataError, match="strict") as refusal:
        dplm.lm(FORMULA, secret, rho=0.5, person="id", strict=True)
    assert "943-77" not in str(refusal.value)
