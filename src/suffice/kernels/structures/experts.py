"""Gates and linear-Gaussian experts: what a loss asks of every row and component, in one pass (`suffice.structures.experts`)."""

import math

import numpy as np

from ..compile import compiled
from ..machine.fast_exp import exponentials

LOG_2PI = 1.8378770664093453


@compiled
def weigh_gaussian(gates, means, variance, y, weights, conditional, slopes):
    """The weighted sum of  conditional log p(x) - log p(x, y)  over the rows; derivatives take the place of what was given.

    gates (n, K): log p(x, z), then the derivative in it.  means (n, K): E[y | x, z], then the derivative in it.  variance (n, K), or
    (1, K) where all rows have the same.  slopes (n, K): the derivative in the variance.  A row whose y is NaN has no target: it
    adds -log p(x).
    """
    n, K = gates.shape
    joint, alone, scratch = np.empty(K), np.empty(K), np.empty(K)
    log_variance, precision = np.empty(K), np.empty(K)
    is_common = variance.shape[0] == 1
    total = 0.0
    for i in range(n):
        if not is_common or i == 0:
            for k in range(K):
                precision[k] = 1.0 / variance[i, k]
                log_variance[k] = math.log(variance[i, k]) + LOG_2PI
        has_target = not math.isnan(y[i])
        top, gate_top = -np.inf, -np.inf
        for k in range(K):
            alone[k] = gates[i, k]
            gate_top = max(gate_top, alone[k])
            residual = y[i] - means[i, k] if has_target else 0.0
            means[i, k] = residual
            joint[k] = alone[k] - 0.5 * (log_variance[k] + residual * residual * precision[k])
            top = max(top, joint[k])
        for k in range(K):
            alone[k] -= gate_top
            joint[k] -= top
        exponentials(alone, scratch)
        exponentials(joint, scratch)
        gate_sum, joint_sum = 0.0, 0.0
        for k in range(K):
            gate_sum += alone[k]
            joint_sum += joint[k]
        log_gates, log_joint = gate_top + math.log(gate_sum), top + math.log(joint_sum)
        if not has_target:
            total -= weights[i] * log_gates
        else:
            total += weights[i] * (conditional * log_gates - log_joint)
        free = conditional * weights[i] / gate_sum if has_target else 0.0
        for k in range(K):
            if not has_target:
                gates[i, k] = -weights[i] * alone[k] / gate_sum
                means[i, k] = 0.0
                slopes[i, k] = 0.0
                continue
            share = weights[i] * joint[k] / joint_sum  # q
            residual = means[i, k]
            gates[i, k] = free * alone[k] - share
            means[i, k] = -share * residual * precision[k]
            slopes[i, k] = -0.5 * share * (residual * residual * precision[k] - 1.0) * precision[k]
    return total


@compiled
def conditional_log_density(gates, means, variance, y, result):
    """result[i] = log p(y_i | x_i) = log sum_z p(z | x) N(y; mean, variance)."""
    n, K = gates.shape
    joint, alone, scratch = np.empty(K), np.empty(K), np.empty(K)
    is_common = variance.shape[0] == 1
    for i in range(n):
        row = 0 if is_common else i
        top, gate_top = -np.inf, -np.inf
        for k in range(K):
            alone[k] = gates[i, k]
            gate_top = max(gate_top, alone[k])
            residual = y[i] - means[i, k]
            joint[k] = alone[k] - 0.5 * (math.log(variance[row, k]) + LOG_2PI + residual * residual / variance[row, k])
            top = max(top, joint[k])
        for k in range(K):
            alone[k] -= gate_top
            joint[k] -= top
        exponentials(alone, scratch)
        exponentials(joint, scratch)
        gate_sum, joint_sum = 0.0, 0.0
        for k in range(K):
            gate_sum += alone[k]
            joint_sum += joint[k]
        result[i] = top + math.log(joint_sum) - gate_top - math.log(gate_sum)


@compiled
def two_moments(gates, means, variance, ends, weights, first, second):
    """first[i] = E[y | x_i] and second[i] = E[y^2 | x_i] of members with these weights; components ends[m] .. ends[m + 1] - 1 are those
    of member m. `gates` are overwritten."""
    n, K = gates.shape
    scratch = np.empty(K)
    is_common = variance.shape[0] == 1
    for i in range(n):
        row = 0 if is_common else i
        for m in range(len(weights)):
            top = -np.inf
            for k in range(ends[m], ends[m + 1]):
                top = max(top, gates[i, k])
            for k in range(ends[m], ends[m + 1]):
                gates[i, k] -= top
        exponentials(gates[i], scratch)
        first[i], second[i] = 0.0, 0.0
        for m in range(len(weights)):
            total, mean, square = 0.0, 0.0, 0.0
            for k in range(ends[m], ends[m + 1]):
                total += gates[i, k]
                mean += gates[i, k] * means[i, k]
                square += gates[i, k] * (means[i, k] * means[i, k] + variance[row, k])
            first[i] += weights[m] * (mean / total)
            second[i] += weights[m] * (square / total)
