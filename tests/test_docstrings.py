"""Every public name has a numpydoc docstring, by numpydoc's own validator."""

from __future__ import annotations

import inspect
import pydoc
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
from numpydoc.validate import validate

import rosenblatt as rb

# See the numpydoc documentation, "Validation checks".
CHECKS = {
    "GL03",  # no blank lines in a row
    "GL06",  # no unknown section
    "GL07",  # sections in numpydoc's order
    "GL08",  # a docstring
    "SS01",  # a summary
    "SS02",  # that starts with a capital
    "SS03",  # ends with a period
    "SS04",  # without leading spaces
    "SS06",  # and fits in one line
    "PR01",  # every parameter is documented
    "PR02",  # and no other
    "PR03",  # in the order of the signature
    "PR04",  # with a type
    "PR05",  # that does not end in a period
    "PR07",  # and a description
    "PR09",  # and ends with a period
    "RT01",  # what is returned
    "RT03",  # with a description
    "RT05",  # and ends with a period
    "YD01",  # what is yielded
}
# Of classes and functions, not of their methods.
EXAMPLES = "EX01"
SEE_ALSO = "SA01"
# Inherited from scikit-learn.
THEIRS = {
    "get_params",
    "set_params",
    "get_metadata_routing",
    "set_fit_request",
    "set_partial_fit_request",
    "set_score_request",
    "score",
}
# What functions return or raise: their examples show them.
WITHOUT_EXAMPLE = {
    "Diagnosis", "Finding", "Inseparable", "MinimumErrors", "ModelError", "NotSeparable", "Separable", "Stop",
    "Undecided",
}  # fmt: skip
EXEMPT = {
    "rosenblatt.Stop": {"PR09"},  # the reasons are a table
    "rosenblatt.UpdateLog": {"PR01"},  # made by fits alone
}


def documented() -> Iterator[tuple[str, set[str]]]:
    modules = [rb, *(thing for name in rb.__all__ if inspect.ismodule(thing := getattr(rb, name)))]
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.isclass(thing) and not inspect.isfunction(thing):
                continue  # a module, or a constant
            place = f"{module.__name__}.{name}"
            yield place, CHECKS | {SEE_ALSO} | (set() if name in WITHOUT_EXAMPLE else {EXAMPLES})
            if inspect.isclass(thing):
                yield from ((f"{place}.{method}", CHECKS) for method in public_methods(thing))


def public_methods(kind: type) -> list[str]:
    found = inspect.getmembers_static(
        kind, lambda member: isinstance(member, types.FunctionType | classmethod | staticmethod | property)
    )
    return [name for name, _ in found if not name.startswith("_") and name not in THEIRS]


PLACES = dict(documented())


@pytest.mark.parametrize("place", PLACES)
def test_docstring(place: str) -> None:
    found: dict[str, Any] = validate(resolved(place))
    wrong = [f"{code}: {text}" for code, text in found["errors"] if code in PLACES[place] - EXEMPT.get(place, set())]
    assert not wrong, f"{found['file']}:{found['file_line']}"


def resolved(place: str) -> str:
    """Where a name is defined, since numpydoc imports what stands before the last dots."""
    module, rest = rb, place.removeprefix("rosenblatt.").split(".")
    if inspect.ismodule(thing := getattr(rb, rest[0])):
        module, rest = thing, rest[1:]
    return ".".join([getattr(module, rest[0]).__module__, *rest])


@pytest.mark.parametrize("module", [rb, rb.losses, rb.mail, sys.modules["rosenblatt.studio"]], ids=lambda m: m.__name__)
def test_public_modules_list_their_public_names(module: types.ModuleType) -> None:
    assert dir(module) == sorted(module.__all__)


def test_studio_has_the_signature_and_the_help_of_its_function() -> None:
    assert list(inspect.signature(rb.studio).parameters) == ["X", "y", "algorithm", "columns", "degree", "seed", "knobs"]
    assert "studio(X: 'MatrixLike', y: 'ArrayLike', *, algorithm" in pydoc.plain(pydoc.render_doc(rb.studio))
