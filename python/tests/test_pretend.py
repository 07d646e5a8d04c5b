"""`dplm.lm(..., pretend=)`: the command's `--pretend` in Python."""

from __future__ import annotations

import json
import pickle

import pytest
from common import FORMULA

import dplm

# That rows were simulated is warned of in every fit here; one test looks for it.
pytestmark = pytest.mark.filterwarnings("ignore::dplm.FitWarning", "ignore::dplm.PrivacyWarning")


def pretended(**options):
    return dplm.lm(FORMULA, rho=0.5, pretend=2000, **options)


def test_a_seed_gives_the_numbers_of_the_command(command):
    words = ["fit", "--pretend=2000", "--formula", FORMULA, "--rho", 0.5, "--seed", 3, "--json", "-"]
    assert pretended(seed=3).to_json() == command(*words)
    assert pretended(seed=3).to_json() != pretended(seed=4).to_json()
    grouped = command(*words[:2], "--formula", "wage[0..60] ~ educ[0..20]", *words[4:], "--by", "region{north,south}", "--person", "id")
    fit = dplm.lm("wage[0..60] ~ educ[0..20]", rho=0.5, pretend=2000, seed=3, by="region{north,south}", person="id")
    assert fit.to_json() == grouped


def test_everything_that_is_made_of_it_is_marked(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    fit = pretended(seed=1)
    assert fit.pretended and "PRETEND" in repr(fit) and fit.nobs == 2000
    assert all(line.startswith("PRETEND |") for line in fit.summary().splitlines())
    assert "PRETEND" in fit.summary()._repr_html_() and "PRETEND" in fit._repr_html_()
    assert "<title>PRETEND: " in fit.to_html() and 'role="alert">PRETEND: made of' in fit.to_html()
    assert "simulated rows" in json.loads(fit.to_json())["pretend"]
    with pytest.raises(dplm.RequestError, match="simulated rows"):
        fit.to_opendp()
    assert all(line.startswith("PRETEND |") for line in repr(fit.t_test("educ = 0")).splitlines())
    assert "PRETEND" in fit.t_test("educ = 0")._repr_html_() and "PRETEND" in repr(fit.wald_test("educ = 0, exper = 0"))
    for ax in (fit.plot(), fit.plot("trajectory"), fit.plot_over("educ")):
        assert "PRETEND" in ax.get_xlabel()
    # And stays so.
    fit.save(tmp_path / "fit.json")
    with pytest.warns(dplm.FitWarning, match="simulated rows"):
        kept = dplm.load(tmp_path / "fit.json")
    assert kept.pretended and kept == fit and pickle.loads(pickle.dumps(fit)).pretended
    kept.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "fit.json").read_text()


def test_groups_are_marked_as_one_fit_is(tmp_path):
    fit = dplm.lm("wage[0..60] ~ educ[0..20]", rho=0.5, pretend=4000, seed=1, by="region{north,south}")
    assert fit.pretended and fit.groups["north"].pretended and "PRETEND" in repr(fit)
    assert all(line.startswith("PRETEND |") for line in fit.summary().splitlines())
    assert "PRETEND" in fit.to_html()
    fit.save(tmp_path / "fit.json")
    with pytest.warns(dplm.FitWarning, match="simulated rows"):
        assert dplm.load(tmp_path / "fit.json") == fit


def test_a_fit_of_data_is_not_marked(wages):
    fit = dplm.lm(FORMULA, wages, rho=0.5, pretend=False)
    assert not fit.pretended
    for text in (repr(fit), fit.summary(), fit.to_html(), fit.to_json(), repr(fit.t_test("educ = 0"))):
        assert "pretend" not in text.lower()


def test_the_data_are_not_looked_at_and_nothing_is_spent(tmp_path, wages):
    with pytest.warns(dplm.FitWarning, match="simulated rows"):
        assert dplm.lm(FORMULA, tmp_path / "nowhere.csv", rho=0.5, pretend=True).nobs == 10_000
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "wages", rho=1)
    with pytest.raises(dplm.RequestError, match="no ledger pays"):
        pretended(ledger=ledger, dataset="wages")
    assert ledger.show("wages")["spent"] == 0
    with pytest.raises(dplm.RequestError, match="fit the data first"):
        dplm.refine(pretended(), wages, rho=0.1)


@pytest.mark.parametrize("options", [{"person": "id"}, {"weights": "w[0..50]"}, {"dry_run": True}, {"method": "adassp", "purpose": "prediction"}])
def test_every_kind_of_fit_can_be_pretended(options):
    assert pretended(**options) is not None


def test_what_cannot_be_pretended_is_refused():
    for rows in (0, -1, 2.5, "many", None):
        with pytest.raises(dplm.RequestError, match="a number of rows, or True"):
            dplm.lm(FORMULA, rho=0.5, pretend=rows)
    with pytest.raises(dplm.RequestError, match="give the data, or pretend=True"):
        dplm.lm(FORMULA, rho=0.5)
    with pytest.raises(dplm.RequestError, match="stands for the columns of a table"):
        dplm.lm("y ~ .", rho=0.5, pretend=True, standardised=True)
