"""CSV and TSV: cells as the csv module has them, columns found, the same from kernel and definition, and what is wrong."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading_files import outcome, outcome_of_chunks, read

from rosenblatt.data.readers.cells import records, sniff
from rosenblatt.data.readers.delimited import read_delimited
from rosenblatt.data.readers.layout import LABEL_ADVICE
from rosenblatt.data.readers.sources import Source
from rosenblatt.kernels.compile import COMPILED

often = settings(deadline=None, max_examples=100 if COMPILED else 50, suppress_health_check=[HealthCheck.too_slow])
UTF8 = "name its encoding, such as --encoding windows-1252"
both = pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "definition"])

words = st.text(st.sampled_from("abé, \";\n\t'#1.?"), max_size=8)


@often
@given(st.lists(st.lists(words, min_size=2, max_size=4), min_size=1, max_size=6), st.sampled_from([",", ";"]))
def test_cells_are_those_of_the_csv_module(rows: list[list[str]], delimiter: str) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    found = [[cell.decode() for cell in cells] for _, cells, _ in records(stream.getvalue().encode(), delimiter.encode())]
    assert found == rows


numbers = st.sampled_from(["0", "1", "-1.5", "2.25e-3", "1e30", "0.1234567890123456789012", " 7 ", '"8"', "5."])
labels = st.sampled_from(["yes", "no", ' "may,be"', "é"])
odd = st.sampled_from(["", "?", "x", "nan", "1e400", '"', '"a"b', "a,b", "\xa0", "NA", '"1\n2"', '" 3 "', '"say ""hi"""'])


@st.composite
def tables(draw: Any, wrong: int = 0, delimiter: str = ",") -> bytes:
    width, n = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    rows = [[*(draw(numbers) for _ in range(width)), draw(labels)] for _ in range(n)]
    for _ in range(draw(st.integers(0, wrong))):
        row = rows[draw(st.integers(0, n - 1))]
        row[draw(st.integers(0, len(row) - 1))] = draw(odd)
    if wrong and draw(st.booleans()):
        rows[draw(st.integers(0, n - 1))].append("1")
    if draw(st.booleans()):
        rows.insert(0, [f"name {c}" for c in range(width + 1)])
    end = draw(st.sampled_from(["\n", "\r\n", " \n", "\n\n"]))
    text = end.join(delimiter.join(row) for row in rows)
    return (text + draw(st.sampled_from(["", end]))).encode()


@st.composite
def damaged(draw: Any) -> bytes:
    content = draw(tables(2))
    at, length = draw(st.integers(0, len(content))), draw(st.integers(0, 3))
    return (
        content[:at] + draw(st.binary(max_size=3) | st.sampled_from([b'"', b",", b"\n", b"\0", b"\r"])) + content[at + length :]
    )


anything = tables(3) | tables(3, " ") | tables(3, "\t") | tables(3, ";") | damaged() | st.binary(max_size=40)


@often
@given(anything, st.sampled_from(["refuse", "mean"]), st.sampled_from([None, "-1", "0"]))
def test_kernel_and_definition_agree_on_whatever_comes(content: bytes, missing: str, label: str | None) -> None:
    by_kernel, by_definition = (outcome("csv", content, kernel, missing=missing, label=label) for kernel in (True, False))
    assert by_kernel == by_definition


@often
@given(anything, st.integers(1, 60), st.booleans(), st.sampled_from(["refuse", "mean"]))
def test_chunks_are_the_whole(content: bytes, size: int, kernel: bool, missing: str) -> None:
    options: dict[str, Any] = {"missing": missing, "label": "-1"}
    assert outcome_of_chunks("csv", content, kernel, size, **options) == outcome("csv", content, kernel, **options)


@both
@pytest.mark.parametrize(
    ("header", "label"),
    [
        ("x,y,species", "species"), ("X,Y,species", "species"), ("x,y,category", "category"), ("x,y,class", "class"),
        ("y,x,species", "species"), ("a,y,b", "y"), ("x1,x2,y", "y"), ("species,x,y", "species"),
    ],
)  # fmt: skip
def test_y_beside_x_is_a_coordinate(kernel: bool, header: str, label: str) -> None:
    cells = {"species": "uvuv", "category": "uvuv", "class": "uvuv"}
    names = header.split(",")
    numbers = {name: [f"{at}.{5 + row}" for row in range(4)] for at, name in enumerate(names)}
    rows = [",".join(cells[name][row] if name in cells else numbers[name][row] for name in names) for row in range(4)]
    data = read("csv", "\n".join([header, *rows]).encode(), kernel)
    assert (data.label_name, data.headers) == (label, tuple(names))
    assert data.features.names == tuple(name for name in names if name != label)


