"""Second moments of sparse rows, from the pairs of nonzeros of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import kernel


@kernel
def add_pairs(rows: Any, weights: Any, units: Any, gram: Any) -> None:
    """gram += sum_i c_i x_i x_i', upper triangle only; columns are sorted within each CSR row, and divided by `units`."""
    values, indices, indptr = rows.values, rows.indices, rows.indptr
    for i in range(indptr.shape[0] - 1):
        c = weights[i] if weights.shape[0] > 0 else 1.0
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        for a in range(start, stop):
            column = np.uintp(indices[a])
            scaled, line = c * np.float64(values[a]), gram[column]
            if units.shape[0] == 0:
                for b in range(a, stop):
                    line[np.uintp(indices[b])] += scaled * values[b]
            else:
                scaled /= units[column]
                for b in range(a, stop):
                    other = np.uintp(indices[b])
                    line[other] += scaled * (values[b] / units[other])
