"""A plan and its fit side by side on real tables: the standard errors that `dplm plan` promises
over those that fits then have.

    python crates/dplm-lab/real/fetch.py target/real
    python crates/dplm-lab/real/plans.py target/real 0.1 5 earnings wages vocabulary chemistry males computers races

The arguments are the folder, rho, how many seeds, and the tables. What a plan is told of columns is
taken from the table, in two ways. As a code book would say it: the mean and the standard deviation
of each number, and the shares of levels; the plan then takes columns to be uncorrelated and
symmetric. And by public moments: means and covariances of all terms, which plan and fit are then
both given. The standard deviation of the errors is told in both. Whether the assumptions of the
first hold is judged from the table before any plan is made, by the rule in `holds`.

Needs the package (`pip install .`). Seeds are fixed, so nothing here is private; the tables are
public.
"""

import re
import sys
import warnings
from itertools import combinations
from pathlib import Path

import dplm
import numpy as np
import pandas as pd

LISTS = ("known.txt", "unseen.txt", "fresh.txt")
# No two columns more correlated, and no column more skewed that is in the model with its square: a
# skewed column is correlated with it.
MOST_CORRELATED, MOST_SKEWED = 0.3, 0.5


def model(folder: Path, name: str) -> tuple[pd.DataFrame, str]:
    """A table and its formula, in which the square of a column is written as one."""
    lines = [line.split(";") for one in LISTS for line in (folder / one).read_text().splitlines()]
    formula = next(formula for table, _, formula in lines if table == name)
    table = pd.read_csv(folder / f"{name}.csv")
    squared = re.sub(r"(\w+)2\[[^]]*\]", lambda found: f"I({found[1]}^2)" if found[1] in table else found[0], formula)
    return table, squared


def code_book(table: pd.DataFrame, formula: str) -> tuple[list[str], dict[str, dict[str, np.ndarray]]]:
    """What a code book would say of the columns, and for each column its terms, that of the
    response first."""
    said, columns = [], {}
    for name, facts in re.findall(r"(\w+)(\[[^]]*\]|\{[^}]*\})", formula):
        if facts[0] == "[":
            number = table[name].clip(*map(float, facts[1:-1].split("..")))
            said.append(f"{name} mean {number.mean()} sd {number.std()}")
            columns[name] = {name: number.to_numpy(float)}
        else:
            levels = facts[1:-1].split(",")
            shares = np.array([(table[name].astype(str) == level).mean() for level in levels])
            said.append(f"{name} shares " + " ".join(f"{share:.6f}" for share in shares / shares.sum()))
            columns[name] = {f"{name}[{level}]": 1.0 * (table[name].astype(str) == level).to_numpy() for level in levels[1:]}
    return said, columns


def correlation(columns: list[dict[str, np.ndarray]]) -> float:
    """The largest between two columns, in size; the levels of a category are one column."""
    pairs = [(x, z) for one, other in combinations(columns, 2) for x in one.values() for z in other.values()]
    return max((abs(np.corrcoef(x, z)[0, 1]) for x, z in pairs), default=0.0)


def skewness(columns: list[dict[str, np.ndarray]], squared: list[str]) -> float:
    """The largest of columns that are in the model with their squares, in size."""
    numbers = [x for column in columns for name, x in column.items() if name in squared]
    return max((abs(((x - x.mean()) ** 3).mean()) / x.std() ** 3 for x in numbers), default=0.0)


def promised_over_obtained(formula: str, table: pd.DataFrame, rho: float, seeds: int, said: list[str], moments: dict | None) -> str:
    plan = dplm.plan(formula, rows=len(table), rho=rho, assume=said, moments=moments)
    promised = np.array([one["std_error"] or np.nan for one in plan.coefficients])
    fits = [dplm.lm(formula, table, rho=rho, seed=seed, moments=moments) for seed in range(seeds)]
    ratios = promised / np.nanmedian(np.array([fit.bse for fit in fits]), axis=0)
    left_out = sum(len(fit.left_out) for fit in fits) / seeds
    return f"{np.nanmedian(ratios):.2f} ({np.nanmin(ratios):.2f} to {np.nanmax(ratios):.2f}) | {len(plan.left_out)}, {left_out:g}"


def main() -> None:
    folder, rho, seeds = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore", dplm.FitWarning)
    warnings.simplefilter("ignore", dplm.PrivacyWarning)
    # A coefficient that no fit identifies has no ratio.
    warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
    print("| table | rows | coefficients | correlation | skewness | holds | by a code book | left out: plan, fits | by moments | left out: plan, fits |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[4:]:
        table, formula = model(folder, name)
        said, columns = code_book(table, formula)
        (response,), *features = (list(terms.values()) if place == 0 else terms for place, terms in enumerate(columns.values()))
        squared = re.findall(r"I\((\w+)\^2\)", formula)
        correlated, skewed = correlation(features), skewness(features, squared)
        holds = "yes" if correlated <= MOST_CORRELATED and skewed <= MOST_SKEWED else "no"
        terms = {key: x for column in features for key, x in column.items()}
        terms |= {f"I({key}^2)": terms[key] ** 2 for key in squared}
        x = np.column_stack([np.ones(len(table)), *terms.values()])
        errors = f"errors sd {(response - x @ np.linalg.lstsq(x, response, rcond=None)[0]).std()}"
        moments = {"names": list(terms), "means": x[:, 1:].mean(axis=0), "covariance": np.cov(x[:, 1:], rowvar=False)}
        found = [promised_over_obtained(formula, table, rho, seeds, *told) for told in (([*said, errors], None), ([errors], moments))]
        figures = f"{len(table):,} | {x.shape[1]} | {correlated:.2f} | {skewed:.2f} | {holds}"
        print(f"| {name} | {figures} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
