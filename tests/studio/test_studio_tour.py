"""The tour keeps its word: every number in a text is that of the run beside it.

`TRUE_OF` has a function for each step. It looks at the step's runs, checks its text, and returns the phrases with
numbers in them, computed again from the runs; the text must have them all, and no other numbers.
"""

# ruff: noqa: RUF001 - phrases for people: a minus sign, Greek letters

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.studio import tour
from rosenblatt.studio.arrays import unpack
from rosenblatt.studio.page_data import page_data, requests_of
from rosenblatt.studio.proof import prove
from rosenblatt.studio.recording import run
from rosenblatt.studio.run_request import features_of_points

pytestmark = pytest.mark.once

STEPS = {step["title"]: step for step in tour.TOUR}
PAGE = page_data("server")


class Played:
    """A request with its run; weights are made from the log here, by the rule itself."""

    def __init__(self, request):
        self.request, self.run = request, run(request)
        self.points, self.labels = np.array(request["points"]), np.array(request["labels"])
        rows = features_of_points(self.points, request["degree"], request["scaled"]).rows(self.points)
        self.P = np.column_stack([np.full(len(rows), self.run["features"]["x0"]), rows])
        self.y = np.where(self.labels == self.labels.max(), 1.0, -1.0)
        self.end = self.run["updates"]

    def w(self, t):
        if frames := self.run["frames"]:
            return unpack(frames["weights"]).reshape(self.end + 1, -1)[t]
        rows = unpack(self.run["log"]["rows"])[: t % (self.end + 1)]
        return unpack(self.run["start"]) + (self.y[rows, None] * self.P[rows]).sum(axis=0)

    def m(self, t):
        """y w.x of all points."""
        return self.y * (self.P @ self.w(t))

    def wrong(self, t):
        return np.flatnonzero(self.m(t) <= 0)

    def cause(self, t):
        """The point of update t."""
        return int(unpack(self.run["log"]["rows"])[t - 1])

    def distance(self):
        """Of the nearest point from the last plane."""
        return self.m(self.end).min() / np.linalg.norm(self.w(self.end)[1:])


@cache
def played(title):
    return [Played(request) for request in requests_of(PAGE, STEPS[title]["state"])]


def other(title, position=0, **changes):
    """The same with some fields of its request changed."""
    return Played(played(title)[position].request | changes)


def of_preset(name, position, title):
    preset = next(each for each in PAGE["presets"] if each["name"] == name)
    return other(title, position, points=preset["points"], labels=preset["labels"])


def as_vector(numbers):
    return "(" + ", ".join(f"{number:g}".replace("-", "−") for number in numbers) + ")"


# --- what is true of each step ------------------------------------------------------------------------------------------------


def sides():
    (it,) = played("A line and its two sides")
    assert not len(it.wrong(it.end))
    assert it.run["classes"] == [0, 1]  # B, the larger code, is +1
    return [
        "y = +1", "y = −1", "score is 0.", "y w·x > 0", "starts with a 1",
        f"all {len(it.y)} are", f"before the last update {len(it.wrong(it.end - 1))} points were wrong",
    ]  # fmt: skip


def rule():
    (it,) = played("The update rule")
    i = it.cause(2)
    x, old, new = it.P[i], it.w(1), it.w(2)
    assert it.labels[i] == 0
    np.testing.assert_array_equal(new, old - x)
    sums = " + ".join(f"{each:g}" for each in old * x)
    return [
        f"weights were {as_vector(old)}", f"ringed point {i + 1} is x = {as_vector(x)}", f"score was {sums} = {old @ x:g}",
        "below 0", f"gives {as_vector(new)}",
    ]  # fmt: skip


def helps():
    (it,) = played("Why it helps")
    i = it.cause(4)
    sums = " + ".join(f"{each:g}" for each in it.P[i] ** 2)
    assert (it.end, len(it.wrong(5)), len(it.y)) == (5, 0, 4)
    return [
        "Since y = 1", f"point {i + 1} had {it.m(3)[i]:g}".replace("-", "−"), f"|x| = {sums} = {it.P[i] @ it.P[i]:g}",
        f"made it {it.m(4)[i]:g}", f"before it {len(it.wrong(3))} of the {len(it.y)} points", f"now {len(it.wrong(4))} are",
    ]  # fmt: skip


