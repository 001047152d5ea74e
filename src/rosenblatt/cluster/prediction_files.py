"""A folder of predictions: one file of labels for each block, and an index of them, which is written last.

Each file is written completely or not at all, and a task that runs twice writes the same file again. A folder without an index
holds predictions that are not complete.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..array_types import Array
from ..atomic_file import TEMPORARY_SUFFIX, write_atomically

INDEX_NAME, INDEX_FORMAT = "index.json", "rosenblatt predictions 1"
_BLOCK_NAME = re.compile(r"block-[0-9]+\.txt")


def prepare_folder(folder: Path) -> None:
    """Make the folder, or remove the index of earlier predictions, which are about to be replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if not (path.name == INDEX_NAME or _BLOCK_NAME.fullmatch(path.name) or path.name.endswith(TEMPORARY_SUFFIX)):
            raise ValueError(f"to={str(folder)!r} holds other files, such as {path.name}: name a new folder")
    (folder / INDEX_NAME).unlink(missing_ok=True)


def paths_of_blocks(folder: Path, n_blocks: int) -> list[Path]:
    """The files of the blocks."""
    return [folder / f"block-{number + 1:05d}.txt" for number in range(n_blocks)]


def write_labels(path: Path, labels: Array) -> None:
    """Write one label per line."""
    write_atomically(path, "".join(f"{label}\n" for label in labels.tolist()).encode())


def write_index(folder: Path, names: list[str], paths: list[Path], rows: list[int]) -> Path:
    """Write the index, and remove files of earlier predictions that had more blocks."""
    for path in folder.iterdir():
        if _BLOCK_NAME.fullmatch(path.name) and path not in paths:
            path.unlink()
    files = [{"file": path.name, "rows": size, "block": name} for path, size, name in zip(paths, rows, names, strict=True)]
    index = {"format": INDEX_FORMAT, "rows": sum(rows), "files": files}
    write_atomically(folder / INDEX_NAME, (json.dumps(index, indent=1, ensure_ascii=False) + "\n").encode())
    return folder / INDEX_NAME
