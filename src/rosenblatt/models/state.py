"""Estimators as models and back: `model_of` and `estimator_of`.

A file holds none of the attributes that describe every training row: the log, `canonical_`, `slack_`, `support_vectors_`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..array_types import Array, MatrixLike
from ..catalog import ESTIMATORS, is_estimator
from .batch_state import encode_moments, encode_solutions, restore_moments, restore_solutions
from .container import Arrays, Meta, require
from .model import Model, RecipeLike, provenance_now, provenance_of_data
from .online_state import encode_gaussian, encode_run, restore_gaussian, restore_run
from .values import decode, encode
from .votes import store_vote

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..estimators.base import LinearClassifier


# --- estimator -> model ----------------------------------------------------------------------------------------------------


def model_of(
    estimator: LinearClassifier,
    *,
    names: Sequence[str] | Array | None = None,
    recipe: RecipeLike | None = None,
    data: tuple[MatrixLike, npt.ArrayLike] | None = None,
    provenance: dict[str, Any] | None = None,
    running: bool = True,
) -> Model:
    """Convert a fitted estimator to a `Model`.

    Parameters
    ----------
    estimator : LinearClassifier
        A fitted Rosenblatt estimator.
    names : sequence of str, optional
        Names of the features. Default: the estimator's `feature_names_in_`.
    recipe : Recipe, optional
        Turns the model's input, such as the columns of a file, into features.
    data : tuple (X, y), optional
        The training data; their size and digest are added to the provenance.
    provenance : dict, optional
        Further entries of the provenance, such as a file name or a command.
    running : bool, default=True
        Keep the state that `partial_fit`, `warm_start` and `Model.estimator` need. False keeps what prediction needs.

    Returns
    -------
    Model
        The model. It shares its arrays with the estimator.

    Raises
    ------
    TypeError
        If `estimator` is not a Rosenblatt estimator.
    ValueError
        If it is not fitted.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> model_of(rb.Perceptron().fit([[-1.0], [1.0]], ["no", "yes"]))
    <Model: Perceptron, 1 feature, classes no, yes>
    """
    if not is_estimator(estimator):
        raise TypeError(f"model_of expects a Rosenblatt estimator, got {type(estimator).__name__}")
    kind, fitted = type(estimator).__name__, vars(estimator)
    if "classes_" not in fitted:
        raise ValueError(f"this {kind} is not fitted yet: call fit before saving it")
    own_names = fitted.get("feature_names_in_")
    names = own_names if names is None else names
    arrays: Arrays = {}
    return Model(
        kind=kind,
        parameters=_as_python(estimator.get_params(deep=False)),
        classes=estimator.classes_,
        coef=fitted.get("coef_"),
        intercept=fitted.get("intercept_"),
        pairs=estimator.multiclass == "ovo" and len(estimator.classes_) > 2,
        votes=None if fitted.get("coef_") is not None else tuple(store_vote(vote) for vote in _votes(estimator)),
        names=None if names is None else tuple(str(name) for name in names),
        recipe=recipe,
        stop=estimator.stop_,
        n_iter=_as_python(fitted.get("n_iter_")),
        n_updates=fitted.get("n_updates_"),
        provenance={**provenance_now(), **(provenance or {}), **({} if data is None else provenance_of_data(*data))},
        more=(_encode_state(estimator, own_names is not None, arrays), arrays) if running else None,
    )


def _votes(estimator: Any) -> Any:
    return estimator._votes or estimator._run.votes(estimator.multiclass == "ovr", estimator.vote_count)


def _as_python(value: Any) -> Any:
    """Convert NumPy scalars to Python's, so that a loaded parameter equals the saved one."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(_as_python(each) for each in value)
    if type(value) is dict:
        return {_as_python(key): _as_python(each) for key, each in value.items()}
    return value


def _encode_state(estimator: Any, named: bool, arrays: Arrays) -> Meta:
    """Encode the fitted attributes and the running state; arrays are added to `arrays`."""
    fitted, kind = vars(estimator), ESTIMATORS[type(estimator).__name__]
    present = [name for name in kind.attributes if name in fitted]
    meta: Meta = {
        "named": named,
        "fitted": {name: encode(fitted[name], f"fitted.{name}", arrays) for name in present},
        "certificate": encode(estimator.stop_.certificate, "", {}),
    }
    if "proof_" in fitted and not any(fitted["proof_"]):
        meta["fitted"]["proof_"] = encode(fitted["proof_"], "", {})  # proofs themselves are not stored
    return meta if kind.state is None else meta | _STATES[kind.state].encode(estimator, arrays)


# --- model -> estimator ----------------------------------------------------------------------------------------------------


def estimator_of(model: Model) -> LinearClassifier:
    """Return the estimator that `model_of` converted, without its log."""
    if model.more is None or "filter" in model.more[0]:
        raise ValueError(f"this {model.kind} model was saved for prediction only and cannot become an estimator")
    meta, arrays = model.more
    estimator: LinearClassifier = ESTIMATORS[model.kind].load(model.kind)(**model.parameters)
    attributes: dict[str, Any] = {"classes_": model.classes, "stop_": model.stop, "n_features_in_": model.n_features}
    if model.coef is not None:
        attributes.update(coef_=model.coef, intercept_=model.intercept)
    if model.n_iter is not None:
        attributes["n_iter_"] = model.n_iter
    if model.n_updates is not None:
        attributes["n_updates_"] = model.n_updates
    if meta["named"] and model.names is not None:
        attributes["feature_names_in_"] = np.array(model.names, object)
    estimator.__dict__.update(attributes)
    _restore_state(estimator, model, meta, arrays)
    return estimator


def _restore_state(estimator: Any, model: Model, meta: Meta, arrays: Arrays) -> None:
    kind, fitted = ESTIMATORS[model.kind], vars(estimator)
    for name, encoded in meta["fitted"].items():
        require(name in kind.attributes or name == "proof_", f"{model.kind} has no attribute {name!r:.40}")
        fitted[name] = decode(encoded, arrays)
    if meta["certificate"] is not None and model.stop is not None:
        fitted["stop_"] = replace(model.stop, certificate=decode(meta["certificate"], {}))
    if kind.state is not None:
        _STATES[kind.state].restore(estimator, model, meta, arrays)


# --- the state that `partial_fit` and `warm_start` continue from -----------------------------------------------------------


class _State(NamedTuple):
    """How a kind of state, `EstimatorEntry.state`, is encoded and restored."""

    encode: Callable[[Any, Arrays], Meta]
    restore: Callable[[Any, Model, Meta, Arrays], None]


_STATES = {
    "run": _State(encode_run, restore_run),
    "gaussian": _State(encode_gaussian, restore_gaussian),
    "moments": _State(encode_moments, restore_moments),
    "solutions": _State(encode_solutions, restore_solutions),
}
