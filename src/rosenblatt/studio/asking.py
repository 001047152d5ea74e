"""The requests that the page makes in a state, so that their answers can be there before it asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .arrays import unpacked
from .request import RequestError

# What the page starts with where nothing is said.
PRESET, ALGORITHM = "separable", "perceptron"
AIR = 0.12  # around the points, as a share of their extent


def requests_of(page: Mapping[str, Any], state: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """One for each algorithm that a state compares, with all of its knobs."""
    state = state or {}
    data = state.get("data") or {"preset": PRESET}
    points = _named(page["presets"], data["preset"], "preset") if "preset" in data else data
    return [
        {
            "points": points["points"],
            "labels": points["labels"],
            "algorithm": chosen["algorithm"],
            "knobs": _knobs(page, chosen),
            "degree": state.get("degree", 1),
            "scaled": state.get("scaled", False),
            "seed": state.get("seed", 0),
        }
        for chosen in state.get("runs") or [{"algorithm": ALGORITHM}]
    ]


def data_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The points that the page starts with where it has a table: its two columns, or its principal components; in six digits,
    which are more than a screen shows and keep links short."""
    columns = table["columns"] if len(table["columns"]) == 2 else table["components"]
    x, y = ([float(f"{value:.6g}") for value in unpacked(column["values"]).tolist()] for column in columns)
    points = [list(point) for point in zip(x, y, strict=True)]
    return {
        "points": points, "labels": list(table["labels"]), "names": list(table["names"]), "box": [*_side(x), *_side(y)],
        "axes": [column["name"] for column in columns],
    }  # fmt: skip


def _side(values: list[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    air = AIR * (high - low) or max(1.0, 0.1 * abs(low))
    return [low - air, high + air]


def _knobs(page: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """All of an algorithm's, as the page sends them; what is wrong with one is said where it is used."""
    known = _named(page["menu"], chosen["algorithm"], "algorithm")["knobs"]
    return {knob["name"]: knob["default"] for knob in known} | dict(chosen.get("knobs", {}))


def _named(all_of_them: list[Any], name: str, what: str) -> Any:
    for each in all_of_them:
        if each["name"] == name:
            return each
    raise RequestError(f"there is no {what} {name!r}; there are {', '.join(each['name'] for each in all_of_them)}")
