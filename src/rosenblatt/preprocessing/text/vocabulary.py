"""Text to sparse rows by a vocabulary: every word that was there in training has a column of its own, and can be read.

Problem    A bag of words: how many times each word of the vocabulary is in a text.
Way        One pass counts in how many texts each word is; those in `min_count` texts or more, in order, are the columns.
Guarantee  With the same settings, columns and counts are those of scikit-learn's CountVectorizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...kernels.text.hashing import hash_grams
from ...kernels.text.vocabulary import Table, count_rows, enter_all, look_up
from ...validation import count, flag, one_of
from .blocks import HOW, Cutter, Room, Values, in_blocks, joined, stacked

# --- Tables of words as kernels keep them: made, enlarged, and filled from a list.

FIRST_ENTRIES, FIRST_BYTES = 1 << 12, 1 << 15


def table_of(words: list[str]) -> Table:
    """A table whose entry k is words[k]."""
    block = joined([word.encode("utf-8", "surrogatepass") for word in words])
    hashes = np.empty(len(words), np.uint32)
    hash_grams(block.text, block.bounds[:-1], block.bounds[1:], np.uintp(len(words)), hashes)
    none = np.zeros(0, np.uint32)
    table = Table(_free(len(words)), hashes, block.bounds, block.text.copy(), none, none)
    enter_all(table, np.uintp(len(words)))
    return table


def _free(entries: int) -> Any:
    return np.zeros(1 << max(3, (2 * entries - 1).bit_length()), np.uint32)


def _empty(entries: int, size: int) -> Table:
    hashes, rows, last = (np.empty(entries, np.uint32) for _ in range(3))
    return Table(_free(entries), hashes, np.zeros(entries + 1, np.uintp), np.empty(size, np.uint8), rows, last)


def _enlarged(table: Table, count: int, entries: int, size: int) -> Table:
    """The same entries with room for more: twice as much at least."""
    entries, size = max(entries, 2 * len(table.hashes)), max(size, 2 * len(table.text))
    larger, held = _empty(entries, size), int(table.stops[count])
    for name, kept in (("hashes", count), ("stops", count + 1), ("text", held), ("rows", count), ("last", count)):
        getattr(larger, name)[:kept] = getattr(table, name)[:kept]
    enter_all(larger, np.uintp(count))
    return larger


def words_and_rows(blocks: Iterable[list[str]], cutter: Cutter) -> tuple[list[str], Any]:
    """Every gram of blocks of texts once, and how many texts have it."""
    table, count, before, room = _empty(FIRST_ENTRIES, FIRST_BYTES), np.uintp(0), 0, Room()
    for some in blocks:
        block = cutter.encode(some)
        longest = int(block.lengths.max())
        cut, scratch = cutter.cut(block), room.scratch(cutter, longest)
        hashes, done = room.array("hashes", len(scratch.froms), np.uint32), 0
        while True:
            done, count, entries, size = count_rows(
                cut, block.text, block.bounds, np.uintp(done), np.uintp(before), scratch, hashes, table, np.uintp(count)
            )
            if done == len(some):
                break
            table = _enlarged(table, int(count), int(entries), int(size))
        before += len(some)
    stops = table.stops[: int(count) + 1].tolist()
    raw = table.text[: stops[-1]].tobytes()
    words = [raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(stops)]
    return words, table.rows[: len(words)].astype(np.int64)


# ---


class Vocabulary(TransformerMixin, BaseEstimator):
    """An exact bag of words, for those who want to read the weights: word -> column, in the order of words.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}
        Words of two or more letters, digits or underscores; runs of characters; or runs within what blanks separate.
    ngram_range : tuple of two whole numbers
        From how many to how many of them in a row are a column.
    lowercase : bool
    min_count : int
        How many texts must have a word.
    max_words : int, optional
        Of more words, only those that are in the most texts are kept; among equals the first in order.
    binary : bool
        1 for a word that is there, however many times.
    norm : {"l1", "l2"}, optional
        Divide each row by the sum of its sizes, or by its length.
    dtype : dtype

    Attributes
    ----------
    vocabulary_ : dict of str to int
    counts_ : array
        How many texts of training have each word.

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
        analyzer: str = "word",
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        min_count: int = 1,
        max_words: int | None = None,
        binary: bool = False,
        norm: str | None = "l2",
        dtype: Any = np.float64,
    ) -> None:
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.min_count = min_count
        self.max_words = max_words
        self.binary = binary
        self.norm = norm
        self.dtype = dtype

    def fit(self, X: Iterable[Any], y: Any = None) -> Vocabulary:
        """Learn the words; X may be any iterable of strings or bytes in UTF-8, and is read once."""
        least = count("min_count", self.min_count)
        words, rows = words_and_rows(_texts(X), self._cutter())
        if not len(words):
            shortest = "; words have two letters or digits, or more" if self.analyzer == "word" else ""
            raise ValueError(f"the texts have no words at all{shortest}")
        kept = np.flatnonzero(rows >= least)
        if not len(kept):
            raise ValueError(f"no word is in min_count={least} texts: the most that have the same word are {rows.max()}")
        chosen = sorted((words[k], k) for k in kept.tolist())
        if self.max_words is not None and len(chosen) > count("max_words", self.max_words):
            places = np.argsort(-rows[[k for _, k in chosen]], kind="stable")[: self.max_words]
            chosen = [chosen[place] for place in np.sort(places).tolist()]
        self.vocabulary_ = {word: column for column, (word, _) in enumerate(chosen)}
        self.counts_ = rows[[k for _, k in chosen]]
        self._table = table_of(list(self.vocabulary_))
        return self

    def transform(self, X: Iterable[Any]) -> Any:
        """The texts as rows of a CSR matrix; words that training did not have are left out."""
        check_is_fitted(self, "vocabulary_")
        return stacked(self._blocks(_texts(X)), len(self.vocabulary_))

    def fit_transform(self, X: Iterable[Any], y: Any = None, **fit_params: Any) -> Any:
        """Learn the words and transform; an X that can be read only once is held."""
        held = X if hasattr(X, "__len__") else list(X)
        return self.fit(held).transform(held)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The words, column by column."""
        check_is_fitted(self, "vocabulary_")
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _cutter(self) -> Cutter:
        one_of("analyzer", self.analyzer, HOW)
        if self.norm is not None:
            one_of("norm", self.norm, ("l1", "l2"), also="or None")
        low, high = self.ngram_range
        if not 1 <= low <= high:
            raise ValueError(f"ngram_range must be two whole numbers of at least 1 that do not fall, got {self.ngram_range!r}")
        return Cutter(self.analyzer, low, high, flag("lowercase", self.lowercase), lambda text: None)

    def _blocks(self, blocks: Iterable[list[str]]) -> Iterator[tuple[Any, Any, Any]]:
        cutter, room, values = self._cutter(), Room(), Values(flag("binary", self.binary), self.norm, self.dtype)
        bits = np.uint32((len(self.vocabulary_) - 1).bit_length())
        for some in blocks:
            block = cutter.encode(some)
            longest = int(block.lengths.max())
            scratch = room.scratch(cutter, longest)
            rows = room.rows(len(some), int(cutter.most_grams(block.lengths).sum()), len(scratch.froms))
            hashes = room.array("hashes", len(scratch.froms), np.uint32)
            look_up(cutter.cut(block), block.text, block.bounds, scratch, hashes, self._table, bits, rows)
            size = int(rows.indptr[-1])
            indptr = rows.indptr.copy()
            yield rows.indices[:size].copy(), values.of(rows.counts[:size], indptr), indptr


def _texts(X: Iterable[Any]) -> Iterator[list[str]]:
    if isinstance(X, str):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    return in_blocks(X, lambda document: document.decode() if isinstance(document, bytes) else document)
