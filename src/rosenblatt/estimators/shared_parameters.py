"""Parameters that several estimators share: threads, messages and seeds."""

from __future__ import annotations

from numbers import Integral
from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from ..validation import ParameterError, ParameterTypeError

RandomState: TypeAlias = int | np.random.RandomState | None


def check_n_jobs_and_verbose(n_jobs: object, verbose: object) -> None:
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ParameterError("n_jobs", "a whole number other than 0", n_jobs, optional=True)
    if not isinstance(verbose, Integral | np.bool_):
        raise ParameterTypeError("verbose", "True, False or a whole number", verbose)


def seed_of(random_state: RandomState) -> int:
    """Return a seed. A whole number is its own seed: making scikit-learn's generator from it takes half a millisecond."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and 0 <= random_state < 2**32:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        allowed = "None, a whole number from 0 to 2**32 - 1 or a RandomState"
        raise ParameterError("random_state", allowed, random_state) from None
