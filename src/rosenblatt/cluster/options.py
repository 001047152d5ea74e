"""How a fit on blocks is run, apart from the parameters of the estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

# "exact": the weights travel through the blocks in order. "mixed": shards of the blocks learn side by side, and are averaged.
Mode: TypeAlias = Literal["exact", "mixed"]


@dataclass(frozen=True)
class RunOptions:
    """Options of online learners: see `online.py` and `mixing.py`."""

    mode: Mode = "exact"
    shards: int | None = None  # of mixed runs; None: given by the number of blocks
