"""Exponentials, logarithms and inner products against the standard library's, and the same on another processor."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from copublish.mechanisms.marginals.junction_tree import summed_product
from copublish.mechanisms.shared.portable_floats import dot, exp, fingerprint, log
from processors import OLD, USUAL

GENERATOR = np.random.default_rng(5)


def off_by(found: float, expected: float) -> float:
    """In units of the last place."""
    return abs(found - expected) / math.ulp(expected)


def test_exponentials_are_those_of_the_standard_library():
    numbers = [0.0, -1e-300, *-GENERATOR.exponential(20.0, 5000), *np.linspace(-708, 0, 2000)]
    found = exp(np.array(numbers))
    assert max(off_by(one, math.exp(x)) for one, x in zip(found, numbers, strict=True)) <= 2
    assert exp(np.array([-1e4, -np.inf])).tolist() == [0.0, 0.0]
    assert exp(np.array([-744.0]))[0] == pytest.approx(math.exp(-744.0), rel=0.5)  # a few bits are left there


def test_logarithms_are_those_of_the_standard_library():
    numbers = [5e-324, 1e-300, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, *GENERATOR.lognormal(0, 50, 5000)]
    assert max(off_by(log(x), math.log(x)) for x in numbers if x != 1.0) <= 2
    assert log(1.0) == 0.0


def test_inner_products_are_exact_up_to_rounding():
    x, y = GENERATOR.normal(size=(2, 5000))
    assert dot(x, y) == pytest.approx(math.fsum(x * y), abs=1e-11)


@pytest.mark.parametrize("largest", [2**18, 7])
def test_a_summed_product_is_that_of_einsum_whether_it_is_made_whole_or_in_parts(monkeypatch, largest):
    monkeypatch.setattr("copublish.mechanisms.marginals.junction_tree.LARGEST_PRODUCT", largest)
    first, second = GENERATOR.random((4, 5, 3, 1)), GENERATOR.random((1, 5, 3, 6))
    expected = np.einsum("abc,bcd->ad", first[..., 0], second[0])
    assert np.allclose(summed_product(first, second, (1, 2)), expected, rtol=1e-14)
    assert np.allclose(summed_product(first, second, ()), first * second, rtol=1e-14)


CODE = """
import numpy as np
from copublish.mechanisms.shared.portable_floats import fingerprint
print(fingerprint(), np.exp(np.linspace(-50, 0, 5000)).sum().hex(), np.exp(np.float64(-1.1)).hex())
"""


def printed(processor: dict[str, str]) -> str:
    environment = {**os.environ, **processor, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


def test_they_are_the_same_on_an_old_processor_to_the_last_bit():
    assert {printed(OLD), printed(USUAL)} == {fingerprint()}


def test_the_fingerprint_tells_another_arithmetic(monkeypatch):
    before = fingerprint()
    fingerprint.cache_clear()
    monkeypatch.setattr("copublish.mechanisms.shared.portable_floats.exp", np.exp)
    assert fingerprint() != before
    fingerprint.cache_clear()
