"""Forged model files of every kind, sealed again, and the check that whatever loads is usable and can be saved again.

Run as a program, it forges files until a number or a time is reached, under a limit of memory and of time for each file:

    PYTHONPATH=src:tests:tests/models python tests/models/forged_files.py FIRST_SEED COUNT SECONDS
"""

from __future__ import annotations

import copy
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from pipelines_of_steps import FRAME, LABELS, TEXTS, pipelines
from sealed_files import packed, parts_of
from sklearn.pipeline import Pipeline
from trained_models import rows, trained

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.cli import main as main_command
from rosenblatt.models.files import load, load_model, save
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.recipe import Recipe

MEMORY = 6 << 30  # of the address space, most of which libraries reserve
SECONDS_PER_FILE = 5.0
# Weights beyond this may overflow in a sum, as those of a fit of such rows do.
LARGEST = 1e100
# Pipelines with steps of all kinds; the others are tried by test_pipelines.py.
PIPELINES = (
    "standard", "robust", "polynomial", "union", "columns by mask", "vocabulary", "hasher", "tf-idf", "counts", "frame",
    "frame of codes", "categories", "numbers", "gaps", "data frames",
)  # fmt: skip


def originals(folder: Path) -> dict[str, tuple[bytes, Any]]:
    """The bytes of valid files of every kind, each with input to predict."""
    made: dict[str, tuple[Any, Any]] = {}
    for name in ALGORITHMS:
        made[name] = trained(name), rows(2)[0]
    for name in ("average", "vote", "arow", "linear-mse", "soft-margin", "max-margin", "nonlinear-mse-online"):
        made[f"{name} of 4"] = trained(name, 4), rows(4)[0]
    made["calibrated"] = trained("linear-mse", calibrate="sigmoid"), rows(2)[0]
    made["calibrated votes"] = trained("vote", 4, calibrate="isotonic", random_state=0), rows(4)[0]
    made["certified"] = trained("perceptron", certify=True), rows(2)[0]
    made["warm"] = trained("soft-margin", 4, warm_start=True), rows(4)[0]
    made["joint"] = trained("soft-margin", 4, warm_start=True, multiclass="crammer_singer"), rows(4)[0]
    made["pairs"] = trained("max-margin", 4, multiclass="ovo"), rows(4)[0]
    made["class weights"] = trained("average", class_weight={"a": 2.0}, init=np.ones((1, 6)), random_state=3), rows(2)[0]
    stream = rb.LinearMSE().partial_fit(*rows(4))
    made["stream"] = stream, rows(4)[0]
    frame = FRAME.copy()
    recipe = Recipe.learn([frame], degree=2, text=("note",))
    made["recipe"] = model_of(rb.AROW(random_state=0).fit(recipe.rows(frame).to_scipy(), LABELS), recipe=recipe), frame
    made["mail"] = _mail_filter(folder), [b"Subject: hello\n\nHow are you?", b"Subject: win\n\nFree money"]
    for name, (pipeline, X, y) in pipelines().items():
        if name in PIPELINES:
            made[f"pipeline: {name}"] = pipeline.fit(X, y), X
    found = {}
    for name, (model, X) in made.items():
        if isinstance(model, Path):
            found[name] = model.read_bytes(), X
            continue
        save(model, folder / "file")
        found[name] = (folder / "file").read_bytes(), X
    return found


def _mail_filter(folder: Path) -> Path:
    from rosenblatt.mail import Filter

    mails = [(f"Subject: {text}\n\n{text} {n}".encode(), n % 2 == 0) for n, text in enumerate(TEXTS)]
    with Filter.open(folder / "mail", create=True, settings={"bits": 8}) as learned:
        learned.learn(mails)
        learned.save()
    (path,) = (folder / "mail").glob("filter.safetensors")
    return path


# --- forging -----------------------------------------------------------------------------------------------------------------


