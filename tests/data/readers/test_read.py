"""The front door: which format a file has, and the faults that all formats share."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from rosenblatt.data.readers import FORMATS, Options
from rosenblatt.data.readers.layout import looks_like_labels
from rosenblatt.data.readers.read import _readers, chunks, digest, format_of, open_source, read
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.table import DataError

SVMLIGHT, CSV = b"+1 1:0.5 3:2\n-1 2:1\n", b"a,b,label\n1,2,x\n3,4,y\n"
JSONL = b'{"a": 1, "label": "x"}\n{"a": 3, "label": "y"}\n'
FORMS = {
    "a9a": (SVMLIGHT, "svmlight"),
    "a9a.t": (SVMLIGHT, "svmlight"),
    "letter.scale": (SVMLIGHT, "svmlight"),
    "rows.svm": (SVMLIGHT, "svmlight"),
    "rows.LIBSVM": (SVMLIGHT, "svmlight"),
    "rows.txt": (SVMLIGHT, "svmlight"),
    "rows.data": (CSV, "csv"),
    "rows.csv": (CSV, "csv"),
    "rows": (CSV, "csv"),
    "rows.all-data": (CSV, "csv"),
    "rows.tsv": (CSV.replace(b",", b"\t"), "tsv"),
    "rows.jsonl": (JSONL, "jsonl"),
    "rows.ndjson": (JSONL, "jsonl"),
    "rows.json": (JSONL, "jsonl"),
    "zeros": (b"# a comment\n-1\n+1 1:0.5 3:2\n", "svmlight"),
    "long": (b"1 " + b" ".join(b"%d:0.25" % j for j in range(1, 20_000)) + b"\n-1 1:3\n", "svmlight"),
    "bom.dat": (b"\xef\xbb\xbf" + SVMLIGHT, "svmlight"),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
def test_formats_by_name_and_by_first_line(tmp_path, name, ending):
    raw, kind = FORMS[name]
    path = tmp_path / (name + ending)
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[ending](raw))
    with Source(path) as source:
        assert format_of(source, Options()) == kind
    data = read(path)
    assert data.n_rows == 2
    assert len(data.labels) == 2
    with open_source(path) as source:
        assert read(source).n_rows == 2
        assert digest(source) == (hashlib.sha256(path.read_bytes()).hexdigest(), hashlib.sha256(raw).hexdigest())
    assert sum(part.n_rows for part in chunks(path, Options(), 5)) == 2


def test_every_format_has_readers():
    for name in FORMATS:
        assert all(callable(each) for each in _readers(name))


def test_given_options_win_over_detection(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(JSONL)
    assert read(path, Options(format="jsonl")).features.names == ("a",)
    with pytest.raises(DataError, match="format must be one of svmlight, csv"):
        read(path, Options(format="word"))


def test_stdin(monkeypatch):
    for raw in (SVMLIGHT, CSV, JSONL):
        stdin = io.TextIOWrapper(io.BytesIO(raw))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read("-").n_rows == 2


def test_a_source_knows_its_digest(tmp_path):
    (tmp_path / "a9a").write_bytes(SVMLIGHT)
    with Source(tmp_path / "a9a") as source:
        read(source)
        assert source.sha256 == source.contents_sha256 == hashlib.sha256(SVMLIGHT).hexdigest()
        assert digest(source) == (source.sha256, source.sha256)
    np.savez(tmp_path / "x.npz", X=np.eye(3))
    with open_source(tmp_path / "x.npz") as source:
        read(source)
        assert digest(source).file == hashlib.sha256((tmp_path / "x.npz").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "name", ["rows.svm", "rows.csv", "rows.jsonl", "rows.npz", "rows.idx", "rows.parquet", "rows.arrow", "rows"]
)
def test_faults_of_any_file(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(DataError, match="file not found"):
        read(path)
    path.write_bytes(b"")
    with pytest.raises(DataError):
        read(path)
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(DataError) as error:
        read(path)
    assert "\n" not in str(error.value)
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match="directory"):
        read(path)
    zipped = tmp_path / (name + ".gz")
    zipped.write_bytes(gzip.compress(JSONL * 100)[:40])
    with pytest.raises(DataError):
        read(zipped)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("rows.csv", b"", "rows.csv: the file has no rows: it is empty; save or download it again"),
        ("rows.jsonl.gz", gzip.compress(b""), "rows.jsonl.gz: the file has no rows: it is empty; save or download it again"),
        ("rows.csv", b"a,b,label\n", "rows.csv: the file has a header but no rows; if its only line is a row, use --no-header"),
        ("rows.xlsx", CSV, "rows.xlsx: the file is named .xlsx, but is not a workbook; if it is text, use --format csv"),
        ("rows.zip", CSV, "rows.zip: the file is named .zip, but is not a zip archive; if it is text, use --format csv"),
    ],
)
def test_files_without_rows(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    for reading in (read, lambda path: list(chunks(path))):
        with pytest.raises(DataError) as error:
            reading(tmp_path / name)
        assert str(error.value) == f"{tmp_path}/{sentence}"


def test_a_format_that_is_given_is_not_doubted(tmp_path):
    (tmp_path / "rows.xlsx").write_bytes(CSV)
    assert read(tmp_path / "rows.xlsx", Options(format="csv")).n_rows == 2


@pytest.mark.parametrize("url", ["https://example.org/rows.csv", "s3://bucket/rows.parquet", "file:///rows.csv"])
def test_a_url_is_to_be_downloaded(url):
    with pytest.raises(DataError, match=r"is a URL, but data are read from files; download it first: curl -LO '"):
        read(url)


def test_the_label_column_is_detected():
    assert looks_like_labels(np.array(["a", "b", "a", "b"], object))
    assert looks_like_labels(np.array([1.0, 2.0]))
    assert not looks_like_labels(np.array([0.5, 1.0, 1.0, 1.0]))
    assert not looks_like_labels(np.array([1.0, np.nan, 1.0, 1.0]))
    assert not looks_like_labels(np.array(["a", None, "b", "b"], object))
    assert not looks_like_labels(np.arange(10.0))
    assert not looks_like_labels(np.array([], object))


def test_the_label_column_is_found(tmp_path):
    def found(rows):
        path = tmp_path / "rows.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        return read(path).label_name

    assert found([{"Class": 1, "b": 0}, {"Class": 2, "b": 1}]) == "Class"
    assert found([{"y": 1, "b": 0, "target": 4}, {"y": 2, "b": 1, "target": 4}]) == "target"
    assert found([{"a": i / 2, "b": i % 2} for i in range(9)]) == "b"
    assert found([{"a": i % 2, "b": i / 2} for i in range(9)]) == "a"
    with pytest.raises(DataError, match=r"cannot tell which column is the label; use --label .*columns: 'a', 'b'"):
        found([{"a": i / 4, "b": i / 2} for i in range(9)])


def test_a_small_file_needs_numpy_alone(tmp_path):
    """SciPy, Numba, scikit-learn and pyarrow take longer to import than a small prediction should."""
    (tmp_path / "rows.csv").write_text("size,color,words,label\n" + "1,red,the cat sat here,a\n2,blue,the dog sat too,b\n" * 3)
    (tmp_path / "rows.svm").write_bytes(SVMLIGHT)
    code = f"""
import sys
from rosenblatt.data.readers.read import read
from rosenblatt.preprocessing.recipe import Recipe
for name in ("csv", "svm"):
    data = read({str(tmp_path)!r} + "/rows." + name)
    recipe = Recipe.from_parts(*Recipe.learn([data], scale="max").to_parts())
    recipe.rows(data)
heavy = ("scipy", "numba", "sklearn", "pyarrow", "pandas", "rich", "joblib")
sys.exit(" ".join(name for name in sys.modules if name.split(".")[0] in heavy or name.startswith("numpy.random")) or None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_lines_are_left_out_of_delimited_text_only(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n')
    with pytest.raises(DataError, match="--skip-lines is for delimited text, and this file is read as jsonl"):
        read(tmp_path / "rows.jsonl", Options(skip_lines=1))
