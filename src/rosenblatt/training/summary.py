"""The summary of an outcome: lines for the terminal, facts for the report, and plain values for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..certificates.sentences import describe_separation
from ..certificates.statements import Inseparable, Separable
from ..models.description import count_used, count_work, describe_scheme, describe_selection
from ..preprocessing.categorical import NumberedColumns
from ..reporting.terminal import SPARKLINE_BARS, sparkline
from ..reporting.text import comma_list, count, count_bound, duration, fixed, percent, percent_range, plural, short
from .judgment import Judgment
from .metrics import Confusion
from .threshold import Goal, positive_code

if TYPE_CHECKING:
    from ..estimators.base import LinearClassifier
    from ..preprocessing.recipe import Recipe
    from ..probabilities.measures import ProbabilityTest
    from .train import Outcome

# Classes whose sizes are listed, at most.
LISTED_CLASSES = 6
# From this many passes on, the updates of each pass are drawn as a sparkline.
SPARKLINE_PASSES = 3

# Compilation that takes less is not mentioned: kernels that the cache on disk has are loaded in a moment.
MIN_COMPILE_SECONDS = 0.2

# Hypotheses that combine all weights of a run, by the value of `keep`.
COMBINED = {"average": "the average of all weights of the run", "vote": "the vote of all weights of the run"}


def summarize(outcome: Outcome) -> list[tuple[str, str]]:
    """Return the lines that `rosenblatt train` prints, as (name, text) pairs in the order of the work."""
    estimator = outcome.estimator
    lines = [("data", _data(outcome)), *(("", note) for note in outcome.notes)]
    if outcome.tuning is not None:
        lines += [("" if place else "tuning", line) for place, line in enumerate(outcome.tuning.lines())]
    lines.append(("algorithm", f"{_title(outcome)}: {_call(estimator)}"))
    if scheme := _chosen_scheme(outcome):
        lines.append(("", scheme))
    lines.append(("fit", _fit(outcome)))
    if selection := describe_selection(_used(outcome), outcome.recipe.width):
        lines.append(("", selection))
    work = _work(outcome)
    if work:
        lines.append(("work", work))
    lines.append(("training", _error(outcome.train)))
    if outcome.test is not None:
        rows = "" if outcome.request.holdout_share is None else "held-out rows "
        lines.append(("test", f"{_error(outcome.test, rows)}, 95 % interval {percent_range(*outcome.test.interval)}"))
    if outcome.folds:
        total = pool(outcome.folds)
        errors = [fold.error for fold in outcome.folds]
        single = percent_range(min(errors), max(errors))
        folds = f"{_error(total)}, 95 % interval {percent_range(*total.interval)}; single folds {single}"
        lines.append((f"{len(outcome.folds)} folds", folds))
    if outcome.probabilities is not None:
        lines.append(("probabilities", describe_probabilities(outcome.probabilities)))
    lines += _judgment_lines(outcome)
    if outcome.margin is not None:
        lines.append(("margin", _margin(outcome.margin, outcome.train.errors)))
    if outcome.certificate is not None:
        lines.append(("proof", proof_of(outcome).partition("\n")[0]))
    lines.append(("time", _time(outcome)))
    return lines


def describe_probabilities(test: ProbabilityTest) -> str:
    """Return both scores beside those of giving each class its share, and the calibration error."""
    return (
        f"log loss {fixed(test.log_loss)}, Brier score {fixed(test.brier)} (class shares alone: "
        f"{fixed(test.log_loss_of_shares)}, {fixed(test.brier_of_shares)}); calibration error {percent(test.calibration_error)}"
    )


def judge(outcome: Outcome) -> Judgment:
    """The rows that decide about the model, beside the baseline: those tested on, or without a test the training rows."""
    names = [str(label) for label in outcome.classes.tolist()]
    sizes = outcome.train.counts.sum(axis=1)
    tested = outcome.test or (pool(outcome.folds) if outcome.folds else None)
    noun, no_test = "test row", "The test file is the training file" if outcome.test_is_training_file else ""
    if tested is None:
        tested, noun, no_test = outcome.train, "training row", "The model was not tested on other rows"
    for_errors, weighted = outcome.request.threshold is None, outcome.estimator._class_weight is not None
    return Judgment(tested, names, sizes, noun, no_test, for_errors, weighted, _missed_goal(outcome, noun))


def _judgment_lines(outcome: Outcome) -> list[tuple[str, str]]:
    judgment = judge(outcome)
    lines = [("baseline", judgment.baseline_text)]
    if judgment.weighted:
        lines.append(("balanced", judgment.balanced_text))
    if judgment.uneven:
        lines.append(("recall", judgment.recall_text))
    if outcome.request.threshold is not None:
        lines.append(("positive", _positive(outcome)))
        lines += [("cost", line) for line in _cost(outcome, judgment.noun)]
    return lines + [("warning", sentence) for sentence in judgment.warnings]


def _time(outcome: Outcome) -> str:
    text = f"{duration(outcome.seconds)} to fit, {duration(outcome.total_seconds)} in total"
    if outcome.compile_seconds < MIN_COMPILE_SECONDS:
        return text
    return f"{text}, of which {duration(outcome.compile_seconds)} to compile kernels, once"


def list_facts(outcome: Outcome) -> list[tuple[str, str]]:
    """Return the facts at the top of the report, as (name, value) pairs; most values are a number."""
    estimator = outcome.estimator
    updates = estimator._updates_made
    facts = [
        ("rows", count(outcome.rows)),
        ("features", count(outcome.recipe.width)),
        ("classes", count(len(outcome.classes))),
        ("algorithm", _title(outcome)),
        ("passes" if estimator._iterations_are_passes else "iterations", count(estimator.n_iter_)),
        ("updates", count(updates) if updates else ""),
        ("training error", percent(outcome.train.error, 2)),
    ]
    tested = outcome.test or (pool(outcome.folds) if outcome.folds else None)
    if tested is not None:
        name = "test error" if outcome.test is not None else f"error in {len(outcome.folds)} folds"
        facts += [(name, percent(tested.error, 2)), ("95 % interval", percent_range(*tested.interval))]
    if outcome.tuning is not None:
        facts.append(("tuning", next(outcome.tuning.lines())))
    if outcome.probabilities is not None:
        facts += [("log loss", fixed(outcome.probabilities.log_loss)), ("Brier score", fixed(outcome.probabilities.brier))]
    facts.append(("baseline error", percent(judge(outcome).baseline, 2)))
    if outcome.margin is not None:
        facts.append(("margin", short(outcome.margin) if outcome.margin > 0.0 else "none"))
    facts += [("time to fit", duration(outcome.seconds)), ("estimator", _call(estimator))]
    facts += [("scheme", _chosen_scheme(outcome)), ("fit", _fit(outcome))]
    return [(name, value) for name, value in facts if value]


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as plain values, as `rosenblatt train --json` prints it."""
    estimator, certificate = outcome.estimator, outcome.certificate
    return {
        "data": {"source": outcome.request.name, "rows": outcome.rows, "columns": outcome.recipe.width},
        "classes": outcome.classes.tolist(),
        "notes": list(outcome.notes),
        "tuning": None if outcome.tuning is None else outcome.tuning.to_dict(),
        "findings": [finding.to_dict() for finding in outcome.findings],
        "preparation": _preparation(outcome.recipe),
        "algorithm": outcome.request.algorithm,
        "estimator": type(estimator).__name__,
        "parameters": {name: _plain(value) for name, value in estimator.get_params().items()},
        "features_used": _used(outcome),
        "stop": {"reason": estimator.stop_.reason, "sentence": estimator.stop_.sentence},
        "n_iter": estimator.n_iter_,
        "updates": estimator._updates_made,
        "updates_possible": outcome.bound,
        "updates_per_pass": [each.new_updates for each in outcome.history],
        "training": outcome.train.to_dict(),
        "test": None if outcome.test is None else outcome.test.to_dict(),
        "folds": [fold.to_dict() for fold in outcome.folds],
        "probabilities": None if outcome.probabilities is None else outcome.probabilities.to_dict(),
        **judge(outcome).to_dict(),
        "margin": outcome.margin,
        "proof": proof_of(outcome) or None,
        # Of the file, counted from 1, as in the sentence.
        "proof_rows": [row + 1 for row in certificate.rows] if isinstance(certificate, Inseparable) else None,
        "verdict": None if certificate is None else certificate.verdict,
        "seconds": {"learning": outcome.seconds, "compiling": outcome.compile_seconds, "all": outcome.total_seconds},
    }


