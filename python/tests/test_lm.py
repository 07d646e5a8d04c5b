"""Every kind of table gives the same bits, and they are those of the command line."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from common import FORMULA

import dplm
from dplm import _native


def fitted(data, formula=FORMULA, **options) -> str:
    return dplm.lm(formula, data, rho=0.5, seed=3, **options).to_json()


@pytest.fixture(scope="module")
def expected(wages_csv) -> str:
    return fitted(wages_csv)


def test_the_command_gives_the_same_document(wages_csv, expected, command):
    assert command("fit", wages_csv, "--formula", FORMULA, "--rho", 0.5, "--seed", 3, "--json", "-") == expected


def test_paths(wages, wages_csv, expected, tmp_path):
    pq.write_table(pa.table(wages), tmp_path / "wages.parquet")
    assert fitted(str(wages_csv)) == fitted([wages_csv]) == fitted(tmp_path / "wages.parquet") == expected
    assert fitted(str(tmp_path / "*.parquet")) == expected


def test_arrow_tables(wages, expected):
    table = pa.table(wages)
    assert fitted(table) == expected
    assert fitted(table.to_reader(max_chunksize=100)) == expected
    assert fitted(pl.DataFrame(wages)) == expected
    assert fitted(pl.DataFrame(wages).with_columns(pl.col("union").cast(pl.Categorical))) == expected


def test_pandas(wages, expected):
    frame = pd.DataFrame(wages)
    assert fitted(frame) == expected
    numbers = frame[["wage", "educ"]].rename(columns={"educ": 7})
    assert '"name": "7"' in fitted(numbers, "wage[0..60] ~ .", standardised=True)
    assert list(numbers.columns) == ["wage", 7], "the caller's table is left as it was"
    assert fitted(frame.astype({"union": "category"})) == expected
    assert fitted(frame.astype({"educ": "Int64", "exper": "Float64"})) == expected


def test_pandas_without_pyarrow(wages, expected, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError):
        import pyarrow  # noqa: F401
    frame = pd.DataFrame(wages).astype({"union": pd.StringDtype("python")})
    assert fitted(frame) == expected
    assert fitted(frame.astype({"union": "category", "educ": "Int64", "exper": "Float64"})) == expected
    assert fitted(frame.astype({"union": object})) == expected


def test_mappings_and_arrays(wages, expected):
    assert fitted(wages) == expected
    columns = {name: np.array(cells, dtype=float if name == "exper" else None) for name, cells in wages.items()}
    assert fitted(columns) == expected
    records = np.rec.fromarrays(list(columns.values()), names=list(columns))
    assert fitted(records) == expected


def test_what_is_masked_is_missing(wages, expected):
    """Whatever lies under the mask."""
    exper = np.ma.array([1e9 if cell is None else cell for cell in wages["exper"]], mask=[cell is None for cell in wages["exper"]])
    union = np.ma.array(wages["union"], dtype=object)
    assert fitted(wages | {"exper": exper, "union": union}) == expected
    union[5], educ = np.ma.masked, np.ma.array(wages["educ"], dtype="u8", mask=np.arange(3000) == 7)
    gone = {"union": [None if i == 5 else cell for i, cell in enumerate(wages["union"])]}
    gone["educ"] = [None if i == 7 else cell for i, cell in enumerate(wages["educ"])]
    assert fitted(wages | {"exper": exper, "union": union, "educ": educ}) == fitted(wages | gone) != expected
    numbers = np.ma.array(np.column_stack([wages["wage"], wages["educ"]]), mask=np.arange(6000).reshape(3000, 2) == 8)
    columns = {"wage": [None if i == 4 else cell for i, cell in enumerate(wages["wage"])], "educ": wages["educ"]}
    formula = "wage[0..60] ~ educ[0..20]"
    assert fitted(numbers, formula, names=["wage", "educ"]) == fitted(columns, formula)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_with_names(order):
    rng = np.random.default_rng(1)
    matrix = np.asarray(rng.normal(size=(2000, 3)), order=order)
    columns = {"y": matrix[:, 0].tolist(), "a": matrix[:, 1].tolist(), "b": matrix[:, 2].tolist()}
    expected = fitted(columns, "y ~ a + b", standardised=True)
    assert fitted(matrix, "y ~ a + b", names=["y", "a", "b"], standardised=True) == expected
    assert fitted(matrix[::2], "y ~ a + b", names=["y", "a", "b"], standardised=True) != expected
    with pytest.raises(ValueError, match="names"):
        fitted(matrix, "y ~ a + b", standardised=True)
    with pytest.raises(ValueError, match="2 names do not fit"):
        fitted(matrix, "y ~ a + b", names=["y", "a"], standardised=True)


def test_dot_and_model_file(wages, tmp_path):
    numbers = {name: wages[name] for name in ["wage", "educ"]}
    dotted = json.loads(fitted(pa.table(numbers), "wage[0..60] ~ .", standardised=True))
    assert dotted["coefficients"][1]["name"] == "educ"
    model = tmp_path / "model.toml"
    model.write_text('response = "wage"\n[columns]\nwage = { low = 0, high = 60 }\neduc = { low = 0, high = 20 }\n')
    assert fitted(wages, model) == fitted(wages, "wage[0..60] ~ educ[0..20]")
    model.write_bytes(b"wage\n4711\xe9\n")
    for wrong in (tmp_path / "none.toml", model):
        with pytest.raises(dplm.RequestError, match="could not be read") as refusal:
            fitted(wages, wrong)
        assert refusal.value.__context__ is None


def test_buffers_are_shared_and_given_back():
    memory = bytearray(8 * 100)
    table = _native.Table.from_columns([("y", _native.Column.numbers(memoryview(memory).cast("d")))])
    with pytest.raises(BufferError):
        memory.append(0)
    del table
    memory.append(0)


def test_arrow_memory_is_not_copied(wages):
    source = pa.table(wages)
    before = pa.total_allocated_bytes()
    table = _native.Table.from_arrow(source)
    # The stream itself takes a little.
    assert pa.total_allocated_bytes() - before < source.nbytes / 10 and table.names == list(wages)


def test_options_reach_the_fit(wages):
    facts = json.loads(fitted(wages, method="dpgd", clip=1.5, steps=40, interval="batched", level=0.9, neighbours="zero-out"))
    assert (facts["method"]["name"], facts["method"]["clip"], facts["method"]["steps"]) == ("dpgd", 1.5, 40)
    assert (facts["interval"], facts["level"], facts["guarantee"]["neighbours"]) == ("batched", 0.9, "zero-out")
    budget = dplm.lm(FORMULA, wages, epsilon=1.0, delta=1e-6, seed=1).guarantee
    assert math.isclose(budget.epsilon, 1.0, rel_tol=1e-6) and budget.epsilon <= 1.0
    assert dplm.lm(FORMULA, wages, epsilon=1.0, seed=1).guarantee == budget, "delta is 1e-6 when nothing is said"
    assert fitted(wages, threads=1) == fitted(wages, threads=2)


def test_without_a_seed_the_fit_is_private_and_differs(wages):
    one, other = (dplm.lm(FORMULA, wages, rho=0.5) for _ in range(2))
    assert one.private and other.private and one.to_json() != other.to_json()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "give the privacy budget"),
        ({"rho": 1, "epsilon": 1}, "once"),
        ({"rho": -1}, "rho"),
        ({"rho": "0.1"}, "rho must be a number, not str"),
        ({"epsilon": [1]}, "epsilon must be a number, not list"),
        ({"rho": 1, "level": "95"}, "level must be a number, not str"),
        ({"rho": 1, "steps": 2.5}, "steps must be a whole number that is not negative, not float"),
        ({"rho": 1, "method": 3}, "method must be a text, not int"),
        ({"rho": 1, "level": None}, "level must be a number, not NoneType"),
        ({"rho": 1, "group_sizes": 3}, "group_sizes must be a mapping with a whole number for each level, not int"),
        ({"rho": 1, "method": "wishart"}, "runs in `dplm lab run arena` only"),
        ({"rho": 1, "standardised": "yes"}, "standardised must be True or False, not str"),
        ({"rho": 1e-5}, "no coefficient would be identified: .* rho = [0-9.]*[1-9]"),
        ({"rho": 1, "level": 2}, "the level must lie between 0 and 1"),
        ({"rho": 1, "method": "magic"}, "method must be one of auto, dpgd, adassp"),
        ({"rho": 1, "interval": "batched", "target": "population"}, 'covers the optimum on this data set only: ask for target="sample"'),
        ({"rho": 1, "method": "auto", "steps": 3}, "finds the clip, the steps and their size itself"),
        ({"rho": 1, "threads": 0}, "the number of threads"),
    ],
)
def test_wrong_requests_are_value_errors(wages, options, sentence):
    with pytest.raises(dplm.RequestError, match=sentence) as refusal:
        dplm.lm(FORMULA, wages, **options)
    assert isinstance(refusal.value, ValueError) and isinstance(refusal.value, dplm.DplmError)


def test_columns_without_bounds_are_refused_unless_they_are_said_to_be_standardised(wages, tmp_path):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "wages", rho=1)
    with pytest.raises(dplm.RequestError, match=r"'wage', 'educ': write wage\[LOW..HIGH\].*standardised=True"):
        dplm.lm("wage ~ educ", wages, rho=0.1, ledger=ledger, dataset="wages")
    assert ledger.show("wages")["spent"] == 0
    assert dplm.lm("wage ~ educ", wages, rho=0.1, method="dpgd").names == ["(Intercept)", "educ"]


@pytest.mark.parametrize("formula", ["wage ~", "wage ~ nothing", "wage[3..1] ~ educ", "wage{a} ~ educ"])
def test_sentences_are_those_of_the_command_with_options_as_in_a_call(wages_csv, command, formula):
    with pytest.raises(dplm.DplmError) as refusal:
        dplm.lm(formula, wages_csv, rho=1)
    with pytest.raises(RuntimeError) as typed:
        command("fit", wages_csv, "--formula", formula, "--rho", 1)
    assert str(refusal.value) in str(typed.value).replace("--standardised", "standardised=True")


def test_a_cell_that_is_no_number_is_missing_and_in_no_message(wages):
    secret = "xyzzy-4711"
    gone = wages | {"wage": [None, *wages["wage"][1:]]}
    odd = wages | {"wage": [secret, *wages["wage"][1:]]}
    for data in (odd, pd.DataFrame(odd)):
        assert fitted(data) == fitted(gone)
        with pytest.raises(dplm.DataError, match="strict") as refusal:
            fitted(data, strict=True)
        assert secret not in str(refusal.value) and refusal.value.__cause__ is None


def test_data_errors(wages):
    with pytest.raises(dplm.DataError, match="strict"):
        dplm.lm(FORMULA, wages, rho=1, strict=True)
    with pytest.raises(dplm.DataError, match="more rows than coefficients"):
        dplm.lm("y ~ x", {"y": [1.0], "x": [1.0]}, rho=1, standardised=True)
    with pytest.raises(dplm.DataError, match="same number of rows"):
        dplm.lm("y ~ x", {"y": [1.0], "x": [1.0, 2.0]}, rho=1, standardised=True)
    with pytest.raises(dplm.RequestError, match="the data must be"):
        dplm.lm("y ~ x", 17, rho=1, standardised=True)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="finds the scratch file in /proc")
def test_a_fit_that_fails_after_it_spent_is_no_data_error(tmp_path, monkeypatch):
    """A `DataError` says that nothing was spent."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=100)
    cut = []

    def cut_scratch_file(stage: str, done: int, total: int) -> None:
        if stage != "fitting" or cut:
            return
        for path in Path("/proc/self/fd").iterdir():
            # A scratch file no longer has a name.
            if path.exists() and str(path.readlink()).startswith(str(tmp_path)) and path.stat().st_nlink == 0:
                os.truncate(path, 0)
                cut.append(path)

    # Enough rows for each step to last while the callback is waited for.
    rows = np.random.default_rng(1).normal(size=(1_500_000, 2))
    with pytest.raises(dplm.FitError) as failure:
        dplm.lm(
            "y ~ x",
            rows,
            names=["y", "x"],
            rho=50,
            method="dpgd",
            clip=0.1,
            steps=100,
            threads=1,
            memory=1 << 20,
            ledger=ledger,
            dataset="rows",
            progress=cut_scratch_file,
        )
    assert cut and ledger.show("rows")["spent"] == 50 and not isinstance(failure.value, dplm.DataError)


