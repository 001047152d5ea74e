"""Mutated mails through parser, features, learner and digest, plain and compiled; exit code 1 on failure.

Failures are exceptions, slow mails, and much memory.

python -m benchmarks.mutations 100000 [FIRST_SEED [FOLDER]]
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

from .workloads import DATA

MAX_SECONDS = 1.0  # for a mail
MAX_MEGABYTES = 256.0  # in addition to the memory before the first mail


def main(count: int, first: int, data: Path) -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "mail" / "message"))
    from mutations import corpus, mutated  # type: ignore[import-not-found]
    from rosenblatt.mail.features import BITS, columns_of
    from rosenblatt.mail.identity import digest, stamped
    from rosenblatt.mail.learner import Learner
    from rosenblatt.mail.message.message import Message
    from rosenblatt.mail.message.parse import parse

    mails = corpus(data)
    if not mails:
        print(f"no mails under {data}: set ROSENBLATT_DATA, or give the folder as the third argument")
        return 1
    print(f"{count} mutations of {len(mails)} mails, seeds {first} to {first + count - 1}, the second half with compiled code")
    learner = Learner(BITS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    slowest, slowest_seed, spent, read, failed, slow, grown = 0.0, first, 0.0, 0, 0, 0, 0.0
    for seed in range(first, first + count):
        if seed == first + count // 2:
            grown, before = _grown(before), _with_compiled_code(parse)
        raw = mutated(mails, seed)
        start = time.process_time()
        try:
            message = parse(raw)
            for field in message:
                field.decode()
            learner.learn(columns_of(Message.unpack(message.pack())), spam=seed % 2 == 0)
            if digest(stamped(raw, "spam; score=1.0")) != digest(raw):
                raise ValueError("the digest changes with the stamp")
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {error!r}")
        took = time.process_time() - start
        spent += took
        read += len(raw)
        if took > MAX_SECONDS:
            slow += 1
            print(f"seed {seed}: {took:.1f} s")
        if took > slowest:
            slowest, slowest_seed = took, seed
    grown = max(grown, _grown(before))
    print(f"exceptions: {failed}")
    print(f"slowest: {1e3 * slowest:.1f} ms (seed {slowest_seed}); over {MAX_SECONDS:g} s: {slow}")
    print(f"mean: {1e3 * spent / count:.3f} ms, {read / spent / 1e6:.1f} MB/s")
    print(f"memory: {grown:.0f} MB more than the mails and Python")
    wrong = [f"{failed} exceptions"] * (failed > 0) + [f"{slow} mails took over {MAX_SECONDS:g} s"] * (slow > 0)
    if grown > MAX_MEGABYTES:
        wrong.append(f"{grown:.0f} MB more than before, where {MAX_MEGABYTES:g} are allowed")
    print(f"failed: {', '.join(wrong)}" if wrong else "passed")
    return int(bool(wrong))


def _grown(before: int) -> float:
    """The growth of the peak memory, in megabytes."""
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def _with_compiled_code(parse: Any) -> int:
    """Load compiled code; returns the peak memory afterwards."""
    import numba  # noqa: F401

    from rosenblatt.mail.features import columns_of

    columns_of(parse(b"Content-Type: text/html\n\n" + b"<p>text</p>" * 100))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    given = sys.argv[1:]
    folder = Path(given[2]) if len(given) > 2 else DATA / "mail"
    sys.exit(main(int(given[0]) if given else 1000, int(given[1]) if len(given) > 1 else 0, folder))
