"""Features of files in blocks: the recipe of the single machine's stream, to the bit, for any blocks and any engine."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.features import learn_block
from rosenblatt.cluster.file_sources import read_part
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError
from rosenblatt.preprocessing.recipe import Recipe
from rosenblatt.training.preparation import learn_recipe
from rosenblatt.training.request import Request


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers with missing cells and dates, categories, an identifier, a constant and text."""
    rng = np.random.default_rng(0)
    words = ["spam", "ham", "egg", "bacon", "toast", "größe"]
    lines = ["id,when,size,weight,color,constant,note,label"]
    for at in range(1500):
        size = "" if rng.random() < 0.1 else f"{rng.lognormal():.5f}"
        label = rng.choice(["yes", "no"])
        note = " ".join(rng.choice(words, 5)) + (" good" if label == "yes" else " bad") + f" {at % 97}"
        day = f"2024-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
        color = rng.choice(["red", "blue", ""])
        lines.append(f'k{at}x,{day},{size},{rng.normal() * 1e6:.3f},{color},7,"{note}",{label}')
    path = tmp_path_factory.mktemp("table") / "all.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def streamed(path: Path, options: Options, **choices: Any) -> Recipe:
    request = Request(str(path), options=options, **choices)
    return learn_recipe(request, chunks(path, options, 5000), in_memory=False)


def assert_same(one: Recipe | None, other: Recipe) -> None:
    assert one is not None
    (meta, arrays), (other_meta, others) = one.to_parts(), other.to_parts()
    assert meta == other_meta
    assert arrays.keys() == others.keys()
    assert all(arrays[name].tobytes() == others[name].tobytes() for name in arrays)


@pytest.mark.parametrize("choices", [
    {},
    {"scale": "max", "degree": 2},
    {"scale": "none", "missing": "mean", "missing_indicator": True, "ignore": ("id",)},
    {"text_features": "words-2:tfidf"},
    {"categorical": ("weight",), "ignore": ("id",), "text": ("color",)},
])  # fmt: skip
def test_the_recipe_of_blocks_is_that_of_a_stream(table: Path, choices: dict[str, Any]) -> None:
    made = {name: choices[name] for name in ("scale", "degree", "text_features") if name in choices}
    options = Options(**{"missing": "auto", **{name: value for name, value in choices.items() if name not in made}})
    expected = streamed(table, options, **made)
    for block_bytes, jobs in ((1 << 26, 1), (9000, 1), (2500, 3)):
        data = rb.cluster.read(table, block_bytes=block_bytes, **choices)
        data.learn(InProcess(jobs))
        assert_same(data.recipe, expected)


def test_tables_that_do_not_fit_into_memory_are_parsed_twice(table: Path) -> None:
    class Small(InProcess):
        memory = 1000

    one, other = rb.cluster.read(table, block_bytes=9000), rb.cluster.read(table, block_bytes=9000)
    held, parsed = one.learn(InProcess()), other.learn(Small())
    assert_same(one.recipe, other.recipe or Recipe.learn([np.zeros((1, 1))]))
    for left, right in zip(held, parsed, strict=True):
        (X, y, _), (again, labels, _) = left.raw.get(), right.raw.get()
        assert X.values.tobytes() == again.values.tobytes()
        assert X.indices.tobytes() == again.indices.tobytes()
        assert y.tolist() == labels.tolist()


def test_blocks_have_the_features_of_the_rows(table: Path) -> None:
    data = rb.cluster.read(table, block_bytes=9000)
    raws = [source.raw.get() for source in data.learn(InProcess())]
    whole = read(table, Options(missing="auto"))
    assert data.recipe is not None
    expected: Any = data.recipe.rows(whole)
    assert isinstance(expected, CSRMatrix)
    assert np.concatenate([raw.X.values for raw in raws]).tobytes() == expected.values.tobytes()
    assert np.concatenate([raw.X.indices for raw in raws]).tobytes() == expected.indices.tobytes()
    assert np.concatenate([raw.y for raw in raws]).tolist() == whole.labels.tolist()


