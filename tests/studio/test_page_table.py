"""Files become tables that the page can show, and hostile ones a sentence."""

from __future__ import annotations

import gzip
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playback import numbers
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from effort import in_time
from rosenblatt.data.table import DataError
from rosenblatt.studio.page_table import table_of_bytes, table_of_data
from rosenblatt.studio.projection import principal_components
from rosenblatt.studio.run_request import RequestError

CSV = b"length,width,color,label\n1,2,red,a\n3,,blue,b\n5,6,red,a\n2,2,red,b\n"


def csv_of(columns: dict[str, Any]) -> bytes:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines).encode()


def obeys(table: dict[str, Any]) -> None:
    """What the page relies on."""
    json.dumps(table, allow_nan=False)
    n = table["shown"]
    assert 0 < n <= min(2000, table["rows"])
    assert 1 <= len(table["columns"]) <= 50
    assert len(table["components"]) == 2
    for column in (*table["columns"], *table["components"]):
        values = numbers(column["values"])
        assert len(values) == n
        assert np.isfinite(values).all()
        assert column["name"]
    assert len(table["labels"]) == n
    assert 2 <= len(table["names"]) <= 6
    assert set(table["labels"]) <= set(range(len(table["names"])))
    assert table["note"] is None or table["note"].endswith(".")


def test_a_csv_gives_its_numbers_and_lists_what_it_left_out() -> None:
    table = table_of_bytes("flowers.csv", CSV)
    obeys(table)
    assert table["name"] == "flowers.csv"
    assert table["rows"] == table["shown"] == 4
    assert [column["name"] for column in table["columns"]] == ["length", "width"]
    assert numbers(table["columns"][1]["values"]).tolist() == [2.0, 10 / 3, 6.0, 2.0]
    assert table["labels"] == [0, 1, 0, 1]
    assert table["names"] == ["a", "b"]
    assert "1 of 3 columns" in table["note"]
    assert "missing" in table["note"]
    assert table_of_bytes("flowers.csv.gz", gzip.compress(CSV)) == table | {"name": "flowers.csv.gz"}


def test_the_label_column_is_reported_and_may_be_given() -> None:
    content = csv_of({"x": [1, 2, 3, 4], "y": [0, 1, 0, 1], "kind": ["a", "b", "b", "a"], "size": [5, 6, 5, 6]})
    table = table_of_bytes("some.csv", content, "kind")
    obeys(table)
    assert (table["label"], table["names"]) == ("kind", ["a", "b"])
    assert table["headers"] == ["x", "y", "kind", "size"]
    for column in ("size", "3", "-1"):
        other = table_of_bytes("some.csv", content, column)
        assert (other["label"], other["names"], other["headers"]) == ("size", ["5", "6"], table["headers"])
    found = table_of_bytes("some.jsonl", b'{"x": 1, "y": 2, "kind": "a"}\n{"x": 2, "y": 3, "kind": "b"}\n', "2")
    assert (found["label"], found["headers"]) == ("kind", ["x", "y", "kind"])
    unnamed = table_of_bytes("some.csv", b"1,2,a\n2,3,b\n4,3,a\n2,2,b\n", "column 2")
    assert (unnamed["label"], unnamed["headers"]) == ("column 2", ["column 0", "column 1", "column 2"])
    assert table_of_bytes("some.svm", b"+1 1:0.5 3:2\n-1 2:1\n+1 1:1 3:1\n")["headers"] == []


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        (None, "cannot tell which column"),
        ("none", "there is no column 'none'"),
        ("p", "at least two classes are needed"),
        ("q", "quantities"),
    ],
)
def test_a_file_that_is_refused_for_its_labels_names_its_columns(label: str | None, sentence: str) -> None:
    n = 400
    content = csv_of({"q": range(n), "p": [1] * n, "r": [at + 0.5 for at in range(n)]})
    with pytest.raises(RequestError, match=sentence) as refused:
        table_of_bytes("some.csv", content, label)
    assert refused.value.headers == ["q", "p", "r"]


