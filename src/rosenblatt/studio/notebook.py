"""The studio in a notebook: for rows and labels, or for the run of a fitted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, check_X_y

from ..array_types import Array, FloatArray, IntArray, Matrix, MatrixLike
from ..estimators.base import LinearClassifier
from ..estimators.row_weights import row_weights
from ..estimators.run_readings import with_rows
from ..estimators.svm_base import MarginClassifier
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary
from ..online.training_rows import MissingRowsError
from ..online.update_log import UpdateLog
from ..reporting.text import count, plural
from ..svm.not_separable import NotSeparable
from .answers import answer_message
from .curves import Data, margins_of
from .fitting import MAX_LOG_ENTRIES, Fit, code_of, fit_quietly, parameters_of
from .html_export import bundle, page_files
from .menu import MAX_UPDATES, algorithm_of, knobs_set
from .page_data import open_page, page_data, requests_of
from .projection import PlaneData, to_plane
from .proof import proof_of
from .recording import record
from .run_request import RequestError, RunRequest, parse_request
from .solver_paths import path_of

try:
    import anywidget
    import traitlets
except ImportError:
    raise ImportError("the studio in a notebook needs anywidget: pip install 'rosenblatt[notebook]'") from None

# Relative tolerances for equal weights, and for equal margins, which may have been computed from float32 rows.
WEIGHTS_RTOL, MARGINS_RTOL = 1e-6, 1e-4

NEW_RUN = "This is a new run on these points."
# Parameters that do not change the result of a run, or that are mentioned separately.
UNREPORTED_PARAMETERS = ("log", "n_jobs", "verbose", "random_state", "max_updates", "max_iter", "certify", "inseparable")
WEIGHTED = "The model was fitted with sample weights; errors, loss and proof on this page count every point once."
NOT_REPRODUCED = (
    "Only the result is shown: a fit on these points gives other weights. "
    "The model may have been fitted with sample weights, in chunks, or on other rows."
)
RANDOM = "Only the result is shown: with random_state=None, every fit is different."


# --- The widget


class Studio(anywidget.AnyWidget):
    """The page in a sandboxed frame that can reach only Python's answers; its first run is inside.

    Parameters
    ----------
    page : str
        The page as one HTML file.
    """

    _esm = Path(__file__).with_name("notebook.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)

    def __init__(self, page: str) -> None:
        super().__init__(page=page)
        self.on_msg(self._answer)

    def _answer(self, _: object, message: object, buffers: Sequence[Any]) -> None:
        self.send(answer_message(message, buffers))


# --- Fitting a model again from its rows


@dataclass(frozen=True)
class Rebuilt:
    """How to fit a model again.

    Attributes
    ----------
    parameters : dict
        The model's parameters, for classes that are numbered from 0.
    weights : ndarray or None
        Sample weights in addition to class weights.
    reproduces : bool or None
        Whether a fit with both gives the same model; None if it cannot be known, since every fit draws another order.
    """

    parameters: dict[str, Any]
    weights: FloatArray | None
    reproduces: bool | None


def rebuild(model: LinearClassifier, log: UpdateLog | None, X: FloatArray, codes: IntArray) -> Rebuilt:
    """Find out how to fit a model again from its training rows and the positions of their classes."""
    given = dict(model.get_params(deep=False))
    if isinstance(each := given.get("class_weight"), dict):
        given["class_weight"] = {at: each.get(label, 1.0) for at, label in enumerate(model.classes_.tolist())}
    weights = None if log is None else log._record.labels.weights
    if weights is not None:
        own = row_weights(None, given["class_weight"], X, codes, np.arange(len(model.classes_)))
        if np.array_equal(weights, np.zeros(0) if own is None else own):
            weights = None
        else:
            given["class_weight"] = None
    if given.get("random_state", 0) is None and _is_random(model):
        return Rebuilt(given, weights, False if model.stop_.reason == "chunk" else None)
    quiet = {name: value for name, value in (("verbose", 0), ("warm_start", False), ("log", True)) if name in given}
    try:
        found = fit_quietly(type(model)(**given | quiet), X, codes, weights)
    except (RequestError, NotSeparable):
        return Rebuilt(given, weights, False)
    return Rebuilt(given, weights, _is_same(model, log, found))


def check_rows(model: LinearClassifier, log: UpdateLog | None, X: Matrix, codes: IntArray) -> None:
    """Raise if a model was fitted on other rows or labels, as far as the model has stored them."""
    same = _matches_log(log, X, codes) if log is not None else _matches_margins(model, X, codes)
    if not same:
        raise ValueError(f"X and y must be the data that this {type(model).__name__} was fitted on")


def is_weighted(model: LinearClassifier, log: UpdateLog | None) -> bool:
    """Return whether rows are known to have different weights."""
    return model._class_weight is not None or (log is not None and bool(log._record.labels.weights.size))


def _is_random(model: LinearClassifier) -> bool:
    """Return whether the order of the rows is random."""
    return model._way == "online" and model._order != "cyclic"


def _is_same(model: LinearClassifier, log: UpdateLog | None, refitted: LinearClassifier) -> bool:
    if log is not None:
        other = refitted.log_
        return np.array_equal(log.rows, other.rows) and bool(np.allclose(log.steps, other.steps, rtol=WEIGHTS_RTOL, atol=0.0))
    if "coef_" not in vars(model):
        return False
    first, second = (np.column_stack([each.intercept_, each.coef_]) for each in (model, refitted))
    return bool(np.linalg.norm(first - second) <= WEIGHTS_RTOL * np.linalg.norm(first))


def _matches_log(log: UpdateLog, X: Matrix, codes: IntArray) -> bool:
    """Return whether rows and classes are those of a log."""
    problem = log._record.problem
    labels = problem.labels
    own = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    given, logged = sp.csr_array(X), sp.csr_array(problem.matrix())
    return np.array_equal(codes, own) and given.shape == logged.shape and not (given != logged).nnz


def _matches_margins(model: LinearClassifier, X: Matrix, codes: IntArray) -> bool:
    """Return whether rows have the margins that an SVM has kept."""
    if not isinstance(model, MarginClassifier):
        return True
    known, k = model.canonical_, len(model.classes_)
    if known.shape[1] != len(codes):
        return False
    scheme = (
        "binary"
        if k == 2
        else {"ovo": "pairs", "crammer_singer": "joint", "multinomial": "joint"}.get(model._multiclass, "rest")
    )
    weights = np.column_stack([model.intercept_, model.coef_])
    margins, counted = margins_of(weights, Data(X, codes, k, scheme, 1.0))
    counted = counted & np.isfinite(known)
    difference = abs(np.where(counted, known - margins, 0.0)).max()
    return bool(difference <= MARGINS_RTOL * (1.0 + abs(np.where(counted, known, 0.0)).max()))


# --- Widgets


def data_widget(
    X: MatrixLike, y: ArrayLike, columns: Sequence[str | int] | None, algorithm: str, knobs: Mapping[str, Any], **state: int
) -> Studio:
    """Return the widget of `rb.studio`, which documents the parameters."""
    plane = to_plane(X, y, columns)
    runs = [{"algorithm": algorithm, "knobs": _plain_values(knobs)}]
    return _widget(open_page("notebook", state={"data": plane.data, "runs": runs} | _plain_values(state)), plane.note)


def _plain_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert NumPy numbers and arrays to Python's."""
    return {name: value.tolist() if isinstance(value, np.generic | np.ndarray) else value for name, value in given.items()}


