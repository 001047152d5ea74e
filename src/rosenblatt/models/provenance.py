"""Where a model comes from: versions, time, and the training data with their digest."""

from __future__ import annotations

from typing import Any

import numpy as np


def provenance_now() -> dict[str, Any]:
    """What every file says: who wrote it, and when."""
    import datetime
    import platform

    from .. import __version__

    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    return {
        "rosenblatt": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "saved": now.isoformat().replace("+00:00", "Z"),
    }


def provenance_of_data(X: Any, y: Any) -> dict[str, Any]:
    """Rows, columns and the SHA-256 that certificates have: the same for arrays and sparse matrices with the same numbers."""
    from ..certificates.data import Data

    data = Data(X, y)
    return {"rows": data.n_rows, "columns": data.n_columns, "data_sha256": data.sha256()}
