"""The page as one file that works from a disk, without a network and without Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .bundle import bundle
from .files import page_files
from .opening import exported


def export(table: dict[str, Any] | None = None, state: Mapping[str, Any] | None = None) -> str:
    """HTML with the recorded runs inside: all algorithms on the starting data, some on all presets, and the tour's."""
    return bundle(page_files(), exported(table, state))
