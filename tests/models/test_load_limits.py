"""Loading takes at most 16 MB plus 64 times the size of the file, whatever sizes the file states."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc

import numpy as np
import pytest
import sklearn
from sealed_files import loaded, packed, parts_of, saved_files
from trained_models import assert_same, rows, trained

import rosenblatt as rb
from effort import in_time
from rosenblatt.models.container import MAX_GROWTH
from rosenblatt.models.strict_json import MAX_PARTS

pytestmark = pytest.mark.slow  # memory is traced
CONSTANT = 16 << 20
NOTHING_MORE = {"rows": None, "constant": [], "dates": [], "scale": "none"}  # entries of a recipe


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    rb.save(trained("soft-margin", 4, warm_start=True, multiclass="ovr"), folder / "warm")
    rb.save(trained("perceptron", certify=True), folder / "certified")
    more = {name: (folder / name).read_bytes() for name in ("warm", "certified")}
    return saved_files(folder) | more


def load_within_the_limit(raw: bytes, monkeypatch):
    """`rb.load`, or the sentence of its error; its memory is measured."""
    tracemalloc.start()
    try:
        return loaded(raw, monkeypatch)
    except rb.ModelError as error:
        return error.sentence
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= CONSTANT + MAX_GROWTH * len(raw), f"{peak >> 20} MB for a file of {len(raw) >> 10} KB"


def text_classes(text: list[str], dtype: str) -> bytes:
    k = len(text)
    model = {
        "object": "model", "kind": "LinearMSE", "parameters": {}, "classes": {"text": text, "dtype": dtype}, "pairs": False,
        "votes": None, "probabilities": None, "names": None, "recipe": None, "stop": None, "n_iter": 1, "n_updates": None,
        "provenance": {}, "more": None,
    }  # fmt: skip
    return packed(model, {"coef": np.zeros((k, 1)), "intercept": np.zeros(k)})


@pytest.mark.parametrize("dtype", ["U65536", "S9999999", "U99999999"])
def test_wide_text_labels_are_refused(dtype, monkeypatch):
    short = [f"{i:05d}" for i in range(6000)]
    assert "class labels of type" in load_within_the_limit(text_classes(short, dtype), monkeypatch)
    one_long = text_classes([*short, "x" * 100_000], "U100000")
    assert "use labels of dtype object" in load_within_the_limit(one_long, monkeypatch)
    model = load_within_the_limit(text_classes([*short, "x" * 100_000], "O"), monkeypatch)
    assert len(model.classes) == 6001


def test_labels_that_would_be_refused_are_not_saved(tmp_path):
    labels = np.array([*(f"{i:04d}" for i in range(200)), "x" * 10_000])
    model = rb.Model("LinearMSE", {}, labels, np.zeros((201, 1)), np.zeros(201))
    with pytest.raises(ValueError, match="201 class labels of type U10000 take 7 MB: use labels of dtype object"):
        rb.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_solutions_do_not_allocate_the_rows_that_a_file_states(files, monkeypatch):
    meta, arrays = parts_of(files["warm"])
    for each in meta["more"]["solutions"]["each"]:
        each["rows"] = (1 << 31) - 1
    model = load_within_the_limit(packed(meta, arrays), monkeypatch)
    assert [each.n_rows for each in model._solutions] == [(1 << 31) - 1] * 4
    X, y = rows(4)
    tracemalloc.start()
    model.fit(X, y)  # another number of rows: the multipliers are not used
    assert tracemalloc.get_traced_memory()[1] < CONSTANT
    tracemalloc.stop()


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("more", [0, 12])
def test_a_loaded_soft_margin_continues_as_before(multiclass, more, tmp_path):
    """With the same rows, whose multipliers are known, and with other rows."""
    X, y = rows(4, n=48 + more)
    model = trained("soft-margin", 4, warm_start=True, multiclass=multiclass, random_state=0)
    rb.save(model, tmp_path / "a")
    again = rb.load(tmp_path / "a")
    rb.save(again, tmp_path / "b")
    twice = rb.load(tmp_path / "b")
    for each in (model, again, twice):
        each.set_params(C=2.0).fit(X, y)
    for each in (again, twice):
        assert_same(model, each, X)


def test_an_array_is_used_once(files, monkeypatch):
    meta, arrays = parts_of(files["warm"])
    fitted = meta["more"]["fitted"]
    fitted["support_"]["list"] = [{"array": "fitted.support_.0"}] * 4
    sentence = "a parameter refers to a missing array, or to one that is in use"
    assert load_within_the_limit(packed(meta, arrays), monkeypatch) == sentence
    meta, arrays = parts_of(files["linear-mse"])
    arrays["fitted.more"] = np.zeros(3)
    assert load_within_the_limit(packed(meta, arrays), monkeypatch) == "the state of the estimator has unknown parts"
    meta, arrays = parts_of(files["linear-mse"])
    arrays["parameters.more"] = np.zeros(3)
    assert "no parameter refers to" in load_within_the_limit(packed(meta, arrays), monkeypatch)


@pytest.mark.parametrize(
    "value",
    [
        [[]] * 200_000, [{}] * 200_000, {f"{i:x}": 0 for i in range(100_000)}, [1.5] * 200_000, ["ab"] * 200_000,
        "\U0001f332" * 200_000,
    ],
    ids=["lists", "objects", "keys", "floats", "texts", "wide text"],
)  # fmt: skip
def test_the_header_grows_within_the_limit(value, files, monkeypatch):
    meta, arrays = parts_of(files["linear-mse"])
    meta["provenance"]["source"] = value
    model = load_within_the_limit(packed(meta, arrays), monkeypatch)
    assert not isinstance(model, str)


@pytest.mark.parametrize("text", ["[" + "[]," * MAX_PARTS + "0]", '"' + "," * MAX_PARTS + '"'])
def test_a_header_of_too_many_parts_is_not_parsed(text, files, monkeypatch):
    raw = json.dumps({"__metadata__": {"rosenblatt": text}}).encode()
    raw = len(raw).to_bytes(8, "little") + raw
    tracemalloc.start()
    with pytest.raises(rb.ModelError, match="the header has more than 2,000,000 parts"):
        loaded(raw, monkeypatch)
    assert tracemalloc.get_traced_memory()[1] < 4 * len(raw) + CONSTANT
    tracemalloc.stop()


def test_models_of_too_many_parts_are_not_saved(tmp_path):
    model = rb.Model("LinearMSE", {}, np.array([0, 1]), np.zeros((1, 1)), np.zeros(1), provenance={"x": [0] * MAX_PARTS})
    with pytest.raises(ValueError, match="names and metadata have more than 2,000,000 parts"):
        rb.save(model, tmp_path / "model")
    arrays = {f"fitted.{i}": np.zeros(0) for i in range(100_001)}
    model = rb.Model("LinearMSE", {}, np.array([0, 1]), np.zeros((1, 1)), np.zeros(1), more=({}, arrays))
    with pytest.raises(ValueError, match="more than 100,000 arrays"):
        rb.save(model, tmp_path / "model")


def test_nested_values_are_refused(files, monkeypatch):
    meta, arrays = parts_of(files["linear-mse"])
    for _ in range(120):
        meta["provenance"] = {"x": meta["provenance"]}
    assert "nested too deeply" in load_within_the_limit(packed(meta, arrays), monkeypatch)


def test_certificates_grow_within_the_limit(files, monkeypatch):
    from rosenblatt.certificates.files import _sealed

    meta, arrays = parts_of(files["certified"])
    content = meta["more"]["fitted"]["certificate_"]["list"][0]["certificate"]
    del content["seal"]
    content["data"]["rows"], content["augmented"]["pairs"] = 30_000, [[row, 0, "1/3"] for row in range(30_000)]
    meta["more"]["fitted"]["certificate_"]["list"][0]["certificate"] = _sealed(content)
    load_within_the_limit(packed(meta, arrays), monkeypatch)
    content["augmented"]["upper_squared"] = "0x" + "f" * 90_000 + "/0x" + "e" * 90_000
    meta["more"]["fitted"]["certificate_"]["list"][0]["certificate"] = _sealed(content)
    sentence = load_within_the_limit(packed(meta, arrays), monkeypatch)
    assert sentence == "a certificate has fractions too long for a model file"


def test_other_counts_allocate_nothing(files, monkeypatch):
    meta, arrays = parts_of(files["vote"])
    meta["votes"]["x0"] = [1.0] * 100_000
    assert isinstance(load_within_the_limit(packed(meta, arrays), monkeypatch), str)
    meta, arrays = parts_of(files["linear-mse"])
    meta["recipe"] = {
        "kind": "dense", "columns": 440, "degree": 2, "first": 0, "names": [], "strings": [], "notes": [],
        **NOTHING_MORE,
    }  # fmt: skip
    arrays["recipe.fill"] = np.zeros(440)
    assert "makes 97460 features, but the weights have 5" in load_within_the_limit(packed(meta, arrays), monkeypatch)
    meta, arrays = parts_of(files["linear-mse"])
    meta.update(object="model", more=None)
    empty = {"coef": np.zeros((1, 0)), "intercept": np.zeros(1)}
    assert load_within_the_limit(packed(meta, empty), monkeypatch) == "the weights have no features"


def test_wide_tables_load_in_linear_time(monkeypatch):
    """Looking every column up in a list of all took the square of their number."""
    n = 100_000
    names = [f"c{i}" for i in range(n)]
    recipe = {
        "kind": "table",
        "columns": n,
        "degree": 1,
        "first": 0,
        "names": names,
        "strings": [],
        "notes": [],
        **NOTHING_MORE,
    }
    meta, arrays = parts_of(text_classes(["a", "b"], "U1"))
    meta["recipe"] = recipe
    arrays = {"coef": np.zeros((1, n)), "intercept": np.zeros(1), "recipe.fill": np.zeros(n)}
    started = time.process_time()
    assert loaded(packed(meta, arrays), monkeypatch).n_features == n
    assert in_time(time.process_time() - started, 5.0)


def test_many_small_arrays_load_in_linear_time(files, monkeypatch):
    """Calls of NumPy and of hooks for every number of the header took 17 us for an array, beside the garbage collector's."""
    meta, arrays = parts_of(files["linear-mse"])
    n = 20_000
    raw = packed(meta, arrays | {f"fitted.x.{i}": np.zeros(1) for i in range(n)})
    calls = []
    monkeypatch.setattr("rosenblatt.models.strict_json._short_int", lambda text: calls.append(text) or int(text))
    before, enabled = gc.get_stats()[0]["collections"], gc.isenabled()
    started = time.process_time()
    with pytest.raises(rb.ModelError, match="the state of the estimator has unknown parts"):
        loaded(raw, monkeypatch)
    assert in_time(time.process_time() - started, 0.5)
    assert gc.isenabled() == enabled
    assert gc.get_stats()[0]["collections"] - before <= 2
    assert len(calls) < n


