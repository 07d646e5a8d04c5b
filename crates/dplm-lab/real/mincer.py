"""Mincer's equation on CPS1988: intervals of private fits against those of least squares, in raw
powers of experience and in `poly`.

    python crates/dplm-lab/real/fetch.py target/real
    python crates/dplm-lab/real/mincer.py target/real 1 20

The arguments are the folder, epsilon (at delta = 1e-6), and how many seeds. For each coefficient:
how long its interval is, over that of least squares (median over the seeds), how often it has the
sign of least squares and is significant at 5 %, and how often the interval holds the estimate of
least squares. Needs the package (`pip install .`). Seeds are fixed, so nothing here is private; the
table is public.
"""

import sys
import warnings
from pathlib import Path

import dplm
import numpy as np
import pandas as pd
from numpy.polynomial.legendre import Legendre

CURVES = {"raw powers": "experience[0..63] + I(experience^2) + I(experience^3)", "poly": "poly(experience[0..63], 3)"}


def least_squares(table: pd.DataFrame, curve: str) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and standard errors without privacy."""
    wage, education = np.log(table["wage"].clip(50, 19000)), table["education"].clip(0, 18)
    experience, black = table["experience"].clip(0, 63), table["ethnicity"] == "afam"
    t = experience / 31.5 - 1
    powers = [experience**k for k in (1, 2, 3)]
    polynomials = [np.sqrt(2 * k + 1) * Legendre.basis(k)(t) for k in (1, 2, 3)]
    x = np.column_stack([np.ones(len(table)), education, *(powers if curve == "raw powers" else polynomials), black])
    estimates = np.linalg.lstsq(x, wage, rcond=None)[0]
    errors = wage - x @ estimates
    variance = errors @ errors / (len(table) - x.shape[1])
    # Scaled first: raw powers are nearly dependent.
    scale = np.sqrt((x**2).sum(axis=0))
    return estimates, np.sqrt(variance * np.diag(np.linalg.inv((x / scale).T @ (x / scale)))) / scale


def main() -> None:
    folder, epsilon, seeds = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore", dplm.FitWarning)
    warnings.simplefilter("ignore", dplm.PrivacyWarning)
    table = pd.read_csv(folder / "cps88.csv")
    print("| | coefficient | length over least squares | right sign and significant | holds least squares |")
    print("|---|---|---|---|---|")
    for curve, terms in CURVES.items():
        formula = f"log(wage[50..19000]) ~ education[0..18] + {terms} + ethnicity{{cauc,afam}}"
        estimates, std_errors = least_squares(table, curve)
        fits = [dplm.lm(formula, table, epsilon=epsilon, seed=seed) for seed in range(seeds)]
        low, high = (np.array([fit.conf_int()[end] for fit in fits]) for end in ("low", "high"))
        length = np.nanmedian(high - low, axis=0) / (2 * 1.96 * std_errors)
        right = np.where(estimates > 0, low > 0, high < 0).mean(axis=0)
        holds = ((low <= estimates) & (estimates <= high)).mean(axis=0)
        for place, name in enumerate(fits[0].names):
            print(f"| {curve} | `{name}` | {length[place]:.2f} | {100 * right[place]:.0f} % | {100 * holds[place]:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
