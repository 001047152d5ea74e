"""No shape of mail takes more than a second or much memory, however large it is."""

from __future__ import annotations

import time

import pytest
from hostile import SHAPES

from rosenblatt.mail.limits import LIMITS
from rosenblatt.mail.parse import parse

SIZE = 3 << 20  # more than is looked at


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_mail_takes_less_than_a_second_and_little_memory(shape: str) -> None:
    raw = SHAPES[shape](SIZE)
    start = time.perf_counter()
    message = parse(raw)
    took = time.perf_counter() - start
    assert took < 1.0
    for name, field in zip(message._fields, message, strict=True):
        field.decode()
        assert len(field) <= (LIMITS.text if name == "body" else LIMITS.field)
