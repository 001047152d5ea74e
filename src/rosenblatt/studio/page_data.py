"""The data that a page opens with: menu, presets, tour, first state, and recordings of the runs that it will request."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import __version__
from .arrays import unpack
from .menu import menu
from .presets import presets
from .proof import prove
from .recording import run
from .run_request import RequestError, TimeLimitError
from .tour import TOUR

Request = dict[str, Any]
Record = Callable[[Request], dict[str, Any]]

MODES = ("server", "export", "notebook")
# The first state of a page without a state of its own.
PRESET, ALGORITHM = "separable", "perceptron"
# The page compares an algorithm with the first of these that is another one. An export has both on every preset.
COMPARED = ("soft-margin", ALGORITHM)
BOX_PADDING = 0.12  # padding around the points, as a share of their extent


def page_data(
    mode: str,
    *,
    table: Mapping[str, Any] | None = None,
    state: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the data of a page, without recordings.

    Parameters
    ----------
    mode : {"server", "export", "notebook"}
        An export plays recordings only; the other modes compute runs on request.
    table : mapping, default=None
        The table of a file, see `page_table.py`.
    state : mapping, default=None
        The first state of the page; missing fields get their defaults.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    return {
        "version": __version__,
        "mode": mode,
        "menu": menu(),
        "compared": list(COMPARED),
        "presets": presets(),
        "tour": TOUR,
        "table": table,
        "state": state,
        "recordings": [],
    }


# --- Requests of a state


def requests_of(page: Mapping[str, Any], state: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the requests that the page makes in a state: one for each algorithm, with all of its knobs."""
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
    """Return the first points of a page with a table: its two columns, or its principal components.

    Six digits are more than a screen shows, and keep links short.
    """
    columns = table["columns"] if len(table["columns"]) == 2 else table["components"]
    x, y = ([float(f"{value:.6g}") for value in unpack(column["values"]).tolist()] for column in columns)
    points = [list(point) for point in zip(x, y, strict=True)]
    return {
        "points": points, "labels": list(table["labels"]), "names": list(table["names"]), "box": [*_padded(x), *_padded(y)],
        "axes": [column["name"] for column in columns],
    }  # fmt: skip


def _padded(values: list[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    padding = BOX_PADDING * (high - low) or max(1.0, 0.1 * abs(low))
    return [low - padding, high + padding]


def _knobs(page: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return all knobs of an algorithm as the page sends them; they are checked when they are used."""
    known = _named(page["menu"], chosen["algorithm"], "algorithm")["knobs"]
    return {knob["name"]: knob["default"] for knob in known} | dict(chosen.get("knobs", {}))


def _named(entries: list[Any], name: str, kind: str) -> Any:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise RequestError(f"unknown {kind} {name!r}; choose one of {', '.join(entry['name'] for entry in entries)}")


# --- Pages with recordings


def record_request(request: Request) -> dict[str, Any]:
    """Return run and proof of a request."""
    return {"request": request, "run": run(request), "proof": prove(request)}


def open_page(
    mode: str,
    table: dict[str, Any] | None = None,
    state: Mapping[str, Any] | None = None,
    record: Record = record_request,
) -> dict[str, Any]:
    """Return a page with the recordings of its first state; raise `RequestError` if the state is not valid.

    A run that `record` stops at a time limit is left out: the page requests it again and shows why it has no result.
    """
    start = starting_state(table, state)
    page = page_data(mode, table=table, state=start)
    return {**page, "recordings": _recorded(requests_of(page, start), record, TimeLimitError)}


def export_page(
    table: dict[str, Any] | None = None, state: Mapping[str, Any] | None = None, record: Record = record_request
) -> dict[str, Any]:
    """Return a page that works without Python: it has recordings for its menu, its presets and its tour.

    Algorithms that cannot learn from the points, or not in time, are left out, unless the first state has them.
    """
    start = starting_state(table, state)
    page = page_data("export", table=table, state=start)
    first = requests_of(page, start)
    recordings = [record(request) for request in first]
    return {**page, "recordings": recordings + _recorded(_others(page, start, first), record, RequestError)}


def starting_state(table: dict[str, Any] | None, state: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the first state; with a table it contains the table's points, standardized since columns may differ in units."""
    if table is None:
        return None if state is None else dict(state)
    return {"data": data_of(table), "scaled": True, **(state or {})}


def _recorded(requests: Iterable[Request], record: Record, left_out: type[RequestError]) -> list[dict[str, Any]]:
    """Return the recordings of requests, except of those that raise `left_out`."""
    found = []
    for request in requests:
        with contextlib.suppress(left_out):
            found.append(record(request))
    return found


def _others(page: Mapping[str, Any], start: Mapping[str, Any] | None, first: list[Request]) -> Iterator[Request]:
    """Return the other requests of an export, each once."""
    yield from _without_known(_export_requests(page, start or {}), first)


def _export_requests(page: Mapping[str, Any], start: Mapping[str, Any]) -> Iterator[Request]:
    """Return every algorithm on the first state, some on every preset, and the tour with the runs it suggests."""
    for algorithm in page["menu"]:
        yield from requests_of(page, {**start, "runs": [{"algorithm": algorithm["name"]}]})
    some = [*(start.get("runs") or []), *({"algorithm": name} for name in COMPARED)]
    for preset in page["presets"]:
        for degree in sorted({1, preset["degree"]}):
            yield from requests_of(page, {"data": {"preset": preset["name"]}, "degree": degree, "runs": some})
    for step in page["tour"]:
        yield from requests_of(page, step["state"])
        yield from requests_of(page, step["state"] | (step["then"] or {}))


def _without_known(requests: Iterable[Request], known: list[Request]) -> Iterator[Request]:
    seen = {_frozen(request) for request in known}
    for request in requests:
        if (key := _frozen(request)) not in seen:
            seen.add(key)
            yield request


def _frozen(value: object) -> Any:
    """Return a hashable copy; 1.0 equals 1, as on the page."""
    if isinstance(value, dict):
        return tuple(sorted((name, _frozen(each)) for name, each in value.items()))
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
