"""Reference values for the normal and Student t distributions, to 20 figures.

Values come from mpmath at 60 digits; scipy must agree to 1e-9 or the script stops.

Run:  pip install mpmath scipy && python3 student.py
"""

import pathlib

import mpmath as mp
from scipy import stats

mp.mp.dps = 60
DF = [1, 2, 3, 4, 5, 9, 10, 30, 100, 1000, 10_000, 1_000_000]
PROBABILITIES = ["1e-9", "0.0005", "0.025", "0.2", "0.499", "0.6", "0.9", "0.975", "0.9995", "0.99999"]
STATISTICS = ["0.001", "0.3", "1", "1.96", "2.5", "5", "12", "40"]
NORMAL = ["-30", "-8", "-3", "-1", "-0.01", "0.5", "1.96", "4"]


def two_sided(t, df):
    return mp.betainc(mp.mpf(df) / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True)


def t_quantile(prob, df):
    tail = min(prob, 1 - prob)
    start = abs(mp.mpf(stats.t.ppf(float(tail), df)))
    # On the logarithm the equation is nearly linear in the tail.
    root = mp.findroot(lambda t: mp.log(two_sided(t, df) / 2) - mp.log(tail), (start, start * mp.mpf("1.000001")))
    return root if prob > mp.mpf(1) / 2 else -root


def agree(ours, theirs):
    # Beyond 1e-250 scipy underflows; mpmath is then on its own.
    assert abs(ours) < mp.mpf("1e-250") or abs(ours - theirs) <= abs(ours) * mp.mpf("1e-9"), (ours, theirs)


def lines():
    for df in DF:
        for text in PROBABILITIES:
            value = t_quantile(mp.mpf(text), df)
            agree(value, stats.t.ppf(float(text), df))
            yield "t_quantile", text, df, value
        for text in STATISTICS:
            value = two_sided(mp.mpf(text), df)
            agree(value, 2 * stats.t.sf(float(text), df))
            yield "t_two_sided_p", text, df, value
    for text in PROBABILITIES:
        value = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(text) - 1)
        agree(value, stats.norm.ppf(float(text)))
        yield "normal_quantile", text, 0, value
    for text in NORMAL:
        value = mp.ncdf(mp.mpf(text))
        agree(value, stats.norm.cdf(float(text)))
        yield "normal_cdf", text, 0, value


with open(pathlib.Path(__file__).parent / "student.csv", "w") as out:
    out.write("function,argument,df,value\n")
    out.writelines(f"{name},{argument},{df},{mp.nstr(value, 20)}\n" for name, argument, df, value in lines())
