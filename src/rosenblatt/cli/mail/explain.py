"""`rosenblatt mail explain`: what decided about a mail."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Any

import click

from ...reporting.text import percent, plural
from ..console import note, out, print_fields, print_json
from ..options import as_json
from .common import Reading, home, no_mail, opened

if TYPE_CHECKING:
    from ...mail.verdict import Calibration


@click.command("explain")
@click.argument("path", metavar="[FILE]", default="-")
@click.option("-n", "--features", type=click.IntRange(1), default=20, show_default=True, help="How many to show.")
@click.option("--single", is_flag=True, help="Show single features instead: words, pairs, stretches of letters (~), lines.")
@home
@as_json
def command(path: str, features: int, single: bool, home: str, as_json: bool) -> None:
    """Show the words that decided about a mail, each with what it added to the score.

    That is the weight of the word itself, and its share of those of the pairs and stretches of letters that touch it. The
    heaviest are shown; with the last line, which has all the rest, they sum to the score. Of dates and message ids only the
    shape is known: a stands for letters, 9 for digits, h for both.

    \b
    Examples:
      rosenblatt mail explain new.eml -n 40
      rosenblatt mail explain --single new.eml
    """

    with opened(home) as spam_filter:
        explain(spam_filter, path, features, single, as_json)


# --- What `mail explain` and `mail show` print.

SHORTEST, LONGEST, BESIDE = 3, 30, 13  # columns of bars, and of what stands beside names and bars


def explain(spam_filter: Any, path: str, count: int, single: bool, as_json: bool) -> None:
    reading = Reading([path])
    mails = iter(reading)
    mail = next(mails, None)
    if mail is None:
        raise no_mail([path], reading)
    if next(mails, None) is not None:
        note(f"there are more mails; only the first is explained, {mail.source}")
    found = spam_filter.classify(mail.raw)
    reasons = spam_filter.explain(mail.raw, count) if single else spam_filter.telling(mail.raw, count)
    rest = found.score - sum(reason.weight for reason in reasons)
    if as_json:
        told = [{"feature": reason.name, "weight": reason.weight} for reason in reasons]
        print_json({"mail": mail.source, **found._asdict(), "features": told, "rest": rest})
        return
    cuts = spam_filter.calibration
    lines = [
        ("mail", mail.source),
        ("verdict", f"{found.label}, {_likely(found.probability)} likely to be spam"),
        ("score", f"{found.score:+.3f} (spam from {cuts.spam_from:+.3f}, ham to {cuts.ham_to:+.3f})"),
    ]
    print_fields(lines)
    rows = [(reason.name, reason.weight) for reason in reasons]
    if rows:
        click.echo()
        out().print(_bars("what speaks for spam (+) and for ham (-)", rows, [("all the rest", rest)]))


def show(spam_filter: Any, count: int, as_json: bool) -> None:
    has, calibration = spam_filter.stats(), spam_filter.calibration
    spammy, hammy = spam_filter.telling_top(count) if count else ([], [])
    if as_json:
        told = {
            side: [{"feature": r.name, "weight": r.weight} for r in rows]
            for side, rows in (("spammy", spammy), ("hammy", hammy))
        }
        print_json({**has, "settings": asdict(has["settings"]), "calibration": calibration._asdict(), **told})
        return
    folded = f", {plural(has['folded'], 'text')} no longer in the log" if has["folded"] else ""
    print_fields([
        ("filter", has["home"]),
        ("learnt", f"{has['spam']:,} spam and {has['ham']:,} ham{folded}"),
        ("thresholds", f"spam from a score of {calibration.spam_from:+.3f}, ham to {calibration.ham_to:+.3f}, unsure between"),
        ("ham loss", promise(has["settings"].ham_loss, calibration, has["messages"])),
        ("ham weight", f"{has['settings'].ham_weight:g}"),
        ("on disk", f"{has['bytes'] / 1e6:,.1f} MB"),
    ])  # fmt: skip
    for title, rows in (("speaks for spam", spammy), ("speaks for ham", hammy)):
        if rows:
            click.echo()
            out().print(_bars(title, [(reason.name, reason.weight) for reason in rows], []))


def promise(ham_loss: float, calibration: Calibration, messages: int) -> str:
    """What of the ham may be called spam, and whether that can be promised: after so many messages, or ever."""

    from ...mail.store.state import WINDOW
    from ...mail.verdict import hams_for

    asked, need = f"{100.0 * ham_loss:g} %", hams_for(ham_loss)
    if calibration.from_errors:
        return f"{asked} asked for; nothing is promised where a filter is taught its errors only"
    if need == inf:
        return "none asked for, which cannot be promised"
    hams, window = plural(need, "ham"), f"the last {WINDOW:,} messages"
    if need > WINDOW:
        return f"{asked} asked for, which cannot be promised: that takes {hams}, and only {window} count"
    if calibration.hams >= need:
        return f"{asked} at most, promised from {hams} on; {calibration.hams:,} count"
    if messages < WINDOW:
        return f"{asked} asked for, promised from {hams} on; not yet: {calibration.hams:,} count"
    there = f"{calibration.hams:,} count, those among {window}"
    return f"{asked} asked for, promised from {hams} on; not so: {there}"


def _likely(probability: float) -> str:
    """Nobody is surer than this, whatever the sigmoid says."""
    return percent(min(max(probability, 0.0001), 0.9999))


def _bars(title: str, rows: list[tuple[str, float]], rest: list[tuple[str, float]]) -> Any:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(title, "weight", "", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.columns[1].justify = "right"
    largest = max((abs(weight) for _, weight in rows), default=0.0) or 1.0
    room = out().width - max((cell_len(name) for name in (title, *(name for name, _ in rows))), default=0) - BESIDE
    for name, weight in rows:
        size = max(int(weight != 0.0), round(min(max(room, SHORTEST), LONGEST) * abs(weight) / largest))
        sign = weight > 0
        table.add_row(Text(name), f"{weight:+.4f}", Text(("+" if sign else "-") * size, style="red" if sign else "green"))
    for name, weight in rest:
        table.add_row(Text(name, style="dim"), f"{round(weight, 4) + 0.0:+.4f}", "")
    return table