def show(
    model: LinearClassifier,
    X: MatrixLike | None = None,
    y: ArrayLike | None = None,
    *,
    columns: Sequence[str | int] | None = None,
) -> Studio:
    """Return the widget of `model.show`: the run as it was, or a new one on the points that can be drawn."""
    check_is_fitted(model, "classes_")
    if X is None and y is None:
        X, y = _rows_of(model)
    elif X is None or y is None:
        raise ValueError("pass both X and y, or neither")
    plane = to_plane(X, y, columns)
    rows, codes = _checked_rows(model, X, y)
    try:
        model = with_rows(model, rows, model.classes_[codes])
    except ValueError as error:
        raise ValueError(f"X and y must be the data that this {type(model).__name__} was fitted on: {error}") from error
    log = None if model._update_log is None else model._update_log._whole()
    check_rows(model, log, rows, codes)
    state = {
        "data": plane.data,
        "seed": _seed(model),
        "runs": [{"algorithm": algorithm_of(model), "knobs": _knobs(model)}],
        "t": "end",
    }
    if columns is not None or not _is_playable(model, log, plane, X):
        page = open_page("notebook", state=state)
        recording, own = page["recordings"][0], _own_errors(model, rows, codes)
        recording["run"]["own"] = own
        return _widget(page, f"{plane.note or ''} {_new_run_note(model, recording)} {_own_errors_note(own)}".strip())
    page = page_data("notebook", state=state)
    request = requests_of(page, state)[0]
    parsed, rebuilt = parse_request(request), rebuild(model, log, plane.points, plane.codes)
    frames = path_of(Fit(model, rebuilt.parameters, {}), parsed) if log is None and rebuilt.reproduces else None
    run = record(model, plane.points, model.classes_[plane.codes], frames=frames, code=_code(parsed, model, rebuilt))
    run["classes"] = list(range(len(model.classes_)))  # the codes of the points
    recording = {"request": request, "run": run, "proof": proof_of(parsed, model)}
    return _widget({**page, "recordings": [recording]}, _note(model, log, rebuilt, parsed))


