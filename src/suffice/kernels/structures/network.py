"""Compiled Gibbs sweeps of a sigmoid belief network layer, by products (the mathematics: `suffice.structures.network`).

A chain keeps for every unit m below it   e = exp(psi),  s = e/(1+e) = sigma(psi),  r = 1/(1+e).
Flipping unit j multiplies the likelihood's denominator by

    P = prod_m (1 + e_m E) / (1 + e_m) = prod_m (r_m + s_m E),     E = exp(+-W_jm)

one multiply-add and one multiply a unit, no logarithm. A missing cell has e = s = 0, r = 1: its factor is one.
Arrays over the units below are float32, packed as (..., 4, quarter) so that four independent products hide the
multiplier's latency.

Random numbers are a hash of (seed of the sweep, row, unit): a result does not depend on blocks, chunks or threads.
"""

from __future__ import annotations

import numpy as np

from ..compile import compiled, summing

BLOCK = 8  # rows that share one pass over the weight tables
SMALLEST, LARGEST = np.float32(1e-30), np.float32(1e30)
U = np.uint64


@compiled
def uniform(seed, counter):
    """splitmix64: a number in (0, 1) from a counter."""
    z = seed + (counter + U(1)) * U(0x9E3779B97F4A7C15)
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    z = z ^ (z >> U(31))
    return (np.float64(z >> U(11)) + 0.5) * (1.0 / 9007199254740992.0)


@compiled
def uniforms(seed, rows, n_units):
    """The numbers a sweep with this seed uses: for tests and for the readable twin."""
    out = np.empty((len(rows), n_units))
    for n in range(len(rows)):
        for j in range(n_units):
            out[n, j] = uniform(seed, U(rows[n] * n_units + j))
    return out


@summing
def product_of_ratios(r, s, E, n, h, j):
    """P, or 0 when a float32 stream left its range."""
    a = np.float32(1)
    b = np.float32(1)
    c = np.float32(1)
    d = np.float32(1)
    for m in range(r.shape[2]):
        a *= r[n, 0, m] + s[n, 0, m] * E[h, j, 0, m]
        b *= r[n, 1, m] + s[n, 1, m] * E[h, j, 1, m]
        c *= r[n, 2, m] + s[n, 2, m] * E[h, j, 2, m]
        d *= r[n, 3, m] + s[n, 3, m] * E[h, j, 3, m]
    low = min(min(a, b), min(c, d))
    high = max(max(a, b), max(c, d))
    if low > np.float32(1e-36) and high < np.float32(1e36):
        return (np.float64(a) * np.float64(b)) * (np.float64(c) * np.float64(d))
    return 0.0


@summing
def log_product(r, s, E, n, h, j):
    """log P by float64 products of eight, for weights too large for the float32 product: about ten times its cost."""
    total = 0.0
    for k in range(4):
        for m in range(0, r.shape[2], 8):
            product = 1.0
            for i in range(m, m + 8):
                product *= np.float64(r[n, k, i]) + np.float64(s[n, k, i]) * np.float64(E[h, j, k, i])
            total += np.log(product)
    return total


@compiled
def flip(e, s, r, E, n, h, j):
    for k in range(4):
        for m in range(e.shape[2]):
            old = e[n, k, m]
            new = min(max(old * E[h, j, k, m], SMALLEST), LARGEST)
            new = new if old > np.float32(0) else np.float32(0)  # a missing cell stays missing
            share = np.float32(1) / (np.float32(1) + new)
            e[n, k, m] = new
            r[n, k, m] = share
            s[n, k, m] = new * share


@compiled
def sweep_plain(H, e, s, r, logits, odds, E, seeds, rows):
    """Gibbs sweeps of one layer whose units below are binary. `logits` = prior + v W'. Returns flips.

    `odds` = exp(logits), or 0 where that leaves the range of the product: such units take the slow road.
    """
    n_rows, n_units = H.shape
    n_flips = 0
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        for t in range(len(seeds)):
            for j in range(n_units):
                for n in range(start, stop):
                    h = H[n, j]
                    P = product_of_ratios(r, s, E, n, h, j)
                    u = uniform(seeds[t], U(rows[n] * n_units + j))
                    if P > 0.0 and odds[n, j] > 0.0:  # odds of a one: odds / P seen from h = 0, odds * P from h = 1
                        one = odds[n, j] * P if h else odds[n, j]
                        zero = 1.0 if h else P
                        value = u * (one + zero) < one
                    else:
                        log_P = log_product(r, s, E, n, h, j)
                        logit = logits[n, j] + log_P if h else logits[n, j] - log_P
                        value = u * (1.0 + np.exp(-logit)) < 1.0
                    if value != (h == 1):
                        flip(e, s, r, E, n, h, j)
                        H[n, j] = 1 - h
                        n_flips += 1
    return n_flips


