"""A cache with a changed bit is never used: the error names the file and the block."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from caches import cached, noisy, stored_checksums

import rosenblatt as rb
from effort import amount
from rosenblatt.data.cache import Cache
from rosenblatt.data.cache_header import BLOCK_BYTES, CacheError, _digest
from rosenblatt.training.cached_fits import confusion_from_cache, fit_from_cache
from rosenblatt.training.request import Request
from rosenblatt.training.stream import train_stream

FILES = ("values", "indices", "indptr", "codes", "signs")


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def fit(path: Path) -> Any:
    return fit_from_cache(rb.Perceptron(keep="average", order="cyclic", max_iter=2), Cache.open(path))


def score(path: Path) -> Any:
    return confusion_from_cache(lambda rows: np.zeros(rows.shape[0], int), Cache.open(path))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("use", [fit, score, lambda path: Cache.open(path).check()], ids=["fit", "score", "check"])
def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, name: str, use: Any) -> None:
    cached(tmp_path / "cache", sp.csr_array(noisy()[0]), noisy()[1])
    path, rng = tmp_path / "cache" / f"{name}.bin", np.random.default_rng(0)
    for bit in rng.integers(0, 8 * path.stat().st_size, amount(12, 500)).tolist():
        flip(path, bit)
        with pytest.raises(CacheError, match=rf"damaged: (block 1 of 1 of {name}.bin|indptr.bin does not match)"):
            use(tmp_path / "cache")
        flip(path, bit)
    use(tmp_path / "cache")


@pytest.mark.once
def test_the_damaged_block_is_named_and_rows_far_before_it_can_be_read(tmp_path: Path) -> None:
    rows = 6 * BLOCK_BYTES // 32 + 10  # six blocks of values and a bit
    cached(tmp_path / "cache", np.ones((rows, 4)), np.arange(rows) % 3, size=rows)
    path = tmp_path / "cache" / "values.bin"
    flip(path, 8 * 5 * BLOCK_BYTES)
    cache = Cache.open(tmp_path / "cache")
    assert cache.chunk(0, BLOCK_BYTES // 32).shape == (BLOCK_BYTES // 32, 4)
    words = "block 6 of 7 of values.bin (bytes 5,242,880 to 6,291,455) does not match its checksum; delete the cache"
    for use in (
        lambda: cache.chunk(0, 5 * BLOCK_BYTES // 32 + 1),
        cache.check,
        cache.problem,
        lambda: cache.chunk(rows - 1, rows),
    ):
        with pytest.raises(CacheError, match=re.escape(words)):
            use()
    flip(path, 8 * 5 * BLOCK_BYTES)
    flip(path, 8 * path.stat().st_size - 1)
    with pytest.raises(CacheError, match=re.escape("block 7 of 7 of values.bin (bytes 6,291,456 to 6,291,775)")):
        Cache.open(tmp_path / "cache").check()


LEARNERS = {
    "perceptron": lambda: rb.Perceptron(keep="average", order="cyclic", max_iter=2),
    "permuted": lambda: rb.Perceptron(order="permuted", max_iter=2),
    "batch": lambda: rb.Perceptron(update="batch", order="cyclic", max_iter=2),
    "one-vs-rest": lambda: rb.Perceptron(multiclass="ovr", order="cyclic", max_iter=2),
    "class weights": lambda: rb.Perceptron(order="cyclic", max_iter=2, class_weight="balanced"),
    "margin auto, stopped early": lambda: rb.Perceptron(margin="auto", order="cyclic", max_updates=1),
    "passive-aggressive": lambda: rb.PassiveAggressive(order="cyclic", max_iter=2),
    "arow": lambda: rb.AROW(order="cyclic", max_iter=2),
    "linear-mse": rb.LinearMSE,
    "nonlinear-mse": lambda: rb.NonlinearMSE(solver="online", order="cyclic", max_iter=2),
    "nonlinear-mse batch": lambda: rb.NonlinearMSE(solver="batch", order="cyclic", max_iter=2),
}


@pytest.mark.once
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", ["values", "indices", "indptr", "codes"])
def test_no_learner_makes_a_model_of_damaged_rows(tmp_path: Path, learner: str, name: str) -> None:
    X, y = noisy(3)
    cached(tmp_path / "cache", sp.csr_array(X), y)
    path = tmp_path / "cache" / f"{name}.bin"
    flip(path, 8 * (path.stat().st_size - 40) + 30)
    model: Any = LEARNERS[learner]()
    with pytest.raises(CacheError, match=rf"block 1 of 1 of {name}.bin"):
        fit_from_cache(model, Cache.open(tmp_path / "cache"))
    assert not hasattr(model, "coef_")


@pytest.mark.once
@pytest.mark.parametrize(("free", "noticed"), [(1 << 40, False), (1 << 20, True)])
def test_pages_that_memory_cannot_hold_are_compared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, noticed: bool
) -> None:
    rows = 2 * BLOCK_BYTES // 32 + 10
    cached(tmp_path / "cache", np.ones((rows, 4)), np.arange(rows) % 3, size=rows)
    monkeypatch.setattr("rosenblatt.data.cache.free_memory", lambda: free)
    cache = Cache.open(tmp_path / "cache")
    fit_from_cache(rb.Perceptron(order="cyclic", max_iter=1), cache)
    flip(tmp_path / "cache" / "values.bin", 8 * BLOCK_BYTES + 1)
    with contextlib.suppress(CacheError):
        fit_from_cache(rb.Perceptron(order="cyclic", max_iter=1), cache)
        assert not noticed
        return
    assert noticed


def test_checksums_do_not_depend_on_the_chunks(tmp_path: Path) -> None:
    X, y = noisy(n=400)
    first, second = (cached(tmp_path / str(size), X, y, size).header.checksums for size in (1, 400))
    assert first == second
    assert first["values"] == tuple(stored_checksums(tmp_path / "1" / "values.bin"))


def test_a_cache_of_an_earlier_version_is_made_again_with_a_note(tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("a,b,label\n" + "1,2,x\n3,1,y\n" * 20)
    request, cache = Request(str(data), holdout=0.0), tmp_path / "cache"
    weights = train_stream(request, str(cache)).estimator.coef_
    head = cache / "cache.json"
    body = {**json.loads(head.read_text()), "version": 1}
    del body["digest"], body["checksums"]
    head.write_text(json.dumps({**body, "digest": _digest(body)}))
    again = train_stream(request, str(cache))
    assert (again.estimator.coef_ == weights).all()
    assert f"the cache {cache} was of an earlier format version and was made again" in again.notes
    assert f"the cache {cache} was used again" in train_stream(request, str(cache)).notes
