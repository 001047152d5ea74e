"""Findings of the doctor and the report of them all."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import Any, Literal

from ...certificates.files import certificate_to_dict
from ...certificates.statements import Certificate, Inseparable, Separable, Undecided
from ...reporting.text import plural, short

FindingKind = Literal[
    "verdict", "duplicates", "rest", "scales", "constant", "offset", "long rows", "scaling", "imbalance", "errors", "degree",
    "advice",
]  # fmt: skip

REPORT_WIDTH = 100  # characters
HEADLINES = {"separable": "separable", "inseparable": "not separable", "undecided": "not decided within the time limit"}


@dataclass(frozen=True)
class Finding:
    """One finding of the doctor.

    Parameters
    ----------
    kind : str
        The kind of the finding, one of "verdict", "duplicates", "rest" (the rows without duplicates), "scales", "constant",
        "offset", "long rows", "scaling", "imbalance", "errors", "degree" and "advice".
    sentence : str
        The finding as text. It counts rows and columns from 1.
    evidence : dict
        The numbers of the finding: row and column positions from 0, ranges, certificates.

    See Also
    --------
    rosenblatt.doctor : Examine rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.doctor([[0], [1], [2]], [0, 1, 0]).findings[0].kind
    'verdict'
    """

    kind: FindingKind
    sentence: str
    evidence: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The findings of the doctor; printed, they are a report.

    Parameters
    ----------
    findings : list of Finding
        The findings, in the order of the report.
    certificate : Separable, Inseparable or Undecided
        The proof of the verdict, as `rosenblatt.certify` returns it.
    seconds : float
        The time that the examination took.

    Attributes
    ----------
    verdict : str
        "separable", "inseparable" or "undecided".

    See Also
    --------
    rosenblatt.doctor : Examine rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> diagnosis = rb.doctor([[0], [1], [2]], [0, 1, 0])
    >>> diagnosis.verdict, [finding.kind for finding in diagnosis.findings]
    ('inseparable', ['verdict', 'errors', 'degree', 'advice'])
    """

    findings: list[Finding]
    certificate: Certificate
    seconds: float

    @property
    def verdict(self) -> str:
        """The verdict of the certificate: "separable", "inseparable" or "undecided"."""
        return self.certificate.verdict

    def of(self, kind: FindingKind) -> list[Finding]:
        """Return the findings of one kind.

        Parameters
        ----------
        kind : str
            The kind, such as "degree"; see `Finding`.

        Returns
        -------
        list of Finding
            The findings, in the order of the report.
        """
        return [finding for finding in self.findings if finding.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON.

        Returns
        -------
        dict
            The keys "verdict", "findings", "certificate" and "seconds". Certificates have the form of their files.
        """
        findings = [{"kind": f.kind, "sentence": f.sentence, "evidence": _plain(f.evidence)} for f in self.findings]
        content = {"verdict": self.verdict, "findings": findings, "certificate": _plain(self.certificate)}
        return content | {"seconds": self.seconds}

    def __str__(self) -> str:
        about = self.certificate.about
        shape = [plural(about.n_rows, "row"), plural(about.n_columns, "column"), plural(len(about.classes), "class", "classes")]
        wrap = textwrap.TextWrapper(REPORT_WIDTH, "- ", "  ", break_long_words=False, break_on_hyphens=False)
        bullets = [wrap.fill(finding.sentence) for finding in self.findings]
        return "\n".join([f"{', '.join(shape)}: {HEADLINES[self.verdict]}.", *bullets])

    __repr__ = __str__


def _plain(value: object) -> object:
    if isinstance(value, Separable | Inseparable | Undecided):
        return certificate_to_dict(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def update_count(bound: float) -> str:
    """A bound on a number of updates: exact up to 1e9, rounded beyond.

    >>> update_count(41.2), update_count(3.21e12)
    ('41 updates', 'about 3.21e12 updates')
    """
    if bound == math.inf:
        return "more than 1e308 updates"
    return plural(math.floor(bound), "update") if bound < 1e9 else f"about {short(bound)} updates"