@both
def test_y_is_the_label_where_there_is_only_x_beside_it(kernel: bool) -> None:
    assert read("csv", b"x,y\n1,0\n2,1\n", kernel).label_name == "y"
    assert read("csv", b"x,y,n\n1,0,5\n2,1,6\n", kernel, ignore=("n",)).label_name == "y"


@both
def test_numbers_text_and_labels(kernel: bool) -> None:
    data = read("csv", b'age, job ,label\n39, State-gov, 1\n50,"a, b\n""c""",0\n\n .5 ,x,1', kernel)
    assert data.features.names == ("age", "job")
    age, job = data.features.columns
    assert age.tolist() == [39, 50, 0.5]
    assert job.tolist() == ["State-gov", 'a, b\n"c"', "x"]
    assert data.labels.tolist() == ["1", "0", "1"]
    assert (data.label_name, data.labels.dtype) == ("label", object)
    assert data.note == "label column: label (by its name; change with --label); header found"


@both
@pytest.mark.parametrize(
    ("content", "label", "names"),
    [
        (b"1,2,a\n3,4,b\n5,6,a\n", "column 2", ("column 0", "column 1")),  # the last, which looks like labels
        (b"a,1.5\nb,2.5\na,3.5\n", "column 0", ("column 1",)),  # else the first
        (b"x,Target,z\n1,2,3\n4,5,6\n", "Target", ("x", "z")),  # a usual name, in any case
        (b"y,label,x\n1,2,3\n4,5,6\n", "label", ("y", "x")),  # the most usual
        (b"text,kind\nhello,a\nthere,b\nyou,a\nall,b\n", "kind", ("text",)),  # no numbers, but kind is new over a and b
        (b"ham\thello\nspam\tbuy, now\nham\tbye\n", "column 0", ("column 1",)),
        (b"1 2  a\n3   4\tb\n", "column 2", ("column 0", "column 1")),
        (b"1;2,5;a\n3;4,5;b\n", "column 2", ("column 0", "column 1")),
    ],
)
def test_what_is_found(content: bytes, label: str, names: tuple[str, ...], kernel: bool) -> None:
    data = read("csv", content, kernel)
    assert (data.label_name, data.features.names) == (label, names)


@both
def test_columns_are_given_by_name_or_position(kernel: bool) -> None:
    content = b"id,a,b,c\n1,2,u,5\n2,4,v,6\n3,4,v,6\n"
    by_name = read("csv", content, kernel, label="a", ignore=("id",))
    by_position = read("csv", content, kernel, label="1", ignore=("0",))
    from_the_end = read("csv", content, kernel, label="-3", ignore=("-4",))
    for data in (by_name, by_position, from_the_end):
        assert (data.label_name, data.features.names) == ("a", ("b", "c"))
        assert data.labels.tolist() == ["2", "4", "4"]
    data = read("csv", content, kernel, label="a", categorical=("c",), text=("b",), header=True)
    assert [column.dtype.kind for column in data.features.columns] == ["f", "O", "O"]
    assert data.features.columns[2].tolist() == ["5", "6", "6"]
    assert read("csv", b"1,2\n3,4\n", kernel, label="1", header=True).features.names == ("2",)
    assert read("csv", b"a,b\nc,d\ne,b\n", kernel, label="1", header=False).n_rows == 3


@both
def test_a_given_label_name_is_in_the_first_line(kernel: bool) -> None:
    content = b"text,kind\nhello,a\nthere,b\nyou,c\n"
    assert read("csv", content, kernel, label="1").n_rows == 4
    assert read("csv", content, kernel, label="kind").n_rows == 3
    assert read("csv", content, kernel, label="-1", text=("text",)).features.names == ("text",)


@both
def test_the_record_after_a_header_may_be_longer_than_the_first_block(kernel: bool) -> None:
    content = b'text,label\n"' + b"many words\n" * 200_000 + b'",u\nfew,v\nfew,u\n'
    data = read("csv", content, kernel)
    assert (data.features.names, data.labels.tolist()) == (("text",), ["u", "v", "u"])


