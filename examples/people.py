"""Writes people.csv: 5,000 simulated persons, each asked twice. `python3 examples/people.py` from any folder.

The mean of earnings is 2,000 + 1,500 educ + 150 age, plus 0, -2,000, 1,000 and 0 for the regions, less
3,000 for women; persons differ from it by a standard deviation of 6,000, and each answer by another 8,000.
"""

import random
from pathlib import Path

REGIONS = {"north": 0, "south": -2000, "east": 1000, "west": 0}
draw = random.Random(20240501)


def answers(person: int) -> list[str]:
    """The two rows of a person."""
    region = draw.choices(list(REGIONS), weights=[4, 3, 2, 1])[0]
    educ = min(20, max(6, round(draw.gauss(13, 3))))
    age, female, own = draw.randint(18, 79), draw.random() < 0.5, draw.gauss(0, 6000)
    # Towns were asked more often than the country, which the weight makes good.
    weight = draw.choice([1, 2, 4])

    def row(year: int) -> str:
        mean = 2000 + 1500 * educ + 150 * (age + year) + REGIONS[region] - 3000 * female
        earnings = min(200_000, max(0, mean + own + draw.gauss(0, 8000)))
        return f"{person},{2023 + year},{earnings:.0f},{age + year},{educ},{region},{'yes' if female else 'no'},{weight}\n"

    return [row(0), row(1)]


rows = [row for person in range(1, 5001) for row in answers(person)]
text = "id,year,earnings,age,educ,region,female,weight\n" + "".join(rows)
Path(__file__).with_name("people.csv").write_text(text, encoding="utf-8")
