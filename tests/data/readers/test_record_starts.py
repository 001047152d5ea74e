"""Where records begin in ranges of a file: as where the definition of a record puts them, for any text and any ranges."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rosenblatt.data.readers.cells import MisquotedError, UnclosedError, split_record
from rosenblatt.data.readers.record_starts import record_starts, scan_range


def definition(text: bytes, delimiter: bytes) -> list[int] | None:
    """Where records begin; None if a quoted cell is followed by other text, which is an error in any case."""
    starts, at = [0], 0
    try:
        while at < len(text):
            _, at = split_record(text, at, delimiter)
            starts.append(at)
    except UnclosedError:
        pass  # the last record has no end
    except MisquotedError:
        return None
    return starts


@pytest.mark.parametrize("delimiter", [b",", b";", b" ", b"|"])
def test_records_begin_where_the_definition_says(tmp_path: Path, delimiter: bytes) -> None:
    draw, path, compared = random.Random(0), tmp_path / "rows.csv", 0
    for _ in range(400):
        letters = draw.choices('ab"""\n\n ,;|\t\r', k=draw.randint(1, 40))
        text = "".join(letters).encode() + b"\n"
        starts = definition(text, delimiter)
        if starts is None:
            continue
        path.write_bytes(text)
        ranges = sorted({0, *(draw.randrange(len(text)) for _ in range(draw.randint(1, 5)))})
        found = [
            scan_range(path, start, stop, delimiter, 0) for start, stop in zip(ranges, [*ranges[1:], len(text)], strict=True)
        ]
        expected = [min((at for at in starts if at >= start), default=len(text)) for start in ranges]
        assert record_starts(ranges, len(text), found) == [*expected, len(text)]
        compared += 1
    assert compared > 100


def test_marks_and_skipped_lines_are_no_cells(tmp_path: Path) -> None:
    """A byte order mark does not hide a quote, and a quote in a skipped line opens no cell."""
    path = tmp_path / "rows.csv"
    text = b'\xef\xbb\xbf"a\nb",c\n1,2\n'
    path.write_bytes(text)
    found = [scan_range(path, *span, b",", 0) for span in ((0, 7), (7, len(text)))]
    assert record_starts([0, 7], len(text), found) == [0, text.index(b"1,2"), len(text)]
    text = b'"title\na,b\n1,2\n3,4\n'
    path.write_bytes(text)
    found = [scan_range(path, *span, b",", 1) for span in ((0, 12), (12, len(text)))]
    assert record_starts([0, 12], len(text), found) == [0, text.index(b"3,4"), len(text)]
