"""Equal rows in a training file and its test file, found by hashes of rows, chunk by chunk.

Problem    count the test rows that equal a training row, and the rows that have another label than their equals, in memory
           that does not grow with the rows.
Update     of each row a 64-bit hash is kept; if there are too many, only those whose last bits are zero, which are the same
           in both files: equal rows are kept or dropped together, so that shares of kept rows estimate those of all.
Guarantee  the counts are exact, up to equal hashes of different rows (2^-64 for a pair), while all rows are kept.
"""

from __future__ import annotations

import numpy as np

from ..array_types import IntArray, Matrix
from ..proofs.doctor.duplicates import row_hashes

MAX_ROWS_KEPT = 1 << 21


class RowSample:
    """Hashes and class codes of rows, or of an even sample of them.

    >>> train, test = RowSample(), RowSample()
    >>> train.add(np.array([[1.0], [2.0], [1.0]]), np.array([0, 0, 1]))
    >>> test.add(np.array([[2.0], [3.0]]), np.array([0, 1]))
    >>> train.copies_in(test), train.copies(), train.conflicts()
    ((1, 2), (2, 3), (1, 3))
    """

    def __init__(self) -> None:
        self.rows = 0
        self._mask = np.uint64(0)  # bits of a hash that are zero in the rows kept
        self._hashes, self._codes = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
        self._kept = 0

    def add(self, X: Matrix, codes: IntArray) -> None:
        """Add the next rows of the file and their class codes."""
        self.rows += len(codes)
        hashes = row_hashes(X)
        kept = (hashes & self._mask) == 0
        self._hashes.append(hashes[kept])
        self._codes.append(codes[kept])
        self._kept += int(kept.sum())
        while self._kept > MAX_ROWS_KEPT:
            self._thin(self._mask << np.uint64(1) | np.uint64(1))

    def copies_in(self, test: RowSample) -> tuple[int, int]:
        """How many of the rows of a test equal one of these, and of how many rows that were examined."""
        mask = max(self._mask, test._mask)
        self._thin(mask)
        test._thin(mask)
        return int(np.isin(test._hashes[0], self._hashes[0]).sum()), test._kept

    def copies(self) -> tuple[int, int]:
        """How many of these rows equal another one, and of how many that were examined."""
        self._thin(self._mask)
        times = np.unique(self._hashes[0], return_counts=True)[1]
        return int(times[times > 1].sum()), self._kept

    def conflicts(self) -> tuple[int, int]:
        """How many rows do not have the most frequent code of their equals, and of how many that were examined."""
        self._thin(self._mask)
        _, group = np.unique(self._hashes[0], return_inverse=True)
        _, first, times = np.unique(np.stack([group, self._codes[0]]), axis=1, return_index=True, return_counts=True)
        most = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
        np.maximum.at(most, group[first], times)
        return self._kept - int(most.sum()), self._kept

    @property
    def varies(self) -> bool:
        """Whether there are different rows."""
        self._thin(self._mask)
        return bool((self._hashes[0][:1] != self._hashes[0]).any())

    def _thin(self, mask: np.uint64) -> None:
        hashes, codes = np.concatenate(self._hashes), np.concatenate(self._codes)
        kept = (hashes & mask) == 0
        self._hashes, self._codes, self._mask = [hashes[kept]], [codes[kept]], mask
        self._kept = len(self._hashes[0])
