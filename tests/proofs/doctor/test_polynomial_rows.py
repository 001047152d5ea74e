"""Features of degree 2 and 3: results marked exact hold in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod

import numpy as np
import pytest
import scipy.sparse as sp
from checked_diagnoses import checked, only
from sklearn.datasets import make_circles

import rosenblatt as rb
from rosenblatt.certificates.statements import Margin
from rosenblatt.proofs.doctor.column_statistics import columns_of
from rosenblatt.proofs.doctor.polynomial_rows import expand, holds_unrounded


def test_rings_want_degree_2_and_stripes_degree_3() -> None:
    X, y = make_circles(120, noise=0.02, factor=0.5, random_state=0)
    assert [f.evidence["verdict"] for f in checked(X, y).of("degree")] == ["separable"]
    x = np.arange(16.0)
    stripes = checked(x[:, None], (x // 4 % 2).astype(int))
    assert [(f.evidence["degree"], f.evidence["verdict"]) for f in stripes.of("degree")] == [
        (2, "inseparable"),
        (3, "separable"),
    ]
    assert all(f.evidence["exact"] for f in stripes.of("degree"))
    assert "Features of degree 2 (2 instead of 1 column) do not separate the rows (proved)." in stripes.findings[-3].sentence
    assert set(stripes.of("degree")[0].evidence["clash"]) <= set(range(16))


def test_products_are_those_of_fractions_and_far_columns_are_moved_exactly() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(-99, 99, 30) / 8, rng.integers(0, 9, 30), 2**20 + rng.integers(0, 64, 30) / 4])
    for rows in (X, X.astype(np.float32), sp.csr_array(X[:, :2])):
        wide = expand(rows, columns_of(rows), 3, True)
        assert wide.exact
        Z = wide.X if isinstance(rows, np.ndarray) else wide.X.toarray()
        d = rows.shape[1]
        exact = [
            [
                (Fraction(v) - Fraction(s)) / Fraction(2) ** int(e)
                for v, s, e in zip(r, wide.shifts, wide.exponents, strict=False)
            ]
            for r in X[:, :d].tolist()
        ]
        assert [[Fraction(v) for v in row[:d]] for row in Z.tolist()] == exact
        cubes = [row[0] ** 3 for row in exact]
        plain = np.ldexp(Z, wide.product_exponents)
        assert sum([Fraction(v) for v in plain[:, c].tolist()] == cubes for c in range(Z.shape[1])) == 1
        assert ((abs(Z).max(axis=0) <= 1) & (abs(Z).max(axis=0) > 0.5)).all()
    assert wide.X.shape == (30, 9)
    assert not expand(X + 0.1, columns_of(X + 0.1), 2, True).exact


@pytest.mark.parametrize(("rows", "columns", "offset"), [(40, 2, 0.0), (24, 3, 0.0), (40, 2, 1000.0)])
def test_a_polynomial_called_exact_has_every_row_on_its_side_in_fractions(rows: int, columns: int, offset: float) -> None:
    rng = np.random.default_rng(rows + columns)
    X = rng.normal(size=(rows, columns)) + offset
    y = ((X - offset) ** 2).sum(axis=1) > columns
    found = checked(X, y)
    degree = only(found, "degree").evidence
    assert degree["exact"]
    (plane,) = degree["certificate"].geometric.planes
    terms = [c for k in range(1, degree["degree"] + 1) for c in combinations_with_replacement(range(columns), k)]
    assert len(terms) == degree["columns"]
    units = [Fraction(2) ** -e for e in degree["exponents"]]
    for row, positive in zip(X.tolist(), y.tolist(), strict=True):
        z = [(Fraction(v) - Fraction(s)) * u for v, s, u in zip(row, degree["shifts"], units, strict=True)]
        products = [prod(z[c] for c in term) for term in terms]
        values = [v * Fraction(2) ** -e for v, e in zip(products, degree["product_exponents"], strict=True)]
        score = sum(weight * values[at] for at, weight in plane.weights.items()) + plane.intercept
        assert (score > 0) == positive


def test_a_margin_below_the_rounding_of_products_is_not_called_exact() -> None:
    Z = np.array([[1.0, 1.0], [1.0, -1.0]])
    plane = rb.certify(Z, [1, 0]).geometric.planes[0]  # type: ignore[union-attr]
    for lower, expected in ((1e-12, True), (1e-17, False)):
        margin = Margin(Fraction(1), (), Fraction(lower) ** 2, (plane,))
        assert holds_unrounded(Z, margin, 2) == holds_unrounded(sp.csr_array(Z), margin, 2) == expected


def test_what_is_too_large_is_not_tried_and_the_reason_is_reported() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((40, 300), density=0.02, rng=rng, format="csr")
    X = sp.vstack([X[:20], X[:20] * 2.0, X[:20] * 3.0], format="csr")
    found = checked(X, np.repeat([0, 1, 0], 20), time_limit=2.0)
    degree = only(found, "degree")
    assert degree.evidence["verdict"] is None
    assert "not tried: they have 45,450 columns, and the limit is 5,000" in degree.sentence
