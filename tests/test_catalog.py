"""One entry in the catalog is all that an algorithm needs to be seen everywhere."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

import rosenblatt as rb
import toy_algorithm
from commands import rosenblatt
from rosenblatt.catalog import (
    ALGORITHMS,
    APPLICATION_HOOKS,
    ESTIMATORS,
    SHARED_OPTIONS,
    Algorithm,
    application_hook,
    command_line_options,
    is_estimator,
)
from rosenblatt.data.problem import make_problem
from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.online import OnlineClassifier
from rosenblatt.kernels.linear.rules import threshold
from rosenblatt.losses import Objective
from rosenblatt.online.history import Init
from rosenblatt.studio.menu import knobs_of, parameter_type

X, Y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 0, 0, 1])


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(ESTIMATORS, "BoldPerceptron", toy_algorithm.ENTRY)
    monkeypatch.setitem(ALGORITHMS, "bold", toy_algorithm.BOLD)
    # Options are made when the command is imported.
    train = importlib.import_module("rosenblatt.cli.train")
    importlib.reload(train)
    yield
    monkeypatch.undo()
    importlib.reload(train)
    vars(rb).pop("BoldPerceptron", None)


@pytest.mark.usefixtures("toy")
def test_a_new_algorithm_is_a_public_name() -> None:
    assert "BoldPerceptron" in dir(rb)
    assert rb.BoldPerceptron is toy_algorithm.BoldPerceptron  # type: ignore[attr-defined]


@pytest.mark.usefixtures("toy")
def test_a_new_algorithm_comes_back_from_its_file(tmp_path: Path) -> None:
    model = ALGORITHMS["bold"].make().fit(X, Y)
    assert is_estimator(model)
    rb.save(model, tmp_path / "bold.safetensors")
    loaded = rb.load(tmp_path / "bold.safetensors")
    assert type(loaded) is toy_algorithm.BoldPerceptron
    assert (loaded.boldness, loaded.coef_.tolist()) == (3.0, model.coef_.tolist())
    assert rb.Model.__name__ == type(importlib.import_module("rosenblatt.models.state").model_of(model)).__name__


@pytest.mark.usefixtures("toy")
def test_a_new_algorithm_is_trained_and_compared_from_the_command_line(tmp_path: Path) -> None:
    target = tmp_path / "bold.safetensors"
    found = rosenblatt("train", "example:iris", "--algorithm", "bold", "--boldness", "0.5", "-o", target, "--json").json
    assert (found["algorithm"], found["estimator"]) == ("bold", "BoldPerceptron")
    assert rb.load(target).parameters["boldness"] == 0.5
    compared = rosenblatt("compare", "example:iris", "--json").json
    assert "bold" in [row["algorithm"] for row in compared["entries"]]


def test_a_new_online_learner_can_be_streamed() -> None:
    assert toy_algorithm.BoldPerceptron()._streaming_obstacle() is None


def test_algorithms_declare_that_they_take_long_on_many_rows() -> None:
    made = {name: algorithm.make() for name, algorithm in ALGORITHMS.items()}
    assert [name for name, model in made.items() if model._scans_for_each_update] == ["mistakes"]
    assert {name for name, model in made.items() if model._has_quadratic_time} == {"max-margin", "mistakes", "pocket"}


@pytest.mark.usefixtures("toy")
def test_a_new_algorithm_is_in_the_menu_of_the_page_and_runs_there() -> None:
    from rosenblatt.studio.answers import run
    from rosenblatt.studio.menu import menu

    (entry,) = [entry for entry in menu() if entry["name"] == "bold"]
    assert (entry["title"], entry["group"], entry["summary"]) == ("Bold perceptron", "Perceptron", "Takes longer steps.")
    knobs = {knob["name"]: knob for knob in entry["knobs"]}
    assert list(knobs) == ["boldness", "order", "max_updates", "max_iter", "multiclass", "fit_intercept"]
    choices = {name: [choice["value"] for choice in knob["choices"]] for name, knob in knobs.items() if knob["choices"]}
    assert choices == {"order": ["cyclic", "permuted"], "multiclass": ["joint", "ovr"]}
    boldness = {"title": "boldness", "help": "The step.", "kind": "number", "default": 3.0, "optional": False}
    assert boldness.items() <= knobs["boldness"].items()
    points = {"points": X.tolist(), "labels": Y.tolist(), "algorithm": "bold"}
    recorded, other = run(points), run(points | {"knobs": {"boldness": 0.5}})
    assert recorded["title"] == "Bold perceptron"
    assert "boldness=3.0" in recorded["code"]
    assert "boldness=0.5" in other["code"]
    assert recorded["log"] != other["log"]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("margin", "title"),
    [(0.0, "perceptron loss, Σ max(0, −m)"), (1.0, "hinge loss, Σ max(0, 1 − m)"), (None, None)],  # noqa: RUF001
)
def test_the_loss_of_a_new_algorithm_follows_the_margin_of_its_entry(
    monkeypatch: pytest.MonkeyPatch, margin: float | None, title: str | None
) -> None:
    from rosenblatt.studio.curves import objective_of

    monkeypatch.setitem(ESTIMATORS, "BoldPerceptron", dataclasses.replace(toy_algorithm.ENTRY, margin=margin))
    objective = objective_of(ALGORITHMS["bold"].make().fit(X, Y))
    expected = [0.0, 0.0, 0.0] if margin is None else [margin + 1.0, margin, 0.0]
    assert (objective.title, objective.loss(np.array([-1.0, 0.0, 2.0])).tolist()) == (title, expected)


@pytest.mark.usefixtures("toy")
def test_the_loss_of_a_new_algorithm_is_the_objective_that_its_class_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    from rosenblatt.studio.curves import objective_of

    model = ALGORITHMS["bold"].make().fit(X, Y)
    monkeypatch.setattr(type(model), "_minimized", lambda self: Objective(rb.losses.LINEAR_MSE, penalty=0.25))
    objective = objective_of(model)
    assert (objective.title, objective.penalty) == ("squared error, Σ (1 − m)² + 0.25|w|²", 0.25)  # noqa: RUF001
    assert objective.loss(np.array([-1.0, 0.0, 2.0])).tolist() == [4.0, 1.0, 1.0]


@pytest.mark.usefixtures("toy")
def test_a_new_algorithm_is_among_the_benchmarks() -> None:
    algorithms = pytest.importorskip("benchmarks.algorithms", reason="benchmarks are in the checkout only")
    assert "bold" in [row["algorithm"] for row in algorithms.measure(rows=60, columns=3, repeats=1)]


@pytest.mark.usefixtures("toy")
def test_a_new_algorithm_passes_the_contract_of_all_algorithms() -> None:
    every: Any = importlib.import_module("test_every_algorithm")
    assert ("bold", "ovr") in every.schemes_of("bold")
    assert every.is_online("bold")
    for name, test in vars(every).items():
        if name.startswith("test_") and "given_three_times" not in name:
            test(**{"name": "bold", "scheme": "ovr"} if "scheme" in inspect.signature(test).parameters else {"name": "bold"})
    contracts: Any = importlib.import_module("test_logs")
    make = contracts.maker(ALGORITHMS["bold"], "joint")
    given = {"name": "bold", "make": make, "scheme": "joint", "dtype": "float64", "pack": np.asarray}
    tests = [test for name, test in vars(contracts).items() if name.startswith("test_")]
    assert len(tests) >= 6
    for test in tests:
        test(**{name: given[name] for name in inspect.signature(test).parameters})


# --- the entries that are there --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_entry_declares_what_its_estimator_is(name: str) -> None:
    entry = ESTIMATORS[name]
    estimator = entry.load(name)
    assert issubclass(estimator, LinearClassifier)
    assert (entry.state == "run") == issubclass(estimator, OnlineClassifier)
    if issubclass(estimator, OnlineClassifier):
        rule = estimator()._rule(make_problem(X, Y, 2))
        least = threshold(rule, 0.0, 1)  # `rule.margin`, or the least that a threshold of the rule's own can be
        assert (least if np.isfinite(least) else None) == pytest.approx(entry.margin)
    assert len([base for base in estimator.__mro__ if issubclass(base, LinearClassifier)]) <= 3  # itself, two levels
    parameters = inspect.signature(estimator).parameters.values()
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_choices_on_the_page_are_those_of_the_class(name: str) -> None:
    algorithm = ALGORITHMS[name]
    for knob in knobs_of(algorithm).values():
        if knob.kind == "choice" and knob.name in algorithm.options and knob.name != "init":  # init may be an array
            annotation = parameter_type(algorithm.estimator, knob.name)
            assert get_origin(annotation) is Literal
            accepted = [word for word in get_args(annotation) if knob.name != "multiclass" or accepts(algorithm, word)]
            assert [word for word, _ in knob.choices] == accepted
            assert len(accepted) >= 2


def accepts(algorithm: Algorithm, scheme: str) -> bool:
    """Whether the algorithm has the scheme: the multinomial loss is logistic, that of Crammer and Singer is the hinge."""
    return (algorithm.parameters.get("loss", "hinge"), scheme) not in {
        ("hinge", "multinomial"), ("logistic", "crammer_singer"),
    }  # fmt: skip


def words_of(annotation: Any) -> list[str]:
    """The words that a parameter of this type accepts; "none" is None."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    if annotation is NoneType:
        return ["none"]
    return [word for each in get_args(annotation) for word in words_of(each)]


