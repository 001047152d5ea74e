"""Checks of parameters: the values that are accepted, and the fields and the text of the errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.validation import (
    ParameterError,
    ParameterProblem,
    ParameterTypeError,
    check_choice,
    check_flag,
    check_integer,
    check_number,
)


def test_accepted_values() -> None:
    assert check_choice("keep", "last", ("last", "vote")) == "last"
    assert check_number("tol", np.float32(0.5)) == 0.5
    assert check_number("margin", 0, or_equal=True) == 0.0
    assert check_integer("max_iter", np.int64(3)) == 3
    assert check_flag("log", np.True_) is True


@pytest.mark.parametrize(
    ("value", "options", "meant"),
    [
        ("Logistic", ("hinge", "logistic"), "logistic"),
        ("log-loss", ("hinge", "logistic"), "logistic"),
        ("avergae", ("last", "average", "vote"), "average"),
        ("pa-ii", ("PA", "PA-I", "PA-II"), "PA-II"),
        ("ovo", ("joint", "ovr"), None),
        ("nonsense", ("last", "average"), None),
        (1, ("a", "b"), None),
    ],
)
def test_the_error_of_a_choice_has_what_was_probably_meant(value: Any, options: tuple[str, ...], meant: str | None) -> None:
    with pytest.raises(ParameterError) as caught:
        check_choice("p", value, options)
    assert caught.value.reason == ("" if meant is None else f"did you mean {meant!r}?")
    assert str(caught.value).endswith("" if meant is None else f": did you mean {meant!r}?")


@pytest.mark.parametrize(
    ("check", "kind", "requirement", "text"),
    [
        (lambda: check_choice("p", "x", ("a",), "None"), ParameterError, "'a' or None", "got 'x'"),
        (lambda: check_choice("p", "x", ("a", "b"), "1", "None"), ParameterError, "'a', 'b', 1 or None", "got 'x'"),
        (lambda: check_choice("p", 1, ("a", "b")), ParameterError, "one of 'a', 'b'", "got 1"),
        (lambda: check_number("p", "1"), ParameterTypeError, "a number", "got '1'"),
        (lambda: check_number("p", 0.0), ParameterError, "greater than 0 and finite", "got 0.0"),
        (lambda: check_number("p", 10**400), ParameterError, "at most 1.8e308", "got a larger number"),
        (lambda: check_integer("p", True), ParameterTypeError, "a whole number", "got True"),
        (lambda: check_integer("p", 0), ParameterError, "at least 1", "got 0"),
        (lambda: check_flag("p", "no"), ParameterTypeError, "True or False", "got 'no'"),
    ],
)
def test_errors_have_fields(check: Callable[[], Any], kind: type[Exception], requirement: str, text: str) -> None:
    with pytest.raises(kind) as caught:
        check()
    error = caught.value
    assert isinstance(error, ParameterProblem)
    assert isinstance(error, TypeError if kind is ParameterTypeError else ValueError)
    assert (error.name, error.requirement) == ("p", requirement)
    assert str(error) == f"p must be {requirement}, {text}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_estimators_raise_errors_with_fields() -> None:
    with pytest.raises(ParameterError, match="n_jobs must be None or a whole number other than 0, got 0") as caught:
        rb.Perceptron(n_jobs=0).fit([[0.0], [1.0]], [0, 1])
    assert (caught.value.name, caught.value.value, caught.value.optional) == ("n_jobs", 0, True)


def test_large_values_are_abbreviated_before_they_are_formatted() -> None:
    class Slow:
        def __repr__(self) -> str:
            shown.append(self)
            return "slow"

    shown: list[Slow] = []
    with pytest.raises(ParameterTypeError) as caught:
        check_number("alpha", [Slow() for _ in range(1000)])
    assert str(caught.value) == "alpha must be a number, got [slow, slow, slow, slow, slow, slow, ...]"
    assert len(shown) == 6
    with pytest.raises(ParameterTypeError, match=r"got \[array\(\[0\.\]\), .*, \.\.\.\]$"):
        check_number("alpha", [np.zeros(1)] * 99_000)


def test_values_that_have_no_text_are_named_by_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(ParameterTypeError, match="alpha must be a number, got <Broken instance"):
        check_number("alpha", Broken())
    with pytest.raises(ParameterError, match="max_iter must be at least 1, got "):
        check_integer("max_iter", -(10**5000))
