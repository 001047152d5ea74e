"""Certificates as JSON files: every number is a string with a fraction; a version and a seal are included.

    {"format": "rosenblatt certificate", "version": 1, "verdict": "separable",
     "data": {"rows": 2, "columns": 1, "classes": ["0", "1"], "sha256": "..."}, "intercept": true,
     "augmented": {"upper_squared": "5/9", "pairs": [[row, rival, "weight"], ...],
                   "lower_squared": "5/9", "planes": [{"intercept": "-1/2", "weights": [[column, "1"], ...]}]},
     "geometric": {...}, "radius_squared": "5", "seal": "..."}

The seal is the SHA-256 of all other content. It detects damage, not forgery: a forged file can be sealed again, and `verify`
then finds the false statement. A file that is truncated, too large, nested too deeply or of another form is rejected with a
`ValueError`; sizes are checked before anything is built from the content.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from ..atomic_file import NotRegularFileError, open_regular, write_atomically
from ..safe_text import brief_repr, printable
from .digit_budget import MAX_DIGIT_PRODUCTS, PRODUCTS_PER_PART, CertificateTooLargeError, shared_budget
from .likelihood import MAX_LISTED_ROWS, Likelihood, RowList
from .statements import About, Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable, Undecided

FORMAT, VERSION = "rosenblatt certificate", 1
MAX_BYTES = 1 << 28
MAX_PARTS = MAX_DIGIT_PRODUCTS // PRODUCTS_PER_PART  # list items and object fields, counted before the JSON is parsed
MAX_DIGITS = 100_000  # digits of one integer
MAX_DECIMAL_DIGITS = 4_000  # longer integers are written in hexadecimal, which Python parses in linear time and without a limit
_INTEGER = f"(?:0|[1-9][0-9]{{0,{MAX_DECIMAL_DIGITS}}}|0x[1-9a-f][0-9a-f]{{0,{MAX_DIGITS}}})"
_FRACTION = re.compile(rf"(-?)({_INTEGER})(?:/({_INTEGER}))?")


def save_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Write a certificate to a JSON file.

    The file is written completely or not at all: a failure leaves an existing file as it was. Links are followed, and the
    permissions of an existing file are kept.

    Parameters
    ----------
    certificate : Separable, Inseparable or Undecided
        The certificate, as returned by `rosenblatt.certify`.
    path : str or os.PathLike
        The file to write. An existing file is replaced.

    Raises
    ------
    TypeError
        If `certificate` is a list of certificates.
    ValueError
        If the certificate is too large for a file: over 256 MB, or with integers of more than 100,000 digits.
    OSError
        If the file cannot be written.

    See Also
    --------
    rosenblatt.load_certificate : Read the file.

    Examples
    --------
    >>> import rosenblatt as rb, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "certificate.json")
    >>> rb.save_certificate(rb.certify([[0], [1]], [0, 1]), path)
    >>> rb.load_certificate(path) == rb.certify([[0], [1]], [0, 1])
    True
    """
    require_certificate(certificate)
    lines = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in certificate_to_dict(certificate).items())
    raw = ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")
    _check_size(raw)
    write_atomically(path, raw)


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate from a JSON file.

    The content is not checked against any data; `rosenblatt.verify` does that.

    Parameters
    ----------
    path : str or os.PathLike
        A file written by `save_certificate`.

    Returns
    -------
    Separable, Inseparable or Undecided
        The certificate.

    Raises
    ------
    ValueError
        If the file is not a certificate, is a pipe or a device, is damaged, or exceeds the limits of size.

    See Also
    --------
    rosenblatt.save_certificate : Write the file.
    rosenblatt.verify : Check a certificate against data.

    Examples
    --------
    >>> import rosenblatt as rb, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "certificate.json")
    >>> X, y = [[0], [1], [2]], [0, 1, 0]
    >>> rb.save_certificate(rb.certify(X, y), path)
    >>> bool(rb.verify(rb.load_certificate(path), X, y))
    True
    """
    path = Path(path)
    try:
        with open(path, "rb", opener=open_regular) as file:
            raw = file.read(MAX_BYTES + 1) if os.fstat(file.fileno()).st_size <= MAX_BYTES else None
        _require(raw is not None, f"it has more than {MAX_BYTES >> 20} MB")
        return parse_certificate(raw or b"")
    except (ValueError, NotRegularFileError) as error:
        raise ValueError(printable(f"{path.name}: not a valid certificate: {error}")) from None


def require_certificate(certificate: object) -> None:
    """Raise `TypeError` unless this is one certificate; a list may be the attribute `certificate_` of a perceptron."""
    if isinstance(certificate, list | tuple):
        entries = f"a {type(certificate).__name__} of {len(certificate)}"
        raise TypeError(f"certificate must be one certificate, got {entries}: pass one entry, such as certificate_[0]")
    if not isinstance(certificate, Separable | Inseparable | Undecided):
        raise TypeError(f"certificate must be Separable, Inseparable or Undecided, got {type(certificate).__name__}")


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """The content of the file, with the seal: names, integers, and fractions as strings."""
    with shared_budget() as budget:
        if id(certificate) not in budget.written:
            content = _content(certificate)
            budget.spend(content)
            budget.written[id(certificate)] = (certificate, _sealed(content))
        return budget.written[id(certificate)][1]


def normalize_certificate(certificate: object) -> Certificate:
    """The certificate after a round trip through its file format, so that only plain numbers remain.

    Raises `ValueError` for an object that cannot be written to a file.
    """
    try:
        raw = json.dumps(certificate_to_dict(certificate)).encode("ascii")  # type: ignore[arg-type]
    except ValueError:
        raise
    except Exception as error:  # an object that only looks like a certificate may raise anything
        raise ValueError(f"it is not a certificate ({type(error).__name__})") from None
    return parse_certificate(raw)


def parse_certificate(raw: bytes) -> Certificate:
    """The certificate in the bytes of a file."""
    _check_size(raw)
    try:
        return _parsed(raw)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _parsed(raw: bytes) -> Certificate:
    try:
        content = json.loads(
            raw.decode("ascii"),
            object_pairs_hook=_unique_names,
            parse_int=_short_integer,
            parse_float=_reject_number,
            parse_constant=_reject_number,
        )
    except UnicodeDecodeError:
        raise ValueError("it is not ASCII text") from None
    except json.JSONDecodeError:
        raise ValueError("it is not JSON or is truncated") from None
    _require(isinstance(content, dict) and content.get("format") == FORMAT, f"its format is not {FORMAT!r}")
    _require(content.get("version") == VERSION and content["version"] is not True, f"its version is not {VERSION}")
    seal = content.pop("seal", None)
    _require(_sealed(content)["seal"] == seal, "its seal does not match: it was changed or damaged")
    with shared_budget() as budget:
        if seal not in budget.read:
            budget.spend(content)
            budget.read[seal] = _certificate(content)
        return budget.read[seal]


def _check_size(raw: bytes) -> None:
    """Reject content that would take too much memory or time to parse."""
    if len(raw) > MAX_BYTES:
        raise CertificateTooLargeError(f"it has more than {MAX_BYTES >> 20} MB")
    if sum(map(raw.count, (b",", b"[", b"{"))) > MAX_PARTS:
        raise CertificateTooLargeError(f"it has more than {MAX_PARTS} parts")


# --- writing ---------------------------------------------------------------------------------------------------------------


def _content(certificate: Certificate) -> dict[str, Any]:
    """All of the file but the seal."""
    about = certificate.about
    verdicts = {Separable: "separable", Inseparable: "inseparable", Undecided: "undecided"}
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION, "verdict": verdicts[type(certificate)]}
    shape = {"rows": about.n_rows, "columns": about.n_columns}
    content |= {"data": shape | {"classes": list(about.classes), "sha256": about.sha256}, "intercept": about.intercept}
    if certificate.likelihood is not None:
        content["likelihood"] = _likelihood_content(certificate.likelihood)
    if isinstance(certificate, Inseparable):
        return content | {"clash": _pair_lists(certificate.clash)}
    content |= {name: _space_content(getattr(certificate, name)) for name in ("augmented", "geometric")}
    if isinstance(certificate, Separable):
        content["radius_squared"] = _fraction_text(certificate.radius_squared)
    return content


def _space_content(space: Ceiling) -> dict[str, Any]:
    content: dict[str, Any] = {"upper_squared": _fraction_text(space.upper_squared), "pairs": _pair_lists(space.pairs)}
    if isinstance(space, Margin):
        content["lower_squared"] = _fraction_text(space.lower_squared)
        content["planes"] = _plane_contents(space.planes)
    return content


def _likelihood_content(likelihood: Likelihood) -> dict[str, Any]:
    content = {"planes": _plane_contents(likelihood.planes), "weights": _pair_lists(likelihood.weights)}
    lists = {"separated": likelihood.separated, "on_plane": likelihood.on_plane}
    return content | {name: {"total": rows.total, "first": list(rows.first)} for name, rows in lists.items()}


def _plane_contents(planes: tuple[Plane, ...]) -> list[dict[str, Any]]:
    return [
        {
            "intercept": _fraction_text(plane.intercept),
            "weights": [[c, _fraction_text(f)] for c, f in sorted(plane.weights.items())],
        }
        for plane in planes
    ]


def _pair_lists(pairs: tuple[Pair, ...]) -> list[list[int | str]]:
    return [[pair.row, pair.rival, _fraction_text(pair.weight)] for pair in pairs]


def _fraction_text(f: Fraction) -> str:
    numerator, denominator = _digits(abs(f.numerator)), _digits(f.denominator)
    text = numerator if denominator == "1" else f"{numerator}/{denominator}"
    return "-" + text if f < 0 else text


def _digits(n: int) -> str:
    if n.bit_length() > 4 * MAX_DIGITS:
        raise CertificateTooLargeError(f"it has a fraction of more than {MAX_DIGITS} digits, too many for a file")
    return str(n) if n.bit_length() < 3 * MAX_DECIMAL_DIGITS else hex(n)


def _sealed(content: dict[str, Any]) -> dict[str, Any]:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    return content | {"seal": hashlib.sha256(canonical).hexdigest()}


# --- reading ---------------------------------------------------------------------------------------------------------------


def _certificate(content: dict[str, Any]) -> Certificate:
    """The certificate, with all that its sentences and bounds rely on: known rows, classes and columns, and ordered bounds."""
    verdict = content.pop("verdict", None)
    content.pop("format"), content.pop("version")
    about = _about(content.pop("data", None), content.pop("intercept", None))
    likelihood = None
    if "likelihood" in content and verdict in ("separable", "inseparable"):
        likelihood = _likelihood(content.pop("likelihood"), about, complete=verdict == "separable")
    if verdict == "inseparable":
        certificate: Certificate = (proof := Inseparable(about, _pairs(content.pop("clash", None), about), likelihood))
        one, other = proof.sides or ([], [])
        _require(not set(one) & set(other), "a row of the clash is on both sides")
    elif verdict == "separable":
        augmented, geometric = (_margin(content.pop(name, None), name, about) for name in ("augmented", "geometric"))
        radius_squared = _fraction(content.pop("radius_squared", None))
        _require(radius_squared > 0, "its radius is not positive")
        certificate = Separable(about, augmented, geometric, radius_squared, likelihood)
    elif verdict == "undecided":
        certificate = Undecided(about, *(_ceiling(content.pop(name, None), name, about) for name in ("augmented", "geometric")))
    else:
        raise ValueError(f"its verdict is {brief_repr(verdict, 40)}")
    if content:
        raise ValueError(f"it has an unknown field, {brief_repr(next(iter(content)), 40)}")
    return certificate


def _about(data: Any, intercept: Any) -> About:
    _check_fields(data, "data", {"rows", "columns", "classes", "sha256"})
    _require(isinstance(intercept, bool), "intercept is not true or false")
    classes, sha256 = data["classes"], data["sha256"]
    _require(isinstance(classes, list) and all(isinstance(name, str) for name in classes), "its classes are not strings")
    _require(len(classes) == len(set(classes)) > 1, "it has fewer than two classes, or a class twice")
    _require(isinstance(sha256, str) and re.fullmatch("[0-9a-f]{64}", sha256) is not None, "its digest is not a SHA-256")
    return About(_position(data["rows"]), _position(data["columns"]), tuple(classes), sha256, intercept)


def _ceiling(content: Any, name: str, about: About) -> Ceiling:
    _check_fields(content, name, {"upper_squared", "pairs"})
    upper_squared = _fraction(content["upper_squared"])
    _require(upper_squared >= 0, f"the bound of {name} is negative")
    return Ceiling(upper_squared, _pairs(content["pairs"], about))


def _margin(content: Any, name: str, about: About) -> Margin:
    _check_fields(content, name, {"upper_squared", "pairs", "lower_squared", "planes"})
    lower_squared, upper_squared = _fraction(content["lower_squared"]), _fraction(content["upper_squared"])
    _require(0 < lower_squared <= upper_squared, f"the bounds of {name} are not positive and ascending")
    planes = _planes(content["planes"], name, about)
    return Margin(upper_squared, _pairs(content["pairs"], about), lower_squared, planes)


def _likelihood(content: Any, about: About, complete: bool) -> Likelihood:
    _check_fields(content, "likelihood", {"planes", "weights", "separated", "on_plane"})
    separated, on_plane = (_row_list(content[name], about) for name in ("separated", "on_plane"))
    planes = _planes(content["planes"], "likelihood", about) if content["planes"] != [] else ()  # overlap has none
    weights = _pairs(content["weights"], about) if content["weights"] != [] else ()  # all may be 1
    _require(bool(planes) == (separated.total > 0), "likelihood has planes and no separated rows, or the reverse")
    _require(complete == (on_plane.total == 0), "likelihood contradicts the verdict")
    _require(on_plane.total > 0 or not weights, "likelihood has weights, but no rows on its planes")
    return Likelihood(planes, weights, separated, on_plane)


def _row_list(content: Any, about: About) -> RowList:
    _check_fields(content, "a list of rows", {"total", "first"})
    total, first = _position(content["total"], about.n_rows + 1), content["first"]
    _require(isinstance(first, list) and len(first) == min(total, MAX_LISTED_ROWS), "a list of rows has another length")
    rows = tuple(_position(row, about.n_rows) for row in first)
    _require(rows == tuple(sorted(set(rows))), "a list of rows is not ascending")
    return RowList(total, rows)


def _planes(content: Any, name: str, about: About) -> tuple[Plane, ...]:
    valid = isinstance(content, list) and len(content) == about.n_planes
    _require(valid, f"{name} must have a list of {about.n_planes} planes")
    return tuple(_plane(plane, about.n_columns) for plane in content)


def _plane(content: Any, n_columns: int) -> Plane:
    _check_fields(content, "a plane", {"intercept", "weights"})
    weights = {_position(column, n_columns): _fraction(f) for column, f in _lists(content["weights"], 2, "weights")}
    _require(len(weights) == len(content["weights"]), "a plane has a column twice")
    return Plane(weights, _fraction(content["intercept"]))


def _pairs(content: Any, about: About) -> tuple[Pair, ...]:
    lists, k = _lists(content, 3, "pairs"), len(about.classes)
    pairs = tuple(Pair(_position(i, about.n_rows), _position(rival, k), _fraction(weight)) for i, rival, weight in lists)
    _require(len({pair[:2] for pair in pairs}) == len(pairs) > 0, "it has no pairs, or one twice")
    return pairs


def _lists(content: Any, length: int, name: str) -> list[list[Any]]:
    valid = isinstance(content, list) and all(isinstance(item, list) and len(item) == length for item in content)
    _require(valid, f"its {name} are not lists of {length} items")
    return content  # type: ignore[no-any-return]


def _check_fields(content: Any, name: str, fields: set[str]) -> None:
    _require(isinstance(content, dict) and set(content) == fields, f"{name} must have the fields {', '.join(sorted(fields))}")


def _position(value: Any, end: int = 1 << 62) -> int:
    valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end
    _require(valid, f"{brief_repr(value, 40)} is not a position from 0 to {end - 1}")
    return int(value)


def _fraction(text: Any) -> Fraction:
    match = _FRACTION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{brief_repr(text, 40)} is not a fraction of at most {MAX_DIGITS} digits")
    sign, numerator, denominator = match.groups(default="1")
    _require(int(denominator, 0) != 0, f"{brief_repr(text, 40)} divides by zero")
    return Fraction(-int(numerator, 0) if sign == "-" else int(numerator, 0), int(denominator, 0))


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    _require(len(content) == len(pairs), "it has a field twice")
    return content


def _short_integer(text: str) -> int:
    if len(text) > 19:
        raise ValueError(f"{brief_repr(text, 40)} is not a position")
    return int(text)


def _reject_number(text: str) -> NoReturn:
    raise ValueError(f"{brief_repr(text, 40)} is not a fraction")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