def column_transformer(width: int, steps: int, columns, places: list[int]) -> bytes:
    """A file whose ColumnTransformer has many steps that select the same of many named columns, and drops the others."""
    rest = sorted(set(range(width)) - set(places))
    masked = columns.get("list", [""])[0] is True
    left = {"list": [not each for each in columns["list"]] if masked else [f"n{at}" for at in rest]}
    each = [[f"k{at}", "drop", columns] for at in range(steps)]
    transformer = {
        "class": "ColumnTransformer", "parameters": {}, "steps": each, "remainder": "drop",
        "fitted": {"n_features_in_": width, "feature_names_in_": {"text": ["O", [f"n{at}" for at in range(width)]]}},
        "made": [*each, ["remainder", "drop", left]],
        "indices": [*([one[0], places] for one in each), ["remainder", rest]],
        "outputs": [[key, 0, 0] for key in (*(one[0] for one in each), "remainder")],
        "sparse": False,
    }  # fmt: skip
    pipeline = {"class": "Pipeline", "parameters": {}, "steps": [["a", transformer]]}
    meta = {"object": "pipeline", "sklearn": sklearn.__version__, "steps": pipeline, "provenance": {}}
    return packed(meta, {})


@pytest.mark.parametrize(
    ("width", "steps", "columns", "places"),
    [
        (100_000, 5_000, {"list": ["n0"]}, [0]),
        (100_000, 5_000, {"slice": ["n99998", "n99999", None]}, [99_998, 99_999]),
        (100_000, 5_000, {"slice": [0, None, None]}, [0]),  # refused: it selects all columns
        (100_000, 1, {"list": [True, False] * 50_000}, list(range(0, 100_000, 2))),
    ],
)  # fmt: skip
def test_many_columns_and_steps_load_in_linear_time(width, steps, columns, places, monkeypatch):
    raw = column_transformer(width, steps, columns, places)
    started = time.process_time()
    if columns == {"slice": [0, None, None]}:
        with pytest.raises(rb.ModelError, match="columns are invalid"):
            loaded(raw, monkeypatch)
    else:
        assert len(loaded(raw, monkeypatch)[0].transformers_) == steps + 1
    assert time.process_time() - started < 15.0  # less than a second; a minute if each step looks at all names


def test_the_number_of_steps_is_limited(monkeypatch):
    inner = {"class": "Pipeline", "parameters": {}, "steps": [["a", "passthrough"]]}
    many = {"class": "Pipeline", "parameters": {}, "steps": [[f"k{at}", inner] for at in range(6_000)]}
    both = {"class": "Pipeline", "parameters": {}, "steps": [["a", many], ["b", many]]}
    meta = {"object": "pipeline", "sklearn": sklearn.__version__, "steps": both, "provenance": {}}
    with pytest.raises(rb.ModelError, match="a Pipeline has more than 10,000 steps"):
        loaded(packed(meta, {}), monkeypatch)
