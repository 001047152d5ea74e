"""Recordings within the time limit of the server."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_page import FILES, data_of

from rosenblatt.cli import main
from rosenblatt.studio import recorder
from rosenblatt.studio.page_data import export_page, open_page, record_request
from rosenblatt.studio.recorder import Recorder
from rosenblatt.studio.run_request import RequestError, TimeLimitError

REQUEST = {"points": [[0, 0], [1, 0], [0, 1]], "labels": [0, 1, 1], "algorithm": "pocket", "knobs": {}}


@pytest.fixture
def slow_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker whose first answer takes too long."""
    asked = []

    class Worker(recorder.Worker):
        def ask(self, job: tuple[Any, ...], timeout: float | None = None) -> Any:
            asked.append(job)
            return super().ask(job, -1.0 if len(asked) == 1 else None)

    monkeypatch.setattr(recorder, "Worker", Worker)
    return iter([None])


def test_a_recording_is_the_one_of_this_process() -> None:
    with Recorder() as record:
        there, here = record(REQUEST), record_request(REQUEST)
        assert there["run"].pop("seconds") > 0 < here["run"].pop("seconds")
        assert json.dumps(there) == json.dumps(here)
        with pytest.raises(RequestError, match="unknown algorithm 'pocked'; did you mean 'pocket'"):
            record(REQUEST | {"algorithm": "pocked"})
        assert record(REQUEST)["run"]["updates"] > 0
        assert record.n_stopped == 0


def test_a_run_that_takes_too_long_is_stopped(slow_once: None) -> None:
    with Recorder() as record:
        with pytest.raises(TimeLimitError, match=r"^This run was stopped after 20 seconds, the time limit\. Use fewer points"):
            record(REQUEST)
        assert record(REQUEST)["run"]["updates"] > 0
        assert record.n_stopped == 1


def test_a_process_that_dies_is_reported() -> None:
    with Recorder() as record:
        record(REQUEST)
        assert record._worker is not None
        record._worker.kill()
        with pytest.raises(RequestError, match="ended unexpectedly"):
            record(REQUEST)
        assert record(REQUEST)["run"]["updates"] > 0


def test_a_server_opens_without_a_run_that_takes_too_long_and_an_export_leaves_out_others(slow_once: None) -> None:
    with Recorder() as record:
        assert open_page("server", record=record)["recordings"] == []
    stopped: list[str] = []

    def stop_others(request: dict[str, Any]) -> dict[str, Any]:
        if request["algorithm"] in ("perceptron", "arow") and request["degree"] == 1:
            return {"request": request}
        stopped.append(request["algorithm"])
        raise TimeLimitError("This run was stopped")

    page = export_page(record=stop_others)
    assert {each["request"]["algorithm"] for each in page["recordings"]} == {"perceptron", "arow"}
    assert "soft-margin" in stopped
    with pytest.raises(TimeLimitError):
        export_page(state={"runs": [{"algorithm": "pocket"}]}, record=stop_others)


def test_the_command_says_what_an_export_has_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.studio.html_export.page_files", lambda: FILES)
    monkeypatch.setattr("rosenblatt.studio.page_data._export_requests", lambda page, start: [REQUEST | {"degree": 2}])
    where = tmp_path / "page.html"

    class Slow(Recorder):
        def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
            self._seconds = -1.0 if "degree" in request and request["degree"] == 2 else 60.0
            return super().__call__(request)

    monkeypatch.setattr(recorder, "Recorder", Slow)
    found = CliRunner().invoke(main, ["studio", "--export", str(where)])
    assert (found.exit_code, found.stderr.splitlines()[-1]) == (0, "left out: 1 run that took longer than 20 seconds")
    assert len(data_of(where.read_text())["recordings"]) == 1
    where.unlink()
    monkeypatch.setattr(recorder, "Recorder", functools.partial(Recorder, seconds=-1.0))
    found = CliRunner().invoke(main, ["studio", "--export", str(where)])
    assert found.exit_code == 2
    assert "This run was stopped after" in found.stderr
    assert not where.exists()
