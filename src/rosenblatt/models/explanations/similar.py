"""Similar training rows: the support vectors next to a row, with what each of them adds to its score.

Problem    w = sum_i c_i x_i, where c_i is the signed multiplier of training row i; so w.x + b = sum_i c_i x_i.x + b
Guarantee  the sum over i of c_i x_i is compared with the weights, so that only the training rows of the model are accepted
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...array_types import Array, FloatArray
from ...data.csr import CSRMatrix
from ...data.table import Data, typed_labels
from ..values import decode
from .contributions import Decision
from .row import Row

if TYPE_CHECKING:
    from ..model import Model

MAX_LISTED = 50
# Distance of the sum of the support vectors from the weights, relative to the sizes of its terms, up to which they are equal.
TOLERANCE = 1e-6
NO_MULTIPLIERS = (
    "the model has no multipliers of training rows; those of MaxMargin and of SoftMargin with a hinge have "
    "(--algorithm soft-margin or max-margin, without --threshold)"
)


class NotTrainingRowsError(ValueError):
    """The rows that were given as the training rows are others."""

    def __init__(self, why: str) -> None:
        super().__init__(f"these are not the rows that the model was trained on, in their order: {why}")


@dataclass(frozen=True)
class TrainingRow:
    """A training row that is part of the weights.

    Parameters
    ----------
    row : int
        Its position in the training rows, from 0.
    label : object
        Its class.
    multiplier : float
        Its signed multiplier in the plane that decides, above 0 if the row pulls toward `Explanation.favored`.
    amount : float
        What it adds to the score: the multiplier times the inner product with the row that is explained.
    distance : float
        Its distance from that row, in the features of the model.
    """

    row: int
    label: object
    multiplier: float
    amount: float
    distance: float


def similar_rows(model: Model, found: Row, decision: Decision, training: Data) -> tuple[TrainingRow, ...]:
    """The training rows with a multiplier that are nearest to the row, the nearest first."""
    if training.labels is None:
        raise ValueError("the training rows need their labels: which class a multiplier favors depends on them")
    labels = training.labels
    places, multipliers = _multipliers(model, decision, labels)
    if len(places) and places[-1] >= training.n_rows:
        raise NotTrainingRowsError(f"there are only {training.n_rows}")
    mask = np.zeros(training.n_rows, bool)
    mask[places] = True
    rows = _sparse(found.features_of(training.take(mask)))
    total, size = rows.T @ multipliers, abs(rows).T @ abs(multipliers)
    if not (abs(total - decision.weights) <= TOLERANCE * (size + abs(decision.weights).max())).all():
        raise NotTrainingRowsError("their multipliers do not add up to its weights")
    own = np.zeros(model.n_features)
    own[found.indices] = found.values
    amounts, squares = multipliers * (rows @ own), np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    order = np.argsort(squares - 2.0 * (rows @ own), kind="stable")[:MAX_LISTED].tolist()
    values, listed = labels.tolist(), []
    for at in order:
        distance = float(np.linalg.norm(rows[[at]].toarray()[0] - own))
        place = int(places[at])
        listed.append(TrainingRow(place, values[place], float(multipliers[at]), float(amounts[at]), distance))
    return tuple(listed)


def _multipliers(model: Model, decision: Decision, labels: Array) -> tuple[Array, FloatArray]:
    """The training rows with a multiplier in the plane between two classes, ascending, and their signed multipliers."""
    support, multipliers = _stored(model)
    classes, k = model.classes, len(model.classes)
    best, other = decision.favored, decision.other
    if len(multipliers) == 1 and multipliers[0].ndim == 2:  # Crammer-Singer: a column per class
        return support[0], multipliers[0][:, best] - multipliers[0][:, other]
    if k == 2:
        heads = [(0, 1.0, 1)]
    elif model.pairs:
        low, high = sorted((best, other))
        pairs = list(itertools.combinations(range(k), 2))
        heads = [(pairs.index((low, high)), 1.0 if best == high else -1.0, high)]
    else:
        heads = [(best, 1.0, best), (other, -1.0, other)]
    known = typed_labels(labels) if labels.dtype == object else labels
    total = np.zeros(len(labels))
    for head, sign, positive in heads:
        if len(support[head]) and support[head].max() >= len(labels):
            raise NotTrainingRowsError(f"there are only {len(labels)}")
        y = np.where(known[support[head]] == classes[positive], 1.0, -1.0)
        np.add.at(total, support[head], sign * y * multipliers[head])
    places = np.flatnonzero(total)
    return places, total[places]


def _stored(model: Model) -> tuple[list[Array], list[FloatArray]]:
    fitted: dict[str, Any] = {} if model.more is None else model.more[0].get("fitted", {})
    if "support_" not in fitted or "multipliers_" not in fitted or model.more is None:
        raise ValueError(NO_MULTIPLIERS)
    arrays = dict(model.more[1])
    support, multipliers = decode(fitted["support_"], arrays), decode(fitted["multipliers_"], arrays)
    return [np.asarray(each, np.int64) for each in support], [np.asarray(each, np.float64) for each in multipliers]


def _sparse(rows: Any) -> Any:
    import scipy.sparse as sp

    return rows.to_scipy() if isinstance(rows, CSRMatrix) else sp.csr_array(rows)
