"""The transformers that a saved Pipeline may contain, each with its fitted attributes and their checks.

A file can rebuild these classes only, with parameters that pass the checks of `step_parameters.py`. Only the fitted attributes
that are named here are set. What scikit-learn derives from them is derived again by its own code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..reporting.text import count
from . import step_parameters as parameters
from .strict_json import require

MAX_POLYNOMIALS = 10_000_000

Check = Callable[[Any, int], bool]


# --- checks of fitted attributes: the value, and the number of features ------------------------------------------------------


def is_vector(value: Any, n: int) -> bool:
    """One finite float for each feature."""
    return _floats(value) and value.shape == (n,) and bool(np.isfinite(value).all())


def is_vector_or_none(value: Any, n: int) -> bool:
    return value is None or is_vector(value, n)


def is_positive(value: Any, n: int) -> bool:
    return value is None or (is_vector(value, n) and bool((value > 0).all()))


def is_nonnegative(value: Any, n: int) -> bool:
    return value is None or (is_vector(value, n) and bool((value >= 0).all()))


def is_scalar_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def is_sample_count(value: Any, n: int) -> bool:
    """The number of rows seen, of all features or of each; a sum of weights is a float."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "if" and value.shape == (n,) and bool((np.isfinite(value) & (value >= 0)).all())
    return type(value) in (int, float) and 0 <= value < 1 << 62


def is_statistics(value: Any, n: int) -> bool:
    """What replaces missing values: numbers or text, where NaN marks a feature that is left out."""
    if not isinstance(value, np.ndarray) or value.shape != (n,):
        return False
    if value.dtype.kind in "OU":
        found = [each for each in value.tolist() if not is_scalar_nan(each)]
        return all(type(each) is str for each in found) or all(type(each) in (int, float) for each in found)
    return value.dtype.kind in "fiu" and not np.isinf(value).any()


def is_dtype(value: Any, n: int) -> bool:
    return isinstance(value, np.dtype) and value.kind in "fiubOU"


def are_categories(value: Any, n: int) -> bool:
    """The sorted categories of each feature: numbers or text; the last may be missing, text also twice: None, NaN."""
    return type(value) is list and len(value) == n and all(map(_is_category, value))


