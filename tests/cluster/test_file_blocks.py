"""Blocks of files: together they have the rows of the file, in its order, however it is cut."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from caches import cached

import rosenblatt as rb
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.features import whole_records
from rosenblatt.cluster.file_sources import join, read_part
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import read
from rosenblatt.data.readers.several import Files
from rosenblatt.data.table import Data, DataError, Table

SIZES = (7, 64, 1000, 1 << 20)


def rows_in_blocks(path: Any, block_bytes: int, **options: Any) -> tuple[Data, int]:
    """The rows of all blocks, and the number of blocks with rows."""
    blocks = rb.cluster.read(path, block_bytes=block_bytes, **{"missing": "refuse", **options})
    parts = whole_records(InProcess(), [source.part for source in blocks.sources], blocks.form)
    found = [read_part(part, blocks.form) for part in parts]
    known = [data for data in found if data is not None]
    return join(known), len(known)


def plain(data: Data) -> Any:
    """Rows and labels as lists, which compare bit by bit."""
    features, labels = data.features, None if data.labels is None else data.labels.tolist()
    if isinstance(features, Table):
        return features.names, [column.tolist() for column in features.columns], labels
    rows = features.toarray() if isinstance(features, CSRMatrix) else features
    return rows.tolist(), labels


def check(path: Path, minimum: int = 2, **options: Any) -> None:
    """The blocks of each size have the rows of the whole file; the smallest size gives several."""
    expected = plain(read(path, Options(**options)))
    numbers = []
    for size in SIZES:
        data, number = rows_in_blocks(path, size, **options)
        assert plain(data) == expected, size
        numbers.append(number)
    assert numbers[0] >= minimum
    assert numbers[-1] == 1


def svmlight_text(n: int = 60) -> str:
    rng = np.random.default_rng(0)
    lines = ["# a comment before all rows", ""]
    for at in range(n):
        columns = np.sort(rng.choice(30, rng.integers(0, 6), replace=False)) + 1
        lines.append(f"{rng.choice([-1, 1])} " + " ".join(f"{c}:{rng.normal():.6f}" for c in columns))
        if at % 9 == 0:
            lines += ["", "   ", f"# {at}"]
    return "\n".join(lines) + "\n"


def csv_rows(n: int = 60) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(1)
    return [(f"{rng.normal():.4f}", str(rng.choice(["red", "blue"])), str(rng.choice(["p", "q"]))) for _ in range(n)]


def csv_text(newline: str = "\n", header: bool = True) -> str:
    lines = ["size,color,label"] * header + [",".join(row) for row in csv_rows()]
    return newline.join(lines) + newline


# --- plain text ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [
    lambda text: text,
    lambda text: text.replace(b"\n", b"\r\n"),
    lambda text: text[:-1],
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: text + b"\n\n# the end\n\n",
])  # fmt: skip
def test_svmlight_at_awkward_places(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "rows.svm"
    path.write_bytes(change(svmlight_text().encode()))
    check(path, minimum=20)


@pytest.mark.parametrize("change", [
    lambda text: text,
    lambda text: text.replace(b"\n", b"\r\n"),
    lambda text: text[:-1],
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: text.replace(b"\n", b"\n\n", 20) + b"\n\r\n",
    lambda text: b"sep=,\n" + text,
    lambda text: text.replace(b",", b"\t"),
    lambda text: text.replace(b",", b" "),
    lambda text: text.replace(b"red", "größe".encode("latin-1")),
    lambda text: b"\xff\xfe" + text.decode().encode("utf-16-le"),
])  # fmt: skip
def test_delimited_text_at_awkward_places(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(change(csv_text().encode()))
    check(path, minimum=1 if path.read_bytes().startswith(b"\xff") else 20)


def test_a_file_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(csv_text(header=False))
    check(path, minimum=20)


def test_lines_that_are_skipped_may_have_quotes(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('"a title that is not closed\n\n' + csv_text().replace("red", '"red, or\nnot"'))
    check(path, minimum=10, skip_lines=2)


def test_quoted_cells_with_line_feeds_and_quotes(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    pieces = ["a", ",", "\n", '""', "b c", "\r\n", "x,1.5,p\n"]
    lines = ["text,size,label"]
    for size, _, label in csv_rows(80):
        quoted = "".join(rng.choice(pieces, rng.integers(1, 6)))
        lines.append(f'"{quoted}",{size},{label}' if rng.random() < 0.5 else f'5" pipe,{size},"{label}"')
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n", newline="")
    check(path, minimum=20)


def test_tabs_do_not_need_quotes_to_be_closed(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(csv_text().replace(",", "\t").replace("red", '"red'))
    check(path, minimum=20)


def test_lines_of_json(tmp_path: Path) -> None:
    rows = [
        {"size": float(size), "place": {"x": at, "y": [1, at]}, "color": color if at % 7 else None, "label": label}
        for at, (size, color, label) in enumerate(csv_rows())
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n\n".join(map(json.dumps, rows)))
    check(path, minimum=20, missing="median")
    path.write_text(json.dumps(rows))
    check(path, minimum=1, missing="median")


@pytest.mark.parametrize(("end", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_a_compressed_text_is_one_block(tmp_path: Path, end: str, pack: Any) -> None:
    for name, text in (("rows.csv", csv_text()), ("rows.svm", svmlight_text())):
        path = tmp_path / f"{name}.{end}"
        path.write_bytes(pack(text.encode()))
        check(path, minimum=1)


def test_kernels_and_definitions_give_the_same_blocks(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(csv_text().replace("\n", "\n" + "0.5,red,p\n" * 700))
    expected = plain(read(path))
    data, number = rows_in_blocks(path, 300_000)
    assert number == 2
    assert plain(data) == expected


# --- other formats -------------------------------------------------------------------------------------------------------


def frame() -> Any:
    pa = pytest.importorskip("pyarrow")
    size, color, label = (list(column) for column in zip(*csv_rows(), strict=True))
    columns = {"size": [float(cell) for cell in size], "color": color, "pair": [[at, 2 * at] for at in range(len(size))]}
    return pa.table(columns | {"label": label})


@pytest.mark.parametrize("packed", [False, True])
def test_row_groups_of_parquet(tmp_path: Path, packed: bool) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    pq.write_table(frame(), path, row_group_size=7)
    if packed:
        path = tmp_path / "rows.parquet.gz"
        path.write_bytes(gzip.compress((tmp_path / "rows.parquet").read_bytes()))
    check(path, minimum=1 if packed else 9)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dictionary", [False, True])
def test_batches_of_arrow(tmp_path: Path, stream: bool, dictionary: bool) -> None:
    pa, table = pytest.importorskip("pyarrow"), frame()
    if dictionary:
        table = table.set_column(1, "color", table["color"].dictionary_encode())
    path = tmp_path / "rows.arrow"
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    check(path, minimum=1 if stream else 9)


def test_arrays_are_one_block(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    np.savez(tmp_path / "dense.npz", X=X, y=np.arange(30) % 2)
    sparse = sp.csr_array(np.where(X > 0.5, X, 0.0))
    np.savez(
        tmp_path / "sparse.npz", data=sparse.data, indices=sparse.indices, indptr=sparse.indptr, shape=sparse.shape,
        y=np.arange(30) % 3,
    )  # fmt: skip
    for name in ("dense.npz", "sparse.npz"):
        check(tmp_path / name, minimum=1)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_caches(tmp_path: Path, kind: str, dtype: str) -> None:
    X: Any = np.random.default_rng(0).normal(size=(50, 4)).astype(dtype)
    labels = np.array(["b", "a"])[np.arange(50) % 2]
    cached(tmp_path / "cache", X if kind == "dense" else sp.csr_array(X), labels)
    for size in SIZES:
        data, number = rows_in_blocks(tmp_path / "cache", size)
        assert plain(data) == (X.tolist(), labels.tolist())
        assert number > 10 or size > 64
        assert (data.features.values if isinstance(data.features, CSRMatrix) else data.features).dtype == dtype


def test_archives_and_workbooks_are_one_block(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.writestr("inner.csv", csv_text())
    check(tmp_path / "rows.zip", minimum=1)


# --- several files -------------------------------------------------------------------------------------------------------


def test_blocks_of_several_files_are_the_rows_of_all(tmp_path: Path) -> None:
    """Compressed or not, with or without a header, empty, and with a header alone."""
    lines = csv_text().splitlines(keepends=True)
    header, rows = lines[0], lines[1:]
    (tmp_path / "part-1.csv").write_text(header + "".join(rows[:20]))
    (tmp_path / "part-2.csv").write_text("")
    (tmp_path / "part-3.csv").write_text(header)
    (tmp_path / "part-9.csv.gz").write_bytes(gzip.compress((header + "".join(rows[20:40])).encode()))
    (tmp_path / "part-10.csv").write_text("".join(rows[40:]).rstrip("\n"))
    (tmp_path / "all.csv").write_text(csv_text())
    expected = plain(read(tmp_path / "all.csv"))
    for size in SIZES:
        data, _ = rows_in_blocks(tmp_path / "part-*", size)
        assert plain(data) == expected
    names = [tmp_path / f"part-{at}" for at in ("1.csv", "2.csv", "3.csv", "9.csv.gz", "10.csv")]
    with Files([str(name) for name in names]) as files:
        assert plain(files.read()) == expected


def test_boundaries_depend_on_files_and_bytes_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(csv_text())
    one, other = (rb.cluster.read(path, block_bytes=200) for _ in range(2))
    edges = [(source.part.start, source.part.stop) for source in one.sources]
    assert edges == [(source.part.start, source.part.stop) for source in other.sources]
    assert edges[0][0] == 0
    assert edges[-1][1] == path.stat().st_size
    assert [source.identity for source in one.sources] == [source.identity for source in other.sources]
    path.write_text(csv_text() + "1.0,red,p\n")
    changed = rb.cluster.read(path, block_bytes=200)
    assert {source.identity for source in one.sources}.isdisjoint(source.identity for source in changed.sources)


def test_a_line_longer_than_a_block_is_in_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 " + " ".join(f"{c}:1" for c in range(1, 200)) + "\n-1 3:1\n")
    data, number = rows_in_blocks(path, 50)
    assert plain(data) == plain(read(path))
    assert number == 2


def test_a_place_is_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(csv_text())
    blocks = rb.cluster.read(path, block_bytes=300)
    rows = 0
    for source in blocks.sources:
        data = read_part(source.part, source.form)
        assert data is not None
        last = data.n_rows - 1
        rows += data.n_rows
        assert source.place(last) == (str(path), {"line": rows + 1})
        with pytest.raises(DataError) as caught, source.part.errors():
            raise data.error_at(last, "wrong")
        assert caught.value.line == rows + 1
