"""Files that contain tables: zip archives and Excel workbooks. The table to read becomes a source of its own.

Zip       An archive with one file of rows is read as that file, whatever other files lie beside it. With several the error
          lists them: `Options.sheet` chooses one, as it chooses the sheet of a workbook. Folders, hidden files and what macOS
          adds are passed over; archives within archives and encrypted ones are refused.
Workbook  See `excel.py`.

Archives of NumPy (.npz) are zip files, too, and are left to their reader.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple

from ...reporting.text import comma_list, count, quoted_list
from ..table import Data, DataError
from . import FORMATS, Options
from .foreign import HEAD_BYTES, is_container
from .limits import MemoryLimit, read_bytes
from .sources import Source, extension_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_MEMBERS = 10_000
MAX_LISTED = 8
ENCRYPTED = 1  # flag of a member
# Extensions of rows; a text file is taken for rows if there is nothing better.
TABLE_EXTENSIONS = {extension for each in FORMATS.values() for extension in each} | {"csv", "data", "test", "xlsx", "xlsm"}
TEXT_EXTENSIONS = {"txt", ""}
SHEET_OPTION = "--sheet"
FAULTS = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, NotImplementedError, RuntimeError, OverflowError,
)  # fmt: skip


class Found(NamedTuple):
    """The table of a container, as a source, with the options to read it and a note on how it was found."""

    source: Source
    options: Options
    note: str | None = None

    def noted(self, data: Data) -> Data:
        """Rows of this source, with the note before their own."""
        return data if self.note is None else replace(data, note=_joined(self.note, data.note))


@contextlib.contextmanager
def table_in(source: Source, options: Options, limit: MemoryLimit | None) -> Iterator[Found]:
    """The table in a zip archive or a workbook.

    limit : of the memory that the rows may take, if the whole file is read
    """
    with contextlib.ExitStack() as stack:
        yield _find(Found(source, options), limit, stack)


def _find(outer: Found, limit: MemoryLimit | None, stack: contextlib.ExitStack, nested: bool = False) -> Found:
    source, options, _ = outer
    memory = limit or MemoryLimit(source.name, options)
    with faults(source.name):
        raw = source.path if source.on_disk else io.BytesIO(read_bytes(source, memory))
        archive = stack.enter_context(zipfile.ZipFile(raw))
    names = set(archive.namelist())
    if "xl/workbook.xml" in names:
        from .excel import sheet_as_csv

        sheet = sheet_as_csv(source.name, archive, options, memory)
        text = stack.enter_context(Source(sheet.name, io.BytesIO(sheet.text)))
        return Found(text, replace(options, format="csv", sheet=None, sep=",", encoding=None), _joined(outer.note, sheet.note))
    if refusal := _refusal(names):
        raise DataError(source.name, refusal)
    if nested:
        raise DataError(source.name, "the file is a zip archive within another; unpack it first")
    member, note = _member(source.name, archive, options.sheet)
    if member.flag_bits & ENCRYPTED:
        raise DataError(source.name, f"{_shown(member)} in the zip archive is encrypted; unpack it with its password first")
    with faults(source.name):
        unpacked = _Unpacked(source.name, stack.enter_context(archive.open(member)), member, limit)
    found = Found(
        stack.enter_context(Source(f"{source.name}, {member.filename}", unpacked)), replace(options, sheet=None), note
    )
    return _find(found, limit, stack, nested=True) if is_container(found.source.peek(HEAD_BYTES)) else found


@contextlib.contextmanager
def faults(name: str) -> Iterator[None]:
    """Raise the errors of damaged archives as DataError."""
    try:
        yield
    except DataError:
        raise
    except FAULTS as fault:
        sentence = " ".join(str(fault).split())[:200] or type(fault).__name__
        raise DataError(name, f"the zip archive is damaged or truncated: {sentence}; copy or download it again") from None


def _refusal(names: set[str]) -> str | None:
    """What an archive with these members is, and the remedy, if it does not contain files of rows."""
    if len(names) > MAX_MEMBERS:
        return f"the zip archive has {count(len(names))} members; the limit is {count(MAX_MEMBERS)}"
    if "xl/workbook.bin" in names:
        return "the file is a binary Excel workbook (.xlsb); save it as .xlsx or CSV first"
    if "mimetype" in names and "content.xml" in names:
        return "the file is an OpenDocument file; save its sheet as CSV first"
    if "[Content_Types].xml" in names:
        return "the file is an Office document without sheets; save its table as CSV first"
    return None


# --- Archives of files


def _member(source: str, archive: zipfile.ZipFile, chosen: str | None) -> tuple[zipfile.ZipInfo, str | None]:
    """The file of rows in an archive and a note that names it, if it lies beside others."""
    files = [member for member in archive.infolist() if not member.is_dir() and not _hidden(member.filename)]
    if not files:
        raise DataError(source, "the zip archive is empty")
    if chosen is not None:
        return files[choice(source, "file", [member.filename for member in files], chosen)], None
    if len(files) == 1:
        return files[0], None
    for extensions in (TABLE_EXTENSIONS, TEXT_EXTENSIONS):
        tables = [member for member in files if extension_of(member.filename) in extensions]
        if len(tables) == 1:
            return tables[0], f"{_shown(tables[0])} read; the archive has {count(len(files) - 1)} more, none of rows"
        if tables:
            break
    names = [member.filename for member in tables or files]
    advice = f"choose one, such as {SHEET_OPTION} {names[0]!r} (files: {comma_list(names, MAX_LISTED)})"
    raise DataError(source, f"the zip archive has {count(len(names))} files", option=SHEET_OPTION, advice=advice)


def choice(source: str, what: str, names: Sequence[str], chosen: str) -> int:
    """The position of the item with a name, or with it as the last part of its path, or with a number from 1."""
    for keys in (list(names), [PurePosixPath(name).name for name in names]):
        if keys.count(chosen) == 1:
            return keys.index(chosen)
    if chosen.isdecimal() and 1 <= int(chosen[:9]) <= len(names):
        return int(chosen[:9]) - 1
    sentence = f"there is no {what} {chosen!r}; {what}s: {quoted_list(names, MAX_LISTED)}"
    raise DataError(source, sentence, option=SHEET_OPTION, advice=f"use {SHEET_OPTION} with a name or a number from 1")


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def _joined(*notes: str | None) -> str | None:
    return "; ".join(filter(None, notes)) or None


def _shown(member: zipfile.ZipInfo) -> str:
    return repr(member.filename[:100])


class _Unpacked(io.RawIOBase):
    """The bytes of a member of an archive, within the limits of compressed files."""

    def __init__(self, name: str, packed: IO[bytes], member: zipfile.ZipInfo, limit: MemoryLimit | None) -> None:
        self._name, self._packed, self._member, self._limit, self._unpacked = name, packed, member, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        with faults(self._name):
            piece = self._packed.read(min(len(target), 1 << 20))
        target[: len(piece)] = piece
        self._unpacked += len(piece)
        if self._limit is not None:
            self._limit.check_expansion(self._unpacked, self._member.compress_size)
        return len(piece)
