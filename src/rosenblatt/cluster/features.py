"""Features of files in blocks: the recipe is learned and applied by tasks, and equals that of `train --stream` to the bit.

A recipe is learned by an object that takes the rows block by block. It travels through the blocks in order, as a chain of
tasks, because its sums are rounded in the order of the rows, words are counted up to a limit, and the first rows decide the
kind of a column: merging what blocks have learned apart would give another recipe. Parsing takes most of the time, and is done
by tasks of its own, side by side; a link of the chain only adds up what was parsed.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Array
from ..data.readers import Options
from ..data.readers.delimited import DelimitedForm
from ..data.readers.forms import FileForm
from ..data.readers.kinds import forms_of
from ..data.readers.record_starts import Transitions, record_starts, scan_range
from ..data.readers.sources import name_of
from ..data.table import Data, DataError, as_text, typed_labels
from ..preprocessing.recipe import Recipe
from ..preprocessing.recipe_fit import RecipeLearner
from ..preprocessing.scaling import Scale
from ..progress import Progress, current_callback
from ..reporting.text import count, plural
from ..training.preparation import check_classes, check_weight_count, choices_for, require_labels
from .engine import Engine, Handle
from .file_sources import FilePart, FileSource, ReadSource, read_block, read_part, to_block

# A parsed table takes up to this many times the bytes of its file. Tables that the cluster cannot hold are parsed twice.
BYTES_PER_BYTE = 8
HELD_SHARE = 0.6  # of the memory of the engine, for tables that are kept between both readings
BLOCKS_AHEAD = 2  # parsed ahead of the chain, for each task that runs at the same time
BLOCKS_PER_ANCHOR = 16  # of which the state of the chain is kept, to continue from where a lost worker had the last one
MAX_LABELS_OF_BLOCK = 10_000  # distinct ones, from which on it is checked at once whether they are classes


@dataclass(frozen=True)
class FeatureChoices:
    """How columns become features, as `Recipe.learn` describes it."""

    scale: Scale = "auto"
    degree: int = 1
    text_features: str = "auto"


class Findings(NamedTuple):
    """What a block contributes to what is known of all files."""

    rows: int
    width: int
    labels: list[Any]  # distinct, as the file has them
    note: str | None
    label_name: str | None
    forms: dict[str, dict[str, Any]]  # how the file writes dates and formatted numbers, as a model file stores it


class Learned(NamedTuple):
    """What the files were found to hold, and their blocks."""

    recipe: Recipe | None
    classes: Array
    rows: int
    width: int
    first: Findings  # of the first block with rows
    empty: list[FilePart]  # blocks without rows
    sources: list[ReadSource]


def learn(engine: Engine, sources: Sequence[FileSource], choices: FeatureChoices | None) -> Learned:
    """Learn the features of the rows in all blocks, and start the tasks that make them.

    choices : None if the rows, which are matrices, stay as they are.
    """
    form = sources[0].form
    parts = whole_records(engine, [source.part for source in sources], form)
    shared = engine.put(form)
    held = choices is None or _fit_into_memory(engine, parts)
    parsed: list[Handle | None] = []
    found: list[Handle] = []
    links: deque[Handle] = deque()
    learner: Handle | None = None
    anchors = []
    follow = _Follower(engine, len(parts))
    for number, part in enumerate(parts):
        rows = engine.submit(read_part, part, shared)
        found.append(engine.submit(examine, rows, part))
        parsed.append(rows if held else None)
        if choices is None:
            continue
        learner = engine.submit(learn_block, learner, rows, part, choices, form.options)
        links.append(engine.submit(rows_learned, learner))
        if number % BLOCKS_PER_ANCHOR == 0:
            anchors.append(learner)
        del rows
        if len(links) > BLOCKS_AHEAD * engine.slots:  # the order in which results are gathered does not depend on the slots
            follow(links.popleft())
    for link in links:
        follow(link)
    findings: list[Findings] = engine.gather(found)
    n, classes = _merge(parts, findings)
    recipe = None
    if choices is not None:
        recipe = Recipe.from_parts(*engine.gather([engine.submit(finish, learner)])[0])
        if recipe.width == 0:
            raise DataError(form.source, "the file has no columns besides the labels")
    given = engine.put(recipe), engine.put(classes)
    blocks = [
        ReadSource(
            FileSource(part, form),
            engine.submit(read_block, part, shared, *given) if rows is None else engine.submit(to_block, rows, part, *given),
        )
        for part, rows, each in zip(parts, parsed, findings, strict=True)
        if each.rows
    ]
    first = next(each for each in findings if each.rows)
    empty = [part for part, each in zip(parts, findings, strict=True) if not each.rows]
    return Learned(recipe, classes, n, max(each.width for each in findings), first, empty, blocks)


class _Follower:
    """Waits for the links of the chain, one by one, and reports them."""

    def __init__(self, engine: Engine, total: int) -> None:
        self._engine, self._total, self._done, self._callback = engine, total, 0, current_callback()

    def __call__(self, link: Handle) -> None:
        rows = self._engine.gather([link])[0]
        self._done += 1
        if self._callback is not None:
            of_all = f"block {count(self._done)} of {count(self._total)}, {plural(rows, 'row')}"
            self._callback(Progress(0, text=f"learning features: {of_all}"))


def whole_records(engine: Engine, parts: list[FilePart], form: FileForm) -> list[FilePart]:
    """The blocks, with ranges of whole records where quoted cells may contain line feeds."""
    if not isinstance(form.columns, DelimitedForm) or form.columns.delimiter == b"\t":  # no record with tabs spans lines
        return parts
    delimiter, skipped = form.columns.delimiter, form.options.skip_lines
    ranges = [part for part in parts if part.unit == "lines"]
    scanned = engine.gather([engine.submit(scan_part, part, delimiter, skipped) for part in ranges]) if ranges else []
    found: dict[FilePart, FilePart] = {}
    for _, group in groupby(zip(ranges, scanned, strict=True), key=lambda each: each[0].path):
        own, transitions = zip(*group, strict=True)
        edges = record_starts([part.start for part in own], own[-1].stop, list(transitions))
        found |= {
            part: replace(part, unit="bytes", start=start, stop=stop)
            for part, start, stop in zip(own, edges[:-1], edges[1:], strict=True)
        }
    return [found.get(part, part) for part in parts]


def _fit_into_memory(engine: Engine, parts: Sequence[FilePart]) -> bool:
    sizes = {part.path: part.size for part in parts}
    return BYTES_PER_BYTE * sum(sizes.values()) <= HELD_SHARE * engine.memory


def _merge(parts: Sequence[FilePart], findings: Sequence[Findings]) -> tuple[int, Array]:
    """The number of rows, and the classes."""
    rows, labels = sum(each.rows for each in findings), {label for each in findings for label in each.labels}
    name = name_of(list(dict.fromkeys(part.name for part in parts)))
    if not rows:
        raise DataError(name, "the files have no rows")
    if all(isinstance(label, bool) for label in labels):
        classes = np.unique(np.array(sorted(labels)))
    else:
        classes = np.unique(typed_labels(np.array(sorted(map(str, labels)), object)))
    check_classes(name, classes, rows)
    return rows, classes


# --- tasks ---------------------------------------------------------------------------------------------------------------


def scan_part(part: FilePart, delimiter: bytes, skip_lines: int) -> Transitions:
    """A task: where records begin in a range of bytes."""
    with part.errors():
        part.check_unchanged()
        return scan_range(part.path, part.start, part.stop, delimiter, skip_lines)


def examine(data: Data | None, part: FilePart) -> Findings:
    """A task: what is in a block."""
    if data is None:
        return Findings(0, 0, [], None, None, {})
    with part.errors():
        labels = np.unique(as_text(require_labels(data)))
        check_weight_count(data, 2)
        if len(labels) > MAX_LABELS_OF_BLOCK:
            check_classes(part.name, labels.astype(str), data.n_rows)
        forms = {name: form.to_json() for name, form in forms_of(data).items()}
        return Findings(data.n_rows, int(data.features.shape[1]), labels.tolist(), data.note, data.label_name, forms)


def learn_block(
    learner: RecipeLearner | None, data: Data | None, part: FilePart, choices: FeatureChoices, options: Options
) -> RecipeLearner | None:
    """A task: a link of the chain. The learner that it gets stays as it is."""
    if data is None:
        return learner
    with part.errors():
        if learner is None:
            made = choices.scale, choices.degree, choices.text_features
            learner = RecipeLearner(data, choices_for(data, options, *made))
        else:
            learner = copy.deepcopy(learner)
        learner.add(data)
        return learner


def rows_learned(learner: RecipeLearner | None) -> int:
    """A task: the number of rows so far."""
    return 0 if learner is None else learner.rows


def finish(learner: RecipeLearner) -> tuple[dict[str, Any], dict[str, Any]]:
    """A task: the recipe, in parts."""
    return copy.deepcopy(learner).finish().to_parts()
