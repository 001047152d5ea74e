"""Text to sparse rows by a vocabulary: every word of the training texts has its own column.

Problem    A bag of words: the number of times each word of the vocabulary occurs in a text.
Update     One pass counts the texts that contain each word; words in at least `min_count` texts, in order, are the columns.
Guarantee  With the same settings, columns and counts are those of scikit-learn's CountVectorizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...array_types import Array
from ...validation import ParameterError, check_choice, check_flag, check_integer
from .blocks import ANALYZERS, GramCutter, ValueRules, split_blocks, stack_rows
from .gram_tables import count_words, find_known, make_table


class Vocabulary(TransformerMixin, BaseEstimator):
    """Convert texts to sparse rows with one column for each word.

    Columns are in the order of the words, so that the weights of a model can be read.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}, default="word"
        Whether features are words of two or more letters, digits or underscores; characters; or characters within the parts
        that blanks separate.
    ngram_range : tuple of (int, int), default=(1, 1)
        The smallest and largest number of words or characters in an n-gram.
    lowercase : bool, default=True
        Whether texts are converted to lower case.
    min_count : int, default=1
        The smallest number of training texts that must contain a word.
    max_words : int or None, default=None
        The largest number of words. The words contained in the most texts are kept; among equals, the first in order.
    binary : bool, default=False
        Whether every count is replaced by 1.
    norm : {"l1", "l2"} or None, default="l2"
        The norm to which rows are scaled.
    dtype : dtype, default=np.float64
        The type of the values: bool, float32, float64 or an integer type.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each word.
    counts_ : ndarray of shape (n_words,)
        The number of training texts that contain each word.

    See Also
    --------
    TextHasher : Columns by feature hashing, without a vocabulary.
    sklearn.feature_extraction.text.CountVectorizer : The same counts from scikit-learn.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> bag = rb.Vocabulary(min_count=2, norm=None)
    >>> bag.fit_transform(["the cat sat", "the cat, the hat", "a dog sat"]).toarray()
    array([[1., 1., 1.],
           [1., 0., 2.],
           [0., 1., 0.]])
    >>> list(bag.get_feature_names_out())
    ['cat', 'sat', 'the']
    """

    def __init__(
        self,
        *,
        analyzer: Literal["word", "char", "char_wb"] = "word",
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        min_count: int = 1,
        max_words: int | None = None,
        binary: bool = False,
        norm: Literal["l1", "l2"] | None = "l2",
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.min_count = min_count
        self.max_words = max_words
        self.binary = binary
        self.norm = norm
        self.dtype = dtype

    def fit(self, X: Iterable[str | bytes], y: object = None) -> Vocabulary:
        """Learn the words of the training texts.

        Parameters
        ----------
        X : iterable of str or bytes
            The texts, read once; bytes are UTF-8.
        y : None
            Ignored.

        Returns
        -------
        Vocabulary
            The fitted transformer.

        Raises
        ------
        ValueError
            If there are no words, or none is in `min_count` texts.

        Examples
        --------
        >>> Vocabulary().fit(["the cat", "the dog"]).vocabulary_
        {'cat': 0, 'dog': 1, 'the': 2}
        """
        least = check_integer("min_count", self.min_count)
        words, rows = count_words(_split_texts(X), self._cutter())
        if not len(words):
            hint = "; a word has at least two letters or digits" if self.analyzer == "word" else ""
            raise ValueError(f"the texts contain no words{hint}")
        kept = np.flatnonzero(rows >= least)
        if not len(kept):
            raise ValueError(f"no word is in min_count={least} texts; the most frequent word is in {rows.max()}")
        chosen = sorted((words[k], k) for k in kept.tolist())
        if self.max_words is not None and len(chosen) > check_integer("max_words", self.max_words):
            places = np.argsort(-rows[[k for _, k in chosen]], kind="stable")[: self.max_words]
            chosen = [chosen[place] for place in np.sort(places).tolist()]
        self.vocabulary_ = {word: column for column, (word, _) in enumerate(chosen)}
        self.counts_ = rows[[k for _, k in chosen]]
        self._table = make_table(self.vocabulary_)
        return self

    def transform(self, X: Iterable[str | bytes]) -> csr_array | csr_matrix:
        """Convert texts to rows; unknown words are left out.

        Parameters
        ----------
        X : iterable of str or bytes
            The texts, read once; bytes are UTF-8.

        Returns
        -------
        sparse matrix of shape (n_texts, n_words)
            A CSR matrix of the class configured in scikit-learn.

        Examples
        --------
        >>> Vocabulary(norm=None).fit(["the cat"]).transform(["the dog, the hat"]).toarray()
        array([[0., 2.]])
        """
        check_is_fitted(self, "vocabulary_")
        return stack_rows(self._blocks(_split_texts(X)), len(self.vocabulary_))

    def fit_transform(self, X: Iterable[str | bytes], y: object = None, **fit_params: object) -> csr_array | csr_matrix:
        """Learn the words of the training texts and convert the texts to rows.

        Parameters
        ----------
        X : iterable of str or bytes
            The texts; an iterator is held in memory.
        y : None
            Ignored.
        **fit_params : dict
            Ignored.

        Returns
        -------
        sparse matrix of shape (n_texts, n_words)
            A CSR matrix of the class configured in scikit-learn.

        Examples
        --------
        >>> Vocabulary(norm=None).fit_transform(["the cat", "the dog"]).toarray()
        array([[1., 0., 1.],
               [0., 1., 1.]])
        """
        texts = X if hasattr(X, "__len__") else list(X)
        return self.fit(texts).transform(texts)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Get the words in the order of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str objects
            The words.

        Examples
        --------
        >>> list(Vocabulary().fit(["the cat", "the dog"]).get_feature_names_out())
        ['cat', 'dog', 'the']
        """
        check_is_fitted(self, "vocabulary_")
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _cutter(self) -> GramCutter:
        check_choice("analyzer", self.analyzer, ANALYZERS)
        if self.norm is not None:
            check_choice("norm", self.norm, ("l1", "l2"), "None")
        low, high = self.ngram_range
        if not 1 <= low <= high:
            raise ParameterError("ngram_range", "two ascending integers of at least 1", self.ngram_range)
        return GramCutter(self.analyzer, low, high, check_flag("lowercase", self.lowercase), lambda text: None)

    def _blocks(self, blocks: Iterable[list[str]]) -> Iterator[tuple[Array, Array, Array]]:
        """Indices, values and row pointers of each block of texts."""
        rules = ValueRules(check_flag("binary", self.binary), self.norm, self.dtype)
        for indices, counts, indptr in find_known(blocks, self._cutter(), self._table, len(self.vocabulary_)):
            yield indices.copy(), rules.values(counts, indptr), indptr.copy()


def _split_texts(X: Iterable[str | bytes]) -> Iterator[list[str]]:
    if isinstance(X, str):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    return split_blocks(X, lambda document: document.decode() if isinstance(document, bytes) else document)
