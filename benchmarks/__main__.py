"""`scripts/bench`: measure, print tables, write JSON."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import click
import numba
import numpy as np
import sklearn
from rich.console import Console
from rich.table import Table

import rosenblatt

from . import (
    commands,
    defaults,
    epochs,
    errors,
    hashing,
    html,
    mail,
    margins,
    memory,
    parsing,
    pocket,
    proofs,
    serve,
    sms,
    squares,
    startup,
    streams,
)

PARTS = (
    "epochs", "pocket", "margins", "squares", "proofs", "errors", "memory", "defaults", "parsing", "streams", "commands",
    "startup", "hashing", "html", "mail", "sms", "serve",
)  # fmt: skip
console = Console(width=150)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--repeats", default=7, show_default=True, help="Turns each contestant takes; medians are reported.")
@click.option("--quick", is_flag=True, help="A tenth of the rows: to see that it works, not how fast it is.")
@click.option(
    "--json", "path", type=click.Path(path_type=Path), default=Path("benchmarks/results/latest.json"), show_default=True,
    help="Where the numbers go; -: nowhere.",
)  # fmt: skip
def main(parts: tuple[str, ...], repeats: int, quick: bool, path: Path) -> None:
    """Measure Rosenblatt beside its peers in one process, on a quiet machine.

    Example: scripts/bench epochs pocket --repeats 5
    """
    found: dict[str, Any] = {"machine": _machine()}
    console.print(f"{found['machine']}\n")
    if quick:
        console.print("A tenth of the rows that the names say: to see that it works, not how fast it is.\n")
    for part in parts or PARTS:
        if part == "epochs":
            found[part] = _ratios(epochs.measure(repeats, quick), "sklearn")
        elif part == "pocket":
            found[part] = _ratios(pocket.measure(repeats, quick), "NumPy")
        elif part == "margins":
            found[part] = _margins(margins.measure(3, quick))
        elif part == "squares":
            found[part] = _ratios(squares.measure(repeats, quick), "sklearn")
        elif part == "proofs":
            found[part] = _proofs(proofs.measure(3, quick))
        elif part == "errors":
            found[part] = _errors(errors.measure(quick))
        elif part == "memory":
            found[part] = _memory(memory.measure(quick))
        elif part == "defaults":
            found[part] = _defaults(defaults.measure(3, quick))
        elif part == "parsing":
            found[part] = _ratios(parsing.measure(repeats, quick), "peer")
        elif part == "hashing":
            found[part] = _ratios(hashing.measure(repeats, quick), "sklearn")
        elif part == "mail":
            found[part] = _tables(mail.measure(quick))
        elif part == "sms":
            found[part] = _tables(sms.measure(quick))
        elif part == "html":
            found[part] = _html(html.measure(repeats, quick))
        elif part == "streams":
            found[part] = _ratios(streams.measure(3, quick), "memory")
            found["memory of streams"] = _held(streams.memory(4e8 if quick else 5e9))
        elif part == "commands":
            found[part] = _commands(commands.measure(repeats))
        elif part == "serve":
            found[part] = _served(serve.measure(quick=quick))
        else:
            found[part] = startup.measure(3)
            for name, seconds in found[part].items():
                console.print(f"{name:35} {seconds:6.2f} s")
    if str(path) != "-":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1))
        console.print(f"\nwritten to {path}")


def _machine() -> dict[str, str]:
    versions = {"rosenblatt": rosenblatt, "numpy": np, "numba": numba, "scikit-learn": sklearn}
    return {"python": platform.python_version(), "cpu": _cpu()} | {
        name: module.__version__ for name, module in versions.items()
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _ratios(rows: Any, peer: str) -> list[dict[str, Any]]:
    table = Table("work", "", f"{peer} s", "ours s", "ratio", "at least", "difference", "of memory's speed")
    kept = []
    for row in rows:
        kept.append(row)
        theirs, ours, *_ = row["seconds"].values()
        short = row["required"] is not None and row["ratio"] < row["required"]
        table.add_row(
            row["work"], row["dtype"], f"{theirs:.4f}", f"{ours:.4f}", f"{row['ratio']:.2f}x",
            "" if row["required"] is None else f"{row['required']:g}x",
            "other run" if row["agree"] is None else f"{row['agree']:.1g}",
            f"{row['bandwidth']:.0%} of {row['gigabytes']:.1f} GB/s" if "bandwidth" in row else "",
            style="red" if short else "",
        )  # fmt: skip
    console.print(table)
    return kept


def _margins(rows: Any) -> list[dict[str, Any]]:
    table = Table("work", "peer", "its s", "above the best by", "ours s", "above by", "ratio", "at least")
    kept = []
    for row in rows:
        kept.append(row)
        if "skipped" in row:
            table.add_row(row["work"], row["skipped"])
            continue
        theirs, ours, required = row["theirs"], row["ours"], row["required"]
        late = "" if theirs["arrived"] else "did not arrive: "
        short = required is not None and row["ratio"] < required and theirs["arrived"]
        ratio, least = f"{'over ' if late else ''}{row['ratio']:.1f}x", "" if required is None else f"{required:g}x"
        table.add_row(
            row["work"], row["peer"], f"{theirs['seconds']:.3f}", f"{late}{theirs['above']:.1g}", f"{ours['seconds']:.3f}",
            f"{ours['above']:.1g}", ratio, least, style="red" if short else "",
        )  # fmt: skip
    console.print(table)
    return kept


def _proofs(rows: Any) -> list[dict[str, Any]]:
    table = Table("set", "rows x columns", "ours s", "verdict, proved", "HiGHS s", "says", "SVC(C=1e10) s", "leaves")
    kept = []
    for row in rows:
        kept.append(row)
        cells = [text for who in ("ours", "HiGHS", "SVC") for text in (f"{row['seconds'][who]:.3f}", row["answers"][who])]
        table.add_row(row["set"], f"{row['shape'][0]:,} x {row['shape'][1]:,}", *cells)
    console.print(table)
    return kept


def _errors(rows: Any) -> list[dict[str, Any]]:
    table = Table("set", "rows x columns", "errors", "at least", "proved", "seconds")
    kept = []
    for row in rows:
        kept.append(row)
        shape = f"{row['shape'][0]:,} x {row['shape'][1]:,}"
        table.add_row(row["set"], shape, str(row["errors"]), str(row["lower"]), row["proof"], f"{row['seconds']:.1f}")
    console.print(table)
    return kept


def _commands(rows: Any) -> list[dict[str, Any]]:
    table = Table("command", "seconds (wall)", "at most")
    kept = []
    for row in rows:
        kept.append(row)
        required = row["required"]
        late = required is not None and row["seconds"] > required
        cells = (row["work"], f"{row['seconds']:.3f}", "" if required is None else f"{required:g}")
        table.add_row(*cells, style="red" if late else "")
    console.print(table)
    return kept


def _served(rows: Any) -> list[dict[str, Any]]:
    table = Table("against mail serve", "requests", "lost", "wrong", "a second", "p50 ms", "p99 ms", "MB: start, middle, end")
    kept = []
    for row in rows:
        kept.append(row)
        if "skipped" in row:
            table.add_row(row["work"], row["skipped"])
            continue
        table.add_row(
            row["work"], f"{row['requests']:,}", str(row["lost"]), str(row["wrong"]), f"{row['a_second']:.0f}",
            f"{1e3 * row['p50']:.1f}", f"{1e3 * row['p99']:.1f}", ", ".join(f"{held:.0f}" for held in row["megabytes"]),
            style="red" if row["lost"] or row["wrong"] else "",
        )  # fmt: skip
    console.print(table)
    return kept


def _html(rows: Any) -> list[dict[str, Any]]:
    table = Table("pages", "MB", "html.parser s", "ours s", "MB/s", "wanted", "plain MB/s", "pages with the same letters")
    kept = []
    for row in rows:
        kept.append(row)
        seconds, size, hostile = row["seconds"], row["megabytes"], "at most" in row
        short = seconds["ours"] > row["at most"] if hostile else row["rate"] < row["required"]
        wanted = f"{row['at most']:g} s at most" if hostile else f"{row['required']:g} MB/s"
        plain, agree = ("", "") if hostile else (f"{size / seconds['ours, plain']:.0f}", f"{row['agree']:.0%}")
        table.add_row(
            row["work"], f"{size:.1f}", f"{seconds['html.parser']:.3f}{' (1/1000)' if hostile else ''}",
            f"{seconds['ours']:.3f}", f"{row['rate']:.0f}", wanted, plain, agree, style="red" if short else "",
        )  # fmt: skip
    console.print(table)
    return kept


def _tables(rows: Any) -> list[dict[str, Any]]:
    """Rows that say which table they are of; a column is what every row of it has as text."""
    kept: list[dict[str, Any]] = []
    table: Table | None = None
    for row in rows:
        told = {name: text for name, text in row.items() if isinstance(text, str) and name != "table"}
        if not kept or kept[-1]["table"] != row["table"] or table is None or len(table.columns) != len(told):
            if table is not None:
                console.print(table)
            table = Table(*told, title=row["table"])
        table.add_row(*told.values())
        kept.append(row)
    if table is not None:
        console.print(table)
    return kept


def _held(rows: Any) -> list[dict[str, Any]]:
    table = Table("from a cache", "GB", "MB held at most", "allowed", "seconds")
    kept = []
    for row in rows:
        kept.append(row)
        style = "red" if row["megabytes"] > row["required"] else ""
        cells = (f"{row['gigabytes']:g}", f"{row['megabytes']:.0f}", str(row["required"]), f"{row['seconds']:.1f}")
        table.add_row(row["work"], *cells, style=style)
    console.print(table)
    return kept


def _memory(rows: Any) -> list[dict[str, Any]]:
    table = Table("work", "", "X in MB", "ours, beside X", "at most", "sklearn, beside X")
    kept = []
    for row in rows:
        kept.append(row)
        shares = row["share"]
        style = "red" if shares["ours"] > row["required"] else ""
        table.add_row(
            row["work"], row["dtype"], f"{row['megabytes']:.0f}", f"{shares['ours']:.1%}", f"{row['required']:.0%}",
            f"{shares['sklearn']:.1%}", style=style,
        )  # fmt: skip
    console.print(table)
    return kept


def _defaults(rows: Any) -> list[dict[str, Any]]:
    table = Table("set", "learner", "test accuracy", "+-", "seconds (wall)")
    kept = []
    for row in rows:
        kept.append(row)
        if "skipped" in row:
            table.add_row(row["set"], row["skipped"])
        else:
            ours = "bold" if row["learner"].startswith("rb.") else ""
            table.add_row(
                row["set"],
                row["learner"],
                f"{row['accuracy']:.4f}",
                f"{row['spread']:.4f}",
                f"{row['seconds']:.3f}",
                style=ours,
            )
    console.print(table)
    return kept


if __name__ == "__main__":
    main()
