"""Snapshots: the state of a filter in a model file of the library, so that opening a filter does not replay its whole log.

The weights are those of an AROW model with a recipe for raw mails: `rb.load(path).predict([raw])` works. The file also has the
variances, the rehearsed messages, the scores for the calibration, the id of the log and the last message of the replay. A
snapshot that is damaged, outdated or of another log is ignored.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np

from ... import atomic_file
from ...atomic_file import TEMPORARY_SUFFIX, write_atomically
from ...models.container import ModelError, pack, read
from ...models.files import from_parts, to_parts
from ...models.model import Model
from ...models.provenance import provenance_now
from ...models.strict_json import require
from ..features import FeatureName, MailRecipe
from ..learner import Learner, Rehearsal
from .filter_state import SCORES_KEPT, Settings, State

SNAPSHOT_NAME = "filter.safetensors"
CLASSES = ("ham", "spam")
VARIANCES, SCORES, LABELS = "fitted.variances", "fitted.scores", "fitted.labels"
LENGTHS, COLUMNS = "fitted.rehearsed_lengths", "fitted.rehearsed_columns"


def save(state: State, log: str, path: Path, names: tuple[tuple[int, str], ...] = ()) -> None:
    """Write a snapshot atomically; raises `WriteError`."""
    new = False
    with contextlib.suppress(OSError):  # readable by its owner only; errors are raised below
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        new = True
    try:
        write_atomically(path, pack(*to_parts(model_of(state, log, names), "model")))
    except BaseException:
        with contextlib.suppress(OSError):
            if new and not path.stat().st_size:
                path.unlink()
        raise


def load(path: Path, log: str, settings: Settings) -> State | None:
    """The state in a file; None if there is none for this log and these settings."""
    try:
        state: State = read(path, lambda meta, arrays: _state_of(from_parts(meta, arrays), log, settings))
    except ModelError:
        return None
    return state


def model_of(state: State, log: str, names: tuple[tuple[int, str], ...] = ()) -> Model:
    settings, (scores, labels) = state.settings, state.recent_scores()
    rehearsed, lengths, columns = state.rehearsal.to_parts()
    filtered = {
        "log": log,
        "seq": state.seq,
        "last": state.last.hex(),
        "generation": state.generation,
        "count": state.count,
        "spam": state.spam,
        "strange": state.n_warmup,
        "rehearsed": rehearsed,
    } | settings.replayed()
    return Model(
        kind="AROW",
        parameters={"r": settings.r},
        classes=np.array(CLASSES),
        coef=state.learner.weights[None],
        intercept=np.zeros(1, np.float32),
        recipe=MailRecipe(settings.bits, settings.features, names),
        n_iter=1,
        provenance=provenance_now() | {"messages": {"ham": state.count - state.spam, "spam": state.spam}},
        more=(
            {"filter": filtered},
            {VARIANCES: state.learner.variances, SCORES: scores, LABELS: labels, LENGTHS: lengths, COLUMNS: columns},
        ),
    )


def _state_of(model: Model, log: str, settings: Settings) -> State:
    require(model.kind == "AROW" and model.more is not None and model.coef is not None, "is not a filter")
    assert model.more is not None
    assert model.coef is not None
    filtered, arrays = model.more[0]["filter"], model.more[1]
    require(filtered["log"] == log, "belongs to another log")
    for name, value in settings.replayed().items():
        require(type(filtered[name]) is type(value) and filtered[name] == value, f"was made with another {name}")
    for name in ("seq", "generation", "count", "spam", "strange"):
        require(type(filtered[name]) is int and 0 <= filtered[name] < 1 << 62, f"has no {name}")
    width, variances, scores, labels = 1 << settings.bits, arrays[VARIANCES], arrays[SCORES], arrays[LABELS]
    require(model.coef.shape == (1, width) and model.coef.dtype == np.float32, "has weights of another shape")
    require(variances.shape == (width,) and variances.dtype == np.float32, "has variances of another shape")
    require(scores.dtype == np.float32 and labels.dtype == np.bool_, "has scores of another type")
    require(scores.shape == labels.shape == (min(filtered["count"], SCORES_KEPT),), "has another number of scores")
    learner = Learner.__new__(Learner)  # without allocating arrays
    learner.bits, learner.r, learner.ham_weight = settings.bits, settings.r, settings.ham_weight
    learner.weights, learner.variances = model.coef[0], variances
    state = State(settings, learner)
    state.rehearsal = Rehearsal.from_parts(filtered["rehearsed"], arrays[LENGTHS], arrays[COLUMNS])
    require(not len(arrays[COLUMNS]) or int(arrays[COLUMNS].max()) < width, "has rehearsed columns out of range")
    state.seq, state.last, state.generation = filtered["seq"], bytes.fromhex(filtered["last"]), filtered["generation"]
    state.count, state.spam, state.n_warmup, state.n_held = (
        filtered["count"],
        filtered["spam"],
        filtered["strange"],
        len(scores),
    )
    state.scores, state.labels = scores.copy(), labels.copy()
    stored = model.recipe.names if isinstance(model.recipe, MailRecipe) else ()
    state.names = {column: found for column, text in stored if (found := FeatureName.from_stored(text)) is not None}
    return state


def replace_by_link(path: Path, target: Path) -> bool:
    """Replace a file by a hard link to another, which takes no space; returns whether that worked."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")
    try:
        os.link(target, temporary)
        temporary.replace(path)
    except OSError:
        return False
    finally:
        remove(temporary)  # it still exists if both were the same file already
    return True


def remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def remove_abandoned(home: Path) -> None:
    """Remove unfinished bases of killed processes; each has its own name, so that no later write replaces them."""
    for path in home.glob(f".base-*{TEMPORARY_SUFFIX}"):
        atomic_file.remove_abandoned(path)
