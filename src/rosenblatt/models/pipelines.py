"""scikit-learn Pipelines in a model file: their steps are Rosenblatt's estimators and the classes of `transformers.py`.

A step is JSON, with arrays beside it: {"class": ..., "parameters": ..., "fitted": ...} for a transformer, {"class": ...,
"parameters": ..., "steps": ...} for a Pipeline, FeatureUnion or ColumnTransformer, {"model": metadata, "place": n} for an
estimator, whose arrays are named `step.n.*`, and the words "passthrough" and "drop". Values are encoded by
`step_values.py`. docs/model-files.md describes the format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..catalog import is_estimator
from ..reporting.text import count
from ..safe_text import brief_repr
from .container import Arrays, Meta, Parts
from .model import Model
from .provenance import provenance_now
from .several_labels import labels_to_parts
from .state import model_of
from .step_values import encode
from .transformers import Transformer, transformer_of

MAX_STEPS = 10_000
WORDS = ("passthrough", "drop")
COMPOSITES = {"Pipeline": "sklearn.pipeline", "FeatureUnion": "sklearn.pipeline", "ColumnTransformer": "sklearn.compose"}
PARAMETERS = {
    "Pipeline": ("transform_input", "verbose"),
    "FeatureUnion": ("n_jobs", "transformer_weights", "verbose", "verbose_feature_names_out"),
    "ColumnTransformer": (
        "sparse_threshold", "n_jobs", "transformer_weights", "verbose", "verbose_feature_names_out",
    ),
}  # fmt: skip
_FITTED_COLUMNS = {
    "_columns", "_transformer_to_input_indices", "_remainder", "sparse_output_", "transformers_", "output_indices_",
}  # fmt: skip
_FRAME_NAMES = "_transformers_feature_names_out"  # of the data frames that a composite step joined last


OUTPUT, OUTPUTS = "_sklearn_output_config", ("default", "pandas", "polars")  # what `set_output` sets
_COLUMNS = {"n_features_in_", "feature_names_in_", OUTPUT}


def is_pipeline(value: object) -> bool:
    """Whether something is a scikit-learn Pipeline, without importing scikit-learn."""
    return type(value).__name__ == "Pipeline" and type(value).__module__ == "sklearn.pipeline"


# --- pipeline -> parts -------------------------------------------------------------------------------------------------------


def pipeline_to_parts(pipeline: Any, provenance: Meta, to_parts: Callable[[Model, Any], Parts]) -> Parts:
    """Return the metadata and the arrays of a Pipeline's file; raises `TypeError` for a step that a file cannot hold."""
    import sklearn

    writer = _Writer(to_parts)
    meta = {
        "object": "pipeline",
        "sklearn": sklearn.__version__,
        "steps": writer.node(pipeline, "", final=True, fitted=True),
        "provenance": provenance_now() | provenance,
    }
    return meta, writer.arrays


