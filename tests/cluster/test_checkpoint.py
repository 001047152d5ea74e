"""Checkpoints: values come back as they were, damaged ends are dropped, and a fit goes on to the same bits from any record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_data import digest, noisy_rows
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rosenblatt as rb
from rosenblatt.cluster.checkpoint import CheckpointError, decode, encode, open_journal
from rosenblatt.cluster.engine import Handle, InProcess
from rosenblatt.svm.problem import Solution


class DyingEngine(InProcess):
    """An engine whose process dies after some results: the next one is an error."""

    def __init__(self, results: int) -> None:
        super().__init__()
        self.left = results

    def gather(self, handles: Any) -> list[Any]:
        if not self.left:
            raise ConnectionError("the scheduler is gone")
        self.left -= 1
        return super().gather(handles)


class CountingEngine(InProcess):
    """An engine that counts its tasks."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks = 0

    def submit(self, function: Any, *arguments: Any) -> Handle:
        self.tasks += 1
        return super().submit(function, *arguments)


arrays = hnp.arrays(st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.bool_, np.dtype("U3")]), hnp.array_shapes())
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or a != a)


@given(values)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert same(decode(encode(value)), value)


def test_records_of_this_package_come_back() -> None:
    solution = Solution(np.ones(2), 0.5, np.zeros(0), 2.0, 1.5, np.zeros(0), np.ones(3))
    found = decode(encode(solution))
    assert isinstance(found, Solution)
    assert (found.primal, found.dual, found.w.tolist()) == (2.0, 1.5, [1.0, 1.0])


def test_a_checkpoint_names_no_classes_of_other_packages() -> None:
    record = encode(Solution(np.ones(1), 0.0, np.zeros(0), 1.0, 1.0, np.zeros(0), np.zeros(0)))
    forged = record.replace(b"rosenblatt.svm.problem:Solution", b"os:popen")
    with pytest.raises(CheckpointError, match="names a class of os"):
        decode(forged)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_fit_goes_on_to_the_same_bits_after_every_result(loss: Any, tmp_path: Path) -> None:
    X, y = noisy_rows(300, 4)
    path = tmp_path / "fit.checkpoint"

    def fit(engine: InProcess) -> rb.SoftMargin:
        model = rb.SoftMargin(loss=loss, random_state=0)
        return rb.cluster.fit(model, (X, y), engine, block_rows=50, checkpoint=path)

    whole = CountingEngine()
    expected = digest(fit(whole))
    assert not path.exists()
    results, deaths = 1, 0
    while True:
        try:
            assert digest(fit(DyingEngine(results))) == expected
            break
        except ConnectionError:  # each time, one result more is in the checkpoint
            deaths += 1
    assert deaths > 5
    assert not path.exists()


def test_results_in_the_checkpoint_are_not_computed_again(tmp_path: Path) -> None:
    X, y = noisy_rows(300, 4)
    path = tmp_path / "fit.checkpoint"
    model = rb.SoftMargin(loss="logistic", random_state=0)
    whole, rest = CountingEngine(), CountingEngine()
    rb.cluster.fit(model, (X, y), whole, block_rows=50)
    with pytest.raises(ConnectionError):
        rb.cluster.fit(model, (X, y), DyingEngine(6), block_rows=50, checkpoint=path)
    rb.cluster.fit(model, (X, y), rest, block_rows=50, checkpoint=path)
    assert rest.tasks < whole.tasks


@pytest.mark.parametrize("lost", [1, 10, 200])
def test_a_record_that_was_cut_off_is_computed_again(lost: int, tmp_path: Path) -> None:
    X, y = noisy_rows(300, 4)
    path = tmp_path / "fit.checkpoint"
    model = rb.SoftMargin(loss="logistic", random_state=0)
    expected = digest(rb.cluster.fit(model, (X, y), block_rows=50))
    with pytest.raises(ConnectionError):
        rb.cluster.fit(model, (X, y), DyingEngine(5), block_rows=50, checkpoint=path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - lost])
    assert digest(rb.cluster.fit(model, (X, y), block_rows=50, checkpoint=path)) == expected


def test_a_seed_that_is_not_fixed_is_kept_in_the_checkpoint(tmp_path: Path) -> None:
    X, y = noisy_rows(5000, 4)
    path = tmp_path / "fit.checkpoint"
    model = rb.SoftMargin(loss="logistic", tol=1e-2)
    with pytest.raises(ConnectionError):
        rb.cluster.fit(model, (X, y), DyingEngine(3), block_rows=1000, checkpoint=path)
    rb.cluster.fit(model, (X, y), block_rows=1000, checkpoint=path)
    assert model.random_state is None


def test_the_checkpoint_of_another_fit_is_refused_and_stays(tmp_path: Path) -> None:
    X, y = noisy_rows(300, 4)
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(ConnectionError):
        rb.cluster.fit(rb.SoftMargin(loss="logistic", random_state=0), (X, y), DyingEngine(4), block_rows=50, checkpoint=path)
    before = path.read_bytes()
    for model, rows, what in (
        (rb.SoftMargin(loss="logistic", C=2.0, random_state=0), 50, "parameters"),
        (rb.SoftMargin(loss="logistic", random_state=1), 50, "seed"),
        (rb.SoftMargin(loss="logistic", random_state=0), 60, "blocks"),
    ):
        with pytest.raises(CheckpointError, match=f"is of another fit \\({what}"):
            rb.cluster.fit(model, (X, y), block_rows=rows, checkpoint=path)
    assert path.read_bytes() == before


def test_other_files_and_places_are_refused(tmp_path: Path) -> None:
    X, y = noisy_rows(300, 4)
    text = tmp_path / "notes.txt"
    text.write_text("not a checkpoint at all")
    model = rb.SoftMargin(random_state=0)
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        rb.cluster.fit(model, (X, y), checkpoint=text)
    assert text.read_text() == "not a checkpoint at all"
    with pytest.raises(CheckpointError, match="cannot be written: No such file"):
        rb.cluster.fit(model, (X, y), checkpoint=tmp_path / "missing" / "fit")
    with (
        open_journal(tmp_path / "used", lambda found: {}),
        pytest.raises(CheckpointError, match="another process uses"),
        open_journal(tmp_path / "used", lambda found: {}),
    ):
        pass
