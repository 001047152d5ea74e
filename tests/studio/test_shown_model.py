"""The model that a page names is the one that was fitted or asked for: every reading of every algorithm, and its errors."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from rosenblatt.catalog import ALGORITHMS
from rosenblatt.estimators.online import Keep, OnlineClassifier
from rosenblatt.studio.menu import knobs_of
from rosenblatt.studio.page_data import open_page
from rosenblatt.studio.presets import PRESETS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
DATA = ("nearly", "three")


def points_of(preset: str) -> tuple[Any, Any]:
    """Points of two or three classes, some with the label of another class, so that readings differ."""
    X, y = np.array(PRESETS[preset].points)[::2], np.array(PRESETS[preset].labels)[::2]
    y[::7] = (y[::7] + 1) % (1 + y.max())
    return X, y


def limits_of(name: str) -> dict[str, int]:
    return {"max_updates": 60} if "max_updates" in knobs_of(ALGORITHMS[name]) else {}


@pytest.mark.parametrize("preset", DATA)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_page_that_opens_with_an_algorithm_shows_the_model_it_fits(name: str, preset: str) -> None:
    X, y = points_of(preset)
    data = {"points": X.tolist(), "labels": y.tolist(), "names": ["A", "B", "C"], "box": [-1, 1, -1, 1]}
    state = {"data": data, "runs": [{"algorithm": name, "knobs": limits_of(name)}]}
    (recorded,) = open_page("server", state=state)["recordings"]
    names: dict[str, Any] = {"print": lambda *_: None}
    exec(recorded["run"]["code"], names)
    keep = recorded["run"]["keep"]
    assert keep == getattr(names["model"], "keep", "last")
    assert recorded["run"]["readings"][keep] == int((names["model"].predict(X) != y).sum())


@pytest.mark.parametrize("preset", DATA)
@pytest.mark.parametrize("keep", get_args(Keep))
@pytest.mark.parametrize("name", [name for name, each in ALGORITHMS.items() if each.logged])
def test_a_shown_model_is_the_reading_that_it_keeps(shown: Any, name: str, keep: str, preset: str) -> None:
    X, y = points_of(preset)
    model = ALGORITHMS[name].make()
    assert isinstance(model, OnlineClassifier)
    model.set_params(keep=keep, random_state=0, **limits_of(name)).fit(X, y)
    (recorded,) = shown(model.show(X, y))["recordings"]
    assert recorded["run"]["keep"] == keep
    assert recorded["run"]["readings"][keep] == int((model.predict(X) != y).sum())
    for other in get_args(Keep):
        assert recorded["run"]["readings"][other] == int((model.reading(other).predict(X) != y).sum())


@pytest.mark.parametrize("preset", DATA)
@pytest.mark.parametrize("name", [name for name, each in ALGORITHMS.items() if not each.logged])
def test_a_shown_solution_has_the_errors_of_its_model(shown: Any, name: str, preset: str) -> None:
    X, y = points_of(preset)
    given = {"inseparable": "soft"} if "inseparable" in ALGORITHMS[name].options else {}
    model = ALGORITHMS[name].make().set_params(**given).fit(X, y)
    (recorded,) = shown(model.show(X, y))["recordings"]
    assert recorded["run"]["keep"] == "last"
    assert recorded["run"]["readings"] == {"last": int((model.predict(X) != y).sum())}