def _widget(page: dict[str, Any], note: str | None) -> Studio:
    return Studio(bundle(page_files(), {**page, "note": note}))


def _new_run_note(model: LinearClassifier, recording: dict[str, Any]) -> str:
    """Return a note that a run is new, and how it differs from the model's."""
    run = recording["run"]
    missing = _written(_unmatched_parameters(model, parse_request(recording["request"])))
    log = model._update_log
    if model._class_weight is None and is_weighted(model, log):
        missing.append("the sample weights")
    note = NEW_RUN if not missing else f"{NEW_RUN[:-1]}, without {', '.join(missing)}."
    if run["stop"]["reason"] == "updates" and log is not None and log.n_updates > run["updates"]:
        made = f"It stops after {plural(run['updates'], 'update')}; the model made {count(log.n_updates)}"
        note += f" {made}, so its result may be better."
    return note


def _own_errors(model: LinearClassifier, rows: Matrix, codes: IntArray) -> dict[str, int]:
    """Return the training errors of the model itself, which the page shows beside those of a new run."""
    wrong = int((model.predict(rows) != model.classes_[codes]).sum())
    return {"errors": wrong, "rows": len(codes), "columns": model.n_features_in_}


def _own_errors_note(own: dict[str, int]) -> str:
    """Return a sentence about the errors of the model itself."""
    where = f" with all {count(own['columns'])} columns" if own["columns"] > 2 else ""
    return f"Your model misclassifies {count(own['errors'])} of {plural(own['rows'], 'row')}{where}."


def _unmatched_parameters(model: LinearClassifier, request: RunRequest) -> dict[str, Any]:
    """Return the parameters of a model that a request does not have."""
    new = request.choice.options | parameters_of(request)[0]
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in UNREPORTED_PARAMETERS}
    if model._way == "batch":
        given.pop("order", None)  # has no meaning for batch updates
    return {name: value for name, value in given.items() if not _agree(value, new[name])}


def _agree(value: Any, new: Any) -> bool:
    """Return whether a parameter is the same; "auto" agrees with every value."""
    if isinstance(value, np.ndarray) or isinstance(new, np.ndarray):
        return np.array_equal(np.ravel(value), np.ravel(new))
    return bool(value == new) or (isinstance(value, str) and value == "auto")


