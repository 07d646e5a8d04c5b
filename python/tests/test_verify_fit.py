"""`docs/verify_fit.py`: what a saved fit says of its privacy, recomputed without dplm."""

from __future__ import annotations

import copy
import importlib.util
import json

import pytest
from common import FORMULA, ROOT

FITS = {
    "auto": ["fit", "--formula", FORMULA, "--rho", 0.5],
    "zero-out": ["fit", "--formula", FORMULA, "--rho", 0.5, "--neighbours", "zero-out"],
    "the paper's": ["fit", "--formula", FORMULA, "--rho", 0.1, "--method", "dpgd"],
    "persons": ["fit", "--formula", FORMULA, "--epsilon", 2, "--person", "id"],
    "groups": ["fit", "--formula", "wage[0..60] ~ educ[0..20]", "--rho", 1, "--by", "union{no,yes}"],
    "not Gaussian": ["fit", "--formula", "wage[0..60] ~ educ[0..20]", "--rho", 1, "--method", "theil-sen"],
    "tested": ["fit", "--formula", "wage[0..60] ~ educ[0..20]", "--rho", 1, "--method", "tukey-tested"],
}


@pytest.fixture(scope="module")
def verify():
    specification = importlib.util.spec_from_file_location("verify_fit", ROOT / "docs" / "verify_fit.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def documents(command, wages_csv, verify):
    def made(words):
        purpose = ["--purpose", "prediction"] if "--method" in words and words[-1] != "dpgd" else []
        text = command(words[0], wages_csv, *words[1:], *purpose, "--json", "-")
        return json.loads(text, parse_float=verify.Number)

    return {name: made(words) for name, words in FITS.items()}


@pytest.mark.parametrize("name", FITS)
def test_what_is_stated_can_be_recomputed(verify, documents, name):
    assert list(verify.problems(documents[name])) == []


def test_a_study_and_a_refined_fit_agree_too(verify, command, wages_csv, tmp_path):
    first, study = tmp_path / "first.json", tmp_path / "study.toml"
    study.write_text(f"rho = 1\n[[specification]]\nname = 'main'\nformula = '{FORMULA}'\n")
    command("fit", wages_csv, "--formula", FORMULA, "--rho", 0.5, "--json", first)
    command("refine", first, wages_csv, "--rho", 0.2, "--json", tmp_path / "refined.json")
    command("study", study, wages_csv, "--json", tmp_path / "study.json")
    for path in (tmp_path / "refined.json", tmp_path / "study.json"):
        document = json.loads(path.read_text(), parse_float=verify.Number)
        assert list(verify.problems(document)) == [], path.name


def lower_epsilon(guarantee):
    guarantee["epsilon"] *= 0.99


def lower_guess(guarantee):
    guarantee["guess"] -= 0.01


def leave_a_release_out(guarantee):
    guarantee["releases"].pop()


def halve_the_noise(guarantee):
    noise = guarantee["releases"][-1]["noise"][0]
    noise["sigma"] = str(int(noise["sigma"]) // 2)


def double_the_sensitivity(guarantee):
    noise = guarantee["releases"][-1]["noise"][0]
    noise["sensitivity_sq"] = str(int(noise["sensitivity_sq"]) * 4)


def answer_once_more(guarantee):
    guarantee["releases"][-1]["noise"][0]["answers"] += 1


EDITS = [lower_epsilon, lower_guess, leave_a_release_out, halve_the_noise, double_the_sensitivity, answer_once_more]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_an_edited_fit_is_caught(verify, documents, edit):
    document = copy.deepcopy(documents["auto"])
    edit(document["guarantee"])
    assert list(verify.problems(document)) != []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"guarantee": {}, "promise": {}}', '{"guarantee": 1, "promise": 2}'])
def test_what_is_no_fit_is_said_in_a_sentence(verify, tmp_path, capsys, text):
    (tmp_path / "fit.json").write_text(text)
    assert verify.main([str(tmp_path / "fit.json"), str(tmp_path / "none.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all("agree" not in line for line in lines)


def test_noise_that_is_not_stated_is_counted(verify, documents, tmp_path, capsys):
    document = copy.deepcopy(documents["auto"])
    releases = document["guarantee"]["releases"]
    del releases[0]["noise"]
    (tmp_path / "fit.json").write_text(json.dumps(document))
    verify.main([str(tmp_path / "fit.json")])
    assert f"the noise of {len(releases) - 1} of {len(releases)} releases" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["the paper's", "auto", "persons"])
def test_a_step_that_was_not_taken_is_caught(verify, documents, name):
    document = copy.deepcopy(documents[name])
    document["fit"]["trajectories"][0]["theta"][3][1] += 0.01
    assert "a step of the descent is not the one its gradient says" in verify.problems(document)


@pytest.mark.parametrize("name", ["the paper's", "auto", "zero-out", "persons"])
def test_intervals_that_are_told_of_less_noise_are_caught(verify, documents, name):
    document = copy.deepcopy(documents[name])
    document["fit"]["trajectories"][0]["noise_sd"] *= 0.9
    assert "the noise of a mean gradient" in [found[:28] for found in verify.problems(document)]


RELEASED = {
    "the curvature": lambda fit: fit["evidence"]["curvature"]["mean"][1].__setitem__(1, 1.3 * fit["evidence"]["curvature"]["mean"][1][1]),
    "its noise": lambda fit: fit["evidence"]["curvature"].update(noise_sd=2 * fit["evidence"]["curvature"]["noise_sd"]),
    "the spread": lambda fit: fit["evidence"]["spread"]["mean"][0].__setitem__(0, 2 * fit["evidence"]["spread"]["mean"][0][0]),
    "an estimate": lambda fit: fit["coefficients"][1].update(estimate=1.01 * fit["coefficients"][1]["estimate"]),
    "a standard error": lambda fit: fit["coefficients"][1]["precision"].update(std_error=0.9 * fit["coefficients"][1]["precision"]["std_error"]),
}


@pytest.mark.parametrize("name", ["auto", "zero-out", "persons"])
@pytest.mark.parametrize("what", RELEASED)
def test_an_estimate_that_does_not_follow_from_what_was_released_is_caught(verify, documents, name, what):
    document = copy.deepcopy(documents[name])
    RELEASED[what](document["fit"])
    found = list(verify.problems(document))
    assert found and all(one.startswith(("the estimate of", "the standard error of")) for one in found)
