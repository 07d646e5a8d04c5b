"""Plans, simulated data and ledgers, as the command gives them."""

from __future__ import annotations

import json
import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dplm


def test_a_plan_is_that_of_the_command(command):
    plan = dplm.plan(rows=5000, features=4, rho=0.02, noise_sd=0.5, level=0.9, share=0.3)
    typed = command(
        "plan", "--rows", 5000, "--features", 4, "--rho", 0.02, "--noise-sd", 0.5, "--level", 0.9, "--share", 0.3, "--json", "-"
    )
    assert dict(plan) == json.loads(typed) and len(plan) == len(json.loads(typed))
    assert plan.fit["std_error"] == plan["fit"]["std_error"] and "5,000 rows" in repr(plan)
    with pytest.raises(AttributeError):
        plan.nothing
    for wrong in ({"rows": 4}, {"level": 0}, {"share": -1}, {"steps": 0}, {"rho": None}):
        with pytest.raises(dplm.RequestError):
            dplm.plan(**({"rows": 5000, "features": 4, "rho": 0.02} | wrong))


def test_a_plan_for_a_model():
    formula = "log(wage[1..5000]) ~ educ[0..20] + poly(exper[0..60], 2) + union{no,yes}*female{no,yes}"
    assume = ["wage mean 600 sd 300", "educ sd 3", "exper sd 12", "union shares 0.8 0.2", "R2 0.3"]
    plan = dplm.plan(formula, rows=30_000, rho=0.05, assume=assume, want=["educ 0.005"], effect=["educ 0.09"])
    assert plan.method == "auto" and plan.features == 7 and not plan.left_out
    assert [one["name"] for one in plan.coefficients][1:4] == ["educ", "poly(exper, 2)1", "poly(exper, 2)2"]
    assert all(one["std_error"] > one["classical_error"] for one in plan.coefficients)
    assert any("educ: mean 10, standard deviation 3" in line for line in plan.assumed)
    assert 0 < plan.wants[0]["rho"] < 1 and plan.effects[0]["right_sign"] > 0.99
    assert abs(sum(release["share"] for release in plan.releases) - 1) < 1e-9


def test_a_plan_takes_what_a_fit_does():
    formula, given = "y[0..1] ~ x[0..1]", {"rows": 3000, "rho": 0.5}
    weaker = dplm.plan(formula, neighbours="zero-out", **given)
    assert weaker.fit["std_error"] < dplm.plan(formula, **given).fit["std_error"]
    tuned = dplm.plan("y ~ x", method="dpgd", clip=3.0, steps=20, step_size=0.25, **given)
    assert (tuned.fit["steps"], tuned.fit["step_size"]) == (20, 0.25)
    named = dplm.plan(formula, method="auto", **given)
    assert named.method == "auto"


def test_a_dry_run_is_the_plan_for_as_many_rows():
    rows = {"y": [0.5] * 3000, "x": [0.1] * 3000}
    plan = dplm.lm("y[0..1] ~ x[0..1]", rows, rho=0.5, dry_run=True)
    assert isinstance(plan, dplm.Plan) and plan.rows == 3000 and plan.method == "auto"
    assert dict(plan) == dict(dplm.plan("y[0..1] ~ x[0..1]", rows=3000, rho=0.5))
    with pytest.raises(dplm.RequestError, match="too small"):
        dplm.lm("y[0..1] ~ x[0..1]", rows, rho=1e-9, dry_run=True)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"formula": "y[0..1] ~ x[0..1]", "features": 3}, "and not both"),
        ({}, "and not both"),
        ({"formula": "y[0..1] ~ x[0..1]", "assume": ["z sd 1"]}, "no numeric column 'z'"),
        ({"formula": "y[0..1] ~ x[0..1]", "assume": ["x is wide"]}, "not understood"),
        ({"formula": "y[0..1] ~ x[0..1]", "assume": "x sd 1"}, "takes a list"),
        ({"formula": "y[0..1] ~ x[0..1]", "want": ["z 1"]}, "no coefficient 'z'"),
        ({"formula": "y[0..1] ~ x[0..1] + ."}, "reads no data"),
        ({"formula": "y[0..1] ~ x[0..1]", "rho": 1e-9}, "too small"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong, words):
    with pytest.raises(dplm.RequestError, match=words):
        dplm.plan(**({"rows": 5000, "rho": 0.02} | wrong))


