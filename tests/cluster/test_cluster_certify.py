"""Certificates of rows in blocks: those of one machine, for any blocks and engines, accepted by the checker for all rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import rosenblatt as rb
from rosenblatt.array_types import Array, FloatArray
from rosenblatt.cluster import certify as certify_blocks
from rosenblatt.cluster import equal_rows
from rosenblatt.cluster.blocks import BlockError
from rosenblatt.cluster.engine import InProcess
from rosenblatt.data.table import DataError

driver: Any = __import__("sys").modules["rosenblatt.cluster.certify"]


def separable(n: int, d: int, k: int, intercept: bool, seed: int = 0) -> tuple[FloatArray, Array]:
    """Rows with a margin between the classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, k)) + (0.3 * rng.normal(size=k) if intercept else 0.0)
    best = np.sort(scores, axis=1)
    apart = best[:, -1] - best[:, -2] > 0.5
    return X[apart], scores.argmax(axis=1)[apart]


def check_equal(found: Any, X: Any, y: Any, intercept: bool = True) -> None:
    """The verdict and the bounds are those of one machine, and the checker accepts the certificate."""
    known = rb.certify(X, y, fit_intercept=intercept)
    assert found.verdict == known.verdict
    assert rb.verify(found, X, y)
    assert found.about == known.about
    if isinstance(known, rb.Separable):
        assert found.radius_squared == known.radius_squared
        for ours, theirs in ((found.augmented, known.augmented), (found.geometric, known.geometric)):
            assert_allclose([ours.lower, ours.upper], [theirs.lower, theirs.upper], rtol=1e-9)
            assert ours.gap <= max(theirs.gap, 1e-10)


@pytest.fixture
def small_working_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "FIRST_ROWS", 20)
    monkeypatch.setattr(driver, "FIRST_ROWS_PER_COLUMN", 1)
    monkeypatch.setattr(driver, "JOINING_ROWS", 12)


@pytest.mark.usefixtures("small_working_sets")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_verdicts_and_bounds_are_those_of_one_machine(sparse: bool, k: int, intercept: bool) -> None:
    X, y = separable(300, 5, k, intercept)
    noisy = y.copy()
    noisy[::40] = (noisy[::40] + 1) % k
    for labels in (y, noisy):
        rows = sp.csr_array(np.where(abs(X) > 0.3, X, 0.0)) if sparse else X
        for block_rows in (23, 1000):
            found = certify_blocks((rows, labels), fit_intercept=intercept, block_rows=block_rows)
            check_equal(found, rows, labels, intercept)


@pytest.mark.usefixtures("small_working_sets")
def test_threads_do_not_change_a_certificate() -> None:
    X, y = separable(400, 4, 3, True, seed=1)
    one, three = (certify_blocks((X, y), InProcess(n_jobs), block_rows=37) for n_jobs in (1, 3))
    assert one == three


@pytest.mark.usefixtures("small_working_sets")
@pytest.mark.parametrize("k", [2, 3])
def test_one_wrong_row_in_the_last_block_is_found(k: int) -> None:
    X, y = separable(2000, 4, k, True, seed=2)
    assert certify_blocks((X, y), block_rows=100).verdict == "separable"
    y[-1] = (y[-1] + 1) % k
    found = certify_blocks((X, y), block_rows=100)
    assert isinstance(found, rb.Inseparable)
    assert len(y) - 1 in found.rows
    assert rb.verify(found, X, y)


@pytest.mark.usefixtures("small_working_sets")
def test_rows_that_leave_the_working_set_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = separable(3000, 6, 2, True, seed=3)
    monkeypatch.setattr(driver, "MAX_ROWS", 30)
    sizes: list[int] = []
    with rb.progress_callback(lambda progress: sizes.append(int(progress.text.split(": ")[1].split(" ")[0]))):
        found = certify_blocks((X, y), block_rows=500)
    check_equal(found, X, y)
    assert len(sizes) > 2
    assert max(sizes) < 100


def test_iris_and_a_wide_set_have_the_certificates_of_one_machine() -> None:
    X, y = load_iris(return_X_y=True)
    for labels in (y, y == 0, y == 1):
        check_equal(certify_blocks((X, labels), block_rows=40), X, labels)
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(120, 60)), rng.integers(0, 2, 120)
    check_equal(certify_blocks((X, y), block_rows=50), X, y)


