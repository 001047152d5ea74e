"""Every number of a figure against its definition, written out slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from small_stories import rows, story

import rosenblatt as rb
from rosenblatt.reporting.charts import Bars, Grid, HorizontalBars, Line, Marker, Points, Rule, log_axis, nice_axis
from rosenblatt.reporting.figures.curves import errors_per_pass, find_pocket, learning_curve
from rosenblatt.reporting.figures.features import heaviest, spreads
from rosenblatt.reporting.figures.plane import principal, project, regions, stratified
from rosenblatt.reporting.figures.predictions import confusion_counts, margins_of
from rosenblatt.reporting.page import FIGURES, draw
from rosenblatt.reporting.replay import choose_rows, count_errors
from rosenblatt.reporting.story import Facts, Story
from rosenblatt.reporting.svg import svg

MODELS = {
    "online": lambda: rb.Perceptron(random_state=0, max_iter=6),
    "batch": lambda: rb.Perceptron(update="batch", max_iter=6),
    "ovr": lambda: rb.Perceptron(random_state=0, max_iter=6, multiclass="ovr"),
    "mistakes": lambda: rb.Perceptron(order="mistakes", random_state=0, max_iter=2),
    "pa": lambda: rb.PassiveAggressive(random_state=0, max_iter=3),
}


def wrong(X, codes, coef, intercept, ties_are_wrong):
    """Errors of one hypothesis, row by row."""
    errors = 0
    for x, c in zip(X, codes, strict=True):
        scores = [float(x @ w + b) for w, b in zip(coef, intercept, strict=True)]
        scores = [-scores[0], scores[0]] if len(scores) == 1 else scores
        rivals = [s for z, s in enumerate(scores) if z != c]
        right = scores[c] > max(rivals) if ties_are_wrong else int(np.argmax(scores)) == c
        errors += not right
    return errors


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_learning_curve_has_the_errors_of_the_weights_at_each_time(name, k):
    report = story(MODELS[name](), k=k)
    log, curve = report.estimator.log_, learning_curve(Facts(report))
    assert curve is not None
    assert curve.visits[-1] == log.durations.max()
    births = log.times[log._record.edges[:-1]]
    for n in range(0, len(curve.visits), 9):
        t = int((births < curve.visits[n]).sum())
        assert curve.updates[n] == t
        coef, intercept = log.weights_at(t)
        for s, (X, y) in enumerate(((report.X, report.y), (report.X_test, report.y_test))):
            assert curve.last[n, s] * len(y) == pytest.approx(wrong(X, y, coef, intercept, s == 0))


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_average_so_far_ends_as_the_average_that_is_kept(k, multiclass):
    report = story(rb.Perceptron(keep="average", random_state=0, max_iter=4, multiclass=multiclass), k=k)
    curve = learning_curve(Facts(report))
    model = report.estimator
    assert curve.average[-1, 0] * 60 == pytest.approx(wrong(report.X, report.y, model.coef_, model.intercept_, True))
    assert curve.average[-1, 1] == pytest.approx(np.mean(model.predict(report.X_test) != report.y_test))


def test_the_average_so_far_is_the_mean_of_the_weights_after_each_row():
    report = story(rb.Perceptron(keep="average", random_state=0, max_iter=2))
    curve, log = learning_curve(Facts(report)), report.estimator.log_
    births = log.times
    for n in (10, 20, len(curve.visits) - 1):
        weights = [log.weights_at(int((births < v).sum())) for v in range(1, int(curve.visits[n]) + 1)]
        coef, intercept = (np.mean([w[i] for w in weights], axis=0) for i in (0, 1))
        assert curve.average[n, 0] * 60 == pytest.approx(wrong(report.X, report.y, coef, intercept, True))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ["online", "batch", "ovr"])
def test_errors_per_pass_are_those_of_the_weights_at_its_end(name, k):
    report = story(MODELS[name](), k=k)
    log, seen = report.estimator.log_, errors_per_pass(Facts(report))
    assert seen.numbers.tolist() == list(range(1, len(log.passes) + 1))
    for entries, errors in zip(log.passes, seen.errors, strict=True):
        assert errors == wrong(report.X, report.y, *log.weights_at(int(np.searchsorted(log._record.edges, entries))), True)


def test_the_pocket_is_marked_where_it_was_found():
    report = story(rb.Perceptron(keep="pocket", random_state=0, max_iter=6))
    log, found = report.estimator.log_, find_pocket(Facts(report))
    errors = [wrong(report.X, report.y, *log.weights_at(t), True) for t in range(log.n_updates + 1)]
    assert (found.errors, found.update) == (min(errors), int(np.argmin(errors)))
    inside = int(np.searchsorted(log.passes, found.update)) + 1
    assert inside - 1 <= found.place <= inside
    chart = draw(report, "passes")
    marker = next(mark for mark in chart.marks if isinstance(mark, Marker))
    assert (marker.x, marker.y) == (found.place, found.errors)
    sentence = (
        f"The pocket was found at update {found.update} with {min(errors)} errors, in pass {inside} of {len(log.passes)}."
    )
    assert sentence in chart.caption


def test_if_the_pocket_is_expensive_to_find_its_errors_are_marked(monkeypatch):
    from rosenblatt.reporting.figures import curves

    monkeypatch.setattr(curves, "MAX_POCKET_WORK", 0.0)
    report = story(rb.Perceptron(keep="pocket", random_state=0, max_iter=6))
    chart, (kept,) = draw(report, "passes"), report.estimator.pocket_errors_
    assert [mark.y for mark in chart.marks if isinstance(mark, Rule)] == [kept]
    assert f"the fewest errors, {kept:.0f}." in chart.caption
    assert f"pocket: {kept:.0f} errors" in svg(chart)


def test_rows_far_out_are_counted_instead_of_drawn():
    X, y = rows(1000)
    X[7] *= 1e4
    chart = draw(Story("far", rb.LinearMSE().fit(X, y), X=X, y=y), "plane")
    drawn = sum(len(mark.x) for mark in chart.marks if isinstance(mark, Points))
    assert drawn < 1000
    assert f"{1000 - drawn} row" in chart.caption


def test_a_history_stands_in_for_a_log():
    report = story(rb.LinearMSE(), history=[(1, 30, 12), (2, 50, 7), (3, 61, 9)])
    line = next(mark for mark in draw(report, "passes").marks if isinstance(mark, Line))
    assert (list(line.x), list(line.y)) == ([1, 2, 3], [12.0, 7.0, 9.0])


@pytest.mark.parametrize("sparse", [False, True])
def test_beyond_the_limit_of_work_an_even_sample_is_used_and_noted(sparse, monkeypatch):
    import rosenblatt.reporting.replay as replay

    monkeypatch.setattr(replay, "MAX_DENSE_WORK", 1.0)
    monkeypatch.setattr(replay, "MAX_SPARSE_WORK", 1.0)
    monkeypatch.setattr(replay, "MIN_SAMPLE_ROWS", 7)
    X, y = rows(50)
    on = choose_rows(sp.csr_array(X) if sparse else X, y, 10, 1, True)
    assert (on.rows, on.total) == (7, 50)
    columns, bias = np.ones((4, 2)), np.zeros((2, 1))
    some = np.linspace(0, 49, 7).round().astype(int)
    assert count_errors(on, columns, bias).tolist() == [wrong(X[some], y[some], np.ones((1, 4)), bias[0], True)] * 2
    report = story()
    assert "an even sample of 7 of 60 rows" in draw(report, "learning").caption


@pytest.mark.parametrize("k", [2, 3])
def test_margins_are_those_of_the_library(k):
    report = story(k=k)
    found = margins_of(Facts(report))
    assert found == pytest.approx(rb.margin(report.estimator, report.X, report.y, space="geometric", each=True))
    chart = draw(report, "margins")
    left, right = (mark for mark in chart.marks if isinstance(mark, Bars))
    assert sum(left.top) == (found <= 0).sum()
    assert sum(right.top) == (found > 0).sum()
    assert max(left.high, default=0.0) <= 1e-12
    assert min(right.low) >= -1e-12


def test_the_smallest_margin_is_marked_where_the_rows_are_separated():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0], [4.0, 4.0]])
    report = Story("blobs", rb.MaxMargin().fit(X, [0, 0, 1, 1]), X=X, y=[0, 0, 1, 1])
    rules = [mark.x for mark in draw(report, "margins").marks if isinstance(mark, Rule)]
    assert rules[-1] == pytest.approx(math.sqrt(5.0), abs=1e-5)


@pytest.mark.parametrize("k", [2, 4])
def test_the_confusion_matrix_counts_rows(k):
    report = story(k=k)
    expected = np.zeros((k, k), int)
    for x, label in zip(report.X_test, report.y_test, strict=True):
        expected[label, report.estimator.predict([x])[0]] += 1
    assert confusion_counts(Facts(report)).tolist() == expected.tolist()
    assert next(mark for mark in draw(report, "confusion").marks if isinstance(mark, Grid)).counts == expected.tolist()


def test_of_many_classes_those_with_the_most_mistakes_are_shown():
    report = story(rb.LinearMSE(), k=40, n=200, X_test=None, y_test=None)
    counts = confusion_counts(Facts(report))
    chart = draw(report, "confusion")
    shown = [int(name) for name in chart.marks[0].names]
    mistakes = [counts[c].sum() + counts[:, c].sum() - 2 * counts[c, c] for c in range(40)]
    assert sorted(mistakes)[-30:] == sorted(mistakes[c] for c in shown)
    assert chart.marks[0].counts[3][5] == counts[shown[3], shown[5]]
    assert "The 30 of 40 classes with the most errors are shown." in chart.caption


def test_unknown_labels_are_left_out_and_noted():
    X, y = rows(60)
    report = story(X_test=X[:10], y_test=np.where(np.arange(10) == 3, 7, y[:10]))
    assert confusion_counts(Facts(report)).sum() == 9
    assert "Left out: 1 row with a label unknown to the model." in draw(report, "confusion").caption


@pytest.mark.parametrize("k", [2, 3])
def test_heaviest_features_by_weight_times_spread(k):
    report = story(d=30, k=k)
    coef = report.estimator.coef_
    shares = coef if k == 2 else coef - coef.mean(axis=0)
    heights = [max(abs(w[j]) for w in shares) * report.X[:, j].std() for j in range(30)]
    order, values, _ = heaviest(Facts(report))
    assert order.tolist() == np.argsort(heights)[::-1][:15].tolist()
    assert abs(values) == pytest.approx(np.sort(heights)[::-1][:15])
    scale = draw(report, "features").marks[0]
    assert isinstance(scale, HorizontalBars)
    assert scale.names[0] == f"feature {order[0]}"


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_spreads_are_standard_deviations(shift):
    X = rows(200)[0] + shift
    assert spreads(X) == pytest.approx(X.std(axis=0), rel=1e-6)
    thin = np.where(abs(X - shift) < 1.0, 0.0, X - shift)
    assert spreads(sp.csr_array(thin)) == pytest.approx(thin.std(axis=0))


def test_names_are_looked_up_only_where_they_are_shown():
    class Names:
        calls = 0

        def __len__(self):
            return 30

        def __getitem__(self, j):
            self.calls += 1
            return f"name {j}"

    report = story(d=30, feature_names=Names())
    draw(report, "features")
    assert report.feature_names.calls == 15


@pytest.mark.parametrize("sparse", [False, True])
def test_the_side_view_has_distances_and_the_widest_direction_across(sparse):
    X, y = rows(80, d=5)
    report = story(d=5)
    report = Story("side", report.estimator, X=sp.csr_array(X) if sparse else X, y=y)
    side = project(Facts(report))
    w, b = report.estimator.coef_[0], report.estimator.intercept_[0]
    assert side.distance == pytest.approx((X @ w + b) / np.linalg.norm(w))
    assert side.direction @ w == pytest.approx(0.0, abs=1e-9 * np.linalg.norm(w))
    u = w / np.linalg.norm(w)
    rest = X - np.outer(X @ u, u)
    first = np.linalg.svd(rest - rest.mean(axis=0))[2][0]
    assert abs(side.direction @ first) == pytest.approx(1.0, abs=1e-5)
    clouds = [mark for mark in draw(report, "plane").marks if isinstance(mark, Points)]
    crosses = sum(len(mark.x) for mark in clouds if mark.cross)
    assert crosses == (report.estimator.predict(X) != y).sum()


def test_rows_that_do_not_spread_have_no_direction():
    assert not principal(np.ones((5, 3)), np.array([1.0, 0.0, 0.0])).any()


@pytest.mark.parametrize("k", [2, 4])
def test_regions_are_where_the_class_wins(k):
    report = story(d=2, k=k)
    facts = Facts(report)
    found = regions(*facts.planes, (-5.0, 5.0, -5.0, 5.0))
    for c, corners in enumerate(found):
        for corner in corners:
            inside = 0.999 * corner + 0.001 * corners.mean(axis=0)
            assert report.estimator.predict([inside])[0] == c
    areas = [_area(corners) for corners in found if len(corners)]
    assert sum(areas) == pytest.approx(100.0)


def _area(corners):
    x, y = corners[:, 0], corners[:, 1]
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2.0


def test_many_points_are_a_sample_of_every_class():
    codes = np.array([0] * 9000 + [1] * 990 + [2] * 10)
    some = stratified(codes, 1000)
    assert np.bincount(codes[some]).tolist() == [900, 99, 1]


def test_missing_data_is_named_in_the_error():
    X, y = rows(20)
    bare = Story("bare", rb.LinearMSE().fit(X, y))
    for which in FIGURES:
        if which == "features":
            continue
        with pytest.raises(ValueError, match=f"the plot '{which}' needs"):
            draw(bare, which)
    with pytest.raises(ValueError, match="which must be one of learning, passes"):
        draw(bare, "lerning")


@pytest.mark.parametrize("k", [2, 3])
def test_votes_are_drawn_by_their_average_and_judged_by_themselves(k):
    report = story(rb.Perceptron(keep="vote", random_state=0, max_iter=4), k=k)
    assert "average" in draw(report, "plane").caption
    assert "average" in draw(report, "features").caption
    right = int((report.estimator.predict(report.X_test) == report.y_test).sum())
    assert f"{right} of 20 test rows" in draw(report, "confusion").caption


def test_pairs_of_classes_have_no_planes_to_draw():
    report = story(rb.SoftMargin(multiclass="ovo"), k=4)
    assert "margins" in {which for which in FIGURES if _drawn(report, which)}
    assert not _drawn(report, "plane")
    assert "lead in votes of the pairs of classes" in draw(report, "margins").caption
    leads, codes = margins_of(Facts(report)), report.estimator.classes_.searchsorted(report.y)
    votes = np.floor(report.estimator.decision_function(report.X))
    own = votes[np.arange(len(codes)), codes].copy()
    votes[np.arange(len(codes)), codes] = -np.inf
    assert (abs(leads - (own - votes.max(axis=1))) < 1.0).all()  # whole votes, and fractions that order equal ones


def _drawn(report, which):
    try:
        return bool(draw(report, which))
    except ValueError:
        return False


def test_axes_have_round_ticks_inside():
    for low, high in ((0.0, 1.0), (-3.2, 17.0), (0.0, 1e-7), (1e6, 1e6), (0.0, 0.0), (-1e30, 1e30), (0.0, 3.0)):
        axis = nice_axis("x", low, high)
        assert 2 <= len(axis.ticks) <= 7
        assert all(
            axis.low - 1e-9 * (axis.high - axis.low) <= value <= axis.high * (1 + 1e-9) + 1e-9 for value, _ in axis.ticks
        )
        assert len({text for _, text in axis.ticks}) == len(axis.ticks)
    whole = nice_axis("n", 0.0, 3.0, whole=True)
    assert [text for _, text in whole.ticks] == ["0", "1", "2", "3"]
    assert [text for _, text in log_axis("n", 1.0, 12345.0).ticks] == ["1", "10", "100", "1,000", "10,000"]
