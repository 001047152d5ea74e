"""No pickle anywhere: neither in the sources, nor while a file is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from trained_models import trained

import rosenblatt as rb
from rosenblatt import models

pytestmark = pytest.mark.once
FORBIDDEN = ("pickle", "marshal", "shelve", "joblib", "eval(", "exec(", "allow_pickle", "__reduce__", "np.load", "np.save(")


def test_the_sources_of_models_do_without():
    for path in Path(models.__file__).parent.rglob("*.py"):
        text = path.read_text()
        assert [word for word in FORBIDDEN if word in text] == [], path


@pytest.mark.parametrize("name", ["average", "vote", "soft-margin"])
def test_a_file_is_loaded_without(name, tmp_path, monkeypatch):
    rb.save(trained(name, 4), tmp_path / "model")

    def refuse(*_, **__):
        raise AssertionError("something was unpickled")

    for function in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(f"pickle.{function}", refuse)
    assert rb.load(tmp_path / "model").n_features_in_ == 5


def test_predicting_with_a_plane_imports_nothing_heavy(tmp_path):
    rb.save(trained("average", 4), tmp_path / "model")
    code = (
        "import sys\nfrom rosenblatt.models.files import load_model\nimport numpy as np\n"
        "from rosenblatt.data.csr import CSRMatrix\n"
        "model = load_model(sys.argv[1])\nmodel.predict(np.ones((2, 5)))\n"
        "model.predict(CSRMatrix(np.ones(2), np.zeros(2, np.int32), np.arange(3), 5))\n"
        "heavy = ('scipy', 'numba', 'sklearn', 'safetensors', 'pandas', 'pyarrow', 'torch', 'numpy.random')\n"
        "sys.stdout.write(' '.join(name for name in heavy if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model")], capture_output=True, text=True, check=True)
    assert done.stdout == ""
