"""Ctrl-C as compiled code hands it on. (A module of its own: whoever guards a fit need not load numba.)"""


def is_interruption(error: BaseException) -> bool:
    """Whether Ctrl-C came, also while compiled code handed an array to Python: numba makes that a SystemError."""
    if isinstance(error, SystemError):
        return isinstance(error.__cause__, KeyboardInterrupt)
    return isinstance(error, KeyboardInterrupt)
