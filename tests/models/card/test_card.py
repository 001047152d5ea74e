"""Model cards: they agree with what training printed, name what is unknown, and refuse forged records."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_markdown import rendered

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.models.card.record import record_from_json
from rosenblatt.models.state import model_of

FILES = Path(__file__).parents[1] / "files"
SECTIONS = ["What it predicts", "Data", "Algorithm", "Test", "Heaviest features", "Limits", "Origin"]


def trained(folder: Path, *options: Any, data: Any = "example:iris") -> tuple[rb.Model, dict[str, Any]]:
    """The model of `rosenblatt train DATA OPTIONS`, and what it printed as JSON."""
    path = folder / "m.safetensors"
    found = rosenblatt("train", data, "-o", path, "--json", *options)
    assert found.code == 0, found.err
    model = rb.load(path)
    assert isinstance(model, rb.Model)
    return model, found.json


def sections(card: str) -> dict[str, str]:
    parts = re.split(r"^## (.*)\n", card, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(
    ("options", "how", "noun"),
    [
        ((), "held out, 20 % of each class (seed 0)", "tested rows"),
        (("--cv", 4), "Tested by 4 folds of the training rows (seed 0)", "tested rows"),
        (("--test", "example:iris"), "Tested on the file `example:iris`, **which is the training file**", "tested rows"),
        (("--holdout", 0), "The model was not tested", "training rows"),
    ],
)
def test_a_card_has_the_numbers_that_training_printed(tmp_path: Path, options: Any, how: str, noun: str) -> None:
    model, printed = trained(tmp_path, "-a", "average", *options)
    card = sections(model.card())
    assert how in card["Test"]
    tested = printed["test"] or printed["training"]
    if printed["folds"]:
        tested = {name: sum(fold[name] for fold in printed["folds"]) for name in ("rows", "errors")}
    assert (
        f"| {noun} | {100 * tested['errors'] / tested['rows']:.2f} % ({tested['errors']} of {tested['rows']}) |" in card["Test"]
    )
    assert f"always `setosa` | {100 * printed['baseline']['error']:.2f} %" in card["Test"]
    recall = dict(re.findall(r"^\| `(\w+)` \| \d+ \| \S+ % \| ([\d.]+) % \|", card["Test"], re.MULTILINE))
    assert {name: float(share) for name, share in recall.items()} == pytest.approx(
        {name: 100 * share for name, share in printed["recall"].items()}, abs=0.06
    )
    confusion = re.findall(r"^\| `\w+` \| (\d+) \| (\d+) \| (\d+) \|$", card["Test"], re.MULTILINE)
    counts = np.array(confusion, int)
    assert (counts.sum(), counts.sum() - np.trace(counts)) == (tested["rows"], tested["errors"])
    for sentence in printed["warnings"]:
        assert sentence in card["What was noticed"]


def test_a_card_of_a_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["id,day,income,city,label"]
    for row in range(120):
        income, city = int(rng.integers(1000, 9000)), ["rome", "bonn"][int(rng.integers(2))]
        label = "rich" if income > 5000 else "poor"
        lines.append(f"{row},2024-01-{1 + row % 28:02d},{'' if row == 7 else income},{city},{label}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    model, printed = trained(tmp_path, "--holdout", 0.25, "--certify", data=tmp_path / "rows.csv")
    card = sections(model.card())
    assert set(SECTIONS) <= set(card)
    assert "Column `label`: `poor` (" in card["What it predicts"]
    assert f"`{model.provenance['sha256']}`" in card["Data"]
    assert "dates, read as days since 1970: day" in card["Data"] or "Dates, read as days since 1970: 'day'" in card["Data"]
    assert "| `day` | 2024-01-01 | 2024-01-28 | 0 |" in card["Limits"]
    assert re.search(r"\| `income` \| 1,\d+ \| 8,\d+ \| 1 \|", card["Limits"])
    assert re.search(r"Category `city`: `(rome|bonn)` \(\d+\), `(rome|bonn)` \(\d+\)", card["Limits"])
    assert any("'id'" in note for note in printed["notes"])
    assert "Column 'id'" in card["What was noticed"]
    quality = printed["probabilities"]
    assert f"log loss {quality['log_loss']:.4f}, Brier score {quality['brier']:.4f}" in card["Test"]
    assert printed["proof"].splitlines()[0] in card["Proof"]
    assert re.search(r"^Trained by `rosenblatt\b", card["Origin"], re.MULTILINE)


@pytest.mark.parametrize("algorithm", ["vote", "pocket", "soft-margin", "linear-mse", "logistic"])
def test_every_kind_of_model_has_a_card(tmp_path: Path, algorithm: str) -> None:
    model, _ = trained(tmp_path, "-a", algorithm)
    card = sections(model.card())
    assert set(SECTIONS) <= set(card)
    assert ("the hypotheses of the run vote" in card["Heaviest features"]) == (algorithm == "vote")
    assert ("Intercept: " in card["Heaviest features"]) == (algorithm != "vote")
    assert ("Its scores are not probabilities" in card["Limits"]) == (algorithm != "logistic")


def test_many_classes_keep_the_counts_that_fit(tmp_path: Path) -> None:
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(40), 6)
    rows = np.column_stack([rng.normal(size=(240, 3)) + labels[:, None], labels])
    (tmp_path / "rows.csv").write_text("\n".join(",".join(map(str, row)) for row in rows.tolist()))
    model, _ = trained(tmp_path, "-a", "average", "--holdout", 0.2, data=tmp_path / "rows.csv")
    record = record_from_json(model.provenance["training"])
    assert record is not None
    assert record.training.confusion is None
    assert record.training.classes is not None
    assert len(record.training.classes) == 40
    test = sections(model.card())["Test"]
    assert "The 30 classes with the lowest recall" in test
    assert "True class down" not in test


def test_what_is_not_stored_is_unknown() -> None:
    model = model_of(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]))
    card = sections(model.card())
    assert "Unknown: the file stores no test" in card["Test"]
    assert "| SHA-256 | unknown |" in card["Data"]
    assert "The command that trained it is unknown." in card["Origin"]
    assert "It is unknown whether the model was tested." in card["Limits"]


@pytest.mark.parametrize(
    "path", sorted(set(FILES.glob("*.safetensors")) - set(FILES.glob("*pipeline*"))), ids=lambda path: path.stem
)
def test_models_of_earlier_versions_have_a_card(path: Path, tmp_path: Path) -> None:
    found = rosenblatt("show", path, "--card", tmp_path / "card.md")
    assert found.code == 0
    assert "Unknown: the file stores no test" in (tmp_path / "card.md").read_text(encoding="utf-8")


def test_names_from_the_file_are_no_markup(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    head = ["a|b", "<script>alert(1)</script>", "`tick`", "*bold*", "[x](http://evil.example)\n# big", "la|bel"]
    with (tmp_path / "<i>rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for _ in range(80):
            x, y, kind = rng.random(), rng.random(), ["<b>r</b>", "`b`|", "# g"][int(rng.integers(3))]
            writer.writerow([x, y, 1, kind, "" if x < 0.1 else y, "<img src=x>" if x + y > 1 else "no | `x`"])
    model, _ = trained(tmp_path, data=tmp_path / "<i>rows.csv")
    shown, tags = rendered(model.card())
    allowed = {"h1", "h2", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "strong"}
    assert tags <= allowed
    for name in (
        "a|b",
        "<script>alert(1)</script>",
        "`tick`",
        "*bold*=<b>r</b>",
        r"[x](http://evil.example)\n# big",
        "<img src=x>",
    ):
        assert name in shown


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("notes"),
        lambda record: record.update(more=1),
        lambda record: record.update(notes="x"),
        lambda record: record.update(notes=[1]),
        lambda record: record["training"].update(rows=-1),
        lambda record: record["training"].update(rows=True),
        lambda record: record["training"].update(errors=10**9),
        lambda record: record["training"].update(interval=[0.1]),
        lambda record: record["training"].update(classes=[[1, 2]]),
        lambda record: record["training"].update(confusion=[[1, 2]]),
        lambda record: record["training"].update(confusion=[[1]]),
        lambda record: record["test"].update(by="magic"),
        lambda record: record["test"].update(folds=[[1, 2, 3]]),
        lambda record: record["test"].update(is_training_file=0),
        lambda record: record["baseline"].update(label=None),
        lambda record: record.update(probabilities={"brier": 0.1}),
        lambda record: record.update(proof=3),
    ],
)
def test_a_forged_record_is_refused(tmp_path: Path, iris: tuple[rb.Model, dict[str, Any]], change: Any) -> None:
    model, _ = iris
    record = json.loads(json.dumps(model.provenance["training"]))
    change(record)
    rb.save(replace(model, provenance={**model.provenance, "training": record}), tmp_path / "forged.safetensors")
    with pytest.raises(rb.ModelError, match="the record of the training is invalid"):
        rb.load(tmp_path / "forged.safetensors")


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> tuple[rb.Model, dict[str, Any]]:
    return trained(tmp_path_factory.mktemp("card"), "-a", "logistic")


def test_a_record_of_a_larger_test_does_not_fit_other_classes(iris: tuple[rb.Model, dict[str, Any]]) -> None:
    """A record may list other numbers of classes than the model has: the card then shows the totals alone."""
    model, _ = iris
    record = json.loads(json.dumps(model.provenance["training"]))
    record["test"]["counts"]["classes"] = [[1, 1, 1]]
    record["test"]["counts"]["confusion"] = None
    record["training"] |= {"classes": [[1, 1, 1]], "confusion": None}
    card = replace(model, provenance={**model.provenance, "training": record}).card()
    assert "| class |" not in sections(card)["Test"]


def test_show_prints_intercepts_and_writes_the_card(tmp_path: Path, iris: tuple[rb.Model, dict[str, Any]]) -> None:
    model, _ = iris
    rb.save(model, tmp_path / "iris.safetensors")
    card = tmp_path / "iris.md"
    found = rosenblatt("show", tmp_path / "iris.safetensors", "--card", card)
    assert card.read_text(encoding="utf-8") == rb.load(tmp_path / "iris.safetensors").card()  # type: ignore[union-attr]
    assert re.search(r"^card +.*iris\.md$", found.out, re.MULTILINE)
    assert re.search(r"^intercepts +setosa \S+, versicolor \S+, virginica \S+$", found.out, re.MULTILINE)
    assert re.search(r"^test +error .* of 30 held-out rows wrong\), 95 % interval", found.out, re.MULTILINE)
    as_json = rosenblatt("show", tmp_path / "iris.safetensors", "--json").json
    assert model.intercept is not None
    assert [each["intercept"] for each in as_json["intercepts"]] == model.intercept.tolist()
    assert [each["class"] for each in as_json["intercepts"]] == model.classes.tolist()
    refused = rosenblatt("show", tmp_path / "iris.safetensors", "--card", tmp_path / "iris.txt")
    assert (refused.code, refused.err) == (2, f"rosenblatt: {tmp_path / 'iris.txt'}: the file name must end with .md\n")


def test_ranges_are_written_as_in_the_file_and_a_test_file_has_its_digest(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(60):
        rate, price, member = int(rng.integers(1, 99)), int(rng.integers(1000, 9999)), rng.random() < 0.5
        lines.append(f"{rate}%,${price:,}".replace(",", ";", 1) + f";{str(member).lower()};{'yes' if rate > 50 else 'no'}")
    for name, part in (("train.csv", lines[:40]), ("test.csv", lines[40:])):
        (tmp_path / name).write_text("\n".join(["rate;price;member;label", *part]) + "\n")
    model, _ = trained(tmp_path, "--test", tmp_path / "test.csv", "-a", "average", data=tmp_path / "train.csv")
    card = sections(model.card())
    assert hashlib.sha256((tmp_path / "test.csv").read_bytes()).hexdigest() in card["Test"]
    assert re.search(r"^\| `rate` \| \d+% \| \d+% \| 0 \|$", card["Limits"], re.MULTILINE)
    assert re.search(r"^\| `price` \| \\\$1,\d{3} \| \\\$9,\d{3} \| 0 \|$", card["Limits"], re.MULTILINE)
    assert "| `member` | false | true | 0 |" in card["Limits"]
