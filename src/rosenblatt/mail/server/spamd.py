"""The spamd side of the server: one request per connection, and the headers and reports that its answers contain."""

from __future__ import annotations

import asyncio
import contextlib
import re
from functools import partial
from time import perf_counter

from ...reporting.text import fixed, plural
from ..identity import stamped
from ..message.headers import LINE_END, STAMP, header_span, without_headers
from ..store.connection import FoldedError
from ..verdict import header_value, supporting, symbols
from . import protocol
from .engine import DEFAULT_REASONS, THRESHOLD, TIMEOUT_MESSAGE, Engine, Judgment, failure
from .limits import Budget, Limits, Share
from .monitoring import Journal, Metrics
from .places import Places, is_unix
from .protocol import Head, Inbox, RequestError, inflated

# Headers of these names that a sender has written are removed.
SPAM_HEADERS = (b"X-Spam-Flag", b"X-Spam-Status", b"X-Spam-Level")
_LINE = re.compile(rb"[^\r\n]*+(%s?)" % LINE_END)
LINGER_S = 2.0  # time for a client to close its side


class Spamd:
    """All connections of the spamd protocol."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        budget: Budget,
        metrics: Metrics,
        journal: Journal,
        *,
        tell_tcp: bool = True,
        tell_socket: bool = True,
    ) -> None:
        self._engine, self._limits, self._budget, self._metrics = engine, limits, budget, metrics
        self._journal, self._tell_tcp, self._tell_socket = journal, tell_tcp, tell_socket
        self._places = Places(limits.connections)
        self._open: set[asyncio.Task[None]] = set()
        self._silent: set[asyncio.Task[None]] = set()  # connections without a request yet
        self._stopping = False

    def protocol(self) -> asyncio.StreamReaderProtocol:
        """A protocol for connections that asyncio's server has not accepted itself."""
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), self.connected)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if not self._places.enter(task, writer):
            writer.transport.abort()
            return
        self._open.add(task)
        self._silent.add(task)
        self._metrics.connections["spamd"] += 1
        try:
            await _Session(self, reader, writer, task).run()
        except asyncio.CancelledError:  # by `stop` or for another client, and no other task waits for it
            writer.transport.abort()
        except Exception as error:
            writer.transport.abort()
            self._metrics.done("bad", "error", 0.0)
            self._journal.warn(f"a spamd connection failed ({type(error).__name__})")
        finally:
            self._metrics.connections["spamd"] -= 1
            self._silent.discard(task)
            self._places.leave(task)
            self._open.discard(task)

    def refusal_of_tell(self, writer: asyncio.StreamWriter) -> str | None:
        """Why a client may not teach the filter; None if it may."""
        if is_unix(writer):
            return None if self._tell_socket else "this server does not learn from clients of its socket"
        hint = "use its Unix socket (spamc -U), or start it with --allow-tell"
        return None if self._tell_tcp else f"this server does not learn from clients over TCP: {hint}"

    async def stop(self, seconds: float) -> None:
        """Close connections without a request, and finish the others; after `seconds` they are aborted."""
        self._stopping = True
        for task in tuple(self._silent):
            task.cancel()
        if self._open:
            await asyncio.wait(tuple(self._open), timeout=seconds)
        for task in tuple(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(tuple(self._open))


class _Session:
    """One connection."""

    def __init__(
        self, spamd: Spamd, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        self._spamd, self._writer, self._task = spamd, writer, task
        self._limits = spamd._limits
        self._inbox = Inbox(reader, spamd._limits)
        self._rest: asyncio.Task[None] | None = None
        self._kind, self._outcome, self._detail = "bad", "ok", ""
        self._size: int | None = None  # size of the mail, if it was read

    async def run(self) -> None:
        self._start = perf_counter()
        try:
            with self._spamd._budget.share() as share:
                try:
                    sent = await self._answer(share)
                except RequestError as fault:
                    self._outcome, self._detail = fault.code, fault.sentence
                    if fault.code == "EX_TEMPFAIL" and not self._spamd._stopping:
                        self._spamd._journal.warn(fault.sentence)
                    sent = fault.answer()
                self._spamd._places.request_received(self._task)
                self._rest = self._rest or asyncio.create_task(self._inbox.rest(self._limits.message_bytes))
                await self._send(sent)
        except OSError:  # the client has disconnected, or received the answer too slowly
            self._outcome = "gone"
        except asyncio.CancelledError:
            self._outcome = "closed"
            raise
        finally:
            await self._end()

    async def _answer(self, share: Share) -> bytes:
        """The answer to the request; empty if there was none."""
        spamd = self._spamd
        if spamd._stopping or not await spamd._places.wait(self._task):
            self._kind = "refused"
            raise RequestError(
                "EX_TEMPFAIL", "the server is stopping" if spamd._stopping else "too many connections; try again"
            )
        try:
            async with asyncio.timeout(self._limits.read_seconds):
                async with asyncio.timeout(self._limits.idle_seconds):
                    head = await self._head()
                if not isinstance(head, Head):
                    return head
                spamd._places.head_received(self._task)
                if head.tell and (refusal := spamd.refusal_of_tell(self._writer)):
                    raise RequestError("EX_UNAVAILABLE", refusal)
                mail = await self._inbox.mail(head, share)
        except TimeoutError:
            raise RequestError("EX_TIMEOUT", "the request arrived too slowly") from None
        spamd._places.request_received(self._task)
        self._size = len(mail)
        self._rest = asyncio.create_task(self._inbox.rest(self._limits.message_bytes))
        try:
            async with asyncio.timeout(self._limits.handle_seconds):
                if head.deflated:
                    mail = await inflated(mail, self._limits.message_bytes, share, spamd._engine.in_pool)
                sent = await self._handle(head, mail)
        except TimeoutError:
            spamd._journal.warn(TIMEOUT_MESSAGE)
            raise RequestError("EX_TIMEOUT", TIMEOUT_MESSAGE) from None
        if self._inbox.surplus:
            raise RequestError(
                "EX_DATAERR", "the mail has more bytes than Content-length declares, or a second request follows"
            )
        return sent

    async def _head(self) -> Head | bytes:
        """The first line and the headers of the request, or the answer to a request that is only a line."""
        line = await self._inbox.line()
        self._spamd._silent.discard(self._task)
        if line is None and self._inbox.empty:  # a client that only checks whether the port is open
            self._kind = "silent"
            return b""
        if line is None:
            raise RequestError("EX_PROTOCOL", "the request ends within its first line")
        self._start = perf_counter()
        self._kind = protocol.command_of(line)
        if self._kind in ("PING", "SKIP"):  # before version 1.5 no empty line follows them
            return protocol.PONG if self._kind == "PING" else b""
        return protocol.head_of(self._kind, await self._inbox.headers())

    async def _handle(self, head: Head, mail: bytes) -> bytes:
        engine, command = self._spamd._engine, head.command
        try:
            if head.tell is not None:
                changed = await engine.teach(mail, None if head.tell.forget else head.tell.spam)
                did = "DidRemove: local" if head.tell.forget else "DidSet: local"
                self._detail = did if changed else "no change"
                return protocol.answer([did] if changed else [], b"")
            judgment, body = await engine.judge(mail, partial(_body, command), 0 if command == "CHECK" else DEFAULT_REASONS)
        except (RequestError, TimeoutError):
            raise
        except Exception as error:
            lasting = isinstance(error, FoldedError)  # a retry cannot succeed
            raise RequestError("EX_UNAVAILABLE" if lasting else "EX_TEMPFAIL", failure(error)) from error
        self._spamd._metrics.verdicts[judgment.verdict.label] += 1
        self._detail = f"{judgment.verdict.label} {judgment.points}"
        spam = f"Spam: {judgment.points.spam} ; {judgment.points}"
        return protocol.answer([spam], body)

    async def _send(self, sent: bytes) -> None:
        writer = self._writer
        writer.transport.set_write_buffer_limits(0)  # `drain` then waits until everything is sent
        async with asyncio.timeout(self._limits.write_seconds):
            writer.write(sent)
            await writer.drain()
        writer.write_eof()

    async def _end(self) -> None:
        spamd, seconds = self._spamd, perf_counter() - self._start
        spamd._metrics.done(self._kind, self._outcome, seconds)
        size = "" if self._size is None else f", {plural(self._size, 'byte')}"
        detail = f", {self._detail}" if self._detail else ""
        spamd._journal.request(f"spamd {self._kind} {self._outcome} {fixed(1e3 * seconds, 1)} ms{size}{detail}")
        spamd._places.answered(self._task)
        if self._rest:
            try:
                await asyncio.wait((self._rest,), timeout=LINGER_S if self._outcome not in ("gone", "closed") else 0)
            finally:
                self._rest.cancel()
        self._writer.close()
        with contextlib.suppress(OSError):
            async with asyncio.timeout(LINGER_S):
                await self._writer.wait_closed()


# --- the bodies of answers -------------------------------------------------------------------------------------------------


def _body(command: str, raw: bytes, judgment: Judgment) -> bytes | None:
    match command:
        case "CHECK":
            return None
        case "SYMBOLS":
            return symbols(supporting(judgment.verdict.label, judgment.reasons)).encode()
        case "REPORT":
            return report(judgment)
        case "REPORT_IFSPAM":
            return report(judgment) if judgment.points.spam else b""
        case "HEADERS":
            return _head(raw, judgment)
    return marked(raw, judgment)


def _head(raw: bytes, judgment: Judgment) -> bytes:
    done = marked(raw, judgment)
    head = head_only(raw, done)
    # spamc 4.0.1 appends its copy of the rest only up to a NUL; after an error it passes the mail on unchanged.
    if b"\0" in done[len(head) :]:
        raise RequestError("EX_DATAERR", "the mail has a NUL byte, where spamc --headers would cut it off; use PROCESS")
    return head


def report(judgment: Judgment) -> bytes:
    """The report of the commands REPORT and REPORT_IFSPAM."""
    verdict = judgment.verdict
    lines = [
        f"Rosenblatt: {verdict.label}, {judgment.points} points",
        f"(score {fixed(verdict.score)}, probability of spam {fixed(verdict.probability)}).",
        "",
        " weight  for spam (+) or ham (-)",
        "-------  -----------------------",
        *(f"{fixed(reason.weight, 3, signed=True):>7}  {_one_line(reason.name)}" for reason in judgment.reasons),
        "",
    ]
    return "\n".join(lines).encode("utf-8", "replace")


def _one_line(name: str) -> str:
    return "".join(c if c.isprintable() else " " for c in name)[:80]


def marked(raw: bytes, judgment: Judgment) -> bytes:
    """The mail with the header X-Rosenblatt, and at its top headers in the format of SpamAssassin.

    Other headers of these names are removed; every other byte stays.
    """
    names = symbols(supporting(judgment.verdict.label, judgment.reasons))
    done = stamped(without_headers(raw, (*SPAM_HEADERS, STAMP)), header_value(judgment.verdict, judgment.reasons))
    start, _ = header_span(done)
    newline = _line_end(done, start)
    block = [
        *(["X-Spam-Flag: YES"] if judgment.points.spam else []),
        f"X-Spam-Level: {'*' * int(min(max(judgment.points.score, 0), 50))}",
        f"X-Spam-Status: {'Yes' if judgment.points.spam else 'No'}, score={judgment.points.score:.1f} required={THRESHOLD:.1f}"
        f"{newline}\ttests={names or 'none'}",
    ]
    marks = "".join(line + newline for line in block).encode()
    return b"".join((done[:start], marks, done[start:]))


def _line_end(raw: bytes, start: int) -> str:
    """The line end of the first header line of a mail."""
    line = _LINE.match(raw, start)
    return (line[1].decode() if line else "") or "\n"


def head_only(raw: bytes, done: bytes) -> bytes:
    """The headers of a marked mail up to the empty line where spamc splits it; spamc appends the rest of its own copy."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0]
    return done[: len(done) - (len(raw) - min(ends))] if ends else done
