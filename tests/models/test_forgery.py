"""Forged model files with a correct digest: inconsistent contents raise a ModelError, and nothing crashes."""

from __future__ import annotations

import contextlib
import copy
import json
import struct

import numpy as np
import pytest
from sealed_files import KINDS, loaded, packed, parts_of, resealed, saved_files
from trained_models import rows

import rosenblatt as rb

FORGED_FORM = {"kind": "number", "decimal": ",", "thousands": "", "percent": False, "currency": ""}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return saved_files(tmp_path_factory.mktemp("models"))


def junk(rng: np.random.Generator) -> object:
    choices = [
        None,
        True,
        -1,
        0,
        3,
        10**30,
        0.5,
        "",
        "x",
        [],
        {},
        [1, 2],
        {"array": "coef"},
        {"float": "inf"},
        {"list": 3},
        [[]] * 3,
    ]
    return choices[int(rng.integers(0, len(choices)))]


def forged(meta: dict, arrays: dict, rng: np.random.Generator) -> None:
    """Change something somewhere, in place."""
    if rng.random() < 0.5:
        place = meta
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = keys[int(rng.integers(0, len(keys)))]
            inner = place[key]
            if isinstance(inner, dict | list) and len(inner) and rng.random() < 0.8:
                place = inner
                continue
            if isinstance(place, dict) and rng.random() < 0.3:
                del place[key]
            else:
                place[key] = junk(rng)
            return
    name = str(rng.choice(sorted(arrays)))
    array, how = np.array(arrays[name]), int(rng.integers(0, 7))
    if how == 0:
        del arrays[name]
    elif how == 1 and array.size:
        array.flat[int(rng.integers(0, array.size))] = rng.choice([-1, 0, 1, 100])
        arrays[name] = array
    elif how == 2 and array.dtype.kind == "f" and array.size:
        array.flat[int(rng.integers(0, array.size))] = rng.choice([np.nan, np.inf, 1e308])
        arrays[name] = array
    elif how == 3:
        arrays[name] = array[:-1]
    elif how == 4:
        arrays[name] = array.astype(rng.choice(["f8", "f4", "i8", "u1", "?"]))
    elif how == 5:
        arrays[name] = array[None] if array.ndim < 3 else array[0]
    else:
        arrays[str(rng.choice(["coef", "fitted.x", "vote.9.start", "vote.x", "classes", "unheard-of"]))] = array


@pytest.mark.parametrize("name", KINDS)
def test_forged_files_with_a_right_digest_are_refused_or_usable(name, files, monkeypatch):
    """Kernels do not check indices: whatever loads must be in range, and prediction succeeds or raises ValueError."""
    rng = np.random.default_rng(4)
    X = rows(2)[0]
    refused = 0
    for _ in range(300):
        meta, arrays = parts_of(files[name])
        meta, arrays = copy.deepcopy(meta), dict(arrays)
        forged(meta, arrays, rng)
        try:
            with np.errstate(all="ignore"):
                model = loaded(packed(meta, arrays), monkeypatch)
        except rb.ModelError:
            refused += 1
            continue
        with contextlib.suppress(ValueError, TypeError):
            model.predict(X)
    assert refused > 100


