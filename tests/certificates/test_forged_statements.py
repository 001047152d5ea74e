"""Forged certificates with a correct seal: each is refused, rejected, or in fact true, as an oracle in fractions decides.

The forger knows the checker: it keeps weights convex, exchanges parts, states other verdicts, and scales planes.
"""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import rosenblatt as rb
from effort import amount
from rosenblatt.certificates.files import _content, _sealed, parse_certificate
from rosenblatt.certificates.statements import Ceiling

SPACES = ("augmented", "geometric")
STRANGE = [
    "0", "-1", "1/0", "NaN", "inf", "1e5", "\N{ARABIC-INDIC DIGIT ONE}", "0x1", "0x", "1.5", "-0", "+1", "01", "1/2/3", "",
    " 1", "1\n", "0x" + "f" * 3000 + "/0x" + "e" * 3000, "1/1" + "0" * 3999, "9" * 4300, None, True, 0, -1, 1.5, [], {}, ["1"],
    1 << 70,
]  # fmt: skip

Content = dict[str, Any]


def _fraction(text: str) -> Fraction:
    above, _, below = text.partition("/")
    return Fraction(int(above, 0), int(below, 0) if below else 1)


class Oracle:
    """Whether a statement is true of rows and labels, from the definitions; bounds need not be tight."""

    def __init__(self, content: Content, X: Any, y: list[str]) -> None:
        self.content, self.classes, self.free = content, content["data"]["classes"], content["intercept"]
        self.rows = [[Fraction(1), *map(Fraction, row)] for row in np.asarray(X, float).tolist()]
        self.own = [self.classes.index(label) for label in y]

    def true(self) -> bool:
        verdict = self.content["verdict"]
        if verdict == "inseparable":
            total = self._sum(self.content["clash"])
            return total is not None and not any(v for part in total for v in part[int(not self.free) :])
        if not all(self._upper(self.content[name], self.free and name == "augmented") for name in SPACES):
            return False
        return verdict == "undecided" or (all(map(self._lower, SPACES)) and self._radius())

    def _sum(self, pairs: list[Any]) -> list[list[Fraction]] | None:
        """The signed sum of rows (1, x) by class; None if the weights are not convex or a row is against its own class."""
        weights = [_fraction(weight) for *_, weight in pairs]
        if min(weights) <= 0 or sum(weights) != 1 or any(self.own[i] == z for i, z, _ in pairs):
            return None
        total = [[Fraction(0)] * len(self.rows[0]) for _ in self.classes]
        for (i, z, _), weight in zip(pairs, weights, strict=True):
            for c, value in enumerate(self.rows[i]):
                total[self.own[i]][c] += weight * value
                total[z][c] -= weight * value
        return total

    def _upper(self, space: Content, counted: bool) -> bool:
        total = self._sum(space["pairs"])
        if total is None or (self.free and not counted and any(part[0] for part in total)):
            return False
        square = sum(v * v for part in total for v in part[int(not counted) :])
        return square <= 2 * _fraction(space["upper_squared"])

    def _lower(self, name: str) -> bool:
        space, width = self.content[name], len(self.rows[0])
        planes = []
        for plane in space["planes"]:
            weights = dict(map(tuple, plane["weights"]))
            planes.append([_fraction(plane["intercept"]), *(_fraction(weights.get(c, "0")) for c in range(width - 1))])
        if len(self.classes) == 2:
            planes = [[-w / 2 for w in planes[0]], [w / 2 for w in planes[0]]]
        if not self.free and any(plane[0] for plane in planes):
            return False
        counted = self.free and name == "augmented"
        square = 2 * sum(w * w for plane in planes for w in plane[int(not counted) :])
        gaps = []
        for row, own in zip(self.rows, self.own, strict=True):
            scores = [sum(map(Fraction.__mul__, plane, row), Fraction(0)) for plane in planes]
            gaps += [scores[own] - score for z, score in enumerate(scores) if z != own]
        return min(gaps) > 0 and min(gaps) ** 2 >= _fraction(space["lower_squared"]) * square

    def _radius(self) -> bool:
        longest = max(sum(v * v for v in row[int(not self.free) :]) for row in self.rows)
        return _fraction(self.content["radius_squared"]) >= longest


@cache
def cases() -> list[tuple[Content, Any, list[str]]]:
    rng = np.random.default_rng(3)
    points, square = np.round(rng.normal(size=(8, 2)), 1), np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    data = [
        (points, points @ [1, 2] > 0.3), (square, [0, 1, 1, 0]), (points, np.argmax(points @ rng.normal(size=(2, 3)), axis=1)),
        (points[:6], [0, 1, 2] * 2), ([[0], [1], [1], [2]], [0, 1, 0, 1]), ([[-1, 0], [1, 0], [0, 1e300]], [0, 1, 1]),
    ]  # fmt: skip
    found = []
    for X, y in data:
        labels = [str(int(label)) for label in y]
        for intercept in (True, False):
            certificate = rb.certify(X, labels, fit_intercept=intercept)
            found.append((_content(certificate), X, labels))
            if isinstance(certificate, rb.Separable):
                ceilings = [
                    Ceiling(space.upper_squared, space.pairs) for space in (certificate.augmented, certificate.geometric)
                ]
                found.append((_content(rb.Undecided(certificate.about, *ceilings)), X, labels))
    return found


