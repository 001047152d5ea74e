"""`rb.cluster.read` in a fit: the fit of the same rows in memory, and bad files in one sentence each."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from caches import cached

import rosenblatt as rb
from rosenblatt.cluster.engine import InProcess
from rosenblatt.data.readers.read import read
from rosenblatt.data.table import DataError
from rosenblatt.progress import progress_callback


def numbers(n: int = 120, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(3)
    return X, np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n) > 0, "yes", "no")


def table(X: Any, y: Any, header: str = "a,b,c,label\n") -> str:
    return header + "".join(f"{','.join(map(str, row))},{label}\n" for row, label in zip(X.tolist(), y, strict=True))


def svmlight(X: Any, y: Any) -> str:
    lines = (" ".join(f"{c + 1}:{x}" for c, x in enumerate(row) if x > -1) for row in X.tolist())
    return "".join(f"{2 * (label == 'yes') - 1} {line}\n" for line, label in zip(lines, y, strict=True))


def parts(folder: Path, **more: str) -> str:
    """Three files of a table, of which some are replaced."""
    X, y = numbers()
    for at in range(3):
        rows = slice(40 * at, 40 * at + 40)
        (folder / f"p{at}.csv").write_text(more.get(f"p{at}", table(X[rows], y[rows])))
    return str(folder / "p*.csv")


def fitted(data: Any, engine: InProcess | None = None, **parameters: Any) -> Any:
    return rb.cluster.fit(rb.SoftMargin(loss="logistic", tol=1e-6, random_state=0, **parameters), data, engine)


# --- fits ----------------------------------------------------------------------------------------------------------------


def test_a_fit_of_svmlight_files_is_the_fit_of_their_rows(tmp_path: Path) -> None:
    X, y = numbers()
    for at in range(3):
        (tmp_path / f"p{at}.svm").write_text(svmlight(X[40 * at : 40 * at + 40], y[40 * at : 40 * at + 40]))
    data = rb.cluster.read(tmp_path / "*.svm", block_bytes=300)
    assert data.n_blocks > 6
    assert data.recipe is None
    found = fitted(data)
    (tmp_path / "all.svm").write_text(svmlight(X, y))
    rows = read(tmp_path / "all.svm")
    assert found.classes_.tolist() == [-1, 1]
    assert found.classes_.dtype == np.int64
    expected = rb.SoftMargin(loss="logistic", tol=1e-6, random_state=0).fit(rows.features.to_scipy(), rows.labels.astype(int))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-3, atol=1e-5)
    model = data.model(found)
    assert model.recipe is None
    assert (model.predict(tmp_path / "all.svm") == found.predict(rows.features.to_scipy())).all()


@pytest.mark.parametrize("block_bytes", [400, 10_000])
def test_the_bits_do_not_depend_on_the_engine(tmp_path: Path, block_bytes: int) -> None:
    pattern = parts(tmp_path)
    models = [fitted(rb.cluster.read(pattern, block_bytes=block_bytes), InProcess(jobs)) for jobs in (1, 3)]
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()
    assert models[0].intercept_.tobytes() == models[1].intercept_.tobytes()


def test_caches_are_read_with_the_recipe_that_made_them(tmp_path: Path) -> None:
    from rosenblatt.training.request import Request
    from rosenblatt.training.stream import train_stream

    X, y = numbers()
    (tmp_path / "all.csv").write_text(table(X, y))
    train_stream(Request(str(tmp_path / "all.csv"), holdout=0.0), str(tmp_path / "cache"))
    data = rb.cluster.read(tmp_path / "cache", block_bytes=200)
    assert data.n_blocks > 10
    model = data.model(fitted(data))
    assert data.recipe is not None
    assert data.recipe.names == ("a", "b", "c")
    assert (model.predict(tmp_path / "all.csv") == y).mean() > 0.8


def test_labels_that_late_blocks_have_first(tmp_path: Path) -> None:
    X, y = numbers()
    order = np.argsort(y, kind="stable")
    (tmp_path / "p.csv").write_text(table(X[order], np.where(y[order] == "no", "0", "1")))
    data = rb.cluster.read(tmp_path / "p.csv", block_bytes=300)
    assert fitted(data).classes_.tolist() == [0, 1]
    assert data.classes is not None
    assert data.classes.dtype == np.int64
    assert data.n_rows == 120


def test_empty_files_are_left_out_with_a_note(tmp_path: Path) -> None:
    pattern = parts(tmp_path, p1="", p2="a,b,c,label\n")
    data = rb.cluster.read(pattern)
    assert data.notes == (f"empty files left out: {tmp_path / 'p1.csv'}",)
    assert fitted(data).n_features_in_ == 3
    assert f"files without rows: {tmp_path / 'p2.csv'}" in data.notes
    assert data.n_rows == 40


def test_progress_names_the_blocks(tmp_path: Path) -> None:
    lines: list[str] = []
    with progress_callback(lambda progress: lines.append(str(progress))):
        rb.cluster.read(parts(tmp_path)).learn(InProcess())
    assert lines == [f"learning features: block {at} of 3, {40 * at} rows" for at in (1, 2, 3)]


def test_the_blocks_are_described(tmp_path: Path) -> None:
    data = rb.cluster.read(parts(tmp_path), block_bytes=600)
    assert repr(data) == (
        f"<FileBlocks: {tmp_path / 'p0.csv'} and 2 more files, csv, 6 blocks of 600 bytes, label column 'label'>"
    )
    assert data.label == "label"
    assert data.classes is None
    assert data.n_rows is None


def test_errors_of_workers_can_be_sent(tmp_path: Path) -> None:
    error = DataError("a.csv", "wrong", line=3, column="x", option="--sep", advice="use --sep")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))


# --- bad files -----------------------------------------------------------------------------------------------------------

X0, Y0 = numbers()
GOOD = table(X0[:40], Y0[:40])


def changed_line(line: int, text: str) -> str:
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


SAME = "all files must have the same columns in the same order"
BAD_LINES = [
    (30, "1,x,3,yes", {}, "line 30, column b: 'x' is not a number, but the column is numeric; leave the cell empty if its "
     "value is missing, or use categorical=['b'] or ignore=['b']"),
    (31, "1,nan,3,yes", {"missing": "refuse"}, "line 31, column b: the value is missing; use missing='auto' to fill missing "
     "cells, or ignore to leave the column out"),
    (32, "1,inf,3,yes", {}, "line 32, column b: 'inf' is not finite; leave the cell empty if its value is missing"),
    (33, "1,2,yes", {}, "line 33: the row has 3 cells instead of 4"),
    (34, "1,2,3,", {}, "line 34, column label: the label is missing; delete the rows without a label, or use label for another "
     "column"),
    (1, "a,b,d,label", {}, "line 1: the columns are others than those of FOLDER/p0.csv: a, b, d, label instead of a, b, c, "
     f"label; {SAME}"),
    (1, "b,a,c,label", {}, "line 1: the columns are in another order than those of FOLDER/p0.csv: b, a, c, label instead of "
     f"a, b, c, label; {SAME}"),
    (1, "a,b,label", {}, f"line 1: the line has 3 cells, but FOLDER/p0.csv has 4 columns; {SAME}"),
    (35, '1,"2"x,3,yes', {}, "line 35, character 6: unexpected text after a closing quote"),
    (36, "1,2,3\0,yes", {}, "line 36: the line contains a NUL byte: not a text file; if it is in UTF-16, use encoding "
     "utf-16-le"),
]  # fmt: skip


@pytest.mark.parametrize("block_bytes", [150, 1 << 26])
@pytest.mark.parametrize(("line", "text", "options", "sentence"), BAD_LINES)
def test_a_bad_file_among_others(tmp_path: Path, line: int, text: str, options: Any, sentence: str, block_bytes: int) -> None:
    data = rb.cluster.read(parts(tmp_path, p2=changed_line(line, text)), block_bytes=block_bytes, **options)
    with pytest.raises(DataError) as caught:
        fitted(data)
    assert str(caught.value) == f"{tmp_path}/p2.csv, " + sentence.replace("FOLDER", str(tmp_path))
    assert data.recipe is None


def raises(run: Callable[[], object], sentence: str, folder: Path) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence.replace('FOLDER', str(folder)))}$"):
        run()


def test_bad_numbers_of_svmlight(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text(svmlight(*numbers(60)) + "# a comment\n\n1 1:2 2:nan\n")
    for size in (100, 1 << 20):
        data = rb.cluster.read(path, block_bytes=size)
        raises(
            lambda data=data: fitted(data),  # type: ignore[misc]
            "FOLDER/rows.svm, line 63, character 7: the value of index 2 is 'nan', which is not finite",
            tmp_path,
        )


def test_a_file_that_vanished_or_changed(tmp_path: Path) -> None:
    pattern = parts(tmp_path)
    vanished, changed = rb.cluster.read(pattern), rb.cluster.read(pattern)
    (tmp_path / "p1.csv").write_text(GOOD + "1,2,3,yes\n")
    raises(
        lambda: fitted(changed),
        f"FOLDER/p1.csv: the file was changed after its blocks were laid out: {changed.sources[1].part.size} bytes then, "
        f"{len(GOOD) + 10} now; call read again",
        tmp_path,
    )
    os.remove(tmp_path / "p1.csv")
    raises(
        lambda: fitted(vanished),
        "FOLDER/p1.csv: the file has vanished, or a worker does not see it under this path; put files where all workers read "
        "them",
        tmp_path,
    )


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    pattern = parts(tmp_path)
    (tmp_path / "rows.svm").write_text(svmlight(*numbers()))
    raises(
        lambda: rb.cluster.read([pattern, tmp_path / "rows.svm"]),
        "FOLDER/rows.svm: the file is svmlight, but FOLDER/p0.csv is csv; read files of one format together",
        tmp_path,
    )
    for name, columns in (("one.npz", 3), ("two.npz", 4)):
        np.savez(tmp_path / name, X=np.ones((4, columns)), y=np.arange(4) % 2)
    raises(
        lambda: fitted(rb.cluster.read([tmp_path / "one.npz", tmp_path / "two.npz"])),
        "FOLDER/one.npz has 3 columns, but FOLDER/two.npz has 4: all blocks must have the same columns",
        tmp_path,
    )


def test_parquet_files_with_other_columns(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    labels = ["p", "q"] * 5
    for name, columns in {
        "a": {"x": np.arange(10.0), "y": labels}, "b": {"x": list("abcdefghij"), "y": labels},
        "c": {"y": labels}, "d": {"x": np.arange(10.0), "y": labels, "z": labels},
        "e": {"x": [*range(9), None], "y": labels},
    }.items():  # fmt: skip
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")

    def fit(name: str) -> Any:
        return fitted(rb.cluster.read([tmp_path / "a.parquet", tmp_path / f"{name}.parquet"], label="y", missing="refuse"))

    for name, sentence in {
        "b": "column x: the column holds text, but numbers in FOLDER/a.parquet",
        "c": "column x: the column of FOLDER/a.parquet is missing; all files must have the same columns",
        "d": "column z: the column is not in FOLDER/a.parquet; all files must have the same columns",
        "e": "row 10, column x: the value is missing; use missing='auto' to fill missing cells, or ignore to leave the column "
        "out",
    }.items():
        raises(lambda name=name: fit(name), f"FOLDER/{name}.parquet, {sentence}", tmp_path)  # type: ignore[misc]


def test_labels_that_are_no_classes(tmp_path: Path) -> None:
    X, _y = numbers()
    (tmp_path / "one.csv").write_text(table(X, np.full(120, "yes")))
    raises(
        lambda: fitted(rb.cluster.read(tmp_path / "one.csv")),
        "FOLDER/one.csv: all rows have the label 'yes'; at least two classes are needed",
        tmp_path,
    )
    (tmp_path / "quantities.csv").write_text(table(X, X[:, 0]))
    raises(
        lambda: fitted(rb.cluster.read(tmp_path / "quantities.csv", label="label", block_bytes=500)),
        f"FOLDER/quantities.csv: the labels have {len(np.unique(X[:, 0]))} distinct values: these are quantities, not classes; "
        "use label to name another column, or replace them by a few classes",
        tmp_path,
    )
    np.savez(tmp_path / "rows.npz", X=X)
    raises(
        lambda: fitted(rb.cluster.read(tmp_path / "rows.npz")),
        "FOLDER/rows.npz: no labels to learn from; name the label column with label",
        tmp_path,
    )


def test_a_damaged_cache(tmp_path: Path) -> None:
    X, y = numbers()
    cached(tmp_path / "cache", X, y)
    data = rb.cluster.read(tmp_path / "cache", block_bytes=500)
    values = bytearray((tmp_path / "cache" / "values.bin").read_bytes())
    values[100] ^= 1
    (tmp_path / "cache" / "values.bin").write_bytes(values)
    with pytest.raises(DataError, match=r"cache: the cache is damaged: block 1 of 1 of values\.bin") as caught:
        fitted(data)
    assert str(caught.value).startswith(str(tmp_path / "cache"))


def test_paths_that_name_no_files(tmp_path: Path) -> None:
    read = rb.cluster.read
    raises(lambda: read([]), "there are no files: name files, or use a pattern such as 'parts/*.csv'", tmp_path)
    with pytest.raises(DataError, match=r"\*\.csv: no file matches the pattern; its folder is searched from "):
        read(tmp_path / "*.csv")
    raises(lambda: read(tmp_path / "a.csv"), "FOLDER/a.csv: file not found", tmp_path)
    raises(lambda: read(tmp_path), "FOLDER: is a folder, not a file; use a pattern such as 'FOLDER/*'", tmp_path)
    parts(tmp_path)
    twice = [tmp_path / "p*.csv", tmp_path / "p1.csv"]
    raises(lambda: read(twice), "FOLDER/p1.csv: the file is given twice", tmp_path)
    raises(lambda: read("-"), "-: blocks are read from files, several times; give files", tmp_path)
    (tmp_path / "empty.csv").write_text("")
    raises(lambda: read(tmp_path / "empty.csv"), "FOLDER/empty.csv: the files have no rows: they are empty", tmp_path)
    raises(lambda: read(tmp_path / "p1.csv", block_bytes=0), "block_bytes must be at least 1, got 0", tmp_path)
    data = read(tmp_path / "p1.csv")
    raises(
        lambda: rb.cluster.fit(rb.SoftMargin(random_state=0), data, block_rows=5),
        "block_rows=5 is for arrays: give block_bytes to rb.cluster.read",
        tmp_path,
    )
    raises(
        lambda: data.model(rb.SoftMargin()),
        "the features of these files were not learned yet: call rosenblatt.cluster.fit with them first",
        tmp_path,
    )


def test_options_are_checked_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(GOOD)
    for options, start in (
        ({"scale": "big"}, "scale must be"), ({"missing": "no"}, "missing must be"), ({"degree": 0}, "degree must be"),
        ({"text_features": "letters"}, ""), ({"sep": ",,"}, "sep must be"), ({"label": "lable"}, f"{path}: there is no column"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{re.escape(start)}"):
            rb.cluster.read(path, **options)
