"""Export of a linear model to other languages: the public function, which calls one module for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...validation import check_choice
from ..model import Model
from .reduction import Reduction, check_prune, reduce

Language = Literal["c", "js", "json", "onnx", "sql"]
# Languages and the extensions of their files.
LANGUAGES: dict[Language, tuple[str, ...]] = {
    "c": (".c",),
    "js": (".mjs", ".js"),
    "json": (".json",),
    "onnx": (".onnx",),
    "sql": (".sql",),
}

TITLES: dict[Language, str] = {"c": "C", "js": "JavaScript", "json": "JSON", "onnx": "ONNX", "sql": "SQL"}


def export(
    model: Model,
    language: Language,
    *,
    table: str = "rows",
    columns: Sequence[str] | None = None,
    prune: float | None = None,
    float16: bool = False,
) -> bytes:
    """Export a model to ONNX, JSON, C, JavaScript or SQL.

    Parameters
    ----------
    model : Model
        The model. Voted perceptrons and mail filters cannot be exported.
    language : {"c", "js", "json", "onnx", "sql"}
        The format of the file.
    table : str, default="rows"
        SQL only: the table to read, as a name or as schema and name with a dot between them.
    columns : sequence of str, default=None
        SQL only: the table's names of the columns that the model reads, numeric columns first.
    prune : float, default=None
        A number of features, at least 1: the heaviest are kept. A share below 1: the lightest features are left out that
        together have at most this share of the weight; 0 leaves out features without weight. The weight of a feature is how
        far it can move a score within the ranges of the training rows. Columns that nothing reads are left out, too.
    float16 : bool, default=False
        Whether weights are rounded to 16 bits. SQL has no such numbers.

    Returns
    -------
    bytes
        The contents of the file.

    Raises
    ------
    ExportError
        If the format does not support the model.
    ImportError
        If ONNX is requested and the package onnx is not installed.

    See Also
    --------
    check_decisions : Prove for the rows of a file that a smaller export decides as the model does.
    rosenblatt.save : Save a model to a file that Rosenblatt loads.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> model = model_of(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]), names=["a", "b"])
    >>> print(export(model, "sql", table="measured").decode())
    WITH rosenblatt_scored AS (
      SELECT t.*,
        3.0e0 * CAST(t."a" AS DOUBLE PRECISION)
        + 2.0e0 * CAST(t."b" AS DOUBLE PRECISION)
        + -4.0e0 AS rosenblatt_score
      FROM "measured" AS t
    )
    SELECT rosenblatt_scored.*, CASE WHEN rosenblatt_score > 0 THEN 1 WHEN rosenblatt_score <= 0 THEN 0 END AS rosenblatt_label
    FROM rosenblatt_scored
    <BLANKLINE>
    """
    reduction = reduction_of(model, language, prune=prune, float16=float16)
    if language == "onnx":
        from .onnx import to_onnx

        return to_onnx(model, reduction)
    if language == "c":
        from .c import to_c

        return to_c(model, reduction).encode("ascii")
    if language == "js":
        from .javascript import to_javascript

        return to_javascript(model, reduction).encode("ascii")
    if language == "sql":
        from .sql import to_sql

        return to_sql(model, reduction, table=table, columns=columns).encode("utf-8")
    from .json import to_json

    return to_json(model, reduction).encode("ascii")


def reduction_of(model: Model, language: Language, *, prune: float | None, float16: bool) -> Reduction | None:
    """Return the weights of a smaller export; None if neither `prune` nor `float16` is given."""
    check_choice("language", language, LANGUAGES)
    check_prune(prune)
    return None if prune is None and not float16 else reduce(model, TITLES[language], prune, float16)
