"""Ctrl-C: a long fit ends soon and leaves the model as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import pytest

LONG_FIT = textwrap.dedent(
    """
    import signal
    import sys
    import numpy as np
    import rosenblatt as rb

    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are born deaf to it
    estimator, parameters, k = getattr(rb, sys.argv[1]), eval(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300_000, 50)), rng.integers(0, k, 300_000)
    model = estimator(random_state=0, **parameters)
    model.set_params(max_iter=1).fit(X[:200, :40], y[:200])  # also compiles what the long fit needs
    before = model.predict(X[:200, :40])
    model.set_params(max_iter=None)
    sys.stdout.write("fitting\\n")
    sys.stdout.flush()
    try:
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
        ("Perceptron", {}, 4),
        ("Perceptron", {"multiclass": "ovr"}, 4),
        ("Perceptron", {"multiclass": "ovr", "n_jobs": 2}, 4),
        ("Perceptron", {"update": "batch", "n_jobs": 2}, 2),
        ("Perceptron", {"update": "batch", "multiclass": "ovr"}, 3),
        ("Perceptron", {"order": "mistakes"}, 2),
        ("Perceptron", {"keep": "pocket", "max_updates": 500_000}, 2),
        ("PassiveAggressive", {"keep": "average", "log": False}, 2),
    ],
)
def test_ctrl_c_ends_a_long_fit_within_a_second_and_breaks_nothing(estimator: str, parameters: Any, classes: int) -> None:
    command = [sys.executable, "-c", LONG_FIT, estimator, repr(parameters), str(classes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "fitting\n"
            time.sleep(1.5)
            assert process.poll() is None
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline()
            waited = time.monotonic() - sent
            out, errors = process.communicate(timeout=10)
        finally:
            process.kill()
    assert answer + out == "unharmed\n", errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert waited < 2.0  # half a second where nothing else runs
