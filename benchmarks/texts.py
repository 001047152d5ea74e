"""Columns of text beside TfidfVectorizer and LinearSVC: from strings to a tested model, on the same splits.

`train` is plain `rosenblatt train` in this process: it reads the file, holds out a fifth, makes features, fits, tests, judges.
The others start with the strings in memory: "ours: words" makes the features and the fit of `train`. All take turns on each
split, and use one thread by default.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import re
import statistics
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

import rosenblatt as rb
from rosenblatt.data.readers import Options
from rosenblatt.data.table import Data, Table
from rosenblatt.preprocessing.recipe import Recipe
from rosenblatt.training.preparation import as_matrix
from rosenblatt.training.request import PARAMETERS_OF_TEXT, Request
from rosenblatt.training.split import Holdout
from rosenblatt.training.train import train

from . import workloads

Texts = tuple[list[str], list[str]]
PEER, OTHER, PLAIN, OURS = "TfidfVectorizer() + LinearSVC()", "sublinear, words-2, LinearSVC()", "train", "ours: words"
VARIANTS = (
    "words", "words:binary", "words:counts", "words:tfidf", "words-2", "words-2:binary", "chars-2-4", "chars-3-5",
    "words,chars-3-5", "words-2,chars-3-5",
)  # fmt: skip
MIN_ROWS_OF_A_CLASS, MAX_ROWS_OF_A_SECTION, MAX_TEXTS, MAX_PAGE_CHARS = 20, 700, 12_000, 2_000
SPEED = 3.0  # times the peer's
MANUALS = Path("/usr/share/man")


def news() -> Texts:
    with open(workloads.DATA / "text" / "ag_news_test.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [f"{title} {text}" for _, title, text in rows], [label for label, _, _ in rows]


def messages() -> Texts:
    lines = dict.fromkeys((workloads.DATA / "text" / "sms_spam.tsv").read_text(encoding="utf-8").splitlines())
    parts = [line.partition("\t") for line in lines]
    return [text for _, _, text in parts], [label for label, _, _ in parts]


def newsgroups() -> Texts:
    """The word counts of news20 as texts, in which every word is a number."""
    texts, labels = [], []
    with bz2.open(workloads.DATA / "libsvm" / "news20.bz2", "rt") as file:
        for line in file:
            label, *items = line.split()
            counts = (item.split(":") for item in items)
            texts.append(" ".join(f"w{word} " * int(float(count)) for word, count in counts))
            labels.append(f"c{label}")
    return texts, labels


def manuals() -> Texts:
    """The beginnings of this system's manual pages, without markup; the class is the section."""
    taken: Counter[str] = Counter()
    texts, labels = [], []
    for path in sorted(MANUALS.glob("man*/*.gz")):
        section = path.parent.name
        if path.is_symlink() or taken[section] >= MAX_ROWS_OF_A_SECTION:
            continue
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            text = re.sub(r"^[.'].*$|\\f.|\\|\s+", " ", file.read(4 * MAX_PAGE_CHARS), flags=re.MULTILINE)
        if len(text) > 80:
            taken[section] += 1
            texts.append(text[:MAX_PAGE_CHARS])
            labels.append(section)
    return texts, labels


def packages() -> Texts:
    """The one-line descriptions of Debian packages; the class is the section."""
    found = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    texts, labels = [], []
    for block in found.split("\n\n"):
        fields = dict(re.findall(r"^(Section|Description(?:-en)?): (.*)$", block, flags=re.MULTILINE))
        if "Section" in fields and len(fields) == 2:
            texts.append(fields.get("Description") or fields["Description-en"])
            labels.append(fields["Section"])
    return texts, labels


SETS: dict[str, Callable[[], Texts]] = {
    "sms": messages, "news (4 classes)": news, "news20": newsgroups, "manual pages": manuals, "packages": packages,
}  # fmt: skip


