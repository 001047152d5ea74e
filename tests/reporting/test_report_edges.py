"""Rows and models at their limits still make a page."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from small_stories import rows, story

import rosenblatt as rb
from rosenblatt.reporting.figures.curves import find_pocket, learning_curve
from rosenblatt.reporting.page import FIGURES, draw, write_report
from rosenblatt.reporting.story import Facts, Story


def short_run(**parameters):
    return rb.Perceptron(random_state=0, max_iter=3, **parameters)


def report(X, y, model=None, **more):
    return Story("edge", (short_run() if model is None else model).fit(X, y), X=X, y=y, **more)


def numbers(page):
    """All places and lengths of the drawings."""
    return re.findall(r' (?:x|y|x1|y1|cx|cy|width|height|d|points)="([^"]*)"', page)


X, Y = rows(40)
CASES = {
    "one column": (X[:, :1], Y),
    "huge": (X * 1e150, Y),
    "tiny": (X * 1e-200, Y),
    "huge sparse": (sp.csr_array(X * 1e150), Y),
    "float32": (X.astype(np.float32), Y),
    "sparse, two columns": (sp.csr_matrix(X[:, :2]), Y),
    "constant column": (np.column_stack([X, np.full(len(X), 7.0)]), Y),
    "text labels": (X, np.array(["no", "yes"])[Y]),
    "two rows": (np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]), [0, 1]),
    "equal rows": (np.ones((6, 3)), [0, 1] * 3),
    "zeros": (np.zeros((6, 3)), [0, 1] * 3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("keep", ["last", "average"])
def test_a_page_is_made_of_finite_numbers(name, keep):
    page = write_report(report(*CASES[name], short_run(keep=keep)))
    for found in numbers(page):
        assert not re.search("nan|inf", found)
    assert page.count("<figure") >= 2


@pytest.mark.parametrize(
    "model", [short_run(fit_intercept=False), rb.MaxMargin(), rb.NonlinearMSE(), short_run(multiclass="ovr")]
)
def test_other_models_make_a_page(model):
    A, b = rows(30, k=3, spread=0.1)
    assert write_report(report(A, b, model)).count("<figure") >= 4


def test_a_run_without_an_update_has_no_curve():
    A, b = rows(30, spread=0.1)
    start = short_run(warm_start=True)
    for _ in range(20):  # each continues the one before, until no row triggers an update
        start.fit(A, b)
    assert len(start.log_) == 0
    page = write_report(Story("still", start, X=A, y=b))
    assert 'id="learning"' not in page
    assert 'id="margins"' in page


def test_a_pickled_estimator_is_judged_on_the_rows_given():
    whole = story(short_run())
    again = Story("pickled", pickle.loads(pickle.dumps(whole.estimator)), X=whole.X, y=whole.y)
    assert np.array_equal(learning_curve(Facts(again)).last[:, 0], learning_curve(Facts(whole)).last[:, 0])
    assert find_pocket(Facts(again)) == find_pocket(Facts(whole))


def test_a_sample_of_the_rows_has_no_pocket_of_all_rows():
    whole = story(short_run())
    assert find_pocket(Facts(whole)) is not None
    assert find_pocket(Facts(Story("some", whole.estimator, X=whole.X[:30], y=whole.y[:30]))) is None


@pytest.mark.parametrize("k", [2, 3])
def test_a_test_label_never_seen_is_an_error(k):
    whole = story(short_run(), k=k)
    strange = Story("strange", whole.estimator, X=whole.X, y=whole.y, X_test=whole.X_test, y_test=np.full(20, 99))
    assert (learning_curve(Facts(strange)).last[:, 1] == 1.0).all()
    with pytest.raises(ValueError, match="the plot 'confusion' needs"):
        draw(strange, "confusion")


def test_weights_of_rows_are_respected_by_leaving_the_pocket_out():
    A, b = rows(40)
    model = short_run(calibrate="sigmoid").fit(A, b, sample_weight=np.linspace(1.0, 2.0, 40))
    weighted = Story("weighted", model, X=A, y=b, X_test=A, y_test=b)
    assert find_pocket(Facts(weighted)) is None
    assert {which for which in FIGURES if draw(weighted, which)} == set(FIGURES)
