"""The parameters of `SoftMargin`: their choices, which of them go together, and what to write instead of those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from ..losses import HINGE, LOGISTIC, SQUARED_HINGE
from ..svm.solver_choice import Solver
from ..validation import ParameterError, check_choice, check_flag, check_integer, check_number
from .base import check_n_jobs_and_verbose

if TYPE_CHECKING:
    from .soft_margin import SoftMargin

MarginLoss: TypeAlias = Literal["hinge", "squared_hinge", "logistic"]
Penalty: TypeAlias = Literal["l2", "l1"]
Multiclass: TypeAlias = Literal["auto", "ovr", "ovo", "crammer_singer", "multinomial"]
LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
JOINT = {"crammer_singer": "hinge", "multinomial": "logistic"}  # schemes with one problem for all classes, and their losses
_SOLVERS = {
    "hinge": ("interior-point", "dual-coordinates"),
    "squared_hinge": ("newton", "dual-coordinates"),
    "logistic": ("newton",),
}


def check_soft_margin_parameters(model: SoftMargin) -> None:
    """Raise an error for a bad parameter, or for parameters that do not go together."""
    check_number("C", model.C, maximum=float("inf"))
    check_choice("loss", model.loss, get_args(MarginLoss))
    if model.penalty is None:
        raise ParameterError("penalty", "one of 'l2', 'l1'", None, reason="C=inf is without a penalty")
    check_choice("penalty", model.penalty, get_args(Penalty))
    check_choice("multiclass", model.multiclass, get_args(Multiclass))
    check_flag("fit_intercept", model.fit_intercept)
    check_flag("penalize_intercept", model.penalize_intercept)
    check_choice("solver", model.solver, get_args(Solver))
    check_number("intercept_scaling", model.intercept_scaling)
    check_number("tol", model.tol)
    if isinstance(model.max_iter, str):
        check_choice("max_iter", model.max_iter, ("auto",), "a whole number")
    else:
        check_integer("max_iter", model.max_iter)
    check_flag("warm_start", model.warm_start)
    check_n_jobs_and_verbose(model.n_jobs, model.verbose)
    if model.solver not in ("auto", *_SOLVERS[model.loss]):
        raise ValueError(f"solver={model.solver!r} does not solve loss={model.loss!r}")
    if model.penalty == "l1":
        _check_l1(model)
    if np.inf == model.C:
        _check_without_penalty(model)
    if JOINT.get(model.multiclass, model.loss) != model.loss:
        raise ValueError(f"multiclass={model.multiclass!r} needs loss={JOINT[model.multiclass]!r}, got loss={model.loss!r}")


def _check_l1(model: SoftMargin) -> None:
    if model.loss == "hinge":
        raise ValueError("penalty='l1' needs loss='squared_hinge' or loss='logistic', got loss='hinge'")
    if model.multiclass in JOINT:
        raise ValueError(f"penalty='l1' needs multiclass='ovr' or 'ovo', got multiclass={model.multiclass!r}")
    if np.inf == model.C:
        raise ValueError("penalty='l1' needs a finite C: C=inf is without a penalty")
    if model.solver == "dual-coordinates":
        raise ValueError("penalty='l1' needs solver='auto' or 'newton', got solver='dual-coordinates'")


def _check_without_penalty(model: SoftMargin) -> None:
    if model.loss == "logistic":
        return
    if (model.fit_intercept and model.penalize_intercept) or model.multiclass == "crammer_singer":
        raise ValueError("C=inf is the hard margin, which needs penalize_intercept=False and multiclass='ovr' or 'ovo'")
