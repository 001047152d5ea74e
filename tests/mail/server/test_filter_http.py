"""A message that cannot be unlearned is a conflict over HTTP."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from mail_servers import serving
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


def learned(address: Any, kind: str, raw: bytes) -> tuple[int, Any]:
    connection = HTTPConnection(*address, timeout=10)
    try:
        connection.request("POST", f"/v1/learn?as={kind}", raw, {"Content-Type": "message/rfc822"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
