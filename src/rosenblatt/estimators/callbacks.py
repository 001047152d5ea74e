"""scikit-learn's callbacks (`sklearn.callback`): a task for the fit, and one in it for each pass or iteration.

The task of the fit begins with the data and ends with a fitted copy of the estimator. The tasks of passes have no fitted copy,
since the weights are in compiled code then, and what a callback returns at their end does not stop the fit: a callback that
raises an error during a pass does, and leaves the estimator as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sklearn.callback import CallbackSupportMixin, with_callbacks

from ..array_types import MatrixLike
from ..progress import Progress, current_callback, progress_callback

if TYPE_CHECKING:
    import numpy.typing as npt

Method = TypeVar("Method", bound=Callable[..., Any])


def with_teardown(fit: Method) -> Method:
    """Decorate `fit`, so that callbacks are torn down however it ends."""
    return cast(Method, with_callbacks(fit))


class CallbackMethods(CallbackSupportMixin):
    """Mixin of `LinearClassifier`: `set_callbacks`, and the calls of callbacks around a fit."""

    @contextmanager
    def _called_back(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Iterator[None]:
        """Call the callbacks, if there are any, before and after a fit and for each of its passes."""
        if not self.__dict__.get("_skl_callbacks"):
            yield  # a context takes longer to make than a small fit
            return
        given = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        root = self._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=self, **given)
        with progress_callback(self._report_tasks(root, given)):
            yield
        root.call_on_fit_task_end(estimator=self, reconstruction_attributes={}, **given)

    def _report_tasks(self, root: Any, given: dict[str, Any]) -> Callable[[Progress], None]:
        """Return a progress callback that makes a task of each pass or iteration, and calls the installed one, too."""
        installed = current_callback()

        def report(progress: Progress) -> None:
            if installed is not None:
                installed(progress)
            if progress.ended_pass:
                task = root.subcontext(task_name="pass")
                task.call_on_fit_task_begin(estimator=self, **given)
                task.call_on_fit_task_end(estimator=self, **given)

        return report
