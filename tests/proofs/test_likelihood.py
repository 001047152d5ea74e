"""Complete separation, quasi-complete separation and overlap: against an oracle in fractions, and on known examples."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import truth
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import rosenblatt as rb
from effort import examples
from rosenblatt.proofs.likelihood import no_maximum

SMALL = st.integers(-2, 2)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[int], bool]:
    """Small integer rows, with duplicates, zero columns and collinear columns; labels of two or three classes; an intercept."""
    d, k = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    n = draw(st.integers(k, 9))
    rows = draw(st.lists(st.lists(SMALL, min_size=d, max_size=d), min_size=n, max_size=n))
    labels = list(range(k)) + draw(st.lists(st.integers(0, k - 1), min_size=n - k, max_size=n - k))
    return rows, labels, draw(st.booleans())


@settings(max_examples=examples(400), deadline=None)
@given(tables())
def test_the_kind_and_the_rows_are_those_of_the_definition(table: tuple[list[list[int]], list[int], bool]) -> None:
    rows, labels, intercept = table
    certificate = rb.certify(rows, labels, fit_intercept=intercept, likelihood=True)
    where, vectors = truth.pairs(rows, labels, intercept)
    on_face = truth.face(vectors)
    expected = "complete" if not any(on_face) else "overlap" if all(on_face) else "quasi-complete"
    assert certificate.separation == expected
    likelihood = certificate.likelihood
    assert likelihood is not None
    for stated, value in ((likelihood.separated, False), (likelihood.on_plane, True)):
        found = sorted({i for (i, _), known in zip(where, on_face, strict=True) if known is value})
        assert stated == (len(found), tuple(found[:12]))
    assert rb.verify(certificate, rows, labels)


@settings(max_examples=examples(150), deadline=None)
@given(tables())
def test_the_named_columns_separate_and_none_of_them_can_be_left_out(table: tuple[list[list[int]], list[int], bool]) -> None:
    rows, labels, intercept = table
    certificate = rb.certify(rows, labels, fit_intercept=intercept, likelihood=True)
    assert certificate.likelihood is not None
    named = certificate.likelihood.columns

    def separates(columns: list[int]) -> bool:
        rest = [[value if c in columns else 0 for c, value in enumerate(row)] for row in rows]
        return list(truth.face(truth.pairs(rest, labels, intercept)[1])) == whole

    whole = list(truth.face(truth.pairs(rows, labels, intercept)[1]))
    assert separates(named)
    assert not any(separates([other for other in named if other != column]) for column in named)


def test_one_column_is_named_where_one_separates() -> None:
    X, y = load_iris(return_X_y=True)
    assert len(rb.certify(X, y == 0, likelihood=True).likelihood.columns) == 1


def dummy(n: int = 200) -> tuple[Any, Any]:
    """Noisy labels, and a rare column that occurs in one class only: the usual cause of quasi-complete separation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.random(n) < 0.1
    y = np.where(X[:, 2] == 1, 1, rng.random(n) < 0.5).astype(int)
    return X, y


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.float32])
def test_a_rare_column_separates_its_rows(kind: Any) -> None:
    X, y = dummy()
    certificate = rb.certify(kind(X), y, likelihood=True)
    assert certificate.separation == "quasi-complete"
    assert certificate.likelihood.columns == [2]
    assert certificate.likelihood.separated.total == X[:, 2].sum()
    assert certificate.likelihood.on_plane.total == (X[:, 2] == 0).sum()
    assert "quasi-complete separation: column 3 separates" in str(certificate)


def test_one_hot_columns_and_the_intercept_are_collinear() -> None:
    rng = np.random.default_rng(1)
    city = rng.integers(0, 4, 300)
    X = np.column_stack([np.eye(4)[city], rng.normal(size=300)])
    y = rng.integers(0, 2, 300)
    overlap = rb.certify(X, y, likelihood=True)
    assert overlap.separation == "overlap"
    assert len(overlap.likelihood.weights) <= 5  # not 300: the weight of the other rows is 1
    y[city == 3] = 0
    assert rb.certify(X, y, likelihood=True).likelihood.separated.total == (city == 3).sum()


def test_of_three_species_one_is_separated() -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    likelihood = rb.certify(X, y, likelihood=True).likelihood
    assert likelihood.kind == "quasi-complete"
    assert (likelihood.separated.total, likelihood.on_plane.total) == (150, 100)


def test_columns_of_very_different_sizes() -> None:
    X, y = dummy()
    certificate = rb.certify(X * [1e-200, 1e150, 1e10, 1.0], y, likelihood=True)
    assert certificate.separation == "quasi-complete"
    assert certificate.likelihood.columns == [2]


def test_columns_far_from_the_origin() -> None:
    """Times in seconds since 1970, which differ by hours: they are centered, and the proof is about the times as given."""
    X, y = dummy()
    certificate = rb.certify(X * [3600.0, 1.0, 1.0, 1.0] + [1.7e9, 0.0, 0.0, 1e6], y, likelihood=True)
    assert certificate.separation == "quasi-complete"
    assert certificate.likelihood.columns == [2]


def test_without_the_parameter_nothing_is_computed() -> None:
    X, y = dummy()
    certificate = rb.certify(X, y)
    assert certificate.separation is None
    assert certificate.likelihood is None
    assert rb.certify([[0], [1]], [0, 1]).separation == "complete"


def test_a_time_limit_leaves_it_open() -> None:
    X, y = dummy(20_000)
    certificate = rb.certify(X, y, likelihood=True, time_limit=0.05)
    assert certificate.separation in (None, "quasi-complete")
    assert rb.verify(certificate, X, y)


def test_no_maximum_names_the_column_and_carries_the_proof() -> None:
    X, y = dummy()
    found = no_maximum(X, y, names=["age", "income", "rare", "height"])
    assert isinstance(found, rb.NoMaximum)
    assert isinstance(found, ValueError)
    assert "column 'rare' separates" in str(found)
    assert found.columns == [2]
    assert rb.verify(found.certificate, X, y)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert again.certificate == found.certificate
    assert no_maximum(X, y, time_limit=60.0, fit_intercept=False) is not None


def test_rows_that_overlap_have_a_maximum() -> None:
    X, y = dummy()
    assert no_maximum(X[:, :2], y) is None
    assert no_maximum(X[:, :2], np.arange(len(y)) % 3) is None


def test_complete_separation_has_no_maximum() -> None:
    found = no_maximum([[5.0, 0.0], [3.0, 1.0], [4.0, 8.0], [3.5, 9.0]], ["a", "a", "b", "b"])
    assert found is not None
    assert found.certificate.separation == "complete"
    assert found.columns == [1]
    assert found.on_plane.total == 0
