"""`rosenblatt studio`: the file that it writes, the address that it prints, and what it refuses in one line."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_page import FILES, data_of
from studio_serving import is_refused

from effort import in_time, soon
from rosenblatt.cli import main
from rosenblatt.studio.html_export import PAGE

needs_page = pytest.mark.skipif(not (PAGE / "index.html").is_file(), reason="needs the page")


def studio(*arguments: Any) -> tuple[int, str, str]:
    found = CliRunner().invoke(main, ["studio", *map(str, arguments)])
    assert found.exit_code != 70, found.stderr
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.studio.html_export.page_files", lambda: FILES)


@pytest.mark.slow
def test_an_export_is_one_file_with_its_runs_inside(tmp_path: Path, small: None) -> None:
    where, data = tmp_path / "page.html", tmp_path / "two.csv"
    data.write_text("x,y,class\n" + "".join(f"{n},{n * n},{'<b>' if n % 2 else 'a'}\n" for n in range(12)))
    code, out, err = studio(data, "--export", where, "--algorithm", "pocket", "--set", "margin=0.5")
    assert (code, out) == (0, "")
    assert str(where) in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "two.csv"]
    page = data_of(where.read_text())
    assert page["mode"] == "export"
    assert page["state"]["runs"] == [{"algorithm": "pocket", "knobs": {"margin": 0.5}}]
    first = page["recordings"][0]
    assert (first["request"]["algorithm"], first["request"]["knobs"]["margin"]) == ("pocket", 0.5)
    recorded = {each["request"]["algorithm"] for each in page["recordings"]}
    assert recorded == {each["name"] for each in page["menu"]}
    assert page["table"]["rows"] == 12  # it begins with the rows of the file
    start = page["state"]["data"]
    assert sorted(start["points"]) == [[n, n * n] for n in range(12)]
    assert start["names"] == ["<b>", "a"]
    assert page["recordings"][0]["request"]["points"] == start["points"]
    assert start["box"][0] < 0 < 11 < start["box"][1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such-file.csv", "--export", "page.html"], "no-such-file.csv"),
        (["no-such-file.csv"], "no-such-file.csv"),
        (["--export", "page.txt"], "must end with .html"),
        (["--export", "none/page.html"], "there is no folder none"),
        (["--algorithm", "perceptrom"], "unknown algorithm 'perceptrom'; did you mean 'perceptron'?"),
        (["--set", "margin", "--export", "page.html"], "--set needs KNOB=VALUE"),
        (["--set", "margni=1", "--export", "page.html"], "margni"),
        (["--set", "margin=wide", "--export", "page.html"], "margin must be a number"),
        (["--set", "start=[1,2", "--export", "page.html"], "start must be"),
        (["--set", "margin=-1"], "margin must be"),
        (["--algorithm", "soft-margin", "--set", "margin=1"], "soft-margin has no knob 'margin'"),
        (["--set", "max_passes=3"], "perceptron has no knob 'max_passes'; use max_iter\n"),
        (["--algorithm", "ridge", "--set", "ridge=3"], "ridge has no knob 'ridge'; use alpha\n"),
        (["--set", "ridge=3"], "perceptron has no knob 'ridge'\n"),
        (["--set", "keep=vote"], "perceptron has no knob 'keep'; use --algorithm\n"),
        (["example:nothing"], "unknown example 'nothing'"),
        (["--export", "/proc/page.html"], "/proc/page.html: cannot be written"),
        (["--host", "0.0.0.0"], "other machines"),
        (["--host", "no.such.host.invalid"], "unknown host"),
        (["--port", "65536"], "65536"),
        (["--port", "x"], "'x'"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rosenblatt.studio.server.serve", lambda *_: 1 / 0)  # it must not come to that
    code, out, err = studio("--no-browser", *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert sentence in err
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = studio("--port", port, "--no-browser")
    assert (code, err) == (2, f"rosenblatt: cannot listen on 127.0.0.1 port {port}: address already in use\n")


def test_without_starlette_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr("rosenblatt.cli.studio.find_spec", lambda name: None if name == "starlette" else there(name))
    code, _, err = studio("--no-browser")
    assert code == 2
    assert "pip install 'rosenblatt[serve]'" in err


def test_a_knob_may_be_a_number_a_word_or_nothing() -> None:
    from rosenblatt.cli.studio import _first_state

    options = ("C=10", "order=permuted", "max_updates=none", "fit_intercept=False", "start=[1, 2, 3]", "schedule=1/k")
    assert _first_state("soft-margin", options) == {
        "runs": [
            {
                "algorithm": "soft-margin",
                "knobs": {
                    "C": 10, "order": "permuted", "max_updates": None, "fit_intercept": False, "start": [1, 2, 3],
                    "schedule": "1/k",
                },
            }
        ]
    }  # fmt: skip
    assert _first_state(None, ()) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["--set", "nope=1"], ["--set", "margin=abc"], ["none.csv"], ["example:nothing"], ["none.csv", "--export", "page.html"],
        ["--export", "/proc/page.html"],
    ],
)  # fmt: skip
def test_a_wrong_option_is_reported_before_anything_heavy_is_loaded(tmp_path: Path, arguments: list[str]) -> None:
    code = f"import sys; from rosenblatt.cli import main\ntry: main(['studio', '--no-browser', *{arguments}])\n"
    code += "except SystemExit as end: print(end.code, *(m for m in ('sklearn', 'numba', 'scipy') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "2\n"
    assert done.stderr.startswith("rosenblatt: ")


def test_help_needs_nothing_heavy() -> None:
    code = "import sys; from rosenblatt.cli import main\ntry: main(['studio', '--help'])\nexcept SystemExit: pass\n"
    heavy = "('sklearn', 'numba', 'numpy', 'starlette', 'uvicorn', 'anywidget')"
    code += f"sys.stdout.write('heavy: ' + ' '.join(m for m in {heavy} if m in sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.endswith("heavy: ")
    assert "rosenblatt studio --export page.html" in out


@pytest.fixture
def process() -> Iterator[Any]:
    command = [sys.executable, "-m", "rosenblatt", "studio", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@needs_page
@pytest.mark.slow
@pytest.mark.parametrize("which", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_it_prints_its_address_answers_and_ends_cleanly(process: Any, which: signal.Signals) -> None:
    url = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
    with urllib.request.urlopen(url, timeout=20) as answer:
        page = data_of(answer.read().decode())
    assert len(page["recordings"]) == 1
    body = json.dumps(page["recordings"][0]["request"]).encode()
    request = urllib.request.Request(f"{url}api/run", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:  # the workers are still being loaded
        assert json.load(answer)["updates"] == page["recordings"][0]["run"]["updates"]
    process.send_signal(which)
    assert process.wait(20) == 0
    assert process.stdout.read() == ""
    assert "Traceback" not in process.stderr.read()


NOTICE = "loading compiled code; this takes longer the first time ...\n"
ENDLESS = """
import functools
import slow_answers
from rosenblatt.studio import server
server.Server = functools.partial(server.Server, handle=slow_answers.answer)
from rosenblatt.cli import main
main(["studio", "--no-browser", "--port", "0"])
"""


@needs_page
@pytest.mark.slow
@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_it_ends_soon_and_without_a_word_while_a_run_computes(times: int, tmp_path: Path) -> None:
    paths = {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | paths
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), 20) as client:
                head = f"POST /api/run HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
                body = json.dumps({"number": 1, "folder": str(tmp_path)})
                client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
                soon((tmp_path / "begun-1").exists)
                start = time.monotonic()
                process.send_signal(signal.SIGINT)
                if times == 2:
                    soon(lambda: is_refused(port))  # the first signal was handled
                    process.send_signal(signal.SIGINT)
                assert process.wait(30) == (0 if times == 1 else -signal.SIGINT)
            assert in_time(time.monotonic() - start, 20)  # the run never ends
            # Its end is that of the last worker. It may have reported that it loads compiled code.
            assert process.stderr.read() in ("", NOTICE)
        finally:
            process.kill()
