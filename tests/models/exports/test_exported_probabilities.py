"""Exports give the probabilities of the model: in onnxruntime, in C, and from JSON in plain Python."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_runners import probabilities_by_hand
from exported_models import rows

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.models.exports.c import to_c
from rosenblatt.models.exports.json import to_json
from rosenblatt.models.exports.onnx import to_onnx
from rosenblatt.models.state import model_of
from rosenblatt.probabilities.maps import CALIBRATIONS, Isotonic

pytestmark = pytest.mark.once


@pytest.fixture(params=[(kind, k) for kind in CALIBRATIONS for k in (2, 4)], ids=str)
def model(request: Any) -> Any:
    kind, k = request.param
    X, codes = rows(k)
    scheme = {} if k == 2 else {"multiclass": "ovo"}  # pairs, whose scores are votes
    return model_of(rb.SoftMargin(calibrate=kind, random_state=0, tol=0.1, **scheme).fit(X / abs(X).max(axis=0), codes))


def inputs(model: Any) -> Any:
    X = rows(len(model.classes))[0]
    return np.concatenate([X / abs(X).max(axis=0), X, 1e6 * X])


def assert_probabilities(found: Any, model: Any, X: Any) -> None:
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_onnx(model: Any) -> None:
    runtime = pytest.importorskip("onnxruntime")
    X = inputs(model)
    session = runtime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    found = session.run(["probabilities"], {"rows": X})[0]
    assert found.dtype == np.float64
    assert_probabilities(found, model, X)
    assert session.run(["probabilities"], {"rows": X[:0]})[0].shape == (0, len(model.classes))


def test_onnx_without_probabilities_has_no_such_output() -> None:
    runtime = pytest.importorskip("onnxruntime")
    X, codes = rows(2)
    session = runtime.InferenceSession(to_onnx(model_of(rb.LinearMSE().fit(X, codes))), providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["label", "scores"]


def test_c(model: Any, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    (tmp_path / "model.c").write_text(to_c(model))
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "model.c", "-o", "model.so", "-lm"], cwd=tmp_path, check=True)
    library, k = ctypes.CDLL(str(tmp_path / "model.so")), len(model.classes)
    X = inputs(model)
    scores, found = np.empty(k), np.empty((len(X), k))
    pointer = ctypes.POINTER(ctypes.c_double)
    for x, out in zip(X, found, strict=True):
        library.rosenblatt_scores(x.ctypes.data_as(pointer), scores.ctypes.data_as(pointer))
        library.rosenblatt_probabilities(scores.ctypes.data_as(pointer), out.ctypes.data_as(pointer))
    assert_probabilities(found, model, X)


def test_json(model: Any) -> None:
    X = inputs(model)
    content = json.loads(to_json(model))["probabilities"]
    assert content["how"].endswith(("the classes are 1 - p[0] and p[0].", "1/(number of classes) if all are 0."))
    assert_probabilities([probabilities_by_hand(content, row) for row in model.scores(X).tolist()], model, X)


@pytest.mark.parametrize("head", [1, 3])
def test_isotonic_maps_of_single_corners_and_without_a_chance(head: int) -> None:
    runtime = pytest.importorskip("onnxruntime")
    X, codes = rows(max(2, head))
    model = model_of(rb.LinearMSE().fit(X, codes))
    flat = Isotonic(np.zeros(head), np.zeros(head), np.ones(head, np.int64))
    from dataclasses import replace

    model = replace(model, probability_map=flat)
    session = runtime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    assert_probabilities(session.run(["probabilities"], {"rows": X})[0], model, X)


def test_sql_says_that_it_has_no_probabilities(tmp_path: Path) -> None:
    X, codes = rows(2)
    path = tmp_path / "m.safetensors"
    rb.save(rb.LinearMSE(calibrate="sigmoid").fit(X, codes), path)
    done = rosenblatt("export", path, "--sql")
    assert (done.code, "rosenblatt_label" in done.out) == (0, True)
    assert "the SQL export has labels and scores, but not the probabilities: export to ONNX, JSON, C or JavaScript" in done.err
    assert rosenblatt("export", path, "--json").err == ""
