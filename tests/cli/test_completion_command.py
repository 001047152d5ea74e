"""rosenblatt completion"""

from __future__ import annotations

import pytest

from commands import rosenblatt


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_this_command(shell):
    assert "_ROSENBLATT_COMPLETE" in rosenblatt("completion", shell).out
