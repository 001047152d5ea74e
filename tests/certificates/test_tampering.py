"""More than 10,000 changed certificates, none accepted: changed bytes, changed and resealed, changed objects, other data.

Changes that keep the statement true are not counted: white space, "2/4" for "1/2", all planes times two, and a clash for planes
with an intercept that is stated for planes without one.
"""

from __future__ import annotations

import copy
import json
import time
from dataclasses import astuple, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from effort import in_time
from rosenblatt.certificates.files import _content, _sealed, certificate_to_dict, parse_certificate
from rosenblatt.certificates.statements import Ceiling, Margin, Pair, Plane
from rosenblatt.certificates.verify import CheckCode

BYTES, LEAVES = 600, 600  # changes of each kind to each of the certificates


@cache
def cases() -> dict[str, tuple[Any, Any, Any]]:
    """Certificates of all kinds, and their data, which has no symmetry that would make a change true."""
    rng = np.random.default_rng(7)
    points = np.round(rng.normal(size=(12, 3)), 2)
    two = (points @ [1.0, 2.0, -1.0] > 0.3).astype(int)
    three = np.argmax(points @ rng.normal(size=(3, 3)), axis=1)
    noise = np.array([0, 1] * 6)
    data = {
        "separable": (points, two, True),
        "separable, no intercept": (points, (points @ [1.0, 2.0, -1.0] > 0).astype(int), False),
        "separable, three classes": (points, np.array(["a", "b", "c"])[three], True),
        "inseparable": (points, noise, True),
        "inseparable, no intercept": (points[:, :2], noise, False),
        "inseparable, three classes": (points[:, :1], np.arange(12) % 3, True),
        "inseparable, sparse": (sp.csr_array(np.round(points)), noise, True),
    }
    found = {name: (rb.certify(X, y, fit_intercept=bias), X, y) for name, (X, y, bias) in data.items()}
    assert all(name.startswith(certificate.verdict) for name, (certificate, _, _) in found.items())
    for name in ("separable", "separable, three classes"):
        certificate, X, y = found[name]
        ceilings = [Ceiling(space.upper_squared, space.pairs) for space in (certificate.augmented, certificate.geometric)]
        found[f"un{name}"] = (rb.Undecided(certificate.about, *ceilings), X, y)
    assert all(rb.verify(*case) for case in found.values())
    return found


NAMES = [
    "inseparable", "inseparable, no intercept", "inseparable, sparse", "inseparable, three classes", "separable",
    "separable, no intercept", "separable, three classes", "unseparable", "unseparable, three classes",
]  # fmt: skip


def test_there_are_ten_thousand() -> None:
    assert sorted(cases()) == NAMES
    assert (BYTES + LEAVES) * len(NAMES) > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_changed_bytes(name: str) -> None:
    certificate, _, _ = cases()[name]
    raw, rng, counted = json.dumps(certificate_to_dict(certificate), indent=1).encode(), np.random.default_rng(1), 0
    while counted < BYTES:
        at, new = int(rng.integers(len(raw))), bytes([int(rng.choice([rng.integers(256), rng.integers(48, 58)]))])
        way = rng.integers(5)
        changed = [raw[:at] + new + raw[at + 1 :], raw[:at] + raw[at + 1 :], raw[:at] + new + raw[at:], raw[:at]][way % 4]
        if way == 4:  # two places exchanged
            other = int(rng.integers(len(raw)))
            low, high = min(at, other), max(at, other)
            changed = raw[:low] + raw[high : high + 1] + raw[low + 1 : high] + raw[low : low + 1] + raw[high + 1 :]
        if _meaning(changed) == _meaning(raw):
            continue
        counted += 1
        with pytest.raises(ValueError, match=r"."):
            parse_certificate(changed)


def _meaning(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("ascii"))
    except ValueError:
        return raw


