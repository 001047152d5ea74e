"""`rosenblatt mail`: from boxes of mail to verdicts, and back."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest
from letters import folder, letter

from commands import rosenblatt
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.identity import digest

ROSENBLATT = [sys.executable, "-m", "rosenblatt"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_MAIL", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Made once; tests get copies."""
    path = tmp_path_factory.mktemp("taught")
    spam, ham = folder(path / "spam", True, range(60)), folder(path / "ham", False, range(120))
    found = rosenblatt("mail", "learn", "--spam", spam, "--ham", ham, "--home", path / "home")
    assert found.code == 0
    assert found.out == "learned 180 mails; the filter has 60 spam and 120 ham\n"
    return path


@pytest.fixture
def trained(home, tmp_path, taught):
    shutil.copytree(taught, tmp_path, dirs_exist_ok=True)
    return home


def new(tmp_path, spam, number=1000):
    path = tmp_path / f"new-{spam}-{number}.eml"
    path.write_bytes(letter(spam, number))
    return path


def test_verdicts_and_their_exit_codes(trained, tmp_path):
    spam, ham = rosenblatt("mail", "classify", new(tmp_path, True)), rosenblatt("mail", "classify", new(tmp_path, False))
    assert (spam.code, spam.out.split()[0]) == (0, "spam")
    assert (ham.code, ham.out.split()[0]) == (1, "ham")
    assert float(spam.out.split()[1]) > 0.9 > 0.1 > float(ham.out.split()[1])
    unsure = rosenblatt("mail", "classify", input=b"Subject: hello\n\nqzxw\n")
    assert (unsure.code, unsure.out.split()[0]) == (2, "unsure")
    assert rosenblatt("mail", "classify", "-e", new(tmp_path, False)).code == 0


def test_several_mails_are_a_line_each(trained, tmp_path):
    found = rosenblatt("mail", "classify", "--json", tmp_path / "spam")
    assert found.code == 0
    lines = [json.loads(line) for line in found.out.splitlines()]
    assert len(lines) == 60
    assert all(line["label"] == "spam" and line["probability"] > 0.5 for line in lines)
    assert [line["mail"] for line in lines] == [str(tmp_path / "spam" / f"{number:04}.eml") for number in range(60)]


@pytest.mark.parametrize("wrong", [["--nonsense"], ["no-such-file"], ["--filter", "--json"], ["--filter", "a", "b"]])
def test_what_is_wrong_is_code_3_and_never_a_verdict(trained, wrong):
    found = rosenblatt("mail", "classify", *wrong)
    assert found.code == 3
    assert len(found.err.splitlines()) <= 2


def test_filter_passes_the_mail_through(trained, tmp_path):
    raw = letter(True, 1000)
    found = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter"], input=raw, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr
    assert b"\r\nX-Rosenblatt: spam; score=" in found.stdout
    assert digest(found.stdout) == digest(raw)
    before, rest = found.stdout.split(b"X-Rosenblatt: ", 1)
    while (rest := rest.split(b"\r\n", 1)[1])[:1] in (b" ", b"\t"):
        pass
    assert before + rest == raw


def test_filter_without_a_filter_passes_the_mail_as_it_came(home, tmp_path):
    path = new(tmp_path, True)
    found = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", path], capture_output=True, check=False)
    assert found.returncode == 3
    assert found.stdout == path.read_bytes()
    assert len(found.stderr.splitlines()) == 1
    assert b"passed through unchanged" in found.stderr


def test_filter_unpacks_a_file(trained, tmp_path):
    path, packed = new(tmp_path, True), tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain, unpacked = (
        subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", each], capture_output=True, check=False)
        for each in (path, packed)
    )
    assert (unpacked.returncode, unpacked.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout)
    packed.write_bytes(packed.read_bytes()[:50])
    damaged = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", packed], capture_output=True, check=False)
    assert (damaged.returncode, damaged.stdout) == (3, packed.read_bytes())
    assert b"truncated" in damaged.stderr
    assert len(damaged.stderr.splitlines()) == 1


