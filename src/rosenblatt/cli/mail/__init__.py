"""`rosenblatt mail`: the spam filter; one file per command, imported when it is called."""

from __future__ import annotations

import click

from ..lazy_group import LazyGroup

COMMANDS = {
    "learn": "Learn from mail whether it is spam.",
    "unlearn": "Take mail back, as if it had never been learnt.",
    "relearn": "Move mail to the other side.",
    "classify": "Say whether mail is spam.",
    "explain": "Show what decided about a mail.",
    "show": "Show what the filter has learnt.",
    "evaluate": "Measure a filter on mail in the order in which it came.",
    "serve": "Answer spamc and HTTP.",
    "compact": "Drop the texts of old mail from the log.",
}


class MailCommands(LazyGroup):
    listed, package = COMMANDS, __name__


@click.group("mail", cls=MailCommands)
def command() -> None:
    """A spam filter that learns from your mail and says why.

    PATH is an mbox file, a Maildir, a folder of mails, one mail, or "-" for standard input. The filter lives in a folder of its
    own: --home, or ROSENBLATT_MAIL, or ~/.local/share/rosenblatt/mail.

    \b
    Examples:
      rosenblatt mail learn --spam ~/Mail/.Junk --ham ~/Mail/.Archive
      rosenblatt mail classify new.eml
      rosenblatt mail explain new.eml
    """
