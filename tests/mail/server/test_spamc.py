"""The stock spamc against our server."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mail_servers import HAM, SPAM, UNSURE, Plain, is_passed_on, serving

from datasets import data_folder
from rosenblatt.mail.server import Limits

pytestmark = pytest.mark.skipif(shutil.which("spamc") is None, reason="no spamc here: on Debian, apt-get install spamc")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    spam_filter = Plain()
    path = tmp_path_factory.mktemp("spamc") / "socket"
    with serving(spam_filter, socket_path=path, limits=Limits(message_bytes=400_000)) as (addresses, _):
        yield spam_filter, addresses


def spamc(addresses: Any, *arguments: str, mail: bytes = SPAM) -> tuple[int, bytes]:
    host, port = addresses.spamd
    where = () if "-U" in arguments else ("-d", host, "-p", str(port))
    done = subprocess.run(["spamc", *where, "--connect-retries=1", *arguments], input=mail, capture_output=True, timeout=20)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("mail", "answer"), [(SPAM, (1, b"14.5/5.0\n")), (HAM, (0, b"-4.5/5.0\n")), (UNSURE, (0, b"2.0/5.0\n"))]
)
def test_check(server: Any, mail: bytes, answer: tuple[int, bytes]) -> None:
    assert spamc(server[1], "-c", mail=mail) == answer
    assert spamc(server[1], "-c", "-U", server[1].socket, mail=mail) == answer


@pytest.mark.parametrize("mail", [SPAM, HAM, b"A: b\r\n\r\nc", b"Subject: x\n\n\0nul\xff\n", b"no head", b"\n\nbody"])
def test_as_a_filter_it_adds_headers_and_nothing_else(server: Any, mail: bytes) -> None:
    code, out = spamc(server[1], "-x", mail=mail)
    assert code == 0
    assert is_passed_on(mail, out)
    assert (b"X-Spam-Flag: YES" in out) == (mail == SPAM)
    assert spamc(server[1], "-E", mail=mail) == (int(mail == SPAM), out)


def test_headers_only_gives_the_same_mail(server: Any) -> None:
    for mail in (SPAM, HAM, b"A: b\r\n\r\nc\n\nd\r\n"):
        assert spamc(server[1], "--headers", "-x", mail=mail) == spamc(server[1], "-x", mail=mail)


def test_headers_only_does_not_cut_mails_off_at_a_nul(server: Any) -> None:
    mail = b"A: b\n\nbefore\0after\n"
    assert spamc(server[1], "--headers", mail=mail) == (0, mail)
    assert spamc(server[1], "--headers", "-x", mail=mail) == (74, b"")


def test_an_empty_mail_is_spamcs_own_affair(server: Any) -> None:
    assert spamc(server[1], mail=b"")[1] == b""


def test_reports_and_symbols(server: Any) -> None:
    code, out = spamc(server[1], "-R", mail=HAM)
    assert code == 0
    assert out.startswith(b"-4.5/5.0\nRosenblatt: ham")
    assert spamc(server[1], "-r", mail=HAM)[1] == b""
    assert b'body: "pills"' in spamc(server[1], "-r", mail=SPAM)[1]
    assert spamc(server[1], "-y", mail=SPAM)[1].strip() == b"body:pills,body:buy"


def test_it_is_alive(server: Any) -> None:
    assert spamc(server[1], "-K") == (0, b"SPAMD/1.5 0\n")


def test_learning_and_forgetting(server: Any) -> None:
    spam_filter, addresses = server
    done, before = (0, b"Message successfully un/learned\n"), (0, b"Message was already un/learned\n")
    assert spamc(addresses, "-L", "spam") == done
    assert spamc(addresses, "-L", "spam") == before
    assert spam_filter.labels == {SPAM: True}
    assert spamc(addresses, "-L", "ham") == done
    assert spam_filter.labels == {SPAM: False}
    assert spamc(addresses, "-L", "forget") == done
    assert spamc(addresses, "-L", "forget") == before
    assert spam_filter.labels == {}


def test_what_is_too_large_for_spamc_or_for_us_passes_unchanged(server: Any) -> None:
    large = SPAM + b"x" * 450_000  # under spamc's own limit of 500 KB
    assert spamc(server[1], mail=large) == (0, large)
    assert spamc(server[1], "-x", mail=large) == (74, b"")
    assert spamc(server[1], "-s", "1000", mail=large) == (0, large)
    assert spamc(server[1], "-L", "spam", mail=large)[0] == 74


def test_when_the_filter_fails_no_mail_is_lost_and_learning_is_not_claimed() -> None:
    spam_filter = Plain()
    spam_filter.broken = RuntimeError("no")
    with serving(spam_filter) as (addresses, _):
        for arguments, answer in {
            (): (0, SPAM),
            ("-E",): (0, SPAM),
            ("--headers",): (0, SPAM),
            ("-c",): (0, b"0/0\n"),
            ("-x",): (74, b""),
            ("-L", "spam"): (74, b""),
            ("-L", "forget"): (74, b""),
        }.items():
            assert spamc(addresses, *arguments) == answer, arguments
    assert spamc(addresses) == (0, SPAM)  # the server has stopped
    assert spamc(addresses, "-c") == (0, b"0/0\n")
    assert spamc(addresses, "-L", "ham")[0] not in (0, 1)


def test_a_server_that_is_full_lets_mail_pass() -> None:
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=Limits(connections=1)) as (addresses, _):
        host, port = addresses.spamd or ("", 0)
        command = ["spamc", "-c", "-d", host, "-p", str(port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
            assert first.stdin is not None
            first.stdin.write(SPAM)
            first.stdin.close()
            first.stdin = None
            assert spam_filter.begun.acquire(timeout=30)
            assert spamc(addresses) == (0, SPAM)
            spam_filter.go.set()
            assert first.stdout is not None
            assert first.stdout.read() == b"14.5/5.0\n"
            assert first.wait(10) == 1


def test_edge_cases_pass_through_byte_by_byte(server: Any) -> None:
    for path in sorted(data_folder("mail/edge_cases").iterdir()):
        mail = path.read_bytes()
        assert is_passed_on(mail, spamc(server[1], "-x", mail=mail)[1]), path.name


def test_fifty_at_once_each_get_their_own_answer(server: Any) -> None:
    queries = [(SPAM, (1, b"14.5/5.0\n")), (HAM, (0, b"-4.5/5.0\n")), (UNSURE, (0, b"2.0/5.0\n"))] * 100
    with ThreadPoolExecutor(50) as clients:
        answers = list(clients.map(lambda pair: spamc(server[1], "-c", mail=pair[0]), queries))
    assert answers == [answer for _, answer in queries]
