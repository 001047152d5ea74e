"""Files as streams of bytes, decompressed by their extension; every fault of them is a `DataError`."""

from __future__ import annotations

import contextlib
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .data import DataError

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def plain_name(path: str) -> str:
    """A file's name without its folder and the extension of its compression.

    >>> plain_name("data/ijcnn1.trn.bz2")
    'ijcnn1.trn'
    """
    name = Path(path).name
    return next((name[: -len(end)] for end in COMPRESSED if name.lower().endswith(end)), name)


def source_name(path: str) -> str:
    return "stdin" if path == "-" else str(path)


@contextlib.contextmanager
def open_bytes(path: str) -> Iterator[Any]:
    """The file's bytes, decompressed; `-` is stdin."""
    source = source_name(path)
    try:
        with contextlib.ExitStack() as stack:
            yield sys.stdin.buffer if path == "-" else stack.enter_context(_open(path))
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(source, "there is no such file") from None
    except IsADirectoryError:
        raise DataError(source, "this is a folder, not a file") from None
    except PermissionError:
        raise DataError(source, "this file may not be read") from None
    except EOFError:
        raise DataError(source, "the compressed file is cut off") from None
    except (OSError, zlib.error) as fault:
        raise DataError(source, f"the file cannot be read: {' '.join(str(fault).split())}") from None
    except Exception as fault:
        if type(fault).__name__ in ("LZMAError", "ZstdError"):
            raise DataError(source, f"the compressed file is damaged: {fault}") from None
        raise


def _open(path: str) -> Any:
    if path.lower().endswith(".gz"):
        import gzip

        return gzip.open(path, "rb")
    if path.lower().endswith(".bz2"):
        import bz2

        return bz2.open(path, "rb")
    if path.lower().endswith(".xz"):
        import lzma

        return lzma.open(path, "rb")
    if path.lower().endswith(".zst"):
        try:
            import zstandard
        except ImportError:
            raise DataError(path, "a .zst file needs the package zstandard: pip install 'rosenblatt[data]'") from None
        return zstandard.open(path, "rb")
    return Path(path).open("rb")