def bend(meta, arrays, **changes):
    for name, value in changes.items():
        if name in meta:
            meta[name] = value
        else:
            arrays[name] = value
    return packed(meta, arrays)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("linear-mse", {"coef": np.zeros((2, 5))}, "has 2 planes and 1 intercepts, but its classes need 1"),
        ("linear-mse", {"coef": np.zeros(5)}, "weights are not a matrix of floats"),
        ("linear-mse", {"coef": np.zeros((1, 5), np.int64)}, "weights are not a matrix of floats"),
        ("linear-mse", {"intercept": np.zeros(2)}, "1 planes and 2 intercepts, but its classes need 1"),
        ("linear-mse", {"coef": np.full((1, 5), np.nan)}, "array coef contains NaN or infinity"),
        ("linear-mse", {"intercept": np.array([np.inf])}, "array intercept contains NaN or infinity"),
        ("linear-mse", {"classes": {"text": ["b", "a"], "dtype": "U1"}}, "not sorted and distinct"),
        ("linear-mse", {"classes": {"text": ["a", "a"], "dtype": "U1"}}, "not sorted and distinct"),
        ("linear-mse", {"classes": {"text": ["a", "bcd"], "dtype": "U1"}}, "class labels do not match their type U1"),
        ("linear-mse", {"classes": {"text": ["a", "b"], "dtype": "U9999999"}}, "2 class labels of type U9999999 take 76 MB"),
        ("linear-mse", {"classes": {"text": ["a", 3], "dtype": "U1"}}, "a class label is not text"),
        ("linear-mse", {"kind": "os.system"}, "unknown kind of model"),
        ("linear-mse", {"kind": "Perceptron"}, "unknown parameter 'alpha'"),
        ("linear-mse", {"names": ["a"]}, "number of feature names differs"),
        ("linear-mse", {"names": [1, 2, 3, 4, 5]}, "a feature name is not text"),
        ("linear-mse", {"pairs": True}, "pairs of classes need at least three"),
        ("linear-mse", {"votes": {"x0": []}}, "both weights and votes"),
        ("linear-mse", {"parameters": {"alpha": {"run": "me"}}}, "parameter has the unknown type 'run'"),
        ("linear-mse", {"parameters": {"exec": 1}}, "unknown parameter 'exec'"),
        ("linear-mse", {"stop": {"reason": 1}}, "reason why the run ended is invalid"),
        ("linear-mse", {"n_iter": -1}, "not a whole number"),
        ("linear-mse", {"n_iter": [1, 2]}, "not a whole number"),
        ("linear-mse", {"recipe": []}, "the recipe is not an object"),
        ("linear-mse", {"recipe.x": np.zeros(1)}, "arrays of a recipe, but the recipe is missing"),
        ("linear-mse", {"strange": np.zeros(1)}, "unknown array strange"),
        ("vote", {"vote.0.moved": np.full(3, 99)}, "different lengths|refers to a missing vector"),
        ("vote", {"vote.0.counts": np.zeros(0)}, "numbers of hypotheses and vote counts differ"),
        ("vote", {"vote.0.start": np.zeros((1, 4))}, "vectors and start have different widths"),
        ("average", {"run.counts": np.array([-1])}, "update counts are invalid"),
        ("average", {"run.w": np.zeros(3)}, "weights have the wrong type or shape"),
        ("arow", {"gaussian.variances": np.zeros((1, 4))}, "variances and weights have different shapes"),
        ("arow", {"gaussian.variances": -np.ones((1, 5))}, "a variance is negative"),
        ("arow", {"gaussian.variances": np.ones((1, 5), np.float32)}, "weights and variances must be float64"),
        ("arow", {"gaussian.bias": np.zeros(2)}, "bias has the wrong shape"),
        ("arow", {"gaussian.counts": np.array([1, 2])}, "update counts are invalid"),
        ("arow", {"gaussian.counts": np.array([-1])}, "update counts are invalid"),
    ],
)  # fmt: skip
def test_inconsistent_content_is_refused_although_the_digest_is_right(name, changes, words, files, monkeypatch):
    meta, arrays = parts_of(files[name])
    with pytest.raises(rb.ModelError, match=words):
        loaded(bend(meta, arrays, **changes), monkeypatch)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("average", {"max_iter": -5}, "max_iter must be at least 1, got -5"),
        ("average", {"max_iter": True}, "max_iter must be a whole number"),
        ("average", {"order": "nonsense"}, "order must not be 'nonsense'"),
        ("average", {"order": "mistakes", "keep": "nonsense"}, "keep must be one of 'last'"),
        ("average", {"step": 0}, "step must be greater than 0"),
        ("average", {"step": {"float": "inf"}}, "step must be greater than 0 and finite"),
        ("average", {"n_jobs": 0}, "n_jobs must be"),
        ("average", {"random_state": "abc"}, "random_state must be"),
        ("average", {"random_state": -1}, "random_state must be"),
        ("average", {"class_weight": "heavy"}, "class_weight must not be 'heavy'"),
        ("average", {"class_weight": {"dict": [["a", -1.0]]}}, "class_weight must be finite and not negative"),
        ("average", {"class_weight": {"list": []}}, "class_weight must be"),
        ("average", {"init": {"list": ["a"]}}, "init is not an array of numbers"),
        ("average", {"init": {"list": []}}, "init is not an array of numbers"),
        ("average", {"init": 20}, "init is not an array of numbers"),
        ("average", {"warm_start": -5}, "warm_start must be"),
        ("average", {"certify": -5}, "certify must be"),
        ("average", {"log": 7}, "log must be True or False"),
        ("average", {"multiclass": "ovo"}, "multiclass must be one of 'joint', 'ovr'"),
        ("linear-mse", {"alpha": -1.0}, "alpha must be at least 0"),
        ("linear-mse", {"verbose": None}, "verbose must be"),
        ("linear-mse", {"tol": {"float": "nan"}}, "tol must be"),
        ("soft-margin", {"loss": "hinge", "solver": "newton"}, "solver='newton' does not solve loss='hinge'"),
    ],
)
def test_parameters_that_no_fit_accepts_are_refused(name, parameters, words, files, monkeypatch):
    meta, arrays = parts_of(files[name])
    meta["parameters"].update(parameters)
    with pytest.raises(rb.ModelError, match=words):
        loaded(packed(meta, arrays), monkeypatch)


