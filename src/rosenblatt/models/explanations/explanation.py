"""`Explanation`: why a model predicted a row as it did, in the units of the file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.table import Data
from ...reporting.text import plural
from .changes import Change, JointChange, changes_of, joint_change_of
from .contributions import Contribution, columns_of, decision_of, features_of, words_of_columns
from .row import Row
from .sentences import describe
from .similar import TrainingRow, similar_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...array_types import MatrixLike
    from ...estimators.base import LinearClassifier
    from ..model import Model


@dataclass(frozen=True)
class Explanation:
    """Why a model predicts a row as it does: what each column adds to the score, and what would change the prediction.

    `Model.explain` returns it, and `print` shows it.

    Parameters
    ----------
    label : object
        The predicted class.
    favored, other : object
        The classes that a positive and a negative contribution favor. Of two classes the second and the first; of more, the
        predicted class and the runner-up.
    score : float
        The score of `favored` against `other`, above 0 if `favored` is predicted.
    intercept : float
        The part of the score that does not depend on the row.
    features : tuple of Contribution
        The contributions of the features that are not zero, the largest first. With the intercept they sum to the score.
    columns : tuple of Contribution
        The same by column of the file: categories, products, parts of dates and words are added up.
    changes : tuple of Change
        The nearest change of each column that changes the prediction; of a number up to two, above and below.
    joint_change : JointChange or None
        The smallest change of all numeric columns together; None if there is none, or for products and votes of pairs.
    exact : bool
        Whether the scores are planes in the columns; with products, changes of one column are exact roots, too.
    text : tuple of str
        The columns of text.
    similar : tuple of TrainingRow
        The nearest training rows with a multiplier, if the training rows were given; all of them, with the intercept, make
        the score.

    See Also
    --------
    Model : A trained model.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> model = model_of(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]))
    >>> found = model.explain([[1, 1]])
    >>> found.label, found.score, found.intercept, [(each.name, each.amount) for each in found.columns]
    ('yes', 1.0, -4.0, [('0', 3.0), ('1', 2.0)])
    >>> [(change.column, change.old, change.new, change.label) for change in found.changes]
    [('0', 1.0, 0.666, 'no'), ('1', 1.0, 0.5, 'no')]
    """

    label: object
    favored: object
    other: object
    score: float
    intercept: float
    features: tuple[Contribution, ...]
    columns: tuple[Contribution, ...]
    changes: tuple[Change, ...]
    joint_change: JointChange | None
    exact: bool
    text: tuple[str, ...] = ()
    similar: tuple[TrainingRow, ...] = ()

    def __str__(self) -> str:
        return describe(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values.

        Returns
        -------
        dict
            The fields, with contributions and changes as dicts.
        """
        return asdict(self)


def explain(model: Model, data: Data, row: int = 0, training: Data | None = None) -> Explanation:
    """Explain the prediction of one row; `Model.explain` describes it."""
    if model.votes is not None:
        hypotheses = plural(sum(len(vote.arrays["counts"]) for vote in model.votes), "hypothesis", "hypotheses")
        raise ValueError(
            f"a vote cannot be explained: its {hypotheses} each predict a class, and no weights add up to the result; "
            "train with --algorithm average, whose weights are their mean"
        )
    if model.recipe is not None and model.recipe.kind == "mail":
        raise ValueError("the model is a mail filter, which explains mails with `rosenblatt mail explain`")
    if len(model.classes) < 2:
        raise ValueError("the model has a single class so far, so there is no decision to explain")
    found = Row(model, data, row)
    decision = decision_of(found)
    with np.errstate(over="ignore"):
        finite = np.isfinite(decision.weights[found.indices] * found.values).all()
    if not finite:
        raise ValueError("the numbers of this row are too large to explain: a contribution exceeds 1.8e308")
    labels = model.classes.tolist()
    return Explanation(
        label=labels[found.code],
        favored=labels[decision.favored],
        other=labels[decision.other],
        score=decision.score,
        intercept=decision.intercept,
        features=features_of(found, decision),
        columns=columns_of(found, decision),
        changes=changes_of(found),
        joint_change=joint_change_of(found),
        exact=found.numbers.degree == 1,
        text=words_of_columns(found),
        similar=() if training is None else similar_rows(model, found, decision, training),
    )


def explain_estimator(
    estimator: LinearClassifier, X: MatrixLike, *, row: int = 0, training: tuple[MatrixLike, npt.ArrayLike] | None = None
) -> Explanation:
    """Explain the prediction of a fitted estimator; `LinearClassifier.explain` describes it."""
    from ..state import model_of

    return model_of(estimator).explain(X, row=row, training=training)
