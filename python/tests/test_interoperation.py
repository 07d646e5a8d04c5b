"""Tables from databases, and the guarantee in the words of other libraries."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from common import FORMULA

import dplm

BOUNDED = {"rho": 0.5, "seed": 3}


@pytest.fixture(scope="module")
def arrow(wages) -> pa.Table:
    return pa.table({name: wages[name] for name in ("wage", "educ", "exper", "union")})


@pytest.fixture(scope="module")
def expected(arrow) -> dict:
    return dplm.lm(FORMULA, arrow, **BOUNDED).params.to_dict()


def test_a_duckdb_relation_is_a_table(arrow, expected, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pq.write_table(arrow, tmp_path / "wages.parquet")
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT * FROM '{tmp_path}/wages.parquet'")
        assert dplm.lm(FORMULA, relation, **BOUNDED).params.to_dict() == expected
        # What is asked of the database is what is fitted.
        half = connection.sql(f"SELECT * FROM '{tmp_path}/wages.parquet' WHERE educ >= 14")
        assert dplm.lm(FORMULA, half, **BOUNDED).nobs < len(arrow)


def test_lazy_frames_and_datasets_are_tables(arrow, expected, tmp_path):
    pq.write_table(arrow, tmp_path / "wages.parquet")
    lazy = pl.scan_parquet(tmp_path / "wages.parquet")
    assert dplm.lm(FORMULA, lazy, **BOUNDED).params.to_dict() == expected
    dataset = ds.dataset(tmp_path / "wages.parquet")
    assert dplm.lm(FORMULA, dataset, **BOUNDED).params.to_dict() == expected
    assert dplm.lm(FORMULA, dataset.scanner(), **BOUNDED).params.to_dict() == expected
    assert dplm.lm(FORMULA, arrow.to_reader(), **BOUNDED).params.to_dict() == expected


def test_an_adbc_cursor_is_a_table(arrow, expected):
    pytest.importorskip("adbc_driver_manager")
    dbapi = pytest.importorskip("adbc_driver_sqlite.dbapi")
    with dbapi.connect() as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("wages", arrow)
        cursor.execute("SELECT * FROM wages")
        assert dplm.lm(FORMULA, cursor, **BOUNDED).params.to_dict() == expected


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL server of our own, on a socket in a folder of its own."""
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda found: int(found.parts[-3]))
    found = shutil.which("postgres") or (str(programs[-1]) if programs else None)
    if found is None:
        pytest.skip("PostgreSQL is not installed here: apt-get install postgresql")
    # The server refuses to run as root; Debian's package makes a user for it.
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="dplm-postgresql-"))
    server = None
    try:
        if user:
            shutil.chown(folder, "postgres")
        calls = {"check": True, "capture_output": True, "cwd": folder, **user}
        initdb = Path(found).with_name("initdb")
        subprocess.run([initdb, "--pgdata", folder / "data", "--username", "dplm", "--auth", "trust", "--no-sync"], **calls)
        own = ["-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        server = subprocess.Popen([found, *own], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **user)
        address = f"postgresql:///postgres?host={folder}&user=dplm"
        # A minute: machines that build have other work.
        for _ in range(120):
            with contextlib.suppress(dbapi.Error), dbapi.connect(address):
                break
            time.sleep(0.5)
        yield address
    finally:
        if server is not None:
            server.terminate()
            server.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_query_of_postgresql_is_a_table(arrow, expected, postgresql):
    """Checks all types of a table of wages: whole and other numbers, texts, booleans, nulls."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("wages", arrow)
        cursor.execute("SELECT * FROM wages")
        assert dplm.lm(FORMULA, cursor, **BOUNDED).params.to_dict() == expected
        cursor.execute("SELECT wage, educ::smallint AS educ, exper, \"union\"::varchar(3) AS \"union\", DATE '2020-02-03' AS day FROM wages")
        assert dplm.lm(FORMULA, cursor, **BOUNDED).params.to_dict() == expected
        # The driver hands decimals over as texts, whatever they are: the query says that they are
        # numbers.
        cursor.execute("SELECT wage::numeric(38, 20) AS wage, educ, exper, \"union\" FROM wages")
        with pytest.raises(dplm.DataError, match="'wage' holds text"):
            dplm.lm(FORMULA, cursor, **BOUNDED)
        cursor.execute("SELECT wage::numeric(38, 20)::float8 AS wage, educ, exper, \"union\" FROM wages")
        assert dplm.lm(FORMULA, cursor, **BOUNDED).params.to_dict() == pytest.approx(expected, rel=1e-6)
        cursor.execute("SELECT wage, educ, exper, \"union\" = 'yes' AS \"union\" FROM wages")
        told = FORMULA.replace("{no,yes}", "{false,true}")
        assert list(dplm.lm(told, cursor, **BOUNDED).params) == list(expected.values())
        cursor.execute("SELECT * FROM wages WHERE educ > 1000")
        with pytest.raises(dplm.DataError, match="no rows"):
            dplm.lm(FORMULA, cursor, **BOUNDED)


def test_a_query_that_fails_is_refused_in_our_words(tmp_path, arrow):
    pq.write_table(arrow, tmp_path / "wages.parquet")
    (tmp_path / "text.parquet").write_text("987654.321")
    with pytest.raises(dplm.DataError, match="could not be run") as refused:
        dplm.lm(FORMULA, pl.scan_parquet(tmp_path / "text.parquet"), **BOUNDED)
    assert refused.value.__context__ is None and "987654" not in str(refused.value)
    with pytest.raises(dplm.DplmError, match="wage"):
        dplm.lm("wag[0..60] ~ educ[0..20]", pl.scan_parquet(tmp_path / "wages.parquet"), **BOUNDED)


@pytest.mark.parametrize("rho", [1e-4, 0.015, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_epsilon_is_that_of_dp_accounting(rho, delta):
    """The exact Gaussian conversion against discretised privacy losses.

    These round up, by at most their grid.
    """
    accounting = pytest.importorskip("dp_accounting")
    plan = dplm.plan(rows=10_000, features=2, rho=rho, delta=delta)
    ours = plan["epsilon"]
    grid = 1e-4
    accountant = accounting.pld.PLDAccountant(value_discretization_interval=grid)
    accountant.compose(accounting.GaussianDpEvent(1 / math.sqrt(2 * rho)))
    theirs = accountant.get_epsilon(delta)
    assert theirs - 2 * grid <= ours <= theirs + 1e-9
    # Any zCDP mechanism: what holds for the Gaussian is never worse.
    general = accounting.rdp.RdpAccountant()
    general.compose(accounting.ZCDpEvent(rho))
    assert ours <= general.get_epsilon(delta) + 1e-9


def test_the_events_of_a_fit_are_its_guarantee(arrow):
    accounting = pytest.importorskip("dp_accounting")
    fit = dplm.lm(FORMULA, arrow, rho=0.5)
    event = fit.dp_event()
    assert len(event.events) == len(fit.releases)
    accountant = accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(event)
    # Each of the releases is rounded up to the grid.
    slack = 1e-4 * (1 + len(fit.releases))
    assert fit.guarantee.epsilon - 1e-9 <= accountant.get_epsilon(fit.guarantee.delta) + slack
    assert accountant.get_epsilon(fit.guarantee.delta) <= fit.guarantee.epsilon + slack


def test_a_release_that_is_not_gaussian_is_an_event_of_its_rho(arrow):
    accounting = pytest.importorskip("dp_accounting")
    from dplm import _export

    guarantee = {"releases": [{"what": "a", "rho": 0.02}, {"what": "b", "rho": 0.01, "mechanism": "laplace"}]}
    promise = {"provenance": "system", "conversion": "cks"}
    gaussian, other = _export.dp_event(guarantee, promise).events
    assert gaussian == accounting.GaussianDpEvent(5.0) and other == accounting.ZCDpEvent(0.01)


def test_a_test_is_told_as_what_may_fail():
    pytest.importorskip("dp_accounting")
    from dplm import _export

    guarantee = {"releases": [{"what": "a", "rho": 0.3, "mechanism": "test"}], "rho": 0.3, "epsilon": 2.0, "delta": 1e-6}
    promise = {"provenance": "system", "conversion": "tested", "delta_spent": 5e-7, "neighbours": "replace-one", "unit": "row"}
    with pytest.raises(dplm.RequestError, match="may fail to protect"):
        _export.dp_event(guarantee, promise)
    told = _export.opendp(guarantee, promise)
    assert (told["output_measure"], told["promise"]) == ("Approximate<ZeroConcentratedDivergence>", promise)
    # 0.3 is not a double, and the one below it would be less than was spent.
    assert told["d_out"] == [math.nextafter(0.3, 1), 5e-7]


def test_what_is_void_is_told_to_no_accountant_and_says_so(arrow):
    void = dplm.lm(FORMULA, arrow, **BOUNDED)
    nobody = dplm.lm("y[-9..9] ~ x[-5..5]", pretend=2000, rho=5)
    kept = dplm.lm("y[-9..9] ~ x[-5..5]", {"y": [1.0, 2.0] * 1000, "x": [0.5, 1.5] * 1000}, rho=5)
    for fit, provenance, mark in [(void, "seed", "NOT PRIVATE"), (nobody, "simulated", "PRETEND"), (kept, "system", "")]:
        assert fit.promise["provenance"] == provenance and fit.private == (provenance == "system")
        name = fit.names[-1]
        test, joint = fit.t_test(f"{name} = 0"), fit.wald_test(f"{name} = 0")
        assert test.promise["provenance"] == joint.promise["provenance"] == provenance
        for said in (repr(test), test._repr_html_(), repr(joint)):
            assert mark in said and (mark or ("NOT PRIVATE" not in said and "PRETEND" not in said)) is not False
        if provenance == "system":
            assert fit.to_opendp()["promise"] == fit.promise
            continue
        with pytest.raises(dplm.RequestError, match="fixed seed|simulated rows"):
            fit.to_opendp()
    frame = nobody.get_prediction({"x": [0.5]}).summary_frame()
    assert frame.attrs["promise"]["provenance"] == "simulated"


def test_opendp_is_told_metric_measure_and_distance(arrow, wages):
    fit = dplm.lm(FORMULA, arrow, rho=0.5)
    told = fit.to_opendp()
    assert json.loads(json.dumps(told)) == told
    assert (told["input_metric"], told["output_measure"], told["d_in"], told["d_out"]) == ("ChangeOneDistance", "ZeroConcentratedDivergence", 1, 0.5)
    assert math.isclose(sum(one["d_out"] for one in told["mechanisms"]), 0.5)
    assert dplm.lm(FORMULA, arrow, neighbours="zero-out", rho=0.5).to_opendp()["input_metric"] is None
    persons = pd.DataFrame(wages).assign(id=lambda rows: rows.index // 2)
    assert dplm.lm(FORMULA, persons, person="id", rho=0.5).to_opendp()["unit"] == "person"
    opendp = pytest.importorskip("opendp.prelude")
    assert told["input_metric"] in str(opendp.change_one_distance()) and told["output_measure"] in str(opendp.zero_concentrated_divergence())