def _preparation(recipe: Recipe) -> dict[str, Any]:
    """How columns became features: the scaling, the columns left out, and the missing cells of each column."""
    facts, missing = recipe.facts, {}
    if facts is not None:
        numbers = recipe.number_names or NumberedColumns(len(facts.missing), recipe.first)
        counts = [*facts.missing.tolist(), *facts.string_missing.tolist()]
        missing = {name: n for name, n in zip([*numbers, *(block.name for block in recipe.strings)], counts, strict=True) if n}
    return {"scale": recipe.scale, "dropped": list(recipe.constant), "missing": missing}


def pool(folds: tuple[Confusion, ...]) -> Confusion:
    """Add the counts of all folds."""
    total = folds[0]
    for fold in folds[1:]:
        total = total + fold
    return total


# --- Single lines


def _data(outcome: Outcome) -> str:
    sizes = outcome.train.counts.sum(axis=1)
    classes = [f"{label} ({count(size)})" for label, size in zip(outcome.classes.tolist(), sizes, strict=True)]
    features = plural(outcome.recipe.width, "feature")
    listed = comma_list(classes, LISTED_CLASSES)
    return f"{plural(outcome.rows, 'training row')}, {features}, {plural(len(classes), 'class', 'classes')}: {listed}"


def _title(outcome: Outcome) -> str:
    title = outcome.request.choice.title
    return title[0].lower() + title[1:]