def junk(rng: np.random.Generator) -> Any:
    choices: list[Any] = [
        None, True, False, -1, 0, 1, 2, 3, 5, 1 << 20, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63),
        0.5, -0.5, 1e308, 1e-320, "", "x",
        "auto", "é\ud800", "a" * 5000, [], {}, [1, 2], [[]] * 3, {"array": "coef"}, {"float": "inf"}, {"float": "nan"},
        {"list": [1, "a"]}, {"tuple": [1, 2]}, {"dict": [["a", 1.0]]}, {"unsaved": "the function f"}, {"text": ["U9", ["a"]]},
        {"slice": [0, 2, None]}, {"dtype": "<f4"}, {"type": "float32"}, "passthrough", "drop",
    ]  # fmt: skip
    return choices[int(rng.integers(0, len(choices)))]


def forge(meta: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one to three things somewhere, in place."""
    for _ in range(int(rng.integers(1, 4))):
        (_forge_meta if rng.random() < 0.6 else _forge_array)(meta, arrays, rng)


def _forge_meta(meta: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    place = meta
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = keys[int(rng.integers(0, len(keys)))]
        inner = place[key]
        if isinstance(inner, dict | list) and len(inner) and rng.random() < 0.85:
            place = inner
            continue
        how = rng.random()
        if how < 0.12:
            del place[key]
        elif how < 0.24 and isinstance(place, list):
            place.insert(key, copy.deepcopy(inner))
        elif how < 0.3 and isinstance(place, dict):
            place["more"] = junk(rng)
        elif how < 0.45 and type(inner) in (int, float):
            place[key] = type(inner)(inner + rng.choice([-1, 1, 1000, -1e6])) if rng.random() < 0.7 else float(inner)
        elif how < 0.6 and isinstance(inner, str) and inner:
            at = int(rng.integers(0, len(inner)))
            place[key] = inner[:at] + str(rng.choice(["", "a", "\n", "0", "."])) + inner[at + 1 :]
        elif how < 0.7:
            other = keys[int(rng.integers(0, len(keys)))]
            place[key], place[other] = place[other], place[key]
        else:
            place[key] = junk(rng)
        return


def _forge_array(meta: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    if not arrays:
        return
    name = str(rng.choice(sorted(arrays)))
    array, how = np.array(arrays[name]), int(rng.integers(0, 9))
    if how == 0:
        del arrays[name]
    elif how == 1 and array.size:
        with np.errstate(all="ignore"):
            array.flat[int(rng.integers(0, array.size))] = (
                rng.choice([0, 1, 100]) if array.dtype.kind in "bu" else rng.choice([-1, 0, 100])
            )
        arrays[name] = array
    elif how == 2 and array.dtype.kind == "f" and array.size:
        with np.errstate(all="ignore"):
            array.flat[int(rng.integers(0, array.size))] = rng.choice([np.nan, np.inf, -1e30, 1e308, 1e-320])
        arrays[name] = array
    elif how == 3:
        arrays[name] = array[:-1] if array.ndim else array
    elif how == 4:
        with np.errstate(all="ignore"):
            arrays[name] = np.nan_to_num(array).astype(rng.choice(["f8", "f4", "i8", "i4", "u1", "?"]))
    elif how == 5:
        arrays[name] = array[None] if array.ndim < 3 else array[0]
    elif how == 6 and array.ndim == 2:
        arrays[name] = np.asfortranarray(array)
    elif how == 7:
        other = str(rng.choice(sorted(arrays)))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        arrays[str(rng.choice(["coef", "fitted.x", "vote.9.start", "vote.x", "classes", "parameters.init", "step.0.x"]))] = (
            array
        )


# --- checking ----------------------------------------------------------------------------------------------------------------


def check(raw: bytes, X: Any, folder: Path) -> str:
    """Load a file, and use and save what it gives; returns the sentence of the error, or an empty string."""
    path = folder / "forged"
    path.write_bytes(raw)
    try:
        model = load(path)
    except rb.ModelError as error:
        return error.sentence
    assert repr(model)
    first = _scores(model, X)
    save(model, folder / "again")
    again = load(folder / "again")
    assert np.array_equal(first, _scores(again, X), equal_nan=True), "other predictions after saving"
    save(again, folder / "twice")
    (meta, arrays), (others_meta, others) = (parts_of((folder / each).read_bytes()) for each in ("again", "twice"))
    meta["provenance"].pop("saved", None), others_meta["provenance"].pop("saved", None)
    assert meta == others_meta, "other metadata after saving twice"
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.tobytes() == others[name].tobytes(), f"another array {name} after saving twice"
    if not isinstance(model, Pipeline) and not getattr(model, "multilabel_", False):
        load_model(folder / "again")
        for options in ([], ["--json"]):
            shown = CliRunner().invoke(main_command, ["show", str(folder / "again"), *options])
            assert shown.exit_code == 0, f"show: {shown.output} {shown.exception!r}"
    return ""


def _scores(model: Any, X: Any) -> Any:
    """The scores of rows, of as many features as the model has, or of the rows of the original."""
    width = getattr(model, "n_features_in_", None)
    if isinstance(model, rb.Model):
        width = model.n_features if model.recipe is None else None
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and width is not None and width != X.shape[1]:
        X = np.zeros((3, width)) if width < 10_000 else X
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(model, Pipeline) and not hasattr(model[-1], "decision_function"):
            return np.zeros(1)
        try:
            model.predict(copy.deepcopy(X))  # with copy=False, a scaler changes its input
            scores = (model.scores if isinstance(model, rb.Model) else model.decision_function)(copy.deepcopy(X))
        except ValueError as error:
            # The step that reads texts was left out, or a column renamed: then this is other input than the model takes.
            other = "could not convert string to float" in str(error) or "missing column required" in str(error)
            if not other and not _is_extreme(model):
                raise
            return np.zeros(1)
    assert np.isfinite(scores).all() or _is_extreme(model), "scores that are not finite"
    return scores


def _is_extreme(model: Any) -> bool:
    """Whether numbers of the model are so large, or divisors so small, that features or scores may overflow."""
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "file")
        arrays = parts_of((Path(folder) / "file").read_bytes())[1].values()
    sizes = [abs(array[array != 0]) for array in arrays if array.dtype.kind == "f"]
    return any((each > LARGEST).any() or (each < 1 / LARGEST).any() for each in sizes)


def forged(files: dict[str, tuple[bytes, Any]], seed: int) -> tuple[str, bytes, Any]:
    """The forgery of a seed: the kind of the file, its bytes and the input to predict."""
    rng = np.random.default_rng(seed)
    name = list(files)[seed % len(files)]
    raw, X = files[name]
    while True:
        meta, arrays = parts_of(raw)
        meta, arrays = copy.deepcopy(meta), dict(arrays)
        forge(meta, arrays, rng)
        try:
            return name, packed(meta, arrays), X
        except (ValueError, TypeError, KeyError):  # what no container can hold
            continue


def main(first: int, count: int, seconds: float) -> None:
    import resource
    import signal

    def stop(*_: Any) -> None:
        raise TimeoutError("a file took too long")

    signal.signal(signal.SIGALRM, stop)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        files = originals(folder)
        for kind, (raw, X) in files.items():
            assert not (problem := check(raw, X, folder)), f"{kind}: {problem}"
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        started, loaded, failed, slowest = time.monotonic(), 0, 0, (0.0, 0)
        for seed in range(first, first + count):
            kind, raw, X = forged(files, seed)
            began = time.process_time()
            signal.setitimer(signal.ITIMER_REAL, 20 * SECONDS_PER_FILE)
            try:
                loaded += not check(raw, X, folder)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                failed += 1
                sys.stdout.write(f"{seed} {kind}: {type(error).__name__}: {str(error)[:300]}\n")
                sys.stdout.flush()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            slowest = max(slowest, (time.process_time() - began, seed))
            if time.monotonic() - started > seconds:
                count = seed - first + 1
                break
        sys.stdout.write(
            f"{count} files, {loaded} loaded, {failed} failed; the slowest took {slowest[0]:.2f} s, seed {slowest[1]}\n"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
