"""What Python answers to the page, whoever carries the words: a server, or a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from urllib.parse import parse_qs

from .proof import prove
from .recording import run
from .request import RequestError
from .table import table_of_bytes

COMPUTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"/api/run": run, "/api/proof": prove}
TABLE = "/api/table"


def answer(path: str, body: bytes) -> bytes:
    """The answer to a request in JSON, as JSON; what is wrong with it is a RequestError."""
    return written(COMPUTED[path](parsed(body)))


def table(name: str, body: bytes, label: str | None = None) -> bytes:
    """The table in a file, as JSON."""
    return written(table_of_bytes(name, body, label))


def told(error: RequestError) -> dict[str, Any]:
    """What is wrong with a request, for the page."""
    return {"error": str(error)} | ({"headers": error.headers} if error.headers else {})


def reply(asked: Any, buffers: Sequence[Any] = ()) -> dict[str, Any]:
    """The answer to a message of a page in a notebook, with what the messenger knows it by; a file comes as a buffer."""
    known = {name: asked.get(name) for name in ("view", "id")} if isinstance(asked, dict) else {}
    try:
        return known | {"answer": _answered(asked, buffers)}
    except RequestError as error:
        return known | told(error)
    except Exception as error:
        return known | {"error": fault(error)}


def _answered(asked: Any, buffers: Sequence[Any]) -> dict[str, Any]:
    if not isinstance(asked, dict):
        raise RequestError("a message must be an object with a path, {...}")
    path, _, query = str(asked.get("path")).partition("?")
    if path == TABLE and len(buffers) == 1:
        said = {name: values[0] for name, values in parse_qs(query).items()}
        return table_of_bytes(said.get("name", "table.csv"), bytes(buffers[0]), said.get("label") or None)
    if path not in COMPUTED or not isinstance(asked.get("body"), dict):
        raise RequestError(f"nothing is known of {path[:60]!r} with such a body")
    return COMPUTED[path](asked["body"])


def fault(error: Exception) -> str:
    """What went wrong here, in a sentence."""
    return f"a fault of ours: {type(error).__name__}: {' '.join(str(error).split())}"


def parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body.decode(), parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except UnicodeDecodeError as error:
        raise RequestError(f"the request is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise RequestError("the request is nested too deeply") from None
    except ValueError as error:
        raise RequestError(f"the request is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise RequestError("the request is not an object, {...}")
    return found


def written(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _whole(text: str) -> int:
    if len(text) > 400:  # beyond all floats
        raise ValueError(f"a number of {len(text):,} digits is too large")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large")
    return value
