"""The page in a notebook, by anywidget: Python answers what the page asks for; its first picture is inside, so that it can be
looked at without Python, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    import anywidget
    import traitlets
except ImportError:
    raise ImportError("the studio in a notebook needs anywidget: pip install 'rosenblatt[notebook]'") from None

from .answers import reply


class Studio(anywidget.AnyWidget):
    """page: the HTML that is shown, in a frame that can reach nothing but Python's answers."""

    _esm = Path(__file__).with_name("notebook.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)

    def __init__(self, page: str) -> None:
        super().__init__(page=page)
        self.on_msg(self._asked)

    def _asked(self, _: Any, asked: Any, buffers: Any) -> None:
        self.send(reply(asked, buffers))
