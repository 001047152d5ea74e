"""A training request: the file, the algorithm with its parameters, and how the model is tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..array_types import Array
from ..catalog import ALGORITHMS, Algorithm
from ..data.readers import Options
from ..data.readers.sources import name_of
from ..preprocessing.scaling import Scale
from ..preprocessing.text_kinds import AUTO as AUTO_TEXT
from ..preprocessing.text_kinds import parse_text_features
from ..reporting.text import short

if TYPE_CHECKING:
    from ..estimators.base import LinearClassifier

# Share of each class that is held out when the request names no test.
DEFAULT_HOLDOUT = 0.2
# Folds by which a tuned model is tested when the request names no test.
DEFAULT_TUNED_FOLDS = 5
# The algorithm name that stands for a choice by the data, see `choose`, and what is chosen.
AUTO, SEARCHED, SINGLE_PASS = "auto", "logistic", "average"
PARAMETERS_OF_MANY_ROWS: Mapping[str, Any] = MappingProxyType({"margin": "auto"})  # of `SINGLE_PASS`, if the rows are in memory
# What is chosen if the loss is searched, or is another one than the logistic.
TUNED = "soft-margin"
# What is chosen for text; docs/defaults.md has the measurements.
OF_TEXT = "soft-margin"
PARAMETERS_OF_TEXT: Mapping[str, Any] = MappingProxyType(
    {"loss": "squared_hinge", "penalize_intercept": True, "tol": 0.01, "solver": "dual-coordinates"}
)
# Parameters that the command line has no option for, or that the algorithm's name fixes.
UNLISTED_PARAMETERS = frozenset({"keep", "update", "warm_start", "log", "verbose", "random_state", "certify"})


@dataclass(frozen=True)
class Request:
    """What to train and how to test it.

    Parameters
    ----------
    data : str or tuple of str
        Path of the training file, ``"-"`` for standard input, or ``"example:NAME"``; or paths of several files, which are read
        as one.
    options : Options
        How files are read.
    algorithm : str, default="average"
        Name of an algorithm in the catalog, or "auto".
    parameters : mapping of str to object
        Parameters of the estimator that differ from the algorithm's defaults.
    degree : int, default=1
        Degree of the polynomial features.
    scale : {"auto", "none", "max", "standard"}, default="auto"
        How numeric columns are scaled.
    text_features : str, default="auto"
        The features of columns of text, such as "words-2": see `preprocessing/text_kinds.py`.
    test : str, optional
        Path of a test file.
    holdout : float, optional
        Share of each class to hold out; 0 holds out nothing. The default is 0.2, unless `test` or `cv` is given or the file
        has too few rows for a test.
    cv : int, optional
        Number of folds of a cross-validation.
    seed : int, default=0
        Seed of the hold-out, of the folds and of the estimator.
    certify : bool, optional
        Whether to prove that the training rows are separable or not. By default, if the proof is quick.
    tune : bool, default=False
        Whether loss, parameters, scaling and degree are chosen by cross-validation on the training rows.
    budget : float, optional
        Seconds for the search.
    threshold : str, optional
        What the threshold of two classes is chosen for, see `Goal.parse`.
    positive : str, optional
        The class that the threshold is about; by default the one with fewer training rows.

    Raises
    ------
    ValueError
        If two kinds of test are given, if the share is out of range, if the algorithm is unknown, or if it lacks one of the
        parameters.

    Examples
    --------
    >>> request = Request("example:iris", algorithm="pocket", parameters={"step": 0.5})
    >>> request.holdout_share, request.make().keep
    (0.2, 'pocket')
    """

    data: str | tuple[str, ...]
    options: Options = field(default_factory=Options)
    algorithm: str = "average"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    degree: int = 1
    scale: Scale = "auto"
    text_features: str = AUTO_TEXT
    test: str | None = None
    holdout: float | None = None
    cv: int | None = None
    seed: int = 0
    certify: bool | None = None
    tune: bool = False
    budget: float | None = None
    threshold: str | None = None
    positive: str | None = None

    def __post_init__(self) -> None:
        tests = [name for name in ("test", "holdout", "cv") if getattr(self, name) is not None]
        if len(tests) > 1:
            raise ValueError(f"--{tests[0]} and --{tests[1]} exclude each other: give one of them")
        if self.holdout is not None and not 0.0 <= self.holdout < 1.0:
            share = short(self.holdout, 6)
            raise ValueError(f"--holdout must be at least 0 and less than 1, got {share} (0: no row is held out)")
        if self.data == "-" and self.test == "-":
            raise ValueError("DATA and --test cannot both be standard input")
        if self.budget is not None and not self.tune:
            raise ValueError("--budget limits the time of --tune: add --tune")
        if self.budget is not None and not 0.0 < self.budget < float("inf"):
            raise ValueError(f"--budget must be more than 0 seconds, got {short(self.budget, 6)}")
        parse_text_features(self.text_features)
        if self.positive is not None and self.threshold is None:
            raise ValueError("--positive names the class of --threshold: add --threshold")
        if self.algorithm == AUTO:
            object.__setattr__(self, "algorithm", self._automatic())
        if self.algorithm not in (*ALGORITHMS, AUTO):
            raise ValueError(f"unknown algorithm {self.algorithm!r}; the algorithms are {', '.join(ALGORITHMS)}")
        entry = ALGORITHMS[SEARCHED if self.algorithm == AUTO else self.algorithm]
        accepted = entry.options
        for name in self.parameters:
            if name not in accepted:
                listed = ", ".join(option_of(each) for each in accepted if each not in UNLISTED_PARAMETERS)
                raise ValueError(f"{option_of(name)} is not a parameter of {self.algorithm}, which has {listed}")
            fixed, value = entry.parameters.get(name), self.parameters[name]
            if self.algorithm != AUTO and isinstance(fixed, str) and value != fixed:
                option = option_of(name)
                raise ValueError(f"{self.algorithm} has {option} {fixed}, not {value}: leave out {option}, or --algorithm")

    def with_classes(self, classes: Callable[[], Array]) -> Request:
        """Return the request with the weights of classes under the labels that a file has, which may be numbers, not text."""
        given = self.parameters.get("class_weight")
        if not isinstance(given, dict):
            return self
        labels = {str(label): label for label in classes().tolist()}
        weights = {labels.get(name, name): weight for name, weight in given.items()}
        return replace(self, parameters={**self.parameters, "class_weight": weights})

    def _automatic(self) -> str:
        """The algorithm that has the given parameters: "auto" if the data may decide."""
        given = set(self.parameters)
        if given <= set(ALGORITHMS[SEARCHED].options):
            return self.searched if "C" in given and not self.tune else AUTO
        return SINGLE_PASS

    @property
    def files(self) -> tuple[str, ...]:
        """The training files."""
        return (self.data,) if isinstance(self.data, str) else self.data

    @property
    def name(self) -> str:
        """The training file, or the first of several and their number."""
        return self.data if isinstance(self.data, str) else name_of(self.data)

    @property
    def searched(self) -> str:
        """The algorithm of plain training whose C is searched: logistic regression, unless another loss is given."""
        return SEARCHED if self.parameters.get("loss", "logistic") == "logistic" else TUNED

    @property
    def choice(self) -> Algorithm:
        """The catalog entry of the algorithm."""
        return ALGORITHMS[self.algorithm]

    @property
    def holdout_share(self) -> float | None:
        """The share of each class to hold out, or None if no row is held out."""
        if self.test is not None or self.n_folds is not None:
            return None
        return (DEFAULT_HOLDOUT if self.holdout is None else self.holdout) or None

    @property
    def n_folds(self) -> int | None:
        """The number of folds to test by, or None."""
        if self.cv is None and self.tune and self.test is None and self.holdout is None:
            return DEFAULT_TUNED_FOLDS
        return self.cv

    def make(self, algorithm: str | None = None) -> LinearClassifier:
        """Make the estimator with the request's seed and parameters.

        For another algorithm, parameters that it lacks are left out.
        """
        choice = ALGORITHMS[algorithm or self.algorithm]
        seed = {"random_state": self.seed} if "random_state" in choice.options else {}
        given = {name: value for name, value in self.parameters.items() if name in choice.options}
        return choice.make(**(seed | given))


def option_of(parameter: str) -> str:
    """Return the command-line option of a parameter."""
    return f"--{parameter.replace('_', '-')}"
