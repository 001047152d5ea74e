"""A model is as good as before after a fit that failed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from inputs import both, good

import rosenblatt as rb

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)


def fail_with(model: Any, name: str) -> None:
    X, y = good()
    wide = np.ones((30, 5))
    calls: dict[str, Callable[[], Any]] = {
        "NaN": lambda: model.fit(np.full_like(X, np.nan), y),
        "one class of wider rows": lambda: model.fit(wide, np.zeros(30)),
        "weights of wider rows": lambda: model.fit(wide, y, sample_weight=-np.ones(30)),
        "weights in a chunk": lambda: model.partial_fit(X, y, sample_weight=-np.ones(30)),
        "labels in a chunk": lambda: model.partial_fit(X, y + 7),
        "overflow": lambda: model.fit(wide * 1e308 * np.sign(y - 0.5)[:, None], 1 - y),
        "parameter": lambda: model.set_params(max_iter=0).fit(wide, y),
    }
    with pytest.raises(ValueError):  # noqa: PT011 - the words are tested in test_bad_input
        calls[name]()


@both
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "failure",
    ["NaN", "one class of wider rows", "weights of wider rows", "weights in a chunk", "labels in a chunk", "parameter"],
)
def test_a_failed_fit_leaves_the_model_as_it_was(estimator: Any, keep: str, classes: int, failure: str) -> None:
    X, y = good(classes)
    model = estimator(keep=keep, max_iter=2, random_state=0).fit(X, y)
    scores, stop, log = model.decision_function(X), model.stop_, model.log_
    fail_with(model, failure)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert (model.stop_, model.log_) == (stop, log)
    assert model.n_features_in_ == 3


def test_a_fit_that_overflowed_leaves_the_model_as_it_was() -> None:
    X, y = good()
    model = perceptron(order="cyclic").fit(X, y)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match="exceed the range"):
        model.fit(np.full((4, 5), 1.7e308), [0, 1, 0, 1])
    np.testing.assert_array_equal(model.decision_function(X), scores)


def test_a_failed_fit_leaves_the_names_of_the_columns() -> None:
    pd = pytest.importorskip("pandas")
    X, y = good()
    model = perceptron().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.raises(ValueError, match="one class"):
        model.fit(pd.DataFrame(X, columns=["d", "e", "f"]), np.zeros(30))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.predict(pd.DataFrame(X, columns=["a", "b", "c"]))


def test_a_model_whose_first_fit_failed_is_not_fitted() -> None:
    model = perceptron()
    with pytest.raises(ValueError, match="one class"):
        model.fit(good()[0], np.zeros(30))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(good()[0])
    model.partial_fit(*good())
