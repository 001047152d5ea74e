"""Counts of equal rows agree with a comparison row by row, and shares of a sample are near."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.training import row_copies
from rosenblatt.training.row_copies import RowSample


def rows(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (n, 4)).astype(float), rng.integers(0, 3, n)


def counted(X: Any, codes: Any) -> RowSample:
    sample = RowSample()
    for start in range(0, len(codes), 37):  # in chunks
        sample.add(X[start : start + 37], codes[start : start + 37])
    return sample


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_counts_are_those_of_a_comparison_row_by_row(layout: Any) -> None:
    (X, codes), (Z, others) = rows(200, 0), rows(90, 1)
    train, test = counted(layout(X), codes), counted(layout(Z), others)
    known = Counter(map(tuple, X.tolist()))
    assert train.copies_in(test) == (sum(tuple(row) in known for row in Z.tolist()), 90)
    assert train.copies() == (sum(known[tuple(row)] > 1 for row in X.tolist()), 200)
    labels = defaultdict(Counter)
    for row, code in zip(X.tolist(), codes.tolist(), strict=True):
        labels[tuple(row)][code] += 1
    assert train.conflicts() == (sum(n.total() - max(n.values()) for n in labels.values()), 200)
    assert train.varies
    assert not counted(np.ones((5, 2)), np.arange(5) % 2).varies


def test_shares_of_a_sample_are_near_those_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(20_000, 3)), rng.integers(0, 2, 20_000)
    Z = np.concatenate([X[:6000], rng.normal(size=(4000, 3))])
    twice, labels = np.concatenate([X, X[:10_000]]), np.concatenate([codes, 1 - codes[:10_000]])
    monkeypatch.setattr(row_copies, "MAX_ROWS_KEPT", 2_000)
    train, test = counted(twice, labels), counted(Z, np.zeros(10_000, int))
    copied, examined = train.copies_in(test)
    assert (train.rows, test.rows) == (30_000, 10_000)
    assert 300 < examined <= 2_000
    assert copied / examined == pytest.approx(0.6, abs=0.08)
    equal, among = train.copies()
    assert equal / among == pytest.approx(2 / 3, abs=0.08)
    conflicts, among = train.conflicts()
    assert conflicts / among == pytest.approx(1 / 3, abs=0.08)
