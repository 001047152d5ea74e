"""Statements about separation with changed parts and a new seal: none is accepted unless it is true, as an oracle decides."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import truth

import rosenblatt as rb
from effort import amount
from rosenblatt.certificates.files import _content, _sealed, certificate_to_dict, parse_certificate
from rosenblatt.certificates.verify import CheckCode

Content = dict[str, Any]


@cache
def cases() -> list[tuple[Content, list[list[int]], list[int]]]:
    rng = np.random.default_rng(4)
    X = rng.integers(-2, 3, (9, 3))
    rare = np.column_stack([rng.integers(-2, 3, (9, 2)), [0, 0, 0, 0, 0, 0, 0, 1, 3]])
    noise = [0, 1, 0, 1, 1, 0, 0, 1, 1]
    tables = [
        (X, noise),
        (rare, noise),
        (rare, [0, 1, 2, 1, 0, 1, 0, 2, 2]),
        (X, [0, 1, 2] * 3),
        (rare, (rare[:, 2] > 0).astype(int).tolist()),
        ([[0], [1], [1], [2]], [0, 0, 1, 1]),
    ]
    found = []
    for rows, labels in tables:
        for intercept in (True, False):
            certificate = rb.certify(rows, labels, fit_intercept=intercept, likelihood=True)
            assert certificate.likelihood is not None
            found.append((_content(certificate), np.asarray(rows).tolist(), list(labels)))
    kinds = [rb.verify(parse_certificate(json.dumps(_sealed(c)).encode()), rows, labels).holds for c, rows, labels in found]
    assert all(kinds)
    return found


@cache
def _truth(number: int, intercept: bool) -> tuple[str, list[tuple[int, tuple[int, ...]]]]:
    """The kind of separation of a case, its separated rows and its rows on the plane, by the definition."""
    _, rows, labels = cases()[number]
    where, vectors = truth.pairs(rows, labels, intercept)
    on_face = truth.face(vectors)
    kind = "complete" if not any(on_face) else "overlap" if all(on_face) else "quasi-complete"
    lists = [sorted({i for (i, _), known in zip(where, on_face, strict=True) if known is side}) for side in (False, True)]
    return kind, [(len(found), tuple(found[:12])) for found in lists]


def _places(node: Any, path: tuple[Any, ...] = ()) -> Any:
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    if not isinstance(node, dict | list):
        yield path
    for step, child in steps:
        yield from _places(child, (*path, step))


def _forge(content: Content, rng: random.Random) -> Content:
    forged = copy.deepcopy(content)
    part, way = forged["likelihood"], rng.randrange(8)
    if way < 4:
        *path, last = rng.choice(list(_places(part)))
        node: Any = part
        for step in path:
            node = node[step]
        leaf = node[last]
        node[last] = leaf + rng.choice([-1, 1]) if isinstance(leaf, int) else str(Fraction(leaf) + rng.choice([-1, 1, 3]))
    elif way == 4:
        part["planes"] = []
    elif way == 5:
        part["weights"] = rng.choice([[], [[rng.randrange(4), rng.randrange(2), rng.choice(["2", "1/3", "0", "-1"])]]])
    elif way == 6:
        part["separated"], part["on_plane"] = part["on_plane"], part["separated"]
    else:
        planes = part["planes"] or [{"intercept": "0", "weights": []}]
        for plane in planes:
            plane["weights"] = [[0, str(rng.randint(-1, 1))]]
        part["planes"] = planes
    return forged


def test_an_accepted_statement_is_true() -> None:
    rng, refused, accepted = random.Random(2), 0, 0
    for number in range(amount(300, 20_000)):
        case = number % len(cases())
        content, rows, labels = cases()[case]
        forged = _forge(content, rng)
        try:
            certificate = parse_certificate(json.dumps(_sealed(forged)).encode())
        except ValueError:
            refused += 1
            continue
        if rb.verify(certificate, rows, labels):
            accepted += 1
            found = certificate.likelihood
            assert found is not None
            assert (found.kind, [found.separated, found.on_plane]) == _truth(case, certificate.about.intercept), forged
    assert refused > 15
    assert accepted < 300


def test_each_false_part_has_its_reason() -> None:
    X, y = [[0, 5], [1, 4], [1, 4], [2, 5]], [0, 0, 1, 1]
    content = certificate_to_dict(rb.certify(X, y, likelihood=True))
    reasons = {}
    for name, change in {
        "direction": {"planes": [{"intercept": "0", "weights": [[0, "-1"]]}]},
        "smaller face": {"planes": [{"intercept": "0", "weights": [[0, "1"]]}]},
        "weight off the face": {"weights": [[0, 1, "2"]]},
        "weights": {"weights": [[1, 1, "2"]]},
        "negative weight": {"weights": [[1, 1, "-1"]]},
        "rows": {"separated": {"total": 2, "first": [0, 2]}},
    }.items():
        changed = copy.deepcopy({key: value for key, value in content.items() if key != "seal"})
        changed["likelihood"] |= change
        check = rb.verify(parse_certificate(json.dumps(_sealed(changed)).encode()), X, y)
        assert check.code in (CheckCode.FALSE_STATEMENT, CheckCode.INVALID_STATEMENT)
        reasons[name] = str(check)
    assert "misclassify row 3" in reasons["direction"]
    assert "do not sum to zero" in reasons["weights"]
    assert "that the planes separate" in reasons["weight off the face"]
    assert "is not positive" in reasons["negative weight"]
    assert "not those of its planes" in reasons["rows"]


def test_a_statement_that_contradicts_the_verdict_is_refused() -> None:
    separable, overlap = (rb.certify([[0], [1], [2]], y, likelihood=True) for y in ([0, 1, 1], [0, 1, 0]))
    content = _content(separable) | {"likelihood": _content(overlap)["likelihood"]}
    with pytest.raises(ValueError, match="contradicts the verdict"):
        parse_certificate(json.dumps(_sealed(content)).encode())


def test_files_of_certificates_keep_the_statement(tmp_path: Any) -> None:
    X, y = sp.csr_array(np.array([[0.5, 0], [0, 0.25], [0, 0], [1e-300, 3]])), ["a", "b", "a", "b"]
    certificate = rb.certify(X, y, fit_intercept=False, likelihood=True)
    rb.save_certificate(certificate, tmp_path / "c.json")
    again = rb.load_certificate(tmp_path / "c.json")
    assert again == certificate
    assert again.likelihood == certificate.likelihood
    assert str(again) == str(certificate)