def _written(parameters: dict[str, Any]) -> list[str]:
    return [f"{name}={_short(value)}" for name, value in parameters.items()]


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return "a function" if callable(value) else text if len(text) <= 40 else f"{text[:37]}..."


def _note(model: LinearClassifier, log: UpdateLog | None, rebuilt: Rebuilt, request: RunRequest) -> str | None:
    """Return what the page does not show of a model, or None."""
    notes = [WEIGHTED] if is_weighted(model, log) else []
    unmatched = _unmatched_parameters(model, request)
    unmatched.pop("class_weight", None)  # covered by WEIGHTED
    if unmatched:
        notes.append(f"This run has {', '.join(_written(unmatched))}; changing a knob starts a run without.")
    if log is None and not rebuilt.reproduces:
        notes.append(RANDOM if rebuilt.reproduces is None else NOT_REPRODUCED)
    return " ".join(notes) or None


def _checked_rows(model: LinearClassifier, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, IntArray]:
    """Return X as an array or CSR matrix, and class codes; raise if their shape or classes are not those of a model."""
    width = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
    if model.n_features_in_ != width:
        raise ValueError(f"X has {width} columns, but this {type(model).__name__} was fitted on {model.n_features_in_}")
    rows, labels = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    classes, codes = np.unique(labels, return_inverse=True)
    log = model._update_log
    if not np.array_equal(classes, model.classes_) or (log is not None and len(labels) != log._record.n_training_rows):
        raise ValueError(f"X and y must be the data that this {type(model).__name__} was fitted on")
    return rows, codes


def _rows_of(model: LinearClassifier) -> tuple[Matrix, Array]:
    """Return the training rows and labels from the log of a model."""
    try:
        problem = None if model._update_log is None else model._update_log._whole()._record.problem
    except MissingRowsError:
        problem = None
    if problem is None:
        raise ValueError(f"this {type(model).__name__} has not kept its training data; use show(X, y)")
    labels = problem.labels
    codes = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    return problem.matrix(), model.classes_[codes]


def _is_playable(model: LinearClassifier, log: UpdateLog | None, plane: PlaneData, X: MatrixLike) -> bool:
    """Return whether the run can be played on its own rows: dense, two columns, all rows, not too long."""
    short = log is None or (log.n_updates <= MAX_UPDATES and len(log) <= MAX_LOG_ENTRIES)
    playable = short and (log is None or isinstance(log._record.problem.rows, Dense))
    return model.n_features_in_ == 2 and len(plane.codes) == np.shape(X)[0] and playable


def _knobs(model: LinearClassifier) -> dict[str, Any]:
    """Return a model's parameters as knobs, as far as the page has them and their values are in range."""
    found, name = {}, algorithm_of(model)
    for knob, value in knobs_set(model).items():
        try:
            parse_request({"points": [[0, 0], [1, 1]], "labels": [0, 1], "algorithm": name, "knobs": {knob: value}})
            found[knob] = value
        except RequestError:
            continue
    return found


def _code(request: RunRequest, model: LinearClassifier, rebuilt: Rebuilt) -> str:
    """Return code that repeats a model's run; "" if a parameter cannot be written or the run would be another."""
    given = rebuilt.parameters
    arrays = {name: f"np.array({value.tolist()!r})" for name, value in given.items() if isinstance(value, np.ndarray)}
    plain = (value for name, value in given.items() if name not in arrays)
    unknown = rebuilt.reproduces is False or (rebuilt.reproduces is None and model._update_log is None)
    if unknown or not all(isinstance(value, bool | int | float | str | dict | None) for value in plain):
        return ""
    return code_of(request, Fit(model, given, arrays), rebuilt.weights, unseeded=rebuilt.reproduces is None)


def _seed(model: LinearClassifier) -> int:
    seed = model.get_params(deep=False).get("random_state")
    return int(seed) if isinstance(seed, int | np.integer) and not isinstance(seed, bool) else 0
