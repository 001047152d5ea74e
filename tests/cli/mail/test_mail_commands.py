"""`rosenblatt mail`: from boxes of mail to verdicts, and back."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
from letters import folder, letter, new

from commands import rosenblatt

ROSENBLATT = [sys.executable, "-m", "rosenblatt"]


def test_learning_twice_changes_nothing(trained, tmp_path):
    before = rosenblatt("mail", "show", "--json").json
    again = rosenblatt("mail", "learn", "--spam", tmp_path / "spam", "--ham", tmp_path / "ham")
    assert again.out == "learned 0 mails, skipped 180 known; the filter has 60 spam and 120 ham\n"
    after = rosenblatt("mail", "show", "--json").json
    assert before == after


def test_unlearning_is_exact(trained, tmp_path):
    before, path = rosenblatt("mail", "show", "--json").json, new(tmp_path, True)
    assert rosenblatt("mail", "learn", "--ham", path).code == 0
    assert rosenblatt("mail", "show", "--json").json["hammy"] != before["hammy"]
    found = rosenblatt("mail", "unlearn", path)
    assert (found.code, found.out) == (0, f"{path}: unlearned\n")
    after = rosenblatt("mail", "show", "--json").json
    assert {**before, "bytes": 0} == {**after, "bytes": 0}
    again = rosenblatt("mail", "unlearn", path)
    assert (again.code, again.out) == (1, f"{path}: is not in the filter\n")


def test_relearn_moves_to_the_other_side(trained, tmp_path):
    first = tmp_path / "spam" / "0000.eml"
    found = rosenblatt("mail", "relearn", first)
    assert (found.code, found.out) == (0, f"{first}: is now ham\n")
    assert [rosenblatt("mail", "show", "--json").json[side] for side in ("spam", "ham")] == [59, 121]
    stranger = new(tmp_path, True)
    found = rosenblatt("mail", "relearn", stranger)
    assert (found.code, found.out) == (1, f"{stranger}: is not in the filter; use --as spam or --as ham\n")
    assert "no option --ham; use --as ham" in rosenblatt("mail", "relearn", "--ham", stranger).err
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
    found = rosenblatt("mail", "unlearn", first, first, "--json")
    assert (found.code, found.json) == (1, 2 * [{"mail": str(first), "known": False, "unlearned": False}])


def test_what_was_compacted_stays_where_it_is_and_that_is_code_1(trained, tmp_path):
    assert rosenblatt("mail", "compact", "--keep", 0).code == 0
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
    lost = "can no longer be unlearned or relearned"
    found = rosenblatt("mail", "compact", "--keep", 179)
    assert (found.code, found.out, found.err) == (0, "", f"dropped the texts of 1 mail from {trained}; it {lost}\n")
    found = rosenblatt("mail", "compact", "--keep", 100, "--json")
    assert (found.code, found.json, found.err) == (0, {"home": str(trained), "dropped": 79, "on_disk": False}, "")
    found = rosenblatt("mail", "compact", "--keep", 0)
    assert found.err == f"dropped the texts of 100 mails from {trained}; they {lost}\n"
    found = rosenblatt("mail", "compact")  # there is nothing left to drop, and nothing to ask
    assert (found.code, found.err) == (0, f"dropped the texts of 0 mails from {trained}\n")


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
    for name, reason in (("nothing", "the folder has no mails"), ("none", "file or folder not found"), ("empty", "is empty")):
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
        (["evaluate", "--train", "near", "--band", "nan"], "--band: must be greater than 0, got nan"),
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
    mails = folder(tmp_path / "mails", True, range(3))
    found = rosenblatt("mail", "learn", "--spam", mails, "--ham", mails)
    assert found.code == 0
    assert "3 mails were given as both spam and ham" in found.err
    assert "the filter has 0 spam and 3 ham" in found.out


def test_what_is_skipped_on_both_sides_is_counted_at_the_end(home, tmp_path):
    spam, ham = folder(tmp_path / "spam", True, range(3)), folder(tmp_path / "ham", False, range(3))
    for path in (tmp_path / "spam" / "a.png", tmp_path / "ham" / "b.png", tmp_path / "box.tar"):
        path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    found = rosenblatt("mail", "learn", "--spam", spam, "--ham", ham, tmp_path / "box.tar")
    assert found.out == "learned 6 mails; the filter has 3 spam and 3 ham\n"
    assert found.err.count("not a mail") == 3
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


def test_predict_and_evaluate_refer_to_classify(trained, tmp_path):
    for command in ("predict", "evaluate"):
        found = rosenblatt(command, trained / "filter.safetensors", tmp_path / "spam" / "0000.eml")
        sentence = "the model is a mail filter, which has no columns; use `rosenblatt mail classify`"
        assert (found.code, found.err) == (2, f"rosenblatt: {sentence}\n")