def measure(splits: int, quick: bool) -> Iterator[dict[str, Any]]:
    train(Request("example:iris", algorithm="soft-margin"))
    for name, load in SETS.items():
        try:
            texts, labels = _usual_classes(*load(), 1_000 if quick else MAX_TEXTS if load is packages else None)
        except (OSError, subprocess.CalledProcessError) as error:
            yield {"set": name, "skipped": f"not on this machine: {error}"}
            continue
        if not texts:
            yield {"set": name, "skipped": "no texts on this machine"}
            continue
        yield from _measure_set(name, texts, labels, splits)


def _usual_classes(texts: list[str], labels: list[str], limit: int | None) -> Texts:
    """At most `limit` texts in random order, of classes with enough of them."""
    order = np.random.default_rng(0).permutation(len(texts))[:limit].tolist()
    sizes = Counter(labels[k] for k in order)
    kept = [k for k in order if sizes[labels[k]] >= MIN_ROWS_OF_A_CLASS]
    return [texts[k] for k in kept], [labels[k] for k in kept]


def _measure_set(name: str, texts: list[str], labels: list[str], splits: int) -> Iterator[dict[str, Any]]:
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "texts.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("label", "text"), *zip(labels, texts, strict=True)])
        cells, y = np.array(texts, object), np.array(labels)
        for seed in range(splits):
            test = Holdout(0.2, seed).mask(y)
            contestants = _contestants(str(path), cells, y, test, seed)
            if not seed:
                for learn in contestants.values():
                    learn()  # compiles, and warms the caches
            for learner, learn in contestants.items():
                started = time.perf_counter()
                accuracy = learn()
                found.setdefault(learner, []).append((accuracy, time.perf_counter() - started))
        base = np.array([accuracy for accuracy, _ in found[PEER]])
        peer = statistics.median(seconds for _, seconds in found[PEER])
        for learner, runs in found.items():
            accuracies = np.array([accuracy for accuracy, _ in runs])
            gained = accuracies - base
            seconds = statistics.median(seconds for _, seconds in runs)
            yield {
                "set": name, "texts": len(texts), "learner": learner, "accuracy": float(accuracies.mean()),
                "difference": float(gained.mean()), "error": float(gained.std() / np.sqrt(len(runs))),
                "seconds": seconds, "ratio": peer / seconds,
                "required": SPEED if learner in (PLAIN, OURS) else None,
            }  # fmt: skip


def _contestants(path: str, cells: Any, y: Any, test: Any, seed: int) -> dict[str, Callable[[], float]]:
    def plain() -> float:
        request = Request(path, options=Options(missing="auto", text=("text",)), algorithm="auto", holdout=0.2, seed=seed)
        outcome = train(request)
        assert outcome.test is not None
        return 1.0 - outcome.test.error

    def ours(features: str) -> Callable[[], float]:
        def learn() -> float:
            rows, later = (Data("texts", Table(("text",), (part,)), None) for part in (cells[~test], cells[test]))
            recipe = Recipe.learn([rows], text=("text",), text_features=features)
            model = rb.SoftMargin(random_state=seed, **PARAMETERS_OF_TEXT).fit(as_matrix(recipe.rows(rows)), y[~test])
            return float(np.mean(model.predict(as_matrix(recipe.rows(later))) == y[test]))

        return learn

    def theirs(**settings: Any) -> Callable[[], float]:
        def learn() -> float:
            vectorizer = TfidfVectorizer(**settings)
            model = LinearSVC(random_state=seed).fit(vectorizer.fit_transform(cells[~test]), y[~test])
            return float(np.mean(model.predict(vectorizer.transform(cells[test])) == y[test]))

        return learn

    return {
        PEER: theirs(), OTHER: theirs(sublinear_tf=True, ngram_range=(1, 2)), PLAIN: plain,
        **{f"ours: {features}": ours(features) for features in VARIANTS},
    }  # fmt: skip
