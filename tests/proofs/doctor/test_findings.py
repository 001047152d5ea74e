"""Scales, long rows and small classes: the numbers of each sentence are those of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from checked_diagnoses import XOR, checked, only

import rosenblatt as rb
from rosenblatt.proofs.doctor.column_findings import equal_columns
from rosenblatt.proofs.doctor.column_statistics import columns_of
from rosenblatt.proofs.doctor.findings import AdviceForm, update_count
from rosenblatt.reporting.text import plural, short

# --- scales --------------------------------------------------------------------------------------------------------------


def wide_scales() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (80, 2))
    X = X[abs(X.sum(axis=1)) > 0.2]
    return X * [1.0, 1e6], (X.sum(axis=1) > 0).astype(int)


def test_scales_and_the_bound_before_and_after() -> None:
    X, y = wide_scales()
    found = checked(X, y, feature_names=["age", "income"])
    scales, scaling = only(found, "scales"), only(found, "scaling")
    ranges = np.ptp(X, axis=0)
    assert scales.evidence["ratio"] == ranges[1] / ranges[0]
    assert (scales.evidence["largest"], scales.evidence["smallest"]) == (1, 0)
    assert f"factor of {short(ranges[1] / ranges[0])}: column 'income' ranges from {short(X[:, 1].min())}" in scales.sentence
    assert "column 'age' from" in scales.sentence
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    before, after = rb.certify(X, y), rb.certify(Z, y)
    assert isinstance(before, rb.Separable)
    assert isinstance(after, rb.Separable)
    assert scaling.evidence["before"] == before.mistake_bound.upper
    assert scaling.evidence["after"] == pytest.approx(after.mistake_bound.upper, rel=1e-6)
    assert f"{update_count(scaling.evidence['before'])} to {update_count(scaling.evidence['after'])}" in scaling.sentence
    assert scaling.evidence["after"] < scaling.evidence["before"] / 1e6
    assert found.findings[-1].sentence.startswith("Try: make_pipeline(StandardScaler(), Perceptron(max_iter=None)), which")


def test_sparse_columns_are_scaled_without_moving_them() -> None:
    X, y = wide_scales()
    scaling = only(checked(sp.csr_array(X), y), "scaling")
    after = rb.certify(X / abs(X).max(axis=0), y)
    assert isinstance(after, rb.Separable)
    assert scaling.evidence["after"] == pytest.approx(after.mistake_bound.upper, rel=1e-6)
    assert not scaling.evidence["centered"]


def test_columns_without_names_are_counted_from_0() -> None:
    X, y = wide_scales()
    scales = only(checked(X, y), "scales")
    assert scales.evidence["names"] == ["column 1", "column 0"]
    assert ": column 1 ranges from " in scales.sentence
    assert ", column 0 from " in scales.sentence


def test_columns_far_from_zero_and_constant_ones() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(1990, 2020, 60), rng.normal(size=60), np.full(60, 4.0)])
    pandas = pytest.importorskip("pandas")
    found = checked(pandas.DataFrame(X, columns=["year", "z", "four"]), (X[:, 0] > 2005).astype(int))
    offset, constant = only(found, "offset"), only(found, "constant")
    low, high = X[:, 0].min(), X[:, 0].max()
    assert offset.evidence["times"] == pytest.approx((low + high) / 2 / (high - low))
    assert offset.sentence.startswith(
        f"Column 'year' ranges from {short(low)} to {short(high)}: "
        f"its distance from zero is {short(offset.evidence['times'])} times"
    )
    assert constant.sentence.startswith("Column 'four' has the same value in every row")
    assert constant.evidence == {"columns": [2], "values": [4.0]}


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300])
def test_columns_and_rows_of_any_size_are_measured(size: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.6)
    for rows in (X * size, sp.csr_array(X * size)):
        columns = columns_of(rows)
        assert np.allclose(np.ldexp(columns.means, columns.exponents), X.mean(axis=0) * size, rtol=1e-9, atol=0)
        assert np.allclose(np.ldexp(columns.deviations, columns.exponents), X.std(axis=0) * size, rtol=1e-9, atol=0)
        assert (columns.minimum == (X * size).min(axis=0)).all()
        assert (columns.maximum == (X * size).max(axis=0)).all()


def test_a_long_row_sets_the_radius() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2))
    X += np.sign(X[:, :1]) * [[1.0, 0.0]]
    X[17] = [300.0, 4000.0]
    found = checked(X, (X[:, 0] > 0).astype(int))
    long = only(found, "long_rows")
    lengths = np.sqrt(1 + (X**2).sum(axis=1))
    assert long.evidence["rows"] == [17]
    assert long.evidence["longest"] == pytest.approx(lengths[17])
    assert long.evidence["median"] == pytest.approx(np.median(lengths))
    rest = rb.certify(np.delete(X, 17, axis=0), np.delete(X[:, 0] > 0, 17).astype(int))
    assert isinstance(rest, rb.Separable)
    assert rest.mistake_bound.lower <= long.evidence["bound_without"] < long.evidence["bound"]
    for name in ("longest", "median", "longest_of_the_others", "bound", "bound_without"):
        assert short(long.evidence[name]) in long.sentence
    X[3, 0] *= -1
    assert "outweighs" in only(checked(X, (rng.random(150) < 0.5).astype(int)), "long_rows").sentence


# --- classes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("few", "words"), [(1, "a single row"), (3, "does not depend on the number of rows"), (30, "")])
def test_small_classes_are_reported_where_they_matter(few: int, words: str) -> None:
    X = np.random.default_rng(0).uniform(0, 1, (100, 1))
    X[:few] += 2
    found = checked(X, np.where(np.arange(100) < few, "rare", "common"))
    if not words:
        assert not found.of("imbalance")
        return
    small = only(found, "imbalance")
    assert small.evidence == {"class": "rare", "rows": few, "of": 100, "most_frequent": "common", "others": few}
    assert small.sentence.startswith(f"Class 'rare' has only {plural(few, 'row')} of 100; always predicting 'common'")
    assert f"misclassifies only {few}," in small.sentence
    assert words in small.sentence


def test_many_values_are_not_copied_and_that_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.proofs.doctor.doctor.MAX_VALUES", 7)
    scaling = only(checked(*wide_scales()), "scaling")
    assert "X has more than 7 values" in scaling.sentence
    assert scaling.evidence["after"] is None
    found = checked(*XOR)
    assert "were not computed: X has more than 5,000 columns or 7 values" in only(found, "errors").sentence
    found = checked(np.vstack([XOR[0], XOR[0]]), [0, 0, 0, 0, 0, 1, 1, 1])
    assert not found.of("without_duplicates") + found.of("degree")


def test_of_many_duplicates_the_first_are_named_and_a_rare_class_is_weighted() -> None:
    X = np.repeat(np.arange(50.0), 2)[:, None]
    y = np.zeros(100, int)
    y[[1, 3, 21, 23, 99]] = 1
    found = checked(X, y, time_limit=2.0)
    assert "in 5 groups: rows 1 and 2; rows 3 and 4; rows 21 and 22; 2 more." in only(found, "duplicates").sentence
    assert only(found, "without_duplicates").evidence["left_out"] == [1, 3, 21, 23, 98]  # the rare class has one of its ties
    assert "class_weight='balanced'" in only(found, "imbalance").sentence


def test_a_range_is_written_with_the_digits_that_show_it():
    text = " ".join(str(rb.doctor([[1.0], [1.001]], [0, 1])).split())
    assert "Column 0 ranges from 1 to 1.001" in text
    assert "1 column separates 2 rows for most labelings" in text


def test_all_classes_with_fewest_rows_are_named() -> None:
    rng = np.random.default_rng(0)
    found = only(checked(rng.normal(size=(60, 2)), ["b", "c", *["a"] * 58], time_limit=2.0), "imbalance")
    assert found.sentence.startswith("Classes 'b' and 'c' have only 1 row each of 60; always predicting 'a' misclassifies")
    assert found.sentence.endswith("Everything learned about each of these classes depends on a single row.")
    assert found.evidence["classes"] == ["b", "c"]


def test_columns_that_differ_in_the_last_cell_alone_are_not_equal() -> None:
    x = np.random.default_rng(0).normal(size=300)
    last = np.append(x[:-1], 0.5)
    columns = {"a": x, "b": last, "c": x + 1.0, "d": last, "e": np.array(list(map(str, x)), object)}
    (found,) = equal_columns(columns, AdviceForm())
    assert found.evidence == {"columns": ["b", "d"]}


def test_equal_columns_and_spellings_are_findings_in_python_too() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    found = checked(np.column_stack([x, rng.normal(size=40), x]), np.array(["Yes", "no", "yes", "no"] * 10), time_limit=2.0)
    assert only(found, "equal_columns").sentence == (
        "Columns 0 and 2 are equal, and one of them is enough: exclude the other (np.delete(X, 2, axis=1))."
    )
    assert only(found, "spellings").evidence["spellings"] == [["Yes", "yes"]]
