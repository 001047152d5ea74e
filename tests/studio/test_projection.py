"""Rows of any width as points of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from notebooks import X, Y

from rosenblatt.studio.projection import to_plane
from rosenblatt.studio.run_request import RequestError

# --- rows as points ----------------------------------------------------------------------------------------------------------


def test_columns_have_names_where_the_rows_have() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.column_stack([X, X[:, 0] ** 2]), columns=["wide", "long", "high"])
    found = to_plane(frame, Y, columns=("high", "wide"))
    assert found.points.tolist() == frame[["high", "wide"]].to_numpy().tolist()
    assert found.note == "Shown here: the columns high and wide of 3."
    with pytest.raises(RequestError, match="no column 'deep'; its columns: wide, long, high"):
        to_plane(frame, Y, columns=("high", "deep"))


def test_of_many_rows_some_of_each_class_are_drawn() -> None:
    many = np.random.default_rng(1).normal(size=(6000, 2))
    labels = np.repeat([0, 1], [5900, 100])
    found = to_plane(many, labels)
    assert len(found.points) <= 2000
    assert 20 <= (found.codes == 1).sum() <= 40
    assert "of 6,000 rows" in (found.note or "")


def test_components_are_those_of_the_covariance() -> None:
    wide = np.random.default_rng(2).normal(size=(50, 5)) @ np.random.default_rng(3).normal(size=(5, 5))
    Z = (wide - wide.mean(axis=0)) / wide.std(axis=0)
    values, vectors = np.linalg.eigh(np.cov(Z.T))
    found = to_plane(wide, np.arange(50) % 2)
    for axis in (0, 1):
        along = Z @ vectors[:, -1 - axis]
        assert abs(found.points[:, axis]) == pytest.approx(abs(along))
    assert f"{100.0 * values[-2:].sum() / values.sum():.0f} % of their variance" in (found.note or "")
    assert to_plane(sp.csr_array(wide), np.arange(50) % 2).points == pytest.approx(found.points)


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        (X, np.zeros(40), "y has 1"),
        (X, np.arange(40) % 7, "y has 7"),
        (X[:, :1], Y, "two columns or more"),
        (X[:3], Y, "inconsistent"),
    ],
)
def test_rows_that_cannot_be_shown_are_refused(rows: Any, labels: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        to_plane(rows, labels)
