"""Losses: what training minimises. One file each; `suffice.losses.base` is the contract and the table they all are rows of."""

from __future__ import annotations

from typing import Any

from .base import LABEL, NOTHING, RIVAL, Loss, best_rivals
from .hinge import Hinge
from .ncll import NCLL
from .nll import NLL

__all__ = ["LABEL", "LOSSES", "NOTHING", "RIVAL", "Loss", "best_rivals", "loss_class", "loss_named", "register"]

LOSSES = ("nll", "ncll", "hinge")  # those that every fit reports
_CLASSES: dict[str, type[Loss]] = {}


def register(loss_class: type[Loss]) -> type[Loss]:
    """The class itself, from now on known by its `name` to every estimator's `loss=` (also as a decorator).

    A loss with a gradient needs its formula twice: with arrays, and as a compiled kernel `weigh` in the module that `kernels` names.
    tests/test_new_loss.py has one in full::

        @register
        class SquaredHinge(Loss):
            name, terms, kernels = "squared_hinge", ((LABEL, +1), (RIVAL, -1)), "my_package.squared_hinge"
            def labelled_values(self, scores, y): ...
            def labelled_weights(self, scores, y): ...

    Examples
    --------
    >>> from suffice import losses
    >>> from suffice.losses.nll import NLL
    >>> losses.register(NLL) is NLL
    True
    """
    name = loss_class.name
    known = _CLASSES.get(name, loss_class)
    if (known.__module__, known.__qualname__) != (loss_class.__module__, loss_class.__qualname__):
        raise ValueError(f"the name {name!r} is taken by the loss {known.__module__}.{known.__qualname__}")
    _CLASSES[name] = loss_class
    return loss_class


def loss_class(name: str) -> type[Loss] | None:
    """The class registered under that name, None if there is none."""
    return _CLASSES.get(name) if isinstance(name, str) else None


def loss_named(loss: str | Loss, **settings: Any) -> Loss:
    """The loss of that name with these settings; a loss that is one already stays as it is."""
    if isinstance(loss, Loss):
        return loss
    found = loss_class(loss)
    if found is None:
        raise ValueError(f"loss={loss!r} is not one of {', '.join(map(repr, _CLASSES))}")
    return found(**settings)


for _class in (NLL, NCLL, Hinge):
    register(_class)