def weight_space():
    (it,) = played("Weight space")
    assert it.run["features"]["x0"] == 0
    assert len(it.wrong(4))
    assert it.end == 5
    assert not len(it.wrong(5))
    return ["through 0", f"After 4 updates w = {as_vector(it.w(4)[1:])}", f"fifth step leads to {as_vector(it.w(5)[1:])}"]


def ends():
    (it,), beside = played("Why it must end"), of_preset("separable", 0, "Why it must end")
    proof, wider = prove(it.request), prove(beside.request)
    for which in (proof, wider):
        assert which["convergence"]["holds"]
        assert which["bound"] == pytest.approx(which["radius"] ** 2 / which["margin"] ** 2)
    assert it.end > beside.end
    return [
        "of length 1", "updates from 0", "(Novikoff, 1962)", f"γ = {proof['margin']:.3f}", f"({proof['geometric']:.3f} in the",
        f"R = {proof['radius']:.2f}", f"most {int(proof['bound']):,} updates are possible; {it.end} were needed",
        f"γ = {wider['margin']:.3f}", f"most {int(wider['bound'])} updates are possible; {beside.end} are needed",
    ]  # fmt: skip


def no_plane():
    (it,) = played("When no line separates")
    clash = prove(it.request)["clash"]
    a, b = ([i for i in clash["rows"] if it.labels[i] == label] for label in it.labels[[9, 34]])
    zero = (np.array(clash["weights"])[:, None] * it.y[clash["rows"], None] * it.P[clash["rows"]]).sum(axis=0)
    np.testing.assert_allclose(zero, 0, atol=1e-12)
    assert it.run["stop"]["reason"] == "updates"
    return [
        f"from point {a[0] + 1} to {a[1] + 1} crosses the one from {b[0] + 1} to {b[1] + 1}", "λ > 0", "w·x = 0",
        f"after {it.end:,} updates", f"{len(it.wrong(it.end))} of {len(it.y)} points wrong",
        f"The best of all these lines has {min(len(it.wrong(t)) for t in range(it.end + 1))}.",
    ]  # fmt: skip


def pocket():
    (it,) = played("The pocket")
    errors = [len(it.wrong(t)) for t in range(it.end + 1)]
    best = int(np.argmin(errors))
    assert best == 16  # sixteen
    assert it.run["readings"]["pocket"] == errors[best]
    return [
        f"these {it.end} updates {errors[-1]} of {len(it.y)} points", f"after update {best}, with {errors[best]} errors",
    ]  # fmt: skip


def average_and_vote():
    (it,) = played("Averaging and voting")
    lives, weights = unpack(it.run["vote_counts"]), np.array([it.w(t) for t in range(it.end + 1)])
    mean = unpack(it.run["average"]["weights"]).reshape(-1, 3)[-1]
    np.testing.assert_allclose(mean, lives @ weights / lives.sum(), rtol=1e-6)
    voted = np.sign(np.where(weights @ it.P.T > 0, 1, -1).T @ lives)
    wrong = it.run["readings"]
    assert (voted != it.y).sum() == wrong["vote"]
    return [
        f"same {it.end} updates the last line gets {wrong['last']} of {len(it.y)} points wrong",
        f"average {wrong['average']} and the vote {wrong['vote']}",
    ]


def margins():
    it, widest = played("Margins")
    none, more = (other("Margins", knobs=it.request["knobs"] | {"margin": b}) for b in (0.0, 5.0))
    proof = prove(it.request)
    assert it.end <= (proof["radius"] ** 2 + 2) / proof["margin"] ** 2
    assert it.m(it.end).min() > 1
    assert more.end > it.end
    svm = widest.run["svm"]
    assert len(svm["support"]) == 3
    assert svm["margin"] == pytest.approx(widest.distance())
    return [
        f"b = 1 it made {it.end}", f"closer than {it.distance():.2f}", f"b = 0 one would be at {none.distance():.2f}",
        f"possible, {svm['margin']:.3f}, determined", f"Set b to 5: more updates, and the margin is {more.distance():.3f}",
    ]  # fmt: skip


