"""The studio in a notebook: of rows and labels, or of a model that is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_X_y

from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary
from ..online.update_log import UpdateLog
from .asking import requests_of
from .bundle import bundle
from .code import code_of
from .files import page_files
from .fitting import MOST_ENTRIES, Fit, parameters_of
from .flat import Flat, flat
from .knobs import MOST_UPDATES, is_batch
from .menu import algorithm_of, knobs_set
from .opening import opened
from .page_data import page_data
from .proof import proof_of
from .recording import record
from .remade import Remade, check_rows, is_weighted, remade
from .request import Asked, RequestError, asked
from .solver_paths import path_of

AGAIN = "The run is a new one, on these points."
# Parameters that do not change where a run leads, or that are spoken of otherwise.
ELSE = ("log", "n_jobs", "verbose", "random_state", "max_updates", "max_passes", "certify", "inseparable", "max_iter")
WEIGHTED = "Its rows were weighted; errors, loss and proof count each as one here."
ELSEWHERE = (
    "It is shown where it ended: a fit on these rows, each counted once, ends elsewhere. "
    "Was it fitted with weights, in chunks, or on other rows?"
)
DRAWN = "It is shown where it ended: with random_state=None, each fit takes another way."


def studio(
    X: Any, y: Any, *, algorithm: str = "perceptron", columns: Any = None, degree: int = 1, seed: int = 0, **knobs: Any
) -> Any:
    """`rb.studio`, which has its parameters."""
    shown = flat(X, y, columns)
    plain = {name: _plain(value) for name, value in knobs.items()}
    runs = [{"algorithm": algorithm, "knobs": plain}]
    state = {"data": shown.data, "degree": _plain(degree), "seed": _plain(seed), "runs": runs}
    return _widget(opened("notebook", state=state), shown.note)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as the page has them."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def show(model: Any, X: Any = None, y: Any = None, *, columns: Any = None) -> Any:
    """The run of a fitted model, as it was; where it cannot be drawn as it was, a new one on what can."""
    check_is_fitted(model, "classes_")
    if X is None and y is None:
        X, y = _rows_of(model)
    elif X is None or y is None:
        raise ValueError("X and y go together: give both, or neither")
    shown = flat(X, y, columns)
    log = getattr(model, "log_", None)
    _check(model, log, X, y)
    state = {
        "data": shown.data,
        "seed": _seed(model),
        "runs": [{"algorithm": algorithm_of(model), "knobs": _knobs(model)}],
        "t": "end",
    }
    if columns is not None or not _as_it_was(model, log, shown, X):
        page = opened("notebook", state=state)
        return _widget(page, f"{shown.note or ''} {_anew(model, page['recordings'][0])}".strip())
    page = page_data("notebook", state=state)
    request = requests_of(page, state)[0]
    wanted, made = asked(request), remade(model, log, shown.points, shown.codes)
    frames = path_of(Fit(model, made.parameters, {}), wanted) if log is None and made.again else None
    run = record(model, shown.points, model.classes_[shown.codes], frames=frames, code=_code(wanted, model, made))
    run["classes"] = list(range(len(model.classes_)))  # as the points have them
    recording = {"request": request, "run": run, "proof": proof_of(wanted, model)}
    return _widget({**page, "recordings": [recording]}, _about(model, log, made, wanted))


def _widget(page: dict[str, Any], note: str | None) -> Any:
    from .widget import Studio

    return Studio(bundle(page_files(), {**page, "note": note}))


def _anew(model: Any, recording: dict[str, Any]) -> str:
    """That a run is a new one, and what else it does not share with the model's."""
    wanted, run = asked(recording["request"]), recording["run"]
    other = _without_knobs(model, wanted)
    log: UpdateLog | None = getattr(model, "log_", None)
    if getattr(model, "class_weight", None) is None and is_weighted(model, log):
        other.append("the weights of the rows")
    said = AGAIN if not other else f"{AGAIN[:-1]}, and without {', '.join(other)}."
    if run["stop"]["reason"] == "updates" and log is not None and log.n_updates > run["updates"]:
        said += (
            f" It ends after {run['updates']:,} updates, where the model made {log.n_updates:,}: its plane may be a worse one."
        )
    return said


