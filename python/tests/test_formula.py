"""The formulas people write, on the tables people have."""

import datetime

import dplm
import numpy as np
import pandas as pd
import pytest

ROWS = 20_000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    educ, exper = rng.integers(0, 21, ROWS), rng.uniform(0, 60, ROWS)
    union, female = rng.choice(["no", "yes"], ROWS), rng.choice(["no", "yes"], ROWS)
    day = np.datetime64("2020-01-01") + rng.integers(0, 366, ROWS)
    line = 1 + 0.08 * educ + 0.05 * exper - 0.0008 * exper**2 + 0.1 * (union == "yes") - 0.2 * (female == "yes")
    wage = np.exp(line + 0.3 * rng.standard_normal(ROWS))
    return pd.DataFrame({"wage": wage, "educ": educ, "exper": exper, "union": union, "female": female, "day": day})


MINCER = "log(wage[1..5000]) ~ educ[0..20] + exper[0..60] + I(exper^2) + union{no,yes}*female{no,yes}"
NAMES = ["(Intercept)", "educ", "exper", "I(exper^2)", "union[yes]", "female[yes]", "union[yes]:female[yes]"]


def test_mincer_s_equation_is_that_of_least_squares(people):
    fit = dplm.lm(MINCER, people, rho=100.0, seed=1)
    union, female = people["union"] == "yes", people["female"] == "yes"
    columns = [np.ones(ROWS), people["educ"], people["exper"], people["exper"] ** 2, union, female, union & female]
    x = np.column_stack(columns).astype(float)
    expected = np.linalg.lstsq(x, np.log(people["wage"].clip(1, 5000)), rcond=None)[0]
    assert list(fit.params.index) == NAMES
    assert (np.abs(fit.params.to_numpy() - expected) < 0.2 * fit.bse.to_numpy()).all()
    without_wage = people.drop(columns="wage").head(5)
    assert np.allclose(fit.predict(without_wage), x[:5] @ fit.params.to_numpy())


def test_a_response_of_two_columns_needs_neither_to_predict(people):
    fit = dplm.lm("wage[1..5000]/exper[1..60] ~ educ[0..20]", people, rho=10.0, seed=1)
    assert len(fit.predict(people[["educ"]].head(3))) == 3


def test_dates_are_days_whatever_stores_them(people):
    formula = "log(wage[1..5000]) ~ day[2020-01-01..2020-12-31]"
    expected = dplm.lm(formula, people, rho=1.0, seed=1).params
    zoned = people.assign(day=people["day"].dt.tz_localize("UTC") + pd.Timedelta("23h"))
    texts = people.assign(day=people["day"].dt.strftime("%Y-%m-%d"))
    arrays = {name: people[name].to_numpy() for name in ("wage", "day")}
    dates = [time.date() if row % 2 else time for row, time in enumerate(people["day"].dt.to_pydatetime())]
    lists = [{"wage": people["wage"], "day": cells} for cells in (dates, list(arrays["day"]), list(people["day"]))]
    objects = people.assign(day=people["day"].astype(object))
    for data in (zoned, texts, arrays, objects, *lists):
        assert dplm.lm(formula, data, rho=1.0, seed=1).params.equals(expected)


def test_what_is_no_date_is_missing(people):
    class Birthday(datetime.date):
        def toordinal(self):
            raise AssertionError("a cell's own method was called")

    formula = "log(wage[1..5000]) ~ day[2020-01-01..2020-12-31]"
    days, gone = list(people["day"]), [pd.NaT, np.datetime64("NaT"), Birthday(2020, 5, 5), datetime.time(5), pd.Timedelta("1D")]

    def estimates(cells):
        return dplm.lm(formula, {"wage": people["wage"], "day": [*cells, *days[len(gone) :]]}, rho=1.0, seed=1).params

    missing = estimates([None] * len(gone))
    assert estimates(gone).equals(missing)
    assert not estimates(days[: len(gone)]).equals(missing)
    far = [datetime.date(1, 1, 1), np.datetime64("9999-12-31"), np.datetime64("-5000-01-01"), days[3], days[4]]
    near = [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-12-31"), pd.Timestamp("2020-01-01"), days[3], days[4]]
    assert estimates(far).equals(estimates(near)), "days outside the bounds are clamped to them"


def test_text_files_are_read_as_they_are_said_to_be_written(people, tmp_path):
    plain, other = tmp_path / "plain.csv.gz", tmp_path / "other.csv"
    people.to_csv(plain, index=False)
    people.to_csv(other, index=False, sep=";", decimal=",")
    expected = dplm.lm(MINCER, plain, rho=1.0, seed=1).params
    assert dplm.lm(MINCER, other, rho=1.0, seed=1, csv="semicolon,decimal-comma").params.equals(expected)
    with pytest.raises(dplm.DataError, match='csv="semicolon"'):
        dplm.lm(MINCER, other, rho=1.0, seed=1)
    with pytest.raises(dplm.RequestError, match="csv must be comma, semicolon, tab or pipe"):
        dplm.lm(MINCER, other, rho=1.0, seed=1, csv="colon")
