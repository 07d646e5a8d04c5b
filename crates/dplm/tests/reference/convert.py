"""Reference values for the conversions between zCDP and (epsilon, delta), by mpmath at 80 digits.

    pip install mpmath
    python3 convert.py > convert.txt

Lines of the output, numbers read as the nearest doubles:

    epsilon RHO DELTA SIMPLE CKS EXACT      epsilon of rho at delta, by each conversion
    rho EPSILON DELTA SIMPLE CKS EXACT      the largest rho, by each conversion
    delta RHO EPSILON SIMPLE CKS EXACT      delta of rho at epsilon, by each conversion

The formulas are evaluated as published, without the rearrangements of the library.
"""

from mpmath import e, exp, log, mp, mpf, ncdf, nstr, sqrt

mp.dps = 80

RHOS = [1e-12, 1e-9, 1e-6, 1e-4, 0.005, 0.015, 0.05, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1e3, 1e4]
DELTAS = [1e-300, 1e-100, 1e-30, 1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.5, 0.9]
EPSILONS = [1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0, 1e4]
DEVIATIONS = [-1.5, -0.9, -0.4, 0.0, 0.3, 1.0, 2.5, 5.0, 10.0, 20.0, 36.5]


def boundary(low, high, is_low, steps=270):
    """Where is_low turns from true to false, by bisection."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low


def lowest(function, low=mpf(-120), high=mpf(720)):
    """The least value of a quasi-convex function of alpha - 1 = exp(t), by golden sections over t."""
    golden = (sqrt(5) - 1) / 2
    a, b = low, high
    c, d = b - golden * (b - a), a + golden * (b - a)
    at_c, at_d = function(exp(c)), function(exp(d))
    for _ in range(190):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - golden * (b - a)
            at_c = function(exp(c))
        else:
            a, c, at_c = c, d, at_d
            d = a + golden * (b - a)
            at_d = function(exp(d))
    return min(at_c, at_d)


def delta_exact(rho, epsilon):
    mu = sqrt(2 * rho)
    return ncdf(-epsilon / mu + mu / 2) - e**epsilon * ncdf(-epsilon / mu - mu / 2)


def epsilon_simple(rho, delta):
    return rho + 2 * sqrt(rho * log(1 / delta))


def rho_simple(epsilon, delta):
    return (sqrt(epsilon + log(1 / delta)) - sqrt(log(1 / delta))) ** 2


def delta_simple(rho, epsilon):
    return exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else mpf(1)


def log_delta_cks(x, rho, epsilon):
    alpha = 1 + x
    return x * (alpha * rho - epsilon) + alpha * log(1 - 1 / alpha) - log(x)


def delta_cks(rho, epsilon):
    return min(exp(lowest(lambda x: log_delta_cks(x, rho, epsilon), high=mpf(60))), mpf(1))


def epsilon_cks(rho, delta):
    def at(x):
        return (1 + x) * rho + (log(1 / delta) + (1 + x) * log(1 - 1 / (1 + x)) - log(x)) / x

    return max(lowest(at, high=mpf(60)), mpf(0))


def rho_cks(epsilon, delta):
    def at(x):
        return (epsilon - (log(1 / delta) + (1 + x) * log(1 - 1 / (1 + x)) - log(x)) / x) / (1 + x)

    return -lowest(lambda x: -at(x), high=mpf(60))


def epsilon_exact(rho, delta):
    if delta_exact(rho, mpf(0)) <= delta:
        return mpf(0)
    return boundary(mpf(0), epsilon_simple(rho, delta), lambda epsilon: delta_exact(rho, epsilon) > delta)


def rho_exact(epsilon, delta):
    low = high = rho_simple(epsilon, delta)
    while delta_exact(high, epsilon) <= delta:
        high *= 2
    return boundary(low, high, lambda rho: delta_exact(rho, epsilon) <= delta)


def line(what, first, second, *values):
    print(what, repr(float(first)), repr(float(second)), *(nstr(value, 22) for value in values))


def main():
    for rho in map(mpf, RHOS):
        for delta in map(mpf, DELTAS):
            values = (function(rho, delta) for function in (epsilon_simple, epsilon_cks, epsilon_exact))
            line("epsilon", rho, delta, *values)
    for epsilon in map(mpf, EPSILONS):
        for delta in map(mpf, DELTAS):
            values = (function(epsilon, delta) for function in (rho_simple, rho_cks, rho_exact))
            line("rho", epsilon, delta, *values)
    for rho in RHOS:
        for deviation in DEVIATIONS:
            epsilon = rho + deviation * (2 * rho) ** 0.5
            if epsilon < 0:
                epsilon = rho / 3
            pair = mpf(rho), mpf(epsilon)
            line("delta", *pair, *(function(*pair) for function in (delta_simple, delta_cks, delta_exact)))


if __name__ == "__main__":
    main()
