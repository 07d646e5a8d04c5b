"""Public moments, a second release, and several specifications under one budget."""

from __future__ import annotations

import json

import pytest

import dplm
from dplm import _native

FORMULA = "y[0..100] ~ x[0..10] + z[0..1]"


@pytest.fixture(scope="module")
def rows():
    numbers = range(4000)
    x = [(i * 37 % 101) / 10.1 for i in numbers]
    z = [(i * 53 % 97) / 97 for i in numbers]
    y = [20 + 4 * x[i] + 3 * z[i] + (i * 7919) % 13 - 6 for i in numbers]
    return {"y": y, "x": x, "z": z}


def test_moments_come_as_a_file_a_mapping_and_a_data_frame(rows, tmp_path):
    pandas = pytest.importorskip("pandas")
    public = pandas.DataFrame(rows)[["z", "x"]]
    mapping = {
        "names": ["x", "z"],
        "means": [float(public.x.mean()), float(public.z.mean())],
        "covariance": public[["x", "z"]].cov().to_numpy().tolist(),
    }
    path = tmp_path / "known.json"
    path.write_text(json.dumps(mapping))
    frames = {"means": public.mean(), "covariance": public.cov()}
    with pytest.warns(dplm.PrivacyWarning):
        fits = [dplm.lm(FORMULA, rows, rho=0.1, seed=1, moments=given) for given in (mapping, path, frames)]
    assert fits[0].to_json() == fits[1].to_json()
    assert fits[2].params.to_dict() == pytest.approx(fits[0].params.to_dict(), rel=1e-3)
    with pytest.raises(dplm.RequestError, match="lack 'z'"):
        dplm.lm(FORMULA, rows, rho=0.1, moments={"names": ["x"], "means": [5.0], "covariance": [[8.0]]})
    with pytest.raises(dplm.RequestError, match="correlations"):
        dplm.plan(FORMULA, rows=4000, rho=0.1, moments={"names": ["x", "z"], "means": [5.0, 0.5], "covariance": [[1.0, 9.0], [9.0, 1.0]]})
    with pytest.raises(dplm.RequestError, match="has no key 'mean'"):
        dplm.lm(FORMULA, rows, rho=0.1, moments={"mean": [5.0]})
    assert dplm.plan(FORMULA, rows=4000, rho=0.01, moments=mapping).assumed[0].startswith("columns: means")


def test_a_refined_fit_is_more_precise(rows):
    with pytest.warns(dplm.PrivacyWarning):
        first = dplm.lm(FORMULA, rows, rho=0.02, seed=1)
        second = dplm.refine(first, rows, rho=0.05, seed=2)
        by_epsilon = dplm.refine(first, rows, epsilon=1.0, delta=1e-8, seed=2)
    assert second.guarantee.rho == pytest.approx(0.07)
    assert by_epsilon.guarantee.rho == pytest.approx(0.02 + _native.rho({"epsilon": 1.0, "delta": 1e-8}))
    assert second.bse["x"] < first.bse["x"]
    with pytest.raises(dplm.RequestError, match="another|same"):
        dplm.refine(first, {name: cells[:-1] for name, cells in rows.items()}, rho=0.05, seed=2)
    with pytest.raises(dplm.RequestError, match="fixed seed"):
        dplm.refine(first, rows, rho=0.05)


def test_a_study_has_a_fit_for_each_specification(rows, tmp_path):
    specifications = {"main": FORMULA, "bare": "y[0..100] ~ x[0..10]"}
    with pytest.warns(dplm.PrivacyWarning):
        study = dplm.study(specifications, rows, rho=0.2, interest="x", simultaneous=True, shares={"main": 0.7}, seed=1)
    assert list(study.fits) == ["main", "bare"]
    assert study.shares == pytest.approx({"main": 0.7, "bare": 0.3})
    estimate, low, high = study.curve()["bare"]
    assert low < estimate < high
    assert "Private study of 2 specifications" in study.summary()
    assert json.loads(study.to_json())["specifications"][1]["fit"]["guarantee"]["rho"] == 0.2
    study.report(tmp_path / "study.html", title="Two ways")
    assert "Two ways" in (tmp_path / "study.html").read_text()
    with pytest.raises(dplm.RequestError, match="add up to 1"):
        dplm.study(specifications, rows, rho=0.2, shares={"main": 0.7, "bare": 0.7})


def test_a_study_protects_persons_and_weighs_rows(rows, tmp_path, command):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(rows)
    table["id"] = [i // 2 for i in range(4000)]
    table["w"] = [1 + i % 3 for i in range(4000)]
    specifications = {"main": FORMULA, "bare": "y[0..100] ~ x[0..10]"}
    options = {"person": "id", "rows_per_person": 2, "weights": "w[0..3]"}
    with pytest.warns(dplm.PrivacyWarning):
        study = dplm.study(specifications, table, rho=0.5, seed=1, **options)
    assert study.interest == "x"
    assert study.fits["bare"].units == {"unit": "person", "count": 2000}
    file = tmp_path / "study.toml"
    lines = [f"[[specification]]\nname = {json.dumps(name)}\nformula = {json.dumps(formula)}\n" for name, formula in specifications.items()]
    file.write_text("rho = 0.5\n" + "".join(lines))
    with pytest.warns(dplm.PrivacyWarning):
        from_file = dplm.study(file, table, seed=1, **options)
    assert from_file.to_json() == study.to_json()
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)
    options = ["--person", "id", "--rows-per-person", 2, "--weights", "w[0..3]"]
    assert command("study", file, path, "--seed", 1, "--json", "-", *options) == study.to_json()
    with pytest.raises(dplm.RequestError, match="says 'rho' itself"):
        dplm.study(file, table, rho=0.1)
    with pytest.raises(dplm.RequestError, match="identifies persons"):
        dplm.study(specifications, table, rho=0.5, target="person")


def test_a_refined_fit_answers_the_question_of_the_first(rows, tmp_path):
    """At so large a budget a dropped option is many standard errors away."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(rows)
    table["id"], table["w"] = [i % 1000 for i in range(4000)], [1 + i % 3 for i in range(4000)]
    table["r"] = ["south" if i % 5 < 2 else "north" for i in range(4000)]
    table["y"] += table["x"] * (0.2 * table["w"] + (table["r"] == "south") + 0.5 * (table.index < 2000))
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False, sep=";", decimal=",")
    for options, data in [
        ({"weights": "w[0..3]"}, table),
        ({"person": "id", "rows_per_person": 2}, table),
        ({"by": "r{north,south}"}, table),
        ({"csv": "semicolon,decimal-comma"}, path),
    ]:
        with pytest.warns(dplm.PrivacyWarning):
            first, whole = (dplm.lm(FORMULA, data, rho=rho, seed=1, **options) for rho in (200, 1000))
            if "by" in options:
                first, whole = first.groups["south"], whole.groups["south"]
            refined = dplm.refine(first, data, rho=800, seed=2)
        assert refined.guarantee.rho == pytest.approx(1000)
        assert ((refined.params - whole.params).abs() < 0.3 * whole.bse).all(), options
        kept, expected = (json.loads(fit.to_json())["fit"] for fit in (refined, whole))
        assert kept["request"] | {"rho": None} == expected["request"] | {"rho": None} and kept["weights"] == expected["weights"]
