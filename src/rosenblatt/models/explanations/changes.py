"""The nearest change of a row that changes its prediction: of each column alone, and of all numeric columns together.

Problem    given a row x that is predicted as class p, the nearest numbers in column j, above and below, all others equal, for
           which it is not; and the shortest step d, in units that make the columns comparable, for which x + d is not
Solution   the scores are polynomials in a single column, linear ones without products: the prediction can change only at a
           root of the difference of two scores, and changes at the first one beyond which another class wins. With planes
           alone, the nearest of the half-spaces that end where another class begins gives the shortest step, s |w|^-2 w.
           A category is replaced by every other one, and of a text words are left out, the most important ones first.
Guarantee  every change that is listed was made, and the model predicts another class for it. For a plane the root is exact
           up to rounding; beyond it, a number of few digits is listed, a whole one if the column seems to hold these. Dates
           have no root: whole days are tried, the nearest first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...array_types import FloatArray
from ...preprocessing.categorical import Categories
from ...preprocessing.date_parts import MINUTES_PER_DAY
from ...preprocessing.sources import along_input
from ...preprocessing.text.plain_grams import words_of
from ...preprocessing.text_features import TextFeatures
from .row import Cell, Row

# Columns that are listed in a joint change, and columns whose changes are verified with the model.
MAX_JOINT_COLUMNS, MAX_CHANGES = 10, 50
# Significant digits of a change, tried in this order until the listed number changes the prediction.
CHANGE_DIGITS = (3, 4, 6, 9, 12, 15, 17)
# Relative distance beyond the boundary of a joint change, so that rounding does not put it back.
BEYOND = 1e-6
# Days from a date, up to which others are tried: a century.
MAX_DAYS = 36_525
# Steps of a bisection between a decision and another one, to the last bit.
BISECTIONS = 200
# Words that are left out of a text together, at most.
MAX_WORDS_LEFT_OUT = 20


@dataclass(frozen=True)
class Change:
    """A change of one column that changes the prediction.

    Parameters
    ----------
    column : str
        The column.
    old, new : float or str or None
        Its cell, and the nearest one that is predicted otherwise; None if a cell is missing. Dates, percentages, amounts of
        money, true and false are text, as in the file. Of a column of text, `new` has the words to leave out.
    label : object
        The class that is then predicted.
    distance : float
        The size of the change: for numbers, |new - old| over the unit of the column (the divisor of its scaling, else the range
        of the training rows, else 1); for categories and words, the change of the score.
    threshold : float or None
        Of a numeric column, where exactly the prediction changes; of percentages the share, such as 0.45.
    inside : bool or None
        Of a numeric column, whether the new number is in the range of the training rows; None if that is unknown.
    others : int
        Other categories that would change the prediction, too.
    """

    column: str
    old: Cell
    new: Cell
    label: object
    distance: float
    threshold: float | None = None
    inside: bool | None = None
    others: int = 0
    is_text: bool = False


@dataclass(frozen=True)
class JointChange:
    """The smallest change of all numeric columns together that changes the prediction.

    Parameters
    ----------
    distance : float
        Its length, in the units of the columns (see `Change.distance`).
    label : object
        The class that is then predicted.
    columns : tuple of (str, float, float)
        The columns that change most in their units: name, old and new number.
    n_columns : int
        The number of columns that change.
    """

    distance: float
    label: object
    columns: tuple[tuple[str, float, float], ...]
    n_columns: int


def changes_of(row: Row) -> tuple[Change, ...]:
    """The nearest change of each column, up and down, that changes the prediction; the smallest first, after those in range.

    Columns for which no value changes it are left out.
    """
    nearest = sorted(_numeric_changes(row))[:MAX_CHANGES]
    checked = [found for found in (_verified(row, *candidate) for candidate in nearest) if found is not None]
    checked += [found for name in row.dates if (found := _date_change(row, name)) is not None]
    strings = [found for block in row.recipe.strings if (found := _string_change(row, block)) is not None]
    return tuple(sorted(checked, key=lambda each: (each.inside is False, each.distance)) + strings)


# --- numeric columns


def _numeric_changes(row: Row) -> Iterator[tuple[float, int, float]]:
    """Candidates: distance, position in `stored`, and step."""
    units = units_of(row)
    for place, polynomials in enumerate(_score_polynomials(row)):
        if polynomials[:, 1:].any():
            for step in nearest_steps(row, polynomials):
                yield abs(step) / float(units[place]), place, step


def _score_polynomials(row: Row) -> Iterator[FloatArray]:
    """For each of the columns `stored`, the scores as polynomials in its change: heads x powers."""
    assert row.model.coef is not None
    if row.numbers.degree == 1:
        for slopes in slopes_of(row).T:
            yield np.stack([row.scores, slopes], axis=1)
        return
    weights = row.model.coef[:, : row.numbers.polynomial.width].astype(np.float64)
    inputs = row.numbers.inputs_of(row.filled[None])[0]
    for own in row.numbers.own_inputs.tolist():
        polynomials = along_input(row.numbers, weights, inputs, own) if own >= 0 else np.zeros((len(weights), 2))
        polynomials[:, 0] = row.scores
        yield polynomials


def slopes_of(row: Row) -> FloatArray:
    """The slope of each score along each of the columns `stored`, without products: heads x columns.

    Dates are not linear, and dropped columns have no weight: their slope is 0.
    """
    assert row.model.coef is not None
    own = row.numbers.own_inputs[row.stored]
    weights = row.model.coef.astype(np.float64)[:, np.maximum(own, 0)]
    slopes = weights if row.numbers.divide is None else weights / row.numbers.divide[np.maximum(own, 0)]
    return np.where(own >= 0, slopes, 0.0)


def nearest_steps(row: Row, polynomials: FloatArray) -> list[float]:
    """The nearest step up and the nearest step down after which another class is predicted, as far as there are such."""
    roots = _roots(row, polynomials)
    found = []
    for sign in (1.0, -1.0):
        step = _first_change(row, polynomials, np.sort(sign * roots[sign * roots >= 0.0]).tolist(), sign)
        if step is not None:
            found.append(step)
    return found


def _roots(row: Row, polynomials: FloatArray) -> FloatArray:
    """The steps at which the prediction may change: real roots of the differences of scores, or of the scores of pairs."""
    curves = polynomials
    if len(polynomials) > 1 and not row.model.pairs:
        curves = np.delete(polynomials[row.code] - polynomials, row.code, axis=0)
    if curves.shape[1] == 2:
        sloped = curves[curves[:, 1] != 0.0]
        with np.errstate(over="ignore"):
            steps = -sloped[:, 0] / sloped[:, 1]
    else:
        complex_roots = np.concatenate([np.roots(curve[::-1]) for curve in curves if curve[1:].any()] or [np.zeros(0)])
        steps = complex_roots.real[abs(complex_roots.imag) <= 1e-7 * abs(complex_roots)]
    return np.unique(steps[np.isfinite(steps)])


def _first_change(row: Row, polynomials: FloatArray, sizes: Sequence[float], sign: float) -> float | None:
    """The first of some ascending sizes of a step beyond which another class is predicted; refined where it lies between."""
    edges = [*sizes, 2.0 * sizes[-1] + 1.0] if sizes else []
    last = 0.0  # a step that is predicted as before
    for size, beyond in pairwise(edges):
        for place in (0.5 * (last + size), 0.5 * (size + beyond)):
            if _code_at(row, polynomials, sign * place) != row.code:
                return sign * (size if place > size and not row.model.pairs else _bisected(row, polynomials, last, place, sign))
            last = place
    return None


def _bisected(row: Row, polynomials: FloatArray, before: float, beyond: float, sign: float) -> float:
    """The size of the step between two others at which the prediction changes."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (before + beyond)
        if middle in (before, beyond):
            break
        if _code_at(row, polynomials, sign * middle) == row.code:
            before = middle
        else:
            beyond = middle
    return beyond


