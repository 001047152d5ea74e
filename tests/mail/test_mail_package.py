"""The public names of `rosenblatt.mail`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rosenblatt.mail


def test_public_names_are_loaded_on_first_use() -> None:
    code = "import sys, rosenblatt.mail; print([name for name in sys.modules if name.startswith('rosenblatt.mail.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_exists_and_is_listed() -> None:
    assert dir(rosenblatt.mail) == sorted(rosenblatt.mail.__all__)
    for name in rosenblatt.mail.__all__:
        assert getattr(rosenblatt.mail, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        rosenblatt.mail.Nothing  # noqa: B018


def test_opening_a_filter_loads_no_compiled_code() -> None:
    code = "import sys; from rosenblatt.mail import Filter; print({'numba', 'scipy', 'sklearn'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
