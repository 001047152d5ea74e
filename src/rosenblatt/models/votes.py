"""Voted perceptrons in a model file: the first hypothesis, the updates that lead to the next ones, and their vote counts.

The arrays are the fields of `online.readings.Vote` and `online.readings.Walk`. Kernels do not check indices, so every index is
checked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .container import Arrays, Meta, Parts, all_finite
from .strict_json import require

if TYPE_CHECKING:
    from ..online.readings import Vote

_MOVES = {"moved": np.int64, "coefs": np.float64, "shifts": np.float64, "plus": np.int32, "minus": np.int32, "ends": np.bool_}


@dataclass(frozen=True)
class StoredVote:
    """One vote over all classes, or over one class against the rest."""

    x0: float
    arrays: Arrays

    @property
    def heads(self) -> int:
        return len(self.arrays["bias"])

    @property
    def width(self) -> int:
        return int(self.arrays["start"].shape[1])

    def check(self) -> None:
        """Raise `InvalidContentError` unless all arrays are present, fit together and have valid indices."""
        a = self.arrays
        sparse = "indptr" in a
        wanted = {"start", "bias", "counts", *_MOVES, *(("values", "indices", "indptr") if sparse else ("vectors",))}
        require(set(a) == wanted, "vote: arrays are missing or unknown")
        require(self.x0 >= 0.0, "vote: x_0 is negative")
        for name, dtype in {**_MOVES, "start": np.float64, "bias": np.float64, "counts": np.float64}.items():
            typed = a[name].dtype == dtype and a[name].ndim == (2 if name == "start" else 1)
            require(typed, f"vote: array {name} has the wrong type or shape")
        n = len(a["moved"])
        require(len(a["start"]) == self.heads >= 1, "vote: start and bias have different numbers of classes")
        require(all(len(a[name]) == n for name in _MOVES) and n > 0, "vote: the update arrays have different lengths")
        vectors = self._check_sparse() if sparse else self._check_dense()
        require((a["moved"] >= 0).all() and (a["moved"] < vectors).all(), "vote: an update refers to a missing vector")
        require((a["plus"] >= 0).all() and (a["plus"] < self.heads).all(), "vote: an update refers to a missing class")
        require((a["minus"] >= -1).all() and (a["minus"] < self.heads).all(), "vote: an update refers to a missing class")
        require(int(a["ends"].sum()) == len(a["counts"]), "vote: the numbers of hypotheses and vote counts differ")
        finite = all(all_finite(each) for each in a.values() if each.dtype.kind == "f")
        require(finite and (a["counts"] >= 0).all(), "vote: an array contains NaN, infinity or a negative count")

    def _check_dense(self) -> int:
        vectors = self.arrays["vectors"]
        require(vectors.dtype == np.float64 and vectors.ndim == 2, "vote: array vectors has the wrong type or shape")
        require(vectors.shape[1] == self.width, "vote: vectors and start have different widths")
        return len(vectors)

    def _check_sparse(self) -> int:
        values, indices, indptr = (self.arrays[name] for name in ("values", "indices", "indptr"))
        flat = values.ndim == indices.ndim == indptr.ndim == 1 and len(indptr) > 0
        typed = values.dtype == np.float64 and indices.dtype.kind == indptr.dtype.kind == "i"
        require(flat and typed, "vote: the sparse vectors have the wrong type or shape")
        ordered = indptr[0] == 0 and indptr[-1] == len(indices) == len(values) and (np.diff(indptr) >= 0).all()
        inside = ordered and (indices >= 0).all() and (indices < self.width).all()
        require(inside, "vote: an index of the sparse vectors is out of range")
        return len(indptr) - 1

    def restore(self) -> Vote:
        """Return the vote as an object that scores rows; imports Numba and SciPy."""
        import scipy.sparse as sp

        from ..kernels.linear.walks import Moves
        from ..online.readings import Vote, Walk

        a = self.arrays
        vectors: Any = a.get("vectors")
        if vectors is None:
            shape = (len(a["indptr"]) - 1, self.width)
            vectors = sp.csr_array((a["values"], a["indices"], a["indptr"]), shape=shape, copy=False)
        return Vote(Walk(a["start"], a["bias"], vectors, Moves(*(a[name] for name in _MOVES)), self.x0), a["counts"])


def store_vote(vote: Vote) -> StoredVote:
    """Return the arrays of a vote."""
    walk = vote.walk
    arrays: dict[str, Any] = dict(zip(_MOVES, walk.moves, strict=True))
    arrays.update(start=walk.start, bias=walk.start_bias, counts=vote.counts)
    if isinstance(walk.vectors, np.ndarray):
        arrays["vectors"] = walk.vectors
    else:
        arrays.update(values=walk.vectors.data, indices=walk.vectors.indices, indptr=walk.vectors.indptr)
    typed = {name: np.asarray(array, _MOVES.get(name)) for name, array in arrays.items()}
    return StoredVote(float(walk.x0), typed)


def votes_to_parts(votes: tuple[StoredVote, ...]) -> Parts:
    arrays = {f"vote.{h}.{name}": array for h, vote in enumerate(votes) for name, array in vote.arrays.items()}
    return {"x0": [vote.x0 for vote in votes]}, arrays


def votes_from_parts(meta: Meta, arrays: Arrays) -> tuple[StoredVote, ...]:
    listed = isinstance(meta, dict) and set(meta) == {"x0"} and isinstance(meta["x0"], list)
    require(listed and all(type(x0) is float for x0 in meta["x0"]), "the constants of the votes are not numbers")
    found: list[Arrays] = [{} for _ in meta["x0"]]
    places = {str(place): parts for place, parts in enumerate(found)}
    for name, array in arrays.items():
        place, _, part = name.removeprefix("vote.").partition(".")
        require(place in places, f"unknown array {name}")
        places[place][part] = array
    votes = tuple(StoredVote(x0, parts) for x0, parts in zip(meta["x0"], found, strict=True))
    for vote in votes:
        vote.check()
    require(len({vote.width for vote in votes}) == 1, "the votes have different numbers of features")
    return votes
