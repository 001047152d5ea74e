"""The front door: a model in a language, as the bytes of a file."""

from __future__ import annotations

from collections.abc import Sequence

from ...validation import one_of
from ..model import Model

LANGUAGES = {"c": ".c", "json": ".json", "onnx": ".onnx", "sql": ".sql"}  # and how their files end


def export(model: Model, language: str, *, table: str = "rows", columns: Sequence[str] | None = None) -> bytes:
    """The bytes of a file; an `ExportError` says in a sentence what cannot be written so, an `ImportError` what is missing.

    table, columns : for SQL, see `to_sql`.

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
    one_of("language", language, LANGUAGES)
    if language == "onnx":
        from .onnx import to_onnx

        return to_onnx(model)
    if language == "c":
        from .c import to_c

        return to_c(model).encode("ascii")
    if language == "sql":
        from .sql import to_sql

        return to_sql(model, table=table, columns=columns).encode("utf-8")
    from .json import to_json

    return to_json(model).encode("ascii")
