"""What is said about an outcome: a few lines for a person, or plain values for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..reporting.terminal import sparkline
from ..reporting.text import plural
from .metrics import Confusion

if TYPE_CHECKING:
    from .train import Outcome

# Classes whose sizes are listed, at most.
LISTED = 6


def summary(outcome: Outcome) -> list[tuple[str, str]]:
    """Names and what is said under them, in the order of the work."""
    estimator = outcome.estimator
    lines = [("data", _data(outcome)), *(("", note) for note in outcome.notes)]
    lines.append(("ran", f"{_title(outcome)}: {_call(estimator)}"))
    if hasattr(estimator, "stop_"):
        lines.append(("stopped", f"{estimator.stop_.reason}: {estimator.stop_.sentence}"))
    work = _work(outcome)
    if work:
        lines.append(("work", work))
    lines.append(("training", _errors(outcome.train)))
    if outcome.test is not None:
        lines.append(("test", f"{_errors(outcome.test)}, 95 % interval {_interval(outcome.test)}"))
    if outcome.folds:
        pooled = together(outcome.folds)
        spread = f"{min(f.error for f in outcome.folds):.2%} to {max(f.error for f in outcome.folds):.2%} fold by fold"
        lines.append((f"{len(outcome.folds)} folds", f"{_errors(pooled)}, 95 % interval {_interval(pooled)}; {spread}"))
    if outcome.margin is not None:
        lines.append(("margin", _margin(outcome)))
    if outcome.certificate is not None:
        lines.append(("proof", str(outcome.certificate).splitlines()[0]))
    lines.append(("time", f"{_seconds(outcome.seconds)} to learn, {_seconds(outcome.total_seconds)} in all"))
    return lines


def facts(outcome: Outcome) -> list[tuple[str, str]]:
    """The same in short, for a page that shows the rest: most are a number."""
    estimator = outcome.estimator
    passes, updates = getattr(estimator, "n_iter_", None), getattr(estimator, "n_updates_", None)
    told = [
        ("rows", f"{outcome.rows:,}"),
        ("features", f"{outcome.recipe.width:,}"),
        ("classes", f"{len(outcome.classes):,}"),
        ("algorithm", _title(outcome)),
        ("passes", f"{passes:,}" if isinstance(passes, int) else ""),
        ("updates", f"{updates:,}" if updates else ""),
        ("training error", f"{outcome.train.error:.2%}"),
    ]
    tested = outcome.test or (together(outcome.folds) if outcome.folds else None)
    if tested is not None:
        name = "test error" if outcome.test is not None else f"error in {len(outcome.folds)} folds"
        told += [(name, f"{tested.error:.2%}"), ("95 % interval", _interval(tested))]
    if outcome.margin is not None:
        told.append(("margin", f"{outcome.margin:.3g}" if outcome.margin > 0.0 else "none"))
    told += [("time to learn", _seconds(outcome.seconds)), ("ran", _call(estimator))]
    if hasattr(estimator, "stop_"):
        told.append(("stopped", f"{estimator.stop_.reason}: {estimator.stop_.sentence}"))
    return [(name, value) for name, value in told if value]


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """The same and more, as plain values."""
    estimator, stop = outcome.estimator, getattr(outcome.estimator, "stop_", None)
    told: dict[str, Any] = {
        "data": {"source": outcome.request.data, "rows": outcome.rows, "columns": outcome.recipe.width},
        "classes": outcome.classes.tolist(),
        "notes": list(outcome.notes),
        "algorithm": outcome.request.algorithm,
        "estimator": type(estimator).__name__,
        "parameters": {name: _plain(value) for name, value in estimator.get_params().items()},
        "stop": None if stop is None else {"reason": stop.reason, "sentence": stop.sentence},
        "passes": _number(getattr(estimator, "n_iter_", None)),
        "updates": _number(getattr(estimator, "n_updates_", None)),
        "updates_possible": outcome.bound,
        "updates_per_pass": [last for _, _, last in outcome.history],
        "training": outcome.train.to_dict(),
        "test": None if outcome.test is None else outcome.test.to_dict(),
        "folds": [fold.to_dict() for fold in outcome.folds],
        "margin": outcome.margin,
        "proof": None if outcome.certificate is None else str(outcome.certificate),
        "verdict": None if outcome.certificate is None else outcome.certificate.verdict,
        "seconds": {"learning": outcome.seconds, "all": outcome.total_seconds},
    }
    return told


def together(folds: tuple[Confusion, ...]) -> Confusion:
    total = folds[0]
    for fold in folds[1:]:
        total = total + fold
    return total


def _data(outcome: Outcome) -> str:
    sizes = outcome.train.counts.sum(axis=1)
    each = [f"{label} ({size:,})" for label, size in zip(outcome.classes.tolist(), sizes, strict=True)]
    listed = ", ".join(each[:LISTED]) + (", ..." if len(each) > LISTED else "")
    features = plural(outcome.recipe.width, "feature")
    return f"{plural(outcome.rows, 'row')} to learn from, {features}, {len(each):,} classes: {listed}"


def _title(outcome: Outcome) -> str:
    title = outcome.request.choice.title
    return title[0].lower() + title[1:]


def _call(estimator: Any) -> str:
    return " ".join(str(estimator).split())


def _work(outcome: Outcome) -> str:
    passes, updates = getattr(outcome.estimator, "n_iter_", None), getattr(outcome.estimator, "n_updates_", None)
    parts = []
    if isinstance(passes, int):
        parts.append(plural(passes, "pass", "passes"))
    if updates is not None:
        parts.append(plural(updates, "update"))
    if outcome.bound is not None:
        parts.append(f"of at most {outcome.bound:,.1f} that R^2/gamma^2 allows")
    each = [last for _, _, last in outcome.history]
    return ", ".join(parts) + (f"  {sparkline(each)} pass by pass" if len(each) > 2 else "")


def _errors(confusion: Confusion) -> str:
    return f"{confusion.error:.2%} wrong ({confusion.errors:,} of {confusion.rows:,})"


def _interval(confusion: Confusion) -> str:
    low, high = confusion.interval
    return f"{low:.2%} to {high:.2%}"


def _margin(outcome: Outcome) -> str:
    margin = outcome.margin
    assert margin is not None
    if margin > 0.0:
        return f"{margin:.6g}: the nearest row is that far from the plane"
    wrong = outcome.train.errors
    return f"none: {plural(wrong, 'row is', 'rows are')} not on their own side, one by {abs(margin):.3g}"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60:.1f} min"


def _number(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else [int(each) for each in value]


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
