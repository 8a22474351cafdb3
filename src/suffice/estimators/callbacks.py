"""scikit-learn's callbacks (`sklearn.callback`, version 1.9 and later): a fit is a task, and every pass of it a task inside.

    model.set_callbacks(ProgressBar()).fit(X, y)

A callback whose `on_fit_task_end` returns True after a pass stops the fit; the best state so far is kept. With an older
scikit-learn estimators have no `set_callbacks`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

with_callbacks: Any = None
if TYPE_CHECKING:  # scikit-learn's has no types: as a base it would make those of every estimator unknown

    class CallbackSupportMixin:
        """Of scikit-learn."""

        def _init_callback_context(self, *, max_subtasks: int | None) -> Any: ...
else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # an older version

        class CallbackSupportMixin:
            """Nothing to support."""


class Callbacks(CallbackSupportMixin):
    """A base of estimators whose fits call scikit-learn's callbacks."""

    _callback_fit_ctx: Any  # of the fit that is under way; scikit-learn sets and deletes it

    def _with_callbacks(self, train: Callable) -> Callable:
        """`train` as a task of the callbacks, where it is `fit` and there are some (`reading.guards.all_or_nothing` asks)."""
        if train.__name__ != "fit" or not hasattr(self, "_skl_callbacks") or hasattr(self, "_callback_fit_ctx"):
            return train

        @wraps(train)
        def observed(self: Any, *args: Any, **kwargs: Any) -> Any:
            given = dict(zip(("X", "y"), args, strict=False)) | kwargs
            data = {"estimator": self, "X": given.get("X"), "y": given.get("y")}
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(**data)
            done = train(self, *args, **kwargs)
            context.call_on_fit_task_end(**data, reconstruction_attributes={})  # it is fitted: a copy of it will do
            return done

        return with_callbacks(observed)

    def _reporting(self, report: Callable | None) -> Callable | None:
        """What is called after a pass: the callbacks of the fit under way, then `report`; False stops the fit."""
        context = getattr(self, "_callback_fit_ctx", None)
        if context is None:
            return report

        def after(number: int, line: dict) -> bool:
            inside = context.subcontext(task_name="pass")
            inside.call_on_fit_task_begin(estimator=self)
            is_over = inside.call_on_fit_task_end(estimator=self)
            return not is_over and (report is None or report(number, line) is not False)

        return after
