"""A call that fails changes nothing."""

from __future__ import annotations

from functools import wraps


def all_or_nothing(train):
    """A call that fails leaves the estimator as it was: nothing of other data (classes, columns, units) stays behind."""

    @wraps(train)
    def guarded(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return train(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded
