"""Findings about the labels: classes with few rows, spellings of one word, and quantities that are no classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...array_types import IntArray
from ...data.readers.cells import SEVERAL_LABELS
from ...reporting.text import comma_list, count, join_and, plural
from ..certify import LabeledRows
from .findings import AdviceForm, Finding

SMALL_CLASS_SHARE = 0.05  # share of the rows with two classes; proportionally less with more classes
MIN_ROWS_FOR_SINGLETON = 8  # a class with a single row is reported from this number of rows on
MAX_SPELLINGS = MAX_CLASSES_NAMED = 5
# Numeric labels look like a quantity if there are more different ones, and fewer rows of each on average.
MAX_NUMERIC_CLASSES, MIN_ROWS_OF_NUMBER = 10, 20
LIST_MARKS = (";", "|", ",")  # between the labels of a list
MISSING_MARKS = ("-", "--", ".")  # of missing cells; as labels they are classes


def class_imbalance(given: LabeledRows, separable: bool, form: AdviceForm) -> Iterator[Finding]:
    """A class with few rows."""
    found = describe_imbalance(given.classes.tolist(), np.bincount(given.codes), None if separable else form)
    if found is not None and separable and found.evidence["rows"] > 1:
        sentence = f"{found.sentence} This does not prevent convergence: the bound does not depend on the number of rows."
        found = Finding(found.kind, sentence, found.evidence)
    yield from [] if found is None else [found]


def describe_imbalance(labels: list[Any], counts: IntArray, form: AdviceForm | None) -> Finding | None:
    """The classes with the fewest rows, if they are few; `form`: how to give them more weight, if that is possible."""
    n, most = int(counts.sum()), int(counts.argmax())
    few = int(counts.min())
    least = np.flatnonzero(counts == few).tolist()
    if few * len(counts) > 2 * SMALL_CLASS_SHARE * n and not (few == 1 and n >= MIN_ROWS_FOR_SINGLETON):
        return None
    rest, several = n - int(counts[most]), len(least) > 1
    names = join_and([repr(labels[code]) for code in least], limit=MAX_CLASSES_NAMED)
    start, each = (f"Classes {names} have", " each") if several else (f"Class {names} has", "")
    sentence = f"{start} only {plural(few, 'row')}{each} of {count(n)}"
    if rest <= 2 * SMALL_CLASS_SHARE * n:
        sentence += f"; always predicting {labels[most]!r} misclassifies only {count(rest)}, so accuracy is not informative"
    if few == 1:
        about = "each of these classes" if several else "that class"
        sentence += f". Everything learned about {about} depends on a single row."
    elif form is not None:
        balanced = form.parameter("class_weight='balanced'", "--class-weight balanced")
        subject = "these classes matter, give their rows" if several else "that class matters, give its rows"
        sentence += f". If {subject} more weight: {balanced}."
    else:
        sentence += "."
    evidence = {"class": labels[least[0]], "rows": few, "of": n, "most_frequent": labels[most], "others": rest}
    return Finding("imbalance", sentence, evidence | ({"classes": [labels[code] for code in least]} if several else {}))


def label_spellings(labels: Sequence[Any]) -> Iterator[Finding]:
    """Labels that are one word in different spellings."""
    if groups := spellings([label for label in labels if isinstance(label, str)]):
        sentence = f"Labels that differ in case alone are different classes: {list_spellings(groups)}. Write them alike."
        yield Finding("spellings", sentence, {"column": None, "spellings": groups})


def spellings(words: Sequence[str]) -> list[list[str]]:
    """The groups of words that differ in case or blanks alone.

    >>> spellings(["Yes", "no", "yes", "YES "])
    [['Yes', 'yes', 'YES ']]
    """
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(folded(word), []).append(word)
    return [group for group in groups.values() if len(group) > 1]


def folded(word: str) -> str:
    """A word without its case and the number of its blanks."""
    return " ".join(word.casefold().split())


def list_spellings(groups: Sequence[Sequence[str]]) -> str:
    return comma_list([join_and([repr(word) for word in group]) for group in groups], MAX_SPELLINGS)


def label_quantities(labels: Sequence[Any], rows: int, column: str | None) -> Iterator[Finding]:
    """Labels that are numbers of which most are rare, as if a quantity was to be predicted."""
    n = len(labels)
    numbers = all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)
    if numbers and n > MAX_NUMERIC_CLASSES and rows < MIN_ROWS_OF_NUMBER * n:
        name = "" if column is None else f" in column {column!r}"
        sentence = (
            f"The labels{name} are {count(n)} different numbers, each a class of its own without order. "
            "To predict a quantity, replace it by a few classes, such as low and high."
        )
        yield Finding("quantities", sentence, {"column": column, "classes": n, "rows": rows})


def label_lists(labels: Sequence[Any]) -> Iterator[Finding]:
    """Labels that look like lists of labels: each part of them is a label, or a part of one, elsewhere, too."""
    if not all(isinstance(label, str) for label in labels):
        return
    for mark in LIST_MARKS:
        parts = {label: [part.strip() for part in label.split(mark)] for label in labels}
        lists = [label for label, found in parts.items() if len(found) > 1 and all(found)]
        uses = Counter(part for found in parts.values() for part in set(found))
        if len(lists) > 1 and all(uses[part] > 1 for label in lists for part in parts[label]):
            sentence = f"Labels such as {lists[0]!r} look like lists, but each list is a class of its own: {SEVERAL_LABELS}."
            yield Finding("lists", sentence, {"mark": mark, "lists": lists})
            return


def label_marks(labels: Sequence[Any], counts: IntArray, noun: str = "row") -> Iterator[Finding]:
    """Labels that may mark missing ones; beside a plus, a minus is a label like others."""
    for label, rows in zip(labels, counts.tolist(), strict=True):
        if label in MISSING_MARKS and "+" not in labels:
            these = "this row" if rows == 1 else "these rows"
            sentence = (
                f"Label {label!r} ({plural(rows, noun)}) is a class of its own: if it marks missing labels, delete {these}."
            )
            yield Finding("mark", sentence, {"class": label, "rows": rows})
