"""`rosenblatt mail learn` and `classify` with input that looks like a mistake: nothing changes, and the reason is printed."""

from __future__ import annotations

import pytest
from letters import folder, letter, new

from commands import rosenblatt
from rosenblatt.cli.mail import learn as learning

POSTMARK = b"From - Mon Jan 01 10:00:00 2024\r\n"


def mbox(path, spam, numbers):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(POSTMARK + letter(spam, number) + b"\r\n" for number in numbers))
    return path


@pytest.fixture
def thunderbird(tmp_path):
    """A folder of Thunderbird: mailboxes, their indexes, and files of settings."""
    top = tmp_path / "Local Folders"
    mbox(top / "Inbox", False, range(1000, 1030))
    mbox(top / "Junk", True, range(1000, 1030))
    mbox(top / "Trash", True, range(2000, 2003))
    mbox(top / "Inbox.sbd" / "Lists", False, range(3000, 3005))
    mbox(top / "Junk.sbd" / "Older", True, range(3000, 3005))
    for name in ("Inbox.msf", "Junk.msf", "Trash.msf"):
        (top / name).write_bytes(b'// <!-- <mdb:mork:z v="1.4"/> -->\n< <(a=c)> // (f=iso-8859-1)\n  (B8=subject)(B9=from)>\n')
    (top / "msgFilterRules.dat").write_bytes(b'version="9"\nlogging="no"\n')
    return top


def sides() -> list[int]:
    shown = rosenblatt("mail", "show", "--json").json
    return [shown["spam"], shown["ham"]]


def test_the_junk_in_a_folder_of_mailboxes_does_not_become_ham(trained, thunderbird):
    assert rosenblatt("mail", "learn", "--spam", thunderbird / "Junk").code == 0
    assert sides() == [90, 120]
    found = rosenblatt("mail", "learn", "--ham", thunderbird)
    assert (found.code, sides()) == (0, [90, 155])
    assert f"skipped {thunderbird}/Junk: its name announces spam; to learn it, name it itself" in found.err
    assert f"skipped {thunderbird}/Trash: its name announces deleted mail of both kinds" in found.err
    assert "Older" not in found.err
    found = rosenblatt("mail", "learn", "--spam", thunderbird)
    assert f"skipped {thunderbird}/Inbox: its name announces ham" in found.err
    assert sides() == [95, 155]


def test_junk_of_other_layouts_in_a_folder_does_not_become_ham(home, tmp_path):
    top = tmp_path / "Mail"
    junk = ("[Gmail].Spam", "INBOX.Spam", "INBOX/Junk", "Spam-Verdacht", "Unerwünscht", "Courrier indésirable", "Junk.old")
    for k, name in enumerate(junk):
        folder(top / name, True, range(k, k + 1))
    for k, name in enumerate(("INBOX.lists", "antispam-list", "Junkers", "Spamalot"), 100):
        folder(top / name, False, range(k, k + 1))
    folder(tmp_path / "Junk", True, range(50, 51))
    (top / "innocent").symlink_to(tmp_path / "Junk")
    found = rosenblatt("mail", "learn", "--ham", top)
    assert (found.code, sides()) == (0, [0, 4])
    assert all(f"skipped {top / name}: its name announces spam" in found.err for name in (*junk, "innocent"))


def test_many_mails_change_sides_by_force_only(trained, tmp_path):
    known = tmp_path / "archived"
    (tmp_path / "spam").rename(known)
    for more in ([], ["--in-order"], ["--json"], ["--ham-loss", "0.2", "--ham-weight", "2"]):
        found = rosenblatt("mail", "learn", "--ham", known, *more)
        assert (found.code, found.out) == (2, "")
        assert (
            "60 mails would change from spam to ham or from ham to spam; nothing was learned or changed (--force" in found.err
        )
        assert sides() == [60, 120]
    assert rosenblatt("mail", "show", "--json").json["settings"]["ham_loss"] == 0.001
    few = [known / f"{number:04}.eml" for number in range(learning.MAX_MOVES)]
    assert rosenblatt("mail", "learn", "--ham", *few).code == 0
    assert sides() == [50, 130]
    assert rosenblatt("mail", "learn", "--ham", known, "--force").code == 0
    assert sides() == [0, 180]


