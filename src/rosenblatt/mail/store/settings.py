"""What a filter's replay is defined by: kept in its log, the same for everybody who opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

# What changes the weights; ham_loss moves thresholds only, and the two limits say how long texts are kept.
REPLAYED = ("bits", "r", "ham_weight", "features")


@dataclass(frozen=True)
class Settings:
    bits: int = 22  # 2^bits columns
    r: float = 0.1  # AROW's only parameter
    ham_weight: float = 1.0  # how many times as bad as a spam passed a ham lost is
    ham_loss: float = 0.001  # the share of ham that may be called spam
    max_messages: int = 100_000  # texts that the log keeps; above it the older half is folded into the base,
    max_bytes: int = 1 << 30  # or above so many bytes of packed texts
    features: int = 1  # the version of features.py that the columns come from

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if type(value) is int and kind is float:
                object.__setattr__(self, name, float(value))
            elif type(value) is not kind:
                raise ValueError(f"{name} must be a number of type {kind.__name__}, got {value!r:.80}")
        if not 8 <= self.bits <= 26:
            raise ValueError(f"bits must be from 8 to 26, got {self.bits}")
        for name in ("r", "ham_weight"):
            value = getattr(self, name)
            if not (isfinite(value) and 1e-6 <= value <= 1e6):
                raise ValueError(f"{name} must be from 1e-6 to 1e6, got {value}")
        if not 0.0 <= self.ham_loss < 1.0:
            raise ValueError(f"ham_loss must be a share from 0 to below 1, got {self.ham_loss}")
        for name in ("max_messages", "max_bytes"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} must be 2 or more, got {getattr(self, name)}")

    def changed(self, asked: Mapping[str, Any]) -> Settings:
        unknown = [name for name in asked if name not in _KINDS or name == "features"]
        if unknown:
            there = ", ".join(name for name in _KINDS if name != "features")
            raise ValueError(f"a filter has no setting {unknown[0]!r}; there are {there}")
        return Settings(**asdict(self) | dict(asked))

    def replayed(self) -> dict[str, Any]:
        """Those that the weights depend on."""
        return {name: getattr(self, name) for name in REPLAYED}


_KINDS: dict[str, type] = {field.name: {"int": int, "float": float}[str(field.type)] for field in fields(Settings)}