@pytest.mark.parametrize(("name", "value"), [("max_iter", -5), ("order", "nonsense"), ("a b", 1), ("C", {"list": []})])
def test_parameters_of_a_model_are_checked_without_its_estimator(name, value, files, monkeypatch):
    meta, arrays = parts_of(files["average"])
    meta["object"] = "model"
    meta["parameters"][name] = value
    with pytest.raises(rb.ModelError, match=name):
        loaded(packed(meta, arrays), monkeypatch)


def test_parameters_that_would_be_refused_are_not_saved(tmp_path):
    model = rb.Perceptron().fit(*rows(2)).set_params(max_iter=-5)
    with pytest.raises(ValueError, match="max_iter must be at least 1, got -5"):
        rb.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("average", ["stop"], None, "the reason why the run ended is missing"),
        ("average", ["stop", "reason"], "boredom", "reason why the run ended is invalid"),
        ("average", ["stop", "heads"], ["boredom"], "reason why the run ended is invalid"),
        ("average", ["n_updates"], None, "the number of updates is not that of a Perceptron"),
        ("linear-mse", ["n_updates"], 5, "the number of updates is not that of a LinearMSE"),
        ("soft-margin", ["n_iter"], None, "the number of iterations is missing"),
        ("average", ["stop", "limit"], {"float": "nan"}, "reason why the run ended is invalid"),
        ("average", ["stop", "last_updates"], -1, "a count of iterations or updates is not a whole number"),
        ("average", ["stop", "last_updates"], 1e308, "a count of iterations or updates is not a whole number"),
        ("average", ["more", "run", "x0"], "1", "x_0 is not a number"),
        ("average", ["more", "run", "dense"], 1, "a flag that is neither true nor false"),
        ("average", ["more", "fixed"], None, "a flag that is neither true nor false"),
        ("average", ["more", "strange"], 1, "unknown parts"),
        ("average", ["more", "certificate"], "proof", "the certificate of the run is invalid"),
        ("average", ["more", "fitted", "pocket_errors_"], "none", "pocket_errors_ has the wrong type or shape"),
        ("linear-mse", ["more", "fitted", "mse_"], -5.0, "mse_ has the wrong type or shape"),
        ("linear-mse", ["more", "fitted", "mse_"], "small", "mse_ has the wrong type or shape"),
        ("linear-mse", ["more", "fitted", "rank_"], -1, "rank_ has the wrong type or shape"),
        ("linear-mse", ["more", "fitted", "__class__"], 1, "LinearMSE has no attribute '__class__'"),
        ("soft-margin", ["more", "fitted", "solver_"], {"list": ["newton"]}, "solver_ has the wrong type or shape"),
        ("soft-margin", ["more", "fitted", "_scheme"], "star", "_scheme has the wrong type or shape"),
        ("soft-margin", ["more", "fitted", "_scheme"], "auto", "_scheme has the wrong type or shape"),
        ("soft-margin", ["more", "fitted", "_scheme"], "ovr", "the planes are those of another multiclass scheme"),
        ("vote", ["votes", "x0"], ["1"], "constants of the votes are not numbers"),
        ("vote", ["provenance", "reading"], {"missing": 3}, "options for reading files are invalid"),
        ("vote", ["provenance", "reading"], {"forms": ["x"]}, "options for reading files are invalid"),
        (
            "vote",
            ["provenance", "reading"],
            {"forms": {"x": {"kind": "date", "order": "ydm"}}},
            "notation of a column is invalid",
        ),
        (
            "vote",
            ["provenance", "reading"],
            {"forms": {"x": FORGED_FORM | {"decimal": "x"}}},
            "notation of a column is invalid",
        ),
        (
            "vote",
            ["provenance", "reading"],
            {"forms": {"x": FORGED_FORM | {"thousands": ","}}},
            "notation of a column is invalid",
        ),
        ("vote", ["provenance", "reading"], {"forms": {"x": FORGED_FORM | {"percent": 1}}}, "notation of a column is invalid"),
        (
            "vote",
            ["provenance", "reading"],
            {"forms": {"x": FORGED_FORM | {"currency": [3]}}},
            "notation of a column is invalid",
        ),
        ("vote", ["provenance", "reading"], {"forms": {"x": {"kind": [], "order": ""}}}, "notation of a column is invalid"),
    ],
)
def test_state_that_no_fit_leaves_is_refused(name, place, value, words, files, monkeypatch):
    meta, arrays = parts_of(files[name])
    inner = meta
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(rb.ModelError, match=words):
        loaded(packed(meta, arrays), monkeypatch)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400 + ".0", "9223372036854775808", "9" * 5000])
