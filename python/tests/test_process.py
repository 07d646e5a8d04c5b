"""How a fit sits in a Python process: signals, threads, forks, imports."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import dplm
from dplm._progress import Bar


def start(code: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(code: str) -> str:
    process = start(code)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


LONG = """
    import dplm
    data = dplm.simulate(rows=200_000, features=10, seed=1)
    print("ready", flush=True)
    dplm.lm("y ~ . + 0", data, rho=1, seed=1, method="dpgd", steps=1_000_000, clip=0.1)
"""


def test_ctrl_c_stops_a_fit():
    process = start(LONG)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err and "rho = 1 counts as spent" in err


PAID = """
    import sys, dplm
    data = dplm.simulate(rows=400_000, features=6, seed=1)
    print("ready", flush=True)
    sys.stdin.readline()
    account = {"ledger": sys.argv[1], "dataset": "rows"}
    dplm.lm("y ~ . + 0", data, rho=0.5, method="dpgd", steps=200, clip=0.1, **account)
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8])
def test_what_an_interrupted_fit_says_it_spent_is_what_the_ledger_shows(tmp_path, delay):
    ledger = dplm.Ledger.init(tmp_path / "budget.db", "rows", rho=1)
    command = [sys.executable, "-c", textwrap.dedent(PAID), ledger.file]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    spent = ledger.show("rows")["spent"]
    said = re.search(r"interrupted .*; (nothing was spent|the ledger has recorded rho = ([0-9.]+) as spent)", err)
    # Before the fit began, or once it had ended, Python itself is interrupted and nothing is said.
    assert said is None or float(said[2] or 0) == spent, err
    assert said is not None or "dplm.lm" not in err or spent in (0, 0.5), err


def test_other_threads_run_during_a_fit():
    data = dplm.simulate(rows=100_000, features=10, seed=1)
    beats, done = [], threading.Event()

    def beat():
        while not done.is_set():
            beats.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=beat)
    thread.start()
    began = time.monotonic()
    dplm.lm("y ~ . + 0", data, rho=1, seed=1, method="dpgd", steps=300, clip=0.1)
    ended = time.monotonic()
    done.set()
    thread.join()
    during = sum(began < at < ended for at in beats)
    # With the interpreter held there would be next to none.
    assert during > 5, f"{during} beats in {ended - began:.2f} s"


def test_a_fit_in_a_forked_process():
    out = finished(
        """
        import os, dplm
        data = dplm.simulate(rows=2000, features=2, seed=1)
        def fitted(): return dplm.lm("y ~ . + 0", data, rho=1, standardised=True, seed=1).to_json()
        here, (read, write) = fitted(), os.pipe()
        if os.fork() == 0:
            os.write(write, str(fitted() == here).encode())
            os._exit(0)
        os.close(write)
        print(os.read(read, 100).decode())
        """
    )
    assert out == "True\n"


def test_importing_loads_nothing_else():
    out = finished(
        """
        import sys
        import dplm
        heavy = {"numpy", "pandas", "pyarrow", "sklearn", "matplotlib", "polars"}
        print(sorted(heavy & set(sys.modules)))
        """
    )
    assert out == "[]\n"


def test_progress_is_told_and_a_failing_callback_stops_the_fit():
    data = dplm.simulate(rows=100_000, features=10, seed=1)
    options = {"rho": 1, "seed": 1, "method": "dpgd", "steps": 400, "clip": 0.1}
    heard = []
    dplm.lm("y ~ . + 0", data, progress=lambda *words: heard.append(words), **options)
    assert heard and {stage for stage, _, _ in heard} <= {"reading", "fitting"}
    assert all(done <= total for _, done, total in heard) and heard[-1][0] == "fitting"

    def fail(*words):
        raise LookupError("no")

    with pytest.raises(LookupError) as stopped:
        dplm.lm("y ~ . + 0", data, progress=fail, **options)
    assert any("interrupted" in note for note in stopped.value.__notes__)


def test_the_bar_draws_and_clears(capsys):
    bar = Bar()
    bar._started -= 2
    bar("reading", 1, 2)
    assert capsys.readouterr().err == "", "no bar without a terminal"
    bar = Bar()
    bar._seen = True
    bar("reading", 1, 2)
    assert capsys.readouterr().err == "", "nothing in the first second"
    bar._started -= 2
    bar("fitting", 1, 2)
    assert "fitting  [" in (drawn := capsys.readouterr().err) and " 50 %" in drawn
    bar.close()
    assert capsys.readouterr().err.strip(" \r") == ""
