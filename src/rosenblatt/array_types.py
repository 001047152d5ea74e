"""Array types for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy import sparse

# An array of any dtype, such as class labels.
Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
# What callers may pass as rows: anything NumPy can make an array of, or a SciPy sparse matrix.
MatrixLike: TypeAlias = "npt.ArrayLike | sparse.sparray | sparse.spmatrix"
# Rows after validation: a float array in C order, or a CSR matrix.
Matrix: TypeAlias = "FloatArray | sparse.csr_array"
