"""A cache is complete or refused in one sentence; nothing else is ever deleted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from caches import cached, contained, noisy, stored_checksums
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.data.cache import Cache, cache_key, open_if_current
from rosenblatt.data.cache_header import CacheError, OutdatedCacheError, _digest
from rosenblatt.data.cache_writer import CacheWriter, temporary_caches
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.training.cached_fits import fit_from_cache

pytestmark = pytest.mark.once


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_cache_gives_back_what_was_put_in(tmp_path: Path, kind: str, dtype: str) -> None:
    X, y = noisy(3)
    X = contained(X, kind, dtype)
    cache = cached(tmp_path / "cache", X, y)
    cache.check()
    assert cache.shape == X.shape
    assert cache.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(cache.counts, np.bincount(y))
    np.testing.assert_array_equal(cache.codes, y)
    found = cache.chunk(30, 75)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.toarray() if kind == "csr" else found, (X.toarray() if kind == "csr" else X)[30:75])
    assert not cache.rows.values.flags.writeable
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache"]


def test_the_files_are_raw_arrays_as_documented(tmp_path: Path) -> None:
    X, y = noisy()
    matrix = sp.csr_array(X)
    cached(tmp_path / "cache", matrix, y)
    files = {"values": "<f8", "indices": "<i4", "indptr": "<i8", "codes": "<i4", "signs": "|i1"}
    found = {name: np.fromfile(tmp_path / "cache" / f"{name}.bin", kind) for name, kind in files.items()}
    for name, expected in zip(files, (matrix.data, matrix.indices, matrix.indptr, y, 2 * y - 1), strict=True):
        np.testing.assert_array_equal(found[name], expected)
    head = json.loads((tmp_path / "cache" / "cache.json").read_text())
    assert (head["format"], head["version"], head["rows"], head["columns"]) == ("rosenblatt cache", 3, *X.shape)
    assert head["checksums"] == {name: stored_checksums(tmp_path / "cache" / f"{name}.bin") for name in files}


def test_chunks_of_readers_may_grow_wider_and_rows_may_be_empty(tmp_path: Path) -> None:
    with CacheWriter(tmp_path / "cache", sparse=True) as writer:
        writer.append(CSRMatrix(np.array([1.0]), np.array([0], np.int32), np.array([0, 1, 1]), 1), [0, 1])
        writer.append(CSRMatrix(np.zeros(0), np.zeros(0, np.int32), np.array([0]), 9), [])
        writer.append(CSRMatrix(np.array([2.0]), np.array([3], np.int32), np.array([0, 0, 1]), 4), [1, 0])
        writer.close(["a", "b", "never seen"], width=6, notes={"names": ["ä"]})
    cache = Cache.open(tmp_path / "cache")
    expected = np.zeros((4, 6))
    expected[0, 0], expected[3, 3] = 1.0, 2.0
    np.testing.assert_array_equal(cache.chunk(0, 4).toarray(), expected)
    assert (cache.classes.tolist(), cache.notes) == (["a", "b"], {"names": ["ä"]})


def test_rows_without_any_value_are_rows(tmp_path: Path) -> None:
    cache = cached(tmp_path / "cache", sp.csr_array((5, 3)), np.array([0, 1, 0, 1, 1]))
    cache.check()
    cache.drop(0, 5)
    assert cache.chunk(0, 5).shape == (5, 3)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.array([[1.0, np.nan]]), "row 4 has a value that is not a finite float64"),
        (np.array([[1.0]]), "rows must have 2 columns, as the first rows have, got 1"),
    ],
)
def test_bad_rows_are_refused_and_leave_nothing(tmp_path: Path, rows: Any, words: str) -> None:
    with CacheWriter(tmp_path / "cache", sparse=False) as writer:
        writer.append(np.ones((3, 2)), [0, 1, 0])
        with pytest.raises(ValueError, match=words):
            writer.append(rows, [0])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("indices", [[1, 0], [1, 1], [0, 2], [-1, 0]])
def test_columns_out_of_order_are_refused(tmp_path: Path, indices: list[int]) -> None:
    rows = CSRMatrix(np.ones(2), np.array(indices, np.int32), np.array([0, 2]), 2)
    with pytest.raises(ValueError, match="ascend strictly"), CacheWriter(tmp_path / "cache", sparse=True) as writer:
        writer.append(rows, [0])


def test_what_does_not_fit_float32_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="finite float32"), CacheWriter(tmp_path / "cache", sparse=False, dtype="float32") as w:
        w.append(np.array([[1e300]]), [0])


def test_a_writer_that_is_not_closed_leaves_what_was_there(tmp_path: Path) -> None:
    X, y = noisy()
    cached(tmp_path / "cache", X, y, key="old")

    def interrupted() -> None:
        with CacheWriter(tmp_path / "cache", sparse=False, key="new") as writer:
            writer.append(X, y)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert Cache.open(tmp_path / "cache").header.key == "old"
    cached(tmp_path / "cache", X[:50], y[:50], key="new")
    assert Cache.open(tmp_path / "cache", "new").shape == (50, 6)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_a_cache_is_used_again_only_where_its_key_is_the_same(tmp_path: Path) -> None:
    X, y = noisy()
    source = tmp_path / "data"
    source.write_text("1 1:2")
    key = cache_key(source, {"scale": True}, 0.2)
    assert open_if_current(tmp_path / "cache", key) is None
    cached(tmp_path / "cache", X, y, key=key)
    assert open_if_current(tmp_path / "cache", cache_key(source, {"scale": True}, 0.2)) is not None
    assert open_if_current(tmp_path / "cache", cache_key(source, {"scale": False}, 0.2)) is None
    with pytest.raises(CacheError, match="made from another file or with other options"):
        Cache.open(tmp_path / "cache", "other")
    source.write_text("1 1:3")
    os.utime(source, ns=(1, 1))
    assert open_if_current(tmp_path / "cache", cache_key(source, {"scale": True}, 0.2)) is None


def test_nothing_but_a_cache_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter").write_text("mine")
    for name, words in (("file", "not a cache"), ("folder", "contains 'letter'"), ("no/where", "does not exist")):
        with pytest.raises(CacheError, match=words):
            CacheWriter(tmp_path / name, sparse=False)
        with pytest.raises(CacheError, match="not a cache"):
            Cache.open(tmp_path / name)
    assert (tmp_path / "folder" / "letter").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("name", ["values", "indices", "indptr", "codes", "signs"])
def test_a_file_that_is_too_short_too_long_or_missing_is_refused(tmp_path: Path, name: str) -> None:
    X, y = noisy()
    path = tmp_path / "cache" / f"{name}.bin"
    cached(tmp_path / "cache", sp.csr_array(X), y)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole + b"\0", b""):
        path.write_bytes(damaged)
        with pytest.raises(CacheError, match=f"{name}.bin has"):
            Cache.open(tmp_path / "cache")
    path.unlink()
    with pytest.raises(CacheError, match=f"{name}.bin is missing"):
        Cache.open(tmp_path / "cache")


@pytest.mark.parametrize("name", ["values", "indices", "indptr", "codes", "signs"])
def test_numbers_that_make_no_sense_are_found(tmp_path: Path, name: str) -> None:
    X, y = noisy()
    cached(tmp_path / "cache", sp.csr_array(X), y)
    path = tmp_path / "cache" / f"{name}.bin"
    whole = bytearray(path.read_bytes())
    whole[80:88] = b"\xff" * 8  # NaN, -1
    path.write_bytes(whole)
    with pytest.raises(CacheError, match=f"block 1 of 1 of {name}.bin .* does not match its checksum"):
        Cache.open(tmp_path / "cache").check()
    head = tmp_path / "cache" / "cache.json"
    body = json.loads(head.read_text())
    del body["digest"]
    body["checksums"][name] = stored_checksums(path)
    head.write_text(json.dumps({**body, "digest": _digest(body)}))
    for learner in (rb.Perceptron(order="cyclic"), rb.AROW(order="cyclic"), rb.LinearMSE(), rb.Perceptron(order="random")):
        with pytest.raises(CacheError, match="damaged in rows 1 to 150"):
            fit_from_cache(learner, Cache.open(tmp_path / "cache"))


@pytest.fixture(scope="module")
def one_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mutated")
    X, y = noisy(3, n=20)
    cached(folder / "cache", sp.csr_array(X), y)
    return folder / "cache"


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_change_of_the_head_goes_unseen(one_cache: Path, data: st.DataObject) -> None:
    head = one_cache / "cache.json"
    whole = head.read_bytes()
    try:
        at = data.draw(st.integers(0, len(whole) - 2))
        cut = data.draw(st.integers(0, 3))
        damaged = whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + cut :]
        head.write_bytes(damaged)
        try:
            opened = Cache.open(one_cache)
        except CacheError as error:
            assert "\n" not in error.sentence  # noqa: PT017
        else:
            assert json.loads(damaged) == json.loads(whole)
            assert opened.shape == (20, 6)
    finally:
        head.write_bytes(whole)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3), st.lists, max_leaves=4)


@settings(max_examples=100, deadline=None)
@given(field=st.sampled_from(["kind", "dtype", "rows", "columns", "stored", "labels", "classes", "counts", "key"]), value=JSON)
def test_heads_that_are_signed_but_wrong_are_refused_or_harmless(one_cache: Path, field: str, value: Any) -> None:
    head = one_cache / "cache.json"
    whole = head.read_text()
    body = json.loads(whole)
    del body["digest"]
    body[field] = value
    try:
        head.write_text(json.dumps({**body, "digest": _digest(body)}))
        try:
            Cache.open(one_cache).check()
        except CacheError as error:
            assert "\n" not in error.sentence  # noqa: PT017
    finally:
        head.write_text(whole)


@pytest.mark.parametrize(
    ("version", "error"), [(1, OutdatedCacheError), (2, OutdatedCacheError), (4, CacheError), ("3", CacheError)]
)
def test_another_version_is_named_and_only_an_earlier_one_is_replaced(tmp_path: Path, version: Any, error: type) -> None:
    X, y = noisy()
    cached(tmp_path / "cache", X, y)
    head = tmp_path / "cache" / "cache.json"
    body = {**json.loads(head.read_text()), "version": version}
    del body["digest"]
    head.write_text(json.dumps({**body, "digest": _digest(body)}))
    with pytest.raises(CacheError, match=f"format version {version!r}, but this program reads version 3") as caught:
        Cache.open(tmp_path / "cache")
    assert type(caught.value) is error
    if error is OutdatedCacheError:
        assert cached(tmp_path / "cache", X[:50], y[:50]).shape == (50, 6)
    else:
        with pytest.raises(CacheError, match="format version"):
            cached(tmp_path / "cache", X, y)


def test_temporary_caches_are_gone_whatever_happens(tmp_path: Path) -> None:
    X, y = noisy()
    (tmp_path / "data.txt").write_text("1")

    def interrupted() -> None:
        with temporary_caches(tmp_path / "data.txt", 2) as (train, test):
            first = cached(train, X, y)
            cached(test, X, y)
            assert train.parent.parent == tmp_path
            first.unlink()
            assert first.chunk(0, 3).shape == (3, 6), "what is open stays readable"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]
