"""An outcome as a story, and the story as a page or a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..models.atomic_file import write_atomically
from ..reporting.draw import draw
from ..reporting.page import write_report
from ..reporting.story import Story
from ..training.summary import facts

if TYPE_CHECKING:
    from ..reporting.charts import Chart
    from ..training.train import Outcome


def story_of(outcome: Outcome, command: str = "") -> Story:
    prepared = outcome.prepared
    rows: dict[str, Any] = {}
    notes = list(outcome.notes)
    if prepared is not None:
        rows = {"X": prepared.X, "y": prepared.y}
        if prepared.codes_test is not None:
            rows |= {"X_test": prepared.X_test, "y_test": prepared.classes[prepared.codes_test]}
    elif outcome.sample is not None:
        rows = {"X": outcome.sample[0], "y": outcome.sample[1]}
        notes.append(f"The figures are drawn from {len(outcome.sample[1]):,} of the {outcome.rows:,} rows that were streamed.")
    return Story(
        title=Path(outcome.request.data.removeprefix("example:")).name,
        estimator=outcome.estimator,
        summary=facts(outcome),
        feature_names=outcome.recipe.feature_names,
        class_names=[str(label) for label in outcome.classes.tolist()],
        certificate=outcome.certificate,
        command=command,
        version=__version__,
        notes=notes,
        **rows,
    )


def write_report_of(outcome: Outcome, path: str, command: str) -> None:
    page = write_report(story_of(outcome, command)).encode()
    write_atomically(path, lambda file: file.write(page))


def chart_of(outcome: Outcome, name: str) -> Chart:
    try:
        return draw(story_of(outcome), name)
    except ValueError:
        raise ValueError(f"{outcome.request.algorithm} has nothing to draw as {name!r}: choose another figure") from None
