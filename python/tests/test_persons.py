"""Persons with several rows.

Every kind of table gives the same fit, and no identifier is seen again.
"""

from __future__ import annotations

import array
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from common import FORMULA

import dplm
from dplm import _data, _native


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
    frame = pd.DataFrame({**visits, "id": pd.array(visits["id"], dtype="Int64")})
    # In a column of objects a whole float is the integer that it was.
    assert fitted(frame) == fitted(frame.astype({"id": object})) == fitted(pd.DataFrame(visits).astype({"id": object})) == expected
    assert fitted(frame.astype({"id": "string"})) == fitted(frame.astype({"id": "category"})) == expected
    assert fitted(pl.DataFrame(visits)) == fitted(pa.table(visits)) == fitted(visits) == expected
    texts = {**visits, "id": [None if one is None else f" {one}" for one in visits["id"]]}
    assert fitted(texts) == expected


FLOATS = {
    "pandas": lambda cells: pd.DataFrame(cells),
    "pandas nullable": lambda cells: pd.DataFrame({**cells, "id": pd.array(cells["id"], dtype="Float64")}),
    "NumPy": lambda cells: {**cells, "id": np.array(cells["id"], dtype=float)},
    "array": lambda cells: {**cells, "id": array.array("d", [cell or 0 for cell in cells["id"]])},
    "polars": lambda cells: pl.DataFrame({**cells, "id": pl.Series(cells["id"], dtype=pl.Float64)}),
    "pyarrow": lambda cells: pa.table({**cells, "id": pa.array(cells["id"], pa.float32())}),
    "decimals": lambda cells: pa.table({**cells, "id": pa.array(cells["id"], pa.int64()).cast(pa.decimal128(21, 2))}),
}


@pytest.mark.parametrize("kind", FLOATS)
def test_floating_point_identifiers_are_refused_with_what_to_type(visits, kind, tmp_path):
    """Pandas makes integers floats once a cell is missing, so those beyond 2^53 coincide."""
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "visits", rho=1.0)
    with pytest.raises(dplm.DataError, match="'id' holds floating-point numbers") as refusal:
        dplm.lm(FORMULA, FLOATS[kind](visits), rho=0.5, person="id", ledger=ledger, dataset="visits")
    assert 'dtype={"id": "string"}' in str(refusal.value) and 'df["id"].astype("Int64")' in str(refusal.value)
    assert ledger.show("visits")["spent"] == 0


def test_identifiers_are_what_was_written(wages, tmp_path):
    rows = len(wages["id"])
    for persons in (
        [f"7.{'0' * (row % 10)}" for row in range(rows)],
        [f"{'0' * (row % 10)}7" for row in range(rows)],
        [f"{10**44 + row % 10}" for row in range(rows)],
        [10**44 + row % 10 for row in range(rows)],
        [2**53 + row % 10 for row in range(rows)],
        [["true", "True", "TRUE", "yes", "1", "1.0", "1e0", "+1", "01", "one"][row % 10] for row in range(rows)],
    ):
        path = tmp_path / "rows.csv"
        pd.DataFrame({**wages, "id": pd.Series(persons, dtype=object)}).to_csv(path, index=False)
        tables = [path, {**wages, "id": persons}]
        tables += [pd.DataFrame({**wages, "id": pd.Series(persons, dtype=kind)}) for kind in (object, "category", "string")]
        for table in tables:
            hashes = _native.identified(_data.table(table, None, ["id"]), "id", False, bytes(32))
            found = {hashes[start : start + 16] for start in range(0, len(hashes), 16)}
            assert len(found) == 10 and bytes(16) not in found, (type(table), persons[:2])


def test_the_number_of_persons_is_told_and_that_of_rows_is_not(visits):
    fit = dplm.lm(FORMULA, visits, rho=0.5, person="id", seed=3)
    persons = len({one for one in visits["id"] if one is not None})
    assert fit.units == {"unit": "person", "count": persons}
    assert fit.nobs == persons
    assert fit.rows is None
    assert f"{persons} persons" in fit.summary()
    assert "replacing all rows of any one person" in fit.summary()
    assert dplm.lm(FORMULA, visits, rho=0.5, seed=3).units == {"unit": "row", "count": len(visits["id"])}
    plan = dplm.lm(FORMULA, visits, rho=0.5, person="id", dry_run=True)
    assert plan.units == fit.units and plan.unforeseen == "there is no forecast for persons with several rows"


def test_with_one_row_each_the_numbers_are_those_of_the_rows(wages):
    by_row, by_person = (json.loads(dplm.lm(FORMULA, wages, rho=0.5, seed=3, **more).to_json()) for more in ({}, {"person": "id"}))
    assert by_person["coefficients"] == by_row["coefficients"]
    assert by_person["guarantee"]["releases"] == by_row["guarantee"]["releases"]


def test_what_makes_no_sense_is_refused_and_names_nobody(visits):
    with pytest.raises(dplm.RequestError, match="name it with person"):
        dplm.lm(FORMULA, visits, rho=0.5, rows_per_person=3)
    with pytest.raises(dplm.RequestError, match="between 1 and 16384"):
        dplm.lm(FORMULA, visits, rho=0.5, person="id", rows_per_person=0)
    with pytest.raises(dplm.DataError, match="'ID'"):
        dplm.lm(FORMULA, visits, rho=0.5, person="ID")
    secret = {**visits, "id": ["943-77-1234", *visits["id"][1:]]}
    with pytest.raises(dplm.DataError, match="strict") as refusal:
        dplm.lm(FORMULA, secret, rho=0.5, person="id", strict=True)
    assert "943-77" not in str(refusal.value)


@pytest.mark.parametrize("option", ["cluster", "vcov", "cov_type"])
def test_clusters_elsewhere_are_answered(visits, option):
    with pytest.raises(dplm.RequestError, match=f'there is no {option}: .* person="firm" clusters by firm'):
        dplm.lm(FORMULA, visits, rho=0.5, **{option: "firm"})


def test_persons_are_no_term(visits):
    with pytest.raises(dplm.RequestError, match="'id' identifies the persons who are protected"):
        dplm.lm(FORMULA + " + id", visits, rho=0.5, person="id")
