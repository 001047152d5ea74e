"""`rb.cluster.fit`: the solutions of one machine, kinds of data, attributes, models, and parameters that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import digest, noisy_rows

import rosenblatt as rb
from rosenblatt.cluster.blocks import BlockError
from rosenblatt.cluster.engine import InProcess

X, y = noisy_rows(700, 6)
LOSSES = ["hinge", "squared_hinge", "logistic"]


# --- the same solutions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [{}, {"penalize_intercept": True, "intercept_scaling": 3.0}, {"fit_intercept": False}])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_objective_is_within_both_gaps_of_that_of_one_machine(loss: Any, intercept: dict[str, Any], layout: Any) -> None:
    def make() -> rb.SoftMargin:
        return rb.SoftMargin(loss=loss, tol=1e-6, random_state=0, **intercept)

    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    plain = make().fit(layout(X), y, weights)
    model = rb.cluster.fit(make(), (layout(X), y, weights), block_rows=150)
    assert model.gap_[0] <= 1e-6
    assert (
        abs(model.objective_[0] - plain.objective_[0]) <= model.dual_gap_[0] + plain.dual_gap_[0] + 1e-12 * plain.objective_[0]
    )
    assert (model.predict(X) == plain.predict(X)).mean() > 0.995
    assert model.stop_.reason == plain.stop_.reason == "tolerance"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_support_vectors_prove_the_gap(loss: Any) -> None:
    model = rb.cluster.fit(rb.SoftMargin(loss=loss, random_state=0), (X, y), block_rows=150)
    rows, a = model.support_[0], model.multipliers_[0]
    signs = np.where(y[rows] == 1, 1.0, -1.0)
    w = (a * signs) @ X[rows]
    dual = a.sum() - w @ w / 2.0 - (0.0 if loss == "hinge" else (a * a).sum() / 4.0)
    assert abs(a @ signs) < 1e-9
    assert a.min() > 0.0
    assert dual == pytest.approx(model.objective_[0] - model.dual_gap_[0], rel=1e-9)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("loss", LOSSES)
def test_several_classes_are_the_problems_of_one_machine(scheme: Any, loss: Any) -> None:
    rows, labels = noisy_rows(600, 5, classes=3)
    names = np.array(["a", "b", "c"])[labels]
    make = {"loss": loss, "multiclass": scheme, "tol": 1e-6, "class_weight": "balanced", "random_state": 0}
    plain = rb.SoftMargin(**make).fit(rows, names)
    model = rb.cluster.fit(rb.SoftMargin(**make), (rows, names), block_rows=90)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (abs(model.objective_ - plain.objective_) <= 2e-6 * plain.objective_).all()
    assert (model.predict(rows) == plain.predict(rows)).mean() > 0.99


def test_blocks_decide_and_engines_do_not() -> None:
    make = {"loss": "logistic", "random_state": 0}
    one = digest(rb.cluster.fit(rb.SoftMargin(**make), (X, y), InProcess(), block_rows=100))
    assert digest(rb.cluster.fit(rb.SoftMargin(**make), (X, y), InProcess(4), block_rows=100)) == one
    assert digest(rb.cluster.fit(rb.SoftMargin(**make), (X, y), block_rows=90)) != one


# --- kinds of data ---------------------------------------------------------------------------------------------------------


def test_all_kinds_of_data_give_the_same_bits() -> None:
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    import pandas as pd
    from dask import delayed

    frame = dd.from_pandas(pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]).assign(y=y), npartitions=7)
    parts = [(X[start : start + 100], y[start : start + 100]) for start in range(0, 700, 100)]
    kinds: dict[str, tuple[Any, dict[str, int]]] = {
        "arrays": ((X, y), {"block_rows": 100}),
        "Dask arrays": ((da.from_array(X, chunks=(100, 6)), da.from_array(y, chunks=100)), {}),
        "chunks of columns": ((da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)), {}),
        "other chunks of y": ((da.from_array(X, chunks=(100, 6)), da.from_array(y, chunks=350)), {}),
        "Dask data frame": ((frame.drop(columns="y"), frame["y"]), {}),
        "delayed": ([delayed(part) for part in parts], {}),
        "a list": (parts, {}),
        "delayed and not": ([delayed(part) if number % 2 else part for number, part in enumerate(parts)], {}),
        "lists in blocks": ([(part[0].tolist(), part[1].tolist()) for part in parts], {}),
    }
    found = {
        kind: digest(rb.cluster.fit(rb.SoftMargin(loss="logistic", random_state=0), data, **options))
        for kind, (data, options) in kinds.items()
    }
    assert len(set(found.values())) == 1, found


def test_sparse_blocks_may_differ_in_width_and_float32_stays() -> None:
    narrow, wide = sp.csr_array(X[:300, :4], dtype=np.float32), sp.csr_array(X[300:], dtype=np.float32)
    model = rb.cluster.fit(rb.SoftMargin(loss="logistic", random_state=0), [(narrow, y[:300]), (wide, y[300:])])
    whole = sp.csr_array(np.concatenate([np.column_stack([X[:300, :4], np.zeros((300, 2))]), X[300:]]), dtype=np.float32)
    other = rb.cluster.fit(rb.SoftMargin(loss="logistic", random_state=0), [(whole[:300], y[:300]), (whole[300:], y[300:])])
    assert model.n_features_in_ == 6
    assert digest(model) == digest(other)


@pytest.mark.filterwarnings("ignore:.*planes are zero")  # the last class is a random part of the rows
def test_labels_may_first_occur_in_a_late_block_and_blocks_may_be_empty() -> None:
    labels = np.where(np.arange(len(y)) >= 650, 2, y)
    parts = [(X[:300], labels[:300]), (X[:0], labels[:0]), (X[300:600], labels[300:600]), (X[600:], labels[600:])]
    model = rb.cluster.fit(rb.SoftMargin(random_state=0), parts)
    without = rb.cluster.fit(rb.SoftMargin(random_state=0), [parts[0], parts[2], parts[3]])
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict(X) == without.predict(X)).mean() > 0.99


# --- models --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_models_are_saved_exported_and_explained_as_ever(loss: Any, tmp_path: Path) -> None:
    model = rb.cluster.fit(rb.SoftMargin(loss=loss, random_state=0), (X, y), block_rows=100)
    rb.save(model, tmp_path / "m.safetensors")
    loaded = rb.load(tmp_path / "m.safetensors")
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.stop_ == model.stop_
    assert "score" in str(model.explain(X, row=3))
    assert not hasattr(model, "canonical_")
    if loss == "logistic":
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


# --- what is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (rb.MaxMargin(), "MaxMargin needs all rows in one memory: use fit"),
        (rb.SoftMarginCV(), "SoftMarginCV needs all rows in one memory: use fit"),
        (rb.SoftMargin(penalty="l1", loss="logistic"), "penalty='l1' solves column by column"),
        (rb.SoftMargin(C=np.inf), "C=inf needs all rows in one memory: use a finite C"),
        (rb.SoftMargin(calibrate="sigmoid"), "calibrate='sigmoid' fits copies on folds"),
        (rb.SoftMargin(C=-1.0), "C must be greater than 0"),
    ],
)
def test_parameters_that_blocks_do_not_have_are_refused(model: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        rb.cluster.fit(model, (X, y))
    assert not hasattr(model, "classes_")


def test_a_joint_scheme_that_visits_rows_one_by_one_is_refused() -> None:
    with pytest.raises(ValueError, match="multiclass='crammer_singer' visits the rows one by one: use multiclass='ovr'"):
        rb.cluster.fit(rb.SoftMargin(multiclass="crammer_singer"), noisy_rows(60, 3, classes=3))


@pytest.mark.parametrize(
    ("data", "error", "sentence"),
    [
        (X, TypeError, "data must be a pair"),
        ([], ValueError, "there are no blocks"),
        ([(X[:0], y[:0])], ValueError, "the blocks have no rows"),
        ((X, y[:-1]), ValueError, "X has 700 rows, but y or weights have 699"),
        ((X, y, np.zeros(700)), ValueError, "every row has weight 0: there is nothing to learn from"),
        ((X, y, -np.ones(700)), BlockError, "block 1: weights must be one finite number of at least 0 for each row"),
        ((np.full(X.shape, "red"), y), BlockError, "X has values that are not numbers"),
        ((X[:, 0], y), BlockError, "block 1: X must have two dimensions"),
        ((X, np.where(np.arange(700) == 500, np.nan, 1.0 * y)), BlockError, "block 1, row 501: the label is not finite"),
        (
            (X * np.where(np.arange(700) == 9, 1e200, 1.0)[:, None], y),
            BlockError,
            "the squared length of a row exceeds the range",
        ),
        ((X, np.zeros(700)), ValueError, "y has only one class, 0.0"),
        ([(X, y), 5], TypeError, "block 2 must be a delayed pair"),
    ],
)
def test_bad_data_get_one_sentence(data: Any, error: type[Exception], sentence: str) -> None:
    model = rb.SoftMargin(random_state=0)
    with pytest.raises(error, match=sentence.replace("(", r"\(")):
        rb.cluster.fit(model, data)
    assert not hasattr(model, "classes_")


# --- what users of other packages met --------------------------------------------------------------------------------------


def test_coefficients_and_intercepts_are_those_of_scikit_learn() -> None:
    """dask-ml has wrong intercepts and coefficients (its 859 and 860), no CSR (827), and ignores multiclass (761)."""
    from sklearn.linear_model import LogisticRegression

    expected = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, y)
    for rows in (X, sp.csr_array(X)):
        model = rb.cluster.fit(rb.SoftMargin(C=1.0, loss="logistic", tol=1e-10, random_state=0), (rows, y), block_rows=100)
        assert np.allclose(model.coef_, expected.coef_, atol=1e-5)
        assert np.allclose(model.intercept_, expected.intercept_, atol=1e-5)
    rows3, labels3 = noisy_rows(500, 4, classes=3)
    shapes = {
        scheme: rb.cluster.fit(rb.SoftMargin(loss="logistic", multiclass=scheme, random_state=0), (rows3, labels3)).coef_.shape
        for scheme in ("multinomial", "ovr", "ovo")
    }
    assert shapes == {"multinomial": (3, 4), "ovr": (3, 4), "ovo": (3, 4)}
    joint = rb.cluster.fit(rb.SoftMargin(loss="logistic", tol=1e-10, random_state=0), (rows3, labels3), block_rows=100)
    assert np.allclose(joint.coef_, LogisticRegression(tol=1e-10, max_iter=1000).fit(rows3, labels3).coef_, atol=1e-5)
