"""Exit codes of `mail classify`, which are bogofilter's: 0 spam, 1 ham, 2 unsure, 3 something is wrong."""

from __future__ import annotations

from typing import Any

import click

CODES = {"spam": 0, "ham": 1, "unsure": 2}
WRONG = 3


class Classifying(click.Command):
    """Whatever goes wrong ends with 3: everywhere else that is 2, which here means unsure."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as wrong:
            from ..failing import usage

            raise with_code(usage(wrong, click.get_current_context())) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.Abort, click.exceptions.Exit):
            raise
        except click.UsageError as wrong:
            from ..failing import usage

            raise with_code(usage(wrong, ctx)) from None
        except Exception as wrong:
            from ..failing import failure

            raise with_code(failure(wrong)) from None


def with_code(failed: Any) -> Any:
    if isinstance(failed, click.ClickException):
        failed.exit_code = WRONG  # type: ignore[misc]
    return failed