@both
def test_missing(kernel: bool) -> None:
    content = b"a,b,label\n1,u,0\n,v,1\n3,?,0\nNA,w,1\n"
    data = read("csv", content, kernel, missing="mean")
    assert np.isnan(data.features.columns[0]).tolist() == [False, True, False, True]
    assert data.features.columns[1].tolist() == ["u", "v", None, "w"]
    message = outcome("csv", content, kernel)
    assert message.startswith("file, line 3, column a: the value is missing; use --missing auto to fill missing cells")
    tokens = ["?", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NULL", "null", "None", "-", "--", ".", "–"]  # noqa: RUF001
    rows = "".join(f"{token},{token},{k}\n" for k, token in enumerate(tokens))
    model: dict[str, Any] = {"missing": "auto", "label": "label", "numeric": ("a",), "required": ("a", "b")}
    found = read("csv", f"a,b,label\n3,u,x\n4,v,y\n{rows}".encode(), kernel, **model)
    assert np.isnan(found.features.columns[0]).tolist() == [False, False] + [True] * len(tokens)
    assert found.features.columns[1].tolist() == ["u", "v"] + [None] * len(tokens)
    free = read("csv", b"text,label\n,0\nNA,1\nx,0\n", kernel, text=("text",))
    assert free.features.columns[0].tolist() == ["", "NA", "x"]


@both
def test_signs_and_labels_are_not_missing(kernel: bool) -> None:
    """A dash is missing in a categorical column, but not beside a plus sign, nor as a label or a category of a model."""
    content = b"strand,kind,label\n+,u,-\n-,-,+\n.,v,-\n+,u,+\n"
    data = read("csv", content, kernel, missing="mean")
    assert [column.tolist() for column in data.features.columns] == [["+", "-", ".", "+"], ["u", None, "v", "u"]]
    assert data.labels.tolist() == ["-", "+", "-", "+"]
    model: dict[str, Any] = {"required": ("strand", "kind"), "missing": "mean", "categorical": ("strand", "kind")}
    one = read("csv", b"strand,kind\n-,-\n", kernel, **model, values={"strand": ("+", "-")})
    assert [column.tolist() for column in one.features.columns] == [["-"], [None]]


@both
def test_for_a_model(kernel: bool) -> None:
    required: dict[str, Any] = {"required": ("b", "a"), "label": "kind"}
    without = read("csv", b"a,b\n1,2\n3,4\n", kernel, **required)
    assert (without.features.names, without.labels, without.label_name) == (("b", "a"), None, None)
    assert without.features.columns[0].tolist() == [2, 4]
    with_labels = read("csv", b"z,kind,a,b\nq,u,1,2\nq,v,3,4\n", kernel, **required)
    assert (with_labels.features.names, with_labels.labels.tolist()) == (("b", "a"), ["u", "v"])
    assert read("csv", b"1,2\n3,4\n", kernel, **required).features.columns[1].tolist() == [2, 4]  # without names: in order
    message = "file: missing column required by the model: b (columns: a, c)"
    assert outcome("csv", b"a,c\n1,2\n3,4\n", kernel, **required) == message
    message = "file: the model requires 2 columns; the file has 3 and no header"
    assert outcome("csv", b"1,2,3\n3,4,5\n", kernel, **required) == message
    last: dict[str, Any] = {"required": ("column 0", "column 1"), "label": "column 2"}
    assert read("csv", b"1,2,x\n3,4,y\n", kernel, **last).labels.tolist() == ["x", "y"]
    assert read("csv", b"1,2\n3,4\n", kernel, **last).labels is None


NOT_NUMERIC = (
    "line {}, column {}: '{}' is not a number, but the column is numeric; leave the cell empty if its value is "
    "missing, or use --categorical '{}' or --ignore '{}'"
)
LABEL_UNKNOWN = (
    "cannot tell which column is the label; use --label with its name or its position from 0 (columns: 'column 0', 'column 1')"
)
ROWS = b"a,b,label\n" + b"1,u,0\n" * 200  # what the columns are is settled
WRONG: dict[bytes, str] = {
    ROWS + b"1,u\n": "line 202: the row has 2 cells instead of 3",
    ROWS + b"\n1,u,0,9\n": "line 203: the row has 4 cells instead of 3",
    ROWS + b"x,u,0\n": NOT_NUMERIC.format(202, "a", "x", "a", "a"),
    ROWS + b"1e400,u,0\n": "line 202, column a: '1e400' is not finite; leave the cell empty if its value is missing",
    ROWS + b"-Infinity,u,0\n": "line 202, column a: '-Infinity' is not finite; leave the cell empty if its value is missing",
    ROWS + b"1,u,\n": "line 202, column label: the label is missing; " + LABEL_ADVICE,
    ROWS + b'1,"u,0\n1,u,0\n': "line 202: a quote is not closed",
    ROWS + b'1,"u"x,0\n': "line 202, character 6: unexpected text after a closing quote",
    ROWS + b"1,\xff,0\n": f"line 202, column b: the cell is not UTF-8; {UTF8}",
    ROWS + b"x,u,0\n1\n": NOT_NUMERIC.format(202, "a", "x", "a", "a"),
    b"a,b,label\n1,2,3\nx,y,z,w\n": "line 3: the row has 4 cells instead of 3",
    b"a,b,label\n1,2\n": "line 2: the row has 2 cells instead of 3",
    b"1,x\n2,y\nz,x\n3,y\n": NOT_NUMERIC.format(3, "0", "z", "column 0", "column 0"),
}


@both
@pytest.mark.parametrize("content", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_and_where(content: bytes, kernel: bool) -> None:
    assert outcome("csv", content, kernel) == f"file, {WRONG[content]}"


@both
@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, "the file has no rows"),
        (b"\n \n\r\n", {}, "the file has no rows"),
        (b"a,b\n", {"header": True}, "the file has a header but no rows; if its only line is a row, use --no-header"),
        (b"age,label\n", {}, "the file has a header but no rows; if its only line is a row, use --no-header"),
        (b"age,churn\n", {}, "the file has a header but no rows; if its only line is a row, use --no-header"),
        (b"age,churn\n", {"label": "churn"}, "the file has a header but no rows; if its only line is a row, use --no-header"),
        (b"1,2\n3,4\n", {"label": "price"}, "there is no column 'price' of labels; columns: column 0, column 1"),
        (b"1,2\n3,4\n", {"label": "2"}, "there is no column '2' of labels; columns: column 0, column 1"),
        (b"1,2\n3,4\n", {"ignore": ("-3",)}, "there is no column '-3' to ignore; columns: column 0, column 1"),
        (b"1.5,2.5\n3.5,4.5\n", {}, LABEL_UNKNOWN),
        (b"1\n0\n1\n", {"label": "0"}, "there is no column besides the label"),
        (b"a,a,b\n1,2,3\n1,2,3\n", {}, "two columns are named 'a'; rename one"),
    ],
)
def test_tables_that_make_no_sense(content: bytes, options: dict[str, Any], message: str, kernel: bool) -> None:
    assert outcome("csv", content, kernel, **options).endswith(f": {message}")