def test_one_folder_is_not_both(home, tmp_path):
    mails = folder(tmp_path / "mails", True, range(20))
    found = rosenblatt("mail", "learn", "--spam", mails, "--ham", mails)
    assert found.code == 2
    assert "20 mails are given as both spam and ham; nothing was learned" in found.err
    assert not home.exists()
    assert rosenblatt("mail", "learn", "--spam", mails, "--ham", mails, "--force").code == 0
    assert sides() == [0, 20]


@pytest.mark.parametrize(
    ("side", "name", "announced"),
    [("--ham", "Junk", "spam"), ("--ham", "Trash", "deleted mail"), ("--ham", ".Spam", "spam"), ("--spam", "INBOX", "ham")],
)
def test_a_name_that_announces_the_other_kind(home, tmp_path, side, name, announced):
    path = folder(tmp_path / name, side == "--spam", range(3))
    found = rosenblatt("mail", "learn", side, path)
    assert (found.code, found.out) == (2, "")
    assert f"{side} {path}: the name announces {announced}" in found.err
    assert not home.exists()
    assert rosenblatt("mail", "learn", side, path, "--force").code == 0


def test_a_first_command_that_is_refused_removes_nothing_but_its_own(home, tmp_path):
    """The folders above the home stay if they were there, or have something else; a filter that existed stays, too."""
    mails = folder(tmp_path / "mails", True, range(20))
    deep = tmp_path / "a" / "b" / "home"
    (tmp_path / "a").mkdir()
    refused = ["mail", "learn", "--spam", mails, "--ham", mails, "--home", deep]
    assert rosenblatt(*refused).code == 2
    assert list((tmp_path / "a").iterdir()) == []
    deep.mkdir(parents=True)
    (deep / "notes").write_bytes(b"mine")
    assert rosenblatt(*refused).code == 2
    assert [path.name for path in deep.iterdir()] == ["notes"]
    assert rosenblatt("mail", "learn", "--ham-loss", "0.2", "--home", deep).code == 0
    assert rosenblatt(*refused).code == 2
    assert rosenblatt("mail", "show", "--json", "--home", deep).json["settings"]["ham_loss"] == 0.2


def test_a_folder_is_relearned_by_force_only(trained, tmp_path):
    for more in ([], ["--as", "ham"], ["--json"]):
        found = rosenblatt("mail", "relearn", tmp_path / "spam", *more)
        assert (found.code, found.out) == (2, "")
        assert "60 mails would change from spam to ham or from ham to spam; nothing was learned or changed" in found.err
        assert sides() == [60, 120]
    assert rosenblatt("mail", "relearn", tmp_path / "spam", "--as", "spam").code == 0  # nothing would change
    few = [tmp_path / "spam" / f"{number:04}.eml" for number in range(learning.MAX_MOVES)]
    assert rosenblatt("mail", "relearn", *few, few[0]).code == 0  # a copy counts once
    assert sides() == [50, 130]
    assert rosenblatt("mail", "relearn", "--as", "ham", tmp_path / "spam", "--force").code == 0
    assert sides() == [0, 180]


def test_relearning_a_folder_as_ham_skips_its_junk(trained, thunderbird):
    found = rosenblatt("mail", "relearn", "--as", "ham", thunderbird)
    assert f"skipped {thunderbird}/Junk: its name announces spam" in found.err
    assert sides() == [60, 155]


def test_at_a_terminal_it_asks(trained, tmp_path, monkeypatch):
    (tmp_path / "spam").rename(tmp_path / "archived")
    answers, questions = iter([False, True]), []
    monkeypatch.setattr(learning, "at_terminal", lambda: True)
    monkeypatch.setattr(learning.click, "confirm", lambda question, err: questions.append(question) or next(answers))
    found = rosenblatt("mail", "learn", "--ham", tmp_path / "archived")
    assert (found.code, found.err) == (2, "rosenblatt: nothing was learned or changed\n")
    assert questions == ["60 mails would change from spam to ham or from ham to spam. Go on?"]
    assert sides() == [60, 120]
    assert rosenblatt("mail", "learn", "--ham", tmp_path / "archived").code == 0
    assert sides() == [0, 180]