def test_of_very_many_columns_some_are_named_and_the_labels() -> None:
    content = csv_of({f"c{at}": [at, 1, 2, 3] for at in range(1500)} | {"label": ["a", "b", "a", "b"]})
    headers = table_of_bytes("wide.csv", content)["headers"]
    assert (len(headers), headers[0], headers[-1]) == (1001, "c0", "label")


def test_svmlight_and_jsonl_are_read_too() -> None:
    table = table_of_bytes("some.svm", b"+1 1:0.5 3:2\n-1 2:1\n+1 1:1 3:1\n")
    obeys(table)
    assert [column["name"] for column in table["columns"]] == ["column 1", "column 2", "column 3"]
    assert numbers(table["columns"][0]["values"]).tolist() == [0.5, 0.0, 1.0]
    assert table["names"] == ["-1", "1"]
    obeys(table_of_bytes("some.jsonl", b'{"x": 1, "y": 2, "label": "a"}\n{"x": 2, "y": 3, "label": "b"}\n'))


def test_a_column_far_out_makes_no_large_table() -> None:
    table = table_of_bytes("far.svm", b"1 1:1 2000000000:3\n-1 2:1\n")
    obeys(table)
    assert len(json.dumps(table)) < 100_000


def test_many_classes_become_the_five_most_frequent_and_the_rest() -> None:
    labels = [name for count, name in enumerate("abcdefgh", 2) for _ in range(count)]
    table = table_of_bytes("many.csv", csv_of({"x": np.arange(len(labels)), "y": np.arange(len(labels)) ** 2, "label": labels}))
    obeys(table)
    assert table["names"] == ["d", "e", "f", "g", "h", "other"]
    assert [table["names"][code] for code in table["labels"]] == [name if name in "defgh" else "other" for name in labels]
    assert table["note"].startswith("Of 8 classes the 5 most frequent are shown")


def test_large_files_are_sampled_by_class() -> None:
    n = 5000
    labels = np.where(np.arange(n) < 4990, "often", "seldom")
    table = table_of_bytes("large.csv", csv_of({"x": np.arange(n), "y": np.arange(n) % 7, "label": labels}))
    obeys(table)
    assert table["rows"] == n
    assert 1900 < table["shown"] <= 2000
    assert 1 <= table["labels"].count(1) < 10
    assert "rows are shown" in table["note"]
    shown = numbers(table["columns"][0]["values"])
    assert (np.diff(shown) > 0).all()
    assert shown[0] == 0


def test_wide_files_list_fifty_columns() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"c{at}": rng.normal(size=30).round(2) for at in range(60)}
    table = table_of_bytes("wide.csv", csv_of({**columns, "label": ["a", "b"] * 15}))
    obeys(table)
    assert len(table["columns"]) == 50
    assert "50 of 60 columns" in table["note"]


