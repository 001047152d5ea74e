"""The JavaScript module takes rows as programs have them, and nothing in names, labels or categories escapes from its data."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import unicodedata
from typing import Any

import numpy as np
import pytest
from export_runners import run_js
from exported_models import Recipe, a_model, category, rows, with_recipe
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.data.readers.cells import MISSING
from rosenblatt.data.readers.dates import ORDERS, DateForm
from rosenblatt.data.readers.notation import NumberForm
from rosenblatt.data.table import Data, Table, number_as_text
from rosenblatt.models.exports.formula import ExportError
from rosenblatt.models.exports.javascript import _sections, reading_data, to_javascript
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.recipe import Recipe as TableRecipe

pytestmark = pytest.mark.once

HOSTILE = [
    "__proto__", "constructor", "</script><script>alert(1)</script>", "<!--", 'a "b"\\', "it's `${1}`", "\u2028\u2029",
    "*/ // x", "toString", "", "\ud800", "length", "\n",
]  # fmt: skip


def test_names_and_labels_of_any_kind_are_data(tmp_path: Any) -> None:
    """Among them those that would change the prototype of an object, or end the script element that the module stands in."""
    names = tuple(HOSTILE)
    rng = np.random.default_rng(0)
    model = rb.Model("Perceptron", {}, np.array(sorted(HOSTILE), object), rng.normal(size=(len(HOSTILE), len(names))),
                     rng.normal(size=len(HOSTILE)), names=names)  # fmt: skip
    source = to_javascript(model)
    assert source.isascii()
    assert not {"</", "<!--", "-->"} & {source[at : at + n] for at in range(len(source)) for n in (2, 3, 4)}
    X = rng.normal(size=(20, len(names)))
    objects = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    found = run_js(source, [*objects, *X.tolist()], tmp_path)
    assert (found["columns"], found["labels"]) == (list(names), sorted(HOSTILE))
    wanted = model.scores(X)
    np.testing.assert_allclose([row[0] for row in found["found"]], np.concatenate([wanted, wanted]), rtol=1e-12)
    assert [row[1] for row in found["found"]] == 2 * model.predict(X).tolist()


@settings(max_examples=20, deadline=None)
@given(st.sets(st.text(max_size=12), min_size=2, max_size=2), st.sets(st.text(max_size=12), min_size=1))
def test_data_holds_only_data(labels: set[str], values: set[str]) -> None:
    recipe = Recipe(1, strings=[category("kind", *sorted(values))])
    model = with_recipe(recipe)
    model = rb.Model("Perceptron", {}, np.array(sorted(labels), object), model.coef, model.intercept, recipe=recipe)
    head = to_javascript(model).partition("// The")[0]
    data = [line for line in head.splitlines() if line.startswith("export const labels = ")]
    assert json.loads(data[0].removeprefix("export const labels = ").removesuffix(";")) == sorted(labels)
    assert not set("<>\u2028\u2029") & set("".join(data))


def test_hostile_categories_select_their_own_weights(tmp_path: Any) -> None:
    values = sorted(set(HOSTILE) - {"", "\n"})
    recipe = Recipe(1, strings=[category("__proto__", *values)])
    model, X = with_recipe(recipe, 4), np.ones((len(values) + 2, 1))
    cells = [*values, "hasOwnProperty", "valueOf"]
    objects = [{"size": 1.0, "__proto__": cell} for cell in cells]
    found = run_js(to_javascript(model), [*objects, *([1.0, cell] for cell in cells)], tmp_path)
    wanted = model.scores((X, [cells]))
    np.testing.assert_allclose([row[0] for row in found["found"]], np.concatenate([wanted, wanted]), rtol=1e-12)


def test_labels_keep_their_types(tmp_path: Any) -> None:
    for labels, kinds in (("whole", int), ("floats", (int, float)), ("truth", bool), ("bytes", str)):
        model, (X, _) = a_model(2, labels, names=None), rows(2)
        found = run_js(to_javascript(model), X[:3].tolist(), tmp_path)
        assert all(isinstance(label, kinds) for label in found["labels"])
        expected = [label.decode("latin-1") if isinstance(label, bytes) else label for label in model.predict(X[:3]).tolist()]
        assert [row[1] for row in found["found"]] == expected
    large = rb.Model("Perceptron", {}, np.array([0, 2**53]), np.ones((1, 1)), np.zeros(1))
    with pytest.raises(ExportError, match="does not support the label 9007199254740992: its numbers have 53 bits"):
        to_javascript(large)


def test_rows_that_are_none_are_errors(tmp_path: Any) -> None:
    model = a_model(2, names=("a", "b", "c", "d", "e"))
    cases = {
        "a row is an object or an array of cells": [3, "text", None],
        "the row has 2 cells, but the model reads 5 columns": [[1, 2]],
        'the row has none of the columns of the model, such as "a"': [{}, {"A": 1}],
        'column "b": the cell is missing, and the model accepts none': [{"a": 1}, [1, None, 2, 3, 4], [1, "NA", 2, 3, 4]],
        'column "a": "x1" is not a number': [["x1", 1, 2, 3, 4]],
        'column "a": [object Object] is not a number': [[{}, 1, 2, 3, 4]],
    }
    given = [row for each in cases.values() for row in each]
    found = run_js(to_javascript(model), given, tmp_path)["found"]
    assert [row["error"] for row in found] == [sentence for sentence, each in cases.items() for _ in each]


def test_sparse_rows_leave_out_zeros(tmp_path: Any) -> None:
    X = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0], [1.0, 1.0, 0.0]])
    path = tmp_path / "rows.svm"
    path.write_text("1 2:1\n-1 1:2\n1 3:3\n-1 1:1 2:1\n")
    assert rosenblatt("train", path, "--holdout", "0", "-o", tmp_path / "m.safetensors").code == 0
    assert rosenblatt("export", tmp_path / "m.safetensors", "-o", tmp_path / "exported.js").code == 0
    model = rb.load(tmp_path / "m.safetensors")
    objects = [{f"x{j + 1}": x for j, x in enumerate(row) if x} for row in X.tolist()]
    found = run_js((tmp_path / "exported.js").read_text(), [*objects, {}], tmp_path)["found"]
    np.testing.assert_allclose([row[0] for row in found], model.scores(np.vstack([X, np.zeros(3)])), rtol=1e-9, atol=1e-12)


# --- from a file to the module -----------------------------------------------------------------------------------------------

N = 60


def a_file(path: Any, seed: int, *, unseen: bool = False) -> list[dict[str, str]]:
    """A file as people write them: formatted numbers, dates, gaps, categories."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(N):
        pay = float(rng.normal(3000, 900))
        line = {
            "when": f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d} {rng.integers(0, 24):02d}:07",
            "pay": f"{pay:,.2f} \u20ac", "share": f"{rng.integers(0, 100)} %", "member": ["true", "FALSE"][i % 2],
            "city": ["Ulm", "K\u00f6ln", "S\u00e3o \u201cPaulo\u201d"][int(rng.integers(3))], "zip": ["02163", "89073"][i % 2],
            "age": str(int(rng.integers(18, 90))), "clock": f"{rng.integers(0, 24)}:{rng.integers(0, 60):02d}",
            "label": "rich" if pay + rng.normal(0, 300) > 3000 else "poor",
        }  # fmt: skip
        for place, name in enumerate(("when", "pay", "share", "city", "age", "zip")):
            if (i + place) % 11 == 0:
                line[name] = ["", "NA", "?", "n/a"][i % 4]
        if unseen and i % 7 == 0:
            line["city"] = "Neustadt"
        lines.append(line)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return lines


