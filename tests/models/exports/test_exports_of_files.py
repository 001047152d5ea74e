"""Files as people write them: every export scores the cells of a later file as `predict` does."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_runners import LANGUAGES, RefusedError, run_js, score_rows

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.data.table import Data, Table
from rosenblatt.models.exports.export import export

pytestmark = pytest.mark.once

MISSING = ("", "N/A", "-", "?", "NULL", "n.a.")
MONTHS = ("Jan.", "Feb", "M\u00e4rz", "Apr", "Mai", "Juni", "Juli", "Aug.", "Sept", "Okt", "Nov", "Dezember")
EPOCH = datetime(1970, 1, 1)


def rows_of(seed: int, *, later: bool) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """The cells of a file as text, and what they are; `later`: with categories and ways to write dates that are new."""
    rng = np.random.default_rng(seed)
    written, meant = [], []
    for i in range(60):
        share, pay, paid = int(rng.integers(-50, 200)), float(rng.integers(-900_000, 900_000)) / 100, bool(rng.integers(2))
        sold = EPOCH + timedelta(days=20_000 + int(rng.integers(600)), minutes=int(rng.integers(1440)))
        city = ["Ulm", "K\u00f6ln", "Bonn"][int(rng.integers(3))] if not (later and i % 7 == 0) else "Neustadt"
        grouped = f"{abs(pay):,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")
        ways = [f"{sold.day}.{sold.month}.{sold.year} {sold:%H:%M}"]
        ways += [f"{sold:%Y-%m-%dT%H:%MZ}", f"{sold.day}. {MONTHS[sold.month - 1]} {sold.year} {sold:%H:%M}"] if later else []
        text = {
            "share": f"{share} %" if i % 2 else f"{share}%", "pay": f"({grouped} \u20ac)" if pay < 0 else f"{grouped} \u20ac",
            "paid": str(paid).upper() if i % 3 else str(paid).lower(), "city": city, "sold": ways[i % len(ways)],
        }  # fmt: skip
        value = {
            "share": share / 100,
            "pay": pay,
            "paid": float(paid),
            "city": city,
            "sold": (sold - EPOCH) / timedelta(days=1),
        }
        for place, name in enumerate(text):
            if (i + place) % 8 == 0:
                text[name] = MISSING[(i // 8 + place) % len(MISSING)]
                value[name] = np.nan if name != "city" else text[name]  # exports take the word of a category as it is
        written.append(text | {"label": "b" if pay + 30 * share > rng.normal(0, 2000) else "a"})
        meant.append(value)
    return written, meant


def save(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("\n".join(";".join(row) for row in [list(rows[0]), *(row.values() for row in rows)]), encoding="utf-8")
    return path


@cache
def trained(folder: Path, options: tuple[str, ...]) -> tuple[rb.Model, list[dict[str, str]], Data, list[tuple[str, float]]]:
    """A model, the cells of a later file, what they are, and the predicted labels and scores."""
    train, later = save(folder / "train.csv", rows_of(0, later=False)[0]), save(folder / "later.csv", rows_of(1, later=True)[0])
    done = rosenblatt("train", train, "-o", folder / "m", "--algorithm", "average", *options)
    assert done.code == 0, done
    predicted = rosenblatt("predict", folder / "m", later, "--scores")
    assert predicted.code == 0, predicted
    lines = [line.split("\t") for line in predicted.out.splitlines()]
    written, meant = rows_of(1, later=True)
    model = rb.load(folder / "m")
    assert isinstance(model, rb.Model)
    assert model.recipe is not None
    names = tuple(name for name in meant[0] if name in (model.recipe.required or ()))
    columns = tuple(np.array([row[name] for row in meant], object if name == "city" else np.float64) for name in names)
    return model, written, Data("later", Table(names, columns), None), [(label, float(score)) for label, score in lines]


OPTIONS = [("--missing-indicator",), ("--degree", "2", "--missing", "mean")]
CASES = [(language, (*options, "--dates", "ignore")) for language in LANGUAGES for options in OPTIONS]
CASES += [(language, options) for language in LANGUAGES if language != "sql" for options in OPTIONS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize(("language", "options"), CASES)
def test_exports_score_a_later_file_as_predict_does(
    language: str, options: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    model, _, rows, wanted = trained(folder, options)
    found = score_rows(language, model, rows, tmp_path)
    np.testing.assert_allclose(np.asarray(found.scores)[:, 0], [score for _, score in wanted], rtol=1e-9, atol=1e-9)
    assert found.labels == [label for label, _ in wanted]


@pytest.mark.parametrize("language", LANGUAGES)
def test_exports_have_the_threshold(language: str, folder: Path, tmp_path: Path) -> None:
    logistic = ("--dates", "ignore", "--algorithm", "logistic")
    model, _, rows, wanted = trained(folder, (*logistic, "--threshold", "0.02", "--positive", "b"))
    found, unmoved = score_rows(language, model, rows, tmp_path), trained(folder, logistic)[0]
    assert found.labels == [label for label, _ in wanted] == model.predict(rows).tolist()
    assert found.labels != unmoved.predict(rows).tolist()
    if language != "sql":
        wanted_probabilities = model.probabilities_of(np.array([[score] for _, score in wanted]))
        np.testing.assert_allclose(found.probabilities, wanted_probabilities, atol=1e-9)
        chance = np.asarray(found.probabilities)[:, model.classes.tolist().index("b")]
        assert np.array_equal(np.array(found.labels) == "b", chance >= 0.02)


@pytest.mark.parametrize("options", OPTIONS)
def test_javascript_takes_the_text_of_the_file(options: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    model, written, _, wanted = trained(folder, options)
    found = run_js(export(model, "js").decode(), written, tmp_path)["found"]
    assert [row[1] for row in found] == [label for label, _ in wanted]
    np.testing.assert_allclose([row[0][0] for row in found], [score for _, score in wanted], rtol=1e-9, atol=1e-9)


def test_exports_say_what_numbers_they_take(folder: Path) -> None:
    model = trained(folder, OPTIONS[0])[0]
    units = {
        "share": "0.45 for 45 %",
        "paid": "1 for true, 0 for false",
        "sold": "days since 1970-01-01, with the fraction of the day",
    }
    assert json.loads(export(model, "json"))["units"] == units
    onnx = pytest.importorskip("onnx")
    metadata = {each.key: each.value for each in onnx.load_from_string(export(model, "onnx")).metadata_props}
    assert json.loads(metadata["units"]) == units
    for unit in units.values():
        assert unit in export(model, "c").decode()
    without_dates = trained(folder, (*OPTIONS[0], "--dates", "ignore"))[0]
    assert export(without_dates, "sql").decode().startswith("-- The column 'share' has numbers: 0.45 for 45 %.\n")


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_for_missing_cells_are_refused_where_the_model_refuses_them(language: str, tmp_path: Path) -> None:
    rows = [{"x": f"{i}.5", "color": ["red", "blue"][i % 2], "label": "ab"[i // 15]} for i in range(30)]
    assert rosenblatt("train", save(tmp_path / "t.csv", rows), "-o", tmp_path / "m", "--missing", "refuse").code == 0
    model = rb.load(tmp_path / "m")
    assert isinstance(model, rb.Model)
    for word in ("N/A", "-", ""):
        late = save(tmp_path / "late.csv", [{"x": "1.5", "color": word, "label": "a"}])
        assert "the value is missing" in rosenblatt("predict", tmp_path / "m", late).err
        row = Data("late", Table(("x", "color"), (np.array([1.5]), np.array([word], object))), None)
        with pytest.raises(RefusedError):
            score_rows(language, model, row, tmp_path)


def test_a_sign_that_is_a_category_is_no_missing_cell(tmp_path: Path) -> None:
    rows = [{"x": f"{i % 7}.5", "sign": "+-"[i % 2] if i % 5 else "NULL", "label": "ab"[i % 2]} for i in range(40)]
    assert rosenblatt("train", save(tmp_path / "t.csv", rows), "-o", tmp_path / "m", "--algorithm", "average").code == 0
    model = rb.load(tmp_path / "m")
    assert isinstance(model, rb.Model)
    signs = np.array(["+", "-", "NULL", "?", "--", "*"], object)
    known = np.array(["+", "-", None, None, None, "*"], object)
    wanted = model.scores(Data("later", Table(("x", "sign"), (np.full(6, 1.5), known)), None))
    for language in LANGUAGES:
        found = score_rows(language, model, Data("later", Table(("x", "sign"), (np.full(6, 1.5), signs)), None), tmp_path)
        np.testing.assert_allclose(np.ravel(found.scores), np.ravel(wanted), rtol=1e-12)
