"""bogofilter (Debian package) in its usual mode: one process to classify a message, one to learn it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from typing import Any

CUTOFF = 0.99  # its default: mails with this spamicity or more are spam


class Bogofilter:
    """A learner on raw mails; the score is spamicity minus cutoff. As a context manager, it deletes its word list."""

    def __init__(self) -> None:
        self.folder: Any = tempfile.TemporaryDirectory()

    @staticmethod
    def installed() -> bool:
        return shutil.which("bogofilter") is not None

    def __enter__(self) -> Bogofilter:
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()

    def score(self, raw: bytes) -> float:
        return self.spamicity(raw) - CUTOFF

    def spamicity(self, raw: bytes) -> float:
        """From 0 to 1; 0.5 if nothing was learned yet."""
        output = self._call(raw, "-TT")
        return float(output.split()[-1]) if output.strip() else 0.5

    def learn(self, raw: bytes, spam: bool) -> None:
        self._call(raw, "-s" if spam else "-n")

    def learn_all(self, raws: list[bytes], spam: bool) -> None:
        self._call(_mbox(raws), "-M", "-s" if spam else "-n")

    def score_all(self, raws: list[bytes]) -> list[float]:
        return [float(line.split()[-1]) - CUTOFF for line in self._call(_mbox(raws), "-M", "-TT").splitlines()]

    def _call(self, raw: bytes, *options: str) -> bytes:
        # With its default configuration; the exit codes 0, 1 and 2 are verdicts.
        called = ["bogofilter", "-C", "-d", self.folder.name, *options]
        done = subprocess.run(called, input=raw, capture_output=True, check=False)
        return done.stdout if done.returncode in (0, 1, 2) else b""


def _mbox(raws: list[bytes]) -> bytes:
    postmark = b"From a@b Thu Jan  1 00:00:00 1970\n"
    return b"".join(postmark + raw.replace(b"\nFrom ", b"\n>From ") + b"\n" for raw in raws)