def _code_at(row: Row, polynomials: FloatArray, step: float) -> int:
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.polynomial.polynomial.polyval(step, polynomials.T)
    return int(row.decide(np.atleast_2d(scores))[0])


def _verified(row: Row, distance: float, place: int, step: float) -> Change | None:
    """The change, rounded away from the row to a number of few digits; None if the model does not predict another class."""
    old, cell, column = float(row.filled[place]), float(row.cells[place]), int(row.stored[place])
    facts = row.recipe.facts
    limits = None if facts is None else (float(facts.minimum[column]), float(facts.maximum[column]))
    candidates = [rounded_beyond(old, step, digits) for digits in CHANGE_DIGITS]
    if limits is not None and all(each.is_integer() for each in (old, *limits)):
        candidates.insert(0, float(math.floor(old + step) + 1 if step > 0 else math.ceil(old + step) - 1))
        candidates.insert(0, float(math.ceil(old + step) if step > 0 else math.floor(old + step)))
    name = str(row.number_names[column])
    if name in row.forms and row.forms[name].truth:
        candidates = [1.0 if step > 0 else 0.0]
    candidates = [each for each in candidates if math.isfinite(each) and each != old]
    if not candidates:
        return None
    codes = row.decide(row.scores_with(place, candidates))
    flipped = np.flatnonzero(codes != row.code)
    if not len(flipped):
        return None
    new, label = candidates[flipped[0]], row.model.classes.tolist()[int(codes[flipped[0]])]
    inside = None if limits is None else limits[0] <= new <= limits[1]
    return Change(name, row.as_cell(name, cell), row.as_cell(name, new), label, float(distance), float(old + step), inside)