def soft():
    first, second = played("The soft margin and C")
    margins = [each.run["svm"]["margin"] for each in (first, second)]
    (given_up,) = first.wrong(first.end)
    assert not len(second.wrong(second.end))
    assert first.run["frames"]["titles"][-1] == "C = 1"
    assert second.run["frames"]["titles"][-5] == "C = 100"  # four back
    assert [second.wrong(second.end - n).tolist() for n in (3, 4)] == [[], [given_up]]
    return [
        f"C = 1: a margin of {margins[0]:.2f} on", f"and point {given_up + 1} is misclassified", "C = 1,000: no point",
        f"the margin is {margins[1]:.3f}", f"at 100 the second line misclassifies point {given_up + 1}",
    ]  # fmt: skip


def losses():
    squares, tanh = played("What a loss counts")
    far = squares.points[:, 0] > 2
    assert squares.m(squares.end)[far].min() > 1
    near = other("What a loss counts", points=squares.points[~far].tolist(), labels=squares.labels[~far].tolist())
    hinge = other("What a loss counts", algorithm="soft-margin", knobs={})
    assert not any(len(each.wrong(each.end)) for each in (near, tanh, hinge))
    assert (1 - 3) ** 2 == (1 - -1) ** 2
    return [
        "m = 3 is as bad as m = −1", f"the {far.sum()} far points", f"{len(squares.wrong(squares.end))} points are wrong",
        "never exceeds 1:", "than m = 1,",
    ]  # fmt: skip


def classes():
    title = "Several classes"
    joint, rest = played(title)
    assert joint.run["readings"]["last"] == 0
    assert joint.run["stop"]["reason"] == "separated"
    for label in range(6):
        assert isinstance(rb.certify(rest.points, rest.labels == label), rb.Inseparable)
    (each,) = set(Counter(unpack(rest.run["log"]["others"]).tolist()).values())
    for position in (0, 1):
        three = of_preset("three", position, title).run
        assert (three["readings"]["last"], three["stop"]["reason"]) == (0, "separated")
    return [
        f"all {len(joint.y)} points right in {joint.end} updates", f"after {each} updates each",
        f"get {rest.run['readings']['last']} points wrong",
    ]  # fmt: skip


def elsewhere():
    (it,) = played("Curves")
    assert not len(it.wrong(it.end))
    at = 1 + it.run["features"]["names"].index("x₁x₂")
    w = it.w(it.end)
    assert abs(np.delete(w, at)).max() <= 0.5
    flat = other("Curves", degree=1)
    assert flat.run["stop"]["reason"] == "updates"
    assert prove(flat.request)["verdict"] == "inseparable"
    return ["score is 0", f"After {it.end} updates", f"is −{-w[at]:.1f} and no other exceeds 0.5 in size"]


def go_on():
    (it,) = played("Your turn")
    assert it.run["stop"]["reason"] == "separated"
    assert prove(it.request | {"degree": 2})["verdict"] == "inseparable"
    return ["no curve of degree 2", f"at degree {it.request['degree']} the run ends after {it.end} updates"]


TRUE_OF = {
    "A line and its two sides": sides, "The update rule": rule, "Why it helps": helps, "Weight space": weight_space,
    "Why it must end": ends, "When no line separates": no_plane, "The pocket": pocket,
    "Averaging and voting": average_and_vote, "Margins": margins, "The soft margin and C": soft,
    "What a loss counts": losses, "Several classes": classes, "Curves": elsewhere, "Your turn": go_on,
}  # fmt: skip


def plain(html):
    """A text as it is read, without formulas that stand apart and without what is above or below the line."""
    for taken in ('<p class="formula">.*?</p>', "<sub>.*?</sub>", "<sup>.*?</sup>", "<[^>]*>"):
        html = re.sub(taken, " " if taken.startswith("<p") else "", html)
    return html.replace(tour.NO_BREAK_SPACE, " ").replace("&gt;", ">").replace("&lt;", "<")


@pytest.mark.parametrize("title", STEPS)
def test_every_number_in_a_text_is_that_of_its_run(title):
    text = plain(STEPS[title]["html"])
    for phrase in sorted(TRUE_OF[title](), key=len, reverse=True):
        assert phrase in text
        text = text.replace(phrase, "", 1)
    assert not re.findall(r"\d[\d.,]*", text), text


def test_each_idea_has_a_step_of_its_own_and_the_page_gets_them():
    assert PAGE["tour"] is tour.TOUR
    assert [step["title"] for step in tour.TOUR] == [*TRUE_OF]  # so that titles are unique, too
