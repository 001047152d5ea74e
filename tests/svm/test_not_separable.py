"""Proofs that no plane separates the rows: they hold, they are short, and a wrong one is found out."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import rosenblatt as rb
from rosenblatt.data.problem import make_problem
from rosenblatt.svm import exact_separation
from rosenblatt.svm.exact_separation import Decision, decide
from rosenblatt.svm.nearest_points import nearest_points
from rosenblatt.svm.signed_rows import SignedRows

containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def proof_of(X: Any, y: Any, free: bool = True) -> rb.NotSeparable:
    with pytest.raises(rb.NotSeparable) as caught:
        nearest_points(make_problem(X, y, 2, x0=float(free)))
    return caught.value


def decided(X: Any, y: Any, places: list[int], weights: Any, free: bool = True, apart: bool = False) -> Decision:
    rows = SignedRows(make_problem(X, np.asarray(y), 2, x0=float(free)))
    decision = decide(rows, np.array(places), np.asarray(weights), apart=apart)
    assert decision is not None
    return decision


def meets(decision: Decision, X: Any, y: Any, free: bool = True) -> bool:
    return rb.NotSeparable(decision.places, decision.weights, 1, free, decision.bound_squared).check(X, y)


# --- words and checks ---------------------------------------------------------------------------------------------------------


@containers
def test_equal_points_with_opposite_labels_are_named(container: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = (X[:, 0] > 0).astype(int)
    X[90], y[90], y[17] = X[17], 1, 0
    proof = proof_of(container(X), y)
    assert proof.rows == [17, 90]
    assert proof.weights == [1, 1]
    assert str(proof) == "rows 18 and 91 are the same point with different labels"
    assert proof.check(container(X), y)


@containers
def test_minus_zero_and_stored_zeros_are_zero(container: Any) -> None:
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [5.0, 5.0]])
    rows = container(X)
    if sp.issparse(rows):
        rows = sp.csr_array(
            (np.array([0.0, 1.0, 1.0, 5.0, 5.0]), np.array([0, 1, 1, 0, 1]), np.array([0, 2, 3, 5])), shape=(3, 2)
        )
    assert proof_of(rows, np.array([0, 1, 1])).rows == [0, 1]


def test_a_row_of_zeros_is_on_no_side_of_a_plane_through_the_origin() -> None:
    X, y = np.array([[1.0, 2.0], [0.0, 0.0], [-1.0, 3.0]]), np.array([1, 0, 0])
    proof = proof_of(X, y, free=False)
    assert (proof.rows, proof.weights) == ([1], [1])
    assert "row 2 is zero" in str(proof)
    assert proof.check(X, y)
    opposite = proof_of(np.array([[1.0, 2.0], [-2.0, -4.0]]), np.array([1, 1]), free=False)
    assert opposite.weights == [Fraction(2, 3), Fraction(1, 3)]
    assert str(opposite) == "no plane through the origin separates these 2 rows: 1, 2"


def test_a_segment_through_a_triangle() -> None:
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    proof = proof_of(X, np.array([0, 0, 0, 1]))
    assert proof.rows == [0, 1, 2, 3]
    assert proof.weights == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), 1]
    assert "these 4 rows" in str(proof)


def test_wrong_proofs_are_found_out() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [1.0]]), np.array([0, 1, 0, 1])
    half, one = Fraction(1, 2), Fraction(1)
    assert rb.NotSeparable([0, 1, 2], [half, one, half], 1).check(X, y)
    for rows, weights in [
        ([0, 1, 2], [half, one, Fraction(1, 3)]),  # sums
        ([0, 1, 2], [Fraction(1, 3), one, Fraction(2, 3)]),  # not zero
        ([0, 1, 2], [half, -one, half]),  # negative
        ([0, 1, 1, 2], [half, half, half, half]),  # a row named twice
    ]:
        assert not rb.NotSeparable(rows, weights, 1).check(X, y), (rows, weights)
    assert not rb.NotSeparable([0, 1, 2], [half, one, half], 0).check(X, np.array([0, 1, 1, 1]))
    assert rb.NotSeparable([0, 1], [one, one], 1, bound_squared=Fraction(1, 4)).check(X, y)
    assert not rb.NotSeparable([0, 1], [one, one], 1, bound_squared=Fraction(24, 100)).check(X, y)
    assert not rb.NotSeparable([0], [half], 1, free=False).check(X, y)


def test_a_proof_is_a_value_error_that_pickles_and_reads_frames() -> None:
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    proof = proof_of(X, y)
    assert isinstance(proof, ValueError)
    again = pickle.loads(pickle.dumps(proof))
    assert (again.rows, again.weights, str(again), again.exact) == (proof.rows, proof.weights, str(proof), True)
    frame, labels = pd.DataFrame(X, index=[7, 8, 9]), pd.Series(y, index=[7, 8, 9])
    assert again.check(frame, labels)
    assert again.check(X.tolist(), y.tolist())


# --- fractions ----------------------------------------------------------------------------------------------------------------


def separable(X: Any, y: Any, free: bool) -> bool:
    """The oracle: a linear program on small integers, whose answer is far from its tolerance."""
    signs = np.where(y == 1, 1, -1)[:, None]
    A = -signs * (np.column_stack([X, np.ones(len(X))]) if free else X)
    return bool(linprog(np.zeros(A.shape[1]), A, -np.ones(len(X)), bounds=(None, None)).status == 0)


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_fractions_decide_from_any_start(seed: int, free: bool, even: bool) -> None:
    """Also from rows that depend on each other and weights far from the least."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    X = rng.integers(-3, 4, (n, d)) * 0.125
    y = (X @ rng.integers(-2, 3, d) > 0.05).astype(int) if even else rng.integers(0, 2, n)
    y[:2] = 0, 1
    size = int(rng.integers(2, n + 1))
    decision = decided(X, y, list(range(size)), rng.exponential(size=size), free)
    assert decision.bound_squared == 0
    assert decision.apart == separable(X * 8, y, free)
    assert all(a > 0 for a in decision.weights)
    if not decision.apart:
        assert meets(decision, X, y, free)
        assert len(decision.places) <= d + 2
    else:  # every row is exactly in front of the plane through its side's rows
        signs = [1 if label == 1 else -1 for label in y.tolist()]
        Z = [[s * Fraction(float(x)) for x in row] for s, row in zip(signs, X, strict=True)]
        v = [sum((a * Z[p][c] for p, a in zip(decision.places, decision.weights, strict=True)), Fraction(0)) for c in range(d)]
        products = [sum((a * b for a, b in zip(row, v, strict=True)), Fraction(0)) for row in Z]
        for k in (0, 1) if free else (0,):
            side = [i for i in range(n) if not free or y[i] == k]
            levels = {products[i] for i in side if i in decision.places}
            assert levels == {min(products[i] for i in side)}


