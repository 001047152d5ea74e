"""`rosenblatt explain`: the printed numbers sum to the score, and the printed changes, typed into the file, change it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from commands import rosenblatt
from rosenblatt.reporting.charts import Chart, HorizontalBars
from rosenblatt.reporting.svg import svg

HEADER = "age,income,city,label"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(model, data)"""
    folder = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(0)
    age, income = rng.integers(18, 80, 200), rng.integers(10_000, 90_000, 200)
    city = np.array(["rome", "bonn", "oslo"])[rng.integers(0, 3, 200)]
    label = np.where(age * 800 + income + 9000 * (city == "oslo") > 90_000, "yes", "no")
    lines = [",".join(map(str, row)) for row in zip(age, income, city, label, strict=True)]
    (folder / "rows.csv").write_text("\n".join([HEADER, *lines]) + "\n")
    assert rosenblatt("train", folder / "rows.csv", "--scale", "standard", "-o", folder / "m.safetensors").code == 0
    return folder / "m.safetensors", folder / "rows.csv"


def test_what_is_printed(files: tuple[Path, Path]) -> None:
    model, data = files
    found = rosenblatt("explain", model, data, "--row", 7)
    assert found.code == 0
    lines = found.out.splitlines()
    line, label = data.read_text().splitlines()[7], rosenblatt("predict", model, data).out.splitlines()[6]
    assert lines[0].endswith(f"7 of {data} (line 8)")
    assert re.search(rf"prediction +{label} \(labeled {line.rpartition(',')[2]}\)", found.out)
    amounts = [float(number) for number in re.findall(r"(?:=.*?|intercept) +([+-]\d+\.\d+)", found.out)]
    score = float(re.search(r"score +(-?[\d.]+)", found.out)[1])  # type: ignore[index]
    assert len(amounts) == 4
    assert sum(amounts) == pytest.approx(score, abs=0.005 * max(map(abs, amounts)))
    assert "for yes (+) or no (-)" in found.out


