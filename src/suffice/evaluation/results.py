"""What every estimator of held-out fit returns: a number never travels without its estimator, samples and error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import override


@dataclass(frozen=True)
class Estimate:
    """Mean over rows with its standard error (of the mean over rows: the spread of the data, not of the estimator).

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.evaluation import Estimate
    >>> print(Estimate("exact", np.array([-2.0, -3.0, -4.0]), 0))
    -3.00 +- 0.58 (exact, 3 rows, 0 samples a row)
    """

    estimator: str
    per_sample: np.ndarray
    n_samples: int  # posterior samples or chains a row
    details: dict[Any, Any] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return float(np.mean(self.per_sample))

    @property
    def standard_error(self) -> float:
        n = len(self.per_sample)
        return float(np.std(self.per_sample, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    @override
    def __str__(self) -> str:
        how = f"{self.estimator}, {len(self.per_sample)} rows, {self.n_samples} samples a row"
        return f"{self.mean:.2f} +- {self.standard_error:.2f} ({how})"
