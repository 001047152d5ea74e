r"""Text to sparse rows without a vocabulary: the column of a word is its hash.

Problem    Rows of word counts need a column for every word, and the number of words is not bounded.
Update     Column and sign of a word are |h| mod n_features and the sign of h, its 32-bit MurmurHash3. Words that share a column
           cancel on average, so inner products keep their expectation.
Guarantee  The matrix is the same as that of scikit-learn's HashingVectorizer, bit for bit.
Reference  Weinberger, Dasgupta, Langford, Smola & Attenberg, "Feature Hashing for Large Scale Multitask Learning", ICML 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, csr_matrix
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils._param_validation import Interval

from ...array_types import Array
from ...kernels.text.hashing import HashRules, NameBuffers, RowBuffers, hash_texts, hash_tokens
from ...validation import ParameterError, check_choice, check_integer
from .blocks import Buffers, Document, GramCutter, ValueRules, join_ascii, join_pieces, make_bounds, split_blocks, stack_rows
from .murmur import murmur3_of
from .words import DEFAULT_WORDS, stop_word_table, word_pattern

MAX_COLUMNS = 2**31 - 1
TOKENS_PER_BLOCK = 1 << 12  # small blocks stay in the cache of a core
DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
# Parameters that decide the meaning of a column; the others change values or decoding only.
NAMING_PARAMETERS = (
    "n_features", "analyzer", "tokenizer", "token_pattern", "stop_words", "ngram_range", "lowercase", "strip_accents",
    "preprocessor",
)  # fmt: skip
NO_NAMES = NameBuffers(np.zeros(0, np.uint8), np.zeros(1, np.uintp), np.zeros(1, np.uintp), np.zeros(1, np.uint8))


class ColumnNames:
    """Collects the first gram of each column in the dictionary `kept`, up to `limit` columns."""

    def __init__(self, kept: dict[int, str], limit: int, columns: int) -> None:
        self.kept, self.limit = kept, limit
        self._seen = np.zeros(columns if len(kept) < limit else 0, np.uint8)
        if len(self._seen):
            self._seen[list(kept)] = 1

    def buffers(self, buffers: Buffers, count: int, size: int) -> NameBuffers:
        """Buffers for the names of a block: at most `count` names of `size` bytes in total."""
        if len(self.kept) >= self.limit:
            return NO_NAMES
        stops = buffers.array("stops", count + 1, np.uintp)
        stops[0] = 0
        columns, text = buffers.array("columns", count, np.uintp), buffers.array("names", size, np.uint8)
        return NameBuffers(self._seen, columns, stops, text)

    def keep(self, names: NameBuffers, n_names: int) -> None:
        """Store the names that a kernel found."""
        n_names = min(n_names, self.limit - len(self.kept))
        raw, stops = names.text[: int(names.stops[n_names])].tobytes(), names.stops[: n_names + 1].tolist()
        for place, column in enumerate(names.columns[:n_names].tolist()):
            self.kept[column] = raw[stops[place] : stops[place + 1]].decode(errors="replace")


class TextHasher(HashingVectorizer):
    r"""Convert texts to sparse rows by feature hashing.

    The result is the same as that of scikit-learn's `HashingVectorizer`, bit for bit, and is computed many times as fast. All
    its parameters have the same meaning. Words and character n-grams are found by compiled code, even after a `preprocessor` or
    `strip_accents`. So are stop words, and words of a `token_pattern` that is a run of one kind of character, such as
    r"\b\w+\b", r"\S+" or "[a-z]{3,}". With another pattern, a `tokenizer` or an `analyzer` function, tokens are found in
    Python, and only hashing is compiled.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        Whether documents are texts, names of files, or open files.
    encoding : str, default="utf-8"
        The encoding of documents that are bytes.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        How bytes that cannot be decoded are handled.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        How accents are removed.
    lowercase : bool, default=True
        Whether texts are converted to lower case.
    preprocessor : callable, default=None
        Replaces accent removal and lower case.
    tokenizer : callable, default=None
        Splits a text into words; for `analyzer="word"`.
    stop_words : {"english"} or list of str, default=None
        Words that are left out; for `analyzer="word"`.
    token_pattern : str or None, default=r"(?u)\b\w\w+\b"
        The regular expression of a word; for `analyzer="word"`.
    ngram_range : tuple of (int, int), default=(1, 1)
        The smallest and largest number of words or characters in an n-gram. The smallest is at least 1.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether features are words, characters, or characters within words.
    n_features : int, default=2**20
        The number of columns.
    binary : bool, default=False
        Whether every count is replaced by 1.
    norm : {"l1", "l2"} or None, default="l2"
        The norm to which rows are scaled.
    alternate_sign : bool, default=True
        Whether the hash also decides the sign of a feature.
    dtype : dtype, default=np.float64
        The type of the values: bool, float32, float64 or an integer type, which must be signed with `alternate_sign`.
    names : int, default=0
        The largest number of columns for which `transform` keeps the first word or n-gram in `names_`.

    Attributes
    ----------
    names_ : dict of int to str
        If `names` is not 0: the first word or n-gram of each column seen so far; other words may share the column. It is
        cleared by the first `transform` after a change of parameters that decide the meaning of columns.

    See Also
    --------
    Vocabulary : One column for each word of the training texts.
    sklearn.feature_extraction.text.HashingVectorizer : The same matrix from scikit-learn.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> hasher = rb.TextHasher(norm=None, names=1000)
    >>> X = hasher.transform(["The cat, the CAT", "a perceptron"])
    >>> [(hasher.names_[k], int(v)) for k, v in zip(X.indices, X.data)]
    [('the', -2), ('cat', 2), ('perceptron', 1)]
    >>> hasher.tokens("the cat")
    [('the', 286878, -1), ('cat', 300839, 1)]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HashingVectorizer._parameter_constraints,
        "n_features": [Interval(Integral, 1, MAX_COLUMNS, closed="both")],
        "names": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        input: Literal["content", "filename", "file"] = "content",  # noqa: A002
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[..., str] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        stop_words: Literal["english"] | list[str] | None = None,
        token_pattern: str | None = DEFAULT_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Literal["word", "char", "char_wb"] | Callable[..., Iterable[str]] = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: Literal["l1", "l2"] | None = "l2",
        alternate_sign: bool = True,
        dtype: npt.DTypeLike = np.float64,
        names: int = 0,
    ) -> None:
        super().__init__(
            input=input, encoding=encoding, decode_error=decode_error, strip_accents=strip_accents, lowercase=lowercase,
            preprocessor=preprocessor, tokenizer=tokenizer, stop_words=stop_words, token_pattern=token_pattern,
            ngram_range=ngram_range, analyzer=analyzer, n_features=n_features, binary=binary, norm=norm,
            alternate_sign=alternate_sign, dtype=dtype,
        )  # fmt: skip
        self.names = names

    def transform(self, X: Iterable[Document]) -> csr_array | csr_matrix:
        """Convert texts to rows.

        Parameters
        ----------
        X : iterable of str or bytes
            The texts, read once and in blocks; or names of files or open files, see `input`.

        Returns
        -------
        sparse matrix of shape (n_texts, n_features)
            A CSR matrix of the class configured in scikit-learn.

        Examples
        --------
        >>> TextHasher(n_features=16).transform(["the cat", "a perceptron"]).shape
        (2, 16)
        """
        if isinstance(X, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        self._check()
        return stack_rows(self._blocks(X), self.n_features)

    def tokens(self, text: Document) -> list[tuple[str, int, int]]:
        """Split a text into words or n-grams, with the column and sign of each.

        Parameters
        ----------
        text : str or bytes
            One document.

        Returns
        -------
        list of (str, int, int)
            Each word or n-gram in the order of the text, its column, and its sign.

        Examples
        --------
        >>> TextHasher().tokens("cat")
        [('cat', 300839, 1)]
        """
        found = list(self.build_analyzer()(text))
        hashes = murmur3_of([_as_bytes(token) for token in found]).view(np.int32)
        columns = np.abs(hashes.astype(np.int64)) % self.n_features
        signs = np.where(hashes < 0, -1, 1) if self.alternate_sign else np.ones_like(hashes)
        return list(zip(found, columns.tolist(), signs.tolist(), strict=True))

    def explain(self, text: Document, weights: npt.ArrayLike) -> list[tuple[str, float]]:
        """Compute the contribution of each word or n-gram of a text to its score.

        Parameters
        ----------
        text : str or bytes
            One document.
        weights : array-like of shape (n_features,)
            The weights of a linear model.

        Returns
        -------
        list of (str, float)
            Each word or n-gram with its contribution, the largest absolute value first. The sum is `row @ weights`.

        Raises
        ------
        ValueError
            If the number of weights is not `n_features`.

        Examples
        --------
        >>> hasher = TextHasher(n_features=2**20, norm=None)
        >>> weights = np.zeros(2**20)
        >>> weights[300839] = 2.0
        >>> hasher.explain("the cat, the cat", weights)[0]
        ('cat', 4.0)
        """
        w = np.asarray(weights, np.float64).ravel()
        if len(w) != self.n_features:
            raise ValueError(f"weights must have n_features={self.n_features} numbers, got {len(w)}")
        self._check()
        counts: dict[tuple[str, int], int] = {}
        sums: dict[int, int] = {}
        for token, column, sign in self.tokens(text):  # once: the text may be a file
            counts[token, column] = counts.get((token, column), 0) + sign
            sums[column] = sums.get(column, 0) + sign
        columns = sorted(sums)
        values = ValueRules(self.binary, self.norm, self.dtype).values(
            np.array([sums[column] for column in columns], np.int32), np.array([0, len(columns)], np.uintp)
        )
        row = dict(zip(columns, values.tolist(), strict=True))
        totals: dict[int, int] = {}
        for (_, column), times in counts.items():
            totals[column] = totals.get(column, 0) + (1 if self.binary else times)
        # The value of a column is divided among its tokens by their counts; a column that cancels contributes nothing.
        found = []
        for (token, column), times in counts.items():
            share = (1 if self.binary else times) / totals[column] if totals[column] else 0.0
            found.append((token, share * row[column] * float(w[column])))
        return sorted(found, key=lambda one: -abs(one[1]))

    def _check(self) -> None:
        """Check the parameters that the kernels rely on; the slower checks of scikit-learn are made by `fit`."""
        if check_integer("n_features", self.n_features) > MAX_COLUMNS:
            raise ParameterError("n_features", f"at most {MAX_COLUMNS}", self.n_features)
        if check_integer("names", self.names, minimum=0) > MAX_COLUMNS:
            raise ParameterError("names", f"at most {MAX_COLUMNS}", self.names)
        if self.alternate_sign and np.dtype(self.dtype).kind == "u":
            raise ParameterError("dtype", "signed if alternate_sign=True", self.dtype)
        if self.norm is not None:
            check_choice("norm", self.norm, ("l1", "l2"), "None")
        self._validate_ngram_range()

    def _blocks(self, X: Iterable[Document]) -> Iterator[tuple[Array, Array, Array]]:
        """Indices, values and row pointers of each block of texts."""
        columns = int(self.n_features)
        hashing = HashRules(np.uint32(columns), np.uint32((columns - 1).bit_length()), np.uint32(bool(self.alternate_sign)))
        rules, buffers = ValueRules(self.binary, self.norm, self.dtype), Buffers()
        naming = ColumnNames(self._current_names() if self.names else {}, self.names, columns)
        for rows in (self._compiled_rows if self._is_compiled() else self._token_rows)(X, hashing, buffers, naming):
            size = int(rows.indptr[-1])
            indptr = rows.indptr.copy()
            yield rows.indices[:size].copy(), rules.values(rows.counts[:size], indptr), indptr

    def _current_names(self) -> dict[int, str]:
        """The names so far, cleared if a parameter that decides the meaning of columns has changed."""
        named_for = tuple(getattr(self, name) for name in NAMING_PARAMETERS)
        if not hasattr(self, "names_") or getattr(self, "_named_for", None) != named_for:
            self.names_: dict[int, str] = {}
            self._named_for = named_for
        for column in list(self.names_)[self.names :]:
            del self.names_[column]
        return self.names_

    def _is_compiled(self) -> bool:
        """Whether the kernels can split the texts."""
        if self.analyzer == "word":
            return self.tokenizer is None and word_pattern(self.token_pattern) is not None
        return self.analyzer in ("char", "char_wb")

    def _compiled_rows(
        self, X: Iterable[Document], hashing: HashRules, buffers: Buffers, naming: ColumnNames
    ) -> Iterator[RowBuffers]:
        low, high = self.ngram_range
        if low < 1:
            raise ValueError(f"ngram_range must start at 1 or more, got {self.ngram_range!r}")
        prepared = self.preprocessor is not None or bool(self.strip_accents)
        analyze = self.build_analyzer()

        def reject(text: str) -> None:
            """Raise the error of scikit-learn for a gram that UTF-8 cannot encode."""
            for token in analyze(text):
                token.encode()

        cutter = GramCutter(self.analyzer, low, high, bool(self.lowercase) and not prepared, reject)
        if self.analyzer == "word":
            words, left_out = word_pattern(self.token_pattern), stop_word_table(self.get_stop_words() or ())
            cutter = replace(cutter, words=words or DEFAULT_WORDS, stop_words=left_out)
        prepare = self.build_preprocessor()

        def decode(document: Document) -> object:
            return prepare(self.decode(document)) if prepared else self.decode(document)

        for texts in split_blocks(X, decode, always=prepared or self.input != "content"):
            block = cutter.encode(texts)
            lengths = block.lengths
            most, longest = int(cutter.max_grams(lengths).sum()), int(lengths.max())
            rows = buffers.rows(len(texts), most, int(cutter.max_grams(np.int64(longest))))
            names = naming.buffers(buffers, most, int(cutter.max_gram_bytes(lengths).sum()))
            grams = buffers.grams(cutter, longest)
            naming.keep(names, int(hash_texts(cutter.rules(block), hashing, block.text, block.bounds, grams, rows, names)))
            yield rows

    def _token_rows(
        self, X: Iterable[Document], hashing: HashRules, buffers: Buffers, naming: ColumnNames
    ) -> Iterator[RowBuffers]:
        analyze = self.build_analyzer()
        for tokens in _token_blocks(map(analyze, X)):
            flat = list(chain.from_iterable(tokens))
            block = join_ascii(flat) or join_pieces([_as_bytes(token) for token in flat])
            bounds = make_bounds(map(len, tokens), len(tokens))
            most = len(block.bounds) - 1
            rows = buffers.rows(len(tokens), most, most)
            names = naming.buffers(buffers, most, len(block.text))
            naming.keep(names, int(hash_tokens(hashing, block.text, block.bounds, bounds, rows, names)))
            yield rows


def _as_bytes(token: object) -> bytes:
    if isinstance(token, str):
        return token.encode()
    if not isinstance(token, bytes):
        raise TypeError("feature names must be strings")
    return token


def _token_blocks(lists: Iterable[Iterable[str]]) -> Iterator[list[list[str]]]:
    """Lists of tokens in blocks of about TOKENS_PER_BLOCK."""
    block: list[list[str]] = []
    held = 0
    for tokens in lists:
        if isinstance(tokens, str):
            raise ValueError("an analyzer or tokenizer must return a list of strings, got a single string")
        block.append(list(tokens))
        held += len(block[-1]) + 1
        if held >= TOKENS_PER_BLOCK:
            yield block
            block, held = [], 0
    if block:
        yield block
