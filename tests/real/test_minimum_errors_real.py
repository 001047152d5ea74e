"""The least number of errors on real rows: what is known, found again; what can be proved, proved."""

from __future__ import annotations

import time

import numpy as np
import pytest

import rosenblatt as rb
from datasets import data_file, libsvm
from effort import in_time


@pytest.mark.slow
def test_fourclass_is_proved_by_all_lines() -> None:
    X, y = libsvm("fourclass")
    found = rb.minimum_errors(X, y)
    assert (found.errors, found.lower, found.optimal) == (178, 178, True)
    assert found.how == "all 371,091 lines through pairs of 862 points were tried"
    assert in_time(found.seconds, 20)
    assert ((X @ found.coef + found.intercept > 0) != (y == 1)).sum() == 178


@pytest.mark.slow
def test_two_columns_of_banknote_are_proved() -> None:
    data = np.loadtxt(data_file("uci/banknote_authentication.csv"), delimiter=",")
    found = rb.minimum_errors(data[:, :2], data[:, 4].astype(int))
    assert (found.errors, found.optimal) == (154, True)
    assert in_time(found.seconds, 20)


@pytest.mark.thorough  # how good a plane is found depends on how fast the machine is
def test_heart_has_a_plane_with_25_errors_at_most() -> None:
    X, y = libsvm("heart_scale")
    begun = time.perf_counter()
    found = rb.minimum_errors(X, y, time_limit=8)
    assert in_time(time.perf_counter() - begun, 9.5)
    assert found.errors <= 25
    assert 5 <= found.lower <= 24
    assert len({i for clash in found.clashes for i in clash}) <= len(y)


def test_equal_texts_of_both_groups_are_all_errors_that_news20_needs() -> None:
    X, y = libsvm("news20.bz2")
    some = np.isin(y, [1, 2])
    X, y = X[some], y[some]
    found = rb.minimum_errors(X, y, time_limit=20)
    assert (found.errors, found.lower, found.exact) == (8, 8, True)
    assert ((X @ found.coef + found.intercept > 0) != (y == 2)).sum() == 8
    assert all((X[[i]] != X[[j]]).nnz == 0 and y[i] != y[j] for i, j in found.clashes)
