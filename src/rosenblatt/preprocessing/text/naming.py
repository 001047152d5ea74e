"""Which text stands for a hashed column: the first one met, of so many columns at most."""

from __future__ import annotations

import numpy as np

from ...kernels.text.hashing import Names
from .blocks import Room

NO_NAMES = Names(np.zeros(0, np.uint8), np.zeros(1, np.uintp), np.zeros(1, np.uintp), np.zeros(1, np.uint8))


class Naming:
    """Puts names into the dictionary `kept`, until it has `most`."""

    def __init__(self, kept: dict[int, str], most: int, columns: int) -> None:
        self.kept, self.most = kept, most
        self._seen = np.zeros(columns if len(kept) < most else 0, np.uint8)
        if len(self._seen):
            self._seen[list(kept)] = 1

    def names(self, room: Room, count: int, size: int) -> Names:
        """Room for the names of a block: at most `count` with `size` bytes."""
        if len(self.kept) >= self.most:
            return NO_NAMES
        stops = room.array("stops", count + 1, np.uintp)
        stops[0] = 0
        return Names(self._seen, room.array("columns", count, np.uintp), stops, room.array("names", size, np.uint8))

    def keep(self, names: Names, noted: int) -> None:
        noted = min(noted, self.most - len(self.kept))
        raw, stops = names.text[: int(names.stops[noted])].tobytes(), names.stops[: noted + 1].tolist()
        for place, column in enumerate(names.columns[:noted].tolist()):
            self.kept[column] = raw[stops[place] : stops[place + 1]].decode(errors="replace")
