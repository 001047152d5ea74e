"""`rosenblatt studio`: a page in the browser that shows an algorithm learning, update by update."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import webbrowser
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from ..catalog import ALGORITHMS
from ..data.readers import is_example
from .console import USE_INSTEAD, Failure, check_writable, echo, has_option, note
from .options import AlgorithmName, WholeNumber, about_data, options_of

if TYPE_CHECKING:
    from ..data.readers import Options


NOTICE_AFTER_S = 1.0  # a slow step is announced after this time


@click.command("studio")
@click.argument("data", metavar="[DATA]", required=False)
@click.option("-a", "--algorithm", type=AlgorithmName(), metavar="NAME",
              help=f"The first algorithm: {', '.join(ALGORITHMS)}.")  # fmt: skip
@click.option(
    "--set", "knobs", multiple=True, metavar="KNOB=VALUE", help="A parameter of it, such as margin=0.5 or w_max=none."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="An address of this machine to listen on.")
@click.option("--port", type=WholeNumber(0, 65535), help="The port; 0: any free one.  [default: 8531, or the next free one]")
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option("--export", "exported", metavar="FILE.html", help="Write the page to a file that works offline, and exit.")
@about_data
def command(data: str | None, **given: Any) -> None:
    """Watch an algorithm learn in the browser, update by update, forward and backward.

    Serves a page on this machine until Ctrl-C. Place points by hand, or pass DATA to see two of its columns or its first two
    principal components. Needs pip install 'rosenblatt[serve]'; --export does not.

    \b
    Examples:
      rosenblatt studio
      rosenblatt studio example:iris --algorithm soft-margin --set C=10
      rosenblatt studio --export page.html
    """
    run(data, options_of(given), given)


def run(data: str | None, options: Options, given: dict[str, Any]) -> None:
    """Serve or export the page."""
    state = _first_state(given["algorithm"], given["knobs"])
    if data is not None:
        check_exists(data)
    if given["exported"] is not None:
        _export(given["exported"], data, options, state)
        return
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise Failure("the studio needs starlette and uvicorn: pip install 'rosenblatt[serve]' (not needed for --export)")
    from ..studio.server import listening, url_of
    from ..studio.worker import prepare

    with listening(given["host"], given["port"]) as sockets:  # first, since the port may be in use
        prepare()
        with contextlib.ExitStack() as loading:
            loading.enter_context(_notice_if_slow("loading compiled code; this takes longer the first time ..."))
            from ..studio.html_export import page_files
            from ..studio.page_data import open_page
            from ..studio.recorder import Recorder
            from ..studio.server import Server, serve

            with Recorder() as record:
                page = open_page("server", _table(data, options), state, record)
            server = Server(page_files(), page, sockets, warn=note)
            address = url_of(sockets)

            def ready() -> None:
                loading.close()
                echo(address)
                if not given["no_browser"]:
                    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
                    note("press Ctrl-C to stop")

            serve(server, ready)


def _export(path: str, data: str | None, options: Options, state: dict[str, Any] | None) -> None:
    check_writable(path, data, ending=".html")
    from ..atomic_file import check_folder, write_atomically
    from ..reporting.text import byte_size, plural, short

    check_folder(path)
    from ..studio.html_export import export
    from ..studio.recorder import Recorder
    from ..studio.worker import RUN_SECONDS

    with _notice_if_slow("recording the runs ..."), Recorder() as record:
        page = export(_table(data, options), state, record).encode()
    write_atomically(path, page)
    note(f"{path}: {byte_size(len(page))}")
    if record.n_stopped:
        note(f"left out: {plural(record.n_stopped, 'run')} that took longer than {short(RUN_SECONDS)} seconds")


def check_exists(data: str) -> None:
    """Raise for missing data before everything is loaded, which takes seconds."""
    if is_example(data):
        from ..data.readers.examples import parse_example

        parse_example(data)
    elif data != "-" and not os.path.exists(data):
        raise Failure(f"{data}: file not found")


def _table(data: str | None, options: Options) -> dict[str, Any] | None:
    if data is None:
        return None
    from ..studio.page_table import table_of_data

    return table_of_data(data, options)


def _first_state(algorithm: str | None, knobs: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the first state of the page from the options, or None."""
    if algorithm is None and not knobs:
        return None
    found = {}
    for each in knobs:
        name, equals, value = each.partition("=")
        if not equals:
            raise click.UsageError(f"--set needs KNOB=VALUE, for example margin=0.5, got {each!r}")
        found[name.strip()] = _value(value.strip())
    from ..studio.run_request import check_knobs

    algorithm = algorithm or "perceptron"
    _check_earlier_names(algorithm, found)
    check_knobs(algorithm, found)  # before everything is loaded, which takes seconds
    return {"runs": [{"algorithm": algorithm, "knobs": found}]}


def _check_earlier_names(algorithm: str, given: dict[str, Any]) -> None:
    """Raise for the name of a former option, with the knob or the option of this command that replaces it, if any."""
    from ..studio.menu import declared_knobs

    known = declared_knobs(ALGORITHMS[algorithm].entry)
    for name in given:
        option = USE_INSTEAD.get(f"--{name.replace('_', '-')}")
        if name in known or option is None:
            continue
        knob = option.removeprefix("--").replace("-", "_")
        hint = f"; use {knob}" if knob in known else f"; use {option}" if has_option(command, option) else ""
        raise Failure(f"{algorithm} has no knob {name!r}{hint}")


def _value(text: str) -> Any:
    """Parse a number, true, false, none or a list of numbers; anything else is a string."""
    if text.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[text.lower()]
    with contextlib.suppress(ValueError):
        return json.loads(text)
    return text


@contextlib.contextmanager
def _notice_if_slow(text: str) -> Iterator[None]:
    """Print a notice if the block takes longer than a second."""
    timer = threading.Timer(NOTICE_AFTER_S, note, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
