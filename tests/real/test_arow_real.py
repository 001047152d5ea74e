"""AROW on real data: about as good after one pass as after ten, and in reach of what others get."""

from __future__ import annotations

import numpy as np
import pytest

import rosenblatt as rb
from datasets import libsvm, mnist


def test_one_pass_over_adult_is_nearly_all():
    (X, y), (X_test, y_test) = libsvm("a9a"), libsvm("a9a.t")
    X_test.resize(X_test.shape[0], X.shape[1])
    errors = [1 - rb.AROW(max_iter=passes, random_state=0).fit(X, y).score(X_test, y_test) for passes in (1, 10)]
    assert max(errors) < 0.152  # LIBLINEAR's 0.150
    assert abs(errors[0] - errors[1]) < 0.003


@pytest.mark.slow
@pytest.mark.parametrize(("multiclass", "most"), [("joint", 0.095), ("ovr", 0.10)])
def test_digits(multiclass, most):
    (X, y), (X_test, y_test) = mnist("train", 20_000), mnist("t10k")
    model = rb.AROW(multiclass=multiclass, max_iter=5, random_state=0).fit(X.astype(np.float32), y)
    assert 1 - model.score(X_test.astype(np.float32), y_test) < most