def _leaves(node: Any, path: tuple[Any, ...] = ()) -> Any:
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    if not isinstance(node, dict | list):
        yield path
    for step, child in steps:
        yield from _leaves(child, (*path, step))


def _forge(content: Content, rng: random.Random) -> Content:
    forged = copy.deepcopy(content)
    pairs = rng.choice([forged[name]["pairs"] for name in SPACES] if "augmented" in forged else [forged["clash"]])
    n_classes, n_rows, pair = len(forged["data"]["classes"]), forged["data"]["rows"], rng.choice(pairs)
    way = rng.randrange(12)
    if way < 3:
        *path, last = rng.choice(list(_leaves(forged)))
        node: Any = forged
        for step in path:
            node = node[step]
        node[last] = rng.choice(STRANGE) if way == 0 else _near(node[last], rng)
    elif way == 3:  # weight from one pair to another
        other, part = rng.choice(pairs), Fraction(1, rng.choice([3, 10, 10**12]))
        pair[2], other[2] = str(_fraction(pair[2]) + part), str(_fraction(other[2]) - part)
    elif way == 4:  # a pair in two halves
        pair[2] = str(_fraction(pair[2]) / 2)
        pairs.append([*pair])
    elif way == 5 and len(pairs) > 1:  # without one pair, convex again
        pairs.remove(pair)
        total = sum(_fraction(weight) for *_, weight in pairs)
        pairs[:] = [[i, z, str(_fraction(weight) / total)] for i, z, weight in pairs]
    elif way == 6:
        pair[0], pair[1] = rng.randrange(n_rows), rng.randrange(n_classes)
    elif way == 7:
        forged["data"]["classes"].reverse()
    elif way == 8:
        forged["intercept"] = not forged["intercept"]
    elif way == 9 and "augmented" in forged:
        forged["augmented"], forged["geometric"] = forged["geometric"], forged["augmented"]
    elif way == 10:
        weights = [rng.randint(1, 9) for _ in range(rng.randint(1, 4))]
        pairs[:] = [[rng.randrange(n_rows), rng.randrange(n_classes), str(Fraction(w, sum(weights)))] for w in weights]
    else:
        _state_other(forged, copy.deepcopy(pairs), rng, n_classes)
    return forged


def _near(leaf: Any, rng: random.Random) -> Any:
    if isinstance(leaf, bool) or not isinstance(leaf, int | str):
        return not leaf
    if isinstance(leaf, int):
        return leaf + rng.choice([-1, 1, 2, 1 << 40])
    try:
        f = _fraction(leaf)
    except ValueError:
        return leaf[1:]
    return str(rng.choice([f + 1, f - 1, -f, f * 2, f / 2, f * f, f + Fraction(1, 10**30), f - Fraction(1, 10**30)]))


def _state_other(forged: Content, pairs: list[Any], rng: random.Random, n_classes: int) -> None:
    """Another verdict from the same parts."""
    forged["verdict"] = rng.choice(["separable", "inseparable", "undecided"])
    spaces = {name: forged.pop(name, {"upper_squared": "0", "pairs": pairs}) for name in SPACES}
    forged.pop("radius_squared", None), forged.pop("clash", None)
    if forged["verdict"] == "inseparable":
        forged["clash"] = pairs
        return
    for name, space in spaces.items():
        forged[name] = {"upper_squared": rng.choice([space["upper_squared"], "9"]), "pairs": copy.deepcopy(space["pairs"])}
        if forged["verdict"] == "separable":
            plane = {"intercept": "0", "weights": [[0, "1"]]}
            forged[name] |= {"lower_squared": "1/1000000", "planes": [plane] * (1 if n_classes == 2 else n_classes)}
            forged["radius_squared"] = rng.choice(["1", "2", "1000"])


def test_an_accepted_forgery_is_true() -> None:
    rng, accepted = random.Random(7), 0
    for number in range(amount(400, 20_000)):
        content, X, labels = cases()[number % len(cases())]
        forged = _forge(content, rng)
        try:
            certificate = parse_certificate(json.dumps(_sealed(forged)).encode())
        except ValueError:
            continue
        assert str(certificate) + repr(certificate)
        if rb.verify(certificate, X, labels):
            accepted += 1
            assert Oracle(forged, X, labels).true(), forged
    assert accepted > 5  # among them certificates that were not changed


def test_the_oracle_accepts_the_true_ones_and_knows_false_ones() -> None:
    for content, X, labels in cases():
        assert Oracle(content, X, labels).true()
        wrong = copy.deepcopy(content)
        if "clash" in wrong:
            wrong["clash"][0][2] = "1/97"
        else:
            wrong["geometric"]["upper_squared"] = "0"
        assert not Oracle(wrong, X, labels).true()
