"""Tables with one thing wrong: the error names the line and the remedy, or the rows are read and the note is true."""

from __future__ import annotations

import pytest
from reading_files import outcome, read

from rosenblatt.data.readers import Options

both = pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "definition"])

ROWS = b"age,city,churn\n31,Oslo,yes\n42,Rome,no\n53,Oslo,yes\n64,Rome,no\n"


@both
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"Customers 2024,,\n" + ROWS,
            "line 1: only 1 of 3 cells is filled; if it is a title or a comment, use --skip-lines 1",
        ),
        (
            ROWS + b"Total,,\n",
            "line 6, column age: 'Total' is not a number, but the column is numeric; delete the line",
        ),
        (ROWS + b"4 rows\n", "line 6: the row has 1 cell instead of 3; delete it if it is a footer or a comment"),
        (
            ROWS + ROWS[15:] + ROWS,
            "line 10, column age: 'age' is not a number, but the column is numeric; delete the line",
        ),
        (ROWS + b"75,Oslo,\n", "line 6, column churn: the label is missing; delete the rows without a label, or use --label"),
        (b"age,city,churn\nyears,,\n" + ROWS[15:], "line 2, column age: 'years' is not a number, but the column is numeric"),
        (
            b"age,city\n" + ROWS[15:],
            "line 1: the line has 2 cells, the rows below have 3; if it is a title",
        ),
        (ROWS.replace(b",", b"^"), "the lines have one cell; the cells of a row must be separated by commas"),
        (ROWS.replace(b"53", b"unknown"), "leave the cell empty if its value is missing, or use --categorical 'age'"),
        (ROWS.replace(b"53", b"53%"), "'53%' is not a number, but the column is numeric; write all cells of the column alike"),
    ],
)
def test_the_line_and_the_remedy_are_named(content: bytes, sentence: str, kernel: bool) -> None:
    assert sentence in str(outcome("csv", content, kernel))


@both
def test_lines_above_a_table_are_left_out_and_counted(kernel: bool) -> None:
    title = b'Customers; "all" of them\n\n,as of 2024\n'
    error = str(outcome("csv", title + ROWS, kernel))
    assert "line 1: the line has 1 cell; if it is a title or a comment, use --skip-lines 3" in error
    data = read("csv", title + ROWS, kernel, skip_lines=3)
    assert (data.features.names, data.n_rows, data.label_name) == (("age", "city"), 4, "churn")
    late = outcome("csv", title + ROWS + b"old,Oslo,yes\n", kernel, skip_lines=3)
    assert "line 9, column age: 'old' is not a number" in str(late)
    assert "no row is left after the 9 lines of --skip-lines" in str(outcome("csv", title + ROWS, kernel, skip_lines=9))
    with pytest.raises(ValueError, match="skip_lines must be at least 0, got -1"):
        Options(skip_lines=-1)


@both
def test_a_delimiter_after_every_row_but_not_after_the_header(kernel: bool) -> None:
    ended = ROWS.replace(b"\n", b",\n").replace(b"churn,", b"churn", 1)
    for content in (ROWS, ended):
        data = read("csv", content, kernel)
        assert (data.features.names, data.n_rows, data.label_name) == (("age", "city"), 4, "churn")


@both
@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"age;price;label\n31;3,5;x\n42;4,5;y\n", "numbers with decimal comma: 'price'"),
        (b"age;price;label\n31;(12);x\n42;14;y\n", "numbers with (12) = -12: 'price'"),
        (b"age;price;label\n31;(1,200.5);x\n42;14;y\n", "numbers with groups of thousands, (12) = -12: 'price'"),
        (b"age;price;label\n31;1.200;x\n42;4,5;y\n", "numbers with decimal comma: 'price'"),
        (b"age;at;label\n31;14:05;x\n42;2:05 pm;y\n", "times, read as fractions of the day: 'at'"),
    ],
)
def test_the_note_names_the_columns_that_are_written_so(content: bytes, note: str, kernel: bool) -> None:
    found = read("csv", content, kernel).note
    assert found is not None
    assert found.endswith(f"header found; {note}")
