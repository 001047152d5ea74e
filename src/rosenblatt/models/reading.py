"""How files and data frames are read for a model: as its training file was."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from ..data.readers import Options
from ..data.readers.frames import frame_source, is_frame
from ..data.readers.kinds import form_from_json
from ..data.readers.read import read
from ..data.table import DataError, as_data

if TYPE_CHECKING:
    from ..data.table import Data
    from .model import Model

# What the options of a training file say about other files, too.
STORED = ("label", "missing", "zero_based")


def reading_of(model: Model) -> dict[str, Any]:
    """The fields of `Options` that a model determines."""
    stored, recipe = model.provenance.get("reading", {}), model.recipe
    found: dict[str, Any] = {name: stored[name] for name in STORED if name in stored}
    if recipe is None:
        return found | ({"required": model.names} if model.names else {"required_width": model.n_features})
    forms = {name: form_from_json(form) for name, form in stored.get("forms", {}).items()}
    columns = {"text": recipe.text, "categorical": recipe.categorical, "required": recipe.required}
    return found | columns | {"numeric": recipe.number_names, "forms": forms, "values": recipe.values}


def read_for(model: Model, X: Any, fill_absent: bool = False) -> Data | None:
    """The rows of a file or a data frame as the model reads them; None for anything else, such as an array.

    fill_absent : whether columns of the model may be absent; their cells are then missing.

    Columns of a model without a recipe are numbers in their order, which arrays of a data frame have, too.
    """
    if model.recipe is not None and model.recipe.kind == "mail":
        return None
    is_path = isinstance(X, str | os.PathLike)
    if not is_path and not (model.recipe is not None and model.recipe.kind == "table" and is_frame(X)):
        return None
    options = Options(**reading_of(model), fill_absent=fill_absent)
    try:
        with frame_source(X) if not is_path else contextlib.nullcontext(X) as source:
            return read(source, options)
    except DataError as error:
        error.args = (error.problem,)  # the advice is about options of the command line
        raise


def drift_of(model: Model, X: Any) -> dict[str, Any]:
    """How rows differ from the training rows, as plain values; `Model.drift` describes it."""
    from ..preprocessing.drift import Drift
    from ..preprocessing.recipe import Recipe

    if not isinstance(model.recipe, Recipe) or model.recipe.facts is None:
        raise ValueError(
            "drift needs a model of `rosenblatt train` or rb.train: this one stores no columns of its training rows"
        )
    found = read_for(model, X, fill_absent=True)
    rows, drift = as_data(X) if found is None else found, Drift(model.recipe)
    drift.add(rows)
    return drift.to_dict(rows.source)
