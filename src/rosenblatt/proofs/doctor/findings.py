"""What the doctor says: findings, each a sentence with its evidence, and the report of them all."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import Any

from ...certificates.files import certificate_to_dict
from ...certificates.statements import Certificate, Inseparable, Separable, Undecided

WIDTH = 100
HEADLINES = {"separable": "separable", "inseparable": "not separable", "undecided": "undecided in the time allowed"}


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    kind : a word, such as "verdict", "duplicates" or "scales".
    sentence : plain English, with the numbers in it.
    evidence : the numbers: row positions, columns, ranges, certificates.
    """

    kind: str
    sentence: str
    evidence: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What `rb.doctor` found, the most useful first; printed, it is a report.

    findings : a list of `Finding`.
    certificate : the proof of the verdict, as `rb.certify` gives it.
    seconds : how long it took.
    """

    findings: list[Finding]
    certificate: Certificate
    seconds: float

    @property
    def verdict(self) -> str:
        """The word of the certificate: separable, inseparable or undecided."""
        return self.certificate.verdict

    def of(self, kind: str) -> list[Finding]:
        """The findings of one kind."""
        return [finding for finding in self.findings if finding.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; certificates as `rb.save_certificate` writes them."""
        findings = [{"kind": f.kind, "sentence": f.sentence, "evidence": _plain(f.evidence)} for f in self.findings]
        told = {"verdict": self.verdict, "findings": findings, "certificate": _plain(self.certificate)}
        return told | {"seconds": self.seconds}

    def __str__(self) -> str:
        about = self.certificate.about
        headline = (
            f"{many(about.n_rows, 'row')}, {many(about.n_columns, 'column')}, {many(len(about.classes), 'class', 'classes')}: "
            f"{HEADLINES[self.verdict]}."
        )
        wrap = textwrap.TextWrapper(WIDTH, "- ", "  ", break_long_words=False, break_on_hyphens=False)
        bullets = [wrap.fill(finding.sentence) for finding in self.findings]
        return "\n".join([headline, *bullets])

    __repr__ = __str__  # who asks at the prompt wants to read it


def _plain(value: Any) -> Any:
    if isinstance(value, Separable | Inseparable | Undecided):
        return certificate_to_dict(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# --- numbers in words ------------------------------------------------------------------------------------------------------


def many(n: int, thing: str, things: str = "") -> str:
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def short(x: float) -> str:
    """Three digits, or all before the point."""
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e7 else _exponent(f"{x:.3g}")


def updates(bound: float) -> str:
    """A bound on a whole number: to the last digit where a person would read them all."""
    if bound == math.inf:
        return "more than 1e308 updates"
    return many(math.floor(bound), "update") if bound < 1e9 else f"about {_exponent(f'{bound:.1e}')} updates"


def _exponent(text: str) -> str:
    """1e+07 as 1e7."""
    number, e, power = text.partition("e")
    return f"{number}{e}{int(power)}" if e else text


def some(values: Any, most: int = 5) -> str:
    """1, 2 and 3; or the first few and how many more."""
    words = [str(value) for value in values[:most]]
    if len(values) > most:
        return f"{', '.join(words)} and {len(values) - most:,} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
