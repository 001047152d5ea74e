"""Walks: errors and votes of all hypotheses of a run on a block of rows.

A walk starts from the scores of one hypothesis and applies the moves of the run to the scores instead of the weights:
<w + c v, p> = <w, p> + c <v, p>. `products[v]` holds <v, p> for every row p of the block, `scores[h]` the scores of head h.
Move s adds `coefs[s] * products[vectors[s]]` to the scores of head `plus[s]` and subtracts it from head `minus[s]` (-1: none).
`shifts[s]`, the move of weight 0, is added to `bias`, one number per head: a large bias inside the scores would
cancel the digits of small products. If `ends[s]` is set, a hypothesis is complete.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...array_types import BoolArray, FloatArray, IntArray
from ..compile import kernel


class Moves(NamedTuple):
    """The moves of a walk."""

    vectors: IntArray  # int64
    coefs: FloatArray  # float64
    shifts: FloatArray  # float64
    plus: IntArray  # int32
    minus: IntArray  # int32
    ends: BoolArray  # bool


@kernel
def count_wrong(
    planes: FloatArray,
    shifts: FloatArray,
    X: FloatArray,
    rough: FloatArray,
    doubts: FloatArray,
    signs: FloatArray,
    weights: FloatArray,
    errors: FloatArray,
) -> None:
    """errors[n] += the weight of the rows of X that plane n, with scores <w_n, x> + shifts[n], misclassifies.

    rough[n, i] + shifts[n] in float32 is at most doubts[n] from the score of row i; if that leaves the sign undecided, the
    score is computed in float64. signs: float32.
    """
    m = signs.shape[0]
    for n in range(rough.shape[0]):
        score, shift, doubt = rough[n], np.float32(shifts[n]), np.float32(doubts[n])
        right = left_open = 0
        for i in range(m):
            margin = signs[i] * (score[i] + shift)
            right += margin > doubt
            left_open += not abs(margin) > doubt
        if weights.shape[0] == 0 and left_open == 0:
            errors[n] += m - right
            continue
        for i in range(m):
            margin = np.float64(signs[i] * (score[i] + shift))
            if not abs(margin) > doubt:
                margin = 0.0
                for j in range(X.shape[1]):
                    margin += np.float64(X[i, j]) * planes[n, j]
                margin = signs[i] * (margin + shifts[n])
            if not margin > 0.0:
                errors[n] += weights[i] if weights.shape[0] > 0 else 1.0


@kernel
def count_errors(
    products: FloatArray,
    moves: Moves,
    signs: IntArray,
    weights: FloatArray,
    scores: FloatArray,
    bias: FloatArray,
    errors: FloatArray,
) -> None:
    """errors[n] += the weight of the rows that hypothesis n of a binary walk misclassifies; a row on the plane is an error."""
    n = 0
    for s in range(moves.coefs.shape[0]):
        make_move(products, moves, s, scores, bias)
        if moves.ends[s]:
            for i in range(signs.shape[0]):
                if not signs[i] * (scores[0, i] + bias[0]) > 0.0:
                    errors[n] += weights[i] if weights.shape[0] > 0 else 1.0
            n += 1


@kernel
def count_errors_joint(
    products: FloatArray,
    moves: Moves,
    codes: IntArray,
    weights: FloatArray,
    scores: FloatArray,
    bias: FloatArray,
    errors: FloatArray,
) -> None:
    """errors[n] += the total weight of the rows that hypothesis n of a joint walk misclassifies; ties are errors."""
    k, m, n = scores.shape[0], codes.shape[0], 0
    for s in range(moves.coefs.shape[0]):
        make_move(products, moves, s, scores, bias)
        if not moves.ends[s]:
            continue
        for i in range(m):
            right, label = True, codes[i]
            for h in range(k):
                right &= h == label or scores[label, i] + bias[label] > scores[h, i] + bias[h]
            if not right:
                errors[n] += weights[i] if weights.shape[0] > 0 else 1.0
        n += 1


@kernel
def count_votes(
    products: FloatArray, moves: Moves, counts: FloatArray, scores: FloatArray, bias: FloatArray, votes: FloatArray
) -> None:
    """votes[0] += the votes of the hypotheses of a binary walk, +1 or -1 times their counts; a row on the plane gets -1."""
    m, n, score, vote = scores.shape[1], 0, scores[0], votes[0]
    for s in range(moves.coefs.shape[0]):
        product, c = products[moves.vectors[s]], moves.coefs[s]
        bias[0] += moves.shifts[s]
        count, shift = counts[n] if moves.ends[s] else 0.0, bias[0]
        if count == 0.0:
            for i in range(m):
                score[i] += c * product[i]
        else:
            for i in range(m):
                score[i] += c * product[i]
                vote[i] += count if score[i] + shift > 0.0 else -count
        n += moves.ends[s]


@kernel
def count_votes_joint(
    products: FloatArray, moves: Moves, counts: FloatArray, scores: FloatArray, bias: FloatArray, votes: FloatArray
) -> None:
    """votes[h] += the counts of the hypotheses whose best head is h; ties go to the first head."""
    k, m, n = scores.shape[0], scores.shape[1], 0
    for s in range(moves.coefs.shape[0]):
        make_move(products, moves, s, scores, bias)
        if not moves.ends[s]:
            continue
        if counts[n] != 0.0:
            for i in range(m):
                best = 0
                for h in range(1, k):
                    if scores[h, i] + bias[h] > scores[best, i] + bias[best]:
                        best = h
                votes[best, i] += counts[n]
        n += 1


@kernel
def make_move(products: FloatArray, moves: Moves, s: int, scores: FloatArray, bias: FloatArray) -> None:
    """Apply move s to the scores and the biases."""
    product, c, shift = products[moves.vectors[s]], moves.coefs[s], moves.shifts[s]
    plus, minus = moves.plus[s], moves.minus[s]
    for i in range(scores.shape[1]):
        scores[plus, i] += c * product[i]
    bias[plus] += shift
    if minus >= 0:
        for i in range(scores.shape[1]):
            scores[minus, i] -= c * product[i]
        bias[minus] -= shift
