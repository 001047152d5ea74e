"""Voted perceptrons as arrays: where the hypotheses start, the vectors and moves that lead from one to the next, their votes.

These are the fields of `readings.Vote` and `hypotheses.Walk`, checked before a kernel sees them: what it indexes is in range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .container import Parts, all_finite, require

_MOVES = {"moved": np.int64, "coefs": np.float64, "shifts": np.float64, "plus": np.int32, "minus": np.int32, "ends": np.bool_}


@dataclass(frozen=True)
class Ballot:
    """One vote: of all classes, or of one class against the rest."""

    x0: float
    arrays: dict[str, Any]

    @property
    def heads(self) -> int:
        return len(self.arrays["bias"])

    @property
    def width(self) -> int:
        return int(self.arrays["start"].shape[1])

    def check(self) -> None:
        a = self.arrays
        sparse = "indptr" in a
        wanted = {"start", "bias", "ballots", *_MOVES, *(("values", "indices", "indptr") if sparse else ("vectors",))}
        require(set(a) == wanted, "has a vote without all of its parts")
        require(np.isfinite(self.x0), "has a vote with a constant that is not finite")
        for name, dtype in {**_MOVES, "start": np.float64, "bias": np.float64, "ballots": np.float64}.items():
            require(a[name].dtype == dtype and a[name].ndim == (2 if name == "start" else 1), f"has a vote with a wrong {name}")
        n = len(a["moved"])
        require(len(a["start"]) == self.heads >= 1, "has a vote with a start for other classes than it has")
        require(all(len(a[name]) == n for name in _MOVES) and n > 0, "has a vote with moves that do not fit together")
        vectors = self._check_sparse() if sparse else self._check_dense()
        require((a["moved"] >= 0).all() and (a["moved"] < vectors).all(), "has a vote that moves along vectors it has not")
        require((a["plus"] >= 0).all() and (a["plus"] < self.heads).all(), "has a vote that moves classes it has not")
        require((a["minus"] >= -1).all() and (a["minus"] < self.heads).all(), "has a vote that moves classes it has not")
        require(int(a["ends"].sum()) == len(a["ballots"]), "has a vote with more or fewer ballots than hypotheses")
        require(all(all_finite(each) for each in a.values() if each.dtype.kind == "f"), "has a vote with numbers not finite")

    def _check_dense(self) -> int:
        vectors = self.arrays["vectors"]
        require(vectors.dtype == np.float64 and vectors.ndim == 2, "has a vote with wrong vectors")
        require(vectors.shape[1] == self.width, "has a vote with vectors of another width")
        return len(vectors)

    def _check_sparse(self) -> int:
        values, indices, indptr = (self.arrays[name] for name in ("values", "indices", "indptr"))
        require(values.dtype == np.float64 and values.ndim == indices.ndim == indptr.ndim == 1, "has a vote with wrong vectors")
        require(indices.dtype.kind == indptr.dtype.kind == "i" and len(indptr) > 0, "has a vote with wrong vectors")
        ordered = indptr[0] == 0 and indptr[-1] == len(indices) == len(values) and (np.diff(indptr) >= 0).all()
        require(ordered and (indices >= 0).all() and (indices < self.width).all(), "has a vote with vectors out of range")
        return len(indptr) - 1

    def vote(self) -> Any:
        """As `readings.Vote`, which takes Numba and SciPy."""
        import scipy.sparse as sp

        from ..kernels.linear.walks import Moves
        from ..online.readings import Vote
        from ..online.walks import Walk

        a = self.arrays
        vectors: Any = a.get("vectors")
        if vectors is None:
            shape = (len(a["indptr"]) - 1, self.width)
            vectors = sp.csr_array((a["values"], a["indices"], a["indptr"]), shape=shape, copy=False)
        return Vote(Walk(a["start"], a["bias"], vectors, Moves(*(a[name] for name in _MOVES)), self.x0), a["ballots"])


def ballot_of(vote: Any) -> Ballot:
    walk = vote.walk
    arrays = dict(zip(_MOVES, walk.moves, strict=True))
    arrays.update(start=walk.start, bias=walk.start_bias, ballots=vote.ballots)
    if hasattr(walk.vectors, "indptr"):
        arrays.update(values=walk.vectors.data, indices=walk.vectors.indices, indptr=walk.vectors.indptr)
    else:
        arrays["vectors"] = walk.vectors
    typed = {name: np.asarray(array, _MOVES.get(name)) for name, array in arrays.items()}
    return Ballot(float(walk.x0), typed)


def votes_to_parts(ballots: tuple[Ballot, ...]) -> Parts:
    arrays = {f"vote.{h}.{name}": array for h, ballot in enumerate(ballots) for name, array in ballot.arrays.items()}
    return {"x0": [ballot.x0 for ballot in ballots]}, arrays


def votes_from_parts(meta: dict[str, Any], arrays: dict[str, Any]) -> tuple[Ballot, ...]:
    found: list[dict[str, Any]] = [{} for _ in meta["x0"]]
    for name, array in arrays.items():
        place, part = name.removeprefix("vote.").split(".", 1)
        found[int(place)][part] = array
    ballots = tuple(Ballot(float(x0), parts) for x0, parts in zip(meta["x0"], found, strict=True))
    for ballot in ballots:
        ballot.check()
    require(len({ballot.width for ballot in ballots}) == 1, "has votes on rows of different widths")
    return ballots