def rounded_beyond(old: float, step: float, digits: int) -> float:
    """The number with few digits next to old + step, on the side away from old; `digits` are those of the step.

    >>> rounded_beyond(31200.0, 17213.4, 3), rounded_beyond(0.5, -0.12345, 3), rounded_beyond(4.0, 0.0, 3)
    (48500.0, 0.376, 4.004)
    """
    if step == 0.0:
        return old + max(abs(old), 1.0) * 10.0**-digits
    target = old + step
    decimals = digits - 1 - math.floor(math.log10(abs(step)))
    if decimals > 300 or not math.isfinite(target):
        return target
    away = math.ceil if step > 0 else math.floor
    if decimals >= 0:
        scale = 10.0**decimals
        scaled = target * scale
        return away(scaled) / scale if abs(scaled) < 2**53 else math.nextafter(target, math.copysign(math.inf, step))
    unit = 10**-decimals
    return float(away(target / unit) * unit)


def units_of(row: Row) -> FloatArray:
    """A unit for each of the columns `stored`, in which changes are compared: a divisor, else a range, else 1."""
    numbers, facts = row.numbers, row.recipe.facts
    ranges = np.zeros(len(row.stored)) if facts is None else (facts.maximum - facts.minimum)[row.stored]
    units = np.where(ranges > 0, ranges, 1.0)
    if numbers.divide is None:
        return units
    own = numbers.own_inputs[row.stored]
    return np.where(own >= 0, numbers.divide[np.maximum(own, 0)], units)


# --- columns of dates, which are not linear: every candidate is scored


def _date_change(row: Row, name: str) -> Change | None:
    """The nearest date that is predicted otherwise: a whole day, or of times the nearest minute of a day."""
    place = list(row.number_names).index(name)
    cell, old, facts = float(row.cells[place]), float(row.filled[place]), row.recipe.facts
    low, high = (old, old) if facts is None else (float(facts.minimum[place]), float(facts.maximum[place]))
    candidates = _dates_near(row.dates[name], old, low, high)
    flipped = np.flatnonzero(row.decide(row.scores_with(place, candidates)) != row.code)
    if not len(flipped):
        return None
    new = candidates[int(flipped[0])]
    label = row.model.classes.tolist()[int(row.decide(row.scores_with(place, [new]))[0])]
    distance = abs(new - old) / float(units_of(row)[place])
    return Change(name, row.as_cell(name, cell), row.as_cell(name, new), label, distance, inside=low <= new <= high)


def _dates_near(kind: str, old: float, low: float, high: float) -> list[float]:
    """Dates, the nearest first, within the range of the training rows and its length on both sides of it.

    Days keep their time of day; within a day before and after, a date with a time has all minutes.
    """
    minutes = np.arange(MINUTES_PER_DAY) / MINUTES_PER_DAY
    if kind == "time":
        found = minutes
    else:
        reach = np.arange(1, min(MAX_DAYS, 1 + math.ceil(high - low + max(old - low, high - old, 0.0))))
        found = old + np.concatenate([-reach, reach])
        if kind == "datetime":
            found = np.concatenate([found, math.floor(old) + minutes, math.floor(old) - 1.0 + minutes])
    found = found[found != old]
    dates: list[float] = found[np.argsort(abs(found - old), kind="stable")].tolist()
    return dates


