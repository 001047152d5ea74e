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
        ("[Gmail].Spam", "spam"),
        ("[Google Mail].Spam", "spam"),
        ("[Gmail].Trash", "deleted"),
        ("INBOX.Spam", "spam"),
        ("INBOX.Archive", "ham"),
        ("INBOX/Junk", "spam"),
        ("INBOX.Spam.2024", "spam"),
        ("Maildir/.Junk.2024/cur", "spam"),
        ("Personal.Spam", "spam"),
        ("Spam-Verdacht", "spam"),
        ("Unerwünscht", "spam"),
        ("Unerwu\u0308nscht", "spam"),
        ("INBOX.Unerw&APw-nscht", "spam"),
        ("Courrier indésirable", "spam"),
        ("Courrier ind&AOk-sirable.mbox", "spam"),
        ("Probable spam", "spam"),
        ("Spam 2024", "spam"),
        ("2023-junk", "spam"),
        ("[SPAM]", "spam"),
        ("Junk.mbox/mbox", "spam"),
        ("Junk.mbox/Messages", "spam"),
        ("Junk.old", "spam"),
        ("JunkMail", "spam"),
        ("Junk.mbox.zst", "spam"),
        ("mbox", None),
        ("lists/Messages", None),
        ("antispam-list", None),
        ("anti-spam", None),
        ("not spam", None),
        ("spam-discussion", None),
        ("spam-l", None),
        ("Spam question.eml", None),
        ("0001.2003-12-18.spam.txt", None),
        ("Junkers", None),
        ("Spamalot", None),
        ("junk food", None),
        ("INBOX.lists", None),
        ("Q&A", None),
        ("Q&!-x", None),
        ("data.bin", None),
        ("spam-1", None),
        ("spam-20021010", None),
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


def test_links_are_judged_by_the_names_of_their_targets_too(tmp_path):
    for name in ("Junk", "Inbox", "lists"):
        (tmp_path / name / "cur").mkdir(parents=True)
        (tmp_path / f"to {name[0]}").symlink_to(tmp_path / name)
    (tmp_path / "Spam").symlink_to(tmp_path / "lists")
    (tmp_path / "Archive").symlink_to(tmp_path / "Junk")
    (tmp_path / "cycle").symlink_to(tmp_path / "cycle")
    (tmp_path / "innocent").symlink_to(tmp_path / "Junk" / "cur")
    names = ("to J", "to I", "to l", "Spam", "Archive", "cycle", "innocent")
    assert [contradicts(str(tmp_path / name), False) for name in names] == ["spam", None, None, "spam", "spam", None, "spam"]
    assert [contradicts(str(tmp_path / name), True) for name in names] == [None, "ham", None, None, "ham", None, None]
