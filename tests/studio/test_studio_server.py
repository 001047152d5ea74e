"""The studio over real sockets: its answers, its access rules, and no internal error for any input."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_page import FILES, data_of
from studio_serving import PAGE, REQUEST, Studio

from effort import soon
from rosenblatt.serving.http import _LimitedProtocol
from rosenblatt.serving.sockets import ServeError
from rosenblatt.studio.recording import run
from rosenblatt.studio.server import HEADERS, PORT, listening, url_of

# --- what it answers ---------------------------------------------------------------------------------------------------------


def test_the_page_has_its_data_inside(there: Studio) -> None:
    for path in ("/", "/index.html", "/?x=1"):
        status, page, headers = there.call("GET", path)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert data_of(page.decode()) == PAGE
    assert there.call("GET", "/api/page").body == PAGE


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("style.css", "text/css; charset=utf-8"),
        ("main.js", "text/javascript; charset=utf-8"),
        ("model/numbers.js", "text/javascript; charset=utf-8"),
    ],
)
def test_the_files_of_the_page_are_as_they_are(there: Studio, name: str, kind: str) -> None:
    status, content, headers = there.call("GET", f"/{name}")
    assert (status, content, headers["content-type"]) == (200, FILES[name], kind)
    head = there.call("HEAD", f"/{name}")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(FILES[name])))


def test_a_run_and_a_proof_are_those_of_the_library(there: Studio) -> None:
    status, reply, _ = there.post("/api/run", REQUEST)
    assert status == 200
    expected = json.loads(json.dumps(run(REQUEST)))
    assert {**reply, "seconds": 0} == {**expected, "seconds": 0}
    assert there.post("/api/proof", REQUEST).body["verdict"] == "separable"
    assert there.post("/api/run", REQUEST, content_type="Application/JSON; charset=utf-8").status == 200


def test_a_file_becomes_a_table(there: Studio) -> None:
    csv = b"x,y,class\n" + b"".join(b"%d,%d,%s\n" % (n, n * n, b"ab"[n % 2 : n % 2 + 1]) for n in range(20))
    status, reply, _ = there.call("POST", "/api/table?name=a%20b.csv", csv)
    assert (status, reply["name"], reply["rows"]) == (200, "a b.csv", 20)


def test_the_label_column_may_be_given(there: Studio) -> None:
    csv = b"x,y,kind\n1,2,a\n2,3,b\n3,2,a\n4,3,b\n"
    status, reply, _ = there.call("POST", "/api/table?name=a.csv&label=y", csv)
    assert (status, reply["label"], reply["headers"]) == (200, "y", ["x", "y", "kind"])
    assert there.call("POST", "/api/table?name=a.csv&label=", csv)[1]["label"] == "kind"
    status, reply, _ = there.call("POST", "/api/table?name=a.csv&label=sort", csv)
    assert (status, reply["headers"]) == (400, ["x", "y", "kind"])
    assert "there is no column 'sort'" in reply["error"]


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/page", "/nothing", "/api/run", "/api/table"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_every_answer_forbids_what_the_page_does_not_need(there: Studio, method: str, path: str) -> None:
    headers = there.call(method, path).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert not [name for name in headers if name.lower().startswith("access-control")]
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"


# --- access rules ------------------------------------------------------------------------------------------------------------


def hosts(port: int) -> list[tuple[str, bool]]:
    return [
        (f"localhost:{port}", True), (f"127.0.0.1:{port}", True), (f"[::1]:{port}", True), (f"LOCALHOST:{port}", True),
        ("localhost", False), (f"localhost:{port + 1}", False), (f"evil.example:{port}", False), ("evil.example", False),
        (f"127.0.0.1.evil.example:{port}", False), (f"localhost:{port}@evil.example", False), ("", False),
        (f"localhost:0{port}" + "0" * 9, False), ("localhost:²", False), (f"0.0.0.0:{port}", False),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(14))
def test_only_names_of_this_machine_with_its_port_are_answered(there: Studio, number: int) -> None:
    host, fine = hosts(there.port)[number]
    lines = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert there.talk(lines.encode()).startswith(b"HTTP/1.1 200 " if fine else b"HTTP/1.1 403 ")


def test_a_request_without_a_host_or_with_two_is_refused(there: Studio) -> None:
    for lines in ("GET / HTTP/1.0\r\n\r\n", f"GET / HTTP/1.0\r\nHost: localhost:{there.port}\r\nHost: evil.example\r\n\r\n"):
        assert there.talk(lines.encode()).split()[1] in (b"400", b"403")


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/page", "/api/run", "/nothing"])
def test_every_path_checks_the_host(there: Studio, path: str) -> None:
    for method in ("GET", "POST"):
        status, reply, _ = there.call(method, path, host="evil.example")
        assert status == 403
        assert f"only answers as localhost:{there.port}" in reply["error"]


def test_only_its_own_page_may_send_requests(there: Studio) -> None:
    own = f"http://127.0.0.1:{there.port}"
    assert there.post("/api/run", REQUEST, origin=own).status == 200
    assert there.post("/api/run", REQUEST, origin=own, sec_fetch_site="same-origin").status == 200
    assert there.post("/api/run", REQUEST, sec_fetch_site="none").status == 200
    others = ["http://evil.example", "null", "", f"https://127.0.0.1:{there.port}", "http://127.0.0.1", f"{own}.evil.example"]
    for origin in [*others, f"http://localhost:{there.port}", f"http://127.0.0.1:{there.port + 1}", f"{own}/"]:
        status, reply, _ = there.post("/api/run", REQUEST, origin=origin)
        assert (status, "Origin" in reply["error"]) == (403, True), origin
    twice = f"GET /api/page HTTP/1.1\r\nHost: 127.0.0.1:{there.port}\r\nOrigin: {own}\r\nOrigin: http://evil.example\r\n\r\n"
    assert there.talk(twice.encode()).startswith(b"HTTP/1.1 403 ")
    for site in ("cross-site", "same-site", "anything"):
        status, reply, _ = there.post("/api/run", REQUEST, sec_fetch_site=site)
        assert (status, "Sec-Fetch-Site" in reply["error"]) == (403, True)
        assert there.call("GET", "/main.js", sec_fetch_site=site, sec_fetch_mode="no-cors").status == 403


def test_a_link_to_the_page_is_followed_from_anywhere_but_not_into_a_frame(there: Studio) -> None:
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert there.call("GET", "/", **link).status == 200
    assert there.call("GET", "/", **link | {"sec_fetch_dest": "iframe"}).status == 403
    assert there.call("GET", "/api/page", **link).status == 403
    assert there.post("/api/run", REQUEST, **link).status == 403
    assert there.call("POST", "/", **link).status == 403


def test_only_this_machine_can_be_listened_on() -> None:
    for host in ("0.0.0.0", "::", "8.8.8.8"):
        with pytest.raises(ServeError, match="other machines"), listening(host, 0):
            pass


def test_without_a_port_the_next_free_one_is_taken_and_with_one_it_is_refused() -> None:
    with contextlib.ExitStack() as stack:
        urls = [url_of(stack.enter_context(listening())) for _ in range(2)]
        assert len(set(urls)) == 2
        taken = int(urls[0].rpartition(":")[2].strip("/"))
        assert taken >= PORT
        with pytest.raises(ServeError, match=f"cannot listen on 127.0.0.1 port {taken}: address already in use"):
            stack.enter_context(listening(port=taken))


# --- what it refuses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b'"points"', "not an object"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        ('{"points": "é"}'.encode("latin-1"), "not UTF-8 at byte 12"),
        (b'{"points": NaN}', "NaN is not a number"),
        (b'{"points": [[-Infinity, 0]]}', "-Infinity is not a number"),
        (b'{"points": [[1e999, 0]]}', "1e999 is too large"),
        (b'{"points": ' + b"[" * 9_000 + b"]" * 9_000 + b"}", ""),
        (b"[" * 19_000, "nested too deeply"),
        (b'{"seed": ' + b"9" * 9_000 + b"}", "a number of 9,000 digits is too large"),
        (b"{}", "points"),
        (b'{"points": [[0, 0]], "labels": [0]}', "one class"),
        (b'{"points": 1}', "points"),
        (json.dumps(REQUEST | {"algorithm": "perceptrom"}).encode(), "did you mean 'perceptron'"),
        (json.dumps(REQUEST | {"knobs": {"margin": -1}}).encode(), "margin must be"),
        (json.dumps(REQUEST | {"degree": 6}).encode(), "degree must be"),
    ],
)
@pytest.mark.parametrize("path", ["/api/run", "/api/proof"])
def test_a_bad_request_gets_the_reason(there: Studio, path: str, body: bytes, sentence: str) -> None:
    status, reply, _ = there.post(path, body)
    assert status == 400
    assert list(reply) == ["error"]
    assert sentence in reply["error"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "sentence"),
    [
        ("POST", "/api/run", b"{}", {}, 415, "Content-Type must be application/json"),
        ("POST", "/api/run", b"{}", {"content_type": "text/plain"}, 415, "application/json"),
        ("POST", "/api/run", b"{}", {"content_type": "application/json", "content_encoding": "gzip"}, 415, "Content-Encoding"),
        ("POST", "/api/run", b" " * 20_001, {"content_type": "application/json"}, 413, "larger than 20,000 bytes"),
        ("POST", "/api/proof", iter([b" " * 15_000] * 2), {"content_type": "application/json"}, 413, "larger than 20,000"),
        ("POST", "/api/table?name=a.csv", b"1" * 30_001, {}, 413, "larger than 30,000 bytes"),
        ("POST", "/api/table", b"1,2\n", {}, 400, "name of the file is missing"),
        ("POST", "/api/table?name=", b"1,2\n", {}, 400, "name of the file is missing"),
        ("GET", "/nothing", None, {}, 404, "Not Found"),
        ("POST", "/nothing", b"x", {}, 404, "Not Found"),
        ("GET", "/api/run/", None, {}, 404, "Not Found"),
        ("GET", "/api/run", None, {}, 405, "Method Not Allowed"),
        ("POST", "/", b"", {}, 405, "Method Not Allowed"),
        ("PUT", "/main.js", b"x", {}, 405, "Method Not Allowed"),
        ("OPTIONS", "/api/run", None, {}, 405, "Method Not Allowed"),
        ("GET", "/../server.py", None, {}, 404, "Not Found"),
        ("GET", "/%2e%2e/server.py", None, {}, 404, "Not Found"),
        ("GET", "/model/../../server.py", None, {}, 404, "Not Found"),
        ("GET", "/model/..%2f..%2fserver.py", None, {}, 404, "Not Found"),
        ("GET", "//etc/passwd", None, {}, 404, "Not Found"),
        ("GET", "/model", None, {}, 404, "Not Found"),
        ("GET", "/main.js%00", None, {}, 404, "Not Found"),
    ],
)
def test_a_wrong_request_gets_the_reason(
    there: Studio, method: str, path: str, body: Any, headers: dict[str, str], status: int, sentence: str
) -> None:
    code, reply, _ = there.call(method, path, body, **headers)
    assert code == status
    assert sentence in reply["error"]


@pytest.mark.parametrize(
    "body", [b"", b"\0" * 100, b"\xff" * 100, b"a,b\n1\n", b"x" * 20_000, b"a,b\n" * 3, b"PK\3\4" + b"x" * 99]
)
@pytest.mark.parametrize(
    "name", ["a.csv", "a.parquet", "a.npz", "a.svm.gz", "a.jsonl", "../../etc/passwd", "\0", "a" * 5_000, "example:iris"]
)
def test_a_file_that_cannot_be_read_gets_the_reason(there: Studio, name: str, body: bytes) -> None:
    from urllib.parse import quote

    status, reply, _ = there.call("POST", f"/api/table?name={quote(name)}", body)
    assert status in (200, 400), reply
    assert status == 200 or {"error"} <= set(reply) <= {"error", "headers"}
    assert "root:" not in json.dumps(reply)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["points", "labels", "algorithm", "knobs", "degree", "scaled", "seed", "other"])
KNOBS = st.sampled_from(["margin", "step", "init", "start", "order", "max_updates", "C", "schedule", "tol", "multiclass"])


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changed=st.dictionaries(FIELDS, JSONS, max_size=3), knobs=st.dictionaries(KNOBS, JSONS, max_size=2), data=st.data())
def test_whatever_is_sent_is_answered_or_refused_and_never_a_fault(there: Studio, changed: Any, knobs: Any, data: Any) -> None:
    body = json.dumps({**REQUEST, "knobs": knobs, **changed}).encode()
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(body)))
        body = body[:at] + data.draw(st.binary(max_size=4)) + body[at + data.draw(st.integers(0, 4)) :]
    for path in ("/api/run", "/api/proof"):
        status, reply, _ = there.post(path, body)
        assert status in (200, 400), reply
        assert status == 200 or list(reply) == ["error"]
    assert there.faults == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.binary(max_size=60))
def test_bytes_that_are_no_http_get_a_400(there: Studio, sent: bytes) -> None:
    answer = there.talk(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + sent + b"\0\r\n\r\n")
    assert answer == b"" or answer.split()[1] in (b"400", b"403", b"408", b"431")
    assert there.faults == []


@pytest.mark.parametrize("parts", [1, 2, 40])
def test_a_header_that_is_too_long_is_refused_in_one_or_many_parts(
    there: Studio, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[int] = []

    def record(protocol: _LimitedProtocol, data: bytes, data_received: Any = _LimitedProtocol.data_received) -> None:
        data_received(protocol, data)
        received.append(len(data))

    monkeypatch.setattr(_LimitedProtocol, "data_received", record)
    head = f"GET / HTTP/1.1\r\nHost: localhost:{there.port}\r\nX-Long: {'x' * 70_000}\r\n\r\n".encode()
    size = len(head) // parts + 1
    with socket.create_connection(("127.0.0.1", there.port), 10) as talking, contextlib.suppress(ConnectionError):
        for at in range(0, len(head), size):
            talking.sendall(head[at : at + size])
            sent = min(at + size, len(head))
            soon(lambda sent=sent: sum(received) >= sent or select.select([talking], [], [], 0)[0])  # read, or refused
        assert talking.recv(100).split()[1] in (b"400", b"431")
    assert there.talk(head.replace(b"x" * 56_000, b"")).split()[1] == b"200"
