"""Checksums follow their definition in plain integers, and no damage of the usual kinds goes unnoticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from effort import amount
from rosenblatt.kernels.checksums import BLOCK_BYTES, checksums

LIMIT, PIECE, GOLDEN = 1 << 64, 512, 0x9E3779B97F4A7C15


def split_mix(number: int) -> int:
    z = number * GOLDEN % LIMIT
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % LIMIT
    z = (z ^ z >> 27) * 0x94D049BB133111EB % LIMIT
    return z ^ z >> 31


def plain(content: bytes) -> tuple[int, int]:
    """The checksum of one block, as docs/cache-files.md defines it."""
    content += bytes(-len(content) % (8 * PIECE))
    words = [int.from_bytes(content[at : at + 8], "little") for at in range(0, len(content), 8)]
    keys, h = [split_mix(i + 1) for i in range(PIECE)], 0
    for start in range(0, len(words), PIECE):
        s = 0
        for word, key in zip(words[start : start + PIECE], keys, strict=True):
            s += (word + key) % 2**32 * (((word >> 32) + (key >> 32)) % 2**32)
        h = (h ^ s % LIMIT) * GOLDEN % LIMIT
        h ^= h >> 32
    return sum(words) % LIMIT, h


def of(content: bytes) -> Any:
    return checksums(np.frombuffer(content, np.uint8)).tolist()


def test_keys_are_the_published_outputs_of_splitmix64() -> None:
    assert [split_mix(1), split_mix(2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 4095, 4096, 4097, 9001])
def test_every_length_follows_the_definition(n: int) -> None:
    content = np.random.default_rng(0).bytes(n)
    assert of(content) == ([list(plain(content))] if n else [])


@pytest.mark.once
def test_blocks_have_their_own_checksums() -> None:
    content = np.random.default_rng(0).bytes(2 * BLOCK_BYTES + 5)
    parts = [content[at : at + BLOCK_BYTES] for at in range(0, len(content), BLOCK_BYTES)]
    assert of(content) == [of(part)[0] for part in parts]


def ones(words: Any) -> None:
    words.view(np.float64)[:] = 1.0


def counts(words: Any) -> None:
    words.view(np.float64)[:] = np.random.default_rng(0).integers(0, 3, len(words))


def columns(words: Any) -> None:
    words.view(np.int32)[:] = np.arange(2 * len(words)) % 75 * 600


def normal(words: Any) -> None:
    words.view(np.float64)[:] = np.random.default_rng(0).normal(size=len(words))


@pytest.mark.once
@pytest.mark.parametrize("fill", [ones, counts, columns, normal])
def test_damage_of_sectors_words_and_bits_changes_the_checksum(fill: Any) -> None:
    """Two flipped bits, exchanged words, and sectors that are zero, exchanged, repeated or shifted."""
    rng, n = np.random.default_rng(1), 1 << 14
    words = np.zeros(n, np.uint64)
    fill(words)
    before, seen = of(words.tobytes()), 0
    for _ in range(amount(400, 20_000)):
        damaged, size = words.copy(), int(rng.choice([1, 64, 512, 4096]))
        i, j = (rng.choice(n // size, 2, replace=False) * size).tolist()
        kind = rng.integers(5)
        if kind == 0:  # the same bit, which the sum of the words may not see
            damaged[[i, j]] ^= np.uint64(1) << np.uint64(rng.integers(64))
        elif kind == 1:
            damaged[i : i + size] = 0
        elif kind == 2:
            damaged[i : i + size], damaged[j : j + size] = words[j : j + size], words[i : i + size]
        elif kind == 3:
            damaged[i : i + size] = words[j : j + size]
        else:
            damaged[i:] = np.roll(words[i:], 1)
        changed = bool((damaged != words).any())
        assert (of(damaged.tobytes()) != before) == changed
        seen += changed
    assert seen > 80
