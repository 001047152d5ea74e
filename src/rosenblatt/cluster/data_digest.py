"""The digest of all rows and labels, as certificates state it, from blocks on several machines.

SHA-256 reads bytes in order, so its state travels through the blocks: each block continues where the block before it ended.
The tasks form two chains, one for the rows and one for the labels, beside which other tasks run.
"""

from __future__ import annotations

from ..certificates.data import Data, RowDigest, label_line
from ..data.problem import rows_as_matrix
from ..kernels.sha256 import Sha256
from .block_set import BlockSet, run_on_block
from .blocks import Block
from .engine import Handle


def start_digest(blocks: BlockSet, names: tuple[str, ...]) -> Handle:
    """Start the tasks that compute the digest; the handle gives it in hexadecimal. `names`: the classes as text."""
    submit = blocks.engine.submit
    rows: Handle | None = None
    for block in blocks.blocks:
        rows = submit(run_on_block, _add_rows, block, rows)
    whole = submit(_with_summary, rows, blocks.n_rows, blocks.n_features)
    for block in blocks.blocks:
        whole = submit(run_on_block, _add_labels, block, whole, names)
    return submit(_in_hexadecimal, whole)


def _add_rows(block: Block, before: RowDigest | None) -> RowDigest:
    """A task: the digest of the rows up to the end of this block."""
    found = RowDigest(Sha256)
    if before is not None:
        found.parts = [part.copy() for part in before.parts if isinstance(part, Sha256)]
    if block.n_rows:
        for part in Data(rows_as_matrix(block.rows, 0, block.n_rows), block.codes).blocks():
            found.update(part)
    return found


def _with_summary(rows: RowDigest, n_rows: int, n_columns: int) -> Sha256:
    """A task: the digest of the shape and of all rows."""
    digest = Sha256()
    digest.update(rows.summary(n_rows, n_columns))
    return digest


def _add_labels(block: Block, before: Sha256, names: tuple[str, ...]) -> Sha256:
    """A task: the digest up to the label of the last row of this block."""
    digest, lines = before.copy(), [label_line(name) for name in names]
    digest.update(b"".join(map(lines.__getitem__, block.codes.tolist())))
    return digest


def _in_hexadecimal(digest: Sha256) -> str:
    return digest.digest().hex()
