"""`rb.cluster.certify`: whether planes separate rows in blocks, with the proof that `rb.certify` gives for rows in memory.

Problem    as in `proofs/certify.py`, for rows that no machine holds.
Update     a working set, at first a sample, is solved by `certify`. Its planes are measured on all blocks in parallel, and the
           rows that violate them most join the working set, until no row does or the bounds are as close as on one machine.
Guarantee  a clash of some rows is a clash of all, and an upper bound on the margin of some rows holds for all. The lower bound
           is the smallest exact margin of the planes over all blocks. If rows leave the working set, those that prove its upper
           bound stay, so that the bound falls in every round. The checker accepts the clash or the upper bounds on the working
           set, and the planes on the rows of each block: together they are what it checks on all rows.
Reference  constraint generation: G. Dantzig, R. Fulkerson and S. Johnson, Operations Research 2 (1954).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..array_types import Array, FloatArray
from ..certificates.exact_arrays import canonical_label
from ..certificates.statements import About, Ceiling, Certificate, Inseparable, Margin, Separable, Undecided
from ..progress import report_progress
from ..proofs.certify import MIN_CHECK_SHARE, SECONDS_PER_PRODUCT, SECONDS_PER_ROW, check_classes
from ..proofs.exact_margins import squared_norm
from ..proofs.prover import MAX_GAP, MAX_PAIRS_ALWAYS_EXACT
from ..reporting.text import plural
from ..validation import check_flag, check_number
from .block_set import BlockSet, open_blocks, run_on_block
from .data_digest import start_digest
from .engine import Engine, Handle
from .equal_rows import find_equal_rows
from .exact_sources import exact_sources
from .fit import open_engine, report_work
from .working_rows import (
    Candidate,
    Checked,
    Measured,
    Outcome,
    Planes,
    Question,
    candidates_of,
    check_planes,
    classes_of,
    join_rows,
    joining_rows,
    measure,
    measured_of,
    numbers_of,
    one_of_each_class,
    solve,
    some_of_classes,
    take_numbered,
)  # fmt: skip

if TYPE_CHECKING:
    from distributed import Client

FIRST_ROWS, FIRST_ROWS_PER_COLUMN = 1000, 2  # of the working set
MAX_ROWS, MAX_VALUES = 20_000, 1 << 24  # of a working set, from which on rows leave it
JOINING_ROWS = 500  # that join in a round, about
SEED = 0


def certify(
    data: Any,
    client: Client | str | Engine | None = None,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    block_rows: int | None = None,
) -> Certificate:
    """Prove that planes separate the classes of rows in blocks, and with which margin, or that no planes do.

    The certificate is that of `rosenblatt.certify`, about all rows: `rosenblatt.verify` accepts it for them. Rows stay where
    they are, except those of a working set, which one worker holds.

    Parameters
    ----------
    data : tuple, list or FileBlocks
        Rows and labels, without weights, as for `rosenblatt.cluster.fit`. Columns of files are not scaled, which rounds.
    client : distributed.Client or str, optional
        The client of a Dask cluster, or the address of its scheduler. Default: the current client, or this process if there is
        none.
    fit_intercept : bool, default=True
        Whether planes have an intercept. If False, they go through the origin.
    time_limit : float, optional
        Seconds for the whole call. What cannot be proved and checked until then is left out, and the certificate is
        `Undecided`. Reading the rows and computing their digest are not interrupted. Default: no limit.
    block_rows : int, optional
        Rows in a block, for arrays. Default: about 64 MB.

    Returns
    -------
    Separable, Inseparable or Undecided
        The certificate, checked on all blocks.

    Raises
    ------
    BlockError
        If a block cannot be used: it has weights, values that are not finite, or numbers that float64 would round.
    ValueError
        If there are fewer than two classes.

    See Also
    --------
    rosenblatt.certify : The same for rows in memory, and more.
    rosenblatt.verify : Check a certificate.

    Examples
    --------
    >>> import numpy as np
    >>> import rosenblatt as rb
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0], [4.0, 4.0]]), np.array([0, 0, 1, 1])
    >>> certificate = rb.cluster.certify((X, y), block_rows=2)
    >>> certificate.verdict, certificate.geometric.upper
    ('separable', 2.23606797749979)
    >>> bool(rb.verify(certificate, X, y))
    True
    """
    check_flag("fit_intercept", fit_intercept)
    seconds = math.inf if time_limit is None else check_number("time_limit", time_limit)
    deadline = time.time() + seconds
    with open_engine(client) as engine:
        blocks = open_blocks(engine, exact_sources(data, block_rows, engine), _checked_classes)
        with report_work(blocks):
            return _Search(blocks, bool(fit_intercept), deadline).certificate()


def _checked_classes(classes: Array, sums: FloatArray) -> None:
    if classes.dtype.kind == "f":
        check_classification_targets(classes)
    check_classes(classes, "certify")


class _Separator(NamedTuple):
    """Planes that separate all rows, and their smallest margin times their norm."""

    planes: Planes
    least: Fraction


class _Search:
    """The search for the certificate of all rows."""

    def __init__(self, blocks: BlockSet, intercept: bool, deadline: float) -> None:
        self.blocks, self.engine, self.intercept, self.deadline = blocks, blocks.engine, intercept, deadline
        self.names = tuple(canonical_label(label) for label in blocks.classes.tolist())
        left = deadline - time.time()
        check = SECONDS_PER_ROW * blocks.n_rows + SECONDS_PER_PRODUCT * blocks.facts.stored * (1 + 2 * len(self.names))
        reserve = max(check / self.engine.slots, MIN_CHECK_SHARE * left if left < math.inf else 0.0)
        self.search_deadline = deadline - (reserve if reserve < left / 2 else 0.0)
        self.ceilings: list[Ceiling] = []  # the lowest ones, of the augmented and of the geometric space
        self.separators: list[_Separator | None] = [None, None]  # those with the widest margins of both spaces
        self.fell = True  # whether an upper bound fell in the last round

    def certificate(self) -> Certificate:
        """Search until the proof is complete or time is up."""
        digest = start_digest(self.blocks, self.names)
        rows = self._first_rows()
        width = max(1.0, self.blocks.facts.density)
        most = max(FIRST_ROWS, min(MAX_ROWS, int(MAX_VALUES / width)))
        clash: Inseparable | None = None
        rounds, refines = 0, False
        while True:
            outcome = self._solved(rows, refines, most)
            rounds += 1
            certificate = outcome.certificate
            if isinstance(certificate, Inseparable):
                clash = certificate
                break
            self._lower_ceilings(certificate)
            if not isinstance(certificate, Separable):
                break
            joining = self._measure(rows, candidates_of(certificate))
            self._report(rounds, certificate.about.n_rows)
            if time.time() >= self.search_deadline or self._is_close() or (refines and self._is_finished(certificate, joining)):
                break
            # While rows join, floats are accurate enough to find them.
            refines = refines or self._is_finished(certificate, joining)
            rows = self.engine.submit(join_rows, [rows, *joining], outcome.near if self.fell else None)
        found = None if clash is not None else self._checked_planes(rows)
        about = About(self.blocks.n_rows, self.blocks.n_features, self.names, self.engine.gather([digest])[0], self.intercept)
        if clash is not None:
            return replace(clash, about=about)
        if found is None:
            return Undecided(about, *(Ceiling(each.upper_squared, each.pairs) for each in self.ceilings))
        return replace(found, about=about)

    def _first_rows(self) -> Handle:
        """The first working set: two equal rows with different labels, if there are any, and a sample of each class."""
        blocks, engine = self.blocks, self.engine
        facts = blocks.facts
        wanted = max(FIRST_ROWS, FIRST_ROWS_PER_COLUMN * blocks.n_features)
        wanted = max(FIRST_ROWS, min(wanted, int(MAX_VALUES / 4 / max(1.0, facts.density))))
        step = max(1, len(blocks.blocks) * len(self.names) // wanted)  # at least one row of each class of a block
        sampled = [k for k in range(len(blocks.blocks)) if k % step == 0]
        share = min(1.0, wanted * step / blocks.n_rows) if step > 1 else min(1.0, wanted / blocks.n_rows)
        parts = self._on_blocks(sampled, some_of_classes, share, None, SEED)
        present = set(np.concatenate(engine.gather([engine.submit(classes_of, part) for part in parts])).tolist())
        missing = tuple(code for code in range(len(self.names)) if code not in present)
        if missing:
            parts += self._on_blocks([k for k in range(len(blocks.blocks)) if k % step], some_of_classes, 0.0, missing, SEED)
        parts += self._rows_numbered(find_equal_rows(blocks, not self.intercept, self.search_deadline))
        return engine.submit(join_rows, parts, None)

    def _on_blocks(self, places: list[int], function: Any, *arguments: Any) -> list[Handle]:
        return [self.engine.submit(run_on_block, function, self.blocks.blocks[place], *arguments) for place in places]

    def _rows_numbered(self, numbers: list[int]) -> list[Handle]:
        starts = np.array(self.blocks.facts.starts)
        places = (np.searchsorted(starts, numbers, side="right") - 1).tolist()
        return [
            self.engine.submit(run_on_block, take_numbered, self.blocks.blocks[place], np.array([number]))
            for place, number in zip(places, numbers, strict=True)
        ]

    def _solved(self, rows: Handle, refines: bool, most: int) -> Outcome:
        question = Question(self.names, self.intercept, self.search_deadline)
        outcome: Outcome = self.engine.gather([self.engine.submit(solve, rows, question, refines, most)])[0]
        return outcome

    def _lower_ceilings(self, certificate: Separable | Undecided) -> None:
        found: list[Ceiling] = [certificate.augmented, certificate.geometric]
        before = self.ceilings or found
        self.ceilings = [min(pair, key=lambda ceiling: ceiling.upper_squared) for pair in zip(before, found, strict=True)]
        self.fell = before is found or any(
            new.upper_squared < old.upper_squared for new, old in zip(self.ceilings, before, strict=True)
        )

    def _measure(self, rows: Handle, candidates: tuple[Candidate, ...]) -> list[Handle]:
        """Measure candidates on all blocks; return the rows that join the working set, none if time is up."""
        n_blocks, engine = len(self.blocks.blocks), self.engine
        size = max(1, JOINING_ROWS // (n_blocks * len(self.names)))
        known = engine.submit(numbers_of, rows)
        found = self.blocks.start(measure, engine.put(candidates), known, size, self.search_deadline)
        measured: list[Measured | None] = engine.gather([engine.submit(measured_of, each) for each in found])
        if any(each is None for each in measured):
            return []
        known_blocks = [each for each in measured if each is not None]
        self._keep_separators(candidates, known_blocks)
        numbers = np.concatenate([each.numbers for each in known_blocks])
        shortfalls = np.concatenate([each.shortfalls for each in known_blocks])
        worst = set(numbers[np.argsort(-shortfalls, kind="stable")[:JOINING_ROWS]].tolist())
        chosen = [np.array([n for n in each.numbers.tolist() if n in worst], np.int64) for each in known_blocks]
        return [engine.submit(joining_rows, each, some) for each, some in zip(found, chosen, strict=True) if len(some)]

    def _keep_separators(self, candidates: tuple[Candidate, ...], measured: list[Measured]) -> None:
        """Keep the candidates that separate all rows with a wider margin than those before."""
        for place, candidate in enumerate(candidates):
            least = [each.least[place] for each in measured if each.least]
            if any(each is None for each in least):
                continue
            found = _Separator(candidate.planes, min(Fraction(*each) for each in least if each is not None))
            for space in (0, 1):
                if self._lower_squared(found, space) > self._lower_squared(self.separators[space], space):
                    self.separators[space] = found

    def _lower_squared(self, separator: _Separator | None, space: int) -> Fraction:
        """The squared margin of planes; 0 if they do not separate all rows."""
        if separator is None:
            return Fraction(0)
        square = squared_norm(separator.planes, self.intercept and space == 0)
        return separator.least**2 / (square * (1 if len(separator.planes) == 1 else 2))

    def _margins(self) -> list[Margin] | None:
        """The bounds of both spaces; None while no planes separate all rows."""
        margins: list[Margin] = []
        for space, (ceiling, separator) in enumerate(zip(self.ceilings, self.separators, strict=True)):
            if separator is None:
                return None
            lower = self._lower_squared(separator, space)
            margins.append(Margin(ceiling.upper_squared, ceiling.pairs, lower, separator.planes))
        return margins

    def _is_close(self) -> bool:
        """Whether the bounds are as close as the search on one machine makes them."""
        margins = self._margins()
        return margins is not None and all(
            margin.gap == 0 or (margin.gap <= MAX_GAP and len(margin.pairs) > MAX_PAIRS_ALWAYS_EXACT) for margin in margins
        )

    def _is_finished(self, working: Separable, joining: list[Handle]) -> bool:
        """Whether no other rows can change the bounds of the working set."""
        margins = self._margins()
        return not joining or (
            margins is not None
            and all(
                margin.lower_squared >= own.lower_squared
                for margin, own in zip(margins, (working.augmented, working.geometric), strict=True)
            )
        )

    def _report(self, rounds: int, n_working: int) -> None:
        margins = self._margins()
        gap = None if margins is None else max(margin.gap for margin in margins)
        report_progress(rounds, gap, f"round {rounds}: {plural(n_working, 'row')} in the working set")

    def _checked_planes(self, rows: Handle) -> Separable | None:
        """The certificate of the planes, accepted by the checker on every block; None if there are none, or time is up."""
        margins = self._margins()
        if margins is None:
            return None
        augmented, geometric = margins
        anchors = self.engine.submit(one_of_each_class, rows)
        question = Question(self.names, self.intercept, self.deadline)
        planes = self.engine.put((augmented.planes, geometric.planes))
        found: list[list[Checked] | None] = self.blocks.each(check_planes, planes, anchors, question)
        checked: list[Checked] = []
        for each in found:
            if each is None:
                return None
            checked += each
        lowest = [min(Fraction(*each[space]) for each in checked) for space in (0, 1)]
        radius_squared = max(Fraction(*each.radius_squared) for each in checked)
        if lowest != [augmented.lower_squared, geometric.lower_squared]:
            raise AssertionError("certify found planes with another margin than the checker; please report this error")
        about = About(0, 0, self.names, "", self.intercept)  # of the caller
        return Separable(about, augmented, geometric, radius_squared)
