"""What sphinx-gallery does before every example: the project's style, no warnings."""

from __future__ import annotations

import warnings


def in_our_style(gallery_conf, fname) -> None:
    import matplotlib

    from suffice.figures import STYLE

    matplotlib.rcdefaults()
    matplotlib.rc_file(STYLE)
    warnings.simplefilter("ignore")
