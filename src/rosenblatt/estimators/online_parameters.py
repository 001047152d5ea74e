"""Parameters that the online learners share: their types, their checks, and the number of passes of max_iter="auto"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ..validation import ParameterError, check_choice, check_flag, check_integer, check_number
from .base import check_n_jobs_and_verbose

if TYPE_CHECKING:
    from .online import OnlineClassifier

Keep: TypeAlias = Literal["last", "pocket", "average", "vote"]
Order: TypeAlias = Literal["cyclic", "permuted", "random", "mistakes"]
JointOrOvr: TypeAlias = Literal["joint", "ovr"]
Log: TypeAlias = bool | Literal["rows"]
VoteCount: TypeAlias = Literal["lifetime", "survivals"]

# max_iter="auto", as measured in docs/defaults.md: this number of passes, or more on small sets, to visit this number of rows.
AUTO_PASSES = 10
AUTO_VISITS = 10_000
MAX_AUTO_PASSES = 1000


def check_online_parameters(model: OnlineClassifier) -> None:
    """Raise an error for a bad parameter that all online learners have."""
    check_choice("keep", model.keep, get_args(Keep))
    check_choice("multiclass", model._multiclass, get_args(JointOrOvr))
    check_choice("vote_count", model.vote_count, get_args(VoteCount))
    check_number("intercept_scaling", model.intercept_scaling)
    for name in ("fit_intercept", "warm_start"):
        check_flag(name, getattr(model, name))
    if isinstance(model.log, str):
        check_choice("log", model.log, ("rows",), "True", "False")
    else:
        check_flag("log", model.log)
    if isinstance(model.max_iter, str):
        check_choice("max_iter", model.max_iter, ("auto",), "a whole number", "None")
    elif model.max_iter is not None:
        check_integer("max_iter", model.max_iter)
    check_n_jobs_and_verbose(model.n_jobs, model.verbose)


def check_vote_count(model: OnlineClassifier, keep: str) -> None:
    """Raise an error if a vote would have no votes: hypotheses that live for one step survive no row."""
    if keep == "vote" and model.vote_count == "survivals" and (model._way == "batch" or model._scans_for_each_update):
        steps = "order='mistakes'" if model._way == "online" else "batch updates"
        raise ParameterError(
            "vote_count", f"'lifetime' with {steps}", model.vote_count, reason="each hypothesis lives for one step there"
        )


def auto_passes(rows: int, scans_for_each_update: bool, max_updates: int | None) -> int | None:
    """Return the number of passes for max_iter="auto", by the number of rows of a pass; None where `max_updates` rules."""
    if max_updates is not None:
        return None
    least, visits = (1, AUTO_VISITS // 10) if scans_for_each_update else (AUTO_PASSES, AUTO_VISITS)
    return min(max(least, -(-visits // max(1, rows))), MAX_AUTO_PASSES)