class _Writer:
    """Collects the arrays of the steps."""

    def __init__(self, to_parts: Callable[[Model, Any], Parts]) -> None:
        self.to_parts = to_parts
        self.arrays: Arrays = {}
        self.places = 0

    def node(self, step: Any, path: str, *, final: bool = False, fitted: bool) -> Any:
        """Encode one step; `final` allows an estimator, and `fitted` includes what was learned."""
        if step is None or (isinstance(step, str) and step in WORDS):
            return step
        name, place = type(step).__name__, self._place()
        if is_estimator(step):
            if not final:
                raise _refusal(path, name, "is not the last step")
            if not fitted:
                return {"class": name, "parameters": self._parameters(step, step.get_params(deep=False), path, place)}
            several = "estimators_" in vars(step)
            meta, arrays = labels_to_parts(step, None, self.to_parts) if several else self.to_parts(model_of(step), "estimator")
            self.arrays.update({f"step.{place}.{each}": array for each, array in arrays.items()})
            return {"model": meta | {"provenance": {}}, "place": place}
        if is_composite(step):
            return self._composite(step, path, place, final, fitted)
        entry = transformer_of(step)
        if entry is None:
            hint = "" if final else ": save the last step alone"
            raise _refusal(path, name, f"is none of the classes that a model file holds{hint}")
        problem = entry.find_problem(step)
        if problem is not None:
            raise _refusal(path, name, f"cannot be saved: {problem}")
        node: Meta = {"class": name, "parameters": self._parameters(step, step.get_params(deep=False), path, place)}
        return node | ({"fitted": self._fitted(step, entry, path, place)} if fitted else _output(step))

    def _place(self) -> int:
        self.places += 1
        if self.places > MAX_STEPS:
            raise ValueError(f"a model file holds at most {count(MAX_STEPS)} steps")
        return self.places - 1

    def _encode(self, step: Any, what: str, value: Any, path: str, place: int) -> Any:
        encoded = encode(value, f"step.{place}.{what}", self.arrays)
        if encoded is None and value is not None:
            raise _refusal(path, type(step).__name__, f"has {what}={brief_repr(value, 80)}, which a model file cannot hold")
        return encoded

    def _parameters(self, step: Any, parameters: dict[str, Any], path: str, place: int) -> Meta:
        return {name: self._encode(step, name, value, path, place) for name, value in parameters.items()}

    def _fitted(self, step: Any, entry: Transformer, path: str, place: int) -> Meta:
        """Encode the fitted attributes; an attribute that is not known could change what the step does."""
        name, found = type(step).__name__, vars(step)
        parameters = step.get_params(deep=False)
        known = {*parameters, *entry.fitted, *entry.derived, *_COLUMNS}
        unknown = sorted(set(found) - known)
        if unknown:
            raise _refusal(path, name, f"has the attribute {unknown[0]}, which a model file cannot hold")
        values_ = {each: found[each] for each in entry.fitted if each in found}
        values_ = {each: value.item() if isinstance(value, np.generic) else value for each, value in values_.items()}
        if "idf" in entry.fitted and "_tfidf" in found and hasattr(found["_tfidf"], "idf_"):
            values_["idf"] = found["_tfidf"].idf_
        if "vocabulary_" in values_:
            ordered = sorted(values_["vocabulary_"].items(), key=lambda pair: int(pair[1]))
            values_["vocabulary_"] = {str(word): int(column) for word, column in ordered}
        missing = [each for each in entry.fitted if each not in values_ and each not in entry.optional]
        width = found.get("n_features_in_")
        if missing or (entry.columns and width is None and name != "FunctionTransformer"):
            raise ValueError(f"step {path!r} ({name}) is not fitted yet: call fit before saving the Pipeline")
        valid = all(entry.fitted[each](value, int(width or 0)) for each, value in values_.items())
        if not valid:
            raise _refusal(path, name, "has learned values that a model file cannot hold")
        encoded = {each: self._encode(step, each, value, path, place) for each, value in values_.items()}
        return encoded | self._columns(step, path, place)

    def _columns(self, step: Any, path: str, place: int) -> Meta:
        found, encoded = vars(step), {}
        if found.get("n_features_in_") is not None:
            encoded["n_features_in_"] = int(found["n_features_in_"])
        if "feature_names_in_" in found:
            encoded["feature_names_in_"] = self._encode(step, "feature_names_in_", found["feature_names_in_"], path, place)
        return encoded | _output(step)

    def _composite(self, step: Any, path: str, place: int, final: bool, fitted: bool) -> Meta:
        name = type(step).__name__
        if getattr(step, "memory", None) is not None:
            raise _refusal(path, name, "has memory, which a model file cannot hold: save it after set_params(memory=None)")
        if callable(getattr(step, "verbose_feature_names_out", None)):
            raise _refusal(path, name, "has a function verbose_feature_names_out, which a model file cannot hold")
        listed = {"Pipeline": "steps", "FeatureUnion": "transformer_list", "ColumnTransformer": "transformers"}[name]
        allowed = {*step.get_params(deep=False), *_FITTED_COLUMNS, *_COLUMNS}
        unknown = sorted(set(vars(step)) - allowed)
        each = [(key, one, *map(_without_pandas, columns)) for key, one, *columns in getattr(step, listed)]
        if unknown == [_FRAME_NAMES] and all(
            isinstance(one[1], str) or hasattr(one[1], "get_feature_names_out") for one in each
        ):
            unknown = []  # scikit-learn makes them again, and uses those of the steps
        if unknown:
            raise _refusal(path, name, f"has the attribute {unknown[0]}, which a model file cannot hold")
        given = {each: getattr(step, each) for each in PARAMETERS[name]}
        node: Meta = {"class": name, "parameters": self._parameters(step, given, path, place)}
        if name == "ColumnTransformer":
            for key, _, columns in each:
                if callable(columns):
                    raise _refusal(path, name, f"chooses the columns of {key!r} by a function: pass their names or positions")
            node["steps"] = [
                [
                    key,
                    self.node(one, join_names(path, key), fitted=False),
                    self._encode(step, f"columns.{at}", columns, path, place),
                ]
                for at, (key, one, columns) in enumerate(each)
            ]
            node["remainder"] = self.node(step.remainder, join_names(path, "remainder"), fitted=False)
            return node | (self._fitted_columns(step, path, place) if fitted else _output(step))
        last = len(each) - 1
        node["steps"] = [
            [key, self.node(one, join_names(path, key), final=final and name == "Pipeline" and at == last, fitted=fitted)]
            for at, (key, one) in enumerate(each)
        ]
        return node | _output(step)

    def _fitted_columns(self, step: Any, path: str, place: int) -> Meta:
        if "transformers_" not in vars(step):
            raise ValueError(f"step {path!r} (ColumnTransformer) is not fitted yet: call fit before saving the Pipeline")
        made = [
            [
                key,
                self.node(one, join_names(path, key), fitted=True),
                self._encode(step, f"made.{at}", _without_pandas(columns), path, place),
            ]
            for at, (key, one, columns) in enumerate(step.transformers_)
        ]
        return {
            "fitted": self._columns(step, path, place),
            "made": made,
            "indices": [[key, [int(at) for at in places]] for key, places in step._transformer_to_input_indices.items()],
            "outputs": [[key, part.start, part.stop] for key, part in step.output_indices_.items()],
            "sparse": bool(step.sparse_output_),
        }


def _without_pandas(columns: Any) -> Any:
    """A selection of columns, such as `frame.columns[:3]`, as an array."""
    return columns.to_numpy() if type(columns).__module__.split(".")[0] == "pandas" else columns


def _output(step: Any) -> Meta:
    """The container that `set_output` chose, if it did."""
    chosen = vars(step).get(OUTPUT)
    return {"output": chosen["transform"]} if chosen else {}


def is_composite(step: Any) -> bool:
    own = COMPOSITES.get(type(step).__name__)
    return own is not None and type(step).__module__ in (own, f"{own}._column_transformer")


def join_names(path: str, key: object) -> str:
    return f"{path}__{key}" if path else str(key)


def _refusal(path: str, name: str, reason: str) -> TypeError:
    what = f"the step {path!r}: its class {name}" if path else f"this {name}: it"
    return TypeError(f"rb.save cannot hold {what} {' '.join(reason.split())}")
