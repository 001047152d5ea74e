"""Run by test_killed.py: a child teaches a filter and is killed, again and again; the parent looks at what is left each time.

The child reports what it begins and, when the filter has returned, that it is done: learning (+), unlearning (-), folding (c),
saving (s). Everything done must be in the log, in that order and once; what was only begun may be there or not, but whole.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from small_filters import assert_equal, fresh, is_spam, mail

from rosenblatt.mail.filter import Filter, FoldedError
from rosenblatt.mail.identity import digest


def teach(home: Path, pool: list[tuple[bytes, bool]], first: int, draw: random.Random, writing: int) -> None:
    """Until it is killed."""
    with Filter.open(home, create=True, settings={"bits": 12}) as found:
        while True:
            what = draw.choices("+-cs", (12, 4, 1, 2))[0]
            number = first % len(pool) if what == "+" else draw.randrange(len(pool))
            os.write(writing, f"?{what}{number}\n".encode())
            done = True
            if what == "+":
                found.learn([pool[number]])
                first += 1
            elif what == "-":
                try:
                    found.unlearn(pool[number][0])
                except FoldedError:
                    done = False
            elif what == "c":
                found.compact(keep=draw.choice((0, 20, 40, 60)))
            else:
                found.save()
            os.write(writing, b"!\n" if done else b"#\n")


def reported(lines: list[str], numbers: list[int]) -> tuple[list[int], list[int]]:
    """The numbers of messages that must be in the log, in order, and with what was begun last."""
    sure, maybe = list(numbers), list(numbers)
    for line in lines:
        if line[0] == "?":
            what, number = line[1], int(line[2:])
            maybe = list(sure)
            if what == "-" and number in maybe:
                maybe.remove(number)
            elif what == "+" and number not in maybe:
                maybe.append(number)
        else:
            sure = maybe = maybe if line[0] == "!" else sure
    return sure, maybe


def in_log(home: Path, places: dict[bytes, int]) -> list[int]:
    with Filter.open(home, create=True, settings={"bits": 12}) as found:
        rows = found.store.log.db.execute("SELECT digest FROM messages ORDER BY seq").fetchall()
        assert found.store.state.count == len(rows)
    return [places[row[0]] for row in rows]


def killed(home: Path, pool: list[tuple[bytes, bool]], first: int, draw: random.Random) -> list[str]:
    """The output of a child until it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            teach(home, pool, first, draw, writing)
        finally:
            os._exit(1)  # only by an error
    os.close(writing)
    received, wanted = b"", draw.randrange(12) - 2  # some are killed while they open the filter, most later
    while received.count(b"\n") < wanted:
        piece = os.read(reading, 1)
        if not piece:
            break
        received += piece
    time.sleep(draw.uniform(0.0, 0.01))  # a kill at any moment of the work: no event marks it
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the child ended by itself"
    with os.fdopen(reading) as response:
        return [line for line in (received.decode() + response.read()).split("\n") if line]


def main(folder: str, kills: int, source: str) -> None:
    home, numbers, first, acknowledged = Path(folder) / "filter", list[int](), 0, 0
    files = sorted(Path(source).glob("*-1/*"))[::7] if source else []
    pool = [(file.read_bytes(), "spam" in file.parent.name) for file in files] or [(mail(n), is_spam(n)) for n in range(400)]
    places = {digest(raw): number for number, (raw, _) in enumerate(pool)}
    pool = [pool[number] for number in sorted(places.values())]  # each once
    places = {digest(raw): number for number, (raw, _) in enumerate(pool)}
    for turn in range(kills):
        lines = killed(home, pool, first, random.Random(turn))
        sure, maybe = reported(lines, numbers)
        numbers = in_log(home, places)
        assert numbers in (sure, maybe), (turn, lines[-4:])
        first += sum(line.startswith("?+") for line in lines)
        acknowledged += sum(line == "!" for line in lines)
        if turn % 20 == 19 or turn == kills - 1:
            with fresh(Path(folder) / f"fresh{turn}", [pool[n] for n in numbers]) as other, Filter.open(home) as found:
                assert_equal(found, other)
    left = sorted(path.name for path in home.glob("base-*"))
    sys.stdout.write(f"{kills} {acknowledged} {len(numbers)} {len(left)}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