def _without_knobs(model: Any, wanted: Asked) -> list[str]:
    """The parameters of a model that the page's knobs do not have or do not reach."""
    new = wanted.choice.options | parameters_of(wanted)[0]
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in ELSE}
    if is_batch(given):
        given.pop("order", None)  # which all rows at once have none of
    return [f"{name}={_short(value)}" for name, value in given.items() if not _agree(value, new[name])]


def _agree(value: Any, new: Any) -> bool:
    """Whether a parameter is the same; "auto" is whatever it came to."""
    if isinstance(value, np.ndarray) or isinstance(new, np.ndarray):
        return np.array_equal(np.ravel(value), np.ravel(new))
    return bool(value == new) or (isinstance(value, str) and value == "auto")


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return "a function" if callable(value) else text if len(text) <= 40 else f"{text[:37]}..."


def _about(model: Any, log: UpdateLog | None, made: Remade, wanted: Asked) -> str | None:
    """What a picture of a model leaves out."""
    said = [WEIGHTED] if is_weighted(model, log) else []
    if other := [each for each in _without_knobs(model, wanted) if not each.startswith("class_weight=")]:
        said.append(f"This run has {', '.join(other)}; no knob says so, and a knob that is turned makes a run without.")
    if log is None and not made.again:
        said.append(DRAWN if made.again is None else ELSEWHERE)
    return " ".join(said) or None


def _check(model: Any, log: UpdateLog | None, X: Any, y: Any) -> None:
    """Raise where these are not the rows and labels of a model."""
    width = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
    if model.n_features_in_ != width:
        raise ValueError(f"X has {width} columns, and this {type(model).__name__} was fitted on {model.n_features_in_}")
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    classes, codes = np.unique(y, return_inverse=True)
    if not np.array_equal(classes, model.classes_) or (log is not None and not log.is_compact and len(y) != log.problem.n_rows):
        raise ValueError("X and y must be what it was fitted on")
    check_rows(model, log, X, codes)


def _rows_of(model: Any) -> tuple[Any, Any]:
    """The rows that a model was fitted on, which its log refers to."""
    log: UpdateLog | None = getattr(model, "log_", None)
    if log is None or log.is_compact:
        raise ValueError(f"this {type(model).__name__} has not kept the rows that it was fitted on: show(X, y)")
    labels = log.problem.labels
    codes = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    return log.problem.matrix(), model.classes_[codes]


def _as_it_was(model: Any, log: UpdateLog | None, shown: Flat, X: Any) -> bool:
    """Whether a run can be played on its own rows."""
    short = log is None or (log.n_updates <= MOST_UPDATES and len(log) <= MOST_ENTRIES)
    playable = short and (log is None or isinstance(log.problem.rows, Dense))
    return model.n_features_in_ == 2 and len(shown.codes) == (X.shape[0] if hasattr(X, "shape") else len(X)) and playable


def _knobs(model: Any) -> dict[str, Any]:
    """A model's parameters, as far as the page has knobs that go so far."""
    found, name = {}, algorithm_of(model)
    for knob, value in knobs_set(model).items():
        try:
            asked({"points": [[0, 0], [1, 1]], "labels": [0, 1], "algorithm": name, "knobs": {knob: value}})
            found[knob] = value
        except RequestError:
            continue
    return found


def _code(request: Asked, model: Any, made: Remade) -> str:
    """The text that makes a model's run; none where one of its parameters has none, or where it would make another."""
    given = made.parameters
    arrays = {name: f"np.array({value.tolist()!r})" for name, value in given.items() if isinstance(value, np.ndarray)}
    plain = (value for name, value in given.items() if name not in arrays)
    unknown = made.again is False or (made.again is None and getattr(model, "log_", None) is None)
    if unknown or not all(isinstance(value, bool | int | float | str | dict | None) for value in plain):
        return ""
    return code_of(request, Fit(model, given, arrays), made.weights, drawn=made.again is None)


def _seed(model: Any) -> int:
    seed = getattr(model, "random_state", None)
    return int(seed) if isinstance(seed, int | np.integer) and not isinstance(seed, bool) else 0
