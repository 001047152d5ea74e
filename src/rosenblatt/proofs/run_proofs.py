"""Proofs for a run underway: whether what it has not separated so far can be separated at all.

Update     after LOOKS looks at all rows, once for each run: by then most separable sets are separated, and a proof takes about
           as long as the sweeps did. The rule counts looks and not seconds, so that runs stay the same bits.
Guarantee  what is not separable is proved so; what is separable ends within the certificate's mistake bound, or stops there,
           where rounding led it past all that is possible.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from threading import Lock
from typing import Any

import numpy as np

from ..certificates.statements import Certificate, Inseparable, Separable, as_float, clash_in_words
from ..data.problem import Problem, one_against_rest
from ..kernels.linear.schemes import Binary, Rest
from ..online.stopping import Stop
from .certify import certify

LOOKS = 100


def certificate_for(problem: Problem, classes: Any) -> Certificate | None:
    """The certificate of a binary or joint problem, of its rows that weigh something; None where they are of one class."""
    labels = problem.labels
    codes = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    rows = problem.matrix()
    if problem.visited is not None:
        rows, codes = rows[problem.visited], codes[problem.visited]
    if codes.min() == codes.max():
        return None
    return certify(rows, np.asarray(classes)[codes], bool(problem.x0))


class Proofs:
    """The certificates of a run: one, or one for each one-vs-rest head, made when they are wanted."""

    def __init__(self, problem: Problem, classes: Any, looks: int, share: float | None, verbose: bool) -> None:
        """looks: at all rows, in a pass; share: updates are at most (R^2 + share)/gamma^2, None: nobody knows."""
        self.verbose, self.when, self.share = verbose, -(-LOOKS // looks), share
        self.rest = isinstance(problem.labels, Rest)
        self.parts: list[tuple[Problem, Any]] = [(problem, classes)]
        if self.rest:
            heads = range(len(problem.labels.heads))
            self.parts = [(one_against_rest(problem, h), np.array([False, True])) for h in heads]
        self._found: dict[int, Certificate | None] = {}
        self._bounds: dict[int, float] = {}
        self._lock = Lock()  # heads may run on threads, and proofs set the threads of BLAS

    def certificate(self, h: int) -> Certificate | None:
        with self._lock:
            if h not in self._found:
                self._found[h] = certificate_for(*self.parts[h])
            return self._found[h]

    @property
    def certificates(self) -> list[Certificate | None]:
        return [self.certificate(h) for h in range(len(self.parts))]

    def judge(self, passes: int, h: int, updates: int) -> Stop | None:
        """Whether head h has to stop after so many passes and updates."""
        if passes < self.when:
            return None
        certificate = self.certificate(h)
        if isinstance(certificate, Inseparable):
            what = "no plane separates" if certificate.about.n_planes == 1 else "no weight vectors separate"
            clash = f"{what} the rows: {clash_in_words(_as_given(certificate, self.parts[h][0].visited))}."
            return Stop("impossible", f"after pass {passes} it was proved that {clash}", certificate=certificate)
        if not isinstance(certificate, Separable):
            return None
        most = math.inf if self.share is None else self._most(h, certificate, self.share)
        if self.verbose and passes == self.when:
            which = f"class {h} against the rest is" if self.rest else "the rows are"
            bound = f": at most {most:.6g} updates" if most < math.inf else ""
            sys.stderr.write(f"after pass {passes} it was proved that {which} separable{bound}\n")
        if updates <= most:
            return None
        why = f"{updates} updates were made, and {most:.6g} are possible, as is proved: floats are too coarse for these rows."
        return Stop("rounding", why, certificate=certificate)

    def _most(self, h: int, certificate: Separable, share: float) -> float:
        if h not in self._bounds:
            bound = (certificate.radius_squared + Fraction(share)) / certificate.augmented.lower_squared
            self._bounds[h] = as_float(bound) if len(certificate.about.classes) == len(self.parts[h][1]) else math.inf
        return self._bounds[h]

    def attached(self, stops: list[Stop]) -> list[Stop]:
        """The stops, each with its certificate."""
        return [replace(stop, certificate=self.certificate(h)) for h, stop in enumerate(stops)]


def _as_given(certificate: Inseparable, visited: Any | None) -> Inseparable:
    """For words: rows by their position among all that were given, those of weight 0 too."""
    if visited is None:
        return certificate
    return replace(certificate, clash=tuple(pair._replace(row=int(visited[pair.row])) for pair in certificate.clash))