def test_a_verdict_is_the_same_however_a_mail_comes_in(trained, tmp_path):
    path = tmp_path / "one.mbox"
    path.write_bytes(b"From a@b Mon Jan  1 10:00:00 2024\n" + letter(True, 1000) + b"\n>From now on: cheap pills\n\n")
    line = shlex.join([*ROSENBLATT, "mail", "classify", "--json"])
    ways = (f"{line} {path}", f"{line} < {path}", f"{line} <(cat {path})")
    reported = [subprocess.run(["bash", "-c", way], capture_output=True, text=True, check=False) for way in ways]
    scores = {json.loads(each.stdout)["score"] for each in reported}
    with Filter.open(trained) as piped:
        assert scores == {piped.classify(path.read_bytes()).score}


def test_filter_takes_neither_nothing_nor_several_mails(trained, tmp_path):
    nothing = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter"], input=b"", capture_output=True, check=False)
    assert (nothing.returncode, nothing.stdout) == (3, b"")
    assert nothing.stderr == b"rosenblatt: no mail on standard input\n"
    path, postmark = tmp_path / "two.mbox", b"From a@b Mon Jan  1 10:00:00 2024\n"
    path.write_bytes(2 * (postmark + letter(True, 1000) + b"\n"))
    several = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", path], capture_output=True, check=False)
    assert (several.returncode, several.stdout) == (3, path.read_bytes())
    assert several.stderr.startswith(b"rosenblatt: --filter takes one mail")
    # From a mail server it is one mail with another one in its text.
    with path.open("rb") as box:
        piped = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter"], stdin=box, capture_output=True, check=False)
    assert piped.returncode == 0
    assert piped.stdout.count(b"X-Rosenblatt: spam") == 1


def test_learning_twice_changes_nothing(trained, tmp_path):
    before = rosenblatt("mail", "show", "--json").json
    again = rosenblatt("mail", "learn", "--spam", tmp_path / "spam", "--ham", tmp_path / "ham")
    assert again.out == "learned 0 mails, skipped 180 known; the filter has 60 spam and 120 ham\n"
    after = rosenblatt("mail", "show", "--json").json
    assert before == after


def test_taking_back_is_exact(trained, tmp_path):
    before, path = rosenblatt("mail", "show", "--json").json, new(tmp_path, True)
    assert rosenblatt("mail", "learn", "--ham", path).code == 0
    assert rosenblatt("mail", "show", "--json").json["hammy"] != before["hammy"]
    found = rosenblatt("mail", "unlearn", path)
    assert (found.code, found.out) == (0, f"{path}: unlearned\n")
    after = rosenblatt("mail", "show", "--json").json
    assert {**before, "bytes": 0} == {**after, "bytes": 0}
    assert rosenblatt("mail", "unlearn", path).code == 1


def test_relearn_moves_to_the_other_side(trained, tmp_path):
    first = tmp_path / "spam" / "0000.eml"
    found = rosenblatt("mail", "relearn", first)
    assert (found.code, found.out) == (0, f"{first}: is now ham\n")
    assert [rosenblatt("mail", "show", "--json").json[side] for side in ("spam", "ham")] == [59, 121]
    stranger = new(tmp_path, True)
    assert rosenblatt("mail", "relearn", stranger).code == 1
    assert rosenblatt("mail", "relearn", "--as", "spam", stranger).code == 0


def test_a_mail_that_is_in_the_box_twice_goes_there_and_not_back(trained, tmp_path):
    first = tmp_path / "spam" / "0000.eml"
    found = rosenblatt("mail", "relearn", first, first)
    assert (found.code, found.out) == (0, f"{first}: is now ham\n{first}: is already ham\n")
    assert found.err == "1 of 2 mails moved\n"
    again = rosenblatt("mail", "relearn", "--as", "ham", "--json", first)
    assert (again.code, again.json) == (0, [{"mail": str(first), "was": "ham", "is": "ham", "moved": False}])
    assert [rosenblatt("mail", "show", "--json").json[side] for side in ("spam", "ham")] == [59, 121]
    found = rosenblatt("mail", "unlearn", first, first)
    assert (found.code, found.out) == (0, 2 * f"{first}: unlearned\n")
    assert rosenblatt("mail", "unlearn", first, first).code == 1


