"""Makes members.csv and new-members.csv: the members of a sports club, who left or stayed, as a spreadsheet exports them.

All of it is invented. docs/first-model.md trains on the first file, in which ten things are wrong, and predicts the second.

    python docs/examples/members.py
"""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
HEADER = ("No", "Joined", "Age", "City", "Plan", "Paid", "Attendance", "Visits", "Comment", "Region", "Exit fee", "Left")
CITIES = ("Zürich", "Genève", "Bern", "Basel", "Fribourg")
FEES = {"basic": 39.9, "plus": 64.5, "family": 92.4}
PRAISE = (
    "great trainers", "I love the pool", "clean and friendly", "good classes in the evening", "close to my office",
    "the sauna is nice", "fair prices", "I feel fitter",
)  # fmt: skip
BLAME = (
    "too crowded after work", "very expensive", "machines are broken", "parking is a problem", "rude at the desk",
    "no time this year", "the showers are cold", "I have moved",
)  # fmt: skip
MISSING = ("", "-", "n/a", "?")  # as different people leave a cell empty
EXPORTED = datetime.date(2024, 7, 2)


def member(rng: np.random.Generator, number: int, cities: tuple[str, ...]) -> list[str]:
    """A row of the table."""
    joined = EXPORTED - datetime.timedelta(int(rng.integers(30, 2000)))
    plan = str(rng.choice(list(FEES), p=[0.5, 0.3, 0.2]))
    visits = int(rng.poisson(rng.choice([1.0, 4.0, 9.0])))
    attendance = float(np.clip(visits / 12 + rng.normal(0, 0.1), 0, 1))
    years = (EXPORTED - joined).days / 365
    happy = rng.random() < 1 / (1 + np.exp(0.9 - 0.35 * visits))
    opinion = [str(rng.choice(PRAISE if (rng.random() < 0.9) == happy else BLAME)) for _ in range(rng.integers(2, 4))]
    left = rng.random() < 1 / (1 + np.exp(0.6 + 0.5 * visits + 0.3 * years - 4 * (not happy) - (plan == "plus")))
    paid = FEES[plan] * 12 * years * rng.choice([0.9, 1.0, 1.1])
    age, city = str(rng.integers(17, 75)), str(rng.choice(cities))
    row = [str(number), joined.strftime("%d.%m.%Y"), age, city, plan, money(paid), f"{attendance:.0%}", str(visits)]
    row += [", ".join(opinion), "Switzerland", money(25.0 if left else 0.0), "yes" if left else "no"]
    for column in ("Age", "City", "Attendance", "Comment"):
        if rng.random() < 0.04:
            row[HEADER.index(column)] = str(rng.choice(MISSING))
    return row


def money(amount: float) -> str:
    """An amount as a Swiss spreadsheet that was set to German writes it: 1.234,50 €."""
    return f"{amount:,.2f} €".translate(str.maketrans(",.", ".,"))


def write(name: str, lines: list[list[str]]) -> None:
    (HERE / name).write_bytes("".join(";".join(line) + "\r\n" for line in lines).encode("windows-1252"))


def main() -> None:
    rng = np.random.default_rng(0)
    rows = [member(rng, 10_000 + 3 * n, CITIES) for n in range(500)]
    rows = [row for n, row in enumerate(rows) for _ in range(2 if n % 15 == 7 else 1)]  # some are there twice
    rows[110][HEADER.index("Age")] = "thirty"
    leavers = [row for row in rows if row[-1] == "yes"]
    for row in leavers[::9]:
        row[-1] = "Yes"
    write("members.csv", [["Members of the club, exported on 2 July 2024"], [""], list(HEADER), *rows])
    later = [member(rng, 12_000 + 3 * n, (*CITIES, "Lugano")) for n in range(60)]
    later[7][HEADER.index("Paid")] = money(410_000.0)
    write("new-members.csv", [list(HEADER[:-2]), *(row[:-2] for row in later)])


if __name__ == "__main__":
    main()
