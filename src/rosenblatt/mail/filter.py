"""The spam filter.

Problem    Decide whether a mail is spam, and undo the learning of a mail as if it had never been seen.
Update     The fields of a mail go to the log, on disk before `learn` returns, and its columns to the learner.
Guarantee  The state is the replay of the log: bit for bit that of a new filter that learns the remaining mails in order.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping

from .identity import digest
from .message.parse import parse
from .store.changes import Learned, Relearned, Unlearned, finish, learn_mails, relearn_packed, unlearn_digests
from .store.connection import FilterError, FoldedError
from .store.filter_state import Settings
from .store.permissions import repair_home
from .store.store import Store
from .view import FilterView

__all__ = ["Filter", "FilterError", "FoldedError", "Learned", "Relearned", "Settings", "Unlearned"]


class Filter(FilterView):
    """A spam filter that is stored in a directory.

    Use `Filter.open` to open or create one. Any number of processes may have the same filter open, and threads may share one
    object. `classify` never waits for a disk or a replay; call `refresh` to learn the messages that other processes have added.

    Parameters
    ----------
    store : Store
        The files of the filter; made by `Filter.open`.

    See Also
    --------
    rosenblatt.AROW : The learning algorithm, for any data.

    Examples
    --------
    >>> import tempfile
    >>> from rosenblatt.mail import Filter
    >>> with Filter.open(tempfile.mkdtemp(), create=True, settings={"bits": 18}) as spam_filter:
    ...     spam_filter.learn([(b"Subject: cheap pills\\n\\nBuy now", True), (b"Subject: lunch\\n\\nAt noon?", False)])
    ...     spam_filter.learn([(b"Subject: lunch\\n\\nAt noon?", False)])
    ...     spam_filter.unlearn(b"Subject: lunch\\n\\nAt noon?")
    ...     spam_filter.classify(b"Subject: pills\\n\\nBuy cheap").score > 0
    Learned(new=2, known=0, moved=0, kept=0, both=0, unmixed='')
    Learned(new=0, known=1, moved=0, kept=0, both=0, unmixed='')
    Unlearned(known=True, exact=True)
    True
    """

    @classmethod
    def open(cls, home: str | os.PathLike[str], create: bool = False, settings: Mapping[str, float] | None = None) -> Filter:
        """Open the filter in a directory.

        Parameters
        ----------
        home : str or path
            The directory.
        create : bool, default=False
            Create a filter if there is none.
        settings : mapping, default=None
            Values of `Settings` by name. If the filter has others, it is changed to these; if that changes its weights, it
            replays its log, exactly as if it had had them from the beginning.

        Returns
        -------
        Filter
            The filter; close it, or use it as a context manager.

        Raises
        ------
        FilterError
            If there is no filter, or it cannot be used, or users other than its owner and group can write to it.

        Warns
        -----
        UserWarning
            If all users could write to the directory, and that permission was taken away.
        """
        repaired = repair_home(home)
        if repaired is not None:
            warnings.warn(repaired, stacklevel=2)
        return cls(Store(home, create, dict(settings or {})))

    def close(self) -> None:
        """Save the filter and close its files."""
        self.store.close()

    def __enter__(self) -> Filter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def change(self, **settings: float) -> None:
        """Change settings, as if the filter had had the new ones from the beginning.

        Parameters
        ----------
        **settings
            Values of `Settings` by name.
        """
        self.store.change(settings)

    def refresh(self) -> bool:
        """Take in what other processes have learned; fast if there is nothing new.

        Returns
        -------
        bool
            Whether the filter changed.
        """
        return self.store.refresh()

    def save(self) -> None:
        """Write a snapshot of the state now. Snapshots are also written from time to time, and by `close`."""
        self.store.log.check_writable()
        try:
            self.store.save()
        except OSError as error:
            raise FilterError(self.store.home, f"was not saved: {error}") from error

    # --- learning ------------------------------------------------------------------------------------------------------------

    def learn(
        self, mails: Iterable[tuple[bytes, bool]], mix: bool = False, check: Callable[[int, int], object] | None = None
    ) -> Learned:
        """Learn raw mails.

        A mail that was learned before with the same label changes nothing; one that was learned with the other label is moved
        to this one, as `relearn` does. The mails are committed in batches; when the method returns, all are on disk. Progress
        is reported to the callback of `rosenblatt.progress_callback` after each mail.

        Parameters
        ----------
        mails : iterable of (bytes, bool)
            Raw mails, each with whether it is spam.
        mix : bool, default=False
            Learn the mails in the order of their digests, after all of them were read: for mailboxes of spam, then of ham. If
            10 or more are new, they are mixed with those of earlier such calls, and all of these are learned again: the result
            is the filter that learns all of them at once.
        check : callable or None, default=None
            Called as `check(moved, both)` after all mails were read and before any is learned, with the number of mails whose
            label would change and the number that were given with both labels. If it raises an exception, nothing is learned.

        Returns
        -------
        Learned
            The number of mails by outcome.
        """
        return learn_mails(self.store, mails, mix, check)

    def relearn(self, raw: bytes, spam: bool) -> Learned:
        """Learn a mail with this label; if it was learned with the other one, undo that in the same transaction.

        Parameters
        ----------
        raw : bytes
            The mail.
        spam : bool
            Whether it is spam.

        Returns
        -------
        Learned
            The outcome.

        Raises
        ------
        FoldedError
            If the text of the mail was dropped (`compact`); nothing has changed.
        """
        learned = self.learn([(raw, spam)])
        if learned.kept:
            raise self._folded()
        return learned

    def unlearn(self, raw: bytes) -> Unlearned:
        """Undo the learning of a mail: the filter is then the one that never saw it.

        Parameters
        ----------
        raw : bytes
            The mail.

        Returns
        -------
        Unlearned
            The outcome.

        Raises
        ------
        FoldedError
            If the text of the mail was dropped (`compact`); nothing has changed.
        """
        (result,) = self.unlearn_many([raw])
        if not result.exact:
            raise self._folded()
        return result

    def unlearn_many(self, raws: Iterable[bytes]) -> list[Unlearned]:
        """Undo the learning of mails in one transaction, with one replay.

        Parameters
        ----------
        raws : iterable of bytes
            The mails.

        Returns
        -------
        list of Unlearned
            One outcome for each mail; `exact` is False for mails whose texts were dropped, which stay learned.
        """
        results = unlearn_digests(self.store, [digest(raw) for raw in raws])
        self._finish_uninterrupted()
        return results

    def relearn_many(
        self, raws: Iterable[bytes], spam: bool | None = None, check: Callable[[int], object] | None = None
    ) -> list[Relearned]:
        """Change the labels of mails in one transaction, with one replay.

        Parameters
        ----------
        raws : iterable of bytes
            The mails.
        spam : bool or None, default=None
            The label; None gives each mail the other one.
        check : callable or None, default=None
            Called as `check(moved)` after all mails were read and before any is changed, with the number of mails whose label
            would change. If it raises an exception, nothing is changed.

        Returns
        -------
        list of Relearned
            One outcome for each mail; `folded` is True for mails whose texts were dropped, which keep their labels.
        """
        results = relearn_packed(self.store, [(digest(raw), parse(raw).pack()) for raw in raws], spam, check)
        self._finish_uninterrupted()
        return results

    def compact(self, keep: int = 0) -> int:
        """Drop the texts of old messages; they stay known but can no longer be unlearned.

        This happens automatically above `max_messages` and `max_bytes` of the settings.

        Parameters
        ----------
        keep : int, default=0
            The number of newest messages whose texts stay.

        Returns
        -------
        int
            The number of texts that were dropped.
        """
        if keep < 0:
            raise ValueError(f"keep must be 0 or more messages, got {keep}")
        self.store.log.check_writable()
        try:
            return self.store.fold(keep)
        except OSError as error:
            raise FilterError(self.store.home, f"was not compacted: {error}") from error

    def _finish_uninterrupted(self) -> None:
        """Ctrl-C does not undo a committed change: it is reported as done, and the next `open` replays the log."""
        with contextlib.suppress(KeyboardInterrupt):
            finish(self.store)

    def _folded(self) -> FoldedError:
        return FoldedError(
            self.store.home,
            "this message cannot be unlearned: its text was dropped (mail compact); nothing was changed",
        )
