"""Files of other programs, recognized by their first bytes: they cannot be read, and the error says what to do instead."""

from __future__ import annotations

import re

from ..table import DataError

SAVE_WORKBOOK = "save it as .xlsx without a password, or as CSV"
NAME_ROWS = "name the file of the rows"
UNPACK = "unpack it first"
EXPORT_TABLE = "export the table as CSV first"
DOWNLOAD = "download the data file itself"
SAVE_ARRAYS = "save rows and labels with numpy.savez(FILE, X=X, y=y) first"
# First bytes, what the file is, and the remedy.
FOREIGN = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook (.xls), or one with a password", SAVE_WORKBOOK),
    (b"SQLite format 3\0", "an SQLite database", EXPORT_TABLE),
    (b"%PDF-", "a PDF document", EXPORT_TABLE),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "save its table as CSV or Parquet first"),
    (b"\x93NUMPY", "a single NumPy array", SAVE_ARRAYS),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (b"\x89PNG\r\n\x1a\n", "an image (PNG)", NAME_ROWS),
    (b"\xff\xd8\xff", "an image (JPEG)", NAME_ROWS),
    (b"GIF87a", "an image (GIF)", NAME_ROWS),
    (b"GIF89a", "an image (GIF)", NAME_ROWS),
    (b"II*\0", "an image (TIFF)", NAME_ROWS),
    (b"MM\0*", "an image (TIFF)", NAME_ROWS),
)
ZIP_HEADS = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive with members, and of one without
ZIP_BYTES, HEAD_BYTES = 4, 1 << 10
NAME_LENGTH, NAME_START = slice(26, 28), 30  # of the first member
TAR_MAGIC, TAR_PLACE = b"ustar", 257
PICKLE_PROTOCOLS = range(2, 6)  # protocols whose files begin with the byte 0x80
SAFETENSORS_LENGTH = 8  # bytes of the length of a header, which is JSON
MAX_SAFETENSORS_HEADER_BYTES = 100_000_000
HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?><!--.*?-->\s*+)*+(?:<!doctype html|<html)", re.IGNORECASE | re.DOTALL)
XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<\?xml\s")
JSON_ARRAY = re.compile(rb'(?:\xef\xbb\xbf)?\s*+\[\s*+\{\s*+"')
ARFF = re.compile(rb"(?:[ \t]*(?:%[^\n]*)?\r?\n)*+[ \t]*@relation\s", re.IGNORECASE)


def check_not_foreign(source: str, head: bytes) -> None:
    """Raise DataError if a file with these first bytes has a format of another program.

    >>> check_not_foreign("table.csv", b"a,b,label")
    >>> check_not_foreign("table.csv", b"%PDF-1.7 ...")
    Traceback (most recent call last):
    rosenblatt.data.table.DataError: table.csv: the file is a PDF document; export the table as CSV first
    """
    found = _recognize(head)
    if found is not None:
        kind, remedy = found
        raise DataError(source, f"the file is {kind}; {remedy}")


def _recognize(head: bytes) -> tuple[str, str] | None:
    """What a file is, and the remedy; None if it may be a file of rows."""
    for magic, kind, remedy in FOREIGN:
        if head.startswith(magic):
            return kind, remedy
    if head[TAR_PLACE : TAR_PLACE + len(TAR_MAGIC)] == TAR_MAGIC:
        return "a tar archive", UNPACK
    if len(head) > 1 and head[0] == 0x80 and head[1] in PICKLE_PROTOCOLS:
        return "a pickle, which is not read because it may run programs", SAVE_ARRAYS
    length = int.from_bytes(head[:SAFETENSORS_LENGTH], "little")
    if head[SAFETENSORS_LENGTH : SAFETENSORS_LENGTH + 2] == b'{"' and length < MAX_SAFETENSORS_HEADER_BYTES:
        return "a model or another safetensors file, not rows", NAME_ROWS
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "an image (WebP)", NAME_ROWS
    if HTML.match(head):
        return "an HTML page, perhaps of an error or a login", DOWNLOAD
    if XML.match(head):
        return "an XML document", EXPORT_TABLE
    return ("an ARFF file of Weka", "save it as CSV first") if ARFF.match(head) else None


def is_container(head: bytes) -> bool:
    """Whether a file with these first bytes is a zip archive or a workbook, and not an archive of NumPy's arrays.

    >>> is_container(b"PK\\x03\\x04" + bytes(40)), is_container(b"a,b,label")
    (True, False)
    """
    name = head[NAME_START : NAME_START + int.from_bytes(head[NAME_LENGTH], "little")]
    return head.startswith(ZIP_HEADS) and not name.endswith(b".npy")
