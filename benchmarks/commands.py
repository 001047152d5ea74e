"""Duration of commands: whole processes, from the first import to the end."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.mail.filter import Filter

from . import workloads
from .mail import FOLDERS

ROWS, COLUMNS = 200, 20
RUN = [sys.executable, "-m", "rosenblatt"]


def measure(repeats: int) -> Iterator[dict[str, Any]]:
    """Seconds of wall time, medians; files were read and kernels compiled before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        svm, table = _files(folder)
        model, other = folder / "m.safetensors", folder / "t.safetensors"
        _seconds(["train", str(svm), "-o", str(model)])
        _seconds(["train", str(table), "-o", str(other)])
        works = [
            ("rosenblatt --help", ["--help"], 0.15),
            (f"predict, svmlight, {ROWS} x {COLUMNS}", ["predict", str(model), str(svm)], 0.6),
            (f"predict, CSV, {ROWS} x {COLUMNS}", ["predict", str(other), str(table)], 0.6),
            ("show", ["show", str(model)], None),
            (f"train, svmlight, {ROWS} x {COLUMNS}", ["train", str(svm), "-o", str(model)], None),
        ]
        found: dict[str, list[float]] = {work: [] for work, _, _ in works}
        for _ in range(repeats):
            for work, arguments, _ in works:
                found[work].append(_seconds(arguments))
        python = statistics.median(_process([sys.executable, "-c", "import numpy"]) for _ in range(repeats))
        yield {"work": "python -c 'import numpy'", "seconds": python, "required": None}
        for work, _, required in works:
            yield {"work": work, "seconds": statistics.median(found[work]), "required": required}
        yield from _mail(folder, repeats)


def _mail(folder: Path, repeats: int) -> Iterator[dict[str, Any]]:
    """A filter of its own for every turn, taught the whole corpus; then one mail is classified and unlearned."""
    corpus = workloads.DATA / "mail" / "spamassassin"
    if not corpus.is_dir():
        yield {"work": f"mail: skipped, there is no mail/spamassassin in {workloads.DATA}", "seconds": nan, "required": None}
        return
    spam, *ham = (str(corpus / name) for name in FOLDERS)
    one, found = str(min(Path(spam).iterdir())), dict[str, list[float]]()
    for turn in range(repeats + 1):
        at = ["--home", str(folder / f"home-{turn}")]
        new = folder / "new.eml"
        new.write_text("Subject: a mail that is new\n\nand short\n")
        for work, arguments in (
            ("mail learn, the corpus of 3,250 mails", ["learn", "--spam", spam, "--ham", *ham]),
            ("mail learn, one mail more", ["learn", "--spam", str(new)]),
            ("mail classify, one mail", ["classify", one]),
            ("mail unlearn, one of 3,251 mails", ["unlearn", one]),
        ):
            found.setdefault(work, []).append(_seconds(["mail", *arguments, *at]))
    for work, seconds in found.items():
        yield {"work": work, "seconds": statistics.median(seconds[1:]), "required": None}  # the first turn compiles
    opening = [_opening(folder / "home-0") for _ in range(9)]
    yield {"work": "opening that filter of 2^22 columns", "seconds": statistics.median(opening), "required": 0.1}


def _opening(home: Path) -> float:
    start = time.perf_counter()
    with Filter.open(home):
        return time.perf_counter() - start


def _files(folder: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS)).round(4)
    y = np.where(X[:, 0] > 0, 1, -1)
    svm, table = folder / "rows.svm", folder / "rows.csv"
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for row, label in zip(X.tolist(), y, strict=True)
    )
    svm.write_text("\n".join(lines) + "\n")
    names = ",".join(f"x{j}" for j in range(COLUMNS))
    cells = (",".join(map(repr, row)) + f",{label}" for row, label in zip(X.tolist(), y, strict=True))
    table.write_text(f"{names},label\n" + "\n".join(cells) + "\n")
    return svm, table


def _seconds(arguments: list[str]) -> float:
    return _process([*RUN, *arguments])


def _process(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    return time.perf_counter() - start
