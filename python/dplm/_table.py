"""Results side by side, for a paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dplm import _native
from dplm._errors import RequestError
from dplm._fit import Fit
from dplm._given import check, texts
from dplm._groups import GroupedFit
from dplm._study import Study

#: What a table can hold: groups and studies have a column for each of their fits.
Result = Fit | GroupedFit | Study


class Table(str):
    """A table as text, which notebooks show as a table, or as a picture if it is one."""

    _html: str

    def __new__(cls, text: str, html: str) -> Table:
        made = super().__new__(cls, text)
        made._html = html
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._html


def table(
    results: Result | Sequence[Result],
    to: str = "markdown",
    *,
    path: str | os.PathLike[str] | None = None,
    names: Sequence[str] | None = None,
    stars: bool = False,
    intervals: bool = False,
    title: str | None = None,
) -> Table:
    """Results side by side: the table of `dplm table`.

    A column for each fit, each group, and each specification of a study, with the standard errors
    below the estimates, and notes that state what the coefficients are and what was promised.

    Parameters
    ----------
    results
        A fit, the fits of groups, a study, or several of them.
    to
        `"latex"` (with the package booktabs), `"markdown"`, `"html"`, `"csv"` or `"docx"`; or
        `"svg"`, a picture of the intervals.
    path
        A file that the table is also written to; `"docx"` needs one.
    names
        What each column is called.
    stars
        Stars at p-values below 0.05, 0.01 and 0.001.
    intervals
        Intervals below the estimates, in place of standard errors.
    title
        What stands above the table.

    Returns
    -------
    Table
        The text; for `"docx"` that of `"markdown"`.

    Examples
    --------
    >>> import dplm
    >>> data = dplm.simulate(rows=1000, features=2, theta=[0.6, -0.8], seed=1)
    >>> short, long = (dplm.lm(f, data, rho=0.1, standardised=True, seed=1) for f in ("y ~ x1 + 0", "y ~ x1 + x2 + 0"))
    >>> print(dplm.table([short, long], to="latex", stars=True).splitlines()[4])
    \\toprule
    """
    check(path=path, title=title)
    several = [results] if isinstance(results, Result) else list(results)
    if not all(isinstance(one, Result) for one in several):
        raise RequestError("a table is made of what dplm.lm, dplm.refine and dplm.study give, or a list of these")
    if to == "docx" and path is None:
        raise RequestError("a document is not text: give the path of a file, as path='table.docx'")
    named = [] if names is None else texts("names", names)
    documents = [one.to_json() for one in several]

    def made(form: str) -> bytes:
        return _native.table(documents, form, title, named, stars, intervals)

    written = made(to)
    if path is not None:
        Path(path).write_bytes(written)
    text = (made("markdown") if to == "docx" else written).decode()
    return Table(text, text if to == "svg" else made("html").decode())
