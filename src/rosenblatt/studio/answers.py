"""Answers to the page, independent of the transport: a server over HTTP, or a notebook by messages."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn
from urllib.parse import parse_qs

from ..reporting.text import plural
from .page_table import table_of_bytes
from .proof import prove
from .recording import run
from .run_request import RequestError

HANDLERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"/api/run": run, "/api/proof": prove}
TABLE_PATH = "/api/table"
MAX_INTEGER_DIGITS = 400  # longer integers are larger than any float


class Outcome(NamedTuple):
    """Status and body of a response over HTTP, and the traceback of an internal error."""

    status: int
    body: bytes
    traceback: str = ""


def answer(path: str, body: bytes, name: str = "", label: str | None = None) -> Outcome:
    """Answer a JSON request, or a file with the table in it; `name` and `label` are the file's."""
    try:
        found = table_of_bytes(name, body, label) if path == TABLE_PATH else HANDLERS[path](decode_json(body))
        return Outcome(200, encode_json(found))
    except RequestError as error:
        return Outcome(400, encode_json(error_json(error)))
    except Exception as error:
        return Outcome(500, encode_json({"error": internal_error(error)}), "".join(traceback.format_exception(error)).rstrip())


def answer_message(message: Any, buffers: Sequence[Any] = ()) -> dict[str, Any]:
    """Answer a message of a page in a notebook, with the message's view and id; a file comes as a buffer."""
    known = {name: message.get(name) for name in ("view", "id")} if isinstance(message, dict) else {}
    try:
        return known | {"answer": _handle_message(message, buffers)}
    except RequestError as error:
        return known | error_json(error)
    except Exception as error:
        return known | {"error": internal_error(error)}


def _handle_message(message: Any, buffers: Sequence[Any]) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise RequestError("a message must be an object with a path, {...}")
    path, _, query = str(message.get("path")).partition("?")
    if path == TABLE_PATH and len(buffers) == 1:
        given = {name: values[0] for name, values in parse_qs(query).items()}
        return table_of_bytes(given.get("name", "table.csv"), bytes(buffers[0]), given.get("label") or None)
    if path not in HANDLERS or not isinstance(message.get("body"), dict):
        raise RequestError(f"unknown path {path[:60]!r}, or a body that does not belong to it")
    return HANDLERS[path](message["body"])


def error_json(error: RequestError) -> dict[str, Any]:
    """Return an error for the page."""
    return {"error": str(error)} | ({"headers": error.headers} if error.headers else {})


def internal_error(error: Exception) -> str:
    """Return the message for an unexpected exception."""
    return f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"


# --- JSON


def decode_json(body: bytes) -> dict[str, Any]:
    """Parse a JSON object with finite numbers; raise `RequestError` otherwise."""
    try:
        found = json.loads(body.decode(), parse_constant=_refuse_constant, parse_float=_parse_float, parse_int=_parse_int)
    except UnicodeDecodeError as error:
        raise RequestError(f"the request is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise RequestError("the request is nested too deeply") from None
    except ValueError as error:
        raise RequestError(f"the request is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise RequestError("the request is not an object, {...}")
    return found


def encode_json(value: dict[str, Any]) -> bytes:
    """Return compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _parse_int(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS:
        raise ValueError(f"a number of {plural(len(text), 'digit')} is too large")
    return int(text)


def _parse_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large")
    return value
