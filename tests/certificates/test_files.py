"""Damaged or absurd certificate files are rejected in one sentence, in bounded time and memory; writing is atomic."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import rosenblatt as rb
from effort import in_time
from rosenblatt.certificates import exact_numbers
from rosenblatt.certificates.exact_numbers import decimal_text
from rosenblatt.certificates.files import (
    MAX_BYTES,
    MAX_DIGITS,
    MAX_PARTS,
    _content,
    _sealed,
    certificate_to_dict,
    parse_certificate,
)
from rosenblatt.certificates.statements import Ceiling

X, Y = [[0.0, 0.1], [1.0, 3.0], [2.0, -1.0], [5.0, 5.0]], [0, 1, 0, 1]
SEPARABLE, INSEPARABLE = rb.certify(X, Y), rb.certify([[0], [1], [2]], [0, 1, 0])
CEILINGS = [Ceiling(space.upper_squared, space.pairs) for space in (SEPARABLE.augmented, SEPARABLE.geometric)]
RAW = json.dumps(certificate_to_dict(SEPARABLE)).encode()


def _refused(raw: bytes, words: str = ".", seconds: float = 2.0) -> None:
    began = time.perf_counter()
    with pytest.raises(ValueError, match=words) as caught:
        parse_certificate(raw)
    assert in_time(time.perf_counter() - began, seconds)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def _with(path: list[Any], value: Any, certificate: Any = SEPARABLE) -> bytes:
    """The file with one part replaced, and resealed."""
    content = _content(certificate)
    node: Any = content
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return json.dumps(_sealed(content)).encode()


@pytest.mark.parametrize("certificate", [SEPARABLE, INSEPARABLE, rb.Undecided(SEPARABLE.about, *CEILINGS)])
def test_what_is_written_is_read(certificate: Any, tmp_path: Path) -> None:
    rb.save_certificate(certificate, tmp_path / "certificate.json")
    assert rb.load_certificate(str(tmp_path / "certificate.json")) == certificate


def test_a_list_of_certificates_is_a_type_error_that_names_the_entry(tmp_path: Path) -> None:
    """A perceptron's `certificate_` is a list, also for two classes."""
    with pytest.raises(TypeError, match=r"one certificate, got a list of 1: pass one entry, such as certificate_\[0\]"):
        rb.verify([SEPARABLE], X, Y)
    with pytest.raises(TypeError, match="must be Separable, Inseparable or Undecided, got int"):
        rb.verify(3, [[0], [1]], [0, 1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"certificate_\[0\]"):
        rb.save_certificate([SEPARABLE], tmp_path / "certificate.json")
    assert not list(tmp_path.iterdir())


def test_cut_off_at_every_byte() -> None:
    for end in range(len(RAW) - 1):
        with pytest.raises(ValueError, match=r"not JSON or is truncated|format"):
            parse_certificate(RAW[:end])


RATIONALS = [
    "1/0", "-0/0", "1e5", "0.5", "", " 1", "1 ", "+1", "01", "1/-2", "1/", "/2", "--1", "1//2", "1/2/3", "0x", "0X1f", "0xG",
    "0x0f", "1_000", "NaN", "Infinity", "inf", "\u0661", "1/\u0662", "\uff11", "1\n", "1" * 1_000_000, "0x" + "f" * 1_000_000,
    "1/" + "9" * 1_000_000, "0x" + "f" * (MAX_DIGITS + 2), "9" * 4300, None, 1, True, [], {}, ["1"],
]  # fmt: skip


@pytest.mark.parametrize("number", RATIONALS, ids=lambda number: repr(number)[:12])
def test_absurd_rationals(number: Any) -> None:
    _refused(_with(["radius_squared"], number))
    _refused(_with(["augmented", "pairs", 0, 2], number))
    _refused(_with(["geometric", "planes", 0, "intercept"], number))


def test_minus_zero_is_zero() -> None:
    assert parse_certificate(_with(["geometric", "planes", 0, "intercept"], "-0")).geometric.planes[0].intercept == 0


@pytest.mark.parametrize("position", [True, False, -1, "0", None, [], 1 << 62, 10**30])
def test_absurd_positions(position: Any) -> None:
    for path in (["data", "rows"], ["augmented", "pairs", 0, 0], ["augmented", "pairs", 0, 1], ["data", "columns"]):
        _refused(_with(path, position))
    _refused(_with(["geometric", "planes", 0, "weights", 0, 0], position))


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1.0", "1e3", "-0.0", "9" * 5000])
def test_numbers_that_are_not_whole(literal: str) -> None:
    for name in (b'"rows": ', b'"version": '):
        _refused(re.sub(name + rb"\d+", name + literal.encode(), RAW))


PARTS: list[tuple[list[Any], Any]] = [
    (["format"], "another"), (["format"], None), (["version"], 2), (["version"], True), (["version"], "1"),
    (["verdict"], "maybe"),
    (["verdict"], "undecided"), (["verdict"], "inseparable"), (["verdict"], None), (["verdict"], ["separable"]),
    (["data"], None), (["data"], []), (["data", "more"], 1), (["intercept"], 1), (["intercept"], "true"), (["intercept"], None),
    (["data", "classes"], ["a"]), (["data", "classes"], ["a", "a"]), (["data", "classes"], [0, 1]), (["data", "classes"], "ab"),
    (["data", "sha256"], "0" * 63), (["data", "sha256"], 0), (["data", "sha256"], "G" * 64),
    (["data", "sha256"], "0" * 64 + "\n"),
    (["augmented"], None), (["augmented"], []), (["augmented", "more"], "1"), (["augmented", "pairs"], None),
    (["augmented", "pairs"], {}), (["augmented", "pairs"], [[]]), (["augmented", "pairs"], [[0, 1, "1", "1"]]),
    (["augmented", "pairs"], ["abc"]), (["augmented", "planes"], {}), (["augmented", "planes"], [None]),
    (["augmented", "planes", 0, "weights"], [[0, "1"], [0, "1"]]), (["augmented", "planes", 0, "weights"], {"0": "1"}),
    (["augmented", "planes", 0, "more"], "1"), (["more"], "1"),
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_wrong_parts(part: tuple[list[Any], Any]) -> None:
    _refused(_with(*part))


@pytest.mark.parametrize(
    "name", ["format", "version", "verdict", "data", "intercept", "augmented", "geometric", "radius_squared"]
)
def test_missing_parts(name: str) -> None:
    _refused(json.dumps(_sealed({key: value for key, value in _content(SEPARABLE).items() if key != name})).encode())


STRANGE = {
    "nothing": b"",
    "a byte order mark": b"\xef\xbb\xbf" + RAW,
    "bytes": bytes(range(256)),
    "UTF-16": RAW.decode().encode("utf-16"),
    "null": b"null",
    "a list": b"[]",
    "a string": b'"rosenblatt certificate"',
    "more after it": RAW + b"{}",
    "a name twice": RAW.replace(b'"version": 1', b'"version": 1, "version": 1'),
    "no seal": re.sub(rb', "seal": "[0-9a-f]*"', b"", RAW),
    "another seal": re.sub(rb'"seal": "[0-9a-f]*"', b'"seal": "' + b"0" * 64 + b'"', RAW),
    "a seal that is no text": re.sub(rb'"seal": "[0-9a-f]*"', b'"seal": [1]', RAW),
    "nested lists": b"[" * 1_000_000,
    "nested and closed": b"[" * 100_000 + b"]" * 100_000,
    "nested objects": b'{"a":' * 1_000_000,
    "nested in its place": RAW.replace(b'"intercept": true', b'"intercept": ' + b"[" * 100_000 + b"]" * 100_000),
    "many parts": b"[" + b"0," * MAX_PARTS + b"0,0]",
    "a long name": b'{"' + b"a" * 10_000_000 + b'": 1}',
    "an unended string": b'{"format": "' + b"a" * 10_000_000,
    "many quotes": b'"' * 10_000_000,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_files_that_are_something_else(kind: str, tmp_path: Path) -> None:
    _refused(STRANGE[kind])
    (tmp_path / "strange.json").write_bytes(STRANGE[kind])
    with pytest.raises(ValueError, match=r"strange\.json: not a valid certificate: "):
        rb.load_certificate(tmp_path / "strange.json")


def test_nesting_that_is_parsed_but_exceeds_the_stack_later_is_refused() -> None:
    """The seal and messages go down the content once more, with less of the stack left."""
    raws = [_with(["verdict"], json.loads("[" * depth + "]" * depth)) for depth in range(1, 60)]

    def refused_below(calls: int) -> None:
        if calls:
            refused_below(calls - 1)
            return
        for raw in raws:
            with pytest.raises(ValueError, match=r"nested too deeply|its verdict is"):
                parse_certificate(raw)

    refused_below(sys.getrecursionlimit() - len(inspect.stack(0)) - 60)


def test_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 40)  # a hole
    began = time.perf_counter()
    with pytest.raises(ValueError, match=f"more than {MAX_BYTES >> 20} MB"):
        rb.load_certificate(tmp_path / "large.json")
    assert in_time(time.perf_counter() - began, 0.5)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
def test_pipes_and_devices_do_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValueError, match=f"{path.name}: not a valid certificate: not a regular file"):
            rb.load_certificate(path)


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere.json"):
        with pytest.raises(OSError, match=path.name):
            rb.load_certificate(path)


def test_many_long_fractions_are_refused_before_any_is_made() -> None:
    long = "0x" + "f" * MAX_DIGITS + "/0x" + "e" * MAX_DIGITS
    _refused(_with(["augmented", "pairs"], [[i, 1, long] for i in range(40)]), "too many and too long")


def test_long_fractions_without_a_common_denominator_are_not_checked() -> None:
    """Each is short enough for a file; the least common denominator of all of them would not end."""
    pairs = [[i % 4, 1 - Y[i % 4], f"1/{hex((1 << 4 * 20_000) + 2 * i + 1)}"] for i in range(100)]
    began = time.perf_counter()
    certificate = parse_certificate(_with(["augmented", "pairs"], pairs[:4]))
    assert not rb.verify(certificate, X, Y)
    one, two = ([[0, f"1/{hex((1 << 4 * 90_000) + k)}"], [1, f"1/{hex((1 << 4 * 90_000) + k + 1)}"]] for k in (1, 5))
    content = _content(SEPARABLE)
    content["augmented"]["planes"][0]["weights"], content["geometric"]["planes"][0]["weights"] = one, two
    assert not rb.verify(parse_certificate(json.dumps(_sealed(content)).encode()), X, Y)
    assert in_time(time.perf_counter() - began, 10.0)


def test_a_certificate_of_long_fractions_is_printed_in_the_time_of_loading_it(monkeypatch: Any) -> None:
    """Bounds and sentences reduced quotients of all digits, up to eight times, and wrote all digits as decimals."""
    content, n = _content(SEPARABLE), 20_000
    for space in ("augmented", "geometric"):
        content[space] |= {
            "lower_squared": f"{hex(3 ** (2 * n))}/{hex(5**n)}",
            "upper_squared": f"{hex(7 ** (2 * n))}/{hex(11**n)}",
        }
    content["radius_squared"] = f"{hex(13 ** (2 * n))}/{hex(17**n)}"
    certificate = parse_certificate(json.dumps(_sealed(content)).encode())
    lower, upper = Fraction(9, 5) ** n, Fraction(49, 11) ** n
    assert certificate.augmented.gap == float(1 - lower / upper) / (
        1 + certificate.augmented.lower / certificate.augmented.upper
    )
    began = time.process_time()
    printed = str(certificate)
    assert in_time(time.process_time() - began, 0.5)
    below, above = decimal_text(lower, 6, root=True, rounded="down"), decimal_text(upper, 6, root=True, rounded="up")
    assert f"between {below} and {above}\n" in printed
    monkeypatch.setattr(exact_numbers, "LONG_BITS", 1 << 40)
    assert str(certificate) == printed


def test_weights_of_absurdly_many_columns_are_not_listed() -> None:
    certificate = parse_certificate(_with(["data", "columns"], 10**10))
    with pytest.raises(
        ValueError, match=r"the planes have 10,000,000,000 weights, too many for lists: use .*geometric\.planes"
    ):
        _ = certificate.coef


def test_long_whole_numbers_are_written_in_hexadecimal(tmp_path: Path) -> None:
    long = rb.Inseparable(INSEPARABLE.about, (INSEPARABLE.clash[0]._replace(weight=Fraction(7**9000, 5**9001)),))
    rb.save_certificate(long, tmp_path / "long.json")
    assert rb.load_certificate(tmp_path / "long.json") == long
    too_long = rb.Inseparable(INSEPARABLE.about, (INSEPARABLE.clash[0]._replace(weight=Fraction(1, 1 << 4 * MAX_DIGITS + 1)),))
    with pytest.raises(ValueError, match="too many for a file"):
        rb.save_certificate(too_long, tmp_path / "long.json")
    assert rb.load_certificate(tmp_path / "long.json") == long
    assert os.listdir(tmp_path) == ["long.json"]


@pytest.mark.parametrize("fails", ["fsync", "fchmod", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(fails: str, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "certificate.json"
    rb.save_certificate(SEPARABLE, path)

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path if fails == "replace" else os, fails, fail)
    with pytest.raises(OSError, match="the disk is full"):
        rb.save_certificate(INSEPARABLE, path)
    monkeypatch.undo()
    assert rb.load_certificate(path) == SEPARABLE
    assert os.listdir(tmp_path) == ["certificate.json"]


def test_killed_while_writing_the_old_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    rb.save_certificate(SEPARABLE, path)
    script = (
        "import os, signal, sys\n"
        "from rosenblatt.certificates import files\n"
        "files.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.save_certificate(files.load_certificate(sys.argv[1]), sys.argv[1])\n"
    )
    source = str(Path(rb.__file__).parents[1])
    ran = subprocess.run([sys.executable, "-c", script, str(path)], env={**os.environ, "PYTHONPATH": source}, check=False)
    assert ran.returncode == -signal.SIGKILL
    assert rb.load_certificate(path) == SEPARABLE


def test_a_new_file_has_the_rights_of_any_other(tmp_path: Path) -> None:
    rb.save_certificate(SEPARABLE, tmp_path / "certificate.json")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "certificate.json").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_is_followed_and_permissions_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to("real.json")
    rb.save_certificate(SEPARABLE, link)
    assert link.is_symlink()
    assert rb.load_certificate(real) == SEPARABLE
    assert real.stat().st_mode & 0o777 == 0o600


WRONG_BOUNDS = ["-1", "0", "-1/3", "1" + "0" * 400]


@pytest.mark.parametrize("space", ["augmented", "geometric"])
@pytest.mark.parametrize("square", WRONG_BOUNDS)
def test_bounds_that_cannot_be_printed_are_refused(space: str, square: str) -> None:
    """A negative square has no root, a margin of zero no mistake bound, and a lower bound is not above the upper one."""
    _refused(_with([space, "lower_squared"], square), f"the bounds of {space} are not positive and ascending")
    if square in WRONG_BOUNDS[:3]:
        _refused(_with([space, "upper_squared"], square), f"the bounds of {space} are not positive and ascending")
        _refused(_with(["radius_squared"], square), "its radius is not positive")


def test_a_bound_of_zero_is_only_an_upper_one() -> None:
    undecided = rb.Undecided(SEPARABLE.about, *CEILINGS)
    _refused(_with(["geometric", "upper_squared"], "-1", undecided), "the bound of geometric is negative")
    zero = parse_certificate(_with(["geometric", "upper_squared"], "0", undecided))
    assert "geometric margin above 0 or" in str(zero)
    assert zero.geometric.upper == 0.0


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["augmented", "planes"], [], "augmented must have a list of 1 planes"),
        (["augmented", "planes", 0, "weights"], [[2, "1"]], "2 is not a position from 0 to 1"),
        (["augmented", "pairs"], [], "it has no pairs, or one twice"),
        (["augmented", "pairs"], [[0, 1, "1/2"], [0, 1, "1/2"]], "it has no pairs, or one twice"),
        (["augmented", "pairs"], [[4, 1, "1"]], "4 is not a position from 0 to 3"),
        (["augmented", "pairs"], [[0, 2, "1"]], "2 is not a position from 0 to 1"),
    ],
)
def test_unknown_rows_classes_and_columns_are_refused(path: list[Any], value: Any, words: str) -> None:
    _refused(_with(path, value), words)