def _call(estimator: LinearClassifier) -> str:
    return " ".join(str(estimator).split())


def _chosen_scheme(outcome: Outcome) -> str:
    estimator, k = outcome.estimator, len(outcome.classes)
    return describe_scheme(estimator.get_params(), estimator._multiclass == "ovo", k)


def _used(outcome: Outcome) -> int | None:
    estimator = outcome.estimator
    return count_used(estimator.get_params(), vars(estimator).get("coef_"))


def _work(outcome: Outcome) -> str:
    bound, each = outcome.bound, [record.new_updates for record in outcome.history]
    work = count_work(outcome.estimator.n_iter_, outcome.estimator._updates_made)
    if work and bound is not None:
        work += f" (at most {count_bound(bound)} are possible: {_bound_formula(outcome)})"
    if len(each) < SPARKLINE_PASSES:
        return work
    return f"{work}; {'per pass' if len(each) <= SPARKLINE_BARS else 'over the passes'} {sparkline(each)}"


def _bound_formula(outcome: Outcome) -> str:
    """Return the formula of the bound in `proofs/margins.py`; b is the update margin and rho the step."""
    bounded = outcome.estimator._bounded_run()
    if bounded is None or bounded[0] == 0.0:
        return "R^2/gamma^2"
    return f"(R^2 + {'2b' if len(outcome.classes) == 2 else 'b'}/rho)/gamma^2"


def _fit(outcome: Outcome) -> str:
    """Return why the fit ended, and that the model is another hypothesis than the weights that separated the rows."""
    stop, kept = outcome.estimator.stop_, outcome.estimator.get_params().get("keep")
    if stop.reason != "separated" or kept not in COMBINED or not outcome.train.errors:
        return str(stop)
    wrong = plural(outcome.train.errors, "row")
    return f"{stop}; the last weights separate, but the model is {COMBINED[kept]}, which misclassifies {wrong}"


def proof_of(outcome: Outcome) -> str:
    """Return the verdict, with its details in further lines; nothing without a certificate."""
    certificate = outcome.certificate
    if certificate is None:
        return ""
    if not isinstance(certificate, Separable) or outcome.test is None:
        return str(certificate)
    return "\n".join([describe_separation(certificate, "training rows"), *str(certificate).split("\n")[1:]])


def _error(confusion: Confusion, rows: str = "") -> str:
    return f"error {percent(confusion.error, 2)} ({count(confusion.errors)} of {count(confusion.rows)} {rows}wrong)"


def _positive(outcome: Outcome) -> str:
    """Precision, recall and F1 of the class that the threshold is about."""
    code, tested = _goal_rows(outcome)
    name = str(outcome.classes.tolist()[code])
    measures = (tested.precision, tested.recall)
    precision, recall = (percent(float(each[code])) for each in measures)
    return f"{name}: precision {precision}, recall {recall}, F1 {short(float(tested.f1[code]))}"


def _goal_rows(outcome: Outcome) -> tuple[int, Confusion]:
    """The class that the threshold is about, and the rows that test it."""
    assert outcome.prepared is not None
    code = positive_code(outcome.prepared, outcome.request.positive)
    return code, outcome.test or (pool(outcome.folds) if outcome.folds else outcome.train)


def _cost(outcome: Outcome, noun: str) -> list[str]:
    """The cost on the test rows, beside that of always predicting a class; nothing if the threshold has another goal."""
    goal = Goal.parse(outcome.request.threshold or "")
    if goal.kind != "cost":
        return []
    code, tested = _goal_rows(outcome)
    counts, names = tested.counts, [str(label) for label in outcome.classes.tolist()]
    cost = goal.cost(int(counts[code, 1 - code]), int(counts[1 - code, code]))
    always = {code: goal.cost(0, int(counts[1 - code].sum())), 1 - code: goal.cost(int(counts[code].sum()), 0)}
    constant = comma_list([f"always {names[k]!r}: {short(always[k], 6)}" for k in sorted(always)])
    return [f"{short(cost, 6)} on {plural(tested.rows, noun)} ({constant})"]


def _missed_goal(outcome: Outcome, noun: str) -> str:
    """A sentence about a precision or recall that the test rows do not reach."""
    if outcome.request.threshold is None:
        return ""
    code, tested = _goal_rows(outcome)
    counts, goal = tested.counts, Goal.parse(outcome.request.threshold)
    share = goal.missed(int(counts[code, code]), int(counts[1 - code, code]), int(counts[code].sum()))
    asked = outcome.request.threshold
    return "" if share is None else f"The goal {asked} was not reached on the {noun}s: {percent(share)}."


def _margin(margin: float, errors: int) -> str:
    if margin > 0.0:
        return f"{short(margin, 6)} (distance of the nearest row from the plane)"
    if errors == 0:
        return "none (a row lies on the plane)"
    return f"none ({plural(errors, 'row')} misclassified, the worst by {short(abs(margin))})"


def _plain(value: object) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