def test_what_was_compacted_stays_where_it_is_and_that_is_code_1(trained, tmp_path):
    assert rosenblatt("mail", "compact").code == 0
    first, stranger = tmp_path / "spam" / "0000.eml", new(tmp_path, True)
    moved = rosenblatt("mail", "learn", "--ham", first, stranger)
    assert moved.code == 1
    assert moved.out.startswith("learned 1 mail, kept the old label of 1 (text dropped); ")
    found = rosenblatt("mail", "relearn", first, stranger, "--json")
    assert (found.code, [(each["was"], each["is"], each["moved"]) for each in found.json]) == (
        1,
        [("spam", "spam", False), ("ham", "spam", True)],
    )
    found = rosenblatt("mail", "unlearn", stranger, first, stranger)
    assert found.code == 1
    words = [line.split(": ", 1)[1] for line in found.out.splitlines()]
    assert words[::2] == ["unlearned", "unlearned"]
    assert "its text was dropped" in words[1]


def test_what_compact_dropped(trained):
    found = rosenblatt("mail", "compact", "--keep", 179)
    assert (found.code, found.out, found.err) == (0, "", f"dropped the texts of 1 mail from {trained}\n")
    found = rosenblatt("mail", "compact", "--keep", 100, "--json")
    assert (found.code, found.json, found.err) == (0, {"home": str(trained), "dropped": 79, "on_disk": False}, "")
    assert "dropped the texts of 100 mails" in rosenblatt("mail", "compact").err


def test_no_filter_is_made_where_there_is_no_mail(home, tmp_path):
    (tmp_path / "empty").mkdir()
    for paths in (["--spam", tmp_path / "empty"], ["--ham", tmp_path / "nowhere", "--spam", tmp_path / "empty"]):
        found = rosenblatt("mail", "learn", *paths)
        assert found.code == 2
        assert "no mail" in found.err
        assert not home.exists()


@pytest.mark.parametrize("arguments", [["learn", "--ham-loss", "0.1"], ["show"], ["unlearn", "x"]])
def test_a_home_has_a_name(arguments):
    found = rosenblatt("mail", *arguments, "--home", "")
    assert found.code == 2
    assert "must be a directory, got ''" in found.err
    assert len(found.err.splitlines()) == 1


def test_reasons_sum_to_the_score(trained, tmp_path):
    found = rosenblatt("mail", "explain", new(tmp_path, True), "-n", 10, "--json").json
    assert len(found["features"]) == 10
    assert sum(each["weight"] for each in found["features"]) + found["rest"] == pytest.approx(found["score"])
    text = rosenblatt("mail", "explain", new(tmp_path, True)).out
    assert "verdict" in text
    assert "all others" in text


def test_explain_uses_the_first_of_several_mails(trained, tmp_path):
    path, postmark = tmp_path / "box.mbox", b"From a@b Mon Jan  1 10:00:00 2024\n"
    path.write_bytes(b"".join(postmark + letter(True, number) + b"\n" for number in (1000, 1001, 1002)))
    for given in ([], ["--json"]):
        found = rosenblatt("mail", "explain", path, *given)
        assert (found.code, found.err) == (0, f"there are several mails; only the first one is explained ({path}:1)\n")
        assert f"{path}:1" in found.out
    assert rosenblatt("mail", "explain", new(tmp_path, True)).err == ""
    assert len(rosenblatt("mail", "explain", tmp_path / "spam").err.splitlines()) == 1


def test_after_two_dashes_all_are_paths_of_the_same_side(home, tmp_path, monkeypatch):
    folder(tmp_path / "--ham", True, range(2))
    folder(tmp_path / "-x", True, range(2, 3))
    monkeypatch.chdir(tmp_path)
    found = rosenblatt("mail", "learn", "--spam", "--", "--ham", "-x")
    assert (found.code, found.out) == (0, "learned 3 mails; the filter has 3 spam and 0 ham\n")


