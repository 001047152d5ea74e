"""Broken mails through all that a mail goes through (`python -m benchmarks.mutations 100000`): exceptions, time and memory."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(count: int, first: int, data: Path) -> int:
    sys.path.insert(0, str(ROOT / "tests" / "mail"))
    from mutations import corpus, mutated  # type: ignore[import-not-found]
    from rosenblatt.mail.features import columns_of
    from rosenblatt.mail.identity import digest
    from rosenblatt.mail.learner import Learner
    from rosenblatt.mail.message import Message
    from rosenblatt.mail.parse import parse
    from rosenblatt.mail.stamp import stamped

    mails = corpus(data)
    if not mails:
        print(f"no mails under {data}: give the folder as the third argument")
        return 1
    print(f"{count} mutations of {len(mails)} mails, seeds {first} to {first + count - 1}")
    learner = Learner(18)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    slowest, slowest_seed, spent, read, failed = 0.0, first, 0.0, 0, 0
    for seed in range(first, first + count):
        raw = mutated(mails, seed)
        start = time.process_time()
        try:
            message = parse(raw)
            for field in message:
                field.decode()
            learner.learn(columns_of(Message.unpack(message.pack()), 18), spam=seed % 2 == 0)
            if digest(stamped(raw, "spam; score=1.0")) != digest(raw):
                raise ValueError("another mail with its stamp than without")
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {error!r}")
        took = time.process_time() - start
        spent += took
        read += len(raw)
        if took > slowest:
            slowest, slowest_seed = took, seed
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"exceptions: {failed}")
    print(f"slowest: {1e3 * slowest:.1f} ms (seed {slowest_seed})")
    print(f"mean: {1e3 * spent / count:.3f} ms, {read / spent / 1e6:.1f} MB/s")
    print(f"largest memory of the process: {peak / 1024:.0f} MB, of which {before / 1024:.0f} MB are the mails and Python")
    return int(failed > 0)


if __name__ == "__main__":
    given = sys.argv[1:]
    folder = Path(given[2]) if len(given) > 2 else ROOT.parent / "shared" / "data" / "mail"
    sys.exit(main(int(given[0]) if given else 1000, int(given[1]) if len(given) > 1 else 0, folder))
