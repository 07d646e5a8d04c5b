"""Groups under one budget: the fits of the command, from every kind of table."""

from __future__ import annotations

import json
import pickle

import pandas as pd
import polars as pl
import pytest
from common import FORMULA

import dplm

BY = "part{one,two}"


@pytest.fixture(scope="module")
def parted(wages):
    """The wages in two groups; some rows are in none."""
    return {**wages, "part": ["three" if row % 97 == 0 else ("one", "two")[row % 2] for row in range(len(wages["id"]))]}


def fitted(data, **options) -> dplm.GroupedFit:
    return dplm.lm(FORMULA, data, rho=2.0, seed=3, by=BY, **options)


def test_every_kind_of_table_gives_the_fits_of_the_command(parted, command, tmp_path):
    path = tmp_path / "parted.csv"
    pd.DataFrame(parted).to_csv(path, index=False)
    expected = command("fit", path, "--formula", FORMULA, "--rho", 2.0, "--seed", 3, "--by", BY, "--json", "-")
    for data in (path, pd.DataFrame(parted), pl.DataFrame(parted), parted):
        assert fitted(data).to_json() == expected


def test_each_group_has_a_fit_and_they_are_compared(parted, tmp_path):
    fit = fitted(parted)
    assert fit.by == "part"
    assert list(fit.groups) == ["one", "two"]
    one = fit.groups["one"]
    assert one.conf_int().shape[1] == 2
    assert one.guarantee.rho == fit.guarantee.rho == sum(release.rho for release in one.releases)
    assert list(fit.params.index) == ["one", "two"]
    assert list(fit.params.columns) == one.names
    assert fit.equality().index[-1] == "all together"
    assert ((fit.equality()["pvalue"] >= 0) & (fit.equality()["pvalue"] <= 1)).all()
    assert (fit.sizes["noise_sd"] > 0).all()
    assert "Are they the same in all groups?" in fit.summary()
    assert "Each coefficient across groups" in fit.to_html()
    fit.save(tmp_path / "fit.json")
    assert dplm.load(tmp_path / "fit.json") == fit == pickle.loads(pickle.dumps(fit))
    one.save(tmp_path / "one.json")
    assert dplm.load(tmp_path / "one.json") == one
    assert json.loads(one.to_json())["by"] == {"part": "one"}


def test_rows_are_predicted_by_the_fit_of_their_group(parted):
    fit, new = fitted(parted), pd.DataFrame(parted).head(8)
    new.index = [1, 1, 2, 3, 4, 5, 6, 7]
    found = fit.predict(new)
    assert list(found.index) == list(new.index)
    for place, level in enumerate(new["part"]):
        of_group = fit.groups.get(level)
        expected = of_group.predict(new.iloc[[place]]).iloc[0] if of_group else float("nan")
        assert found.iloc[place] == pytest.approx(expected, nan_ok=True)
    assert found.isna().any() and found.notna().any()
    with pytest.raises(dplm.RequestError, match="with the column 'part'"):
        fit.predict(new.drop(columns="part"))


def test_groups_are_drawn_side_by_side(parted):
    pytest.importorskip("matplotlib").use("Agg")
    fit = fitted(parted)
    axes = fit.plot()
    assert [one.get_xlabel() for one in axes] == list(fit.params.columns[1:])
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["one", "two"]
    assert (fit.tvalues == fit.params / fit.bse).all(axis=None)


def test_public_sizes_and_what_is_refused(parted):
    fit = fitted(parted, group_sizes={"one": 900, "two": 900})
    assert list(fit.sizes["count"]) == [900, 900]
    assert [release.what for release in fit.releases][0] == "number of usable rows" and len(fit.releases) == 2
    with pytest.raises(dplm.DplmError, match="one=1000,two=1000"):
        fitted(parted, group_sizes={"one": 900})
    with pytest.raises(dplm.RequestError, match="name it with by"):
        dplm.lm(FORMULA, parted, rho=2.0, group_sizes={"one": 900})
    with pytest.raises(dplm.DplmError, match="part"):
        dplm.lm(FORMULA, parted, rho=2.0, by="part")
    plan = dplm.lm(FORMULA, parted, rho=2.0, by=BY, dry_run=True)
    assert plan.unforeseen == "there is no forecast for groups" and plan.units == {"unit": "row", "count": len(parted["part"])}
    assert "there is no forecast for groups" in repr(plan)
    sized = dplm.lm(FORMULA, parted, rho=2.0, by=BY, group_sizes={"one": 900, "two": 900}, dry_run=True)
    assert [one["by"] for one in sized.groups] == [{"part": "one"}, {"part": "two"}]
    assert "2 groups" in repr(sized) and sized.groups[0]["plan"]["rows"] == 900
