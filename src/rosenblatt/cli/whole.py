"""A whole file as rows and labels, its columns as they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..data.readers.read import read
from ..data.table import Data, typed_labels
from ..preprocessing.recipe import Recipe
from ..training.request import Request
from ..training.train import as_matrix, labelled, learn_recipe

if TYPE_CHECKING:
    from ..data.options import Options


class Whole(NamedTuple):
    data: Data
    recipe: Recipe
    X: Any
    y: Any


def rows_and_labels(path: str, options: Options, degree: int = 1) -> Whole:
    data = labelled(read(path, options))
    recipe = learn_recipe(Request(data=path, options=options, degree=degree, scale="none"), [data])
    return Whole(data, recipe, as_matrix(recipe.rows(data)), typed_labels(data.labels))
