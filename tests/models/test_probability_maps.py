"""Maps from scores to probabilities in model files: kept to the bit, checked, and used without scikit-learn."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sealed_files import loaded, packed, parts_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_forgery import forged
from trained_models import rows, there_and_back, trained

import rosenblatt as rb
from rosenblatt.models.files import load_model
from rosenblatt.models.state import model_of
from rosenblatt.probabilities.maps import CALIBRATIONS, NoProbabilitiesError


@pytest.mark.parametrize("kind", CALIBRATIONS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", ["average", "vote", "soft-margin", "linear-mse"])
def test_probabilities_come_back_to_the_bit(name: str, classes: int, kind: str, tmp_path: Path) -> None:
    model, X = trained(name, classes, calibrate=kind), rows(classes)[0]
    again = there_and_back(model, tmp_path / "file")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    plain = load_model(tmp_path / "file")
    assert np.array_equal(plain.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(there_and_back(plain, tmp_path / "model").predict_proba(X), model.predict_proba(X))
    assert again.fit(*rows(classes)).predict_proba(X).shape == (len(X), classes)


def test_a_pipeline_keeps_the_probabilities_of_its_last_step(tmp_path: Path) -> None:
    X, y = rows(4)
    pipeline = make_pipeline(StandardScaler(), rb.LinearMSE(calibrate="isotonic")).fit(X, y)
    assert np.array_equal(there_and_back(pipeline, tmp_path / "file").predict_proba(X), pipeline.predict_proba(X))


def test_a_model_without_probabilities_says_how(tmp_path: Path) -> None:
    model = model_of(trained("linear-mse"))
    with pytest.raises(
        NoProbabilitiesError, match="LinearMSE has scores but no probabilities: fit it with calibrate='sigmoid'"
    ):
        model.predict_proba(rows(2)[0])
    assert not hasattr(there_and_back(trained("linear-mse"), tmp_path / "file"), "predict_proba")


def test_a_parameter_that_was_set_after_the_fit_stores_no_map(tmp_path: Path) -> None:
    model = trained("linear-mse", calibrate="sigmoid").set_params(calibrate="isotonic")
    again = there_and_back(model, tmp_path / "file")
    assert again.calibrate == "isotonic"
    assert load_model(tmp_path / "file").probability_map is None


def test_prediction_imports_no_scikit_learn(tmp_path: Path) -> None:
    rb.save(trained("linear-mse", 4, calibrate="isotonic"), tmp_path / "file")
    code = (
        "import sys, numpy as np; from rosenblatt.models.files import load_model; "
        f"print(load_model({str(tmp_path / 'file')!r}).predict_proba(np.zeros((1, 5))).sum(), 'sklearn' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "1.0 False\n"


# --- forgery -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("maps")
    for kind in CALIBRATIONS:
        rb.save(trained("linear-mse", 4, calibrate=kind), folder / kind)
    rb.save(trained("linear-mse", 4), folder / "none")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("sigmoid", {"probabilities": "isotonic"}, "the map from scores to probabilities is invalid"),
        ("sigmoid", {"probabilities": ["sigmoid"]}, "the map from scores to probabilities is invalid"),
        ("sigmoid", {"probabilities": None}, "arrays of a map to probabilities, but the metadata do not mention it"),
        ("sigmoid", {"probabilities.c": np.ones(4)}, "the map from scores to probabilities is invalid"),
        ("sigmoid", {"probabilities.a": -np.ones(4)}, "the map from scores to probabilities is invalid"),
        ("sigmoid", {"probabilities.a": np.ones(1)}, "the map from scores to probabilities is invalid"),
        ("sigmoid", {"probabilities.b": np.full(4, np.nan)}, "array probabilities.b contains NaN or infinity"),
        ("temperature", {"probabilities.temperature": np.zeros(1)}, "the map from scores to probabilities is invalid"),
        ("isotonic", {"probabilities.counts": np.full(4, 1 << 62)}, "the map from scores to probabilities is invalid"),
        ("isotonic", {"probabilities.counts": np.zeros(4, np.int64)}, "the map from scores to probabilities is invalid"),
        ("none", {"probabilities": "temperature", "probabilities.temperature": np.ones(1)}, "is not that of the estimator"),
    ],
)
def test_forged_maps_are_refused(kind: str, changes: dict[str, Any], words: str, files: Any, monkeypatch: Any) -> None:
    meta, arrays = parts_of(files[kind])
    for name, value in changes.items():
        (arrays if isinstance(value, np.ndarray) else meta)[name] = value
    with pytest.raises(rb.ModelError, match=words):
        loaded(packed(meta, arrays), monkeypatch)


def test_a_map_of_another_kind_than_the_parameter_is_refused(files: Any, monkeypatch: Any) -> None:
    meta, arrays = parts_of(files["sigmoid"])
    meta["parameters"]["calibrate"] = "temperature"
    with pytest.raises(rb.ModelError, match="is not that of the estimator"):
        loaded(packed(meta, arrays), monkeypatch)


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_whatever_loads_gives_probabilities(kind: str, files: Any, monkeypatch: Any) -> None:
    rng, X = np.random.default_rng(0), rows(4)[0]
    refused = 0
    for _ in range(80):
        meta, arrays = copy.deepcopy(parts_of(files[kind]))
        forged({"probabilities": meta["probabilities"]}, arrays, rng)
        try:
            model = loaded(packed(meta, arrays), monkeypatch)
        except rb.ModelError:
            refused += 1
            continue
        if hasattr(model, "predict_proba"):
            with np.errstate(all="ignore"):
                found = model.predict_proba(X)
            assert ((found >= 0) & (found <= 1)).all()
            np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert refused > 10
