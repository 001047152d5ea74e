"""No parameter of a public function, method or class is annotated `Any`, bare or inside a container."""

from __future__ import annotations

import ast
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import rosenblatt as rb
import rosenblatt.mail
from rosenblatt.array_types import FloatArray
from rosenblatt.estimators.row_weights import ClassWeight
from rosenblatt.models import model_input

# Parameters that hold values of any type, and why.
EXCEPTIONS = {
    ("rosenblatt.Finding.__init__", "evidence"): "the numbers of a finding, as JSON has them, by name",
    ("rosenblatt.Model.__init__", "parameters"): "the parameters of any estimator, by name",
    ("rosenblatt.Model.__init__", "provenance"): "whatever a file records, as JSON",
    ("rosenblatt.Tuned.__init__", "parameters"): "the parameters of any estimator, by name",
    ("rosenblatt.Tuned.__init__", "chosen"): "the parameters of any estimator, by name",
    ("rosenblatt.Model.__init__", "more"): "the state of any estimator, as JSON and arrays",
}
# The keys of ClassWeight are labels of any type, and Mapping is invariant in its keys; DTypeLike is NumPy's.
EXEMPT_TYPES = (ClassWeight, npt.DTypeLike)
# Aliases that are text at run time, so that SciPy need not be imported.
ALIASES = {
    "MatrixLike": npt.ArrayLike | sparse.sparray | sparse.spmatrix,
    "Matrix": FloatArray | sparse.csr_array,
    "LinearModel": BaseEstimator | tuple[npt.ArrayLike | sparse.sparray | sparse.spmatrix, npt.ArrayLike],
    "TwoAxes": npt.NDArray[np.object_],
}


def public_functions() -> Iterator[tuple[str, Any]]:
    """Functions, and constructors and public methods of classes, under their public names."""
    of_losses = [name for name, thing in vars(rb.losses).items() if getattr(thing, "__module__", "") == "rosenblatt.losses"]
    for module, names in ((rb, rb.__all__), (rosenblatt.mail, rosenblatt.mail.__all__), (rb.losses, of_losses)):
        for name in names:
            if name.startswith("_"):
                continue
            thing = getattr(module, name)
            place = f"{module.__name__}.{name}"
            if inspect.isclass(thing):
                for method, function in inspect.getmembers(thing, inspect.isroutine):
                    ours = str(getattr(function, "__module__", "")).startswith("rosenblatt")
                    if ours and (method == "__init__" or not method.startswith("_")):
                        yield f"{place}.{method}", inspect.unwrap(function)
            elif isinstance(thing, types.FunctionType):
                yield place, inspect.unwrap(thing)
            elif isinstance(thing, types.ModuleType) and callable(thing):
                yield place, type(thing).__call__


FUNCTIONS = dict(public_functions())


def hints_of(function: Any) -> dict[str, Any]:
    """The annotations as objects; names that a module imports for type checkers alone are imported."""
    module = sys.modules[function.__module__]
    names = dict(vars(module))
    for node in ast.parse(Path(str(module.__file__)).read_text()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), "<annotations>", "exec"), names)
    names |= ALIASES
    if isinstance(names.get("ModelInput"), str):
        names["ModelInput"] = eval(names["ModelInput"], vars(model_input) | names)
    return typing.get_type_hints(function, names)


def contains_any(hint: Any) -> bool:
    """Whether a type is or contains Any, other than as the dtype or the shape of an array."""
    if hint is Any:
        return True
    if hint in EXEMPT_TYPES or typing.get_origin(hint) in (np.ndarray, np.dtype, type, typing.Literal):
        return False
    parts = [part for arg in typing.get_args(hint) for part in (arg if isinstance(arg, list) else [arg])]
    return any(contains_any(part) for part in parts)


@pytest.mark.parametrize("place", FUNCTIONS)
def test_no_parameter_is_any(place: str) -> None:
    function = FUNCTIONS[place]
    hints = hints_of(function)
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    assert set(names) <= set(hints), "a parameter without annotation"
    found = {name for name in names if contains_any(hints[name])}
    assert found == {name for exempt, name in EXCEPTIONS if exempt == place}