@pytest.mark.parametrize("name", [name for name, option in command_line_options().items() if option.words])
def test_the_words_of_an_option_are_those_of_the_classes_that_have_the_parameter(name: str) -> None:
    option = command_line_options()[name]
    classes = [entry.load(each) for each, entry in ESTIMATORS.items()]
    types = [parameter_type(each, name) for each in classes if name in inspect.signature(each).parameters]
    assert types
    if name == "init":  # or an array, whose type only type checkers import there
        types = [Init]
    assert Any not in types
    accepted = [words_of(each) for each in types]
    for words in accepted:
        assert [word for word in words if word != "none"] == [word for word in option.words if word in words and word != "none"]
    assert set(option.words) <= {word for words in accepted for word in words}


def test_every_parameter_that_a_file_can_set_is_an_option() -> None:
    unset = {"keep", "update", "certify", "log", "random_state", "verbose", "warm_start"}  # the algorithm's, or another option
    names = {name for algorithm in ALGORITHMS.values() for name in algorithm.options}
    assert names - unset == set(command_line_options())
    own = [option for entry in ESTIMATORS.values() for option in entry.options]
    assert len({*own, *SHARED_OPTIONS}) == len(own) + len(SHARED_OPTIONS)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_that_is_logged_leaves_a_log(name: str) -> None:
    algorithm = ALGORITHMS[name]
    model: Any = algorithm.make().fit(X, Y)
    assert algorithm.logged == (getattr(model, "log_", None) is not None)