def test_many_columns_are_not_all_listed() -> None:
    content = b",".join(b"%d" % k for k in range(50)) + b"\n"
    assert outcome("csv", content * 2, False, label="x").endswith("column 4, column 5 and 44 more")


@both
def test_quotes_between_tabs_are_characters_unless_they_are_a_pair(kernel: bool) -> None:
    content = b'ham\t"hello" she said\nspam\t"open\nham\t"a pair, ""x"""\nspam\tx "y"\n'
    data = read("csv", content, kernel, name="sms.tsv")
    assert data.features.columns[0].tolist()[:4] == ['"hello" she said', '"open', 'a pair, "x"', 'x "y"']


@both
def test_a_remark_before_the_rows(kernel: bool) -> None:
    assert read("csv", b"|1x3 Cross validator\n1,2,a\n3,4,b\n", kernel).n_rows == 2


@both
def test_a_record_longer_than_a_block(kernel: bool) -> None:
    content = b"".join(b'%d,"%s",x\n' % (k, b"line\n" * 100) for k in range(20))
    whole = outcome("csv", content, kernel)
    assert len(whole["labels"]) == 20
    assert outcome_of_chunks("csv", content, kernel, 7) == whole


@both
def test_quotes_in_the_first_record(kernel: bool) -> None:
    assert outcome("csv", b'"a,b\n1,2\n', kernel) == "file, line 1: a quote is not closed"
    assert outcome("csv", b'"a"b,c\n1,2\n', kernel) == "file, line 1, character 4: unexpected text after a closing quote"
    long = b'"' + b"line\n" * 250_000 + b'",x\n'  # more than is looked at to see what the columns are
    assert read("csv", long + b"a,x\nb,y\n", kernel and COMPILED, label="1", header=False).n_rows == 3
    unclosed = ROWS + b'1,"u\n' + b"1,u,0\n" * 5
    assert outcome_of_chunks("csv", unclosed, kernel, 7) == "file, line 202: a quote is not closed"


@both
def test_many_cells_that_are_not_plain_numbers(kernel: bool) -> None:
    """More than a kernel can leave to Python at a time."""
    rows = ["1,2"] * 200 + ["NA,0"] * 5000 + [f"{'3' * 30},1"] * 100
    data = read("csv", "\n".join(rows).encode(), kernel, missing="mean", label="1", header=False)
    assert int(np.isnan(data.features.columns[0]).sum()) == 5000
    assert data.features.columns[0][-1] == float("3" * 30)


