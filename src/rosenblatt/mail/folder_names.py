"""The kinds of mail that names of mailboxes announce: Junk has spam, Inbox has ham, Trash has both.

A folder of mailboxes, such as that of Thunderbird, has Inbox, Junk and Trash side by side. Learned as ham, its Junk would turn
spam into ham.

A name announces spam if it is one of `NAMES`, or begins or ends with the word spam or junk (Spam-Verdacht, Probable spam),
unless other words say that it is about spam (spam-discussion). Names with digits, such as spam-1, must be one of `NAMES`,
but for years (Junk 2024). In names such as .INBOX.Junk, INBOX.Junk or [Gmail].Junk, which Maildir++ and IMAP synchronizers
write, each part counts, the last one first.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Literal

Kind = Literal["spam", "ham", "deleted"]
NAMES: dict[Kind, frozenset[str]] = {
    "spam": frozenset({
        "spam", "junk", "bulk", "junk mail", "junk email", "junkmail", "junkemail", "bulk mail", "bulkmail", "spambox",
        "quarantine", "phishing", "spamverdacht", "unerwunscht", "unerwunschte werbung", "courrier indesirable",
        "courriers indesirables", "indesirable", "indesirables", "pourriel", "pourriels", "correo no deseado",
        "posta indesiderata", "lixo eletronico", "ongewenst", "ongewenste email", "skrappost", "roskaposti",
    }),
    "ham": frozenset({"ham", "inbox", "sent", "sent items", "sent mail", "sent messages", "archive", "archives"}),
    "deleted": frozenset({"trash", "deleted", "deleted items", "deleted messages", "deleted mail", "wastebasket", "bin"}),
}  # fmt: skip
CONTENTS: dict[Kind, str] = {"spam": "spam", "ham": "ham", "deleted": "deleted mail of both kinds"}
SPAM_WORDS = frozenset({"spam", "junk"})
# Words of names that are about spam, or about something else: anti-spam, not spam, spam-discussion, junk food.
OTHER_WORDS = frozenset({
    "anti", "no", "not", "non", "against", "stop", "ham", "kein", "pas", "l", "list", "lists", "discuss", "discussion",
    "discussions", "talk", "users", "user", "dev", "devel", "announce", "news", "newsletter", "report", "reports",
    "filter", "filters", "filtering", "assassin", "fighters", "research", "papers", "team", "project", "policy", "law",
    "food", "bonds", "bond", "yard", "drawer", "removal", "dna", "space", "science", "recipes", "cop", "haus", "bayes",
    "about", "uber", "question", "questions",
})  # fmt: skip
SUFFIXES = (".mbox", ".mbx", ".sbd", ".old", ".bak", ".gz", ".bz2", ".xz", ".zst")
MAILDIR_PARTS = ("cur", "new")
APPLE_PARTS = ("mbox", "Messages")  # in a folder of Apple Mail such as Junk.mbox
IMAP_PREFIX = re.compile(r"\.|inbox\.|\[(?:gmail|google ?mail)\]\.")
YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d_])[-_](?=[^\W\d_])")
_ENCODED = re.compile(r"&([^-]*)-")  # as names of IMAP mailboxes encode characters (RFC 3501, 5.1.3)


def kind_of(path: str) -> Kind | None:
    """The kind of mail that the name of a mailbox announces, or None.

    >>> kind_of("Mail/Junk"), kind_of("Maildir/.INBOX.Trash/cur"), kind_of("archive-2024/lists")
    ('spam', 'deleted', None)
    >>> kind_of("INBOX.Spam-Verdacht"), kind_of("Junk.mbox/mbox"), kind_of("antispam-list"), kind_of("Junkers")
    ('spam', 'spam', None, None)
    """
    folder, name = os.path.split(os.path.normpath(path))
    if name in MAILDIR_PARTS or (name in APPLE_PARTS and folder.lower().endswith(".mbox")):
        name = os.path.basename(folder)
    name = _simplified(name)
    while name.endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    prefix = IMAP_PREFIX.match(name)
    if prefix is None:
        return _kind_of_part(name) or ("spam" if _kind_of_part(name.rpartition(".")[2]) == "spam" else None)
    *outer, last = map(_kind_of_part, name[prefix.end() :].split("."))
    return last or next((kind for kind in reversed(outer) if kind != "ham"), None)


def _simplified(name: str) -> str:
    """A name in lower case, decoded and without accents."""
    if "&" in name:
        name = _ENCODED.sub(lambda found: _decoded(found[1]), name)
    if not name.isascii():
        name = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return name.lower()


def _decoded(text: str) -> str:
    try:
        return f"+{text.replace(',', '/')}-".encode().decode("utf-7") if text else "&"
    except UnicodeError:
        return f"&{text}-"


def _kind_of_part(name: str) -> Kind | None:
    name = " ".join(_BETWEEN_WORDS.sub(" ", name.replace("e-mail", "email")).split())
    kind = next((kind for kind, names in NAMES.items() if name in names), None)
    if kind is not None or not ("spam" in name or "junk" in name):
        return kind
    words = [word for word in re.findall(r"[^\W_]+", name) if not YEAR.fullmatch(word)] or [""]
    announced = not SPAM_WORDS.isdisjoint((words[0], words[-1])) and OTHER_WORDS.isdisjoint(words)
    return "spam" if announced and "." not in name and all(map(str.isalpha, words)) else None


def contradicts(path: str, spam: bool) -> Kind | None:
    """The kind that the name of a mailbox, or of the target of a link, announces, if it is not that of mail with this label."""
    kind = kind_of(path)
    if kind in (None, "spam" if spam else "ham") and os.path.islink(path):
        kind = kind_of(os.path.realpath(path))
    return None if kind == ("spam" if spam else "ham") else kind
