"""`rosenblatt studio`: a page in the browser that shows algorithms learning."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import webbrowser
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from ..catalog import ALGORITHMS
from .console import Failure, check_writable, note
from .options import about_data, options_of

if TYPE_CHECKING:
    from ..data.read_options import Options


@click.command("studio")
@click.argument("data", metavar="[DATA]", required=False)
@click.option("-a", "--algorithm", type=click.Choice(list(ALGORITHMS)), metavar="NAME",
              help=f"The one to start with: {', '.join(ALGORITHMS)}.")  # fmt: skip
@click.option("--set", "knobs", multiple=True, metavar="KNOB=VALUE", help="Its knobs, for example margin=0.5 or w_max=none.")
@click.option("--host", default="127.0.0.1", show_default=True, help="An address of this machine to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="0: any free one.  [default: 8531, or the next free one]")
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option("--export", "exported", metavar="FILE.html", help="Write the page as one file that works offline, and end.")
@about_data
def command(data: str | None, **given: Any) -> None:
    """Watch an algorithm find its plane, step by step, forwards and backwards, in the browser.

    Serves a page on this machine until Ctrl-C: place points, or give DATA to see it in two of its columns or its principal
    components. Needs pip install 'rosenblatt[serve]'; --export does not.

    \b
    Examples:
      rosenblatt studio
      rosenblatt studio example:iris --algorithm soft-margin --set C=10
      rosenblatt studio --export page.html
    """

    run(data, options_of(given), given)


# --- What `studio` does.

PATIENCE = 1.0  # seconds after which a person is told what is waited for


def run(data: str | None, options: Options, given: dict[str, Any]) -> None:
    state = _state(given["algorithm"], given["knobs"])
    if data is not None:
        check_there(data)
    if given["exported"] is not None:
        _export(given["exported"], data, options, state)
        return
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise Failure("the studio is served by starlette and uvicorn: pip install 'rosenblatt[serve]'; --export needs neither")
    from ..studio.server.server import listening, url_of

    with listening(given["host"], given["port"]) as sockets:  # before the work, since a port may be taken
        with _told("loading compiled code; the first time after an update takes a while ..."):
            from ..studio.export import page_files
            from ..studio.page_data import open_page
            from ..studio.server.server import Server, serve

            server = Server(page_files(), open_page("server", _table(data, options), state), sockets, warn=note)
        where = url_of(sockets)

        def ready() -> None:
            click.echo(where)
            if not given["no_browser"]:
                threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
                note("Ctrl-C ends it")

        serve(server, ready)


def _export(path: str, data: str | None, options: Options, state: dict[str, Any] | None) -> None:
    check_writable(path, data, ending=".html")
    from ..models.atomic_file import check_folder, write_atomically

    check_folder(path)
    from ..studio.export import export

    with _told("recording the runs ..."):
        page = export(_table(data, options), state).encode()
    write_atomically(path, page)
    note(f"{path}: {len(page):,} bytes")


def check_there(data: str) -> None:
    """A word on what does not exist need not wait until all is loaded."""
    if data.startswith("example:"):
        from ..data.readers.examples import asked_for

        asked_for(data)
    elif data != "-" and not os.path.exists(data):
        raise Failure(f"{data}: there is no such file")


def _table(data: str | None, options: Options) -> dict[str, Any] | None:
    if data is None:
        return None
    from ..studio.table import table_of_data

    return table_of_data(data, options)


def _state(algorithm: str | None, knobs: tuple[str, ...]) -> dict[str, Any] | None:
    """Where the page starts, as far as something was said about it."""
    if algorithm is None and not knobs:
        return None
    found = {}
    for each in knobs:
        name, equals, value = each.partition("=")
        if not equals:
            raise click.UsageError(f"--set wants a knob and its value, for example margin=0.5, got {each!r}")
        found[name.strip()] = _value(value.strip())
    from ..studio.request import check_knobs

    check_knobs(algorithm or "perceptron", found)  # before all is loaded, which takes seconds
    return {"runs": [{"algorithm": algorithm or "perceptron", "knobs": found}]}


def _value(text: str) -> Any:
    """A number, true, false, none, a list of numbers, or else a word."""
    if text.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[text.lower()]
    with contextlib.suppress(ValueError):
        return json.loads(text)
    return text


@contextlib.contextmanager
def _told(sentence: str) -> Any:
    """Say what is going on, where it takes longer than a second."""
    timer = threading.Timer(PATIENCE, note, (sentence,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
