"""Principal components: the two directions in which standardised columns spread most.

Problem    u_1, u_2 orthonormal with the largest |Z u|^2, Z the columns with mean 0 and deviation 1.
Update     the largest eigenvectors of Z'Z, or, where columns are more than rows, of ZZ'.
Guarantee  the same numbers each time: of u and -u, the one whose largest part is positive.
Reference  K. Pearson, Philosophical Magazine 2 (1901); H. Hotelling, J. Educational Psychology 24 (1933).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..parallel import one_blas_thread


def principal(X: Any, count: int = 2) -> tuple[Any, Any]:
    """(rows x count scores, their shares of the whole spread); zeros where columns are constant or too few."""
    Z = X - X.mean(axis=0)
    deviations = Z.std(axis=0)
    Z = Z[:, deviations > 0.0] / deviations[deviations > 0.0]
    scores, shares = np.zeros((len(X), count)), np.zeros(count)
    if not Z.size:
        return scores, shares
    with one_blas_thread():
        wide = Z.shape[1] > Z.shape[0]
        values, vectors = np.linalg.eigh(Z @ Z.T if wide else Z.T @ Z)
        for at in range(min(count, len(values))):
            direction = vectors[:, -1 - at]
            direction = Z.T @ direction if wide else direction
            length = float(np.linalg.norm(direction))
            if length == 0.0:
                continue
            direction = direction / length
            sign = np.sign(direction[np.argmax(abs(direction))])
            scores[:, at] = sign * (Z @ direction)
            shares[at] = max(0.0, float(values[-1 - at])) / float(Z.size)
    return scores, shares
