"""A diagnosis with checks of all its claims."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import rosenblatt as rb
from rosenblatt.certificates.files import parse_certificate

XOR = (np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0]))


def checked(X: Any, y: Any, **options: Any) -> rb.Diagnosis:
    """A diagnosis whose certificates have been verified and whose dictionary went through JSON."""
    found = rb.doctor(X, y, **options)
    assert rb.verify(found.certificate, X, y)
    kinds = [finding.kind for finding in found.findings]
    assert kinds[0] == "verdict"
    assert kinds[-1] == "advice"
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [finding["sentence"] for finding in content["findings"]] == [str(finding) for finding in found.findings]
    assert parse_certificate(json.dumps(content["certificate"]).encode()) == found.certificate
    assert all(len(line) <= 100 for line in str(found).splitlines())
    assert all(finding.sentence in " ".join(str(found).split()) for finding in found.findings)
    assert all(finding.sentence.endswith(".") and "nan" not in finding.sentence.split() for finding in found.findings)
    return found


def only(found: rb.Diagnosis, kind: str) -> Any:
    (finding,) = found.of(kind)
    return finding
