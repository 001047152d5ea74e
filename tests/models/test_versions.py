"""Files that earlier versions wrote load, and predict what they predicted then. `make_files.py` wrote them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from make_files import training_rows

import rosenblatt as rb
from rosenblatt.models.earlier_formats import upgrade
from rosenblatt.models.files import load_model

pytestmark = pytest.mark.once
ALL_FILES = sorted((Path(__file__).parent / "files").glob("*.safetensors"))
FILES = [path for path in ALL_FILES if "pipeline" not in path.stem]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_predicts_what_it_did(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    X, scores = np.array(expected["rows"]), np.array(expected["scores"])
    model = load_model(path)
    assert model.classes.tolist() == expected["classes"]
    assert model.classes.dtype.str == expected["dtype"]
    if model.pairs:  # the fractions beside the votes, which order classes with equal votes, were others
        assert np.array_equal(np.floor(model.scores(X)), scores.round())
    else:
        np.testing.assert_allclose(model.scores(X), scores, rtol=1e-12, atol=1e-12)
    assert model.predict(X).tolist() == expected["labels"]
    loaded = rb.load(path)
    assert type(loaded).__name__ == expected["type"]
    vars(loaded).pop("feature_names_in_", None)  # scikit-learn would warn of rows without names
    assert loaded.predict(X).tolist() == expected["labels"]


def test_a_pipeline_of_an_earlier_version_predicts_what_it_did():
    (path,) = set(ALL_FILES) - set(FILES)
    expected = json.loads(path.with_suffix(".json").read_text())
    found = rb.load(path)
    assert type(found).__name__ == expected["type"]
    scores = found.decision_function(np.array(expected["rows"]))
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-12, atol=1e-12)
    assert found.predict(np.array(expected["rows"])).tolist() == expected["labels"]
    with pytest.raises(rb.ModelError, match="a scikit-learn Pipeline, which only Python can use"):
        load_model(path)


def test_this_version_is_among_them():
    assert len([path for path in FILES if path.name.startswith(f"{rb.__version__}-")]) >= 8


def test_what_a_file_remembers():
    path = next(path for path in FILES if path.name == "0.1.0-average.safetensors")
    model = load_model(path)
    assert model.feature_names == ("height", "girth", 'a "quoted" name')
    assert model.parameters["class_weight"] == {"oak": 2.0}
    assert (model.provenance["rosenblatt"], model.provenance["rows"], model.provenance["columns"]) == ("0.1.0", 40, 3)
    assert len(model.provenance["data_sha256"]) == 64
    assert model.stop is not None
    loaded = rb.load(path)
    assert loaded.feature_names_in_.tolist() == list(model.feature_names)
    again = rb.load(next(path for path in FILES if path.name == "0.1.0-least-squares-stream.safetensors"))
    again.partial_fit([[1.0, 2.0, 3.0], [0.0, 1.0, 5.0]], ["oak", "ash"])


def test_a_single_certificate_of_format_2_becomes_a_list():
    """0.1.0-certified was written before `certificate_` was always a list."""
    path = next(path for path in FILES if path.name == "0.1.0-certified.safetensors")
    assert b'{\\"format\\":2,' in path.read_bytes()
    (certificate,) = rb.load(path).certificate_
    assert rb.verify(certificate, *training_rows(2))


def test_renamed_arrays_of_format_3_are_read():
    """AROW continues from its variances and a vote has its counts, which format 3 stored as `belief` and `ballots`."""
    paths = {path.stem.removeprefix("0.1.0-format-3-"): path for path in FILES if "format-3" in path.stem}
    for kind, name in (("arow", b'"belief.variances"'), ("vote", b'"vote.0.ballots"')):
        assert b'{\\"format\\":3,' in paths[kind].read_bytes()
        assert name in paths[kind].read_bytes()
    X, y = training_rows(3)
    fitted, loaded = rb.AROW(r=0.5, random_state=1).fit(sp.csr_array(X), y), rb.load(paths["arow"])
    for model in (fitted, loaded):
        model.partial_fit(X[:5], y[:5])
    np.testing.assert_allclose(loaded.variances_, fitted.variances_, rtol=1e-12)
    (vote,) = load_model(paths["vote"]).votes
    assert vote.arrays["counts"].sum() == 20  # one pass over 20 rows
    assert load_model(paths["vote"]).stop.sentence == "stopped after 1 pass (the limit); the last one made 6 updates"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_iterations_of_an_earlier_file_are_a_number(path):
    loaded = rb.load(path)
    assert isinstance(loaded.n_iter if isinstance(loaded, rb.Model) else loaded.n_iter_, int)


def test_the_solvers_of_an_earlier_file_become_a_list():
    solvers = {path.stem: rb.load(path).solver_ for path in FILES if "-margin" in path.stem}
    assert solvers == {"0.1.0-max-margin": ["active-set"], "0.1.0-soft-margin-of-pairs": ["interior-point"] * 3}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_stop_of_an_earlier_file_is_in_current_words(path):
    stop = load_model(path).stop
    old_words = r"max_passes|used up|machines|runs|classes_\[|at a price|combinations that meet|triangle|\.$|rows \d"
    assert stop is not None
    assert not re.search(old_words, stop.sentence)
    if stop.heads:
        assert stop.sentence.startswith(f"all {len(stop.heads)} binary problems reached the ")


def test_the_notes_of_an_earlier_recipe_are_in_current_words():
    path = next(path for path in FILES if path.name == "0.1.0-recipe.safetensors")
    assert b"Columns of numbers were divided" in path.read_bytes()
    scaled = "Numeric columns were scaled by their largest absolute values, because their ranges differ 7,000,000-fold."
    assert load_model(path).recipe.notes == (scaled,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Columns of numbers were divided by their largest absolute values, as asked.",
            "Numeric columns were scaled by their largest absolute values, as requested.",
        ),
        (
            "Columns of numbers were brought to mean 0 and deviation 1, as asked.",
            "Numeric columns were scaled to mean 0 and standard deviation 1, as requested.",
        ),
        (
            "Column 'a b' is text: a bag of 1,234 words that are in two rows or more.",
            "Column 'a b' is text: 1,234 words that occur in at least two rows.",
        ),
        (
            "Column 'a' is text: a bag of 9 words that are in two rows or more, of the first 1,000,000 different ones.",
            "Column 'a' is text: 9 words that occur in at least two rows, of the first 1,000,000 distinct words.",
        ),
        (
            "Columns of names became one feature for each value: 'a' (2), 'b' (3) and 4 more.",
            "Categorical columns were one-hot encoded: 'a' (2), 'b' (3) and 4 more.",
        ),
        (
            "Column 'id' numbers the rows, it seems: leave it out with --ignore.",
            "Column 'id' looks like a row id. To exclude it: --ignore 'id'",
        ),
        (
            "Column 'id', 'no' numbers the rows, it seems: leave it out with --ignore.",
            "Columns 'id', 'no' look like row ids. To exclude them: --ignore",
        ),
        ("1 missing cells of 'a' get the column's mean.", "1 missing cell of 'a' filled with the column mean."),
        ("31 missing cells of 'a', 'b' get the column's mean.", "31 missing cells of 'a', 'b' filled with the column mean."),
        ("A note in other words.", "A note in other words."),
    ],
)
def test_notes_of_recipes_are_translated(old, new):
    meta = {"recipe": {"notes": [old, new]}}
    upgrade(3, meta, {})
    assert meta["recipe"]["notes"] == [new, new]


def test_words_of_an_earlier_recipe_are_grams_that_occur_or_do_not():
    words = np.frombuffer(b"cat\nthe", np.uint8)
    recipe = {"kind": "table", "notes": [], "strings": [["city", "names", ["x"]], ["t", "words", 2]]}
    arrays = {"recipe.words1": words}
    upgrade(5, {"recipe": recipe}, arrays)
    assert recipe["strings"] == [["city", "names", ["x"], False], ["t", "text", [["words", 1, 1, "binary", 2]]]]
    assert list(arrays) == ["recipe.grams1.0"]
