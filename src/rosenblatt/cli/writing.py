"""Whether what a command will leave can be written: said before the work, not after it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from .failing import Failure


def check_writable(path: str | None, *inputs: str | None, ending: str = "") -> None:
    """Nor may it replace what it is made from."""
    if path is None:
        return
    if path == "-":
        raise Failure("- is standard output, where the summary goes: name a file")
    if ending and not path.lower().endswith(ending):
        raise Failure(f"{path}: the name of such a file ends with {ending}")
    for given in inputs:
        if given is not None and os.path.exists(path) and os.path.exists(given) and os.path.samefile(path, given):
            raise Failure(f"{path}: this is what is read; name another file to write")
    folder = Path(path).parent
    if not folder.is_dir():
        raise Failure(f"{path}: there is no folder {folder}")
    if Path(path).is_dir():
        raise Failure(f"{path}: this is a folder")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: the folder {folder} cannot be written to")


def check_picture(path: str) -> None:
    from ..reporting.save import ENDINGS

    if Path(path).suffix.lower() not in ENDINGS:
        raise Failure(f"{path}: a figure is written as {', '.join(ENDINGS)}, by the ending of its name")
    if not path.lower().endswith(".svg") and find_spec("matplotlib") is None:
        raise Failure(f"{path}: pictures need matplotlib: pip install 'rosenblatt[plot]'; .svg does not")
