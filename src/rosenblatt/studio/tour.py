"""The guided tour: one idea per step, with a state of the page that shows it. The numbers in a text are those of its run."""

from __future__ import annotations

import html
import re
from typing import Any

State = dict[str, Any]

NO_BREAK_SPACE, EM_SPACE = "\u00a0", "\u2003"


def _step(
    title: str, state: State, *paragraphs: str, try_it: str, then: State | None = None, look: str = "planes"
) -> dict[str, Any]:
    """Return a step for the page.

    Parameters
    ----------
    title : str
        The heading.
    state : dict
        The state of the page.
    *paragraphs : str
        The text; see `_marked`.
    try_it : str
        What the reader should try.
    then : dict, default=None
        How `try_it` changes the state if it leads to other runs, so that an export contains them.
    look : str, default="planes"
        The id of the element that the text is about.
    """
    parts = [*(_paragraph(text) for text in paragraphs), f"<p><b>Try it.</b> {_marked(try_it)}</p>"]
    return {"title": title, "html": "".join(parts), "state": state, "then": then, "look": look}


def _paragraph(text: str) -> str:
    """Return a paragraph as HTML; one that is only a formula is displayed."""
    formula = re.fullmatch("`([^`]+)`", text)
    return f'<p class="formula">{_math(formula[1])}</p>' if formula else f"<p>{_marked(text)}</p>"


