"""Whatever loads from a forged file predicts, prints, and saves again to an equal file; `forged_files.py` forges them."""

from __future__ import annotations

import tracemalloc

import pytest
from forged_files import check, forged, originals
from sealed_files import loaded

import rosenblatt as rb
from effort import amount
from rosenblatt.models.container import MAX_GROWTH

pytestmark = [pytest.mark.slow, pytest.mark.once, pytest.mark.filterwarnings("ignore")]
# Forgeries that were once loaded and then failed: columns of another selection, a missing sum, parameters of a vocabulary.
FOUND = (29339, 38041, 42736, 47489, 60605, 61357, 101652, 103433, 118333)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return originals(tmp_path_factory.mktemp("originals"))


def test_valid_files_are_usable(files, tmp_path):
    for kind, (raw, X) in files.items():
        assert check(raw, X, tmp_path) == "", kind


def test_forged_files_are_refused_or_usable(files, tmp_path):
    count = amount(200, 4_000)
    refused = sum(bool(check(*forged(files, seed)[1:], tmp_path)) for seed in (*range(count), *FOUND))
    assert 0.5 * count < refused < count


def test_forged_files_take_little_memory(files, monkeypatch):
    for seed in range(10**6, 10**6 + amount(100, 2_000)):
        kind, raw, _ = forged(files, seed)
        tracemalloc.start()
        try:
            loaded(raw, monkeypatch)
        except rb.ModelError:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < (16 << 20) + MAX_GROWTH * len(raw), kind
