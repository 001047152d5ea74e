"""Ctrl-C: a long fit ends soon and leaves the model as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import pytest

from effort import amount, in_time

LONG_FIT = textwrap.dedent(
    """
    import signal
    import sys
    import numpy as np
    import rosenblatt as rb
    from rosenblatt.progress import progress_callback

    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT from the start
    estimator, parameters, k = getattr(rb, sys.argv[1]), eval(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(0)
    n = int(sys.argv[4])
    X, y = rng.normal(size=(n, 50)), rng.integers(0, k, n)
    model = estimator(random_state=0, **parameters)
    model.set_params(max_iter=1).fit(X[:200, :40], y[:200])  # also compiles what the long fit needs
    before = model.predict(X[:200, :40])
    model.set_params(max_iter=None)

    def report(progress):  # the fit is under way: the first pass, or a part of it, is over
        if not reported:
            reported.append(progress)
            sys.stdout.write("fitting\\n")
            sys.stdout.flush()

    reported = []
    try:
        with progress_callback(report):
            model.fit(X, y)
    except KeyboardInterrupt:
        after = model.predict(X[:200, :40])
        sys.stdout.write("unharmed\\n" if (after == before).all() else "harmed\\n")
        raise
    """
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "parameters", "classes"),
    [
        ("Perceptron", {}, 2),
        pytest.param("Perceptron", {}, 4, marks=pytest.mark.thorough),
        pytest.param("Perceptron", {"multiclass": "ovr"}, 4, marks=pytest.mark.thorough),
        ("Perceptron", {"multiclass": "ovr", "n_jobs": 2}, 4),
        pytest.param("Perceptron", {"update": "batch", "n_jobs": 2}, 2, marks=pytest.mark.thorough),
        pytest.param("Perceptron", {"update": "batch", "multiclass": "ovr"}, 3, marks=pytest.mark.thorough),
        pytest.param("Perceptron", {"order": "mistakes"}, 2, marks=pytest.mark.thorough),
        pytest.param("Perceptron", {"keep": "pocket", "max_updates": 500_000}, 2, marks=pytest.mark.thorough),
        pytest.param("PassiveAggressive", {"keep": "average", "log": False}, 2, marks=pytest.mark.thorough),
    ],
)
def test_ctrl_c_ends_a_long_fit_within_a_second_and_breaks_nothing(estimator: str, parameters: Any, classes: int) -> None:
    command = [sys.executable, "-c", LONG_FIT, estimator, repr(parameters), str(classes), str(amount(60_000, 300_000))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "fitting\n"
            assert process.poll() is None
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline()
            waited = time.monotonic() - sent
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert answer + out == "unharmed\n", errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert in_time(waited, 2.0)  # half a second where nothing else runs
