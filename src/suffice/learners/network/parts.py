"""From the names of settings to the objects that do the work."""

from __future__ import annotations

import numpy as np

from .expectation import GibbsExpectation
from .m_step import Gradient, Limits, PolyaGamma, SharedMatrix
from .mean_field import MeanField
from .recognition import Recognition
from .weight_sampling import WeightSampler

PLAIN = 20.0  # plain gradient steps in units of `step`: a unit's curvature is its activity times at most a quarter


def learning_rate_of(settings, default: float) -> float:
    """The learning rate a linear schedule starts from: rates are `step` at the start, so it is divided out."""
    chosen = settings.learning_rate or default
    return chosen / settings.step if settings.rate == "linear" else chosen


def make_m_step(settings, n_total: int):
    limits = Limits(settings.max_weight)
    if settings.learner == "sgd":
        return Gradient(settings.penalty, n_total, limits, learning_rate_of(settings, 0.2))
    if settings.learner == "nvil" and settings.m_step == "sgd":  # as in the paper
        return Gradient(settings.penalty, n_total, limits, learning_rate=PLAIN)
    if settings.learner == "nvil":
        return Gradient(settings.penalty, n_total, limits, learning_rate_of(settings, 3e-3), adam=True)
    if settings.learner == "gibbs":
        return WeightSampler(settings.penalty, n_total * settings.n_samples, limits, settings.seed)
    if settings.m_step == "pg" and settings.learner != "vb":
        return PolyaGamma(settings.penalty, n_total, limits)
    floor = 0.02 * (settings.dispersion if settings.data == "count" else 1.0)
    if settings.learner == "rec-mcem":
        # small batches: the ridge calms units that are rarely on, the time of a step counts, and noise is far above rounding
        return SharedMatrix(settings.penalty, n_total, limits, floor=floor, ridge=1e-2, precision=np.float32)
    return SharedMatrix(settings.penalty, n_total, limits, floor=floor)


def make_expectation(settings):
    keep = "mean" if settings.m_step == "pg" else ""
    if settings.learner == "vb":
        return MeanField(settings.n_sweeps, settings.seed, settings.n_jobs)
    if settings.learner in ("rec-mcem", "nvil"):
        wanted = "gradient" if settings.learner == "nvil" else keep
        return Recognition(learning_rate_of(settings, 3e-3), settings.n_samples, settings.seed, wanted)
    keep = {"gibbs": "draw", "sgd": ""}.get(settings.learner, keep)
    return GibbsExpectation(settings.n_sweeps, settings.n_samples, settings.seed, keep, settings.n_jobs)