def test_a_seed_warns_where_it_is_given(wages):
    with pytest.warns(dplm.PrivacyWarning, match="not private") as heard:
        fitted(wages)
    assert heard[0].filename == __file__ and issubclass(dplm.PrivacyWarning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplm.PrivacyWarning)
        dplm.lm(FORMULA, wages, rho=0.5)


def test_predictions_read_new_rows_cell_by_cell(wages):
    fit = dplm.lm(FORMULA, wages, rho=0.5)
    rows = {"educ": [12, "12", "twelve", np.int8(12)], "exper": [10.0, 10, 10, "1e1"], "union": ["yes", " yes", "yes", np.str_("yes")]}
    for data in (rows, pd.DataFrame(rows), list(zip(*rows.values(), strict=True))):
        found = fit.predict(data, names=list(rows) if isinstance(data, list) else None).tolist()
        assert found[0] == found[1] == found[3] and math.isnan(found[2])


def test_typed_columns_of_any_kind_are_numbers_to_the_dot():
    for cells in (np.arange(9, dtype="u8"), np.arange(9, dtype="f2"), pd.Series(range(9), dtype="UInt8"), pl.Series(range(9)), pa.array(range(9))):
        assert '"name": "x"' in fitted({"y": np.arange(9.0), "x": cells}, "y[0..9] ~ .", method="dpgd", clip=1.0, steps=1, purpose="prediction")
    with pytest.raises(dplm.DplmError, match="'.'"):
        fitted({"y": np.arange(9.0), "x": list(range(9))}, "y[0..9] ~ .")