def test_a_printed_change_typed_into_the_file_changes_the_prediction(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    lines = data.read_text().splitlines()
    changed, expected = [HEADER], []
    for row in range(1, 40):
        out = rosenblatt("explain", model, data, "--row", row).out
        for column, _, new, label in re.findall(r"^  (\w+) +(\S+) -> (\S+): (\w+)", out, re.MULTILINE):
            cells = lines[row].split(",")
            cells[HEADER.split(",").index(column)] = new.replace(",", "")
            changed.append(",".join(cells))
            expected.append(label)
    (tmp_path / "changed.csv").write_text("\n".join(changed) + "\n")
    assert len(expected) > 60
    assert rosenblatt("predict", model, tmp_path / "changed.csv").out.splitlines() == expected


def test_figures_and_json(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    found = rosenblatt("explain", model, data, "--json", "--figure", tmp_path / "f.svg").json
    assert found["intercept"] + sum(part["amount"] for part in found["features"]) == pytest.approx(found["score"])
    assert {"row", "true", "label", "columns", "changes", "joint_change"} <= set(found)
    drawn = (tmp_path / "f.svg").read_text()
    assert "Why row 1 is predicted as" in drawn
    assert all(name in drawn for name in ("age = ", "income = ", "city = ", "intercept"))
    refused = rosenblatt("explain", model, data, "--figure", tmp_path / "f.gif")
    assert "a figure is written as .png, .svg, .pdf" in refused.err


def test_products_and_words(files: tuple[Path, Path], tmp_path: Path) -> None:
    _, data = files
    squares = tmp_path / "squares.safetensors"
    assert rosenblatt("train", data, "--degree", 2, "-o", squares).code == 0
    found = rosenblatt("explain", squares, data, "--single", "-n", 30)
    assert re.search(r"^age income +[+-]", found.out, re.MULTILINE)
    assert "All numeric columns together" not in found.out
    texts = ["free money", "win money free", "see you soon", "lunch you soon"] * 6
    rows = "\n".join(f"{text},{'spam' if 'money' in text else 'ham'}" for text in texts)
    (tmp_path / "texts.csv").write_text(f"text,label\n{rows}\n")
    assert rosenblatt("train", tmp_path / "texts.csv", "--text", "text", "-o", tmp_path / "t.safetensors").code == 0
    found = rosenblatt("explain", tmp_path / "t.safetensors", tmp_path / "texts.csv")
    assert re.search(r"^words +weight", found.out, re.MULTILINE)
    assert "text:money" in found.out
    assert re.search(r"^  text  without '[\w ]+': ham", found.out, re.MULTILINE)


def test_bad_input(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    refused = rosenblatt("explain", model, data, "--row", 201)
    assert refused.err == f"rosenblatt: {data}: there is no row 201, because the file has 200 rows; use --row 1 to --row 200\n"
    assert "--row: must be at least 1, got 0" in rosenblatt("explain", model, data, "--row", 0).err
    (tmp_path / "other.csv").write_text("age,city\n1,rome\n")
    assert "missing column required by the model: income" in rosenblatt("explain", model, tmp_path / "other.csv").err
    (tmp_path / "empty.csv").write_text("")
    assert re.search("empty.csv: .*(empty|no rows)", rosenblatt("explain", model, tmp_path / "empty.csv").err)
    (tmp_path / "header.csv").write_text(HEADER + "\n")
    assert re.search("header.csv: .*no rows", rosenblatt("explain", model, tmp_path / "header.csv").err)
    assert "swapped?" in rosenblatt("explain", data, model).err
    vote = tmp_path / "vote.safetensors"
    assert rosenblatt("train", data, "--algorithm", "vote", "-o", vote).code == 0
    refused = rosenblatt("explain", vote, data)
    assert refused.code == 2
    assert refused.err.startswith("rosenblatt: a vote cannot be explained")


def test_changes_are_typed_as_the_file_writes_them(tmp_path: Path) -> None:
    """Each listed change, put into the file as it is, changes the prediction; the only truth values are true and false."""
    rng = np.random.default_rng(4)
    head = ["rate", "price", "member", "mass", "day", "city", "kind"]
    rows = []
    for number in range(120):
        rate, price, mass, member = rng.integers(1, 99), rng.integers(100, 9999), rng.normal(50, 9), rng.integers(2)
        good = rate / 30 + price / 4000 + mass / 20 + 4 * member + rng.normal(0, 0.4) > 7.5
        written = f"{mass:.2f}".replace(".", ",")
        answer = "yes" if good else "no"
        day, city = f"2024-{1 + number % 12:02d}-{1 + number % 28:02d}", ["Ulm", "Hof"][number % 2]
        rows.append(
            [
                f"{rate}%",
                f"€{price:,}".replace(",", "."),
                str(bool(member)).lower(),
                written,
                day,
                city,
                answer,
            ]
        )
    rows[3][0] = ""
    path, model = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    path.write_text("\n".join(";".join(row) for row in [head, *rows]) + "\n", encoding="utf-8")
    assert rosenblatt("train", path, "-a", "average", "-o", model).code == 0
    seen = set()
    for number in (1, 2, 4, 9):
        found = rosenblatt("explain", model, path, "--row", number, "--json").json
        for change in found["changes"]:
            cells = list(rows[number - 1])
            assert change["old"] == (cells[head.index(change["column"])] or None) or change["column"] == "mass"
            new = change["new"]
            assert isinstance(new, str)
            assert change["column"] != "member" or new in ("true", "false")
            cells[head.index(change["column"])] = new
            (tmp_path / "changed.csv").write_text(f"{';'.join(head)}\n{';'.join(cells)}\n", encoding="utf-8")
            assert rosenblatt("predict", model, tmp_path / "changed.csv").out.split() == [change["label"]]
            assert change["label"] != found["label"]
            seen.add(change["column"])
    assert seen >= {"rate", "price", "member", "mass"}
    text = rosenblatt("explain", model, path, "--row", 4, "-n", 20).out
    assert re.search(r"^price = €[\d.]+ ", text, re.MULTILINE)
    assert re.search(r"All numeric columns together: .*(€[\d.]+|%)", text)


@pytest.mark.parametrize("name", ["zero.svg", "zero.png"])
def test_a_row_without_contributions_has_a_figure(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.csv").write_text("a,b,y\n0,0,n\n1,1,p\n0,0,n\n2,2,p\n")
    model = tmp_path / "m.safetensors"
    options = ("-a", "perceptron", "--no-fit-intercept", "--scale", "none", "--holdout", "0")
    assert rosenblatt("train", tmp_path / "rows.csv", *options, "-o", model).code == 0
    found = rosenblatt("explain", model, tmp_path / "rows.csv", "--figure", tmp_path / name)
    assert found.code == 0, found.err
    assert (tmp_path / name).stat().st_size > 500


def test_negative_contributions_are_drawn_to_the_left() -> None:
    """All bars touch the zero line, those of negative values with their right end, in proportion to the values."""
    values, empty = [3.0, -1.0, 2.0, -4.0], [""] * 4
    bars = HorizontalBars(list("abcd"), values, ["class1", "class0"] * 2, empty, empty, signed=True)
    for width in (330, 520):
        drawn = svg(Chart("explanation", "Why", "Sum", (bars,)), width)
        boxes = re.findall(r'<rect [^>]*x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)"', drawn)
        (zero,) = set(re.findall(r'd="M([0-9.]+) [0-9]+v11"', drawn))
        touching = [float(x) + float(length) * (value < 0) for value, (x, length) in zip(values, boxes, strict=True)]
        assert touching == pytest.approx([float(zero)] * 4, abs=0.2)
        assert [float(length) for _, length in boxes] == pytest.approx([abs(value) * width / 7 for value in values], abs=0.2)