def test_unreadable_files_are_skipped_and_counted(home, tmp_path):
    spam = folder(tmp_path / "spam", True, range(3))
    os.mkfifo(spam / "pipe")
    (spam / "dangling").symlink_to(tmp_path / "nowhere")
    found = rosenblatt("mail", "learn", "--spam", spam)
    assert found.code == 0
    assert "learned 3 mails" in found.out
    assert "skipped 2 files in total" in found.err


@pytest.mark.parametrize("command", [["classify"], ["explain"], ["unlearn"], ["relearn"], ["learn", "--spam"]])
def test_one_fault_is_one_line(trained, tmp_path, command):
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty").write_bytes(b"")
    for name, reason in (("nothing", "the folder has no mails"), ("none", "no such file or folder"), ("empty", "is empty")):
        found = rosenblatt("mail", *command, tmp_path / name)
        assert found.code != 0
        assert found.out == ""
        (line,) = found.err.splitlines()
        assert str(tmp_path / name) in line
        assert reason in line


def test_names_of_files_do_not_steer_the_terminal(trained, tmp_path):
    path = tmp_path / "ev\x1b[31mil\n.eml"
    path.write_bytes(letter(True, 1000))
    (tmp_path / "\x1b[2J").mkdir()
    for command in (["classify"], ["explain"], ["relearn", "--as", "spam"], ["unlearn"], ["learn", "--ham"]):
        for wrong in ([], [tmp_path / "\x1b[2J"]):
            found = rosenblatt("mail", *command, *([path] if command != ["explain"] or not wrong else []), *wrong)
            assert "\x1b" not in found.out + found.err
            assert "il\n" not in found.out + found.err


def test_evaluate_on_folders_an_index_and_the_own_log(trained, tmp_path):
    folders = rosenblatt("mail", "evaluate", "--spam", tmp_path / "spam", "--ham", tmp_path / "ham", "--json").json
    assert (folders["spam"], folders["ham"]) == (60, 120)
    assert folders["percent"]["one_minus_auc"]["value"] < 5.0
    assert sum(folders["verdicts"]["ham"].values()) == 120
    index = tmp_path / "index"
    lines = [f"{'spam' if spam else 'ham'} {side}/{n:04}.eml" for n in range(40) for spam, side in ((1, "spam"), (0, "ham"))]
    index.write_text("\n".join(lines))
    assert rosenblatt("mail", "evaluate", "--index", index, "--order", "given", "--json").json["spam"] == 40
    assert rosenblatt("mail", "evaluate", "--json").json["ham"] == 120
    picture = tmp_path / "curve.svg"
    assert "(1-AUC)" in rosenblatt("mail", "evaluate", "--plot", picture).out
    assert "<svg" in picture.read_text()


def test_an_impossible_picture_is_reported_before_the_work(trained, tmp_path):
    for name, reported in (
        ("curve.gif", "a figure is written as .png, .svg, .pdf"),
        ("nowhere/curve.svg", "there is no folder"),
    ):
        found = rosenblatt("mail", "evaluate", "--plot", tmp_path / name)
        assert (found.code, found.out) == (2, "")
        assert reported in found.err


def test_near_has_a_band(trained):
    wide, narrow = (
        rosenblatt("mail", "evaluate", "--json", "--train", "near", "--band", band).json["verdicts"] for band in (0.9, 0.01)
    )
    assert wide != narrow


def test_standard_input_that_is_closed_is_no_fault_of_ours(trained):
    for command in (["classify"], ["classify", "--filter"], ["learn", "--spam", "-"]):
        line = shlex.join([*ROSENBLATT, "mail", *command]) + " <&-"
        ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert ran.returncode in (2, 3)
        assert (ran.stdout, len(ran.stderr.splitlines())) == ("", 1)


def test_closed_standard_output_is_reported(trained, tmp_path):
    line = shlex.join([*ROSENBLATT, "mail", "classify", "--filter", str(new(tmp_path, True))]) + " >&-"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert ran.stderr == "rosenblatt: standard output is closed; the mail cannot be written\n"


