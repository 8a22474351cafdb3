"""Figures 7 and 8: sdEM against stochastic gradient descent at five learning rates, on imdb."""

from __future__ import annotations

import numpy as np

from .. import Options, Report, Row
from .words import PRIORS, Split, canvas, liblinear, load, plain, save, trace

REGULARISER = 1e-4  # weight of the L2 term in SGD
SGD_RATES = (1.0, 0.1, 0.01, 0.001, 0.0001)
DECAYS = (0.1, 0.01, 0.001, 0.0001, 0.00001)


def sgd(split: Split, loss: str, rate: float, epochs: int, seed: int = 0) -> list[float]:
    """Test accuracy per pass of a linear classifier: rate / (1 + rate 1e-4 t), the regulariser as a scale of the weights.

    (Bottou 2010, reference 11 of the paper.) Weights are scale * v, so that shrinking them costs one product.
    """
    X, sign = split.X, 2.0 * split.y - 1.0
    v, scale, bias, t = np.zeros(X.shape[1]), 1.0, 0.0, 0
    generator = np.random.default_rng(seed)
    accuracies = []
    for _ in range(epochs):
        for i in generator.permutation(len(sign)):
            step = rate / (1.0 + rate * REGULARISER * t)
            t += 1
            place = slice(X.indptr[i], X.indptr[i + 1])
            words, counts = X.indices[place], X.data[place]
            margin = sign[i] * (scale * (v[words] @ counts) + bias)
            scale *= 1.0 - step * REGULARISER
            pull = float(margin < 1.0) if loss == "hinge" else 1.0 / (1.0 + np.exp(min(margin, 500.0)))
            if pull:
                v[words] += (step * sign[i] * pull / scale) * counts
                bias += step * sign[i] * pull
            if scale < 1e-9:
                v *= scale
                scale = 1.0
        accuracies.append(float(np.mean((scale * (split.X_test @ v) + bias > 0) == (split.y_test == 1))))
    return accuracies


def run(options: Options, loss: str, rival: str, name_of_figure: str) -> Report:
    report = Report(notes=["Amazon12 is not obtainable here (suffice.datasets.load('amazon12') says where to get it)."])
    split, epochs = load("imdb"), 10
    if options.quick:
        split, epochs = Split("imdb", split.X[::25], split.y[::25], split.X_test[::25], split.y_test[::25]), 2
    kind = "NCLL" if loss == "ncll" else "Hinge"
    titles = (f"{kind}-SGD", f"{kind}-MNB, P1", f"{kind}-MNB, P2")
    figure, panels = canvas(3, titles, ("Accuracy",) * 3)
    for rate in SGD_RATES:
        options.say(f"{kind}-SGD, rate {rate:g}")
        values = sgd(split, loss, rate, epochs)
        panels[0].plot(range(1, epochs + 1), values, "-o", label=f"{rate:g}")
        report.rows.append(Row(f"imdb {kind}-SGD, lambda {rate:g}", None, values[-1]))
    for panel, (prior, alpha) in zip(panels[1:], PRIORS.items(), strict=True):
        for decay in DECAYS:
            options.say(f"{kind}-MNB, {prior}, lambda {decay:g}")
            values = trace(split, loss, alpha(split.X.shape[1]), decay, epochs).accuracy[1:]
            panel.plot(range(1, epochs + 1), values, "-o", label=f"{decay:g}")
            report.rows.append(Row(f"imdb {kind}-MNB {prior}, lambda {decay:g}", None, values[-1]))
        panel.axhline(plain(split, alpha(split.X.shape[1])), color="k", linestyle="--", linewidth=0.8)
    line = liblinear(split, rival)
    report.rows.append(Row(f"imdb {rival}", None, line))
    for panel in panels:
        panel.axhline(line, color="k", linewidth=0.8)
        panel.set_ylim(0.6 if options.quick else 0.75, 0.92)
        panel.legend(title="lambda", fontsize="small")
    report.pictures.append(save(figure, options, name_of_figure))
    return report
