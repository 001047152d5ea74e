"""How the rows of a file differ from the training rows, column by column.

Problem    a model says nothing about rows unlike those it was trained on, and its scores do not show it.
Counts     missing cells, which are unusual if their share exceeds that of the training rows beyond chance; values that the
           training rows do not have; numbers outside of the training range, and those far outside: beyond an end by more than
           half the range.
Index      the population stability index, sum over bins of (p - q) log(p/q), of the shares p in the file and q in the training
           rows: bins are the deciles of the training rows, or the values of a category, and missing cells.
Thresholds "moderate" from 0.1 and "large" from 0.25, as usual, but only above what chance gives: without any drift the index is
           about (1/n + 1/m) times a chi-squared variable of B - 1 degrees of freedom, for n and m rows and B bins.
Reference  B. Yurdakul and J. Naranjo, Journal of Risk Model Validation 14 (2020), on the distribution of the index.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Literal

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.table import Data, Table
from ..reporting.text import quoted_list, short
from .categorical import Categories, as_numbers, as_strings
from .column_facts import ColumnFacts
from .medians import count_in_bins
from .recipe import Recipe
from .text_features import TextFeatures

Level = Literal["none", "moderate", "large"]

MODERATE, LARGE = 0.1, 0.25
FAR_RATIO = 0.5  # of the training range
CHANCE_QUANTILE = 2.326  # of the normal distribution: 99 %
MIN_ROWS = 30  # of both sides of an index
MAX_VALUES_COUNTED, MAX_VALUES_LISTED, MAX_VALUES_SHOWN = 10_000, 20, 3  # unseen values of a column


class Drift:
    """Compares the rows of a file, chunk by chunk, with the training rows of a recipe.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        The columns of the model.
    extra : list of str
        Columns of the file that the model does not use.
    absent : tuple of str
        Columns of the model that the file does not have.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self.rows = recipe, 0
        numbers = [NumberDrift(name, place, recipe.facts) for place, name in enumerate(recipe.number_names)]
        strings = [StringDrift(block, place, recipe.facts) for place, block in enumerate(recipe.strings)]
        order = {name: place for place, name in enumerate(recipe.names)}
        self.columns: tuple[ColumnDrift, ...] = tuple(sorted([*numbers, *strings], key=lambda column: order[column.name]))
        self.extra: list[str] = []
        self.absent: tuple[str, ...] = ()
        self._unnamed = 0  # columns of a matrix beyond those of the model

    @property
    def n_extra(self) -> int:
        """The number of columns that the model does not use."""
        return len(self.extra) + self._unnamed

    @property
    def unusual(self) -> list[ColumnDrift]:
        """The columns with many missing, unseen or far values, or with other shares, of those that the file has."""
        return [column for column in self.columns if column.name not in self.absent and column.is_unusual]

    @property
    def missing_as_usual(self) -> list[ColumnDrift]:
        """The other columns with missing cells, of those that the file has."""
        others = (column for column in self.columns if column.name not in self.absent and not column.is_unusual)
        return [column for column in others if column.missing]

    def add(self, data: Data) -> None:
        """Add the next rows of the file."""
        self.rows += data.n_rows
        features = data.features
        if self._recipe.kind != "table" or not isinstance(features, Table):
            self._unnamed = max(self._unnamed, int(features.shape[1]) - self._recipe.numbers.columns)
            return
        self.absent = data.absent
        if not self.extra:  # a reader leaves out what the model does not use, and names all columns in `headers`
            known = {*self._recipe.names, *self._recipe.constant, data.label_name}
            self.extra = [name for name in dict.fromkeys((*features.names, *data.headers)) if name not in known]
        cells = dict(zip(features.names, features.columns, strict=True))
        for column in self.columns:
            column.add(data, cells[column.name])

    def to_dict(self, source: str) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "source": source,
            "rows": self.rows,
            "training_rows": None if self._recipe.facts is None else self._recipe.facts.rows,
            "missing_columns": list(self.absent),
            "extra_columns": self.extra,
            "thresholds": {"moderate": MODERATE, "large": LARGE, "far_outside": FAR_RATIO},
            "columns": [column.to_dict() for column in self.columns],
        }


