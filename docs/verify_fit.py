#!/usr/bin/env python3
"""Checks what a saved fit says of its privacy, without dplm: python3 verify_fit.py FIT.json...

Everything but the noise itself can be recomputed from the document: that the releases add up to
rho, that each got noise as large as its sensitivity and its price demand, that epsilon and the
chance of a right guess follow from rho, that intervals are told of the noise that was added, and
that the descent went where its released gradients pointed (where a method descends in coordinates
of its own: where one and the same map of them points), and that the estimates and standard errors
of such a method follow from the steps and the matrices that it released. Sensitivities are taken
from the document: PRIVACY.md says where each is argued.
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


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def transposed(matrix):
    return [list(column) for column in zip(*matrix)]


def eigen(matrix):
    """Eigenvalues of a symmetric matrix, ascending, and their vectors as rows (Jacobi)."""
    size = range(len(matrix))
    left = [[(matrix[i][j] + matrix[j][i]) / 2 for j in size] for i in size]
    vectors = [[float(i == j) for j in size] for i in size]
    for _ in range(60):
        if sum(left[i][j] ** 2 for i in size for j in range(i)) <= 1e-28 * sum(left[i][i] ** 2 for i in size):
            break
        for i in size:
            for j in range(i):
                if left[i][j] == 0:
                    continue
                turn = (left[j][j] - left[i][i]) / (2 * left[i][j])
                tangent = math.copysign(1, turn) / (abs(turn) + math.sqrt(turn**2 + 1))
                cosine = 1 / math.sqrt(tangent**2 + 1)
                sine = tangent * cosine
                for rows in (left, vectors):
                    one, other = rows[i], rows[j]
                    rows[i] = [cosine * a - sine * b for a, b in zip(one, other)]
                    rows[j] = [sine * a + cosine * b for a, b in zip(one, other)]
                for row in left:
                    row[i], row[j] = cosine * row[i] - sine * row[j], sine * row[i] + cosine * row[j]
    order = sorted(size, key=lambda i: left[i][i])
    return [left[i][i] for i in order], [vectors[i] for i in order]


def without_noise(found, sd):
    """Eigenvalues that noise has pushed apart, back where they were, and in order."""
    push = [sd**2 * sum(gap / (gap**2 + sd**2 / 2) for gap in (e - other for other in found) if gap) for e in found]
    groups = []
    for value in (e - p for e, p in zip(found, push)):
        group = (value, 1)
        while groups and groups[-1][0] * group[1] > group[0] * groups[-1][1]:
            last = groups.pop()
            group = (group[0] + last[0], group[1] + last[1])
        groups.append(group)
    return [total / count for total, count in groups for _ in range(count)]


def curvature_of(released):
    """The law of the curvature given a released matrix: its axes, its mean along them, the standard
    deviations of its entries and of a common factor, and how far steps allow for all that."""
    sd, (found, axes) = released["noise_sd"], eigen(released["mean"])
    p = len(found)
    middle, level_sd, free = sum(found) / p, sd / math.sqrt(p), (p - 1) * (p + 2) / 2
    level, seen, unseen = max(middle, level_sd), 1.0, 1.0
    if free * sd:
        noise = free * sd**2
        apart = max(sum((e - middle) ** 2 for e in found), noise)
        allowed = (0.2 * middle) ** 2 * 2 / (p + 1)
        seen = min(2 * (1 - noise / apart), 1.0)
        unseen = min(1 - 1 / (apart / noise * (1 + math.sqrt(2 / free))), allowed / (allowed + sd**2))
    values = [level + seen * (e - level) for e in without_noise(found, sd)]
    entry = [[0.0] * p for _ in range(p)]
    for i in range(p if sd else 0):
        alike = sum(sd**2 / (sd**2 + (values[i] - e) ** 2) for e in values)
        for j in range(p):
            gap = (values[i] - values[j]) ** 2
            share = max(seen / alike, unseen) if i == j else max(0.5 * gap / (gap + 4 * sd**2), 0.5 * unseen)
            entry[i][j] = sd * math.sqrt(share)
    moved = sum(entry[i][i] ** 2 for i in range(p)) / p**2
    factor = math.sqrt(max(level_sd**2 - moved, 0.0)) / level
    misfit = math.sqrt(0.2**2 + sum(e**2 for row in entry for e in row) / (p * level**2))
    # The mean of the inverse, by Dyson's equation.
    least = [max(entry[i][i], 0.05 * values[i]) for i in range(p)]
    mean = [max(value, low) for value, low in zip(values, least)]
    for _ in range(200):
        shift = [sum(s**2 / h for s, h in zip(row, mean)) for row in entry]
        mean = [0.5 * (h + max(value - by, low)) for h, value, by, low in zip(mean, values, shift, least)]
    return axes, mean, entry, factor, misfit


def weights_of(run, level, misfit):
    """The weights of the steps: little noise, and little of where the descent came from."""
    steps, late = len(run["gradient"]), transposed(run["theta"][len(run["theta"]) // 2 :])
    apart = sum((a - sum(b) / len(b)) ** 2 for a, b in zip(run["theta"][0], late)) / len(late)
    noise, penalty = (run["noise_sd"] / level) ** 2, misfit**2 * apart
    fading = [[min(max(1 - run["step_size"] * level * pace, 0.0), 1.0) ** t for t in range(steps)] for pace in (0.5, 1.0, 1.5)]
    inner = [[sum(a * b for a, b in zip(one, other)) + (one is other) * noise / penalty for other in fading] for one in fading]
    shares = solved(inner, [[sum(row)] for row in fading])
    raw = [1 - sum(share[0] * row[t] for share, row in zip(shares, fading)) for t in range(steps)]
    return [one / sum(raw) for one in raw]


def recomputed(fit):
    """The estimate and the standard error of each coefficient, from what was released."""
    evidence, run, stated = fit["evidence"], fit["trajectories"][0], fit["inference"]["newton"]
    basis, kept = evidence["basis"], evidence["kept"]
    axes, mean, entry, factor, misfit = curvature_of(evidence["curvature"])
    p = len(mean)
    theta = [times(basis, [one[j] for j in kept]) for one in run["theta"]]
    gradient = transposed(solved(transposed(basis), transposed([[one[j] for j in kept] for one in run["gradient"]])))
    weights = weights_of({**run, "theta": theta, "gradient": gradient}, sum(mean) / p, misfit)
    theta, gradient = (times(axes, [sum(w * one[j] for w, one in zip(weights, all)) for j in range(p)]) for all in (theta, gradient))
    noise = [[run["noise_sd"] ** 2 * sum(w**2 for w in weights) * (i == j) for j in range(p)] for i in range(p)]
    if "spread" in evidence:
        values, vectors = eigen(evidence["spread"]["mean"])
        turned = transposed([times(axes, vector) for vector in vectors])
        for i, j in ((i, j) for i in range(p) for j in range(p)):
            noise[i][j] += sum(max(e, 0.0) * a * b for e, a, b in zip(values, turned[i], turned[j])) / fit["rows"]
    columns = [times(axes, [row[kept.index(j)] for row in basis]) for j in stated["kept"]]
    scaled = [[m * b for m, b in zip(mean, column)] for column in columns]
    unit = [[float(i == j) for j in range(len(columns))] for i in range(len(columns))]
    inverse = solved([times(columns, one) for one in scaled], unit)
    estimate = times(inverse, times(columns, [m * t - g for m, t, g in zip(mean, theta, gradient)]))
    off = [t - b for t, b in zip(theta, times(transposed(columns), estimate))]
    # What noise in the curvature adds, where the descent ended and around the estimate.
    along = [m * o for m, o in zip(mean, off)]
    for i in range(p):
        for j in range(p):
            own = sum((s * o) ** 2 for s, o in zip(entry[i], off)) if i == j else entry[i][j] ** 2 * off[i] * off[j]
            noise[i][j] += own + factor**2 * along[i] * along[j]
    reach = products(columns, products(inverse, columns))
    known = [sum(a * b for a, b in zip(row, times(noise, row))) for row in reach]
    fed = [[float(i == k) - sum(reach[i][j] ** 2 * entry[j][k] ** 2 for j in range(p)) for k in range(p)] for i in range(p)]
    found = solved(fed, [[one] for one in known])
    lost = found is None or any(one[0] < least for one, least in zip(found, known))
    for i in range(p):
        noise[i][i] += sum(s**2 * (k if lost else one[0]) for s, k, one in zip(entry[i], known, found or [[0]] * p))
    to = products(columns, inverse)
    for contrast in evidence["contrasts"]:
        weight = [contrast["weights"].get(str(j), 0.0) for j in stated["kept"]]
        a = times(to, weight)
        yield contrast["offset"] + sum(w * e for w, e in zip(weight, estimate)), math.sqrt(sum(b * c for b, c in zip(a, times(noise, a))))


def estimate_problems(fit):
    """Each estimate and standard error follows from what was released."""
    if "evidence" not in fit:
        return
    for one, (estimate, std_error) in zip(fit["coefficients"], recomputed(fit)):
        if one["precision"] and abs(one["precision"]["std_error"] / std_error - 1) > 1e-6:
            yield f"the standard error of {one['name']} is stated as {one['precision']['std_error']} and is {std_error}"
        if one["estimate"] is not None and abs(one["estimate"] - estimate) > 1e-6 * std_error:
            yield f"the estimate of {one['name']} is stated as {one['estimate']} and is {estimate}"


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
            yield from estimate_problems(part)
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
