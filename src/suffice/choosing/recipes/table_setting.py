"""Points of the recipe for dense tables."""

from __future__ import annotations

from dataclasses import dataclass

from ..priors import Setting


@dataclass(frozen=True)
class TableSetting(Setting):
    """A point of the recipe: `strength` pseudo-rows in all, `second` the share of joint likelihood, and how columns are read."""

    per_class: bool = False
    bins: tuple[str, ...] = ()
    told: bool = False
    filled: bool = False
    own: float = 1.0


def name_of(setting: TableSetting) -> str:
    """What a fold remembers the parameters of such settings by: the next one begins there."""
    return f"T{setting.bins}{setting.told}{setting.filled}{setting.own}"


def said(setting: TableSetting) -> str:
    """The setting in words."""
    parts = [f"strength {setting.strength:.3g}"]
    if setting.second:
        parts.append(f"a share {setting.second:g} of joint likelihood")
    if setting.per_class:
        parts.append("variances of every class")
    if setting.bins:
        parts.append(f"{len(setting.bins)} columns as bins")
    if setting.told:
        parts.append("gaps that count")
    if setting.filled:
        parts.append("missing numbers filled in by the other columns")
    if setting.own < 1:
        parts.append(f"correlations that count {1.0 - setting.own:g}")
    return ", ".join(parts)
