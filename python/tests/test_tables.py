"""Results side by side, and what tables of other packages look for."""

from __future__ import annotations

import html
import io
import re
import xml.dom.minidom
import zipfile

import pytest

import dplm

pytestmark = pytest.mark.filterwarnings("ignore::dplm.PrivacyWarning", "ignore::dplm.FitWarning")


@pytest.fixture(scope="module")
def rows():
    x = [(i * 37 % 101) / 10.1 for i in range(4000)]
    y = [20 + 4 * x[i] + (i * 7919) % 13 - 6 for i in range(4000)]
    return {"y": y, "x": x, "g": ["a", "b"] * 2000}


@pytest.fixture(scope="module")
def fits(rows):
    return [dplm.lm(f, rows, rho=0.5, seed=1) for f in ("y[0..80] ~ x[0..10]", "y[0..80] ~ x[0..10] + g{a,b}")]


def test_every_form_holds_every_estimate(fits, tmp_path):
    estimate = f"{fits[0].params['x']:.3f}"
    for form in ("latex", "markdown", "html", "csv"):
        text = dplm.table(fits, to=form, path=tmp_path / form)
        assert estimate in text and (tmp_path / form).read_text(encoding="utf-8") == text
    shown = dplm.table(fits, to="docx", path=tmp_path / "table.docx")
    with zipfile.ZipFile(io.BytesIO((tmp_path / "table.docx").read_bytes())) as archive:
        assert archive.testzip() is None
        document = archive.read("word/document.xml").decode()
        for name in archive.namelist():
            xml.dom.minidom.parseString(archive.read(name))
    assert estimate in document and shown == dplm.table(fits) and "<table>" in shown._repr_html_()


def test_a_picture_is_a_table_that_notebooks_draw(fits, tmp_path):
    drawn = dplm.table(fits, to="svg", path=tmp_path / "table.svg", names=["short", "long"])
    assert drawn.startswith("<svg") and "NOT PRIVATE" in drawn and drawn._repr_html_() == str(drawn)
    assert (tmp_path / "table.svg").read_text(encoding="utf-8") == drawn
    xml.dom.minidom.parseString(drawn)


def test_notebooks_show_groups_studies_and_plans(rows):
    grouped = dplm.lm("y[0..80] ~ x[0..10]", rows, rho=2, by="g{a,b}", seed=1)
    study = dplm.study({"main": "y[0..80] ~ x[0..10]", "other": "y[0..80] ~ x[0..10] + g{a,b}"}, rows, rho=2, seed=1)
    for result, heads in [(grouped, ["a", "b"]), (study, ["main", "other"])]:
        shown = result._repr_html_()
        assert "<table>" in shown and "NOT PRIVATE" in shown and all(f">{head}</th>" in shown for head in heads)
    plan = dplm.plan("y[0..80] ~ x[0..10] + g{a,b}", rows=4000, rho=0.1)
    page = html.unescape(re.fullmatch(r'<iframe srcdoc="([^"]*)"[^>]*></iframe>', plan._repr_html_())[1])
    assert page == plan.to_html() and 'type="range"' in page and "g[b]" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page), "it needs no network"
    dry = dplm.lm("y[0..80] ~ x[0..10]", rows, rho=0.5, dry_run=True)
    assert dry._repr_html_() is None
    with pytest.raises(dplm.RequestError, match=r"dplm\.plan"):
        dry.to_html()


def test_groups_and_studies_have_a_column_for_each_fit(rows):
    grouped = dplm.lm("y[0..80] ~ x[0..10]", rows, rho=2, by="g{a,b}", seed=1)
    study = dplm.study({"main": "y[0..80] ~ x[0..10]", "other": "y[0..80] ~ x[0..10] + g{a,b}"}, rows, rho=2, seed=1)
    heads = dplm.table([grouped, study], to="csv").splitlines()[:2]
    assert heads == [",(1),(2),(3),(4)", ",a,b,main,other"]
    ends = grouped.conf_int(0.1)
    assert ends.loc[("a", "x")].tolist() == grouped.groups["a"].conf_int(0.1).loc["x"].tolist()
    assert list(grouped.pvalues.index) == ["a", "b"] and list(grouped.pvalues.columns) == ["(Intercept)", "x"]


def test_what_is_no_result_is_refused(fits):
    for wrong, words in [([1], "made of what"), ([], "at least one")]:
        with pytest.raises(dplm.RequestError, match=words):
            dplm.table(wrong)
    with pytest.raises(dplm.RequestError, match="to must be one of latex"):
        dplm.table(fits, to="rtf")
    with pytest.raises(dplm.RequestError, match="2 columns, and 1 were named"):
        dplm.table(fits, names=["one"])
    with pytest.raises(dplm.RequestError, match="path="):
        dplm.table(fits, to="docx")


def test_statsmodels_makes_tables_of_fits(fits):
    summary2 = pytest.importorskip("statsmodels.iolib.summary2")
    table = summary2.summary_col(fits, stars=True).tables[0]
    assert "x" in table.index and table.columns.tolist() == ["y I", "y II"]


def test_maketables_makes_tables_of_fits(fits):
    table = pytest.importorskip("maketables").ETable(fits)
    assert f"{fits[0].params['x']:.3f}" in table.df.to_string() and "4,000" in table.make(type="tex")


def test_the_formula_comes_first(rows):
    with pytest.raises(dplm.RequestError, match="the formula comes first"):
        dplm.lm(rows, "y[0..80] ~ x[0..10]", rho=0.5)


def test_a_dry_run_takes_assumptions_and_a_fit_does_not(rows):
    plan = dplm.lm("y[0..80] ~ x[0..10]", rows, rho=0.5, dry_run=True, assume=["x sd 3"])
    assert any("3" in sentence for sentence in plan.assumed if sentence.startswith("x"))
    with pytest.raises(dplm.RequestError, match="dry run"):
        dplm.lm("y[0..80] ~ x[0..10]", rows, rho=0.5, assume=["x sd 3"])
