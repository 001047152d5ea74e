"""Kernels from grams to sorted, counted columns, against scikit-learn's hash and Python's own sort."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from effort import examples
from rosenblatt.kernels.compile import kernel
from rosenblatt.kernels.text.hashing import (
    BINS,
    HashRules,
    NameBuffers,
    RowBuffers,
    hash_grams,
    hash_tokens,
    murmur3,
    normalize_rows,
)

COLUMNS = st.sampled_from([1, 2, 7, 64, 1000, 2**20])
TOKENS = st.lists(st.binary(max_size=12), max_size=8)


def joined(tokens: list[bytes]) -> tuple[Any, Any]:
    """The tokens one after the other, with four bytes more that kernels may read, and their bounds."""
    stops = np.cumsum([0, *map(len, tokens)]).astype(np.uintp)
    return np.frombuffer(b"".join(tokens) + b"\xff\xff\xff\xff", np.uint8), stops


@kernel
def hashed(text: Any, seed: Any) -> Any:
    return murmur3(text, np.uintp(0), np.uintp(text.shape[0]), np.uint32(seed))


@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_one_text_has_the_hash_of_scikit_learn(raw: bytes, seed: int) -> None:
    text = np.frombuffer(raw + b"\0", np.uint8)[: len(raw)]
    assert hashed(text, np.uint32(seed)) == murmurhash3_32(raw, seed=seed, positive=True)


@settings(max_examples=examples(100))
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20))
def test_grams_have_the_hashes_of_scikit_learn(tokens: list[bytes]) -> None:
    text, stops = joined(tokens)
    hashes = np.empty(len(tokens), np.uint32)
    hash_grams(text, stops[:-1], stops[1:], np.uintp(len(tokens)), hashes)
    assert hashes.tolist() == [murmurhash3_32(token, positive=True) for token in tokens]


def rows_of(texts: list[list[bytes]], columns: int, signed: bool) -> list[dict[int, int]]:
    tokens = [token for text in texts for token in text]
    text, stops = joined(tokens)
    bounds = np.cumsum([0, *map(len, texts)]).astype(np.uintp)
    n = max(1, len(tokens))
    rows = RowBuffers(
        np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(len(texts) + 1, np.uintp),
        np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(BINS, np.uint32),
    )  # fmt: skip
    empty = np.zeros(0, np.uintp)
    names = NameBuffers(np.zeros(0, np.uint8), empty, empty, np.zeros(0, np.uint8))
    rules = HashRules(np.uint32(columns), np.uint32(max(1, (columns - 1).bit_length())), np.uint32(signed))
    hash_tokens(rules, text, stops, bounds, rows, names)
    found = []
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        indices = rows.indices[start:stop].tolist()
        assert indices == sorted(set(indices))
        found.append(dict(zip(indices, rows.counts[start:stop].tolist(), strict=True)))
    return found


def expected(tokens: list[bytes], columns: int, signed: bool) -> dict[int, int]:
    """Column |h| modulo `columns`, with the sign of h; columns whose signs cancel out are kept with 0."""
    counts: collections.Counter[int] = collections.Counter()
    for token in tokens:
        h = murmurhash3_32(token)
        counts[abs(h) % columns] += -1 if signed and h < 0 else 1
    return dict(counts)


@settings(max_examples=examples(100))
@given(st.lists(TOKENS, max_size=5), COLUMNS, st.booleans())
def test_rows_are_sorted_columns_with_their_sums_of_signs(texts: list[list[bytes]], columns: int, signed: bool) -> None:
    assert rows_of(texts, columns, signed) == [expected(tokens, columns, signed) for tokens in texts]


@pytest.mark.parametrize("n", [24, 25, 512, 513, 3000])
@pytest.mark.parametrize("columns", [3, 2**11, 2**20, 2**20 - 3])
def test_rows_of_any_length_are_sorted(n: int, columns: int) -> None:
    """By insertion up to 24 keys, then with short and with long digits."""
    tokens = [b"%d" % (number * number % 1009) for number in range(n)]
    assert rows_of([tokens], columns, True) == [expected(tokens, columns, True)]


@pytest.mark.parametrize("squares", [False, True])
def test_rows_are_divided_by_their_length(squares: bool) -> None:
    values = np.array([3.0, -4.0, 0.0, 0.0, 5.0])
    normalize_rows(values, np.array([0, 2, 2, 4, 5], np.uintp), squares)
    assert values.tolist() == ([0.6, -0.8, 0.0, 0.0, 1.0] if squares else [3 / 7, -4 / 7, 0.0, 0.0, 1.0])
