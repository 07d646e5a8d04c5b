"""The reference on the site has every public name of the command line, Python and R."""

from __future__ import annotations

import importlib
import inspect
import re
import sys

import pytest
from common import ROOT

import dplm


@pytest.fixture(scope="module")
def reference():
    sys.path.insert(0, str(ROOT / "docs"))
    yield importlib.import_module("reference")
    sys.path.remove(str(ROOT / "docs"))


def heads(page: str) -> list[str]:
    return [line.lstrip("# ").replace("\\", "") for line in page.splitlines() if line.startswith("##")]


def public_members(made: type) -> list[str]:
    """Methods and properties that are written in this package."""
    own = [name for base in made.__mro__ if base.__module__.startswith("dplm.") for name, one in vars(base).items() if is_documented(one)]
    return [f"{made.__name__}.{name}" for name in own if not name.startswith("_")]


def is_documented(member: object) -> bool:
    return isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)


def test_python_is_whole(reference):
    found = heads(reference.page("reference-python"))
    expected = [f"dplm.{name}" for name in dplm.__all__]
    expected += [member for name in dplm.__all__ if inspect.isclass(one := getattr(dplm, name)) for member in public_members(one)]
    missing = sorted(set(expected) - set(found))
    assert len(expected) > 100 and missing == []
    for name in ("dplm.sklearn.PrivateLinearRegression", "PrivateLinearRegression.fit", "dplm.spark.lm", "dplm.spark.session"):
        assert name in found
    assert len(found) == len(set(found)), "a section twice"


def test_no_heading_or_example_is_within_a_line():
    """Where one was, an example was not run, and a section was not seen."""
    for source in (ROOT / "python" / "dplm").glob("*.py"):
        for line in source.read_text(encoding="utf-8").splitlines():
            assert not re.search(r"\S.* (>>>|-{4,}) ", line), f"{source.name}: {line}"


def test_nothing_is_without_words(reference):
    """Each section has more than a signature, and no mark of a help page is left over."""
    for name in reference.PAGES[1:]:
        prose = re.sub(r"```.*?```|^\*Property\*.*?$", "", reference.page(name), flags=re.DOTALL | re.MULTILINE)
        title_and_rest = [section.partition("\n") for section in re.split(r"^##+ ", prose, flags=re.MULTILINE)[1:]]
        assert [title for title, _, rest in title_and_rest if not rest.strip()] == []
        assert not re.search(r"\\[a-z]+\{|[\x01-\x03]", re.sub(r"`[^`]*`", "", prose))


def test_the_parameters_are_those_of_the_functions(reference):
    page = reference.page("reference-python")
    for function in (dplm.lm, dplm.plan, dplm.study, dplm.refine, dplm.table):
        section = re.search(rf"^## dplm\.{function.__name__}\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
        for name in inspect.signature(function).parameters:
            assert re.search(rf"^    {name}: ", section, re.MULTILINE), f"{function.__name__}: {name}"


def test_r_is_whole(reference):
    page = reference.page("reference-r")
    # Below the title of each page are the names that it is about.
    named = set(re.findall(r"`([\w.]+)`", " ".join(re.findall(r"^## .+\n\n(.+)$", page, re.MULTILINE))))
    namespace = (ROOT / "r" / "NAMESPACE").read_text(encoding="utf-8")
    methods = [f"{generic.split('::')[-1]}.{kind}" for generic, kind in re.findall(r"S3method\(([\w:.]+), ([\w.]+)\)", namespace)]
    expected = re.findall(r"^export\((\w+)\)", namespace, re.MULTILINE) + [one for one in methods if not one.startswith("print.")]
    assert len(expected) > 40 and sorted(set(expected) - named) == []


def test_the_command_line_is_whole(reference, command):
    found = heads(reference.page("reference-command"))
    listed = re.findall(r"^  (\w+)  ", command("--help").split("Commands:")[1].split("Options:")[0], re.MULTILINE)
    assert len(listed) > 10 and [name for name in listed if name != "help" and f"dplm {name}" not in found] == []
