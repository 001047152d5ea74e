"""What every model file records of its origin: versions, time, and the size and digest of the data if they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import MatrixLike

if TYPE_CHECKING:
    import numpy.typing as npt


def provenance_now() -> dict[str, Any]:
    """Return the versions and the time that every file records."""
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


def provenance_of_data(X: MatrixLike, y: npt.ArrayLike) -> dict[str, Any]:
    """Return the size of the data and their SHA-256 as in certificates: equal for dense and sparse data with equal values."""
    from ..certificates.data import Data

    data = Data(X, y)
    return {"rows": data.n_rows, "columns": data.n_columns, "data_sha256": data.sha256}