@pytest.mark.parametrize("shape", [(40, 5), (5, 40), (30, 1)])
def test_components_are_the_principal_ones(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(1).normal(size=shape) * np.arange(1, shape[1] + 1)
    scores, shares = principal_components(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    k = min(2, *shape)
    expected = PCA(k).fit(Z)
    np.testing.assert_allclose(shares[:k], expected.explained_variance_ratio_, atol=1e-9)
    np.testing.assert_allclose(abs(scores[:, :k]), abs(expected.transform(Z)), atol=1e-6)
    np.testing.assert_array_equal(principal_components(X)[0], scores)
    assert not principal_components(np.ones((4, 3)))[0].any()


def test_examples_and_paths_come_from_the_command_line(tmp_path: Path) -> None:
    table = table_of_data("example:iris")
    obeys(table)
    assert table["names"] == load_iris().target_names.tolist()
    np.testing.assert_array_equal(numbers(table["columns"][2]["values"]), load_iris().data[:, 2])
    obeys(table_of_data("example:digits"))
    path = tmp_path / "flowers.csv"
    path.write_bytes(CSV)
    assert table_of_data(str(path)) == table_of_bytes("flowers.csv", CSV)
    with pytest.raises(DataError, match="file not found"):
        table_of_data(str(tmp_path / "absent.csv"))


def npz() -> bytes:
    room = io.BytesIO()
    np.savez(room, X=np.eye(3))
    return room.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.csv", b"", "the file has no rows"),
        ("a.csv", b"x,y,label\n1,2,a\n3,4,a\n", "all rows have the label 'a'"),
        ("a.csv", b"word,label\nred,a\nblue,b\nred,a\nblue,b\n", "no column of numbers"),
        ("a.csv", csv_of({"x": range(60), "target": [at + 0.5 for at in range(60)]}), "quantities, not classes"),
        ("a.csv", csv_of({"x": range(90), "target": [at * 10 for at in range(90)]}), "quantities, ids or texts, not classes"),
        ("a.csv", csv_of({"u": [0.5, 1.5, 2.5, 3.5], "v": [0.1, 0.2, 0.3, 0.4]}), "cannot tell which column is the label"),
        ("a.csv", b"\x00\x01\x02", "NUL"),
        ("a.csv.gz", b"not gzip", "is not a gzip file"),
        ("a.npz", npz(), "the page does not read"),
        ("a.parquet", b"PAR1....PAR1", "the page does not read"),
        ("a", b"PK\x03\x04", "a: the page does not read zip files: open it with rosenblatt studio a"),
        ("../../etc/a.csv", b"1,2\n3", "a.csv, line 2"),
        ("", b"", "file: the file has no rows"),
        ("a.csv.gz", gzip.compress(b"1,2,a\n" * (12 << 20)), "more than 64 MiB when unpacked"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(name: str, data: bytes, sentence: str) -> None:
    with pytest.raises(RequestError) as refused:
        table_of_bytes(name, data)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "/etc" not in str(refused.value)


@pytest.mark.slow
@settings(max_examples=500)
@given(
    st.sampled_from(["a.csv", "a.tsv", "a.svm", "a.jsonl", "a", "a.gz", "a.npz", "-"]),
    st.binary(max_size=60)
    | st.text(alphabet='0123456789.,:; \n\t"{}[]-+eEnaNxylabel', max_size=80).map(str.encode)
    | st.builds(lambda cut: CSV[:cut], st.integers(0, len(CSV)))
    | st.builds(lambda at, byte: CSV[:at] + bytes([byte]) + CSV[at + 1 :], st.integers(0, len(CSV) - 1), st.integers(0, 255)),
)
def test_any_bytes_are_a_table_or_a_sentence(name: str, data: bytes) -> None:
    try:
        table = table_of_bytes(name, data)
    except RequestError:
        return
    obeys(table)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_very_many_columns_is_refused_at_once_and_for_that_reason(delimiter: str, packed: bool) -> None:
    wide = (delimiter.join(["1"] * 200_000) + "\n").encode() * 2
    name, content = ("wide.csv.gz", gzip.compress(wide)) if packed else ("wide.csv", wide)
    start = time.monotonic()
    with pytest.raises(RequestError, match="200,000 cells or more; the maximum is 5,000 columns"):
        table_of_bytes(name, content)
    assert in_time(time.monotonic() - start, 5)


def test_formatted_numbers_and_dates_are_drawn_and_named() -> None:
    german = table_of_bytes("blumen.csv", b"L;wann;label\n1,5;31.12.2024;a\n2,5;1.1.2024;b\n1,0;3.2.2024;a\n")
    assert [column["name"] for column in german["columns"]] == ["L", "wann"]
    assert "Numbers with decimal comma: 'L'; dates, read as days since 1970: 'wann' (day before month)" in german["note"]
    with pytest.raises(RequestError, match=r"no column of numbers$"):
        table_of_bytes("words.csv", b"x;y;label\nred;a;a\nblue;b;b\nred;a;b\n")


def test_of_very_many_columns_the_number_used_for_the_components_is_shown() -> None:
    rows = "".join(f"{1 if n % 2 else -1} {' '.join(f'{c}:{c % 7 + n}' for c in range(n + 1, 2601, 4))}\n" for n in range(4))
    result = table_of_bytes("wide.svm", rows.encode(), None)
    assert "50 of 2,600 columns are listed; the components are made from 2,000" in result["note"]
    few = "".join(f"{n % 2} {' '.join(f'{c}:{c + n}' for c in range(1, 61))}\n" for n in range(4))
    assert (
        "50 of 60 columns are listed; the components are made from all" in table_of_bytes("few.svm", few.encode(), None)["note"]
    )
