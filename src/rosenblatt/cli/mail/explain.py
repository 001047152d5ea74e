"""`rosenblatt mail explain`: the words that decided the verdict of a mail. `mail show` prints with the same functions."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING

import click

from ...reporting.text import byte_size, count, fixed, percent, short
from ..bars import contribution_table
from ..console import echo, note, out, print_fields, print_json
from ..options import WholeNumber, as_json
from .common import Reading, home, no_mail, opened_taught

if TYPE_CHECKING:
    from ...mail.filter import Filter
    from ...mail.verdict import Calibration


@click.command("explain")
@click.argument("path", metavar="[FILE]", default="-")
@click.option("-n", "--features", type=WholeNumber(1), default=20, show_default=True, help="Number to show.")
@click.option("--single", is_flag=True, help="Show single features: words, pairs, letter sequences (~), header lines.")
@home
@as_json
def command(path: str, features: int, single: bool, home: str, as_json: bool) -> None:
    """Show the words that decided the verdict of a mail, each with its weight in the score.

    The weight of a word includes its share of the pairs and letter sequences that touch it. The heaviest words
    are shown; with the last line, which has all others, they add up to the score. Of dates and message ids only the shape is
    used: a stands for letters, 9 for digits, h for both.

    \b
    Examples:
      rosenblatt mail explain new.eml -n 40
      rosenblatt mail explain --single new.eml
    """

    with opened_taught(home) as spam_filter:
        explain(spam_filter, path, features, single, as_json)


def explain(spam_filter: Filter, path: str, n_reasons: int, single: bool, as_json: bool) -> None:
    reading = Reading([path])
    mails = iter(reading)
    mail = next(mails, None)
    if mail is None:
        raise no_mail([path], reading)
    if next(mails, None) is not None:
        note(f"there are several mails; only the first one is explained ({mail.source})")
    found = spam_filter.classify(mail.raw)
    reasons = spam_filter.explain(mail.raw, n_reasons, by="features" if single else "words")
    rest = found.score - sum(reason.weight for reason in reasons)
    if as_json:
        weights = [{"feature": reason.name, "weight": reason.weight} for reason in reasons]
        print_json({"mail": mail.source, **found._asdict(), "features": weights, "rest": rest})
        return
    calibration = spam_filter.calibration
    lines = [
        ("mail", mail.source),
        ("verdict", f"{found.label} (probability of spam {_probability(found.probability)})"),
        ("score", f"{fixed(found.score, 3, signed=True)} ({_thresholds(calibration)})"),
    ]
    print_fields(lines)
    rows = [(reason.name, reason.weight) for reason in reasons]
    if rows:
        echo()
        out().print(contribution_table("for spam (+) or ham (-)", rows, [("all others", rest)]))


def show(spam_filter: Filter, n_features: int, as_json: bool) -> None:
    """Print numbers about a filter and its heaviest features."""
    stats, calibration = spam_filter.stats(), spam_filter.calibration
    spammy, hammy = spam_filter.distinct_top(n_features) if n_features else ([], [])
    if as_json:
        features = {
            side: [{"feature": r.name, "weight": r.weight} for r in rows]
            for side, rows in (("spammy", spammy), ("hammy", hammy))
        }
        print_json({**stats, "settings": asdict(stats["settings"]), "calibration": calibration._asdict(), **features})
        return
    folded = f" (the texts of {count(stats['folded'])} were dropped)" if stats["folded"] else ""
    print_fields([
        ("filter", stats["home"]),
        ("learned", f"{count(stats['spam'])} spam and {count(stats['ham'])} ham{folded}"),
        ("thresholds", f"{_thresholds(calibration)}, unsure between"),
        ("ham loss", ham_loss_text(stats["settings"].ham_loss, calibration, stats["messages"])),
        ("ham weight", short(stats["settings"].ham_weight)),
        ("on disk", byte_size(stats["bytes"])),
    ])  # fmt: skip
    for title, rows in (("features of spam", spammy), ("features of ham", hammy)):
        if rows:
            echo()
            out().print(contribution_table(title, [(reason.name, reason.weight) for reason in rows], []))


def ham_loss_text(ham_loss: float, calibration: Calibration, messages: int) -> str:
    """The share of ham that may be called spam, and whether it is guaranteed."""
    from ...mail.store.filter_state import WINDOW
    from ...mail.verdict import hams_needed, recent_hams

    share, needed = f"{short(100.0 * ham_loss, 6)} %", hams_needed(ham_loss)
    if calibration.from_errors:
        return f"at most {share} wanted (not guaranteed: the filter learned only its errors)"
    if needed == inf:
        return "none wanted (cannot be guaranteed)"
    window = f"the last {count(WINDOW)} mails"
    if needed > WINDOW:
        return f"at most {share} wanted (cannot be guaranteed: {count(needed)} ham needed, and only {window} count)"
    if calibration.hams >= needed:
        recent = count(recent_hams(calibration.hams, ham_loss))
        return f"at most {share} (guaranteed for ham that scores like the last {recent}; {count(needed)} needed)"
    if messages < WINDOW:
        return f"at most {share} wanted (not yet guaranteed: {count(calibration.hams)} ham counted, {count(needed)} needed)"
    counted = f"{count(calibration.hams)} ham counted among {window}"
    return f"at most {share} wanted (not guaranteed: {counted}, {count(needed)} needed)"


def _thresholds(calibration: Calibration) -> str:
    return f"spam from {fixed(calibration.spam_from, 3, signed=True)}, ham to {fixed(calibration.ham_to, 3, signed=True)}"


def _probability(probability: float) -> str:
    """A probability as text; no verdict is shown as more certain than 99.99 %."""
    return percent(min(max(probability, 0.0001), 0.9999))
