"""Everything the page begins with: the menu, the presets, the tour, and what was opened with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import __version__
from .arrays import unpacked
from .menu import menu, presets
from .proof import prove
from .recording import run
from .request import RequestError
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


# --- The requests that the page makes in a state, so that their answers can be there before it asks.

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


# --- The data that a page opens with: its menu, its presets, where it starts, and recordings of what it will ask for.

Request = dict[str, Any]
# What an export has of every preset: the first algorithm of the menu, and the one that the page compares with.
COMPARED = [{"algorithm": "perceptron"}, {"algorithm": "soft-margin"}]


def opened(mode: str, table: dict[str, Any] | None = None, state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A page whose first picture is inside; what is wrong with its state is a RequestError."""
    start = started(table, state)
    page = page_data(mode, table=table, state=start)
    return {**page, "recordings": [recorded(request) for request in requests_of(page, start)]}


def exported(table: dict[str, Any] | None = None, state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A page for which nobody computes: whatever its menu and its tour lead to at first is inside."""
    start = started(table, state)
    page = page_data("export", table=table, state=start)
    first = requests_of(page, start)
    recordings = [recorded(request) for request in first]
    recordings += [found for request in _others(page, start, first) if (found := _possible(request)) is not None]
    return {**page, "recordings": recordings}


def started(table: dict[str, Any] | None, state: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The state to start in: of a table, its points are in it, so that there is one opinion on which they are. Its columns may
    differ in their units, and are standardised."""
    if table is None:
        return None if state is None else dict(state)
    return {"data": data_of(table), "scaled": True, **(state or {})}


def recorded(request: Request) -> dict[str, Any]:
    return {"request": request, "run": run(request), "proof": prove(request)}


def _possible(request: Request) -> dict[str, Any] | None:
    """Not every algorithm can learn from all data; the page says so when it is asked to."""
    try:
        return recorded(request)
    except RequestError:
        return None


def _others(page: Mapping[str, Any], start: Mapping[str, Any] | None, first: list[Request]) -> Iterator[Request]:
    """All others worth recording, each once."""
    yield from _new(_wanted(page, start or {}), first)


def _wanted(page: Mapping[str, Any], start: Mapping[str, Any]) -> Iterator[Request]:
    """Every algorithm where the page starts, the first and two more on every preset, and all of the tour with what
    it proposes to try."""
    for algorithm in page["menu"]:
        yield from requests_of(page, {**start, "runs": [{"algorithm": algorithm["name"]}]})
    some = [*(start.get("runs") or []), *COMPARED]
    for preset in page["presets"]:
        for degree in sorted({1, preset["degree"]}):
            yield from requests_of(page, {"data": {"preset": preset["name"]}, "degree": degree, "runs": some})
    for step in page["tour"]:
        yield from requests_of(page, step["state"])
        yield from requests_of(page, step["state"] | (step["then"] or {}))


def _new(requests: Iterable[Request], known: list[Request]) -> Iterator[Request]:
    seen = {_frozen(request) for request in known}
    for request in requests:
        if (key := _frozen(request)) not in seen:
            seen.add(key)
            yield request


def _frozen(value: Any) -> Any:
    """Equal for equal requests, and 1.0 is 1, as for the page."""
    if isinstance(value, dict):
        return tuple(sorted((name, _frozen(each)) for name, each in value.items()))
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
