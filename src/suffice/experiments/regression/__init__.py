"""Densities of a target, beside peers and published figures."""
