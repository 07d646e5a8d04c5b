"""Copies the documents, and the pictures and records that they link to, into a folder that MkDocs
builds the site of, and makes the pages of the reference there.

Documents link to each other as they lie in the repository, so the copy has the same folders. A
folder has no page, nor have the tables of records, which are documents elsewhere: a link to one
stays as words.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import reference

#: The folders whose documents are pages.
STAGED = [Path(), Path("docs")]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
#: What rustdoc is told of a block of code beside its language, which MkDocs takes for a language.
TOLD = re.compile(r"^```rust,\w+$", re.MULTILINE)


def staged(document: Path, root: Path, out: Path) -> str:
    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        path, _, anchor = target.partition("#")
        place = Path(os.path.normpath(document.parent / path))
        if "://" in target or not path or not (root / place).exists():
            return found[0]
        if (root / place).is_dir() or (place.suffix == ".md" and place.parent not in STAGED):
            return words
        if place == Path("README.md"):
            return f"{image}[{words}]({os.path.relpath('index.md', document.parent)}{'#' * bool(anchor)}{anchor})"
        if place.suffix != ".md":
            (out / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / place, out / place)
        return found[0]

    return LINK.sub(link, TOLD.sub("```rust", (root / document).read_text(encoding="utf-8")))


def main(out: Path) -> None:
    root = Path(__file__).resolve().parents[1]
    shutil.rmtree(out, ignore_errors=True)
    (out / "docs").mkdir(parents=True)
    for found in [found for folder in STAGED for found in (root / folder).glob("*.md")]:
        document = found.relative_to(root)
        name = Path("index.md") if document == Path("README.md") else document
        (out / name).write_text(staged(document, root, out), encoding="utf-8")
    for name in reference.PAGES:
        (out / "docs" / f"{name}.md").write_text(reference.page(name), encoding="utf-8")
    shutil.copy(root / "docs" / "site.css", out)


main(Path(sys.argv[1]))
