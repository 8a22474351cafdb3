"""Sigmoid belief networks, learned by Monte Carlo EM."""

from .estimators.belief_network import SigmoidBeliefNetwork

__all__ = ["SigmoidBeliefNetwork"]
