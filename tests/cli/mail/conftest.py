"""A filter that was taught some mails, for the tests of its commands."""

from __future__ import annotations

import shutil

import pytest
from letters import folder

from commands import rosenblatt


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_MAIL", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session")
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
