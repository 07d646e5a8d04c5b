"""The reference of the command line, Python and R, made of what each says of itself: the help of
each command, the docstrings, and the help pages of R.

Nothing is written by hand here. Parameters in docstrings and in help pages are rendered from the
table of options; the help is that of the golden files, which a test compares with the program.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The pages, by their names in the folder of documents.
PAGES = ("reference-command", "reference-python", "reference-r")


def page(name: str) -> str:
    """A page of the reference, with links to the documents that it names."""
    made = {"reference-command": command, "reference-python": python, "reference-r": r}[name]()
    return re.sub(r"(?m)^(?![`\s]).*$", lambda line: re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](\1)", line[0]), made)


# The command line.


def command() -> str:
    """A section for each command, with its help."""
    helps = json.loads((ROOT / "crates/dplm-cli/tests/golden/help.json").read_text(encoding="utf-8"))
    parts = ["# Reference: the command line", "What `dplm help` says of each command."]
    for name, lines in sorted(helps.items()):
        parts.append(f"## {name.strip()}\n\n{fenced('text', lines)}")
    return "\n\n".join(parts) + "\n"


def fenced(kind: str, lines: list[str]) -> str:
    return "\n".join([f"```{kind}", *lines, "```"])


# Python.

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Modules that are imported by themselves, since they need another package.
MODULES = ("sklearn", "spark")
HEADS = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


@dataclass
class Module:
    """What a file of the package defines, and its public names."""

    text: str
    defined: dict[str, Function | ast.ClassDef]
    public: list[str]
    imported: dict[str, str]


def module(name: str) -> Module:
    """The module of the package that has this name."""
    tree = ast.parse((ROOT / "python" / "dplm" / f"{name}.py").read_text(encoding="utf-8"))
    found = Module(ast.get_docstring(tree) or "", {}, [], {})
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            # Of overloads the last one counts, which has the docstring.
            found.defined[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.imported |= {one.name: node.module.removeprefix("dplm.") for one in node.names}
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            found.public = list(ast.literal_eval(node.value))
    return found


def python() -> str:
    """A section for each public name of the package."""
    package = module("__init__")
    parts = ["# Reference: Python", docstring(package.text)]
    for name in sorted(package.public, key=lambda name: (name[0].isupper(), name.lower())):
        parts += documented(f"dplm.{name}", name, package.imported[name])
    for name in MODULES:
        found = module(name)
        parts += [f"## Module dplm.{name}", docstring(found.text)]
        parts += [part for public in found.public for part in documented(f"dplm.{name}.{public}", public, name)]
    return "\n\n".join(parts) + "\n"


def documented(shown: str, name: str, place: str) -> Iterator[str]:
    """The sections of a function, of a class and its members, or of a value."""
    node = module(place).defined.get(name) if place != "_native" else None
    if node is None:
        yield "## " + shown.replace("__", r"\_\_") + "\n\nThe version of the package, as text."
    elif isinstance(node, ast.ClassDef):
        yield from of_class(shown, node, place)
    else:
        yield f"## {shown}\n\n{signature(shown, node)}\n\n{docstring(doc(node))}"


def of_class(shown: str, node: ast.ClassDef, place: str) -> Iterator[str]:
    """A class, what it is made with where users make it, its fields and its members."""
    made = next((one for one in node.body if isinstance(one, Function) and one.name == "__init__"), None)
    is_public = made is not None and "_native" not in ast.unparse(made.args)
    yield f"## {shown}\n\n" + (signature(shown, made) + "\n\n" if made and is_public else "") + docstring(doc(node))
    if any("dataclass" in ast.unparse(one) for one in node.decorator_list):
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        yield "\n".join(f"- `{ast.unparse(one.target)}` (`{ast.unparse(one.annotation)}`)" for one in fields)
    for member in members(node, place):
        yield f"### {node.name}.{member.name}\n\n{described(member, node.name)}"


def doc(node: Function | ast.ClassDef) -> str:
    return ast.get_docstring(node) or ""


def members(node: ast.ClassDef, place: str) -> list[Function]:
    """The public methods and properties of a class, of overloads the last, and those of its bases
    in the package."""
    found = {one.name: one for one in node.body if isinstance(one, Function) and not one.name.startswith("_")}
    for base in node.bases:
        name = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
        source = module(place).imported.get(name, "")
        if source.startswith("_") and source != "_native":
            inherited = module(source).defined.get(name)
            if isinstance(inherited, ast.ClassDef):
                found = found | {one.name: one for one in members(inherited, source) if one.name not in found}
    return list(found.values())


def described(node: Function, owner: str) -> str:
    """A method or a property."""
    decorators = {ast.unparse(one) for one in node.decorator_list}
    if "property" in decorators:
        gives = f" : `{ast.unparse(node.returns)}`" if node.returns else ""
        return f"*Property*{gives}\n\n{docstring(doc(node))}"
    is_bound = "staticmethod" not in decorators
    shown = f"{owner}.{node.name}" if {"classmethod", "staticmethod"} & decorators else f"{owner.lower()}.{node.name}"
    return f"{signature(shown, node, is_bound)}\n\n{docstring(doc(node))}"


def signature(shown: str, node: Function, is_bound: bool | None = None) -> str:
    """The signature, on a line for each parameter where one line is too short."""
    given = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(given, Function)
    takes_self = bool(given.args.args) and given.args.args[0].arg in ("self", "cls")
    if takes_self:
        given.args.args = given.args.args[1:]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{shown}({ast.unparse(given.args)}){returned}"
    if len(line) <= 90:
        return fenced("python", [line])
    return fenced("python", [f"{shown}(", *(f"    {one}," for one in parameters(given.args)), f"){returned}"])


def parameters(given: ast.arguments) -> list[str]:
    """Each parameter with its type and default, and the stars between them."""

    def one(parameter: ast.arg, default: ast.expr | None) -> str:
        typed = f": {ast.unparse(parameter.annotation)}" if parameter.annotation else ""
        return f"{parameter.arg}{typed}" + (f" = {ast.unparse(default)}" if default is not None else "")

    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    found = [one(*pair) for pair in zip(plain, defaults, strict=True)]
    found += [f"*{given.vararg.arg}"] if given.vararg else ["*"] if given.kwonlyargs else []
    found += [one(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return found + ([f"**{one(given.kwarg, None)}"] if given.kwarg else [])


def docstring(text: str) -> str:
    """A docstring as Markdown: sections, lists of parameters, and examples."""
    heads = list(HEADS.finditer(text))
    parts = [examples(text[: heads[0].start() if heads else len(text)])]
    for at, head in enumerate(heads):
        body = text[head.end() : heads[at + 1].start() if at + 1 < len(heads) else len(text)]
        is_list = head[1] in ("Parameters", "Other Parameters", "Attributes", "Returns", "Raises", "Warnings")
        parts.append(f"**{head[1]}**\n\n{listed(body) if is_list else examples(body)}")
    return "\n\n".join(part for part in parts if part.strip())


def listed(body: str) -> str:
    """Parameters, each with what is said of it."""
    items = re.split(r"\n(?=\S)", body.strip("\n"))

    def item(text: str) -> str:
        name, _, rest = text.partition("\n")
        words, _, kind = name.partition(" : ")
        names = ", ".join(f"`{one}`" for one in words.split(", "))
        told = " ".join(rest.split())
        return f"- {names}" + (f" (`{kind}`)" if kind else "") + (f": {told}" if told else "")

    return "\n".join(map(item, items))


def examples(text: str) -> str:
    """Paragraphs, and what is typed at a prompt as a block of its own."""

    def block(paragraph: str) -> str:
        return fenced("python", paragraph.splitlines()) if paragraph.lstrip().startswith(">>>") else paragraph

    return "\n\n".join(block(one.strip("\n")) for one in text.strip().split("\n\n"))


# R.

#: The sections of a help page that are shown, in this order.
SECTIONS = ("description", "usage", "arguments", "details", "value", "seealso", "examples")
MARKED = re.compile(r"\\(code|verb|file|env|command|pkg|emph|link(?:\[\w*\])?)\{([^{}]*)\}")


def r() -> str:
    """A section for each help page of the package."""
    parts = ["# Reference: R", "The help pages of the package, as `?dplm` shows them."]
    pages = {path.stem: rd((path).read_text(encoding="utf-8")) for path in (ROOT / "r" / "man").glob("*.Rd")}
    for name in sorted(pages, key=lambda name: (name != "dplm", name)):
        parts += help_page(pages[name])
    return "\n\n".join(parts) + "\n"


def rd(text: str) -> dict[str, list[str]]:
    """The sections of a help page: the texts in braces after each macro."""
    # Braces and remarks that are text are other letters for now.
    text = text.replace("\\{", "\x01").replace("\\}", "\x02").replace("\\%", "\x03")
    text = re.sub(r"^%.*\n", "", text, flags=re.MULTILINE)
    found: dict[str, list[str]] = {}
    at = 0
    while macro := re.compile(r"\\(\w+)\{").search(text, at):
        body, at = braced(text, macro.end() - 1)
        found.setdefault(macro[1], []).append(body)
    return found


def braced(text: str, at: int) -> tuple[str, int]:
    """What is between the brace here and its partner, and the place after that."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[at + 1 : place], place + 1
    raise ValueError("a brace without a partner")