def test_a_model_of_files_predicts_and_is_saved(table: Path, tmp_path: Path) -> None:
    data = rb.cluster.read(table, block_bytes=20_000)
    estimator = rb.cluster.fit(rb.SoftMargin(loss="squared_hinge", random_state=0), data)
    model = data.model(estimator)
    labels = np.array(read(table, Options(missing="auto")).labels.tolist())
    assert (model.predict(table) == labels).mean() > 0.95
    rb.save(model, tmp_path / "model.safetensors")
    again = rb.load(tmp_path / "model.safetensors")
    assert again.scores(table).tobytes() == model.scores(table).tobytes()
    assert model.provenance["rows"] == 1500
    assert model.provenance["reading"]["label"] == "label"
    lines = table.read_text(encoding="utf-8").splitlines()
    (tmp_path / "new.csv").write_text("\n".join([lines[0], *lines[5:9]]), encoding="utf-8")
    assert model.predict(tmp_path / "new.csv").tolist() == labels[4:8].tolist()
    with pytest.raises(ValueError, match="the estimator was fitted to 2 features, but these files have"):
        data.model(rb.SoftMargin().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]))


def test_the_learner_of_a_link_stays_as_it_is(table: Path) -> None:
    """A link may be computed again, from the same learner."""
    data = rb.cluster.read(table, block_bytes=9000)
    parts = [source.part for source in data.sources]
    arguments: Any = (data._choices, data.form.options)
    first, second = (read_part(part, data.form) for part in parts[:2])
    learner = learn_block(None, first, parts[0], *arguments)
    assert learner is not None
    before = copy.deepcopy(learner).finish()
    once, twice = (learn_block(learner, second, parts[1], *arguments) for _ in range(2))
    assert once is not None
    assert twice is not None
    assert_same(once.finish(), twice.finish())
    assert_same(learner.finish(), before)


@pytest.mark.parametrize("dense", [False, True])
def test_matrices_are_scaled_only_on_demand(tmp_path: Path, dense: bool) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 4)) < 0.5, 100.0 * rng.normal(size=(60, 4)).round(3), 0.0)
    path = tmp_path / ("rows.npz" if dense else "rows.svm")
    if dense:
        np.savez(path, X=X, y=np.arange(60) % 2)
    else:
        lines = (" ".join(f"{c + 1}:{x}" for c, x in enumerate(row) if x) for row in X.tolist())
        path.write_text("".join(f"{at % 2} {line}\n" for at, line in enumerate(lines)))
    plain = rb.cluster.read(path, block_bytes=300)
    raws = [source.raw.get().X for source in plain.learn(InProcess())]
    rows = np.concatenate([raw if dense else raw.with_width(4).toarray() for raw in raws])
    assert plain.recipe is None
    assert rows.tobytes() == X.tobytes()
    scaled = rb.cluster.read(path, block_bytes=300, scale="standard")
    scaled.learn(InProcess())
    assert_same(scaled.recipe, streamed(path, Options(), scale="standard"))


def test_missing_numbers_of_arrays(tmp_path: Path) -> None:
    X = np.arange(12.0).reshape(6, 2)
    X[3, 1] = np.nan
    np.savez(tmp_path / "rows.npz", X=X, y=np.arange(6) % 2)
    with pytest.raises(DataError, match=r"rows\.npz, row 4, column 1: the value is nan"):
        rb.cluster.fit(rb.SoftMargin(), rb.cluster.read(tmp_path / "rows.npz"))
    data = rb.cluster.read(tmp_path / "rows.npz", missing="mean")
    [source] = data.learn(InProcess())
    assert source.raw.get().X[3, 1] == np.nanmean(X[:, 1])


def test_columns_that_cannot_be_learned(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,y,label\n" + "".join(f"{at},{1e300},{'ab'[at % 2]}\n" for at in range(50)))
    with pytest.raises(DataError, match=r"rows\.csv: a product of columns is too large") as caught:
        rb.cluster.read(path, block_bytes=100, degree=2, scale="none").learn(InProcess())
    assert str(caught.value).startswith(str(path))
    with pytest.raises(DataError, match=r"text_features words: no column is text; name a column of text with text"):
        rb.cluster.read(path, text_features="words").learn(InProcess())
