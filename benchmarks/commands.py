"""What somebody waits for at the command line: whole processes, from the first import to the last."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROWS, COLUMNS = 200, 20
RUN = [sys.executable, "-c", "import sys; from rosenblatt.cli import main; sys.argv[0] = 'rosenblatt'; main()"]


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
