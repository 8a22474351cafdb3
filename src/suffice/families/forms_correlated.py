"""Forms of Gaussian rows with correlated columns (see `suffice.families.forms`)."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from ..kernels.structures import mixture as loops
from .forms import CACHE, LOG_2PI, Form


def log_peak(whitening: np.ndarray) -> np.ndarray:
    """log of a Gaussian's density at its mean, from the whitening of its precision."""
    logs = np.log(np.diagonal(whitening, axis1=-2, axis2=-1)).sum(axis=-1)
    return logs - 0.5 * whitening.shape[-1] * LOG_2PI


class FullForm(Form):
    """phi = (z, upper triangle of z z'); scores by whitening, which rounds less than the expanded square."""

    @override
    def _prepare(self) -> None:
        d = self.family.n_features
        self.size = d + d * (d + 1) // 2
        self.triangle = np.triu_indices(d)

    @property
    @override
    def chunk(self) -> int:
        return min(max(CACHE // (self.family.n_features * self.family.n_outcomes), 64), 1024)

    @override
    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        loops.products(X, start, n, self.family.location, buffers)
        return buffers[:n]

    @override
    def coefficients(self, moments):
        mean, covariance = self.family.parameters(moments)
        whitening = np.swapaxes(np.linalg.inv(np.linalg.cholesky(covariance)), -1, -2)
        return self.of_whitening(log_peak(whitening), mean, whitening)

    def of_whitening(self, constant, mean, whitening) -> tuple:
        """Coefficients of scores constant - 1/2 |(z - mean)' whitening|^2."""
        side_by_side = np.ascontiguousarray(whitening.transpose(1, 0, 2).reshape(self.family.n_features, -1))
        return constant, (side_by_side, np.einsum("ka,kab->kb", mean, whitening))

    @override
    def scores(self, phi, theta):
        side_by_side, centres = theta
        scores = np.empty((len(phi), self.family.n_outcomes))
        loops.whitened_scores(phi[:, : self.family.n_features] @ side_by_side, centres, scores)
        return scores

    @override
    def record(self, mass, out):
        d = self.family.n_features
        packed, second = out[d:].T, np.empty((self.family.n_outcomes, d, d))
        second[:, self.triangle[0], self.triangle[1]] = packed
        second[:, self.triangle[1], self.triangle[0]] = packed
        return self.family.record(mass.copy(), out[:d].T.copy(), second)

    @override
    def kernel(self):
        return ("products", self.X, self.family.location) if isinstance(self.X, np.ndarray) else None


class TiedForm(FullForm):
    """phi = z. The second moments of all outcomes together depend on the rows' total weights alone."""

    @override
    def _prepare(self) -> None:
        self.size = self.family.n_features

    chunk = Form.chunk

    @override
    def zeros(self):
        d = self.family.n_features
        return np.zeros((d, self.family.n_outcomes + d))

    @override
    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        np.subtract(X[start : start + n], self.family.location, out=buffers[:n])
        return buffers[:n]

    @override
    def of_whitening(self, constant, mean, whitening):
        centres = mean @ whitening
        return constant - 0.5 * (centres**2).sum(axis=1), (
            np.ascontiguousarray(whitening),
            np.ascontiguousarray(centres.T),
        )

    @override
    def scores(self, phi, theta):
        whitening, centres = theta
        white = phi @ whitening
        scores = white @ centres
        scores -= 0.5 * np.einsum("ij,ij->i", white, white)[:, None]
        return scores

    @override
    def add(self, phi, weights, theta, out):
        K = self.family.n_outcomes
        out[:, :K] += phi.T @ weights
        total = weights.sum(axis=1)
        out[:, K:] += (total[:, None] * phi).T @ phi

    @override
    def record(self, mass, out):
        K = self.family.n_outcomes
        second = 0.5 * (out[:, K:] + out[:, K:].T)
        return self.family.record(mass.copy(), out[:, :K].T.copy(), second)

    @override
    def kernel(self):
        return ("differences", self.X, self.family.location) if isinstance(self.X, np.ndarray) else None


class CompletedForm(Form):
    """Correlated columns with missing cells: statistics are expectations given the observed cells under the same moments.

    theta = (moments, extra): `extra` (K,) is what a row with an observed cell adds to its log-density.
    """

    @override
    def _prepare(self) -> None:
        empty = self.family.statistics(np.zeros((0, self.family.n_features)), np.zeros((0, self.family.n_outcomes)))
        self.shapes = [np.shape(array) for array in empty.arrays()]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    @override
    def chunk(self) -> int:
        return 4096

    @override
    def buffers(self):
        return None

    @override
    def zeros(self):
        return np.zeros(self.size)

    @override
    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        return X[start : start + n]

    @override
    def coefficients(self, moments):
        nothing = np.zeros(self.family.n_outcomes)
        return nothing, (moments, nothing)

    def of_whitening(self, constant, mean, whitening):
        """Coefficients of scores constant - 1/2 |(z - mean)' whitening|^2, integrated over the missing cells."""
        K = self.family.n_outcomes
        covariance = np.linalg.inv(whitening @ np.swapaxes(whitening, -1, -2))
        moments = self.family.from_parameters(np.ones(K), mean, covariance)
        return np.zeros(K), (moments, constant - log_peak(whitening))

    @override
    def scores(self, phi, theta):
        moments, extra = theta
        scores = self.family.log_densities(moments, phi)
        return scores + np.where(np.isnan(phi).all(axis=1)[:, None], 0.0, extra)

    @override
    def add(self, phi, weights, theta, out):
        out += self.family.completed_statistics(phi, weights, theta[0]).flat()

    @override
    def record(self, mass, out):
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        arrays = [part.reshape(shape) for part, shape in zip(np.split(out, cuts), self.shapes, strict=True)]
        return self.family.record(*arrays)
