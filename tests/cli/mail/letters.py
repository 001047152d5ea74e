"""Mail for tests: spam sells, ham talks about work; no two are alike."""

from __future__ import annotations

import random

SELLS = [
    "free",
    "offer",
    "winner",
    "cash",
    "prize",
    "click",
    "buy",
    "cheap",
    "pills",
    "loan",
    "credit",
    "guarantee",
    "unsubscribe",
    "limited",
    "million",
    "dollars",
]
TALKS = [
    "meeting",
    "agenda",
    "patch",
    "review",
    "budget",
    "draft",
    "lunch",
    "train",
    "server",
    "build",
    "report",
    "thanks",
    "tomorrow",
    "question",
    "minutes",
    "release",
]


def letter(spam: bool, number: int) -> bytes:
    rng = random.Random(2 * number + spam)
    words, sender = (SELLS, "deals@shop.example") if spam else (TALKS, "anna@work.example")
    subject, body = " ".join(rng.choices(words, k=4)), " ".join(rng.choices(words, k=60))
    return (
        f"From: <{sender}>\r\nTo: me@home.example\r\nSubject: {subject}\r\nMessage-ID: <{number}.{spam}@x.example>\r\n"
        f"Date: Mon, {1 + number % 28} Jan 2024 10:{number % 60:02}:00 +0000\r\n\r\n{body} {number}\r\n"
    ).encode()


def folder(path, spam, numbers):
    path.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (path / f"{number:04}.eml").write_bytes(letter(spam, number))
    return path


def new(tmp_path, spam, number=1000):
    path = tmp_path / f"new-{spam}-{number}.eml"
    path.write_bytes(letter(spam, number))
    return path
