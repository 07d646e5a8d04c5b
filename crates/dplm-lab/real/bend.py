"""How far clipping moves the fits of real tables away from least squares, in standard errors and
without noise.

    pip install numpy scipy pandas
    python crates/dplm-lab/real/fetch.py target/real
    python crates/dplm-lab/real/bend.py target/real [known unseen fresh]

Rows are whitened exactly and clipped at the share that the automatic method aims at with its counts
(`plan/division.rs`), before any widening. A standard error holds what sampling and the descent's
noise add. The bend of a coefficient is its least-squares value less the clipped one. Length is that
which as many rows exceed as the method lets exceed it, over that of Gaussian rows.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2

BUDGETS = (0.015, 0.1, 0.5)
DESCENT = 0.7  # about the share of the budget that the descent has
COUNTS = 6  # queries of a search by bisection


def table(line):
    name, path, formula = line.strip().split(";", 2)
    rows = pd.read_csv(path)
    left, right = formula.split("~", 1)
    response = re.match(r"\s*(\w+)\[(.+)\.\.(.+)\]", left)
    y = rows[response[1]].astype(float).clip(float(response[2]), float(response[3]))
    columns = []
    for column, known in re.findall(r"(\w+)(\[[^\]]*\]|\{[^}]*\})", right):
        if known[0] == "[":
            low, high = map(float, known[1:-1].split(".."))
            columns.append(rows[column].astype(float).clip(low, high))
        else:
            columns += [(rows[column].astype(str) == level).astype(float) for level in known[1:-1].split(",")[1:]]
    x = pd.concat(columns, axis=1)
    complete = x.notna().all(axis=1) & y.notna()
    x, y = x[complete].to_numpy(float), y[complete].to_numpy(float)
    return name, x[:, x.std(axis=0) > 0], y


def white(x):
    """White rows, and how their parameters make the slopes of columns of unit variance."""
    rows = np.c_[np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)]
    values, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    return rows @ (axes / np.sqrt(values)), axes / np.sqrt(values)


def shares(n, p, rho):
    """The share of rows that is clipped, and that which is longer than the length that is found."""
    noise = 2 * (p / n) ** 2 / (0.75 * rho)
    tail = 0.25 * (1 - np.exp(-1000 * noise)) + 0.5 * (1 - np.exp(-100 * noise))
    spent = np.clip(COUNTS / (2 * (min(tail / 3, 0.03) * n) ** 2) / rho, 0.005, 0.03)
    on_length = min(np.clip(COUNTS / (2 * (0.01 * n) ** 2) / rho, 0.005, 0.03), 0.01)
    told = lambda part: min(3 * np.sqrt(COUNTS / (2 * rho * part)) / n, 0.5)
    return max(tail, told(spent)), told(on_length)


def clipped_fit(z, lengths, y, clip, theta):
    for _ in range(60):
        residual = y - z @ theta
        weight = np.minimum(1, clip / np.maximum(lengths * abs(residual), 1e-300))
        curvature = (z * (weight >= 1)[:, None]).T @ z / len(y) + 1e-6 * np.eye(z.shape[1])
        step = np.linalg.solve(curvature, z.T @ (weight * residual) / len(y))
        theta = theta + step
        if abs(step).max() < 1e-9:
            break
    return theta


def bend(z, to_slopes, y, rho):
    n, p = z.shape
    tail, longer = shares(n, p, rho)
    lengths, least_squares = np.linalg.norm(z, axis=1), z.T @ y / n
    theta = least_squares
    for _ in range(4):
        clip = np.quantile(lengths * abs(y - z @ theta), 1 - tail)
        theta = clipped_fit(z, lengths, y, clip, least_squares)
    residual = y - z @ theta
    weight = np.minimum(1, clip / np.maximum(lengths * abs(residual), 1e-300))
    gradients = z * (weight * residual)[:, None]
    inverse = np.linalg.pinv((z * (weight >= 1)[:, None]).T @ z / n)
    noise = gradients.T @ gradients / n**2 + np.eye(p) * 2 * clip**2 / (n**2 * DESCENT * rho)
    covariance = to_slopes @ inverse @ noise @ inverse @ to_slopes.T
    moved = abs(to_slopes @ (least_squares - theta)) / np.sqrt(np.diag(covariance))
    normal = np.sqrt(1 + chi2.ppf(1 - longer, p - 1))
    return tail, np.quantile(lengths, 1 - longer) / normal, moved


def main():
    folder, lists = Path(sys.argv[1]), sys.argv[2:] or ["known", "unseen", "fresh"]
    bent = []
    for line in (line for one in lists for line in open(folder / f"{one}.txt") if ";" in line):
        name, x, y = table(line)
        z, to_slopes = white(x)
        for rho in BUDGETS:
            tail, length, moved = bend(z, to_slopes, y, rho)
            bent.append(moved.max() > 0.5)
            print(f"{name:12} rho {rho:<5} clipped {tail:.4f} length {length:.2f} largest bend {moved.max():.2f} beyond 1/2: {(moved > 0.5).mean():.2f}")
    print(f"{sum(bent)} of {len(bent)} have a coefficient that is biased by more than half a standard error")


if __name__ == "__main__":
    main()
