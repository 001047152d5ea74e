"""Limits on the memory that a file may take: files that are read whole, and compressed files that expand.

Memory      the rows of a file that is read whole take at most four fifths of the memory that is free when reading starts, or
            what `Options.max_memory` allows. Streams are read in chunks, and only a line or a chunk is limited.
Expansion   a compressed file that is read whole may decompress to 64 MB, or to 200 times its size if that is more; with
            `Options.max_memory`, to that. Parquet and Arrow files count as compressed, and JSON lines, whose table has a cell
            for each key of each row. A batch of an Arrow file is
            decompressed at once, so the size that it declares is checked before.

Sizes are estimates: what arrays and texts take at least.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from ...array_types import Array
from ...reporting.text import byte_size
from ..csr import CSRMatrix
from ..table import Data, DataError, Table
from . import Options
from .sources import Source

FREE_SHARE = 0.8
UNKNOWN_FREE_BYTES = 8 << 30  # assumed where the system does not report its free memory
ROUNDED_BYTES = 10**7  # limits by the free memory are rounded, for messages
MIN_EXPANDED_BYTES = 64 << 20
MAX_EXPANSION = 200
READ_BYTES = 1 << 22  # bytes read at a time
MEMORY_OPTION = "--max-memory"
# A text cell takes a reference and a string object, besides its characters.
BYTES_PER_TEXT = 8 + 56
BYTES_PER_LINE_NUMBER = 8 + 32


def free_memory() -> int:
    """The memory that this process can still take: of the machine, of its control group, of its limit on addresses."""
    found = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        found.append(int(fields["MemAvailable"].split()[0]) << 10)
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            found.append(limit - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize())
    return max(0, min(found, default=UNKNOWN_FREE_BYTES))


class MemoryLimit:
    """The memory that reading a file may take."""

    def __init__(self, source: str, options: Options) -> None:
        self.source = source
        self._given = options.max_memory is not None
        free = int(FREE_SHARE * free_memory())
        self.bytes = free - free % ROUNDED_BYTES if options.max_memory is None else options.max_memory

    def check(self, needed: int, instead: str = "train with --stream") -> None:
        """Raise DataError if the rows take more; `instead` is advice for the user."""
        if needed > self.bytes:
            limit = f"the limit of {MEMORY_OPTION}" if self._given else "80 % of the free memory"
            sentence = f"the rows take more than {byte_size(self.bytes)} of memory, {limit}"
            raise DataError(self.source, sentence, option=MEMORY_OPTION, advice=f"{instead}, or raise {MEMORY_OPTION}")

    def check_expansion(self, expanded: int, stored: int) -> None:
        """Raise DataError if `stored` compressed bytes decompress to more than is plausible."""
        most = self.bytes if self._given else min(self.bytes, max(MIN_EXPANDED_BYTES, MAX_EXPANSION * stored))
        if expanded > most:
            limit = f"the limit of {MEMORY_OPTION}" if self._given else f"over {MAX_EXPANSION} times its size"
            sentence = f"the compressed file expands to more than {byte_size(most)}, {limit}"
            raise DataError(self.source, sentence, option=MEMORY_OPTION, advice=f"if it is meant to, raise {MEMORY_OPTION}")


def read_bytes(source: Source, limit: MemoryLimit) -> bytes:
    """All bytes of a file that is held in memory, besides the arrays made of it."""
    pieces, taken = [], 0
    while piece := source.read(READ_BYTES):
        taken += len(piece)
        limit.check(2 * taken, "read it from an uncompressed file on disk")  # --stream holds these bytes, too
        pieces.append(piece)
    return b"".join(pieces)


def limited(chunks: Iterable[Data], limit: MemoryLimit, stored: Callable[[], int] | None = None) -> list[Data]:
    """The chunks of a file that is read whole, which are copied when they are joined.

    stored: returns the size of a file whose format compresses.
    """
    kept, held, expanded = [], 0, 0
    for chunk in chunks:
        columns: tuple[object, ...] = chunk.features.columns if isinstance(chunk.features, Table) else (chunk.features,)
        if isinstance(chunk.features, CSRMatrix):
            columns = (chunk.features.values, chunk.features.indices, chunk.features.indptr)
        columns = columns if chunk.labels is None else (*columns, chunk.labels)
        held += 2 * sum(map(_bytes_of, columns))
        if stored is not None:
            expanded += sum(map(_content_bytes, columns))
            limit.check_expansion(expanded, stored())
        held += 0 if chunk.lines is None else BYTES_PER_LINE_NUMBER * chunk.n_rows
        limit.check(held)
        kept.append(chunk)
    return kept


def _content_bytes(column: object) -> int:
    """The bytes of numbers and texts alone, as a file has them that is not compressed."""
    assert isinstance(column, np.ndarray)
    return column.nbytes if column.dtype.kind != "O" else sum(len(cell or "") for cell in column.tolist())


def _bytes_of(column: object) -> int:
    assert isinstance(column, np.ndarray)
    cells: Array = column
    if cells.dtype.kind != "O":
        return cells.nbytes
    return sum(BYTES_PER_TEXT + len(cell or "") for cell in cells.tolist())
