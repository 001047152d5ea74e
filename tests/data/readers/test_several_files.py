"""Several files as one: the rows of the file that they would be together, and errors that name the right one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reading_files import joined, plain

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, digest, read
from rosenblatt.data.readers.several import Files, expand, natural_order
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.table import DataError
from rosenblatt.training.request import Request
from rosenblatt.training.stream import train_stream
from rosenblatt.training.train import train

HEADER = "size,color,when,label\n"


def lines_of(n: int = 300) -> list[str]:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n):
        x = rng.normal()
        label = "yes" if x + 0.5 * rng.normal() > 0 else "no"
        found.append(f"{x:.4f},{rng.choice(['red', 'blue'])},{rng.integers(1, 28):02}.{rng.integers(1, 13):02}.2024,{label}\n")
    return found


def split_table(folder: Path) -> tuple[list[str], str]:
    """Files of a table, and the file that they are together."""
    lines = lines_of()
    (folder / "part-1.csv").write_text(HEADER + "".join(lines[:150]))
    (folder / "part-2.csv").write_text("")
    (folder / "part-3.csv.gz").write_bytes(gzip.compress((HEADER + "".join(lines[150:200])).replace("\n", "\r\n").encode()))
    (folder / "part-4.csv").write_text(HEADER)
    (folder / "part-10.csv").write_bytes(b"\xef\xbb\xbf" + "".join(lines[200:]).rstrip("\n").encode())
    (folder / "all.csv").write_text(HEADER + "".join(lines))
    return expand(folder / "part-*"), str(folder / "all.csv")


@pytest.mark.parametrize("size", [50, 1000, 1 << 20])
def test_the_rows_are_those_of_the_file_together(tmp_path: Path, size: int) -> None:
    paths, whole = split_table(tmp_path)
    assert [Path(path).name for path in paths] == ["part-1.csv", "part-2.csv", "part-3.csv.gz", "part-4.csv", "part-10.csv"]
    with Files(paths) as files:
        found = joined([plain(data) for data in files.chunks(Options(), size)])
        assert files.position == files.size
    assert found == joined([plain(data) for data in chunks(whole, Options(), size)])
    with Files(paths) as files:
        assert plain(files.read()) == plain(read(whole))


def test_sparse_rows_of_several_files(tmp_path: Path) -> None:
    texts = ["1 1:2 3:1\n-1 2:5\n", "# nothing\n", "-1 9:1\n1 1:1\n"]
    for at, text in enumerate(texts):
        (tmp_path / f"{at}.svm").write_text(text)
    (tmp_path / "all.svm").write_text("".join(texts))
    with Files(expand(tmp_path / "[0-9].svm")) as files:
        assert plain(files.read()) == plain(read(tmp_path / "all.svm"))


def test_json_parquet_and_arrays_of_several_files(tmp_path: Path) -> None:
    rows = [{"x": at, "inner": {"c": "ab"[at % 2]}, "label": "pq"[at // 3 % 2]} for at in range(24)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows[:12])))
    (tmp_path / "b.jsonl").write_text(json.dumps(rows[12:]))
    (tmp_path / "all.jsonl").write_text(json.dumps(rows))
    X = np.arange(24.0).reshape(8, 3)
    for name, part in (("a", slice(0, 5)), ("b", slice(5, 8)), ("all", slice(0, 8))):
        np.savez(tmp_path / f"{name}.npz", X=X[part], y=np.arange(8)[part] % 2)
    with Files(expand(tmp_path / "?.jsonl")) as files:
        assert plain(files.read()) == plain(read(tmp_path / "all.jsonl"))
    with Files(expand(tmp_path / "?.npz")) as files:
        data = files.read()
        assert data.features.tolist() == X.tolist()
        assert data.labels.tolist() == (np.arange(8) % 2).tolist()
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": list(range(10)), "c": list("ababababab"), "label": list("ppppqqqqpq")})
    pq.write_table(table.slice(0, 7), tmp_path / "a.parquet")
    pq.write_table(table.slice(7).select(["label", "c", "x"]), tmp_path / "b.parquet")
    pq.write_table(table, tmp_path / "all.parquet")
    with Files(expand(tmp_path / "?.parquet")) as files:
        assert plain(files.read()) == plain(read(tmp_path / "all.parquet"))


def test_the_first_file_decides(tmp_path: Path) -> None:
    """A column of numbers stays numeric, and 3.4.2024 is a day in April, in files where nothing shows it."""
    (tmp_path / "1.csv").write_text("day,x,label\n" + "13.04.2024,5,p\n14.05.2024,6,q\n" * 5)
    (tmp_path / "2.csv").write_text("day,x,label\n03.04.2024,,p\n")
    with Files(expand(tmp_path / "*.csv")) as files:
        data = files.read(Options(missing="auto"))
    days, x = data.features.columns
    assert days[-1] == 19816.0
    assert np.isnan(x[-1])
    assert data.dates == {"day": "date"}


@pytest.mark.parametrize(("second", "sentence"), [
    ("size,color,label\n1,red,yes\n", "line 1: the line has 3 cells, but A has 4 columns; all files must have the same columns "
     "in the same order"),
    ("size,colour,when,label\n1,red,1.1.2024,yes\n", "line 1: the columns are others than those of A: size, colour, when, "
     "label instead of size, color, when, label; all files must have the same columns in the same order"),
    (HEADER + "1,red,1.1.2024,yes\nbig,red,1.1.2024,yes\n", "line 3, column size: 'big' is not a number, but the column is "
     "numeric; leave the cell empty if its value is missing, or use --categorical 'size' or --ignore 'size'"),
    ("x1,red,1.1.2024,yes\n", "line 1: the columns are others than those of A: x1, red, 1.1.2024, yes instead of size, color, "
     "when, label; all files must have the same columns in the same order"),
])  # fmt: skip
def test_errors_name_the_file(tmp_path: Path, second: str, sentence: str) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "".join(lines_of(60)))
    (tmp_path / "b.csv").write_text(second)
    with Files(expand(tmp_path / "*.csv")) as files, pytest.raises(DataError) as caught:
        files.read()
    assert str(caught.value) == f"{tmp_path / 'b.csv'}, {sentence.replace('A', str(tmp_path / 'a.csv'))}"


def test_files_without_rows(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("")
    with Files(expand(tmp_path / "*.csv")) as files, pytest.raises(DataError) as caught:
        files.read()
    assert str(caught.value) == f"{tmp_path / 'a.csv'} and 1 more file: the files have no rows"
    (tmp_path / "b.csv").write_text(HEADER)
    with (
        Files(expand(tmp_path / "*.csv")) as files,
        pytest.raises(DataError, match=r"b\.csv: the file has a header but no rows"),
    ):
        files.read()


def test_stdin_and_examples_are_read_alone() -> None:
    assert expand("-") == ["-"]
    assert expand("example:iris") == ["example:iris"]
    with pytest.raises(DataError, match="stdin: several files are read from disk; give it alone"):
        expand(["-", "a.csv"])
    with Files("example:iris") as files:
        assert files.read().n_rows == 150
        assert files.digest() is None


def test_natural_order() -> None:
    names = ["p10", "p9", "p09b", "q", "P1", "1p", "10p", "2p"]
    assert sorted(names, key=natural_order) == ["1p", "2p", "10p", "P1", "p09b", "p9", "p10", "q"]


def test_the_digest_is_that_of_all_contents(tmp_path: Path) -> None:
    def digests() -> Any:
        with Files([str(tmp_path / "a.svm"), str(tmp_path / "b.svm")]) as files:
            files.read()
            return files.digest()

    (tmp_path / "a.svm").write_text("1 1:2\n")
    (tmp_path / "b.svm").write_text("-1 2:3\n")
    first = digests()
    assert first == digests()
    assert first.file == first.contents
    (tmp_path / "b.svm").write_text("-1 2:4\n")
    assert digests() != first
    with Files(str(tmp_path / "a.svm")) as files, Source(tmp_path / "a.svm") as source:
        files.read()
        read(source)
        assert files.digest() == digest(source)


# --- training ------------------------------------------------------------------------------------------------------------


def test_a_stream_of_several_files_trains_the_model_of_the_file_together(tmp_path: Path) -> None:
    paths, whole = split_table(tmp_path)
    one = train_stream(Request(whole, algorithm="average"))
    several = train_stream(Request(tuple(paths), algorithm="average"))
    assert several.estimator.coef_.tobytes() == one.estimator.coef_.tobytes()
    assert several.recipe == one.recipe
    assert several.rows == one.rows
    assert one.test is not None
    assert several.test is not None
    assert several.test.counts.tolist() == one.test.counts.tolist()
    assert several.provenance["data"] == f"{paths[0]} and 4 more files"
    memory = [train(Request(data, algorithm="perceptron")) for data in (whole, tuple(paths))]
    assert memory[0].estimator.coef_.tobytes() == memory[1].estimator.coef_.tobytes()


def test_a_cache_of_several_files_is_made_again_when_one_changes(tmp_path: Path) -> None:
    paths, _ = split_table(tmp_path)
    request, cache = Request(tuple(paths), algorithm="average"), str(tmp_path / "cache")
    train_stream(request, cache)
    assert any("was used again" in note for note in train_stream(request, cache).notes)
    before = train_stream(request, cache)
    Path(paths[2]).write_bytes(gzip.compress((HEADER + "".join(lines_of(10))).encode()))
    after = train_stream(request, cache)
    assert after.rows < before.rows
    assert not any("was used again" in note for note in after.notes)


def test_a_stream_needs_files() -> None:
    for data, sentence in (
        (("-", "a"), "standard input does not allow"),
        (("a", "example:iris"), "example:iris is made in memory"),
    ):
        with pytest.raises(ValueError, match=sentence):
            train_stream(Request(data))
