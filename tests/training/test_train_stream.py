"""Streamed training: the model, the errors and the hold-out of training in memory, and caches that are used again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_files import noisy_rows, write_csv, write_svmlight

from rosenblatt.data.table import DataError
from rosenblatt.training import stream as stream_module
from rosenblatt.training.request import Request
from rosenblatt.training.stream import FILE_ORDER_NOTE, train_stream
from rosenblatt.training.train import train

CYCLIC = {"order": "cyclic"}


@pytest.fixture(autouse=True)
def _several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "CHUNK_BYTES", 1500)


def write(path: Path, kind: str, k: int) -> str:
    X, y = noisy_rows(200, k)
    if kind == "csv":
        return write_csv(path / "rows.csv", X, y)
    X[abs(X) < 0.3] = 0.0
    return write_svmlight(path / "rows.svm", X, np.unique(y, return_inverse=True)[1])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["csv", "svmlight"])
@pytest.mark.parametrize("algorithm", ["average", "pa-1", "batch", "arow", "linear-mse"])
def test_streamed_and_in_memory_give_the_same_outcome(tmp_path: Path, algorithm: str, kind: str, k: int) -> None:
    path = write(tmp_path, kind, k)
    request = Request(path, algorithm=algorithm, parameters={} if algorithm == "linear-mse" else CYCLIC, seed=3, certify=False)
    memory, streamed = train(request), train_stream(request, beside=str(tmp_path / "model"))
    np.testing.assert_array_equal(memory.estimator.coef_, streamed.estimator.coef_)
    np.testing.assert_array_equal(memory.estimator.intercept_, streamed.estimator.intercept_)
    np.testing.assert_array_equal(memory.classes, streamed.classes)
    np.testing.assert_array_equal(memory.train.counts, streamed.train.counts)
    assert memory.test is not None
    assert streamed.test is not None
    np.testing.assert_array_equal(memory.test.counts, streamed.test.counts)
    assert (memory.rows, memory.notes, memory.history) == (streamed.rows, streamed.notes, streamed.history)
    assert memory.provenance == streamed.provenance
    assert [entry.name for entry in tmp_path.iterdir()] == [Path(path).name], "the cache is gone"


@pytest.mark.parametrize("more", [{"holdout": 0.0}, {"degree": 2}, {"scale": "standard"}])
def test_the_request_is_followed(tmp_path: Path, more: dict[str, Any]) -> None:
    request = Request(write(tmp_path, "csv", 2), parameters=CYCLIC, certify=False, **more)
    memory, streamed = train(request), train_stream(request, beside=str(tmp_path / "model"))
    np.testing.assert_array_equal(memory.estimator.coef_, streamed.estimator.coef_)
    assert (memory.test is None) == (streamed.test is None) == ("holdout" in more)


def test_a_test_file_is_streamed_too(tmp_path: Path) -> None:
    path = write(tmp_path, "csv", 2)
    other = write_csv(tmp_path / "other.csv", *noisy_rows(70, 2, seed=8))
    request = Request(path, test=other, parameters=CYCLIC, certify=False)
    memory, streamed = train(request), train_stream(request, beside=str(tmp_path / "model"))
    assert memory.test is not None
    assert streamed.test is not None
    assert streamed.test.rows == 70
    np.testing.assert_array_equal(memory.test.counts, streamed.test.counts)


@pytest.mark.parametrize("n", [45, 70])
def test_few_rows_are_held_out_neither_in_memory_nor_from_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    monkeypatch.setattr("rosenblatt.training.stream.CHUNK_BYTES", 300)  # decided after several chunks
    request = Request(write_csv(tmp_path / "rows.csv", *noisy_rows(n, 2)), parameters=CYCLIC, certify=False)
    memory, first, second = train(request), *(train_stream(request, str(tmp_path / "cache")) for _ in range(2))
    np.testing.assert_array_equal(memory.estimator.coef_, first.estimator.coef_)
    assert (memory.test is None) == (first.test is None) == (second.test is None) == (n == 45)
    assert first.rows == second.rows == memory.rows
    assert any("No row was held out" in note for note in second.notes) == (n == 45)
    assert any("was used again" in note for note in second.notes)


def test_rows_are_visited_in_the_order_of_the_file_by_default(tmp_path: Path) -> None:
    path = write(tmp_path, "csv", 2)
    streamed = train_stream(Request(path), beside=str(tmp_path / "model"))
    assert streamed.estimator.get_params()["order"] == "cyclic"
    assert FILE_ORDER_NOTE in streamed.notes
    explicit = train_stream(Request(path, parameters=CYCLIC), beside=str(tmp_path / "model"))
    assert FILE_ORDER_NOTE not in explicit.notes


def test_a_cache_is_used_again_for_the_same_request_only(tmp_path: Path) -> None:
    path, kept = write(tmp_path, "csv", 2), tmp_path / "cache"
    used = f"the cache {kept} was used again"
    first, second = (train_stream(Request(path), str(kept)) for _ in range(2))
    assert used not in first.notes
    assert used in second.notes
    np.testing.assert_array_equal(first.estimator.coef_, second.estimator.coef_)
    assert first.test is not None
    assert second.test is not None
    assert first.test.to_dict() == second.test.to_dict()
    assert first.provenance == second.provenance
    assert first.recipe.width == second.recipe.width
    np.testing.assert_array_equal(first.recipe.rows(_some(path)), second.recipe.rows(_some(path)))
    assert used not in train_stream(Request(path, seed=1), str(kept)).notes, "other rows are held out"
    write_csv(tmp_path / "rows.csv", *noisy_rows(210, 2))
    assert used not in train_stream(Request(path, seed=1), str(kept)).notes, "the file has changed"


def _some(path: str) -> Any:
    from rosenblatt.data.readers.read import read

    return read(path)


def test_progress_is_reported_while_reading_and_fitting(tmp_path: Path) -> None:
    seen: list[Any] = []
    streamed = train_stream(Request(write(tmp_path, "csv", 2)), None, seen.append, str(tmp_path / "model"))
    texts = [progress.text for progress in seen if progress.text]
    assert texts[0].startswith("scanning: ")
    scanned = [text for text in texts if text.startswith("scanning: ")]
    written = [text for text in texts if text.startswith("writing: ")]
    assert len(scanned) == len(written) > 2
    assert scanned[-1] == "scanning: 200 rows, 100 %"
    passes = [progress for progress in seen if not progress.text and progress.ended_pass]
    assert len(passes) == len(streamed.history) > 0


def test_a_sample_of_the_rows_is_kept_for_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "csv", 2)
    request = Request(path, holdout=0.0, scale="none")
    everything = train_stream(request, beside=str(tmp_path / "model")).sample
    assert everything is not None
    X, y = noisy_rows(200, 2)
    np.testing.assert_array_equal(everything[0], X)
    np.testing.assert_array_equal(everything[1], y)
    monkeypatch.setattr(stream_module, "SAMPLE_ROWS", 60)
    monkeypatch.setattr(stream_module, "SAMPLE_BLOCK_ROWS", 20)
    some = train_stream(request, beside=str(tmp_path / "model")).sample
    assert some is not None
    rows = [*range(20), *range(90, 110), *range(180, 200)]
    np.testing.assert_array_equal(some[0], X[rows])
    np.testing.assert_array_equal(some[1], y[rows])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cv": 3}, "--cv needs the rows in memory: with --stream, use --test or --holdout"),
        ({"certify": True}, "--certify needs all rows in memory"),
        ({"data": "-"}, "standard input"),
        ({"data": "example:iris"}, "example:iris is made in memory"),
        ({"algorithm": "pocket"}, "--algorithm pocket needs all rows in memory: use --algorithm average"),
        ({"algorithm": "mistakes"}, "--algorithm mistakes needs all rows in memory: use --algorithm average"),
        ({"algorithm": "soft-margin"}, "--algorithm soft-margin needs all rows in memory"),
        (
            {"parameters": {"step": 2.0, "order": "mistakes"}},
            "--order mistakes needs all rows in memory: leave out this option",
        ),
    ],
)
def test_requests_that_cannot_be_streamed(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    request = Request(**{"data": write(tmp_path, "csv", 2)} | given)
    with pytest.raises(ValueError, match=message):
        train_stream(request, beside=str(tmp_path / "model"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv"]


def test_labels_of_one_class_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    X, _ = noisy_rows(50)
    path = write_csv(tmp_path / "rows.csv", X, ["a"] * 50)
    with pytest.raises(DataError, match="at least two classes are needed"):
        train_stream(Request(path), str(tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()
