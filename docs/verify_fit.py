#!/usr/bin/env python3
"""Checks what a saved fit says of its privacy, without dplm: python3 verify_fit.py FIT.json...

Everything but the noise itself can be recomputed from the document: that the releases add up to
rho, that each got noise as large as its sensitivity and its price demand, that epsilon and the
chance of a right guess follow from rho, that intervals are told of the noise that was added, and
that the descent went where its released gradients pointed (where a method descends in coordinates
of its own: where one and the same map of them points). Sensitivities are taken from the document:
PRIVACY.md says where each is argued.
"""

import json
import math
import sys
from decimal import Decimal

# Released steps are rounded to the lattice, which is at least this fine.
LATTICE = 2.0**-13


def phi(x):
    """The Gaussian distribution function, to full precision in its tail too."""
    return math.erfc(-x / math.sqrt(2)) / 2


def log_phi(x):
    if x > -37:
        return math.log(phi(x))
    tail = 1 - 1 / x**2 + 3 / x**4 - 15 / x**6
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log(tail)


def delta_of(epsilon, rho):
    """Delta at epsilon of sqrt(2 rho)-GDP: Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)."""
    mu = math.sqrt(2 * rho)
    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon + log_phi(-mu / 2 - epsilon / mu))


def exact_epsilon(rho, delta):
    low, high = 0.0, rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, rho) > delta else (low, middle)
    return high


def least(value):
    """The least value over the orders above 1, of a function with one minimum."""
    low, high = -12.0, 12.0
    for _ in range(200):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        rises = value(1 + math.exp(one)) < value(1 + math.exp(other))
        low, high = (low, other) if rises else (one, high)
    return value(1 + math.exp(low))


def general_epsilon(rho, delta):
    """The conversion of any rho-zCDP mechanism by Canonne, Kamath and Steinke (2020)."""
    return max(0.0, least(lambda a: a * rho + math.log(1 / (a * delta)) / (a - 1) + math.log(1 - 1 / a)))


def general_guess(rho):
    """Half of 1 plus the delta of that conversion at epsilon 0."""
    log_delta = least(lambda a: (a - 1) * a * rho - math.log(a - 1) + a * math.log(1 - 1 / a))
    return min(1.0, (1 + math.exp(log_delta)) / 2)


def epsilon_problems(guarantee, promise):
    rho, delta = float(guarantee["rho"]), guarantee["delta"]
    conversion, spent = promise["conversion"], promise["delta_spent"]
    if conversion == "exact":
        epsilon, guess = exact_epsilon(rho, delta), phi(math.sqrt(rho / 2))
    else:
        epsilon, guess = general_epsilon(rho, delta - spent), general_guess(rho) + spent / 2
    if not -1e-7 * epsilon <= guarantee["epsilon"] - epsilon <= 1e-4 * epsilon + 1e-6:
        yield f"epsilon is stated as {guarantee['epsilon']} and is {epsilon}"
    if not -1e-9 <= guarantee["guess"] - guess < 1e-6:
        yield f"the chance of a right guess is stated as {guarantee['guess']} and is {guess}"


def noise_problems(release):
    """Each sigma is the least integer with sigma^2 >= parts * sensitivity^2 / (2 weight rho)."""
    rho = Decimal(str(release["rho"]))
    for noise in release.get("noise", []):
        have = 2 * noise["weight"] * rho * 10**15
        need = noise["parts"] * int(noise["sensitivity_sq"]) * 10**15
        sigma = int(noise["sigma"])
        if sigma**2 * int(have) < need or (sigma > 1 and (sigma - 1) ** 2 * int(have) >= need):
            yield f"the noise of '{release['what']}' has a standard deviation of {sigma}"
        if noise["answers"] > noise["parts"]:
            yield f"'{release['what']}' gave {noise['answers']} answers for {noise['parts']} parts"


def guarantee_problems(guarantee, promise):
    if sum(Decimal(str(release["rho"])) for release in guarantee["releases"]) != Decimal(str(guarantee["rho"])):
        yield "the releases do not add up to rho"
    for release in guarantee["releases"]:
        yield from noise_problems(release)
    yield from epsilon_problems(guarantee, promise)