@pytest.mark.parametrize("options", [["--missing-indicator"], ["--degree", "2", "--missing", "mean", "--calibrate", "sigmoid"]])
def test_rows_of_a_file_are_predicted_as_by_the_command(options: list[str], tmp_path: Any) -> None:
    a_file(tmp_path / "train.csv", 0)
    later = a_file(tmp_path / "later.csv", 1, unseen=True)
    path = tmp_path / "m.safetensors"
    done = rosenblatt("train", tmp_path / "train.csv", "--algorithm", "average", "-o", path, "--categorical", "zip", *options)
    assert done.code == 0, done.err
    predicted = rosenblatt("predict", path, tmp_path / "later.csv", "--scores")
    assert predicted.code == 0, predicted.err
    table = [line.split("\t") for line in predicted.out.splitlines()]
    source = rosenblatt("export", path, "--js").out
    cells = [{name: cell for name, cell in row.items() if name != "label"} for row in later]
    found = run_js(source, [*cells, *(list(row.values()) for row in cells)], tmp_path)["found"]
    assert not [row for row in found if "error" in row][:1]
    assert [row[1] for row in found] == 2 * [label for label, _ in table]
    np.testing.assert_allclose([row[0][0] for row in found], 2 * [float(score) for _, score in table], rtol=1e-9, atol=1e-11)


