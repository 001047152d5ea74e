"""What names of mailboxes announce, in the layouts of mail programs."""

from __future__ import annotations

import pytest

from rosenblatt.mail.folder_names import contradicts, kind_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Mail/Local Folders/Junk", "spam"),
        ("Mail/Local Folders/Junk.sbd", "spam"),
        ("Maildir/.Junk", "spam"),
        ("Maildir/.Junk/cur", "spam"),
        ("Maildir/.INBOX.Spam/new/", "spam"),
        ("[Gmail]/Spam", "spam"),
        ("Junk E-mail", "spam"),
        ("junk_mail.mbox.gz", "spam"),
        ("Trash", "deleted"),
        ("Deleted Items", "deleted"),
        ("INBOX", "ham"),
        ("Sent-Items", "ham"),
        ("spam-1", None),
        ("easy-ham-1", None),
        ("--ham", None),
        ("spam.eml", None),
        ("antispam", None),
        ("-", None),
        (".", None),
        ("cur", None),
        ("", None),
    ],
)
def test_names_announce_kinds(path, kind):
    assert kind_of(path) == kind


def test_deleted_mail_contradicts_both_labels():
    assert [contradicts(name, spam) for name in ("Junk", "Inbox", "Trash", "x") for spam in (True, False)] == [
        None, "spam", "ham", None, "deleted", "deleted", None, None,
    ]  # fmt: skip
