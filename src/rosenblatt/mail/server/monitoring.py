"""Metrics of the server in the text format 0.0.4 of Prometheus, and its log."""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TYPE = "text/plain; version=0.0.4; charset=utf-8"
WARNING_INTERVAL_S = 60.0  # least time between equal warnings
Log = Callable[[str], None]


class Metrics:
    """Counters, updated in the thread of the event loop only. No label comes from a client."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.connections: Counter[str] = Counter()
        self._counts = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def done(self, kind: str, outcome: str, seconds: float) -> None:
        self.requests[kind, outcome] += 1
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(self, learned: int, sizes: Mapping[str, float]) -> str:
        return "\n".join(self._lines(learned, sizes)) + "\n"

    def _lines(self, learned: int, sizes: Mapping[str, float]) -> Iterator[str]:
        yield from _head("requests_total", "counter", "Requests by kind and outcome.")
        for (kind, outcome), count in sorted(self.requests.items()):
            yield f'rosenblatt_mail_requests_total{{kind="{kind}",outcome="{outcome}"}} {count}'
        yield from _head("verdicts_total", "counter", "Verdicts by label.")
        for label, count in sorted(self.verdicts.items()):
            yield f'rosenblatt_mail_verdicts_total{{label="{label}"}} {count}'
        yield from _head("request_seconds", "histogram", "From the first byte of a request to the last of its answer.")
        total = 0
        for bound, count in zip((*BOUNDS, None), self._counts, strict=True):
            total += count
            yield f'rosenblatt_mail_request_seconds_bucket{{le="{"+Inf" if bound is None else bound}"}} {total}'
        yield f"rosenblatt_mail_request_seconds_sum {self._seconds:.6f}"
        yield f"rosenblatt_mail_request_seconds_count {total}"
        yield from _head("connections", "gauge", "Open connections.")
        for side in ("http", "spamd"):
            yield f'rosenblatt_mail_connections{{side="{side}"}} {self.connections[side]}'
        yield from _head("learned_total", "counter", "Mails that this process learned or unlearned.")
        yield f"rosenblatt_mail_learned_total {learned}"
        for name, value in sizes.items():
            yield from _head(name, "gauge", f"{name.replace('_', ' ').capitalize()} now.")
            yield f"rosenblatt_mail_{name} {value:g}" if value != int(value) else f"rosenblatt_mail_{name} {int(value)}"


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP rosenblatt_mail_{name} {words}"
    yield f"# TYPE rosenblatt_mail_{name} {kind}"


def resident_bytes() -> int | None:
    """Memory of this process, or None if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


# --- the log ----------------------------------------------------------------------------------------------------------------


class Journal:
    """The log of the server. Its methods never raise: a full disk or a closed terminal must not stop the server.

    log: called with a line for each request.
    warn: called with errors of the server or its filter, each sentence once a minute at most.
    """

    def __init__(self, log: Log | None = None, warn: Log | None = None) -> None:
        self._log, self._warn = log, warn
        self._given: dict[str, float] = {}

    def request(self, line: str) -> None:
        _write(self._log, line)

    def warn(self, sentence: str) -> None:
        now = monotonic()
        if now - self._given.get(sentence, -WARNING_INTERVAL_S) >= WARNING_INTERVAL_S:
            self._given = {other: when for other, when in self._given.items() if now - when < WARNING_INTERVAL_S} | {
                sentence: now
            }
            _write(self._warn, sentence)


def _write(log: Log | None, line: str) -> None:
    if log is not None:
        with contextlib.suppress(Exception):
            log(line)