def solved(matrix, rows):
    """X with matrix X = rows, by elimination; None if there is no such X, or no one X."""
    size = len(matrix)
    work = [left + right for left, right in zip(matrix, rows)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(work[row][at]))
        work[at], work[pivot] = work[pivot], work[at]
        if abs(work[at][at]) < 1e-12 * max(abs(row[place]) for place, row in enumerate(matrix)):
            return None
        work[at] = [value / work[at][at] for value in work[at]]
        for row in range(size):
            if row != at:
                work[row] = [value - work[row][at] * own for value, own in zip(work[row], work[at])]
    return [row[size:] for row in work]


def products(one, other):
    """one' other, for two lists of rows."""
    return [[sum(a[i] * b[j] for a, b in zip(one, other)) for j in range(len(other[0]))] for i in range(len(one[0]))]


def steps_of(run, has_own_coordinates):
    """What each step should have been, by its gradient; None if the steps are too few to say."""
    gradients = run["gradient"]
    if not has_own_coordinates:
        return [[-run["step_size"] * part for part in gradient] for gradient in gradients]
    if not gradients or len(gradients) < 2 * len(gradients[0]):
        return None
    made = [[a - b for a, b in zip(after, before)] for before, after in zip(run["theta"], run["theta"][1:])]
    # The one map that explains the steps best, by least squares.
    by = solved(products(gradients, gradients), products(gradients, made))
    return by and [[sum(part * row[j] for part, row in zip(gradient, by)) for j in range(len(by))] for gradient in gradients]


def descent_problems(fit):
    """Each released point is the one before, moved as the released gradient says."""
    for run in fit.get("trajectories", []):
        steps = steps_of(run, fit["method"]["name"] != "dpgd") or []
        for before, step, after in zip(run["theta"], steps, run["theta"][1:]):
            if any(abs(b + s - a) > LATTICE * max(1, abs(a)) for b, s, a in zip(before, step, after)):
                yield "a step of the descent is not the one its gradient says"
                return


def spread_problems(document):
    """The noise of the mean gradient, of which intervals are made, is that of the last steps."""
    runs, guarantee = document["fit"].get("trajectories", []), document["guarantee"]
    noises = [release["noise"] for release in guarantee["releases"] if release["what"].startswith("clipped gradients")]
    if len(runs) != 1 or len(noises) != 1 or len(noises[0]) != 1 or not document["method"].get("clip"):
        return
    noise = noises[0][0]
    moved = (1 if guarantee["neighbours"] == "zero-out" else 2) * document["method"]["clip"] / document["units"]["count"]
    spread = int(noise["sigma"]) / math.sqrt(int(noise["sensitivity_sq"])) * moved
    if abs(spread / runs[0]["noise_sd"] - 1) > 1e-3:
        yield f"the noise of a mean gradient is stated as {runs[0]['noise_sd']} and is {spread}"


def problems(document):
    """What is wrong in a document, or in any part of it: the fits of groups and studies."""
    if isinstance(document, list):
        for part in document:
            yield from problems(part)
    if not isinstance(document, dict):
        return
    for key, part in document.items():
        if key == "guarantee":
            yield from guarantee_problems(part, part.get("promise") or document["promise"])
        elif key == "fit" and isinstance(part, dict) and part["method"]["name"] in ("dpgd", "auto"):
            yield from descent_problems(part)
            if "guarantee" in document:
                yield from spread_problems(document)
        yield from problems(part)


def verdict(path):
    """What is wrong with a file, and in how many of its releases noise could be checked."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file, parse_float=Number)
    except (OSError, ValueError) as error:
        return [f"it cannot be read as JSON ({type(error).__name__})"], ""
    if not isinstance(document, dict) or not all(key in document for key in ("guarantee", "promise")):
        return ["it holds no guarantee: give what 'dplm fit --json' has written"], ""
    try:
        found = sorted(set(problems(document)))
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        return [f"a part of it is missing or is not a number ({type(error).__name__})"], ""
    releases = document["guarantee"]["releases"]
    checked = sum(bool(release.get("noise")) for release in releases)
    return found, f" (with the noise of {checked} of {len(releases)} releases)"


def main(paths):
    status = 0
    for path in paths:
        found, checked = verdict(path)
        status = 1 if found else status
        print(f"{path}: " + ("; ".join(found) or f"all stated numbers agree{checked}"))
    return status


class Number(float):
    """A number of a document that remembers how it was written, since rho is exact in decimal."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self):
        return self.text


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