@pytest.mark.parametrize("name", NAMES)
def test_one_part_changed_and_resealed(name: str) -> None:
    certificate, X, y = cases()[name]
    content, rng, counted = _content(certificate), np.random.default_rng(2), 0
    places = list(_leaves(content))
    while counted < LEAVES:
        changed = copy.deepcopy(content)
        for _ in range(int(rng.integers(1, 3))):
            *path, last = places[int(rng.integers(len(places)))]
            node: Any = changed
            for step in path:
                node = node[step]
            node[last] = _other(node[last], rng)
        try:
            found = parse_certificate(json.dumps(_sealed(changed)).encode())
        except ValueError:
            counted += 1
            continue
        if found != certificate and not _still_true(found, certificate):
            counted += 1
            assert not rb.verify(found, X, y), changed


def _still_true(changed: Any, certificate: Any) -> bool:
    """A clash with a free intercept is one for planes through the origin as well."""
    return changed.verdict == "inseparable" and changed == replace(
        certificate, about=replace(certificate.about, intercept=False)
    )


def _leaves(node: Any, path: tuple[Any, ...] = ()) -> Any:
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    if not isinstance(node, dict | list):
        yield path
    for step, child in steps:
        yield from _leaves(child, (*path, step))


def _other(leaf: Any, rng: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return int(leaf + rng.choice([-1, 1, 2, 1000]))
    try:
        f = Fraction(leaf)
    except (ValueError, ZeroDivisionError):
        return leaf[:-1] + ("0" if leaf[-1:] != "0" else "1")
    n, d = f.numerator, f.denominator
    choices = [
        (n + 1, d),
        (n - 1, d),
        (n, d + 1),
        (n, d - 1),
        (-n, d),
        (d, n),
        (2 * n, d),
        (n, 2 * d),
        (n * 10**15 + 1, d * 10**15),
    ]
    above, below = choices[int(rng.integers(len(choices)))]
    return f"{above}/{below}"


def _changed_pairs(pairs: tuple[Pair, ...], k: int) -> Any:
    """Pairs with something changed, convex all the same where they can be."""
    unit = Fraction(1, 10**9)
    for j, pair in enumerate(pairs):
        rest, after = pairs[:j], pairs[j + 1 :]
        yield (*rest, pair._replace(weight=pair.weight + unit), *after)
        yield (*rest, pair._replace(row=pair.row + 1), *after)
        yield (*rest, pair._replace(row=-1), *after)
        yield (*rest, pair._replace(rival=(pair.rival + 1) % k), *after)
        yield (*rest, pair._replace(weight=float(pair.weight)), *after)
        yield (*rest, *after)
        yield (*pairs, pair)
        half = pair._replace(weight=pair.weight / 2)
        yield (*rest, half, half, *after)
        if after:
            other = after[0]
            yield (*rest, pair._replace(weight=pair.weight + unit), other._replace(weight=other.weight - unit), *after[1:])
            if other.weight != pair.weight:
                yield (*rest, pair._replace(weight=other.weight), other._replace(weight=pair.weight), *after[1:])
        scale = sum((other.weight for other in (*rest, *after)), Fraction(0))
        if scale:
            yield tuple(other._replace(weight=other.weight / scale) for other in (*rest, *after))


def _changed_planes(planes: tuple[Plane, ...], intercept: bool) -> Any:
    for j, plane in enumerate(planes):
        rest, after = planes[:j], planes[j + 1 :]
        column, weight = next(iter(plane.weights.items()))
        yield (*rest, Plane(plane.weights | {column: weight + Fraction(1, 10**12)}, plane.intercept), *after)
        yield (*rest, Plane(plane.weights | {column: -weight}, plane.intercept), *after)
        yield (*rest, Plane(plane.weights | {-1: weight}, plane.intercept), *after)
        yield (*rest, Plane(plane.weights | {0.5: weight}, plane.intercept), *after)  # type: ignore[dict-item]
        yield (*rest, Plane(plane.weights | {column: float(weight)}, plane.intercept), *after)  # type: ignore[dict-item]
        yield (*rest, Plane({c: -f for c, f in plane.weights.items()}, -plane.intercept), *after)
        if intercept or after:
            yield (*rest, Plane({c: 2 * f for c, f in plane.weights.items()}, plane.intercept), *after)
        yield (*rest, Plane(plane.weights, plane.intercept + Fraction(1, 10**12)), *after)
        yield (*rest, *after)
        yield (*planes, plane)


def _changed(certificate: Any) -> Any:
    """Objects that no file could hold, or that state something else."""
    about, k = certificate.about, len(certificate.about.classes)
    other_abouts = [
        replace(about, sha256="0" * 64), replace(about, intercept=not about.intercept),
        replace(about, intercept=int(about.intercept)), replace(about, intercept=2),
        replace(about, n_rows=about.n_rows + 1), replace(about, n_columns=about.n_columns - 1),
        replace(about, classes=about.classes[::-1]), replace(about, classes=(*about.classes, "more")),
        replace(about, classes=about.classes[1:]), replace(about, classes=("x", *about.classes[1:])),
        replace(about, classes=(*about.classes, about.classes[0])),
    ]  # fmt: skip
    yield from (replace(certificate, about=other) for other in other_abouts)
    if isinstance(certificate, rb.Inseparable):
        yield from (replace(certificate, clash=pairs) for pairs in _changed_pairs(certificate.clash, k))
        ceiling = Ceiling(Fraction(0), certificate.clash)
        yield rb.Separable(about, None, None, Fraction(1))  # type: ignore[arg-type]
        yield rb.Separable(about, ceiling, ceiling, Fraction(1))  # type: ignore[arg-type]
        yield rb.Separable(about, *[Margin(Fraction(0), certificate.clash, Fraction(0), ())] * 2, Fraction(1))
        return
    spaces = {"augmented": certificate.augmented, "geometric": certificate.geometric}
    if about.intercept:
        yield replace(certificate, augmented=spaces["geometric"], geometric=spaces["augmented"])
    for name, space in spaces.items():
        both = spaces if not about.intercept else [name]
        yield rb.Inseparable(about, space.pairs)
        changes = [replace(space, upper_squared=square) for square in _changed_squares(space.upper_squared)]
        changes += [replace(space, pairs=pairs) for pairs in _changed_pairs(space.pairs, k)]
        if isinstance(space, Margin):
            changes += [replace(space, lower_squared=square) for square in _changed_squares(space.lower_squared)]
            changes += [replace(space, planes=planes) for planes in _changed_planes(space.planes, about.intercept)]
            changes += [None, Ceiling(space.upper_squared, space.pairs)]  # type: ignore[list-item]
        else:
            changes += [Margin(space.upper_squared, space.pairs, space.upper_squared, ())]
        yield from (replace(certificate, **dict.fromkeys(both, change)) for change in changes)
        if not about.intercept:
            yield from (replace(certificate, **{name: change}) for change in changes if change != space)
    if isinstance(certificate, rb.Separable):
        yield from (replace(certificate, radius_squared=square) for square in _changed_squares(certificate.radius_squared))


def _changed_squares(square: Fraction) -> list[Any]:
    return [
        square + Fraction(1, 10**30),
        square - Fraction(1, 10**30),
        -square,
        2 * square,
        Fraction(0),
        float(square) * 1.0000001,
    ]


@pytest.mark.parametrize("name", NAMES)
def test_changed_objects(name: str) -> None:
    certificate, X, y = cases()[name]
    changes = [change for change in _changed(certificate) if _digits(change) != _digits(certificate)]
    changes = [change for change in changes if not _still_true(change, certificate)]
    assert len(changes) > 30
    for change in changes:
        assert not rb.verify(change, X, y), _digits(change)


def _digits(certificate: Any) -> str:
    return type(certificate).__name__ + repr(astuple(certificate))


@pytest.mark.parametrize("name", NAMES)
def test_other_data(name: str) -> None:
    certificate, X, y = cases()[name]
    X, y = X.toarray() if sp.issparse(X) else X, np.asarray(y)
    for i in range(len(X)):
        for c in range(X.shape[1]):
            for to in (-np.inf, np.inf):
                other = X.copy()
                other[i, c] = np.nextafter(other[i, c], to)
                assert not rb.verify(certificate, other, y)
        order = np.arange(len(X))
        order[[i, i - 1]] = order[[i - 1, i]]
        assert not rb.verify(certificate, X[order], y)
        labels = y.copy()
        labels[i] = y[y != y[i]][0]
        assert not rb.verify(certificate, X, labels)
        assert not rb.verify(certificate, np.delete(X, i, axis=0), np.delete(y, i))
    assert not rb.verify(certificate, np.column_stack([X, np.zeros(len(X))]), y)
    assert not rb.verify(certificate, X[:, ::-1], y) or X.shape[1] == 1
    assert not rb.verify(certificate, X[::-1], y[::-1])
    assert not rb.verify(certificate, X, [f"class {label}" for label in y])


def test_planes_times_two_state_the_same_and_hold() -> None:
    """The one change that the other tests leave out, because the statement stays true."""
    certificate, X, y = cases()["separable"]
    twice = tuple(
        Plane({c: 2 * f for c, f in plane.weights.items()}, 2 * plane.intercept) for plane in certificate.geometric.planes
    )
    assert rb.verify(replace(certificate, geometric=replace(certificate.geometric, planes=twice)), X, y)


def test_a_certificate_without_bounds_is_rejected() -> None:
    for intercept in (True, False):
        certificate = rb.certify([[0.0], [1.0]], [0, 1], fit_intercept=intercept)
        assert not rb.verify(rb.Undecided(certificate.about, None, None), [[0.0], [1.0]], [0, 1])


class Flips(type(rb.certify([[0], [1]], [0, 1]).about)):  # type: ignore[misc]
    """An intercept that changes from one access to the next."""

    n_reads = 0

    def __getattribute__(self, name: str) -> Any:
        if name != "intercept":
            return super().__getattribute__(name)
        Flips.n_reads += 1
        return Flips.n_reads % 3 == 1


class Any1(str):
    """Text that compares equal to any other."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


class TwoFaced(dict[int, Fraction]):
    """Weights whose `values()` differ from their items."""

    def values(self) -> Any:
        return [Fraction(1)] * len(self)


def test_objects_that_only_look_like_certificates_are_rejected() -> None:
    X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    good = rb.certify(X, y)
    about = good.about
    flips = Flips(about.n_rows, about.n_columns, about.classes, about.sha256, True)
    geometric, two_faced = good.geometric, Plane(TwoFaced({0: Fraction(-9)}), Fraction(2))
    others = [replace(geometric, planes=planes) for planes in ((two_faced,), None, (1,))]
    abouts = [replace(about, sha256=Any1("0" * 64)), replace(about, classes=None), None]
    clashes = [
        rb.Inseparable(flips, (Pair(0, 1, Fraction(1)),)),
        rb.Inseparable(about, None),
        rb.Inseparable(about, ((0, 1, 1),)),
    ]
    bads = [replace(good, geometric=other) for other in others] + [replace(good, about=other) for other in abouts] + clashes
    for bad in bads:
        assert not rb.verify(bad, X, y)
    for other in (None, 1, "x"):
        with pytest.raises(TypeError, match="must be Separable, Inseparable or Undecided"):
            rb.verify(other, X, y)  # type: ignore[arg-type]


def test_denominators_that_multiply_up_are_refused_soon() -> None:
    n = 400
    X, y = np.eye(40, n), [0, 1] * 20
    good = rb.certify(X, y)
    weights = {c: Fraction(1, 2**1400 + 2 * c + 1) for c in range(n)}
    long = replace(good.geometric, planes=(Plane(weights, Fraction(0)),))
    begun = time.perf_counter()
    assert rb.verify(replace(good, geometric=long), X, y).code is CheckCode.TOO_LARGE
    assert in_time(time.perf_counter() - begun, 5)


def test_a_verdict_needs_its_margins() -> None:
    """For inseparable rows: the radius is right, and there is no other statement that could be false."""
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    clash = rb.certify(X, y)
    assert not rb.verify(rb.Separable(clash.about, None, None, Fraction(5)), X, y)  # type: ignore[arg-type]
    unsure = Margin(Fraction(0), clash.clash, Fraction(9), ())
    assert not rb.verify(rb.Undecided(clash.about, unsure, unsure), X, y)