# --- cells, compared to the readers ------------------------------------------------------------------------------------------

NUMBERS = [
    "12", "-3.5", "+4", "1,200", "1.200", "1.200,50", "1,200.50", "1 200", "1'200", "(12)", "-(3)", "45%", "45 %", "$350",
    "350 $", "EUR 3", "3,5", ".5", ",5", "1e3", "1.5E-3", "1,2e3", "12,34,567", "01,234", "\u22125", "3\u00a0000",
    "5\u20ac", "- 4", "$-4", "true", "FALSE", "1", "0", "x", "1 2", "1,,2", "%", "", "1_000", "0x10", "infinity", "1e", "$1$",
    "4%%", "(4", "1,2,3",
]  # fmt: skip
FORMS = [
    NumberForm(",", ""), NumberForm(".", ","), NumberForm(percent=True), NumberForm(",", ".", False, "€"),
    NumberForm(currency="$"), NumberForm(truth=True), NumberForm(",", " ", True), NumberForm(currency="EUR"),
]  # fmt: skip
DATES = [
    "2024-12-31", "2024-02-30", "2024-12-31T14:05", "2024-12-31 14:05:30.25", "2024-12-31T14:05Z",
    "2024-12-31T14:05:30+01:00", "2024-12-31T24:00", "2024-12-31T24:01", "2024-13-01", "0001-01-01", "1969-07-20 20:17:40",
    "2024-12-31T14:60", "14:05", "31.12.2024", "31/12/24", "12/31/2024 2:05 pm", "1-2-69", "1/2/68", "30.2.2024",
    "2024/1/2", "2024.01.02 12:00 AM", "1.2-2024", "3 Mar 2024", "3-Mar-24", "March 3rd, 2024",
    "Sun, 3 Mar 2024 10:00:00 GMT", "1. M\u00e4rz 2024", "1. M\u00c4RZ 2024", "mar 3", "3 de marzo de 2024",
    "1er ao\u00fbt 2024", "2024-12", "12/2024", "3/2024", "Dez-24", "dic 2024", "2024-Q4", "Q1 2024", "Q5 2024",
    "20241231T140530", "20241231T1405Z", "20241231", "2024-12-31 14:05 -23:59", "2024-12-31 14:05+2400",
    "2024-12-31T13:00 pm", "",
]  # fmt: skip
TIMES = ["14:05", "4:05:30", "24:00", "25:00", "14:05:30.125", "x", "2024-12-31", "2 pm", "12:30 a.m.", "13 pm", "0:60"]
CELLS = [3.0, 0.1, -0.0, 1e16, 1e15, 2.0**53, 1e22, 1e-4, 1e-5, 1.5e-7, -12345.678, 1e300, 123456789012345680.0]

PROBE = """
const columns = ["a"], MODEL = { dates: {}, forms: {}, fill: null }, MISSING = new Set();
%s
const { forms, numbers, orders, dates, times, cells } = JSON.parse(process.argv[1]);
console.log(JSON.stringify({
  numbers: forms.map(form => numbers.map(text => formattedNumber(text, form))),
  dates: orders.map(order => dates.map(text => daysOfText(text, { kind: "datetime", order }))),
  times: times.map(text => daysOfText(text, { kind: "time", order: "" })),
  cells: cells.map(textOfCell),
}));
"""