def test_a_row_on_both_sides_of_a_clash_is_refused() -> None:
    _refused(_with(["clash"], [[0, 0, "1/2"], [0, 1, "1/2"]], INSEPARABLE), "a row of the clash is on both sides")


def test_every_certificate_that_loads_can_be_printed() -> None:
    """With the content of a true certificate under another verdict, and its numbers replaced one by one."""
    for certificate in (SEPARABLE, INSEPARABLE, rb.Undecided(SEPARABLE.about, *CEILINGS)):
        for path in _fraction_paths(_content(certificate)):
            for value in ("0", "-1", "1/3", "1" + "0" * 900, "1/1" + "0" * 900):
                try:
                    changed = parse_certificate(_with(path, value, certificate))
                except ValueError:
                    continue
                assert str(changed) + repr(changed)
                if isinstance(changed, rb.Separable):
                    assert changed.radius > 0
                    assert changed.geometric.lower <= changed.geometric.upper
                    assert 0 <= changed.augmented.gap <= 1
                    assert changed.mistake_bound.lower <= changed.mistake_bound.upper
                    assert len(changed.coef) == len(changed.intercept)


def _fraction_paths(node: Any, path: tuple[Any, ...] = ()) -> Any:
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    if isinstance(node, str) and re.fullmatch(r"-?[0-9]+(/[0-9]+)?", node) and "classes" not in path:
        yield list(path)
    for step, child in steps:
        yield from _fraction_paths(child, (*path, step))


def test_a_certificate_made_by_hand_with_a_negative_bound_is_an_error_and_does_not_hang() -> None:
    negative = replace(SEPARABLE.geometric, lower_squared=Fraction(-1))
    for read in (str, lambda certificate: certificate.geometric.lower):
        with pytest.raises(ValueError, match="a bound of a certificate is negative: its square is -1"):
            read(replace(SEPARABLE, geometric=negative))