def test_reasons_in_other_letters_can_be_read(home, tmp_path):
    word = "\u0432\u044b\u0438\u0433\u0440\u044b\u0448"
    for side, response in (("spam", word), ("ham", "\u0432\u0441\u0442\u0440\u0435\u0447\u0430")):
        for n in range(20):
            (tmp_path / f"{side}{n}.eml").write_bytes(
                f"Subject: {n}\nContent-Type: text/plain; charset=utf-8\n\n{response}".encode()
            )
    sides = [[tmp_path / f"{side}{n}.eml" for n in range(20)] for side in ("spam", "ham")]
    assert rosenblatt("mail", "learn", "--spam", *sides[0], "--ham", *sides[1]).code == 0
    found = rosenblatt("mail", "classify", "--filter", tmp_path / "spam1.eml").out
    assert word.encode("ascii", "backslashreplace").decode() in found.replace("\n ", "")


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["learn"], "nothing to learn"),
        (["learn", "box.mbox"], "say which kind it is: mail learn --spam PATH or --ham PATH"),
        (["learn", "--ham-weight", "2", "box.mbox"], "say which kind it is: "),
        (["learn", "--spam", "nowhere"], "nowhere"),
        (["unlearn", "nowhere"], "no filter yet; create one"),
        (["explain", "nowhere"], "no filter yet; create one"),
        (["show"], "learn"),
        (["lern"], "did you mean 'learn'"),
        (["evaluate", "--spam", "a", "--index", "b"], "cannot be combined"),
        (["evaluate", "--without", "weather"], "the fields are subject"),
        (["evaluate", "--band", "0.5"], "--band is for --train near"),
        (["evaluate", "--train", "near", "--band", "nan"], "must be a number over 0"),
    ],
)
def test_an_error_is_one_line(home, arguments, reported, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = rosenblatt("mail", *arguments)
    assert found.code in (1, 2)
    assert reported in found.err
    assert "Traceback" not in found.err


def test_one_verdict_imports_little(trained, tmp_path):
    """A mail server calls it for every mail."""
    code = (
        "import sys; from rosenblatt.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: print(end.code)\n"
        "print(sorted({'numba', 'sklearn', 'scipy', 'rich', 'pyarrow', 'email', 'html'} & set(sys.modules)))"
    )
    arguments = [sys.executable, "-c", code, "mail", "classify", str(new(tmp_path, True))]
    printed = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[0].startswith("spam")
    assert printed[1:] == ["0", "[]"]


def test_a_mail_with_both_labels_is_reported(home, tmp_path):
    spam = folder(tmp_path / "spam", True, range(3))
    found = rosenblatt("mail", "learn", "--spam", spam, "--ham", spam)
    assert found.code == 0
    assert "3 mails were given as both spam and ham" in found.err
    assert "the filter has 0 spam and 3 ham" in found.out


def test_what_is_skipped_on_both_sides_is_counted_at_the_end(home, tmp_path):
    spam, ham = folder(tmp_path / "spam", True, range(3)), folder(tmp_path / "ham", False, range(3))
    for path in (tmp_path / "spam" / "a.png", tmp_path / "ham" / "b.png", tmp_path / "box.tar"):
        path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    found = rosenblatt("mail", "learn", "--spam", spam, "--ham", ham, tmp_path / "box.tar")
    assert found.out == "learned 6 mails; the filter has 3 spam and 3 ham\n"
    assert found.err.count("is not a mail") == 3
    assert found.err.endswith("skipped 3 files in total\n")


def test_show_lists_the_given_number(trained):
    reported = rosenblatt("mail", "show", "-n", 5, "--json").json
    assert (len(reported["spammy"]), len(reported["hammy"])) == (5, 5)


def test_a_mail_of_which_nothing_is_known_has_no_bars(trained):
    found = rosenblatt("mail", "explain", input="Subject: ццц\u2028шшш\n\nщщщ щщщ\n".encode())
    assert found.code == 0
    rows = [line for line in found.out.splitlines() if "+0.0000" in line]
    assert rows
    assert not any(line.rstrip().endswith(("+", "-")) for line in rows)
    assert "\ufffd" not in found.out
