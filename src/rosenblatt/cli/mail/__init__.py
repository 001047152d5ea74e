"""`rosenblatt mail`: the commands of the spam filter, each imported when it is called."""

from __future__ import annotations

import click

from .. import LazyGroup

COMMANDS = {
    "learn": "Learn from mail whether it is spam.",
    "unlearn": "Unlearn mail, as if it had never been learned.",
    "relearn": "Change the label of learned mail.",
    "classify": "Classify mail as spam, ham or unsure.",
    "explain": "Show the words that decided the verdict of a mail.",
    "show": "Show what the filter has learned.",
    "evaluate": "Evaluate a filter on mail in the order of arrival.",
    "serve": "Serve the filter to spamc and over HTTP.",
    "compact": "Drop the texts of old mail from the log.",
}


class MailCommands(LazyGroup):
    listed, package = COMMANDS, __name__


@click.group("mail", cls=MailCommands)
def command() -> None:
    """A spam filter that learns from your mail and explains its verdicts.

    PATH is an mbox file, a Maildir, a folder of mails, one mail, or "-" for standard input. The filter is stored in
    --home, or ROSENBLATT_MAIL, or ~/.local/share/rosenblatt/mail.

    \b
    Examples:
      rosenblatt mail learn --spam ~/Mail/.Junk --ham ~/Mail/.Archive
      rosenblatt mail classify new.eml
      rosenblatt mail explain new.eml
    """
