"""The card of a model in Markdown: what it predicts, from which data, how it was tested, and where its limits are.

Everything is read from the model itself, so that a file is enough. What it does not store is named as unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...data.readers import data_name, is_example
from ...reporting.text import count, fixed, join_and, percent, percent_range, plural, short
from ..description import (
    count_used,
    count_work,
    describe_scheme,
    describe_selection,
    heaviest,
    intercepts,
    reading_options,
    shown_parameters,
)  # fmt: skip
from .limits import limits
from .markdown import code, escape, paragraph, table
from .record import FILE, FOLDS, Counts, Record, RecordedTest, record_from_json

if TYPE_CHECKING:
    from ..model import Model

HEAVIEST, LISTED_CLASSES, LISTED_PLANES, LISTED_PROOF_LINES = 10, 30, 30, 6
NO_RECORD = (
    "Unknown: the file stores no test of the model, because it was saved in Python or by an earlier version. "
    "`rosenblatt evaluate` tests it on a file."
)


def card_of(model: Model) -> str:
    """The card of a model; `Model.card` describes it."""
    record = record_from_json(model.provenance.get("training"))
    sections = {
        "What it predicts": _purpose(model, record),
        "Data": _data(model),
        "Algorithm": _algorithm(model, record),
        "Test": _test(model, record),
        "Proof": _proof(record),
        "Heaviest features": _features(model),
        "What was noticed": _noticed(record),
        "Limits": limits(model, record),
        "Origin": _origin(model),
    }
    data = model.provenance.get("data")
    lines = ["# Model card" + (f": {code(data_name(data))}" if isinstance(data, str) else "")]
    for title, section in sections.items():
        body = list(section)
        if body:
            lines += ["", f"## {title}", "", *body]
    return "\n".join(lines) + "\n"


def _purpose(model: Model, record: Record | None) -> Iterator[str]:
    labels, sizes = model.classes.tolist(), record.training.classes if record is not None else None
    known = sizes is not None and len(sizes) == len(labels)
    rows = [f" ({plural(each[0], 'training row')})" for each in sizes or ()] if known else [""] * len(labels)
    listed = [f"{code(label)}{size}" for label, size in zip(labels, rows, strict=True)]
    rest = [plural(len(listed) - LISTED_CLASSES, "other class", "other classes")] if len(listed) > LISTED_CLASSES else []
    reading = _dict(model.provenance.get("reading"))
    column = f"Column {code(reading['label'])}" if reading.get("label") is not None else "A label"
    yield f"{column}: {', '.join([*listed[:LISTED_CLASSES], *rest])}."
    if model.votes is not None:
        yield "\nThe planes of the run vote, each with the number of rows that it survived."
    elif len(labels) == 2:
        second, first = code(labels[1]), code(labels[0])
        yield f"\nA row whose score is above 0 is {second}, any other {first}; the score is a weighted sum of the features."
    else:
        scheme = "every plane votes for one class of a pair" if model.pairs else "the class with the highest score is predicted"
        yield f"\nScores are weighted sums of the features; {scheme}."


def _data(model: Model) -> Iterator[str]:
    origin = model.provenance
    digest = origin.get("sha256") or origin.get("data_sha256")
    nouns = {"rows": "training row", "columns": "column"}
    sizes = [plural(origin[name], noun) for name, noun in nouns.items() if type(origin.get(name)) is int]
    size = join_and(sizes) if sizes else "unknown"
    unsealed = "none: built-in rows" if is_example(str(origin.get("data"))) else "unknown"
    source = code(origin["data"]) if isinstance(origin.get("data"), str) else "unknown"
    rows = [
        ("File", source),
        ("SHA-256", code(digest) if digest else unsealed),
        ("Size", size),
    ]
    rows.append(("Features", count(model.n_features)))
    reading = origin.get("reading")
    options, forms = reading_options(reading) if isinstance(reading, dict) else ("", [])
    if options:
        rows.append(("Read with", code(options)))
    yield from table(["", ""], rows)
    notes = [*(f"{form[0].upper()}{form[1:]}." for form in forms), *(model.recipe.notes if model.recipe is not None else ())]
    if notes:
        yield ""
        yield from (f"- {paragraph(note)}" for note in notes)


def _algorithm(model: Model, record: Record | None) -> Iterator[str]:
    parameters = shown_parameters(model.parameters)
    title = "" if record is None else f"{escape(record.algorithm)}: "
    yield f"{title}{code(f'{model.kind}({parameters})')}."
    scheme = describe_scheme(model.parameters, model.pairs, len(model.classes))
    work = count_work(model.n_iter, model.n_updates)
    selection = describe_selection(count_used(model.parameters, model.coef), model.n_features)
    stop = "" if model.stop is None else model.stop.sentence
    yield from (f"\n{paragraph(f'{text[0].upper()}{text[1:]}')}." for text in (scheme, stop, selection, work) if text)


# --- the test


def _test(model: Model, record: Record | None) -> Iterator[str]:
    if record is None:
        yield NO_RECORD
        return
    yield _how_tested(record.test, model.provenance.get("test_sha256"))
    yield ""
    baseline, tested = record.baseline, record.training if record.test is None else record.test.counts
    rows = [_error_row("tested rows", tested)] if record.test is not None else []
    guess = f"{percent(baseline.error, 2)} ({count(baseline.errors)} of {count(tested.rows)})"
    rows.append((f"baseline: always {code(baseline.label)}", guess, ""))
    rows.append(_error_row("training rows", record.training))
    yield from table(["", "error", "95 % interval"], rows, right=[1, 2])
    yield from _per_class(model, tested, "training rows" if record.test is None else "tested rows")
    quality = record.probabilities
    if quality is not None:
        shares = f"class shares alone: {fixed(quality.log_loss_of_shares)} and {fixed(quality.brier_of_shares)}"
        error = percent(quality.calibration_error)
        scores = f"log loss {fixed(quality.log_loss)}, Brier score {fixed(quality.brier)} ({shares})"
        yield f"\nProbabilities: {scores}; calibration error {error}."


def _how_tested(test: RecordedTest | None, digest: object) -> str:
    if test is None:
        return "The model was not tested: the errors below are those of its own training rows."
    seed = "" if test.seed is None else f" (seed {test.seed})"
    if test.by == FOLDS:
        errors = [wrong / max(1, rows) for rows, wrong in test.folds]
        single = percent_range(min(errors), max(errors)) if errors else "unknown"
        each = f"each tested with a model of the others; single folds: {single}"
        return f"Tested by {len(test.folds)} folds of the training rows{seed}, {each}."
    if test.by == FILE:
        same = ", **which is the training file**" if test.is_training_file else ""
        seal = f", SHA-256 {code(digest)}" if isinstance(digest, str) else ""
        return f"Tested on the file {code(test.file)}{seal}{same}."
    share = "" if test.share is None else f", {short(100.0 * test.share)} % of each class{seed}"
    return f"Tested on rows of the same file that were held out{share}."


def _error_row(name: str, counts: Counts) -> tuple[str, str, str]:
    error = f"{percent(counts.error, 2)} ({count(counts.errors)} of {count(counts.rows)})"
    return name, error, percent_range(*counts.interval)


def _per_class(model: Model, counts: Counts, name: str) -> Iterator[str]:
    if counts.classes is None or len(counts.classes) != len(model.classes):
        return
    labels = model.classes.tolist()
    order = list(range(len(labels)))
    if len(labels) > LISTED_CLASSES:
        recall = [right / rows if rows else 1.0 for rows, _, right in counts.classes]
        order = sorted(order, key=lambda k: recall[k])[:LISTED_CLASSES]
        yield f"\nThe {LISTED_CLASSES} classes with the lowest recall:"
    yield ""
    rows = []
    for k in order:
        own, predicted, right = counts.classes[k]
        rows.append((code(labels[k]), count(own), _share(right, predicted), _share(right, own)))
    yield from table(["class", name, "precision", "recall"], rows, right=[1, 2, 3])
    if counts.confusion is not None:
        yield "\nTrue class down, predicted class across:\n"
        head = ["", *map(code, labels)]
        cells = ([code(label), *map(count, row)] for label, row in zip(labels, counts.confusion, strict=True))
        yield from table(head, cells, right=range(1, len(head)))


def _share(part: int, total: int) -> str:
    return percent(part / total) if total else "none"


# --- the other sections


def _proof(record: Record | None) -> Iterator[str]:
    if record is None or record.proof is None:
        return
    first, *details = record.proof.splitlines()
    yield f"Of the training rows, before scaling: {escape(first.strip())}"
    if details:
        yield ""
        yield from (f"- {paragraph(' '.join(line.split()))}" for line in details[:LISTED_PROOF_LINES] if line.strip())


def _features(model: Model) -> Iterator[str]:
    if model.votes is not None:
        yield "None: the hypotheses of the run vote."
        return
    several = len(model.coef) > 1 if model.coef is not None else False
    most = max(1, HEAVIEST // 3) if several else HEAVIEST
    found = heaviest(model, most)[: most * LISTED_PLANES]
    scaled = getattr(model.recipe, "scales", False)
    unit = ", of features that are scaled as described above" if scaled else ""
    yield f"Weights in favor of the class (+) or against it (-){unit}.\n"
    rows = [(code(each["class"]), code(each["feature"]), _signed(each["weight"])) for each in found]
    yield from table(["class", "feature", "weight"], rows, right=[2])
    planes = intercepts(model)
    listed = ", ".join(f"{_signed(each['intercept'])} for {code(each['class'])}" for each in planes[:LISTED_PLANES])
    more = f" and {len(planes) - LISTED_PLANES} more" if len(planes) > LISTED_PLANES else ""
    yield f"\nIntercept: {listed}{more}."


def _signed(number: float) -> str:
    return f"{'+' if number >= 0 else ''}{short(number, 4)}"


def _noticed(record: Record | None) -> Iterator[str]:
    if record is not None:
        yield from (f"- **Warning:** {escape(sentence)}" for sentence in record.warnings)
        yield from (f"- {paragraph(note)}" for note in record.notes)


def _origin(model: Model) -> Iterator[str]:
    origin = model.provenance
    if isinstance(origin.get("command"), str):
        yield f"Trained by {code(origin['command'])}."
    else:
        yield "The command that trained it is unknown."
    versions = [f"{name} {escape(origin[name])}" for name in ("rosenblatt", "numpy", "python") if name in origin]
    saved = f" on {escape(origin['saved'])}" if "saved" in origin else ""
    if versions:
        yield f"\nSaved{saved} by {join_and(versions)}."


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
