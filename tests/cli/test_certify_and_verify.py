"""rosenblatt certify and verify"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt


def test_certificates_go_to_a_file_and_back(tmp_path):
    data, cert = tmp_path / "iris.svm", tmp_path / "c.json"
    rosenblatt("convert", "example:separable?rows=30&columns=2&margin=0.1", data)
    found = rosenblatt("certify", data, "-o", cert)
    assert found.code == 0
    assert "separable" in found.out
    assert rosenblatt("verify", cert, data).code == 0
    done = subprocess.run([sys.executable, "-m", "rosenblatt.certificates.verify", cert, data], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    other = tmp_path / "other.svm"
    other.write_text(data.read_text().replace(" 1:", " 1:9e-9 2:1\n1 1:", 1))
    unread = "iris.svm: not a valid certificate: it is not JSON or is truncated (were"
    assert unread in rosenblatt("verify", data, cert).err
    assert "(were the arguments swapped?)" in rosenblatt("verify", data, cert).err
    assert "swapped" not in rosenblatt("verify", data, other).err
    rejected = rosenblatt("verify", cert, other, "--json")
    assert rejected.code == 1
    assert rejected.json["holds"] is False
    assert rosenblatt("certify", "example:xor?rows=40").code == 1
    undecided = rosenblatt("certify", "example:digits", "--time-limit", 0.001)
    assert undecided.code == 3
    assert undecided.err == "the time limit of 1 ms ended before a decision: raise --time-limit, or leave it out\n"


def test_names_are_one_hot_in_certificates(tmp_path):
    data, cert = tmp_path / "rows.csv", tmp_path / "c.json"
    data.write_text("color,size,label\n" + "".join(f"{c},{s},{c == 'red'}\n" for c in ("red", "blue") for s in range(4)))
    assert rosenblatt("certify", data, "-o", cert).code == 0
    assert rosenblatt("verify", cert, data).code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("big.csv", "x,label\n9007199254740992,a\n9007199254740993,b\n"),
        ("zeros.csv", "x,label\n007,a\n9007199254740992,a\n9007199254740993,b\n"),
        ("big.jsonl", '{"x": 9007199254740992, "label": "a"}\n{"x": 9007199254740993, "label": "b"}\n'),
        ("big.svm", "1 1:9007199254740992\n2 1:9007199254740993\n"),
        ("zeros.svm", "1 1:007\n1 1:9007199254740992\n2 1:9007199254740993\n"),
    ],
)
def test_nothing_is_proved_about_integers_that_were_rounded(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    for command in ("certify", "doctor"):
        found = rosenblatt(command, path)
        assert found.code == 2
        assert "has integers that floats may not hold, such as" in found.err


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.longdouble])
def test_nothing_is_proved_about_arrays_that_were_rounded(tmp_path, kind, dtype):
    """As floats, the two rows are the same point."""
    if dtype is np.longdouble and np.finfo(dtype).nmant < 63:
        pytest.skip("long doubles are doubles here")
    values, cert = np.full(2, 2**53, dtype), tmp_path / "same.json"
    values[1] += dtype(1)
    rb.save_certificate(rb.certify([[0.0, 2.0**53]] * 2, [0, 1]), cert)
    rows = {"X": np.column_stack([np.zeros(2, dtype), values])}
    if kind != "dense":
        indices, indptr = ([1, 1], [0, 1, 2]) if kind == "csr" else ([0, 1], [0, 0, 2])
        rows = {"data": values, "indices": indices, "indptr": indptr, "shape": [2, 2], "format": np.array(kind.encode())}
    np.savez(tmp_path / "rows.npz", y=[0, 1], **rows)
    for command in (["verify", cert], ["certify"], ["doctor"]):
        found = rosenblatt(*command, tmp_path / "rows.npz")
        assert found.code == 2
        assert "column '1' has integers that floats may not hold, such as 9007199254740993" in found.err


def test_sparse_values_that_are_not_numbers_are_refused(tmp_path):
    values = np.array(["9007199254740992", "9007199254740993"])
    np.savez(tmp_path / "rows.npz", y=[0, 1], data=values, indices=[0, 0], indptr=[0, 1, 2], shape=[2, 2])
    found = rosenblatt("certify", tmp_path / "rows.npz")
    assert found.code == 2
    assert "must be numbers, got <U16" in found.err


def test_columns_that_separate_are_named(tmp_path):
    data, cert = tmp_path / "patients.csv", tmp_path / "c.json"
    rows = [(20 + i % 7, int(i in (3, 8)), "ill" if i % 2 or i in (3, 8) else "well") for i in range(16)]
    data.write_text("age,smoker,state\n" + "".join(f"{age},{smoker},{state}\n" for age, smoker, state in rows))
    found = rosenblatt("certify", data, "-o", cert)
    assert found.code == 1
    sentence = (
        "quasi-complete separation: column 'smoker' separates 2 of 16 rows (4, 9); 14 lie on the plane (1, 2, 3, 5, 6, 7 and"
    )
    assert sentence in found.out
    assert "logistic regression without a penalty has no optimum" in found.out
    assert rb.load_certificate(cert).separation == "quasi-complete"
    checked = rosenblatt("verify", cert, data)
    assert "the certificate holds" in checked.out
    assert "quasi-complete separation: column 'smoker' separates 2 of 16 rows (4, 9)" in checked.out
    assert json.loads(rosenblatt("verify", cert, data, "--json").out)["separation"] == "quasi-complete"
    assert rosenblatt("verify", cert, data).code == 0
    assert "quasi-complete" not in rosenblatt("certify", data, "--no-likelihood").out
