"""Reference draws of the exactly rounded Gaussian, for the replay test of the noise sampler.

A slow implementation of algorithm N (C. F. F. Karney, "Sampling exactly from the normal distribution", ACM TOMS 42(1),
2016) and of the rounding of sigma times its result, on unbounded integers and rationals. It follows the published
description and the word order stated in the documentation of the noise module; it shares no code with the library.

    python3 noise.py > noise.txt

Each line of the output: stream, seed, sigma, then for each draw `integer:words used`. Needs the standard library only.
"""

from fractions import Fraction
from math import floor

BASE = 2**64
MASK = BASE - 1

DRAWS_PLAIN = 300
DRAWS_COARSE = 300
DRAWS_THIRDS = 300
PLAIN_SIGMAS = [1, 2, 3, 10, 1000, 2**20, 2**40 + 1, 2**60, 2**64 - 1, 2**64, 2**64 + 1, 2**73, 3**50, 2**100]
COARSE_SIGMAS = [1, 2, 3, 7, 2**32, 2**63 - 1, 2**64, 2**64 + 1, 2**73, 5**40, 2**100 - 1, 2**100]
THIRDS_SIGMAS = [3, 9, 3**20, 3**40, 3**41, 3**50, 3**63]  # odd multiples of 3: sigma / 6 is half an odd integer


class Words:
    """SplitMix64, plain, or mapped to an alphabet of four words so that rare events are common.

    Coarse words make ties. Thirds make numbers near 1/6 = 0.(2AAA...)(AAAA...)(AAAA...)..., where the rounding of an odd
    multiple of 3 stays undecided for many digits.
    """

    ALPHABETS = {
        "plain": None,
        "coarse": [0, 2**63 - 1, 2**63, 2**64 - 1],
        "thirds": [0x2AAAAAAAAAAAAAAA, 0xAAAAAAAAAAAAAAAA, 0xAAAAAAAAAAAAAAAB, 0x5555555555555555],
    }

    def __init__(self, stream, seed):
        self.state = seed
        self.alphabet = self.ALPHABETS[stream]
        self.used = 0

    def next(self):
        self.used += 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        return z if self.alphabet is None else self.alphabet[z >> 62]


class Uniform:
    """A uniform number as the list of its digits in base 2^64, most significant first."""

    def __init__(self):
        self.digits = []

    def to(self, count, words):
        while len(self.digits) < count:
            self.digits.append(words.next())

    def prefix(self, count):
        """The first digits as a rational: the number lies in [prefix, prefix + BASE^-count)."""
        value = 0
        for digit in self.digits[:count]:
            value = value * BASE + digit
        return Fraction(value, BASE**count)


def less(a, b, words):
    """a < b, looking at one more digit of both until their prefixes differ."""
    count = 1
    while True:
        a.to(count, words)
        b.to(count, words)
        if a.prefix(count) != b.prefix(count):
            return a.prefix(count) < b.prefix(count)
        count += 1


def algorithm_h(words):
    """Bernoulli exp(-1/2)."""
    chain = Uniform()
    chain.to(1, words)
    if chain.prefix(1) >= Fraction(1, 2):
        return True
    n = 1
    while True:
        new = Uniform()
        if not less(new, chain, words):
            return n % 2 == 0
        chain, n = new, n + 1


def integer_below(m, words):
    """Uniform on 0..m-1: the integer part of m w / 2^64 for words that leave each value equally many."""
    while True:
        f, rest = divmod(m * words.next(), BASE)
        if rest >= BASE % m:
            return f


def algorithm_b(k, x, words):
    """Bernoulli exp(-x (2k + x) / (2k + 2))."""
    chain, n = x, 0
    while True:
        new = Uniform()
        if not less(new, chain, words):
            break
        f = integer_below(2 * k + 2, words)
        if f == 2 * k + 1:
            break
        if f == 2 * k and not less(Uniform(), x, words):
            break
        chain, n = new, n + 1
    return n % 2 == 0


def algorithm_n(words):
    """The integer part and the fraction of |Z|."""
    while True:
        k = 0
        while algorithm_h(words):
            k += 1
        if not all(algorithm_h(words) for _ in range(k * (k - 1))):
            continue
        x = Uniform()
        if all(algorithm_b(k, x, words) for _ in range(k + 1)):
            return k, x


def rounded_gaussian(sigma, words):
    k, x = algorithm_n(words)
    count = 2
    while True:
        x.to(count, words)
        low = sigma * (k + x.prefix(count)) + Fraction(1, 2)
        high = low + Fraction(sigma, BASE**count)  # not reached
        if floor(low) + 1 >= high:
            break
        count += 1
    magnitude = floor(low)
    return -magnitude if words.next() >= 2**63 else magnitude


def main():
    cases = [("plain", DRAWS_PLAIN, PLAIN_SIGMAS), ("coarse", DRAWS_COARSE, COARSE_SIGMAS)]
    cases.append(("thirds", DRAWS_THIRDS, THIRDS_SIGMAS))
    for stream, draws, sigmas in cases:
        for seed, sigma in enumerate(sigmas, start=1):
            words = Words(stream, seed)
            out = []
            for _ in range(draws):
                before = words.used
                out.append(f"{rounded_gaussian(sigma, words)}:{words.used - before}")
            print(stream, seed, sigma, *out)


if __name__ == "__main__":
    main()
