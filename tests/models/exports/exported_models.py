"""Models to export, a stand-in for a recipe with the attributes that exports read, and what runs or scores exports."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from itertools import combinations_with_replacement
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.categorical import Categories
from rosenblatt.preprocessing.text_features import Grams, TextFeatures
from rosenblatt.preprocessing.text_kinds import BINARY

LABELS = {
    "text": ["it's", 'a "b"\\', "\u00fc;--", r"?\?/"],
    "whole": [-3, 0, 5, 9],
    "floats": [-1.0, 0.0, 2.0, 3.0],
    "truth": [False, True],
    "bytes": [b"n\xffo", b"yes"],
}
NAMES = ("size", 'a "quoted" one', "it's; DROP TABLE rows; --", "*/ not a comment", "\u00fcber")


def rows(k: int, n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, 5)) * 10.0 ** rng.integers(-3, 4, 5)
    X[np.arange(n), np.arange(n) % k] += 3.0
    return X, np.arange(n) % k


def a_model(k: int = 2, labels: str = "text", dtype: Any = np.float64, **options: Any) -> Any:
    X, codes = rows(k)
    y = np.array(sorted(LABELS[labels][:k]))[codes]
    if options.pop("pairs", False):
        estimator: Any = rb.SoftMargin(multiclass="ovo", solver="dual-coordinates", tol=0.1)
    else:
        estimator = rb.Perceptron(keep="average")
    return model_of(estimator.fit((X / abs(X).max(axis=0)).astype(dtype), y), **{"names": NAMES, **options})


class Recipe:
    """Numbers, perhaps with products, filled, shifted and divided; then names, one feature each, or words."""

    def __init__(self, columns: int, degree: int = 1, fill: bool = False, scaled: bool = True, strings: Any = ()) -> None:
        rng = np.random.default_rng(9)
        every = [c for m in range(1, degree + 1) for c in combinations_with_replacement(range(columns), m)]
        width = len(every)
        self.kind, self.first, self.number_names = "table", 0, NAMES[:columns]
        self.dates = ()
        self.strings, self.products = tuple(strings), every
        self.numbers = SimpleNamespace(
            columns=columns, degree=degree, width=width, fill=rng.normal(size=columns) if fill else None, inputs=None,
            indicators=None,
            shift=rng.normal(size=width) if scaled else None, divide=rng.random(width) + 0.5 if scaled else None,
            polynomial=SimpleNamespace(factors=lambda j: list(every[j]), width=width),
        )  # fmt: skip

    @property
    def width(self) -> int:
        return int(self.numbers.width) + sum(block.width for block in self.strings)

    @property
    def feature_names(self) -> list[str]:
        return [f"f{j}" for j in range(self.width)]

    def rows(self, X: Any) -> Any:
        """X: an array of numbers, or (numbers, one list of cells for each column of names)."""
        X, cells = X if isinstance(X, tuple) else (X, [])
        n = self.numbers
        X = np.where(np.isnan(X), n.fill, X) if n.fill is not None else X
        features = np.column_stack([np.prod(X[:, list(factors)], axis=1) for factors in self.products])
        if n.shift is not None:
            features = (features - n.shift) / n.divide
        hot = [
            [[float(cell == value) for value in b.values] for cell in col] for b, col in zip(self.strings, cells, strict=True)
        ]
        return np.column_stack([features, *hot])


def category(name: str, *values: str) -> Any:
    return Categories(name, values)


def words(name: str, *known: str) -> Any:
    return TextFeatures(name, (Grams(BINARY, known),))


def with_recipe(recipe: Recipe, k: int = 2, pairs: bool = False) -> Any:
    rng = np.random.default_rng(k)
    heads = 1 if k == 2 else k * (k - 1) // 2 if pairs else k
    classes = np.array(sorted(LABELS["text"][:k]))
    return rb.Model(
        "Perceptron", {}, classes, rng.normal(size=(heads, recipe.width)), rng.normal(size=heads), pairs, recipe=recipe
    )


# --- Running what was exported


def run_onnx(raw, X):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
    label, scores = session.run(["label", "scores"], {"rows": np.asarray(X, np.float64)})
    return label, scores, session


def run_c(source, X, heads, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    (tmp_path / "model.c").write_text(source)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "model.c", "-o", "model.so", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    library.rosenblatt_predict.restype = ctypes.c_char_p
    scores, labels = np.empty((len(X), heads)), []
    pointer = ctypes.POINTER(ctypes.c_double)
    for x, out in zip(np.ascontiguousarray(X, np.float64), scores, strict=True):
        library.rosenblatt_scores(x.ctypes.data_as(pointer), out.ctypes.data_as(pointer))
        labels.append(library.rosenblatt_predict(x.ctypes.data_as(pointer)).decode())
    return scores, labels


def part_by_hand(t, part):
    if part == "value":
        return t
    cycle, wave = part.split()
    turns = {"hour": t - math.floor(t), "weekday": (math.floor(t) + 3) / 7, "year": t / 365.2425}[cycle]
    return {"sin": math.sin, "cos": math.cos}[wave](2 * math.pi * turns)


def grams_by_hand(part, cell):
    """The values of the grams of a part of a text."""
    text, lengths, found = (cell or "").lower(), range(part["low"], part["high"] + 1), []
    if part["unit"] == "words":
        words = re.findall(r"\w\w+", text)
        found = [" ".join(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1)]
    for piece in text.split() if part["unit"] == "chars" else []:
        padded = f" {piece} "
        for n in lengths:
            found += [padded[i : i + n] for i in range(max(1, len(padded) - n + 1))]
            if n >= len(padded):
                break
    counts = [found.count(gram) for gram in part["grams"]]
    weigh = {"binary": lambda n: 1.0, "counts": float, "tfidf": float, "log-tfidf": lambda n: 1.0 + math.log(n)}[part["weight"]]
    idf = part["idf"] or [1.0] * len(counts)
    values = [weigh(n) * factor if n else 0.0 for n, factor in zip(counts, idf, strict=True)]
    return [x / (math.hypot(*values) or 1.0) for x in values]


def score_by_hand(exported, row, cells=()):
    """Score a row by the instructions in the file."""
    recipe = exported["recipe"]
    features = list(row)
    if recipe is not None:
        missing = [x is None or math.isnan(x) for x in row]
        if recipe["fill"] is not None:
            row = [fill if lost else x for x, lost, fill in zip(row, missing, recipe["fill"], strict=True)]
        inputs = row if recipe["inputs"] is None else [part_by_hand(row[column], part) for column, part in recipe["inputs"]]
        products = recipe["products"] or [[j] for j in range(len(inputs))]
        features = [math.prod(inputs[j] for j in factors) for factors in products]
        features = [(x - shift) / divide for x, shift, divide in zip(features, recipe["shift"], recipe["divide"], strict=True)]
        features += [float(missing[column]) for column in recipe["indicators"]]
        for block, cell in zip(recipe["blocks"], cells, strict=True):
            if "parts" in block:
                features += [x / math.sqrt(len(block["parts"])) for part in block["parts"] for x in grams_by_hand(part, cell)]
                continue
            features += [float(cell == value) for value in block["values"]]
            features += [float(cell is None)] if block["missing"] else []
    planes = zip(exported["weights"], exported["intercept"], strict=True)
    scores = [b + sum(w * x for w, x in zip(weights, features, strict=True)) for weights, b in planes]
    if exported["pairs"] is not None:
        k, duels = len(exported["classes"]), list(zip(scores, exported["pairs"], strict=True))
        votes, equal, lost = [0.0] * k, [0.0] * k, [0.0] * k
        for score, (a, b) in duels:
            votes[b if score > 0 else a] += 1
            lost[a if score > 0 else b] += abs(score)
        for score, (a, b) in duels:
            equal[b if score > 0 else a] += votes[a] == votes[b]
        scores = [votes[c] + (equal[c] + 0.5 / (lost[c] + 1)) / k for c in range(k)]
    if len(scores) == 1:
        return scores, exported["classes"][scores[0] > 0]
    return scores, exported["classes"][scores.index(max(scores))]
