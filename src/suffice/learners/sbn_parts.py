"""From the names of settings to the objects that do the work."""

from __future__ import annotations

from suffice.learners.sbn_expectation import GibbsExpectation
from suffice.learners.sbn_m_step import Gradient, Limits, PolyaGamma, SharedMatrix

LEARNERS = ("mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil")
M_STEPS = ("kron", "pg")


def make_m_step(settings, n_total: int):
    limits = Limits(settings.max_weight)
    if settings.learner == "sgd":
        return Gradient(settings.penalty, n_total, limits, settings.learning_rate or 0.5)
    if settings.learner == "nvil":
        return Gradient(settings.penalty, n_total, limits, settings.learning_rate or 3e-3, adam=True)
    if settings.m_step == "pg":
        return PolyaGamma(settings.penalty, n_total, limits)
    floor = 0.02 * (settings.dispersion if settings.data == "count" else 1.0)
    return SharedMatrix(settings.penalty, n_total, limits, floor=floor)


def make_expectation(settings):
    keep = "mean" if settings.m_step == "pg" and settings.learner in ("mcem", "rec-mcem", "vb") else ""
    return GibbsExpectation(settings.n_sweeps, settings.n_samples, settings.seed, keep, settings.n_jobs)
