"""The code that comes with a run makes the same run."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from test_runs import request

from rosenblatt.catalog import ALGORITHMS
from rosenblatt.studio.fitting import fit_request
from rosenblatt.studio.recording import run
from rosenblatt.studio.run_request import parse_request

TURNED: dict[str, dict[str, Any]] = {
    "perceptron": {"schedule": "1/k", "step": 0.3, "order": "random", "w_max": 50.0, "margin": 0.1},
    "pocket": {"schedule": "1/sqrt(k)", "fit_intercept": False, "max_iter": 7},
    "average": {"init": "sum", "order": "permuted"},
    "vote": {"init": "given", "start": [0.5, -1.0, 1e-3, *[0.25] * 7], "vote_count": "survivals"},
    "margin": {"init": "given", "start": [0.5, -1.0, 1e-3, *[0.25] * 7], "fit_intercept": False},
    "batch": {"tol": 0.5},
    "nonlinear-mse-online": {"step": 0.05, "schedule": "1/k"},
    "soft-margin": {"C": 3.0, "penalize_intercept": True, "loss": "squared_hinge"},
    "ridge": {"alpha": 2.5},
    "arow": {"r": 0.3, "order": "permuted", "max_iter": 3},
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_code_makes_the_same_run(algorithm: str) -> None:
    for preset, degree, knobs in (("nearly", 3, TURNED.get(algorithm, {})), ("three", 1, {}), ("moons", 2, {})):
        sent = request(algorithm, preset, degree, **knobs)
        result, model = run(sent), fit_request(parse_request(sent)).model
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()) as output, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            exec(result["code"], names)
        made = names["model"]
        assert type(made) is type(model)
        assert str(model.stop_) in output.getvalue()
        if result["log"] is not None:
            for name in ("rows", "steps", "times", "others", "edges"):
                np.testing.assert_array_equal(getattr(made.log_._record, name), getattr(model.log_._record, name))
            made, model = made.reading("last"), model.reading("last")
        np.testing.assert_array_equal(made.coef_, model.coef_)
        np.testing.assert_array_equal(made.intercept_, model.intercept_)


def test_the_code_has_only_parameters_that_differ_from_defaults() -> None:
    code = run(request("perceptron", "lecture", max_updates=1000))["code"]
    assert 'rb.Perceptron(order="cyclic", max_iter=None, max_updates=1000, random_state=3).fit(X, y)' in code
    assert "x1" not in code
    assert "[2.0, 1.0], [3.0, 0.0], [2.0, 2.0], [-2.0, 0.0]" in code
