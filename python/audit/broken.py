#!/usr/bin/env python3
"""Builds of dplm that are broken on purpose, and whether the audits notice.

    ./test audit                                  # first: makes the environment that this uses
    target/audit-venv/bin/python python/audit/broken.py              # all of them
    target/audit-venv/bin/python python/audit/broken.py claim seed   # these

Each fault is one line of the sources, changed in a copy of the tracked files (target/broken). The
copy is built, the audits named beside the fault run against it, and at least one of them must
fail; against the copy without a fault all of them must pass. The first build takes minutes, the
others what changed. DPLM_BROKEN_BUILD names other packages to build, CARGO_TARGET_DIR another
place for what is built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "target" / "broken" / "tree"
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target" / "broken" / "build"))


class Fault(NamedTuple):
    """One line that is wrong, and the audits of which one must fail."""

    file: str
    right: str
    wrong: str
    audits: str


FAULTS = {
    "noise": Fault(
        "crates/dplm/src/privacy/release.rs",
        "value.saturating_add(rounded_gaussian(sigma, rng))",
        "value.saturating_add(rounded_gaussian(sigma.div_ceil(2), rng))",
        "test_the_smallest_tables",
    ),
    "clip": Fault(
        "crates/dplm/src/lattice/unit.rs",
        "self.length.square[lane] <= gamma * gamma * (1.0 - ROUNDING) && self.reachable[lane] <= clip.gamma",
        "self.length.square[lane] <= 4.0 * gamma * gamma * (1.0 - ROUNDING)",
        "test_persons_with_many_rows or test_a_person_with_many_rows",
    ),
    "seed": Fault(
        "crates/dplm/src/privacy/noise/source.rs",
        "getrandom::fill(&mut key).map_err(|source| EntropyError { source })?;",
        "key[0] = 1; if false { getrandom::fill(&mut key).map_err(|source| EntropyError { source })?; }",
        "test_no_two_threads or test_no_two_processes or test_a_child_does_not",
    ),
    "claim": Fault(
        "crates/dplm/src/privacy/sensitivity.rs",
        "self.claimed(norm_sq * 4u32, norm_sq.clone())",
        "self.claimed(norm_sq * 3u32, norm_sq.clone())",
        "test_the_worst_pair or test_no_pair_of_neighbours",
    ),
}


def copied() -> None:
    """The tracked files, and what is new beside them; files that are the same keep their times."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in names:
        source, target = ROOT / name, COPY / name
        if source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def passes(audits: str) -> bool:
    """Whether the audits pass against a build of the copy."""
    packages = os.environ.get("DPLM_BROKEN_BUILD", "--package dplm-cli --package dplm-py").split()
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD), "PYTHONPATH": str(COPY / "python")}
    subprocess.run(["cargo", "build", "--quiet", *packages], cwd=COPY, env=environment, check=True)
    shutil.copy(BUILD / "debug" / "lib_native.so", COPY / "python" / "dplm" / "_native.abi3.so")
    paths = f"{COPY / 'python'} {COPY / 'python' / 'audit'}"
    run = [sys.executable, "-m", "pytest", "--quiet", "-o", "filterwarnings=ignore", "-o", f"pythonpath={paths}"]
    done = subprocess.run([*run, "python/audit", "-k", audits], cwd=COPY, env=environment, capture_output=True, text=True)
    print("   ", done.stdout.strip().splitlines()[-1])
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return done.returncode == 0


def main(names: list[str]) -> int:
    """Breaks the copy in each way, one after the other."""
    missed = 0
    copied()
    for name in names or FAULTS:
        fault = FAULTS[name]
        path = COPY / fault.file
        text = path.read_text()
        assert text.count(fault.right) == 1, f"{fault.file} no longer has this line once: {fault.right}"
        started = time.monotonic()
        assert passes(fault.audits), "the audits fail without a fault"
        try:
            path.write_text(text.replace(fault.right, fault.wrong))
            is_missed = passes(fault.audits)
        finally:
            path.write_text(text)
        missed += is_missed
        print(f"{name}: {'NOT CAUGHT' if is_missed else 'caught'}, in {time.monotonic() - started:.0f} s")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
