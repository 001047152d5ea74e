"""The Pipeline of a model file, rebuilt step by step; `pipelines.py` writes it.

Classes, parameters and attributes are checked by the table in `transformers.py`. A step takes as many features as the one
before it makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..reporting.text import count
from .column_selection import Selection, are_columns, names_agree, same_columns
from .container import Arrays, Meta
from .model import Model
from .pipelines import COMPOSITES, MAX_STEPS, OUTPUT, OUTPUTS, PARAMETERS, WORDS, is_pipeline, join_names
from .several_labels import labels_from_parts
from .state import estimator_of
from .step_parameters import find_problem
from .step_values import decode
from .strict_json import require
from .transformers import TRANSFORMERS, Transformer, features_made

MAX_DEPTH = 10
VERSION = re.compile(r"[0-9A-Za-z.+!-]{1,40}")  # it is part of a message
KEYS = {"object", "sklearn", "steps", "provenance"}


def pipeline_from_parts(meta: Meta, arrays: Arrays, from_parts: Callable[[Meta, Arrays], Model]) -> Any:
    """Check every part of a file and return the Pipeline."""
    require(set(meta) == KEYS and isinstance(meta["provenance"], dict), "the metadata have missing or unknown keys")
    named = isinstance(meta["sklearn"], str) and VERSION.fullmatch(meta["sklearn"])
    require(named, "the version of scikit-learn is missing or invalid")
    require(all(name.startswith("step.") for name in arrays), "a Pipeline has an unknown array")
    reader = _Reader(meta["sklearn"], dict(arrays), from_parts)
    pipeline = reader.node(meta["steps"], "", final=True, fitted=True)
    require(is_pipeline(pipeline), "the file has no Pipeline")
    require(not reader.arrays, "a Pipeline has an unknown array")
    return pipeline


def check_parts(meta: Meta, arrays: Arrays, from_parts: Callable[[Meta, Arrays], Model]) -> None:
    """Raise `TypeError` for parts that would not load; a step may have values that no check of the writer knows."""
    try:
        pipeline_from_parts(meta, arrays, from_parts)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise TypeError(f"rb.save cannot hold this Pipeline, because rb.load would refuse it: {error}") from error


class _Reader:
    """Rebuilds steps; every array is used once."""

    def __init__(self, version: str, arrays: Arrays, from_parts: Callable[[Meta, Arrays], Model]) -> None:
        import sklearn

        self.version, self.arrays, self.from_parts = version, arrays, from_parts
        self.same_version = version.split(".")[:2] == sklearn.__version__.split(".")[:2]
        self.installed = sklearn.__version__
        self.steps = 0

    def node(self, node: Any, path: str, *, final: bool = False, fitted: bool, depth: int = 0) -> Any:
        require(depth < MAX_DEPTH, "a Pipeline is nested too deeply")
        if node is None or (isinstance(node, str) and node in WORDS):
            return node
        require(isinstance(node, dict), f"step {path!r} is invalid")
        self.steps += 1
        require(self.steps <= MAX_STEPS, f"a Pipeline has more than {count(MAX_STEPS)} steps")
        made = self._step({key: value for key, value in node.items() if key != "output"}, path, final, fitted, depth)
        _restore_output(made, node, path)
        return made

    def _step(self, node: Meta, path: str, final: bool, fitted: bool, depth: int) -> Any:
        if "model" in node:
            require(final and set(node) == {"model", "place"} and type(node["place"]) is int, f"step {path!r} is invalid")
            return self._estimator(node["model"], f"step.{node['place']}.")
        kind = node["class"]
        if kind in COMPOSITES:
            return self._composite(node, path, final, fitted, depth)
        entry = TRANSFORMERS.get(kind) if isinstance(kind, str) else None
        require(entry is not None, f"step {path!r} has the unknown class {kind!r:.40}")
        assert entry is not None
        require(set(node) == {"class", "parameters", *(("fitted",) if fitted else ())}, f"step {path!r} is invalid")
        made = self._made(kind, entry.load(kind), node["parameters"])
        problem = entry.find_problem(made)
        require(problem is None, f"step {path!r} ({kind}): {problem}")
        if fitted:
            if entry.private:
                self._check_version(path, kind)
            self._restore(made, entry, node["fitted"], path, kind)
        return made

    def _made(self, kind: str, cls: Any, parameters: Any) -> Any:
        names = set(cls._get_param_names())
        require(isinstance(parameters, dict) and set(parameters) <= names, f"{kind} has an unknown parameter")
        missing = sorted(names - set(parameters))
        require(not missing or not self.same_version, f"the parameters of {kind} are missing")
        return cls(**{name: decode(value, self.arrays) for name, value in parameters.items()})

    def _check_version(self, path: str, kind: str) -> None:
        found = f"saved with scikit-learn {self.version}, and {self.installed} is installed"
        require(self.same_version, f"step {path!r} ({kind}) cannot be loaded: it was {found}")

    def _estimator(self, meta: Any, prefix: str) -> Any:
        require(isinstance(meta, dict) and meta.get("object") in ("estimator", "labels"), "the last step is not an estimator")
        own = {name.removeprefix(prefix): self.arrays.pop(name) for name in list(self.arrays) if name.startswith(prefix)}
        if meta["object"] == "labels":
            return labels_from_parts(meta, own, self.from_parts)
        return estimator_of(self.from_parts(meta, own))

    def _restore(self, made: Any, entry: Transformer, fitted: Any, path: str, kind: str) -> None:
        wrong = f"step {path!r} ({kind}) has missing or unknown attributes"
        require(isinstance(fitted, dict), wrong)
        own = set(fitted) - {"n_features_in_", "feature_names_in_", "output"}
        require(own <= set(entry.fitted) and set(entry.fitted) - own <= set(entry.optional), wrong)
        width = self._restore_columns(made, fitted, path, needed=entry.columns and kind != "FunctionTransformer")
        for name in sorted(own):
            value = decode(fitted[name], self.arrays)
            require(entry.fitted[name](value, width), f"step {path!r} ({kind}): {name} has the wrong type or shape")
            made.__dict__[name] = value
        entry.derive(made)

    def _restore_columns(self, made: Any, fitted: Meta, path: str, *, needed: bool) -> int:
        width, wrong = fitted.get("n_features_in_"), f"step {path!r}: the number of features is invalid"
        require(width is not None or not needed, wrong)
        if width is not None:
            require(type(width) is int and 0 < width < 1 << 31, wrong)
            made.n_features_in_ = width
        if "feature_names_in_" in fitted:
            names = decode(fitted["feature_names_in_"], self.arrays)
            listed = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (width,)
            text = listed and all(type(name) is str for name in names.tolist())
            require(text and len(set(names.tolist())) == width, f"step {path!r}: the names of features are invalid")
            made.feature_names_in_ = names
        _restore_output(made, fitted, path)
        return width or 0

    # --- steps with steps ----------------------------------------------------------------------------------------------------

    def _composite(self, node: Meta, path: str, final: bool, fitted: bool, depth: int) -> Any:
        kind, wrong = node["class"], f"step {path!r} is invalid"
        parameters, steps = node["parameters"], node["steps"]
        require(isinstance(parameters, dict) and set(parameters) <= set(PARAMETERS[kind]), wrong)
        given = {name: decode(value, self.arrays) for name, value in parameters.items()}
        require(isinstance(steps, list) and 0 < len(steps) <= MAX_STEPS, wrong)
        length = 3 if kind == "ColumnTransformer" else 2
        named = all(isinstance(one, list) and len(one) == length and isinstance(one[0], str) for one in steps)
        require(named and len({one[0] for one in steps}) == len(steps), wrong)
        if kind == "ColumnTransformer":
            return self._column_transformer(node, path, given, fitted, depth)
        require(set(node) == {"class", "parameters", "steps"}, wrong)
        last, chain = len(steps) - 1, kind == "Pipeline"
        each = [
            (key, self.node(one, join_names(path, key), final=final and chain and at == last, fitted=fitted, depth=depth + 1))
            for at, (key, one) in enumerate(steps)
        ]
        made = _class(kind)(each, **given)
        _check_parameters(made, path)
        if chain:
            made._validate_steps()
            if fitted:
                require(_takes(made, None), f"step {path!r}: a step takes another number of features than the one before makes")
                require(
                    names_agree(made, None), f"step {path!r}: a step takes features of other names than the one before makes"
                )
        else:
            made._validate_transformers()
            made._validate_transformer_weights()
        return made

    def _column_transformer(self, node: Meta, path: str, given: Meta, fitted: bool, depth: int) -> Any:
        wrong = f"step {path!r} is invalid"
        more = {"fitted", "made", "indices", "outputs", "sparse"} if fitted else set()
        require(set(node) == {"class", "parameters", "steps", "remainder", *more}, wrong)

        def steps(listed: Any, are_fitted: bool) -> list[Any]:
            return [
                (key, self.node(one, join_names(path, key), fitted=are_fitted, depth=depth + 1), decode(columns, self.arrays))
                for key, one, columns in listed
            ]

        remainder = self.node(node["remainder"], join_names(path, "remainder"), fitted=False, depth=depth + 1)
        each = steps(node["steps"], False)
        require(all(are_columns(columns) for *_, columns in each), f"step {path!r}: its columns are invalid")
        made = _class("ColumnTransformer")(each, remainder=remainder, **given)
        _check_parameters(made, path)
        made._validate_transformers()
        if not fitted:
            return made
        self._check_version(path, "ColumnTransformer")
        width = self._restore_columns(made, node["fitted"], path, needed=True)
        indices = {key: list(places) for key, places in node["indices"]}
        expected = [*(one[0] for one in each), "remainder"]
        inside = all(type(at) is int and 0 <= at < width for places in indices.values() for at in places)
        require(list(indices) == expected and inside, f"step {path!r}: its columns are invalid")
        outputs = {key: slice(start, stop) for key, start, stop in node["outputs"]}
        sizes = [part for _, *part in node["outputs"]]
        ordered = all(type(a) is type(b) is int and 0 <= a <= b for a, b in sizes)
        require(set(outputs) == set(expected) and ordered, f"step {path!r}: its outputs are invalid")
        require(type(node["sparse"]) is bool and isinstance(node["made"], list), wrong)
        done = steps(node["made"], True)
        # scikit-learn derives the other columns; the file lists all, so that their number is not larger than the file.
        complete = len({at for places in indices.values() for at in places}) == width
        require(complete, f"step {path!r}: its columns are invalid")
        selection = Selection(getattr(made, "feature_names_in_", None), width)
        chosen = all(selection.matches(columns, indices[key]) for key, _, columns in each)
        require(chosen, f"step {path!r}: its columns are invalid")
        taken_places = {at for key, places in indices.items() if key != "remainder" for at in places}
        rest = [at for at in range(width) if at not in taken_places]
        require(indices["remainder"] == rest, f"step {path!r}: its remainder is invalid")
        made._columns, made._transformer_to_input_indices = [one[2] for one in each], indices
        made._remainder = ("remainder", remainder, selection.of_remainder(rest, made._get_remainder_cols_dtype()))
        known = {one[0]: one[2] for one in each} | {"remainder": made._remainder[2]}
        found = {key for key, *_ in done}
        same = [key for key, *_ in done] == [key for key in expected if key in found]
        same = same and all(same_columns(columns, known[key]) for key, _, columns in done)
        require(same and found >= {one[0] for one in each}, f"step {path!r}: its fitted steps are invalid")
        taken = {key: len(places) for key, places in indices.items()}
        fits = all(
            _takes(step, taken[key]) and features_made(step, taken[key]) in (None, _length(outputs[key]))
            for key, step, _ in done
        )
        require(fits, f"step {path!r}: its fitted steps take or make another number of features")
        if selection.names:
            for key, step, _ in done:
                agree = names_agree(step, [selection.names[at] for at in indices[key]])
                require(agree, f"step {join_names(path, key)!r}: its names of features are not those of its columns")
        made.sparse_output_, made.output_indices_, made.transformers_ = node["sparse"], outputs, done
        return made


def _restore_output(made: Any, found: Meta, path: str) -> None:
    if "output" in found:
        require(hasattr(made, "set_output") and found["output"] in OUTPUTS, f"step {path!r}: its output is invalid")
        made.__dict__[OUTPUT] = {"transform": found["output"]}


def _check_parameters(step: Any, path: str) -> None:
    problem = find_problem(step)
    require(problem is None, f"step {path!r} ({type(step).__name__}): {problem}")


def _length(part: slice) -> int:
    return int(part.stop - part.start)


def _takes(step: Any, width: int | None) -> bool:
    """Whether a step takes this number of features, and each of its steps what the one before makes; None: any number."""
    kind = type(step).__name__
    if kind == "Pipeline":
        for _, one in step.steps:
            if not _takes(one, width):
                return False
            width = features_made(one, width)
        return True
    if kind == "FeatureUnion":
        return all(_takes(one, width) for _, one in step.transformer_list)
    own = getattr(step, "n_features_in_", None)
    return width is None or own is None or own == width


def _class(kind: str) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    return {"ColumnTransformer": ColumnTransformer, "FeatureUnion": FeatureUnion, "Pipeline": Pipeline}[kind]
