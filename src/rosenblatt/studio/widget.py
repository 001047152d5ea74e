"""The page in a notebook, as an anywidget. Its first run is inside, so it is shown without Python as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    import anywidget
    import traitlets
except ImportError:
    raise ImportError("the studio in a notebook needs anywidget: pip install 'rosenblatt[notebook]'") from None

from .answers import answer_message


class Studio(anywidget.AnyWidget):
    """The page in a sandboxed frame that can reach only Python's answers.

    Parameters
    ----------
    page : str
        The page as one HTML file.
    """

    _esm = Path(__file__).with_name("notebook.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)

    def __init__(self, page: str) -> None:
        super().__init__(page=page)
        self.on_msg(self._answer)

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        self.send(answer_message(message, buffers))
