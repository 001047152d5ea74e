"""Certificates as JSON: every number a string of a fraction, a version, and a seal over all of it.

    {"format": "rosenblatt certificate", "version": 1, "verdict": "separable",
     "data": {"rows": 2, "columns": 1, "classes": ["0", "1"], "sha256": "..."}, "intercept": true,
     "augmented": {"upper_squared": "5/9", "pairs": [[row, rival, "weight"], ...],
                   "lower_squared": "5/9", "planes": [{"intercept": "-1/2", "weights": [[column, "1"], ...]}]},
     "geometric": {...}, "radius_squared": "5", "seal": "..."}

The seal is the SHA-256 of everything else; it finds damage, not malice: whoever can change a certificate can seal it anew, and
then `verify` finds what is not so. A file that is cut off, too large, nested too deeply or not of this form is refused with a
`ValueError`; sizes are looked at before anything is made of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from .statements import About, Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable, Undecided

FORMAT, VERSION = "rosenblatt certificate", 1
MOST_BYTES = 1 << 28
MOST_PARTS = 1 << 23  # of what is made of a file, each takes about a hundred bytes
MOST_DIGITS = 100_000  # of one whole number
DECIMAL = 4_000  # longer ones are written in hexadecimal, which Python reads in linear time and without a limit
# To shorten a fraction takes the product of the lengths of its two numbers: so much takes about ten seconds.
MOST_WORK = 150_000_000_000
_WHOLE = f"(?:0|[1-9][0-9]{{0,{DECIMAL}}}|0x[1-9a-f][0-9a-f]{{0,{MOST_DIGITS}}})"
_FRACTION = re.compile(rf"(-?)({_WHOLE})(?:/({_WHOLE}))?")


def save_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Write a certificate to a file, whole or not at all.

    Examples
    --------
    >>> import rosenblatt as rb, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "certificate.json")
    >>> rb.save_certificate(rb.certify([[0], [1]], [0, 1]), path)
    >>> rb.load_certificate(path) == rb.certify([[0], [1]], [0, 1])
    True
    """
    path = Path(path)
    lines = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in certificate_to_dict(certificate).items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    _check_size(text.encode("ascii"))  # nothing is written that could not be read
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """What the file has: names, numbers, and fractions as strings, with the seal."""
    return _sealed(_told(certificate))


