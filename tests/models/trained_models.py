"""Small trained models of every algorithm, and what must be the same after loading."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS

LABELS = np.array(["d", "a", "c", "b"])
KEPT = ("n_iter_", "n_updates_", "stop_", "n_features_in_", "mse_", "rank_", "solver_", "loss_", "gradient_norm_")
ARRAYS = ("classes_", "coef_", "intercept_", "saturated_", "variances_", "feature_names_in_")
LISTS = ("support_", "multipliers_", "margin_", "gap_", "dual_gap_", "objective_", "pocket_errors_")


def rows(k: int, dtype: Any = np.float64, n: int = 48) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    X[np.arange(n), np.arange(n) % k] += 4.0
    return X.astype(dtype), LABELS[np.arange(n) % k]


def trained(name: str, k: int = 2, pack: Any = np.asarray, dtype: Any = np.float64, **parameters: Any) -> Any:
    X, y = rows(k, dtype)
    algorithm = ALGORITHMS[name]
    own: dict[str, Any] = {"inseparable": "soft"} if name == "max-margin" else {}
    if algorithm.logged:
        own["max_iter"] = 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return algorithm.make(**own, **parameters).fit(pack(X), y)


def assert_same(one: Any, other: Any, X: Any) -> None:
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    for rows_ in (X, sp.csr_array(X)):
        assert np.array_equal(one.decision_function(rows_), other.decision_function(rows_))
        assert np.array_equal(one.predict(rows_), other.predict(rows_))
        assert one.predict(rows_).dtype == other.predict(rows_).dtype
    assert {name for name in vars(one) if name.endswith("_")} - set(vars(other)) <= {
        "canonical_", "proof_", *one._left_out_of_files,
    }  # fmt: skip
    for name in KEPT:
        assert getattr(one, name, None) == getattr(other, name, None), name
    for name in {*ARRAYS, *LISTS} - {*one._left_out_of_files}:
        assert hasattr(one, name) == hasattr(other, name), name
        mine, theirs = getattr(one, name, 0), getattr(other, name, 0)
        pairs = zip(mine, theirs, strict=True) if name in LISTS and isinstance(mine, list) else [(mine, theirs)]
        for a, b in pairs:
            assert np.array_equal(a, b), name
            assert np.asarray(a).dtype == np.asarray(b).dtype, name


def there_and_back(model: Any, path: Any, **options: Any) -> Any:
    rb.save(model, path, **options)
    return rb.load(path)