@compiled
def log_power_of_counts(r, s, E, n, h, j, cells, counts, start, stop):
    """sum over the words of a document of count * log ratio: the data's part of u = v + dispersion."""
    quarter = r.shape[2]
    total = 0.0
    product = 1.0
    for i in range(start, stop):
        k = cells[i] // quarter
        m = cells[i] - k * quarter
        ratio = np.float64(r[n, k, m] + s[n, k, m] * E[h, j, k, m])
        if counts[i] <= 3.0:
            for _ in range(int(counts[i])):
                product *= ratio
            if product < 1e-200 or product > 1e200:
                total += np.log(product)
                product = 1.0
        else:
            total += counts[i] * np.log(ratio)
    return total + np.log(product)


@compiled
def sweep_tempered(H, e, s, r, prior, drive, beta, power, E, indptr, cells, counts, seeds, rows, probabilities):
    """As `sweep_plain` with the likelihood raised to `beta`, and for counts (u = v + power; CSR of v, empty if binary).

    `probabilities` (rows, units) receives p(h = 1 | rest) of the last sweep; give shape (0, 0) when not wanted.
    """
    n_rows, n_units = H.shape
    n_flips = 0
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        for t in range(len(seeds)):
            for j in range(n_units):
                for n in range(start, stop):
                    h = H[n, j]
                    P = product_of_ratios(r, s, E, n, h, j)
                    log_P = power * (np.log(P) if P > 0.0 else log_product(r, s, E, n, h, j))
                    if len(cells) > 0:
                        log_P += log_power_of_counts(r, s, E, n, h, j, cells, counts, indptr[n], indptr[n + 1])
                    logit = prior[n, j] + beta * (drive[n, j] + (log_P if h else -log_P))
                    p = 1.0 / (1.0 + np.exp(-logit))
                    if len(probabilities) > 0 and t == len(seeds) - 1:
                        probabilities[n, j] = p
                    value = uniform(seeds[t], U(rows[n] * n_units + j)) < p
                    if value != (h == 1):
                        flip(e, s, r, E, n, h, j)
                        H[n, j] = 1 - h
                        n_flips += 1
    return n_flips


@summing
def log_r_sums(r):
    """-sum_m softplus(psi_m) of each row, by products of eight."""
    out = np.empty(len(r))
    for n in range(len(r)):
        total = 0.0
        for k in range(4):
            for m in range(0, r.shape[2], 8):
                product = 1.0
                for i in range(8):
                    product *= np.float64(r[n, k, m + i])
                total += np.log(product)
        out[n] = total
    return out


@compiled
def omega_from_odds(e, n_below, u):
    """Polya-Gamma means u (s - 1/2) / psi from e = exp(psi); u has shape (rows, n_below) or (1, 1); 0 where missing."""
    quarter = e.shape[2]
    out = np.empty((len(e), n_below), np.float32)
    for n in range(len(e)):
        for i in range(n_below):
            odds = np.float64(e[n, i // quarter, i % quarter])
            size = u[n, i] if u.size > 1 else u[0, 0]
            if odds <= 0.0:
                out[n, i] = 0.0
            else:
                psi = np.log(odds)
                if abs(psi) < 1e-3:
                    out[n, i] = size * 0.25
                else:
                    out[n, i] = size * (odds / (1.0 + odds) - 0.5) / psi
    return out


@compiled
def add_pairs(X, H, omega):
    """X[pair, i] += omega[n, i] for every pair of active units of row n (the bias, last, is always active).

    pair = a (a + 1) / 2 + b for b <= a: the lower triangle of sum_n omega_ni h_n h_n', over active pairs only.
    """
    n_rows, n_units = H.shape
    active = np.empty(n_units + 1, np.int64)
    for n in range(n_rows):
        n_active = 0
        for j in range(n_units):
            if H[n, j]:
                active[n_active] = j
                n_active += 1
        active[n_active] = n_units
        for p in range(n_active + 1):
            for q in range(p + 1):
                pair = active[p] * (active[p] + 1) // 2 + active[q]
                for i in range(omega.shape[1]):
                    X[pair, i] += omega[n, i]


def aligned(shape, dtype=np.float32):
    """Zeros that start on a cache line."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + 64, np.uint8)
    offset = (-raw.ctypes.data) % 64
    return raw[offset : offset + n_bytes].view(dtype).reshape(shape)


def quarter_of(n_below: int) -> int:
    return -(-n_below // 32) * 8


def packed(x: np.ndarray) -> np.ndarray:
    """(..., units) as aligned float32 (..., 4, quarter), padded with zeros: missing cells to every kernel."""
    quarter = quarter_of(x.shape[-1])
    out = aligned((*x.shape[:-1], 4 * quarter))
    out[..., : x.shape[-1]] = x
    return out.reshape(*x.shape[:-1], 4, quarter)


def weight_tables(weights: np.ndarray) -> np.ndarray:
    """exp(+W), exp(-W) packed: shape (2, units above, 4, quarter)."""
    table = np.exp(np.clip(weights, -30, 30))
    return packed(np.stack([table, 1 / table]))
