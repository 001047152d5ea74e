"""Equal rows with different labels: the groups that a dictionary finds, and the findings of the doctor."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from checked_diagnoses import XOR, checked, only

import rosenblatt as rb
from rosenblatt.proofs.certify import validated_rows
from rosenblatt.proofs.doctor import duplicates as module
from rosenblatt.proofs.doctor.duplicates import Deduplication, find_duplicates
from rosenblatt.proofs.doctor.polynomial_rows import MAX_COLUMNS


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
    found = find_duplicates(container(X), y)
    assert found.groups == groups
    assert len(found.outvoted) == least
    kept = np.delete(np.arange(200), found.outvoted)
    assert groups_by_dictionary(X[kept], y[kept]) == ([], 0)


def test_rows_that_share_a_hash_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 2, 60)
    monkeypatch.setattr(module, "row_hashes", lambda X: np.zeros(X.shape[0], np.uint64))
    for rows in (X, sp.csr_array(X)):
        assert find_duplicates(rows, y).groups == groups_by_dictionary(X, y)[0]


def test_hashes_of_arrays_and_sparse_matrices_agree_and_hardly_ever_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.unique(np.random.default_rng(0).integers(-9, 9, (5000, 4)), axis=0).astype(float)
    stored = sp.csr_array(X)
    stored.data[::7] = 0.0
    assert len(np.unique(module.row_hashes(X))) == len(X)
    whole = module.row_hashes(stored)
    assert (whole == module.row_hashes(stored.toarray())).all()
    monkeypatch.setattr(module, "VALUES_PER_BLOCK", 50)
    assert (whole == module.row_hashes(stored)).all()
    assert (whole == module.row_hashes(stored.toarray())).all()


def test_duplicates_are_reported_with_the_errors_they_force() -> None:
    X = np.array([[1.0, 2], [1, 2], [1, 2], [5, 5], [5, 5], [9, 9], [0, 0], [8, 8]])
    y = np.array(["ham", "spam", "ham", "spam", "ham", "spam", "ham", "spam"])
    for rows in (X, sp.csr_array(X)):
        found = checked(rows, y)
        twins = only(found, "duplicates")
        assert (twins.evidence["groups"], twins.evidence["least_errors"]) == ([[0, 1, 2], [3, 4]], 2)
        assert twins.evidence["labels"] == [["ham", "spam", "ham"], ["spam", "ham"]]
        assert twins.sentence.startswith("5 rows have the same features as another row with a different label, in 2 groups: ")
        assert "rows 1, 2 and 3; rows 4 and 5" in twins.sentence
        assert "misclassifies at least 2 of them" in twins.sentence
        rest = only(found, "without_duplicates")
        assert rest.evidence["verdict"] == "separable"
        assert "(2 rows removed: 2 and 5), the other 6 rows are separable" in rest.sentence
        assert not found.of("degree")


def test_without_duplicates_xor_is_still_xor_and_rows_keep_their_numbers() -> None:
    X, y = np.vstack([[[7.0, 7]], [[7, 7]], XOR[0]]), np.array([1, 0, *XOR[1]])
    found = checked(X, y)
    rest, degree = only(found, "without_duplicates"), only(found, "degree")
    assert rest.evidence["verdict"] == "inseparable"
    assert set(rest.evidence["clash"]) <= {0, 1, 2, 3, 4, 5}
    assert str(min(rest.evidence["clash"]) + 1) in rest.sentence
    assert "are not separable either, whichever labels are kept (proved)" in rest.sentence
    assert "the 4 rows without ties" in degree.sentence
    assert "SoftMargin" in found.findings[-1].sentence


def test_a_tie_goes_to_the_side_where_the_others_have_it() -> None:
    found = checked([[0.0], [1], [2], [3], [3]], ["a", "a", "b", "b", "a"])
    rest, errors = only(found, "without_duplicates"), only(found, "errors")
    assert "(1 row removed: 5), the other 4 rows are separable (proved), with margin 0.5." in rest.sentence
    assert only(found, "duplicates").evidence["outvoted"] == errors.evidence["wrong"] == [4]
    assert errors.sentence.startswith(
        "The best plane misclassifies 1 of 5 rows; no plane misclassifies fewer (proved by the duplicates)."
    )
    assert not found.of("degree")


def test_the_fewest_errors_of_rows_too_wide_for_a_search_are_proved_by_duplicates() -> None:
    X = sp.random_array((40, MAX_COLUMNS + 1), density=0.01, rng=np.random.default_rng(0), format="csr")
    X, y = sp.vstack([X, X[:3], X[:1]], format="csr"), np.array([0, 1] * 20 + [1, 0, 1, 1])
    found = checked(X, y)
    assert only(found, "errors").evidence["wrong"] == only(found, "without_duplicates").evidence["left_out"]
    expected = "misclassifies 3 of 44 rows; no plane misclassifies fewer (proved by the duplicates)."
    assert expected in only(found, "errors").sentence


def test_inseparable_majorities_are_reported() -> None:
    found = checked([[0.0], [0], [0], [1], [2]], ["a", "a", "b", "b", "a"])
    sentence = "With the most frequent label of each point (1 row removed: 3), the other 4 rows are not separable"
    assert only(found, "without_duplicates").sentence.startswith(sentence)
    assert only(found, "without_duplicates").evidence["holds_for"] == "majority"


def test_of_too_many_ties_only_some_are_tried_and_that_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TIE_CHOICES", 3)
    X = np.repeat(np.arange(4.0), 2)[:, None]
    rest = only(checked(X, [0, 1] * 4), "without_duplicates")  # all 0 are no two classes; then 0001, which is separable
    assert rest.evidence["left_out"] == [1, 3, 5, 6]
    rest = only(checked(X - 10, [0, 1] * 4, fit_intercept=False), "without_duplicates")
    assert rest.sentence.endswith(" Not all ways to break ties were tried.")


@pytest.mark.parametrize(("n_classes", "intercept"), [(2, True), (2, False), (3, True)])
@pytest.mark.parametrize("seed", range(12))
def test_the_statement_about_the_rest_holds_for_all_labels_that_it_names(n_classes: int, intercept: bool, seed: int) -> None:
    """Against every choice of one label for each point, and every choice among the most frequent ones."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (6, 2)).astype(float)
    X = points[np.concatenate([np.arange(6), rng.integers(0, 6, 4)])]
    codes = rng.integers(0, n_classes, 10)
    codes[:n_classes] = np.arange(n_classes)
    groups = find_duplicates(X, codes)
    if not groups.groups:
        return
    rest = Deduplication(
        validated_rows(X, codes, "doctor"), groups, lambda X, y: rb.certify(X, y, fit_intercept=intercept)
    ).result()
    if rest is None:
        return
    assert len(rest.left_out) == len(groups.outvoted)
    outcomes = defaultdict(list)
    for labels in product(*({int(codes[i]) for i in group} for group in groups.groups)):
        wrong = [i for group, label in zip(groups.groups, labels, strict=True) for i in group if codes[i] != label]
        kept = np.delete(np.arange(10), wrong)
        holds_for = "majority" if len(wrong) == len(groups.outvoted) else "any"
        if len(set(codes[kept].tolist())) < n_classes:  # which is another question
            continue
        outcomes[holds_for].append(rb.certify(X[kept], codes[kept], fit_intercept=intercept).verdict == "separable")
        if wrong == rest.left_out:
            assert outcomes[holds_for][-1] == rest.separable
    if not rest.separable and rest.holds_for != "this":
        assert not any(outcomes["majority"])
        assert rest.holds_for != "any" or not any(outcomes["any"])


def test_nothing_is_left_of_a_class() -> None:
    found = checked([[1.0], [1], [1], [1]], [0, 0, 0, 1])
    assert not found.of("without_duplicates")
    assert not found.of("degree")
    assert only(found, "constant").evidence["values"] == [1.0]


def test_many_rows_take_seconds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 1000, (200_000, 2)).astype(float), rng.integers(0, 2, 200_000)
    found = find_duplicates(X, y)
    assert groups_by_dictionary(X, y.tolist()) == (found.groups, len(found.outvoted))
