"""What training found out about a model: how it was tested, and with which result. Model files keep it with the provenance.

As JSON, under the name "training" of the provenance, it has the fields of `Record`, in which counts of rows are

    {"rows": 113, "errors": 2, "interval": [low, high], "classes": [[rows, predicted, right], ...], "confusion": [[...], ...]}

"classes" is null beyond `MAX_CLASSES` classes, and "confusion" beyond `MAX_CONFUSION`. Files of earlier versions have no
record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..strict_json import require

# Classes up to which the counts of each, and of each pair, are kept: the header of a file has a limit.
MAX_CLASSES, MAX_CONFUSION = 1000, 30
# How a model was tested.
HELD_OUT, FILE, FOLDS = "held-out rows", "file", "folds"
INVALID = "the record of the training is invalid"


@dataclass(frozen=True)
class Counts:
    """Predictions of rows whose class is known."""

    rows: int
    errors: int
    interval: tuple[float, float]
    classes: tuple[tuple[int, int, int], ...] | None = None  # of each class: its rows, the rows predicted as it, and both
    confusion: tuple[tuple[int, ...], ...] | None = None  # true class down, predicted class across

    @property
    def error(self) -> float:
        return self.errors / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class Baseline:
    """Always predicting the class with the most training rows, on the rows of the test, or else on the training rows."""

    label: str
    errors: int
    error: float


@dataclass(frozen=True)
class Probabilities:
    """The quality of the probabilities of the rows tested on, beside that of giving each class its share."""

    log_loss: float
    brier: float
    log_loss_of_shares: float
    brier_of_shares: float
    calibration_error: float


@dataclass(frozen=True)
class RecordedTest:
    """How a model was tested, and the counts."""

    by: str  # HELD_OUT, FILE or FOLDS
    counts: Counts
    file: str | None = None
    is_training_file: bool = False
    share: float | None = None  # of each class, held out
    seed: int | None = None
    folds: tuple[tuple[int, int], ...] = ()  # of each fold: its rows and errors


@dataclass(frozen=True)
class Record:
    """What training found out, beside the model itself.

    Attributes
    ----------
    algorithm : str
        The title of the algorithm.
    training : Counts
        Errors on the training rows.
    baseline : Baseline
    test : RecordedTest or None
        None if the model was not tested.
    probabilities : Probabilities or None
    proof : str or None
        What was proved about the training rows, in a sentence.
    warnings, notes : tuple of str
        Sentences about the test, and about the data and the fit.
    """

    algorithm: str
    training: Counts
    baseline: Baseline
    test: RecordedTest | None = None
    probabilities: Probabilities | None = None
    proof: str | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


# --- from the JSON of a file, every value checked


def record_from_json(value: Any) -> Record | None:
    """The record in a provenance, fully checked; None for a file without one."""
    if value is None:
        return None
    fields = _fields(value, Record)
    return Record(
        algorithm=_of(str, fields["algorithm"]),
        training=_counts(fields["training"]),
        baseline=_plain(fields["baseline"], Baseline, label=str, errors=int, error=float),
        test=_optional(_test, fields["test"]),
        probabilities=_optional(_probabilities, fields["probabilities"]),
        proof=_optional(_text, fields["proof"]),
        warnings=tuple(map(_text, _list(fields["warnings"]))),
        notes=tuple(map(_text, _list(fields["notes"]))),
    )


def _counts(value: Any) -> Counts:
    fields = _fields(value, Counts)
    rows, errors = _of(int, fields["rows"]), _of(int, fields["errors"])
    interval = tuple(map(_float, _list(fields["interval"])))
    require(errors <= rows and len(interval) == 2, INVALID)
    classes, confusion = _optional(_matrix, fields["classes"]), _optional(_matrix, fields["confusion"])
    require(classes is None or all(len(each) == 3 for each in classes), INVALID)
    square = confusion is None or all(len(row) == len(confusion) for row in confusion)
    require(square and (confusion is None or (classes is not None and len(classes) == len(confusion))), INVALID)
    return Counts(rows, errors, interval, classes, confusion)  # type: ignore[arg-type]


def _test(value: Any) -> RecordedTest:
    fields = _fields(value, RecordedTest)
    folds = _matrix(fields["folds"])
    require(fields["by"] in (HELD_OUT, FILE, FOLDS) and all(len(fold) == 2 for fold in folds), INVALID)
    require(type(fields["is_training_file"]) is bool, INVALID)
    return RecordedTest(
        fields["by"], _counts(fields["counts"]), _optional(_text, fields["file"]), fields["is_training_file"],
        _optional(_float, fields["share"]), _optional(_whole, fields["seed"]), tuple((fold[0], fold[1]) for fold in folds),
    )  # fmt: skip


def _probabilities(value: Any) -> Probabilities:
    found: Probabilities = _plain(value, Probabilities, **dict.fromkeys(_fields(value, Probabilities), float))
    return found


def _plain(value: Any, kind: Callable[..., Any], **types: type) -> Any:
    fields = _fields(value, kind)
    return kind(**{name: _of(types[name], each) for name, each in fields.items()})


def _fields(value: Any, kind: Any) -> dict[str, Any]:
    require(isinstance(value, dict) and set(value) == set(kind.__dataclass_fields__), INVALID)
    fields: dict[str, Any] = value
    return fields


def _of(kind: type, value: Any) -> Any:
    """A value of a type; whole numbers are at least 0, and a float may be written as one."""
    require(type(value) is kind or (kind is float and type(value) is int), INVALID)
    require(kind is not int or value >= 0, INVALID)
    return kind(value)


def _text(value: Any) -> str:
    text: str = _of(str, value)
    return text


def _float(value: Any) -> float:
    number: float = _of(float, value)
    return number


def _whole(value: Any) -> int:
    number: int = _of(int, value)
    return number


def _list(value: Any) -> Any:
    require(type(value) in (list, tuple), INVALID)
    return value


def _matrix(value: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(_whole, _list(row))) for row in _list(value))


def _optional(parse: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else parse(value)
