"""What to try next, from what was found: one finding, the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...certificates.statements import Certificate, Inseparable, Separable
from .findings import Finding, some, updates

PATIENT = 1e7  # updates that take seconds, not hours
GAIN = 2.0  # a bound this many times smaller is worth scaling for
FEW = 5  # rows that a person can look at
RARE = 0.02  # the share of rows up to which errors may be slips

Advice = tuple[str, list[str]]  # the words, and the tools they name


def advice(findings: list[Finding], certificate: Certificate, centred: bool) -> Iterator[Finding]:
    """centred : whether columns can be moved: there is an intercept, and rows are not sparse."""
    evidence = {finding.kind: finding.evidence for finding in findings}
    scaler = "StandardScaler" if centred else "MaxAbsScaler"
    if isinstance(certificate, Separable):
        words, tools = _when_separable(evidence, certificate, scaler)
    else:
        parts = [*_when_not(evidence, [f.evidence for f in findings if f.kind == "degree"], scaler)]
        if not isinstance(certificate, Inseparable):
            parts.insert(0, ("give it more time (time_limit)", ["time_limit"]))
        words, tools = "; or ".join(part for part, _ in parts), [tool for _, named in parts for tool in named]
    yield Finding("advice", f"Try: {words}.", {"tools": tools})


def _when_separable(evidence: dict[str, Any], certificate: Separable, scaler: str) -> Advice:
    bound, before, tools = certificate.mistake_bound.upper, "", []
    after = evidence.get("scaling", {}).get("after")
    if after is not None and after * GAIN < bound:
        bound, before, tools = after, f"{scaler}, then ", [scaler]
    if bound <= PATIENT:
        return f"{before}Perceptron(max_passes=None), which stops by itself within {updates(bound)}", [*tools, "Perceptron"]
    return f"{before}MaxMargin, which solves for the widest margin instead of waiting for mistakes to end", [
        *tools,
        "MaxMargin",
    ]


def _when_not(evidence: dict[str, Any], degrees: list[dict[str, Any]], scaler: str) -> Iterator[Advice]:
    if "duplicates" in evidence:
        yield "check the labels of the duplicates, or add a feature that tells them apart", ["labels"]
    elif wrong := _suspects(evidence.get("errors", {})):
        them = f"rows {some(wrong)}" if len(wrong) > 1 else f"row {wrong[0]}"
        yield f"look at {them}, whether the {'labels are' if len(wrong) > 1 else 'label is'} right", ["labels"]
    won = next((found for found in degrees if found["verdict"] == "separable"), None)
    if won is not None:
        learner = "Perceptron(max_passes=None)" if won["bound"] <= PATIENT else "MaxMargin"
        if "duplicates" in evidence:
            learner = "SoftMargin"
        first = "StandardScaler" if any(won["shifts"]) else "MaxAbsScaler"
        words = f"{first} and PolynomialFeatures({won['degree']}), then {learner}"
        yield words, [first, "PolynomialFeatures", learner.partition("(")[0]]
    uneven = bool({"scales", "offset"} & evidence.keys())
    first = f"{scaler}, then " if uneven and won is None else ""
    words = f"{first}Perceptron(keep='pocket') or keep='average', or SoftMargin, none of which needs separable rows"
    yield words, [*([scaler] if first else []), "pocket", "average", "SoftMargin"]


def _suspects(errors: dict[str, Any]) -> list[int]:
    """The rows that the best plane gets wrong, if they are few enough to be slips."""
    wrong: list[int] = errors.get("wrong", [])
    return wrong if wrong and len(wrong) <= min(FEW, RARE * errors["of"]) else []