class ColumnDrift:
    """What the rows of a file have in a column, beside what the training rows have."""

    kind: str
    unseen = far = 0  # cells

    def __init__(self, name: str, training_rows: int) -> None:
        self.name, self.training_rows = name, training_rows
        self.rows = self.missing = 0
        self._training: dict[str, Any] = {}  # what the report has of the training rows
        self._shares: FloatArray | None = None  # of the training rows in bins, the last one for missing cells

    def add(self, data: Data, cells: Array) -> None:
        raise NotImplementedError

    def remark(self) -> str:
        """The values that the training rows do not have."""
        raise NotImplementedError

    def _counts(self) -> IntArray:
        """The rows of the file in the bins."""
        raise NotImplementedError

    def _sides(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The training rows and the file as plain values."""
        raise NotImplementedError

    @property
    def is_unusual(self) -> bool:
        return bool(self.misses_more or self.unseen or self.far or self.level != "none")

    @property
    def misses_more(self) -> bool:
        """Whether more cells are missing than in the training rows, beyond chance in one of a hundred columns."""
        known = self._training.get("missing", 0)
        if not self.missing or not known:
            return bool(self.missing)
        pooled = (self.missing + known) / (self.rows + self.training_rows)
        spread = math.sqrt(pooled * (1.0 - pooled) * (1 / self.rows + 1 / self.training_rows))
        return bool(self.missing / self.rows - known / self.training_rows > CHANCE_QUANTILE * spread)

    @property
    def index(self) -> float | None:
        """The population stability index; None if the shares are unknown, or the rows few."""
        found = self._index_and_chance()
        return None if found is None else found[0]

    @property
    def level(self) -> Level:
        found = self._index_and_chance()
        if found is None or found[0] < max(MODERATE, found[1]):
            return "none"
        return "large" if found[0] >= LARGE else "moderate"

    def _index_and_chance(self) -> tuple[float, float] | None:
        """The index, and what it exceeds by chance in one of a hundred columns."""
        if self._shares is None or self.rows < MIN_ROWS or self.training_rows < MIN_ROWS:
            return None
        counts = self._counts()
        used = (self._shares > 0) | (counts > 0)
        p = np.maximum(counts[used] / self.rows, 0.5 / self.rows)
        q = np.maximum(self._shares[used], 0.5 / self.training_rows)
        freedom = max(1, int(used.sum()) - 1)
        chance = (1 / self.rows + 1 / self.training_rows) * (freedom + CHANCE_QUANTILE * math.sqrt(2 * freedom))
        return float(((p - q) * np.log(p / q)).sum()), chance

    def to_dict(self) -> dict[str, Any]:
        index, chance = self._index_and_chance() or (None, None)
        training, file = self._sides()
        return {
            "name": self.name,
            "kind": self.kind,
            "index": index,
            "index_by_chance": chance,
            "drift": self.level,
            "training": training if self.training_rows else None,
            "file": file | {"missing": self.missing},
        }


class NumberDrift(ColumnDrift):
    """A numeric column; dates are days."""

    kind = "number"

    def __init__(self, name: str, place: int, facts: ColumnFacts | None) -> None:
        super().__init__(name, 0 if facts is None else facts.rows)
        self.outside = self.far = 0
        self._low, self._high, self._sum = math.inf, -math.inf, 0.0
        self._ends = (-math.inf, math.inf)
        self._edges = self._bins = np.zeros(0)
        if facts is None:
            return
        self._ends = low, high = float(facts.minimum[place]), float(facts.maximum[place])
        self._training = {"minimum": low, "maximum": high, "missing": int(facts.missing[place])}
        if facts.mean is not None and facts.edges is not None and facts.shares is not None:
            self._training["mean"] = float(facts.mean[place])
            missing = self._training["missing"] / facts.rows
            self._edges, self._shares = facts.edges[place], np.append(facts.shares[place] * (1.0 - missing), missing)
            self._bins = np.zeros(len(facts.shares[place]))

    def add(self, data: Data, cells: Array) -> None:
        numbers = as_numbers(cells, data, self.name)
        present = numbers[~np.isnan(numbers)]
        self.rows += len(numbers)
        self.missing += len(numbers) - len(present)
        if not len(present):
            return
        self._low, self._high = min(self._low, float(present.min())), max(self._high, float(present.max()))
        low, high = self._ends
        with np.errstate(over="ignore"):
            self._sum += float(present.sum())
            room = FAR_RATIO * (high - low) if self._training else math.inf
            self.far += int(((present < low - room) | (present > high + room)).sum())
        self.outside += int(((present < low) | (present > high)).sum())
        if self._shares is not None:
            self._bins = self._bins + count_in_bins(present, self._edges)

    def remark(self) -> str:
        if not self.far:
            return ""
        low, high = self._ends
        farthest = self._low if low - self._low > self._high - high else self._high
        return f"{short(farthest, 6)} is far from the training rows: {short(low, 6)} to {short(high, 6)}"

    def _counts(self) -> IntArray:
        return np.append(self._bins, self.missing).astype(np.int64)

    def _sides(self) -> tuple[dict[str, Any], dict[str, Any]]:
        present = self.rows - self.missing
        known = {"minimum": self._low, "maximum": self._high, "mean": self._sum / max(1, present)}
        file: dict[str, Any] = {name: one if present and math.isfinite(one) else None for name, one in known.items()}
        return self._training, file | {"outside": self.outside, "far_outside": self.far}


class StringDrift(ColumnDrift):
    """A column of categories or text."""

    def __init__(self, block: Categories | TextFeatures, place: int, facts: ColumnFacts | None) -> None:
        super().__init__(block.name, 0 if facts is None else facts.rows)
        self._known = dict.fromkeys(block.values, 0) if isinstance(block, Categories) else None
        self.kind = "text" if self._known is None else "category"
        self._unseen: Counter[str] = Counter()
        self.unseen = 0
        if facts is None:
            return
        missing, counts = int(facts.string_missing[place]), facts.counts[place]
        self._training = {"missing": missing}
        if self._known is not None and counts is not None:
            self._shares = np.append(counts, [0, missing]) / facts.rows
            self._training["shares"] = dict(zip(self._known, (counts / facts.rows).tolist(), strict=True))

    def add(self, data: Data, cells: Array) -> None:
        here: Counter[str | None] = Counter(as_strings(cells).tolist())
        self.rows += len(cells)
        self.missing += here.pop(None, 0)
        known = self._known
        for value, rows in here.items() if known is not None else ():
            if value is not None and known is not None and value in known:
                known[value] += rows
            elif value is not None:
                self.unseen += rows
                if value in self._unseen or len(self._unseen) < MAX_VALUES_COUNTED:
                    self._unseen[value] += rows

    def remark(self) -> str:
        if not self._unseen:
            return ""
        return f"unseen: {quoted_list([value for value, _ in self._unseen.most_common()], MAX_VALUES_SHOWN)}"

    def _counts(self) -> IntArray:
        return np.array([*(self._known or {}).values(), self.unseen, self.missing], np.int64)

    def _sides(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._known is None:
            return self._training, {}
        shares = {value: rows / max(1, self.rows) for value, rows in self._known.items()}
        unseen = dict(self._unseen.most_common(MAX_VALUES_LISTED))
        return self._training, {"shares": shares, "unseen": self.unseen, "unseen_values": unseen}
