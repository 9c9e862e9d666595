"""Floating point as other processors do it.

BLAS and NumPy choose their code by the processor, and sums come out in another order. Tests choose for them, so that
what is recorded is the same everywhere; some choose what a much older processor would. Both read these settings when
they are loaded, so this module is no part of `support`, which loads them.
"""

from __future__ import annotations

import os

BLAS, NUMPY, ARROW = "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "ARROW_USER_SIMD_LEVEL"

_FOR_512_BITS = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"

USUAL = {BLAS: "Haswell", NUMPY: _FOR_512_BITS}
"""What every x86-64 processor can do that SPU runs on."""

OLD = {BLAS: "Prescott", NUMPY: f"SSSE3 SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2 {_FOR_512_BITS}", ARROW: "NONE"}
"""What every x86-64 processor can do, as far as BLAS, NumPy and Arrow go."""


def are_chosen(settings: dict[str, str]) -> bool:
    """Whether this process computes as such a processor does: settings are read when NumPy is loaded."""
    return settings.items() <= os.environ.items()