def help_page(sections: dict[str, list[str]]) -> Iterator[str]:
    aliases = [one for one in sections["alias"] if not re.match(r"print\.|dplm-package", one)]
    yield f"## {inline(sections['title'][0])}\n\n" + ", ".join(f"`{one}`" for one in aliases)
    for name in SECTIONS:
        for body in sections.get(name, []):
            head = "" if name == "description" else f"**{name.capitalize() if name != 'seealso' else 'See also'}**\n\n"
            yield head + shown(name, body)


def shown(name: str, body: str) -> str:
    if name in ("usage", "examples"):
        methods = re.sub(r"\\method\{(\w+)\}\{(\w+)\}", r"# for \2\n\1", body)
        return fenced("r", plain(methods).strip("\n").splitlines())
    if name != "arguments":
        return "\n\n".join(inline(one) for one in body.strip().split("\n\n"))
    return "\n".join(f"- {names}: {told}" for names, told in items(body))


def items(body: str) -> Iterator[tuple[str, str]]:
    at = 0
    while (at := body.find("\\item{", at)) >= 0:
        names, at = braced(body, at + len("\\item"))
        told, at = braced(body, at)
        yield ", ".join(f"`{plain(one)}`" for one in re.split(r",\s+", names)), inline(told)


def inline(text: str) -> str:
    """Words with marks, the innermost marks first."""
    while (marked := MARKED.sub(mark, text)) != text:
        text = marked
    return " ".join(plain(text).split())


def mark(found: re.Match[str]) -> str:
    kind, words = found[1], found[2].strip("`")
    return words if kind.startswith("link") else f"*{words}*" if kind == "emph" else f"`{words}`"


def plain(text: str) -> str:
    return text.replace("\x01", "{").replace("\x02", "}").replace("\x03", "%").replace("\\dots", "...").replace("\\\\", "\\")
