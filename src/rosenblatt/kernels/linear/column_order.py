"""Rows of a CSR matrix whose columns do not ascend, or occur several times, and the sort they need.

Scores and moves add one stored value after the other, in any order, also if several belong to one column. A squared length
needs the sum of each column first.
"""

from __future__ import annotations

from ...array_types import FloatArray, IntArray
from ..compile import kernel

INSERTION_SIZE = 16  # up to this many numbers are sorted by insertion
SORT_STACK = 128  # integers on the stack of `sort_with`, for up to 2^64 numbers


@kernel
def sort_with(keys: FloatArray | IntArray, marks: FloatArray | IntArray, n: int, stack: IntArray) -> None:
    """Sort the first n keys and their marks; `stack` holds SORT_STACK integers."""
    top, low, high = 0, 0, n - 1
    while True:
        while high - low >= INSERTION_SIZE:
            a, b, c = keys[low], keys[(low + high) // 2], keys[high]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = low, high
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while pivot < keys[j]:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    marks[i], marks[j] = marks[j], marks[i]
                    i += 1
                    j -= 1
            # The longer part waits on the stack, which keeps the stack short.
            if j - low > high - i:
                stack[top], stack[top + 1] = low, j
                low = i
            else:
                stack[top], stack[top + 1] = i, high
                high = j
            top += 2
        for i in range(low + 1, high + 1):
            key, mark, j = keys[i], marks[i], i - 1
            while j >= low and keys[j] > key:
                keys[j + 1], marks[j + 1] = keys[j], marks[j]
                j -= 1
            keys[j + 1], marks[j + 1] = key, mark
        if top == 0:
            return
        top -= 2
        low, high = stack[top], stack[top + 1]


@kernel
def sum_columns_and_square(
    values: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    columns: IntArray,
    amounts: FloatArray,
    stack: IntArray,
    squares: FloatArray,
) -> bool:
    """squares[i] = |x_i|^2; return whether a row has a column several times. Their values are summed in float64.

    columns, amounts, stack : buffers for the longest row (int64, float64), and for `sort_with`.
    """
    repeated = False
    for i in range(squares.shape[0]):
        start, n, ascending = indptr[i], indptr[i + 1] - indptr[i], True
        for j in range(n):
            columns[j], amounts[j] = indices[start + j], values[start + j]
            ascending &= j == 0 or columns[j - 1] < columns[j]
        if not ascending:
            sort_with(columns, amounts, n, stack)
        total, j = 0.0, 0
        while j < n:
            amount, column = amounts[j], columns[j]
            j += 1
            while j < n and columns[j] == column:
                repeated = True
                amount += amounts[j]
                j += 1
            total += amount * amount
        squares[i] = total
    return repeated
