"""SHA-256 in parts: the digest of hashlib, also after the state was pickled."""

import hashlib
import pickle

import numpy as np

from rosenblatt.kernels.sha256 import Sha256


def test_digests_are_those_of_hashlib() -> None:
    content = np.random.default_rng(0).bytes(300)
    for length in (*range(130), 300):
        digest = Sha256()
        digest.update(content[:length])
        assert digest.digest() == hashlib.sha256(content[:length]).digest()


def test_parts_may_have_any_length_and_the_state_may_travel() -> None:
    rng = np.random.default_rng(1)
    content = rng.bytes(2000)
    digest, at = Sha256(), 0
    while at < len(content):
        step = int(rng.integers(0, 150))
        digest.update(content[at : at + step])
        at += step
        digest = pickle.loads(pickle.dumps(digest))
        assert digest.digest() == hashlib.sha256(content[:at]).digest()


def test_a_copy_continues_on_its_own() -> None:
    digest = Sha256()
    digest.update(b"abc")
    other = digest.copy()
    other.update(b"d")
    assert digest.digest() == hashlib.sha256(b"abc").digest()
    assert other.digest() == hashlib.sha256(b"abcd").digest()