# --- applications ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", APPLICATION_HOOKS)
def test_what_an_application_provides_is_there(name: str) -> None:
    module, attribute = APPLICATION_HOOKS[name].split(":")
    assert module.split(".")[1] == "models" if name == "explain" else module.split(".")[1] in ("mail", "studio")
    assert application_hook(name).__name__ == attribute


def test_modules_are_imported_by_name_in_a_few_places_only() -> None:
    """The import contract does not see such imports, so they must not be used to go round it."""
    home = Path(rb.__file__).parent
    found = {path.relative_to(home).as_posix() for path in home.rglob("*.py") if "import_module(" in path.read_text()}
    assert found == {"__init__.py", "catalog.py", "cli/__init__.py", "mail/__init__.py"}


# --- parameters and ways


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_no_attribute_with_the_name_of_a_parameter_it_lacks(name: str) -> None:
    estimators = {each: entry.load(each) for each, entry in ESTIMATORS.items()}
    parameters = {each: set(inspect.signature(estimator).parameters) for each, estimator in estimators.items()}
    others = set().union(*parameters.values()) - parameters[name]
    made = estimators[name]()
    assert [each for each in sorted(others) if hasattr(made, each)] == []
    # A type checker rejects them, too.
    declared = {each for base in estimators[name].__mro__ for each in vars(base).get("__annotations__", {})}
    assert sorted(others & declared) == []


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_way_of_an_algorithm(name: str) -> None:
    batch = {"batch", "batch-mean", "nonlinear-mse-batch"}
    solvers = {"max-margin", "soft-margin", "logistic", "linear-mse", "ridge", "nonlinear-mse", "logistic-mse"}
    assert ALGORITHMS[name].make()._way == ("batch" if name in batch else "solver" if name in solvers else "online")
