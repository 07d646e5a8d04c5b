"""The `dplm` command, which the package installs: `python -m dplm` is the same."""

from __future__ import annotations

import signal
import sys

from dplm._native import command_line


def main() -> int:
    # The command ends at once when it is interrupted, as one that is no Python program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line(["dplm", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