def test_all_texts_are_dropped_only_by_force_or_after_a_question(trained, tmp_path, monkeypatch):
    doubt = "without --keep, the texts of all 180 mails would be dropped, and none could be unlearned or relearned"
    for more in ((), ("--json",)):
        found = rosenblatt("mail", "compact", *more)
        assert (found.code, found.out) == (2, "")
        assert found.err == f"rosenblatt: {doubt}; nothing was learned or changed (--force does it)\n"
    answers, questions = iter([False, True]), []
    first, second = (tmp_path / "spam" / f"000{number}.eml" for number in range(2))
    with monkeypatch.context() as terminal:
        terminal.setattr(learning, "at_terminal", lambda: True)
        terminal.setattr(learning.click, "confirm", lambda question, err: questions.append(question) or next(answers))
        assert rosenblatt("mail", "compact").code == 2
        assert questions == [f"{doubt}. Go on?"]
        assert rosenblatt("mail", "unlearn", first).code == 0, "the texts are there"
        assert rosenblatt("mail", "compact").code == 0
        assert rosenblatt("mail", "unlearn", second).code == 1
    assert rosenblatt("mail", "learn", "--spam", first).code == 0
    assert "dropped the texts of 1 mail" in rosenblatt("mail", "compact", "--force").err


def test_what_is_not_mail_is_not_learned(home, tmp_path):
    etc = tmp_path / "etc"
    etc.mkdir()
    files = {
        "passwd": b"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/sh\n",
        "debian.sources": b"Types: deb\nURIs: http://deb.debian.org\nSuites: stable\n",
        "README.txt": b"From the authors, with love\n\nDear reader, to: you\n",
        "NEWS": b"From time to time\nthis changes.\n",
        "notes": b"Things to do\nmore things\nand more\nsubject: none\n\n",
        **{f"conf{number}": b"key = value\n" for number in range(10)},
    }
    for name, content in files.items():
        (etc / name).write_bytes(content)
    found = rosenblatt("mail", "learn", "--ham", etc)
    assert (found.code, found.out) == (2, "")
    assert f"no mail in {etc}" in found.err
    assert f"skipped {len(files)} files in total" in found.err
    assert not home.exists()
    (etc / "one").write_bytes(letter(False, 1))
    found = rosenblatt("mail", "learn", "--ham", etc)
    assert (found.code, found.out) == (2, "")
    assert f"{etc}: 1 mail among {len(files)} other files; nothing was learned" in found.err
    mixed = rosenblatt("mail", "learn", "--ham", etc, "--spam", new(tmp_path, True))
    assert (mixed.code, home.exists()) == (2, False)
    assert rosenblatt("mail", "learn", "--ham", etc, "--force").code == 0
    assert sides() == [0, 1]


def test_no_verdict_on_what_is_not_mail(trained, tmp_path):
    (tmp_path / "passwd").write_bytes(b"root:x:0:0:root:/root:/bin/bash\n")
    (tmp_path / "tool").write_bytes(b"\x7fELF\x02\x01\0\0")
    for name in ("passwd", "tool"):
        for command in (["classify"], ["explain"], ["relearn", "--as", "spam"]):
            found = rosenblatt("mail", *command, tmp_path / name)
            assert (found.code != 0, found.out) == (True, "")
            assert f"{tmp_path / name}: not a mail" in found.err
    assert rosenblatt("mail", "classify", tmp_path / "passwd").code == 3
    through = rosenblatt("mail", "classify", "--filter", tmp_path / "passwd")
    assert (through.code, through.out) == (3, "root:x:0:0:root:/root:/bin/bash\n")
    assert "not a mail; the mail was passed through unchanged" in through.err
    assert rosenblatt("mail", "classify", input=b"no header at all").code in (0, 1, 2)  # a pipe may contain anything


def test_a_filter_that_learned_nothing_gives_no_verdict(home, tmp_path):
    assert rosenblatt("mail", "learn", "--ham-loss", "0.01").code == 0
    path = new(tmp_path, True)
    for command in (["classify"], ["explain"], ["classify", "--filter"]):
        found = rosenblatt("mail", *command, path)
        assert found.code == (3 if command[0] == "classify" else 2)
        assert "has learned nothing; teach it: rosenblatt mail learn --spam JUNK --ham INBOX" in found.err
        assert found.out.encode() == (path.read_bytes().replace(b"\r\n", b"\n") if "--filter" in command else b"")


@pytest.mark.parametrize("spam", [True, False])
def test_a_filter_that_knows_one_side_only_is_unsure(home, tmp_path, spam):
    assert (
        rosenblatt("mail", "learn", "--force", "--spam" if spam else "--ham", folder(tmp_path / "x", spam, range(60))).code == 0
    )
    for other in (True, False):
        assert rosenblatt("mail", "classify", new(tmp_path, other)).out.startswith("unsure")
