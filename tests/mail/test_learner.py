"""The filter's learner: the compiled way gives the bits of the plain one, in one call or in many."""

import subprocess
import sys

import numba  # noqa: F401  the compiled way is taken where Numba is loaded
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.mail.learner import Learner

BITS = 6


@st.composite
def mails(draw):
    sets = draw(st.lists(st.sets(st.integers(0, (1 << BITS) - 1), max_size=30), max_size=25))
    spam = np.array(draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets))), bool)
    columns = [np.array(sorted(each), np.uint32) for each in sets]
    return columns, spam, draw(st.sampled_from([1e-3, 0.1, 1.0, 7.3])), draw(st.sampled_from([0.5, 1.0, 3.0]))


def packed(columns):
    indptr = np.concatenate([[0], np.cumsum([len(each) for each in columns])]).astype(np.int64)
    return indptr, np.concatenate([np.zeros(0, np.uint32), *columns])


def same(one, other):
    assert one.weights.tobytes() == other.weights.tobytes()
    assert one.variances.tobytes() == other.variances.tobytes()
    assert one.weights.dtype == one.variances.dtype == np.float32


@given(mails())
def test_compiled_and_plain_give_the_same_bits(given):
    columns, spam, r, ham_weight = given
    plain, single, many = (Learner(BITS, r, ham_weight) for _ in range(3))
    before = [plain._learn(each, bool(label)) for each, label in zip(columns, spam, strict=True)]
    assert [single.learn(each, bool(label)) for each, label in zip(columns, spam, strict=True)] == before
    assert many.learn_many(*packed(columns), spam).tolist() == before
    same(plain, single)
    same(plain, many)
    after = [plain._score(each) for each in columns]
    assert [many.score(each) for each in columns] == after


def test_long_messages_too():
    rng, bits = np.random.default_rng(0), 16
    columns = [np.unique(rng.integers(0, 1 << bits, size).astype(np.uint32)) for size in rng.integers(0, 4000, 60)]
    spam = rng.random(60) < 0.5
    plain, many = Learner(bits), Learner(bits)
    before = [plain._learn(each, bool(label)) for each, label in zip(columns, spam, strict=True)]
    assert many.learn_many(*packed(columns), spam).tolist() == before
    same(plain, many)


@given(mails())
def test_what_a_message_taught_is_that_it_scores_nearer_to_its_side_and_is_surer(given):
    columns, spam, r, ham_weight = given
    learner = Learner(BITS, r, ham_weight)
    for each, label in zip(columns, spam, strict=True):
        y, variances = (1 if label else -1), learner.variances.copy()
        before = learner.learn(each, bool(label))
        assert y * learner.score(each) >= min(y * before, 1.0 if label else ham_weight**0.25) - 1e-5
        assert (learner.variances <= variances).all()
        assert (learner.variances > 0).all()


@pytest.mark.once
def test_the_heavier_ham_is_the_less_of_it_is_lost():
    """Mails that share most of their columns, of two kinds that overlap, each scored before it was learned."""
    rng, bits, n = np.random.default_rng(0), 8, 1500
    spam = rng.random(n) < 0.4
    tilt = np.linspace(-0.12, 0.12, 1 << bits)
    columns = [np.flatnonzero(rng.random(1 << bits) < 0.2 + (tilt if label else -tilt)).astype(np.uint32) for label in spam]
    lost, passed = [], []
    for ham_weight in (0.1, 1.0, 3.0, 10.0, 30.0, 100.0):
        scores = Learner(bits, ham_weight=ham_weight).learn_many(*packed(columns), spam)
        lost.append(int((scores[~spam] > 0).sum()))
        passed.append(int((scores[spam] <= 0).sum()))
    assert lost == sorted(lost, reverse=True)
    assert passed == sorted(passed)
    assert lost[-1] < 0.4 * lost[1] < 0.4 * lost[0]


def test_what_the_kernels_would_read_beyond_their_arrays_is_refused():
    learner = Learner(4)
    with pytest.raises(IndexError, match=r"under 2\*\*4, got 16"):
        learner.score(np.array([16], np.uint32))
    with pytest.raises(ValueError, match="indptr must rise"):
        learner.learn_many([0, 3], np.array([1, 2], np.uint32), [True])
    with pytest.raises(ValueError, match="indptr must rise"):
        learner.learn_many([0, 2, 1], np.array([1, 2], np.uint32), [True, False])
    with pytest.raises(ValueError, match="one entry for each of 1"):
        learner.learn_many([0, 2], np.array([1, 2], np.uint32), [True, False])


PLAIN = """
import sys, numpy as np
from rosenblatt.mail.learner import Learner
learner = Learner(4)
learner.learn(np.array([1, 2], np.uint32), True)
print(*learner.learn_many([0, 2, 2, 3], np.array([1, 3, 2], np.uint32), [False, True, True]), learner.score(np.array([2])))
print(*sorted({"numba", "scipy", "sklearn"} & set(sys.modules)))
"""


def test_without_numba_the_plain_way_is_taken_and_gives_the_same():
    ran = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True)
    words, loaded = ran.stdout.split("\n")[:2]
    assert loaded == ""
    learner = Learner(4)
    learner.learn(np.array([1, 2], np.uint32), True)
    scores = learner.learn_many([0, 2, 2, 3], np.array([1, 3, 2], np.uint32), [False, True, True])
    assert words.split() == [*map(str, scores), str(learner.score(np.array([2], np.uint32)))]


def test_ham_is_driven_to_the_fourth_root_of_its_weight():
    """The first message of either side, as the definition of AROW has it: of its margin it misses r/(v + r)."""
    columns, r = np.array([1, 2, 5, 9], np.uint32), 0.1
    for ham_weight in (1.0, 16.0, 81.0):
        learner = Learner(4, r, ham_weight)
        learner.learn(columns, False)
        assert learner.score(columns) == pytest.approx(-(ham_weight**0.25) / (1.0 + r), rel=1e-6)
        learner = Learner(4, r, ham_weight)
        learner.learn(columns, True)
        assert learner.score(columns) == pytest.approx(1.0 / (1.0 + r), rel=1e-6)
