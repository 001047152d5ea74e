"""A cache with a changed bit is never used: the error names the file and the block."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from caches import cached, noisy, xxh64_hex

import rosenblatt as rb
from effort import amount
from rosenblatt.data.cache import Cache
from rosenblatt.data.cache_header import BLOCK_BYTES, CacheError, _digest
from rosenblatt.training.request import Request
from rosenblatt.training.stream import confusion_from_cache, fit_from_cache, train_stream

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
def test_the_damaged_block_is_named_and_those_before_it_can_be_read(tmp_path: Path) -> None:
    rows = 3 * BLOCK_BYTES // 32 + 10  # three blocks of values and a bit
    cached(tmp_path / "cache", np.ones((rows, 4)), np.arange(rows) % 3, size=rows)
    path = tmp_path / "cache" / "values.bin"
    flip(path, 8 * BLOCK_BYTES)
    cache = Cache.open(tmp_path / "cache")
    assert cache.chunk(0, BLOCK_BYTES // 32).shape == (BLOCK_BYTES // 32, 4)
    words = "block 2 of 4 of values.bin (bytes 1,048,576 to 2,097,151) does not match its checksum; delete the cache"
    for use in (lambda: cache.chunk(0, BLOCK_BYTES // 32 + 1), cache.check, cache.problem):
        with pytest.raises(CacheError, match=re.escape(words)):
            use()
    flip(path, 8 * BLOCK_BYTES)
    flip(path, 8 * path.stat().st_size - 1)
    with pytest.raises(CacheError, match=re.escape("block 4 of 4 of values.bin (bytes 3,145,728 to 3,146,047)")):
        Cache.open(tmp_path / "cache").check()


def test_checksums_do_not_depend_on_the_chunks(tmp_path: Path) -> None:
    X, y = noisy(n=400)
    first, second = (cached(tmp_path / str(size), X, y, size).header.checksums for size in (1, 400))
    assert first == second
    assert first["values"] == (xxh64_hex(tmp_path / "1" / "values.bin"),)


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
