"""The guided tour: one idea a step, with a state of the page that shows it. What a text says is true of that state's run."""

from __future__ import annotations

import html
import re
from typing import Any

State = dict[str, Any]

UNBROKEN, WIDE = "\u00a0", "\u2003"  # spaces that a browser keeps


def _step(
    title: str, state: State, *paragraphs: str, try_it: str, then: State | None = None, look: str = "planes"
) -> dict[str, Any]:
    """then : what changes in the state where `try_it` leads to other runs, so that an export has them, too. look : the part of
    the page that it speaks of, by its id."""
    told = [*(_paragraph(text) for text in paragraphs), f"<p><b>Try it.</b> {_marked(try_it)}</p>"]
    return {"title": title, "html": "".join(told), "state": state, "then": then, "look": look}


def _paragraph(text: str) -> str:
    """One that is nothing but a formula stands apart."""
    formula = re.fullmatch("`([^`]+)`", text)
    return f'<p class="formula">{_math(formula[1])}</p>' if formula else f"<p>{_marked(text)}</p>"


def _marked(text: str) -> str:
    """`...` is a formula, *...* is bold; all else is plain."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"\*(.+?)\*", r"<b>\1</b>", html.escape(plain, quote=False)) for plain in parts[::2]]
    parts[1::2] = [_math(formula).replace(" ", UNBROKEN) for formula in parts[1::2]]
    return "".join(parts)


def _math(text: str) -> str:
    """
    >>> _math("w_t·x ≤ |x|^2")
    '<i>w</i><sub><i>t</i></sub>·<i>x</i> ≤ |<i>x</i>|<sup>2</sup>'
    """
    text = html.escape(text, quote=False)
    text = re.sub(r"_(\{[^}]+\}|.)", lambda found: f"<sub>{found[1].strip('{}')}</sub>", text)
    text = re.sub(r"\^(\{[^}]+\}|.)", lambda found: f"<sup>{found[1].strip('{}')}</sup>", text)
    text = re.sub(r"(?<![A-Za-z&])[A-Za-zα-ω](?![A-Za-z])", r"<i>\g<0></i>", text)  # one letter alone is a quantity
    return text.replace("  ", WIDE)


def _preset(name: str, **more: Any) -> State:
    return {"data": {"preset": name}, **more}


def _run(algorithm: str, **knobs: Any) -> dict[str, Any]:
    return {"algorithm": algorithm, "knobs": knobs}


# Two columns of points, and some of the right one far out on their own side.
FAR: State = {
    "points": [
        [-0.28, 0.9], [-0.42, 0.28], [-0.25, -0.75], [-0.51, -0.49], [-0.4, 0.68], [-0.22, -0.24], [-0.49, -0.89],
        [-0.4, -0.58], [-0.31, -0.8], [-0.51, 0.17], [-0.1, -0.58], [-0.27, 0.01], [-0.46, -0.75], [-0.19, 0.97],
        [0.38, -0.54], [0.42, -0.65], [0.58, 0.18], [0.48, -0.45], [0.52, -0.73], [0.3, 0.26], [0.32, -0.68], [0.37, 0.21],
        [0.41, 0.64], [0.63, 0.87],
        [2.64, -2.08], [2.57, -1.88], [2.45, -2.03], [2.5, -2.13], [2.37, -1.79], [2.68, -1.87],
    ],
    "labels": [0] * 14 + [1] * 16,
    "names": ["A", "B"],
    "box": [-1.0, 3.0, -2.6, 1.4],
}  # fmt: skip

TOUR: list[dict[str, Any]] = [
    _step(
        "A plane and its two sides",
        _preset("separable", t="end"),
        "Points of class B count as `y = +1`, those of A as `y = −1`. A plane, here a line, has weights `w`, which score "
        "every point:",
        "`w·x = w_0 + w_1 x_1 + w_2 x_2`",
        "On the line the score is 0; on the side that the arrow `w` points to it is positive, and means B. A point is "
        "right where `y w·x > 0`; here all 60 are. Each `x` begins with a 1, so that `w_0` is a weight like the others.",
        try_it="Press ← (key or button): before the last update 5 points were wrong; they are drawn hollow.",
    ),
    _step(
        "The update rule",
        _preset("lecture", t=2),
        "The perceptron looks at one point after the other. One that is on the wrong side, or on the line, moves the "
        "weights:",
        "`w ← w + y x  where  y w·x ≤ 0`",
        "This just happened. The weights were `(1, 2, 1)`, and the ringed point 2 is `x = (1, 2, 2)`. Its score was `1 + 4 "
        "+ 2 = 7`, but it is an A and should be under 0. So `x` was taken off, which leaves `(0, 0, −1)`. The dashed line "
        "is the old plane, the coloured arrow the step.",
        try_it="Press → for the next update, and ← to take it back.",
    ),
    _step(
        "Why it helps",
        _preset("lecture", t=4),
        "Put the new weights into the score of the same point. Since `y^2 = 1`,",
        "`y (w + y x)·x = y w·x + |x|^2`",
        "Each update raises its point’s `y w·x` by `|x|^2`; enough of them make any point right. Here point 2 had −1, and "
        "`|x|^2 = 1 + 4 + 4 = 9` made it 8. An update helps its own point and may spoil others: before it 1 of the 4 "
        "points was wrong, now 2 are.",
        try_it="Press →: the fifth update is the last, and all four points are right.",
    ),
    _step(
        "Weight space",
        _preset("lecture", runs=[_run("perceptron", fit_intercept=False)], t=4),
        "In the picture called weight space, `w` is a point. (Without `w_0` here, it is flat.) Each `x` is a "
        "line through 0 in it; weights on one side get that point right:",
        "`y w·x > 0`",
        "What all these half-planes share is the shaded cone: weights that get every point right. An update is a step by "
        "`y x`, at right angles to its point’s line. After 4 updates `w = (0, −3)` is not in the cone.",
        try_it="Press →: the fifth step leads to `(2, −3)`, inside the cone: the run ends.",
        look="weights",
    ),
    _step(
        "Why it must end",
        _preset("outlier", t="end", show={"widest": True}),
        "Some `w*` of length 1 (dotted) has a margin `γ`: `y w*·x ≥ γ` for all. No `x` is longer than `R`. After `t` "
        "updates from 0,",
        "`w_t·w* ≥ t γ  and  |w_t|^2 ≤ t R^2`",
        "As `w_t·w*` is at most `|w_t|`, it follows (Novikoff, 1962) that",
        "`t ≤ R^2/γ^2`",
        "The narrower the margin, the more mistakes may come. One point near the other class leaves `γ = 0.041` (0.043 in "
        "the plane, where `w_0` does not count), and `R = 1.51`. The bound is 1,348; the run made 37 updates.",
        then={"data": {"preset": "separable"}},
        try_it="Choose the data “Separable”: `γ = 0.147`, the bound is 97.9, and 19 updates do.",
        look="verdict",
    ),
    _step(
        "When no plane separates",
        _preset("xor", t="end"),
        "No line parts these corners. Four points prove it: the segment from point 9 to 41 crosses the one from 34 to 44, "
        "and where they cross, a plane would have to say A and B. In numbers: some `λ_i > 0` make",
        "`Σ λ_i y_i x_i = 0`",
        "so that `Σ λ_i y_i w·x_i = 0` whatever `w` is, and not all `y_i w·x_i` can be positive. The perceptron never "
        "ends; it was stopped after 1,000 updates with 43 of 80 points wrong.",
        try_it="Drag the slider: errors go up and down. The best of all these planes has 23.",
    ),
    _step(
        "The pocket",
        _preset("nearly", runs=[_run("pocket", max_updates=60)], t="end", show={"pocket": True}),
        "Without a separating plane, where a run stops is luck: after these 60 updates 12 of 80 points are wrong. The "
        "pocket keeps the best plane so far, and gives it away only for one with fewer errors:",
        "`the fewest  y_i w_t·x_i ≤ 0`",
        "Here that is the plane after update 16, with 3 errors: the dotted line. Diamonds over the timeline mark where the "
        "pocket improved.",
        try_it="Go to the start and press → sixteen times: the dotted line follows only what is better.",
    ),
    _step(
        "Averaging and voting",
        _preset(
            "nearly", runs=[_run("average", max_updates=60)], t="end", show={"average": True, "vote": True, "clash": False}
        ),
        "The plane `w_t` lives for `c_t` points, until one is wrong. Those that live long are good; so let all of them "
        "speak, each with the weight `c_t`:",
        "`average:  w = Σ c_t w_t / Σ c_t`",
        "`vote:  sign Σ c_t sign(w_t·x)`",
        "The average is one plane again, the vote’s boundary may have corners. Of the same 60 updates the last plane gets "
        "12 of 80 points wrong, the average 3 and the vote 3.",
        try_it="Press ← a few times: the plane jumps, while average and vote hardly move.",
    ),
    _step(
        "Margins",
        _preset("separable", runs=[_run("margin", margin=1.0), _run("max-margin")], t="end"),
        "A plane close to a point is right, but barely. The perceptron with margin goes on until every `y w·x > b`, in at "
        "most",
        "`(R^2 + 2b)/γ^2`",
        "updates. With `b = 1` it made 36, and no point is nearer than 0.12; with `b = 0` one would be at 0.02. The second "
        "picture has the widest margin there is, 0.151, held by the three ringed points alone:",
        "`min (w_1^2 + w_2^2)/2  where all  y w·x ≥ 1`",
        try_it="Turn `b` to 5: more updates, and the margin is 0.149.",
        then={"runs": [_run("margin", margin=5.0), _run("max-margin")]},
    ),
    _step(
        "The soft margin and C",
        _preset("outlier", runs=[_run("soft-margin", C=1.0), _run("soft-margin", C=1000.0)], t="end"),
        "One point can take most of the margin away. The soft margin may leave points in the street or beyond it, and pays "
        "`C` for how far in they are:",
        "`min (w_1^2 + w_2^2)/2 + C Σ max(0, 1 − y_i w·x_i)`",
        "First `C = 1`: a street of 0.38 to each side, and point 46 is given up. Then `C = 1,000`: no point is wrong, and "
        "0.043 is left. Which is better, only new points can tell.",
        try_it="Press ← four times: both `C` shrink, and at 100 the second plane lets point 46 go, too.",
    ),
    _step(
        "What a loss counts",
        {"data": FAR, "runs": [_run("linear-mse"), _run("nonlinear-mse")], "t": "end"},
        "What should a point with `m = y w·x` cost? Least squares, least squares through tanh, and the hinge say",
        "`(1 − m)^2,  (1 − tanh m)^2,  max(0, 1 − m)`",
        "To the first, `m = 3` is as bad as `m = −1`. So the 6 far points, though right, pull the first line towards them, "
        "and 5 points end up wrong. tanh never passes 1: in the second picture the far points cost next to nothing, and "
        "none is wrong.",
        try_it="Make the first one “Soft margin”: the hinge asks for no more than `m = 1`, and again none is wrong.",
        then={"runs": [_run("soft-margin"), _run("nonlinear-mse")]},
    ),
    _step(
        "Several classes",
        _preset("six", runs=[_run("perceptron"), _run("perceptron", multiclass="ovr", max_updates=30)], t="end"),
        "Give each class `k` its own `w_k`; the largest score `w_k·x` wins. Where a point of class `l` does not beat its "
        "best rival `z`, both move:",
        "`w_l ← w_l + x,  w_z ← w_z − x`",
        "So the first run got all 108 points right in 146 updates. In the second each class learns alone against the rest. "
        "No line parts any of the six from all the others: none of these runs ends. Stopped after 30 updates each, they "
        "get 19 points wrong.",
        try_it="Choose the data “Three classes”: there, both ways end without an error.",
        then={"data": {"preset": "three"}},
    ),
    _step(
        "A plane elsewhere",
        _preset("xor", degree=2, t="end", slice={"x": 4, "y": 1}),
        "XOR again, where no line will do. But give every point more features:",
        "`(1, x_1, x_2, x_1^2, x_1x_2, x_2^2)`",
        "There a plane separates the classes, and all that was said holds: the rule, the bound, the margin. Seen from here "
        "it is the curve where the score is 0. After 34 updates the weight of `x_1x_2` is −4.7 and no other is over 0.5 in "
        "size: the sign of `x_1x_2` decides.",
        try_it="Set “features of degree” to 1: the clash is back, and the run does not end.",
        then={"degree": 1},
    ),
    _step(
        "Where to go on",
        _preset("moons", degree=3, t="end"),
        "Two moons: a clash proves them inseparable at degree 2, and at degree 3 the run ends after 76 updates. Now make "
        "your own. Click to place a point, drag to move it, right-click or press long to take it away. “Brush” paints "
        "many; a CSV file can be dropped. “Share” has a link to what you see, pictures, and the Python that repeats the "
        "run.",
        try_it="Go to the start and press play to watch the curve grow. Then drag one point into the other moon.",
    ),
]  # fmt: skip
