"""Proofs during a run: whether the rows that a perceptron has not separated yet can be separated at all.

Update     once per run, after `SCANS_BEFORE_PROOF` scans of all rows: most separable sets are separated by then, and a proof
           takes about as long as these scans. The rule counts scans and not seconds, so that runs are reproducible to the bit.
Guarantee  inseparable rows are proved inseparable. On separable rows the run ends within the mistake bound of the certificate,
           or it is stopped there, when rounding errors led to more updates than are possible.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from threading import Lock

import numpy as np

from ..array_types import Array, IntArray
from ..certificates.sentences import describe_clash
from ..certificates.statements import Certificate, Inseparable, Separable
from ..data.problem import Problem, one_against_rest
from ..kernels.linear.schemes import Binary, Rest
from ..online.stopping import Outlook, Stop, unknown_outlook
from ..progress import report_progress
from ..reporting.text import plural, short
from .certify import certify
from .margins import certified_bound

SCANS_BEFORE_PROOF = 100
# Possible updates above which a run without a limit is announced by a warning: it may take hours.
MANY_UPDATES = 1e9


def certificate_for(problem: Problem, classes: Array) -> Certificate | None:
    """The certificate of the rows with positive weight of a binary or joint problem; None if they are of one class."""
    problem.check_exact()
    labels = problem.labels
    codes = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes
    rows = problem.matrix()
    if problem.visited is not None:
        rows, codes = rows[problem.visited], codes[problem.visited]
    if codes.min() == codes.max():
        return None
    return certify(rows, np.asarray(classes)[codes], fit_intercept=bool(problem.x0))


class Proofs:
    """The certificates of a run: one, or one for each one-vs-rest head, computed on demand."""

    def __init__(
        self, problem: Problem, classes: Array, scans: int, share: float | None, *, verbose: bool, has_limit: bool
    ) -> None:
        """`scans`: scans of all rows in a pass. `share`: updates are at most (R^2 + share)/gamma^2; None: no bound is known.

        `has_limit`: whether the caller limits the run.
        """
        self.has_limit = has_limit
        self.verbose, self.when, self.share = verbose, -(-SCANS_BEFORE_PROOF // scans), share
        self.classes, self.rest = classes, isinstance(problem.labels, Rest)
        self.parts: list[tuple[Problem, Array]] = [(problem, classes)]
        if isinstance(problem.labels, Rest):
            heads = range(len(problem.labels.heads))
            self.parts = [(one_against_rest(problem, h), np.array([False, True])) for h in heads]
        self._found: dict[int, Certificate | None] = {}
        self._bounds: dict[int, float] = {}
        self._lock = Lock()  # heads may run on several threads, and a proof changes the number of BLAS threads

    def certificate(self, h: int) -> Certificate | None:
        """The certificate of head h."""
        with self._lock:
            if h not in self._found:
                self._found[h] = certificate_for(*self.parts[h])
            return self._found[h]

    @property
    def certificates(self) -> list[Certificate | None]:
        return [self.certificate(h) for h in range(len(self.parts))]

    def check(self, passes: int, h: int, updates: int) -> Stop | None:
        """The stop of head h after this many passes and updates, or None to continue."""
        if passes < self.when:
            return None
        certificate = self.certificate(h)
        if isinstance(certificate, Inseparable):
            clash = describe_clash(_in_given_rows(certificate, self.parts[h][0].visited))
            sentence = f"the rows were proved inseparable after pass {passes}: {clash}"
            return Stop("impossible", sentence, certificate=certificate)
        if not isinstance(certificate, Separable):
            return None
        bound = math.inf if self.share is None else self._update_bound(h, certificate, self.share)
        if passes == self.when:
            which = f"class {self.classes[h]} against the rest was" if self.rest else "the rows were"
            limit = f": at most {short(bound, 6)} updates" if bound < math.inf else ""
            text = f"{which} proved separable after pass {passes}{limit}"
            report_progress(passes, text=text, verbose=self.verbose)
            if bound > MANY_UPDATES and not self.has_limit:
                advice = "the run may take very long: scale the columns, or limit it by max_updates"
                warnings.warn(f"{text}; {advice}", stacklevel=2)
        if updates <= bound:
            return None
        made = f"{plural(updates, 'update')} were made, but at most {short(bound, 6)} are possible"
        return Stop("rounding", f"{made}: rounding errors are too large", certificate=certificate)

    def outlook(self, h: int) -> Outlook:
        """What the certificate of head h says of a run without progress toward its limits."""
        try:
            certificate = self.certificate(h)
        except ValueError:  # the rows were rounded, or the proof is too large
            return unknown_outlook(h)
        if isinstance(certificate, Inseparable):
            return Outlook(False, "no plane separates the rows, by proof", certificate)
        if not isinstance(certificate, Separable):
            return unknown_outlook(h)
        bound = self._update_bound(h, certificate, self.share or 0.0)
        if MANY_UPDATES < bound < math.inf:
            updates = f"{short(bound, 3)} updates"
            return Outlook(False, f"a plane separates the rows, but the run may take up to {updates} to find it", certificate)
        return Outlook(True, "a plane separates the rows", certificate)

    def _update_bound(self, h: int, certificate: Separable, share: float) -> float:
        if h not in self._bounds:
            same = len(certificate.about.classes) == len(self.parts[h][1])
            self._bounds[h] = certified_bound(certificate, Fraction(share)) if same else math.inf
        return self._bounds[h]

    def attached(self, stops: list[Stop]) -> list[Stop]:
        """The stops, each with its certificate."""
        return [replace(stop, certificate=self.certificate(h)) for h, stop in enumerate(stops)]


def _in_given_rows(certificate: Inseparable, visited: IntArray | None) -> Inseparable:
    """The clash with positions among all given rows, including those of weight 0, for the sentence."""
    if visited is None:
        return certificate
    return replace(certificate, clash=tuple(pair._replace(row=int(visited[pair.row])) for pair in certificate.clash))
