"""`Model`: what was learnt, and what is known about it, without scikit-learn.

Problem    score rows as the estimator did that was saved, and say which class they are
Guarantee  the same bits: dense rows by the same product, sparse ones added in the same order, votes counted by the same kernel;
           a tie goes to the smaller label
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data.csr import CSRMatrix
from ..data.table import Data, DataError, Table
from ..online.stopping import Stop
from ..scores import linear_scores, votes_of_pairs, winners
from .container import Parts, all_finite
from .votes import Ballot


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted classifier as plain arrays: it predicts, and remembers where it comes from.

    `rb.load` gives one where `rb.save` was given one, as the command line does; `estimator()` makes a scikit-learn estimator of
    it. Where a model has a recipe, `scores` and `predict` take what the recipe takes, such as the rows of a file, and otherwise
    an array, a SciPy matrix or sparse rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> model = model_of(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]))
    >>> model.kind, model.predict([[1, 1], [1, 0]]).tolist(), model.stop.reason
    ('Perceptron', ['yes', 'no'], 'separated')
    """

    kind: str  # the class of the estimator
    parameters: dict[str, Any]
    classes: Any  # sorted
    coef: Any | None = None  # heads x features; None: a vote
    intercept: Any | None = None
    pairs: bool = False  # heads are pairs of classes, which vote
    ballots: tuple[Ballot, ...] | None = None
    names: tuple[str, ...] | None = None  # of the features, where they are not the recipe's
    recipe: Any | None = None
    stop: Stop | None = None
    n_iter: Any = None  # a number, or one for each machine
    n_updates: int | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    more: Parts | None = field(default=None, repr=False)  # what the estimator needs besides, to be as it was

    def __repr__(self) -> str:
        return f"<Model: {self.kind}, {self.n_features:,} features, classes {', '.join(map(str, self.classes[:8].tolist()))}>"

    @property
    def n_features(self) -> int:
        """Of the rows that the weights meet: after the recipe, where there is one."""
        if self.coef is not None:
            return int(self.coef.shape[1])
        assert self.ballots is not None
        return self.ballots[0].width

    @property
    def feature_names(self) -> Sequence[str] | None:
        """One for each weight, or None where nobody named them."""
        return self.names if self.recipe is None else self.recipe.feature_names

    def scores(self, X: Any) -> Any:
        """Rows x heads: one head for two classes, over 0 for the second; else one for each class."""
        rows = self._rows(self._plain(X) if self.recipe is None else self.recipe.rows(X))
        if self.coef is None:
            return np.concatenate([vote.scores(rows) for vote in self._votes], axis=1)
        scores = linear_scores(rows, self.coef, self.intercept)
        return votes_of_pairs(scores, len(self.classes)) if self.pairs else scores

    def predict(self, X: Any) -> Any:
        """The class of every row; a tie goes to the smaller label."""
        return self.labels_of(self.scores(X))

    def labels_of(self, scores: Any) -> Any:
        """The classes that scores stand for."""
        return self.classes[self.winners(scores)]

    def winners(self, scores: Any) -> Any:
        """Their positions among `classes`."""
        if len(self.classes) == 1:
            return np.zeros(len(scores), np.intp)
        return winners(scores)

    def estimator(self) -> Any:
        """As a fitted scikit-learn estimator, without the recipe."""
        from .state import estimator_of

        return estimator_of(self)

    @cached_property
    def _votes(self) -> list[Any]:
        return [ballot.vote() for ballot in self.ballots or ()]

    def _plain(self, X: Any) -> Any:
        """The rows of a file for a model without a recipe: its columns by name, where it knows names, else by position."""
        if not isinstance(X, Data):
            return X
        features = X.features
        if isinstance(features, CSRMatrix):
            return features.with_width(self.n_features)
        if not isinstance(features, Table):
            return features
        known = self.names is not None and set(self.names) <= set(features.names)
        names = self.names if known and self.names is not None else features.names
        columns = [features.columns[features.names.index(name)] for name in names]
        for name, column in zip(names, columns, strict=True):
            if column.dtype.kind != "f":
                raise DataError(X.source, f"column {name!r} is not numbers, which is all that this model reads")
        return np.column_stack(columns)

    def _rows(self, X: Any) -> Any:
        """Rows that can be scored, of the right width, all finite."""
        rows: Any
        if isinstance(X, CSRMatrix):
            if X.width < self.n_features:
                X = replace(X, width=self.n_features)  # a file does not say how many columns it has; those it has not are zero
            rows, values = (X if self.coef is not None else X.to_scipy()), X.values
        elif hasattr(X, "tocsr"):
            rows = X.tocsr()
            values = rows.data
        else:
            rows = values = np.asarray(X)
            if rows.dtype not in (np.float32, np.float64):
                rows = values = rows.astype(np.float64)
        shape = getattr(X, "shape", None) or rows.shape
        if len(shape) != 2:
            raise ValueError(f"X must have rows and columns, got shape {tuple(shape)}")
        if shape[1] != self.n_features:
            raise ValueError(f"X has {shape[1]} columns, and the model was trained on {self.n_features}")
        if not all_finite(values):
            raise ValueError("X has a number that is not finite: NaN or infinity")
        return rows


# --- Where a model comes from: versions, time, and the training data with their digest.


def provenance_now() -> dict[str, Any]:
    """What every file says: who wrote it, and when."""
    import datetime
    import platform

    from .. import __version__

    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    return {
        "rosenblatt": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "saved": now.isoformat().replace("+00:00", "Z"),
    }


def provenance_of_data(X: Any, y: Any) -> dict[str, Any]:
    """Rows, columns and the SHA-256 that certificates have: the same for arrays and sparse matrices with the same numbers."""
    from ..certificates.data import Data

    data = Data(X, y)
    return {"rows": data.n_rows, "columns": data.n_columns, "data_sha256": data.sha256()}