def reread(certificate: Any) -> Certificate:
    """The certificate as its file would say it; a `ValueError` where no file could."""
    try:
        raw = json.dumps(certificate_to_dict(certificate)).encode("ascii")
    except ValueError:
        raise
    except Exception as wrong:  # whatever an object that only looks like a certificate may do
        raise ValueError(f"it is no certificate ({type(wrong).__name__})") from None
    return parse_certificate(raw)


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate; a `ValueError` says what is wrong with the file. Whether it holds, `rb.verify` says."""
    path = Path(path)
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1) if os.fstat(file.fileno()).st_size <= MOST_BYTES else None
    try:
        _require(raw is not None, f"it has more than {MOST_BYTES >> 20} MB")
        return parse_certificate(raw or b"")
    except ValueError as wrong:
        raise ValueError(f"{path.name} is not a certificate that can be read: {wrong}") from None


def parse_certificate(raw: bytes) -> Certificate:
    """A certificate from the bytes of its file."""
    _check_size(raw)
    try:
        told = json.loads(
            raw.decode("ascii"), object_pairs_hook=_once, parse_int=_short_int, parse_float=_no_float, parse_constant=_no_float
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not ASCII text") from None
    except json.JSONDecodeError as wrong:
        raise ValueError(f"it is not JSON, or was cut off ({wrong})") from None
    _require(isinstance(told, dict) and told.get("format") == FORMAT, f"its format is not {FORMAT!r}")
    _require(told.get("version") == VERSION and told["version"] is not True, f"its version is not {VERSION}")
    seal = told.pop("seal", None)
    _require(_sealed(told)["seal"] == seal, "its seal does not fit: it was changed or damaged")
    return _certificate(told)


def _check_size(raw: bytes) -> None:
    """Before anything is made of it: that it will take neither much memory nor much time."""
    _require(len(raw) <= MOST_BYTES, f"it has more than {MOST_BYTES >> 20} MB")
    _require(sum(map(raw.count, (b",", b"[", b"{"))) <= MOST_PARTS, f"it has more than {MOST_PARTS} parts")
    work = sum((len(text) // 2) ** 2 for text in re.findall(rb'"[^"]{1000,}"', raw))
    _require(work <= MOST_WORK, "its fractions are too many and too long")


# --- writing ---------------------------------------------------------------------------------------------------------------


def _told(certificate: Certificate) -> dict[str, Any]:
    about = certificate.about
    kinds = {Separable: "separable", Inseparable: "inseparable", Undecided: "undecided"}
    told: dict[str, Any] = {"format": FORMAT, "version": VERSION, "verdict": kinds[type(certificate)]}
    shape = {"rows": about.n_rows, "columns": about.n_columns}
    told |= {"data": shape | {"classes": list(about.classes), "sha256": about.sha256}, "intercept": about.intercept}
    if isinstance(certificate, Inseparable):
        return told | {"clash": _told_pairs(certificate.clash)}
    told |= {name: _told_space(getattr(certificate, name)) for name in ("augmented", "geometric")}
    return told | ({"radius_squared": _text(certificate.radius_squared)} if isinstance(certificate, Separable) else {})


def _told_space(space: Ceiling) -> dict[str, Any]:
    told: dict[str, Any] = {"upper_squared": _text(space.upper_squared), "pairs": _told_pairs(space.pairs)}
    if isinstance(space, Margin):
        told["lower_squared"] = _text(space.lower_squared)
        told["planes"] = [
            {"intercept": _text(plane.intercept), "weights": [[c, _text(f)] for c, f in sorted(plane.weights.items())]}
            for plane in space.planes
        ]
    return told


def _told_pairs(pairs: tuple[Pair, ...]) -> list[list[Any]]:
    return [[pair.row, pair.rival, _text(pair.weight)] for pair in pairs]


def _text(f: Fraction) -> str:
    whole = _digits(abs(f.numerator)) + (f"/{_digits(f.denominator)}" if f.denominator != 1 else "")
    return "-" + whole if f < 0 else whole


def _digits(n: int) -> str:
    if n.bit_length() > 4 * MOST_DIGITS:
        raise ValueError(f"a fraction of this certificate has more than {MOST_DIGITS} digits, too many for a file")
    return str(n) if n.bit_length() < 3 * DECIMAL else hex(n)


def _sealed(told: dict[str, Any]) -> dict[str, Any]:
    canonical = json.dumps(told, sort_keys=True, separators=(",", ":")).encode()
    return told | {"seal": hashlib.sha256(canonical).hexdigest()}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- reading ---------------------------------------------------------------------------------------------------------------


def _certificate(told: dict[str, Any]) -> Certificate:
    verdict = told.pop("verdict", None)
    told.pop("format"), told.pop("version")
    about = _about(told.pop("data", None), told.pop("intercept", None))
    if verdict == "inseparable":
        certificate: Certificate = Inseparable(about, _pairs(told.pop("clash", None)))
    elif verdict in ("separable", "undecided"):
        known = verdict == "separable"
        one, other = (_space(told.pop(name, None), name, known) for name in ("augmented", "geometric"))
        if known:
            certificate = Separable(about, one, other, _fraction(told.pop("radius_squared", None)))
        else:
            certificate = Undecided(about, one, other)
    else:
        raise ValueError(f"its verdict is {_short(verdict)}")
    _require(not told, f"it has something unknown, {_short(next(iter(told), None))}")
    return certificate


def _about(data: Any, intercept: Any) -> About:
    _fields(data, "data", {"rows", "columns", "classes", "sha256"})
    _require(isinstance(intercept, bool), "intercept is not true or false")
    classes, sha256 = data["classes"], data["sha256"]
    _require(isinstance(classes, list) and all(isinstance(name, str) for name in classes), "its classes are not names")
    _require(len(classes) == len(set(classes)) > 1, "its classes are fewer than two, or one is there twice")
    _require(isinstance(sha256, str) and re.fullmatch("[0-9a-f]{64}", sha256) is not None, "its digest is not SHA-256")
    return About(_whole(data["rows"]), _whole(data["columns"]), tuple(classes), sha256, intercept)


def _space(told: Any, name: str, planes: bool) -> Any:
    _fields(told, name, {"upper_squared", "pairs"} | ({"lower_squared", "planes"} if planes else set()))
    upper, pairs = _fraction(told["upper_squared"]), _pairs(told["pairs"])
    if not planes:
        return Ceiling(upper, pairs)
    _require(isinstance(told["planes"], list), "its planes are not a list")
    return Margin(upper, pairs, _fraction(told["lower_squared"]), tuple(_plane(plane) for plane in told["planes"]))


def _plane(told: Any) -> Plane:
    _fields(told, "a plane", {"intercept", "weights"})
    entries = _rows(told["weights"], 2, "weights")
    weights = {_whole(column): _fraction(weight) for column, weight in entries}
    _require(len(weights) == len(entries), "a column is there twice")
    return Plane(weights, _fraction(told["intercept"]))


def _pairs(told: Any) -> tuple[Pair, ...]:
    return tuple(Pair(_whole(row), _whole(rival), _fraction(weight)) for row, rival, weight in _rows(told, 3, "pairs"))


def _rows(told: Any, length: int, name: str) -> list[Any]:
    _require(
        isinstance(told, list) and all(isinstance(row, list) and len(row) == length for row in told), f"{name} are not rows"
    )
    return told  # type: ignore[no-any-return]


def _fields(told: Any, name: str, wanted: set[str]) -> None:
    _require(isinstance(told, dict) and set(told) == wanted, f"{name} has not the fields {', '.join(sorted(wanted))}")


def _whole(told: Any) -> int:
    _require(isinstance(told, int) and not isinstance(told, bool) and 0 <= told < 1 << 62, f"{_short(told)} is not a position")
    return int(told)


def _fraction(told: Any) -> Fraction:
    found = _FRACTION.fullmatch(told) if isinstance(told, str) else None
    _require(found is not None, f"{_short(told)} is not a fraction of at most {MOST_DIGITS} digits")
    assert found is not None
    sign, above, below = found.groups(default="1")
    _require(int(below, 0) != 0, f"{_short(told)} divides by zero")
    return Fraction(-int(above, 0) if sign == "-" else int(above, 0), int(below, 0))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    told = dict(pairs)
    _require(len(told) == len(pairs), "a name is there twice")
    return told


def _short_int(text: str) -> int:
    _require(len(text) <= 19, f"{_short(text)} is not a position")
    return int(text)


def _no_float(text: str) -> Any:
    raise ValueError(f"{_short(text)} is not a fraction")


def _short(told: Any) -> str:
    text = repr(told)
    return text if len(text) <= 40 else text[:37] + "..."


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
