"""The checker's command on a file as it was published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rosenblatt as rb
from datasets import data_file, libsvm
from rosenblatt.certificates.command import main


def test_heart_scale(tmp_path: Path, capsys: Any) -> None:
    X, y = libsvm("heart_scale")
    rb.save_certificate(rb.certify(X, y), tmp_path / "certificate.json")
    assert main([str(tmp_path / "certificate.json"), str(data_file("libsvm/heart_scale"))]) == 0
    assert "not separable" in capsys.readouterr().out
