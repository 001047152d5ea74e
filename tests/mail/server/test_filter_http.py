"""A filter whose state forbids an answer: a message that cannot be unlearned, and one that has learned nothing."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from mail_servers import answer_to, request, serving
from small_filters import fresh, mail, mails


@pytest.mark.parametrize("kind", ["spam", "forget"])
def test_a_folded_mail_is_a_conflict(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("uvicorn")
    with fresh(tmp_path, mails(range(10))) as found:
        found.compact()
        with serving(found, http_port=0) as (addresses, _):
            status, reported = learned(addresses.http, kind, mail(1))
    assert status == 409
    assert "was dropped" in reported["error"]


def test_a_filter_that_has_learned_nothing_gives_no_verdict(tmp_path: Path) -> None:
    """It would call every mail unsure, with reasons that weigh nothing; spamc passes the mail on after this error."""
    pytest.importorskip("uvicorn")
    with fresh(tmp_path, []) as found, serving(found, http_port=0, allow_tell=True) as (addresses, _):
        for command in ("CHECK", "PROCESS", "SYMBOLS", "REPORT", "HEADERS"):
            answer = answer_to(addresses, request(command, mail(1)))
            assert answer.startswith(b"SPAMD/1.5 75 EX_TEMPFAIL: the filter has learned nothing; teach it")
        status, reported = asked(addresses.http, "POST", "/v1/classify", mail(1))
        assert (status, reported["error"].partition(";")[0]) == (503, "the filter has learned nothing")
        assert asked(addresses.http, "GET", "/healthz") == (200, {"status": "ok", "verdicts": False, "learning": True})
        assert learned(addresses.http, "spam", mail(0))[0] == 200
        assert asked(addresses.http, "POST", "/v1/classify", mail(1))[0] == 200
        assert answer_to(addresses, request("CHECK", mail(1))).startswith(b"SPAMD/1.5 0 EX_OK")
        assert asked(addresses.http, "GET", "/healthz")[1]["verdicts"]


def learned(address: Any, kind: str, raw: bytes) -> tuple[int, Any]:
    return asked(address, "POST", f"/v1/learn?as={kind}", raw)


def asked(address: Any, method: str, path: str, raw: bytes | None = None) -> tuple[int, Any]:
    connection = HTTPConnection(*address, timeout=10)
    try:
        connection.request(method, path, raw, {"Content-Type": "message/rfc822"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
