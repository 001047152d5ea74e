"""A fitted model in a notebook: the very run that it made, or what it is without."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from notebooks import X, Y, ending

import rosenblatt as rb
import rosenblatt.studio
from rosenblatt.studio.arrays import unpack
from rosenblatt.studio.notebook import check_rows
from rosenblatt.studio.recording import run
from rosenblatt.studio.run_request import RequestError

# --- model.show --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["last", "pocket", "average", "vote"])
def test_a_model_shows_the_very_run_that_it_made(shown: Any, keep: str) -> None:
    model = rb.Perceptron(keep=keep, max_iter=3, margin=0.5, step=0.5, random_state=7, init="sum", intercept_scaling=0.5).fit(
        X, Y
    )
    page = shown(model.show())
    (first,) = page["recordings"]
    assert page["note"].startswith("This run has intercept_scaling=0.5; changing a knob")
    assert (page["state"]["t"], page["state"]["seed"]) == ("end", 7)
    assert page["state"]["runs"][0]["algorithm"] == {"last": "perceptron"}.get(keep, keep)
    assert page["state"]["runs"][0]["knobs"].items() >= {"max_iter": 3, "margin": 0.5, "step": 0.5, "init": "sum"}.items()
    assert first["request"]["knobs"].items() >= page["state"]["runs"][0]["knobs"].items()
    assert first["run"]["updates"] == model.n_updates_
    last = model.reading("last")
    assert ending(first)[0, 1:] == pytest.approx(last.coef_[0])
    assert 0.5 * ending(first)[0, 0] == pytest.approx(last.intercept_[0])
    assert shown(model.show(X, Y))["recordings"][0]["run"]["log"] == first["run"]["log"]
    assert len(unpack(first["proof"]["convergence"]["norms"])) == model.n_updates_ + 1


def test_the_text_of_a_shown_run_makes_it_again(shown: Any) -> None:
    given = {"max_iter": 3, "init": np.array([0.5, 1.0, -2.0]), "random_state": 5, "intercept_scaling": 0.5}
    model = rb.Perceptron(keep="average", **given).fit(X, Y)
    names: dict[str, Any] = {"print": lambda *_: None}
    exec(shown(model.show())["recordings"][0]["run"]["code"], names)
    assert names["model"].coef_.tolist() == model.coef_.tolist()
    assert names["model"].keep == "average"
    stepped = rb.Perceptron(step=lambda k: 1.0 / k, max_iter=2, random_state=0).fit(X, Y)
    assert shown(stepped.show())["recordings"][0]["run"]["code"] == ""


def made_by(code: str) -> Any:
    names: dict[str, Any] = {"print": lambda *_: None}
    exec(code, names)
    return names["model"]


WEIGHTS = np.random.default_rng(5).uniform(0.2, 3.0, 40)
BY_CLASS = {"<b>": 1.0, "a": 4.0}


@pytest.mark.parametrize("keep", ["last", "pocket"])
@pytest.mark.parametrize("by_class", [None, "balanced", BY_CLASS])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_text_of_a_weighted_run_carries_its_weights(shown: Any, keep: str, by_class: Any, weights: Any) -> None:
    mixed = np.where(np.arange(40) % 5 == 0, "a", Y)
    model = rb.Perceptron(keep=keep, class_weight=by_class, max_iter=3, random_state=5).fit(X, mixed, sample_weight=weights)
    page = shown(model.show())
    assert made_by(page["recordings"][0]["run"]["code"]).coef_.tolist() == model.coef_.tolist()
    assert (page["note"] is not None) == (by_class is not None or weights is not None)
    assert page["note"] is None or "sample weights" in page["note"]


def test_text_of_a_run_that_was_drawn_is_marked(shown: Any) -> None:
    page = shown(rb.Perceptron(max_iter=3).fit(X, Y).show())
    assert "# random_state is None" in page["recordings"][0]["run"]["code"]
    model = rb.Perceptron(max_iter=3, order="cyclic").fit(X, Y)
    code = shown(model.show())["recordings"][0]["run"]["code"]
    assert "random_state" not in code
    assert made_by(code).coef_.tolist() == model.coef_.tolist()


@pytest.mark.parametrize(
    "model",
    [rb.SoftMargin(), rb.LinearMSE(), rb.NonlinearMSE(), rb.AROW(random_state=0), rb.Perceptron(log=False, random_state=0)],
)
def test_a_model_that_cannot_be_made_again_has_no_text(shown: Any, model: Any) -> None:
    page = shown(model.fit(X, Y, sample_weight=WEIGHTS).show(X, Y))
    result = page["recordings"][0]["run"]
    assert (result["code"], result["updates"]) == ("", 0)
    assert "a fit on these points gives other weights" in page["note"]
    assert unpack(result["frames"]["weights"])[-3:] == pytest.approx([model.intercept_[0], *model.coef_[0]])


def test_a_run_that_went_on_from_another_has_no_text(shown: Any) -> None:
    model = rb.Perceptron(warm_start=True, max_iter=1, order="cyclic").fit(3.0 * X, Y).fit(X, Y[::-1])
    result = shown(model.show())["recordings"][0]["run"]
    assert result["code"] == ""
    assert np.any(unpack(result["start"]))


@pytest.mark.parametrize("keep", ["last", "average"])
def test_a_model_that_came_in_chunks_shows_its_plane(shown: Any, keep: str) -> None:
    model = rb.Perceptron(keep=keep).partial_fit(X[:20:2], Y[:20:2], classes=["<b>", "a"]).partial_fit(X, Y)
    page = shown(model.show(X, Y))
    result = page["recordings"][0]["run"]
    assert unpack(result["frames"]["weights"]) == pytest.approx([model.intercept_[0], *model.coef_[0]])
    assert (result["updates"], result["code"]) == (0, "")


def test_a_vote_without_its_run_is_marked(shown: Any) -> None:
    for vote in (
        rb.Perceptron(keep="vote").partial_fit(X, Y, classes=["<b>", "a"]),
        rb.Perceptron(keep="vote", log=False).fit(X, Y),
    ):
        with pytest.raises(RequestError, match="this model has none; fit it with log=True"):
            vote.show(X, Y)


def test_classes_that_are_numbers_go_by_their_places(shown: Any) -> None:
    labels = np.arange(40) % 3 + 3
    model = rb.Perceptron(max_iter=2, random_state=0).fit(X, labels)
    (first,) = shown(model.show())["recordings"]
    assert first["run"]["classes"] == [0, 1, 2]
    assert first["request"]["labels"] == (labels - 3).tolist()
    assert ending(first)[:, 1:] == pytest.approx(model.coef_)


@pytest.mark.parametrize("model", [rb.SoftMargin(C=3.0), rb.LinearMSE(), rb.MaxMargin(inseparable="soft"), rb.NonlinearMSE()])
def test_a_model_that_was_solved_shows_where_it_ended(shown: Any, model: Any) -> None:
    model.fit(X, Y)
    with pytest.raises(ValueError, match=r"has not kept its training data.*show\(X, y\)"):
        model.show()
    (first,) = shown(model.show(X, Y))["recordings"]
    weights = unpack(first["run"]["frames"]["weights"]).reshape(-1, 3)
    assert weights[-1] == pytest.approx([model.intercept_[0], *model.coef_[0]])


WAYS = {
    "soft": (rb.SoftMargin(C=3.0), "C = 3"),
    "soft, weighted classes": (rb.SoftMargin(class_weight=BY_CLASS), "C = 1"),
    "widest": (rb.MaxMargin(inseparable="soft"), "not separable: points may cross"),
    "linear": (rb.LinearMSE(alpha=0.5), "alpha = 0.5"),
    "nonlinear": (rb.NonlinearMSE(), "step"),
    "arow": (rb.AROW(random_state=3, max_iter=4), "pass 4"),
    "arow, cyclic": (rb.AROW(order="cyclic", max_iter=2), "pass 2, point 40"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_was_solved_shows_the_way_there(shown: Any, way: str) -> None:
    model, end = WAYS[way]
    mixed = np.where(np.arange(40) % 5 == 0, "a", Y)
    model.fit(X, mixed)
    result = shown(model.show(X, mixed))["recordings"][0]["run"]
    assert result["updates"] > 2
    assert result["frames"]["titles"][-1].startswith(end)
    weights = unpack(result["frames"]["weights"]).reshape(-1, 3)
    assert weights[-1] == pytest.approx([model.intercept_[0], *model.coef_[0]])
    assert np.ptp(weights, axis=0).all()
    assert made_by(result["code"]).coef_ == pytest.approx(model.coef_)


def test_one_that_draws_its_rows_shows_where_it_ended(shown: Any) -> None:
    page = shown(rb.AROW(max_iter=2).fit(X, Y).show(X, Y))
    assert page["recordings"][0]["run"]["updates"] == 0
    assert "random_state=None" in page["note"]


def test_a_model_of_many_columns_runs_again_on_two_with_a_note(shown: Any) -> None:
    wide = np.column_stack([X, X @ [1.0, 2.0], np.arange(40.0)])
    model = rb.Perceptron(max_iter=5, random_state=0).fit(wide, Y)
    page = shown(model.show())
    assert page["note"].startswith("Shown here: the first two principal components of 4 columns")
    own = {"errors": int((model.predict(wide) != Y).sum()), "rows": 40, "columns": 4}
    words = f"This is a new run on these points. Your model misclassifies {own['errors']} of 40 rows with all 4 columns."
    assert page["note"].endswith(words)
    assert page["recordings"][0]["run"]["own"] == own
    page = shown(model.show(columns=(3, -4)))
    assert page["state"]["data"]["points"] == wide[:, [3, 0]].tolist()
    assert "the columns 3 and 0 of 4" in page["note"]
    assert page["recordings"][0]["request"]["points"] == wide[:, [3, 0]].tolist()


def test_what_the_page_has_no_knobs_for_is_left_out(shown: Any) -> None:
    model = rb.Perceptron(step=1e7, class_weight="balanced", max_iter=2, random_state=np.random.RandomState(1)).fit(X, Y)
    page = shown(model.show())
    assert page["state"]["runs"][0]["knobs"].keys() & {"step", "class_weight"} == set()
    assert page["state"]["seed"] == 0
    assert ending(page["recordings"][0])[0, 1:] == pytest.approx(model.coef_[0])


def test_runs_too_long_or_sparse_to_be_played_are_made_again(shown: Any) -> None:
    mixed = np.arange(40) % 2
    long = rb.Perceptron(max_iter=1000, random_state=0).fit(X, mixed)
    assert long.n_updates_ > 10_000
    page = shown(long.show())
    assert page["recordings"][0]["run"]["updates"] == 10_000
    assert page["note"] == (
        "This is a new run on these points. It stops after 10,000 updates; the model made "
        f"{long.n_updates_:,}, so its result may be better. Your model misclassifies "
        f"{(long.predict(X) != mixed).sum()} of 40 rows."
    )
    rows = sp.csr_array(X)
    page = shown(rb.Perceptron(random_state=0).fit(rows, Y).show())
    assert page["note"] == "This is a new run on these points. Your model misclassifies 1 of 40 rows."


def test_a_new_run_names_what_it_lacks(shown: Any) -> None:
    rows, given = sp.csr_array(X), {"max_iter": 2, "random_state": 0}
    model = rb.Perceptron(class_weight="balanced", step=1e7, max_updates=50_000, margin=0.5, **given).fit(rows, Y)
    page = shown(model.show())
    assert page["note"].startswith(
        "This is a new run on these points, without class_weight='balanced', step=10000000.0. Your model"
    )
    knobs = page["recordings"][0]["request"]["knobs"]
    assert (knobs["max_updates"], knobs["max_iter"], knobs["margin"]) == (10_000, 2, 0.5)
    note = shown(rb.Perceptron(step=lambda k: 1.0 / k, init=np.ones(3), **given).fit(rows, Y).show())["note"]
    assert ", without step=a function." in note
    note = shown(rb.Perceptron(**given).fit(rows, Y, sample_weight=WEIGHTS).show())["note"]
    assert ", without the sample weights." in note


def test_a_model_that_came_from_a_pickle_needs_its_rows(shown: Any) -> None:
    model = pickle.loads(pickle.dumps(rb.Perceptron(max_iter=2, random_state=0).fit(X, Y)))
    with pytest.raises(ValueError, match="has not kept its training data"):
        model.show()
    (first,) = shown(model.show(X, Y))["recordings"]
    assert ending(first)[0, 1:] == pytest.approx(model.coef_[0])


def test_a_model_shows_only_what_it_was_fitted_on(shown: Any) -> None:
    model = rb.Perceptron(max_iter=2, random_state=0).fit(X, Y)
    for rows, labels in ((X[:-1], Y[:-1]), (np.column_stack([X, X]), Y), (X, np.arange(40) % 3)):
        with pytest.raises(ValueError, match="fitted on"):
            model.show(rows, labels)
    for rows, labels in ((X[::-1], Y), (X, Y[::-1]), (X, np.where(Y == "a", "b", Y)), (X + 1e-9, Y)):
        for each in (model, pickle.loads(pickle.dumps(model)), rb.Perceptron(random_state=0).fit(sp.csr_array(X), Y)):
            with pytest.raises(ValueError, match="X and y must be the data that this"):
                each.show(rows, labels)
    with pytest.raises(ValueError, match="pass both X and y"):
        model.show(X)
    with pytest.raises(ValueError, match="not fitted"):
        rb.Perceptron().show(X, Y)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "crammer_singer"])
def test_a_margin_model_shows_only_the_data_of_its_fit(k: int, multiclass: str) -> None:
    labels = np.arange(40) % k
    places = X + 8.0 * np.column_stack([labels == 1, labels == 2])
    models: list[Any] = [
        rb.SoftMargin(multiclass=multiclass, **each) for each in ({}, {"penalize_intercept": True}, {"fit_intercept": False})
    ]
    models = (
        models[:1] if multiclass == "crammer_singer" else [*models, rb.MaxMargin(multiclass=multiclass, inseparable="soft")]
    )
    for model in models:
        model.fit(places, labels)
        for rows, named in ((places[::-1], labels), (places, np.roll(labels, 1)), (places[:-k], labels[:-k])):
            with pytest.raises(ValueError, match="X and y must be the data that this"):
                model.show(rows, named)
        check_rows(model, None, places, labels)
        model.fit(places.astype(np.float32), labels, *([WEIGHTS] if isinstance(model, rb.SoftMargin) else []))
        check_rows(model, None, places, labels)


@pytest.mark.filterwarnings("ignore:the rows were not separated")
def test_parameters_without_a_knob_are_reported(shown: Any) -> None:
    model = rb.Perceptron(order="cyclic", margin=500.0, step=lambda k: 1 / k, intercept_scaling=0.5, max_updates=40).fit(X, Y)
    note = shown(model.show())["note"]
    assert "intercept_scaling=0.5, margin=500.0, step=a function;" in note
    assert "changing a knob" in note
    plain = rb.Perceptron(order="cyclic", margin=0.5, max_updates=40).fit(X, Y)
    assert shown(plain.show())["note"] is None


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_start_that_was_given_is_a_knob(shown: Any, fit_intercept: bool) -> None:
    start = np.array([0.25, -1.0, 2.0])[0 if fit_intercept else 1 :]
    model = rb.Perceptron(order="cyclic", init=start, fit_intercept=fit_intercept, max_updates=40).fit(X, Y)
    page = shown(model.show())
    knobs = page["state"]["runs"][0]["knobs"]
    assert knobs["init"] == "given"
    assert knobs["start"] == [0.25 if fit_intercept else 0.0, -1.0, 2.0]
    assert page["note"] is None
    answer = run(page["recordings"][0]["request"])
    assert answer["log"] == page["recordings"][0]["run"]["log"]


def test_a_long_batch_run_is_played_as_it_was(shown: Any) -> None:
    model = rb.Perceptron(order="cyclic", update="batch", step=1e-3, margin=10.0, max_updates=900, max_iter=2000).fit(X, Y)
    assert len(model.log_) > 10_000
    page = shown(model.show())
    assert (page["note"], page["recordings"][0]["run"]["updates"]) == (None, model.n_updates_)


def test_models_of_frames_are_shown_without_a_warning(shown: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["wide", "tall"])
    model = rb.Perceptron(order="cyclic", max_updates=40).fit(frame, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = shown(model.show(frame, Y))
    assert page["state"]["data"]["axes"] == ["wide", "tall"]


def test_numbers_of_numpy_are_numbers(shown: Any) -> None:
    knobs = {"max_updates": np.int64(50), "margin": np.float32(0.5), "init": "given", "start": np.zeros(3)}
    page = shown(rb.studio(X, Y, seed=np.int64(5), degree=np.int64(1), **knobs))
    plain = {"max_updates": 50, "margin": 0.5, "init": "given", "start": [0.0, 0.0, 0.0]}
    assert page["state"]["runs"] == [{"algorithm": "perceptron", "knobs": plain}]
    assert (page["state"]["seed"], page["state"]["degree"]) == (5, 1)