@pytest.mark.parametrize("design", ["isotropic", "anisotropic"])
def test_simulated_rows_are_those_of_the_command(command, tmp_path, design):
    command("simulate", "--rows", 500, "--features", 3, "--seed", 9, "--design", design, "--out", tmp_path / "typed.csv")
    drawn = dplm.simulate(rows=500, features=3, seed=9, design=design)
    typed = pd.read_csv(tmp_path / "typed.csv")
    assert pa.table(drawn).to_pandas().equals(typed)
    assert pl.DataFrame(drawn).equals(pl.from_pandas(typed))
    written = dplm.simulate(rows=500, features=3, seed=9, design=design, out=tmp_path / "written.csv")
    assert (tmp_path / "written.csv").read_bytes() == (tmp_path / "typed.csv").read_bytes()
    assert written.theta == drawn.theta and drawn.seed == 9
    with pytest.raises(dplm.RequestError, match="written to a file"):
        pa.table(written)


@pytest.mark.parametrize(
    "wrong", [{"rows": 0}, {"features": 0}, {"design": "odd"}, {"errors": "odd"}, {"noise_sd": -1}, {"theta": [1.0]}, {"out": "x.doc"}]
)
def test_senseless_simulations_are_refused(wrong):
    with pytest.raises(dplm.RequestError):
        dplm.simulate(**({"rows": 10, "features": 2} | wrong))


def test_a_ledger(tmp_path):
    file = tmp_path / "budget.db"
    with pytest.raises(dplm.LedgerError, match="there is no ledger"):
        dplm.Ledger(file)
    ledger = dplm.Ledger.init(file, "wages", rho=0.1, note="first")
    ledger.grant("wages", rho=0.2, note="more")
    dplm.Ledger.init(str(file), "health", rho=1.0)
    assert dplm.Ledger(file).datasets == ["health", "wages"]
    account = ledger.show("wages")
    assert (account["dataset"], account["total"], account["spent"], account["left"]) == ("wages", 0.3, 0.0, 0.3)
    assert [(entry["kind"], entry["text"]) for entry in account["entries"]] == [("init", "first"), ("grant", "more")]
    assert len(ledger.verify()) == 64
    with pytest.raises(dplm.LedgerError, match="no data set named 'none'"):
        ledger.show("none")
    with pytest.raises(dplm.LedgerError, match="already has"):
        dplm.Ledger.init(file, "wages", rho=0.1)
    with pytest.raises(dplm.RequestError):
        ledger.grant("wages", rho=-1)


def test_a_fit_is_paid_for_before_it_is_made(tmp_path, command):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "sim", rho=0.15)
    data = dplm.simulate(rows=2000, features=2, seed=1)
    fit = dplm.lm("y ~ .", data, rho=0.1, standardised=True, ledger=ledger, dataset="sim")
    assert fit.private and ledger.show("sim")["left"] == pytest.approx(0.05) and "sim" in fit.summary()
    assert json.loads(command("ledger", "show", ledger.file, "--json", "-")) == ledger.show("sim")
    for asked, sentence in [({"rho": 0.1}, "nothing was spent"), ({"rho": 0.01, "dataset": "none"}, "no data set named")]:
        with pytest.raises(dplm.LedgerError, match=sentence):
            dplm.lm("y ~ .", data, standardised=True, **({"ledger": ledger.file, "dataset": "sim"} | asked))
    with pytest.raises(dplm.RequestError, match="seed"):
        dplm.lm("y ~ .", data, rho=0.01, standardised=True, ledger=ledger, dataset="sim", seed=1)
    with pytest.raises(dplm.RequestError, match="name what the ledger calls the data with dataset"):
        dplm.lm("y ~ .", data, rho=0.01, standardised=True, ledger=ledger)
    with pytest.raises(dplm.DataError):
        dplm.lm("y ~ nothing", data, rho=0.01, standardised=True, ledger=ledger, dataset="sim")
    assert len(ledger.show("sim")["entries"]) == 3, "what is refused is not recorded"


