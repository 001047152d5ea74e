"""spamc against `mail serve`, 50 clients at once: answers compared with those of the filter in this process, latency, memory.

Starting a spamc process takes longer than its answer. The limit of the server is therefore also measured with a Python client
on 50 connections, a new one for each request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from .workloads import DATA

CLIENTS = 50
N_LEARNED, N_CLASSIFIED, N_TAUGHT = 400, 200, 1000  # mails learned before, classified, and taught through the server
MAX_REQUESTS = 500_000  # of one part
SERVER = """
import json, sys
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.server import Server, serve

def ready(addresses):
    print(json.dumps(addresses), flush=True)

with Filter.open(sys.argv[1]) as spam_filter:
    serve(spam_filter, Server(allow_tell=True, port=0, http_port=None), ready)
"""


class Case(NamedTuple):
    """A request of spamc with the expected exit code and a check of the output."""

    arguments: tuple[str, ...]
    mail: bytes
    code: int
    right: Callable[[bytes], bool]


class Tally:
    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.lost = self.wrong = 0


def measure(seconds: float = 60.0, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Rows: work, requests, lost, wrong, a_second, p50, p99 (seconds), megabytes (start, middle, end, maximum)."""
    seconds = seconds / 10 if quick else seconds
    with tempfile.TemporaryDirectory() as home:
        cases = _prepared(Path(home))
        with _server(home) as (port, pid):
            if shutil.which("spamc") is None:
                yield {
                    "work": f"spamc, {CLIENTS} at once",
                    "skipped": "spamc is not installed; on Debian: apt-get install spamc",
                }
            else:
                _with_spamc(port, cases, min(2.0, seconds / 4))  # warm-up
                yield _row(f"spamc, {CLIENTS} at once", pid, seconds, lambda: _with_spamc(port, cases, seconds))
            checks = [case for case in cases if case.arguments == ("-c",)]
            work = f"a client in Python, {CLIENTS} connections"
            yield _row(work, pid, seconds / 3, lambda: asyncio.run(_with_python(port, checks, seconds / 3)))
            if shutil.which("spamc") is not None:
                new = _mails(N_LEARNED + N_CLASSIFIED + N_TAUGHT)[N_LEARNED + N_CLASSIFIED :][
                    : N_TAUGHT // 10 if quick else N_TAUGHT
                ]
                yield _row(f"spamc -L of {len(new):,} new mails, {CLIENTS} at once", pid, 2.0, lambda: _teach(port, home, new))


def _teach(port: int, home: str, new: list[tuple[bytes, bool]]) -> Tally:
    """Every mail is taught by one client, and must be in the log afterwards, once and with its label."""
    from rosenblatt.mail.filter import Filter

    tally, left = Tally(), list(new)

    def client() -> None:
        while True:
            try:
                mail, spam = left.pop()
            except IndexError:
                return
            command = ["spamc", "-x", "-d", "127.0.0.1", "-p", str(port), "-s", "5000000", "-L", "spam" if spam else "ham"]
            start = time.perf_counter()
            done = subprocess.run(command, input=mail, capture_output=True, check=False)
            if done.returncode:
                tally.lost += 1
            else:
                tally.seconds.append(time.perf_counter() - start)
                tally.wrong += done.stdout != b"Message successfully un/learned\n"

    with Filter.open(home) as spam_filter:
        before = spam_filter.stats()["messages"]
    _in_threads([client] * CLIENTS)
    with Filter.open(home) as spam_filter:
        tally.wrong += sum(spam_filter.label_of(mail) is not spam for mail, spam in new)
        tally.wrong += abs(spam_filter.stats()["messages"] - before - len(new))
    return tally


