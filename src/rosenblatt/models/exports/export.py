"""Export of a linear model to other languages: the public function, which calls one module for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...validation import check_choice
from ..model import Model

Language = Literal["c", "js", "json", "onnx", "sql"]
# Languages and the extensions of their files.
LANGUAGES: dict[Language, tuple[str, ...]] = {
    "c": (".c",),
    "js": (".mjs", ".js"),
    "json": (".json",),
    "onnx": (".onnx",),
    "sql": (".sql",),
}


def export(model: Model, language: Language, *, table: str = "rows", columns: Sequence[str] | None = None) -> bytes:
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
    check_choice("language", language, LANGUAGES)
    if language == "onnx":
        from .onnx import to_onnx

        return to_onnx(model)
    if language == "c":
        from .c import to_c

        return to_c(model).encode("ascii")
    if language == "js":
        from .javascript import to_javascript

        return to_javascript(model).encode("ascii")
    if language == "sql":
        from .sql import to_sql

        return to_sql(model, table=table, columns=columns).encode("utf-8")
    from .json import to_json

    return to_json(model).encode("ascii")
