"""The caption over the plane counts the errors of the model that was asked for, and its line is drawn, however a page opens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_visit import Visit
from test_shown_model import points_of

import rosenblatt as rb
from rosenblatt.studio.html_export import bundle, page_files
from rosenblatt.studio.page_data import open_page

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]
CAPTION = ".plane figcaption span"


def state_of(preset: str, algorithm: str, **more: Any) -> dict[str, Any]:
    X, y = points_of(preset)
    data = {"points": X.tolist(), "labels": y.tolist(), "names": ["A", "B", "C"], "box": [-1.2, 1.2, -1.2, 1.2]}
    return {"data": data, "runs": [{"algorithm": algorithm, "knobs": {"max_updates": 60}}], **more}


def errors_of(keep: str, preset: str) -> tuple[int, int]:
    """Errors of a model, and of the last weights of its run."""
    X, y = points_of(preset)
    model = rb.Perceptron(keep=keep, order="cyclic", max_iter=None, max_updates=60).fit(X, y)
    return int((model.predict(X) != y).sum()), int((model.reading("last").predict(X) != y).sum())


def checked(tab: Visit) -> list[str]:
    return [name for name in ("pocket", "average", "vote") if tab.page.locator(f"#show-{name}").is_checked()]


@pytest.mark.parametrize("preset", ["nearly", "three"])
def test_the_caption_counts_the_errors_of_the_model(visit: Callable[..., Visit], preset: str) -> None:
    for algorithm, keep in (("perceptron", "last"), ("pocket", "pocket"), ("average", "average"), ("vote", "vote")):
        tab = visit(state_of(preset, algorithm))
        own, last = errors_of(keep, preset)
        text = f"{own} wrong" if keep == "last" else f"{keep} {own} wrong, last line {last}"
        assert (algorithm, tab.text(CAPTION)) == (algorithm, text)
        assert checked(tab) == ([] if keep == "last" else [keep])
        assert (f", {own} by the {keep}" in tab.now) == (keep != "last")


def test_the_line_of_the_model_is_drawn_until_it_is_switched_off(visit: Callable[..., Visit]) -> None:
    tab = visit(state_of("nearly", "pocket"))
    drawn, own = tab.picture(), errors_of("pocket", "nearly")[0]
    tab.click("#show-pocket")
    assert tab.picture() != drawn
    assert tab.text(CAPTION).startswith(f"pocket {own} wrong")
    assert tab.state["show"]["pocket"] is False
    tab.choose("#algorithm-0", "perceptron").choose("#algorithm-0", "pocket")
    assert checked(tab) == ["pocket"]


def test_of_two_runs_each_shows_its_own_model(visit: Callable[..., Visit]) -> None:
    runs = [{"algorithm": name, "knobs": {"max_updates": 60}} for name in ("perceptron", "pocket")]
    tab = visit(state_of("nearly", "perceptron") | {"runs": runs})
    captions = tab.page.locator(CAPTION).all_inner_texts()
    own, last = errors_of("pocket", "nearly")
    assert captions == [f"{last} wrong", f"pocket {own} wrong, last line {last}"]
    first, second = (tab.picture(f".plane:nth-child({n}) .canvas") for n in (1, 2))
    assert first != second  # the second has the line of the pocket


def opened(browser: Any, path: Path, page: str) -> Visit:
    path.write_text(page, encoding="utf-8")
    return Visit(browser, path.as_uri(), offline=True).open()


def test_a_model_opens_as_the_reading_that_it_keeps(browser: Any, tmp_path: Path) -> None:
    """Also a reading for which the menu has no algorithm, and a page made with `-a`."""
    pytest.importorskip("anywidget")
    X, y = points_of("nearly")
    for model, noun in (
        (rb.Perceptron(keep="pocket", max_updates=60, random_state=0), "pocket"),
        (rb.PassiveAggressive(keep="pocket", max_iter=3, random_state=0), "pocket"),
    ):
        model.fit(X, y)
        tab = opened(browser, tmp_path / "model.html", model.show().page)
        assert tab.text(CAPTION).startswith(f"{noun} {int((model.predict(X) != y).sum())} wrong")
        assert checked(tab) == [noun]
        tab.context.close()
        assert tab.faults == []
    tab = opened(browser, tmp_path / "page.html", bundle(page_files(), open_page("export", state=state_of("nearly", "pocket"))))
    assert tab.text(CAPTION).startswith(f"pocket {errors_of('pocket', 'nearly')[0]} wrong")
    assert tab.page.locator(".plane .canvas").is_visible()
    tab.context.close()


def test_a_model_of_many_columns_keeps_its_own_errors_in_the_caption(browser: Any, tmp_path: Path) -> None:
    """The page runs again on two columns, where the errors are others."""
    pytest.importorskip("anywidget")
    X, y = points_of("nearly")
    wide = np.column_stack([X, X[:, 0] * X[:, 1], np.arange(len(X)) / len(X)])
    model = rb.Perceptron(max_iter=5, random_state=0).fit(wide, y)
    tab = opened(browser, tmp_path / "model.html", model.show().page)
    assert tab.text(CAPTION).endswith(f"; your model {int((model.predict(wide) != y).sum())} of {len(y)}")
    banner, plane = (tab.page.locator(at).bounding_box() for at in ("#banner", ".plane"))
    assert banner["y"] + banner["height"] <= plane["y"]  # the note covers nothing
    tab.click("#clear")
    assert "principal components" not in tab.trouble  # they were those of the rows that are gone
    tab.context.close()
    assert tab.faults == []


def test_a_point_on_the_line_is_counted_as_the_model_counts_it(visit: Callable[..., Visit]) -> None:
    """While learning it is a mistake; as a prediction it belongs to the first class."""
    points = [[1, 0], [0, 1], [-1, 0], [0, 0], [2, 2]]
    data = {"points": points, "labels": [1, 1, 0, 0, 0], "names": ["A", "B"], "box": [-3, 3, -3, 3]}
    knobs = {"max_updates": 1, "fit_intercept": False}
    tab = visit({"data": data, "runs": [{"algorithm": "perceptron", "knobs": knobs}]})
    X, y = np.array(points, float), np.array(data["labels"])
    model = rb.Perceptron(order="cyclic", max_iter=None, max_updates=1, fit_intercept=False).fit(X, y)
    errors = int((model.predict(X) != y).sum())
    assert tab.text(CAPTION) == f"{errors} wrong"
    assert f"{errors} of 5 points on the wrong side and 1 on the line." in tab.now
