"""One budget of digits per file: for a certificate file, and for all certificates of a model file together."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sealed_files import loaded, packed, parts_of

import rosenblatt as rb
from effort import amount
from rosenblatt.certificates import digit_budget, files
from rosenblatt.certificates.digit_budget import CertificateTooLargeError, shared_budget
from rosenblatt.certificates.files import _content, _sealed, certificate_to_dict, parse_certificate

X, Y = [[0.0], [1.0], [2.0]], [0, 1, 0]
CLASH = rb.certify(X, Y)
WEIGHT = "12345678901234567/98765432109876543"
REAL_BUDGET = digit_budget.MAX_DIGIT_PRODUCTS
DIGITS = 3500  # enough to be written in hexadecimal


def _sealed_content(numerators: list[int]) -> dict[str, Any]:
    """A certificate whose pairs have weights with so many digits that three of them exceed the budget of the tests."""
    content = _content(CLASH)
    content["clash"] = [[i, 1 - Y[i], f"{hex(n)}/{hex(16**DIGITS - 1)}"] for i, n in enumerate(numerators)]
    return _sealed(content)


@pytest.fixture(autouse=True)
def budget_of_two(monkeypatch: Any) -> None:
    monkeypatch.setattr(digit_budget, "MAX_DIGIT_PRODUCTS", 29 * DIGITS**2 // 10)


LONG = 16 ** (DIGITS - 1)


def test_a_file_may_use_its_budget() -> None:
    assert len(parse_certificate(json.dumps(_sealed_content([LONG, LONG + 1])).encode()).clash) == 2


@pytest.mark.parametrize("spaces", [0, 1, 1100])
def test_white_space_does_not_hide_fractions(spaces: int, monkeypatch: Any) -> None:
    raw = json.dumps(_sealed_content([LONG, LONG + 1, LONG + 2]))
    spread = re.sub(r' (?=["\[0-9])', " " * spaces, raw).replace('"]', '"' + " " * spaces + "]")
    assert json.loads(spread) == json.loads(raw)

    def fail(text: Any) -> Fraction:
        raise AssertionError("a fraction was made")

    monkeypatch.setattr(files, "_fraction", fail)
    with pytest.raises(CertificateTooLargeError, match="its fractions are too many and too long"):
        parse_certificate(spread.encode())


def _long_clash(n_pairs: int, weight: str) -> bytes:
    content = _content(CLASH)
    content["data"]["rows"], content["clash"] = n_pairs, [[i, 0, weight] for i in range(n_pairs)]
    return json.dumps(_sealed(content)).encode()


@pytest.mark.parametrize(("n_pairs", "weight"), [(250, "1"), (40, "9" * DIGITS), (40, "0x" + "f" * DIGITS)])
def test_whole_numbers_and_pairs_are_charged(n_pairs: int, weight: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(files, "_fraction", None)  # refused before
    raw = _long_clash(n_pairs, weight)
    with pytest.raises(CertificateTooLargeError, match="its fractions are too many and too long"):
        parse_certificate(raw)


def test_two_million_pairs_are_refused_before_the_json_is_parsed(monkeypatch: Any) -> None:
    monkeypatch.setattr(files.json, "loads", None)
    with pytest.raises(CertificateTooLargeError, match="it has more than 3750000 parts"):
        parse_certificate(b'{"clash": [' + b'[0, 0, "1"], ' * 2_000_000)


def test_twenty_thousand_pairs_load(monkeypatch: Any) -> None:
    monkeypatch.setattr(digit_budget, "MAX_DIGIT_PRODUCTS", REAL_BUDGET)
    assert len(parse_certificate(_long_clash(20_000, WEIGHT)).clash) == 20_000


def test_planes_of_a_hundred_thousand_columns_are_within_the_budget(monkeypatch: Any) -> None:
    monkeypatch.setattr(digit_budget, "MAX_DIGIT_PRODUCTS", REAL_BUDGET)
    n_columns = amount(20_000, 100_000)
    content = _content(rb.certify([[0.0], [2.0]], ["a", "b"]))
    content["data"]["columns"] = n_columns
    for space in ("augmented", "geometric"):
        content[space]["planes"][0]["weights"] = [[i, WEIGHT] for i in range(n_columns)]
    with shared_budget() as budget:
        parse_certificate(json.dumps(_sealed(content)).encode())
    assert REAL_BUDGET - budget.left < 0.3 * REAL_BUDGET * n_columns / 100_000


def test_certificates_share_a_budget_inside_and_have_their_own_outside() -> None:
    raws = [json.dumps(_sealed_content([LONG + 2 * k, LONG + 2 * k + 1])).encode() for k in range(2)]
    assert parse_certificate(raws[0]) != parse_certificate(raws[1])
    with shared_budget():
        first = parse_certificate(raws[0])
        assert parse_certificate(raws[0]) is first  # read and counted once
        with shared_budget(), pytest.raises(CertificateTooLargeError, match="too many and too long"):
            parse_certificate(raws[1])
    assert parse_certificate(raws[1])


def _model() -> Any:
    return rb.Perceptron(certify=True, multiclass="ovr").fit([[0.0], [1.0], [2.0], [9.0]], [0, 1, 2, 2])


def test_the_certificates_of_a_model_file_share_a_budget(tmp_path: Path, monkeypatch: Any) -> None:
    model = _model()
    rb.save(model, tmp_path / "model")
    meta, arrays = parts_of((tmp_path / "model").read_bytes())
    for n_certificates in (1, 3):
        encoded = [{"certificate": _sealed_content([LONG + 2 * k, LONG + 2 * k + 1])} for k in range(n_certificates)]
        meta["more"]["fitted"]["certificate_"] = {"list": encoded}
        raw = packed(meta, arrays)
        if n_certificates == 1:
            assert len(loaded(raw, monkeypatch).certificate_) == 1
            continue
        with pytest.raises(rb.ModelError, match="its fractions are too many and too long"):
            loaded(raw, monkeypatch)


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    model = _model()
    long = [parse_certificate(json.dumps(_sealed_content([LONG + 2 * k, LONG + 2 * k + 1])).encode()) for k in range(2)]
    model.certificate_, model.stop_ = [long[0]], replace(model.stop_, certificate=long[0])
    rb.save(model, tmp_path / "model")  # the same certificate twice is counted once
    assert rb.load(tmp_path / "model").stop_.certificate == long[0]
    model.certificate_ = long
    with pytest.raises(CertificateTooLargeError, match="too many and too long"):
        rb.save(model, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_content_of_a_certificate_is_the_same_each_time() -> None:
    with shared_budget():
        assert certificate_to_dict(CLASH) == certificate_to_dict(CLASH)
    assert certificate_to_dict(CLASH) == _sealed(_content(CLASH))
