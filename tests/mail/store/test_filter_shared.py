"""Several threads and processes use one filter, some are interrupted, and classifying imports little."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_filters import BITS, assert_equal, fresh, is_spam, mail, mails

from effort import amount, in_time
from rosenblatt.mail import view
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.identity import digest
from rosenblatt.mail.store.log import Log


def test_a_verdict_on_one_mail_imports_little(tmp_path: Path) -> None:
    """A snapshot, a few messages after it, and a mail: nothing is loaded that takes long."""
    with fresh(tmp_path / "a", mails(range(50))) as found:
        found.save()
        found.learn(mails(range(50, 60)))
        verdict = found.classify(mail(900))
    lines = [
        "import sys",
        "from rosenblatt.mail.filter import Filter",
        f"with Filter.open({os.fspath(tmp_path / 'a')!r}) as found:",
        f"    print(found.classify({mail(900)!r}).score, found.store.saved)",
        "heavy = {'email', 'numba', 'pyarrow', 'rich', 'safetensors', 'scipy', 'sklearn'}",
        "print(*{name.split('.')[0] for name in sys.modules} & heavy)",
    ]
    ran = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60)
    assert ran.stderr == ""
    assert ran.stdout == f"{verdict.score} 50\n\n"


def test_many_verdicts_load_compiled_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[int] = []
    monkeypatch.setattr(view, "load_numba_for", expected.append)
    with fresh(tmp_path / "a", mails(range(50))) as found:
        queries = [mail(number) for number in range(view.NUMBA_AFTER_MAILS)]
        few = list(found.classify_many(queries[1:]))
        assert not expected
        assert list(found.classify_many(queries))[1:] == few == [found.classify(raw) for raw in queries[1:]]
        assert expected == [view.NUMBA_FROM_MESSAGES]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def test_a_filter_of_four_million_columns_has_its_size(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(10)), bits=22) as found:
        found.save()
        assert (tmp_path / "a" / "filter.safetensors").stat().st_size < 34 << 20
        with Filter.open(tmp_path / "a") as again:
            assert again.store.saved == 10
            assert_equal(found, again)
    # Of a snapshot with all that is rehearsed, as fast as the machine could at its best of some times.
    with fresh(tmp_path / "b", mails(range(900)), bits=22) as found:
        found.save()
        assert (tmp_path / "b" / "filter.safetensors").stat().st_size < 50_000_000
    assert in_time(min(timed(lambda: Filter.open(tmp_path / "b").close()) for _ in range(amount(1, 10))), 0.1)


def test_two_open_filters_see_what_the_other_learns(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(20))) as one, Filter.open(tmp_path / "a") as other:
        assert not other.refresh()
        one.learn(mails(range(20, 30)))
        assert other.refresh()
        assert not other.refresh()
        assert_equal(one, other)
        other.learn(mails(range(30, 40)))
        one.learn(mails(range(40, 45)))  # without having looked
        other.refresh()
        assert_equal(one, other)
        one.unlearn(mail(2))
        other.learn(mails(range(45, 50)))
        other.change(ham_weight=2.0)
        one.refresh()
        assert_equal(one, other)
        one.change(ham_loss=0.3)
        other.refresh()
        assert_equal(one, other)
        one.compact(keep=10)
        one.learn(mails(range(70, 80)))
        one.compact(keep=2)  # what the other has not seen yet is folded
        assert other.refresh()
        assert_equal(one, other)
        other.learn([(mail(3), False), (mail(60), True)])
        one.refresh()
        assert_equal(one, other)
        left = [*mails(n for n in range(50) if n != 2), *mails(range(70, 80)), (mail(60), True)]
        with fresh(tmp_path / "b", left, ham_weight=2.0, ham_loss=0.3) as third:
            assert_equal(one, third)


def test_threads_learn_and_classify_at_once(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def run(work: Any) -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    with fresh(tmp_path / "a", mails(range(10))) as found:

        def teach(first: int) -> None:
            for number in range(first, first + 25):
                found.learn([(mail(number), is_spam(number))])
                if number % 10 == 0:
                    found.unlearn(mail(number))

        def classify() -> None:
            for number in range(200):
                found.classify(mail(number))
                found.refresh()

        works = [lambda: teach(100), lambda: teach(200), lambda: teach(110), classify, classify]
        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(set(found.store.log.db.execute("SELECT digest FROM messages").fetchall())) == found.store.state.count
        found.close()
        (tmp_path / "a" / "filter.safetensors").unlink(missing_ok=True)
        with Filter.open(tmp_path / "a") as replayed:
            assert_equal(found, replayed)


@pytest.mark.parametrize("where", ["learn_many", "_make_room"])
def test_interrupted_while_learning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """After the log was written: the state is incomplete and is not used again."""
    with fresh(tmp_path / "a", mails(range(70))) as found, fresh(tmp_path / "b", mails(range(400))) as other:
        state = found.store.state
        owner = state.learner if where == "learn_many" else state
        plain = getattr(owner, where)

        def interrupted(*given: Any) -> None:
            plain(*given)
            raise KeyboardInterrupt

        monkeypatch.setattr(owner, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            found.learn(mails(range(70, 400)))
        assert found.store.stale
        assert not state.consistent
        assert found.refresh()
        assert found.learn(mails(range(400))).new == 400 - 270
        assert_equal(found, other)


def test_several_processes_learn_at_once(tmp_path: Path) -> None:
    """From the first moment on, when there is no home yet."""
    home = tmp_path / "what? 100% #1"
    lines = [
        f"import sys; sys.path.insert(0, {os.fspath(Path(__file__).parent.parent)!r})",
        "from small_filters import *",
        f"found = Filter.open({os.fspath(home)!r}, create=True, settings={{'bits': BITS}})",
        "first = int(sys.argv[1])",
        "reported = [found.learn(mails([n])).new for n in range(first, first + 40)]",
        "found.unlearn(mail(first)); found.learn([(mail(first + 1), True)]); found.compact(keep=100); found.refresh()",
        "print(sum(reported)); found.close()",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    children = [subprocess.Popen([*command, str(first)], stdout=subprocess.PIPE) for first in (0, 20, 100)]
    reported = [int(child.communicate(timeout=60)[0]) for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    with Filter.open(home) as found:
        rows = found.store.log.db.execute("SELECT digest, spam FROM messages ORDER BY seq").fetchall()
        assert 60 + 40 - 3 <= len(rows) <= sum(reported)
        places = {digest(mail(number)): number for number in range(200)}
        left = [(mail(places[name]), bool(spam)) for name, spam in rows]
        with fresh(tmp_path / "fresh", left) as other:
            assert_equal(found, other)


def test_classifying_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(10))) as found:
        done = threading.Event()
        with found.store.writing:

            def classify() -> None:
                found.refresh()
                found.classify(mail(1))
                done.set()

            thread = threading.Thread(target=classify)
            thread.start()
            assert done.wait(10)
        thread.join()


@pytest.mark.parametrize("opening", [False, True])
def test_settings_that_two_change_at_once_are_both_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opening: bool
) -> None:
    with fresh(tmp_path / "a", mails(range(10))) as one, Filter.open(tmp_path / "a") as other:
        write = Log.writing

        def late(log: Log) -> Any:
            monkeypatch.setattr(Log, "writing", write)
            other.change(ham_loss=0.3)
            return log.writing()

        monkeypatch.setattr(Log, "writing", late)
        if opening:
            Filter.open(tmp_path / "a", settings={"ham_weight": 2.0}).close()
        else:
            one.change(ham_weight=2.0)
        one.refresh()
        other.refresh()
        assert one.settings == other.settings
        assert (one.settings.ham_weight, one.settings.ham_loss) == (2.0, 0.3)


def test_a_filter_that_is_replaced_by_one_of_fewer_columns_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts and reasons come from the state that the columns were made for."""
    with fresh(tmp_path / "a", mails(range(30))) as found:
        columns_of, verdict, reasons = view.columns_of, found.classify(mail(900)), found.explain(mail(900))

        def late(*given: Any) -> Any:
            columns = columns_of(*given)
            found.change(bits=found.settings.bits - 2)
            return columns

        monkeypatch.setattr(view, "columns_of", late)
        assert found.classify(mail(900)) == verdict
        monkeypatch.undo()
        found.change(bits=BITS)
        monkeypatch.setattr(view, "columns_of", late)
        assert found.explain(mail(900)) == reasons
