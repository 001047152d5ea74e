"""The last finding: what to try next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...certificates.statements import Certificate, Inseparable, Separable
from ...reporting.text import join_and
from .findings import Finding, update_count

MAX_UPDATES_TO_WAIT = 1e7  # this many updates take seconds, not hours
MIN_SCALING_GAIN = 2.0  # scaling is suggested if it reduces the bound by this factor
MAX_ROWS_TO_INSPECT = 5  # rows that the user can check by hand
MAX_MISLABELED_SHARE = 0.02  # share of the rows; more errors are not explained by wrong labels

Advice = tuple[str, list[str]]  # the text, and the tools that it names


def advice(findings: list[Finding], certificate: Certificate, centered: bool) -> Iterator[Finding]:
    """What to try next; `centered`: whether columns can be centered, with an intercept and dense rows."""
    evidence: dict[str, dict[str, Any]] = {finding.kind: finding.evidence for finding in findings}
    scaler = "StandardScaler" if centered else "MaxAbsScaler"
    if isinstance(certificate, Separable):
        words, tools = _if_separable(evidence, certificate, scaler)
    else:
        parts = [*_if_not_separable(evidence, [f.evidence for f in findings if f.kind == "degree"], scaler)]
        if not isinstance(certificate, Inseparable):
            parts.insert(0, ("allow more time (time_limit)", ["time_limit"]))
        words, tools = "; or ".join(part for part, _ in parts), [tool for _, named in parts for tool in named]
    yield Finding("advice", f"Try: {words}.", {"tools": tools})


def _if_separable(evidence: dict[str, Any], certificate: Separable, scaler: str) -> Advice:
    bound, before, tools = certificate.mistake_bound.upper, "", []
    after = evidence.get("scaling", {}).get("after")
    if after is not None and after * MIN_SCALING_GAIN < bound:
        bound, before, tools = after, f"{scaler}, then ", [scaler]
    if bound <= MAX_UPDATES_TO_WAIT:
        return f"{before}Perceptron(max_iter=None), which stops after at most {update_count(bound)}", [*tools, "Perceptron"]
    return f"{before}MaxMargin, which solves for the widest margin directly", [*tools, "MaxMargin"]


def _if_not_separable(evidence: dict[str, Any], degrees: list[dict[str, Any]], scaler: str) -> Iterator[Advice]:
    if "duplicates" in evidence:
        yield "check the labels of the duplicates, or add a feature in which they differ", ["labels"]
    elif wrong := _suspicious_rows(evidence.get("errors", {})):
        rows = join_and([row + 1 for row in wrong], limit=5)
        yield f"check the {f'labels of rows {rows}' if len(wrong) > 1 else f'label of row {rows}'}", ["labels"]
    won = next((found for found in degrees if found["verdict"] == "separable"), None)
    if won is not None:
        if "duplicates" in evidence:
            learner, arguments = "SoftMargin", ""
        elif won["bound"] <= MAX_UPDATES_TO_WAIT:
            learner, arguments = "Perceptron", "(max_iter=None)"
        else:
            learner, arguments = "MaxMargin", ""
        first = "StandardScaler" if any(won["shifts"]) else "MaxAbsScaler"
        words = f"{first} and PolynomialFeatures({won['degree']}), then {learner}{arguments}"
        yield words, [first, "PolynomialFeatures", learner]
    uneven = bool({"scales", "offset"} & evidence.keys())
    first = f"{scaler}, then " if uneven and won is None else ""
    learners = "Perceptron(keep='pocket'), Perceptron(keep='average') or SoftMargin"
    tools = [*([scaler] if first else []), "pocket", "average", "SoftMargin"]
    yield f"{first}{learners}, which do not need separable rows", tools


def _suspicious_rows(errors: dict[str, Any]) -> list[int]:
    """The rows that the best plane misclassifies, if they are few enough to be mislabeled."""
    wrong: list[int] = errors.get("wrong", [])
    return wrong if wrong and len(wrong) <= min(MAX_ROWS_TO_INSPECT, MAX_MISLABELED_SHARE * errors["of"]) else []
