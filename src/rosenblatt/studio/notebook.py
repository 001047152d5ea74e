"""The studio in a notebook: of rows and labels, or of a model that is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, check_X_y

from ..estimators.base import row_weights
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary
from ..online.update_log import UpdateLog
from ..svm.not_separable import NotSeparable
from .code import code_of
from .curves import Data, margins_of
from .export import bundle, page_files
from .fitting import MOST_ENTRIES, Fit, fit_quietly, parameters_of
from .knobs import MOST_UPDATES, is_batch
from .menu import algorithm_of, knobs_set
from .page_data import opened, page_data, requests_of
from .proof import proof_of
from .recording import record
from .request import Asked, RequestError, asked
from .solver_paths import path_of
from .table import Flat, flat

# --- What would make a fitted model again from its rows: whether it was fitted on these, and with which weights.

# How far weights may be apart that are the same up to rounding; and margins, which were taken from float32 rows, perhaps.
CLOSE, MARGINS_CLOSE = 1e-6, 1e-4


@dataclass(frozen=True)
class Remade:
    """parameters : the model's own, of classes that are numbered
    weights : of the rows, beside those of their classes; None: they were fitted without
    again : whether a fit with both leads to the same; None: it cannot be told, since every fit draws other rows
    """

    parameters: dict[str, Any]
    weights: Any
    again: bool | None


def remade(model: Any, log: UpdateLog | None, X: Any, codes: Any) -> Remade:
    """X, codes : the rows that a model was fitted on, and the places of their classes among its own."""
    given = dict(model.get_params(deep=False))
    if isinstance(each := given.get("class_weight"), dict):
        given["class_weight"] = {at: each.get(label, 1.0) for at, label in enumerate(model.classes_.tolist())}
    weights = None if log is None else log._problem.labels.weights
    if weights is not None:
        own = row_weights(None, given["class_weight"], X, codes, np.arange(len(model.classes_)))
        own = np.zeros(0) if own is None else own[np.unique(log.rows)] if log is not None and log.is_compact else own
        if np.array_equal(weights, own):
            weights = None
        elif log is not None and log.is_compact:  # those of the other rows are gone
            return Remade(given, None, False)
        else:
            given["class_weight"] = None
    if given.get("random_state", 0) is None and _draws(given):
        return Remade(given, weights, False if model.stop_.reason == "chunk" else None)
    quiet = {name: value for name, value in (("verbose", 0), ("warm_start", False), ("log", True)) if name in given}
    try:
        found = fit_quietly(type(model)(**given | quiet), X, codes, weights)
    except (RequestError, NotSeparable):
        return Remade(given, weights, False)
    return Remade(given, weights, _same(model, log, found))


def check_rows(model: Any, log: UpdateLog | None, X: Any, codes: Any) -> None:
    """Raise where a model was fitted on other rows or labels, as far as it has kept what tells them."""
    kept = _logged(log, X, codes) if log is not None else _at_their_margins(model, X, codes)
    if not kept:
        raise ValueError("X and y must be what it was fitted on")


def is_weighted(model: Any, log: UpdateLog | None) -> bool:
    """Whether rows are known to count differently."""
    return getattr(model, "class_weight", None) is not None or (log is not None and bool(log._problem.labels.weights.size))


def _draws(given: dict[str, Any]) -> bool:
    """Whether rows come in an order that is drawn."""
    return given.get("order", "cyclic") != "cyclic" and not is_batch(given) and given.get("solver") != "minimum"


def _same(model: Any, log: UpdateLog | None, found: Any) -> bool:
    if log is not None:
        other = found.log_
        return np.array_equal(log.rows, other.rows) and bool(np.allclose(log.steps, other.steps, rtol=CLOSE, atol=0.0))
    if "coef_" not in vars(model):
        return False
    mine, its = (np.column_stack([each.intercept_, each.coef_]) for each in (model, found))
    return bool(np.linalg.norm(mine - its) <= CLOSE * np.linalg.norm(mine))


def _logged(log: UpdateLog, X: Any, codes: Any) -> bool:
    problem = log._problem
    if log.is_compact:
        moved, problem = np.unique(log.rows), log.compact()._problem
        if not len(moved):
            return True
        if moved[-1] >= len(codes):
            return False
        X, codes = X[moved], codes[moved]
    labels = problem.labels
    own = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    rows, mine = sp.csr_array(X), sp.csr_array(problem.matrix())
    return np.array_equal(codes, own) and rows.shape == mine.shape and not (rows != mine).nnz


def _at_their_margins(model: Any, X: Any, codes: Any) -> bool:
    """Whether rows are as far from the planes as the machines say, where a model has such."""
    if not hasattr(model, "canonical_"):
        return True
    known, k = model.canonical_, len(model.classes_)
    if known.shape[1] != len(codes):
        return False
    scheme = "binary" if k == 2 else {"ovo": "pairs", "crammer_singer": "joint"}.get(model.multiclass, "rest")
    weights = np.column_stack([model.intercept_, model.coef_])
    margins, counted = margins_of(weights, Data(X, codes, k, scheme, 1.0))
    counted = counted & np.isfinite(known)
    apart = abs(np.where(counted, known - margins, 0.0)).max()
    return bool(apart <= MARGINS_CLOSE * (1.0 + abs(np.where(counted, known, 0.0)).max()))


# ---

AGAIN = "The run is a new one, on these points."
# Parameters that do not change where a run leads, or that are spoken of otherwise.
ELSE = ("log", "n_jobs", "verbose", "random_state", "max_updates", "max_iter", "certify", "inseparable")
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
    if not np.array_equal(classes, model.classes_) or (
        log is not None and not log.is_compact and len(y) != log._problem.n_rows
    ):
        raise ValueError("X and y must be what it was fitted on")
    check_rows(model, log, X, codes)


def _rows_of(model: Any) -> tuple[Any, Any]:
    """The rows that a model was fitted on, which its log refers to."""
    log: UpdateLog | None = getattr(model, "log_", None)
    if log is None or log.is_compact:
        raise ValueError(f"this {type(model).__name__} has not kept the rows that it was fitted on: show(X, y)")
    labels = log._problem.labels
    codes = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    return log._problem.matrix(), model.classes_[codes]


def _as_it_was(model: Any, log: UpdateLog | None, shown: Flat, X: Any) -> bool:
    """Whether a run can be played on its own rows."""
    short = log is None or (log.n_updates <= MOST_UPDATES and len(log) <= MOST_ENTRIES)
    playable = short and (log is None or isinstance(log._problem.rows, Dense))
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
