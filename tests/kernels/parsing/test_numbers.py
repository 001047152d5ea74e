"""Decimal numbers in kernels are Python's, to the last bit, or are left to Python."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import numpy as np
import pytest

from rosenblatt.kernels.compile import COMPILED, kernel
from rosenblatt.kernels.parsing.numbers import EXACT, FIVES, HIGHEST, LONG, LOWEST, SAFE_LOWEST, WRONG, decimal

MANY = 100_000 if COMPILED else 500


@kernel
def all_of(text: Any, starts: Any, values: Any, ends: Any, kinds: Any) -> None:
    for k in range(starts.shape[0]):
        value, end, kind = decimal(text, np.uintp(starts[k]))
        values[k], ends[k], kinds[k] = value, end, kind


def parse(tokens: list[str]) -> tuple[Any, Any, Any]:
    """Values, how many characters were taken, and what was found."""
    text = np.frombuffer(("\n".join(tokens) + "\n").encode(), np.uint8)
    starts = np.cumsum([0, *(len(token) + 1 for token in tokens)])[:-1]
    values, ends, kinds = np.empty(len(tokens)), np.empty(len(tokens), np.int64), np.empty(len(tokens), np.int64)
    all_of(text, starts, values, ends, kinds)
    return values, ends - starts, kinds


def any_float(random: Random) -> float:
    """A float with random bits."""
    while True:
        (x,) = struct.unpack("d", struct.pack("Q", random.getrandbits(64)))
        if abs(x) < float("inf"):
            return float(x)


def halfway(random: Random) -> str:
    """A number exactly between two floats."""
    between, shift = (random.getrandbits(52) | 1 << 52) * 2 + 1, random.randrange(-4, 6)
    return (
        str(between << shift)
        if shift >= 0
        else f"{between >> -shift}.{(between * 10**-shift >> -shift) % 10**-shift:0{-shift}}"
    )


KINDS: dict[str, Any] = {
    "any float": lambda r: repr(any_float(r)),
    "of order 1": lambda r: repr(r.gauss(0, 1)),
    "six decimals": lambda r: f"{r.uniform(-1000, 1000):.6f}",
    "15 digits and an exponent": lambda r: f"{r.random():.14E}",
    "whole numbers": lambda r: str(r.getrandbits(r.randrange(1, 70))),
    "any exponent": lambda r: f"{r.getrandbits(r.randrange(1, 64))}e{r.randrange(-350, 310)}",
    "exponents that matter": lambda r: f"{r.getrandbits(r.randrange(50, 64))}e{r.randrange(-30, 30)}",
    "halfway": halfway,
    "leading zeros": lambda r: "0." + "0" * r.randrange(30) + str(r.getrandbits(60)),
    "long": lambda r: f"{r.getrandbits(200)}.{r.getrandbits(100)}",
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_float_as_python(kind: str) -> None:
    random = Random(kind)
    tokens = [KINDS[kind](random) for _ in range(MANY)]
    values, taken, kinds = parse(tokens)
    assert taken.tolist() == [len(token) for token in tokens]
    assert not (kinds == WRONG).any()
    expected = np.array([float(token) for token in tokens])
    exact = kinds == EXACT
    assert (values.view(np.int64) == expected.view(np.int64))[exact].all()
    if kind in ("of order 1", "six decimals", "15 digits and an exponent", "exponents that matter", "leading zeros"):
        assert exact.all()


def test_spellings() -> None:
    good = ["+1", "-1", ".5", "5.", "-.5e1", "1e-3", "1E-02", "1e+22", "1E22", "0", "-0", "0e999", "007", "0.10", "1e0"]
    values, taken, kinds = parse(good)
    assert [float(token).hex() for token in good] == [float(value).hex() for value in values]
    assert taken.tolist() == [len(token) for token in good]
    assert set(kinds.tolist()) == {EXACT}


def test_what_is_no_number() -> None:
    _, _, kinds = parse(["", "-", "+", ".", "-.", "e5", "1e", "1e+", "nan", "inf", "x", "--1", "+-1"])
    assert set(kinds.tolist()) == {WRONG}


def test_what_python_must_decide() -> None:
    tokens = [
        "1e400",
        "-1e400",
        "1e-400",
        "5e-324",
        "2.2250738585072011e-308",
        "1" * 20,
        "1e99999999999999999999",
        "1.7976931348623159e308",
    ]
    assert set(parse(tokens)[2].tolist()) == {LONG}


def test_a_number_ends_where_it_ends() -> None:
    _, taken, _ = parse(["1:2", "1.5.5", "1e5e5", "12 13", "1_0"])
    assert taken.tolist() == [1, 3, 3, 2, 1]


def test_table_of_powers_of_five() -> None:
    """128 bits of 5^q, off by less than one in the last."""
    for q in range(LOWEST, HIGHEST + 1):
        bits = (int(FIVES[q - LOWEST, 0]) << 64) + int(FIVES[q - LOWEST, 1])
        assert bits.bit_length() == 128
        power = 5 ** abs(q)
        if q >= 0:
            shift = power.bit_length() - 128
            assert bits == (power >> shift if shift > 0 else power << -shift)
        else:
            shift = 127 + power.bit_length()
            assert abs(bits * power - (1 << shift)) < power
            assert (bits * power > 1 << shift) == (q >= SAFE_LOWEST)