def _is_category(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or not len(value):
        return False
    if value.dtype.kind in "OU":
        text = value.tolist()
        for is_missing in (is_scalar_nan, lambda each: each is None):
            if text and is_missing(text[-1]):
                text.pop()
        return all(type(each) is str for each in text) and len(set(text)) == len(text)
    numbers = value[:-1] if value.dtype.kind == "f" and np.isnan(value[-1]) else value
    return value.dtype.kind in "fiub" and bool(np.isfinite(numbers).all()) and len(np.unique(numbers)) == len(numbers)


def is_word_list(value: Any, n: int) -> bool:
    """A vocabulary: each word with its place."""
    if type(value) is not dict or not value or not all(type(word) is str for word in value):
        return False
    return all(type(place) is int and place == at for at, place in enumerate(value.values()))


def is_flag(value: Any, n: int) -> bool:
    return type(value) is bool


def is_counts(value: Any, n: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.int64 and value.ndim == 1 and bool((value >= 0).all())


def is_weights(value: Any, n: int) -> bool:
    """The idf of each word; infinite for a word in no document if it is not smoothed."""
    return _floats(value) and value.ndim == 1 and bool((value >= 0).all())


def is_weight_of_each(value: Any, n: int) -> bool:
    return is_weights(value, n) and len(value) == n


def are_column_names(value: Any, n: int) -> bool:
    columns = type(value) is dict and all(type(key) is int and 0 <= key < 1 << 31 for key in value)
    return columns and all(isinstance(name, str) for name in value.values())


def _floats(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in (np.float64, np.float32)


# --- derived attributes ------------------------------------------------------------------------------------------------------


def _derive_polynomial(made: Any) -> None:
    from scipy.sparse import csr_array

    names = made.__dict__.get("feature_names_in_")
    made.fit(csr_array((1, made.n_features_in_)))  # an empty row takes no memory
    if names is not None:
        made.feature_names_in_ = names
    require(made.n_output_features_ <= MAX_POLYNOMIALS, f"it makes more than {count(MAX_POLYNOMIALS)} features")


def _derive_one_hot(made: Any) -> None:
    made._infrequent_enabled = False
    made._set_drop_idx()
    made._n_features_outs = made._compute_n_features_outs()


def _derive_ordinal(made: Any) -> None:
    made._infrequent_enabled = False
    made._missing_indices = {
        place: len(values) - 1 for place, values in enumerate(made.categories_) if is_scalar_nan(values[-1])
    }


def _derive_imputer(made: Any) -> None:
    made.indicator_ = None


def _derive_tfidf(made: Any) -> None:
    """The idf of a `TfidfVectorizer` is that of a transformer inside it."""
    from sklearn.feature_extraction.text import TfidfTransformer

    idf = made.__dict__.pop("idf", None)
    require((idf is not None) == bool(made.use_idf), "the idf is missing, or not used")
    made._tfidf = TfidfTransformer(
        norm=made.norm, use_idf=made.use_idf, smooth_idf=made.smooth_idf, sublinear_tf=made.sublinear_tf
    )
    made._tfidf.n_features_in_ = len(made.vocabulary_)
    if idf is not None:
        require(len(idf) == len(made.vocabulary_), "the idf has another length than the vocabulary")
        made._tfidf.idf_ = idf


def _derive_vocabulary(made: Any) -> None:
    from ..preprocessing.text.gram_tables import make_table

    require(len(made.counts_) == len(made.vocabulary_), "the counts have another length than the vocabulary")
    made._table = make_table(made.vocabulary_)


def _derive_hasher(made: Any) -> None:
    from ..preprocessing.text.hasher import NAMING_PARAMETERS

    if "names_" in vars(made):
        require(all(column < made.n_features for column in made.names_), "a name belongs to no column")
        made._named_for = tuple(getattr(made, name) for name in NAMING_PARAMETERS)


def _nothing(made: Any) -> None:
    pass


# --- the table ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transformer:
    """A class that a file may rebuild."""

    module: str
    fitted: dict[str, Check] = field(default_factory=dict)  # attributes that are stored, besides n_features_in_ and names
    derived: tuple[str, ...] = ()  # attributes that are not stored
    check: Callable[[Any], None] = _nothing  # of the parameters
    derive: Callable[[Any], None] = _nothing
    columns: bool = True  # whether its input has columns, of which it knows the number
    optional: tuple[str, ...] = ()  # attributes that a fit may leave out

    @property
    def private(self) -> bool:
        """Whether its state has parts that other versions of scikit-learn may not have."""
        names = {*self.fitted, *self.derived} - {"_stop_words_id"}  # the last is not restored
        return any(name.startswith("_") for name in names) and self.module.startswith("sklearn.")

    def load(self, name: str) -> Any:
        """Import the class, which is one of the table below."""
        if name == "TextHasher":
            from ..preprocessing.text.hasher import TextHasher

            return TextHasher
        if name == "Vocabulary":
            from ..preprocessing.text.vocabulary import Vocabulary

            return Vocabulary
        from sklearn import impute, preprocessing
        from sklearn.feature_extraction import text

        return getattr({_SCALERS: preprocessing, _TEXT: text, "sklearn.impute": impute}[self.module], name)

    def find_problem(self, made: Any) -> str | None:
        """Return why these parameters cannot be stored or loaded, or None."""
        return parameters.find_problem(made, self.check)


_SCALERS, _TEXT = "sklearn.preprocessing", "sklearn.feature_extraction.text"
_WORDS: dict[str, Check] = {"vocabulary_": is_word_list, "fixed_vocabulary_": is_flag}
TRANSFORMERS = {
    "StandardScaler": Transformer(
        _SCALERS,
        {"n_samples_seen_": is_sample_count, "mean_": is_vector_or_none, "var_": is_nonnegative, "scale_": is_positive},
    ),
    "MinMaxScaler": Transformer(
        _SCALERS,
        {"n_samples_seen_": is_sample_count}
        | dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), is_vector),
    ),
    "MaxAbsScaler": Transformer(
        _SCALERS, {"n_samples_seen_": is_sample_count, "max_abs_": is_nonnegative, "scale_": is_positive}
    ),
    "RobustScaler": Transformer(_SCALERS, {"center_": is_vector_or_none, "scale_": is_positive}),
    "Normalizer": Transformer(_SCALERS),
    "Binarizer": Transformer(_SCALERS),
    "PolynomialFeatures": Transformer(
        _SCALERS, derived=("n_output_features_", "_min_degree", "_max_degree", "_n_out_full"), derive=_derive_polynomial,
    ),
    "OneHotEncoder": Transformer(
        _SCALERS, {"categories_": are_categories}, check=parameters.check_one_hot, derive=_derive_one_hot,
        derived=("_infrequent_enabled", "drop_idx_", "_drop_idx_after_grouping", "_n_features_outs"),
    ),
    "OrdinalEncoder": Transformer(
        _SCALERS, {"categories_": are_categories}, ("_infrequent_enabled", "_missing_indices"), parameters.check_ordinal,
        _derive_ordinal,
    ),
    "FunctionTransformer": Transformer(_SCALERS, check=parameters.check_function),
    "SimpleImputer": Transformer(
        "sklearn.impute", {"statistics_": is_statistics, "_fit_dtype": is_dtype, "_fill_dtype": is_dtype}, ("indicator_",),
        parameters.check_imputer, _derive_imputer,
    ),
    "TfidfTransformer": Transformer(_TEXT, {"idf_": is_weight_of_each}, optional=("idf_",)),
    "CountVectorizer": Transformer(_TEXT, _WORDS, ("_stop_words_id",), parameters.check_text, columns=False),
    "TfidfVectorizer": Transformer(
        _TEXT, _WORDS | {"idf": is_weights}, ("_stop_words_id", "_tfidf"), parameters.check_text, _derive_tfidf, columns=False,
        optional=("idf",),
    ),
    "HashingVectorizer": Transformer(_TEXT, derived=("_stop_words_id",), check=parameters.check_text, columns=False),
    "TextHasher": Transformer(
        "rosenblatt.preprocessing.text.hasher", {"names_": are_column_names}, ("_stop_words_id", "_named_for"),
        parameters.check_hasher, _derive_hasher, columns=False, optional=("names_",),
    ),
    "Vocabulary": Transformer(
        "rosenblatt.preprocessing.text.vocabulary", {"vocabulary_": is_word_list, "counts_": is_counts}, ("_table",),
        parameters.check_vocabulary, _derive_vocabulary, columns=False,
    ),
}  # fmt: skip


def features_made(step: Any, width: int | None) -> int | None:
    """The number of features that a fitted step makes of `width` features; None if it is not known."""
    kind = type(step).__name__
    if step == "drop":
        return 0
    if kind == "Pipeline":
        for _, one in step.steps:
            width = features_made(one, width)
        return width
    if kind == "FeatureUnion":
        made = [features_made(one, width) for _, one in step.transformer_list]
        return None if None in made else sum(each or 0 for each in made)
    if kind == "ColumnTransformer":
        return max(int(part.stop) for part in step.output_indices_.values())
    if kind == "SimpleImputer" and not step.keep_empty_features:
        return sum(not is_scalar_nan(each) for each in step.statistics_.tolist())
    if kind == "OneHotEncoder":
        return int(sum(step._n_features_outs))
    known = {"PolynomialFeatures": "n_output_features_", "HashingVectorizer": "n_features", "TextHasher": "n_features"}
    if "vocabulary_" in getattr(step, "__dict__", {}):
        return len(step.vocabulary_)
    return getattr(step, known.get(kind, "n_features_in_"), width)


def transformer_of(value: object) -> Transformer | None:
    """The entry of an object's class, without importing it."""
    name, module = type(value).__name__, type(value).__module__
    entry = TRANSFORMERS.get(name)
    if entry is None:
        return None
    ours = module == entry.module or module.startswith(f"{entry.module}.")
    return entry if ours and entry.load(name) is type(value) else None
