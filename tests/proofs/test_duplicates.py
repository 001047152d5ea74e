"""Rows that are the same point with different labels: those a dictionary finds, and what the doctor says of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from visits import XOR, checked, only

from rosenblatt.proofs.doctor import duplicates as module
from rosenblatt.proofs.doctor.duplicates import duplicates


def groups_by_dictionary(X: Any, y: Any) -> tuple[list[list[int]], int]:
    rows = defaultdict(list)
    for i, row in enumerate(np.asarray(X).tolist()):
        rows[tuple(row)].append(i)
    groups = sorted(group for group in rows.values() if len({y[i] for i in group}) > 1)
    return groups, sum(len(group) - max(Counter(y[i] for i in group).values()) for group in groups)


@pytest.mark.parametrize(
    "container", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32), lambda X: sp.csr_array(X[:, ::-1])]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_duplicates_are_those_that_a_dictionary_finds(container: Any, n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X, y = rng.integers(-1, 3, (200, 3)).astype(float), rng.integers(0, n_classes, 200)
    X[::5] *= -0.0
    groups, least = groups_by_dictionary(X, y)
    found = duplicates(container(X), y)
    assert found.groups == groups
    assert len(found.outvoted) == least
    kept = np.delete(np.arange(200), found.outvoted)
    assert groups_by_dictionary(X[kept], y[kept]) == ([], 0)


def test_rows_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 2, 60)
    monkeypatch.setattr(module, "hashes", lambda X: np.zeros(X.shape[0], np.uint64))
    for rows in (X, sp.csr_array(X)):
        assert duplicates(rows, y).groups == groups_by_dictionary(X, y)[0]


def test_hashes_of_arrays_and_sparse_matrices_agree_and_hardly_ever_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.unique(np.random.default_rng(0).integers(-9, 9, (5000, 4)), axis=0).astype(float)
    stored = sp.csr_array(X)
    stored.data[::7] = 0.0
    assert len(np.unique(module.hashes(X))) == len(X)
    whole = module.hashes(stored)
    assert (whole == module.hashes(stored.toarray())).all()
    monkeypatch.setattr(module, "BLOCK", 50)
    assert (whole == module.hashes(stored)).all()
    assert (whole == module.hashes(stored.toarray())).all()


def test_duplicates_are_told_with_the_errors_they_force() -> None:
    X = np.array([[1.0, 2], [1, 2], [1, 2], [5, 5], [5, 5], [9, 9], [0, 0], [8, 8]])
    y = np.array(["ham", "spam", "ham", "spam", "ham", "spam", "ham", "spam"])
    for rows in (X, sp.csr_array(X)):
        found = checked(rows, y)
        twins = only(found, "duplicates")
        assert (twins.evidence["groups"], twins.evidence["least_errors"]) == ([[0, 1, 2], [3, 4]], 2)
        assert twins.evidence["labels"] == [["ham", "spam", "ham"], ["spam", "ham"]]
        assert twins.sentence.startswith("5 rows have the same features as another row with a different label, in 2 groups: ")
        assert "rows 0, 1 and 2; rows 3 and 4" in twins.sentence
        assert "at least 2 of them wrong" in twins.sentence
        rest = only(found, "rest")
        assert rest.evidence["verdict"] == "separable"
        assert "(2 rows left out), the other 6 rows are separable" in rest.sentence
        assert not found.of("degree")


def test_without_duplicates_xor_is_still_xor_and_rows_keep_their_numbers() -> None:
    X, y = np.vstack([[[7.0, 7]], [[7, 7]], XOR[0]]), np.array([1, 0, *XOR[1]])
    found = checked(X, y)
    rest, degree = only(found, "rest"), only(found, "degree")
    assert rest.evidence["verdict"] == "inseparable"
    assert set(rest.evidence["clash"]) <= {0, 1, 2, 3, 4, 5}
    assert str(min(rest.evidence["clash"])) in rest.sentence
    assert "the other 5 rows" in degree.sentence
    assert "SoftMargin" in found.findings[-1].sentence


def test_nothing_is_left_of_a_class() -> None:
    found = checked([[1.0], [1], [1], [1]], [0, 0, 0, 1])
    assert not found.of("rest")
    assert not found.of("degree")
    assert only(found, "constant").evidence["values"] == [1.0]


def test_many_rows_take_seconds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 1000, (200_000, 2)).astype(float), rng.integers(0, 2, 200_000)
    found = duplicates(X, y)
    assert groups_by_dictionary(X, y.tolist()) == (found.groups, len(found.outvoted))
