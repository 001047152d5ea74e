"""Valid rows, the estimators they are given to, and the messages of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb

ESTIMATORS = [rb.Perceptron, rb.PassiveAggressive]
both = pytest.mark.parametrize("estimator", ESTIMATORS)
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def good(classes: int = 2, n: int = 30) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), np.arange(n) % classes


def refusal(call: Callable[[], Any]) -> str:
    """The words of a ValueError, or none where there was no error."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""
