"""JSON lines: what a line becomes, and that any bytes give rows or one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outcome import outcome
from reading_files import joined, plain

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import Data, DataError


def write(folder: Path, text: str | bytes) -> str:
    path = folder / "rows.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_numbers_strings_booleans_and_labels(tmp_path):
    path = write(tmp_path, '{"a": 1, "b": "x", "c": true, "label": "yes"}\n\n{"label": "no", "c": false, "b": "y", "a": 2.5}')
    data = read(path)
    assert data.features.names == ("a", "b", "c")
    assert data.label_name == "label"
    assert data.labels.tolist() == ["yes", "no"]
    a, b, c = data.features.columns
    assert (a.tolist(), b.tolist(), c.tolist()) == ([1.0, 2.5], ["x", "y"], [1.0, 0.0])
    assert a.dtype == c.dtype == np.float64


def test_y_beside_x_is_a_coordinate(tmp_path):
    data = read(write(tmp_path, '{"x": 1, "y": 2, "kind": "u"}\n{"x": 2, "y": 3, "kind": "v"}'))
    assert (data.label_name, data.features.names, data.headers) == ("kind", ("x", "y"), ("x", "y", "kind"))


def test_null_and_absent_keys_are_missing(tmp_path):
    path = write(tmp_path, '{"a": 1, "b": "x", "y": 1}\n{"a": null, "y": 0}\n{"a": 3, "b": "z", "y": 1}')
    with pytest.raises(DataError, match=r"rows.jsonl, line 2, column a: the value is missing"):
        read(path)
    a, b = read(path, Options(missing="mean")).features.columns
    assert np.isnan(a[1])
    assert b.tolist() == ["x", None, "z"]


def test_columns_declared_categorical(tmp_path):
    path = write(
        tmp_path, '{"zip": 8001, "mixed": "a", "y": 1}\n{"zip": 8002.5, "mixed": 3, "y": 0}\n{"zip": 1, "mixed": true, "y": 0}'
    )
    data = read(path, Options(categorical=("zip", "mixed")))
    assert [column.tolist() for column in data.features.columns] == [["8001", "8002.5", "1"], ["a", "3", "true"]]


def test_ignored_keys_may_hold_anything(tmp_path):
    path = write(tmp_path, '{"a": 1, "deep": {"x": [1]}, "y": 1}\n{"a": 2, "y": 0, "deep": 4}')
    assert read(path, Options(ignore=("deep",))).features.names == ("a",)


def test_prediction_wants_columns_and_no_labels(tmp_path):
    path = write(tmp_path, '{"new": [1], "b": 2, "a": 1}')
    data = read(path, Options(required=("a", "b"), label="y"))
    assert data.labels is None
    assert read(path, Options(required=("a",), label="1")).labels.tolist() == ["2"]
    assert read(path, Options(required=("a",), label="a")).labels is None
    assert [column.tolist() for column in data.features.columns] == [[1.0], [2.0]]
    with pytest.raises(DataError, match="missing column required by the model: c"):
        read(path, Options(required=("a", "c")))


BAD = {
    "": "the file has no rows",
    "\n\n": "the file has no rows",
    "{": "line 1: the file is truncated",
    '{"a": 1, "y": 0} x': "line 1, character 18: the line is not JSON",
    '{"a": 1, "y": 0}\n{"a" 1}': "line 2, character 6: the line is not JSON",
    "[1, 2]": "line 1: row 1 of the array is not an object such as",
    "3": "line 1: the line is not an object",
    '{"a": 1, "a": 2, "y": 0}': "line 1: the key 'a' is repeated",
    '{"a": NaN, "y": 0}': "line 1, column a: the value is missing",
    '{"a": -Infinity, "y": 0}': "line 1: -Infinity is not a number; write null if the value is missing",
    '{"a": 1e400, "y": 0}': "line 1, column a: the number is too large",
    '{"a": ' + "9" * 5000 + ', "y": 0}': "line 1, column a: the number is too large",
    '{"a": [1], "y": 0}\n{"a": [1, 2], "y": 0}': "line 2, column a: the array has 2 values, but 1 in earlier rows: it can",
    '{"a": [1, [2]], "y": 0}': "line 1, column a: the value is an array of objects or arrays, which has no place in a table",
    '{"a": [{"b": 2}]}': "use --ignore 'a', or if its elements are the rows, write them to a file: jq -c '.a[]' FILE",
    '{"a": {"b": 1}, "y": 0}\n{"a": [1], "y": 0}': "line 2, column a: the value is an object in some rows and an array",
    '{"a": {"b": 1}, "y": 0}\n{"a": 1, "y": 0}': "column a: the value is an object or an array in some rows, and not in others",
    '{"a": {"b": 1}, "a.b": 1, "y": 0}': "line 1: the key 'a.b' is repeated",
    '{"a": {"b": "\\ud800"}, "y": 0}': "line 1: a string contains half of a surrogate pair",
    '[{"a": 1, "y": 0}': "line 1: the array is not closed: the file is truncated, or a ] is missing",
    '[{"a": 1, "y": 0},\n{"a": 1, "y"': "line 2: the file is truncated",
    '[{"a": 1, "y": 0}\n{"a": 1, "y": 0}]': "line 2: a comma is missing between two rows of the array",
    '[{"a": 1, "y": 0},\n{"a": 1 "y": 0}]': "line 2: the text is not JSON: expecting ',' delimiter",
    '[{"a": 1, "y": 0}]\nx': "line 2: unexpected text after the array",
    '[{"a": 1, "y": 0}, 3]': "line 1: row 2 of the array is not an object such as",
    '[{"a": NaN, "y": 0}]': "line 1, column a: the value is missing",
    '[{"a": 1, "y": 0}, ' + '{"a":' * 100_000: "line 1: the value is nested too deeply",
    "[]": "the file has no rows",
    '{"a": ' + "[" * 100_000 + "]" * 100_000 + ', "y": 0}': "line 1: the value is nested too deeply",
    '{"a": "\\ud800", "y": 0}': "line 1: a string contains half of a surrogate pair",
    '{"a": 1, "y": 0}\n{"a": "x", "y": 0}': "line 2, column a: the value is a string, but the column is numeric",
    '{"a": "x", "y": 0}\n{"a": 3, "y": 0}': "line 2, column a: the value is a number, but the column holds strings",
    '{"a": 1, "y": null}': "line 1, column y: the label is missing",
    '{"y": 1}': "there is no column besides the label",
    b'{"a": 1, "y": 0}\n' * 20_000
    + b'{"a": "\xff", "y": 0}': "line 20,001, character 8: the line is not UTF-8; name its encoding",
    b'{"a": 1, "y": 0}\n\x00\x01': "NUL byte",
    '{"a": 0.5, "b": 0.25}': "cannot tell which column is the label; use --label",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: repr(text[:24]))
def test_bad_lines_are_one_sentence(tmp_path, text):
    with pytest.raises(DataError) as error:
        read(write(tmp_path, text))
    assert BAD[text] in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def flat(i: int) -> dict[str, object]:
    return {"id.code": f"c{i}", "id.size.0": i / 4, "id.size.1": i / 7, "id.deep.x": i * 1e-5, "é": i, "y": "ab"[i % 2]}


def nested(i: int) -> dict[str, object]:
    size = [i / 4, i / 7]
    return {"id": {"code": f"c{i}", "size": size, "deep": {"x": i * 1e-5}, "none": {}}, "é": i, "y": "ab"[i % 2]}


LAYOUTS = {
    "lines": lambda rows: "\n".join(map(json.dumps, rows)),
    "array": json.dumps,
    "pretty array": lambda rows: json.dumps(rows, indent=2, ensure_ascii=False),
    "pretty objects": lambda rows: "\n".join(json.dumps(row, indent="\t") for row in rows),
    "BOM": lambda rows: "\ufeff\n " + json.dumps(rows),
}


@pytest.mark.parametrize("block", [7, 1 << 20])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", [flat, nested])
def test_nested_objects_and_arrays_of_rows(tmp_path, monkeypatch, make, layout, block):
    expected = plain(read(write(tmp_path, "\n".join(json.dumps(flat(i)) for i in range(30)))))
    path = write(tmp_path, LAYOUTS[layout]([make(i) for i in range(30)]))
    if layout != "lines":
        monkeypatch.setattr("rosenblatt.data.readers.json_rows.BLOCK_BYTES", block)
    assert plain(read(path)) == expected
    assert joined([plain(part) for part in chunks(path, Options(), 100)]) == expected


def test_a_json_array_is_known_by_its_first_bytes(tmp_path):
    for name in ("rows", "rows.csv", "rows.txt", "rows.json"):
        (tmp_path / name).write_text(json.dumps([nested(i) for i in range(8)], indent=1))
        assert read(tmp_path / name).n_rows == 8


def test_the_line_of_a_row_is_that_of_its_first_character(tmp_path):
    path = write(tmp_path, json.dumps([{"a": 1, "y": 0}, {"a": 2, "y": 0}, {"a": "x", "y": 0}], indent=1))
    with pytest.raises(DataError, match="line 10, column a: the value is a string, but the column is numeric"):
        read(path)


def test_null_in_place_of_an_object_is_missing(tmp_path):
    path = write(tmp_path, '{"a": null, "y": 0}\n{"a": {"b": 1}, "y": 1}\n{"a": null, "y": 1}\n{"y": 0}')
    data = read(path, Options(missing="mean"))
    assert data.features.names == ("a.b",)
    assert np.isnan(data.features.columns[0]).tolist() == [True, False, True, True]
    path = write(tmp_path, '{"a": {"b": 1}, "y": 1}\n' * 1000 + '{"a": 3, "y": 1}')
    with pytest.raises(DataError, match="line 1,001, column a: the value is no object or array, but is one in other rows"):
        list(chunks(path, Options(missing="mean"), 1000))


def test_arrays_of_any_length(tmp_path):
    lines = [f'{{"tags": ["red", "big"], "a": {i}, "y": {i % 2}}}\n{{"tags": [], "a": 3, "y": 0}}' for i in range(4)]
    path = write(tmp_path, "\n".join(lines))
    with pytest.raises(DataError, match=r"column tags: the array has 0 values, .*; use --ignore 'tags', or --text 'tags' if"):
        read(path)
    assert read(path, Options(ignore=("tags",))).features.names == ("a",)
    assert read(path, Options(text=("tags",))).features.columns[0].tolist() == ["red big", ""] * 4


def test_a_model_needs_its_columns_alone(tmp_path):
    path = write(tmp_path, '{"id": {"size": [1, 2]}, "log": [1]}\n{"id": {"size": [3, 4]}, "log": [[1], 2]}')
    data = read(path, Options(required=("id.size.1",), numeric=("id.size.1",)))
    assert data.features.columns[0].tolist() == [2, 4]
    with pytest.raises(DataError, match="missing column required by the model: id"):
        read(path, Options(required=("id",)))


def test_a_new_key_after_the_first_thousand_rows(tmp_path):
    path = write(tmp_path, '{"a": 1, "y": 0}\n' * 1000 + '{"a": 1, "y": 0, "late": 3}\n')
    with pytest.raises(DataError, match=r"line 1,001, column late: the first rows do not have this key"):
        read(path)


def test_bom_and_crlf(tmp_path):
    data = read(write(tmp_path, b'\xef\xbb\xbf{"a": 1, "y": 0}\r\n{"a": 2, "y": 1}\r\n'))
    assert data.features.columns[0].tolist() == [1, 2]


@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_chunks_are_the_same_rows(tmp_path, size):
    rows = [{"a": i / 7, "b": f"word {i}", "y": i % 2} for i in range(40)]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)))
    parts = list(chunks(path, Options(), size))
    whole = read(path)
    for j in range(2):
        assert np.concatenate([part.features.columns[j] for part in parts]).tolist() == whole.features.columns[j].tolist()
    assert np.concatenate([part.labels for part in parts]).tolist() == whole.labels.tolist()
    assert (len(parts) == 40) if size == 1 else True


PIECES = [
    '{"a": 1, "y": 0}',
    '{"a":',
    '"',
    "\\",
    "\\ud800",
    "[",
    "]",
    "{",
    "}",
    "null",
    "1e999",
    ",",
    ":",
    "y",
    "\n",
    "\0",
    "é",
    "true",
    "-",
    '[{"a": 1, "y": {"b": [0]}},',
]


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(PIECES), max_size=12).map(lambda parts: "".join(parts).encode()))
)
def test_any_bytes_give_rows_or_a_sentence(tmp_path_factory, raw):
    data = outcome(tmp_path_factory.getbasetemp() / "junk.jsonl", raw)
    if isinstance(data, Data):
        assert data.n_rows == len(data.labels)
        assert all(np.isfinite(column).all() for column in data.features.columns if column.dtype == np.float64)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.characters(codec="utf-8")).map("x{}".format),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_what_was_written_is_read(tmp_path_factory, rows):
    lines = [json.dumps({"a": a, "b": b, "y": y}, ensure_ascii=len(b) % 2 == 0) for a, b, y in rows]
    data = read(write(tmp_path_factory.getbasetemp(), "\n".join(lines)))
    assert data.features.columns[0].tolist() == [a for a, _, _ in rows]
    assert data.features.columns[1].tolist() == [b for _, b, _ in rows]
    assert data.labels.tolist() == [str(y) for _, _, y in rows]
