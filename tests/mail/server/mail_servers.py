"""A filter in memory that answers as the real one does, servers in this process, and plain clients."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from rosenblatt.mail.server import Addresses, Server
from rosenblatt.mail.store.changes import Unlearned
from rosenblatt.mail.verdict import Calibration, Reason, Verdict

SPAM = b"Subject: pills\r\nFrom: a@b.example\r\n\r\nbuy pills pills pills now\r\n"
HAM = b"Subject: lunch\n\nAt noon, as always?\n"
UNSURE = b"Subject: hello\n\nbuy lunch\n"
CALIBRATION = Calibration(slope=2.0, offset=0.0, spam_from=0.5, ham_to=-0.5)
WEIGHTS = {b"pills": 0.5, b"buy": 0.4, b"noon": -0.9, b"lunch": -0.5}


class Counts(NamedTuple):
    new: int = 0
    known: int = 0
    moved: int = 0
    kept: int = 0


class Plain:
    """A filter with weights of a few words; lessons are recorded without effect."""

    calibration = CALIBRATION
    taught = True

    def __init__(self) -> None:
        self.labels: dict[bytes, bool] = {}
        self.transactions: list[int] = []
        self.replays: list[int] = []
        self.begun = threading.Semaphore(0)  # released when work begins
        self.go = threading.Event()  # cleared: work waits until it is set
        self.go.set()
        self.broken: Exception | None = None

    def _found(self, raw: bytes) -> list[Reason]:
        return [Reason(f'body: "{word.decode()}"', w * raw.count(word)) for word, w in WEIGHTS.items() if word in raw]

    def _work(self) -> None:
        self.begun.release()
        assert self.go.wait(30)
        if self.broken is not None:
            raise self.broken

    def classify(self, raw: bytes) -> Verdict:
        self._work()
        score = sum(reason.weight for reason in self._found(raw))
        return Verdict(self.calibration.label(score), score, self.calibration.probability(score))

    def explain(self, raw: bytes, n: int, *, by: str) -> list[Reason]:
        return sorted(self._found(raw), key=lambda reason: -abs(reason.weight))[:n]

    def label_of(self, raw: bytes) -> bool | None:
        return self.labels.get(raw)

    def learn(self, mails: Any) -> Counts:
        self._work()
        self.transactions.append(len(mails))
        self.labels.update(mails)
        return Counts()

    def relearn(self, raw: bytes, spam: bool) -> Counts:
        return self.learn([(raw, spam)])

    def unlearn(self, raw: bytes) -> Unlearned:
        return self.unlearn_many([raw])[0]

    def unlearn_many(self, raws: Any) -> list[Unlearned]:
        if not raws:
            if self.broken is not None:
                raise self.broken
            return []
        self._work()
        self.replays.append(len(raws))
        return [Unlearned(self.labels.pop(raw, None) is not None) for raw in raws]

    def refresh(self) -> bool:
        return False

    def stats(self) -> dict[str, Any]:
        return {"messages": len(self.labels), "bytes": 4096, "home": "nowhere"}


@contextlib.contextmanager
def serving(spam_filter: Any, **options: Any) -> Iterator[tuple[Addresses, Server]]:
    """A server in a thread, on free ports; spamd only, unless HTTP is requested."""
    server = Server(**{"port": 0, "http_port": None, "warm": False, "allow_tell": options.get("tell", True)} | options)
    there, found = threading.Event(), []

    def ready(addresses: Addresses) -> None:
        found.append(addresses)
        there.set()

    def run() -> None:
        try:
            asyncio.run(server.run(spam_filter, ready))
        finally:
            there.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert there.wait(60)  # kernels may have to be compiled
        yield found[0], server
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


def connected(addresses: Addresses) -> socket.socket:
    assert addresses.spamd is not None
    return socket.create_connection(addresses.spamd, 10)


def all_of(client: socket.socket) -> bytes:
    """The output of the server until it closes or aborts the connection."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


def answer_to(addresses: Addresses, sent: bytes, shut: bool = True) -> bytes:
    """Send bytes, close the writing side as spamc does, and read the answer."""
    with connected(addresses) as client:
        with contextlib.suppress(OSError):  # cut off before it was response, or before the writing side was closed
            client.sendall(sent)
            if shut:
                client.shutdown(socket.SHUT_WR)
        return all_of(client)


def request(command: str, mail: bytes, *headers: str) -> bytes:
    lines = [f"{command} SPAMC/1.5", f"Content-length: {len(mail)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + mail


END = rb"(?:\r\n|\r|\n)"
STATUS = rb"X-Spam-Status: [^\r\n]*%s\ttests=[^\r\n]*%s" % (END, END)
BLOCK = re.compile(rb"(?:X-Spam-Flag: YES%s)?X-Spam-Level: \**%s" % (END, END) + STATUS)
STAMP = re.compile(rb"X-Rosenblatt: [^\r\n]*(?:%s [^\r\n]*reasons=[^\r\n]*)?%s" % (END, END))


def unmarked(done: bytes) -> bytes:
    """A mail without what the server put in."""
    assert BLOCK.search(done)
    assert STAMP.search(done)
    return STAMP.sub(b"", BLOCK.sub(b"", done, count=1), count=1)


def is_passed_on(raw: bytes, done: bytes) -> bool:
    """Whether a mail came back with marks and nothing else: an empty line after them, where it had no headers."""
    back = unmarked(done)
    return back == raw or any(back.replace(end, b"", 1) == raw for end in (b"\r\n", b"\n", b"\r"))
