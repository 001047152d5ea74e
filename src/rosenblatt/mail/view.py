"""The reading side of a filter: verdicts, explanations, and what it has learned."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np

from ..array_types import IntArray
from ..validation import check_choice
from .explanation import CANDIDATES_PER_REASON, NAME_SEARCH_S, distinct, extremes, reason_of, reasons_of, words_of
from .features import FeatureName, columns_of
from .identity import digest
from .message.message import Message
from .message.parse import parse
from .store.filter_state import Settings, State
from .store.log import Log
from .store.store import NUMBA_FROM_MESSAGES, Store, load_numba_for
from .verdict import Calibration, Reason, Verdict

NUMBA_AFTER_MAILS = NUMBA_FROM_MESSAGES // 10  # classified mails after which many more are expected


class FilterView:
    """The methods of `Filter` that do not change it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def settings(self) -> Settings:
        """The settings of the filter."""
        return self.store.state.settings

    @property
    def created(self) -> bool:
        """Whether `open` created the filter."""
        return self.store.created

    @property
    def taught(self) -> bool:
        """Whether the filter has learned any mail; without one, verdicts mean nothing."""
        return self.store.state.count > 0

    @property
    def calibration(self) -> Calibration:
        """The thresholds of the verdicts, and the probability of spam as a function of the score."""
        with self.store.lock:
            return self.store.state.calibration()

    # --- classifying and explaining ------------------------------------------------------------------------------------------

    def classify(self, raw: bytes) -> Verdict:
        """Classify a raw mail.

        Parameters
        ----------
        raw : bytes
            The mail.

        Returns
        -------
        Verdict
            Label, score and probability of spam.
        """
        state, _, columns = self._parsed(raw)
        with self.store.lock:
            score, calibration = state.learner.score(columns), state.calibration()
        return Verdict(calibration.label(score), score, calibration.probability(score))

    def classify_many(self, raws: Iterable[bytes]) -> Iterator[Verdict]:
        """Classify raw mails one by one; with many of them, compiled code is loaded.

        Parameters
        ----------
        raws : iterable of bytes
            The mails.

        Yields
        ------
        Verdict
            The verdict of each mail.
        """
        for number, raw in enumerate(raws, 1):
            if number == NUMBA_AFTER_MAILS:
                load_numba_for(NUMBA_FROM_MESSAGES)
            yield self.classify(raw)

    def explain(self, raw: bytes, n: int | None = None, *, by: Literal["features", "words"] = "features") -> list[Reason]:
        """The contributions to the score of a mail, the heaviest first.

        Parameters
        ----------
        raw : bytes
            The mail.
        n : int or None, default=None
            The number of contributions; None returns all, which add up to the score.
        by : {"features", "words"}, default="features"
            The contribution of each feature, or of each word with its share of the features that touch it.

        Returns
        -------
        list of Reason
            Names and contributions.
        """
        check_choice("by", by, ("features", "words"))
        state, message, columns = self._parsed(raw)
        with self.store.lock:
            weights = state.learner.weights[columns]
        return (words_of if by == "words" else reasons_of)(message, columns, weights, state.settings.bits, n)

    def _parsed(self, raw: bytes) -> tuple[State, Message, IntArray]:
        """A parsed mail and its columns, with the state that they are columns of: another thread may replace it meanwhile."""
        state, message = self.store.state, parse(raw)
        return state, message, columns_of(message, state.settings.bits)

    # --- contents ------------------------------------------------------------------------------------------------------------

    def label_of(self, raw: bytes) -> bool | None:
        """The label that a mail was learned with.

        Parameters
        ----------
        raw : bytes
            The mail.

        Returns
        -------
        bool or None
            True for spam, False for ham, None if the mail was not learned.
        """
        with self.store.writing, self.store.log.reading():
            known = self.store.log.find(digest(raw))
        return None if known is None else known.spam

    def messages(self) -> Iterator[tuple[Message, bool]]:
        """The messages in the log whose texts are there, in the order in which they were learned.

        Yields
        ------
        tuple of (Message, bool)
            A message, and whether it is spam.
        """
        with self._log() as log:
            base = log.base()
            for _, _, spam, message in log.replay(0 if base is None else base.seq):
                yield message, spam

    @contextlib.contextmanager
    def _log(self) -> Iterator[Log]:
        """The log on a connection of its own, so that no thread waits for a long read."""
        with contextlib.closing(Log(self.store.home)) as log, log.reading():
            yield log

    def top(self, n: int = 20) -> tuple[list[Reason], list[Reason]]:
        """The heaviest features, with names from the texts in the log.

        Parameters
        ----------
        n : int, default=20
            The number of features of each side.

        Returns
        -------
        tuple of two lists of Reason
            Features of spam and features of ham, the heaviest first.

        See Also
        --------
        distinct_top : The same without features that repeat another.
        """
        spammy, hammy, names = self._heaviest(n)
        return [reason_of(names, *each) for each in spammy], [reason_of(names, *each) for each in hammy]

    def _heaviest(self, n: int) -> tuple[list[tuple[int, float]], list[tuple[int, float]], dict[int, FeatureName]]:
        """Columns and weights of the n heaviest features of spam and of ham, and the names of the columns."""
        with self.store.lock:
            learned = self.store.state.learner.weights
            columns = extremes(learned, n)
            spammy, hammy = ([(column, float(learned[column])) for column in side.tolist()] for side in columns)
        with self._log() as log:
            names = self.store.names_of(np.concatenate(columns), log, NAME_SEARCH_S)
        return spammy, hammy, names

    def distinct_top(self, n: int = 20) -> tuple[list[Reason], list[Reason]]:
        """The heaviest features without those that repeat another.

        Parameters
        ----------
        n : int, default=20
            The number of features of each side; there may be fewer.

        Returns
        -------
        tuple of two lists of Reason
            Features of spam and features of ham, the heaviest first.

        See Also
        --------
        top : All features.
        """
        for candidates in (CANDIDATES_PER_REASON * n, CANDIDATES_PER_REASON**2 * n):
            *sides, names = self._heaviest(candidates)
            kept = [distinct([(names.get(column), weight) for column, weight in side], n) for side in sides]
            if all(len(positions) == n for positions in kept):
                break
        found = zip(sides, kept, strict=True)
        spammy, hammy = ([reason_of(names, *side[at]) for at in positions] for side, positions in found)
        return spammy, hammy

    def stats(self) -> dict[str, Any]:
        """Return numbers about the filter.

        Returns
        -------
        dict
            `home`, the numbers of `messages`, `spam` and `ham` learned, of messages whose texts were dropped (`folded`), the
            `bytes` on disk, `settings` and `calibration`.
        """
        store, state = self.store, self.store.state
        with store.lock:
            calibration = state.calibration()
        return {
            "home": str(store.home),
            "messages": state.count,
            "spam": state.spam,
            "ham": state.count - state.spam,
            "folded": store.folded,
            "bytes": store.size(),
            "settings": state.settings,
            "calibration": calibration,
        }
