"""The files of the page: all that there are, read at once, so that nothing else can ever be served."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


def page_files(folder: Path = PAGE) -> dict[str, bytes]:
    """What a browser may ask for, by its path in the page: "index.html", "model/state.js", ..."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
