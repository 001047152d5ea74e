"""Rows that change while a certificate is checked, as those of a mapped file may: what is checked has the stated digest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.certificates import verify as checker

Change = Callable[[Any], None]


def _container(kind: str, rows: Any, folder: Path) -> tuple[Any, Change]:
    """The rows, and a function that replaces their values in place."""
    if kind == "csr":
        matrix = sp.csr_array(rows)
        return matrix, lambda values: np.copyto(matrix.data, values.ravel())
    if kind == "array":
        array = rows.copy()
        return array, lambda values: np.copyto(array, values)
    rows.tofile(folder / "rows")
    mapped = np.memmap(folder / "rows", rows.dtype, "r", shape=rows.shape)
    return mapped, lambda values: values.tofile(folder / "rows")  # the same file, written anew


def _change_before(name: str, monkeypatch: Any, change: Callable[[], None]) -> None:
    """Change the rows just before a part of the check."""
    check = getattr(checker, name)

    def changed(*arguments: Any) -> Any:
        change()
        return check(*arguments)

    monkeypatch.setattr(checker, name, changed)


@pytest.mark.parametrize("kind", ["array", "csr", "mapped file"])
def test_the_rows_of_a_clash_are_those_of_the_digest(kind: str, tmp_path: Path, monkeypatch: Any) -> None:
    apart, between, y = np.array([[4.0], [9.0], [6.0]]), np.array([[4.0], [5.0], [6.0]]), [0, 1, 0]
    forged = replace(rb.certify(between, y), about=rb.certify(apart, y).about)
    X, change = _container(kind, apart, tmp_path)
    _change_before("_check_clash", monkeypatch, lambda: change(between))
    check = rb.verify(forged, X, y)
    assert check.code is checker.CheckCode.FALSE_STATEMENT
    assert np.array_equal(X.toarray() if kind == "csr" else X, between)


@pytest.mark.parametrize("kind", ["array", "csr", "mapped file"])
def test_the_rows_that_planes_classify_are_those_of_the_digest(kind: str, tmp_path: Path, monkeypatch: Any) -> None:
    """The first row takes part in no pair, and is misclassified before the change."""
    wrong, right, y = np.array([[20.0], [5.0], [9.0], [10.0]]), np.array([[4.0], [5.0], [9.0], [10.0]]), [0, 0, 1, 1]
    forged = replace(rb.certify(right, y), about=rb.certify(wrong, y).about)
    assert all(pair.row for pair in (*forged.augmented.pairs, *forged.geometric.pairs))
    assert not rb.verify(forged, wrong, y)
    X, change = _container(kind, wrong, tmp_path)
    _change_before("_check_planes", monkeypatch, lambda: change(right))
    with pytest.raises(ValueError, match="X changed while it was read"):
        rb.verify(forged, X, y)


def test_whole_numbers_that_change_after_they_were_found_exact_are_refused(monkeypatch: Any) -> None:
    """Neither the rows before the change nor those after it are the same point; rounded ones would be."""
    X, y = np.array([[2**53], [2**53 + 2]]), [0, 1]
    same_point = rb.certify(np.full((2, 1), 2.0**53), y)
    for rows in (X.copy(), sp.csr_array(X)):
        with monkeypatch.context() as patch:
            values = rows if isinstance(rows, np.ndarray) else rows.data
            _change_before("_matching_data", patch, lambda values=values: np.copyto(values.reshape(-1), [2**53, 2**53 + 1]))
            with pytest.raises(ValueError, match="cannot hold exactly"):
                rb.verify(same_point, rows, y)


@pytest.mark.parametrize("change", [("indices", [0, 0, 0]), ("indices", [0, 1, 9]), ("data", [0, 1, 1]), ("indptr", [0, 3, 2])])
def test_a_sparse_matrix_that_changes_its_form_is_refused(change: tuple[str, list[int]], monkeypatch: Any) -> None:
    """A column that occurs twice would be read as two values, whose squares are not that of their sum."""
    X, y = sp.csr_array([[3.0, 1.0], [0.0, 9.0]]), [0, 1]
    certificate = rb.certify(X, y)
    name, values = change
    _change_before("_matching_data", monkeypatch, lambda: np.copyto(getattr(X, name), values))
    with pytest.raises(ValueError, match="X changed while it was read"):
        rb.verify(certificate, X, y)


def test_rows_are_kept_from_every_block(monkeypatch: Any) -> None:
    """The digest reads blocks of rows; here one row each."""
    monkeypatch.setattr("rosenblatt.certificates.data.VALUES_PER_BLOCK", 1)
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(30, 3)), 2)
    for y in ((X @ [1.0, -1.0, 2.0] > 0).astype(int), rng.integers(0, 3, 30)):
        certificate = rb.certify(X, y)
        assert rb.verify(certificate, X, y)
        assert rb.verify(certificate, sp.csr_array(X), y)