def _in_threads(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _row(work: str, pid: int, seconds: float, run: Callable[[], Tally]) -> dict[str, Any]:
    held, over = [_resident(pid)], threading.Event()

    def watch() -> None:
        while not over.wait(seconds / 60):
            held.append(_resident(pid))

    watching = threading.Thread(target=watch)
    watching.start()
    start = time.perf_counter()
    tally = run()
    took = time.perf_counter() - start
    over.set()
    watching.join()
    cuts = statistics.quantiles(tally.seconds, n=100) if len(tally.seconds) > 1 else [float("nan")] * 99
    return {
        "work": work, "requests": len(tally.seconds) + tally.lost, "lost": tally.lost, "wrong": tally.wrong,
        "a_second": len(tally.seconds) / took, "p50": cuts[49], "p99": cuts[98],
        "megabytes": [held[0], held[len(held) // 2], held[-1], max(held)],
    }  # fmt: skip


def _with_spamc(port: int, cases: list[Case], seconds: float) -> Tally:
    tally, until = Tally(), time.monotonic() + seconds

    def client(seed: int) -> None:
        rng = random.Random(seed)
        while time.monotonic() < until and len(tally.seconds) < MAX_REQUESTS:
            case = rng.choice(cases)
            command = ["spamc", "-x", "-d", "127.0.0.1", "-p", str(port), "-s", "5000000", *case.arguments]
            start = time.perf_counter()
            done = subprocess.run(command, input=case.mail, capture_output=True, check=False)
            tally.seconds.append(time.perf_counter() - start)
            if done.returncode > 1:
                tally.seconds.pop()
                tally.lost += 1
            else:
                tally.wrong += not (done.returncode == case.code and case.right(done.stdout))

    _in_threads([partial(client, seed) for seed in range(CLIENTS)])
    return tally


async def _with_python(port: int, cases: list[Case], seconds: float) -> Tally:
    tally, until = Tally(), time.monotonic() + seconds

    async def client(seed: int) -> None:
        rng = random.Random(seed)
        while time.monotonic() < until and len(tally.seconds) < MAX_REQUESTS:
            case = rng.choice(cases)
            start = time.perf_counter()
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n%s" % (len(case.mail), case.mail))
                writer.write_eof()
                answer = await reader.read()
                writer.close()
            except OSError:
                tally.lost += 1
                continue
            _, _, points = answer.partition(b" ; ")
            if not points:
                tally.lost += 1
                continue
            tally.seconds.append(time.perf_counter() - start)
            tally.wrong += not case.right(points.strip().replace(b" ", b"") + b"\n")

    await asyncio.gather(*(client(seed) for seed in range(CLIENTS)))
    return tally


def _prepared(home: Path) -> list[Case]:
    """Train a filter; returns requests with its own verdicts on new mails."""
    from rosenblatt.mail.filter import Filter
    from rosenblatt.mail.server.engine import points

    mails = _mails(N_LEARNED + N_CLASSIFIED)
    with Filter.open(home, create=True) as spam_filter:
        spam_filter.learn(mails[:N_LEARNED])
        cases = []
        for number, (mail, _) in enumerate(mails[N_LEARNED : N_LEARNED + N_CLASSIFIED]):
            verdict = spam_filter.classify(mail)
            found = points(verdict.score, verdict.label, spam_filter.calibration)
            line = str(found).replace(" ", "").encode() + b"\n"
            cases.append(Case(("-c",), mail, int(found.spam), line.__eq__))
            if number % 4 == 0:
                cases.append(Case(("-E",), mail, int(found.spam), _passed_on(mail, verdict.label)))
        for mail, spam in mails[: N_CLASSIFIED // 10]:  # known, so that learning them changes no answer
            cases.append(Case(("-L", "spam" if spam else "ham"), mail, 0, b"Message was already un/learned\n".__eq__))
    return cases


def _passed_on(mail: bytes, label: str) -> Callable[[bytes], bool]:
    """Whether an output is the mail with its verdict in the headers, and otherwise unchanged."""
    from rosenblatt.mail.message.headers import STAMP, without_headers
    from rosenblatt.mail.server.spamd import SPAM_HEADERS

    bare, stamp = without_headers(mail, (*SPAM_HEADERS, STAMP)), f"X-Rosenblatt: {label};".encode()
    return lambda out: stamp in out and without_headers(out, (*SPAM_HEADERS, STAMP)) == bare


def _mails(count: int) -> list[tuple[bytes, bool]]:
    folder = DATA / "mail" / "spamassassin"
    paths = [p for name in ("spam-1", "easy-ham-1", "hard-ham-1") for p in sorted((folder / name).glob("*"))]
    if not paths:
        rng, words = random.Random(0), [f"word{n}" for n in range(2000)]
        return [
            (f"Subject: {n}\n\n{' '.join(rng.choices(words[n % 2 * 700 :][:1300], k=400))}\n".encode(), n % 2 == 0)
            for n in range(count)
        ]
    random.Random(0).shuffle(paths)
    return [(path.read_bytes(), path.parent.name == "spam-1") for path in paths[:count]]


@contextlib.contextmanager
def _server(home: str) -> Iterator[tuple[int, int]]:
    with subprocess.Popen([sys.executable, "-c", SERVER, home], stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            yield json.loads(running.stdout.readline())[0][1], running.pid
        finally:
            running.terminate()


def _resident(pid: int) -> float:
    """Resident memory of a process, in megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