# --- all numeric columns together


def joint_change_of(row: Row) -> JointChange | None:
    """The smallest change of all numeric columns together; None for products of columns, votes of pairs and zero weights."""
    if row.numbers.degree > 1 or row.model.pairs or not len(row.stored):
        return None
    slopes, scores = slopes_of(row), row.scores
    if len(slopes) > 1:
        slopes, scores = np.delete(slopes[row.code] - slopes, row.code, axis=0), np.delete(scores[row.code] - scores, row.code)
    slopes = slopes * units_of(row)
    lengths = np.sqrt((slopes**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.where(lengths > 0, abs(scores) / lengths, np.inf)
    nearest = int(np.argmin(distances))
    if not np.isfinite(distances[nearest]):
        return None
    step = -scores[nearest] / lengths[nearest] ** 2 * slopes[nearest] * (1.0 + BEYOND)
    new = row.filled + step * units_of(row)
    code = int(row.decide(row.scores_with_all(new))[0])
    if code == row.code:
        return None
    order = np.argsort(-abs(step), kind="stable")[:MAX_JOINT_COLUMNS]
    columns = tuple(
        (str(row.number_names[int(row.stored[at])]), float(row.filled[at]), float(new[at])) for at in order.tolist() if step[at]
    )
    return JointChange(float(distances[nearest]), row.model.classes.tolist()[code], columns, int(np.count_nonzero(step)))


# --- columns of strings


def _string_change(row: Row, block: Categories | TextFeatures) -> Change | None:
    return _word_change(row, block) if isinstance(block, TextFeatures) else _category_change(row, block)


def _category_change(row: Row, block: Categories) -> Change | None:
    """Of the categories that change the prediction, the one that changes the score least."""
    old = row.cell(block)
    others = [value for value in block.values if value != old]
    if not others:
        return None
    scores = row.scores_with(block.name, others)
    codes, sizes = row.decide(scores), abs(scores - row.scores).max(axis=1)
    flipped = np.flatnonzero(codes != row.code)
    if not len(flipped):
        return None
    best = int(flipped[np.argmin(sizes[flipped])])
    label = row.model.classes.tolist()[int(codes[best])]
    return Change(block.name, old, others[best], label, float(sizes[best]), others=len(flipped) - 1)


def _word_change(row: Row, block: TextFeatures) -> Change | None:
    """The fewest words, the most important ones first, without which the text is predicted otherwise."""
    text = row.cell(block) or ""
    words = list(dict.fromkeys(words_of(text)))
    if not words:
        return None
    scores = row.scores_with(block.name, [without_words(text, {word}) for word in words])
    order = np.argsort(_margins(row, scores), kind="stable")[:MAX_WORDS_LEFT_OUT].tolist()
    prefixes = [[words[at] for at in order[: n + 1]] for n in range(len(order))]
    scores = row.scores_with(block.name, [without_words(text, set(prefix)) for prefix in prefixes])
    codes = row.decide(scores)
    flipped = np.flatnonzero(codes != row.code)
    if not len(flipped):
        return None
    first = int(flipped[0])
    label, size = row.model.classes.tolist()[int(codes[first])], float(abs(scores[first] - row.scores).max())
    return Change(block.name, text, " ".join(prefixes[first]), label, size, is_text=True)


def _margins(row: Row, scores: FloatArray) -> FloatArray:
    """How far each row of scores is on the side of the class that the row is predicted as."""
    if len(row.model.classes) == 2:
        return scores[:, 0] if row.code == 1 else -scores[:, 0]
    each = row.class_scores(scores)
    margins: FloatArray = each[:, row.code] - np.delete(each, row.code, axis=1).max(axis=1)
    return margins


def without_words(text: str, words: set[str]) -> str:
    """A text without some words, in any case.

    >>> without_words("Free money, free!", {"free"})
    ' money, !'
    """
    return re.sub(r"\w\w+", lambda found: "" if found[0].lower() in words else found[0], text)
