"""A bar that shows how far a fit is, in terminals and as the same line in notebooks."""

from __future__ import annotations

import sys
import time

_PATIENCE = 1.0  # What is done sooner needs no bar.
_WIDTH = 40


class Bar:
    """Draws on standard error in terminals and notebooks, and clears itself at the end.

    A log is left as it is.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._drawn = 0
        self._line = ""
        self._seen = sys.stderr.isatty() or "ipykernel" in sys.modules

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self._seen or time.monotonic() - self._started < _PATIENCE or total == 0:
            return
        full = _WIDTH * done // total
        line = f"{stage:<8} [{'=' * full}{' ' * (_WIDTH - full)}] {100 * done // total:3d} %"
        self._draw(line)

    def close(self) -> None:
        """Takes the bar away."""
        if self._drawn:
            self._draw("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _draw(self, line: str) -> None:
        if line == self._line:
            return
        self._line = line
        sys.stderr.write("\r" + line.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn = len(line)