def test_numbers_of_the_header_are_finite(number, files, monkeypatch):
    raw = files["linear-mse"]
    length = int.from_bytes(raw[:8], "little")
    text = raw[8 : 8 + length].replace(rb"\"n_iter\":1", rb"\"n_iter\":" + number.encode())
    assert number.encode() in text
    text += b" " * (-len(text) % 8)
    with pytest.raises(rb.ModelError, match="in the header exceeds the range of numbers"):
        loaded(resealed(struct.pack("<Q", len(text)) + text + raw[8 + length :]), monkeypatch)


def test_indices_of_votes_out_of_range_are_refused(files, monkeypatch):
    for part, value in (("moved", -1), ("moved", 1 << 40), ("plus", 1), ("plus", -1), ("minus", 1), ("minus", -2)):
        meta, arrays = parts_of(files["vote"])
        array = np.array(arrays[f"vote.0.{part}"]).astype(np.int64)
        array[-1] = value
        arrays[f"vote.0.{part}"] = array.astype(arrays[f"vote.0.{part}"].dtype)
        if arrays[f"vote.0.{part}"][-1] != value:
            continue
        with pytest.raises(rb.ModelError, match=r"refers to a missing (vector|class)"):
            loaded(packed(meta, arrays), monkeypatch)


def test_a_newer_format_is_refused(files, monkeypatch):
    raw = files["average"].replace(rb"{\"format\":6,", rb"{\"format\":7,")
    with pytest.raises(rb.ModelError, match=r"written by a newer Rosenblatt, in format 7 \(this version reads up to 6\)"):
        loaded(resealed(raw), monkeypatch)


def test_headers_that_safetensors_might_read_are_refused(files, monkeypatch):
    """Duplicate names, gaps, overlaps, trailing bytes, each with a correct digest."""
    raw = files["average"]
    length = int.from_bytes(raw[:8], "little")
    text, data = raw[8 : 8 + length].rstrip(), raw[8 + length :]

    def rebuilt(header: bytes, rest: bytes = data) -> bytes:
        header += b" " * (-len(header) % 8)
        return resealed(struct.pack("<Q", len(header)) + header + rest)

    assert loaded(rebuilt(text), monkeypatch).classes_.tolist() == ["a", "d"]
    entry = b'"coef":{"dtype":"F64","shape":[1,5],"data_offsets":'
    assert entry in text
    for header, rest, words in (
        (text[:-1] + b',"x":{"dtype":"F64","shape":[0],"data_offsets":[0,0]},"x":{}}', data, "a duplicate key"),
        (text, data + b"\0" * 8, "extra bytes after the last array"),
        (text, data[:-8], "past the end of the file"),
        (text.replace(entry, b'"coef":{"dtype":"F64","shape":[1,4],"data_offsets":'), data, "does not match its shape"),
        (text.replace(entry, b'"coef":{"dtype":"F64","shape":[1,5,1,1],"data_offsets":'), data, "invalid shape or position"),
        (text.replace(entry, b'"coef":{"dtype":"F64","shape":[true,5],"data_offsets":'), data, "invalid shape or position"),
        (text.replace(entry, b'"coef":{"dtype":"F64","shape":[1,5.0],"data_offsets":'), data, "invalid shape or position"),
        (text.replace(entry, b'"coef":{"dtype":"F64","shape":[-1,-5],"data_offsets":'), data, "invalid shape or position"),
        (text.replace(entry, b'"coef":{"dtype":"C64","shape":[1,5],"data_offsets":'), data, "unsupported type"),
        (text.replace(entry, b'"c f":{"dtype":"F64","shape":[1,5],"data_offsets":'), data, "invalid array name"),
        (b"[" * 100_000, b"", "nested too deeply"),
        (b"[1]", b"", "not a JSON object"),
        (b"{}", b"", "it has no Rosenblatt metadata"),
        (b'{"__metadata__":{"a":"b"}}', b"", "it has no Rosenblatt metadata"),
        (b'{"a":NaN}', b"", "NaN in the header is not a number"),
        (b'{"a":"\xff"}', b"", "not UTF-8 text"),
    ):  # fmt: skip
        with pytest.raises(rb.ModelError, match=words):
            loaded(rebuilt(header, rest), monkeypatch)


def test_truth_values_are_true_or_false(files, monkeypatch):
    raw = bytearray(files["vote"])
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    raw[8 + length + header["vote.0.ends"]["data_offsets"][0]] = 2
    with pytest.raises(rb.ModelError, match="values other than true and false"):
        loaded(resealed(bytes(raw)), monkeypatch)
