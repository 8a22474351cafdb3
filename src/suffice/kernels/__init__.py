"""Compiled loops: the only room that knows numba's rules.

`families` are small files of five functions each (score, slope, curve, reach, move); `incremental` and `paper` are loops
written once and bound to a family. Nothing here is imported before an estimator is, so `import suffice` stays light.
"""