def test_an_account_pays_only_for_what_it_promises(tmp_path):
    data = pd.DataFrame.from_arrow(dplm.simulate(rows=2000, features=2, seed=1))
    data["id"] = [j // 2 for j in range(2000)]
    formula, file = "y[-9..9] ~ x1[-4..4]", tmp_path / "budget.db"
    ledger = dplm.Ledger.init(file, "rows", epsilon=1)
    dplm.Ledger.init(file, "persons", rho=1, person="id")
    dplm.Ledger.init(file, "any", epsilon=1, mechanisms="zcdp")
    assert ledger.show("persons")["promise"]["person"] == "id"

    def fit(dataset, **options):
        return dplm.lm(formula, data, ledger=ledger, dataset=dataset, purpose="prediction", **({"rho": 0.01} | options))

    for dataset, options, sentence in [
        ("rows", {"person": "id"}, "a replaced row may carry another identifier"),
        ("persons", {}, "protects persons by 'id'"),
        ("rows", {"neighbours": "zero-out"}, "four times its rho"),
        ("rows", {"method": "adaptive-clips"}, "opened for gaussian mechanisms"),
    ]:
        with pytest.raises(dplm.LedgerError, match=sentence) as refusal:
            fit(dataset, **options)
        assert str(refusal.value).endswith("nothing was spent")
        assert ledger.show(dataset)["spent"] == 0
    fit("persons", person="id")
    fit("any", rho=None, epsilon=1, method="adaptive-clips")
    assert ledger.show("any")["epsilon_spent"] <= 1 < ledger.show("any")["epsilon_spent"] + 1e-6
    with pytest.raises(dplm.LedgerError, match="other_table=True"):
        dplm.lm(formula, data[:1800], rho=0.01, ledger=ledger, dataset="persons", person="id")
    dplm.lm(formula, data[:1800], purpose="prediction", rho=0.01, ledger=ledger, dataset="persons", person="id", other_table=True)


def test_what_happened_is_recorded(tmp_path):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=0.1)
    ledger.record("rows", rho=0.01, what="a histogram", neighbours="zero-out")
    assert ledger.show("rows")["spent"] == 0.04
    ledger.record("rows", rho=0.2, what="by another program")
    account = ledger.show("rows")
    assert account["overdrawn"] and account["left"] == 0 and account["frozen"] is None
    data = dplm.simulate(rows=2000, features=1, seed=1)
    with pytest.raises(dplm.LedgerError, match="overdrawn by rho = 0.14"):
        dplm.lm("y ~ x1", data, rho=0.001, standardised=True, ledger=ledger, dataset="rows")
    ledger.record("rows", rho=0.001, what="by person", person="id")
    assert "cannot be added up" in ledger.show("rows")["frozen"]
    with pytest.raises(dplm.RequestError, match="one analyst or all others"):
        ledger.limit("rows", rho=0.1, analyst="Ada", others=True)


def test_a_mandatory_ledger_pays_for_every_fit(tmp_path, monkeypatch):
    data = dplm.simulate(rows=2000, features=1, seed=1)
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=0.1)
    dplm.Ledger.init(tmp_path / "other.db", "rows", rho=0.1)
    monkeypatch.setenv("DPLM_LEDGER", ledger.file)

    def fit(**options):
        return dplm.lm("y ~ x1", data, rho=0.01, standardised=True, **options)

    for options, sentence in [
        ({}, "name what the ledger calls the data with dataset"),
        ({"seed": 1}, "name what the ledger calls the data with dataset"),
        ({"ledger": tmp_path / "other.db", "dataset": "rows"}, "leave out ledger"),
    ]:
        with pytest.raises(dplm.LedgerError, match=sentence):
            fit(**options)
    assert fit(dataset="rows").ledger["dataset"] == "rows" and ledger.show("rows")["spent"] == 0.01
    assert fit(dry_run=True)["rows"] == 2000
    study = dplm.study({"main": "y[-9..9] ~ x1[-4..4]"}, data, rho=0.05, dataset="rows")
    assert study.fits["main"].ledger["spent"] == 0.06


