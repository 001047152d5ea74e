"""`train --stream`: the same model as in memory, bit for bit, and nothing left behind."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt
from effort import amount

CYCLIC = ("--order", "cyclic", "--max-iter", 4)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A sparse file of three classes, and a table with names, text, categories and missing cells."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(400):
        kind = int(rng.integers(3))
        columns = np.sort(rng.choice(50, 6, replace=False)) + 1
        values = rng.standard_normal(6) * 100 + 80 * (columns % 3 == kind)
        lines.append(f"{kind} " + " ".join(f"{c}:{v!r}" for c, v in zip(columns, values.tolist(), strict=True)))
    (folder / "rows.svm.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    cells = ["size,weight,color,words,label"]
    for _ in range(300):
        good = bool(rng.integers(2))
        weight = "" if rng.random() < 0.1 else f"{rng.normal(1000 * good, 500):.3f}"
        words = " ".join(rng.choice(["offer", "prize", "meeting", "lunch", "today", "now"], 4))
        cells.append(f"{rng.normal(good):.4f},{weight},{rng.choice(['red', 'green'])},{words},{'yes' if good else 'no'}")
    (folder / "table.csv").write_text("\n".join(cells))
    return folder


# Every algorithm streams in tests/training/test_stream_fits.py.
STREAMED = amount(
    ["average", "batch", "linear-mse"],
    ["average", "perceptron", "margin", "pa-1", "batch", "nonlinear-mse-online", "linear-mse"],
)


@pytest.mark.parametrize("algorithm", STREAMED)
@pytest.mark.parametrize(("name", "options"), [("rows.svm.gz", ()), ("table.csv", ("--missing", "mean"))])
def test_same_bits_as_in_memory(files, tmp_path, monkeypatch, name, options, algorithm):
    monkeypatch.setattr("rosenblatt.training.stream.CHUNK_BYTES", 5000)  # several chunks
    passes = () if algorithm == "linear-mse" else CYCLIC if algorithm != "batch" else CYCLIC[2:]
    result = {}
    for way in ("memory", "stream"):
        more = ("--stream",) if way == "stream" else ()
        found = rosenblatt("train", files / name, "-a", algorithm, *passes, *options, *more, "-o", tmp_path / way, "--json")
        assert found.code == 0, found.err
        result[way] = found.json
    mine, streamed = rb.load(tmp_path / "memory"), rb.load(tmp_path / "stream")
    assert mine.recipe == streamed.recipe
    if algorithm == "linear-mse":
        np.testing.assert_allclose(mine.coef, streamed.coef, rtol=1e-6, atol=1e-9)
    else:
        np.testing.assert_array_equal(mine.coef, streamed.coef)
        np.testing.assert_array_equal(mine.intercept, streamed.intercept)
    for part in ("training", "test", "updates", "stop"):
        assert result["memory"][part] == result["stream"][part]
    left = {path.name for path in files.iterdir()}
    assert left == {"rows.svm.gz", "table.csv"}


def test_the_cache_is_kept_used_again_and_rebuilt(files, tmp_path):
    data, cache = tmp_path / "rows.svm.gz", tmp_path / "cache"
    data.write_bytes((files / "rows.svm.gz").read_bytes())
    first = rosenblatt("train", data, "--stream", *CYCLIC, "--cache", cache, "-o", tmp_path / "a", "--json").json
    again = rosenblatt("train", data, "--stream", *CYCLIC, "--cache", cache, "-o", tmp_path / "b", "--json").json
    assert not any("again" in note for note in first["notes"])
    assert any("again" in note for note in again["notes"])
    np.testing.assert_array_equal(rb.load(tmp_path / "a").coef, rb.load(tmp_path / "b").coef)
    other = rosenblatt("train", data, "--stream", *CYCLIC, "--cache", cache, "--seed", 1, "-o", tmp_path / "c", "--json").json
    assert not any("again" in note for note in other["notes"])  # other rows are held out
    with gzip.open(data, "ab") as file:
        file.write(b"\n1 1:1\n")
    changed = rosenblatt("train", data, "--stream", *CYCLIC, "--cache", cache, "-o", tmp_path / "d", "--json").json
    assert changed["data"]["rows"] >= first["data"]["rows"]
    assert not any("again" in note for note in changed["notes"])


def test_test_file_and_report(files, tmp_path):
    found = rosenblatt(
        "train", files / "rows.svm.gz", "--test", files / "rows.svm.gz", "--stream", *CYCLIC, "-o", tmp_path / "m",
        "--report", tmp_path / "r.html", "--json",
    )  # fmt: skip
    assert found.code == 0, found.err
    assert found.json["test"] == found.json["training"]
    assert "streamed" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-a", "pocket"), "--algorithm pocket needs all rows in memory: use --algorithm average, or leave out --stream"),
        (("-a", "mistakes"), "--algorithm mistakes needs all rows in memory"),
        (("-a", "soft-margin", "--C", 2), "--algorithm soft-margin needs all rows in memory"),
        (("-a", "perceptron", "--step", 2, "--init", "sum"), "--init sum needs all rows in memory: leave out this option"),
        (("--order", "mistakes"), "--order mistakes needs all rows in memory"),
        (("--cv", 3), "--holdout"),
        (("--certify",), "leave out --stream"),
    ],
)
def test_what_needs_all_rows_is_refused(files, tmp_path, arguments, sentence):
    found = rosenblatt("train", files / "rows.svm.gz", "--stream", *arguments, "-o", tmp_path / "m")
    assert found.code == 2
    assert sentence in found.err
    assert not list(tmp_path.iterdir())


def test_errors_leave_no_cache_behind(files, tmp_path):
    data = tmp_path / "bad.svm"
    data.write_text("1 1:1\n-1 1:2\n" * 50 + "1 0:3\n")
    found = rosenblatt("train", data, "--stream", "-o", tmp_path / "m")
    assert found.code == 2
    assert "line 101" in found.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.svm"]