@pytest.mark.usefixtures("small_working_sets")
@pytest.mark.parametrize("table_bytes", [1 << 27, 600])
def test_equal_rows_with_different_labels_are_a_clash_of_two(table_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_rows, "MAX_TABLE_BYTES", table_bytes)
    X, y = separable(500, 3, 3, True, seed=5)
    X[-1], y[-1] = X[7], (y[7] + 1) % 3
    found = certify_blocks((X, y), block_rows=40)
    assert isinstance(found, rb.Inseparable)
    assert found.rows == [7, len(X) - 1]
    assert rb.verify(found, X, y)


@pytest.mark.usefixtures("small_working_sets")
def test_a_row_of_zeros_is_a_clash_without_an_intercept() -> None:
    X, y = separable(500, 3, 2, False, seed=6)
    X[-20] = -0.0
    found = certify_blocks((X, y), fit_intercept=False, block_rows=40)
    assert isinstance(found, rb.Inseparable)
    assert found.rows == [len(X) - 20]
    assert rb.verify(found, X, y)


@pytest.mark.usefixtures("small_working_sets")
def test_a_class_of_one_block_is_in_the_working_set() -> None:
    X, y = separable(600, 3, 2, True, seed=7)
    X, y = np.vstack([X, [[30.0, 30.0, 30.0]]]), np.append(y, 2)
    check_equal(certify_blocks((X, y), block_rows=5), X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
def test_labels_and_numbers_of_any_type_have_the_digest_of_one_machine(dtype: type) -> None:
    X, y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]]).astype(dtype), np.array(["b", "ä", "b", "ä"])
    for labels in (y, y.astype(object), np.array([1.0, 2.0, 1.0, 2.0])):
        check_equal(certify_blocks([(X[:3], labels[:3]), (X[3:3], labels[3:3]), (X[3:], labels[3:])]), X, labels)


def test_unsorted_and_repeated_columns_are_read_as_their_sum() -> None:
    X = sp.csr_array((np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 1, 1]), np.array([0, 2, 4, 4])), shape=(3, 2))
    y = [0, 1, 1]
    check_equal(certify_blocks([(X[:2], y[:2]), (X[2:], y[2:])]), X, y)


def test_without_time_the_certificate_states_upper_bounds() -> None:
    X, y = separable(3000, 30, 2, True, seed=8)
    started = time.monotonic()
    found = certify_blocks((X, y), time_limit=1e-3, block_rows=500)
    assert isinstance(found, rb.Undecided)
    assert rb.verify(found, X, y)
    assert time.monotonic() - started < 20.0


def test_columns_of_files_are_encoded_but_not_scaled(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 0] > 5.5, "long", "short"), label=y)
    paths = [tmp_path / f"part{number}.csv" for number in (1, 2)]
    table[:70].to_csv(paths[0], index=False)
    table[70:].to_csv(paths[1], index=False)
    found = certify_blocks(rb.cluster.read([str(path) for path in paths], label="label", block_bytes=700))
    encoded = np.column_stack([X, np.where(X[:, 0] > 5.5, 1.0, 0.0), np.where(X[:, 0] > 5.5, 0.0, 1.0)])
    check_equal(found, encoded, y)
    with pytest.raises(ValueError, match="scale='max' rounds numbers"):
        certify_blocks(rb.cluster.read(str(paths[0]), scale="max"))


def test_integers_of_files_that_floats_do_not_hold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("a,b,label\n1,2,x\n3,4,y\n9007199254740993,2,x\n5,6,y\n")
    with pytest.raises(DataError, match="column 'a' has integers that floats may not hold, such as 9007199254740993"):
        certify_blocks(rb.cluster.read(str(path), label="label"))


def test_what_cannot_be_proved_about_is_refused() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    with pytest.raises(BlockError, match="block 1 has weights"):
        certify_blocks((X, y, np.ones(4)))
    with pytest.raises(BlockError, match=r"block 2: X has numbers that float64 cannot hold exactly.*in row 1, column 1"):
        certify_blocks((np.array([[0], [1], [2**53 + 1], [3]]), y), block_rows=2)
    with pytest.raises(ValueError, match="certify needs at least two classes"):
        certify_blocks((X, np.zeros(4)))
    with pytest.raises(BlockError, match=r"block 2, row 2.*NaN"):
        certify_blocks((np.array([[0.0], [1.0], [2.0], [np.nan]]), y), block_rows=2)
    with pytest.raises(ValueError, match="two labels of y are equal as text"):
        certify_blocks((X, np.array(["1", "1", "1.0", "2"])))
    with pytest.raises(ValueError, match="continuous"):
        certify_blocks((X, np.array([0.5, 0.2, 1.0, 2.0])))
    with pytest.raises(ValueError, match="time_limit"):
        certify_blocks((X, y), time_limit=0.0)