def test_a_fit_is_refined_from_the_account_that_paid_for_it(tmp_path):
    data = dplm.simulate(rows=5000, features=1, seed=1)
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=1)
    first = dplm.lm("y[-9..9] ~ x1[-4..4]", data, rho=0.1, ledger=ledger, dataset="rows")
    other = dplm.Ledger.init(tmp_path / "other.db", "rows", rho=1)
    for account in ({}, {"ledger": other, "dataset": "rows"}):
        with pytest.raises(dplm.LedgerError, match="was paid from entry [23] of 'rows'"):
            dplm.refine(first, data, rho=0.1, **account)
    dplm.refine(first, data, rho=0.1, ledger=ledger, dataset="rows")
    assert ledger.show("rows")["spent"] == 0.2 and other.show("rows")["spent"] == 0


def test_fits_that_were_kept_give_a_rewritten_ledger_away(tmp_path):
    file = tmp_path / "budget.db"
    ledger = dplm.Ledger.init(file, "sim", rho=1.0)
    data = dplm.simulate(rows=500, features=1, seed=1)
    first, second = (dplm.lm("y ~ x1", data, rho=rho, standardised=True, ledger=ledger, dataset="sim") for rho in (0.1, 0.2))
    assert (first.ledger["dataset"], first.ledger["entry"], second.ledger["entry"]) == ("sim", 2, 3)
    (tmp_path / "second.json").write_text(second.to_json())
    kept = [first, tmp_path / "second.json"]
    assert ledger.verify(against=kept) == second.ledger["hash"] == ledger.verify()
    file.unlink()
    ledger = dplm.Ledger.init(file, "sim", rho=1.0)
    dplm.lm("y ~ x1", data, rho=0.15, standardised=True, ledger=ledger, dataset="sim")
    ledger.verify()
    with pytest.raises(dplm.LedgerError, match=r"2 of 2 .* against\[0\]: entry 2 was changed.*second\.json: entry 3 is gone"):
        ledger.verify(against=kept)
    with pytest.raises(dplm.LedgerError, match="made without a ledger"):
        ledger.verify(against=[dplm.lm("y ~ x1", data, rho=0.1, standardised=True)])
    with pytest.raises(dplm.RequestError, match="in brackets"):
        ledger.verify(against="second.json")
    assert dplm.lm("y ~ x1", data, rho=0.1, standardised=True).ledger is None


def test_the_day_of_a_custodian(tmp_path, monkeypatch):
    data = dplm.simulate(rows=1000, features=1, seed=1)
    file = tmp_path / "budget.db"
    dplm.Ledger.init(file, "wages", rho=1.0)
    ada = dplm.Ledger(file, analyst="Ada", purpose="annual report", note="table 3")

    def fit(ledger, rho):
        return dplm.lm("y ~ x1", data, rho=rho, standardised=True, ledger=ledger, dataset="wages")

    ada.limit("wages", analyst="Ada", rho=0.3, note="agreed")
    with pytest.raises(dplm.LedgerError, match="must name its analyst"):
        fit(file, 0.1)
    with pytest.raises(dplm.LedgerError, match="Ada may spend 0.3 more of 'wages'"):
        fit(ada, 0.4)
    kept = fit(ada, 0.1)
    copy = tmp_path / "copy.db"
    assert ada.back_up(copy) == kept.ledger["hash"]
    monkeypatch.setenv("DPLM_ANALYST", "Grace")
    fit(pickle.loads(pickle.dumps(ada)), 0.1)
    fit(file, 0.1)
    entries = ada.show("wages")["entries"]
    assert [(one["analyst"], one["purpose"], one["note"]) for one in entries[2:] if not one["text"].startswith("usable")] == [
        ("Ada", "annual report", "table 3"),
        ("Ada", "annual report", "table 3"),
        ("Grace", "", ""),
    ]
    assert ada.reverse(4, reason="made twice") == 0.0
    ada.record("wages", rho=0.05, what="a histogram", analyst="Ada")
    account = ada.show("wages")
    assert account["spent"] == 0.35 and {"analyst": "Ada", "spent": 0.25, "limit": 0.3} in account["analysts"]
    ada.verify(against=[kept, copy])
    ada.report(tmp_path / "page.html")
    assert "a mistake, by entry 9: made twice" in (tmp_path / "page.html").read_text(encoding="utf-8")
    copy.replace(file)
    with pytest.raises(dplm.LedgerError, match="kept records does not match"):
        other = tmp_path / "later.db"
        dplm.Ledger.init(other, "wages", rho=1.0)
        dplm.Ledger(other).verify(against=[kept])
