"""Who may use the HTTP side: no pages of other sites, and for learning only clients with a token, unless all may."""

from __future__ import annotations

import pytest
from mail_servers import SPAM, Plain, serving
from test_mail_http import call

pytest.importorskip("uvicorn")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
def test_pages_of_other_sites_are_refused(headers: dict[str, str]) -> None:
    spam_filter = Plain()
    for token in (None, "a token of many letters".replace(" ", "-")):
        with serving(spam_filter, http_port=0, token=token) as (addresses, _):
            allowed = {"Authorization": f"Bearer {token}"}
            for path in ("/v1/learn?as=spam", "/v1/classify"):
                assert call(addresses, "POST", path, SPAM, allowed | headers)[0] == 403
            assert call(addresses, "GET", "/healthz", headers=headers)[0] == 403
            own = {"Origin": "http://{}:{}".format(*addresses.http or ("", 0)), "Sec-Fetch-Site": "same-origin"}
            assert call(addresses, "POST", "/v1/classify", SPAM, allowed | own)[0] == 200
    assert spam_filter.labels == {}


def test_learning_over_http_needs_a_token_or_leave() -> None:
    token = "a-token-of-many-letters"
    for options, status in (({}, 403), ({"allow_tell": True}, 200), ({"token": token}, 200)):
        with serving(Plain(), **{"http_port": 0, "allow_tell": False} | options) as (addresses, _):
            allowed = {"Authorization": f"Bearer {token}"}
            found, answer, _ = call(addresses, "POST", "/v1/learn?as=spam", SPAM, allowed)
            assert (options, found) == (options, status)
            assert status == 200 or "--token-file" in answer["error"]
            assert call(addresses, "POST", "/v1/classify", SPAM, allowed)[0] == 200
