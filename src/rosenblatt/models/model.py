"""`Model`: a fitted classifier as plain arrays, with its provenance, without scikit-learn.

Problem    score rows exactly as the saved estimator does, and predict their classes
Guarantee  the same bits: dense rows by the same product, sparse rows summed in the same order, votes counted by the same
           kernel; ties go to the smaller label
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..array_types import Array, FloatArray, IntArray, MatrixLike
from ..data.csr import CSRMatrix
from ..data.table import Data, DataError, Table, as_data
from ..online.stopping import Stop
from ..probabilities.maps import NoProbabilitiesError, ProbabilityMap
from ..reporting.text import comma_list, plural
from ..scores import linear_scores, lost_pairs, votes_of_pairs, winners
from .container import Parts, all_finite
from .model_input import ModelInput as ModelInput
from .model_input import RecipeLike as RecipeLike
from .votes import StoredVote

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..estimators.base import LinearClassifier
    from ..online.readings import Vote
    from .explanations.explanation import Explanation

# Classes that the repr lists.
LISTED_CLASSES = 8


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted classifier with its provenance, which predicts without scikit-learn.

    `rosenblatt train` writes models, and `rb.load` returns one if one was saved. A model with a recipe takes what the recipe
    takes, such as the rows of a file; any other model takes an array or a sparse matrix.

    Parameters
    ----------
    kind : str
        The class of the estimator, such as "Perceptron".
    parameters : dict
        The parameters of the estimator.
    classes : ndarray of shape (n_classes,)
        The class labels, sorted.
    coef : ndarray of shape (n_heads, n_features), default=None
        The weights: one head for two classes, otherwise one for each class or pair of classes. None for a vote.
    intercept : ndarray of shape (n_heads,), default=None
        The intercepts.
    pairs : bool, default=False
        Whether each head separates a pair of classes (one-vs-one); the pairs then vote.
    votes : tuple of StoredVote, default=None
        The hypotheses of a voted perceptron, instead of `coef` and `intercept`.
    probability_map : ProbabilityMap, default=None
        Turns scores into probabilities, if the model was calibrated or its loss is logistic.
    names : tuple of str, default=None
        Names of the features, unless the recipe names them.
    recipe : Recipe, default=None
        Turns the input into features.
    stop : Stop, default=None
        Why training ended.
    n_iter : int, default=None
        Passes or iterations.
    n_updates : int, default=None
        Updates of an online learner.
    provenance : dict, default={}
        Versions, time, and the training data, as far as known.
    more : tuple (dict, dict of str to ndarray), default=None
        State from which the estimator is restored; None if the model is for prediction only.

    See Also
    --------
    load : Load a model from a file.
    save : Save a model to a file.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> model = model_of(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]))
    >>> model.kind, model.predict([[1, 1], [1, 0]]).tolist(), model.stop.reason
    ('Perceptron', ['yes', 'no'], 'separated')
    """

    kind: str
    parameters: dict[str, Any]
    classes: Array
    coef: FloatArray | None = None
    intercept: FloatArray | None = None
    pairs: bool = False
    votes: tuple[StoredVote, ...] | None = None
    probability_map: ProbabilityMap | None = None
    names: tuple[str, ...] | None = None
    recipe: RecipeLike | None = None
    stop: Stop | None = None
    n_iter: int | None = None
    n_updates: int | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    more: Parts | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        listed = comma_list(self.classes.tolist(), LISTED_CLASSES)
        return f"<Model: {self.kind}, {plural(self.n_features, 'feature')}, classes {listed}>"

    @property
    def n_features(self) -> int:
        """Number of features, after the recipe if there is one."""
        if self.coef is not None:
            return int(self.coef.shape[1])
        assert self.votes is not None
        return self.votes[0].width

    @property
    def feature_names(self) -> Sequence[str] | None:
        """Names of the features, or None if they have no names."""
        return self.names if self.recipe is None else self.recipe.feature_names

    def scores(self, X: ModelInput) -> FloatArray:
        """Score rows.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, path or Data
            The rows, or the path of a file. A model with a recipe takes what its recipe takes, such as a data frame or mails.

        Returns
        -------
        ndarray of shape (n_rows, 1) or (n_rows, n_classes)
            Two classes have one score, above 0 for the second class; more classes have one score each.

        Raises
        ------
        ValueError
            If the number of columns is wrong, or a value is NaN or infinite.
        """
        rows = self.features(X)
        if self.coef is None or self.intercept is None:
            return np.concatenate([vote.scores(rows) for vote in self._vote_readings], axis=1)
        scores: FloatArray = linear_scores(rows, self.coef, self.intercept)
        if self.pairs:
            scores = votes_of_pairs(scores, len(self.classes))
        return scores

    def features(self, X: ModelInput) -> Any:
        """Return the features of rows: what the recipe makes of them, or the rows themselves, fully checked.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, path or Data
            The rows, as for `scores`.

        Returns
        -------
        ndarray, sparse matrix or CSRMatrix of shape (n_rows, n_features)
            The numbers that the weights multiply.
        """
        X = self._read(X)
        return self._score_input(self._without_recipe(X) if self.recipe is None else self.recipe.rows(X))

    def _read(self, X: ModelInput) -> MatrixLike | Data | Table | CSRMatrix | Sequence[bytes]:
        """The rows of a file or a data frame; anything else as it is."""
        if isinstance(X, np.ndarray | Data):
            return X
        from .reading import read_for

        found = read_for(self, X)
        return cast("MatrixLike", X) if found is None else found

    def predict(self, X: ModelInput) -> Array:
        """Predict the class of each row; ties go to the smaller label.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, path or Data
            The rows, as for `scores`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels.
        """
        return self.labels_of(self.scores(X))

    def predict_proba(self, X: ModelInput) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, path or Data
            The rows, as for `scores`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes`; each row sums to 1.

        Raises
        ------
        NoProbabilitiesError
            If the model was trained without them; an `AttributeError`.
        """
        return self.probabilities_of(self.scores(X))

    def probabilities_of(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities that belong to scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, 1) or (n_rows, n_classes)
            What `scores` returned.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities.
        """
        if self.probability_map is None:
            raise NoProbabilitiesError(self.kind)
        return self.probability_map.probabilities(lost_pairs(scores) if self.pairs else scores)

    def labels_of(self, scores: FloatArray) -> Array:
        """Return the labels that belong to scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, 1) or (n_rows, n_classes)
            What `scores` returned.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels.
        """
        labels: Array = self.classes[self.winners(scores)]
        return labels

    def winners(self, scores: FloatArray) -> IntArray:
        """Return the index in `classes` of each row's label.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, 1) or (n_rows, n_classes)
            What `scores` returned.

        Returns
        -------
        ndarray of int of shape (n_rows,)
            The indices.
        """
        if len(self.classes) == 1:
            return np.zeros(len(scores), np.intp)
        indices: IntArray = winners(scores)
        return indices

    def explain(self, X: ModelInput, *, row: int = 0, training: tuple[ModelInput, npt.ArrayLike] | None = None) -> Explanation:
        """Explain the prediction of one row: what each column adds to the score, and what would change the prediction.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, path or Data
            The rows, as for `scores`.
        row : int, default=0
            The row of X to explain.
        training : tuple (X, y), default=None
            The rows and labels that the model was trained on, if it is a support vector machine: the explanation then has the
            nearest support vectors, with what they add to the score.

        Returns
        -------
        Explanation
            Contributions that sum to the score, and the nearest changes that are predicted otherwise, in the units of X.

        Raises
        ------
        ValueError
            If the model is a vote, whose result is no sum, if X cannot be scored, or if `training` are not its training rows.
        IndexError
            If X has no such row.
        """
        from .explanations.explanation import explain

        def data_of(rows: ModelInput) -> Data:
            data = as_data(cast("MatrixLike", self._read(rows)))
            return data if self.recipe is not None else replace(data, features=as_data(self._without_recipe(data)).features)

        if training is None:
            return explain(self, data_of(X), row)
        rows, y = training
        return explain(self, data_of(X), row, replace(data_of(rows), labels=np.asarray(y)))

    def drift(self, X: ModelInput) -> dict[str, Any]:
        """Compare rows with the training rows, column by column: what `rosenblatt predict --drift` writes.

        Parameters
        ----------
        X : DataFrame, path or Data
            The rows. They may lack columns of the model.

        Returns
        -------
        dict
            For each column its missing cells, unseen values, numbers outside of the training range, and drift index.

        Raises
        ------
        ValueError
            If the model does not store the columns of its training rows.
        """
        from .reading import drift_of

        return drift_of(self, X)

    def card(self) -> str:
        """Return a model card in Markdown: what the model predicts, its data, its test, its heaviest features and its limits.

        Returns
        -------
        str
            The card. What the model does not store, such as a test of a model that was saved in Python, is named as unknown.

        Examples
        --------
        >>> import rosenblatt as rb
        >>> from rosenblatt.models.state import model_of
        >>> model = model_of(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]))
        >>> print("\\n".join(model.card().splitlines()[:6]))
        # Model card
        <BLANKLINE>
        ## What it predicts
        <BLANKLINE>
        A label: `no`, `yes`.
        <BLANKLINE>
        """
        from .card.card import card_of

        return card_of(self)

    def estimator(self) -> LinearClassifier:
        """Return the model as a fitted scikit-learn estimator, without the recipe.

        Returns
        -------
        LinearClassifier
            The estimator; `partial_fit` and `warm_start` continue from its state.

        Raises
        ------
        ValueError
            If the model was saved for prediction only.
        """
        from .state import estimator_of

        try:
            return estimator_of(self)
        except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"the state of this {self.kind} model is invalid ({error})") from error

    @cached_property
    def _vote_readings(self) -> list[Vote]:
        return [vote.restore() for vote in self.votes or ()]

    def _without_recipe(self, X: ModelInput) -> Any:
        """The rows of a file for a model without a recipe: columns by name if the model has names, otherwise by position."""
        if not isinstance(X, Data):
            return X
        features = X.features
        if isinstance(features, CSRMatrix):
            return features.with_width(self.n_features)
        if not isinstance(features, Table):
            return features
        known = self.names is not None and set(self.names) <= set(features.names)
        names = self.names if known and self.names is not None else features.names
        places = {name: place for place, name in enumerate(features.names)}
        columns = [features.columns[places[name]] for name in names]
        for name, column in zip(names, columns, strict=True):
            if column.dtype.kind != "f":
                raise DataError(X.source, f"column {name!r} is not numeric, but this model reads numbers only")
        return np.column_stack(columns)

    def _score_input(self, X: MatrixLike | CSRMatrix) -> Any:
        """Check width and values, and return rows that the scoring functions accept."""
        rows: Any
        if isinstance(X, CSRMatrix):
            if X.width < self.n_features:
                X = replace(X, width=self.n_features)  # a file may have fewer columns than the model; the others are zero
            rows, values = (X if self.coef is not None else X.to_scipy()), X.values
        elif hasattr(type(X), "tocsr"):
            rows = cast(Any, X).tocsr()
            values = rows.data
        else:
            rows = values = np.asarray(X)
            if rows.dtype not in (np.float32, np.float64):
                rows = values = rows.astype(np.float64)
        shape = getattr(X, "shape", None) or rows.shape
        if len(shape) != 2:
            raise ValueError(f"X must have rows and columns, got shape {tuple(shape)}")
        if shape[1] != self.n_features:
            raise ValueError(f"X has {plural(shape[1], 'column')}, but the model was trained on {self.n_features}")
        if not all_finite(values):
            raise ValueError("X contains NaN or infinity")
        return rows
