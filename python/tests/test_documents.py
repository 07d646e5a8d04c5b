"""The documents' code runs as written, and prints what they show."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from common import ROOT

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text(encoding="utf-8"))


def run(code: str, names: dict) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<document>", "exec"), names)
    return out.getvalue()


def without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def test_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20000 + 500 * (j % 90)},{18 + j % 70},{8 + j % 12}\n" for j in range(5000))
    Path("people.csv").write_text("earnings,age,educ\n" + rows)
    code = [text for kind, text in blocks(ROOT / "README.md") if kind == "python"]
    assert len(code) == 1 and "import dplm" in code[0]
    assert "Coefficients:" in run(code[0], {})


def test_the_tutorial(tmp_path, monkeypatch):
    """Every block of code runs after those before it; a block of text after it is exactly what it prints.

    With UPDATE_DOCUMENTS=1 the blocks of text are written anew instead, for a change of the numbers that is meant.
    """
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    document, names, printed, shown = ROOT / "docs" / "tutorial.md", {}, None, 0

    def replaced(block: re.Match) -> str:
        nonlocal printed, shown
        if block[1] == "python":
            printed = without_trailing_blanks(run(block[2], names))
        elif printed is not None:
            text, printed, shown = printed, None, shown + 1
            return f"```text\n{text}\n```"
        return block[0]

    before = document.read_text(encoding="utf-8")
    after = BLOCK.sub(replaced, before)
    if os.environ.get("UPDATE_DOCUMENTS"):
        document.write_text(after, encoding="utf-8")
    else:
        assert after == before, "run again with UPDATE_DOCUMENTS=1 if the numbers were meant to change"
    assert shown >= 8 and Path("wages.html").exists()


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    """A folder with the tables that documents speak of: 20,000 rows, four of each person."""
    folder, draw = tmp_path_factory.mktemp("tables"), random.Random(1)
    heads = "id,w,h,wage,educ,exper,union,female,earnings,age,region,member\n"

    def row(number: int) -> str:
        educ, exper, union = draw.randint(6, 20), draw.randint(0, 45), draw.random() < 0.3
        wage = min(60, max(1, 2 + educ + 0.2 * exper + 3 * union + draw.gauss(0, 6)))
        region, member = draw.choice(["north", "south", "west"]), draw.choice(["true", "false"])
        words = f"{'yes' if union else 'no'},{draw.choice(['no', 'yes'])},{1000 * wage:.0f},{draw.randint(18, 90)},{region},{member}"
        return f"{number // 4},{draw.choice([1, 2, 4])},{draw.randint(0, 80)},{wage:.2f},{educ},{exper},{words}\n"

    for name in ("wages", "survey", "public-2019", "people", "new"):
        (folder / f"{name}.csv").write_text(heads + "".join(row(number) for number in range(20_000)))
    return folder


@pytest.mark.parametrize("name", ["formula", "plan", "moments", "study", "groups", "other-tools"])
def test_every_example_runs(name, tables, tmp_path, monkeypatch):
    """The files that a document shows are written, each under the name in its first line; then its commands and its code run in order."""
    for table in tables.iterdir():
        (tmp_path / table.name).symlink_to(table)
    monkeypatch.chdir(tmp_path)
    program = Path(os.environ.get("DPLM", ROOT / "target" / "debug" / "dplm")).parent
    monkeypatch.setenv("PATH", f"{program}{os.pathsep}{os.environ['PATH']}")
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for file, content in re.findall(r"^```toml\n# (\S+\.toml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        Path(file).write_text(content)
    names, ran = {}, 0
    for kind, code in re.findall(r"^```(sh|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if kind == "python":
            run(code, names)
        else:
            done = subprocess.run(["bash", "-euc", code], capture_output=True, text=True)
            assert done.returncode == 0, f"{code}{done.stderr}"
        ran += 1
    assert ran == {"formula": 2, "plan": 2, "moments": 3, "study": 4, "groups": 3, "other-tools": 4}[name], "a block is new, or is not seen"
