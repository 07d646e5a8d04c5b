"""Builds that are broken on purpose must be caught: `./test broken`.

A copy of the sources gets every defect below, each behind a switch, so that one build has them all:
`DPLM_BROKEN` names the one that is on. The tests named beside a defect must fail with it, and pass
without. An auditor's test sees the fits that the broken build makes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "target" / "broken"
SWITCH = """
#[doc(hidden)]
pub fn is_broken(name: &str) -> bool {
    static ON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var("DPLM_BROKEN").ok()).as_deref() == Some(name)
}
"""

PRIVACY, LATTICE = "crates/dplm/src/privacy/", "crates/dplm/src/lattice/"
# Programs of tests. Every test is one of them, and a part of the names of what must fail.
LIB, ALL, LEDGER, AUDITORS = "dplm", "all", "ledger", "auditors"
PACKAGES = ["--package=dplm", "--package=dplm-ledger", "--package=dplm-methods"]
TESTS, MANY_FITS = "test --no-run --lib --test all --test ledger", "build --example many_fits"


@dataclasses.dataclass
class Defect:
    """What is broken, by an expression in the place of another, and the tests that must fail."""

    name: str
    file: str
    sound: str
    broken: str
    caught_by: list[tuple[str, str]]


SMALLEST = (AUDITORS, "smallest_tables")
WHOLE_FITS = (LIB, "method::audit::")

DEFECTS = [
    Defect("half of the noise", PRIVACY + "release.rs", "rounded_gaussian(sigma, rng)", "rounded_gaussian(sigma.div_ceil(2), rng)", [SMALLEST]),
    Defect("noise of one sign", PRIVACY + "noise.rs", "if top_bit(rng.next_word()) { -magnitude } else { magnitude }", "{ rng.next_word(); magnitude }", [(LIB, "privacy::noise::")]),
    Defect("one key for all fits", PRIVACY + "noise/source.rs", "SystemRng::new()?.0", "FixedSeed::new(1).0", [SMALLEST]),
    Defect(
        "a sigma for half of the claim",
        PRIVACY + "release.rs",
        "delta_sq * Rho::UNITS * parts",
        "delta_sq * (Rho::UNITS / 4) * parts",
        [(LIB, "privacy::release::"), WHOLE_FITS, SMALLEST],
    ),
    Defect("a row that is not clipped", LATTICE + "clip.rs", "whole_down(nearest(self.gamma.cast_signed()) / nearest(norm_sq.into()).sqrt())", "return 1e9", [(ALL, "neighbours::sums_of_clipped_gradients_and")]),
    Defect("a claim of gradients that is half of what it is", PRIVACY + "sensitivity.rs", "norm_sq * 4u32", "norm_sq.clone()", [(ALL, "neighbours::sums_of_clipped_gradients_and"), WHOLE_FITS, SMALLEST]),
    Defect("a claim of matrices that is too small", PRIVACY + "sensitivity.rs", "&fourth * 2u32", "fourth.clone()", [(ALL, "neighbours::sums_of_outer_products")]),
    Defect("groups that claim what a table claims", PRIVACY + "sensitivity.rs", "replaced.max(zeroed * 2u32)", "replaced", [(ALL, "neighbours::a_row_that_changes_its_group")]),
    Defect("counts of cells that claim one level", PRIVACY + "sensitivity.rs", "numbers + 2 * partitions", "numbers + partitions", [(ALL, "neighbours::numbers_of_usable_cells")]),
    Defect("a person who is not clipped as a whole", LATTICE + "unit.rs", "gamma * gamma * (1.0 - ROUNDING)", "f64::INFINITY", [(ALL, "neighbours::sums_of_clipped_gradients_of_persons"), (AUDITORS, "person_with_many_rows")]),
    Defect("a person with all rows", "crates/dplm/src/rows/person.rs", "(*size + 1).min(most)", "*size + 1", [(ALL, "persons::the_first_rows_of_a_person")]),
    Defect("long rows that are not shortened", LATTICE + "outer.rs", "u128::from(norm_sq) <= u128::from(radius) * u128::from(radius)", "true", [(ALL, "neighbours::sums_of_outer_products")]),
    Defect("a weight of a binary response that forgets the larger residual", LATTICE + "family.rs", "Binomial(simd).largest_residual(self.mean)", "simd.splat(1.0)", [(ALL, "neighbours::sums_of_binary_responses")]),
    Defect("a share that is not taken off the budget", PRIVACY + "budget.rs", "Ok(Spend { rho, mechanism, parts: 1, drawn })", "{ self.left = self.total; Ok(Spend { rho, mechanism, parts: 1, drawn }) }", [(LIB, "privacy::budget::")]),
    Defect("parts that are worth the whole", PRIVACY + "budget.rs", "self.parts.checked_mul(parts)", "Some(self.parts)", [(LIB, "privacy::budget::"), WHOLE_FITS]),
    Defect("an epsilon that is too small", PRIVACY + "convert/exact.rs", "Ok(least)", "Ok(0.999 * least)", [(LIB, "privacy::convert::")]),
    Defect("a ledger that lets more be spent", "crates/dplm-ledger/src/store.rs", "balance.left() < wanted", "false", [(LEDGER, "budget_is_spent_to_the_last_unit")]),
]


def copied() -> None:
    """The sources with every defect in them; files that are as they were keep their time."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, to = ROOT / name, COPY / name
        if not source.is_file():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        made = with_defects(name, source.read_bytes())
        if not to.exists() or to.read_bytes() != made:
            to.write_bytes(made)
            shutil.copymode(source, to)


