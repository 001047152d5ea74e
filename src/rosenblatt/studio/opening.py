"""The data that a page opens with: its menu, its presets, where it starts, and recordings of what it will ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .asking import data_of, requests_of
from .page_data import page_data
from .proof import prove
from .recording import run
from .request import RequestError

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
