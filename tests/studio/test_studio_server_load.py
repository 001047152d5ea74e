"""The studio over real sockets: slow clients, many clients, long runs, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import slow_answers
from small_page import FILES
from studio_serving import PAGE, SMALL, Studio, all_of, is_refused, studio

from effort import in_time, soon
from rosenblatt.studio import answers, preload, worker, worker_pool
from rosenblatt.studio.server import Server, listening
from rosenblatt.studio.worker import serve
from rosenblatt.studio.worker_pool import Places


def test_silent_and_slow_studio_clients_are_cut_off(there: Studio) -> None:
    start = time.monotonic()
    head = f"POST /api/run HTTP/1.1\r\nHost: localhost:{there.port}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n"
    for sent in (b"", b"POST /ap", head.encode(), head.encode() + b'\r\n{"points'):
        assert there.talk(sent).startswith(b"HTTP/1.1 408 "), sent
    assert in_time(time.monotonic() - start, 6)


def test_a_body_that_drips_is_cut_off(there: Studio) -> None:
    with socket.create_connection(("127.0.0.1", there.port), 10) as dripping:
        head = f"POST /api/run HTTP/1.1\r\nHost: localhost:{there.port}\r\nContent-Type: application/json\r\n"
        dripping.sendall(f"{head}Content-Length: 5000\r\n\r\n".encode())
        dripping.settimeout(0.1)
        response = b""
        for _ in range(100):
            with contextlib.suppress(TimeoutError):
                dripping.sendall(b" ")
                response = dripping.recv(100)
                break
        assert response.startswith(b"HTTP/1.1 408 ")


class Slow:
    """Runs that begin, and wait until they are let go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def request(self, number: int, n_points: int = 50, **more: Any) -> dict[str, Any]:
        return {"number": number, "folder": str(self.folder), "points": [[0, 0]] * n_points, **more}

    def begun(self) -> list[int]:
        return sorted(int(path.name.partition("-")[2]) for path in self.folder.glob("begun-*"))

    def process(self, number: int) -> int:
        path = self.folder / f"begun-{number}"
        soon(lambda: path.exists() and path.read_text() != "")
        return int(path.read_text())

    def running(self) -> dict[int, int]:
        """The processes of those that have begun and were not stopped."""
        begun = {number: self.process(number) for number in self.begun()}
        return {number: process for number, process in begun.items() if not has_ended(process)}

    def go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    yield Slow(tmp_path)
    (tmp_path / "go").touch()


def in_threads(calls: list[Callable[[], Any]]) -> tuple[list[threading.Thread], list[Any]]:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda call=call: found.append(call())) for call in calls]
    for thread in threads:
        thread.start()
    return threads, found


def has_ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def send_and_leave(there: Studio, body: bytes) -> socket.socket:
    head = f"POST /api/run HTTP/1.1\r\nHost: localhost:{there.port}\r\nContent-Type: application/json\r\n"
    leaving = socket.create_connection(("127.0.0.1", there.port), 10)
    leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    leaving.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return leaving


def test_some_runs_at_a_time_a_few_wait_and_more_are_refused(slow: Slow) -> None:
    with studio(handle=slow_answers.answer, budget=SMALL._replace(queue=2, slice_seconds=100)) as there:
        calls = [lambda n=n: there.post("/api/run", slow.request(n)) for n in range(4)]
        clients, found = in_threads(calls)
        soon(lambda: len(slow.begun()) == 1 and there.server.app.pool.n_pending == 4)
        refused = there.post("/api/run", slow.request(9))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert there.call("GET", "/").status == 200  # the page is served all the while
        assert len(slow.begun()) == 1
        slow.go()
        for thread in clients:
            thread.join(20)
        assert sorted(each.body["number"] for each in found) == [0, 1, 2, 3]


def test_a_short_run_does_not_wait_for_long_ones(slow: Slow) -> None:
    with studio(handle=slow_answers.answer, budget=SMALL._replace(queue=1, slice_seconds=100)) as there:
        clients, found = in_threads([lambda n=n: there.post("/api/run", slow.request(n)) for n in range(3)])
        soon(lambda: slow.begun() and there.server.app.pool.n_pending == 3)
        assert there.post("/api/run", slow.request(8)).status == 503
        short, answers = in_threads([lambda: there.post("/api/run", slow.request(7, n_points=3))])
        slow.process(7)  # it has begun, while only one of the others has, and the queue is full
        assert len(slow.begun()) == 2
        slow.go()
        for thread in clients + short:
            thread.join(20)
        assert (answers[0].body["number"], len(found)) == (7, 3)