def with_defects(name: str, source: bytes) -> bytes:
    for defect in DEFECTS:
        if defect.file == name:
            text, library = source.decode(), "crate" if name.startswith("crates/dplm/") else "dplm"
            assert text.count(defect.sound) == 1, f"{defect.name}: {text.count(defect.sound)} places in {name}"
            switch = f'(if {library}::is_broken("{defect.name}") {{ {defect.broken} }} else {{ {defect.sound} }})'
            source = text.replace(defect.sound, switch).encode()
    return source + SWITCH.encode() if name == "crates/dplm/src/lib.rs" else source


def built() -> dict[str, Path]:
    """The programs of the tests, by their names, and the one that makes many fits.

    In a folder of their own: crates are the same to cargo in whatever folder their workspace is, so
    that it would take what is broken for what is sound.
    """
    environment = {**os.environ, "CARGO_TARGET_DIR": str(COPY / "target")}
    programs = {}
    for words in TESTS, MANY_FITS:
        command = ["cargo", *words.split(), "--quiet", "--message-format=json", *PACKAGES]
        done = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        messages = [json.loads(line) for line in done.stdout.splitlines()]
        programs |= {made["target"]["name"]: Path(made["executable"]) for made in messages if made.get("executable")}
    return programs


def outcome(programs: dict[str, Path], test: tuple[str, str], broken: str) -> str:
    """`failed` or `passed`, or why that says nothing."""
    program, name = test
    environment = {**os.environ, "DPLM_BROKEN": broken, "DPLM_MANY_FITS": str(programs["many_fits"])}
    if program == AUDITORS:
        audit = ROOT / "python" / "audit"
        options = ["-q", "-x", "-p", "no:cacheprovider", "-o", "filterwarnings=ignore", "-o", f"pythonpath={audit}"]
        command = [sys.executable, "-m", "pytest", *options, audit / "test_auditors.py", "-k", name]
    else:
        command = [programs[program], name]
    # Tests read files beside their sources.
    folder = COPY / "crates" / ("dplm-ledger" if program == LEDGER else "dplm")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if not re.search(r"running [1-9]\d* test|\d+ (passed|failed)", done.stdout):
        return f"ran nothing: {(done.stderr + done.stdout)[-300:]}"
    return "passed" if done.returncode == 0 else "failed"


def main() -> int:
    started = time.monotonic()
    copied()
    programs = built()
    print(f"built in {time.monotonic() - started:.0f} s", flush=True)
    tests = sorted({test for defect in DEFECTS for test in defect.caught_by})
    wrong = 0
    for broken, test, wanted in [("", test, "passed") for test in tests] + [
        (defect.name, test, "failed") for defect in DEFECTS for test in defect.caught_by
    ]:
        started = time.monotonic()
        found = outcome(programs, test, broken)
        wrong += found != wanted
        sign = "ok" if found == wanted else "WRONG"
        print(f"{sign:5} {time.monotonic() - started:5.0f} s  {broken or 'sound'}: {' '.join(test)} {found}", flush=True)
    print(f"{len(DEFECTS)} defects; {wrong} tests did otherwise than they must")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
