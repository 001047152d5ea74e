"""The parameters with which a recipe is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..data.readers import MISSING_CHOICES, Missing
from ..validation import check_choice
from .scaling import SCALES, Scale
from .text_kinds import AUTO as AUTO_TEXT
from .text_kinds import TextKind, parse_text_features


@dataclass(frozen=True)
class Choices:
    """The parameters of `Recipe.learn`, which describes them."""

    degree: int = 1
    scale: Scale = "auto"
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    first: int | None = None
    missing: Missing = "auto"
    missing_indicator: bool = False
    drop_constant: bool = False
    text_features: str = AUTO_TEXT
    in_memory: bool = True

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, SCALES)
        check_choice("missing", self.missing, MISSING_CHOICES)
        parse_text_features(self.text_features)

    @property
    def text_kinds(self) -> tuple[TextKind, ...]:
        """The kinds of features of text columns."""
        return parse_text_features(self.text_features)

    @property
    def fill(self) -> Literal["mean", "median"]:
        """What replaces missing numbers. Files with missing cells that are refused have none in their training rows."""
        return "median" if self.missing in ("auto", "median") else "mean"