@pytest.mark.parametrize("n_points", [50, 10])
def test_a_run_waits_for_no_more_than_a_slice_of_longer_ones(
    slow: Slow, n_points: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The others are computed again when their turn comes, whether they have many points or few."""
    quick = Slow(tmp_path_factory.mktemp("quick"))
    quick.go()
    budget = SMALL._replace(slice_seconds=0.02, short_slice_seconds=0.02)
    with studio(handle=slow_answers.answer, budget=budget) as there:
        clients, found = in_threads([lambda n=n: there.post("/api/run", slow.request(n, n_points)) for n in range(4)])
        soon(lambda: len(there.server.app.pool._long_runs._waiting) == 3)
        assert there.post("/api/run", quick.request(5, n_points)).body == {"number": 5}
        assert found == []
        soon(lambda: len(slow.running()) == 1)  # those that wait were stopped, maybe before they had begun
        ((moved, process),) = slow.running().items()
        slow.go()
        for thread in clients:
            thread.join(20)
        assert sorted(each.body["number"] for each in found) == [0, 1, 2, 3]
        assert slow.process(moved) == process


def test_three_points_are_answered_within_a_second_whatever_few_points_take(slow: Slow, tmp_path: Path) -> None:
    """Other requests of few points never end, and there are more of them than may wait: those of more points are refused."""
    quick = Slow(tmp_path / "quick")
    quick.folder.mkdir()
    quick.go()
    with studio(handle=slow_answers.answer, budget=SMALL._replace(queue=3), stop_seconds=0.2) as there:
        clients, found = in_threads([lambda n=n: there.post("/api/run", slow.request(n, 10)) for n in range(12)])
        soon(lambda: found or there.server.app.pool.n_pending == 10)
        for number in range(5):
            start = time.monotonic()
            assert there.post("/api/run", quick.request(number, 3)).body == {"number": number}
            assert in_time(time.monotonic() - start, 1.0)
        slow.go()
        for thread in clients:
            thread.join(20)
        assert {200, 503} == {each.status for each in found}


def test_a_run_that_moves_leaves_its_team_complete(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker takes its place at once, and the one that moved ends with its run."""
    with studio(handle=slow_answers.answer, budget=SMALL._replace(short_slice_seconds=0.02)) as there:
        started, start = [], worker_pool.Worker
        monkeypatch.setattr(worker_pool, "Worker", lambda *arguments: started.append(1) or start(*arguments))
        clients, found = in_threads([lambda: there.post("/api/run", slow.request(0, 3))])
        soon(lambda: started)
        assert found == []
        assert os.getpriority(os.PRIO_PROCESS, slow.process(0)) == worker_pool.NICENESS
        slow.go()
        for thread in clients:
            thread.join(20)
        assert found[0].body == {"number": 0}
        soon(lambda: has_ended(slow.process(0)))
        assert len(started) == 1


def test_small_requests_get_places_first() -> None:
    async def order() -> list[int]:
        places, taken = Places(1), []

        async def take(size: int) -> None:
            await places.take(size)
            taken.append(size)
            places.leave()

        await places.take(0)
        tasks = [asyncio.create_task(take(size)) for size in (5, 1, 3, 2, 3, 7)]
        await asyncio.sleep(0)
        assert not places.displace(7)
        assert places.displace(6)  # the largest
        tasks[3].cancel()  # while it waits
        places.leave()
        tasks[1].cancel()  # when it has got a place
        await asyncio.gather(*tasks, return_exceptions=True)
        assert places.take_now()
        assert not places.take_now()
        return taken

    assert asyncio.run(order()) == [3, 3, 5]


def test_workers_are_ready_before_requests_are_accepted(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    slow.go()
    with studio(handle=slow_answers.answer) as there:
        monkeypatch.delattr(worker_pool, "Worker")  # no further one can start
        for number, n_points in enumerate((3, 50)):
            assert there.post("/api/run", slow.request(number, n_points)).body == {"number": number}


def test_what_is_not_compiled_yet_is_compiled_by_a_worker_of_the_lowest_priority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "priority"
    monkeypatch.setattr(worker_pool, "compile_rest", partial(slow_answers.report_priority, report))
    with studio(handle=slow_answers.answer):
        soon(lambda: report.exists() and report.read_text() == str(worker_pool.LOWEST_NICENESS))


def test_all_that_time_has_left_is_run_later(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(preload, "left", [(done.append, "a"), (lambda _: 1 / 0, "b"), (done.append, "c")])
    preload.load_rest(0.0)
    assert done == []
    worker.compile_rest()
    assert (done, preload.left) == (["a", "c"], [])


def test_a_stop_does_not_wait_for_workers_that_start(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(worker_pool, "Worker", lambda *_: never.wait(60))
    with listening(port=0) as sockets:
        server, announced = Server(FILES, PAGE, sockets), []
        running = threading.Thread(target=lambda: asyncio.run(server.run(lambda: announced.append(1))))
        running.start()
        server.stop()
        running.join(20)
        assert (running.is_alive(), announced) == (False, [])
    never.set()


def test_a_worker_that_cannot_start_is_tried_again(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    slow.go()
    monkeypatch.setattr(worker_pool, "RESTART_S", 0.01)
    with studio(handle=slow_answers.answer, budget=SMALL) as there:
        start, failures = worker_pool.Worker, [OSError("no memory"), EOFError()]

        def fail_first(*arguments: Any) -> Any:
            if failures:
                raise failures.pop()
            return start(*arguments)

        monkeypatch.setattr(worker_pool, "Worker", fail_first)
        for number in range(2):  # both that are ready
            assert there.post("/api/run", slow.request(number, 3, dies=True)).status == 503
        assert there.post("/api/run", slow.request(2, 3)).body == {"number": 2}
        assert failures == []


def test_a_run_that_takes_too_long_is_stopped_and_the_next_is_answered(slow: Slow) -> None:
    with studio(handle=slow_answers.answer, budget=SMALL._replace(run_seconds=0.5, slice_seconds=0.1)) as there:
        status, answer, _ = there.post("/api/run", slow.request(0))
        assert status == 503
        assert answer["error"].startswith("This run was stopped after 0.5 seconds, the time limit. Use fewer points")
        soon(lambda: has_ended(slow.process(0)))
        slow.go()
        assert there.post("/api/run", slow.request(1)).body == {"number": 1}


def test_a_run_is_stopped_when_its_client_leaves(slow: Slow) -> None:
    """While it is computed, and while it waits."""
    with studio(handle=slow_answers.answer, budget=SMALL._replace(long_runs=0, slice_seconds=100)) as there:
        computed = send_and_leave(there, json.dumps(slow.request(0)).encode())
        process = slow.process(0)
        waiting = send_and_leave(there, json.dumps(slow.request(1)).encode())
        soon(lambda: there.server.app.pool.n_pending == 2)
        waiting.close()
        soon(lambda: there.server.app.pool.n_pending == 1)
        computed.close()
        soon(lambda: there.server.app.pool.n_pending == 0)
        soon(lambda: has_ended(process))
        slow.go()
        assert there.post("/api/run", slow.request(2)).body == {"number": 2}
        assert slow.begun() == [0, 2]


def test_a_client_that_closes_its_sending_side_still_gets_its_answer(slow: Slow) -> None:
    with studio(handle=slow_answers.answer) as there:
        client = send_and_leave(there, json.dumps(slow.request(0)).encode())
        slow.process(0)
        client.shutdown(socket.SHUT_WR)
        slow.go()
        with client:
            assert b'{"number": 0}' in all_of(client)


def test_a_worker_that_dies_is_reported_and_replaced(slow: Slow) -> None:
    slow.go()
    with studio(handle=slow_answers.answer) as there:
        status, answer, _ = there.post("/api/run", slow.request(0, dies=True))
        assert (status, answer["error"].partition(",")[0]) == (503, "The process that computed this run ended unexpectedly")
        assert there.post("/api/run", slow.request(1)).body == {"number": 1}


def test_a_server_that_ends_leaves_no_worker(slow: Slow) -> None:
    with studio(handle=slow_answers.answer, stop_seconds=0.2) as there:
        clients, _ = in_threads([lambda: there.post("/api/run", slow.request(0))])
        process = slow.process(0)
    soon(lambda: has_ended(process))
    for thread in clients:
        thread.join(20)


def test_a_worker_answers_until_the_connection_is_closed(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    slow.go()
    monkeypatch.setattr("signal.signal", lambda *_: None)
    ours, theirs = multiprocessing.Pipe()
    working = threading.Thread(target=serve, args=(theirs, slow_answers.answer))
    working.start()
    assert ours.recv() == "ready"
    for number in range(2):
        ours.send(("/api/run", json.dumps(slow.request(number)).encode()))
        assert json.loads(ours.recv().body) == {"number": number}
    ours.close()
    working.join(10)
    assert not working.is_alive()


def test_an_internal_error_is_answered_and_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    with studio(handle=slow_answers.broken) as there:
        assert there.post("/api/run", {})[:2] == (500, {"error": "internal error"})
        assert there.faults == ["Traceback of a worker"]
        assert there.call("GET", "/").status == 200
    monkeypatch.setitem(answers.HANDLERS, "/api/run", lambda request: {"x": request["none"]})
    monkeypatch.setitem(answers.HANDLERS, "/api/proof", lambda request: {"x": float("nan")})
    status, body, traceback = answers.answer("/api/run", b"{}")
    assert (status, json.loads(body)) == (500, {"error": "internal error: KeyError: 'none'"})
    assert traceback.startswith("Traceback")
    assert answers.answer("/api/proof", b"{}").status == 500


def test_a_stop_finishes_what_was_begun(slow: Slow) -> None:
    with studio(handle=slow_answers.answer) as there:
        clients, found = in_threads([lambda: there.post("/api/run", slow.request(1))])
        slow.process(1)
        there.server.stop()
        soon(lambda: is_refused(there.port))
        slow.go()
        for thread in clients:
            thread.join(10)
        assert found[0].body == {"number": 1}


def test_a_stop_does_not_wait_for_idle_clients() -> None:
    with studio() as there, socket.create_connection(("127.0.0.1", there.port), 10) as idle:
        idle.sendall(f"GET /main.js HTTP/1.1\r\nHost: localhost:{there.port}\r\n\r\n".encode())
        assert idle.recv(10)
        start = time.monotonic()
        there.server.stop()
        all_of(idle)
        assert in_time(time.monotonic() - start, 2.5)
