"""A plan and its fit side by side on real tables: the standard errors that `dplm plan` promises over those that fits then have.

    python crates/dplm-lab/real/fetch.py target/real
    python crates/dplm-lab/real/plans.py target/real 0.1 5 earnings wages vocabulary computers males

The arguments are the folder, rho, how many seeds, and the tables. What a plan assumes of columns is taken from the table, as a code book would
say it: the mean and the standard deviation of each number, the shares of levels, and the standard deviation of the errors. Needs the package
(`pip install .`). Seeds are fixed, so nothing here is private; the tables are public.
"""

import re
import sys
import warnings
from pathlib import Path

import dplm
import numpy as np
import pandas as pd

LISTS = ("known.txt", "unseen.txt", "fresh.txt")


def model(folder: Path, name: str) -> tuple[pd.DataFrame, str]:
    """A table and its formula, in which the square of a column is written as one."""
    lines = [line.split(";") for one in LISTS for line in (folder / one).read_text().splitlines()]
    formula = next(formula for table, _, formula in lines if table == name)
    table = pd.read_csv(folder / f"{name}.csv")
    squared = re.sub(r"(\w+)2\[[^]]*\]", lambda found: f"I({found[1]}^2)" if found[1] in table else found[0], formula)
    return table, squared


def code_book(table: pd.DataFrame, formula: str) -> list[str]:
    """What a code book would say of the columns, and how large the errors of least squares are."""
    said, columns = [], {}
    for name, facts in re.findall(r"(\w+)(\[[^]]*\]|\{[^}]*\})", formula):
        if facts[0] == "[":
            number = table[name].clip(*map(float, facts[1:-1].split("..")))
            said.append(f"{name} mean {number.mean()} sd {number.std()}")
            columns[name] = number
        else:
            levels = facts[1:-1].split(",")
            shares = np.array([(table[name].astype(str) == level).mean() for level in levels])
            said.append(f"{name} shares " + " ".join(f"{share:.6f}" for share in shares / shares.sum()))
            columns |= {f"{name}[{level}]": 1.0 * (table[name].astype(str) == level) for level in levels[1:]}
    columns |= {f"I({name}^2)": columns[name] ** 2 for name in re.findall(r"I\((\w+)\^2\)", formula)}
    response, *features = columns.values()
    x = np.column_stack([np.ones(len(table)), *features])
    errors = response - x @ np.linalg.lstsq(x, response, rcond=None)[0]
    return [*said, f"errors sd {errors.std()}"]


def main() -> None:
    folder, rho, seeds = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore", dplm.FitWarning)
    warnings.simplefilter("ignore", dplm.PrivacyWarning)
    # A coefficient that no fit identifies has no ratio.
    warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
    print("| table | rows | coefficients | median | least | largest | left out: plan | fits |")
    print("|---|---|---|---|---|---|---|---|")
    for name in sys.argv[4:]:
        table, formula = model(folder, name)
        plan = dplm.plan(formula, rows=len(table), rho=rho, assume=code_book(table, formula))
        promised = np.array([one["std_error"] or np.nan for one in plan.coefficients])
        fits = [dplm.lm(formula, table, rho=rho, seed=seed) for seed in range(seeds)]
        obtained = np.array([fit.bse for fit in fits])
        ratios = promised / np.nanmedian(obtained, axis=0)
        left_out = sum(len(fit.left_out) for fit in fits) / seeds
        figures = [f"{figure(ratios):.2f}" for figure in (np.nanmedian, np.nanmin, np.nanmax)]
        print(f"| {name} | {len(table):,} | {len(promised)} | {' | '.join(figures)} | {len(plan.left_out)} | {left_out:g} |", flush=True)


if __name__ == "__main__":
    main()
