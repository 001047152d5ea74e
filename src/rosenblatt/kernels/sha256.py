"""SHA-256 whose state can be stored: the digest of data in parts that different processes hold.

Problem    the digest of all bytes, one part after the other, where each part is read by another machine.
Update     FIPS 180-4: 64 rounds on eight words of 32 bits for each piece of 64 bytes.
Guarantee  the digest of `hashlib.sha256`, whose state cannot leave its process.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array_types import IntArray
from .compile import inlined, kernel

PIECE_BYTES, PIECE_WORDS, ROUNDS = 64, 16, 64


def _primes(count: int) -> list[int]:
    return [n for n in range(2, 312) if all(n % p for p in range(2, math.isqrt(n) + 1))][:count]


def _cube_root(n: int) -> int:
    """The cube root of an integer, rounded down."""
    root = 1 << -(-n.bit_length() // 3)
    while (lower := (2 * root + n // (root * root)) // 3) < root:
        root = lower
    return root


# The first 32 bits after the point of the square roots of 8 primes, and of the cube roots of 64.
START = np.array([math.isqrt(p << 64) & 0xFFFFFFFF for p in _primes(8)], np.uint32)
CONSTANTS = np.array([_cube_root(p << 96) & 0xFFFFFFFF for p in _primes(ROUNDS)], np.uint32)


@inlined
def _rotated(x: Any, bits: int) -> Any:
    return np.uint32((x >> np.uint32(bits)) | (x << np.uint32(32 - bits)))


@kernel
def _add_pieces(pieces: IntArray, state: IntArray, schedule: IntArray, constants: IntArray) -> None:
    """Update the state with pieces of 16 words; `schedule` has room for 64 words."""
    for k in range(pieces.shape[0]):
        for t in range(PIECE_WORDS):
            schedule[t] = pieces[k, t]
        for t in range(PIECE_WORDS, ROUNDS):
            x, y = schedule[t - 15], schedule[t - 2]
            s0 = np.uint32(_rotated(x, 7) ^ _rotated(x, 18) ^ (x >> np.uint32(3)))
            s1 = np.uint32(_rotated(y, 17) ^ _rotated(y, 19) ^ (y >> np.uint32(10)))
            schedule[t] = np.uint32(schedule[t - 16] + s0 + schedule[t - 7] + s1)
        a, b, c, d = state[0], state[1], state[2], state[3]
        e, f, g, h = state[4], state[5], state[6], state[7]
        for t in range(ROUNDS):
            s1 = np.uint32(_rotated(e, 6) ^ _rotated(e, 11) ^ _rotated(e, 25))
            chosen = np.uint32(g ^ (e & (f ^ g)))
            t1 = np.uint32(h + s1 + chosen + constants[t] + schedule[t])
            s0 = np.uint32(_rotated(a, 2) ^ _rotated(a, 13) ^ _rotated(a, 22))
            majority = np.uint32((a & b) | (c & (a | b)))
            h, g, f, e = g, f, e, np.uint32(d + t1)
            d, c, b, a = c, b, a, np.uint32(t1 + s0 + majority)
        state[0] = np.uint32(state[0] + a)
        state[1] = np.uint32(state[1] + b)
        state[2] = np.uint32(state[2] + c)
        state[3] = np.uint32(state[3] + d)
        state[4] = np.uint32(state[4] + e)
        state[5] = np.uint32(state[5] + f)
        state[6] = np.uint32(state[6] + g)
        state[7] = np.uint32(state[7] + h)


class Sha256:
    """A digest like that of `hashlib.sha256`, which can be pickled and continued elsewhere.

    >>> digest = Sha256()
    >>> digest.update(b"abc")
    >>> digest.digest().hex()[:16]
    'ba7816bf8f01cfea'
    """

    def __init__(self) -> None:
        self._state, self._rest, self._length = START.copy(), b"", 0

    def update(self, content: bytes) -> None:
        """Add bytes."""
        self._length += len(content)
        if self._rest:
            filled = PIECE_BYTES - len(self._rest)
            self._rest, content = self._rest + content[:filled], content[filled:]
            if len(self._rest) < PIECE_BYTES:
                return
            self._add(self._rest)
        whole = len(content) - len(content) % PIECE_BYTES
        self._add(memoryview(content)[:whole])
        self._rest = bytes(content[whole:])

    def _add(self, content: bytes | memoryview) -> None:
        pieces = np.frombuffer(content, ">u4").astype(np.uint32).reshape(-1, PIECE_WORDS)
        _add_pieces(pieces, self._state, np.empty(ROUNDS, np.uint32), CONSTANTS)

    def copy(self) -> Sha256:
        """A digest that continues from the same bytes."""
        other = Sha256()
        other._state, other._rest, other._length = self._state.copy(), self._rest, self._length
        return other

    def digest(self) -> bytes:
        """The digest of all bytes so far."""
        end = self.copy()
        zeros = -(self._length + 9) % PIECE_BYTES
        end.update(b"\x80" + bytes(zeros) + (8 * self._length).to_bytes(8, "big"))
        return end._state.astype(">u4").tobytes()
