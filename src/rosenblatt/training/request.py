"""What a person asks for: which file, which algorithm with which parameters, and how it is tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..catalog import ALGORITHMS, Algorithm
from ..data.options import Options

if TYPE_CHECKING:
    from ..estimators.base import LinearClassifier

# Of each class, where nothing is said about testing.
HOLDOUT = 0.2


@dataclass(frozen=True)
class Request:
    data: str
    options: Options = field(default_factory=Options)
    algorithm: str = "average"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    degree: int = 1
    scale: str = "auto"
    test: str | None = None
    holdout: float | None = None
    cv: int | None = None
    seed: int = 0
    certify: bool | None = None  # None: where it is quickly done

    def __post_init__(self) -> None:
        given = [name for name in ("test", "holdout", "cv") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"--{given[0]} and --{given[1]} are two ways to test: give one")
        if self.data == "-" and self.test == "-":
            raise ValueError("DATA and --test cannot both be standard input")
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"no algorithm is called {self.algorithm!r}; there are {', '.join(ALGORITHMS)}")
        own = self.choice.options
        for name in self.parameters:
            if name not in own:
                wanted = f"--{name.replace('_', '-')}"
                raise ValueError(f"{wanted} is not a parameter of {self.algorithm}, which has {_listed(own)}")

    @property
    def choice(self) -> Algorithm:
        return ALGORITHMS[self.algorithm]

    @property
    def share(self) -> float | None:
        """Of the rows to hold out; 0 on the command line is to hold out none."""
        if self.test is not None or self.cv is not None:
            return None
        return (HOLDOUT if self.holdout is None else self.holdout) or None

    def make(self, algorithm: str | None = None) -> LinearClassifier:
        """The estimator, with the request's parameters and seed; of another algorithm, those that it has."""
        choice = ALGORITHMS[algorithm or self.algorithm]
        seed = {"random_state": self.seed} if "random_state" in choice.options else {}
        given = {name: value for name, value in self.parameters.items() if name in choice.options}
        return choice.make(**(seed | given))


def _listed(own: Mapping[str, Any]) -> str:
    hidden = {"keep", "update", "warm_start", "log", "verbose", "random_state", "certify"}
    return ", ".join(f"--{name.replace('_', '-')}" for name in own if name not in hidden)