def test_text_is_read_as_the_readers_read_it() -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    from rosenblatt.data.readers.notation import digits_pattern

    code = "\n".join(_sections()[name] for name in ("rows", "dates", "formats", "categories", "cells"))
    forms = [form.to_json() | {"digits": digits_pattern(form.decimal, form.thousands)} for form in FORMS]
    orders = ["", *ORDERS]
    given = json.dumps({"forms": forms, "numbers": NUMBERS, "orders": orders, "dates": DATES, "times": TIMES, "cells": CELLS})
    probe = PROBE % "\n".join([*reading_data(), code])
    done = subprocess.run(["node", "-e", probe, given], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for form, values in zip(FORMS, found["numbers"], strict=True):
        assert dict(zip(NUMBERS, values, strict=True)) == {text: form.value(text) for text in NUMBERS}
    for order, days in zip(orders, found["dates"], strict=True):
        assert dict(zip(DATES, days, strict=True)) == {text: DateForm("datetime", order).value(text) for text in DATES}
    assert dict(zip(TIMES, found["times"], strict=True)) == {text: DateForm("time").value(text) for text in TIMES}
    assert found["cells"] == [number_as_text(cell) for cell in CELLS]
    assert not {text.encode() for text in NUMBERS} & (MISSING - {b""})


TOKENS = r"""
%s
const lower = [], runs = [], pieces = [];
for (let code = 0; code < 0x110000; code++) {
  const letter = String.fromCodePoint(code);
  lower.push(letter.toLowerCase());
  if (wordRuns(letter + letter, { low: 1, high: 1 }).length) runs.push(code);
  if (characterRuns(`a${letter}b`, { low: 3, high: 3 })[0] === " a ") pieces.push(code);
}
console.log(JSON.stringify({ lower, runs, pieces }));
"""


def test_characters_of_text_are_those_of_the_model(tmp_path: Any) -> None:
    """Every character that this Python knows is a letter, a blank or neither in both, and the same in lower case."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    (tmp_path / "tokens.mjs").write_text(TOKENS % _sections()["texts"])
    found = json.loads(subprocess.run(["node", tmp_path / "tokens.mjs"], capture_output=True, text=True, check=True).stdout)
    runs, pieces = set(found["runs"]), set(found["pieces"])
    known = [code for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    assert [code for code in known if found["lower"][code] != chr(code).lower()] == []
    assert [code for code in known if (code in runs) != bool(re.fullmatch(r"\w\w+", 2 * chr(code).lower()))] == []
    assert [code for code in known if (code in pieces) != chr(code).isspace()] == []


def test_a_cell_of_text_may_be_anything(tmp_path: Any) -> None:
    """Numbers and truth values count as a file would write them, and broken surrogates as question marks."""
    letters = "\U0001d400\U0001d401"
    notes = ["12 cash", letters, "na cash 12", "true cash", f"{letters} na", "true"]
    data = Data("rows", Table(("note",), (np.array(notes, object),)), None)
    recipe = TableRecipe.learn([data], text=("note",), text_features="words:counts,chars-2-3")
    model = model_of(rb.Perceptron(random_state=0).fit(recipe.rows(data).to_scipy(), np.arange(6) % 2), recipe=recipe)
    cells = ["cash", None, 12, True, "12 CASH cash", "\ud800cash\udfff", "NA", letters]
    texts = np.array(["cash", None, "12", "1", "12 CASH cash", "?cash?", "NA", letters], object)
    found = run_js(to_javascript(model), [*([cell] for cell in cells), {"note": None}], tmp_path)["found"]
    wanted = model.scores(Data("later", Table(("note",), (texts,)), None))
    np.testing.assert_allclose([row[0][0] for row in found], [*wanted.ravel(), wanted.ravel()[1]], rtol=1e-12)
