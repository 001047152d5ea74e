"""Records the runs of a page within the time limit of the server: for the page that a server opens with, and for exports."""

from __future__ import annotations

from typing import Any

from ..reporting.text import short
from .page_data import record_request
from .run_request import RequestError, TimeLimitError
from .worker import DIED, RUN_SECONDS, STOPPED, Worker, prepare


class Recorder:
    """Computes recordings in another process, since nothing else can stop a run: `with Recorder() as record`.

    Parameters
    ----------
    seconds : float, default=20.0
        Time limit of a run with its proof.

    Attributes
    ----------
    n_stopped : int
        Runs that were stopped.
    """

    def __init__(self, seconds: float = RUN_SECONDS) -> None:
        self._seconds = seconds
        self._worker: Worker | None = None
        self.n_stopped = 0

    def __enter__(self) -> Recorder:
        prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return run and proof of a request; raise `TimeLimitError`, or another `RequestError` if the request is not valid."""
        if self._worker is None:
            self._worker = Worker(record_or_error)
        try:
            found = self._worker.ask((request,), self._seconds)
        except TimeoutError:
            self._stop()
            self.n_stopped += 1
            raise TimeLimitError(STOPPED.format(short(self._seconds))) from None
        except (EOFError, OSError):
            self._stop()
            raise RequestError(DIED) from None
        if isinstance(found, Exception):
            raise found
        recording: dict[str, Any] = found
        return recording

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def record_or_error(request: dict[str, Any]) -> dict[str, Any] | Exception:
    """Return run and proof of a request, or the error."""
    try:
        return record_request(request)
    except Exception as error:
        return error
