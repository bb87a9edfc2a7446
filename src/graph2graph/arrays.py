"""NumPy array types, by what they hold, and padding."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


def padded(arrays: Sequence[IntArray], padding: int, width: int | None = None) -> IntArray:
    """Arrays of different lengths as the rows of one, padded to the longest or to this width."""
    width = max(len(array) for array in arrays) if width is None else width
    rows = np.full((len(arrays), width), padding, dtype=np.int64)
    for row, array in enumerate(arrays):
        rows[row, : len(array)] = array
    return rows
