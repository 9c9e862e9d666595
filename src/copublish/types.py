"""Names for the arrays that the package passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

Codes = NDArray[np.unsignedinteger[Any]]
"""One small integer for each record: the code of its value in a public domain."""
