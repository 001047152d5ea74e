"""The compiled hash is scikit-learn's, bit for bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from rosenblatt.kernels.compile import kernel
from rosenblatt.kernels.text.murmur import murmur3


@kernel
def hashed(text, seed):
    return murmur3(text, np.uintp(0), np.uintp(text.shape[0]), np.uint32(seed))


@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_it_is_the_hash_of_scikit_learn(raw, seed):
    text = np.frombuffer(raw + b"\0", np.uint8)[: len(raw)]
    assert hashed(text, np.uint32(seed)) == murmurhash3_32(raw, seed=seed, positive=True)
