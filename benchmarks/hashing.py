"""Text to sparse rows: TextHasher against HashingVectorizer, Vocabulary against CountVectorizer, with equal results.

The texts are read from the folder ROSENBLATT_DATA or `shared/data` next to the repository, if they exist: short messages, news
and mail bodies (decoded as latin-1). The news are also measured with accents and in Cyrillic letters.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import rosenblatt as rb

from . import workloads
from .measure import interleave

REQUIRED_RATIO = 5.0  # speed relative to HashingVectorizer, on one thread
ANALYZERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("words", {}),
    ("1 and 2 words", {"ngram_range": (1, 2)}),
    ("4 characters", {"analyzer": "char", "ngram_range": (4, 4)}),
    ("3 to 5 characters in words", {"analyzer": "char_wb", "ngram_range": (3, 5)}),
)
# Words of a pattern, and words without stop words: no slower than HashingVectorizer.
CHOSEN_WORDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("words but stop words", {"stop_words": "english"}),
    ("words of a pattern", {"token_pattern": r"[^\W\d]{2,}"}),
    (
        "pairs of words of a pattern but stop words",
        {"token_pattern": r"\w+", "stop_words": ["the", "a"], "ngram_range": (1, 2)},
    ),
)
LATIN = "abcdefghijklmnopqrstuvwxyz"
CYRILLIC = "".join(map(chr, range(0x430, 0x430 + len(LATIN))))


def _texts(quick: bool) -> Iterator[tuple[str, list[str]]]:
    data = workloads.DATA
    every = 10 if quick else 1
    if (data / "text" / "sms_spam.tsv").is_file():
        lines = (data / "text" / "sms_spam.tsv").read_text(encoding="utf-8").split("\n")
        yield "SMS", [line.partition("\t")[2] for line in lines[::every] if "\t" in line]
    if (data / "text" / "ag_news_test.csv").is_file():
        with (data / "text" / "ag_news_test.csv").open(encoding="utf-8", newline="") as file:
            news = [" ".join(row[1:]) for row in csv.reader(file)][::every]
        yield "AG news", news
        yield "AG news with accents", [text.replace("e", "é").replace("o", "ö") for text in news]
        letters = str.maketrans(LATIN + LATIN.upper(), CYRILLIC + CYRILLIC.upper())
        yield "AG news in Cyrillic", [text.translate(letters) for text in news]
    mails = sorted((data / "mail" / "spamassassin").glob("*/*"))[:: 4 * every]
    if mails:
        yield "mail bodies", [path.read_bytes().partition(b"\n\n")[2].decode("latin-1") for path in mails]


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    found = False
    for name, texts in _texts(quick):
        found = True
        size = sum(map(len, texts))
        for analyzer, settings in ANALYZERS:
            work = f"{name}, {size / 1e6:.1f} M characters: {analyzer}"
            yield _row(f"hash {work}", HashingVectorizer(**settings), rb.TextHasher(**settings), texts, repeats, REQUIRED_RATIO)
        for analyzer, settings in CHOSEN_WORDS:
            work = f"{name}, {size / 1e6:.1f} M characters: {analyzer}"
            yield _row(f"hash {work}", HashingVectorizer(**settings), rb.TextHasher(**settings), texts, repeats, 1.0)
        for analyzer, settings in ANALYZERS[::2]:
            work = f"{name}, {size / 1e6:.1f} M characters: {analyzer}"
            theirs, ours = (
                CountVectorizer(min_df=2, **settings),
                rb.Vocabulary(min_count=2, norm=None, dtype=np.int64, **settings),
            )
            yield _row(f"vocabulary {work}", theirs, ours, texts, repeats, None)
    if not found:
        yield {"work": "hashing", "skipped": workloads.missing("text/ or mail/spamassassin/")}


def _row(work: str, theirs: Any, ours: Any, texts: list[str], repeats: int, required: float | None) -> dict[str, Any]:
    agree = _same(theirs.fit_transform(texts), ours.fit_transform(texts))
    contestants = {"sklearn": lambda: theirs.fit_transform(texts), "ours": lambda: ours.fit_transform(texts)}
    seconds = interleave(contestants, repeats)
    return {
        "work": work,
        "dtype": "float64" if required else "int64",
        "peer": "sklearn",
        "seconds": seconds,
        "ratio": seconds["sklearn"] / seconds["ours"],
        "required": required,
        "agree": agree,
    }


def _same(theirs: Any, ours: Any) -> float:
    """0 if all arrays are equal bit for bit, else infinity."""
    theirs.sort_indices()  # CountVectorizer does not sort them
    pairs = [(getattr(theirs, name), getattr(ours, name)) for name in ("indptr", "indices", "data")]
    return 0.0 if all(one.dtype == other.dtype and one.tobytes() == other.tobytes() for one, other in pairs) else float("inf")
