"""Line numbers of rows: the same from kernel and definition, in files and in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reading_files import CHUNKS, parser, read, source_of

from rosenblatt.data.readers import Options
from rosenblatt.data.table import Data, DataError, codes_of

FILES = {
    "csv": (b"a,b,label\n" + b"1,u,x\n" * 5 + b"\n" + b'2,"two\nlines",y\n' + b"3,v,x\n", [2, 3, 4, 5, 6, 8, 10]),
    "svmlight": (
        b"# comment\n" + b"1 1:1\n" * 5 + b"\n" + b"-1 2:1 # end\n" + b"1 1:0." + b"1" * 40 + b"\n",
        [2, 3, 4, 5, 6, 8, 9],
    ),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("kernel", [False, True])
def test_lines_of_rows(kind: str, kernel: bool) -> None:
    content, expected = FILES[kind]
    lines = read(kind, content, kernel).lines
    assert lines is None if kernel else list(lines or ()) == expected
    plain = read(kind, content[: content.index(b"\n\n") + 1], kernel)
    if kind == "csv" or not kernel:  # the kernel skips the comment, so that rows and lines differ
        assert list(plain.lines or ()) == expected[:5]


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("size", [1, 20, 1000])
def test_lines_of_chunks(kind: str, size: int) -> None:
    content, expected = FILES[kind]
    found: list[int] = []
    with parser(False), source_of(content, "file") as source:
        for data in CHUNKS[kind](source, Options(), size):
            assert data.first_row == len(found)
            found += data.lines or ()
    assert found == expected


def test_an_unknown_label_is_reported_by_its_line_or_its_row() -> None:
    data = read("csv", b"a,label\n1,u\n2,w\n3,u\n", False, required=("a",), label="label")
    classes: Any = np.array(["u", "v"])
    with pytest.raises(DataError, match=r"^file, line 3: label 'w' is unknown to the model \(its classes: u, v\)$"):
        codes_of(data, classes)
    rows = Data("rows.npz", np.zeros((2, 1)), np.array(["u", "w"], object), first_row=10)
    with pytest.raises(DataError, match=r"^rows.npz, row 12: label 'w' is unknown"):
        codes_of(rows, classes)
    with pytest.raises(DataError, match=r"^rows.npz, row 12: label 'w' is unknown"):
        codes_of(rows.take(np.array([False, True])), classes)
    with pytest.raises(DataError, match=r"line 3: label 'w'"):
        codes_of(data.take(np.array([False, True, True])), classes)


@pytest.mark.parametrize("kernel", [False, True])
def test_a_column_that_a_model_needs_as_numbers_is_numeric(kernel: bool) -> None:
    with pytest.raises(DataError, match=r"^file, line 2, column age: 'thirty' is not a number, .*; leave the cell empty"):
        read("csv", b"age,city\nthirty,Bern\n", kernel, required=("age", "city"), numeric=("age",))
