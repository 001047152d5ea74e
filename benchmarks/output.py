"""Tables of results: one function for each kind prints the rows and returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

Row = dict[str, Any]
Cells = tuple[list[str], str]  # a row's texts, and its style
console = Console(width=150)


def show(rows: Iterable[Row], headings: str, cells: Callable[[Row], Cells]) -> list[Row]:
    """Print one table with the headings "heading | heading"; a skipped row shows the reason."""
    table, kept = Table(*headings.split(" | ")), []
    for row in rows:
        kept.append(row)
        if "skipped" in row:
            table.add_row(str(next(iter(row.values()))), row["skipped"])
        else:
            texts, style = cells(row)
            table.add_row(*texts, style=style)
    console.print(table)
    return kept


def _red(short: bool) -> str:
    """The style of rows that miss their target."""
    return "red" if short else ""


def _target(value: Any, unit: str = "") -> str:
    return "" if value is None else f"{value:.3g}{unit}"


def ratios(rows: Iterable[Row], peer: str) -> list[Row]:
    def cells(row: Row) -> Cells:
        theirs, ours, *_ = row["seconds"].values()
        return [
            row["work"], row["dtype"], f"{theirs:.4f}", f"{ours:.4f}", f"{row['ratio']:.2f}x", _target(row["required"], "x"),
            "other run" if row["agree"] is None else f"{row['agree']:.1g}",
            f"{row['bandwidth']:.0%} of {row['gigabytes']:.1f} GB/s" if "bandwidth" in row else "",
        ], _red(row["required"] is not None and row["ratio"] < row["required"])  # fmt: skip

    return show(rows, f"work |  | {peer} s | ours s | ratio | at least | difference | of memory's speed", cells)


def algorithms(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        return [row["algorithm"], f"{row['rows']:,}", f"{row['seconds']:.4f}", f"{row['errors']:.2%}"], ""

    return show(rows, "algorithm | rows | seconds | training errors", cells)


def margins(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        theirs, ours, required = row["theirs"], row["ours"], row["required"]
        late = "" if theirs["arrived"] else "did not arrive: "
        return [
            row["work"], row["peer"], f"{theirs['seconds']:.3f}", f"{late}{theirs['above']:.1g}", f"{ours['seconds']:.3f}",
            f"{ours['above']:.1g}", f"{'over ' if late else ''}{row['ratio']:.1f}x", _target(required, "x"),
        ], _red(required is not None and row["ratio"] < required and theirs["arrived"])  # fmt: skip

    return show(rows, "work | peer | its s | above the best by | ours s | above by | ratio | at least", cells)


def proofs(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        answers = [text for key in ("ours", "HiGHS", "SVC") for text in (f"{row['seconds'][key]:.3f}", row["answers"][key])]
        return [row["set"], _shape(row), *answers], ""

    return show(rows, "set | rows x columns | ours s | verdict, proved | HiGHS s | verdict | SVC(C=1e10) s | leaves", cells)


def errors(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        return [row["set"], _shape(row), str(row["errors"]), str(row["lower"]), row["proof"], f"{row['seconds']:.1f}"], ""

    return show(rows, "set | rows x columns | errors | at least | proved | seconds", cells)


def commands(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        required = row["required"]
        late = required is not None and row["seconds"] > required
        return [row["work"], f"{row['seconds']:.3f}", _target(required)], _red(late)

    return show(rows, "command | seconds (wall) | at most", cells)


def served(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        return [
            row["work"], f"{row['requests']:,}", str(row["lost"]), str(row["wrong"]), f"{row['a_second']:.0f}",
            f"{1e3 * row['p50']:.1f}", f"{1e3 * row['p99']:.1f}", ", ".join(f"{held:.0f}" for held in row["megabytes"]),
        ], _red(row["lost"] or row["wrong"])  # fmt: skip

    return show(rows, "mail serve | requests | lost | wrong | a second | p50 ms | p99 ms | MB: start, mid, end, most", cells)


def studio(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        if "seconds" in row:
            return [row["work"], f"{row['seconds']:.3f} s", "1 s"], _red(row["seconds"] >= 1.0)
        middle, late = row["gaps"]
        reported = f"{row['frames']:.1f}; a frame takes {middle:.1f} ms, 95 of 100 at most {late:.1f} ms"
        return [row["work"], reported, "60"], _red(row["frames"] < 59.0)  # of a clock that is not quite exact

    return show(rows, "work | median | target", cells)


def html(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        seconds, size, hostile = row["seconds"], row["megabytes"], "at most" in row
        return [
            row["work"], f"{size:.1f}", f"{seconds['html.parser']:.3f}{' (1/1000)' if hostile else ''}",
            f"{seconds['ours']:.3f}", f"{row['rate']:.0f}",
            f"{row['at most']:g} s at most" if hostile else f"{row['required']:g} MB/s",
            *(("", "") if hostile else (f"{size / seconds['ours, plain']:.0f}", f"{row['agree']:.0%}")),
        ], _red(seconds["ours"] > row["at most"] if hostile else row["rate"] < row["required"])  # fmt: skip

    return show(rows, "pages | MB | html.parser s | ours s | MB/s | wanted | plain MB/s | pages with the same letters", cells)


def held(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        megabytes, required = row["megabytes"], row["required"]
        texts = [row["work"], f"{row['gigabytes']:g}", f"{megabytes:.0f}", str(required), f"{row['seconds']:.1f}"]
        return texts, _red(megabytes > required)

    return show(rows, "from a cache | GB | MB held at most | allowed | seconds", cells)


def memory(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        shares, required = row["share"], row["required"]
        return [
            row["work"], row["dtype"], f"{row['megabytes']:.0f}", f"{shares['ours']:.1%}", f"{required:.0%}",
            f"{shares['sklearn']:.1%}",
        ], _red(shares["ours"] > required)  # fmt: skip

    return show(rows, "work |  | X in MB | ours, beside X | at most | sklearn, beside X", cells)


def defaults(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        return [
            row["set"], row["learner"], f"{row['accuracy']:.4f}", f"{row['spread']:.4f}", f"{row['seconds']:.3f}",
        ], "bold" if row["learner"].startswith("rb.") else ""  # fmt: skip

    return show(rows, "set | learner | test accuracy | +- | seconds (wall)", cells)


def choices(rows: Iterable[Row]) -> list[Row]:
    """Test error, seconds and, in the last lines, mean rank of learners that choose something by themselves."""

    def cells(row: Row) -> Cells:
        rank = f"{row['rank']:.2f}" if "rank" in row else ""
        numbers = [f"{100.0 * row['error']:.2f}", f"{row['seconds']:.3f}" if "seconds" in row else "", rank]
        ours = row["learner"].startswith("r")
        return [row.get("table", row.get("set", "")), row["learner"], *numbers], "bold" if ours else ""

    return show(rows, "set | learner | test error % | seconds | mean rank", cells)


def texts(rows: Iterable[Row]) -> list[Row]:
    """Accuracy of learners on columns of text, its difference from the peer's with the standard error, and seconds."""

    def cells(row: Row) -> Cells:
        percents = f"{100.0 * row['accuracy']:.2f}", f"{100.0 * row['difference']:+.2f} ± {100.0 * row['error']:.2f}"
        times = f"{row['seconds']:.3f}", f"{row['ratio']:.2f}x", _target(row["required"], "x")
        return [row["set"], f"{row['texts']:,}", row["learner"], *percents, *times], _red(
            row["required"] is not None and (row["ratio"] < row["required"] or row["difference"] < -row["error"])
        )

    return show(rows, "set | texts | learner | accuracy % | difference | seconds | ratio | at least", cells)