@both
def test_text_with_few_and_with_many_different_cells(kernel: bool) -> None:
    """More distinct cells than a kernel can distinguish, and long ones that differ at the end."""
    n = 1500
    rows = [(f"t{k}", f"{'z' * 50}{k % 7}", f'"q""{k % 3}"', k % 2) for k in range(n)]
    content = "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows).encode()
    data = read("csv", content, kernel)
    assert data.features.columns[0].tolist() == [row[0] for row in rows]
    assert data.features.columns[1].tolist() == [row[1] for row in rows]
    assert data.features.columns[2].tolist() == [f'q"{k % 3}' for k in range(n)]


def test_the_delimiter() -> None:
    assert sniff(b"a,b c\nd,e f\n", "csv") == b","
    assert sniff(b"a;b,5\nc;d,6\n", "csv") == b";"
    assert sniff(b"a,b\tc\n", "tsv") == b"\t"
    assert sniff(b"a\tb, c, d\ne\tf\n", "") == b"\t"
    assert sniff(b"1 2 3\n4 5 6\n", "data") == b" "
    assert sniff(b"one\ntwo\n", "csv") == b","
    assert sniff(b"a|b|label\n1|2|x\n", "csv") == b"|"
    assert sniff(b"name | b | label\nNew York | 2 | x\n", "csv") == b"|"
    assert sniff(b"name|b|label\nDoe, J|2|x\nRoe, R|3|y\n", "csv") == b"|"
    assert sniff(b"a|b|c|d,x\ne|f|g|h,y\n", "csv") == b",", "other delimiters come first"
    assert sniff(b"a|b|c;x\ne|f|g;y\n", "csv") == b";"
    assert sniff(b"a|b|c\tx\ne|f|g\ty\n", "csv") == b"\t"


@both
def test_pipes_separate_cells_and_may_stand_at_the_beginning_of_a_comment(kernel):
    data = read("csv", b"a|b|label\n1|2|x\n3|4|y\n", kernel)
    assert (data.features.names, data.n_rows) == (("a", "b"), 2)
    data = read("csv", b"|a|label\nu|2|x\nu|3|y\n", kernel)
    assert data.features.names == ("column 0", "a")
    data = read("csv", b"|1x3 Cross validator\n1,2,x\n3,4,y\n1,2,x\n3,4,y\n", kernel)
    assert (data.n_rows, data.features.shape) == (4, (4, 2))


LINES_ABOVE = "the line has 1 cell, the rows below have 3; if it is a title or a comment, use --skip-lines"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"# by hand\na,b,label\n1,2,x\n3,4,y\n", f"line 1: {LINES_ABOVE} 1"),
        (b"\nThe title\nand more\na,b,label\n1,2,x\n3,4,y\n", f"line 2: {LINES_ABOVE} 3"),
        (b"1,2\n1,2,x\n", "line 2: the row has 3 cells instead of 2"),
        ("a,größe,label\n1,2,x\n3,4,ü\n".encode("latin-1"), f"line 1: the name of column 1 is not UTF-8; {UTF8}"),
        ("a,b,label\n1,2,x\n3,4,ü\n".encode("latin-1"), f"line 3, column label: the cell is not UTF-8; {UTF8}"),
        (b"label\nx\ny\n", "the lines have one cell; the cells of a row must be separated by commas, semicolons, tabs"),
    ],
)  # fmt: skip
@both
def test_lines_above_the_rows_and_other_encodings_are_named(text, sentence, kernel):
    assert f"file{': ' if sentence.startswith('the lines') else ', '}{sentence}" in outcome("csv", text, kernel)


@both
def test_a_separator_that_the_file_does_not_have_is_named(kernel):
    assert "the lines have no '|', which --sep names; leave out --sep" in outcome(
        "csv", b"a,label\n1,x\n2,y\n", kernel, sep="|"
    )


@pytest.mark.parametrize("text", [b"a,b,label,\n1,2,x,\n3,4,y,\n5,6,x,\n", b"1,2,x,\n3,4,y,\n5,6,x,\n7,8,y,\n"])
def test_a_delimiter_at_the_end_of_every_line_makes_no_column(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_bytes(text)
    with Source(path) as source:
        data = read_delimited(source)
    assert len(data.features.names) == 2
    assert set(data.labels) == {"x", "y"}
