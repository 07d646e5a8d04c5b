"""The `dplm` command that the package installs, run in the interpreter's process."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pyarrow as pa
import pytest
from common import FORMULA

import dplm

INSTALLED = Path(sysconfig.get_path("scripts")) / "dplm"
FIT = ["--formula", FORMULA, "--rho", "0.5", "--seed", "3", "--json", "-"]


def run(*words: object, program: list[object] | None = None, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([*(program or [INSTALLED]), *map(str, words)], capture_output=True, **options)


def test_it_is_the_command(command, wages_csv, tmp_path):
    assert run("fit", wages_csv, *FIT, check=True).stdout.decode() == command("fit", wages_csv, *FIT)
    assert run("--version", check=True).stdout.startswith(b"dplm 0.")
    assert run("help", "fit", check=True).stdout.decode() == command("help", "fit")
    as_module = [sys.executable, "-m", "dplm"]
    assert run("fit", wages_csv, *FIT, program=as_module, check=True).stdout.decode() == command("fit", wages_csv, *FIT)


def test_refusals_have_their_status_and_one_sentence(tmp_path):
    for words, status in [(["fit", tmp_path / "nowhere.csv", *FIT], 1), (["fit", "--roh", "1"], 2), ([], 2)]:
        done = run(*words)
        assert done.returncode == status, done.stderr
        assert b"Traceback" not in done.stderr


def test_an_arrow_stream_on_standard_input(wages, wages_csv):
    """As a database writes it to standard output, with no file between."""
    table = pa.table({name: wages[name] for name in ("wage", "educ", "exper", "union")})
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)
    answers = [json.loads(run("fit", "-", *FIT, input=given, check=True).stdout) for given in (stream.getvalue(), wages_csv.read_bytes())]
    assert answers[0]["coefficients"] == answers[1]["coefficients"]
    # Half a stream is refused, and nothing of it is repeated.
    half = run("fit", "-", *FIT, input=stream.getvalue()[: len(stream.getvalue()) // 2])
    assert half.returncode == 1 and b"not a complete Arrow file" in half.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_an_interrupt_ends_it_at_once(tmp_path):
    data = tmp_path / "rows.csv"
    run("simulate", "--rows", 200_000, "--features", 10, "--seed", 1, "--out", data, check=True)
    long = ["--formula", "y ~ x1 + x2", "--standardised", "--rho", "1", "--method", "dpgd", "--clip", "0.1", "--steps", "1000000"]
    with subprocess.Popen([INSTALLED, "fit", data, *long], stderr=subprocess.PIPE) as started:
        time.sleep(2)
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=20) == -signal.SIGINT
        assert b"Traceback" not in started.stderr.read()


def test_colours_are_for_terminals_that_want_them(tmp_path):
    """On a terminal help is set in bold, unless NO_COLOR says no."""
    pty = pytest.importorskip("pty")

    def shown(**more: str) -> bytes:
        ours, theirs = pty.openpty()
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm-256color"} | more
        process = subprocess.Popen([INSTALLED, "fit", "--help"], stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:
            pass  # Linux says so that a terminal has nothing more.
        os.close(ours)
        assert process.wait() == 0
        return text

    assert b"\x1b[" in shown() and b"\x1b[" not in shown(NO_COLOR="1")


def test_what_was_pretended_says_so_when_it_is_loaded(tmp_path):
    kept = tmp_path / "fit.json"
    run("fit", "--pretend", "--formula", FORMULA, "--rho", 1, "--json", kept, check=True)
    with pytest.warns(dplm.FitWarning, match="simulated rows"):
        dplm.load(kept)