def multiclass(rows: Iterable[Row]) -> list[Row]:
    def cells(row: Row) -> Cells:
        numbers = [f"{row[key]:.4f}" if key in row else "" for key in ("error", "fit", "predict")]
        return [row["set"], row["learner"], f"{row['rank']:.2f}", *numbers], "bold" if row["learner"] == "SoftMargin()" else ""

    return show(rows, "set | learner | rank | test error | fit s | predict s, per 1000 rows", cells)


def seconds(found: dict[str, float]) -> dict[str, float]:
    for name, taken in found.items():
        console.print(f"{name:35} {taken:6.2f} s")
    return found


def several(rows: Iterable[Row]) -> list[Row]:
    """Rows with the name of their table; the columns of a table are the texts that all its rows have."""
    kept: list[Row] = []
    table: Table | None = None
    for row in rows:
        reported = {name: text for name, text in row.items() if isinstance(text, str) and name != "table"}
        if not kept or kept[-1]["table"] != row["table"] or table is None or len(table.columns) != len(reported):
            if table is not None:
                console.print(table)
            table = Table(*reported, title=row["table"])
        table.add_row(*reported.values())
        kept.append(row)
    if table is not None:
        console.print(table)
    return kept


def _shape(row: Row) -> str:
    return f"{row['shape'][0]:,} x {row['shape'][1]:,}"
