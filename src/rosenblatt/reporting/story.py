"""What a report tells of: a fitted estimator, its rows, and what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Story:
    """Everything a report is made from; only `title` and `estimator` must be there, what is missing is left out.

    title         of the page, such as the name of the data
    estimator     fitted, ours; with `log_` there are curves
    summary       (name, value) pairs in the order they are shown
    X, y          training rows as the estimator saw them, array or CSR, and their labels; a sample will do
    X_test, y_test
    feature_names any sequence, of which only those shown are looked up; None: by number, from 1
    class_names   in the order of `classes_`; empty: the labels themselves
    certificate   what is proved about the training rows
    history       (pass, updates so far, training errors) of a run without a log
    command       as it was typed
    version       of this library
    notes         sentences that belong on the page: a sample was taken, features were scaled
    """

    title: str
    estimator: Any
    summary: Sequence[tuple[str, str]] = ()
    X: Any = None
    y: Any = None
    X_test: Any = None
    y_test: Any = None
    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] = ()
    certificate: Any = None
    history: Sequence[tuple[int, int, float]] = ()
    command: str = ""
    version: str = ""
    notes: Sequence[str] = field(default=())
