"""Writes reference/api.rst: every public name of every public module, from their `__all__`, so that no page is forgotten."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import suffice

ROOMS = ("evaluation", "figures", "losses", "saving", "datasets")  # packages with names for users
NOT_PAGES = {"COLOURS", "QUIET", "STYLE", "VERSION", "LABEL", "LOSSES", "NOTHING", "RIVAL", "figure", "tidy"}
NOT_PAGES |= {"best_rivals", "loss_class", "loss_named"}  # constants, and parts for developers
EXTRA = {"datasets": ("load", "names")}


def public_modules() -> list[str]:
    """The thin modules of the package, and the rooms that users import from."""
    thin = [
        found.name for found in pkgutil.iter_modules(suffice.__path__) if not found.ispkg and found.name != "__main__"
    ]
    return sorted(thin) + [room for room in ROOMS if (Path(suffice.__path__[0]) / room).is_dir()]


def names_of(module: str) -> list[str]:
    """Public names of a module of suffice that have a page."""
    found = import_module(f"suffice.{module}")
    names = getattr(found, "__all__", EXTRA.get(module, ()))
    homes = {name: home for name, home in suffice._HOMES.items() if home in public_modules()}
    return [name for name in names if name not in NOT_PAGES and homes.get(name, module) == module]


def top_names() -> list[str]:
    """Names of `suffice` that no other page lists."""
    listed = {id(getattr(import_module(f"suffice.{m}"), name)) for m in public_modules() for name in names_of(m)}
    return [name for name in suffice.__all__ if name != "__version__" and id(getattr(suffice, name)) not in listed]


def section(title: str, module: str, text: str, names: list[str]) -> str:
    rows = "\n".join(f"   {name}" for name in names)
    head = f"{title}\n{'-' * len(title)}\n\n{text}\n\n.. currentmodule:: {module}\n\n"
    return head + f".. autosummary::\n   :toctree: generated/\n   :nosignatures:\n\n{rows}\n\n"


def page() -> str:
    text = ".. Written by docs/_ext/public_api.py.\n\nPython\n======\n\n"
    text += "Everything here can be imported from ``suffice`` as well, where the name is unique; ``import suffice`` stays light.\n\n"
    if names := top_names():
        text += section(
            "suffice", "suffice", "Saving, reports, and what makes your own families and losses known.", names
        )
    for module in public_modules():
        if names := names_of(module):
            first = (import_module(f"suffice.{module}").__doc__ or "").strip().split("\n")[0]
            text += section(f"suffice.{module}", f"suffice.{module}", first, names)
    return text


def write(app) -> None:
    path = Path(app.srcdir) / "reference" / "api.rst"
    new = page()
    if not path.exists() or path.read_text() != new:
        path.write_text(new)


def setup(app):
    app.connect("config-inited", lambda app, config: write(app), priority=400)  # before autosummary looks for pages
    return {"parallel_read_safe": True}
