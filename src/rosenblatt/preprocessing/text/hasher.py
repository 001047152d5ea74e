r"""Text to sparse rows without a vocabulary: a word's column is its hash.

Problem    Rows of word counts need a column for every word, and words never end.
Way        Column and sign of a word are |h| mod n_features and the sign of h, its 32-bit MurmurHash3: words that share a
           column cancel on average, so that inner products keep their expectation.
Guarantee  The matrix is that of scikit-learn's HashingVectorizer, bit for bit.
Reference  Weinberger, Dasgupta, Langford, Smola & Attenberg, "Feature Hashing for Large Scale Multitask Learning", ICML 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils._param_validation import Interval

from ...kernels.text.hashing import Hashed, Names, Rows, hash_texts, hash_tokens
from ...validation import count, one_of
from .blocks import Block, Cutter, Room, Values, bounds_of, in_blocks, joined, stacked
from .murmur import murmur3_of

# --- Which text stands for a hashed column: the first one met, of so many columns at most.

NO_NAMES = Names(np.zeros(0, np.uint8), np.zeros(1, np.uintp), np.zeros(1, np.uintp), np.zeros(1, np.uint8))


class Naming:
    """Puts names into the dictionary `kept`, until it has `most`."""

    def __init__(self, kept: dict[int, str], most: int, columns: int) -> None:
        self.kept, self.most = kept, most
        self._seen = np.zeros(columns if len(kept) < most else 0, np.uint8)
        if len(self._seen):
            self._seen[list(kept)] = 1

    def names(self, room: Room, count: int, size: int) -> Names:
        """Room for the names of a block: at most `count` with `size` bytes."""
        if len(self.kept) >= self.most:
            return NO_NAMES
        stops = room.array("stops", count + 1, np.uintp)
        stops[0] = 0
        return Names(self._seen, room.array("columns", count, np.uintp), stops, room.array("names", size, np.uint8))

    def keep(self, names: Names, noted: int) -> None:
        noted = min(noted, self.most - len(self.kept))
        raw, stops = names.text[: int(names.stops[noted])].tobytes(), names.stops[: noted + 1].tolist()
        for place, column in enumerate(names.columns[:noted].tolist()):
            self.kept[column] = raw[stops[place] : stops[place + 1]].decode(errors="replace")


# ---

MOST_COLUMNS = 2**31 - 1
PATTERN = r"(?u)\b\w\w+\b"
# What a column stands for; the other parameters change values only, or how documents become text.
NAMING = (
    "n_features", "analyzer", "tokenizer", "token_pattern", "stop_words", "ngram_range", "lowercase", "strip_accents",
    "preprocessor",
)  # fmt: skip


class TextHasher(HashingVectorizer):
    r"""What scikit-learn's `HashingVectorizer` gives, bit for bit, many times as fast; and the words behind the columns.

    All its parameters are here and mean the same. Words and character n-grams, cut as they are by default, are compiled; so are
    texts after a `preprocessor` or `strip_accents`. Own `tokenizer`, `token_pattern`, `stop_words` and `analyzer` functions run
    as Python, and only what follows them is fast. `ngram_range` starts at 1 or more; `dtype` is bool, float32, float64 or whole
    numbers, with a sign where `alternate_sign` is True.

    Parameters
    ----------
    names : int, default=0
        Of so many columns at most, `transform` keeps the first word or n-gram that it meets, in `names_`.

    Attributes
    ----------
    names_ : dict of int to str
        Where `names` is not 0: what the columns met so far stand for. Others may share them. Begun anew by the first
        `transform` after a change of parameters that cut the text or number the columns.

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
        "n_features": [Interval(Integral, 1, MOST_COLUMNS, closed="both")],
        "names": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        input: str = "content",  # noqa: A002
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        preprocessor: Any = None,
        tokenizer: Any = None,
        stop_words: Any = None,
        token_pattern: str | None = PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Any = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: str | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
        names: int = 0,
    ) -> None:
        super().__init__(
            input=input, encoding=encoding, decode_error=decode_error, strip_accents=strip_accents, lowercase=lowercase,
            preprocessor=preprocessor, tokenizer=tokenizer, stop_words=stop_words, token_pattern=token_pattern,
            ngram_range=ngram_range, analyzer=analyzer, n_features=n_features, binary=binary, norm=norm,
            alternate_sign=alternate_sign, dtype=dtype,
        )  # fmt: skip
        self.names = names

    def transform(self, X: Iterable[Any]) -> Any:
        """The texts as rows of a CSR matrix; X may be any iterable, and is read once, a block at a time."""
        if isinstance(X, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        self._check()
        return stacked(self._blocks(X), self.n_features)

    def tokens(self, text: Any) -> list[tuple[str, int, int]]:
        """The words or n-grams of one text, each with its column and sign: an explanation needs nothing that was stored."""
        found = list(self.build_analyzer()(text))
        hashes = murmur3_of([_bytes(token) for token in found]).view(np.int32)
        columns = np.abs(hashes.astype(np.int64)) % self.n_features
        signs = np.where(hashes < 0, -1, 1) if self.alternate_sign else np.ones_like(hashes)
        return list(zip(found, columns.tolist(), signs.tolist(), strict=True))

    def explain(self, text: Any, weights: Any) -> list[tuple[str, float]]:
        """What each word or n-gram of a text adds to its score, the greatest first; together they are row @ weights."""
        weights = np.asarray(weights, np.float64).ravel()
        if len(weights) != self.n_features:
            raise ValueError(f"weights must have n_features={self.n_features} numbers, got {len(weights)}")
        self._check()
        counts: dict[tuple[str, int], int] = {}
        sums: dict[int, int] = {}
        for token, column, sign in self.tokens(text):  # which reads the text, and a file can be read once
            counts[token, column] = counts.get((token, column), 0) + sign
            sums[column] = sums.get(column, 0) + sign
        columns = sorted(sums)
        values = Values(self.binary, self.norm, self.dtype).of(
            np.array([sums[column] for column in columns], np.int32), np.array([0, len(columns)], np.uintp)
        )
        row = dict(zip(columns, values.tolist(), strict=True))
        totals: dict[int, int] = {}
        for (_, column), times in counts.items():
            totals[column] = totals.get(column, 0) + (1 if self.binary else times)
        # A column's value is shared out by the counts of its tokens; a column that cancels adds nothing.
        found = []
        for (token, column), times in counts.items():
            share = (1 if self.binary else times) / totals[column] if totals[column] else 0.0
            found.append((token, share * row[column] * float(weights[column])))
        return sorted(found, key=lambda one: -abs(one[1]))

    def _check(self) -> None:
        """What kernels rely on; scikit-learn's own checks, which take longer than a short text, are those of `fit`."""
        if count("n_features", self.n_features) > MOST_COLUMNS:
            raise ValueError(f"n_features must be at most {MOST_COLUMNS}, got {self.n_features!r}")
        count("names", self.names, least=0)
        if self.alternate_sign and np.dtype(self.dtype).kind == "u":
            raise ValueError(f"dtype must have a sign where alternate_sign=True, got {self.dtype!r}")
        if self.norm is not None:
            one_of("norm", self.norm, ("l1", "l2"), also="or None")
        self._validate_ngram_range()

    def _blocks(self, X: Iterable[Any]) -> Iterator[tuple[Any, Any, Any]]:
        columns = int(self.n_features)
        hashed = Hashed(np.uint32(columns), np.uint32((columns - 1).bit_length()), np.uint32(bool(self.alternate_sign)))
        values, room = Values(self.binary, self.norm, self.dtype), Room()
        naming = Naming(self._names_so_far() if self.names else {}, self.names, columns)
        for rows in (self._cut_rows if self._plain() else self._token_rows)(X, hashed, room, naming):
            size = int(rows.indptr[-1])
            indptr = rows.indptr.copy()
            yield rows.indices[:size].copy(), values.of(rows.counts[:size], indptr), indptr

    def _names_so_far(self) -> dict[int, str]:
        named_for = tuple(getattr(self, name) for name in NAMING)
        if not hasattr(self, "names_") or getattr(self, "_named_for", None) != named_for:
            self.names_: dict[int, str] = {}
            self._named_for = named_for
        for column in list(self.names_)[self.names :]:
            del self.names_[column]
        return self.names_

    def _plain(self) -> bool:
        """Whether kernels can cut the texts."""
        if self.analyzer == "word":
            return self.tokenizer is None and self.token_pattern == PATTERN and self.stop_words is None
        return self.analyzer in ("char", "char_wb")

    def _cut_rows(self, X: Iterable[Any], hashed: Hashed, room: Room, naming: Naming) -> Iterator[Rows]:
        low, high = self.ngram_range
        if low < 1:
            raise ValueError(f"ngram_range must start at 1 or more, got {self.ngram_range!r}")
        prepared = self.preprocessor is not None or bool(self.strip_accents)
        analyze = self.build_analyzer()

        def refuse(text: str) -> None:
            """Raises as scikit-learn does where a gram is not UTF-8."""
            for token in analyze(text):
                token.encode()

        cutter = Cutter(self.analyzer, low, high, bool(self.lowercase) and not prepared, refuse)
        prepare = self.build_preprocessor()

        def decode(document: Any) -> Any:
            return prepare(self.decode(document)) if prepared else self.decode(document)

        for texts in in_blocks(X, decode, always=prepared or self.input != "content"):
            block = cutter.encode(texts)
            lengths = block.lengths
            most, longest = int(cutter.most_grams(lengths).sum()), int(lengths.max())
            rows = room.rows(len(texts), most, int(cutter.most_grams(np.int64(longest))))
            names = naming.names(room, most, int(cutter.most_bytes(lengths).sum()))
            scratch = room.scratch(cutter, longest)
            naming.keep(names, int(hash_texts(cutter.cut(block), hashed, block.text, block.bounds, scratch, rows, names)))
            yield rows

    def _token_rows(self, X: Iterable[Any], hashed: Hashed, room: Room, naming: Naming) -> Iterator[Rows]:
        analyze = self.build_analyzer()
        for tokens in _token_blocks(map(analyze, X)):
            block: Block = joined([_bytes(token) for some in tokens for token in some])
            bounds = bounds_of(map(len, tokens), len(tokens))
            most = len(block.bounds) - 1
            rows = room.rows(len(tokens), most, most)
            names = naming.names(room, most, len(block.text))
            naming.keep(names, int(hash_tokens(hashed, block.text, block.bounds, bounds, rows, names)))
            yield rows


def _bytes(token: Any) -> bytes:
    if isinstance(token, str):
        return token.encode()
    if not isinstance(token, bytes):
        raise TypeError("feature names must be strings")
    return token


def _token_blocks(lists: Iterable[Any]) -> Iterator[list[list[Any]]]:
    block: list[list[Any]] = []
    held = 0
    for tokens in lists:
        if isinstance(tokens, str):
            raise ValueError("an analyzer or tokenizer must give a list of strings, got a single string")
        block.append(list(tokens))
        held += len(block[-1]) + 1
        if held >= 1 << 16:
            yield block
            block, held = [], 0
    if block:
        yield block
