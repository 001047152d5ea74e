"""Writes tests/models/files/VERSION-KIND.safetensors, and beside it what the model must predict.

Run it once for each version that is released, and for no older one: these files show that what was written then still loads.
A file that exists is kept.
The files 0.1.0-format-3-* were written just before format 4: `arow` as below, `vote` with one pass over the first 20 rows.

    PYTHONPATH=src python tests/models/make_files.py
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import rosenblatt as rb
from rosenblatt.models.files import load_model
from rosenblatt.models.state import model_of

HERE = Path(__file__).parent / "files"


def training_rows(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    X = rng.integers(-4, 5, (40, 3)) + 3 * np.eye(3, dtype=int)[np.arange(40) % k % 3]
    return X.astype(float), np.array(["oak", "ash", "elm", "\u0251lder"])[np.arange(40) % k]


def with_recipe() -> dict[str, rb.Model]:
    """A model that reads columns of numbers, scaled and multiplied."""
    try:
        from rosenblatt.preprocessing.recipe import Recipe
    except ImportError:
        return {}
    X, y = training_rows(3)
    rows = X * [1.0, 1000.0, 1.0]
    recipe = Recipe.learn([rows], degree=2)
    return {"recipe": model_of(rb.Perceptron(keep="average", random_state=1).fit(recipe.rows(rows), y), recipe=recipe)}


def write_pipeline(X: np.ndarray, y: np.ndarray) -> None:
    """A Pipeline, in the format that came with it."""
    path = HERE / f"{rb.__version__}-format-5-pipeline.safetensors"
    if path.exists():
        return
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(2), rb.Perceptron(keep="average", random_state=1)).fit(X, y)
    rb.save(pipeline, path)
    rows = X[:12]
    expected = {"rows": rows.tolist(), "scores": pipeline.decision_function(rows).tolist()}
    expected |= {"labels": pipeline.predict(rows).tolist(), "type": "Pipeline"}
    path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")


def main() -> None:
    warnings.simplefilter("ignore")
    (X, y), (X2, y2) = training_rows(3), training_rows(2)
    frame = pd.DataFrame(X, columns=["height", "girth", 'a "quoted" name'])
    stream = rb.LinearMSE()
    for part in (slice(0, 20), slice(20, 40)):
        stream.partial_fit(X[part], y[part])
    average = rb.Perceptron(keep="average", random_state=1, class_weight={"oak": 2.0}).fit(frame, y)
    models = {
        "average": average,
        "vote": rb.Perceptron(keep="vote", max_iter=2, random_state=1).fit(sp.csr_array(X2), y2),
        "vote-of-each": rb.Perceptron(keep="vote", multiclass="ovr", max_iter=1, random_state=1).fit(X, y),
        "soft-margin-of-pairs": rb.SoftMargin(multiclass="ovo", C=0.5).fit(X, y),
        "max-margin": rb.MaxMargin(inseparable="soft").fit(X2, y2),
        "passive-aggressive-float32": rb.PassiveAggressive(C=float("inf"), random_state=1).fit(X2.astype("f4"), y2 == "oak"),
        "least-squares-stream": stream,
        "arow": rb.AROW(r=0.5, random_state=1).fit(sp.csr_array(X), y),
        "tanh": rb.NonlinearMSE(step=lambda k: 0.1, solver="online", random_state=1).fit(X2, np.arange(40) % 2),
        "certified": rb.Perceptron(certify=True, random_state=1).fit(X2, y2),
        "plain-model": model_of(average, running=False, provenance={"source": "trees.csv", "command": "train trees.csv"}),
    }  # fmt: skip
    models |= with_recipe()
    write_pipeline(X, y)
    for name, model in models.items():
        path = HERE / f"{rb.__version__}-{name}.safetensors"
        if path.exists():
            continue
        rb.save(model, path, data=(X, y) if name in ("average", "plain-model") else None)
        rows = (X if name != "vote" else X2)[:12]
        found = load_model(path)
        expected = {"rows": rows.tolist(), "scores": found.scores(rows).tolist(), "labels": found.predict(rows).tolist()}
        expected |= {"type": type(model).__name__, "classes": found.classes.tolist(), "dtype": found.classes.dtype.str}
        path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
