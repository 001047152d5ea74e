"""`python -m rosenblatt.certificates.verify certificate.json data`, with the standard library and NumPy alone."""

from __future__ import annotations

import ast
import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import rosenblatt as rb
from rosenblatt.certificates.command import main

PACKAGE = Path(rb.__file__).parent / "certificates"
ALONE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scipy", "sklearn", "numba", "llvmlite", "flint", "joblib", "click", "rich", "pandas"):
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refuse())
import runpy
sys.argv = ["verify", *sys.argv[1:]]
runpy.run_module("rosenblatt.certificates.verify", run_name="__main__", alter_sys=True)
"""
X = np.array([[0.0, 0.1, -3.0], [1e-5, 0.0, 2.0], [4.0, 0.0, 0.0], [0.0, 7.25, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1 / 3]])
Y = np.array([1, -1, 1, -1, 1, -1])
CLASHING = np.array([1, -1, -1, -1, 1, 1])


@pytest.fixture(params=["separable", "inseparable"])
def labels(request: Any) -> Any:
    return Y if request.param == "separable" else CLASHING


def _certificate(folder: Path, X: Any, y: Any) -> str:
    path = folder / "certificate.json"
    rb.save_certificate(rb.certify(X, y), path)
    return str(path)


def _svmlight(path: Path, y: Any, zero_based: bool = False) -> None:
    dump_svmlight_file(X, y, str(path), zero_based=zero_based)


def _unsorted(path: Path, y: Any) -> None:
    lines = []
    for row, label in zip(X.tolist(), y, strict=True):
        entries = [f"{c}:{value!r}" for c, value in enumerate(row, 1) if value or c == 2]
        lines.append(" ".join([f"{label:+d}", *entries[::-1], "# a comment"]))
    path.write_text("# made by hand\n\n" + "\n".join(lines))


def _table(path: Path, y: Any, mark: str = ",", header: str = "", first: bool = False, start: str = "") -> None:
    rows = [[repr(value) for value in row] for row in X.tolist()]
    rows = [[str(label), *row] if first else [*row, str(label)] for row, label in zip(rows, y, strict=True)]
    path.write_text(start + header + "\n".join(mark.join(row) for row in rows) + "\n", encoding="utf-8")


def _sparse_npz(path: Path, y: Any, kind: str) -> None:
    sp.save_npz(path, sp.csr_matrix(X).asformat(kind))
    with np.load(path) as parts:
        np.savez_compressed(path, **dict(parts), y=y)


def _packed(pack: Any) -> Callable[[Path, Any], None]:
    def write(path: Path, y: Any) -> None:
        _table(path, y)
        path.write_bytes(pack.compress(path.read_bytes()))

    return write


FILES: dict[str, tuple[str, Callable[..., None], list[str]]] = {
    "svmlight": ("heart", _svmlight, []),
    "svmlight from 0": ("heart.txt", lambda path, y: _svmlight(path, y, True), []),
    "svmlight by hand": ("heart.svm", _unsorted, []),
    "csv": ("d.csv", _table, []),
    "csv, a header": ("d.csv", lambda path, y: _table(path, y, header="one,two,three,label\n"), []),
    "csv, labels first": ("d.csv", lambda path, y: _table(path, y, first=True), ["--label", "first"]),
    "csv, labels by number": ("d.csv", lambda path, y: _table(path, y), ["--label", "3"]),
    "csv, a mark at its start": ("d.csv", lambda path, y: _table(path, y, start="\ufeff"), []),
    "semicolons": ("d.csv", lambda path, y: _table(path, y, mark=";"), []),
    "comma and space": ("d.csv", lambda path, y: _table(path, y, mark=", "), []),
    "tsv": ("d.tsv", lambda path, y: _table(path, y, mark="\t"), []),
    "spaces": ("d.data", lambda path, y: _table(path, y, mark=" "), []),
    "npz": ("d.npz", lambda path, y: np.savez(path, X=X, y=y), []),
    "csr": ("d.npz", lambda path, y: _sparse_npz(path, y, "csr"), []),
    "csc": ("d.npz", lambda path, y: _sparse_npz(path, y, "csc"), []),
    "gz": ("d.csv.gz", _packed(gzip), []),
    "bz2": ("d.csv.bz2", _packed(bz2), []),
    "xz": ("d.csv.xz", _packed(lzma), []),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_of_file(kind: str, labels: Any, tmp_path: Path, capsys: Any) -> None:
    name, write, options = FILES[kind]
    certificate = _certificate(tmp_path, X, labels)
    write(tmp_path / name, labels)
    assert main([certificate, str(tmp_path / name), *options]) == 0, capsys.readouterr()
    assert capsys.readouterr().out.startswith("the certificate holds: the rows are")
    other = labels.copy()
    other[:2] = other[1::-1]
    write(tmp_path / name, other)
    assert main([certificate, str(tmp_path / name), *options]) == 1
    assert capsys.readouterr().out.startswith("rejected: the certificate is for other data")


def test_names_as_labels(tmp_path: Path) -> None:
    names = np.array(["yes" if label > 0 else "no" for label in Y])
    _table(tmp_path / "d.csv", names)
    assert main([_certificate(tmp_path, X, names), str(tmp_path / "d.csv")]) == 0


def _array() -> bytes:
    file = io.BytesIO()
    np.save(file, X)
    return file.getvalue()


BAD: dict[str, tuple[str, bytes]] = {
    "nothing": ("d.csv", b""),
    "blank": ("d.csv", b"\n\n# nothing\n"),
    "words": ("d.csv", b"1,2,3,0\n1,two,3,1\n"),
    "ragged": ("d.csv", b"1,2,3,0\n1,2,1\n"),
    "NUL": ("d.csv", b"1,2,3,0\n1,2\0,3,1\n"),
    "not text": ("d.csv", bytes(range(128, 256))),
    "a quote that never ends": ("d.csv", b'1,2,3,"' + b"a" * 200_000 + b"\n"),
    "a column twice": ("d", b"1 1:2 1:3\n-1 1:4\n"),
    "a column too far": ("d", b"1 4:2\n-1 1:4\n"),
    "a column much too far": ("d", b"1 1:2 99999999999999999999999:2\n-1 1:4\n"),
    "a negative column": ("d", b"1 1:2 -1:2\n-1 1:4\n"),
    "half an entry": ("d", b"1 1:2 2:\n-1 1:4\n"),
    "not gz": ("d.csv.gz", b"1,2,3,0\n"),
    "cut off gz": ("d.csv.gz", gzip.compress(os.urandom(2000))[:900]),
    "damaged gz": ("d.csv.gz", gzip.compress(b"1,2,3,0\n" * 100)[:30] + b"\xff" * 40),
    "not xz": ("d.csv.xz", b"1,2,3,0\n"),
    "cut off xz": ("d.csv.xz", lzma.compress(os.urandom(2000))[:900]),
    "not bz2": ("d.csv.bz2", b"1,2,3,0\n"),
    "not npz": ("d.npz", b"PK\x03\x04 and more"),
    "one array": ("d.npz", _array()),
    "a pickle": ("d.npz", b"\x80\x04K\x01."),
}


@pytest.mark.parametrize("kind", BAD)
def test_data_that_cannot_be_read(kind: str, tmp_path: Path, capsys: Any) -> None:
    name, raw = BAD[kind]
    (tmp_path / name).write_bytes(raw)
    assert main([_certificate(tmp_path, X, Y), str(tmp_path / name)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d", "# a comment\n\n1 1:2\n-1 1:x\n", "d, line 4: expected 'label column:value ...'"),
        ("d", "# a comment\n1 1:2 1:3\n", "d, line 2: a column occurs twice"),
        ("d", "1 1:2\n-1 1:9007199254740993\n", "d, line 2: float64 cannot hold 9007199254740993 exactly"),
        ("d.csv", "1,2,3,0\n1,-9007199254740993,3,1\n", "d.csv, line 2: float64 cannot hold -9007199254740993 exactly"),
        ("d", "1 1:1_000\n-1 1:2\n", "d, line 1: expected 'label column:value ...'"),
        ("d", "1 1_0:1\n-1 1:2\n", "d, line 1: expected 'label column:value ...'"),
        ("d.csv", "1,2,3,0\n1,2,\u0663,1\n", "d.csv, line 2: expected 3 numbers and a label"),
        ("d.csv", "a,b,c,label\n\n1,2,3,0\n1,two,3,1\n", "d.csv, line 4: expected 3 numbers and a label"),
        ("d.csv", '1,2,3,"a\nb"\n1,2,3\n', "d.csv, line 3: expected 3 numbers and a label"),
    ],
)
def test_messages_name_the_line_of_the_file(name: str, text: str, message: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / name).write_text(text)
    assert main([_certificate(tmp_path, X, Y), str(tmp_path / name)]) == 2
    assert capsys.readouterr().err == f"{message}\n"


PARTS = {
    "data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 3]),
    "y": np.array([0, 1]),
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"y": None}, {"format": np.array(b"coo")}, {"indptr": np.array([0, 2, 1])}, {"indices": np.array([0, 9])},
     {"indices": np.array([-1, 0])}, {"indptr": np.array([0, 1])}, {"data": np.ones(5)},
     {"indices": np.array([1, 1]), "indptr": np.array([0, 2, 2])}, {"indices": np.array([0.5, 1.0])},
     {"X_y": np.array([1, 0])}, {"X_data": np.ones(2)}, {"shape": np.array([2.0, 3.5])}],
)  # fmt: skip
def test_sparse_parts_that_do_not_fit(change: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    np.savez(tmp_path / "d.npz", **{name: part for name, part in (PARTS | change).items() if part is not None})
    assert main([_certificate(tmp_path, X, Y), str(tmp_path / "d.npz")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_files_that_are_not_there(tmp_path: Path, capsys: Any) -> None:
    certificate = _certificate(tmp_path, X, Y)
    for arguments in ([certificate, "nowhere.csv"], ["nowhere.json", certificate], [certificate, str(tmp_path)]):
        assert main(arguments) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    _table(tmp_path / "d.csv", Y)
    assert main([certificate, str(tmp_path / "d.csv"), "--label", "17"]) == 2
    assert main([certificate, str(tmp_path / "d.csv"), "--label", "price"]) == 2


def _alone(*arguments: str) -> Any:
    source = str(PACKAGE.parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, "-c", ALONE, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_it_needs_only_numpy(labels: Any, tmp_path: Path) -> None:
    certificate = _certificate(tmp_path, X, labels)
    _sparse_npz(tmp_path / "d.npz", labels, "csr")
    ran = _alone(certificate, str(tmp_path / "d.npz"))
    assert (ran.returncode, ran.stderr) == (0, "")
    _svmlight(tmp_path / "d", -labels)
    ran = _alone(certificate, str(tmp_path / "d"))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "rejected: the certificate is for other data" in ran.stdout
    ran = _alone(certificate, "nowhere")
    assert (ran.returncode, ran.stdout) == (2, "")


OUTSIDE = ("atomic_file", "safe_text")  # which import the standard library alone


def test_the_checker_imports_nothing_of_ours_but_its_own_and_the_writer() -> None:
    known = set(sys.stdlib_module_names) | {"numpy"}
    for path in [*PACKAGE.glob("*.py"), *(PACKAGE.parent / f"{name}.py" for name in OUTSIDE)]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= known, path
            if isinstance(node, ast.ImportFrom):
                ours = node.level == 1 or (node.level == 2 and path.name == "files.py" and node.module in OUTSIDE)
                assert ours or (node.level == 0 and str(node.module).split(".")[0] in known), path
