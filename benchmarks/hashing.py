"""Text to sparse rows: TextHasher beside HashingVectorizer, Vocabulary beside CountVectorizer, one thread; the same arrays.

The texts are those of the folder ROSENBLATT_DATA, or `shared/data` beside the repository, where they are: short messages,
news, the bodies of mails as they came (latin-1); and the news with accents and in Cyrillic letters, since neither has many.
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

REQUIRED = 5.0  # times as fast as HashingVectorizer, on one thread
CUTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("words", {}),
    ("1 and 2 words", {"ngram_range": (1, 2)}),
    ("4 characters", {"analyzer": "char", "ngram_range": (4, 4)}),
    ("3 to 5 characters in words", {"analyzer": "char_wb", "ngram_range": (3, 5)}),
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
    for name, texts in _texts(quick):
        size = sum(map(len, texts))
        for cut, settings in CUTS:
            work = f"{name}, {size / 1e6:.1f} M characters: {cut}"
            yield _row(f"hash {work}", HashingVectorizer(**settings), rb.TextHasher(**settings), texts, repeats, REQUIRED)
        for cut, settings in CUTS[::2]:
            work = f"{name}, {size / 1e6:.1f} M characters: {cut}"
            theirs, ours = (
                CountVectorizer(min_df=2, **settings),
                rb.Vocabulary(min_count=2, norm=None, dtype=np.int64, **settings),
            )
            yield _row(f"vocabulary {work}", theirs, ours, texts, repeats, None)


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
    """0 where all arrays are the same, bit for bit; else infinity."""
    theirs.sort_indices()  # of CountVectorizer's
    pairs = [(getattr(theirs, name), getattr(ours, name)) for name in ("indptr", "indices", "data")]
    return 0.0 if all(one.dtype == other.dtype and one.tobytes() == other.tobytes() for one, other in pairs) else float("inf")
