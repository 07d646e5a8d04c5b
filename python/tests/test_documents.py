"""The documents' code runs as written, and prints what they show."""

from __future__ import annotations

import contextlib
import io
import os
import re
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
