"""The hash with NumPy alone is scikit-learn's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from rosenblatt.preprocessing.text.murmur import murmur3_of, murmur3_windows

SEEDS = st.integers(0, 2**32 - 1)


def expected(tokens, seed):
    return [murmurhash3_32(token, seed=seed, positive=True) for token in tokens]


@given(st.lists(st.binary(max_size=40), max_size=40), SEEDS)
def test_many_tokens_have_the_hashes_of_each(tokens, seed):
    hashes = murmur3_of(tokens, seed)
    assert hashes.dtype == np.uint32
    assert hashes.tolist() == expected(tokens, seed)


def test_one_token_among_many_may_be_long():
    tokens = [bytes([k]) * k for k in range(30)] + [bytes(range(256)) * 40, bytes(range(256)) * 4 + b"!"]
    assert murmur3_of(tokens).tolist() == expected(tokens, 0)


@given(st.binary(max_size=40), st.integers(0, 20), SEEDS)
def test_windows_have_the_hashes_of_each(raw, width, seed):
    hashes = murmur3_windows(np.frombuffer(raw, np.uint8), width, seed)
    assert hashes.dtype == np.uint32
    assert hashes.tolist() == expected([raw[k : k + width] for k in range(len(raw) - width + 1)], seed)


@pytest.mark.parametrize("count", [0, 1, 8, 9])
def test_no_tokens_and_empty_ones_are_hashed(count):
    assert murmur3_of([b""] * count, 7).tolist() == expected([b""] * count, 7)
