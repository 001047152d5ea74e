"""What is printed of a certificate is true: bounds are rounded outwards, and planes through the origin are named."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.certificates.exact_numbers import decimal_text
from rosenblatt.certificates.statements import Ceiling, Margin


def _undecided(certificate: Any) -> rb.Undecided:
    bounds = [Ceiling(space.upper_squared, space.pairs) for space in (certificate.augmented, certificate.geometric)]
    return rb.Undecided(certificate.about, *bounds)


def test_bounds_are_rounded_outwards() -> None:
    rng = random.Random(1)
    numbers = [
        Fraction(rng.randrange(1, 10**9), rng.randrange(1, 10**9)) * Fraction(10) ** rng.randrange(-400, 400)
        for _ in range(200)
    ]
    numbers += [
        Fraction(0),
        Fraction(1),
        Fraction(1) + Fraction(1, 10**60),
        Fraction(1) - Fraction(1, 10**60),
        Fraction(999_999_999),
    ]
    numbers += [Fraction(7**9000, 5**9001), Fraction(1, 3**20_000)]
    for number in numbers:
        for digits in (1, 3, 6):
            for root in (False, True):
                power = 2 if root else 1
                below, above = (Fraction(decimal_text(number, digits, root, rounded=way)) for way in ("down", "up"))
                assert below**power <= number <= above**power
                assert above <= below * (1 + Fraction(10) ** (1 - digits))


def test_no_margin_exceeds_the_bounds_that_an_undecided_certificate_prints() -> None:
    certificate = rb.certify([[0.0], [2.0]], ["a", "b"])
    printed = [Fraction(number) for number in re.findall(r"margin above (\d+\.?\d*)", str(_undecided(certificate)))]
    assert printed == [1, Fraction("0.708")]
    assert printed[1] ** 2 > certificate.augmented.upper_squared == Fraction(1, 2)


def test_the_printed_interval_of_a_margin_has_the_margin() -> None:
    margin = Margin(Fraction(2, 9), (), Fraction(2, 9) - Fraction(1, 100), ())
    lower, upper = map(Fraction, re.findall(r"[\d.]+\d", str(margin)))
    assert lower**2 <= margin.lower_squared < margin.upper_squared <= upper**2
    close = Margin(Fraction(1), (), 1 - Fraction(26, 10**8), ())
    printed = Fraction(re.findall(r"at most ([\de-]+)\)", str(close))[0])
    assert close.gap <= printed


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_proof_about_planes_through_the_origin_says_so(n_classes: int) -> None:
    """Planes with an intercept separate these rows."""
    X, y = np.arange(1.0, n_classes + 1)[:, None], list(range(n_classes))
    separable, clash = rb.certify(X, y), rb.certify(X, y, fit_intercept=False)
    assert (separable.verdict, clash.verdict) == ("separable", "inseparable")
    assert str(rb.verify(separable, X, y)).endswith(": the rows are separable")
    assert str(rb.verify(clash, X, y)).endswith(": the rows are not separable by planes through the origin")
    apart = np.eye(n_classes)
    known = rb.certify(apart, y, fit_intercept=False)
    assert str(rb.verify(known, apart, y)).endswith(": the rows are separable by planes through the origin")
    check = rb.verify(_undecided(known), apart, y)
    assert str(check).endswith(": no margin of planes through the origin exceeds the stated bounds")
    assert re.match(r"undecided: no planes? through the origin ha(s|ve) a margin above [\d.]+\.$", str(_undecided(known)))
