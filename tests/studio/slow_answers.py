"""Answers of workers that take as long as a test wants: the worker's processes import this module."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from rosenblatt.studio.answers import Outcome

GIVE_UP_S = 30.0


def answer(path: str, body: bytes) -> Outcome:
    """Write a file `begun-N` with the process id for {"number": N, "folder": ...}, and wait until there is a file `go`."""
    request: dict[str, Any] = json.loads(body)
    folder, number = Path(request["folder"]), request["number"]
    (folder / f"begun-{number}").write_text(str(os.getpid()))
    if request.get("dies"):
        os._exit(3)
    until = time.monotonic() + GIVE_UP_S
    while not (folder / "go").exists() and time.monotonic() < until:
        time.sleep(0.01)
    return Outcome(200, json.dumps({"number": number}).encode())


def report_priority(path: Path) -> None:
    """Write the priority of this process to a file."""
    path.write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))


def broken(path: str, body: bytes) -> Outcome:
    """Fail as a defect would."""
    return Outcome(500, b'{"error": "internal error"}', "Traceback of a worker")
