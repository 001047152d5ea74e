"""The kinds of mail that names of mailboxes announce: Junk has spam, Inbox has ham, Trash has both.

A folder of mailboxes, such as that of Thunderbird, has Inbox, Junk and Trash side by side. Learned as ham, its Junk would turn
spam into ham.
"""

from __future__ import annotations

import os
import re
from typing import Literal

Kind = Literal["spam", "ham", "deleted"]
NAMES: dict[Kind, frozenset[str]] = {
    "spam": frozenset({"spam", "junk", "bulk", "junk mail", "junk email", "bulk mail", "spambox", "quarantine", "phishing"}),
    "ham": frozenset({"ham", "inbox", "sent", "sent items", "sent mail", "sent messages", "archive", "archives"}),
    "deleted": frozenset({"trash", "deleted", "deleted items", "deleted messages", "deleted mail", "wastebasket", "bin"}),
}
CONTENTS: dict[Kind, str] = {"spam": "spam", "ham": "ham", "deleted": "deleted mail of both kinds"}
SUFFIXES = (".mbox", ".mbx", ".sbd", ".gz", ".bz2", ".xz")
MAILDIR_PARTS = ("cur", "new")
_BETWEEN_WORDS = re.compile(r"(?<=[a-z])[-_](?=[a-z])")


def kind_of(path: str) -> Kind | None:
    """The kind of mail that the name of a mailbox announces, or None.

    >>> kind_of("Mail/Junk"), kind_of("Maildir/.INBOX.Trash/cur"), kind_of("archive-2024/lists")
    ('spam', 'deleted', None)
    """
    folder, name = os.path.split(os.path.normpath(path))
    if name in MAILDIR_PARTS:
        name = os.path.basename(folder)
    name = name.lower()
    while name.endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    if name.startswith("."):  # Maildir++: .Junk, or .INBOX.Junk
        name = name.rpartition(".")[2]
    name = " ".join(_BETWEEN_WORDS.sub(" ", name.replace("e-mail", "email")).split())
    return next((kind for kind, names in NAMES.items() if name in names), None)


def contradicts(path: str, spam: bool) -> Kind | None:
    """The kind that the name of a mailbox announces, if it is not that of mail with this label."""
    kind = kind_of(path)
    return None if kind == ("spam" if spam else "ham") else kind
