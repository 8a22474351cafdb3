"""Draw docs/architecture.svg: the rooms on their floors, and the way of a fit through them.

python tools/draw_architecture.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

FLOORS = [
    ("what the machine runs", [("kernels", "compiled loops, bound to\nfamilies and losses")]),
    ("tools", [("engines", "sums over shards"), ("losses", "signed expectations,\none file each"), ("saving", "archive, names,\ncheckpoints")]),
    ("mathematics", [("families", "columns given an outcome:\nmoments, natural parameters, domain, prior")]),
    ("", [("structures", "who emits what: joint, words,\ngroups, topics, network"), ("files", "CSV, Parquet, svmlight, text")]),
    ("training", [("learners", "driver, State, batch, incremental,\nstochastic, quasi-Newton, streams"), ("reading", "what a person has\n→ rows, and back"), ("datasets", "loaders")]),
    ("", [("choosing", "folds, search, calibration;\nrecipes: what “auto” means"), ("evaluation", "scores, bounds")]),
    ("people", [("estimators", "scikit-learn's contract; five hooks each"), ("figures", "pictures")]),
    ("", [("public modules", "suffice.naive_bayes, .discriminant, .mixture, .topic, .sbn, .text"), ("experiments, cli", "the papers; the command line")]),
]  # fmt: skip
WAY = [  # of a fit: from a room to a room, with the places of the arrow's ends
    ("estimators", "reading", 5.8, 6.0),
    ("estimators", "choosing", 2.9, 2.9),
    ("choosing", "learners", 1.9, 1.9),
    ("learners", "structures", 1.9, 1.9),
    ("structures", "families", 1.9, 1.9),
    ("families", "kernels", 7.97, 7.97),
]
FIT = {room for step in WAY for room in step[:2]}
INK, PAPER, ACCENT, PALE = "#22303c", "#ffffff", "#c8553d", "#eaf1f7"
WIDTH, HEIGHT, GAP = 12.0, 1.0, 0.45


def main() -> None:
    figure = Figure(figsize=(12, 10.4), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    places = {}
    for level, (label, rooms) in enumerate(FLOORS):
        y = level * (HEIGHT + GAP)
        axes.text(-0.25, y + HEIGHT / 2, label, ha="right", va="center", color=INK, fontsize=11, style="italic")
        width = (WIDTH - 0.3 * (len(rooms) - 1)) / len(rooms)
        for place, (name, words) in enumerate(rooms):
            x = place * (width + 0.3)
            is_on_the_way = name in FIT
            axes.add_patch(
                FancyBboxPatch(
                    (x, y), width, HEIGHT, boxstyle="round,pad=0.02,rounding_size=0.08", linewidth=1.6 if is_on_the_way else 0.9,
                    facecolor=PALE if is_on_the_way else PAPER, edgecolor=ACCENT if is_on_the_way else INK,
                )
            )  # fmt: skip
            axes.text(x + width / 2, y + 0.72, name, ha="center", va="center", fontsize=12.5, weight="bold", color=INK)
            axes.text(x + width / 2, y + 0.3, words, ha="center", va="center", fontsize=9.5, color=INK)
            places[name] = (x, y, width)
    for number, (one, other, x1, x2) in enumerate(WAY, start=1):
        start, end = (x1, places[one][1]), (x2, places[other][1] + HEIGHT)
        axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=16, color=ACCENT, linewidth=1.8))
        middle = ((x1 + x2) / 2 + 0.14, (start[1] + end[1]) / 2)
        axes.text(*middle, str(number), color=ACCENT, fontsize=11, weight="bold", va="center")
    axes.set_xlim(-1.9, WIDTH + 0.2)
    axes.set_ylim(-0.15, len(FLOORS) * (HEIGHT + GAP) - GAP + 0.15)
    axes.axis("off")
    folder = Path(__file__).parent.parent / "docs"
    figure.savefig(folder / "architecture.svg")


if __name__ == "__main__":
    main()
