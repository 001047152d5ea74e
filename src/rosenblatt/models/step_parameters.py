"""Checks of the parameters of a saved Pipeline's steps: what a file may state, and what a step can be saved with.

Parameters pass scikit-learn's own constraints. These leave out what is inside a tuple, a list or a dict, and FeatureUnion has
none: `REQUIREMENTS` has those, by the name of the parameter, which has one meaning in all classes. The checks of single classes
below it keep a forged file harmless: no function, no file name, no regular expression that may take long, no number that
allocates memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from numbers import Integral, Real
from string import Formatter
from typing import Any, NamedTuple

import numpy as np

from ..safe_text import brief_repr
from ..validation import check_flag, check_integer
from .strict_json import InvalidContentError, require

MAX_DEGREE, MAX_GRAM, MAX_JOBS = 20, 100, 256
ENCODINGS = ("utf-8", "utf8", "latin-1", "iso-8859-1", "ascii", "cp1252", "utf-16")
# One run of letters, digits or the like, without groups: such a pattern takes linear time.
_ATOM = r"(?:\\[wdS]|\[[A-Za-z0-9_'-]{1,40}\])"
_SAFE_PATTERN = re.compile(rf"(?:\(\?u\))?(?:(?:\\b)?{_ATOM}{{1,4}}\+?|\\b{_ATOM}{{1,4}}\+?\\b)")
_TYPE_NAME = re.compile(r"[<>=|]?[A-Za-z]{1,20}[0-9]{0,3}")


def find_problem(step: Any, check: Callable[[Any], None] | None = None) -> str | None:
    """Return why the parameters of a step cannot be stored or loaded, or None; `check` is that of its class."""
    try:
        if hasattr(step, "_parameter_constraints"):  # FeatureUnion and Vocabulary have none
            step._validate_params()
        for name, value in step.get_params(deep=False).items():
            wanted = REQUIREMENTS.get(name)
            if wanted is not None and value is not None and not wanted.met(value):
                raise InvalidContentError(f"{name} must be {wanted.words}, got {brief_repr(value, 60)}")
        if check is not None:
            check(step)
    except (InvalidContentError, ValueError, TypeError, AttributeError, SyntaxError) as error:
        return " ".join(str(error).split())
    return None


# --- values inside tuples, lists and dicts -----------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_verbosity(value: Any) -> bool:
    return _is_flag(value) or (_is_whole(value) and int(value) >= 0)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _are_stop_words(value: Any) -> bool:
    return (isinstance(value, str) and value == "english") or _are_words(value)


def _is_vocabulary(value: Any) -> bool:
    if not isinstance(value, dict):
        return _are_words(value)
    places = all(isinstance(at, Integral) and not isinstance(at, bool) for at in value.values())
    return places and all(isinstance(word, str) for word in value)


def _is_range(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value)) and value[0] < value[1]


def _is_percentile_range(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))
    return pair and 0 <= value[0] <= value[1] <= 100


def _is_gram_range(value: Any) -> bool:
    pair = isinstance(value, list | tuple) and len(value) == 2 and all(_is_whole(each) for each in value)
    return pair and 1 <= value[0] <= value[1] <= MAX_GRAM


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_degree(value: Any) -> bool:
    each = value if isinstance(value, list | tuple) and len(value) == 2 else (value,)
    return all(_is_whole(one) and 0 <= one <= MAX_DEGREE for one in each)


def _are_weights(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) and _is_number(one) for key, one in value.items())


def _is_replacement(value: Any) -> bool:
    return isinstance(value, str | Real) and not isinstance(value, np.ndarray)


def _is_name_format(value: Any) -> bool:
    """True, False, or a text with places for the names, without formats that could make it long."""
    if not isinstance(value, str):
        return _is_flag(value)
    fields = [part[1:] for part in Formatter().parse(value) if part[1] is not None]
    return all(name in ("transformer_name", "feature_name") and not form and not how for name, form, how in fields)


def _are_categories(value: Any) -> bool:
    if isinstance(value, str):
        return value == "auto"
    return isinstance(value, list) and all(map(_is_category_list, value))


def _is_category_list(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "biufOU"
    kinds = {type(each) for each in value} if isinstance(value, list | tuple) else {None}
    return kinds <= {str} or kinds <= {int, float} or kinds <= {bool}


def _is_number_type(value: Any) -> bool:
    simple = isinstance(value, type | np.dtype) or (isinstance(value, str) and bool(_TYPE_NAME.fullmatch(value)))
    return simple and np.dtype(value).kind in "biuf"


def _is_job_number(value: Any) -> bool:
    return _is_whole(value) and 0 < abs(value) <= MAX_JOBS


class Requirement(NamedTuple):
    """What a parameter must be; None is left to the constraints of its class."""

    met: Callable[[Any], bool]
    words: str


REQUIREMENTS = {
    "binary": Requirement(_is_flag, "True or False"),
    "categories": Requirement(_are_categories, "'auto' or a list of lists of text or numbers"),
    "degree": Requirement(_is_degree, f"a whole number of at most {MAX_DEGREE}, or two of them"),
    "dtype": Requirement(_is_number_type, "a type of numbers"),
    "feature_range": Requirement(_is_range, "two ascending numbers"),
    "fill_value": Requirement(_is_replacement, "a number or text"),
    "missing_values": Requirement(_is_replacement, "a number or text"),
    "n_jobs": Requirement(_is_job_number, f"a whole number other than 0 and at most {MAX_JOBS}"),
    "ngram_range": Requirement(_is_gram_range, f"two ascending whole numbers from 1 to at most {MAX_GRAM}"),
    "quantile_range": Requirement(_is_percentile_range, "two ascending numbers from 0 to 100"),
    "stop_words": Requirement(_are_stop_words, "None, 'english' or a list of text"),
    "threshold": Requirement(_is_number, "a finite number"),
    "transform_input": Requirement(_are_words, "None or a list of text"),
    "transformer_weights": Requirement(_are_weights, "None or a dict of text to numbers"),
    "verbose": Requirement(_is_verbosity, "True, False or a whole number of at least 0"),
    "verbose_feature_names_out": Requirement(_is_name_format, "True, False or text with {transformer_name} and {feature_name}"),
    "vocabulary": Requirement(_is_vocabulary, "None, a list of text, or a dict of text to whole numbers"),
}


# --- checks of single classes ------------------------------------------------------------------------------------------------


def check_one_hot(step: Any) -> None:
    _check_frequencies(step)
    require(isinstance(step.drop, str | None), "drop must be None, 'first' or 'if_binary'")
    require(step.feature_name_combiner == "concat", "feature_name_combiner must be 'concat'")


def check_ordinal(step: Any) -> None:
    """What `fit` checks, besides its constraints."""
    _check_frequencies(step)
    coded, unknown = step.handle_unknown == "use_encoded_value", step.unknown_value
    require((unknown is not None) == coded, "unknown_value must be a number if handle_unknown='use_encoded_value', else None")
    gap = isinstance(unknown, float) and math.isnan(unknown)
    require(not gap or np.dtype(step.dtype).kind == "f", "dtype must be a type of floats if unknown_value is NaN")


def _check_frequencies(step: Any) -> None:
    simple = step.min_frequency is None and step.max_categories is None
    require(simple, "infrequent categories cannot be stored: leave out min_frequency and max_categories")


def check_imputer(step: Any) -> None:
    require(not step.add_indicator, "add_indicator=True cannot be stored")
    require(isinstance(step.strategy, str), "strategy must be text")


def check_function(step: Any) -> None:
    require(step.func is None and step.inverse_func is None, "func cannot be stored: only func=None can")
    require(not step.kw_args and not step.inv_kw_args, "kw_args and inv_kw_args cannot be stored")
    require(step.feature_names_out in (None, "one-to-one"), "feature_names_out must be None or 'one-to-one'")


def check_text(step: Any) -> None:
    """Parameters of vectorizers that read files, call functions or may take long."""
    require(getattr(step, "input", "content") == "content", "input must be 'content'")
    require(getattr(step, "encoding", "utf-8") in ENCODINGS, f"encoding must be one of {', '.join(ENCODINGS)}")
    for name in ("preprocessor", "tokenizer"):
        require(getattr(step, name, None) is None, f"{name} is a function, which cannot be stored")
    require(isinstance(step.analyzer, str), "analyzer is a function, which cannot be stored")
    require(isinstance(getattr(step, "strip_accents", None), str | None), "strip_accents is a function, which cannot be stored")
    pattern = getattr(step, "token_pattern", None)
    simple = pattern is None or (isinstance(pattern, str) and _SAFE_PATTERN.fullmatch(pattern))
    require(simple, "token_pattern is not one run of letters or digits: use the default, or a TextHasher")


def check_hasher(step: Any) -> None:
    check_text(step)
    step._check()


def check_vocabulary(step: Any) -> None:
    check_text(step)
    step._cutter()
    check_flag("binary", step.binary)
    check_integer("min_count", step.min_count)
    check_integer("max_words", 1 if step.max_words is None else step.max_words)
