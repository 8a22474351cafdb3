r"""Times in independent exponential columns: a family defined outside of the library, with its kernels in the same file.

log p(x | k) = sum_j [ log rate_kj - rate_kj x_j ]

statistics   weight,  x
moments      weight[k, j],  total[k, j] = weight / rate
natural      coefficient[k, j] = -rate
A_k          - sum_j log rate_kj
"""

import math
from dataclasses import dataclass

import numpy as np

from suffice.families.charts import clipped_exp
from suffice.families.columns import Columns
from suffice.families.conjugates import Gammas
from suffice.kernels.compile import compiled
from suffice.kernels.families.cells import cell_kernels


@dataclass(frozen=True, eq=False)
class Exponential(Columns):
    kernels = __name__

    def coefficients(self, mean):
        return (-1.0 / mean,)

    def means(self, coefficient):
        return (-1.0 / coefficient,)

    def log_norm(self, coefficient):
        return -np.log(-coefficient)

    def unconstrained(self, coefficient):
        return (np.log(-coefficient),)

    def constrained(self, log_rate):
        return (-clipped_exp(log_rate),)

    def chained(self, coordinates, gradients):
        return (gradients[0] * self.constrained(*coordinates)[0],)

    def cell_moments(self, moments):
        (mean,) = self.means_of(moments)
        return mean, mean**2

    def conjugate(self, statistics):
        return RateGammas(self, (1.0, self.typical(statistics)[0]))

    def sample(self, moments, outcomes, generator):
        return generator.exponential(self.means_of(moments)[0][outcomes])


class RateGammas(Gammas):
    """The rates: shape grows with the weight, rate with the total. hyper = (shape, rate of every column)."""

    def updated(self, statistics):
        return self.hyper[0] + statistics.weight, self.hyper[1] + statistics.total

    def cells(self, arrays):
        rate, log_rate = Gammas.cells(self, arrays)
        return log_rate, rate

    def mean_moments(self, arrays, mass):
        shape, rate = arrays
        return self.family.from_means(self.family.weight_of(mass), rate / shape)


@compiled
def log_density(x, mean):
    return -math.log(mean) - x / mean


@compiled
def variance(mean):
    return mean * mean


scratch_for, score, slope, reach, curve, move = cell_kernels(__name__, log_density, variance)