def test_one_rounding_decides() -> None:
    """A point on the line between two others, and the same point one unit in the last place away from it."""
    for second, apart in ((1.0, False), (np.nextafter(1.0, 2.0), True)):
        X = np.array([[0.0, 0.0], [3.0, 3.0], [1.0, second]])
        decision = decided(X, [0, 0, 1], [0, 1, 2], [0.5, 0.5, 1.0])
        assert decision.apart == apart
        assert apart or decision.weights == [Fraction(2, 3), Fraction(1, 3), 1]


def test_where_fractions_would_take_too_long_a_bound_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 6)), rng.integers(0, 2, 200)
    monkeypatch.setattr(exact_separation, "MAX_SYSTEM_ROWS", 0)
    monkeypatch.setattr(exact_separation, "MAX_WORK", 0)
    proof = proof_of(X, y)
    assert not proof.exact
    assert 0 < proof.bound < 1e-12
    assert "with a margin above" in str(proof)
    assert proof.check(X, y)


def test_too_many_steps_end_with_what_they_prove() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    places = [int(np.flatnonzero(y == 0)[0]), int(np.flatnonzero(y == 1)[0])]
    rows = SignedRows(make_problem(X, y, 2))
    decision = exact_separation._wolfe(rows, places, [Fraction(1), Fraction(1)], exact_separation.WorkBudget(200))
    assert decision.bound_squared > 0
    assert not decision.apart
    assert meets(decision, X, y)


@pytest.mark.parametrize("exponent", [-900, 0, 900])
def test_proofs_of_huge_and_tiny_numbers(exponent: int) -> None:
    rng = np.random.default_rng(1)
    X, y = np.ldexp(rng.normal(size=(60, 3)), exponent), rng.integers(0, 2, 60)
    proof = proof_of(X, y)
    assert proof.exact
    assert proof.check(X, y)
    mixed = np.column_stack([X, rng.normal(size=60)])
    assert proof_of(mixed, y).check(mixed, y)
