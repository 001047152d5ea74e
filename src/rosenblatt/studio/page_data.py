"""Everything the page begins with: the menu, the presets, the tour, and what was opened with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import __version__
from .menu import menu
from .presets import presets
from .tour import TOUR

MODES = ("server", "export", "notebook")


def page_data(
    mode: str,
    *,
    table: Mapping[str, Any] | None = None,
    state: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """
    mode : server, notebook: runs are computed when asked for; export: only recordings are played
    table : rows of a file, see `table.py`
    state : where the page begins, in part
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    return {
        "version": __version__,
        "mode": mode,
        "menu": menu(),
        "presets": presets(),
        "tour": TOUR,
        "table": table,
        "state": state,
        "recordings": [],
    }
