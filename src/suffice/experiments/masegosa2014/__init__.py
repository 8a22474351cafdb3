"""Masegosa (2014), Stochastic Discriminative EM, UAI."""
