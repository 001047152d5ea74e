"""What runs exported models: onnxruntime, gcc, node, SQLite, and plain Python that follows the instructions of JSON files.

`score_rows` takes a model and rows of a table, and has the same results for each language: scores, labels, probabilities.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rosenblatt.data.table import Data, Table
from rosenblatt.models.exports.c import to_c
from rosenblatt.models.exports.formula import formula_of
from rosenblatt.models.exports.javascript import to_javascript
from rosenblatt.models.exports.json import to_json
from rosenblatt.models.exports.onnx import to_onnx
from rosenblatt.models.exports.reduction import Reduction
from rosenblatt.models.exports.sql import identifier, to_sql

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC")


class Results(NamedTuple):
    """What an export computes of each row; labels as text, and no probabilities if the language or the model has none."""

    scores: Any
    labels: list[str]
    probabilities: Any = None


class RefusedError(Exception):
    """An exported model refuses a row."""


# --- Rows as the languages take them


def columns_of(rows: Data) -> dict[str, Any]:
    assert isinstance(rows.features, Table)
    return dict(zip(rows.features.names, rows.features.columns, strict=True))


def as_objects(rows: Data) -> list[dict[str, Any]]:
    """Rows as objects of JSON, where missing cells are null."""
    columns = columns_of(rows)
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, ((None if cell != cell else cell) for cell in line), strict=True)) for line in lines]


def numbers_and_names(rows: Data, columns: Any, categories: Any) -> tuple[Any, Any]:
    """The numeric columns as a matrix, and the cells of the categorical ones, row by row."""
    cells = columns_of(rows)
    numbers = np.column_stack([cells[name] for name in columns]) if len(columns) else np.empty((rows.n_rows, 0))
    return numbers, list(zip(*(cells[name].tolist() for name in categories), strict=True)) or [()] * rows.n_rows


# --- One function for each language


def run_onnx(raw: bytes, X: Any, names: Any = None) -> tuple[Any, Any, Any]:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = runtime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
    given = {"rows": np.asarray(X, np.float64)}
    if names is not None:
        given["categories"] = np.array([[cell or "" for cell in row] for row in names], object)
    given = {each.name: given[each.name] for each in session.get_inputs()}
    label, scores = session.run(["label", "scores"], given)
    return label, scores, session


def compiled(source: str, folder: Path) -> Any:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    (folder / "model.c").write_text(source)
    name = f"{len(list(folder.glob('*.so')))}.so"  # a library that is in use must not be overwritten
    subprocess.run(["gcc", *FLAGS, "model.c", "-o", name, "-lm"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / name))
    library.rosenblatt_predict.restype = ctypes.c_char_p
    return library


def run_c(source: str, X: Any, heads: int, folder: Path, names: Any = None) -> tuple[Any, list[str | None]]:
    library = compiled(source, folder)
    scores, labels = np.empty((len(X), heads)), []
    pointer = ctypes.POINTER(ctypes.c_double)
    for at, (x, out) in enumerate(zip(np.ascontiguousarray(X, np.float64), scores, strict=True)):
        row = [x.ctypes.data_as(pointer)]
        if names is not None:
            row.append((ctypes.c_char_p * len(names[at]))(*(None if cell is None else cell.encode() for cell in names[at])))
        library.rosenblatt_scores(*row, out.ctypes.data_as(pointer))
        label = library.rosenblatt_predict(*row)
        labels.append(None if label is None else label.decode())
    return scores, labels


SCRIPT = """
import { readFileSync } from "node:fs";
import * as model from "./model.mjs";
const tried = use => { try { return use(); } catch (error) { return { error: error.message }; } };
const rows = JSON.parse(readFileSync("rows.json", "utf8"));
const found = rows.map(row => tried(() => [model.scores(row), model.predict(row), tried(() => model.probabilities(row))]));
console.log(JSON.stringify({ found, columns: model.columns, labels: model.labels }));
"""


def run_js(source: str, rows: Any, folder: Path) -> Any:
    """The results of each row, or its error; with the exported names."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    (folder / "model.mjs").write_text(source)
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "run.mjs").write_text(SCRIPT)
    done = subprocess.run(["node", "run.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_sql(query: str, rows: list[dict[str, Any]]) -> tuple[list[Any], list[list[float | None]]]:
    """(rows of the answer, scores)"""
    base = sqlite3.connect(":memory:")
    names = list(rows[0])
    base.execute(f"CREATE TABLE rows ({', '.join(map(identifier, names))})")
    base.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", [list(row.values()) for row in rows])
    cursor = base.execute(query)
    found = cursor.fetchall()
    heads = [place for place, column in enumerate(cursor.description) if column[0].startswith("rosenblatt_score")]
    assert cursor.description[-1][0] == "rosenblatt_label"
    return found, [[row[place] for place in heads] for row in found]


# --- The same results of all


def score_rows(language: str, model: Any, rows: Data, folder: Path, reduction: Reduction | None = None) -> Results:
    """Export a model, and use it on the rows; raises `RefusedError` if it refuses one of them."""
    formula = formula_of(model, language, reduction)
    X, names = numbers_and_names(rows, formula.columns, [block.column for block in formula.blocks])
    return _RUN[language](model, rows, X, names if formula.blocks else None, folder, reduction)


def _with_onnx(model: Any, rows: Data, X: Any, names: Any, folder: Path, smaller: Any) -> Results:
    runtime = pytest.importorskip("onnxruntime")
    try:
        labels, scores, session = run_onnx(to_onnx(model, smaller), X, names)
    except runtime.capi.onnxruntime_pybind11_state.InvalidArgument as error:
        raise RefusedError(str(error)) from None
    probabilities = None
    if model.probability_map is not None:
        given = {"rows": X} | (
            {} if names is None else {"categories": np.array([[c or "" for c in row] for row in names], object)}
        )
        probabilities = session.run(["probabilities"], {each.name: given[each.name] for each in session.get_inputs()})[0]
    return Results(scores, [str(label) for label in labels.tolist()], probabilities)


def _with_c(model: Any, rows: Data, X: Any, names: Any, folder: Path, smaller: Any) -> Results:
    heads, k = 1 if len(model.classes) == 2 else len(model.classes), len(model.classes)
    scores, labels = run_c(to_c(model, smaller), X, heads, folder, names)
    if None in labels:
        assert np.isnan(scores[labels.index(None)]).any()
        raise RefusedError("NaN")
    probabilities = None
    if model.probability_map is not None:
        probabilities = np.empty((len(scores), k))
        pointer = ctypes.POINTER(ctypes.c_double)
        library = compiled(to_c(model, smaller), folder)
        for row, out in zip(scores, probabilities, strict=True):
            library.rosenblatt_probabilities(row.ctypes.data_as(pointer), out.ctypes.data_as(pointer))
    return Results(scores, labels, probabilities)


def _with_js(model: Any, rows: Data, X: Any, names: Any, folder: Path, smaller: Any) -> Results:
    found = run_js(to_javascript(model, smaller), as_objects(rows), folder)["found"]
    for row in found:
        if "error" in row:
            raise RefusedError(row["error"])
    scores, labels, probabilities = zip(*found, strict=True)
    if model.probability_map is None:
        assert "no probabilities" in probabilities[0]["error"]
    return Results(np.array(scores), [str(label) for label in labels], None if model.probability_map is None else probabilities)


def _with_sql(model: Any, rows: Data, X: Any, names: Any, folder: Path, smaller: Any) -> Results:
    found, scores = run_sql(to_sql(model, smaller), as_objects(rows))
    if any(row[-1] is None for row in found):
        assert None in scores[[row[-1] for row in found].index(None)]
        raise RefusedError("NULL")
    return Results(np.array(scores), [str(row[-1]) for row in found])


def _with_json(model: Any, rows: Data, X: Any, names: Any, folder: Path, smaller: Any) -> Results:
    exported = json.loads(to_json(model, smaller))
    cells = [()] * len(X) if names is None else names
    found = [score_by_hand(exported, row, own) for row, own in zip(X.tolist(), cells, strict=True)]
    scores = [row for row, _ in found]
    probabilities = exported["probabilities"]
    chances = None if probabilities is None else [probabilities_by_hand(probabilities, row) for row in scores]
    return Results(np.array(scores), [str(label) for _, label in found], chances)


_RUN = {"onnx": _with_onnx, "c": _with_c, "js": _with_js, "sql": _with_sql, "json": _with_json}
LANGUAGES = tuple(_RUN)


# --- JSON by hand


def part_by_hand(t, part):
    if part == "value":
        return t
    cycle, wave = part.split()
    turns = {"hour": t, "weekday": (math.floor(t) + 3) / 7, "year": t / 365.2425}[cycle]
    return {"sin": math.sin, "cos": math.cos}[wave](2 * math.pi * (turns - math.floor(turns)))


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
        cells = [
            None if cell in recipe["missing_cells"] and cell not in block.get("values", [cell]) else cell
            for cell, block in zip(cells, recipe["blocks"], strict=True)
        ]
        if (recipe["fill"] is None and any(missing)) or (recipe["refuse_missing"] and None in cells):
            raise RefusedError("missing")
        if recipe["fill"] is not None:
            row = [fill if lost else x for x, lost, fill in zip(row, missing, recipe["fill"], strict=True)]
        inputs = row if recipe["inputs"] is None else [part_by_hand(row[column], part) for column, part in recipe["inputs"]]
        products = recipe["products"] or [[j] for j in range(len(inputs))]
        features = [math.prod(inputs[j] for j in factors) for factors in products]
        if recipe["shift"] is not None:
            features = [x - shift for x, shift in zip(features, recipe["shift"], strict=True)]
        if recipe["divide"] is not None:
            features = [x / divide for x, divide in zip(features, recipe["divide"], strict=True)]
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


def probabilities_by_hand(content: dict[str, Any], scores: list[float]) -> list[float]:
    """What the instruction `how` says, in plain Python."""
    kind = content["map"]
    two = len(scores) == 1
    if content["how"].startswith("First replace each score[h] by min(0, 1 - 0.5/f)"):
        fractions = [math.fmod(len(scores) * score, 1.0) for score in scores]
        scores = [min(0.0, 1 - 0.5 / (1e-12 if each > 0.75 else max(each, 1e-12))) for each in fractions]
    if kind == "sigmoid":
        p = [1 / (1 + math.exp(-max(a * f + b, -700))) for a, b, f in zip(content["a"], content["b"], scores, strict=True)]
    elif kind == "temperature" and two:
        p = [1 / (1 + math.exp(-max(scores[0] / content["temperature"], -700)))]
    elif kind == "temperature":
        p = [math.exp((f - max(scores)) / content["temperature"]) for f in scores]
    else:
        p = [float(np.interp(f, x, y)) for f, x, y in zip(scores, content["scores"], content["values"], strict=True)]
    return [1 - p[0], p[0]] if two else [each / sum(p) if sum(p) else 1 / len(p) for each in p]