def _marked(text: str) -> str:
    """Return text as HTML: `...` is a formula, *...* is bold."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"\*(.+?)\*", r"<b>\1</b>", html.escape(plain, quote=False)) for plain in parts[::2]]
    parts[1::2] = [_math(formula).replace(" ", NO_BREAK_SPACE) for formula in parts[1::2]]
    return "".join(parts)


def _math(text: str) -> str:
    """Return a formula as HTML, with sub- and superscripts and italic quantities.

    >>> _math("w_t·x ≤ |x|^2")
    '<i>w</i><sub><i>t</i></sub>·<i>x</i> ≤ |<i>x</i>|<sup>2</sup>'
    """
    text = html.escape(text, quote=False)
    text = re.sub(r"_(\{[^}]+\}|.)", lambda found: f"<sub>{found[1].strip('{}')}</sub>", text)
    text = re.sub(r"\^(\{[^}]+\}|.)", lambda found: f"<sup>{found[1].strip('{}')}</sup>", text)
    text = re.sub(r"(?<![A-Za-z&])[A-Za-zα-ω](?![A-Za-z])", r"<i>\g<0></i>", text)  # a single letter is a quantity
    return text.replace("  ", EM_SPACE)


def _preset(name: str, **more: Any) -> State:
    return {"data": {"preset": name}, **more}


def _run(algorithm: str, **knobs: Any) -> dict[str, Any]:
    return {"algorithm": algorithm, "knobs": knobs}


# Two columns of points; some points of the right column are far from the boundary.
FAR_POINTS: State = {
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
        "A line and its two sides",
        _preset("separable", t="end"),
        "Points of class B have `y = +1`, points of class A have `y = −1`. A line has weights `w`, which give every "
        "point a score:",
        "`w·x = w_0 + w_1 x_1 + w_2 x_2`",
        "On the line the score is 0. On the side that the arrow `w` points to it is positive, which means B. A point is right "
        "if `y w·x > 0`; here all 60 are. Each `x` starts with a 1, so that `w_0` is a weight like the others.",
        try_it="Press ← (key or button): before the last update 5 points were wrong; they are drawn hollow.",
    ),
    _step(
        "The update rule",
        _preset("lecture", t=2),
        "The perceptron looks at one point after another. A point on the wrong side, or on the line, changes the weights:",
        "`w ← w + y x  if  y w·x ≤ 0`",
        "This just happened. The weights were `(1, 2, 1)`, and the ringed point 3 is `x = (1, 2, 2)`. Its score was `1 + 4 "
        "+ 2 = 7`, but it is an A and should be below 0. So `x` was subtracted, which gives `(0, 0, −1)`. The dashed line "
        "is the old one; the colored arrow is the step.",
        try_it="Press → for the next update, and ← to undo it.",
    ),
    _step(
        "Why it helps",
        _preset("lecture", t=4),
        "Put the new weights into the score of the same point. Since `y^2 = 1`,",
        "`y (w + y x)·x = y w·x + |x|^2`",
        "Each update raises `y w·x` of its point by `|x|^2`; enough updates make any point right. Here point 3 had −1, and "
        "`|x|^2 = 1 + 4 + 4 = 9` made it 8. An update helps its own point but can harm others: before it 1 of the 4 "
        "points was wrong, now 2 are.",
        try_it="Press →: the fifth update is the last, and all four points are right.",
    ),
    _step(
        "Weight space",
        _preset("lecture", runs=[_run("perceptron", fit_intercept=False)], t=4),
        "In the picture “Weight space”, `w` is a point. (Here without `w_0`: only two weights.) Each `x` is a "
        "line through 0; the weights on one side of it get that point right:",
        "`y w·x > 0`",
        "The shaded cone is common to all these half-planes: its weights get every point right. An update is a step by "
        "`y x`, perpendicular to the line of its point. After 4 updates `w = (0, −3)` is not in the cone.",
        try_it="Press →: the fifth step leads to `(2, −3)`, inside the cone, and the run ends.",
        look="weights",
    ),
    _step(
        "Why it must end",
        _preset("outlier", t="end", show={"widest": True}),
        "Suppose a perfect line `w*` of length 1 exists (dotted), and every point is at least `γ` away from it. No `x` is "
        "longer than `R`. After `t` updates from 0,",
        "`w_t·w* ≥ t γ  and  |w_t|^2 ≤ t R^2`",
        "Since `w_t·w*` is at most `|w_t|`, it follows (Novikoff, 1962) that",
        "`t ≤ R^2/γ^2`",
        "A narrow margin allows many updates. One point near the other class leaves `γ = 0.041` (0.043 in "
        "the plane, without `w_0`), and `R = 1.51`. At most 1,347 updates are possible; 37 were needed.",
        then={"data": {"preset": "separable"}},
        try_it="Choose the data “Separable”: with `γ = 0.147` at most 97 updates are possible; 19 are needed.",
        look="verdict",
    ),
    _step(
        "When no line separates",
        _preset("xor", t="end"),
        "No line separates these corners. Four points prove it: the segment from point 10 to 42 crosses the one from 35 to 45. "
        "A line would have to give the crossing point both classes. In numbers: some `λ_i > 0` satisfy",
        "`Σ λ_i y_i x_i = 0`",
        "so `Σ λ_i y_i w·x_i = 0` for every `w`, and not all `y_i w·x_i` can be positive. The perceptron never "
        "ends; it was stopped after 1,000 updates with 43 of 80 points wrong.",
        try_it="Drag the slider: the errors go up and down. The best of all these lines has 23.",
    ),
    _step(
        "The pocket",
        _preset("nearly", runs=[_run("pocket", max_updates=60)], t="end", show={"pocket": True}),
        "If no line separates the points, the last line of a run is a matter of luck: after these 60 updates 12 of 80 points "
        "are wrong. The pocket keeps the best line so far, and replaces it only by one with fewer errors:",
        "`the fewest  y_i w_t·x_i ≤ 0`",
        "Here that is the line after update 16, with 3 errors: the dotted one. Diamonds above the timeline show where the "
        "pocket improved.",
        try_it="Go to the start and press → sixteen times: the dotted line moves only when it improves.",
    ),
    _step(
        "Averaging and voting",
        _preset(
            "nearly", runs=[_run("average", max_updates=60)], t="end", show={"average": True, "vote": True, "clash": False}
        ),
        "The line `w_t` survives `c_t` points, until one is wrong. A line that survives many points is probably a good one. So "
        "use all of them, each with weight `c_t`:",
        "`average:  w = Σ c_t w_t / Σ c_t`",
        "`vote:  sign Σ c_t sign(w_t·x)`",
        "The average is a line again; the boundary of the vote can have corners. For the same 60 updates the last line gets "
        "12 of 80 points wrong, the average 3 and the vote 3.",
        try_it="Press ← a few times: the line jumps, while average and vote hardly move.",
    ),
    _step(
        "Margins",
        _preset("separable", runs=[_run("margin", margin=1.0), _run("max-margin")], t="end"),
        "A line that is close to a point is barely right. The perceptron with margin continues until every `y w·x > b`, in at "
        "most",
        "`(R^2 + 2b)/γ^2`",
        "updates. With `b = 1` it made 36, and no point is closer than 0.12; with `b = 0` one would be at 0.02. The second "
        "picture has the widest margin possible, 0.151, determined by the three ringed points alone:",
        "`min (w_1^2 + w_2^2)/2  such that all  y w·x ≥ 1`",
        try_it="Set `b` to 5: more updates, and the margin is 0.149.",
        then={"runs": [_run("margin", margin=5.0), _run("max-margin")]},
    ),
    _step(
        "The soft margin and C",
        _preset("outlier", runs=[_run("soft-margin", C=1.0), _run("soft-margin", C=1000.0)], t="end"),
        "One point can take away most of the margin. The soft margin allows points inside the margin or beyond the line, at a "
        "cost of `C` times how far in they are:",
        "`min (w_1^2 + w_2^2)/2 + C Σ max(0, 1 − y_i w·x_i)`",
        "First `C = 1`: a margin of 0.38 on each side, and point 47 is misclassified. Then `C = 1,000`: no point is wrong, and "
        "the margin is 0.043. Only new points can show which line is better.",
        try_it="Press ← four times: both values of `C` shrink, and at 100 the second line misclassifies point 47, too.",
    ),
    _step(
        "What a loss counts",
        {"data": FAR_POINTS, "runs": [_run("linear-mse"), _run("nonlinear-mse")], "t": "end"},
        "What should a point with `m = y w·x` cost? Least squares, least squares through tanh, and the hinge answer:",
        "`(1 − m)^2,  (1 − tanh m)^2,  max(0, 1 − m)`",
        "For the first, `m = 3` is as bad as `m = −1`. So the 6 far points, although right, pull the first line toward them, "
        "and 5 points are wrong. tanh never exceeds 1: in the second picture the far points cost almost nothing, and "
        "no point is wrong.",
        try_it="Change the first one to “Soft margin”: the hinge requires no more than `m = 1`, and again no point is wrong.",
        then={"runs": [_run("soft-margin"), _run("nonlinear-mse")]},
    ),
    _step(
        "Several classes",
        _preset("six", runs=[_run("perceptron"), _run("perceptron", multiclass="ovr", max_updates=30)], t="end"),
        "Each class `k` has its own `w_k`; the largest score `w_k·x` wins. If a point of class `l` does not beat its "
        "best rival `z`, both move:",
        "`w_l ← w_l + x,  w_z ← w_z − x`",
        "The first run gets all 108 points right in 146 updates. In the second, each class learns alone against the rest. "
        "No line separates any of the six from all the others, so none of these runs ends. Stopped after 30 updates each, "
        "they get 19 points wrong.",
        try_it="Choose the data “Three classes”: there, both ways end without an error.",
        then={"data": {"preset": "three"}},
    ),
    _step(
        "Curves",
        _preset("xor", degree=2, t="end", slice={"x": 4, "y": 1}),
        "XOR again, which no line separates. But give every point more features:",
        "`(1, x_1, x_2, x_1^2, x_1x_2, x_2^2)`",
        "In this space a plane separates the classes, and everything so far holds: the rule, the bound, the margin. On this "
        "page it is the curve where the score is 0. After 34 updates the weight of `x_1x_2` is −4.7 and no other exceeds 0.5 "
        "in size: the sign of `x_1x_2` decides.",
        try_it="Set “Boundary” to “line”: the points that prove it impossible are back, and the run does not end.",
        then={"degree": 1},
    ),
    _step(
        "Your turn",
        _preset("moons", degree=3, t="end"),
        "Two moons: a proof shows that no curve of degree 2 separates them; at degree 3 the run ends after 76 updates. Now "
        "place your own points. Click to add a point, drag to move it, right-click or long-press to delete it. “Brush” paints "
        "many; a CSV file can be dropped. “Share” has a link to this page, pictures, and the Python code that repeats the "
        "run.",
        try_it="Go to the start and press play to watch the curve grow. Then drag one point into the other moon.",
    ),
]  # fmt: skip
